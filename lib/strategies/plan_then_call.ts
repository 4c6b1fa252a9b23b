/**
 * The strategy that plans first and calls then (Indirection, "And Another Indirection").
 * @module
 */

import { fillPrompt } from "../prompts.ts";
import { isLimited } from "../session.ts";
import {
  listTools,
  mentioned,
  passedOn,
  questionOf,
  type Strategy,
  systemOf,
  type Texts,
} from "../strategy.ts";

/**
 * One model writes a plan without being able to call anything (stage `plan`), the same or another one
 * carries it out (stage `call`). Without a plan the question stands for itself.
 */
export const planThenCall: Strategy<Texts<"plan_then_call">> = async (
  options,
  next,
  { prompts },
) => {
  const { session, environment: { tools }, messages } = options;
  const words = { question: questionOf(messages), tools: listTools(tools) };
  const said = await session.ask({
    stage: "plan",
    aside: true,
    messages: [...systemOf(messages), { role: "user", content: fillPrompt(prompts.plan, words) }],
  });
  if (isLimited(said)) return said;
  const plan = passedOn(said.text.trim());
  const names = mentioned(plan, tools);
  session.record({
    kind: "stage",
    stage: "plan",
    message: plan === ""
      ? "there is no plan: the question stands for itself"
      : `the plan names ${names.length} of ${tools.length} functions`,
    ...(plan === "" ? { unusable: true } : {}),
  });
  if (plan === "") return await next({ ...options, stage: "call" });
  return await next({
    ...options,
    stage: "call",
    messages: [
      ...messages,
      { role: "assistant", content: plan, calls: [] },
      { role: "user", content: prompts.call },
    ],
  });
};
