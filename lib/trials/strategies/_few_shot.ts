/**
 * The strategy that shows solved examples first (Butterfly, section 6.1; CallNavi, section 6.1).
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { countText } from "../../base/numbers.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { writeExample } from "../../tasks/examples.ts";
import { withSystem } from "./_instruct.ts";
import type { Strategy, Texts } from "./_stages.ts";

/**
 * Puts solved examples before the task: those that are given, else `shots` of the task's own. They stand as text
 * in the system message, not as calls of an earlier conversation: servers may refuse calls of functions that a
 * request does not offer, and text is the same in every format of calls.
 *
 * @throws {InputError} If none are given and the task has none.
 */
export const fewShot: Strategy<Texts<"few_shot">> = async (
  options,
  next,
  { prompts, shots, examples },
) => {
  const shown = examples ?? options.task?.examples?.(shots) ?? [];
  if (shown.length === 0) throw lacksExamples("run the trial");
  options.session.record({
    kind: "stage",
    stage: "examples",
    message: countText(shown.length, "solved example"),
  });
  const text = fillPrompt(prompts.show, {
    examples: shown.map((one, place) => writeExample(one, place + 1)).join("\n\n"),
  });
  return await next({ ...options, messages: withSystem(options.messages, text) });
};

/** The error of a task that has no examples of its own. */
export function lacksExamples(action: string): Error {
  return cannot(
    action,
    "the strategy few_shot needs solved examples: generated tasks and question sets have their own, and for " +
      "all others they are given in its entry",
    "there are no examples",
  );
}
