// The floor under a gate's evidence: trials that were valid at the first go. Whoever may ask again until a reply is
// right can pass any gate.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  completePolicy,
  type GateOptions,
  type InfrastructureFailure,
} from "../../lib/gate/policy.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import type { FailedAttempt } from "../../lib/calls/trace.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { summarize, type TrialSummary } from "../../lib/trials/summary.ts";
import { finish, HOSTILE, planOf, record, records, STEERING, traced } from "../support/records.ts";
import type { Trial } from "../../lib/trials/trial.ts";

const RATE = { successRate: 0.8 };

/** A trial whose first reply came after these failures. */
function resampled(seed: number, failed: readonly FailedAttempt[], traits = {}): TrialSummary {
  const numbers = { request: 1, calls: 0, inputTokens: 9, outputTokens: 9, durationMs: 9 };
  const solved = { outcome: "solved" as const, seed, ...traits };
  const trial = traced([{ kind: "reply", text: "x = 1", ...numbers, failed }], solved);
  return summarize(trial);
}

/** One verdict over these trials. */
function verdictOver(trials: readonly (Trial | TrialSummary)[], more: GateOptions = {}) {
  const policy = completePolicy({ ...RATE, ...more });
  const all = trials as readonly TrialSummary[];
  const variants = decideTrials(all, planOf(trials as readonly Trial[]), policy);
  const [verdict] = reportVerdicts("s", variants, policy).verdicts;
  return verdict!;
}

/** So many solved trials, of which the last `count` are made by `make`. */
function solvedWith(count: number, make: (seed: number) => Trial | TrialSummary) {
  return Array.from(
    { length: 100 },
    (_, place) => place < 100 - count ? record({ seed: place + 1 }) : make(place + 1),
  );
}

const OVERLOADED = {
  cause: "unclear",
  status: 500,
  message: "Cannot get a reply: 500 Upstream overloaded, request a1b2c3d4 (1 attempt)",
} as const;

Deno.test("a model whose replies were drawn again for unclear causes does not pass, unless they are declared", () => {
  const trials = solvedWith(30, (seed) => resampled(seed, [OVERLOADED]));
  const { kind, text, numbers } = verdictOver(trials);
  assertEquals(kind, "invalid");
  assertStringIncludes(
    text,
    "70 of 100 planned trials were valid at the first go, fewer than the coverage of 95% requires: 30 " +
      "trials with a reply asked for again after a failure of unclear cause; most often (30 of 30) as",
  );
  assert(numbers.some((line) => line.startsWith("valid, but not at the first go: 30 trials")));
  const declarations: readonly (readonly [InfrastructureFailure, excuses: boolean])[] = [
    [{ status: 500 }, true],
    [{ message: "upstream OVERLOADED" }, true],
    [{ status: 500, message: "overloaded" }, true],
    [{ status: 503 }, false],
    [{ status: 503, message: "overloaded" }, false],
    [{ message: "timeout" }, false],
    // A text, not a pattern.
    [{ message: ".*" }, false],
  ];
  for (const [declared, excuses] of declarations) {
    const verdict = verdictOver(trials, { infrastructure: [{ status: 418 }, declared] });
    assertEquals(verdict.kind, excuses ? "pass" : "invalid", JSON.stringify(declared));
    const told = verdict.numbers.filter((line) => line.startsWith("declared as infrastructure"));
    assertEquals(told.length, excuses ? 1 : 0);
    if (!excuses) continue;
    assertEquals(verdict.excused, [{ ...declared, trials: 30 }]);
    assertStringIncludes(told[0]!, "leaves 30 trials valid at the first go");
  }
  // One failure that is not declared is enough.
  const mixed = solvedWith(
    30,
    (seed) => resampled(seed, [OVERLOADED, { cause: "unclear", message: "the reply broke off" }]),
  );
  assertEquals(verdictOver(mixed, { infrastructure: [{ status: 500 }] }).kind, "invalid");
  // What is infrastructure's for certain needs no declaration.
  const limited = solvedWith(
    30,
    (seed) => resampled(seed, [{ cause: "infrastructure", status: 429, message: "too many" }]),
  );
  assertEquals(verdictOver(limited).kind, "pass");
});

