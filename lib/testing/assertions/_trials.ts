/**
 * Assertions on finished trials, in the style of `@std/assert`.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import type { TrialsVerdict } from "../../gate/decide.ts";
import { isRemoving } from "../../perturbations/ids.ts";
import type { CompletePolicy } from "../../gate/policy.ts";
import { describeInvalid, trialLines } from "../../reports/story.ts";
import {
  CALLS_MADE,
  messageLines,
  showerOf,
  type ShowText,
  type Story,
  tellStory,
} from "../../reports/story_lines.ts";
import { isCase } from "../../tasks/task_kind.ts";
import { stackAt } from "../../base/user_code.ts";
import { storyAsked } from "../_flags.ts";
import { failedAssertion } from "../../trials/why_unsolved.ts";
import type { Trial } from "../../trials/trial.ts";

/**
 * Asserts that the trial ended with the right answer.
 *
 * @throws {AssertionError} If not; the message describes the trial. An invalid trial fails too, and the
 * message says that infrastructure is the cause.
 */
export function assertSolved(trial: Trial): void {
  if (!trial.solved) throw unsolvedError(trial, storyAsked());
}

/** The error of a trial that is not solved, with as much of its story as is asked for. */
export function unsolvedError(trial: Trial, story: Story): AssertionError {
  const failed = failedAssertion(trial);
  if (failed === undefined) {
    const stop = trial.events.find((event) => event.kind === "stop");
    const isInvalid = trial.outcome === "invalid";
    return atPlace(
      trialError(unsolved(trial, showerOf(story)), trial, story, { reasons: false }),
      isInvalid ? undefined : stop?.at,
    );
  }
  const { message, at } = failed;
  // Assertions on calls already list them.
  const calls = story === "full" || !CALLS_MADE.test(message);
  return atPlace(trialError(`${message}\n`, trial, story, { reasons: false, calls }), at);
}

/** An error that says what failed, and describes the trial. */
function trialError(
  message: string,
  trial: Trial,
  story: Story,
  { reasons = true, calls = true } = {},
): AssertionError {
  const told = [...messageLines(message), ...trialLines(trial, { story, reasons, calls })];
  return new AssertionError(tellStory(told, story));
}

/** Says in one line why a trial without a failed assertion is not solved. */
function unsolved(trial: Trial, show: ShowText): string {
  const { outcome, reason = "the agent threw", task } = trial;
  if (outcome === "invalid") return `The trial is invalid: ${describeInvalid(trial, show)}`;
  if (outcome === "filtered") return "A content filter left nothing of the model's reply";
  if (outcome === "agent_error") {
    return show(reason.charAt(0).toUpperCase() + reason.slice(1), 500);
  }
  return isCase(task)
    ? `The model reached a limit before it answered: ${outcome}`
    : "The task is not solved.";
}

/** Gives an error the place in the user's file as its only frame, if that is known: a stack would lead into this library. */
function atPlace(error: AssertionError, at: string | undefined): AssertionError {
  if (at !== undefined) error.stack = stackAt(error.name, at);
  return error;
}

/**
 * Asserts that the trial ended correctly: with the right answer or, if its perturbation left nothing that leads
 * to it, by abstaining. Where descriptions mislead, which no model can see, only the right answer is correct, and
 * the message says that the trial shows nothing about the model.
 *
 * @throws {AssertionError} If not; the message describes the trial.
 */
export function assertRight(trial: Trial): void {
  const { outcome, unsolvable, solved } = trial;
  if (unsolvable === "misleading" && !solved && outcome !== "invalid") {
    throw trialError(
      `The trial says nothing about the model: ${trial.perturbation} misleads where descriptions alone link ` +
        'parameters. Tasks with cues: "names" can be solved.',
      trial,
      storyAsked(),
    );
  }
  if (outcome === "abstained") return;
  // Only the user's own assertions can judge a case that lacks something.
  const isAbstaining = unsolvable !== undefined && !solved && outcome !== "invalid" ||
    trial.changed !== false && isRemoving(trial.perturbation) && !isCase(trial.task);
  if (!isAbstaining) return assertSolved(trial);
  throw trialError(
    "The model did not abstain, although what the answer needs cannot be had.",
    trial,
    storyAsked(),
  );
}

/** Whether a verdict lets a test pass. */
export function passes({ kind }: TrialsVerdict, { undecided }: CompletePolicy): boolean {
  return kind === "pass" || (kind === "undecided" && undecided === "pass");
}
