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
import type { ToolCall } from "../../tools/tool.ts";

/** How to ask for the repair of a refused call. */
export interface RepairRequest {
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
  /** Returns why a call is refused; `undefined` if it is accepted. */
  readonly refuse: (call: ToolCall) => string | undefined;
}

/** The result of a repair. */
export interface RepairedArguments {
  /** The number of requests to the model. */
  readonly attempts: number;
  /** The call with arguments that are accepted, as it was checked; omitted if there are none. */
  readonly call?: ToolCall;
}

/**
 * Asks a model for other arguments of a call, each time with the errors of the last ones, until they are accepted or
 * `attempts` is reached.
 */
export async function repairArguments(
  call: ToolCall,
  { schema, error, messages, prompt, attempts, ask, refuse }: RepairRequest,
): Promise<RepairedArguments | Limited> {
  const { name } = call;
  const history: Message[] = [...messages];
  let [written, errors] = [call.arguments, error];
  for (let attempt = 1; attempt <= attempts; attempt++) {
    // As text: calls of a conversation must be answered by results, and there are none yet.
    const quoted = limitText(written);
    history.push({ role: "assistant", content: `${name}(${quoted})`, calls: [] });
    const words = { name, arguments: quoted, errors, schema: JSON.stringify(schema) };
    history.push({ role: "user", content: fillPrompt(prompt, words) });
    const reply = await ask(history);
    if (isLimited(reply)) return reply;
    const proposed = argumentsIn(reply, name);
    const next = { ...call, arguments: proposed ?? written };
    const refused = proposed === undefined ? "The reply held no arguments" : refuse(next);
    if (refused === undefined) return { attempts: attempt, call: next };
    [written, errors] = [next.arguments, refused];
  }
  return { attempts: Math.max(0, attempts) };
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
