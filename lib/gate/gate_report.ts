/**
 * Gate reports: the verdicts of a run as numbers and text.
 * @module
 */

import { leftOutLines } from "./compared_cases.ts";
import {
  type Excused,
  modelNames,
  UNKNOWN_IF_UNWATCHED,
  unwatchedText,
  type Variant,
  variantLabel,
} from "./variant.ts";
import {
  casesKind,
  type CeilingCheck,
  type ForbiddenVerdict,
  type TrialsVerdict,
  type Verdict,
  type VerdictDetails,
} from "./decide.ts";
import { countText, percent, points } from "../base/numbers.ts";
import { printable } from "../base/json.ts";
import { replayedResultsText } from "../models/recordings/summary.ts";
import { type DecidedVariant, exitCodeOf, worstKind } from "./decide_trials.ts";
import {
  type CompletePolicy,
  completePolicy,
  decidesByCases,
  type GatePolicy,
  hypothesesOf,
  isUpgrade,
} from "./policy.ts";
import { type Attempts, attemptsText, passesWrongly } from "./attempts.ts";
import { type Evidence, laterAttemptsText } from "./evidence.ts";
import {
  changedLines,
  everyLines,
  everyWords,
  forbiddenLines,
  forbiddenText,
} from "./_case_text.ts";
import { ceilingAt } from "./ceilings.ts";
import { GRAPHS, type UnitNames } from "./unit_names.ts";

/** The report of a gate, as `gate --json` prints it. */
export interface GateReport {
  /** The version of this format. */
  readonly v: 1;
  /** The name of the suite. */
  readonly suite: string;
  /** The worst verdict, or `continue` while a run in waves goes on. */
  readonly verdict: TrialsVerdict["kind"];
  /** The exit code for it. */
  readonly exitCode: number;
  /** The policy with its defaults filled in; `null` if no decision was possible. */
  readonly gate: CompletePolicy | null;
  /** One for each model, strategy and perturbation. */
  readonly verdicts: readonly ReportedVerdict[];
  /** What must be known of the run beside its verdicts; omitted without any. */
  readonly remarks?: readonly Remark[];
  /** Why no decision was possible; omitted if it was. */
  readonly text?: string;
}

/** A sentence on what verdicts rest on, without its full stop. */
export interface Remark {
  /**
   * What it is about: journals without checksums, skipped tests, resumed runs, times that do not fit, judges, finish
   * reasons that are not known, calls that a server seems not to read, a gate that is not the declared one.
   */
  readonly about:
    | "unchecked"
    | "skipped"
    | "resumed"
    | "times"
    | "judge"
    | "finish"
    | "calls"
    | "gate";
  /** The sentence. */
  readonly text: string;
}

/** One verdict with its variant, as numbers and text. */
export type ReportedVerdict = Omit<DecidedVariant, "verdict" | "unit"> & TrialsVerdict & {
  /** What it says, in one sentence. */
  readonly claim: string;
  /** The verdict as a paragraph: its kind, this sentence, and how sure it is. */
  readonly text: string;
  /** Its numbers, one per line. */
  readonly numbers: readonly string[];
  /** The release of a history that it compares with; omitted for others. */
  readonly release?: { readonly name: string; readonly isAnchor: boolean };
  /** Which run of its gate and candidate it is on, and at most how often one of them passes wrongly, if that is known. */
  readonly attempts?: Attempts & { readonly passesWrongly: number };
};

/** What is reported beside verdicts. */
export interface GateReportOptions extends Pick<GateReport, "remarks"> {
  /** What else matters of the trials that were judged, one line each; default nothing. */
  readonly notes?: readonly string[];
  /** How to run the next wave, as what follows its number. */
  readonly next?: string | undefined;
  /** Returns the command that runs a trial again, by its id; default none: the id is printed. */
  readonly rerun?: (id: string) => string | undefined;
}

