/**
 * The headline: verdict, success, what changed, and cost of each variant, for who decides.
 * @module
 */

import type { GateReport, ReportedVerdict } from "../../gate/gate_report.ts";
import { VERDICT_KINDS } from "../../gate/decide.ts";
import { type Variant, variantName } from "../../gate/variant.ts";
import { canonicalJson, printable } from "../../base/json.ts";
import { dollars, percent } from "../../base/numbers.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { reportWords } from "../_words.ts";
import { invalidTrials, lessUnsolvable } from "./_success.ts";
import { againstName, signedPoints } from "./_comparisons.ts";
import {
  boundsText,
  type Column,
  grouped,
  layOut,
  linkNames,
  MODEL,
  nameOf,
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
  /** Whether a gate decided on it. */
  readonly decided: boolean;
}

/** A row of the headline: a variant with its verdict, by which gate, and what changed. */
interface Row extends VariantMetrics {
  readonly verdict?: ReportedVerdict;
  readonly gate?: GateReport["gate"];
  readonly change: Change | undefined;
}

/** With more variants than this, the unperturbed ones stand first, and those of the baseline strategy. */
export const MAX_ROWS = 12;

/** Returns the key of a variant: all that tells it from others. */
function variantKey({ model, strategy, perturbation, variant }: Variant): string {
  return canonicalJson([model, strategy, perturbation, variant ?? null]);
}

/** Returns the variants of the headline in their order, for its table and its figure: what did not pass stands first. */
export function headlineRows(report: HeadlineReport): readonly Row[] {
  const { subjects, gates = [] } = report;
  const badness = (kind: ReportedVerdict["kind"] = "pass") => VERDICT_KINDS.indexOf(kind);
  const verdicts = gates.flatMap(({ verdicts, gate }) =>
    verdicts.map((verdict) => ({ verdict, gate }))
  ).toSorted((one, other) => badness(other.verdict.kind) - badness(one.verdict.kind));
  // Where several gates decided on a variant, the worst verdict stands.
  const byKey = new Map(verdicts.map((one) => [variantKey(one.verdict), one]));
  const names = new Map(subjects.map((one) => [variantKey(one.subject), nameOf(one)]));
  const rank = ({ verdict, subject, total }: Row) =>
    8 * badness(verdict?.kind) +
    (subjects.length <= MAX_ROWS ? 0 : 4 * Number(total.rate === null) +
      2 * Number(subject.perturbation !== "none") + Number(subject.strategy !== "baseline"));
  return subjects.map((one): Row => {
    const decided = byKey.get(variantKey(one.subject));
    return { ...one, ...decided, change: changeOf(one, decided?.verdict, report, names) };
  }).sort((one, other) => rank(one) - rank(other));
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

/** Returns what changed by the gate's evidence where it compares, else by the comparison that tells most. */
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
      ...{ difference, interval: { lower, upper }, against, decided: true },
      ...(other === undefined ? {} : { key: variantKey(other.subject) }),
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
    ...(names.has(key) ? { key } : {}),
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

/** What is told of a verdict in a line. */
type Decided = Pick<ReportedVerdict, "kind" | "text"> & Partial<Pick<ReportedVerdict, "evidence">>;

/** Returns the rates that a verdict is on, as they were measured; empty without any. */
export function measuredText({ evidence }: Pick<Decided, "evidence">): string {
  if (evidence === undefined || evidence.graphs === 0) return "";
  return evidence.of === "rate"
    ? `${percent(evidence.rate)} of ${evidence.valid}`
    : `${percent(evidence.candidate)} of ${evidence.graphs}, baseline ${
      percent(evidence.baseline)
    }`;
}

/** Returns the verdict of a report in one line; of several, how many there are of each kind. Omitted without any. */
export function verdictLine({ gates = [] }: Pick<HeadlineReport, "gates">): string | undefined {
  const verdicts = gates.flatMap((gate): readonly Decided[] =>
    gate.text === undefined ? gate.verdicts : [{ kind: "invalid", text: gate.text }]
  );
  const [first, ...others] = verdicts;
  if (first === undefined) return undefined;
  // The sentence after the first says how sure that is.
  if (others.length === 0) {
    const measured = measuredText(first);
    return printable(first.text.replace(/(?<=\.) .*$/s, ""), 500) +
      (measured === "" ? "" : ` Measured: ${measured}.`);
  }
  const byKind = Map.groupBy(verdicts, ({ kind }) => kind);
  const kinds = VERDICT_KINDS.filter((kind) => byKind.has(kind));
  const all = kinds.length === 1
    ? `all ${verdicts.length} verdicts`
    : `of ${verdicts.length} verdicts ${
      kinds.map((kind) => `${byKind.get(kind)!.length} ${kind}`).join(", ")
    }`;
  return `${kinds[0]!.toUpperCase()}: ${all}`;
}
