/**
 * The strategy that thinks backward from the final call (CallNavi, section 7.2 and appendix B.3).
 * @module
 */

import { isLimited } from "../agent/session.ts";
import { carryOut, passedOn, Stage, type Strategy, type Texts } from "./stage.ts";

/** What a model writes behind a list that is complete. */
const STOP = "<!stop>";

/**
 * A model names the final call, and is asked what is missing until it says that nothing is, nothing
 * changes any more, or the rounds are over (stage `infer`); then the list is carried out (stage `call`).
 * Without a list the question stands for itself.
 */
export const backward: Strategy<Texts<"backward">> = async (options, next, { prompts, rounds }) => {
  const stage = new Stage(options, "infer", prompts.final);
  let list = "";
  let why = `${rounds} rounds are over`;
  let round = 0;
  for (; round <= rounds; round++) {
    const said = await stage.ask();
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
    stage.goOn(list, prompts.missing);
  }
  stage.end(
    `${why}; rounds of asking what is missing: ${Math.min(round, rounds)}`,
    list !== "",
  );
  return await carryOut(options, next, { stage: "call", found: list, prompts });
};
