/**
 * Contents of messages: a text, or a list of parts of which some are texts.
 * @module
 */

import { isJsonObject, isObject, type JsonValue } from "../../base/json.ts";
import type { Carried } from "../../tools/message.ts";

/** Returns the texts of a reply beside those that it said and the calls that it made, one for each field or part. */
export function reasoningTexts({ items }: Pick<Carried, "items"> = { items: [] }): string[] {
  const beside = items.filter(({ type }) => type !== "message" && !String(type).endsWith("_call"));
  return beside.flatMap(({ content = [], ...item }) => {
    const parts = [content].flat().filter((part) => textPart(part) === undefined);
    return Object.entries({ ...item, content: parts }).map(([key, value]) =>
      textWithin({ [key]: value })
    );
  });
}

/** Keys of what is no text for people. */
const OPAQUE =
  /^(?:type|id|status|format|index|data|tool_calls|(?:extra|encrypted)_content|(?:thought_)?signature)$/;

/** Returns the texts within a value. */
function textWithin(value: JsonValue): string {
  const texts: string[] = [];
  const open = [value];
  for (const one of open) {
    if (typeof one === "string") texts.push(one);
    if (!isObject(one)) continue;
    for (const [key, inner] of Object.entries(one)) if (!OPAQUE.test(key)) open.push(inner);
  }
  return texts.join("\n").trim();
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
