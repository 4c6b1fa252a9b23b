import { assert, assertEquals } from "@std/assert";
import { CONNECTION_NAMES, connectionName } from "../../../lib/reports/metrics/_breakdowns.ts";
import { tablesOf } from "../../../lib/reports/_views.ts";
import type { Table } from "../../../lib/reports/_view.ts";
import type { GraphSpec } from "../../../lib/tasks/graphs/graph.ts";
import { grid } from "../../../lib/runs/suite.ts";
import type { ModelEntry } from "../../../lib/models/entry.ts";
import { OUTCOMES, type Trial } from "../../../lib/trials/trial.ts";
import { mean } from "../../../lib/base/numbers.ts";
import fc from "../../support/fast_check.ts";
import { generatedFrom } from "../../support/generated.ts";
import { record } from "../../support/records.ts";
import {
  type MetricRecord,
  recordsOf,
  reportOf,
  tableOf,
  textsOf,
  valuesOf,
} from "../../support/reports.ts";

/** A task of a size; tasks differ by their seeds. */
function sized(core: number, traits: Partial<GraphSpec> = {}): GraphSpec {
  const depth = core === 1 ? 0 : 1;
  return { core, depth, connected: 0, disconnected: 0, seed: 1, ...traits };
}

/** A task that another tool made, of which no size is known. */
function foreign(name: string): Trial["task"] {
  return { case: name } as unknown as Trial["task"];
}

const breakDown = (trials: readonly Trial[], models: readonly ModelEntry[] = []) =>
  recordsOf("breakdowns", trials, { models });

const idsOf = (
  records: readonly MetricRecord[],
) => [...new Set(records.map(({ breakdown }) => breakdown))];

