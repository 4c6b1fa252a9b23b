/**
 * Token estimates: the tokens of requests and replies whose server does not count them.
 * @module
 */

import { jsonText } from "../../base/json.ts";
import { attempt } from "../../base/errors.ts";
import type { Usage } from "../../tools/message.ts";
import type { ModelReply, ModelRequest } from "../model.ts";

/** Bytes a token: about right for English, code and JSON, and for most other languages closer than characters. */
const BYTES_A_TOKEN = 4;

const ENCODER = new TextEncoder();

/** Estimates the tokens of a value by the length of its JSON text. */
export function estimatedTokens(value: object): number {
  // A value that nests too deep to serialize fails when it is sent.
  return attempt(() => Math.ceil(ENCODER.encode(jsonText(value)).length / BYTES_A_TOKEN)) ??
    1;
}

/**
 * Estimates what a request and its reply took: a token for every four bytes of the JSON text of messages and
 * functions, and of the reply's text and calls or, if that is longer, of the reasoning to send back. Reasoning
 * that a server hides is not counted.
 */
export function estimatedUsage(
  { messages, tools }: Pick<ModelRequest, "messages" | "tools">,
  { text, calls, carried }: Pick<ModelReply, "text" | "calls" | "carried">,
): Usage {
  return {
    inputTokens: estimatedTokens({ messages, tools }),
    // What is carried may hold the text and the calls as well: nothing is counted twice.
    outputTokens: Math.max(estimatedTokens([text, calls]), estimatedTokens(carried?.items ?? [])),
    estimated: true,
  };
}
