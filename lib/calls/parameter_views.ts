/**
 * Parameter views: what the calls of a trial are beside those that the task asks for (Butterfly, section 5.2).
 * @module
 */

import { isLost } from "../tools/fault.ts";
import { InputError } from "../base/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import type { OracleCall } from "./expected/oracle.ts";
import { type ParameterView, viewCalls } from "./parameter_failure.ts";
import { PARAMETER_FAILURE_TYPES, type ParameterFailureType } from "./failure_types.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { type CallEvent, callsOf, LONGEST_KEPT, type TraceEvent } from "./trace.ts";

/** What calls are held against. */
export interface Oracle {
  /** The calls that are right; they may hang on the order in which `calls` were made. */
  readonly calls: readonly OracleCall[];
  /** The functions as they are, by name. */
  readonly tools: ReadonlyMap<string, ToolSchema>;
}

/** What the five failure types come to in one trial. */
export interface ParameterScore {
  /** The types of each call that has any, in the order of the calls. */
  readonly calls: readonly (readonly ParameterFailureType[])[];
  /** Calls that are none of the right ones, or one of them once more. */
  readonly routing: number;
  /** Types that somewhere could not be decided; none where a schema is at hand. */
  readonly undecided: readonly ParameterFailureType[];
  /** Texts that deviate or mismatch, and those of them that are much like the right ones. */
  readonly texts: { readonly compared: number; readonly similar: number };
}

/** Texts that are more alike than this by Rouge-L count as similar (Butterfly, section 5.2). */
const SIMILAR = 0.8;

/** The events with a view of each call that is not simply right. */
export function withViews(
  events: readonly TraceEvent[],
  oracle: Oracle,
): readonly TraceEvent[] {
  // What was answered without a function, such as looking at a value, is no call of the task, nor is one
  // that a fault kept from its result, or that only waited for one that has failed: it is to be made again.
  // Arguments that a trace has cut cannot be read, and whatever took them has found nothing wrong with them.
  const calls = callsOf(events).filter((call) =>
    call.failure !== undefined && !waitedInVain(call) ||
    call.failure === undefined && !isLost(call) && oracle.tools.has(call.function) &&
      (call.resolved ?? call.arguments).length < LONGEST_KEPT
  );
  const views = viewCalls(
    calls.map((call) => ({ tool: call.function, arguments: call.resolved ?? call.arguments })),
    oracle.calls,
    (name) => oracle.tools.get(name)?.parameters,
  );
  const byCall = new Map(calls.map(({ call }, place) => [call, views[place]!]));
  return events.map((event) => {
    const view = event.kind === "call" ? byCall.get(event.call) : undefined;
    return view === undefined || isRight(view) ? event : { ...event, parameters: view };
  });
}

/** A call that is refused is a first mistake, unless what it refers to has no result. */
function waitedInVain({ failure }: CallEvent): boolean {
  return failure?.type === "wrong_number_of_inputs" && !failure.root;
}

function isRight({ oracle, failures, undecided }: ParameterView): boolean {
  return oracle !== null && failures.length === 0 && undecided === undefined;
}

/** What the views of a trace come to. */
export function scoreOfViews(events: readonly TraceEvent[]): ParameterScore {
  const views = callsOf(events).flatMap(({ parameters }) => parameters ?? []);
  const failures = views.flatMap((view) => view.failures);
  const texts = failures.flatMap(({ similarity }) => similarity ?? []);
  const undecided = new Set(
    views.flatMap((view) => (view.undecided ?? []).flatMap(({ types }) => types)),
  );
  return {
    calls: views.flatMap((view) => {
      const types = new Set(view.failures.map(({ type }) => type));
      return types.size === 0 ? [] : [inOrder(types)];
    }),
    routing: views.filter(({ oracle }) => oracle === null).length,
    undecided: inOrder(undecided),
    texts: {
      compared: texts.length,
      similar: texts.filter((similarity) => similarity > SIMILAR).length,
    },
  };
}

function inOrder(types: ReadonlySet<ParameterFailureType>): readonly ParameterFailureType[] {
  return PARAMETER_FAILURE_TYPES.filter((type) => types.has(type));
}

/**
 * The oracle that a trace itself is: its calls that no failure and no fault kept from being right, in order. It takes a trial that
 * solved an unperturbed task for the right way to do it (Butterfly, section 4). Whole numbers that were
 * written as text, and accepted, are the numbers.
 *
 * @throws {InputError} If arguments are no JSON object, as they are not where a trace has cut them.
 *
 * @example Usage
 * ```ts
 * import { oracleOf } from "./parameter_views.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const call = { call: 1, step: 1, function: "f", arguments: '{"x":1}', result: "" };
 * assertEquals(oracleOf([{ kind: "call", ...call }]), [{ tool: "f", arguments: { x: 1 } }]);
 * ```
 */
export function oracleOf(events: readonly TraceEvent[]): readonly OracleCall[] {
  const right = callsOf(events).filter((call) => call.failure === undefined && !isLost(call));
  return right.map(({ call, function: tool, ...written }) => {
    const given = parseJson(written.resolved ?? written.arguments);
    if (!isJsonObject(given)) {
      throw new InputError(
        "Cannot take a trace for an oracle as the arguments of its calls must be JSON objects: " +
          `those of call ${call} are none`,
      );
    }
    return { tool, arguments: withNumbers(given, written.coerced ?? []) };
  });
}

function withNumbers(given: JsonObject, coerced: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [
      key,
      coerced.includes(key) ? Number(value) : value,
    ]),
  );
}
