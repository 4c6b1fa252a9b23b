/**
 * `gate`: the decision over journals.
 * @module
 */

import { RATE_POLICY, type RatePolicy } from "../gate.ts";
import { parseWith } from "../input.ts";
import { printable } from "../json.ts";
import { exitCodeOf, judge, worstKind } from "../judge.ts";
import { renderTables, renderVerdicts } from "../report.ts";
import { readResults } from "../results.ts";
import { Arguments, userPath } from "./arguments.ts";

export const GATE_HELP = `toolgate gate F.jsonl...: decides over the trials of journals

Several journals are the shards of one run. Without options the gate is the one that the plan
declares; options override it.

  --success-rate R   the success rate that is wanted, above 0, at most 1
  --margin M         how far below it is still good enough (default 0.05)
  --confidence C     confidence of each bound (default 0.95)
  --coverage C       share of the planned trials that must be valid (default 0.95)

Exit code 0 pass, 1 fail, 3 undecided or invalid.`;

/** Prints tables and verdicts to stdout. */
export function gate(arguments_: readonly string[]): number {
  const options = new Arguments("gate", arguments_, {
    values: ["success-rate", "margin", "confidence", "coverage"],
  });
  if (options.operands.length === 0) {
    throw options.error("it takes one journal or more: none is given");
  }
  const results = readResults(options.operands.map(userPath));
  for (const notice of results.notices) console.error(notice);
  const policy = policyOf(options, results.gate);
  if (results.trials.length > 0) console.log(`${renderTables(results.trials)}\n`);
  if (results.problem !== undefined) {
    console.log(`INVALID: nothing can be said, as ${printable(results.problem, 1000)}.`);
    return exitCodeOf("invalid");
  }
  const judged = judge(results.trials, results.planned, policy);
  console.log(
    judged.length === 0
      ? "INVALID: nothing can be said, as there are no trials."
      : renderVerdicts(judged, policy),
  );
  return exitCodeOf(worstKind(judged.map(({ verdict }) => verdict)));
}

function policyOf(options: Arguments, declared: RatePolicy | undefined): RatePolicy {
  const given = {
    successRate: options.number("success-rate"),
    margin: options.number("margin"),
    confidence: options.number("confidence"),
    coverage: options.number("coverage"),
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (declared === undefined && given.successRate === undefined) {
    throw options.error("the plan declares no gate, so --success-rate is needed");
  }
  return parseWith(RATE_POLICY, { ...declared, ...set }, "the gate with the options given");
}
