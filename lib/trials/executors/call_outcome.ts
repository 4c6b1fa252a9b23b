/**
 * Outcomes of calls: where a call stands, what became of it, and what is recorded of that.
 * @module
 */

import type { FailureCause } from "../../calls/failure.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Answered, PreparedCall } from "../../tools/tool.ts";
import { type CallEvent, LONGEST_KEPT } from "../../calls/trace.ts";

/** Where a call stands in its trial. */
export interface CallPlace {
  /** The number of the call, from 1. */
  readonly call: number;
  /** The number of its step, from 1. */
  readonly step: number;
  /** How many calls of the same reply had to end one after another before it could begin, from 0. */
  readonly level: number;
}

/** What became of a call. */
export interface CallOutcome {
  /** The text that goes back, unless something around the environment writes another. */
  readonly content: string;
  /** What was returned; left out when the call was refused or failed. */
  readonly value?: JsonValue;
  /** What is recorded of it, beside what was written. */
  readonly event?: Pick<
    CallEvent,
    "role" | "returned" | "guessed" | "coerced" | "error" | "fault" | "withheld"
  >;
  /** What is wrong with it. */
  readonly failure?: FailureCause & { readonly root: boolean };
}

/** A call that has ended. */
export interface EndedCall {
  /** The call, as it was carried out. */
  readonly call: PreparedCall;
  /** Where it stands. */
  readonly place: CallPlace;
  /** What became of it. */
  readonly outcome: CallOutcome;
  /** What goes back, unless something around the environment writes another text. */
  readonly answered: Answered;
  /** Whether it was refused for no other reason than that calls had failed to which it refers. */
  readonly waits: boolean;
}

/** What is recorded of a call, and of the text that went back for it in the end. */
export function eventOf(
  { call, place, outcome, answered, waits }: EndedCall,
  written: string,
): CallEvent {
  const { content, event, failure } = outcome;
  return {
    kind: "call",
    call: place.call,
    step: place.step,
    function: call.name.slice(0, LONGEST_KEPT),
    ...event,
    arguments: call.arguments.slice(0, LONGEST_KEPT),
    ...(call.resolved === undefined || call.resolved === call.arguments
      ? {}
      : { resolved: call.resolved.slice(0, LONGEST_KEPT) }),
    result: written.slice(0, LONGEST_KEPT),
    ...(answered.content === content ? {} : { unperturbed: content.slice(0, LONGEST_KEPT) }),
    // What only waited for a call that has failed is no first mistake.
    ...(failure === undefined ? {} : { failure: waits ? { ...failure, root: false } : failure }),
  };
}
