/**
 * Compared cases: which cases of the user's own a run has in common with its baseline, and what is under test that
 * differs between the two.
 * @module
 */

import { listText, printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import type { CaseParts } from "../trials/executors/tool_case.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { Variant } from "./variant.ts";

/** The cases of a run and of its baseline: what differs in a case makes it another one. */
export interface ComparedCases {
  /** The number of cases that the run plans. */
  readonly planned: number;
  /** The cases of both that differ. */
  readonly changed: readonly string[];
  /** The cases that only the run has. */
  readonly added: readonly string[];
  /** The cases that only the baseline has. */
  readonly removed: readonly string[];
  /** Set if the run should have all of the suite's tests: those that only the baseline has were then not run. */
  readonly all?: true;
  /** How to accept a run as the new baseline; omitted where that is not known. */
  readonly accept?: string;
}

/** The hashes of the parts of cases, by name, under a variant of settings. */
export type PartsOfVariant = (
  variant: string | undefined,
) => Readonly<Record<string, CaseParts>> | undefined;

/** Cases that a message lists, at most. */
const MAX_NAMED = 10;

/** Lists the names of cases, the first ten; they come from tests and journals. */
export function caseNames(names: readonly string[]): string {
  return listText(names.map((name) => printable(name, 60)), MAX_NAMED);
}

/** Whether a task is of a case that is left out of the comparison with a baseline. */
export function isLeftOut(task: object, cases: ComparedCases | undefined): boolean {
  return cases !== undefined && isCase(task) &&
    (cases.changed.includes(task.case) || cases.added.includes(task.case));
}

/** Says which cases are left out, and which only the baseline has, one line each; `there` names it. */
export function leftOutLines(
  { changed, added, removed }: Pick<ComparedCases, "changed" | "added" | "removed">,
  there = "the baseline",
): string[] {
  return [
    changed.length === 0 ? [] : `left out, as they changed since ${there}: ${caseNames(changed)}`,
    added.length === 0 ? [] : `left out, as ${there} does not have them: ${caseNames(added)}`,
    removed.length === 0 ? [] : `only in ${there}: ${caseNames(removed)}`,
  ].flat();
}

/** Why too few of the planned cases, or of the baseline's, are compared; `undefined` if they are enough. */
export function tooFewCases(cases: ComparedCases, coverage: number): string | undefined {
  const { planned, changed, added, removed, all, accept } = cases;
  const compared = planned - changed.length - added.length;
  const there = compared + changed.length + removed.length;
  // Tolerates rounding errors of the product.
  const areFew = (of: number) => compared < coverage * of - 1e-9;
  const isShort = all === true && areFew(there);
  if (!areFew(planned) && !isShort) return undefined;
  const which = [
    changed.length === 0 ? [] : `changed since then: ${caseNames(changed)}`,
    added.length === 0 ? [] : `not in it: ${caseNames(added)}`,
    isShort && removed.length > 0 ? `only in it: ${caseNames(removed)}` : [],
  ].flat().join("; ");
  const of = areFew(planned)
    ? `${countText(planned, "case")} can be compared with the baseline`
    : `the ${countText(there, "case")} of the baseline can be compared`;
  return `${compared} of ${of}, fewer than ` +
    `the coverage of ${Number((100 * coverage).toPrecision(12))}% requires (${which}); ` +
    (isShort && removed.length > 0 ? "run those that are missing, or " : "") +
    (accept === undefined ? "accept a run as the new baseline" : `to accept anew: ${accept}`);
}

/**
 * Names what of the settings under test differs between a candidate and its baseline: `model`, `strategy`, `system`,
 * `tools` and simulated `users`, the last three with the number of cases unless it is all of them.
 */
export function differingSettings(
  subject: Variant,
  baseline: Variant,
  cases: readonly string[],
  parts?: { readonly own: PartsOfVariant; readonly baseline: PartsOfVariant },
): string[] {
  const [own, other] = [parts?.own(subject.variant), parts?.baseline(baseline.variant)];
  const both = cases.filter((name) => own?.[name] !== undefined && other?.[name] !== undefined);
  const differing = (part: "system" | "tools" | "user", word: string = part) => {
    const count = both.filter((name) => own![name]![part] !== other![name]![part]).length;
    if (count === 0) return [];
    return count === cases.length ? word : `${word} of ${countText(count, "test")}`;
  };
  const names = ["model", "strategy"] as const;
  return [
    names.filter((name) => subject[name] !== baseline[name]),
    differing("system"),
    differing("tools"),
    differing("user", "users"),
  ].flat();
}
