/**
 * The figures of the headline: the success of variants against the thresholds of gates, and against a baseline.
 * @module
 */

import { hypothesesOf, isUpgrade } from "../../gate/policy.ts";
import { percent, points } from "../../base/numbers.ts";
import type { Report } from "../report.ts";
import { headlineRows, MAX_ROWS } from "../tables/_headline.ts";
import { signedPoints } from "../tables/_comparisons.ts";
import { type Figure, noteOf } from "../_view.ts";
import { reportWords } from "../_words.ts";
import { whiskerNote } from "./_figures.ts";
import { seriesOf } from "./_plotting.ts";
import { type Row, rowsFigure } from "./_shapes.ts";

/** Draws success beside the thresholds of gates, and differences that gates decided on beside what is close enough. */
export function headlineFigures(report: Report): Figure[] {
  const words = reportWords(report);
  const { length } = report.subjects;
  const seriesFor = seriesOf(report.subjects);
  const differences: Row[] = [];
  const asked = new Set<string>();
  const gaps = new Set<string>();
  const rates = headlineRows(report).slice(0, MAX_ROWS).map((one): Row => {
    const { verdict, gate = null, total: { rate, interval } } = one;
    const { evidence } = verdict ?? {};
    const series = seriesFor(one);
    if (evidence?.of === "difference") {
      const { difference: value, lower, upper } = evidence;
      const { pass: least, fail: target, gap } = gate === null
        ? { pass: 0, fail: 0, gap: 0 }
        : hypothesesOf(gate);
      const text = signedPoints(value);
      const asked = { target, least };
      differences.push({ series, value, interval: { lower, upper }, text, asked });
      gaps.add(points(gap));
    }
    if (rate === null) return { series, value: null, interval: null };
    const own = evidence?.of === "rate"
      ? { value: evidence.rate, interval: { lower: evidence.lower, upper: evidence.upper } }
      : { value: rate, interval };
    const row = { series, ...own, text: percent(own.value) };
    if (gate === null || isUpgrade(gate)) return row;
    const { pass: least, fail: target, gap } = hypothesesOf(gate);
    asked.add(percent(target) + (gap === 0 ? "" : ` less ${points(gap)}`));
    return { ...row, asked: { target, least } };
  });
  return [
    ...(rates.every(({ value }) => value === null) ? [] : [{
      ...{ id: "overview", section: "headline", title: words.headline } as const,
      note: noteOf(
        asked.size > 0 && `line and band: what the gate asks for, ${[...asked].join(" or ")}`,
        whiskerNote(rates, asked.size === 0 ? "" : " or, where a gate decided, its bounds"),
        rates.length < length && `the first ${rates.length} of ${length} variants, as in the table`,
      ),
      ...rowsFigure(rates, words.rate),
    }]),
    ...(differences.length === 0 ? [] : [{
      ...{ id: "headline-change", section: "headline" } as const,
      title: "Change against the baseline",
      note: `band: close enough for the gate, ${[...gaps].join(" or ")}; whiskers: its bounds`,
      ...rowsFigure(differences, "difference"),
    }]),
  ];
}
