/**
 * The strategy that lets a model mend calls which do not conform to their schema (Pipeline, error
 * handling and retry logic).
 * @module
 */

import type { LoopOptions, Review } from "../agent/loop.ts";
import { repairArguments } from "./argument_repair.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { type Ending, isLimited, type Limited, type Session } from "../agent/session.ts";
import { passedOn, type Strategy, type StrategySettings, type Texts } from "./stage.ts";
import type { ToolCall } from "../../tools/tool.ts";
import { LONGEST_KEPT } from "../../calls/trace.ts";

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
        const one = await mendCall(call, review, options.session, settings);
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

async function mendCall(
  call: ToolCall,
  { environment, messages }: Review,
  session: Session,
  { prompts, attempts }: StrategySettings<Texts<"repair">>,
): Promise<ToolCall | Limited> {
  const { name } = call;
  const schema = environment.tools.find((tool) => tool.name === name)?.parameters;
  const first = schema === undefined ? undefined : environment.refuse(call);
  if (schema === undefined || first === undefined) return call;
  const mended = await repairArguments({
    name,
    arguments: call.arguments,
    schema,
    error: first.error,
    messages,
    prompt: prompts.fix,
    attempts,
    ask: (asked) =>
      session.ask({ stage: "repair", aside: true, messages: asked, tools: environment.tools }),
    refuse: (written) => environment.refuse({ ...call, arguments: written })?.error,
  });
  if (isLimited(mended)) return mended;
  session.record({
    kind: "repair",
    function: name,
    arguments: call.arguments.slice(0, LONGEST_KEPT),
    error: first.error,
    attempts: mended.attempts,
    ...(mended.arguments === undefined
      ? {}
      : { repaired: mended.arguments.slice(0, LONGEST_KEPT) }),
  });
  return mended.arguments === undefined ? call : { ...call, arguments: mended.arguments };
}
