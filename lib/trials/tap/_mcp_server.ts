/**
 * The MCP server of a trial: the functions of a task and `submit_answer`, for agents that are clients of MCP.
 * @module
 */

import {
  cutText,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import { unloaded } from "../../base/optional_package.ts";
import { redact } from "../../base/redact.ts";
import { type BodyShare, readBody } from "../../base/request_body.ts";
import { InfrastructureError, type Permanent } from "../../models/model.ts";
import { errorOfResult } from "../../tools/references/symbol_table.ts";
import { describeTool, type ToolSchema } from "../../tools/tool.ts";
import { isNowhere } from "../../base/loopback.ts";
import { SERVER_NAME } from "./_offered_names.ts";
import { MAX_OUTPUT } from "../../base/process_group.ts";
import { bodyRule, dropBody, MAX_BODY, refusalText } from "./_tools_over_http.ts";

/** The name of the function that takes the answer. */
export const SUBMIT = "submit_answer";

/** What a server offers. */
export interface McpTask {
  /** The functions of the task. */
  readonly tools: readonly ToolSchema[];
  /** Carries out a call of a function, with its arguments as text. */
  readonly execute: (name: string, written: string) => Promise<string>;
  /**
   * Takes the answer.
   *
   * @throws {Error} If it is not taken.
   */
  readonly submit: (answer: string) => void;
}

/** The MCP server of a trial, for one message of the user. */
export class TrialMcpServer implements AsyncDisposable {
  readonly #task: McpTask;
  #handler: ReturnType<typeof handlerOf> | undefined;

  /** Serves nothing yet. */
  constructor(task: McpTask) {
    this.#task = task;
  }

  /**
   * Starts it below the address of the trial, and returns its own.
   *
   * @throws {InfrastructureError} If it cannot start.
   */
  async start(address: string): Promise<string> {
    if (isNowhere(address)) {
      const reason =
        "Deno was not given the permission to listen for it: add --allow-net=127.0.0.1";
      throw unstarted(reason, "permission");
    }
    if (this.#task.tools.some(({ name }) => name === SUBMIT)) {
      const reason = `the task has a function of the name ${SUBMIT} itself: give it another name`;
      throw unstarted(reason, "command");
    }
    await (this.#handler ??= handlerOf(this.#task));
    return `${address}/mcp`;
  }

  /** Answers a request; `undefined` while the server has not started. */
  async answer(request: Request, share?: BodyShare): Promise<Response | undefined> {
    const handler = await this.#handler;
    if (handler === undefined) return undefined;
    const { url, method, headers } = request;
    // Without its signal, which Deno warns of; where a client goes away, the body of its answer is cancelled.
    const plain = new Request(url, { method, headers });
    if (method !== "POST") {
      await dropBody(request);
      return await handler.fetch(plain);
    }
    const text = await readBody(request, MAX_BODY, share);
    await dropBody(request);
    if (text === undefined) return refuse(413, -32000, `the message ${bodyRule(MAX_BODY)}`);
    const message = parseJson(text);
    if (message === undefined) return refuse(400, -32700, "the message must be JSON");
    return await handler.fetch(plain, {
      parsedBody: Array.isArray(message) ? message.map(withGiven) : withGiven(message),
    });
  }

  /** Ends what it still answers. */
  async [Symbol.asyncDispose](): Promise<void> {
    const handler = await this.#handler?.catch(() => undefined);
    await handler?.close();
  }
}

/** Loads the package, which only trials need that serve MCP, and lets it handle the protocol. */
async function handlerOf({ tools, execute, submit }: McpTask) {
  const { createMcpHandler, Server } = await import("@modelcontextprotocol/server").catch(
    (error) => {
      const reason = unloaded(["@modelcontextprotocol/server"], error);
      throw unstarted(cutText(printable(redact(reason), 300), 300), "command", error);
    },
  );
  const listed = [...tools.map(listedTool), SUBMIT_TOOL];
  // Without sessions: each request says all that the server needs to know, whichever client sends it.
  return createMcpHandler(() => {
    const server = new Server(
      { name: SERVER_NAME, version: "1.0.0" },
      { capabilities: { tools: {} } },
    );
    server.setRequestHandler("tools/list", () => ({ tools: listed }));
    server.setRequestHandler("tools/call", async ({ params: { name, arguments: sent } }) => {
      const given = sent![GIVEN] as JsonValue;
      try {
        const text = name === SUBMIT
          ? submitted(given, submit)
          : await execute(name, jsonText(given));
        return resultOf(text, errorOfResult(text) !== undefined);
      } catch (error) {
        return resultOf(JSON.stringify({ error: refusalText(error) }), true);
      }
    });
    return server;
  });
}

/** Where the arguments of a call stand while the package has them: it would refuse what is no object. */
const GIVEN = "given";

/** Puts the arguments of a call, whatever they are, where the package lets them pass as they were sent. */
function withGiven(message: JsonValue): JsonValue {
  if (!isJsonObject(message) || message["method"] !== "tools/call") return message;
  const { params } = message;
  if (!isJsonObject(params)) return message;
  const { arguments: given = {} } = params;
  return { ...message, params: { ...params, arguments: { [GIVEN]: given } } };
}

function resultOf(text: string, isError: boolean) {
  return { content: [{ type: "text" as const, text }], ...(isError ? { isError } : {}) };
}

/** A function in the form of MCP, in which each schema must say that arguments are an object. */
function listedTool(tool: ToolSchema) {
  return {
    name: tool.name,
    description: describeTool(tool),
    inputSchema: { ...tool.parameters, type: "object" as const },
  };
}

const SUBMIT_TOOL = listedTool({
  name: SUBMIT,
  description: "Submits the final answer to the user, once. Nothing else is taken for the answer.",
  parameters: {
    properties: { answer: { type: "string", description: "The whole answer" } },
    required: ["answer"],
    additionalProperties: false,
  },
});

/** Takes an answer; says what is wrong with the call, and nothing about the task. */
function submitted(given: JsonValue, submit: McpTask["submit"]): string {
  const { answer, ...others } = isJsonObject(given) ? given : {} as JsonObject;
  if (typeof answer !== "string" || Object.keys(others).length > 0) {
    throw new Error(`${SUBMIT} takes one argument, the text "answer"`);
  }
  if (new TextEncoder().encode(answer).length > MAX_OUTPUT) {
    throw new Error(`The answer must not exceed ${MAX_OUTPUT} bytes`);
  }
  submit(answer);
  return "The answer is submitted";
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}

/** The error of a server that cannot start. */
function unstarted(reason: string, permanent: Permanent, cause?: unknown): InfrastructureError {
  const message = `Cannot start the MCP server of the trial as ${reason}`;
  return new InfrastructureError(message, { permanent, cause });
}
