/**
 * Scripted models: test doubles that return scripted replies.
 * @module
 */

import { z } from "zod";
import { FUNCTION, parseWith } from "../base/input.ts";
import { defined, type JsonObject, jsonText, printable } from "../base/json.ts";
import type { Usage } from "../tools/message.ts";
import {
  type FinishReason,
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
} from "./model.ts";

/** A reply of a scripted model: text, calls, or both. */
export interface ScriptedReply {
  /** The text. Default: empty. */
  readonly text?: string;
  /** The calls: names and arguments. */
  readonly calls?: readonly { readonly name: string; readonly arguments: JsonObject | string }[];
  /** The tokens that it reports. Default: none. */
  readonly usage?: Usage;
  /** Why it stops. Default: `calls` or `stop`. */
  readonly finish?: FinishReason;
  /** Duration that it reports, in milliseconds. Default: the actual duration. */
  readonly duration?: number;
  /** Name of the model that it reports. Default: its own name. */
  readonly served?: string;
}

/** Computes the reply to a request. */
export type Script = (request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>;

/**
 * Creates a model that replies as `script` says: a function of each request, or a list of the replies of a
 * trial. A text that ends a list is repeated; where a list ends with calls and is asked for more, the trial is invalid.
 *
 * @throws {InputError} If it is neither a function nor a list of replies, or the list is empty.
 *
 * @example Usage
 * ```ts
 * import { scripted } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 *
 * const model = scripted("double", [{ calls: [{ name: "add", arguments: { a: 1 } }] }]);
 * const context = { trial: "1", repetition: 1, request: 1 };
 * const reply = await model.reply({ messages: [], tools: [], context });
 * assertEquals(reply.calls[0]?.arguments, '{"a":1}');
 * ```
 */
export function scripted(name: string, script: Script | readonly ScriptedReply[]): Model {
  parseWith(SCRIPT, script, "the script of a model");
  return {
    name,
    simulated: true,
    async reply(request: ModelRequest): Promise<ModelReply> {
      const started = performance.now();
      const { text = "", calls = [], ...claims } = typeof script === "function"
        ? await script(request)
        : nextOf(script, name, request);
      return {
        text,
        calls: calls.map((call, index) => ({
          id: `call_${request.context.request}_${index + 1}`,
          name: call.name,
          arguments: typeof call.arguments === "string" ? call.arguments : jsonText(call.arguments),
        })),
        finish: calls.length > 0 ? "calls" : "stop",
        usage: { inputTokens: 0, outputTokens: 0 },
        served: name,
        duration: performance.now() - started,
        repairs: [],
        ...defined(claims),
      };
    },
  };
}

function nextOf(
  script: readonly ScriptedReply[],
  name: string,
  { context: { request } }: ModelRequest,
): ScriptedReply {
  const reply = script[request - 1] ?? script.at(-1)!;
  if (request <= script.length || (reply.calls ?? []).length === 0) return reply;
  throw new InfrastructureError(
    `The scripted model ${
      printable(name, 100)
    } has no reply ${request}: its list of ${script.length} ends with ` +
      "calls. Add the reply to their results, or give a function of the request",
  );
}

const ANY = z.unknown().optional();

const REPLIES = z.array(z.strictObject(
  {
    text: ANY,
    calls: ANY,
    usage: ANY,
    finish: ANY,
    duration: ANY,
    served: ANY,
  } satisfies Record<keyof ScriptedReply, z.ZodType>,
)).min(1);

const SCRIPT = z.union([FUNCTION, REPLIES]);
