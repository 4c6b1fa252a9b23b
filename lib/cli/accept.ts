/**
 * `accept`: makes results a baseline.
 * @module
 */

import { acceptResults, baselineText } from "../runs/accept.ts";
import { deriveJournals, readAndDerive } from "../runs/derived.ts";
import { printable } from "../base/json.ts";
import { percent, sum } from "../base/numbers.ts";
import { assertReplaceable, writeOutput } from "../base/output_file.ts";
import { rateBounds, unitOf } from "../gate/evidence.ts";
import { completePolicy } from "../gate/policy.ts";
import { byGraph, byVariant, variantLabel, variantOf } from "../gate/variant.ts";
import { readResults, type Results } from "../runs/journal/results.ts";
import { Arguments, userPath } from "./arguments.ts";
import { journalsGiven } from "./journals.ts";

export const ACCEPT_HELP =
  `Writes a small file to commit, with the outcome of each trial. A gate compares with it by
"gate": { "baseline": { "file": "baseline.json" } } or gate --baseline baseline.json. Several journals
are the shards of one run, or those of the test files of one suite; a folder stands for the journals in
it. Prints the success rates that are accepted.

  --out F.json   the file to write (default: the name of the first journal or folder with .baseline.json);
                 an existing baseline is replaced

Exit code 0 when it is written.`;

/** Writes the baseline and reports it on stderr. */
export async function accept(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("accept", arguments_, { values: ["out"] });
  const paths = journalsGiven(options).map(userPath);
  const results = readResults(paths, await readAndDerive(paths));
  for (const notice of results.notices) console.error(notice);
  if (results.problem === undefined) {
    for (const note of await deriveJournals(results)) console.error(note);
  }
  const file = acceptResults(results, options.operands.join(", "));
  const out = options.text("out") ?? baselineName(options);
  const path = userPath(out);
  assertReplaceable(path, "the baseline", {
    ...{ kind: "a baseline", shown: out },
    isOwn: (value) => value["kind"] === "baseline",
  });
  writeOutput(path, baselineText(file), "the baseline", { links: false });
  const names = new Set(file.subjects.map(({ model }) => model.requested));
  const models = names.size === 1 ? "1 model" : `${names.size} models`;
  console.error(`Accepted ${results.trials.length} trials of ${models} in ${out}`);
  for (const line of rateLines(results)) console.error(`  ${line}`);
  const replayed = results.trials.filter((trial) => trial.replayed).length;
  if (replayed > 0) {
    console.error(`  ${replayed} were replayed from recordings: no model was asked for these`);
  }
  const partly = results.trials.filter((trial) => trial.partlyReplayed).length;
  if (partly > 0) console.error(`  ${partly} were replayed from recordings in part`);
  return 0;
}

/** The name of a baseline without `--out`: that of the first journal, or of its folder. */
function baselineName(options: Arguments): string {
  const name = options.operands[0]!.replace(/[/\\]+$/, "");
  if (!/(^|[/\\])\.{0,2}$/.test(name)) return `${name.replace(/\.jsonl$/, "")}.baseline.json`;
  throw options.error("--out is needed, as the baseline cannot be named after this folder");
}

/** What each variant is accepted with: a later gate allows as much less as its margin. */
function rateLines({ trials, gate, stopped, rule }: Results): string[] {
  const policy = gate ?? completePolicy({ successRate: 0.5 });
  return byVariant(trials.filter(({ changed }) => changed !== false), variantOf)
    .map(({ subject, items }) => {
      const units = byGraph(items).map((own) => unitOf(own));
      const solved = sum(units, (unit) => unit.solved);
      const valid = sum(units, (unit) => unit.valid);
      const { lower, upper } = rateBounds(units, policy, (stopped ?? rule) !== undefined);
      const [least, most] = [Math.floor(lower * 1000) / 1000, Math.ceil(upper * 1000) / 1000];
      const name = printable(variantLabel(subject, items.some(({ model }) => model.simulated)));
      return `${name}: ${solved} of ${valid} valid trials solved (${percent(solved / valid)}); ` +
        `the true rate is at least ${percent(least)}, at most ${percent(most)}, each with ` +
        `${percent(policy.confidence)} confidence`;
    });
}
