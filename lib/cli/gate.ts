/**
 * `gate`: the decision over journals.
 * @module
 */

import { readBaseline } from "../runs/baseline.ts";
import { parseWith, readJsonc } from "../base/input.ts";
import { type CompletePolicy, completePolicy, GATE_POLICY, isUpgrade } from "../gate/policy.ts";
import { PRICES } from "../models/prices.ts";
import { gateToMarkdown } from "../reports/markdown.ts";
import { renderGate } from "../reports/terminal.ts";
import { type GateReport, reportProblem } from "../gate/gate_report.ts";
import { decideResults, undecidableReason } from "../runs/decide_results.ts";
import { renderVerdicts } from "../reports/verdicts.ts";
import { readResults, type Results } from "../runs/journal/results.ts";
import { summarizeJob } from "../reports/job_summary.ts";
import { Arguments, userPath } from "./arguments.ts";

export const GATE_HELP = `toolgate gate F.jsonl...: decides over the trials of journals

Several journals are the shards of one run. Without options the gate is the one that the plan
declares; options override it. A sequential gate cannot be overridden: its run stopped by its rule.

  --success-rate R   the success rate that is wanted, above 0, at most 1
  --baseline F       in place of a success rate: no worse than these results on the same graphs;
                     a journal, or what accept wrote
  --margin M         how far below it is still good enough (default 0.05)
  --confidence C     confidence of each bound (default 0.95)
  --coverage C       share of the planned trials that must be valid (default 0.95)
  --prices F.jsonc   what models cost, for ceilings in US dollars:
                     { "MODEL": { "input": 1.25, "output": 10 } } in dollars a million tokens
  --json             prints the verdicts, and how strategies compare, as JSON, without tables

Beneath the verdicts each strategy is compared with the baseline of the same model, on the same graphs:
for reading, it decides nothing.

Exit code 0 pass, 1 fail, 3 undecided or invalid.`;

/** Prints tables and verdicts to stdout. */
export function gate(arguments_: readonly string[]): number {
  const options = new Arguments("gate", arguments_, {
    values: ["success-rate", "baseline", "margin", "confidence", "coverage", "prices"],
    switches: ["json"],
  });
  if (options.operands.length === 0) {
    throw options.error("it takes one journal or more: none is given");
  }
  const asJson = options.has("json");
  givenPolicy(options);
  const results = readResults(options.operands.map(userPath));
  for (const notice of results.notices) console.error(notice);
  const fault = undecidableReason(results);
  if (fault !== undefined) {
    if (results.problem !== undefined && results.problem === results.missing) {
      console.error("Give the journals of all shards; what is lost can be run again with --shard");
    }
    const decision = reportProblem(results.suite, fault);
    return tell(decision, asJson, renderVerdicts(decision));
  }
  const policy = policyOf(options, results);
  const baseline = baselineOf(policy, options);
  for (const notice of baseline?.notices ?? []) console.error(notice);
  const table = options.text("prices");
  const prices = table === undefined ? undefined : readJsonc(userPath(table), PRICES);
  const decision = decideResults(results, policy, { baseline, prices });
  if (decision.verdicts.length === 0) {
    throw options.error("there is nothing to compare with the baseline but the baseline itself");
  }
  return tell(decision, asJson, renderGate(results.trials, decision));
}

/** Prints a decision, and gives its exit code. */
function tell(decision: GateReport, asJson: boolean, text: string): number {
  console.log(asJson ? JSON.stringify(decision, null, 2) : text);
  summarizeJob(gateToMarkdown(decision));
  return decision.exitCode;
}

/** Files lie where the user stands, also the one that the plan names. */
function baselineOf(policy: CompletePolicy, options: Arguments) {
  const given = options.text("baseline");
  if (given !== undefined) return readBaseline(userPath(given));
  if (!isUpgrade(policy) || policy.baseline.file === undefined) return undefined;
  return readBaseline(userPath(policy.baseline.file));
}

/** What the options ask for. They are checked by themselves first: a slip in them is no verdict. */
function givenPolicy(options: Arguments) {
  const given = {
    successRate: options.number("success-rate"),
    margin: options.number("margin"),
    confidence: options.number("confidence"),
    coverage: options.number("coverage"),
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (given.successRate !== undefined) parseWith(GATE_POLICY, set, OPTIONS_SOURCE);
  return set;
}

const OPTIONS_SOURCE = "the gate with the options given";

function policyOf(options: Arguments, { gate: declared, rule }: Results): CompletePolicy {
  const baseline = options.text("baseline");
  const set = {
    ...givenPolicy(options),
    // What else the plan says of its baseline, such as the model, holds for this file as well.
    ...(baseline === undefined ? {} : {
      baseline: {
        ...(declared !== undefined && isUpgrade(declared) ? declared.baseline : {}),
        file: baseline,
      },
    }),
  };
  const successRate = options.number("success-rate");
  if (successRate !== undefined && baseline !== undefined) {
    throw options.error("--success-rate and --baseline are two gates: give one of them");
  }
  if (declared === undefined && successRate === undefined && baseline === undefined) {
    throw options.error("the plan declares no gate, so --success-rate or --baseline is needed");
  }
  if (rule !== undefined && Object.keys(set).some((name) => name !== "baseline")) {
    throw options.error(
      "the plan's gate is sequential: its run stopped by its rule, which holds for no other gate",
    );
  }
  if (rule !== undefined && baseline !== undefined && !isUpgrade(declared!)) {
    throw options.error(
      "the plan's gate is sequential and against a success rate: its run stopped too early for " +
        "--baseline",
    );
  }
  const kept = declared === undefined ? {} : withoutOther(declared, successRate, baseline);
  const policy = parseWith(GATE_POLICY, { ...kept, ...set }, OPTIONS_SOURCE);
  return completePolicy(policy);
}

/** What the plan declares, without what belongs to the other kind of gate. */
function withoutOther(
  declared: CompletePolicy,
  successRate: number | undefined,
  baseline: string | undefined,
): object {
  if (isUpgrade(declared) && successRate !== undefined) {
    const { baseline: _, discordance: __, atMost: { failureShifts: ___, ...atMost }, ...kept } =
      declared;
    return { ...kept, atMost };
  }
  if (!isUpgrade(declared) && baseline !== undefined) {
    const { successRate: _, ...kept } = declared;
    return kept;
  }
  return declared;
}