/** Solved of valid trials of each series, in the order of the axis. */
function sharesOf(id: string, records: readonly MetricRecord[]): Record<string, string[]> {
  const own = records.filter(({ breakdown }) => breakdown === id);
  return Object.fromEntries(
    Map.groupBy(own, ({ series }) => String(series)).entries().map(([series, points]) => [
      series,
      points.map((one) => `${one["value"]}: ${one["solved_count"]}/${one["solved_of"]}`),
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
} as const;
const CELLS = grid({ ...SIZES, names: ["random", "helpful"] }).cells;

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

type Generated = Trial & { readonly task: GraphSpec };

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

const isGenerated = (trial: Trial): trial is Generated => "core" in trial.task;

function nameOf({ model, strategy }: Trial): string {
  return model.requested + (strategy === "plain" ? "" : ` + ${strategy}`) +
    (model.simulated ? " (simulated)" : "");
}

function ruleOf(id: string, names: readonly string[]): Rule {
  const [kind, number] = id.split("-");
  const ofSize = ({ task }: Generated) => task.core === Number(number);
  const any = () => true;
  const core = ({ task }: Generated) => task.core;
  const rules: Record<string, Rule> = {
    core: { of: any, value: core, series: nameOf },
    no: { of: ({ task }) => kindOf(task) === "no extra", value: core, series: nameOf },
    connection: { of: any, value: ({ task }) => kindOf(task), series: nameOf },
    depth: { of: ofSize, value: ({ task }) => task.depth, series: nameOf },
    sets: {
      of: (trial) => nameOf(trial) === names[Number(number) - 1],
      value: core,
      series: ({ task }) => kindOf(task),
    },
    strategy: {
      of: ofSize,
      value: ({ model }) => model.requested + (model.simulated ? " (simulated)" : ""),
      series: ({ strategy }) => strategy,
    },
    linking: { of: any, value: ({ task }) => task.linking ?? "types", series: nameOf },
  };
  return rules[kind!]!;
}

Deno.test("breakDown() has the figures that one gets from the trials by hand (FuncBenchGen 4.1)", () => {
  fc.assert(
    fc.property(TRIALS, (trials) => {
      const generated = trials.filter(isGenerated);
      const names = [...new Set(trials.map(nameOf))];
      for (const [id, records] of Map.groupBy(breakDown(trials), (one) => one["breakdown"])) {
        const { of, value, series } = ruleOf(String(id), names);
        const own = generated.filter(of);
        const groups = Map.groupBy(own, (trial) => `${series(trial)} at ${value(trial)}`);
        assertEquals(records.length, groups.size, String(id));
        for (const one of records) {
          const here = groups.get(`${one["series"]} at ${one["value"]}`)!;
          const valid = here.filter(({ outcome }) => outcome !== "invalid");
          const [solved, others] = [true, false].map((isSolved) =>
            valid.filter((trial) => trial.solved === isSolved)
          );
          assertEquals(
            valuesOf([one], "trials solved_count solved_of invalid calls_solved calls_unsolved")[0],
            [
              ...[here.length, solved!.length, valid.length, here.length - valid.length],
              ...[solved!, others!].map((all) => mean(all.map(({ calls }) => calls))),
            ],
            `${id}, ${one["series"]} at ${one["value"]}`,
          );
        }
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
      const names = [...new Set(trials.map(nameOf))];
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
      ];
      assertEquals(idsOf(breakDown(trials)), expected);
    }),
    { numRuns: 80 },
  );
});

Deno.test("breakDown() leaves out tasks of which it does not know all sizes", () => {
  assertEquals(breakDown([]), []);
  assertEquals(breakDown([record({ task: foreign("refunds"), id: "1" })]), []);
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
  const points = [5, 9, 20, 100].map((core) => `${core}: 1/1`);
  const shares = sharesOf("core", breakDown(trials));
  assertEquals(Object.entries(shares), [["z", points], ["a", points]]);
});

Deno.test("breakDown() has kinds of irrelevant functions in the paper's order (FuncBenchGen 4.3)", () => {
  const counts = [[0, 3], [9, 1], [2, 2], [4, 0], [0, 0]] as const;
  const trials = counts.map(([connected, disconnected], seed) =>
    record({ task: sized(5, { connected, disconnected, seed }) })
  );
  assertEquals(sharesOf("connection", breakDown(trials)), {
    m: CONNECTION_NAMES.map((name) => `${name}: 1/1`),
  });
});

Deno.test("breakDown() has depths for each core size by itself (FuncBenchGen 4.4, C.3)", () => {
  const trials = [[5, 1], [5, 4], [10, 2], [10, 9], [10, 4], [20, 3]].map(([core, depth]) =>
    record({ task: sized(core!, { depth: depth! }) })
  );
  const records = breakDown(trials);
  assertEquals(idsOf(records), ["core", "depth-5", "depth-10"]);
  assertEquals(sharesOf("depth-5", records), { m: ["1: 1/1", "4: 1/1"] });
  assertEquals(sharesOf("depth-10", records), { m: ["2: 1/1", "4: 1/1", "9: 1/1"] });
  assertEquals(tableOf("depth-10", trials)!.source, "Figs. 5 and 13");
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
  assertEquals(sharesOf("strategy-5", breakDown(trials)), {
    plain: ["sim:a (simulated): 1/3", "b: 1/3"],
    restate: ["sim:a (simulated): 3/3", "b: 3/3"],
  });
  assertEquals(tableOf("strategy-5", trials)!.source, "Fig. 8");
});

Deno.test("breakDown() tells apart models whose names look the same", () => {
  const trials = [
    record({ model: "m", strategy: "restate" }),
    record({ model: "m + restate", outcome: "no_answer" }),
    record({ model: "n", simulated: true }),
    record({ model: "n (simulated)", outcome: "no_answer" }),
  ];
  const core = breakDown(trials).filter(({ breakdown }) => breakdown === "core");
  assertEquals(valuesOf(core, "series solved_count trials"), [
    ["m + restate", 1, 1],
    ["m + restate #2", 0, 1],
    ["n (simulated)", 1, 1],
    ["n (simulated) #2", 0, 1],
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
  const ids = idsOf(breakDown(trials, models));
  assert(ids.includes("effort-1"));
  for (const table of tablesOf(reportOf(trials, { models })).filter(({ id }) => ids.includes(id))) {
    for (const text of [table.title, ...textsOf(table).flat()]) {
      if (!/mine|thoughtful|sim:/.test(text)) continue;
      assert(text.includes("(simulated)"), `${table.id}: ${text}`);
    }
  }
});

/** Tables of thinking budgets of these models, on tasks without irrelevant functions and with some. */
function thinking(models: readonly ModelEntry[], strategies = ["plain"]): Table[] {
  const trials = models.flatMap(({ model, name = model }) =>
    strategies.flatMap((strategy) =>
      [0, 4].map((connected) =>
        record({ model: name, strategy, task: sized(5, { connected, seed: connected }) })
      )
    )
  );
  return tablesOf(reportOf(trials, { models })).filter(({ id }) => id.startsWith("effort-"));
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
  const one = "100.0% of 1 (20.7% to 100.0%)";
  assertEquals(textsOf(only), [
    ["thinking budget", "no extra", "connected"],
    ...["minimal", "high", "default"].map((budget) => [budget, one, one]),
  ]);
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
  assertEquals(thinking([{ model: "gpt-5", reasoningEffort: "low" }]), []);
});

Deno.test("breakDown() compares thinking budgets within a strategy", () => {
  const found = thinking([
    { model: "gpt-5", name: "low", reasoningEffort: "low" },
    { model: "gpt-5", name: "high", reasoningEffort: "high" },
  ], ["plain", "restate"]);
  const title = "Success by thinking budget, 5 core functions: gpt-5";
  assertEquals(found.map((table) => table.title), [title, `${title} + restate`]);
  for (const table of found) {
    assertEquals(
      textsOf(table).slice(1).map(([name, cell]) => [name, / of \d+/.exec(cell!)?.[0]]),
      [
        ["low", " of 1"],
        ["high", " of 1"],
      ],
    );
  }
});

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
      assertEquals(cells.map((cell) => connectionName(generatedFrom(cell)) as string), [name]);
    }
  }
  assertEquals(connectionName({ connected: 7, disconnected: 3 }), "mixed");
  assertEquals(connectionName({ connected: 3, disconnected: 5 }), "mixed");
});

