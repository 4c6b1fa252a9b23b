/**
 * Items of responses: what they say, and how those of an earlier reply go back.
 * @module
 */

import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Carried, Message } from "../../tools/message.ts";
import type { ToolCall } from "../../tools/tool.ts";

/** What the messages among the items say; what the model refuses to say counts where it says nothing. */
export function textOfItems(items: readonly JsonObject[]): string {
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

/** What an assistant said, as items that no server has made. */
export function writeSaid(content: string): JsonObject[] {
  return content === "" ? [] : [{ role: "assistant", content }];
}

/** A call as an item that no server has made. */
export function writeCall({ id, name, arguments: written }: ToolCall): JsonObject {
  return { type: "function_call", call_id: id, name, arguments: written };
}

/**
 * The items of an earlier reply as they came, but for what has become of it since: calls that were
 * dropped are left out, and what was changed is written anew. No reasoning goes back without the item
 * that it led to, which servers refuse.
 */
export function carriedItems(
  { content, calls }: Extract<Message, { role: "assistant" }>,
  { items }: Carried,
): JsonObject[] {
  const left = new Map(calls.map((call) => [call.id, call]));
  // A text that was changed stands before whatever else there is, once.
  const said = content === textOfItems(items);
  const back = said ? [] : writeSaid(content);
  let reasoned: JsonObject[] = [];
  let dropped = false;
  for (const item of items) {
    if (item["type"] === "reasoning") {
      if (dropped) reasoned = [];
      dropped = false;
      reasoned.push(item);
      continue;
    }
    const kept = keptItem(item, left, said);
    dropped = kept === undefined;
    if (kept === undefined) continue;
    back.push(...reasoned, kept);
    reasoned = [];
  }
  return [...back, ...[...left.values()].map(writeCall)];
}

/** The item as it goes back, if it does; its call is no longer among those that are left. */
function keptItem(
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
  const asItCame = item["name"] === call.name && item["arguments"] === call.arguments;
  // The id of an item names what the server has made, which this no longer is.
  return asItCame ? item : writeCall(call);
}
