/**
 * The strategy that lets a model repair calls which do not conform to their schema (Pipeline, error handling
 * and retry logic).
 * @module
 */

import type { LoopOptions, Review } from "../agent/loop.ts";
import { repairArguments } from "./argument_repair.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { type Ending, isLimited, type Limited, type Session } from "../agent/session.ts";
import { limitText, type Strategy, type StrategySettings, type Texts } from "./_stage.ts";
import type { ToolCall } from "../../tools/tool.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";

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
  const error = options.unreadable?.(ending.text);
  return error === undefined ? ending : await repairAnswer(ending, error, options, settings);
};

/** Repairs an answer that cannot be read; returns it unchanged if that fails. */
async function repairAnswer(
  ending: Answer,
  first: string,
  { messages, session, environment, present, unreadable }: LoopOptions,
  { prompts, attempts }: StrategySettings<Texts<"repair">>,
): Promise<Ending> {
  const history = [...present?.(messages, environment.tools).messages ?? messages];
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
    error = unreadable?.(text);
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
