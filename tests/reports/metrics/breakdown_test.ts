import { assert, assertEquals } from "@std/assert";
import {
  type Breakdown,
  breakDown,
  CONNECTION_NAMES,
  connectionName,
} from "../../../lib/reports/metrics/_breakdown.ts";
import type { GraphSpec } from "../../../lib/tasks/graphs/graph.ts";
import { tally as tallyOf } from "../../../lib/reports/metrics/metrics.ts";
import { grid } from "../../../lib/runs/suite.ts";
import type { ModelEntry } from "../../../lib/models/entry.ts";
import { OUTCOMES, type Trial } from "../../../lib/trials/trial.ts";
import fc from "../../support/fast_check.ts";
import { generatedFrom } from "../../support/generated.ts";
import { record } from "../../support/records.ts";

/** A task of a size; tasks differ by their seeds. */
function sized(core: number, traits: Partial<GraphSpec> = {}): GraphSpec {
  const depth = core === 1 ? 0 : 1;
  return { core, depth, connected: 0, disconnected: 0, seed: 1, ...traits };
}

/** A task that another tool made, of which no size is known. */
function foreign(name: string): Trial["task"] {
  return { case: name } as unknown as Trial["task"];
}

function idsOf(breakdowns: readonly Breakdown[]): string[] {
  return breakdowns.map(({ id }) => id);
}

function find(breakdowns: readonly Breakdown[], id: string): Breakdown {
  const found = breakdowns.filter((one) => one.id === id);
  assertEquals(found.length, 1, `${id} in ${idsOf(breakdowns)}`);
  return found[0]!;
}

/** Solved of valid trials at each value of the axis. */
function sharesOf({ series }: Breakdown): Record<string, (string | null)[]> {
  return Object.fromEntries(
    series.map(({ name, tallies }) => [
      name,
      tallies.map((tally) => tally === null ? null : `${tally.solved}/${tally.valid}`),
    ]),
  );
}

// Everything once more, slowly, and without a look at how it is done.

const SIZES = {
  core: [2, 3, 10],
  depth: [1, 2, 7],
  connected: [0, 1, 4],
  disconnected: [0, 2, 4],
  linking: ["types", "names"],
  outputs: [[1, 1], [1, 3]],
} as const;
const CELLS = [
  ...grid({ ...SIZES, names: ["random", "helpful"] }).cells,
  ...grid({ ...SIZES, cues: "names" }).cells,
];

/** Trials as runs have them: no two are of the same model, strategy, task and repetition. */
const TRIALS: fc.Arbitrary<Trial[]> = fc.record({
  cells: fc.uniqueArray(fc.constantFrom(...CELLS), { minLength: 1, maxLength: 5 }),
  models: fc.uniqueArray(fc.constantFrom("sim:a", "b", "c + restate"), { minLength: 1 }),
  strategies: fc.uniqueArray(fc.constantFrom("plain", "restate"), { minLength: 1 }),
  graphs: fc.integer({ min: 1, max: 3 }),
  repetitions: fc.integer({ min: 1, max: 3 }),
}).chain(({ cells, models, strategies, graphs, repetitions }) => {
  const keys = Array.from({ length: graphs }, (_, seed) => seed).flatMap((seed) =>
    cells.flatMap((cell) =>
      models.flatMap((model) =>
        strategies.flatMap((strategy) =>
          Array.from({ length: repetitions }, (_, place) => ({
            task: { ...cell, seed },
            model,
            simulated: model.startsWith("sim:"),
            strategy,
            repetition: place + 1,
          }))
        )
      )
    )
  );
  const traits = fc.record({
    outcome: fc.constantFrom(...OUTCOMES),
    calls: fc.nat({ max: 12 }),
    // Some trials never ended, and some are of another tool.
    there: fc.integer({ min: 0, max: 9 }),
  });
  return fc.array(traits, { minLength: keys.length, maxLength: keys.length }).map((drawn) =>
    keys.flatMap((key, index) => {
      const { there, ...rest } = drawn[index]!;
      if (there === 0) return [];
      const trial = record({ ...key, ...rest, index });
      return there === 1 ? [{ ...trial, task: foreign(`case ${index}`) }] : [trial];
    })
  );
});

/** What a kind of breakdown shows, said anew: which trials, by what along the axis, in which series. */
interface Rule {
  readonly of: (trial: Generated) => boolean;
  readonly value: (trial: Generated) => number | string;
  readonly series: (trial: Generated) => string;
}

