/**
 * Verdicts as text: one paragraph for a release manager, and the numbers behind it.
 * @module
 */

import type { Evidence } from "./evidence.ts";
import {
  changedLines,
  everyLines,
  everyWords,
  forbiddenLines,
  forbiddenText,
} from "./_case_text.ts";
import { casesKind } from "./cases.ts";
import type {
  CeilingCheck,
  ForbiddenVerdict,
  TrialsVerdict,
  Verdict,
  VerdictDetails,
} from "./decide.ts";
import {
  type Ceilings,
  type CompletePolicy,
  completePolicy,
  decidesByCases,
  type GatePolicy,
  hypothesesOf,
  isUpgrade,
} from "./policy.ts";
import { GRAPHS, type UnitNames } from "./unit_names.ts";
import { laterGoesText } from "./_coverage.ts";
import { printable } from "../base/json.ts";
import { countText, percent, points, probability } from "../base/numbers.ts";

/** Names in the text of a verdict. */
export interface VerdictNames {
  /** The baseline of an upgrade gate; default `the baseline`. */
  readonly baseline?: string;
  /** The names of units; default graphs. */
  readonly unit?: UnitNames | undefined;
  /** How to run the next wave, as what follows its number; default: as the one before. */
  readonly next?: string | undefined;
}

/**
 * Returns the verdict as a paragraph for a release manager.
 *
 * @example Usage
 * ```ts
 * import { decide, describeVerdict } from "@toolgate/toolgate/gate";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const policy = { successRate: 0.9 };
 * assertStringIncludes(describeVerdict(decide([], policy), policy), "INVALID");
 * ```
 */
export function describeVerdict(
  verdict: TrialsVerdict,
  policy: GatePolicy,
  names: VerdictNames = {},
): string {
  return verdictText(verdict, completePolicy(policy), names);
}

/** As {@linkcode describeVerdict}, for a policy that was completed. */
export function verdictText(
  verdict: TrialsVerdict,
  policy: CompletePolicy,
  { baseline = "the baseline", unit = GRAPHS, next = "as the one before" }: VerdictNames = {},
): string {
  if (verdict.kind === "invalid") {
    return `INVALID: ${verdict.reason}.`;
  }
  const words = isUpgrade(policy)
    ? upgradeWords(
      policy.margin,
      baseline,
      verdict.evidence !== undefined && "fresh" in verdict.evidence
        ? "on different graphs of the same kinds"
        : `on the same ${unit.same}`,
    )
    : rateWords(policy.successRate, policy.margin);
  if (verdict.kind === "continue") {
    const { index, of } = verdict.next;
    return `CONTINUE: the trials of ${
      index === 2 ? "wave 1" : `waves 1 to ${index - 1}`
    } cannot tell yet whether ${words.question}. Run wave ${index} of ${of} next, ${next}.`;
  }
  const stoppedText = verdict.stopped === undefined
    ? ""
    : ` Not all of the plan was run: ${verdict.stopped}.`;
  if ("never" in verdict) {
    return `FAIL: ${forbiddenText(verdict.never)}.${withoutText(verdict)}${stoppedText}`;
  }
  const { pass, fail } = hypothesesOf(policy);
  const { evidence, cases } = verdict;
  const every = cases === undefined ? undefined : everyWords(cases, policy.every!);
  // Where the cases decide alone, their mean is not worth a word.
  const isMeant = !decidesByCases(policy);
  const isMeanProved = evidence.lower >= pass;
  if (verdict.kind === "undecided") {
    const questions = [
      ...(isMeant && !isMeanProved ? [words.question] : []),
      ...(every === undefined || casesKind(cases!) === "pass" ? [] : [every.pass]),
    ];
    return `UNDECIDED: these trials cannot tell whether ${questions.join(", and whether ")}. ` +
      describeMore(verdict, policy, unit) + stoppedText;
  }
  const exceeded = verdict.ceilings?.filter((check) => check.exceeded) ?? [];
  const isMeanFailed = isMeant && !isMeanProved && evidence.upper < fail;
  const failing = [
    ...(isMeanFailed || every?.fail === undefined ? [words.fail] : []),
    ...(every?.fail === undefined ? [] : [every.fail]),
  ].join("; ");
  if (exceeded.length > 0) {
    const otherwise = verdict.otherwise === "fail"
      ? ` Also, ${failing}.`
      : ` Without that it would ${verdict.otherwise === "pass" ? "pass" : "be undecided"}.`;
    return `FAIL: ${exceeded.map(describeExceeded).join("; ")}.${otherwise}${stoppedText}`;
  }
  const isScore = evidence.method === "tango" || evidence.method === "miettinen-nurminen";
  const often = isScore ? "in about" : "in at most";
  if (verdict.kind === "pass") {
    const less = evidence.upper < fail
      ? ` It is also proved that ${words.fail}, but by less than the margin.`
      : "";
    const passing = [
      ...(isMeant ? [words.pass] : []),
      ...(every === undefined ? [] : [every.pass]),
    ];
    return `PASS: ${passing.join("; ")}. If that were not so, the gate would pass ${often} ` +
      `${percent(1 - policy.confidence)} of runs.${less}${stoppedText}`;
  }
  const observed = evidence.of === "rate" ? evidence.rate : evidence.difference;
  const error = evidence.method === "sequential" ? policy.power : policy.confidence;
  const within = isMeant && observed >= pass && every?.fail === undefined
    ? " The observed value is within the margin, but this is not proved."
    : "";
  return `FAIL: ${failing}. If that were not so, the gate would fail ${often} ` +
    `${percent(1 - error)} of runs.${within}${stoppedText}`;
}

