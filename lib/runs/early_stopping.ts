/**
 * Early stopping: which trials of a running plan its sequential gate and its budget still need.
 * @module
 */

import {
  comparesWithin,
  type DecisionGraph,
  FinishedTrials,
  plannedDecisions,
  trialNames,
} from "../gate/decisions.ts";
import { variantName } from "../gate/variant.ts";
import { pairSample, unitSample } from "../gate/evidence.ts";
import { printable } from "../base/json.ts";
import type { BaselineTrials } from "../gate/decide_trials.ts";
import { sum } from "../base/numbers.ts";
import type { Plan } from "./plan.ts";
import { type CompletePolicy, hypothesesOf, isUpgrade } from "../gate/policy.ts";
import { Spending } from "../models/prices.ts";
import { Bets, type Sample, type SequentialRule } from "../gate/sequential.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { type UnitNames, unitNames } from "../gate/unit_names.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** A planned trial that was skipped. */
export interface SkippedTrial {
  /** Distinguishes it from a trial. */
  readonly kind: "needless";
  /**
   * The cause: the gate has decided, the baseline has no more blocks, a budget is spent, or a model cannot be
   * asked.
   */
  readonly by: "gate" | "baseline" | "budget" | "fault";
  /** A description of the reason. */
  readonly reason: string;
}

/** A pending decision of a sequential gate: its bets, and the next block. */
interface RunningDecision {
  readonly name: string;
  readonly bets: Bets;
  readonly blocks: readonly (readonly DecisionGraph[])[];
  /** The number of unfinished trials in each block. */
  readonly open: number[];
  /** The next block to bet on. */
  next: number;
  /** The first block that is missing from a baseline file. */
  readonly end: number;
}

/** Options of {@linkcode Stopping}. */
export interface StoppingOptions {
  /** The trials of earlier waves, on all machines. */
  readonly earlier?: readonly TrialSummary[];
  /**
   * The number of machines, each of which has its share of the budget; default 1. Where there are others, this one has
   * a part of each block only: its own trials decide nothing.
   */
  readonly shards?: number;
}

/**
 * Follows the trials of a run, which may end in any order, and decides which need not be started. A
 * sequential gate looks at blocks in plan order, once all trials up to the end of a block have ended.
 */
export class Stopping {
  readonly #scores: FinishedTrials;
  readonly #running: RunningDecision[] = [];
  /** The decisions and blocks that wait for a trial, by its names. */
  readonly #waiting = new Map<string, { running: RunningDecision; block: number }[]>();
  readonly #spending: Spending;
  readonly #upgrade: boolean;
  readonly #unit: UnitNames;
  readonly #isPart: boolean;
  #stopped: string | undefined;

