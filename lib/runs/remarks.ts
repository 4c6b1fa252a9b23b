/**
 * Remarks: what must be known of a run beside its verdicts.
 * @module
 */

import { listText, printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import type { Remark } from "../gate/gate_report.ts";
import type { CompletePolicy } from "../gate/policy.ts";
import { judgesOf } from "../gate/variant.ts";
import { runsOf } from "../models/recordings/origin.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Plan } from "./plan.ts";
import { MAX_SKEW_MS } from "./record.ts";

/** What remarks are made of. */
export interface RemarkableRun {
  readonly plan: Pick<Plan, "leftOut">;
  readonly trials: readonly TrialSummary[];
  /** How often it was resumed. */
  readonly resumed: number;
  /** Which journals have no checksums; omitted if all have. */
  readonly unchecked?: string | undefined;
}

/** At most this many skipped tests are named. */
const MAX_NAMED = 5;

const DAY_MS = 86_400_000;

/** Returns the remarks on a run. */
export function remarksOf(
  { plan, trials, resumed, unchecked }: RemarkableRun,
  now = Date.now(),
): Remark[] {
  const times = countText(resumed, "time");
  const texts: [Remark["about"], string | undefined][] = [
    ["unchecked", unchecked && `The journals are ${unchecked}`],
    ["skipped", skippedText(plan.leftOut?.skipped ?? [])],
    ["resumed", resumed === 0 ? undefined : `The run was resumed ${times}; ${UNKNOWN_END}`],
    ["times", timesText(trials, now)],
    ["judge", judgeText(trials)],
    ["finish", finishText(trials)],
    ["calls", writtenText(trials)],
  ];
  return texts.flatMap(([about, text]) => text === undefined ? [] : [{ about, text }]);
}

const UNKNOWN_END = "a cut end cannot be told from an interrupted run";

/**
 * Why no gate decides over a run that was resumed, or has recorded replies of others, where its policy asks for a whole
 * one; `undefined` if it may.
 */
export function notWhole(
  { requireWhole }: Pick<CompletePolicy, "requireWhole">,
  { resumed, trials }: Pick<RemarkableRun, "resumed" | "trials">,
): string | undefined {
  if (!requireWhole) return undefined;
  const asked = "requireWhole asks for a run that was not interrupted";
  if (resumed > 0) return `${asked}: run it anew, into a new journal`;
  // Shards and test files that record are runs of their own.
  const isReplayed = trials.some((trial) => trial.replayed || trial.partlyReplayed);
  const { length: runs } = isReplayed ? runsOf(trials) : [];
  return runs < 2 ? undefined : `${asked}: its replies are of ${runs} runs, record all anew`;
}

/** Says over which tests a verdict does not decide. */
function skippedText(skipped: readonly string[]): string | undefined {
  if (skipped.length === 0) return undefined;
  const tests = skipped.length === 1 ? "1 test is" : `${skipped.length} tests are`;
  const names = skipped.map((name) => printable(name, 100));
  return `${tests} skipped and not decided on: ${listText(names, MAX_NAMED)}`;
}

/** Says that trials are of different days, as of a shard of another run, or that a clock is wrong. */
function timesText(trials: readonly TrialSummary[], now: number): string | undefined {
  const times = trials.map(({ startedAt }) => Date.parse(startedAt)).filter(Number.isFinite)
    .sort((one, other) => one - other);
  const [first = now, last = now] = [times[0], times.at(-1)];
  const shown = (time: number) => new Date(time).toISOString();
  if (last > now + MAX_SKEW_MS) {
    return `A trial began at ${shown(last)}, and it is ${shown(now)}: one of two clocks is wrong`;
  }
  return last - first > DAY_MS
    ? `The trials are more than a day apart: the first began at ${shown(first)}, the last at ${
      shown(last)
    }`
    : undefined;
}

/** Says that a server seems to read no calls, or to take answers for reasoning. */
function writtenText(trials: readonly TrialSummary[]): string | undefined {
  const asText = trials.filter(({ written }) => (written?.asText ?? 0) > 0).length;
  const reasoned = trials.filter(({ written }) => written?.isReasoned).length;
  const parts = [
    ...(asText === 0 ? [] : [`${countText(asText, "trial")} with calls written as text`]),
    ...(reasoned === 0 ? [] : [`${countText(reasoned, "trial")} with nothing but reasoning`]),
  ];
  return parts.length === 0
    ? undefined
    : `${
      parts.join(", ")
    }: does the server have the parsers of this model? (docs/troubleshooting.md)`;
}

/** Says that replies count as answers of which it is not known why they ended. */
function finishText(trials: readonly TrialSummary[]): string | undefined {
  const reasons = trials.flatMap(({ unknownFinish }) => unknownFinish ?? []);
  const names = [...new Set(reasons)].map((reason) => printable(reason, 60));
  return names.length === 0
    ? undefined
    : `${countText(reasons.length, "trial")} with a reply that has an unknown finish reason ` +
      `and counts as whole: ${listText(names, MAX_NAMED)}`;
}

/** Says that a model judged its own answers. */
function judgeText(trials: readonly TrialSummary[]): string | undefined {
  const names = trials.flatMap(({ model, judging }) => {
    const isOwn = judgesOf([{ judging }]).some(({ model: { requested, served } }) =>
      requested === model.requested || served.includes(model.served)
    );
    return isOwn ? [printable(model.requested, 100)] : [];
  });
  return names.length === 0
    ? undefined
    : `Models judged their own answers: ${listText([...new Set(names)], MAX_NAMED)}`;
}
