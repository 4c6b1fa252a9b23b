/**
 * The strategy that plans backward from the final call (CallNavi, section 7.2 and appendix B.3).
 * @module
 */

import { isLimited } from "../agent/session.ts";
import { carryOut, limitText, Stage, type Strategy, type Texts } from "./_stage.ts";

/** Marks a list as complete. */
const STOP = "<!stop>";

/**
 * The model names the final call, and is asked what is missing until it says that nothing is, the list no
 * longer changes, or `rounds` is reached (stage `infer`). Then the list is carried out (stage `call`);
 * without a list, only the question is sent. Where calls are written, the list is the answer, as in the paper:
 * nothing is asked any more. It is handed on if another strategy within this one asks before the loop.
 */
export const backward: Strategy<Texts<"backward">> = async (
  options,
  next,
  { prompts, rounds, isLast },
) => {
  const stage = new Stage(options, "infer", prompts.final);
  let list = "";
  let reason = `${rounds} rounds are over`;
  let round = 0;
  for (; round <= rounds; round++) {
    const reply = await stage.ask();
    if (isLimited(reply)) return reply;
    const isComplete = reply.text.includes(STOP);
    const answer = limitText(reply.text.replaceAll(STOP, "").trim());
    // An empty reply adds nothing, and does not undo earlier ones.
    const isNew = answer !== "" && answer !== list;
    if (isNew) list = answer;
    if (!isNew || isComplete) {
      reason = list === ""
        ? "there is no list: the question stands for itself"
        : isComplete
        ? "the list is complete"
        : "nothing was added any more";
      break;
    }
    stage.followUp(list, prompts.missing);
  }
  stage.end(
    `${reason}; rounds of asking what is missing: ${Math.min(round, rounds)}`,
    list !== "",
  );
  if (list !== "" && isLast && options.fromList !== undefined) {
    return await next({ ...options, stage: "call", answered: options.fromList(list) });
  }
  return await carryOut(options, next, { stage: "call", found: list, prompts });
};
