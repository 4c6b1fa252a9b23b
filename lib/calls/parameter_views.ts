/**
 * Parameter views: the calls of a trial compared with the right calls of its task (Butterfly, section 5.2).
 * @module
 */

import { inFirstContext } from "../base/first_context.ts";
import { isLost } from "../tools/fault.ts";
import { holdsReference } from "../tools/references/resolve.ts";
import { parseJson } from "../base/json.ts";
import type { ExpectedCall } from "../tools/expected_call.ts";
import {
  PARAMETER_FAILURE_TYPES,
  PARAMETER_FAILURES,
  type ParameterFailureType,
} from "./failure_types.ts";
import type { ToolSchema } from "../tools/tool.ts";
import {
  type CallEvent,
  callsOf,
  MAX_KEPT_LENGTH,
  type ParameterFailure,
  type ParameterView,
  type TraceEvent,
} from "./trace.ts";

/** The parameter failures of one trial. */
export interface ParameterScore {
  /** The failure types of each call that has any, in the order of the calls. */
  readonly calls: readonly (readonly ParameterFailureType[])[];
  /** Number of calls that are none of the right ones, or repeat one of them. */
  readonly routing: number;
  /** Types that could not be decided for some parameter; none if schemas are available. */
  readonly undecided: readonly ParameterFailureType[];
  /** Number of texts that deviate or mismatch, and of those that are similar to the right ones. */
  readonly texts: { readonly compared: number; readonly similar: number };
}

/** The calls of one tool in a trial, and how often which of its parameters failed in which way. */
export interface ToolFailures {
  /** The tool. */
  readonly tool: string;
  /** Number of its calls that were compared. */
  readonly calls: number;
  /**
   * A row for each parameter, as in {@linkcode ParameterFailure} or `undeclared names`, and type; a call has at most one
   * of a parameter.
   */
  readonly failures: readonly (Pick<ParameterFailure, "parameter" | "type"> & {
    /** Number of calls with it. */
    readonly calls: number;
  })[];
}

/** Texts count as similar above this value of Rouge-L (Butterfly, section 5.2). */
const SIMILAR = 0.8;

/**
 * Returns the events, with a view added to each call that is not entirely right.
 *
 * @param tools The functions before any perturbation.
 */
export async function withViews(
  events: readonly TraceEvent[],
  expected: readonly ExpectedCall[],
  tools: readonly ToolSchema[],
): Promise<readonly TraceEvent[]> {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  // Loaded with the first call that is compared.
  const { viewCalls } = await inFirstContext(() => import("./_parameter_failure.ts"));
  const viewsOf = (calls: readonly CallEvent[], right: readonly ExpectedCall[]) =>
    viewCalls(
      calls.map(({ function: tool, resolved, arguments: text }) => {
        const written = resolved ?? text;
        return { tool, arguments: parseJson(written), written };
      }),
      right,
      (name) => byName.get(name)?.parameters,
    ).map((view, place) => calls[place]!.blockedBy === undefined ? view : withoutReferences(view));
  // A call answered without a function, such as looking at a value, is not a call of the task. A call that was
  // blocked, and may be one of the right ones, must be made again.
  const calls = callsOf(events).filter((call) =>
    (call.failure !== undefined || byName.has(call.function)) && isComparable(call) &&
    (call.blockedBy === undefined ||
      !expected.some((one) => one.tool === call.function && isRight(viewsOf([call], [one])[0]!)))
  );
  const views = viewsOf(calls, expected);
  const byCall = new Map(calls.map(({ call }, place) => [call, views[place]!]));
  return events.map((event) => {
    const view = event.kind === "call" ? byCall.get(event.call) : undefined;
    if (view === undefined) return event;
    return isRight(view) ? event : { ...event, parameters: view };
  });
}

function isRight({ oracle, failures, undecided }: ParameterView): boolean {
  return oracle !== null && failures.length === 0 && undecided === undefined;
}

/** Returns the view of a call without the values that are references: what they refer to is not known. */
function withoutReferences({ failures, ...view }: ParameterView): ParameterView {
  const isOpen = ({ type, given }: ParameterFailure) =>
    PARAMETER_FAILURES[type].of === "value" && given !== undefined && holdsReference(given);
  return { ...view, failures: failures.filter((failure) => !isOpen(failure)) };
}

/**
 * Whether a call is compared if it is one of the task. One that a fault kept from its result, or that depended on a
 * failed call, must be made again. Arguments that the trace has cut cannot be parsed, and the function that took them
 * found nothing wrong with them.
 */
function isComparable(call: CallEvent): boolean {
  const { failure, fault, resolved, arguments: text } = call;
  if (failure !== undefined) return !dependedOnFailedCall(call);
  return !isLost({ fault }) && (resolved ?? text).length < MAX_KEPT_LENGTH;
}

/** Returns whether a call was refused only because a call that it refers to has no result. */
function dependedOnFailedCall({ failure }: CallEvent): boolean {
  return failure?.type === "wrong_number_of_inputs" && !failure.root;
}

/** Sums up the views of a trace. */
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

/** The parameter of names that a tool does not declare: models make them up, so that they have no rows of their own. */
const UNDECLARED = "undeclared names";

/** Counts the failures in the views of a trace by tool, parameter and type. */
export function toolFailuresOf(events: readonly TraceEvent[]): ToolFailures[] {
  const compared = callsOf(events).filter((call) =>
    call.parameters !== undefined || call.blockedBy === undefined && isComparable(call)
  );
  return [...Map.groupBy(compared, (call) => call.function)].map(([tool, calls]) => {
    const failures = calls.flatMap(({ parameters }) => {
      const named = (parameters?.failures ?? []).map(({ type, parameter }) => ({
        ...{ type, parameter: type === "hallucination_name" ? UNDECLARED : parameter },
      }));
      // Long names are cut, so that several may be one.
      return Array.from(Map.groupBy(named, (one) => one.parameter).values(), ([first]) => first!);
    });
    const kinds = Map.groupBy(failures, ({ type, parameter }) => `${type} ${parameter}`);
    return {
      ...{ tool, calls: calls.length },
      failures: Array.from(kinds.values(), (same) => {
        const { type, parameter } = same[0]!;
        return { parameter, type, calls: same.length };
      }),
    };
  });
}

function inOrder(types: ReadonlySet<ParameterFailureType>): readonly ParameterFailureType[] {
  return PARAMETER_FAILURE_TYPES.filter((type) => types.has(type));
}