/** Reports the verdicts of a gate. */
export function reportVerdicts(
  suite: string,
  variants: readonly DecidedVariant[],
  policy: CompletePolicy,
  { notes = [], remarks = [], next, rerun }: GateReportOptions = {},
): GateReport {
  const trialText = (id: string) => {
    const line = rerun?.(id);
    // A copy of a command that needs escapes to be shown would run something else.
    return line !== undefined && printable(line, 5000) === line
      ? `rerun: ${line}`
      : printable(id, 500);
  };
  const kind = worstKind(variants.map(({ verdict }) => verdict));
  return {
    v: 1,
    suite,
    verdict: kind,
    exitCode: exitCodeOf(kind),
    gate: policy,
    verdicts: variants.map(({ verdict, unit, ...subject }) => {
      const { baseline, replayed, differs, leftOut, excused = [], beside, unwatched } = subject;
      const mixture = mixtureText(subject);
      const names = { unit, next, baseline: baseline && printable(baseline) };
      const { claim } = verdictSentences(verdict, policy, names);
      return {
        ...subject,
        ...verdict,
        claim,
        text: describeVerdict(verdict, policy, names) + mixture + sentences(remarks),
        numbers: [
          verdictNumbers(verdict, policy, unit, trialText),
          (subject.reached ?? []).map(({ id, words, trials, of }) =>
            `${words} in ${trials} of ${countText(of, "trial")} (${printable(id)})`
          ),
          replayed === undefined || mixture !== "" ? [] : replayedNote(replayed),
          subject.replayedResults === undefined ? [] : replayedResultsText(subject.replayedResults),
          differs === undefined ? [] : `differs from the baseline in: ${differs.join(", ")}`,
          leftOut === undefined ? [] : leftOutLines(leftOut),
          excused.map(excusedNote),
          beside === undefined ? [] : `the agent also asked ${modelNames(beside)}`,
          unwatched === undefined
            ? []
            : `${countText(unwatched, "trial")} not watched: ${
              unwatchedText(false)
            }, ${UNKNOWN_IF_UNWATCHED}`,
          notes,
        ].flat(),
      };
    }),
    ...(remarks.length === 0 ? {} : { remarks }),
  };
}

/**
 * Returns a report whose verdicts say which run of their gate and candidate they are on.
 *
 * @param where Where these runs are known from, as what follows their number.
 */
export function withAttempts(
  report: GateReport,
  policy: CompletePolicy,
  attemptsOf: (subject: Variant) => Attempts,
  where: string,
): GateReport {
  const verdicts = report.verdicts.map((verdict) => {
    const attempts = attemptsOf(verdict);
    return {
      ...verdict,
      text: `${verdict.text} ${attemptsText(attempts, policy, where)}.`,
      attempts: { ...attempts, passesWrongly: passesWrongly(policy, attempts.of) },
    };
  });
  return { ...report, verdicts };
}

/** Returns remarks as sentences that follow another one. */
function sentences(remarks: readonly Remark[]): string {
  return remarks.map(({ text }) => ` ${text}.`).join("");
}

/** A sentence on trials of which only a part came from recordings; empty if there is no such mixture. */
function mixtureText(
  { replayed = 0, partlyReplayed = 0, asked = 0, runs }: Partial<DecidedVariant>,
): string {
  if (partlyReplayed + asked === 0 && runs === undefined) return "";
  const parts = [
    replayed === 0 ? [] : `${replayed} from recordings`,
    partlyReplayed === 0 ? [] : `${partlyReplayed} from recordings in part`,
    asked === 0 ? [] : `${asked} asked for anew`,
  ].flat();
  const all = countText(replayed + partlyReplayed + asked, "trial");
  return ` Replies of ${runs ?? "different"} runs are mixed: of ${all} ${parts.join(", ")}.`;
}

function replayedNote(replayed: number): string {
  return replayed === 1
    ? "1 trial was replayed from a recording: no model was asked for it"
    : `${replayed} trials were replayed from recordings: no model was asked for these`;
}

function excusedNote({ status, message, trials }: Excused): string {
  const which = [
    status === undefined ? [] : `status ${status}`,
    message === undefined ? [] : `message "${printable(message)}"`,
  ].flat().join(" and ");
  return `declared as infrastructure: failures with ${which}, which leaves ${
    countText(trials, "trial")
  } valid at the first go`;
}

