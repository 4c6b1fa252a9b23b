/**
 * The headline: verdict, success, what changed, and cost of each variant, for who decides.
 * @module
 */

import { type GateReport, type ReportedVerdict, verdictName } from "../../gate/gate_report.ts";
import type { ComparedPair } from "../../gate/comparison.ts";
import { hypothesesOf } from "../../gate/policy.ts";
import { VERDICT_KINDS } from "../../gate/decide.ts";
import { worstKind } from "../../gate/decide_trials.ts";
import { type Variant, variantName } from "../../gate/variant.ts";
import { canonicalJson, listText, printable } from "../../base/json.ts";
import { countText, dollars, grouped, percent, probability } from "../../base/numbers.ts";
import { isRemoving } from "../../perturbations/ids.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { reportWords } from "../_words.ts";
import { changedReturnsOf, invalidTrials, lessUnsolvable } from "./_success.ts";
import { againstName, signedPoints, unitsOf } from "./_comparisons.ts";
import {
  boundsText,
  type Column,
  layOut,
  linkNames,
  MODEL,
  nameOf,
  nameText,
  NOTHING,
  trialsLink,
} from "./table.ts";
import { noteOf, type Table } from "../_view.ts";

/** The parts of a report that its headline is made of. */
export interface HeadlineReport
  extends Pick<Report, "subjects" | "comparisons" | "unit" | "callSets"> {
  readonly gates?: readonly GateReport[];
}

/** What changed against another variant. */
interface Change {
  readonly difference: number;
  readonly interval: Bounds | null;
  /** The name of the other variant, and its key; a baseline from a file has none. */
  readonly against: string;
  readonly key?: string;
  /** Whether a gate decided on it, and if not, the pair that was compared. */
  readonly decided: boolean;
  readonly pair?: ComparedPair;
}

/** A row of the headline: a variant with its verdict, by which gate, and what changed. */
interface Row extends VariantMetrics {
  readonly verdict?: ReportedVerdict;
  readonly gate?: GateReport["gate"];
  readonly change: Change | undefined;
}

/** With more variants than this, those with the lowest success stand first. */
export const MAX_ROWS = 12;

/** Returns the key of a variant: all that distinguishes it from others. */
function variantKey({ model, strategy, perturbation, variant }: Variant): string {
  return canonicalJson([model, strategy, perturbation, variant ?? null]);
}

/**
 * Returns the variants of the headline in their order, for its table and its figure: what did not pass stands first. Of
 * many variants the lowest follow, of equal ones those that are unperturbed, then those of the plain strategy; among
 * the first ones what others are compared with stands on top of these.
 */
export function headlineRows(report: HeadlineReport): readonly Row[] {
  const { subjects, gates = [] } = report;
  const badness = (kind: ReportedVerdict["kind"] = "pass") => VERDICT_KINDS.indexOf(kind);
  const verdicts = gates.flatMap(({ verdicts, gate }) =>
    verdicts.map((verdict) => ({ verdict, gate }))
  ).toSorted((one, other) => badness(other.verdict.kind) - badness(one.verdict.kind));
  // Where several gates decided on a variant, the worst verdict stands.
  const byKey = new Map(verdicts.map((one) => [variantKey(one.verdict), one]));
  const names = new Map(subjects.map((one) => [variantKey(one.subject), nameOf(one)]));
  // Nothing is known of those without a verdict, where others have one.
  const bad = ({ verdict }: Row) => badness(verdict?.kind) - (verdict === undefined ? 0.5 : 0);
  const plainness = ({ subject }: Row) =>
    2 * Number(subject.perturbation !== "none") + Number(subject.strategy !== "plain");
  // Where no task can be solved, a rate of zero is no bad news.
  const rateOf = ({ subject, total }: Row) =>
    isRemoving(subject.perturbation) ? 2 : total.rate ?? 2;
  const rows = subjects.map((one): Row => {
    const decided = byKey.get(variantKey(one.subject));
    return { ...one, ...decided, change: changeOf(one, decided?.verdict, report, names) };
  }).sort((one, other) => bad(one) - bad(other));
  if (rows.length <= MAX_ROWS) return rows;
  rows.sort((one, other) =>
    bad(one) - bad(other) || rateOf(one) - rateOf(other) ||
    plainness(one) - plainness(other)
  );
  const first = rows.slice(0, MAX_ROWS);
  const place = (one: Row, own: number) => {
    const key = variantKey(one.subject);
    const under = first.findIndex((other) => other.change?.key === key && bad(other) === bad(one));
    return under < 0 || under > own ? own : under - 0.5;
  };
  const placed = first.map((one, own) => ({ one, place: place(one, own) }));
  placed.sort((one, other) => one.place - other.place);
  return [...placed.map(({ one }) => one), ...rows.slice(MAX_ROWS)];
}

