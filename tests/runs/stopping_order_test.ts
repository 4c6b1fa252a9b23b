// A run that stops early decides as its plan says, in whatever order its trials end.

import { assertEquals, assertGreater } from "@std/assert";
import { type Unit, unitSample } from "../../lib/gate/evidence.ts";
import { decide, decideUpgrade, type Verdict } from "../../lib/gate/decide.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { type GatePolicy, hypothesesOf } from "../../lib/gate/policy.ts";
import { Bets } from "../../lib/gate/sequential.ts";
import { fork } from "../../lib/base/random.ts";
import { Stopping } from "../../lib/runs/early_stopping.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { PlannedTrial } from "../../lib/trials/trial_id.ts";
import { record } from "../support/records.ts";

const SEED = 20261121;
/** Runs of each plan. */
const RUNS = 100;

const FAILED: Unit = { solved: 0, valid: 1, trials: 1 };
const HIDDEN: Unit = { solved: 0, valid: 0, trials: 1 };
const SOLVED: Unit = { solved: 1, valid: 1, trials: 1 };

/** What follows the trials of a run, and tells which of them need not be begun. */
interface Watch {
  record(trial: Trial): void;
  skipReason(planned: PlannedTrial): { readonly reason: string } | undefined;
}

/** How a trial will end, and how long it will take. */
interface Fate {
  readonly trial: Trial;
  readonly duration: number;
}

/**
 * Carries out a plan with 32 workers: trials start in plan order and end when their time is over.
 * Tells those that ended, and why others were not begun.
 */
function carryOut(
  planned: readonly PlannedTrial[],
  fateOf: (place: number) => Fate,
  watch: Watch,
) {
  const running: { trial: Trial; end: number }[] = [];
  const ended: Trial[] = [];
  const reasons = new Set<string>();
  let [next, now] = [0, 0];
  for (;;) {
    for (; running.length < 32 && next < planned.length; next++) {
      const skip = watch.skipReason(planned[next]!);
      if (skip === undefined) {
        const { trial, duration } = fateOf(next);
        running.push({ trial, end: now + duration });
      } else reasons.add(skip.reason);
    }
    if (running.length === 0) return { ended, reasons };
    let first = 0;
    for (let place = 1; place < running.length; place++) {
      if (running[place]!.end < running[first]!.end) first = place;
    }
    const [{ trial, end }] = running.splice(first, 1) as [typeof running[number]];
    now = end;
    ended.push(trial);
    watch.record(trial);
  }
}

/** A gate as one would first write it: it looks at every trial that ends, in whatever order. */
class Naive implements Watch {
  readonly bets: Bets;

  constructor({ rule, gate }: Plan) {
    this.bets = new Bets(rule!, hypothesesOf(gate!));
  }

  record({ solved }: Trial): void {
    this.bets.look([unitSample(solved ? SOLVED : FAILED)]);
  }

  skipReason(): { readonly reason: string } | undefined {
    const { decision } = this.bets;
    return decision === undefined ? undefined : { reason: decision };
  }
}

/** How the trials of a plan can end here, and what they then are to the gate. */
const UNITS = { wrong_answer: FAILED, invalid: HIDDEN, solved: SOLVED };

type Records = Readonly<Record<keyof typeof UNITS, Trial>>;

function planOf(gate: GatePolicy, models: readonly string[]): Plan {
  const tasks = [{ core: [2, 3, 4], depth: 1 }];
  return planSuite({ name: "s", seed: 1, tasks, models, gate: { ...gate, sequential: true } });
}

function recordsOf(plan: Plan): Records[] {
  const of = (planned: PlannedTrial, outcome: keyof typeof UNITS) =>
    record({ ...planned, outcome });
  return plan.trials.map((planned) => ({
    wrong_answer: of(planned, "wrong_answer"),
    invalid: of(planned, "invalid"),
    solved: of(planned, "solved"),
  }));
}

/** Holds what a run with {@linkcode Stopping} shows against the verdict in plan order. */
class Followed {
  readonly #plan: Plan;
  /** Runs in which trials were left out. */
  shortened = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  check(fateOf: (place: number) => Fate, inOrder: Verdict): void {
    const { trials, gate, rule } = this.#plan;
    const { ended, reasons } = carryOut(trials, fateOf, new Stopping(this.#plan));
    if (reasons.size > 0) {
      this.shortened++;
      const { model } = trials[0]!;
      const told = `the gate of ${model} had decided after ${inOrder.evidence?.graphs} graphs`;
      assertEquals([...reasons], [told]);
    }
    const [judged] = decideTrials(ended, trials, gate!, { rule });
    assertEquals(judged!.verdict, inOrder);
  }
}

Deno.test("Stopping decides in plan order with 32 workers, however long failures take", () => {
  const gate = { successRate: 0.8, margin: 0.1, coverage: 0.01 };
  const plan = planOf(gate, ["m"]);
  const records = recordsOf(plan);
  for (const [rate, wish] of [[0.7, "pass"], [0.8, "fail"]] as const) {
    const { prng } = fork(SEED, "workers", wish);
    const followed = new Followed(plan);
    const drawFate = ({ wrong_answer, invalid, solved }: Records): Fate => {
      const isSolved = prng() < rate;
      // Slow failures help a false pass, slow successes a false fail.
      const duration = (isSolved === (wish === "fail") ? 10 : 1) * (0.5 + prng());
      return { trial: isSolved ? solved : prng() < 0.2 ? invalid : wrong_answer, duration };
    };
    let naivelyErred = 0;
    for (let run = 0; run < RUNS; run++) {
      const fates = records.map(drawFate);
      const fateOf = (place: number) => fates[place]!;
      const naive = new Naive(plan);
      carryOut(plan.trials, fateOf, naive);
      if (naive.bets.decision === wish) naivelyErred++;
      const units = fates.map(({ trial }) => UNITS[trial.outcome as keyof typeof UNITS]);
      followed.check(fateOf, decide(units, gate, { rule: plan.rule! }));
    }
    assertGreater(
      naivelyErred / RUNS,
      3 * 0.05,
      "who looks at what ends first errs far more often",
    );
    assertGreater(followed.shortened / RUNS, 0.2);
  }
});

Deno.test("Stopping decides in plan order with 32 workers between two models", () => {
  const gate = { baseline: "old", margin: 0.15, discordance: 0.2 };
  const plan = planOf(gate, ["new", "old"]);
  const records = recordsOf(plan);
  const { prng } = fork(SEED, "workers", "upgrade");
  const followed = new Followed(plan);
  for (let run = 0; run < RUNS; run++) {
    const pairs = Array.from({ length: records.length / 2 }, () => {
      const place = prng();
      const difference = -0.15 * (run % 2);
      const [candidate, baseline] = place < (0.2 + difference) / 2
        ? [SOLVED, FAILED]
        : place < 0.2
        ? [FAILED, SOLVED]
        : prng() < 0.3
        ? [FAILED, FAILED]
        : [SOLVED, SOLVED];
      return { candidate, baseline };
    });
    const fates = pairs.flatMap(({ candidate, baseline }, place) =>
      [candidate, baseline].map(({ solved }, model): Fate => ({
        trial: records[2 * place + model]![solved === 0 ? "wrong_answer" : "solved"],
        duration: (solved === 0 ? 10 : 1) * (0.5 + prng()),
      }))
    );
    followed.check((place) => fates[place]!, decideUpgrade(pairs, gate, { rule: plan.rule! }));
  }
  assertGreater(followed.shortened / RUNS, 0.2);
});
