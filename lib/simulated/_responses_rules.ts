/**
 * Requests that OpenAI's responses API refuses, with its messages, to detect clients that lose items they must
 * send back. Ids and seals show which items the server has made.
 * @module
 */

import { isJsonObject } from "../base/json.ts";
import { hash64 } from "../base/random.ts";
import { isAssistant, type ResponsesItem, type ResponsesRequest } from "./_responses_wire.ts";
import type { WireFault } from "./wire.ts";

/** Checks the tools: functions are strict by default, and their schemas must then be closed. */
export function faultOfTools({ tools }: ResponsesRequest): WireFault | undefined {
  for (const { name, parameters, strict } of tools ?? []) {
    if (strict === false) continue;
    const { properties, required, additionalProperties } = parameters ?? {};
    const all = isJsonObject(properties) ? Object.keys(properties) : [];
    const needed = Array.isArray(required) ? required : [];
    const rule = additionalProperties !== false
      ? "'additionalProperties' is required to be supplied and to be false"
      : all.some((one) => !needed.includes(one))
      ? "'required' is required to be supplied and to be an array including every key in properties"
      : undefined;
    if (rule !== undefined) {
      return { message: `Invalid schema for function '${name}': In context=(), ${rule}.` };
    }
  }
  return undefined;
}

/** Checks that calls have outputs, outputs have calls, and reasoning and its items belong together. */
export function faultOfItems(request: ResponsesRequest): WireFault | undefined {
  const items = request.input;
  const calls = new Set<string>();
  const answered = new Set<string>();
  let lastReasoning: string | undefined;
  for (const [place, one] of items.entries()) {
    const param = `input[${place}]`;
    if (one.type === "reasoning") {
      const fault = faultOfReasoning(one, request);
      if (fault !== undefined) return { ...fault, param };
      lastReasoning = one.id;
      if (isAssistant(items[place + 1])) continue;
      const message = `Item '${one.id}' of type 'reasoning' was provided without its required ` +
        "following item.";
      return { message, param };
    }
    if (!isAssistant(one)) lastReasoning = undefined;
    const needed = requiredReasoning(one);
    if (needed !== undefined && needed !== lastReasoning) {
      const own = (one as { readonly id: string }).id;
      const message = `Item '${own}' of type '${one.type}' was provided without its required ` +
        `'reasoning' item: '${needed}'.`;
      return { message, param };
    }
    if (one.type === "function_call") {
      if (calls.has(one.call_id)) {
        return { message: `Duplicate function call with call_id ${one.call_id}.`, param };
      }
      calls.add(one.call_id);
    }
    if (one.type === "function_call_output") {
      if (!calls.has(one.call_id)) {
        const message = `No tool call found for function call output with call_id ${one.call_id}.`;
        return { message, param };
      }
      answered.add(one.call_id);
    }
  }
  const open = [...calls].find((id) => !answered.has(id));
  if (open === undefined) return undefined;
  return { message: `No tool output found for function call ${open}.`, param: "input" };
}

function faultOfReasoning(
  { id, encrypted_content: sealed }: Extract<ResponsesItem, { type: "reasoning" }>,
  { model, store }: ResponsesRequest,
): WireFault | undefined {
  if (typeof sealed === "string") {
    if (sealed === sealFor(model, id)) return undefined;
    const message = `The encrypted content for item ${id} could not be verified.`;
    return { message, code: "invalid_encrypted_content" };
  }
  // OpenAI would find items that it has made in its store.
  if (store !== false && /^rs_[0-9a-f]{16}$/.test(id)) return undefined;
  const why =
    "Items are not persisted when `store` is set to false. Try again with `store` set to " +
    "true, or remove this item from your input.";
  return { message: `Item with id '${id}' not found. ${why}`, status: 404 };
}

/** The id of the reasoning that led to an item of this server; items without an id need none. */
function requiredReasoning(one: ResponsesItem): string | undefined {
  const id = "id" in one && typeof one.id === "string" ? one.id : "";
  const [, reply] = /^(?:fc|msg)_([0-9a-f]{16})(?:_\d+)?$/.exec(id) ?? [];
  return reply === undefined ? undefined : `rs_${reply}`;
}

/** The encrypted content of a reasoning item: a hash by which the server recognizes it. */
export function sealFor(model: string, id: string): string {
  return hash64(`${model}\u0000${id}`).toString(16).padStart(16, "0");
}
