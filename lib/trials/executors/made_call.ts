/**
 * Calls on their way through an executor: where they stand, what they come to, and their events.
 * @module
 */

import { errorInResult, ToolError, toToolError } from "../../tools/tool_error.ts";
import type { Answered, FailedCall, PreparedCall, Replacement } from "../../tools/tool.ts";
import { type CallEvent, MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import { printable } from "../../base/json.ts";
import { type FailureCause, functionNotFound } from "../../calls/failure_types.ts";
import type { Injection } from "../../tools/injection.ts";

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
  readonly event?: Pick<
    CallEvent,
    | "role"
    | "returned"
    | "guessed"
    | "coerced"
    | "error"
    | "mistake"
    | "fault"
    | "withheld"
    | "alsoWithheld"
    | "durationMs"
  >;
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

/** Returns why a call failed; `undefined` if it did not, or was refused: then its function never ran. */
export function failureOf(
  { original, call }: Pick<FailedCall, "original" | "call">,
  outcome: CallOutcome,
  isOffered: boolean,
): FailedCall | undefined {
  const error = errorOf(outcome, call, isOffered);
  if (error === undefined) return undefined;
  const { category, message, retryAfter } = error;
  const injected = outcome.event?.fault !== undefined;
  return { original, call, category, message, injected, retryAfter };
}

/** Returns the error that a call's tool gave in place of a result, if it did. */
export function errorOf(
  { content, value, failure, thrown }: CallOutcome,
  { answer }: PreparedCall,
  isOffered: boolean,
): ToolError | undefined {
  if (value !== undefined || answer !== undefined) return undefined;
  if (!isOffered) return new ToolError("unknown_tool", content);
  if (failure !== undefined) return undefined;
  return thrown === undefined ? errorInResult(content) : toToolError(thrown.error);
}

/** The event of a call, with the text that was finally returned for it. */
export function eventOf(
  { call, place, by, answered, injection, outcome: { content, event = {}, failure } }: Made,
  result: string,
): CallEvent {
  const { durationMs, ...told } = event;
  const { agentDid } = call;
  // A strategy may have left it out of the text, or a limit cut it off.
  const isShown = injection !== undefined && result.includes(injection.instruction);
  return {
    kind: "call",
    call: place.call,
    step: place.step,
    function: call.name.slice(0, MAX_KEPT_LENGTH),
    ...told,
    arguments: call.arguments.slice(0, MAX_KEPT_LENGTH),
    ...(call.resolved === undefined || call.resolved === call.arguments
      ? {}
      : { resolved: call.resolved.slice(0, MAX_KEPT_LENGTH) }),
    result: result.slice(0, MAX_KEPT_LENGTH),
    ...(answered.content === content ? {} : { unperturbed: content.slice(0, MAX_KEPT_LENGTH) }),
    ...(isShown ? { injected: injection.demand } : {}),
    failure,
    by: by ?? call.by,
    agentDid,
    durationMs,
  };
}
