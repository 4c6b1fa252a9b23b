/**
 * Cases of own tests in the text of a verdict: those below `every`, those that changed, and calls that must not
 * happen.
 * @module
 */

import type { CaseCheck, ChangedCase, ChangedCases, ForbiddenCall } from "./decide.ts";
import { printable } from "../base/json.ts";
import { countText, percent, points } from "../base/numbers.ts";

/** Cases, and trials, listed in the numbers of a verdict, at most. */
const MAX_LISTED = 10;

/** Returns the name of a case in quotes; it comes from tests and journals. */
export function caseText(name: string): string {
  return `"${printable(name, 100)}"`;
}

/** Returns that all cases reach the floor, or the first that do not, as words behind a colon. */
export function everyWords(cases: readonly CaseCheck[], floor: number) {
  const failing = cases.filter(({ kind }) => kind === "fail");
  const lowest = failing.toSorted((one, other) => one.upper - other.upper)[0];
  const rate = percent(floor);
  const each = cases.length === 1 && cases[0] !== undefined
    ? `the case ${caseText(cases[0].case)}`
    : `each of the ${cases.length} cases`;
  return {
    pass: `${each} has a true success rate of at least ${rate}`,
    fail: lowest === undefined
      ? undefined
      : failing.length === 1
      ? `the case ${caseText(lowest.case)} has a true success rate below ${rate}`
      : `${failing.length} of ${cases.length} cases have a true success rate below ${rate}, and that of ${
        caseText(lowest.case)
      } is the lowest`,
  };
}

/** Returns how many cases reach the floor, and a line for each that is not proved to, the worst first. */
export function everyLines(cases: readonly CaseCheck[], floor: number): string[] {
  const count = (wanted: CaseCheck["kind"]) => cases.filter(({ kind }) => kind === wanted).length;
  const others = cases.filter(({ kind }) => kind !== "pass")
    .toSorted((one, other) => one.upper - other.upper || one.lower - other.lower);
  return [
    `each case at least ${percent(floor)}: ${count("pass")} of ${cases.length} proved` +
    (others.length === 0
      ? ""
      : `, ${count("fail")} proved to be below, ${count("undecided")} open`),
    ...listed(
      others,
      (one) =>
        `${caseText(one.case)}: solved ${one.solved} of ${countText(one.valid, "valid trial")}` +
        (one.valid === one.trials ? "" : ` (${one.trials} planned)`) +
        `, true rate at least ${percent(one.lower)}, at most ${percent(one.upper)}: ` +
        (one.kind === "fail" ? "below" : "open"),
      "case",
    ),
  ];
}

/** Returns how many cases changed, and a line for each, the largest change first. */
export function changedLines(
  { cases, changed, unproved, needed }: ChangedCases,
  confidence: number,
): string[] {
  if (cases === 0) return [];
  const proved = changed.filter((one) => one.proved).length;
  const state = unproved === "few"
    ? `; with so few trials not even a complete change can be proved: that takes ${needed} of each case`
    : unproved === "stopped"
    ? "; none can be proved, as the results could end the run"
    : changed.length === 0
    ? ""
    : `; proved: ${proved}, all together with ${percent(confidence)} confidence`;
  return [
    `cases that changed against the baseline: ${changed.length} of ${cases}${state}`,
    ...listed(changed, changeText, "case"),
  ];
}

function changeText({ case: name, candidate, baseline, ...one }: ChangedCase): string {
  return `${caseText(name)}: from ${percent(baseline)} to ${percent(candidate)}, ${
    points(one.difference)
  } (${briefPoints(one.lower)} to ${briefPoints(one.upper)})${one.proved ? ", proved" : ""}`;
}

function briefPoints(share: number): string {
  return String(Number((100 * share).toFixed(1)));
}

/** Returns where calls were made that must not happen, as words behind a colon. */
export function forbiddenText(calls: readonly ForbiddenCall[]): string {
  const [first, ...others] = calls;
  return `a call that must not happen in any trial was made in ${placeOf(first!)}` +
    (others.length === 0 ? "" : ` and in ${countText(others.length, "other trial")}`);
}

/** Returns a line for each such trial; none for a single one, which the verdict itself names. */
export function forbiddenLines(calls: readonly ForbiddenCall[]): string[] {
  if (calls.length < 2) return [];
  return listed(calls, (call) => `a call that must not happen: ${placeOf(call)}`, "trial");
}

function placeOf({ id, case: name, trial }: ForbiddenCall): string {
  return name === undefined
    ? `the trial ${printable(id, 100)}`
    : `trial ${trial} of the case ${caseText(name)}`;
}

/** The lines of the first items, and how many more there are. */
export function listed<T>(
  items: readonly T[],
  lineOf: (item: T) => string,
  noun: string,
): string[] {
  const more = items.length - MAX_LISTED;
  return [
    items.slice(0, MAX_LISTED).map(lineOf),
    more > 0 ? `and ${countText(more, `more ${noun}`)}` : [],
  ].flat();
}
