/**
 * Answers: what a report says before its tables, in a sentence or two, for who decides.
 * @module
 */

import { printable } from "../base/json.ts";
import { countText, percent, points, probability } from "../base/numbers.ts";
import { VERDICT_KINDS } from "../gate/decide.ts";
import { worstKind } from "../gate/decide_trials.ts";
import type { GateReport, ReportedVerdict } from "../gate/gate_report.ts";
import { hypothesesOf, isUpgrade } from "../gate/policy.ts";
import { detectableFall } from "../statistics/sample_size.ts";
import { SIGNIFICANT, testedPairs, unitsOf } from "./metrics/_comparisons.ts";
import { OVERVIEW } from "./metrics/_headline.ts";
import type { Report } from "./report.ts";
import { nameText } from "./text_table.ts";

/** Longer names are shortened in a sentence. */
const MAX_NAME = 60;

/**
 * Says in a sentence whether a variant is worse than what it is compared with: of several variants, that of which the
 * worst is known. Omitted where there is no comparison, or a gate decided on all.
 */
export function headlineText(report: Report): string | undefined {
  const compared = OVERVIEW.rows(report).flatMap(({ change, ...one }) => {
    const { pair, against } = change ?? {};
    const { success, test } = pair ?? {};
    if (pair === undefined || !success || !test) return [];
    const isProved = test.adjusted <= SIGNIFICANT;
    const order = success.difference - (isProved && success.difference < 0 ? 2 : 0);
    return [{ pair, success, test, isProved, order, against: against!, one }];
  });
  const [worst] = compared.toSorted((one, other) => one.order - other.order);
  if (worst === undefined) return undefined;
  const { pair, success: { difference, gained, lost }, test, isProved } = worst;
  const { words, nameOf, options } = report;
  const tested = testedPairs(report);
  const [own, other] = [nameOf(worst.one), worst.against].map((name) => nameText(name, MAX_NAME));
  const size = `${(100 * Math.abs(difference)).toFixed(1)} points ${
    difference < 0 ? "less" : "more"
  }`;
  const unit = unitsOf([pair], words);
  const on = `on ${countText(pair.graphs, unit.slice(0, -1))}`;
  const p = options.compared?.anytime
    ? ""
    : ` (${tested > 1 ? "adjusted p" : "p"} ${probability(test.adjusted)})`;
  const many = compared.length;
  const solved = (many === 1 ? "" : `The worst of ${many}: `) + `${own} ${words.solved} ` +
    (difference === 0 ? `as much as ${other} ${on}` : `${size} than ${other} ${on}${p}`);
  // No test of a fixed number of trials holds where results can end the run.
  if (options.compared?.anytime) {
    return `${solved}: results could end the run, so only its gate decides.`;
  }
  if (isProved) {
    const passes = worst.one.verdict?.kind === "pass" ? ", though it passes its gate" : "";
    return `${solved}: ${difference < 0 ? `worse${passes}` : "better"}.`;
  }
  const least = detectableFall(pair.graphs, (gained + lost) / pair.graphs, {
    // Holm's adjustment divides the level of the clearest pair by the number of pairs.
    level: SIGNIFICANT / tested,
    power: POWER,
  });
  const found = least !== null && least > Math.abs(difference)
    ? `; a fall of ${points(Math.ceil(100 * least) / 100)} would have been found in ${
      askedText(POWER)
    } of such runs`
    : "";
  if (difference === 0) return `${solved}: no difference found${found}.`;
  return `${solved}, which may be chance${found || `: more ${unit} would tell`}.`;
}

/** How often a fall that a report names would have been found. */
const POWER = 0.8;

/** Returns the rates that a verdict is on, as they were measured; empty without any. */
export function measuredText({ evidence }: Pick<ReportedVerdict, "evidence">): string {
  if (evidence === undefined || evidence.graphs === 0) return "";
  return evidence.of === "rate"
    ? `${percent(evidence.rate)} of ${evidence.valid}`
    : `${percent(evidence.candidate)}, baseline ${percent(evidence.baseline)}`;
}

