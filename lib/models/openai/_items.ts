/**
 * Response items: their text, and how items of an earlier reply are sent back.
 * @module
 */

import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Carried, Message } from "../../tools/message.ts";
import type { ToolCall } from "../../tools/tool.ts";
import { sendableCall } from "./reading.ts";

/** Returns the text of the messages among the items, or their refusals if there is no text. */
export function itemsText(items: readonly JsonObject[]): string {
  const texts: string[] = [];
  const refusals: string[] = [];
  for (const { type, content } of items) {
    if (type !== "message") continue;
    if (typeof content === "string") texts.push(content);
    for (const part of Array.isArray(content) ? content : []) {
      if (!isJsonObject(part)) continue;
      if (part["type"] === "output_text" && typeof part["text"] === "string") {
        texts.push(part["text"]);
      }
      if (part["type"] === "refusal" && typeof part["refusal"] === "string") {
        refusals.push(part["refusal"]);
      }
    }
  }
  return texts.join("") || refusals.join("");
}

/** Writes an assistant's text as items without a server's ids. */
export function writeText(content: string): JsonObject[] {
  return content === "" ? [] : [{ role: "assistant", content }];
}

/** Writes a call as an item without a server's id. */
export function writeCall(call: ToolCall): JsonObject {
  return { type: "function_call", call_id: call.id, ...sendableCall(call) };
}

/**
 * Returns the items of an earlier reply as they came, apart from later changes to the message: dropped calls
 * are omitted, and changed parts are written again. Servers refuse reasoning without the item that it led to,
 * so that is omitted, too.
 */
export function carriedItems(
  { content, calls }: Extract<Message, { role: "assistant" }>,
  { items }: Carried,
): JsonObject[] {
  const left = new Map(calls.map((call) => [call.id, call]));
  // A changed text goes before all other items, once.
  const said = content === itemsText(items);
  const back = said ? [] : writeText(content);
  let reasoned: JsonObject[] = [];
  let dropped = false;
  for (const item of items) {
    if (item["type"] === "reasoning") {
      if (dropped) reasoned = [];
      dropped = false;
      reasoned.push(item);
      continue;
    }
    const kept = carriedItem(item, left, said);
    dropped = kept === undefined;
    if (kept === undefined) continue;
    back.push(...reasoned, kept);
    reasoned = [];
  }
  return [...back, ...[...left.values()].map(writeCall)];
}

/** Returns the item to send back, if any, and removes its call from `left`. */
function carriedItem(
  item: JsonObject,
  left: Map<string, ToolCall>,
  said: boolean,
): JsonObject | undefined {
  if (item["type"] === "message") return said ? item : undefined;
  if (item["type"] !== "function_call") return item;
  const id = String(item["call_id"]);
  const call = left.get(id);
  if (call === undefined) return undefined;
  left.delete(id);
  const { name, arguments: written } = sendableCall(call);
  const asItCame = item["name"] === name && item["arguments"] === written;
  // An item's id refers to the server's version, which this no longer is.
  return asItCame ? item : writeCall(call);
}