/** Returns what difference is close enough for the gate that decided on a pair; 0 for pairs that none decided on. */
export function decidedPairs(
  report: HeadlineReport,
): (pair: Pick<ComparedPair, "subject" | "against" | "reference">) => number {
  const byKey = new Map(headlineRows(report).map((one) => [variantKey(one.subject), one]));
  return ({ subject, against, reference }) => {
    const { change, gate } = byKey.get(variantKey(subject)) ?? {};
    // Of a baseline in a file no variant has a row.
    const isDecided = change?.decided && reference &&
      (change.key ?? variantKey(against)) === variantKey(against);
    return isDecided && gate ? hypothesesOf(gate).gap : 0;
  };
}

/** Returns success, what changed, and the cost of each variant, in one row. */
export function overviewTable(report: HeadlineReport): Table {
  const { subjects } = report;
  const words = reportWords(report);
  const rows = headlineRows(report);
  const changes = rows.flatMap(({ change }) => change ?? []);
  const references = new Set(changes.map(({ key }) => key));
  const isShared = references.size === 1 && !references.has(undefined);
  const called = linkNames(subjects);
  const columns: Column<Row>[] = [
    { ...MODEL, link: (one) => trialsLink({ subject: called.get(one.subject)! }) },
    {
      head: "verdict",
      cell: ({ verdict }) => verdict?.kind.toUpperCase() ?? NOTHING,
      shown: "filled",
    },
    {
      head: words.solved,
      cell: ({ total: { rate, valid } }) =>
        rate === null ? NOTHING : `${percent(rate)} of ${valid}`,
      link: (one) =>
        one.total.solved < one.total.valid
          ? trialsLink({ subject: called.get(one.subject)!, outcome: "failed" })
          : undefined,
    },
    { head: "95% interval", next: true, cell: ({ total }) => boundsText(total.interval) },
    {
      head: "change",
      cell: ({ change, subject }) =>
        change !== undefined
          ? signedPoints(change.difference)
          : isShared && references.has(variantKey(subject))
          ? "reference"
          : NOTHING,
      shown: changes.length > 0,
    },
    {
      head: "its interval",
      next: true,
      cell: ({ change }) => boundsText(change?.interval ?? null, signedPoints),
      shown: changes.length > 0,
    },
    {
      head: "against",
      next: true,
      text: true,
      cell: ({ change }) => change?.against ?? NOTHING,
      shown: changes.length > 0 && !isShared,
    },
    {
      head: "invalid",
      cell: ({ total }) => invalidTrials(total),
      link: (one) =>
        invalidTrials(one.total) > 0
          ? trialsLink({ subject: called.get(one.subject)!, outcome: "invalid" })
          : undefined,
      shown: "filled",
    },
    { head: "unchanged", cell: ({ total }) => total.unchanged, shown: "filled" },
    {
      head: "a return changed",
      cell: ({ total }) => changedReturnsOf(total),
      shown: rows.some(({ total }) => total.returnsChanged !== undefined),
    },
    { head: "unsolvable", cell: ({ total }) => total.unsolvable ?? 0, shown: "filled" },
    {
      head: "cost",
      cell: ({ cost }) => cost === null ? NOTHING : dollars(cost),
      shown: "filled",
    },
    { head: "time a trial", cell: ({ total }) => timeText(total.duration), shown: "filled" },
    { head: "tokens", cell: tokensOf, shown: "filled" },
  ];
  return {
    id: "overview",
    section: "headline",
    title: words.headline,
    note: noteOf(
      `${words.solved}: share of valid trials${
        lessUnsolvable(subjects.map(({ total }) => total))
      }, with its 95% interval`,
      changes.length > 0 &&
        `change: in percentage points, on the same ${words.tasks}, with ${
          changes.some(({ decided }) => decided)
            ? "the bounds of the verdict or, without one, "
            : ""
        }its 95% interval`,
      rows.length > MAX_ROWS &&
        `${
          rows.some(({ verdict }) => verdict) ? "what did not pass first, then " : ""
        }the lowest first`,
      rows.some(({ total }) => total.duration !== null && total.duration > 0) &&
        "time: mean of valid trials",
      subjects.some(({ usage }) => usage.estimated) &&
        "~: tokens estimated in part, as a server reported none",
    ),
    rows: layOut(rows, columns),
  };
}

