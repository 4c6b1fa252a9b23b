/**
 * Forbidden calls: what must not happen in any trial, however it ends.
 * @module
 */

import { printable } from "../../base/json.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { callName, type RecordedCall } from "../record.ts";
import { checkExpectedCalls, fittingPlaces } from "./match_calls.ts";

/** Forbidden calls that are named, at most. */
const MAX_NAMED = 10;

/**
 * Describes the forbidden calls that were made; `undefined` if there are none. An attempt counts: a call that was
 * refused, failed or met a fault. So does a call about which a matcher throws, as it may be one.
 *
 * @throws {InputError} If a forbidden call is invalid, or there is no such tool.
 */
export function forbiddenText(
  never: readonly CallExpectation[],
  calls: readonly RecordedCall[],
  tools: readonly ToolSchema[],
): string | undefined {
  const found = checkExpectedCalls(never, tools).flatMap((one) => {
    const { fitting, undecided } = fittingPlaces(one, calls, () => true);
    const which = one.arguments === undefined ? "" : ` is ${one}`;
    return [
      ...fitting.map((place) => `${callName(calls[place]!)}${which}`),
      ...undecided.map((place) => {
        const call = calls[place]!;
        const reason = printable(one.differencesOf(call)[0]!.error!, 300);
        return `whether ${callName(call)} is ${one} cannot be decided: ${reason}`;
      }),
    ];
  });
  if (found.length === 0) return undefined;
  const more = found.length - MAX_NAMED;
  return [
    "A call was made that must not happen in any trial.",
    ...found.slice(0, MAX_NAMED).map((line) => `  ${line}`),
    ...(more > 0 ? [`  ... ${more} more`] : []),
  ].join("\n");
}
