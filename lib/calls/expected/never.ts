/**
 * Forbidden calls: what must not happen in any trial, however it ends.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { parseJson, printable } from "../../base/json.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { callName, type RecordedCall, type WrittenCall } from "../record.ts";
import type { CheckedCall } from "./checked_call.ts";
import { checkExpectedCalls, fittingPlaces } from "./match_calls.ts";

/** Forbidden calls that are named, at most. */
const MAX_NAMED = 10;

/** Whether a call that was written as text is as expected; `undefined` where its name or arguments cannot be read. */
export function isWrittenAs(
  { tool, written }: WrittenCall,
  expected: CheckedCall,
): boolean | undefined {
  if (tool !== "" && tool !== expected.tool) return false;
  if (tool === "") return undefined;
  if (expected.arguments === undefined) return true;
  if (written === undefined) return undefined;
  const differences = expected.differencesOf({ tool, written, arguments: parseJson(written) });
  return differences.some(({ error }) => error !== undefined)
    ? undefined
    : differences.length === 0;
}

/**
 * Refuses to judge by calls whose text does not show whether they are these.
 *
 * @throws {InputError} If there is one.
 */
export function assertReadable(
  expected: CheckedCall | "a function",
  written: readonly WrittenCall[],
): void {
  const unclear = written.find((one) =>
    expected === "a function" ? one.tool === "" : isWrittenAs(one, expected) === undefined
  );
  if (unclear === undefined) return;
  throw cannot(
    `decide whether ${expected} was called`,
    "a call that is written as text must show it",
    `${unclear.where} has one${
      unclear.tool === "" ? " without a readable name" : ` of ${printable(unclear.tool, 100)}`
    }`,
  );
}

/**
 * Describes the forbidden calls that were made; `undefined` if there are none. An attempt counts: a call that was
 * refused, failed or met a fault, or was written as text. So does a call about which a matcher throws, as it may be one.
 *
 * @throws {InputError} If a forbidden call is invalid, or there is no such tool.
 */
export function forbiddenText(
  never: readonly CallExpectation[],
  calls: readonly RecordedCall[],
  tools: readonly ToolSchema[],
  written: readonly WrittenCall[],
): string | undefined {
  const found = checkExpectedCalls(never, tools).flatMap((one) => {
    const { fitting, undecided } = fittingPlaces(one, calls, () => true);
    const which = one.arguments === undefined ? "" : ` is ${one}`;
    return [
      ...fitting.map((place) => `${callName(calls[place]!)}${which}`),
      ...written.filter((call) => isWrittenAs(call, one))
        .map(({ where }) => `${one} was called as text in ${where}`),
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
