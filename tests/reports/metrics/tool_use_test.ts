import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { JsonValue } from "../../../lib/base/json.ts";
import type { RecoveryEnd } from "../../../lib/calls/recovery.ts";
import { type Parse, PARSES, type ReplyEvent } from "../../../lib/calls/trace.ts";
import type { Api } from "../../../lib/models/formats/registry.ts";
import { tablesOf } from "../../../lib/reports/_views.ts";
import { estimateMean } from "../../../lib/statistics/clustered_mean.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import fc from "../../support/fast_check.ts";
import {
  callEvent,
  faulted,
  manyRecords,
  record,
  type TrialTraits,
} from "../../support/records.ts";
import { recordsOf, reportOf, tableOf, textsOf, valuesOf } from "../../support/reports.ts";

const boundsOf = (bounds: { lower: number; upper: number } | null): JsonValue[] => [
  bounds?.lower ?? null,
  bounds?.upper ?? null,
];

// Recovery from faults

const ENDS = "episodes recovered hallucinated repeated gave_up";

Deno.test("recovery counts the ends of all episodes of valid trials (Pipeline, Evaluation Framework)", () => {
  const records = recordsOf("recovery", [
    faulted(["recovered"], { seed: 1 }),
    faulted(["hallucinated"], { seed: 2 }),
    faulted(["repeated"], { seed: 3 }),
    faulted(["gave_up"], { seed: 4 }),
    faulted(["recovered"], { seed: 5, outcome: "invalid" }),
    faulted([], { seed: 6 }),
    faulted([], { seed: 1, perturbation: "none" }),
  ]);
  assertEquals(valuesOf(records, `name fault under trials ${ENDS} tries`), [
    ["m", "timeout", "timeout", 5, 4, 1, 1, 1, 1, 1],
  ]);
  assertEquals(valuesOf(records, "right_count right_of right right_lower right_upper"), [
    [1, 4, 0.25, ...boundsOf(wilson(1, 4))],
  ]);
  assertEquals(recordsOf("recovery", [faulted([])]), []);
  const clustered = ([["recovered", "gave_up"], ["recovered", "recovered"], ["gave_up"]] as const)
    .map((own: readonly RecoveryEnd[], place) => faulted(own, { seed: place + 1 }));
  assertEquals(valuesOf(recordsOf("recovery", clustered), "right_lower right_upper"), [
    boundsOf(clusteredInterval([[1, 0], [1, 1], [0]])),
  ]);
});

Deno.test("recovery takes giving up for right where permission is denied, in a row for each fault", () => {
  const trials = [
    faulted(["recovered"], { seed: 1 }, "slow"),
    faulted(["gave_up"], { seed: 1 }, "permission_denied"),
    faulted(["hallucinated"], { seed: 2 }, "permission_denied"),
    faulted(["recovered"], { seed: 1 }),
    faulted(["gave_up"], { seed: 2 }),
    faulted(["hallucinated"], { model: "b", perturbation: "RD+timeout" }),
    faulted(["gave_up"], { model: "b", perturbation: "timeout:3" }),
    faulted(["gave_up"], { model: "b", strategy: "restate" }),
    faulted(["gave_up"], { model: "sim:c", simulated: true }),
    faulted([], { model: "d" }),
  ];
  assertEquals(textsOf(tableOf("recovery", trials)).map((row) => row.slice(0, 9)), [
    [
      ...["model", "fault", "trials", "episodes", "recovered", "hallucinated", "repeated"],
      ...["gave up", "right"],
    ],
    ["m", "timeout", "2", "2", "1", "0", "0", "1", "50.0%"],
    ["m", "permission_denied", "2", "2", "0", "1", "0", "1", "50.0%"],
    ["m", "slow", "1", "1", "1", "0", "0", "0", "100.0%"],
    ["b", "timeout (RD+timeout)", "1", "1", "0", "1", "0", "0", "0.0%"],
    ["b", "timeout:3", "1", "1", "0", "0", "0", "1", "0.0%"],
    ["b + restate", "timeout", "1", "1", "0", "0", "0", "1", "0.0%"],
    ["sim:c (simulated)", "timeout", "1", "1", "0", "0", "0", "1", "0.0%"],
  ]);
});

// Success by strategy and fault

const summaries = (solved: number, trials: number, traits: TrialTraits) =>
  manyRecords(solved, trials, traits).map(summarize);

