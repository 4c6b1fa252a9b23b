/**
 * The headline: verdict, success, what changed, and cost of each variant, for who decides.
 * @module
 */

import { percent } from "../../base/numbers.ts";
import type { ComparedPair } from "../../gate/comparison.ts";
import { VERDICT_KINDS } from "../../gate/decide.ts";
import type { GateReport, ReportedVerdict } from "../../gate/gate_report.ts";
import { type CompletePolicy, hypothesesOf, isUpgrade } from "../../gate/policy.ts";
import { variantKey, variantLabel } from "../../gate/variant.ts";
import { costOfAll, spentUsage } from "../../models/prices.ts";
import { isRemoving } from "../../perturbations/ids.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import type { Asked, Estimate } from "../columns.ts";
import { linkNames, trialsLink } from "../_links.ts";
import { metric } from "../_metric.ts";
import type { Report } from "../report.ts";
import { type Subject, SUBJECT_PARTS, subjectColumns } from "../_subjects.ts";
import { noteOf } from "../_view.ts";
import { againstName } from "./_differences.ts";
import {
  ASIDE,
  ESTIMATED,
  RETURNS_CHANGED,
  type Share,
  successText,
  type Tallied,
  tally,
} from "./_tally.ts";

/** What changed against another variant. */
interface Change extends Estimate {
  readonly value: number;
  readonly interval: Bounds | null;
  /** The name of the other variant, and its key; a baseline from a file has none. */
  readonly against: string;
  readonly key?: string;
  /** Whether a gate decided on it, and if not, the pair that was compared. */
  readonly decided: boolean;
  readonly pair?: ComparedPair;
}

/** A row of the headline: a variant with its verdict, by which gate, and what changed. */
interface HeadlineRow extends Subject, Tallied {
  readonly usage: Usage;
  /**
   * Cost of the tokens in US dollars; `null` unless every model that took part has a price, and an agent's requests were
   * seen.
   */
  readonly cost: number | null;
  readonly verdict?: ReportedVerdict | undefined;
  readonly gate?: GateReport["gate"] | undefined;
  readonly change?: Change | undefined;
}

/** With more variants than this, those with the lowest success stand first. */
const MAX_ROWS = 12;

/** Returns the variants of the headline in their order: what did not pass stands first, of many then the lowest. */
function headlineRows(report: Report): HeadlineRow[] {
  const { subjects, gates, options: { prices = {} } } = report;
  const badness = (kind: ReportedVerdict["kind"] = "pass") => VERDICT_KINDS.indexOf(kind);
  const verdicts = gates.flatMap(({ verdicts, gate }) =>
    verdicts.map((verdict) => ({ verdict, gate }))
  ).toSorted((one, other) => badness(other.verdict.kind) - badness(one.verdict.kind));
  // Where several gates decided on a variant, the worst verdict stands.
  const byKey = new Map(verdicts.map((one) => [variantKey(one.verdict), one]));
  // Nothing is known of those without a verdict, where others have one.
  const bad = ({ verdict }: HeadlineRow) => badness(verdict?.kind) - (verdict ? 0 : 0.5);
  // Where no task can be solved, a rate of zero is no bad news.
  const rateOf = ({ subject, tally }: HeadlineRow) =>
    isRemoving(subject.perturbation) ? 2 : tally.success.value ?? 2;
  const changes = subjects.map((one) => ({
    gate: decidedChange(byKey.get(variantKey(one.subject))?.verdict, report),
    pair: comparedChange(one, report),
  }));
  // Rows that are compared with one another have bounds of one kind.
  const isGated = changes.every(({ gate, pair }) => gate !== undefined || pair === undefined);
  const isMany = subjects.length > MAX_ROWS;
  return subjects.map(({ trials, counted: _, ...one }, place): HeadlineRow => {
    const { gate, pair } = changes[place]!;
    return {
      ...one,
      ...byKey.get(variantKey(one.subject)),
      tally: tally(trials),
      usage: sumUsage(trials.map(spentUsage)),
      cost: costOfAll(trials, prices),
      change: isGated ? gate ?? pair : pair ?? gate,
    };
  }).sort((one, other) => bad(one) - bad(other) || (isMany ? rateOf(one) - rateOf(other) : 0));
}

