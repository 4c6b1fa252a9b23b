/**
 * Resuming: which journals a run may continue.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { canonicalJson, listText, printable } from "../base/json.ts";
import { type JournalFile, PLAN_RULE } from "./journal/journal.ts";
import type { PlanLine } from "./journal/plan_line.ts";
import { changedSources, differences, serverText } from "./journal/_plan_differences.ts";
import { planHash } from "./resolved_suite.ts";
import { partText } from "./shard_text.ts";

/** The beginning of every journal of this library. */
const PLAN_START = '{"v":1,"kind":"plan",';

/** At most this many changed files are named. */
const MAX_NAMED = 5;

/** An empty journal or a torn plan fits any plan: its run died before it wrote a line. */
export function assertSamePart(
  { path, plan, doubled, end }: JournalFile,
  expected: PlanLine,
): void {
  if (end.count === 0 && PLAN_START.startsWith(end.torn.slice(0, PLAN_START.length))) return;
  if (plan === undefined) throw cannot(`resume ${path}`, PLAN_RULE, "it is none");
  if (plan.traces) {
    throw cannot(
      `resume ${path}`,
      "recorded conversations cannot be continued",
      "it is of --traces; begin another journal",
    );
  }
  assertSamePlan(`resume ${path}`, plan, expected);
  const [one, other] = [plan, expected].map(({ shard, wave }) => partText(shard, wave));
  if (one !== other) {
    throw cannot(`resume ${path}`, `it is of ${one}`, `this is ${other}`);
  }
  if (doubled !== undefined) {
    // Of two endings of one trial nobody may choose.
    throw cannot(
      `resume ${path}`,
      "it must have each trial once",
      `${doubled} is there twice`,
    );
  }
}

/** Refuses an action that goes on from a journal whose plan is not the one to run. */
export function assertSamePlan(action: string, plan: PlanLine, expected: PlanLine): void {
  if (planHash(plan) !== planHash(expected)) {
    const [policy, other] = [plan, expected].map(({ gate }) => canonicalJson(gate ?? null));
    const names = differences(plan, expected);
    // The number of graphs may follow from the gate.
    const fields = [...(names.includes("graphs") && policy !== other ? ["gate"] : []), ...names];
    throw cannot(
      action,
      "it must be of the same plan",
      `it differs in ${fields.join(", ") || "its hash"}`,
    );
  }
  const [own, expectedGate] = [plan, expected].map(({ gate = null, rule = null }) =>
    canonicalJson([gate, rule])
  );
  if (own !== expectedGate) {
    const { records } = plan;
    throw cannot(
      action,
      "it must declare the same gate",
      records !== undefined && expected.records === undefined
        ? `it began while there was no baseline ${printable(records, 200)}; begin another journal`
        : "its gate differs",
    );
  }
  const [before, now] = [plan, expected].map(serverText);
  if (before !== now) {
    throw cannot(
      action,
      "all of its trials must ask the same server",
      `it is of ${before}, and this run would ask ${now}; name the first one, or begin another journal`,
    );
  }
  const changed = changedSources(plan.sources, expected.sources);
  if (changed.length > 0) {
    throw cannot(
      action,
      "all of its trials must be judged by the same code",
      `${listText(changed, MAX_NAMED)} changed since it began; begin another journal`,
    );
  }
}

/** Says what resuming cannot compare: code of the user's own, of which no hash is known. */
export function uncomparedNotice(
  path: string | undefined,
  before: PlanLine | undefined,
  now: PlanLine,
): string[] {
  if (before === undefined || !now.ownCode) return [];
  if (before.sources !== undefined && now.sources !== undefined) return [];
  const why = now.sources === undefined
    ? "its file may not be read (--allow-read)"
    : "the journal does not have the hashes of its files";
  return [
    `Continues ${path} without comparing the code of the test with that of the trials before: ${why}`,
  ];
}
