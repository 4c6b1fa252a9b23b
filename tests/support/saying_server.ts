/**
 * A server that says what its script has, in both of OpenAI's formats, whole and streamed, and remembers every
 * call that it said: what an agent's trial recorded is compared with that.
 */

import type { JsonObject } from "../../lib/base/json.ts";
import { openai, type OpenAIOptions } from "../../lib/models/openai/openai.ts";
import type { Model } from "../../lib/models/model.ts";
import { completionChunks, eventStream, responseEvents } from "../../lib/simulated/_streaming.ts";
import type { ChatAnswer } from "../../lib/simulated/_wire.ts";
import { KEY } from "./wire_servers.ts";

/** A call as a server writes it. */
export interface SaidCall {
  readonly name: string;
  readonly arguments: string;
  readonly id?: string;
}

/** A reply. */
export interface Saying {
  readonly text?: string;
  readonly calls?: readonly SaidCall[];
  /** The finish reason of a chat completion, if not that of its kind. */
  readonly finish?: string;
  /** The model that served it; default parrot-2. */
  readonly model?: string;
  /** Further items of a response, before all others. */
  readonly items?: readonly JsonObject[];
}

/** A request that came. */
export interface Asked {
  /** From 1. */
  readonly number: number;
  readonly path: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** What answers requests in turn, the last for all further ones; or one function for all. */
export type Script =
  | readonly (Saying | ((asked: Asked) => Response | Promise<Response>))[]
  | ((asked: Asked) => Saying | Response | Promise<Response>);

export interface SayingServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** The replies that were said. */
  readonly replies: readonly Saying[];
  /** The calls of all of them. */
  readonly said: readonly SaidCall[];
  /** Tokens of all of them. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  /** The model under test at this server. */
  model(options?: Partial<OpenAIOptions>): Model;
}

/** Starts a server. */
export function sayingServer(script: Script): SayingServer {
  const asked: Asked[] = [];
  const replies: Saying[] = [];
  let [inputTokens, outputTokens] = [0, 0];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 404 });
    const { pathname: path } = new URL(request.url);
    const one = {
      number: asked.length + 1,
      path,
      headers: request.headers,
      body: await request.json(),
    };
    asked.push(one);
    const next = typeof script === "function"
      ? script
      : script[Math.min(asked.length, script.length) - 1]!;
    const saying = await (typeof next === "function" ? next(one) : next);
    if (saying instanceof Response) return saying;
    replies.push(saying);
    inputTokens += 100 + one.number;
    outputTokens += 10;
    return respond(saying, one);
  });
  const url = `http://127.0.0.1:${server.addr.port}/v1`;
  return {
    ...{ url, asked, replies },
    get said() {
      return replies.flatMap(({ calls = [] }) => calls);
    },
    get usage() {
      return { inputTokens, outputTokens };
    },
    model: (options = {}) =>
      openai({ model: "parrot", baseURL: url, apiKey: KEY, backoff: 1, ...options }),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Writes a reply as the request wants it. */
export function respond(
  { text = "", calls = [], finish, model = "parrot-2", items = [] }: Saying,
  { number, path, body }: Asked,
): Response {
  const made = calls.map((call, place) => ({ id: `call_${number}_${place + 1}`, ...call }));
  const usage = { prompt_tokens: 100 + number, completion_tokens: 10, total_tokens: 110 + number };
  if (path.endsWith("/responses")) {
    const response: JsonObject = {
      ...{ id: `resp_${number}`, object: "response", created_at: 1, status: "completed" },
      ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, model },
      ...{ parallel_tool_calls: true, temperature: 1, tool_choice: "auto", tools: [], top_p: 1 },
      output: [
        ...items,
        ...(text === "" ? [] : [{
          ...{ id: `msg_${number}`, type: "message", status: "completed", role: "assistant" },
          content: [{ type: "output_text", text, annotations: [] }],
        }]),
        ...made.map(({ id, name, arguments: written }) => ({
          ...{ id: `fc_${id}`, type: "function_call", status: "completed", call_id: id },
          ...{ name, arguments: written },
        })),
      ],
      usage: {
        ...{ input_tokens: 100 + number, output_tokens: 10, total_tokens: 110 + number },
        ...{ input_tokens_details: { cached_tokens: 0 } },
        ...{ output_tokens_details: { reasoning_tokens: 0 } },
      },
    };
    return body["stream"] === true
      ? eventStream(responseEvents(response))
      : Response.json(response);
  }
  const answer = {
    ...{ id: `chatcmpl-${number}`, object: "chat.completion", created: 1, model, usage },
    choices: [{
      ...{ index: 0, finish_reason: finish ?? (made.length > 0 ? "tool_calls" : "stop") },
      message: {
        ...{
          role: "assistant",
          content: made.length > 0 && text === "" ? null : text,
          refusal: null,
        },
        ...(made.length === 0 ? {} : {
          tool_calls: made.map(({ id, name, arguments: written }) => ({
            ...{ id, type: "function", function: { name, arguments: written } },
          })),
        }),
      },
    }],
  };
  return body["stream"] === true
    ? eventStream(
      completionChunks(
        answer as unknown as ChatAnswer,
        Object(body["stream_options"]),
      ),
    )
    : Response.json(answer);
}

/** Ends a streamed reply after its calls and before it is complete, as a proxy does that gives up. */
export async function cutShort(response: Response): Promise<Response> {
  const events = (await response.text()).split("\n\n");
  const end = events.findIndex((event) => /"finish_reason":"|"response\.completed"/.test(event));
  return new Response(`${events.slice(0, end).join("\n\n")}\n\n`, response);
}
