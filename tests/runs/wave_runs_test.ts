// Runs in waves, on simulated models: they come to what one machine comes to, and spend one budget.

import { assert, assertEquals, assertLessOrEqual, assertMatch, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { defined } from "../../lib/base/json.ts";
import type { GateReport } from "../../lib/gate/gate_report.ts";
import type { GatePolicy } from "../../lib/gate/policy.ts";
import type { Budget } from "../../lib/models/prices.ts";
import { readBaseline } from "../../lib/runs/baseline.ts";
import { decideResults } from "../../lib/runs/decide_results.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { planWave } from "../../lib/runs/_waves.ts";
import { sumUsage } from "../../lib/tools/message.ts";
import { accept, linesOf } from "../support/journals.ts";
import { Folder } from "../support/folders.ts";
import { inProcess } from "../support/in_process.ts";

const TASKS = [{ core: [1, 2], depth: [0, 1] }];

function planOf(gate: GatePolicy, models: readonly string[], traits: Partial<Suite> = {}): Plan {
  const suite = { name: "s", seed: 1, tasks: TASKS, models, ...traits };
  return planSuite({ ...suite, gate: { ...gate, sequential: true } });
}

/** How a plan is run in parts. */
interface Parts {
  readonly shards?: number;
  readonly of?: number;
  readonly concurrency?: number;
  readonly baseline?: ReturnType<typeof readBaseline>;
  readonly resume?: true;
}

/** Runs a shard of a wave after the journals of a folder; returns the run, or what was over before it. */
async function runShard(
  folder: Folder,
  plan: Plan,
  [index, wave]: readonly [shard: number, wave: number],
  { shards = 2, of = 5, concurrency = 3, baseline, resume }: Parts = {},
): Promise<{ over?: string; stopped?: string | undefined; asked: number }> {
  const shard = { index, of: shards };
  const journal = folder.file(`${wave}-${index}.jsonl`);
  const planned = planWave(plan, {
    subject: "s",
    shard,
    wave: { index: wave, of },
    journal,
    baseline,
  });
  if (planned.over !== undefined) return { over: planned.over, asked: 0 };
  if (planned.stopped !== undefined) return { stopped: planned.stopped, asked: 0 };
  let asked = 0;
  using run = new Run(plan, {
    ...{ shard, wave: planned.wave, earlier: planned.earlier?.trials ?? [], concurrency },
    ...(baseline === undefined ? {} : { baseline }),
    ...{ journal, ...defined({ resume }) },
    connect: ({ model }) => inProcess(model),
    onTrial: (trial) => void (asked += Number(trial.kind !== "needless")),
  });
  run.open();
  await run.all();
  return { stopped: run.stopped, asked };
}

/** Runs wave after wave as long as the gate says so. */
async function runWaves(folder: Folder, plan: Plan, parts: Parts = {}): Promise<GateReport> {
  const { shards = 2, of = 5, baseline } = parts;
  for (let wave = 1; wave <= of; wave++) {
    for (let index = 1; index <= shards; index++) {
      await runShard(folder, plan, [index, wave], parts);
    }
    const report = await gateOver(folder, plan, baseline);
    if (report.verdict !== "continue") return report;
  }
  throw new Error("the gate goes on after its last wave");
}

async function gateOver(
  folder: Folder,
  plan: Plan,
  baseline: Parts["baseline"],
): Promise<GateReport> {
  const paths = [...Deno.readDirSync(folder.path)].map(({ name }) => folder.file(name)).sort();
  return await decideResults(readResults(paths), plan.gate!, { baseline, journal: "a.jsonl" });
}

/** What one machine comes to, with one trial at a time. */
async function runAlone(plan: Plan, baseline: Parts["baseline"]): Promise<GateReport> {
  using folder = new Folder();
  {
    using run = new Run(plan, {
      ...(baseline === undefined ? {} : { baseline }),
      ...{ journal: folder.file("a.jsonl"), concurrency: 1 },
      connect: ({ model }) => inProcess(model),
    });
    await run.all();
  }
  return await gateOver(folder, plan, baseline);
}

const [GOOD, FAIR, WEAK] = ["sim:planner", "sim:noisy?quit=0.08", "sim:noisy?quit=0.4"];
const RATE = { successRate: 0.8, margin: 0.25 };

/** A plan of which no wave decides. */
function openPlan(traits: Partial<Suite> = {}): Plan {
  const gate = { successRate: 0.9, margin: 0.2 };
  return planOf(gate, ["sim:noisy?quit=0.1"], { seed: 2, ...traits });
}

Deno.test("waves come to the report of one machine", async (context) => {
  const kinds = new Set<string>();
  const check = async (plan: Plan, parts: Parts) => {
    using folder = new Folder();
    const report = await runWaves(folder, plan, parts);
    assertEquals(report, await runAlone(plan, parts.baseline));
    for (const { kind } of report.verdicts) kinds.add(kind);
  };
  for (const seed of [2]) {
    await context.step(`several models, seed ${seed}`, async () => {
      const ceilings = { failures: { incorrect_value: 0.2 }, tokens: 200 };
      const plan = planOf({ ...RATE, atMost: ceilings }, [GOOD!, FAIR!, WEAK!], { seed });
      await check(plan, { shards: seed });
    });
    await context.step(`a model against another one, seed ${seed}`, async () => {
      const gate = { baseline: GOOD!, margin: 0.25, discordance: 0.4 };
      await check(planOf(gate, [FAIR!, GOOD!, WEAK!], { seed, repetitions: 2 }), {
        shards: 3,
        of: 4,
      });
    });
  }
  await context.step("a model at the edge", async () => {
    await check(openPlan(), { shards: 2, of: 3 });
  });
  await context.step("against a baseline in a file", async () => {
    using kept = new Folder();
    const gate = { baseline: { file: "b.json" }, margin: 0.25, discordance: 0.4 };
    const old = planOf(gate, [GOOD!]);
    {
      using run = new Run(old, {
        journal: kept.file("old.jsonl"),
        connect: ({ model }) => inProcess(model),
      });
      await run.all();
    }
    const baseline = readBaseline(accept(kept, kept.file("old.jsonl")));
    await check(planOf(gate, [WEAK!]), { baseline });
  });
  assertEquals([...kinds].sort(), ["fail", "pass", "undecided"]);
});

Deno.test("a wave after the decision says so, and runs nothing", async () => {
  using folder = new Folder();
  const plan = planOf(RATE, [GOOD!, WEAK!]);
  await runWaves(folder, plan);
  const before = [...Deno.readDirSync(folder.path)].length;
  for (const wave of [4, 5]) {
    const { over } = await runShard(folder, plan, [1, wave]);
    assertMatch(
      over!,
      /^the gate of sim:planner had decided after \d+ graphs, and the gate of sim:n/,
    );
  }
  assertEquals([...Deno.readDirSync(folder.path)].length, before);
});

Deno.test("a shard of a wave is not stopped by its own trials, and a whole wave is", async () => {
  // Blocks of one trial, of which a single unsolved one decides: a shard may see the first of them.
  const tasks = [{ core: 1, depth: 0 }];
  const plan = planOf({ successRate: 1, margin: 0.3 }, ["sim:noisy?quit=1"], { tasks });
  const asked: number[] = [];
  for (const [shards, index] of [[2, 1], [2, 2], [1, 1]] as const) {
    using folder = new Folder();
    const parts = { shards, of: 2, concurrency: 1 };
    asked.push((await runShard(folder, plan, [index, 1], parts)).asked);
  }
  const [one, other, whole] = asked as [number, number, number];
  assertEquals([one + other, whole], [Math.floor(plan.trials.length / 2), 1]);
});

/** What a trial takes here at most. */
const MOST_TOKENS = 1_000;

/** The tokens of all trials in a folder. */
function tokensIn(folder: Folder): number {
  const paths = [...Deno.readDirSync(folder.path)].map(({ name }) => folder.file(name));
  const usage = sumUsage(readResults(paths).trials.map(({ usage }) => usage));
  return usage.inputTokens + usage.outputTokens;
}

Deno.test("a wave of several machines has one budget, of which each spends its share of what is left", async () => {
  using whole = new Folder();
  const plan = (budget?: Budget) => openPlan(budget === undefined ? {} : { budget });
  for (const index of [1, 2]) await runShard(whole, plan(), [index, 1]);
  const first = tokensIn(whole);

  using folder = new Folder();
  const budget = { tokens: Math.round(1.4 * first) };
  for (const index of [1, 2]) {
    assertEquals((await runShard(folder, plan(budget), [index, 1])).stopped, undefined);
  }
  assertEquals((await gateOver(folder, plan(budget), undefined)).verdict, "continue");
  for (const index of [1, 2]) {
    const { stopped } = await runShard(folder, plan(budget), [index, 2], { concurrency: 1 });
    assertEquals(stopped, `a shard's share of the budget of ${budget.tokens} tokens was reached`);
  }
  // What is in flight as it is reached still ends: a trial on each of two machines.
  assertLessOrEqual(tokensIn(folder), budget.tokens + 2 * MOST_TOKENS);
  const { verdict, exitCode, verdicts } = await gateOver(folder, plan(budget), undefined);
  assertEquals([verdict, exitCode], ["undecided", 3]);
  assertMatch(verdicts[0]!.text, /Not all of the plan was run: a shard's share of the budget of/);
  // The run has ended: nothing is left for later waves, which write no journals.
  for (const wave of [3, 4]) {
    const { asked, stopped } = await runShard(folder, plan(budget), [1, wave]);
    assertEquals(asked, 0);
    assertMatch(stopped!, /^a shard's share of the budget of \d+ tokens was reached; with more/);
  }
  // With more of it the shards go on, and then the run.
  const more = plan({ tokens: 9 * first });
  for (const index of [1, 2]) {
    assertEquals((await runShard(folder, more, [index, 2], { resume: true })).stopped, undefined);
  }
  assertEquals((await gateOver(folder, more, undefined)).verdict, "continue");
  assert((await runShard(folder, more, [1, 3])).asked > 0);
});

Deno.test("planWave() refuses what is no wave of the plan", () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const plan = planOf(RATE, [GOOD!]);
  const { graphs } = plan.resolved;
  const refuse = (planned: Plan, wave: { index: number; of?: number }, told: RegExp) => {
    const { message } = assertThrows(
      () => planWave(planned, { subject: "s", wave, journal }),
      InputError,
    );
    assertMatch(message, told);
  };
  const fixed = planSuite({ name: "s", seed: 1, tasks: TASKS, models: [GOOD!], gate: RATE });
  refuse(fixed, { index: 1 }, /^Cannot run s as --wave needs a sequential gate/);
  refuse(plan, { index: 7 }, /--wave must be at most 6: --wave is 7$/);
  refuse(
    plan,
    { index: 1, of: graphs + 1 },
    /each wave must have a block of trials, of which there are/,
  );
  const first = { subject: "s", wave: { index: 1 }, journal };
  assertEquals(planWave(plan, first), { wave: { index: 1, of: 6 } });
  const few = { ...plan, resolved: { ...plan.resolved, graphs: 3 } };
  assertEquals(planWave(few, first).wave, { index: 1, of: 3 });
});

Deno.test("planWave() needs the journals of all waves before, whole and of the same plan", async (context) => {
  using folder = new Folder();
  const plan = openPlan();
  for (const wave of [1, 2]) {
    for (const index of [1, 2]) await runShard(folder, plan, [index, wave]);
  }
  const names = ["1-1", "1-2", "2-1", "2-2"].map((name) => folder.file(`${name}.jsonl`));
  const [first, second, third, last] = names as [string, string, string, string];
  const cut = folder.write("cut.txt", folder.read("2-2.jsonl").split("\n").slice(0, -3).join("\n"));
  /** Plans a wave into a folder that has these journals. */
  const planAfter = (journals: readonly string[], other: Plan, wave: object) => {
    using own = new Folder();
    for (const [place, path] of journals.entries()) {
      own.write(`${place + 1}.jsonl`, Deno.readTextFileSync(path));
    }
    return planWave(other, { ...request, ...wave, journal: own.file("now.jsonl") });
  };
  const request = { subject: "s", shard: { index: 1, of: 2 }, wave: { index: 3, of: 5 } };
  const cases: [string, string[], RegExp, Partial<typeof request>?][] = [
    [
      "a shard of the first wave is missing",
      [second, third, last],
      /waves 1 to 2, of all shards: shards are missing: shard 1\/2 of wave 1\/5/,
    ],
    ["the wave before is missing", [first, second], /of all shards: wave 2\/5 is missing/],
    [
      "all are missing",
      [folder.write("none.txt", "")],
      /of all shards: \S+ has none of this suite$/,
    ],
    [
      "one is short",
      [first, second, third, cut],
      /the waves before must be whole: shard 2\/2 of wave 2\/5 \(\S+4\.jsonl\) lacks 1/,
    ],
    ["one is there twice", [...names, first], /shard 1\/2 of wave 1\/5 is there twice/],
    [
      "they have other waves",
      names,
      /is shard 1\/2 of wave 1\/5, and this shard 1\/2 of wave 3\/6/,
      { wave: { index: 3, of: 6 } },
    ],
    [
      "they have other shards",
      names,
      /is shard 1\/2 of wave 1\/5, and this shard 1\/3 of wave 3\/5/,
      { shard: { index: 1, of: 3 } },
    ],
  ];
  for (const [name, after, told, own] of cases) {
    await context.step(name, () => {
      const { message } = assertThrows(
        () => planAfter(after, plan, own ?? {}),
        InputError,
      );
      assertMatch(message, told);
    });
  }
  await context.step("they are of another plan", () => {
    const other = openPlan({ seed: 3 });
    const { message } = assertThrows(
      () => planAfter(names, other, {}),
      InputError,
    );
    assertMatch(message, /it must be of the same plan: it differs in seed/);
  });
  await context.step("they declare other prices, with which no gate decides over both", () => {
    const other = { ...plan, prices: { [plan.trials[0]!.model]: { input: 1, output: 2 } } };
    const { message } = assertThrows(
      () => planAfter(names, other, {}),
      InputError,
    );
    assertMatch(message, /of all shards: \S+1\.jsonl declares other prices$/);
  });
  await context.step("they are of another gate", () => {
    const other = planOf({ successRate: 0.8, margin: 0.2 }, ["sim:noisy?quit=0.1"], { seed: 2 });
    const refuse = (after: string[]) =>
      assertThrows(() => planAfter(after, other, {}), InputError).message;
    assertMatch(refuse(names), /it must be of the same plan: it differs in gate/);
    const line = planLine(plan, { index: 1, of: 2 });
    const whole = folder.write("whole.txt", linesOf([line]));
    assertMatch(refuse([whole]), /of all shards: \S+1\.jsonl is of no wave$/);
  });
  await context.step("a folder may have more than those", async () => {
    await runShard(folder, plan, [2, 3]);
    folder.write("other.jsonl", '{"v":1,"kind":"plan","suite":"another"}\n');
    folder.write("begun.jsonl", "");
    const { earlier } = planWave(plan, { ...request, journal: folder.file("3-1.jsonl") });
    assertEquals(earlier!.paths.length, 4);
  });
});

Deno.test("Run with resume goes on with a journal of its own shard and wave only", async () => {
  using folder = new Folder();
  const plan = planOf(RATE, [FAIR!]);
  await runShard(folder, plan, [1, 1]);
  const begin = (shard: number, wave: number) => () =>
    new Run(plan, {
      ...{ shard: { index: shard, of: 2 }, wave: { index: wave, of: 5 } },
      ...{ journal: folder.file("1-1.jsonl"), resume: true },
      connect: ({ model }) => inProcess(model),
    });
  using run = begin(1, 1)();
  assertEquals(run.resumed, run.trials.length);
  for (const [shard, wave] of [[1, 2], [2, 1]] as const) {
    assertThrows(
      begin(shard, wave),
      InputError,
      `as it is of shard 1/2 of wave 1/5: this is shard ${shard}/2 of wave ${wave}/5`,
    );
  }
});
