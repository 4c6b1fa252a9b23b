/**
 * Requests of agents: how they are sent on, what errors say of them, and the answers to those that get no reply.
 * @module
 */

import { abortable } from "@std/async/abortable";
import { isErrorOf, reasonOf } from "../../base/errors.ts";
import { defined, type JsonObject, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { hideSecrets } from "../../base/secrets.ts";
import { ModelFault } from "../../models/http/endpoint.ts";
import { InfrastructureError } from "../../models/model.ts";
import type { AgentRequest } from "../../models/openai/agent_request.ts";
import type { Server } from "../../models/openai/watched_reply.ts";
import type { ToolChoice } from "../../tools/tool.ts";

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

/** Returns a request with another body. */
export function withBody(request: Request, body: string): Request {
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  return new Request(request, { body, headers });
}

/** A choice of tools in the form of a request. */
export function writtenChoice(api: AgentRequest["api"], choice: ToolChoice): JsonObject[string] {
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
  return new InfrastructureError(message, { fault: "unclear", cause, ...defined({ status }) });
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
