/**
 * Tools over HTTP: the functions of a task, for agents in other processes.
 * @module
 */

import { attempt, reasonOf } from "../../base/errors.ts";
import { isJsonObject, parseJson, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { type BodyShare, readBody } from "../../base/request_body.ts";
import { type Tool, toOpenAITool } from "../../tools/tool.ts";
import type { AgentTask } from "../own_agent.ts";

/** Bytes of the arguments of a call, at most. */
export const MAX_BODY = 16 * 2 ** 20;
/** Bytes of all bodies of an agent that are not answered, at most. */
export const MAX_BODIES = 128 * 2 ** 20;

/** Says which bodies are refused. */
export const bodyRule = (most: number): string =>
  `must not exceed ${most} bytes, nor those of all requests under way ${MAX_BODIES}`;

/**
 * Returns what answers the requests below the address of a task's functions; `path` is what follows that address.
 *
 * | request | answer |
 * | --- | --- |
 * | `GET` of the address itself | 200: a JSON list of the functions in the form of OpenAI's chat completions |
 * | `POST /NAME` with a JSON object, the arguments | 200: the result as text, also that of a refused call |
 *
 * Errors are objects with the text `error`: 404 for an unknown name, 405 for another method, 400 for a body that is no
 * JSON object, 413 for one above 16 MiB or with too many others, and 409 if no more calls are allowed.
 *
 * @param own Functions that are not the task's, such as `ask_user`: they are called likewise, and not listed.
 */
export function toolsHandler(
  task: Pick<AgentTask, "tools">,
  own: readonly Tool[] = [],
): (request: Request, path: string, share?: BodyShare) => Promise<Response> {
  const tools = new Map([...own, ...task.tools].map((tool) => [tool.name, tool]));
  return async (request, path, share) => {
    if (path === "" || path === "/") {
      return request.method === "GET"
        ? Response.json(task.tools.map(toOpenAITool))
        : refuse(request, 405, "the method must be GET", { allow: "GET" });
    }
    const name = attempt(() => decodeURIComponent(path.slice(1)));
    const tool = name === undefined ? undefined : tools.get(name);
    if (tool === undefined) {
      const shown = printable(name ?? path.slice(1), 100);
      return refuse(request, 404, `there is no function ${shown}`);
    }
    if (request.method !== "POST") {
      return refuse(request, 405, "the method must be POST", { allow: "POST" });
    }
    const text = await readBody(request, MAX_BODY, share);
    if (text === undefined) return refuse(request, 413, `the arguments ${bodyRule(MAX_BODY)}`);
    const input = parseJson(text);
    if (!isJsonObject(input)) {
      return refuse(request, 400, "the body must be a JSON object, the arguments");
    }
    try {
      const result = await tool.execute(input);
      return new Response(result, { headers: { "content-type": "text/plain; charset=utf-8" } });
    } catch (error) {
      return refuse(request, 409, refusalText(error));
    }
  };
}

/** Says why no more calls are allowed. */
export function refusalText(error: unknown): string {
  return printable(redact(reasonOf(error)), 1_000);
}

async function refuse(
  request: Request,
  status: number,
  error: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  await dropBody(request);
  return Response.json({ error }, { status, headers });
}

/** Gives up the body of a request, unless it was read: one that nobody reads would keep its connection. */
export async function dropBody({ body, bodyUsed }: Request): Promise<void> {
  if (body !== null && !bodyUsed) await body.cancel();
}