/** What a pair of variants differs in, the likeliest question first. */
const QUESTIONS = ["perturbation", "strategy", "variant", "model"] as const;

/** Returns what changed by the gate's evidence where it compares, else by the clearest comparison. */
function changeOf(
  { subject }: VariantMetrics,
  verdict: ReportedVerdict | undefined,
  { comparisons, subjects }: HeadlineReport,
  names: ReadonlyMap<string, string>,
): Change | undefined {
  const { evidence, baseline } = verdict ?? {};
  if (evidence?.of === "difference") {
    const { difference, lower, upper } = evidence;
    // Within a run the baseline has a row; one from a file has none.
    const other = subjects.find((one) => variantName(one.subject) === baseline);
    const against = other === undefined ? baseline ?? "the baseline" : nameOf(other);
    return {
      ...{ difference, interval: outwards({ lower, upper }), against, decided: true },
      key: other && variantKey(other.subject),
    };
  }
  const own = comparisons.filter((pair) => variantKey(pair.subject) === variantKey(subject))
    .flatMap(({ success, ...pair }) => {
      if (success === null) return [];
      const key = variantKey(pair.against);
      const place = [...names.keys()].indexOf(key);
      const rank = QUESTIONS.indexOf(pair.of) + (pair.reference ? 0 : QUESTIONS.length);
      return [{ success, key, pair, order: rank * (names.size + 1) + place }];
    });
  const [first] = own.sort((one, other) => one.order - other.order);
  if (first === undefined) return undefined;
  const { success: { difference, interval }, key, pair } = first;
  return {
    ...{ difference, interval, against: names.get(key) ?? againstName(pair), decided: false },
    pair: { ...pair, success: first.success },
    ...(names.has(key) ? { key } : {}),
  };
}

/** Rounds bounds to tenths of a point so that none looks better than it is, as texts of verdicts do. */
function outwards({ lower, upper }: Bounds): Bounds {
  return {
    lower: Math.floor(1000 * lower + 1e-6) / 1000,
    upper: Math.ceil(1000 * upper - 1e-6) / 1000,
  };
}

function tokensOf({ usage: { inputTokens, outputTokens, estimated } }: VariantMetrics): string {
  const total = inputTokens + outputTokens;
  return total === 0 ? NOTHING : `${estimated ? "~" : ""}${grouped(total)}`;
}