function kindOf({ connected, disconnected }: GraphSpec): string {
  if (connected + disconnected === 0) return "no extra";
  if (connected === 0) return "disconnected";
  if (disconnected === 0) return "connected";
  return [-1, 0, 1].includes(connected - disconnected) ? "half and half" : "mixed";
}

type Generated = Trial & { readonly task: GraphSpec };

const isGenerated = (trial: Trial): trial is Generated => "core" in trial.task;

function nameOf({ model, strategy }: Trial): string {
  return model.requested + (strategy === "plain" ? "" : ` + ${strategy}`) +
    (model.simulated ? " (simulated)" : "");
}

function ruleOf({ id, title }: Breakdown): Rule {
  const [kind, size] = id.split("-");
  const ofSize = ({ task }: Generated) => task.core === Number(size);
  const any = () => true;
  const core = ({ task }: Generated) => task.core;
  const rules: Record<string, Rule> = {
    core: { of: any, value: core, series: nameOf },
    no: { of: ({ task }) => kindOf(task) === "no extra", value: core, series: nameOf },
    connection: { of: any, value: ({ task }) => kindOf(task), series: nameOf },
    depth: { of: ofSize, value: ({ task }) => task.depth, series: nameOf },
    sets: {
      of: (trial) => title.endsWith(`: ${nameOf(trial)}`),
      value: core,
      series: ({ task }) => kindOf(task),
    },
    strategy: {
      of: ofSize,
      value: ({ model }) => model.requested + (model.simulated ? " (simulated)" : ""),
      series: ({ strategy }) => strategy,
    },
    linking: { of: any, value: ({ task }) => task.linking ?? "types", series: nameOf },
    outputs: { of: any, value: ({ task }) => task.outputs ? "1 to 3" : "1", series: nameOf },
    names: { of: any, value: ({ task }) => task.names ?? "random", series: nameOf },
    cues: { of: any, value: ({ task }) => task.cues ?? "none", series: nameOf },
  };
  return rules[kind!]!;
}