/** Reports results on which no decision is possible. */
export function reportProblem(
  suite: string,
  problem: string,
  remarks: readonly Remark[] = [],
): GateReport {
  const decided = { verdict: "invalid", exitCode: exitCodeOf("invalid"), gate: null } as const;
  return {
    ...{ v: 1, suite, ...decided, verdicts: [] },
    ...(remarks.length === 0 ? {} : { remarks }),
    text: `INVALID: ${problem}.${sentences(remarks)}`,
  };
}

/** Returns the name of a verdict's variant, made printable as it comes from suites and servers. */
export function verdictName(verdict: ReportedVerdict): string {
  return printable(variantLabel(verdict, verdict.simulated));
}

/** Returns the text of a verdict, or of what has one, without the kind that it begins with. */
export function withoutKind({ kind, text }: Readonly<Record<"kind" | "text", string>>): string {
  return text.slice(`${kind}: `.length);
}

/** Names in the text of a verdict. */
interface VerdictNames {
  /** The baseline of an upgrade gate; default `the baseline`. */
  readonly baseline?: string;
  /** The names of units; default graphs. */
  readonly unit?: UnitNames | undefined;
  /** How to run the next wave, as what follows its number; default: as the one before. */
  readonly next?: string | undefined;
}

/**
 * Returns the verdict as a paragraph for a release manager.
 */
export function describeVerdict(
  verdict: TrialsVerdict,
  policy: GatePolicy,
  names: VerdictNames = {},
): string {
  const { claim, others } = verdictSentences(verdict, completePolicy(policy), names);
  return [`${verdict.kind.toUpperCase()}: ${claim}`, ...others].join(" ");
}

/** Returns a verdict in sentences: what it says, and how sure that is. */
function verdictSentences(
  verdict: TrialsVerdict,
  policy: CompletePolicy,
  { baseline = "the baseline", unit = GRAPHS, next = "as the one before" }: VerdictNames = {},
) {
  if (verdict.kind === "invalid") return { claim: `${verdict.reason}.`, others: [] };
  const words = meanWords(policy, verdict.evidence, baseline, unit);
  if (verdict.kind === "continue") {
    const { index, of } = verdict.next;
    const waves = index === 2 ? "wave 1" : `waves 1 to ${index - 1}`;
    return {
      claim: `the trials of ${waves} cannot tell yet whether ${words.question}.`,
      others: [`Run wave ${index} of ${of} next, ${next}.`],
    };
  }
  const stopped = verdict.stopped === undefined
    ? []
    : [`Not all of the plan was run: ${verdict.stopped}.`];
  if ("never" in verdict) {
    return {
      claim: `${forbiddenText(verdict.never)}.`,
      others: [withoutText(verdict), ...stopped],
    };
  }
  const { pass, fail } = hypothesesOf(policy);
  const { evidence, cases } = verdict;
  const every = cases && everyWords(cases, policy.every!);
  // Where the cases decide alone, their mean is not worth a word.
  const decidesByMean = !decidesByCases(policy);
  const isMeanProved = evidence.lower >= pass;
  if (verdict.kind === "undecided") {
    const questions = [
      ...(decidesByMean && !isMeanProved ? [words.question] : []),
      ...(every === undefined || casesKind(cases!) === "pass" ? [] : [every.pass]),
    ];
    return {
      claim: `these trials cannot tell whether ${questions.join(", and whether ")}.`,
      others: [describeMore(verdict, policy, unit), ...stopped],
    };
  }
  const exceeded = verdict.ceilings?.filter((check) => check.exceeded) ?? [];
  const isMeanFailed = decidesByMean && !isMeanProved && evidence.upper < fail;
  const failing = [
    ...(isMeanFailed || every?.fail === undefined ? [words.fail] : []),
    every?.fail ?? [],
  ].flat().join("; ");
  if (exceeded.length > 0) {
    const otherwise = verdict.otherwise === "fail"
      ? `Also, ${failing}.`
      : `Without that it would ${verdict.otherwise === "pass" ? "pass" : "be undecided"}.`;
    return {
      claim: `${exceeded.map(describeExceeded).join("; ")}.`,
      others: [otherwise, ...stopped],
    };
  }
  const { method, of } = evidence;
  const often = method === "tango" || method === "miettinen-nurminen" ? "about" : "at most";
  const isPass = verdict.kind === "pass";
  const error = isPass || method !== "sequential" ? policy.confidence : policy.power;
  const observed = of === "rate" ? evidence.rate : evidence.difference;
  const remarks = isPass
    ? evidence.upper < fail
      ? [`It is also proved that ${words.fail}, but by less than the margin.`]
      : []
    : decidesByMean && observed >= pass && every?.fail === undefined
    ? ["The observed value is within the margin, but this is not proved."]
    : [];
  const passing = [decidesByMean ? words.pass : [], every?.pass ?? []].flat().join("; ");
  return {
    claim: `${isPass ? passing : failing}.`,
    others: [
      `If that were not so, the gate would ${verdict.kind} in ${often} ${
        percent(1 - error)
      } of runs.`,
      ...remarks,
      ...stopped,
    ],
  };
}