/** Formats a time in milliseconds. */
export function timeText(duration: number | null): string {
  if (duration === null || duration === 0) return NOTHING;
  if (duration < 0.5) return "below 1 ms";
  if (duration < 999.5) return `${Math.round(duration)} ms`;
  const seconds = duration / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The parts of a verdict in one line. */
interface Decided extends Pick<ReportedVerdict, "kind" | "evidence"> {
  /** What it says, in one sentence. */
  readonly line: string;
  readonly name?: string;
}

/** Returns the rates that a verdict is on, as they were measured; empty without any. */
export function measuredText({ evidence }: Pick<Decided, "evidence">): string {
  if (evidence === undefined || evidence.graphs === 0) return "";
  return evidence.of === "rate"
    ? `${percent(evidence.rate)} of ${evidence.valid}`
    : `${percent(evidence.candidate)} of ${evidence.graphs}, baseline ${
      percent(evidence.baseline)
    }`;
}

/** Pairs up to this adjusted p-value differ. */
const SIGNIFICANT = 0.05;
/** Longer names are shortened in a sentence. */
const MAX_NAME = 60;

/**
 * Says in a sentence whether a variant is worse than what it is compared with: of several that are compared with the
 * same one, that of which the worst is known. Omitted where there is no such comparison, or a gate decided on all.
 */
function answerLine(report: HeadlineReport): string | undefined {
  const compared = headlineRows(report).flatMap(({ change, ...one }) => {
    const { pair, key, against } = change ?? {};
    const { success, test } = pair ?? {};
    if (pair === undefined || !success || !test) return [];
    const isProved = test.adjusted <= SIGNIFICANT;
    const order = success.difference - (isProved && success.difference < 0 ? 2 : 0);
    return [{ pair, success, test, isProved, order, key: key ?? against, against: against!, one }];
  });
  const [worst] = compared.toSorted((one, other) => one.order - other.order);
  if (worst === undefined || new Set(compared.map(({ key }) => key)).size > 1) return undefined;
  const { pair, success: { difference, interval }, test, isProved } = worst;
  const words = reportWords(report);
  const [own, other] = [nameOf(worst.one), worst.against].map((name) => nameText(name, MAX_NAME));
  const units = unitsOf([pair], words);
  const isLess = difference < 0;
  const sign = isProved && isLess ? -1 : 1;
  const bounds = [interval?.lower, interval?.upper].flatMap((bound) =>
    bound === undefined ? [] : sign * bound
  ).sort((one, other) => one - other);
  const size = (share: number) => isProved ? (100 * share).toFixed(1) : signedPoints(share);
  const told = [
    ...(bounds.length === 0 ? [] : [`${bounds.map(size).join(" to ")} points`]),
    `${report.comparisons.length > 1 ? "adjusted p" : "p"} ${probability(test.adjusted)}`,
  ].join(", ");
  const on = `on ${countText(pair.graphs, units.slice(0, -1))} (${told})`;
  const of = compared.length === 1 ? undefined : `The worst of ${compared.length}: `;
  return (of ?? "") +
    (isProved
      ? `${own} ${words.solved} ${size(Math.abs(difference))} points ${
        isLess ? "less" : "more"
      } than ${other} ${on}: ${isLess ? "worse" : "better"}.`
      : `${of === undefined ? "No" : "no"} difference found between ${own} and ${other} ${on}.`);
}

/**
 * Says on how many variants no gate decided, those aside that a gate compared with. Omitted where there is none, or no
 * verdict at all.
 */
function withoutVerdict(report: HeadlineReport): string | undefined {
  const rows = headlineRows(report);
  const baselines = new Set(rows.map(({ change }) => change?.decided ? change.key : undefined));
  const others = rows.filter(({ verdict, subject }) =>
    verdict === undefined && !baselines.has(variantKey(subject))
  );
  if (others.length === 0 || rows.every(({ verdict }) => verdict === undefined)) return undefined;
  const names = listText(others.map((one) => nameText(nameOf(one), MAX_NAME)), MOST_NAMED);
  return `Without a verdict: ${names}.`;
}

/** Names that a sentence lists, at most. */
const MOST_NAMED = 3;

/** Returns what a report says before its tables: whether the new one is worse, and what no gate decided on. */
export function headlineText(report: HeadlineReport): string | undefined {
  const sentences = [answerLine(report), withoutVerdict(report)].filter((one) => one !== undefined);
  return sentences.length === 0 ? undefined : sentences.join(" ");
}

/**
 * Returns the verdict of a report in one line, which names the variant where there are others; of several verdicts, how
 * many there are of each kind. Omitted without any.
 */
export function verdictLine(
  { gates = [], subjects = [] }: Pick<HeadlineReport, "gates"> & Partial<HeadlineReport>,
): string | undefined {
  const verdicts = gates.flatMap((gate): readonly Decided[] =>
    gate.text === undefined
      ? gate.verdicts.map((one) => ({
        ...one,
        name: verdictName(one),
        line: `${one.kind.toUpperCase()}: ${one.claim}`,
      }))
      : [{ kind: "invalid", line: gate.text }]
  );
  const [first, ...others] = verdicts;
  if (first === undefined) return undefined;
  if (others.length === 0) {
    const measured = measuredText(first);
    const name = subjects.length > 1 && first.name !== undefined ? `${first.name}: ` : "";
    return printable(name + first.line, 500) +
      (measured === "" ? "" : ` Measured: ${measured}.`);
  }
  const byKind = Map.groupBy(verdicts, ({ kind }) => kind);
  const kinds = VERDICT_KINDS.filter((kind) => byKind.has(kind));
  const all = kinds.length === 1
    ? `all ${verdicts.length} verdicts`
    : `of ${verdicts.length} verdicts ${
      kinds.map((kind) => `${byKind.get(kind)!.length} ${kind}`).join(", ")
    }`;
  return `${worstKind(verdicts).toUpperCase()}: ${all}`;
}
