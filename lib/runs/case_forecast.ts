/**
 * Forecasts of what a gate can tell of each case of own tests.
 * @module
 */

import { fewestClean, mostFailed, trialsToProve } from "../gate/cases.ts";
import { countText, percent } from "../base/numbers.ts";
import { type CompletePolicy, isUpgrade } from "../gate/policy.ts";
import { binomialLowerTail } from "../statistics/distributions.ts";

/** The size of a suite of cases. */
export interface CaseSize {
  readonly cases: number;
  /** Trials of each case. */
  readonly trials: number;
}

/** Of the failures that `every` allows, those that a good case has: sizes are planned for such cases. */
const GOOD = 0.1;

/** Trials of a case that are looked at, at most. */
const MAX_TRIALS = 2_000;

/** What a gate can tell of each case: lines to print, and warnings. */
export function caseForecast(
  policy: CompletePolicy,
  size: CaseSize,
): { readonly lines: readonly string[]; readonly warnings: readonly string[] } {
  const every = policy.every === undefined ? NOTHING : everyForecast(policy, policy.every, size);
  // A single case is what the gate decides on.
  const changed = isUpgrade(policy) && size.cases > 1 ? [changedLine(policy, size)] : [];
  return { lines: [...every.lines, ...changed], warnings: every.warnings };
}

const NOTHING = { lines: [], warnings: [] };

/** What a suite of cases takes, in trials of each. */
export interface CaseNeeds {
  /** With which a case that changed completely is proved to have. */
  readonly changed: number;
  /** With which `every` passes if all trials are solved; omitted without it. */
  readonly clean?: number;
  /** With which good cases pass as often as `power` says; `null` if more than 2,000 would; omitted without `every`. */
  readonly good?: number | null;
  /** The rate of such good cases; omitted without `every`. */
  readonly rate?: number;
}

/** Returns how many trials of each case a gate needs for what it says of single cases. */
export function caseNeeds(
  cases: number,
  { confidence, power }: Pick<CompletePolicy, "confidence" | "power">,
  floor: number | undefined,
): CaseNeeds {
  const changed = trialsToProve(cases, confidence);
  if (floor === undefined) return { changed };
  const clean = fewestClean(floor, confidence);
  const chance = (size: number) => passingChance(floor, confidence, { cases, trials: size });
  let good = clean;
  while (good <= MAX_TRIALS && chance(good) < power) good++;
  const rate = 1 - GOOD * (1 - floor);
  return { changed, clean, good: good > MAX_TRIALS ? null : good, rate };
}

/** How often cases that fail a tenth as often as `every` allows all pass. */
function passingChance(floor: number, confidence: number, { cases, trials }: CaseSize): number {
  const allowed = mostFailed(trials, floor, confidence);
  return binomialLowerTail(allowed, trials, GOOD * (1 - floor)) ** cases;
}

function everyForecast(policy: CompletePolicy, floor: number, { cases, trials }: CaseSize) {
  const { confidence, power } = policy;
  const chance = passingChance(floor, confidence, { cases, trials });
  const good = percent(1 - GOOD * (1 - floor));
  const [each, all] = cases === 1
    ? ["the case", `a case at ${good}`]
    : [`each of ${cases} cases`, `${cases} cases at ${good}`];
  const would = `${all} would pass with ${percent(chance)}`;
  const allowed = mostFailed(trials, floor, confidence);
  const failed = allowed === 0
    ? `none of its ${countText(trials, "trial")} fails`
    : `at most ${allowed} of its ${countText(trials, "trial")} ${allowed === 1 ? "fails" : "fail"}`;
  const line = `${each} is proved to reach ${percent(floor)} if ${failed}: ${would}`;
  if (chance >= power) return { lines: [line], warnings: [] };
  const needed = caseNeeds(cases, policy, floor).good;
  const advice = needed === null ? "Take a lower one" : `It takes trials: ${needed}`;
  return {
    lines: [line],
    warnings: [`the gate is too small for every: ${would}, else be undecided. ${advice}`],
  };
}

function changedLine({ confidence }: CompletePolicy, { cases, trials }: CaseSize): string {
  const needed = trialsToProve(cases, confidence);
  return `a complete change of one of ${cases} cases can be proved with ${needed} trials of each` +
    (trials < needed ? `: there are ${trials}, so that none can be` : " or more");
}
