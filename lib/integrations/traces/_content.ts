/**
 * Contents of messages in traces: texts, and lists of parts of which each must be of a known type, so that none hides a call.
 * @module
 */

import { isJsonObject } from "../../base/json.ts";
import { contentText } from "../../models/openai/content.ts";
import type { Part } from "./_part.ts";

/** Types of parts that are a text. */
const TEXTS: readonly string[] = ["text", "input_text", "output_text"];

/** Types of parts that are neither a text, nor a call or a result. */
const SILENT: readonly string[] = [
  ...["refusal", "reasoning", "reasoning_text", "summary_text", "thinking", "redacted_thinking"],
  ...["image", "image_url", "input_image", "audio", "audio_url", "input_audio", "video"],
  ...["video_url", "input_video", "file", "input_file", "document", "media", "text-plain"],
];

/**
 * Returns the text of a content: a text, or a list of parts.
 *
 * @throws {InputError} If it is neither, or a part is of a type that is neither known nor `allowed`.
 */
export function textIn(content: Part | undefined, allowed: readonly string[] = []): string {
  if (content === undefined) return "";
  const { value } = content;
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return content.fail("must be a text or a list of parts");
  for (const part of content.items()) {
    const type = part.get("type");
    if (type === undefined && typeof part.value !== "string") part.need("text").text();
    if (type === undefined || [...TEXTS, ...SILENT, ...allowed].includes(`${type.value}`)) continue;
    type.fail("must be the type of a part that is known");
  }
  return contentText(
    value.map((part) =>
      isJsonObject(part) && part["type"] === "input_text" ? { ...part, type: "text" } : part
    ),
  );
}

/** Names of fields in which messages of some API or framework have calls. */
const CALLS = /^(tool|function)_?(call|invocation|use)s?$/i;

/**
 * Checks that a message has no calls in fields that are not read, which would hide them.
 *
 * @throws {InputError} If it has.
 */
export function assertNoOtherCalls(message: Part, read: readonly string[] = []): void {
  for (const name of Object.keys(message.value as object)) {
    if (!CALLS.test(name) || read.includes(name)) continue;
    const field = message.get(name);
    if (field === undefined || Array.isArray(field.value) && field.value.length === 0) continue;
    field.fail("calls cannot stand here in a trace of this form");
  }
}

/** Returns the number of parts in a content that are no text, such as images, as a field of an item. */
export function lostIn(content: Part | undefined): { readonly lost?: number } {
  if (!Array.isArray(content?.value)) return {};
  const lost = content.items().filter((part) => {
    const { value = "text" } = part.get("type") ?? {};
    return typeof part.value !== "string" && !TEXTS.includes(`${value}`);
  }).length;
  return lost === 0 ? {} : { lost };
}
