/**
 * The strategy that thinks backward from the final call (CallNavi, section 7.2 and appendix B.3).
 * @module
 */

import type { Message } from "../model.ts";
import { fillPrompt } from "../prompts.ts";
import { isLimited } from "../session.ts";
import {
  listTools,
  passedOn,
  questionOf,
  type Strategy,
  systemOf,
  type Texts,
} from "../strategy.ts";

/** What a model writes behind a list that is complete. */
const STOP = "<!stop>";

/**
 * A model names the final call, and is asked what is missing until it says that nothing is, nothing
 * changes any more, or the rounds are over (stage `infer`); then the list is carried out (stage `call`).
 * Without a list the question stands for itself.
 */
export const backward: Strategy<Texts<"backward">> = async (options, next, { prompts, rounds }) => {
  const { session, environment: { tools }, messages } = options;
  const words = { question: questionOf(messages), tools: listTools(tools) };
  const asked: Message[] = [
    ...systemOf(messages),
    { role: "user", content: fillPrompt(prompts.final, words) },
  ];
  let list = "";
  let why = `${rounds} rounds are over`;
  let round = 0;
  for (; round <= rounds; round++) {
    const said = await session.ask({ stage: "infer", aside: true, messages: asked });
    if (isLimited(said)) return said;
    const isComplete = said.text.includes(STOP);
    const answer = passedOn(said.text.replaceAll(STOP, "").trim());
    // A reply that gives nothing adds nothing, and does not undo what earlier ones gave.
    const isNew = answer !== "" && answer !== list;
    if (isNew) list = answer;
    if (!isNew || isComplete) {
      why = list === ""
        ? "there is no list: the question stands for itself"
        : isComplete
        ? "the list is complete"
        : "nothing was added any more";
      break;
    }
    asked.push({ role: "assistant", content: list, calls: [] });
    asked.push({ role: "user", content: prompts.missing });
  }
  session.record({
    kind: "stage",
    stage: "infer",
    message: `${why}; rounds of asking what is missing: ${Math.min(round, rounds)}`,
    ...(list === "" ? { unusable: true } : {}),
  });
  if (list === "") return await next({ ...options, stage: "call" });
  return await next({
    ...options,
    stage: "call",
    messages: [
      ...messages,
      { role: "assistant", content: list, calls: [] },
      { role: "user", content: prompts.call },
    ],
  });
};