Deno.test("success by strategy and fault, and over all of them (Pipeline, Tool Call Success Rate by Error Handling Strategy)", () => {
  const counts = { plain: [18, 2], "repair+retry": [20, 15] } as const;
  const records = recordsOf(
    "error-handling",
    Object.entries(counts).flatMap(([strategy, [plain, faulty]]) => [
      ...summaries(plain, 20, { strategy }),
      ...summaries(faulty, 20, { strategy, perturbation: "timeout" }),
      ...summaries(3, 20, { strategy, perturbation: "RD" }),
      ...summaries(1, 2, { strategy, perturbation: "timeout", outcome: "invalid" }),
      ...summaries(0, 4, { strategy, perturbation: "permission_denied" })
        .map((trial) => ({ ...trial, unsolvable: "denied" as const })),
    ]),
  );
  const figures = "strategy fault solved_count solved_of solved_lower solved_upper";
  for (const [strategy, [plain, faulty]] of Object.entries(counts)) {
    const own = valuesOf(records.filter((one) => one["strategy"] === strategy), figures);
    assertEquals(own.slice(0, 3), [
      [strategy, "none", plain, 20, ...boundsOf(wilson(plain, 20))],
      [strategy, "timeout", faulty, 20, ...boundsOf(wilson(faulty, 20))],
      // No model could solve these.
      [strategy, "permission_denied", 0, 0, null, null],
    ]);
    // Both are on the same graphs, which are the units of the interval.
    assertEquals(own[3]!.slice(0, 4), [strategy, null, plain + faulty, 40]);
    assert(own[3]![4] !== wilson(plain + faulty, 40).lower);
  }
});

Deno.test("success by strategy and fault is nothing without faults, or with one strategy that met them", () => {
  const none = { strategy: "retry" };
  const joined = { perturbation: "timeout+RD" };
  for (
    const trials of [
      summaries(2, 4, { perturbation: "timeout" }),
      [...summaries(2, 4, {}), ...summaries(2, 4, none)],
      [...summaries(2, 4, joined), ...summaries(2, 4, { ...none, ...joined })],
    ]
  ) assertEquals(recordsOf("error-handling", trials), []);
});

Deno.test("the table of success by fault has intervals on pages alone, and stands directly behind the matrix", () => {
  const trials = [
    ...summaries(2, 4, { perturbation: "timeout" }),
    ...summaries(2, 2, { perturbation: "timeout", strategy: "repair" }),
  ];
  assertEquals(textsOf(tableOf("error-handling", trials)), [
    ["model", "strategy", "timeout", "overall"],
    ["m", "plain", ...new Array(2).fill("50.0% of 4 (15.0% to 85.0%)")],
    ["m", "repair", ...new Array(2).fill("100.0% of 2 (34.2% to 100.0%)")],
  ]);
  const [, row] = textsOf(tableOf("error-handling", trials, {}, "terminal"));
  assertEquals(row!.slice(2), ["50.0% of 4", "50.0% of 4"]);
  const ids = tablesOf(reportOf(trials)).map(({ id }) => id);
  assertEquals(ids[ids.indexOf("error-handling") - 1], "matrix");
});

// Latency

/** A trial whose tools ran for so long. */
function timed(
  calls: readonly (readonly [tool: string, durationMs?: number])[],
  traits: TrialTraits = {},
) {
  const events = calls.map(([tool, durationMs], place) =>
    callEvent(place + 1, { function: tool, ...(durationMs === undefined ? {} : { durationMs }) })
  );
  return summarize(record({ events, ...traits }));
}

Deno.test("latency has median and 95th percentile of each tool's own time (Pipeline, Structured Output for Tool Invocation)", () => {
  const trials = [
    timed([["slow", 40], ["fast", 1], ["slow", 10], ["refused"]]),
    timed([["slow", 1234]], { seed: 2 }),
    timed([["slow", 9999]], { seed: 3, outcome: "invalid" }),
    timed([["refused"]], { seed: 4 }),
    timed([["slow", 7]], { strategy: "retry" }),
  ];
  assertEquals(valuesOf(recordsOf("latency", trials), "name tool calls median p95 longest"), [
    ["m", "fast", 1, 1, 1, 1],
    ["m", "slow", 3, 40, 1234, 1234],
    ["m + retry", "slow", 1, 7, 7, 7],
  ]);
  assertEquals(textsOf(tableOf("latency", trials)).slice(0, 3), [
    ["model", "tool", "calls", "median", "95th percentile", "longest"],
    ["m", "fast", "1", "1 ms", "1 ms", "1 ms"],
    ["m", "slow", "3", "40 ms", "1.2 s", "1.2 s"],
  ]);
  const durations = fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 60 });
  fc.assert(fc.property(durations, (times) => {
    const [one] = recordsOf("latency", [timed(times.map((time) => ["t", time]))]);
    for (const [figure, share] of [["median", 0.5], ["p95", 0.95], ["longest", 1]] as const) {
      const value = one![figure] as number;
      const within = (limit: number) => times.filter((time) => time <= limit).length / times.length;
      // The least of the times that this share does not exceed.
      assert(times.includes(value) && within(value) >= share && within(value - 1) < share);
    }
  }));
});

// Formats

/** A trial whose replies could be read so: s, r and u. */
function replied(parses: string, traits: TrialTraits = {}, api?: Api): TrialSummary {
  const numbers = { calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 };
  const events = [...parses].map((letter, place): ReplyEvent => {
    const parsed = PARSES.find((parse) => parse.startsWith(letter))!;
    const repairs = parsed === "repaired" ? { repairs: [`call ${place} had no end`] } : {};
    return { kind: "reply", request: place + 1, text: "", ...numbers, parsed, ...repairs };
  });
  const own = summarize(record({ ...traits, events }));
  return { ...own, model: { ...own.model, ...(api === undefined ? {} : { api }) } };
}