  /** Watches all trials of `plan`. */
  constructor(
    plan: Plan,
    baseline?: BaselineTrials,
    { earlier = [], shards = 1 }: StoppingOptions = {},
  ) {
    this.#isPart = shards > 1;
    const { gate, rule, budget = {}, prices } = plan;
    this.#spending = new Spending(budget, prices);
    this.#upgrade = gate !== undefined && isUpgrade(gate);
    this.#unit = unitNames(plan.trials.map(({ task }) => task));
    this.#scores = new FinishedTrials(
      gate !== undefined && comparesWithin(gate, baseline),
      baseline,
    );
    if (gate !== undefined && rule !== undefined) this.#begin(plan, gate, rule, baseline);
    for (const trial of earlier) {
      this.charge(trial);
      this.#watch(trial);
    }
    this.#spending.share(shards);
  }

  #begin(
    plan: Plan,
    gate: CompletePolicy,
    rule: SequentialRule,
    baseline: BaselineTrials | undefined,
  ): void {
    for (const { subject, graphs } of plannedDecisions(plan.trials, gate, baseline)) {
      const blocks = [...Map.groupBy(graphs, ({ block }) => block).values()];
      const hasBaseline = (graph: DecisionGraph) =>
        graph.baseline.every((name) => this.#scores.has(name));
      const end = baseline === undefined
        ? -1
        : blocks.findIndex((block) => !block.every(hasBaseline));
      const running: RunningDecision = {
        name: printable(variantName(subject)),
        bets: new Bets(rule, hypothesesOf(gate)),
        blocks,
        open: [],
        next: 0,
        end: end < 0 ? blocks.length : end,
      };
      this.#running.push(running);
      for (const [block, blockGraphs] of running.blocks.entries()) {
        const names = blockGraphs.flatMap(trialNames);
        const open = names.filter((name) => !this.#scores.has(name));
        running.open.push(open.length);
        for (const name of open) {
          getOrInsertComputed(
            this.#waiting,
            name,
            () => [],
          ).push({ running, block });
        }
      }
    }
  }

  /** Counts the cost of a trial of an earlier run. */
  charge(trial: TrialSummary): void {
    this.#spending.add(trial);
  }

  /** Records a finished trial. */
  record(trial: TrialSummary): void {
    this.charge(trial);
    if (!this.#isPart) this.#watch(trial);
  }

  #watch(trial: TrialSummary): void {
    if (this.#running.length === 0) return;
    // The journal has the traces; a long run must not keep them in memory.
    const { id, model, strategy, perturbation, variant, task, repetition, outcome, solved } = trial;
    const kept = { id, model, strategy, perturbation, variant, task, repetition, outcome, solved };
    this.#scores.add({ ...kept, failures: [] });
    for (const name of this.#scores.namesOf({ ...trial, model: trial.model.requested })) {
      for (const { running, block } of this.#waiting.get(name) ?? []) {
        running.open[block]!--;
        this.#advance(running);
      }
      this.#waiting.delete(name);
    }
  }

  /** Why a trial need not be started; `undefined` if it must. */
  skipReason(planned: PlannedTrial): SkippedTrial | undefined {
    const ended = this.needless(planned);
    if (ended !== undefined) return ended;
    const reason = this.#spending.reached;
    if (reason === undefined) return undefined;
    this.#stopped = reason;
    return { kind: "needless", by: "budget", reason };
  }

  /** The spent budget that ends the run; `undefined` if none is spent. */
  get spent(): string | undefined {
    return this.#spending.reached;
  }

  /** The budget that caused needed trials to be skipped; `undefined` if none did. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** Why no decision needs a trial; `undefined` if one does. */
  needless(planned: PlannedTrial): SkippedTrial | undefined {
    const names = this.#scores.namesOf(planned);
    const waiting = names.flatMap((name) => this.#waiting.get(name) ?? []);
    const reasons = waiting.map(({ running, block }): SkippedTrial | undefined => {
      const { name, bets, end } = running;
      if (bets.decision !== undefined) {
        const reason = `the gate of ${name} had decided after ${bets.units} ${this.#unit.many}`;
        return { kind: "needless", by: "gate", reason };
      }
      if (block < end) return undefined;
      const graphs = sum(running.blocks.slice(0, end), ({ length }) => length);
      const reason = `the baseline ends after ${graphs} ${this.#unit.many}`;
      return { kind: "needless", by: "baseline", reason };
    });
    // A trial may be the baseline of several decisions; it is needed while any of them waits for it.
    return reasons.includes(undefined) ? undefined : reasons[0];
  }

  #advance(running: RunningDecision): void {
    while (running.bets.decision === undefined && running.open[running.next] === 0) {
      running.bets.look(running.blocks[running.next]!.map((graph) => this.#sample(graph)));
      running.next++;
    }
  }

  #sample({ candidate, baseline }: DecisionGraph): Sample {
    const unit = this.#scores.unit(candidate);
    if (!this.#upgrade) return unitSample(unit);
    return pairSample({ candidate: unit, baseline: this.#scores.unit(baseline) });
  }
}
