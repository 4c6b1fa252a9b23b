/**
 * The figures of the headline: the success of variants against the thresholds of gates, and against a baseline.
 * @module
 */

import { VERDICT_KINDS } from "../../gate/decide.ts";
import { isUpgrade } from "../../gate/policy.ts";
import { percent, points } from "../../base/numbers.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { MAX_ROWS, variantKey, verdictsOf } from "../tables/_headline.ts";
import { nameOf } from "../tables/table.ts";
import type { Figure } from "../_view.ts";
import { reportWords } from "../_words.ts";
import { distinct, seriesMark } from "./_plotting.ts";

/** Width of the axis, and height of a row, in pixels. */
const [WIDTH, STEP] = [400, 38];

/** A row: a point with its interval, and the requirement of a gate, if one decided on it. */
interface Row {
  /** The label above the point. */
  readonly label: string;
  readonly colour: string;
  readonly value: number;
  readonly lower: number | null;
  readonly upper: number | null;
  /** What the gate asks for, as a number and in words, and what is still good enough. */
  readonly target?: number;
  readonly asked?: string;
  readonly least?: number;
}

/** Draws success beside the thresholds of gates, and differences that gates decided on beside their margins. */
export function headlineFigures(report: Report): Figure[] {
  const words = reportWords(report);
  const verdicts = verdictsOf(report);
  const labels = distinct(report.subjects.map(nameOf));
  const rows = chosen(report, verdicts).map((one) => {
    const place = report.subjects.indexOf(one);
    const { verdict, gate } = verdicts.get(variantKey(one.subject)) ?? {};
    return {
      ...{ one, gate, evidence: verdict?.evidence },
      look: { label: labels[place]!, colour: seriesMark(place).colour },
    };
  });
  const rates = rows.flatMap(({ one: { total }, gate, evidence, look }): Row[] => {
    if (total.rate === null) return [];
    const isDecided = evidence?.of === "rate";
    const { lower, upper }: Bounds | { lower: null; upper: null } = isDecided
      ? evidence
      : total.interval ?? { lower: null, upper: null };
    const value = isDecided ? evidence.rate : total.rate;
    const isBound = gate !== undefined && gate !== null && !isUpgrade(gate);
    return [{
      ...{ ...look, value, lower, upper },
      ...(isBound
        ? {
          target: gate.successRate,
          asked: percent(gate.successRate),
          least: gate.successRate - gate.margin,
        }
        : {}),
    }];
  });
  const differences = rows.flatMap(({ gate, evidence, look }): Row[] => {
    if (evidence?.of !== "difference") return [];
    const { difference: value, lower, upper } = evidence;
    const least = -(gate?.margin ?? 0);
    return [{ ...look, value, lower, upper, target: 0, asked: "no change", least }];
  });
  const targets = [
    ...new Set(rates.flatMap(({ target, least }) =>
      target === undefined ? [] : [
        `${percent(target)}${
          least === target ? "" : ` less a margin of ${points(target - least!)}`
        }`,
      ]
    )),
  ];
  const margins = [...new Set(differences.map(({ least }) => points(-least!)))];
  const most = differences.reduce(
    (most, row) =>
      Math.max(most, ...[row.lower, row.upper, row.least].map((end) => Math.abs(end ?? 0))),
    0.05,
  );
  const end = Math.ceil(10 * most) / 10;
  return [
    ...(rates.length === 0 ? [] : [{
      ...{ id: "headline", section: "headline" as const, title: words.headline },
      note: targets.length === 0
        ? "95% intervals"
        : `line and band: what the gate asks for, ${
          targets.join(" or ")
        }; intervals: its bounds, ` +
          "95% without a gate",
      spec: rowsSpec(rates, [0, 1], {
        title: `share ${words.solved}`,
        format: ".0%",
        tickCount: 5,
      }),
    }]),
    ...(differences.length === 0 ? [] : [{
      ...{ id: "headline-change", section: "headline" as const },
      title: "Change against the baseline",
      note: `band: the margin of the gate, ${margins.join(" or ")}; intervals: its bounds`,
      spec: rowsSpec(differences, [-end, end], {
        title: "difference in percentage points",
        labelExpr: "datum.value === 0 ? '0' : format(100 * datum.value, '+')",
        tickCount: 5,
      }),
    }]),
  ];
}

/** Returns the variants to draw: those that did not pass first, then the unperturbed ones. */
function chosen(
  { subjects }: Report,
  verdicts: ReturnType<typeof verdictsOf>,
): readonly VariantMetrics[] {
  const rank = ({ subject }: VariantMetrics) => {
    const kind = verdicts.get(variantKey(subject))?.verdict.kind ?? "pass";
    const isPlain = subject.perturbation === "none";
    return kind === "pass" ? VERDICT_KINDS.length + Number(!isPlain) : VERDICT_KINDS.indexOf(kind);
  };
  return subjects.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_ROWS);
}

/** Returns a figure of rows, each with its label above its point, as narrow screens have no space beside it. */
function rowsSpec(rows: readonly Row[], domain: readonly [number, number], axis: object): object {
  const along = {
    type: "quantitative",
    scale: { domain, nice: false },
    axis: { ...axis, grid: true },
  };
  const has = (field: string) => ({ filter: { field, valid: true } });
  const own = { field: "colour", type: "nominal", scale: null };
  const asked = new Map(rows.map(({ target, asked }) => [target, { target, asked }]));
  asked.delete(undefined);
  return {
    data: { values: rows },
    width: WIDTH,
    height: { step: STEP },
    encoding: {
      y: {
        ...{ field: "label", type: "nominal", axis: null },
        // Without space between them, the bands of rows are one.
        scale: { domain: rows.map(({ label }) => label), padding: 0 },
      },
    },
    layer: [
      {
        transform: [has("target")],
        mark: { type: "bar", height: STEP, color: "var(--grid)" },
        encoding: { x: { field: "least", ...along, stack: null }, x2: { field: "target" } },
      },
      {
        transform: [has("target")],
        mark: { type: "tick", size: STEP, thickness: 1.5, color: "var(--ink)" },
        encoding: { x: { field: "target", ...along } },
      },
      {
        data: { values: [...asked.values()] },
        mark: { type: "text", baseline: "bottom", fontSize: 12, color: "var(--ink)" },
        encoding: {
          x: { field: "target", ...along },
          y: { value: -3 },
          text: { field: "asked" },
        },
      },
      {
        transform: [has("lower")],
        mark: { type: "rule", strokeWidth: 2, yOffset: 8 },
        encoding: { x: { field: "lower", ...along }, x2: { field: "upper" }, color: own },
      },
      {
        mark: { type: "point", filled: true, size: 90, opacity: 1, yOffset: 8 },
        encoding: { x: { field: "value", ...along }, color: own },
      },
      {
        mark: { type: "text", align: "left", dx: 4, dy: -8, fontSize: 12, color: "var(--ink)" },
        encoding: { x: { datum: domain[0], ...along }, text: { field: "label" } },
      },
    ],
  };
}
