/**
 * Watched replies: a server's answer to the client of an agent is passed on as it comes, and read on a copy.
 * @module
 */

import { isJsonObject, jsonText } from "../../base/json.ts";
import { hideSecrets } from "../../base/secrets.ts";
import { InfrastructureError, type ModelReply } from "../model.ts";
import { boundedBody } from "../../base/bounded_fetch.ts";
import { type Endpoint, faultWithin, ModelFault } from "../http/endpoint.ts";
import { estimatedUsage } from "../http/_estimate.ts";
import type { ToolCall } from "../../tools/tool.ts";
import type { AgentRequest } from "./agent_request.ts";
import { CHAT } from "./_chat.ts";
import { wholeBody } from "./_event_stream.ts";
import { RESPONSES } from "./_responses.ts";
import { unreadableReply } from "./reading.ts";
import type { ReplySource, WireApi, WireFormat, WireReply } from "./wire_format.ts";

/** The wire formats. */
export const FORMATS: Readonly<Record<WireApi, WireFormat>> = { chat: CHAT, responses: RESPONSES };

/** A reply to an agent, as it was read. */
export interface WatchedReply {
  /** The reply. */
  readonly reply: Omit<ModelReply, "duration">;
  /** Its id at the server, which later requests may go on from; empty if it has none. */
  readonly id: string;
  /** What it used of the server's own tools, such as a search of the web. */
  readonly builtIns: readonly Pick<ToolCall, "name" | "arguments">[];
}

/** The server of a reply, and how errors speak of it. */
export type Server = Pick<Endpoint, "who" | "hide" | "quote">;

/** Headers that speak of the body as it was sent, which is unpacked by now. */
const OF_TRANSFER = ["content-encoding", "content-length", "transfer-encoding"];

/** An answer on its way to an agent. */
export interface Copied {
  /** The response to pass on at once. */
  readonly passed: Response;
  /** The text of its body, once that is whole. */
  readonly text: Promise<string>;
}

/** Milliseconds of silence after which a body is given up, once the agent has given it up. */
const SILENCE = 5_000;

/**
 * Copies the body of a response, of which at most 16 MiB are passed on. Breaks off when `signal` aborts. If the agent
 * breaks off, it is read on until nothing comes for five seconds: what a model says is judged, and a server that
 * hangs must not hold up an agent that tries again. Known secrets are hidden in what is passed on of headers, and of
 * the body of an error; replies are passed on as they come.
 */
export function copied(response: Response, signal?: AbortSignal): Copied {
  const { body, status, statusText } = response;
  // Cookies come one by one, each with the same name.
  const headers = new Headers(
    [...response.headers].filter(([name]) => !OF_TRANSFER.includes(name))
      .map(([name, value]): [string, string] => [name, hideSecrets(value)]),
  );
  if (body === null) {
    const passed = new Response(null, { status, statusText, headers });
    return { passed, text: Promise.resolve("") };
  }
  // The copy is read to its end, however slowly the agent reads, and if it stops.
  const silence = new AbortController();
  let isLeft = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    clearTimeout(timer);
    if (isLeft) timer = setTimeout(() => silence.abort(new Error(SILENT)), SILENCE);
  };
  const signals = [silence.signal, ...(signal === undefined ? [] : [signal])];
  const [theirs, own] = boundedBody(body, AbortSignal.any(signals), listen).tee();
  const text = new Response(own).text().finally(() => {
    isLeft = false;
    clearTimeout(timer);
  });
  // Who passes on an answer that is no reply does not wait for its text.
  text.catch(() => {});
  const shown = (response.ok ? theirs : theirs.pipeThrough(hiding())).pipeThrough(
    new TransformStream({
      cancel() {
        isLeft = true;
        listen();
      },
    }),
  );
  return { passed: new Response(shown, { status, statusText, headers }), text };
}

const SILENT = `Nothing came for ${SILENCE / 1000} seconds after the agent had given the reply up`;

/** Hides known secrets in a whole text. */
function hiding(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder();
  let text = "";
  return new TransformStream({
    transform(chunk) {
      text += decoder.decode(chunk, { stream: true });
    },
    flush(controller) {
      controller.enqueue(new TextEncoder().encode(hideSecrets(text + decoder.decode())));
    },
  });
}

/**
 * Reads the reply in an answer, streamed or whole.
 *
 * @throws {InfrastructureError} If there is none.
 */
export function readWatched(request: AgentRequest, text: string, server: Server): WatchedReply {
  const { api } = request;
  const source = sourceOf(request, server);
  let answer: unknown;
  let read: WireReply;
  try {
    answer = wholeBody(api, text);
    read = readAnswer(FORMATS[api], answer, source);
  } catch (error) {
    // Serializing a part that nests too deep overflows the stack.
    throw error instanceof RangeError ? source.unusable("it nests too deep") : error;
  }
  const id = isJsonObject(answer) && typeof answer["id"] === "string" ? answer["id"] : "";
  const items = api === "responses" ? read.carried?.items ?? [] : [];
  const builtIns = items.flatMap((item) => {
    const { type } = item;
    if (typeof type !== "string" || type === "function_call" || !type.endsWith("_call")) return [];
    return [{ name: type, arguments: jsonText(item) }];
  });
  return { reply: withUsage(request, read), id, builtIns };
}

/**
 * Reads the reply in an answer of status 200. A server that had begun to answer can say in the stream alone that it
 * could not read a call, and some say in the body that a content filter stopped a reply.
 *
 * @throws {InfrastructureError} If there is none.
 */
export function readAnswer(format: WireFormat, answer: unknown, source: ReplySource): WireReply {
  const fault = faultWithin(answer, source);
  if (fault === undefined) return format.read(answer, source);
  if (fault instanceof ModelFault) return faultReply(fault, source);
  throw fault;
}

/** Returns the reply of a model that its server passed on as an error. */
export function readFault(
  fault: ModelFault,
  request: AgentRequest,
  server: Server,
): WatchedReply {
  const read = faultReply(fault, sourceOf(request, server));
  return { reply: withUsage(request, read), id: "", builtIns: [] };
}

/** Returns the reply that an error of a server stands for. */
export function faultReply({ reply, generated }: ModelFault, source: ReplySource): WireReply {
  // Without tools the calls of a text format may stand in the text, which is read as any other.
  if (reply === "unreadable" && source.tools.length > 0) return unreadableReply(generated, source);
  return {
    text: source.hide(generated),
    calls: [],
    finish: reply === "filtered" ? "filter" : "other",
    usage: undefined,
    served: "",
    repairs: [],
  };
}

/** Returns how the answer of a server is read, and how its errors are worded. */
export function sourceOf(
  { api, tools, messages }: Pick<AgentRequest, "api" | "tools" | "messages">,
  { who, hide, quote }: Server,
): ReplySource {
  const action = `Cannot use the reply of ${who} as it must be ${FORMATS[api].replyName}`;
  const unusable: ReplySource["unusable"] = (state, { fault = "unclear", permanent } = {}) =>
    new InfrastructureError(`${action}: ${quote(state)}`, { retryable: true, fault, permanent });
  return { who, hide, quote, tools, told: messages, unusable };
}

/** Adds an estimate where a server does not count tokens, or counts none. */
export function withUsage(
  request: Pick<AgentRequest, "messages" | "tools">,
  { usage, ...reply }: WireReply,
): Omit<ModelReply, "duration"> {
  // No request reads nothing: some servers report zeros instead.
  const isReported = usage !== undefined && usage.inputTokens > 0;
  return { ...reply, usage: isReported ? usage : estimatedUsage(request, reply) };
}