/** What the verdict would be without the calls that must not happen. */
function withoutText({ otherwise, reason }: ForbiddenVerdict): string {
  const would = {
    pass: "pass",
    fail: "fail as well",
    undecided: "be undecided",
    invalid: `be invalid: ${reason}`,
    continue: "go on with the next wave",
  };
  return `Without that it would ${would[otherwise]}.`;
}

/** What a gate asks of the mean, in words. */
function meanWords(
  policy: CompletePolicy,
  evidence: Evidence | undefined,
  baseline: string,
  unit: UnitNames,
) {
  const { margin } = policy;
  if (!isUpgrade(policy)) {
    const { successRate } = policy;
    const floor = percent(successRate - margin);
    const passing = `the true success rate is at least ${floor}` +
      (margin === 0 ? "" : `, which is ${percent(successRate)} less a margin of ${points(margin)}`);
    return {
      pass: passing,
      fail: `the true success rate is below ${percent(successRate)}`,
      question: passing,
    };
  }
  const where = evidence !== undefined && "fresh" in evidence
    ? "on different graphs of the same kinds"
    : `on the same ${unit.same}`;
  const close = margin === 0
    ? `the true success rate is no lower than that of ${baseline}`
    : `the true success rate is at most ${points(margin)} below that of ${baseline}`;
  return {
    pass: `${where}, ${close}`,
    fail: `${where}, the true success rate is below that of ${baseline}`,
    question: close,
  };
}

/** Says what it would take to decide. */
function describeMore(
  { moreTrials, stopped, evidence }: Extract<Verdict, { kind: "undecided" }>,
  { sequential, every }: CompletePolicy,
  { many, option }: UnitNames,
): string {
  if (evidence.method === "sequential") {
    return stopped === undefined
      ? "A sequential gate ends at 1.5 times the size of a fixed one: the model is too close " +
        "to the limit to decide."
      : "Further trials might have decided it.";
  }
  const isFresh = "fresh" in evidence;
  if (moreTrials === null) {
    return "If it went on like this, not even a million trials " +
      (isFresh
        ? `of the candidate would decide; a baseline of more than ${evidence.baselineGraphs} ${many} might.`
        : "would decide.");
  }
  const whose = evidence.of === "rate" ? "" : isFresh ? " of the candidate" : " of each model";
  // Repeated trials of a graph are one unit, so only further graphs can decide.
  const each = evidence.of === "rate" ? (evidence.valid + evidence.unknown) / evidence.graphs : 1;
  const where = each > 1 ? ` (of about ${Math.ceil(moreTrials / each)} further ${many})` : "";
  // Adding trials until a gate passes would let any model pass eventually.
  const how = stopped !== undefined || sequential || option === null
    ? ""
    : ` Trials that are added to this run would make errors more likely: decide by a new run of fresh ${many}, ` +
      (every === undefined && !isFresh
        ? "with sequential: true, which stops when it is sure"
        : "with that many more") +
      "; it counts as the next run.";
  return `If it went on like this, about ${moreTrials} further trials${whose}${where} would decide.${how}`;
}