Deno.test("formats have shares of replies, with intervals over graphs (Pipeline, Function Calling Format Comparison)", () => {
  const records = recordsOf("formats", [
    replied("ssr", { seed: 1 }),
    replied("s", { seed: 1, repetition: 2 }),
    replied("ru", { seed: 2 }),
    replied("ssss", { seed: 3 }),
  ]);
  assertEquals(valuesOf(records, "name format replies strict usable repaired unreadable"), [
    ["m", "chat", 10, 0.7, 0.9, 2, 1],
  ]);
  const unit = (sum: number, count: number) => ({ sum, count });
  const [strict, usable] = [[unit(3, 4), unit(0, 2)], [unit(4, 4), unit(1, 2)]].map((units) =>
    boundsOf(estimateMean([...units, unit(4, 4)]).interval)
  );
  assertEquals(valuesOf(records, "strict_lower strict_upper usable_lower usable_upper"), [
    [...strict!, ...usable!],
  ]);
});

Deno.test("formats keep models, strategies, perturbations and formats apart, with their commonest repairs", () => {
  const trials = [
    replied("srru", { model: "sim:a", simulated: true, seed: 1 }, "react"),
    replied("srru", { model: "sim:a", simulated: true, seed: 2 }, "react"),
    replied("srru", { model: "b" }, "react"),
    replied("s", { model: "b" }, "xml"),
    replied("r", { model: "b", strategy: "restate" }, "react"),
    replied("u", { model: "b", perturbation: "RD" }, "react"),
    // What does not count, or of which nothing is known.
    replied("sss", { model: "c", outcome: "invalid" }),
    replied("sss", { model: "c", perturbation: "RD", changed: false }),
    replied("", { model: "c" }),
  ];
  const texts = textsOf(tableOf("formats", trials));
  assertEquals(texts.slice(0, 3), [
    [
      ...["model", "format", "replies", "strict", "95% interval", "usable", "95% interval"],
      ...["repaired", "unreadable"],
    ],
    [
      ...["sim:a (simulated)", "react", "8", "25.0%", "2.7% to 80.2%", "75.0%"],
      ...["19.8% to 97.3%", "4", "2"],
    ],
    // Of a single graph there is no interval.
    ["b", "react", "4", "25.0%", "-", "75.0%", "-", "2", "1"],
  ]);
  assertEquals(texts.slice(3).map((row) => [...row.slice(0, 4), ...row.slice(-2)]), [
    ["b", "xml", "1", "100.0%", "0", "0"],
    ["b + restate", "react", "1", "0.0%", "1", "0"],
    ["b + RD", "react", "1", "0.0%", "0", "1"],
  ]);
  const repaired = {
    ...replied("s", { model: "d" }, "hermes"),
    parses: {
      ...{ strict: 1, repaired: 4, unreadable: 0 },
      repairs: [..."xyzw"].map((repair, place) => ({ repair, replies: place + 1 })),
    },
  };
  assertEquals(textsOf(tableOf("repairs", [trials[0]!, trials[1]!, repaired])), [
    ["repair", "model", "format", "replies"],
    ["call N had no end", "sim:a (simulated)", "react", "4"],
    ["w", "d", "hermes", "4"],
    ["z", "d", "hermes", "3"],
    ["y", "d", "hermes", "2"],
  ]);
});

Deno.test("formats are shown unless every reply of one format could be read as it stood", () => {
  const ids = (...trials: readonly TrialSummary[]) =>
    tablesOf(reportOf(trials)).map(({ id }) => id).filter((id) => /formats|repairs/.test(id));
  assertEquals(ids(replied("s"), replied("s", { model: "b" })), []);
  assertEquals(ids(summarize(record())), []);
  assertEquals(ids(replied("sr")), ["formats", "repairs"]);
  assertEquals(ids(replied("u")), ["formats"]);
  assertEquals(ids(replied("s"), replied("s", { model: "b" }, "react")), ["formats"]);
});

Deno.test("formats of trials say the same in any order", () => {
  const traits = fc.array(
    fc.record({
      parses: fc.array(fc.constantFrom<Parse>(...PARSES), { maxLength: 6 })
        .map((all) => all.map((parse) => parse[0]).join("")),
      seed: fc.nat({ max: 3 }),
      repetition: fc.integer({ min: 1, max: 3 }),
    }),
    { maxLength: 8 },
  );
  fc.assert(fc.property(traits, (all) => {
    const trials = all.map(({ parses, ...own }) => replied(parses, own));
    const [one, turned] = [trials, trials.toReversed()].map((own) => recordsOf("formats", own)[0]);
    assertEquals(one === undefined, all.every(({ parses }) => parses === ""));
    for (const [name, value] of Object.entries(one ?? {})) {
      if (typeof value !== "number") assertEquals(value, turned![name]);
      else {
        assertAlmostEquals(value, Number(turned![name]), 1e-9);
        if (/_(lower|upper)$/.test(name)) assert(value >= 0 && value <= 1, name);
      }
    }
  }));
});
