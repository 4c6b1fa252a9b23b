/**
 * The strategy that plans first and calls then (Indirection, "And Another Indirection").
 * @module
 */

import { isLimited } from "../agent/session.ts";
import { carryOut, mentioned, passedOn, Stage, type Strategy, type Texts } from "./stage.ts";

/**
 * One model writes a plan without being able to call anything (stage `plan`), the same or another one
 * carries it out (stage `call`). Without a plan the question stands for itself.
 */
export const planThenCall: Strategy<Texts<"plan_then_call">> = async (
  options,
  next,
  { prompts },
) => {
  const stage = new Stage(options, "plan", prompts.plan);
  const said = await stage.ask();
  if (isLimited(said)) return said;
  const plan = passedOn(said.text.trim());
  const { tools } = options.environment;
  const names = mentioned(plan, tools);
  stage.end(
    plan === ""
      ? "there is no plan: the question stands for itself"
      : `the plan names ${names.length} of ${tools.length} functions`,
    plan !== "",
  );
  return await carryOut(options, next, { stage: "call", found: plan, prompts });
};
