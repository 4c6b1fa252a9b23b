/**
 * What OpenAI refuses of requests for responses, in its words, so that a client that loses what it must
 * send back is found out. Nothing is stored: ids and seals tell what the server has made.
 *
 * @module
 */

import { isJsonObject } from "../base/json.ts";
import { hash64 } from "../base/random.ts";
import { isAssistant, type ResponsesItem, type ResponsesRequest } from "./responses_wire.ts";
import type { WireFault } from "./wire.ts";

/** Functions are strict unless they are said not to be, and their schemas then must be closed. */
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

/** What the items of a request lack of each other. */
export function faultOfItems(request: ResponsesRequest): WireFault | undefined {
  const items = request.input;
  const calls = new Set<string>();
  const answered = new Set<string>();
  let reasoned: string | undefined;
  for (const [place, one] of items.entries()) {
    const param = `input[${place}]`;
    if (one.type === "reasoning") {
      const fault = faultOfReasoning(one, request);
      if (fault !== undefined) return { ...fault, param };
      reasoned = one.id;
      if (isAssistant(items[place + 1])) continue;
      const message = `Item '${one.id}' of type 'reasoning' was provided without its required ` +
        "following item.";
      return { message, param };
    }
    if (!isAssistant(one)) reasoned = undefined;
    const needed = reasoningOf(one);
    if (needed !== undefined && needed !== reasoned) {
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
    if (sealed === sealOf(model, id)) return undefined;
    const message = `The encrypted content for item ${id} could not be verified.`;
    return { message, code: "invalid_encrypted_content" };
  }
  // What a server has made by itself it would find again in its store.
  if (store !== false && /^rs_[0-9a-f]{16}$/.test(id)) return undefined;
  const why =
    "Items are not persisted when `store` is set to false. Try again with `store` set to " +
    "true, or remove this item from your input.";
  return { message: `Item with id '${id}' not found. ${why}`, status: 404 };
}

/** The reasoning that led to an item of this server; one without an id may be anyone's. */
function reasoningOf(one: ResponsesItem): string | undefined {
  const id = "id" in one && typeof one.id === "string" ? one.id : "";
  const [, reply] = /^(?:fc|msg)_([0-9a-f]{16})(?:_\d+)?$/.exec(id) ?? [];
  return reply === undefined ? undefined : `rs_${reply}`;
}

/** What a model reasoned, as it goes out: a hash by which it is known again. */
export function sealOf(model: string, id: string): string {
  return hash64(`${model}\u0000${id}`).toString(16).padStart(16, "0");
}
