/**
 * Reachability: which models of a run have replied, and whether going on is vain.
 * @module
 */

import type { Trial } from "../trials/trial.ts";
import type { Model, Permanent } from "../models/model.ts";
import { getOrInsert, getOrInsertComputed } from "../base/get_or_insert.ts";

/** Why a run ends: no further request to a model can succeed until someone changes something. */
export interface RunFault {
  /** What must change. */
  readonly permanent: Permanent;
  /** What is wrong and what to do, on one line. */
  readonly reason: string;
  /** Whether the model never replied in this run, so that nothing was lost. */
  readonly atFirst: boolean;
}

/** How a trial ended, as far as it shows whether its model can be reached. */
type EndedTrial = Pick<Trial, "permanent" | "reason" | "outcome" | "agent">;

/** Trials without any reply after which those of a model no longer wait for each other: what failed may pass. */
const MAX_ALONE = 1;

/** Trials that must fail alike after those that were in flight, before a run ends. */
const NEXT = 3;

/** A model of the run. */
interface ReachedModel {
  replied: boolean;
  /** Trials that have begun and not ended. */
  inFlight: number;
  /** Trials that ended without any reply of the model. */
  unanswered: number;
  readonly waiting: (() => void)[];
  /** The fault of its last trials, and how many more must have it to end the run. */
  streak: { readonly permanent: Permanent; left: number } | undefined;
}

/**
 * Lets only one trial of a model begin until the model has replied for the first time, as a wrong key or
 * address would fail them all; and ends the run once trials fail alike with a fault that no waiting changes:
 * at once before a first reply, later when all in flight and the next ones did.
 */
export class Reachability {
  readonly #models = new Map<string, ReachedModel>();
  readonly #faults = new Map<string, RunFault>();

  /** Why the run ends; `undefined` while it goes on. */
  get fault(): RunFault | undefined {
    return this.#faults.values().next().value;
  }

  /** Why no more of a model's trials are run. */
  faultOf(model: string): RunFault | undefined {
    return this.#faults.get(model);
  }

  /** Returns the model, whose first reply lets its other trials begin; `key` distinguishes it from others. */
  watch(model: Model, key = model.name): Model {
    const reached = this.#of(key);
    const whenReplied = async <Reply>(replying: Promise<Reply>): Promise<Reply> => {
      const reply = await replying;
      reached.replied = true;
      open(reached);
      return reply;
    };
    const { server } = model;
    return {
      ...model,
      reply: (request) => whenReplied(model.reply(request)),
      ...(server === undefined ? {} : {
        server: { ...server, forward: (request) => whenReplied(server.forward(request)) },
      }),
    };
  }

  /** Waits until a trial of a model may begin. */
  async enter(model: string): Promise<void> {
    const reached = this.#of(model);
    const isClosed = () => !reached.replied && reached.unanswered < MAX_ALONE;
    while (isClosed() && reached.inFlight > 0 && this.fault === undefined) {
      await new Promise<void>((resolve) => reached.waiting.push(resolve));
    }
    reached.inFlight++;
  }

  /** Ends a trial of a model, finished or not. */
  leave(model: string): void {
    const reached = this.#of(model);
    reached.inFlight--;
    open(reached);
  }

  /** Learns from a finished trial of a model whether going on is vain. */
  judge(model: string, { permanent, reason = "", outcome, agent }: EndedTrial): void {
    const reached = this.#of(model);
    // An agent may ask other servers, or none: that it could work is all there is to see.
    if (agent !== undefined && outcome !== "invalid") reached.replied = true;
    if (!reached.replied) reached.unanswered++;
    if (permanent === undefined) {
      reached.streak = undefined;
      return;
    }
    if (reached.streak?.permanent !== permanent) {
      reached.streak = { permanent, left: reached.inFlight + NEXT };
    }
    const atFirst = !reached.replied;
    if (--reached.streak.left <= 0 || atFirst) {
      getOrInsert(
        this.#faults,
        model,
        { permanent, reason, atFirst },
      );
    }
    for (const one of this.#models.values()) open(one);
  }

  #of(name: string): ReachedModel {
    return getOrInsertComputed(
      this.#models,
      name,
      () => ({ replied: false, inFlight: 0, unanswered: 0, waiting: [], streak: undefined }),
    );
  }
}

/** Lets those that wait look again. */
function open(reached: ReachedModel): void {
  for (const resolve of reached.waiting.splice(0)) resolve();
}
