/**
 * Forbidden calls: what must not happen in any trial, however it ends.
 * @module
 */

import { printable } from "../../base/json.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { callName, type RecordedCall } from "../record.ts";
import { checkExpectedCalls, fittingPlaces } from "./match_calls.ts";

/** At most this many forbidden calls are described. */
const MAX_TOLD = 10;

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
    const { fitting, undecided } = fittingPlaces(one, calls, true);
    return [
      ...fitting.map((place) =>
        `${callName(calls[place]!)}${one.arguments === undefined ? "" : ` is ${one}`}`
      ),
      ...undecided.map((place) => {
        const [difference] = one.differencesOf(calls[place]!);
        return `whether ${callName(calls[place]!)} is ${one} cannot be decided: ${
          printable(difference!.error!, 300)
        }`;
      }),
    ];
  });
  if (found.length === 0) return undefined;
  const more = found.length - MAX_TOLD;
  return [
    "A call was made that must not happen in any trial.",
    ...found.slice(0, MAX_TOLD).map((line) => `  ${line}`),
    ...(more > 0 ? [`  ... ${more} more`] : []),
  ].join("\n");
}