function describeExceeded({ ceiling, limit, seen, lower }: CeilingCheck): string {
  const { words, show = percent } = ceilingAt(ceiling);
  return `${words} is above its ceiling of ${show(limit)}: ${
    seen === null ? NONE_SOLVED : `it was ${show(seen)}`
  }` + (lower === null ? "" : `, and the true value is at least ${show(roundDown(lower, show))}`);
}

function ceilingLines(
  { ceiling, limit, seen, lower, exceeded, trials = [] }: CeilingCheck,
  trialText: (id: string) => string,
): string[] {
  const { words, show = percent } = ceilingAt(ceiling);
  const state = exceeded
    ? "exceeded"
    : seen === null || seen <= limit
    ? "kept"
    : `not proved to be exceeded: the true value is at least ${show(roundDown(lower ?? 0, show))}`;
  const observed = seen === null ? NONE_SOLVED : show(seen);
  return [
    `${words}: ${observed}, ceiling ${show(limit)}: ${state}` +
    (trials.length === 0 ? "" : ", for example in these trials:"),
    ...trials.map(trialText),
  ];
}

/** What a cost for each solved trial is where none was. */
const NONE_SOLVED = "none was solved";

/**
 * Returns the numbers behind a verdict, one per line; none for a verdict without evidence.
 *
 * @param trialText The text about a trial that shows what is exceeded, by its id. Default: the id.
 */
export function verdictNumbers(
  verdict: TrialsVerdict,
  policy: GatePolicy,
  unit: UnitNames = GRAPHS,
  trialText: (id: string) => string = (id) => printable(id, 500),
): string[] {
  const { evidence } = verdict;
  const complete = completePolicy(policy);
  const forbidden = "never" in verdict ? forbiddenLines(verdict.never) : [];
  if (evidence === undefined) return forbidden;
  const { cases, changed, ceilings = [] }: VerdictDetails = verdict.kind === "invalid"
    ? {}
    : verdict;
  const { unknown, method, graphs } = evidence;
  const later = laterAttemptsText(evidence);
  const isDecided = (verdict.kind === "pass" || verdict.kind === "fail") &&
    verdict.otherwise !== "undecided";
  return [
    forbidden,
    observedLines(evidence, unit),
    boundsText(evidence, complete, unit),
    unknown === 0
      ? []
      : `invalid or missing trials, which count as the worst case of each bound: ${unknown}`,
    later === undefined ? [] : `valid, but not at the first go: ${later}`,
    method === "tango" && graphs < FEW_GRAPHS
      ? `with so few ${unit.many} Tango's bounds may err up to twice as often as stated`
      : [],
    cases === undefined ? [] : everyLines(cases, policy.every!),
    changed === undefined ? [] : changedLines(changed, complete.confidence),
    ceilings.flatMap((check) => ceilingLines(check, trialText)),
    method === "sequential" && isDecided
      ? `the gate decided after ${graphs} ${unit.many}, and needs no further ones`
      : [],
  ].flat();
}

/** Says what was solved, and how that differs from the baseline. */
function observedLines(evidence: Evidence, { many, whole }: UnitNames): string[] {
  const { graphs, valid, method } = evidence;
  // Trials that ended after the decision, or after a budget's end, are in the tables but not counted here.
  const where = method === "sequential"
    ? `the first ${graphs} ${many} of the plan`
    : `${graphs} ${whole}`;
  if (evidence.of === "rate") {
    const { solved, rate } = evidence;
    return [`solved: ${solved} of ${valid} valid trials (${percent(rate)}), ${where}`];
  }
  const { candidate, baseline, difference } = evidence;
  const solved = `solved: candidate ${percent(candidate)}, baseline ${percent(baseline)}`;
  if ("fresh" in evidence) {
    const { baselineGraphs, cells } = evidence;
    return [
      `${solved}, on ${graphs} and ${baselineGraphs} different ${whole} of ${
        countText(cells, "cell")
      }, which weigh the same`,
      `difference: ${points(difference)}`,
    ];
  }
  const { gained, lost } = evidence;
  return [
    `${solved}, ${where}`,
    `difference: ${points(difference)}; better on ${gained} ${many}, worse on ${lost}`,
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
