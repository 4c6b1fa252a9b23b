/**
 * Nested replies: prepares the calls of one reply level by level, as the calls they refer to return.
 * @module
 */

import {
  type CallPlan,
  parsedArguments,
  planCalls,
  referenceRefusal,
  usesIn,
} from "./call_order.ts";
import { isWithin, type JsonObject, jsonText, type JsonValue } from "../../base/json.ts";
import { LEVELS, resolveReferences } from "./resolve.ts";
import { MAX_TEXT_LENGTH } from "./syntax.ts";
import type { PreparedCall } from "../tool.ts";

/** The calls of one reply, some of which refer to results of others. */
export class NestedReply {
  /** The indices of all calls, by level; those of the first are refused, or have no references. */
  readonly levels: readonly (readonly number[])[];

  readonly #calls: readonly PreparedCall[];
  readonly #plan: CallPlan;
  readonly #results = new Map<string, JsonValue>();
  /** The calls whose only fault is references to missing results, with the places of the calls that gave none. */
  readonly #waiting = new Map<PreparedCall, readonly number[]>();
  /** How many characters of results the calls may still receive, together. */
  #left = MAX_TEXT_LENGTH;

  /** Plans the calls; none has run yet. */
  constructor(calls: readonly PreparedCall[], depth: number) {
    this.#calls = calls;
    this.#plan = planCalls(
      // Calls that another layer has prepared stay unchanged.
      calls.map((call) => isPrepared(call) ? { id: call.id, arguments: {} } : call),
      { depth },
    );
    const { levels: [first = [], ...others], refusals } = this.#plan;
    this.levels = [[...first, ...refusals.keys()].sort((one, other) => one - other), ...others];
  }

  /** Returns a call with its references resolved, or refused; all calls it refers to must have ended. */
  prepare(place: number, parameters: JsonObject = {}): PreparedCall {
    const call = this.#calls[place]!;
    const refusal = this.#plan.refusals.get(place);
    if (refusal !== undefined) return { ...call, refusal };
    const input = isPrepared(call) ? {} : parsedArguments(call);
    if (!isWithin(input, LEVELS)) return call;
    const options = { parameters, left: this.#left };
    const { values, errors, faults } = resolveReferences(input, this.#results, options);
    const resolved = jsonText(values);
    const plain = jsonText(input);
    // A text with a dollar sign need not be a reference.
    if (errors.length === 0 && resolved === plain) return call;
    this.#left = Math.max(0, this.#left - Math.max(0, resolved.length - plain.length));
    if (errors.length === 0) return { ...call, resolved };
    const refusedCall = { ...call, resolved, refusal: referenceRefusal(errors.join(". "), faults) };
    const unmet = [...usesIn(input).keys()].filter((name) => !this.#results.has(name));
    if (unmet.length > 0 && errors.length === 1) {
      const places = unmet.map((name) => this.#plan.names.findIndex((own) => own.includes(name)));
      this.#waiting.set(refusedCall, places);
    }
    return refusedCall;
  }

  /** The places of the calls without a result, if a prepared call is refused only because it refers to them. */
  waitsFor(call: PreparedCall): readonly number[] | undefined {
    return this.#waiting.get(call);
  }

  /** Stores the result of a call, for those that refer to it. */
  keep(place: number, value: JsonValue): void {
    for (const name of this.#plan.names[place]!) this.#results.set(name, value);
  }
}

/** Whether another layer around the environment has already prepared a call. */
function isPrepared({ resolved, refusal, answer }: PreparedCall): boolean {
  return resolved !== undefined || refusal !== undefined || answer !== undefined;
}