Deno.test("breakDown() has the figures that one gets from the trials by hand (FuncBenchGen 4.1)", () => {
  fc.assert(
    fc.property(TRIALS, (trials) => {
      const generated = trials.filter(isGenerated);
      for (const breakdown of breakDown(trials)) {
        const { of, value, series } = ruleOf(breakdown);
        const own = generated.filter(of);
        let counted = 0;
        for (const { name, tallies } of breakdown.series) {
          assertEquals(tallies.length, breakdown.values.length);
          for (const [place, tally] of tallies.entries()) {
            const at = breakdown.values[place]!;
            const here = own.filter((trial) => value(trial) === at && series(trial) === name);
            assertEquals(
              tally,
              here.length === 0 ? null : tallyOf(here),
              `${breakdown.id}, ${name} at ${at}`,
            );
            counted += tally?.trials ?? 0;
          }
        }
        assertEquals(counted, own.length, `every trial is counted once in ${breakdown.id}`);
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("breakDown() shows what has two values or more, and success by core size always", () => {
  fc.assert(
    fc.property(TRIALS, (trials) => {
      const generated = trials.filter(isGenerated);
      const several = (values: readonly unknown[]) => new Set(values).size > 1;
      const sizes = [...new Set(generated.map(({ task }) => task.core))].sort((a, b) => a - b);
      const of = (size: number) => generated.filter(({ task }) => task.core === size);
      const kinds = generated.map(({ task }) => kindOf(task));
      const plain = kinds.filter((kind) => kind === "no extra").length;
      const names = [...new Set(generated.map(nameOf))];
      const expected = [
        ...(generated.length > 0 ? ["core"] : []),
        ...(plain > 0 && plain < generated.length ? ["no-extra"] : []),
        ...(several(kinds) ? ["connection"] : []),
        ...sizes.filter((size) => several(of(size).map(({ task }) => task.depth)))
          .map((size) => `depth-${size}`),
        ...names.flatMap((name, place) => {
          const own = generated.filter((trial) => nameOf(trial) === name);
          const shown = several(own.map(({ task }) => task.core)) &&
            several(own.map(({ task }) => kindOf(task)));
          return shown ? [`sets-${place + 1}`] : [];
        }),
        ...sizes.filter((size) => several(of(size).map(({ strategy }) => strategy)))
          .map((size) => `strategy-${size}`),
        ...(several(generated.map(({ task }) => task.linking ?? "types")) ? ["linking"] : []),
        ...(several(generated.map(({ task }) => String(task.outputs))) ? ["outputs"] : []),
        ...(several(generated.map(({ task }) => task.names)) ? ["names"] : []),
        ...(several(generated.map(({ task }) => task.cues ?? "none")) ? ["cues"] : []),
      ];
      assertEquals(idsOf(breakDown(trials)), expected);
    }),
    { numRuns: 80 },
  );
});

Deno.test("breakDown() of no trials is nothing, and so it is of tasks that were not generated", () => {
  assertEquals(breakDown([]), []);
  assertEquals(breakDown([record({ task: foreign("refunds"), id: "1" })]), []);
});

Deno.test("breakDown() leaves out tasks of which it does not know all sizes", () => {
  const { seed: _, ...whole } = sized(5);
  for (const size of ["core", "depth", "connected", "disconnected"] as const) {
    for (const value of [undefined, null, "1", 1.5, NaN, {}, []]) {
      const task = { ...whole, [size]: value, seed: 2 } as unknown as GraphSpec;
      const trials = [record({ task, id: "odd" }), record({ task: sized(5) })];
      assertEquals(breakDown(trials), breakDown(trials.slice(1)), `${size} ${value}`);
    }
  }
});

Deno.test("breakDown() sorts sizes by number, and series as they come", () => {
  const trials = [20, 5, 100, 9].flatMap((core) =>
    ["z", "a"].map((model) => record({ task: sized(core), model }))
  );
  const core = find(breakDown(trials), "core");
  assertEquals(core.values, [5, 9, 20, 100]);
  assertEquals(core.series.map(({ name }) => name), ["z", "a"]);
  assertEquals(core.shape, "lines");
});

Deno.test("breakDown() has kinds of irrelevant functions in the paper's order, as bars (FuncBenchGen 4.3)", () => {
  const counts = [[0, 3], [9, 1], [2, 2], [4, 0], [0, 0]] as const;
  const trials = counts.map(([connected, disconnected], seed) =>
    record({ task: sized(5, { connected, disconnected, seed }) })
  );
  const connection = find(breakDown(trials), "connection");
  assertEquals(connection.values, [...CONNECTION_NAMES]);
  assertEquals(connection.shape, "bars");
  assertEquals(sharesOf(connection), { m: new Array(5).fill("1/1") });
});

Deno.test("breakDown() has depths for each core size by itself (FuncBenchGen 4.4, C.3)", () => {
  const trials = [[5, 1], [5, 4], [10, 2], [10, 9], [10, 4], [20, 3]].map(([core, depth]) =>
    record({ task: sized(core!, { depth: depth! }) })
  );
  const breakdowns = breakDown(trials);
  assertEquals(idsOf(breakdowns), ["core", "depth-5", "depth-10"]);
  assertEquals(find(breakdowns, "depth-5").values, [1, 4]);
  assertEquals(find(breakdowns, "depth-10").values, [2, 4, 9]);
  assertEquals(find(breakdowns, "depth-10").source, "Figs. 5 and 13");
});

Deno.test("breakDown() compares strategies at each core size, a group of bars for each model (FuncBenchGen 4.6.1, C.3)", () => {
  const trials = ["sim:a", "b"].flatMap((model) =>
    ["plain", "restate"].flatMap((strategy) =>
      [1, 2, 3].map((seed) =>
        record({
          model,
          strategy,
          simulated: model === "sim:a",
          task: sized(5, { seed }),
          outcome: seed === 1 || strategy === "restate" ? "solved" : "wrong_answer",
        })
      )
    )
  );
  const strategy = find(breakDown(trials), "strategy-5");
  assertEquals(strategy.source, "Fig. 8");
  assertEquals(strategy.values, ["sim:a (simulated)", "b"]);
  assertEquals(sharesOf(strategy), { plain: ["1/3", "1/3"], restate: ["3/3", "3/3"] });
});

Deno.test("breakDown() tells apart models whose names look the same", () => {
  const trials = [
    record({ model: "m", strategy: "restate" }),
    record({ model: "m + restate", outcome: "no_answer" }),
    record({ model: "n", simulated: true }),
    record({ model: "n (simulated)", outcome: "no_answer" }),
  ];
  const { series } = find(breakDown(trials), "core");
  assertEquals(series.map(({ name, tallies }) => [name, tallies[0]!.solved, tallies[0]!.trials]), [
    ["m + restate", 1, 1],
    ["m + restate", 0, 1],
    ["n (simulated)", 1, 1],
    ["n (simulated)", 0, 1],
  ]);
});

Deno.test("breakDown() has simulated models called simulated in every series and title", () => {
  const counts = [[0, 0], [4, 0]] as const;
  const models: ModelEntry[] = [
    { model: "sim:planner", name: "mine" },
    { model: "sim:planner", name: "thoughtful", reasoningEffort: "high" },
  ];
  const trials = models.flatMap(({ name }) =>
    ["plain", "restate"].flatMap((strategy) =>
      [3, 5].flatMap((core) =>
        counts.map(([connected, disconnected]) =>
          record({
            model: name!,
            simulated: true,
            strategy,
            task: sized(core, { connected, disconnected, depth: core - 1 }),
          })
        )
      )
    )
  );
  const breakdowns = breakDown(trials, models);
  assert(idsOf(breakdowns).includes("effort-1"));
  for (const { id, title, values, series } of breakdowns) {
    const texts = [title, ...values.map(String), ...series.map(({ name }) => name)];
    for (const text of texts) {
      if (!/mine|thoughtful|sim:/.test(text)) continue;
      assert(text.includes("(simulated)"), `${id}: ${text}`);
    }
  }
});

// Thinking budgets

/** Trials of each of these models, on tasks without irrelevant functions and with some. */
function thinking(models: readonly ModelEntry[], strategies = ["plain"]): Breakdown[] {
  const trials = models.flatMap(({ model, name = model }) =>
    strategies.flatMap((strategy) =>
      [0, 4].map((connected) =>
        record({ model: name, strategy, task: sized(5, { connected, seed: connected }) })
      )
    )
  );
  return breakDown(trials, models).filter(({ id }) => id.startsWith("effort-"));
}

Deno.test("breakDown() compares thinking budgets of one model, least first (FuncBenchGen 4.5)", () => {
  const [only, ...others] = thinking([
    { model: "gpt-5", name: "gpt-5 high", reasoningEffort: "high" },
    { model: "gpt-5" },
    { model: "gpt-5", name: "gpt-5 minimal", reasoningEffort: "minimal" },
  ]);
  assertEquals(others, []);
  assertEquals(only!.source, "Fig. 7");
  assertEquals(only!.title, "Success by thinking budget, 5 core functions: gpt-5");
  assertEquals(only!.series.map(({ name }) => name), ["minimal", "high", "default"]);
  assertEquals(only!.values, ["no extra", "connected"]);
  assertEquals(sharesOf(only!), {
    minimal: ["1/1", "1/1"],
    high: ["1/1", "1/1"],
    default: ["1/1", "1/1"],
  });
});

Deno.test("breakDown() takes no two models for thinking budgets of one that differ in more", () => {
  assertEquals(
    thinking([
      { model: "gpt-5", name: "one", reasoningEffort: "low" },
      { model: "gpt-5", name: "other", reasoningEffort: "high", temperature: 0 },
      { model: "gpt-5-mini", name: "third", reasoningEffort: "high" },
    ]),
    [],
  );
});

Deno.test("breakDown() has no thinking budgets of one entry, or of names without an entry", () => {
  assertEquals(thinking([{ model: "gpt-5", reasoningEffort: "low" }]), []);
  const trials = ["a", "b"].map((model) => record({ model }));
  assertEquals(idsOf(breakDown(trials, [])), ["core"]);
});

Deno.test("breakDown() compares thinking budgets within a strategy", () => {
  const found = thinking([
    { model: "gpt-5", name: "low", reasoningEffort: "low" },
    { model: "gpt-5", name: "high", reasoningEffort: "high" },
  ], ["plain", "restate"]);
  assertEquals(found.map(({ title }) => title), [
    "Success by thinking budget, 5 core functions: gpt-5",
    "Success by thinking budget, 5 core functions: gpt-5 + restate",
  ]);
  for (const { series } of found) {
    assertEquals(series.map(({ name }) => name), ["low", "high"]);
    assertEquals(series.flatMap(({ tallies }) => tallies.map((tally) => tally!.trials)), [
      ...[1, 1, 1, 1],
    ]);
  }
});

// Names

Deno.test("connectionName() names what grids of the paper's connections make, odd counts too (FuncBenchGen 4.1)", () => {
  const names = { connected: "connected", disconnected: "disconnected", half: "half and half" };
  for (const [connection, name] of Object.entries(names)) {
    for (const irrelevant of [2, 3, 5, 10, 11, 40, 41]) {
      const { cells } = grid({
        core: 5,
        depth: 2,
        irrelevant,
        connection: connection as keyof typeof names,
      });
      assertEquals(cells.map((cell) => connectionName(generatedFrom(cell))), [
        name as typeof CONNECTION_NAMES[number],
      ]);
    }
  }
  assertEquals(connectionName({ connected: 7, disconnected: 3 }), "mixed");
  assertEquals(connectionName({ connected: 3, disconnected: 5 }), "mixed");
});