/** Four graphs of each size; every other one has irrelevant functions, too. */
const TWO_SIZES = ["a", "b"].flatMap((model) =>
  [5, 10].flatMap((core) =>
    [1, 2, 3, 4].map((seed) => {
      const solved = model === "a" && seed <= (core === 5 ? 3 : 1);
      return record({
        model,
        task: sized(core, { seed, connected: seed % 2 === 0 ? 10 : 0 }),
        outcome: solved ? "solved" : "wrong_answer",
        calls: core + (solved ? seed : 2 * seed),
      });
    })
  )
);

Deno.test("tablesOf() has success and calls by core size, as in Table 2 (FuncBenchGen 4.2)", () => {
  const table = tableOf("core", TWO_SIZES)!;
  assertEquals([table.source, table.note], ["Table 2", undefined]);
  assertEquals(textsOf(table), [
    ["model", ...[5, 10].flatMap((core) => [`core ${core}: solved`, "calls if solved", "if not"])],
    [
      "a",
      ...["75.0% of 4 (30.1% to 95.4%)", "7.0", "13.0"],
      ...["25.0% of 4 (4.6% to 69.9%)", "11.0", "16.0"],
    ],
    [
      "b",
      ...["0.0% of 4 (0.0% to 49.0%)", "-", "10.0"],
      ...["0.0% of 4 (0.0% to 49.0%)", "-", "15.0"],
    ],
  ]);
  // Nothing was tried, or nothing is valid.
  const none = [
    record({ model: "a", task: sized(5), outcome: "invalid" }),
    record({ model: "b", task: sized(10) }),
  ];
  assertEquals(textsOf(tableOf("core", none)).slice(1), [
    ["a", "-", "-", "-", "-", "-", "-"],
    ["b", "-", "-", "-", "100.0% of 1 (20.7% to 100.0%)", "3.0", "-"],
  ]);
});

Deno.test("tablesOf() has the same without irrelevant functions, as in Table 5 (FuncBenchGen C.1)", () => {
  const table = tableOf("no-extra", TWO_SIZES)!;
  assertEquals(table.source, "Table 5");
  const plain = TWO_SIZES.filter(({ task }) =>
    "core" in task && task.connected + task.disconnected === 0
  );
  assertEquals(tableOf("core", plain)!.source, "Table 5", "there are no others");
  assertEquals(textsOf(table).map((row) => row.slice(0, 4)), [
    ["model", "core 5: solved", "calls if solved", "if not"],
    // Seeds 1 and 3: both solved, with 6 and 8 calls.
    ["a", "100.0% of 2 (34.2% to 100.0%)", "7.0", "-"],
    ["b", "0.0% of 2 (0.0% to 65.8%)", "-", "9.0"],
  ]);
});