/** What a pair of variants differs in, the likeliest question first. */
const QUESTIONS = ["perturbation", "strategy", "variant", "model"] as const;

/** Returns what changed by the evidence of a gate that compares. */
function decidedChange(
  { evidence, baseline }: Partial<ReportedVerdict> = {},
  { subjects, nameOf }: Report,
): Change | undefined {
  if (evidence?.of !== "difference") return undefined;
  const { difference: value, lower, upper } = evidence;
  // Within a run the baseline has a row; one from a file has none.
  const other = subjects.find(({ subject, simulated }) =>
    variantLabel(subject, simulated) === baseline
  );
  return {
    ...{ value, interval: { lower, upper }, decided: true },
    against: other === undefined ? baseline ?? "the baseline" : nameOf(other),
    ...(other && { key: variantKey(other.subject) }),
  };
}

/** Returns what changed by the clearest comparison. */
function comparedChange(
  { subject }: Subject,
  { comparisons, subjects, nameOf }: Report,
): Change | undefined {
  const places = new Map(subjects.map((one, place) => [variantKey(one.subject), place]));
  const own = comparisons.filter((pair) => variantKey(pair.subject) === variantKey(subject))
    .flatMap(({ success, ...pair }) => {
      if (success === null) return [];
      const key = variantKey(pair.against);
      const rank = QUESTIONS.indexOf(pair.of) + (pair.reference ? 0 : QUESTIONS.length);
      return [{ success, key, pair, order: rank * (places.size + 1) + (places.get(key) ?? -1) }];
    });
  const [first] = own.sort((one, other) => one.order - other.order);
  if (first === undefined) return undefined;
  const { success, key, pair } = first;
  const other = subjects[places.get(key) ?? -1];
  return {
    ...{ value: success.difference, interval: success.interval, decided: false },
    against: other === undefined ? againstName(pair, nameOf) : nameOf(other),
    pair: { ...pair, success },
    ...(other && { key }),
  };
}

/**
 * Whether a gate on rates decided on all variants, so that its bounds can be compared: no table then has other
 * intervals of these rates.
 */
export function hasGateBounds(report: Report): boolean {
  return OVERVIEW.rows(report).every(({ verdict }) => verdict?.evidence?.of === "rate");
}

/** Returns the success of a variant, with the bounds of the gate where one decided on all variants. */
function successOf({ tally: { success }, verdict }: HeadlineRow, isDecided: boolean): Share {
  const evidence = verdict?.evidence;
  // A sequential gate decides on the trials up to its end, and some may have been in flight.
  return isDecided && evidence?.of === "rate" && evidence.valid > 0
    ? {
      ...{ value: evidence.rate, count: evidence.solved, of: evidence.valid },
      interval: { lower: evidence.lower, upper: evidence.upper },
    }
    : success;
}

/** Names the one-sided bounds of gates. */
function boundsName(gates: readonly (CompletePolicy | null | undefined)[]): string {
  const levels = new Set(gates.flatMap((gate) => gate?.confidence ?? []));
  return `${[...levels].map(percent).join(" or ")} bounds, one-sided`;
}

