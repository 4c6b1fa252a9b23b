/**
 * Calls as text in assertions that there is no call.
 * @module
 */

import { printable } from "../../base/json.ts";
import type { CheckedCall } from "../../calls/expected/checked_call.ts";
import { assertReadable, isWrittenAs, type WrittenCall } from "../../calls/expected/never.ts";
import type { CallRecord } from "../../calls/record.ts";
import { textCalls } from "../../models/formats/text_call.ts";
import { type AssertionStory, fail } from "./_messages.ts";

/** The calls of a record, and what the model said besides. */
export type SaidAndMade =
  & Pick<CallRecord, "calls">
  & Partial<Pick<CallRecord, "tools" | "answer">>
  & { readonly texts?: readonly string[] };

/** Asserts that no such call, or none at all, was written as text: that is no call, and not "no call" either. */
export function refuseText(
  { calls, tools = [], answer, texts = [answer ?? ""] }: SaidAndMade,
  expected: CheckedCall | undefined,
  { message, never }: Pick<AssertionStory, "message" | "never"> = {},
): void {
  const names = tools.map(({ name }) => name);
  const written = texts.flatMap((text, place) =>
    textCalls(text, names).map(({ name = "" }): WrittenCall => ({
      tool: name,
      where: `text ${place + 1} of the model, ${printable(JSON.stringify(text), MAX_TEXT_LENGTH)},`,
    }))
  );
  const one = written.find((call) => expected === undefined || isWrittenAs(call, expected));
  if (one !== undefined) {
    const which = expected ?? (one.tool === "" ? "some function" : printable(one.tool, 100));
    return fail({
      what: `${which} should not be called, and ${one.where} calls it`,
      message,
      calls,
      never,
    });
  }
  if (expected !== undefined) assertReadable(expected, written);
}

/** Characters of a text that are shown, at most. */
const MAX_TEXT_LENGTH = 200;