/** What the verdict would be without the calls that must not happen. */
function withoutText(
  { otherwise, reason }: ForbiddenVerdict,
): string {
  const would = {
    pass: "pass",
    fail: "fail as well",
    undecided: "be undecided",
    invalid: `be invalid: ${reason}`,
    continue: "go on with the next wave",
  };
  return ` Without that it would ${would[otherwise]}.`;
}

function rateWords(successRate: number, margin: number) {
  const floor = margin === 0
    ? `at least ${percent(successRate)}`
    : `at least ${percent(successRate - margin)}, which is ${
      percent(successRate)
    } less a margin of ` +
      points(margin);
  return {
    pass: `the true success rate is ${floor}`,
    fail: `the true success rate is below ${percent(successRate)}`,
    question: `the true success rate is ${floor}`,
  };
}

function upgradeWords(margin: number, baseline: string, where: string) {
  const close = margin === 0
    ? `no lower than that of ${baseline}`
    : `at most ${points(margin)} below that of ${baseline}`;
  return {
    pass: `${where}, the true success rate is ${close}`,
    fail: `${where}, the true success rate is below that of ${baseline}`,
    question: `the true success rate is ${close}`,
  };
}

/** Repeated trials of a graph are one unit, so only further graphs can decide. */
function repeatedText(evidence: Evidence, moreTrials: number, many: string): string {
  if (evidence.of !== "rate") return "";
  const { graphs, valid, unknown } = evidence;
  const each = (valid + unknown) / graphs;
  return each > 1 ? ` (of about ${Math.ceil(moreTrials / each)} further ${many})` : "";
}

function describeMore(
  { moreTrials, stopped, evidence }: Extract<Verdict, { kind: "undecided" }>,
  { sequential, every }: CompletePolicy,
  { many, option }: UnitNames,
): string {
  if (evidence.method === "sequential") {
    return stopped === undefined
      ? "At 1.5 times the size of a fixed gate a sequential one ends: the model lies too close " +
        "to the edge to tell."
      : "Further trials might have decided it.";
  }
  if (moreTrials === null) {
    return "If it went on like this, not even a million trials " +
      ("fresh" in evidence
        ? `of the candidate would decide; a baseline of more than ${evidence.baselineGraphs} ${many} might.`
        : "would decide.");
  }
  const each = evidence.of === "rate"
    ? ""
    : "fresh" in evidence
    ? " of the candidate"
    : " of each model";
  // Adding trials until a gate passes would let any model pass eventually.
  const how = stopped !== undefined || sequential || option === null
    ? ""
    : `: plan that many more ${many} and run again` +
      (every === undefined && !("fresh" in evidence)
        ? ", or set sequential: true, which stops when it is sure"
        : "");
  const where = repeatedText(evidence, moreTrials, many);
  return `If it went on like this, about ${moreTrials} further trials${each}${where} would decide${how}.`;
}