Deno.test("trials that were run again in place of invalid ones do not count towards coverage, and stay in rates", () => {
  const usage = { inputTokens: 1, outputTokens: 1 };
  const trials = solvedWith(10, (seed) => ({ ...summarize(record({ seed })), replaced: usage }));
  const short = verdictOver(trials);
  assertEquals(short.kind, "invalid");
  assertStringIncludes(
    short.text,
    "90 of 100 planned trials were valid at the first go, fewer than the coverage of 95% requires: 10 " +
      "trials run again in place of invalid ones.",
  );
  assert(short.evidence?.of === "rate");
  const { solved, valid, unknown, replaced, resampled } = short.evidence;
  assertEquals({ solved, valid, unknown, replaced, resampled }, {
    ...{ solved: 100, valid: 100, unknown: 0, replaced: 10, resampled: undefined },
  });
  const enough = verdictOver(trials, { coverage: 0.9 });
  assertEquals(enough.kind, "pass");
  assert(
    enough.numbers.includes(
      "valid, but not at the first go: 10 trials run again in place of invalid ones",
    ),
  );
  // Nothing that is declared makes a trial of a second run one of the first.
  const declared = { infrastructure: [{ message: "e" }] };
  assertEquals(verdictOver(trials, declared).kind, "invalid");
});

Deno.test("a failing model stays one that fails where enough trials were valid at the first go", () => {
  const trials = [
    ...records(new Array(97).fill("wrong_answer")),
    ...[101, 102, 103].map((seed) => resampled(seed, [OVERLOADED])),
  ];
  assertEquals(verdictOver(trials).kind, "fail");
});

Deno.test("sequential gates have the same floor", () => {
  const plan = planSuite({
    ...{ name: "s", seed: 1, tasks: [{ core: [2, 3], depth: 1 }], models: ["new"] },
    gate: { successRate: 0.9, margin: 0.3, sequential: true },
  });
  const finished = (share: number) =>
    plan.trials.map((trial, place) => ({
      ...summarize(finish(trial)),
      ...(place % 10 < 10 * share ? { unclear: [OVERLOADED] } : {}),
    }));
  const verdictOf = (trials: readonly TrialSummary[]) =>
    decideTrials(trials, plan.trials, plan.gate!, { rule: plan.rule })[0]!.verdict;
  assertEquals(verdictOf(finished(0)).kind, "pass");
  const verdict = verdictOf(finished(0.3));
  assert(verdict.kind === "invalid");
  assertStringIncludes(verdict.reason, "coverage");
  assertEquals(verdict.evidence?.method, "sequential");
});

Deno.test("upgrade gates have the same floor for both models", () => {
  const policy = completePolicy({ baseline: "old" });
  for (const laundered of ["old", "new", undefined]) {
    const trials = ["old", "new"].flatMap((model) =>
      Array.from(
        { length: 200 },
        (_, place) =>
          model === laundered && place % 3 === 0
            ? resampled(place + 1, [OVERLOADED], { model })
            : summarize(record({ model, seed: place + 1 })),
      )
    );
    const [one] = decideTrials(trials, planOf(trials as unknown as Trial[]), policy);
    assertEquals(one!.verdict.kind, laundered === undefined ? "pass" : "invalid", laundered);
    assertEquals(one!.verdict.evidence?.resampled, laundered === undefined ? undefined : 67);
  }
});

Deno.test("an invalid verdict groups reasons that differ in numbers, ids and quoted texts", () => {
  const reasons = [
    (place: number) =>
      `Cannot get a reply of m at 127.0.0.1:${
        40_000 + place
      }: 500 Failed on "gpu${place} b", request req_${place}ab (3 attempts)`,
    (place: number) => `Cannot get a reply of m at h: 503 Busy for ${place} s`,
    () => `the line is dead ${HOSTILE}`,
    () => "a fourth kind",
  ];
  const invalid = [20, 10, 6, 4].flatMap((count, kind) =>
    Array.from(
      { length: count },
      (_, place) =>
        record({
          seed: 1_000 * kind + place + 1,
          outcome: "invalid",
          reason: reasons[kind]!(place),
        }),
    )
  );
  const { kind, text } = verdictOver([...invalid, record({ seed: 9_999 })]);
  assertEquals(kind, "invalid");
  assertStringIncludes(
    text,
    '; most often (20 of 40) as Cannot get a reply of m at N.N.N.N:N: 500 Failed on "...", request ID ' +
      "(N attempts); then (10 of 40) as Cannot get a reply of m at h: 503 Busy for N s; then (6 of 40) as " +
      "the line is dead evil",
  );
  assertEquals(STEERING.test(text), false);
});
