/**
 * Repair: asks a model to fix arguments that failed validation, or an answer that cannot be read (Pipeline, "Error
 * Handling and Retry Logic"). All repairs of calls are made here.
 * @module
 */

import { isJsonObject, type JsonObject, jsonText, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelReply } from "../../models/model.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { type Ending, isLimited, type Limited, type Session } from "../agent/session.ts";
import { limitText, type Strategy, type StrategySettings, type Texts } from "./_stages.ts";
import type { ToolCall } from "../../tools/tool.ts";
import type { LoopOptions, Review } from "../agent/loop.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";

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
    const words = { name, arguments: quoted, errors, schema: jsonText(schema) };
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
  return isJsonObject(inner) ? jsonText(inner) : typeof inner === "string" ? inner : json;
}

/**
 * A call whose arguments do not conform to the schema is returned to the model with the errors (stage
 * `repair`) before it is carried out, at most `attempts` times. If it is not repaired by then, the original
 * call is carried out and refused. Unknown functions are not repaired, as they have no schema. An answer that
 * cannot be read is repaired likewise, if its format is fixed; the original is kept.
 */
export const repair: Strategy<Texts<"repair">> = async (options, next, settings) => {
  const ending = await next({
    ...options,
    review: async (review) => {
      const before = await options.review?.(review) ?? review.calls;
      if (isLimited(before)) return before;
      const repaired: ToolCall[] = [];
      for (const [place, call] of before.entries()) {
        // Calls past the limit are not carried out.
        if (place >= review.environment.left) {
          repaired.push(call);
          continue;
        }
        const result = await repairCall(call, review, options.session, settings);
        if (isLimited(result)) return result;
        repaired.push(result);
      }
      return repaired;
    },
  });
  if (ending.kind !== "answer") return ending;
  const error = options.task?.unreadable?.(ending.text);
  return error === undefined ? ending : await repairAnswer(ending, error, options, settings);
};

/** Repairs an answer that cannot be read; returns it unchanged if that fails. */
async function repairAnswer(
  ending: Answer,
  first: string,
  { messages, session, environment, task }: LoopOptions,
  { prompts, attempts }: StrategySettings<Texts<"repair">>,
): Promise<Ending> {
  const history = [...task?.present?.(messages, environment.tools).messages ?? messages];
  let text = ending.text;
  let error: string | undefined = first;
  let attempt = 0;
  while (error !== undefined && attempt < attempts) {
    attempt++;
    const answer = limitText(text);
    history.push({ role: "assistant", content: answer, calls: [] });
    history.push({
      role: "user",
      content: fillPrompt(prompts.reform, { answer, errors: error }),
    });
    const reply = await session.ask({ stage: "repair", aside: true, messages: history });
    if (isLimited(reply)) return reply;
    text = reply.text;
    error = task?.unreadable?.(text);
  }
  session.record({
    kind: "repair",
    function: "answer",
    arguments: ending.text.slice(0, MAX_KEPT_LENGTH),
    error: first,
    attempts: attempt,
    ...(error === undefined && { repaired: text.slice(0, MAX_KEPT_LENGTH) }),
  });
  return error === undefined ? { ...ending, text, unrepaired: ending.text } : ending;
}

type Answer = Extract<Ending, { kind: "answer" }>;

async function repairCall(
  call: ToolCall,
  { environment, messages }: Review,
  session: Session,
  { prompts, attempts }: StrategySettings<Texts<"repair">>,
): Promise<ToolCall | Limited> {
  const { name } = call;
  const schema = environment.tools.find((tool) => tool.name === name)?.parameters;
  const first = schema === undefined ? undefined : environment.refuse(call);
  if (schema === undefined || first === undefined) return call;
  const repaired = await repairArguments(call, {
    schema,
    error: first.error,
    messages,
    prompt: prompts.fix,
    attempts,
    ask: (messages) =>
      session.ask({ stage: "repair", aside: true, messages, tools: environment.tools }),
    refuse: (call) => environment.refuse(call)?.error,
  });
  if (isLimited(repaired)) return repaired;
  session.record({
    kind: "repair",
    function: name,
    arguments: call.arguments.slice(0, MAX_KEPT_LENGTH),
    error: first.error,
    attempts: repaired.attempts,
    ...(repaired.call && { repaired: repaired.call.arguments.slice(0, MAX_KEPT_LENGTH) }),
  });
  return repaired.call ?? call;
}
