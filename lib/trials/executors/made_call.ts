/**
 * Calls on their way through an executor: where they stand, what they come to, and the trace that records and counts
 * them.
 * @module
 */

import { errorInResult, ToolError, toToolError } from "../../tools/tool_error.ts";
import type { Answered, PreparedCall, Refusal, Replacement } from "../../tools/tool.ts";
import {
  type AnswerEvent,
  type CallEvent,
  MAX_KEPT_LENGTH,
  type TraceEvent,
} from "../../calls/trace.ts";
import { defined, printable } from "../../base/json.ts";
import { type FailureCause, functionNotFound } from "../../calls/failure_types.ts";
import type { Injection } from "../../tools/injection.ts";
import { demandFollowed } from "../../calls/behaviour.ts";
import type { RecordedCall } from "../../calls/record.ts";

/** The position of a call in its trial. */
export interface CallPlace {
  /** The number of the call, from 1. */
  readonly call: number;
  /** The number of its step, from 1. */
  readonly step: number;
  /** The number of calls of the same reply that had to end before it, one after another, from 0. */
  readonly level: number;
}

/** What a call came to, as the tool left it: before perturbation, and before the text for the model. */
export interface CallOutcome extends Omit<Answered, "call"> {
  /** The event fields it adds to the call. */
  readonly event?: Partial<CallEvent>;
  /** What the tool threw, in place of a result; omitted if it returned. */
  readonly thrown?: { readonly error: unknown };
  /** The failure of the call. */
  readonly failure?: FailureCause & { readonly root: boolean };
}

/** Returns the outcome of a call that is no first mistake. */
export function withoutRoot({ failure, ...outcome }: CallOutcome): CallOutcome {
  return failure === undefined ? outcome : { ...outcome, failure: { ...failure, root: false } };
}

/** Returns the outcome of a call of a function that does not exist. */
export function notFound(name: string, existing: Iterable<string>): CallOutcome {
  return {
    content: JSON.stringify({ error: `There is no function ${printable(name, 100)}` }),
    failure: { ...functionNotFound(name, existing), root: true },
  };
}

/** Returns the outcome of a call whose arguments are refused. */
export function refusedCall({ error, fault: detail }: Refusal): CallOutcome {
  return {
    content: JSON.stringify({ error }),
    failure: { type: "wrong_number_of_inputs", detail, root: true },
  };
}

/** A call on its way: made by the model, or in place of one that failed. */
export interface Making extends Partial<Pick<Replacement, "by">> {
  /** The index of the model's call in its reply. */
  readonly index: number;
  /** The model's call. */
  readonly original: PreparedCall;
  /** The call that is made. */
  readonly call: PreparedCall;
  readonly place: CallPlace;
}

/** A call that was made, and what it came to. */
export interface Made extends Making {
  readonly answered: Answered;
  /** The instruction in the text of `answered`; omitted without one. */
  readonly injection?: Injection | undefined;
  readonly outcome: CallOutcome;
}

/** Returns the error that a call's tool gave in place of a result, if it did. */
export function errorOf(
  { content, value, failure, thrown, event }: CallOutcome,
  { answer }: PreparedCall,
  isOffered: boolean,
): ToolError | undefined {
  if (value !== undefined || answer !== undefined) return undefined;
  if (!isOffered) return new ToolError("unknown_tool", content);
  // A call that was never made gave no error either.
  if (failure !== undefined || event?.blockedBy !== undefined) return undefined;
  return thrown === undefined ? errorInResult(content) : toToolError(thrown.error);
}

/** The event of a call, with the text that was finally returned for it. */
export function eventOf(
  { call, place, by, answered, injection, outcome: { content, event = {}, failure } }: Made,
  result: string,
): CallEvent {
  const { durationMs, ...told } = event;
  const { agentDid, held } = call;
  // A strategy may have left it out of the text, or a limit cut it off.
  const isShown = injection !== undefined && result.includes(injection.instruction);
  return {
    kind: "call",
    call: place.call,
    step: place.step,
    function: call.name.slice(0, MAX_KEPT_LENGTH),
    ...told,
    arguments: call.arguments.slice(0, MAX_KEPT_LENGTH),
    resolved: call.resolved === call.arguments
      ? undefined
      : call.resolved?.slice(0, MAX_KEPT_LENGTH),
    result: result.slice(0, MAX_KEPT_LENGTH),
    unperturbed: answered.content === content ? undefined : content.slice(0, MAX_KEPT_LENGTH),
    injected: isShown ? injection.demand : undefined,
    failure,
    by: by ?? call.by,
    agentDid,
    held,
    durationMs,
  };
}

/** The trace of one trial. */
export class Trace {
  /** Everything that has happened, in order. */
  readonly events: TraceEvent[] = [];
  /** The parts of calls that events truncate, by call number. */
  readonly uncut = new Map<number, Pick<RecordedCall, "written" | "result">>();

  readonly #callLimit: number;
  #numbered = 0;
  /** The calls among these that an agent did not carry out although it could have, or that are counted before. */
  #notRun = 0;
  #exhausted = false;

  /** Begins a trial with a limit on its calls. */
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
    this.events.push(defined(event) as TraceEvent);
  }

  /** Counts the calls of a reply up to the limit; returns how many are within it, and the number of the first. */
  count(calls: readonly PreparedCall[]): { readonly within: number; readonly first: number } {
    let { left } = this;
    let within = 0;
    for (const { agentDid, held } of calls) {
      // What an agent leaves of several replies is no work, and takes nothing of its limit. A wrong call does; where
      // a later turn carries it out, it did so before.
      const isFree = agentDid === "not_run" || agentDid === "held" ||
        held !== undefined &&
          this.events.some((event) =>
            event.kind === "call" && event.call === held && event.agentDid === "hid"
          );
      if (isFree && this.#notRun < this.#callLimit) this.#notRun++;
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

  /** Says of calls what is wrong with them, by their numbers, once that is known. */
  blame(failures: ReadonlyMap<number, CallOutcome["failure"]>): void {
    for (const [index, event] of this.events.entries()) {
      const failure = event.kind === "call" ? failures.get(event.call) : undefined;
      if (failure !== undefined) this.events[index] = { ...event as CallEvent, failure };
    }
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
