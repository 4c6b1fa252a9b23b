/**
 * Requests of agents: how they are sent on, what errors say of them, and the answers to those that get no reply.
 * @module
 */

import { abortable } from "@std/async/abortable";
import { inTime } from "../../base/deadline.ts";
import { isErrorOf, reasonOf } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, jsonText, parseJson, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { hideSecrets } from "../../base/secrets.ts";
import { faultOfAnswer, faultOfFetch, ModelFault } from "../../models/http/endpoint.ts";
import { InfrastructureError, type ModelServer, TimeLimitError } from "../../models/model.ts";
import type { AgentRequest } from "../../models/openai/agent_request.ts";
import { copied, type Server } from "../../models/openai/watched_reply.ts";
import type { ToolChoice } from "../../tools/tool.ts";
import { offeredChoice, type WatchedRequest } from "../agent/session.ts";

/** Milliseconds that a reply may take once its server has begun to answer. */
const LONGEST_STREAM = 300_000;

/** Returns how errors speak of a server that the agent asks by itself. */
export function serverAt(url: URL, model: string): Server {
  const quote = (text: string) => printable(redact(text.slice(0, 20_000)), 300);
  return { who: `${printable(model, 100)} at ${url.host}`, hide: hideSecrets, quote };
}

/** Waits for an answer and its body for as long as the agent does. */
export async function awaited(
  answering: Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  const response = await abortable(answering, signal);
  const { body } = response;
  if (body === null) return response;
  return new Response(body.pipeThrough(new TransformStream(), { signal }), response);
}

/** Sends a request; answers the agent by itself only where there is no reply of a model. */
export type Send = (
  asked: WatchedRequest,
  answer: PromiseWithResolvers<Response>,
) => ReturnType<ModelServer["forward"]>;

/** Sends a request to the server that the agent asks by itself, as it is but for a choice that its task demands. */
export function sendingTo(
  url: URL,
  request: Request,
  { asked, choice, server }: {
    readonly asked: AgentRequest;
    readonly choice: ToolChoice | undefined;
    readonly server: Server;
  },
): Send {
  return async (watched, answer) => {
    const started = performance.now();
    const body = withChoice(asked, choice);
    const sent = body === asked.body ? request : withBody(request, jsonText(body));
    const { signal } = watched;
    const sending = fetch(sent, { signal });
    const response = await inReplyTime(sending, watched).catch((error) => {
      answer.reject(error);
      const isBrokenOff = signal?.aborted || isErrorOf(error, TimeLimitError);
      throw isBrokenOff ? error : faultOfFetch(error, { ...server, url });
    });
    if (response.ok) return { response, duration: performance.now() - started };
    const copy = copied(response, signal);
    answer.resolve(copy.passed);
    throw faultOfAnswer(response, await copy.text, { ...server, url, told: asked.messages });
  };
}

/** Passes on a request that asks for no reply, such as one for embeddings. */
export async function passOn(
  server: ModelServer,
  { path, text, signal }: {
    readonly path: string;
    readonly text: string;
    readonly signal: AbortSignal;
  },
): Promise<Response> {
  const body = parseJson(text);
  if (!isJsonObject(body)) return refuse(400, "The body must be a JSON object");
  try {
    const context = { trial: "", repetition: 1, request: 1 };
    const { response } = await server.forward({ path, body, context, signal });
    return copied(response, signal).passed;
  } catch (error) {
    return refusalFor(error);
  }
}

/** Returns a request with another body. */
function withBody(request: Request, body: string): Request {
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  return new Request(request, { body, headers });
}

/** Waits for what a server sends, at most as long as a reply may take. */
export async function inReplyTime<T>(
  sending: Promise<T>,
  { timeLimit = Infinity, signal }: WatchedRequest,
): Promise<T> {
  const timeout = Math.min(timeLimit, LONGEST_STREAM);
  const outOfTime = () =>
    new TimeLimitError(`no whole reply came within ${timeout / 1000} seconds`, {
      ofRequest: timeLimit > timeout,
    });
  return await inTime(() => sending, { timeout, outOfTime, signal });
}

/** Whether a request shows replies: one that is still being read may be among them. */
export function isSequel({ messages, previous }: AgentRequest): boolean {
  return previous !== undefined || messages.some(({ role }) => role === "assistant");
}

/** Whether a text is in a request, or may be in the conversation that its server keeps. */
export function showsText({ messages, previous }: AgentRequest, text: string): boolean {
  return previous !== undefined || messages.some(({ content }) => content.includes(text));
}

/** The body of a request, with the choice of tools that its task demands, if any. */
export function withChoice(
  { api, body, tools }: AgentRequest,
  choice: ToolChoice | undefined,
): JsonObject {
  if (choice === undefined || tools.length === 0) return body;
  return { ...body, tool_choice: writtenChoice(api, offeredChoice(choice, tools)) };
}

/** A choice of tools in the form of a request. */
function writtenChoice(api: AgentRequest["api"], choice: ToolChoice): JsonObject[string] {
  if (typeof choice === "string") return choice;
  const { function: name } = choice;
  return api === "chat" ? { type: "function", function: { name } } : { type: "function", name };
}

/** The error of a request that broke off: by the agent itself, or on the way. */
export function brokenOff(error: unknown, { who, quote }: Server): InfrastructureError {
  const { name } = Object(error) as { readonly name?: unknown };
  return name === "AbortError" || name === "TimeoutError" || error instanceof RangeError
    ? new InfrastructureError(`The request to ${who} was broken off: ${quote(reasonOf(error))}`, {
      fault: "unclear",
    })
    : new InfrastructureError(`Cannot get a reply of ${who}: ${quote(reasonOf(error))}`, {
      retryable: true,
    });
}

/** The error of a request for another model than the one under test: that there is no such model is the agent's doing. */
export function ofOtherModel(error: unknown): unknown {
  if (!isErrorOf(error, InfrastructureError) || error.permanent !== "model") return error;
  const { message, status, cause } = error;
  return new InfrastructureError(message, { fault: "unclear", cause, status });
}

/** The answer to a request that got no reply. */
export function refusalFor(error: unknown): Response {
  const { status = isErrorOf(error, ModelFault) ? 400 : 502 } = error as InfrastructureError;
  return refuse(
    status,
    isErrorOf(error, InfrastructureError) ? error.message : "The request failed",
  );
}

/** An error in the form of OpenAI's, which clients do not send again: that was done already. */
export function refuse(status: number, message: string): Response {
  const error = { message, type: "toolgate_error", param: null, code: null };
  return Response.json({ error }, { status, headers: { "x-should-retry": "false" } });
}