/** Returns a description of a ceiling, and the format of its numbers. */
function ceilingWords(ceiling: string): [what: string, show: (value: number) => string] {
  const [kind, name] = ceiling.split(".") as [keyof Ceilings, string?];
  switch (kind) {
    case "failures":
      return [`the share of trials with a call of type ${name}`, percent];
    case "failureShifts":
      return [`the rise over the baseline of trials with a call of type ${name}`, points];
    case "parameterFailures":
      return [`the share of trials with a ${name} of a parameter`, percent];
    case "missedCalls":
      return ["the share of trials that need calls in which one was never made", percent];
    case "flips":
      return ["the share of trials whose outcome changes under the check", percent];
    case "unmended":
      return [
        "the share of calls sent back for their arguments that were not mended, as the mean over tasks",
        percent,
      ];
    case "behaviours":
      return [
        name === "followed_injection"
          ? "the share of trials shown an injected instruction that followed it"
          : `the share of trials that show ${name}`,
        percent,
      ];
    case "tokens":
      return ["the mean of a trial's tokens", plain];
    case "usd":
      return ["the mean of a trial's US dollars", plain];
    case "usdPerSolved":
      return ["the mean of US dollars for each solved trial", plain];
    case "p95Seconds":
      return ["the 95th percentile of a trial's seconds", plain];
  }
}

function describeExceeded({ ceiling, limit, seen, lower }: CeilingCheck): string {
  const [what, show] = ceilingWords(ceiling);
  return `${what} is above its ceiling of ${show(limit)}: ${
    seen === null ? NONE_SOLVED : `it was ${show(seen)}`
  }` + (lower === null ? "" : `, and the true value is at least ${show(roundDown(lower, show))}`);
}

function ceilingLines(
  { ceiling, limit, seen, lower, exceeded, trials = [] }: CeilingCheck,
  trialText: (id: string) => string,
): string[] {
  const [what, show] = ceilingWords(ceiling);
  const state = exceeded
    ? "exceeded"
    : seen === null || seen <= limit
    ? "kept"
    : `not proved to be exceeded: the true value is at least ${show(roundDown(lower ?? 0, show))}`;
  const observed = seen === null ? NONE_SOLVED : show(seen);
  return [
    `${what}: ${observed}, ceiling ${show(limit)}: ${state}` +
    (trials.length === 0 ? "" : ", for example in these trials:"),
    ...trials.map((id) => trialText(id)),
  ];
}

/** What a cost for each solved trial is where none was. */
const NONE_SOLVED = "none was solved";

/**
 * Returns the numbers behind a verdict, one per line; none for a verdict without evidence.
 *
 * @example Usage
 * ```ts
 * import { decide, verdictNumbers } from "@toolgate/toolgate/gate";
 * import { assertEquals } from "@std/assert";
 *
 * const units = new Array(100).fill({ solved: 1, valid: 1, trials: 1 });
 * const policy = { successRate: 0.9 };
 * const [first] = verdictNumbers(decide(units, policy), policy);
 * assertEquals(first, "solved: 100 of 100 valid trials (100.0%), 100 graphs");
 * ```
 */
export function verdictNumbers(
  verdict: TrialsVerdict,
  policy: GatePolicy,
  unit: UnitNames = GRAPHS,
): string[] {
  return verdictLines(verdict, completePolicy(policy), unit);
}

/** As {@linkcode verdictNumbers}, for a policy that was completed; `trialText` tells of a trial by its id. */
export function verdictLines(
  verdict: TrialsVerdict,
  policy: CompletePolicy,
  unit: UnitNames = GRAPHS,
  trialText = (id: string) => printable(id, 500),
): string[] {
  const { evidence } = verdict;
  const forbidden = "never" in verdict ? forbiddenLines(verdict.never) : [];
  if (evidence === undefined) return forbidden;
  const { cases, changed, ceilings = [] }: VerdictDetails = verdict.kind === "invalid"
    ? {}
    : verdict;
  const { unknown, method } = evidence;
  const later = laterGoesText(evidence);
  return [
    ...forbidden,
    ...(evidence.of === "rate" ? rateNumbers(evidence, unit) : differenceNumbers(evidence, unit)),
    boundsText(evidence, policy, unit),
    ...(unknown === 0
      ? []
      : [`invalid or missing trials, which count as the worst case of each bound: ${unknown}`]),
    ...(later === undefined ? [] : [`valid, but not at the first go: ${later}`]),
    ...(method === "tango" && evidence.graphs < FEW_GRAPHS
      ? [`with so few ${unit.many} Tango's bounds may err up to twice as often as stated`]
      : []),
    ...(cases === undefined ? [] : everyLines(cases, policy.every!)),
    ...(changed === undefined ? [] : changedLines(changed, policy.confidence)),
    ...ceilings.flatMap((check) => ceilingLines(check, trialText)),
    ...(method === "sequential" && (verdict.kind === "pass" || verdict.kind === "fail") &&
        verdict.otherwise !== "undecided"
      ? [`the gate decided after ${evidence.graphs} ${unit.many}, and needs no further ones`]
      : []),
  ];
}

