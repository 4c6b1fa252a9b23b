/**
 * Argument repair: asks a model to fix arguments that failed validation (Pipeline, "Error Handling and Retry
 * Logic"). All repairs of calls are made here.
 * @module
 */

import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelReply } from "../../models/model.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { isLimited, type Limited } from "../agent/session.ts";
import { limitText } from "./_stage.ts";

/** A refused call, and how to ask for its repair. */
export interface RepairRequest {
  /** The name of the function. */
  readonly name: string;
  /** The refused arguments. */
  readonly arguments: string;
  /** The JSON Schema of the arguments. */
  readonly schema: JsonObject;
  /** Why they were refused. */
  readonly error: string;
  /** The conversation before the call. */
  readonly messages: readonly Message[];
  /** The prompt; its placeholders are `name`, `arguments`, `errors` and `schema`. */
  readonly prompt: string;
  /** At most this many requests to the model. */
  readonly attempts: number;
  /** Asks the model; the repair ends if a limit is reached. */
  readonly ask: (messages: readonly Message[]) => Promise<ModelReply | Limited>;
  /** Returns why arguments are refused; `undefined` if they are accepted. */
  readonly refuse: (written: string) => string | undefined;
}

/** The result of a repair. */
export interface RepairedArguments {
  /** The number of requests to the model. */
  readonly attempts: number;
  /** Arguments that are accepted; omitted if there are none. */
  readonly arguments?: string;
}

/**
 * Asks a model for other arguments, each time with the errors of the last ones, until they are accepted or
 * `attempts` is reached.
 */
export async function repairArguments(
  request: RepairRequest,
): Promise<RepairedArguments | Limited> {
  const { name, schema, prompt, attempts: most, ask, refuse } = request;
  const messages: Message[] = [...request.messages];
  let current = request.arguments;
  let error: string | undefined = request.error;
  let attempts = 0;
  while (error !== undefined && attempts < most) {
    attempts++;
    // As text: calls of a conversation must be answered by results, and there are none yet.
    const quoted = limitText(current);
    messages.push({ role: "assistant", content: `${name}(${quoted})`, calls: [] });
    const words = { name, arguments: quoted, errors: error, schema: JSON.stringify(schema) };
    messages.push({ role: "user", content: fillPrompt(prompt, words) });
    const reply = await ask(messages);
    if (isLimited(reply)) return reply;
    const proposed = argumentsIn(reply, name);
    if (proposed === undefined) {
      error = "The reply held no arguments";
      continue;
    }
    current = proposed;
    error = refuse(current);
  }
  return error === undefined ? { attempts, arguments: current } : { attempts };
}

/** The arguments that a reply proposes for a function, from a call or from JSON in its text. */
function argumentsIn({ calls, text }: ModelReply, name: string): string | undefined {
  const call = calls.find((call) => call.name === name);
  if (call !== undefined) return call.arguments;
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}") + 1;
  if (start === -1 || end <= start) return undefined;
  const json = text.slice(start, end);
  const parsed = parseJson(json);
  // Many models write the whole call when asked for its arguments.
  if (!isJsonObject(parsed) || parsed["name"] !== name) return json;
  const { arguments: inner } = parsed;
  return isJsonObject(inner) ? JSON.stringify(inner) : typeof inner === "string" ? inner : json;
}
