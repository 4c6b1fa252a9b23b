/**
 * Traces: the events of one trial as they are recorded, and its calls counted against their limit.
 * @module
 */

import { defined } from "../../base/json.ts";
import { demandFollowed } from "../../calls/behaviour.ts";
import type { RecordedCall } from "../../calls/record.ts";
import { type AnswerEvent, MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";
import type { PreparedCall } from "../../tools/tool.ts";
import { eventOf, type Made } from "./made_call.ts";

/** The trace of one trial. */
export class Trace {
  /** Everything that has happened, in order. */
  readonly events: TraceEvent[] = [];
  /** The parts of calls that events truncate, by call number. */
  readonly uncut = new Map<number, Pick<RecordedCall, "written" | "result">>();

  readonly #callLimit: number;
  #numbered = 0;
  /** The calls among these that an agent did not carry out although it could have. */
  #notRun = 0;
  #exhausted = false;

  /** Begins a trial in which so many calls may be made. */
  constructor(callLimit: number) {
    this.#callLimit = callLimit;
  }

  /** The number of calls within the limit, including refused ones, without those that an agent left. */
  get calls(): number {
    return this.#numbered - this.#notRun;
  }

  /** The number of calls that may still be made. */
  get left(): number {
    return this.#callLimit - this.calls;
  }

  /** Whether a call past the limit was made, so that the trial is over. */
  get exhausted(): boolean {
    return this.#exhausted;
  }

  /** Records an event, without what it leaves undefined, as users print and compare events. */
  add(event: TraceEvent): void {
    this.events.push(defined(event));
  }

  /** Counts the calls of a reply up to the limit; returns how many are within it, and the number of the first. */
  count(calls: readonly PreparedCall[]): { readonly within: number; readonly first: number } {
    let { left } = this;
    let within = 0;
    for (const { agentDid } of calls) {
      // What an agent leaves of several replies is no work, and takes nothing of its limit.
      if (agentDid === "not_run" && this.#notRun < this.#callLimit) this.#notRun++;
      else if (left-- <= 0) break;
      within++;
    }
    const first = this.#numbered + 1;
    this.#numbered += within;
    return { within, first };
  }

  /** Counts a call in place of one that failed; returns its number. */
  countReplacement(): number {
    return ++this.#numbered;
  }

  /** Records a call with the text that was returned for it. */
  addCall(made: Made, result: string): void {
    const { call, place } = made;
    const written = call.resolved ?? call.arguments;
    if (Math.max(written.length, result.length) > MAX_KEPT_LENGTH) {
      this.uncut.set(place.call, { written, result });
    }
    this.add(eventOf(made, call.told ?? result));
  }

  /** Ends the trial at the first call past the limit. */
  endByLimit(beyond: readonly PreparedCall[]): void {
    if (this.#exhausted) return;
    this.#exhausted = true;
    const isDemanded = ({ name, resolved, arguments: written }: PreparedCall) =>
      demandFollowed(this.events, { calls: [{ name, written: resolved ?? written }] }) !==
        undefined;
    const demanded = demandFollowed(this.events) === undefined
      ? beyond.find(isDemanded)
      : undefined;
    this.add({
      kind: "over_limit",
      function: (demanded ?? beyond[0]!).name.slice(0, MAX_KEPT_LENGTH),
      limit: this.#callLimit,
      arguments: demanded?.arguments.slice(0, MAX_KEPT_LENGTH),
    });
  }

  /** Returns the event of an answer, with the demand that it followed beyond the part that is kept. */
  answer(text: string, value: number | null, rendered: string | undefined): AnswerEvent {
    const followed = text.length > MAX_KEPT_LENGTH && demandFollowed(this.events) === undefined
      ? demandFollowed(this.events, { texts: [text] })
      : undefined;
    return {
      kind: "answer",
      text: text.slice(0, MAX_KEPT_LENGTH),
      rendered: rendered?.slice(0, MAX_KEPT_LENGTH),
      value,
      ...(followed !== undefined && "say" in followed ? { said: followed.say } : {}),
    };
  }
}