/** Success, what changed, and the cost of each variant, in one row. */
export const OVERVIEW = metric(headlineRows, {
  id: "overview",
  section: "headline",
  title: (_, { words }) => words.headline,
  note: (rows, report) => {
    const { words } = report;
    return noteOf(
      `${words.solved}: share of valid trials` +
        (hasGateBounds(report)
          ? ", with the bounds of the gate, which count invalid trials as the worst"
          : ""),
      rows.some(({ change }) => change) &&
        `change: in percentage points, on the same ${words.tasks}`,
      rows.length > MAX_ROWS &&
        `${
          rows.some(({ verdict }) => verdict) ? "what did not pass first, then " : ""
        }the lowest first`,
      rows.some(({ usage }) => usage.estimated) && ESTIMATED,
    );
  },
  columns: (rows, report) => {
    const { words } = report;
    const called = linkNames(report);
    const link = (outcome?: string) => ({ subject }: HeadlineRow) =>
      trialsLink({ subject: called.get(subject)!, ...(outcome && { outcome }) });
    const changes = rows.flatMap(({ change }) => change ?? []);
    const references = new Set(changes.map(({ key }) => key));
    const isShared = references.size === 1 && !references.has(undefined);
    const isDecided = hasGateBounds(report);
    const areAll = changes.every(({ decided }) => decided);
    const [name] = subjectColumns(report);
    const [invalid, ...aside] = ASIDE;
    return [
      { ...name!, link: link() },
      SUBJECT_PARTS,
      {
        ...{ id: "verdict", unit: "text", shown: "filled" },
        value: ({ verdict }) => verdict?.kind,
        text: ({ verdict }) => verdict?.kind.toUpperCase(),
      },
      {
        ...{ id: "solved", head: words.solved, unit: "share" },
        value: (row) => successOf(row, isDecided),
        drawn: ({ gate }) => gate && !isUpgrade(gate) ? askedOf(gate) : {},
        text: (row) => successText(successOf(row, isDecided), false),
        ...(isDecided && { bounds: boundsName(rows.map(({ gate }) => gate)) }),
        link: (row) =>
          row.tally.success.count < row.tally.success.of ? link("failed")(row) : undefined,
      },
      {
        ...{ id: "change", unit: "points", shown: changes.length > 0 },
        value: ({ change }) => change ?? { value: null, interval: null },
        // Of a difference on which no gate decided only the sign matters.
        drawn: ({ gate, change }) => gate && change?.decided ? askedOf(gate) : { target: 0 },
        text: ({ change, subject }) =>
          change === undefined && isShared && references.has(variantKey(subject))
            ? "reference"
            : undefined,
        isBounded: ({ change }) => areAll || change?.decided === false,
        ...(areAll && { bounds: boundsName(rows.map(({ gate }) => gate)) }),
      },
      {
        ...{ id: "against", unit: "text", next: true, shown: changes.length > 0 && !isShared },
        value: ({ change }) => change?.against,
      },
      {
        ...invalid!,
        link: (row) => row.tally.invalid > 0 ? link("invalid")(row) : undefined,
      },
      aside,
      RETURNS_CHANGED,
      {
        ...{ id: "cost", unit: "cost", shown: "filled", from: "terminal" },
        value: ({ cost }) => cost,
      },
      {
        ...{ id: "duration", head: "time a trial", unit: "time", shown: "filled" },
        ...{ from: "terminal", value: ({ tally }) => tally.duration || null },
      },
      {
        ...{ id: "tokens", unit: "count", shown: "filled" },
        value: ({ usage: { inputTokens, outputTokens, estimated } }) => (
          { value: inputTokens + outputTokens, estimated }
        ),
      },
    ];
  },
});

/** What a gate asks for, and what is still good enough. */
function askedOf(gate: CompletePolicy): Asked {
  const { pass: least, fail: target, gap } = hypothesesOf(gate);
  return gap === 0 ? { target } : { target, least };
}

/** Returns the places of the pairs on which a gate decided: their bounds stand in the headline. */
export function decidedPlaces(report: Report): ReadonlySet<number> {
  const byKey = new Map(OVERVIEW.rows(report).map((one) => [variantKey(one.subject), one.change]));
  return new Set(report.comparisons.flatMap(({ subject, against, reference }, place) => {
    const change = byKey.get(variantKey(subject));
    // Of a baseline in a file no variant has a row.
    const isDecided = change?.decided && reference &&
      (change.key ?? variantKey(against)) === variantKey(against);
    return isDecided ? [place] : [];
  }));
}
