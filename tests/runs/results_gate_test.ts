// Gates, budgets and prices in plan lines: what a journal keeps of them, and what is made of it.

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { readJournalFile } from "../../lib/runs/journal/journal.ts";
import { type PlanLine, planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { Folder } from "../support/folders.ts";
import { endLine, linesOf } from "../support/journals.ts";
import { finish } from "../support/records.ts";

const SEQUENTIAL = { successRate: 0.9, margin: 0.2, sequential: true };
const UPGRADE = { baseline: "a", margin: 0.1, atMost: { tokens: 9 } };

function planOf(gate: GatePolicy | undefined, traits: Partial<Suite> = {}): Plan {
  return planSuite({
    name: "s",
    seed: 1,
    tasks: [{ core: [2, 3], depth: 1 }],
    models: ["a", "b"],
    ...(gate === undefined ? {} : { gate }),
    ...traits,
  });
}

const PLANS: [string, Plan][] = [
  ["no gate", planOf(undefined)],
  ["an absolute gate", planOf({ successRate: 0.9 })],
  ["an upgrade gate", planOf(UPGRADE)],
  ["a sequential gate", planOf(SEQUENTIAL)],
  ["a sequential upgrade gate", planOf({ ...UPGRADE, sequential: true })],
];

/** Writes the journal of a plan without trials, its line changed by hand. */
function write(
  folder: Folder,
  plan: Plan,
  change: (line: PlanLine) => object = (line) => line,
): string {
  return folder.write("a.jsonl", linesOf([change(planLine(plan))]));
}

Deno.test("planLine() has the rule of a sequential gate beside the policy, in one object", () => {
  const plan = planOf(SEQUENTIAL);
  const policy = completePolicy(SEQUENTIAL);
  const rule = sequentialRule(policy, 2);
  const line = planLine(plan);
  const { gate } = line;
  assertEquals([gate, line.rule], [policy, rule]);
  assertEquals(Object.keys(gate!).toSorted(), [
    "atMost",
    "confidence",
    "coverage",
    "margin",
    "power",
    "sequential",
    "successRate",
    "undecided",
  ]);
  assertEquals([rule.alpha, rule.beta, rule.blockSize], [0.05, 0.05, 2]);
});

Deno.test("planLine() has budget and prices, where there are any", () => {
  const prices = { a: { input: 1, output: 2 }, b: { input: 0, output: 0 } };
  const line = planLine(planOf(undefined, { budget: { usd: 3, tokens: 9 }, prices }));
  assertEquals([line.budget, line.prices], [{ usd: 3, tokens: 9 }, prices]);
  const none = planLine(planOf(undefined));
  assertEquals([none.budget, none.prices], [undefined, undefined]);
});

for (const [name, plan] of PLANS) {
  Deno.test(`readResults() gives gate and rule back as they were planned: ${name}`, () => {
    const { gate, rule } = plan;
    using folder = new Folder();
    const read = readResults([write(folder, plan)]);
    assertEquals([read.problem, read.gate, read.rule], [undefined, gate, rule]);
  });
}

Deno.test("readJournalFile() reads budget and prices back", () => {
  using folder = new Folder();
  const prices = { a: { input: 1, output: 2 }, b: { input: 0, output: 0 } };
  const plan = planOf(undefined, { budget: { tokens: 9 }, prices });
  const path = write(folder, plan);
  const { budget, prices: read } = readJournalFile(path).plan!;
  assertEquals([budget, read], [{ tokens: 9 }, prices]);
  assertEquals(readResults([path]).prices, prices);
});

Deno.test("readJournalFile() names the path and the rule of what is wrong in a planned gate", () => {
  const { gate, rule: planned } = planLine(planOf(SEQUENTIAL));
  const { alpha: _, ...incomplete } = planned!;
  const faults: [changed: object, path: string, rule: string][] = [
    [{ gate: { ...gate, successRate: 7 } }, "gate.successRate", "must be at most 1"],
    [
      { gate: { ...gate, baseline: "a" } },
      "gate.successRate",
      "give either successRate or baseline",
    ],
    [{ gate: { ...gate, atMost: { failures: { typo: 1 } } } }, "gate.atMost.failures", '"typo"'],
    [{ gate: { ...gate, sucessRate: 0.9 } }, "gate", '"sucessRate"'],
    [
      { rule: { ...planned, lambda: { pass: 0, fail: -1 } } },
      "rule.lambda.pass",
      "must be above 0",
    ],
    [{ rule: { ...planned, lambda: { pass: 1, fail: 1 } } }, "rule.lambda.fail", "must be below 0"],
    [{ rule: { ...planned, lambda: 1 } }, "rule.lambda", "expected object"],
    [{ rule: { ...planned, alpha: 0.5 } }, "rule.alpha", "must be below 0.5"],
    [{ rule: { ...planned, beta: 0 } }, "rule.beta", "must be above 0"],
    [{ rule: { ...planned, blockSize: 0 } }, "rule.blockSize", "must be at least 1"],
    [{ rule: { ...planned, fixedSize: 1.5 } }, "rule.fixedSize", "int"],
    [{ rule: { ...planned, largestSize: "9" } }, "rule.largestSize", "expected number"],
    [{ rule: incomplete }, "rule.alpha", "expected number"],
    [{ rule: { blockSize: 2 } }, "rule.lambda", "expected object"],
  ];
  for (const [changed, path, rule] of faults) {
    using folder = new Folder();
    const file = write(folder, planOf(SEQUENTIAL), (line) => ({ ...line, ...changed }));
    const { message } = assertThrows(() => readJournalFile(file), InputError);
    assertStringIncludes(message, `Cannot use ${file}, line 1:\n`);
    assertStringIncludes(message, `  at ${path}: `);
    assertStringIncludes(message, rule);
  }
});

Deno.test("readJournalFile() names the path of what is wrong in a planned budget or table of prices", () => {
  const faults: [object, path: string][] = [
    [{ budget: { tokens: 0 } }, "budget.tokens"],
    [{ budget: { euros: 1 } }, "budget"],
    [{ prices: { a: { input: -1, output: 0 } } }, "prices.a.input"],
  ];
  for (const [change, path] of faults) {
    using folder = new Folder();
    const file = write(folder, planOf(undefined), (line) => ({ ...line, ...change }));
    assertThrows(() => readJournalFile(file), InputError, `  at ${path}: `);
  }
});

Deno.test("readResults() finds shards whose rules differ: neither may win silently", () => {
  using folder = new Folder();
  const plan = planOf(SEQUENTIAL);
  const paths = [1, 2].map((index) => {
    const line = planLine(plan, { index, of: 2 });
    const rule = { ...line.rule, ...(index === 1 ? {} : { alpha: 0.1 }) };
    return folder.write(`${index}.jsonl`, linesOf([{ ...line, rule }]));
  });
  assertMatch(readResults(paths).problem!, /1\.jsonl and .*2\.jsonl declare different gates$/);
});

const ENDS = "the budget of 60 tokens was reached";

/** Writes the journal of a shard with its first trials, and lines after some of them that say what ended the run. */
function writeTrials(folder: Folder, plan: Plan, count: number, ended: number[], shard = WHOLE) {
  const trials = shardOf(plan, shard).slice(0, count).flatMap((planned, place) => [
    finish(planned),
    ...ended.includes(place) ? [endLine(place + 1, ENDS)] : [],
  ]);
  return folder.write(`${shard.index}.jsonl`, linesOf([planLine(plan, shard), ...trials]));
}

const WHOLE = { index: 1, of: 1 };

Deno.test("readResults() tells why trials are missing, where the last line says so", () => {
  using folder = new Folder();
  const plan = planOf(undefined, { graphs: 3 });
  const stopped = (count: number, ended: number[]) =>
    readResults([writeTrials(folder, plan, count, ended)]).stopped;
  assertEquals(stopped(5, [4]), ENDS);
  assertEquals(stopped(5, [3, 4]), ENDS);
  assertEquals(stopped(5, []), undefined, "it was cut short");
  assertEquals(stopped(5, [2]), undefined, "it went on, and was cut short");
  assertEquals(stopped(12, [11]), undefined, "nothing is missing");
  assertEquals(stopped(0, []), undefined);
  // A gate may have stopped it, which is no news.
  assertEquals(readResults([writeTrials(folder, plan, 5, [])]).notices, []);
});

Deno.test("readResults() names shards that ended early, why, and how many trials they lack", () => {
  using folder = new Folder();
  const plan = planOf(undefined, { graphs: 3 });
  const shards = [1, 2, 3].map((index) => ({ index, of: 3 }));
  const paths = [
    writeTrials(folder, plan, 4, [], shards[0]),
    writeTrials(folder, plan, 1, [0], shards[1]),
    writeTrials(folder, plan, 0, [], shards[2]),
  ];
  const cut = "its run was cut short, or goes on; it can be continued with --resume";
  const [second, third] = [
    `shard 2/3 (${paths[1]}) lacks 3 of its 4 trials: ${ENDS}`,
    `shard 3/3 (${paths[2]}) lacks 4 of its 4 trials: ${cut}`,
  ];
  assertEquals(readResults(paths).notices, [second, third]);
  // What else is missing does not keep it quiet.
  assertEquals(readResults(paths.slice(1)).notices, [second, third]);
});

Deno.test("readResults() of shards tells why trials are missing only where each that lacks some does", () => {
  using folder = new Folder();
  const plan = planOf(undefined, { graphs: 3 });
  const [one, two] = [1, 2].map((index) => ({ index, of: 2 }));
  const stopped = (...counts: [count: number, ended: number[]][]) =>
    readResults(
      [one!, two!].map((shard, place) => writeTrials(folder, plan, ...counts[place]!, shard)),
    ).stopped;
  assertEquals(stopped([6, []], [3, [2]]), ENDS);
  assertEquals(stopped([4, [3]], [3, [2]]), ENDS);
  assertEquals(stopped([4, []], [3, [2]]), undefined);
  assertEquals(stopped([4, [3]], [3, []]), undefined);
  assertEquals(stopped([6, []], [6, []]), undefined);
});
