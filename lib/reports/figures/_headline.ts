/**
 * The figures of the headline: the success of variants against the thresholds of gates, and against a baseline.
 * @module
 */

import { VERDICT_KINDS } from "../../gate/decide.ts";
import { isUpgrade } from "../../gate/policy.ts";
import { defined } from "../../base/json.ts";
import { percent, points } from "../../base/numbers.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { MAX_ROWS, variantKey, verdictsOf } from "../tables/_headline.ts";
import { signedPoints } from "../tables/_comparisons.ts";
import type { Figure } from "../_view.ts";
import { reportWords } from "../_words.ts";
import { labelled, whiskerNote } from "./_figures.ts";
import { seriesOf } from "./_plotting.ts";
import { type Row, rowsSpec } from "./_shapes.ts";

/** Draws success beside the thresholds of gates, and differences that gates decided on beside their margins. */
export function headlineFigures(report: Report): Figure[] {
  const words = reportWords(report);
  const verdicts = verdictsOf(report);
  const seriesFor = seriesOf(report.subjects);
  const rates: Row[] = [];
  const differences: Row[] = [];
  const asked = new Set<string>();
  const margins = new Set<string>();
  for (const one of labelled(chosen(report, verdicts))) {
    const { verdict, gate } = verdicts.get(variantKey(one.subject)) ?? {};
    const evidence = verdict?.evidence;
    const look = { series: seriesFor(one), ...defined({ label: one.label, group: one.group }) };
    const { rate, interval } = one.total;
    if (rate === null) rates.push({ ...look, value: null, interval: null });
    else {
      const isDecided = evidence?.of === "rate";
      const value = isDecided ? evidence.rate : rate;
      const own = { ...look, value, interval: isDecided ? evidence : interval };
      const text = percent(value);
      if (gate === undefined || gate === null || isUpgrade(gate)) rates.push({ ...own, text });
      else {
        const { successRate: target, margin } = gate;
        rates.push({ ...own, text, asked: { target, least: target - margin } });
        asked.add(
          percent(target) + (margin === 0 ? "" : ` less a margin of ${points(margin)}`),
        );
      }
    }
    if (evidence?.of === "difference") {
      const { difference: value } = evidence;
      const least = -(gate?.margin ?? 0);
      const text = signedPoints(value);
      differences.push({ ...look, value, interval: evidence, text, asked: { target: 0, least } });
      margins.add(points(-least));
    }
  }
  const section = "headline";
  return [
    ...(rates.every(({ value }) => value === null) ? [] : [{
      ...{ id: "overview", section, title: words.headline } as const,
      note: [
        ...(asked.size === 0
          ? []
          : [`line and band: what the gate asks for, ${[...asked].join(" or ")}`]),
        whiskerNote(rates, asked.size === 0 ? "" : " or, where a gate decided, its bounds"),
        ...(rates.length < report.subjects.length
          ? [
            `${rates.length} of ${report.subjects.length} variants, those that did not pass before others`,
          ]
          : []),
      ].join("; "),
      spec: rowsSpec(rates, "success rate"),
    }]),
    ...(differences.length === 0 ? [] : [{
      ...{ id: "headline-change", section, title: "Change against the baseline" } as const,
      note: `band: the margin of the gate, ${[...margins].join(" or ")}; whiskers: its bounds`,
      spec: rowsSpec(differences, "difference", { ticks: [] }),
    }]),
  ];
}

/** Returns the variants to draw: those that did not pass first, then the unperturbed ones; those without a rate last. */
function chosen(
  { subjects }: Report,
  verdicts: ReturnType<typeof verdictsOf>,
): readonly VariantMetrics[] {
  const rank = ({ subject, total }: VariantMetrics) => {
    const kind = verdicts.get(variantKey(subject))?.verdict.kind ?? "pass";
    if (kind !== "pass") return VERDICT_KINDS.indexOf(kind);
    const place = total.rate === null ? 2 : subject.perturbation === "none" ? 0 : 1;
    return VERDICT_KINDS.length + place;
  };
  return subjects.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_ROWS);
}
