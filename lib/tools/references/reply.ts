/**
 * Nested replies: the calls of one reply, prepared one level after another as those that they refer to
 * return.
 * @module
 */

import { type CallPlan, planCalls, refusalOf, usesIn, writtenIn } from "./call_order.ts";
import type { JsonObject, JsonValue } from "../../base/json.ts";
import { LEVELS, resolveReferences } from "./resolve.ts";
import { isWithin } from "../../base/json_depth.ts";
import { LONGEST_TEXT } from "./syntax.ts";
import type { PreparedCall } from "../tool.ts";

/** The calls of one reply, of which some refer to what others return. */
export class NestedReply {
  /** The places of all calls, level by level; those of the first are refused, or refer to none. */
  readonly levels: readonly (readonly number[])[];

  readonly #calls: readonly PreparedCall[];
  readonly #plan: CallPlan;
  readonly #results = new Map<string, JsonValue>();
  /** The calls whose only fault is that they refer to what has no result. */
  readonly #waiting = new Set<PreparedCall>();
  /** How many characters of results the calls may still be given, all together. */
  #left = LONGEST_TEXT;

  /** Nothing has been called yet. */
  constructor(calls: readonly PreparedCall[], depth: number) {
    this.#calls = calls;
    this.#plan = planCalls(
      // What others have found out about a call stays as it is.
      calls.map((call) => isPrepared(call) ? { id: call.id, arguments: {} } : call),
      { depth },
    );
    const { levels: [first = [], ...others], refusals } = this.#plan;
    this.levels = [[...first, ...refusals.keys()].sort((one, other) => one - other), ...others];
  }

  /** A call with what is meant by its arguments, or why it is refused; all it refers to must have ended. */
  prepare(place: number, parameters: JsonObject = {}): PreparedCall {
    const call = this.#calls[place]!;
    const refusal = this.#plan.refusals.get(place);
    if (refusal !== undefined) return { ...call, refusal };
    const written = isPrepared(call) ? {} : writtenIn(call);
    if (!isWithin(written, LEVELS)) return call;
    const options = { parameters, left: this.#left };
    const { values, errors, faults } = resolveReferences(written, this.#results, options);
    const resolved = JSON.stringify(values);
    const plain = JSON.stringify(written);
    // A text with a dollar sign is none yet that means another.
    if (errors.length === 0 && resolved === plain) return call;
    this.#left = Math.max(0, this.#left - Math.max(0, resolved.length - plain.length));
    if (errors.length === 0) return { ...call, resolved };
    const refused = { ...call, resolved, refusal: refusalOf(errors.join(". "), faults) };
    const unmet = [...usesIn(written).keys()].some((name) => !this.#results.has(name));
    if (unmet && errors.length === 1) this.#waiting.add(refused);
    return refused;
  }

  /** Whether a prepared call is refused for no other reason than that others have failed before it. */
  waitsInVain(call: PreparedCall): boolean {
    return this.#waiting.has(call);
  }

  /** Keeps what a call has returned, for those that refer to it. */
  keep(place: number, value: JsonValue): void {
    for (const name of this.#plan.names[place]!) this.#results.set(name, value);
  }
}

/** Whether something around an environment says already what is meant by a call. */
function isPrepared({ resolved, refusal, answer }: PreparedCall): boolean {
  return resolved !== undefined || refusal !== undefined || answer !== undefined;
}
