/**
 * Models behind OpenAI's chat completions or responses, at OpenAI or at any server that speaks the same
 * formats.
 *
 * | file | what |
 * | --- | --- |
 * | `openai/wire_format.ts` | what a wire format is, and the options |
 * | `openai/reading.ts` | what reading a reply takes, whatever its format |
 * | `openai/chat.ts` | chat completions |
 * | `openai/items.ts` | items of responses, and how they go back |
 * | `openai/responses.ts` | responses |
 * | `openai/completions.ts` | scorers, which are asked through completions |
 * @module
 */

import { endpointOf, postTo } from "../http/endpoint.ts";
import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { InfrastructureError, type Model } from "../model.ts";
import { type Attempt, retrying } from "../http/retry.ts";
import { CHAT } from "./chat.ts";
import { RESPONSES } from "./responses.ts";
import { checkedChoice, type OpenAIOptions, type WireApi, type WireFormat } from "./wire_format.ts";

export type { OpenAIOptions, WireApi } from "./wire_format.ts";

const FORMATS: Readonly<Record<WireApi, WireFormat>> = { chat: CHAT, responses: RESPONSES };

/**
 * A model that is asked through OpenAI's chat completions, or through its responses. With these, what
 * the model reasoned before it called goes back to it, and to no other model.
 *
 * Its `reply` throws an {@linkcode InfrastructureError} for every fault of network, server, account or
 * reply, after retries where these may help. Such a message holds at most about 300 characters of what
 * the server said, and neither the key nor a header's value.
 *
 * @throws {InputError} If `baseURL` is no http or https address, if OpenAI's own servers are to be
 * asked without a key, or if an option cannot be sent or cannot be retried by.
 *
 * @example Usage
 * ```ts
 * import { openai } from "./openai.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () =>
 *   Response.json({
 *     model: "parrot-2",
 *     choices: [{ finish_reason: "stop", message: { role: "assistant", content: "hello" } }],
 *   }));
 *
 * const parrot = openai({
 *   model: "parrot",
 *   baseURL: `http://127.0.0.1:${server.addr.port}/v1`,
 *   apiKey: "any",
 * });
 * const { text, served } = await parrot.reply({
 *   messages: [{ role: "user", content: "Say hello" }],
 *   tools: [],
 *   context: { trial: "example", repetition: 1, request: 1 },
 * });
 * assertEquals([text, served], ["hello", "parrot-2"]);
 * await server.shutdown();
 * ```
 */
export function openai(options: OpenAIOptions): Model {
  const { model, name = model, simulated = false, api = "chat" } = options;
  if (options.body?.["stream"]) {
    throw new InputError(`Cannot ask ${model} as replies are read whole: body.stream is set`);
  }
  const format = formatOf(model, api);
  const unknown = format.unknown.find((option) => options[option] !== undefined);
  if (unknown !== undefined) {
    throw new InputError(
      `Cannot ask ${model} as ${api} has no ${unknown}: it is ${options[unknown]}; leave it out`,
    );
  }
  const usual = checkedChoice(model, options.toolChoice);
  const endpoint = endpointOf(options);
  const { who, quote, hide } = endpoint;
  const unusable = (state: string) =>
    new InfrastructureError(
      `Cannot use the reply of ${who} as it must be ${format.replyName}: ${quote(state)}`,
      { retryable: true },
    );
  const post = postTo(endpoint);
  const attempt: Attempt = async (request, signal) => {
    const choice = request.toolChoice === undefined
      ? usual
      : checkedChoice(model, request.toolChoice);
    const body = {
      ...format.write({ request, options, choice, who }),
      ...options.body,
      ...options.requestFields?.(request),
    };
    const answer = await post(format.path, body, signal);
    try {
      return format.read(answer, {
        ...{ who, hide, unusable },
        isTaken: (id) =>
          request.messages.some((message) =>
            message.role === "assistant" && message.calls.some((call) => call.id === id)
          ),
      });
    } catch (error) {
      // Whatever writes a part of it down again goes as deep as that does.
      throw error instanceof RangeError ? unusable("it nests too deep") : error;
    }
  };
  return {
    name,
    simulated,
    // What goes without saying is in no journal, which stay as they were.
    ...(api === "chat" ? {} : { api }),
    reply: retrying(attempt, options),
  };
}

function formatOf(model: string, api: WireApi): WireFormat {
  // It may come from a file that nothing has checked.
  if (Object.hasOwn(FORMATS, api)) return FORMATS[api];
  const names = Object.keys(FORMATS).join(" or ");
  throw new InputError(
    `Cannot ask ${model} as api must be ${names}: it is ${printable(String(api))}`,
  );
}
