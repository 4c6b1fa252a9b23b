/**
 * Stopping: which trials of a running plan are still needed, as its sequential gate and its budget say.
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
import type { Plan } from "./plan.ts";
import { hypothesesOf, isUpgrade } from "../gate/policy.ts";
import { Spending } from "../models/prices.ts";
import { Bets, type Sample } from "../gate/sequential.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { type UnitNames, unitNames } from "../gate/unit_names.ts";

/** A planned trial that was not run as it is not needed. */
export interface Needless {
  /** What tells it from a trial. */
  readonly kind: "needless";
  /** What ended the run: its gate or, before that could decide, its baseline's end or a budget. */
  readonly by: "gate" | "baseline" | "budget";
  /** Why, in words. */
  readonly reason: string;
}

/** One contest on its way: its bets, and the block that they wait for. */
interface Race {
  readonly name: string;
  readonly bets: Bets;
  readonly blocks: readonly (readonly DecisionGraph[])[];
  /** For each block, trials that have not ended. */
  readonly open: number[];
  /** The block that is bet on next. */
  next: number;
  /** The first block that a baseline from a file does not have. */
  readonly end: number;
}

/**
 * Follows the trials of a run in whatever order they end, and tells which need not be begun. A
 * sequential gate looks in plan order: at a block when all trials of it and of those before have ended.
 */
export class Stopping {
  readonly #scores: FinishedTrials;
  readonly #races: Race[] = [];
  /** The contests and blocks that wait for a trial, by the names of the trial. */
  readonly #waiting = new Map<string, { race: Race; block: number }[]>();
  readonly #spending: Spending;
  readonly #upgrade: boolean;
  readonly #unit: UnitNames;
  #stopped: string | undefined;

  /** Watches the whole of `plan`. */
  constructor(plan: Plan, baseline?: BaselineTrials) {
    const { gate, rule, budget = {}, prices } = plan;
    this.#spending = new Spending(budget, prices);
    this.#upgrade = gate !== undefined && isUpgrade(gate);
    this.#unit = unitNames(plan.trials.map(({ task }) => task));
    this.#scores = new FinishedTrials(
      gate !== undefined && comparesWithin(gate, baseline),
      baseline,
    );
    if (gate === undefined || rule === undefined) return;
    for (const { subject, graphs } of plannedDecisions(plan.trials, gate, baseline)) {
      const blocks = [...Map.groupBy(graphs, ({ block }) => block).values()];
      const known = (graph: DecisionGraph) =>
        graph.baseline.every((name) => this.#scores.has(name));
      const end = baseline === undefined ? -1 : blocks.findIndex((block) => !block.every(known));
      const race: Race = {
        name: printable(variantName(subject)),
        bets: new Bets(rule, hypothesesOf(gate)),
        blocks,
        open: [],
        next: 0,
        end: end < 0 ? blocks.length : end,
      };
      this.#races.push(race);
      for (const [block, own] of race.blocks.entries()) {
        const names = own.flatMap(trialNames);
        const open = names.filter((name) => !this.#scores.has(name));
        race.open.push(open.length);
        for (const name of open) {
          const waiting = this.#waiting.get(name);
          if (waiting === undefined) this.#waiting.set(name, [{ race, block }]);
          else waiting.push({ race, block });
        }
      }
    }
  }

  /** Counts what a trial has cost that is none of this run's. */
  charge(trial: TrialSummary): void {
    this.#spending.add(trial);
  }

  /** Counts a trial that has ended. */
  record(trial: TrialSummary): void {
    this.charge(trial);
    if (this.#races.length === 0) return;
    // The journal has the rest of it: a long run must not keep every trace in memory.
    const { id, model, strategy, perturbation, task, repetition, outcome, solved } = trial;
    this.#scores.add({
      ...{ id, model, strategy, perturbation, task, repetition, outcome, solved },
      failures: [],
    });
    for (const name of this.#scores.namesOf({ ...trial, model: trial.model.requested })) {
      for (const { race, block } of this.#waiting.get(name) ?? []) {
        race.open[block]!--;
        this.#advance(race);
      }
      this.#waiting.delete(name);
    }
  }

  /** Whether and why a trial need not be begun; `undefined` if it must. */
  needless(planned: PlannedTrial): Needless | undefined {
    const ended = this.#ended(planned);
    if (ended !== undefined) return ended;
    const reason = this.#spending.reached;
    if (reason === undefined) return undefined;
    this.#stopped = reason;
    return { kind: "needless", by: "budget", reason };
  }

  /** Which budget is spent, so that nothing more is begun; `undefined` as long as none is. */
  get spent(): string | undefined {
    return this.#spending.reached;
  }

  /** Which budget has withheld trials that were needed; `undefined` if none has. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  #ended(planned: PlannedTrial): Needless | undefined {
    const names = this.#scores.namesOf(planned);
    const waiting = names.flatMap((name) => this.#waiting.get(name) ?? []);
    const reasons = waiting.map(({ race, block }): Needless | undefined => {
      const { name, bets, end } = race;
      if (bets.decision !== undefined) {
        const reason = `the gate of ${name} had decided after ${bets.units} ${this.#unit.many}`;
        return { kind: "needless", by: "gate", reason };
      }
      if (block < end) return undefined;
      const graphs = race.blocks.slice(0, end).reduce((sum, one) => sum + one.length, 0);
      const reason = `the baseline ends after ${graphs} ${this.#unit.many}`;
      return { kind: "needless", by: "baseline", reason };
    });
    // A trial may be the baseline of several: as long as one of them waits for it, it is needed.
    return reasons.includes(undefined) ? undefined : reasons[0];
  }

  #advance(race: Race): void {
    while (race.bets.decision === undefined && race.open[race.next] === 0) {
      race.bets.look(race.blocks[race.next]!.map((graph) => this.#sample(graph)));
      race.next++;
    }
  }

  #sample({ candidate, baseline }: DecisionGraph): Sample {
    const own = this.#scores.unit(candidate);
    if (!this.#upgrade) return unitSample(own);
    return pairSample({ candidate: own, baseline: this.#scores.unit(baseline) });
  }
}
