/**
 * The strategy that lets a model mend calls which do not conform to their schema (Pipeline, error
 * handling and retry logic).
 * @module
 */

import type { LoopOptions, Review } from "../agent.ts";
import { isJsonObject, parseJson } from "../json.ts";
import type { Message } from "../message.ts";
import type { ModelReply } from "../model.ts";
import { fillPrompt } from "../prompts.ts";
import { type Ending, isLimited, type Limited, type Session } from "../session.ts";
import { passedOn } from "../stage.ts";
import type { Strategy, StrategySettings, Texts } from "../strategy.ts";
import type { ToolCall } from "../tool.ts";
import { LONGEST_KEPT } from "../trace.ts";

/**
 * A call whose arguments do not conform to the schema goes back to the model with the errors (stage
 * `repair`) before it is carried out, at most `attempts` times. A call that is not mended by then is
 * carried out as it was first written, and refused. Names that do not exist are not mended: they have no
 * schema. So does an answer that cannot be read, where its form is given; what it was before is kept.
 */
export const repair: Strategy<Texts<"repair">> = async (options, next, settings) => {
  const ending = await next({
    ...options,
    review: async (review) => {
      const before = await options.review?.(review) ?? review.calls;
      if (isLimited(before)) return before;
      const mended: ToolCall[] = [];
      for (const [place, call] of before.entries()) {
        // What will not be carried out need not be mended.
        if (place >= review.environment.left) {
          mended.push(call);
          continue;
        }
        const one = await mend(call, review, options.session, settings);
        if (isLimited(one)) return one;
        mended.push(one);
      }
      return mended;
    },
  });
  if (ending.kind !== "answer") return ending;
  const error = options.unreadable?.(ending.text);
  return error === undefined ? ending : await reform(ending, error, options, settings);
};

/** An answer that cannot be read, in a form that can be; as it was said where there is none. */
async function reform(
  ending: Answer,
  first: string,
  { messages, session, environment, present, unreadable }: LoopOptions,
  { prompts, attempts }: StrategySettings<Texts<"repair">>,
): Promise<Ending> {
  const asked = [...present?.(messages, environment.tools).messages ?? messages];
  let text = ending.text;
  let error: string | undefined = first;
  let attempt = 0;
  while (error !== undefined && attempt < attempts) {
    attempt++;
    const answer = passedOn(text);
    asked.push({ role: "assistant", content: answer, calls: [] });
    asked.push({ role: "user", content: fillPrompt(prompts.reform, { answer, errors: error }) });
    const said = await session.ask({ stage: "repair", aside: true, messages: asked });
    if (isLimited(said)) return said;
    text = said.text;
    error = unreadable?.(text);
  }
  session.record({
    kind: "repair",
    function: "answer",
    arguments: ending.text.slice(0, LONGEST_KEPT),
    error: first,
    attempts: attempt,
    ...(error === undefined ? { repaired: text.slice(0, LONGEST_KEPT) } : {}),
  });
  return error === undefined ? { ...ending, text, unrepaired: ending.text } : ending;
}

type Answer = Extract<Ending, { kind: "answer" }>;

async function mend(
  call: ToolCall,
  { environment, messages }: Review,
  session: Session,
  { prompts, attempts }: StrategySettings<Texts<"repair">>,
): Promise<ToolCall | Limited> {
  const { name } = call;
  const schema = environment.tools.find((tool) => tool.name === name)?.parameters;
  const first = schema === undefined ? undefined : environment.refuse(call);
  if (first === undefined) return call;
  const asked: Message[] = [...messages];
  let written = call;
  let error: string | undefined = first.error;
  let attempt = 0;
  while (error !== undefined && attempt < attempts) {
    attempt++;
    // Told as text: calls of a conversation must be answered by results, and there are none yet.
    const shown = passedOn(written.arguments);
    asked.push({ role: "assistant", content: `${name}(${shown})`, calls: [] });
    const words = { name, arguments: shown, errors: error, schema: JSON.stringify(schema) };
    asked.push({ role: "user", content: fillPrompt(prompts.fix, words) });
    const said = await session.ask({
      stage: "repair",
      aside: true,
      messages: asked,
      tools: environment.tools,
    });
    if (isLimited(said)) return said;
    const proposed = argumentsIn(said, name);
    if (proposed === undefined) {
      error = "The reply held no arguments";
      continue;
    }
    written = { ...call, arguments: proposed };
    error = environment.refuse(written)?.error;
  }
  session.record({
    kind: "repair",
    function: name,
    arguments: call.arguments.slice(0, LONGEST_KEPT),
    error: first.error,
    attempts: attempt,
    ...(error === undefined ? { repaired: written.arguments.slice(0, LONGEST_KEPT) } : {}),
  });
  return error === undefined ? written : call;
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
