/**
 * Contents of messages: a text, or a list of parts of which some are texts.
 * @module
 */

import { isJsonObject } from "../../base/json.ts";
import type { Carried } from "../../tools/message.ts";

/** Returns all texts of a reply beside those that it said and the calls that it made: its reasoning, above all. */
export function reasoningText({ items }: Carried): string {
  const beside = items.filter(({ type }) => type !== "message" && type !== "function_call");
  const open: unknown[] = beside.map(({ content, tool_calls: _, ...item }) =>
    Array.isArray(content) ? [item, content.filter((part) => textPart(part) === undefined)] : item
  );
  const texts: string[] = [];
  for (const value of open) {
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) open.push(inner);
    }
  }
  return texts.join("\n");
}

/** Returns the text of a message's content: a text, or a list of parts of which some are texts. */
export function contentText(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map((part) => textPart(part) ?? "").join("") ||
    content.map((part) => isJsonObject(part) ? asText(part["refusal"]) ?? "" : "").join("");
}

/** Returns the text of a part; `undefined` if it is none. */
export function textPart(part: unknown): string | undefined {
  if (!isJsonObject(part)) return asText(part);
  // A part without a type is a text; thinking has parts of its own.
  const { type = "text" } = part;
  return type === "text" || type === "output_text" ? asText(part["text"]) : undefined;
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