/** Formats a share that was asked for, such as `70%`. */
function askedText(share: number): string {
  return `${Number((100 * share).toFixed(2))}%`;
}

/** Returns the name of a verdict's variant in a report, which may have short names. */
export function verdictNameIn(
  { nameOf }: Pick<Report, "nameOf">,
  verdict: ReportedVerdict,
): string {
  return printable(nameOf({ subject: verdict, simulated: verdict.simulated }));
}

/** What a gate found about the mean that it asks for. */
const FOUND = {
  rate: { pass: "proved", fail: "it is below, proved" },
  upgrade: { pass: "proved", fail: "it fell, proved" },
};

/** Says that trials cannot tell, and how many would where that is known. */
function undecidedText(verdict: Extract<ReportedVerdict, { kind: "undecided" }>): string {
  const { moreTrials, evidence, stopped } = verdict;
  const isKnown = moreTrials !== null && evidence.method !== "sequential" && stopped === undefined;
  const more = isKnown ? `; a run with about ${countText(moreTrials, "more trial")} would` : "";
  return `these trials cannot tell${more}`;
}

/**
 * Says what a gate asks for and whether it is proved, such as `needs 70% (60% with tolerance): proved`; of a gate that
 * decided by anything else, what it claims.
 */
export function verdictText(verdict: ReportedVerdict, gate: GateReport["gate"]): string {
  const { kind, claim, baseline = "the baseline" } = verdict;
  const isOfMean = gate !== null && gate.every === undefined && !("never" in verdict) &&
    !("ceilings" in verdict && verdict.ceilings?.some(({ exceeded }) => exceeded));
  if (!isOfMean || kind === "invalid" || kind === "continue") return claim.replace(/\.$/, "");
  const { pass, gap } = hypothesesOf(gate);
  const found = kind === "undecided"
    ? undecidedText(verdict)
    : FOUND[isUpgrade(gate) ? "upgrade" : "rate"][kind];
  if (isUpgrade(gate)) {
    const asked = gap === 0
      ? `must not fall below ${printable(baseline)}`
      : `may fall ${points(gap)} below ${printable(baseline)}`;
    return `${asked}: ${found}`;
  }
  const tolerance = gap === 0 ? "" : ` (${askedText(pass)} with tolerance)`;
  return `needs ${askedText(gate.successRate)}${tolerance}: ${found}`;
}

/**
 * Returns the verdict of gates in one line, which names the variant where `report` has others; of several verdicts, how
 * many there are of each kind. Omitted without any.
 */
export function verdictLine(
  gates: readonly GateReport[],
  report?: Pick<Report, "nameOf" | "subjects">,
): string | undefined {
  const verdicts = gates.flatMap(({ verdicts, gate }) => verdicts.map((one) => ({ ...one, gate })));
  const problem = gates.find(({ text }) => text !== undefined)?.text;
  const [first, ...others] = verdicts;
  if (first === undefined) return problem;
  if (others.length === 0 && problem === undefined) {
    const measured = measuredText(first);
    const name = report && report.subjects.length > 1 ? `${verdictNameIn(report, first)}: ` : "";
    return printable(
      `${name}${first.kind.toUpperCase()}: ${verdictText(first, first.gate)}.`,
      500,
    ) +
      (measured === "" ? "" : ` Measured: ${measured}.`);
  }
  const all = [...verdicts, ...(problem === undefined ? [] : [{ kind: "invalid" as const }])];
  const byKind = Map.groupBy(all, ({ kind }) => kind);
  const kinds = VERDICT_KINDS.filter((kind) => byKind.has(kind));
  const counts = kinds.length === 1
    ? `all ${all.length} verdicts`
    : `of ${all.length} verdicts ${
      kinds.map((kind) => `${byKind.get(kind)!.length} ${kind}`).join(", ")
    }`;
  return `${worstKind(all).toUpperCase()}: ${counts}`;
}
