/**
 * Calls as text in assertions that there is no call.
 * @module
 */

import { printable } from "../../base/json.ts";
import type { CheckedCall } from "../../calls/expected/checked_call.ts";
import { assertReadable, isWrittenAs } from "../../calls/expected/never.ts";
import { type SaidAndMade, type WrittenCall, writtenIn } from "../../calls/record.ts";
import { textCalls } from "../../models/formats/text_call.ts";
import { type AssertionStory, fail } from "./_messages.ts";

/** Asserts that no such call, or none at all, was written as text: that is no call, and not "no call" either. */
export function refuseText(
  { calls, tools = [], answer, texts = [answer ?? ""], ...record }: SaidAndMade,
  expected: CheckedCall | undefined,
  { message, never }: Pick<AssertionStory, "message" | "never"> = {},
): void {
  const names = tools.map(({ name }) => name);
  const written = record.written ??
    texts.flatMap((text, place) =>
      writtenIn(`text ${place + 1} of the model`, textCalls(text, names))
    );
  const meant = (call: WrittenCall) =>
    expected === undefined ? call.tool !== "" : isWrittenAs(call, expected);
  const one = written.find(meant);
  if (one !== undefined) {
    const which = expected ?? printable(one.tool, 100);
    const what = `${which} should not be called, and ${one.where} calls it as text`;
    return fail({ what, message, calls, never });
  }
  assertReadable(expected ?? "a function", written);
}
