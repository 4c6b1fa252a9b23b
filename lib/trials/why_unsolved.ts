/**
 * Why a trial is not solved, in one line: the assertion that failed, what ended it, or what went wrong around it.
 * The texts come from tests, models and servers: they are printable and short.
 * @module
 */

import type { AssertionEvent } from "../calls/trace.ts";
import { printable } from "../base/json.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { Trial } from "./trial.ts";

/** At most this many characters say why a trial is not solved. */
const MAX_WHY = 160;
/** At most this many characters of the place of an assertion. */
const MAX_PLACE = 100;

/** Returns the user's assertion that a trial failed; `undefined` if there is none. */
export function failedAssertion({ events }: Pick<Trial, "events">): AssertionEvent | undefined {
  return events.find((event) => event.kind === "assertion");
}

/** Returns in one line why a trial is not solved, as far as more than its calls tell it; empty otherwise. */
export function whyUnsolved(trial: Trial): string {
  const { outcome, reason = "", events, solved, task } = trial;
  if (solved) return "";
  const failed = failedAssertion(trial);
  if (failed !== undefined) return assertionText(failed);
  if (outcome === "invalid" || outcome === "agent_error") return printable(reason, MAX_WHY);
  const stop = isCase(task) ? events.find((event) => event.kind === "stop") : undefined;
  return printable(stop?.message ?? "", MAX_WHY);
}

/** Returns the first line of a failed assertion, and the line of the test where it stands. */
function assertionText({ message, at }: AssertionEvent): string {
  const line = message.split("\n")[0]!.replace(/\.$/, "");
  if (at === undefined) return printable(line, MAX_WHY);
  const place = printable(at.replace(/(:\d+):\d+$/, "$1"), MAX_PLACE);
  return `${printable(line, MAX_WHY - place.length - 3)} (${place})`;
}
