/**
 * The strategy that plans first and then calls (Indirection, "And Another Indirection").
 * @module
 */

import { isLimited } from "../agent/session.ts";
import { carryOut, limitText, mentionedTools, Stage, type Strategy, type Texts } from "./_stage.ts";

/**
 * One model writes a plan and cannot call anything (stage `plan`); the same or another one carries it out
 * (stage `call`). Without a plan, only the question is sent.
 */
export const planThenCall: Strategy<Texts<"plan_then_call">> = async (
  options,
  next,
  { prompts },
) => {
  const stage = new Stage(options, "plan", prompts.plan);
  const reply = await stage.ask();
  if (isLimited(reply)) return reply;
  const plan = limitText(reply.text.trim());
  const { tools } = options.environment;
  const names = mentionedTools(plan, tools);
  stage.end(
    plan === ""
      ? "there is no plan: the question stands for itself"
      : `the plan names ${names.length} of ${tools.length} functions`,
    plan !== "",
  );
  return await carryOut(options, next, { stage: "call", found: plan, prompts });
};