/** Trials that ended after the decision, or after a budget's end, are in the tables but not counted here. */
function graphsText({ graphs, method }: Evidence, { many, whole }: UnitNames): string {
  return method === "sequential" ? `the first ${graphs} ${many} of the plan` : `${graphs} ${whole}`;
}

function rateNumbers(evidence: Extract<Evidence, { of: "rate" }>, unit: UnitNames): string[] {
  const { solved, valid, rate } = evidence;
  return [
    `solved: ${solved} of ${valid} valid trials (${percent(rate)}), ${graphsText(evidence, unit)}`,
  ];
}

function differenceNumbers(
  evidence: Extract<Evidence, { of: "difference" }>,
  unit: UnitNames,
): string[] {
  const { candidate, baseline, difference } = evidence;
  const solved = `solved: candidate ${percent(candidate)}, baseline ${percent(baseline)}`;
  if ("fresh" in evidence) {
    const { graphs, baselineGraphs, cells } = evidence;
    return [
      `${solved}, on ${graphs} and ${baselineGraphs} different ${unit.whole} of ${
        countText(cells, "cell")
      }, which weigh the same`,
      `difference: ${points(difference)}`,
    ];
  }
  const { gained, lost, mcNemar } = evidence;
  return [
    `${solved}, ${graphsText(evidence, unit)}`,
    `difference: ${points(difference)}; better on ${gained} ${unit.many}, worse on ${lost}`,
    ...(mcNemar === null ? [] : [
      `any difference at all (decides nothing): exact McNemar p = ${probability(mcNemar.exact)}, ` +
      `mid-p ${probability(mcNemar.midP)}`,
    ]),
  ];
}

/** From this number of graphs on, the error of Tango's bounds is close to nominal. */
const FEW_GRAPHS = 50;

const METHOD_NAMES: Readonly<Record<Evidence["method"], (unit: UnitNames) => string>> = {
  "clopper-pearson": () => "exact, Clopper-Pearson",
  tango: () => "Tango's score for pairs",
  "miettinen-nurminen": () => "Miettinen and Nurminen's score, cell by cell",
  betting: ({ many }) => `by bets on ${many}`,
  sequential: () => "by the gate's bets, valid at every look",
};

function boundsText(
  evidence: Evidence,
  policy: CompletePolicy,
  unit: UnitNames,
): string {
  const { of, lower, upper, method } = evidence;
  const show = of === "rate" ? percent : points;
  const how = "fresh" in evidence && method === "betting"
    ? `by bets on pairs of ${unit.many}`
    : METHOD_NAMES[method](unit);
  const [least, most] = [show(roundDown(lower, show)), show(-roundDown(-upper, show))];
  const { confidence } = policy;
  const confidenceText = method === "sequential" && policy.power !== confidence
    ? `with ${percent(confidence)} and ${percent(policy.power)} confidence`
    : `each with ${percent(confidence)} confidence`;
  return `true ${of}: at least ${least}, at most ${most}, ${confidenceText} (${how})`;
}

/** Rounds a lower bound down, so that it does not look better than it is. */
function roundDown(bound: number, show: (value: number) => string): number {
  const size = Math.abs(bound);
  const digits = show === points
    ? size < 0.01 ? 5 : 3
    : Math.min(Math.max(3, Math.ceil(-Math.log10(size))), 5);
  return Math.floor(bound * 10 ** digits + 1e-9) / 10 ** digits;
}

function plain(value: number): string {
  return String(Number(value.toPrecision(3)));
}
