/**
 * RepairRequest: a model corrects the arguments of a call that were refused (Pipeline, "Error Handling and
 * Retry Logic"). It is the one way in which calls are repaired, whoever asks the model.
 * @module
 */

import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelReply } from "../../models/model.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { isLimited, type Limited } from "../agent/session.ts";
import { passedOn } from "./stage.ts";

/** A call that was refused, and who may correct it. */
export interface RepairRequest {
  /** The name of the function. */
  readonly name: string;
  /** The arguments as they were written. */
  readonly arguments: string;
  /** The JSON Schema of the arguments. */
  readonly schema: JsonObject;
  /** Why they were refused. */
  readonly error: string;
  /** The conversation before the call. */
  readonly messages: readonly Message[];
  /** What goes back; its words in braces are `name`, `arguments`, `errors` and `schema`. */
  readonly prompt: string;
  /** How often the model is asked at most. */
  readonly attempts: number;
  /** Asks the model; a limit that is reached ends it. */
  readonly ask: (messages: readonly Message[]) => Promise<ModelReply | Limited>;
  /** Why arguments are refused; `undefined` when they are right. */
  readonly refuse: (written: string) => string | undefined;
}

/** What came of it. */
export interface RepairedArguments {
  /** How often the model was asked. */
  readonly attempts: number;
  /** Arguments that are not refused; left out where none came. */
  readonly arguments?: string;
}

/**
 * Asks a model for other arguments, each time with what is wrong with the last ones, until they are not
 * refused or it was asked often enough.
 */
export async function repairArguments(
  mending: RepairRequest,
): Promise<RepairedArguments | Limited> {
  const { name, schema, prompt, attempts: most, ask, refuse } = mending;
  const asked: Message[] = [...mending.messages];
  let written = mending.arguments;
  let error: string | undefined = mending.error;
  let attempts = 0;
  while (error !== undefined && attempts < most) {
    attempts++;
    // Told as text: calls of a conversation must be answered by results, and there are none yet.
    const shown = passedOn(written);
    asked.push({ role: "assistant", content: `${name}(${shown})`, calls: [] });
    const words = { name, arguments: shown, errors: error, schema: JSON.stringify(schema) };
    asked.push({ role: "user", content: fillPrompt(prompt, words) });
    const said = await ask(asked);
    if (isLimited(said)) return said;
    const proposed = argumentsIn(said, name);
    if (proposed === undefined) {
      error = "The reply held no arguments";
      continue;
    }
    written = proposed;
    error = refuse(written);
  }
  return error === undefined ? { attempts, arguments: written } : { attempts };
}

/** The arguments that a reply proposes for a function: of a call, or as JSON in its text. */
function argumentsIn({ calls, text }: ModelReply, name: string): string | undefined {
  const call = calls.find((call) => call.name === name);
  if (call !== undefined) return call.arguments;
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}") + 1;
  if (start === -1 || end <= start) return undefined;
  const written = text.slice(start, end);
  const parsed = parseJson(written);
  // Many write the whole call where its arguments are asked for.
  if (!isJsonObject(parsed) || parsed["name"] !== name) return written;
  const { arguments: own } = parsed;
  return isJsonObject(own) ? JSON.stringify(own) : typeof own === "string" ? own : written;
}
