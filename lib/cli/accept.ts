/**
 * `accept`: makes results a baseline.
 * @module
 */

import { acceptResults } from "../runs/accept.ts";
import { printable } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { percent, sum } from "../base/numbers.ts";
import { assertReplaceable, writeOutput } from "../base/output_file.ts";
import { rateBounds, unitOf } from "../gate/evidence.ts";
import { completePolicy } from "../gate/policy.ts";
import { idlePerturbation } from "../gate/undecidable.ts";
import { skippedNote } from "../runs/plan.ts";
import { byGraph, byVariant, variantLabel, variantOf } from "../gate/variant.ts";
import { addRelease } from "../runs/history/history.ts";
import type { Results } from "../runs/journal/results.ts";
import { recordText } from "../runs/record.ts";
import { Arguments, userPath } from "./arguments.ts";
import { historyGiven, readRun } from "./_run_record.ts";
import { journalsGiven } from "./journals.ts";

export const ACCEPT_HELP =
  `Writes a small file to commit, with the outcome of each trial. A gate compares with it by
"gate": { "baseline": { "file": "baseline.json" } } or gate --baseline baseline.json. Several journals
are the shards of one run, or those of the test files of one suite; a folder stands for the journals in
it. Prints the success rates that are accepted.

  --out F.json   the file to write (default: the name of the first journal or folder with .baseline.json);
                 an existing baseline is replaced

With --to the run becomes a release in the folder of a history, with which later runs are compared. The
first one is the anchor, and stays it until another one is accepted with --anchor.

  --to DIR       the folder; the record of the run there says that it is a release, and is added if need be
  --name NAME    the name of the release
  --anchor       later releases are compared with this one from now on, besides the last one; without
                 journals the release of this name becomes the anchor

  --prices F     prices of models, by which costs are kept (default: those of the plan)

Exit code 0 when it is written.`;

/** Writes the baseline, or the release, and reports it on stderr. */
export async function accept(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("accept", arguments_, {
    values: ["out", "to", "name", "prices"],
    switches: ["anchor"],
  });
  const isRelease = options.text("to") !== undefined;
  const name = options.text("name");
  if (isRelease && options.text("out") !== undefined) {
    throw options.error("--out goes without --to");
  }
  if (!isRelease && (name !== undefined || options.has("anchor"))) {
    const other = name === undefined ? "anchor" : "name";
    throw options.error(`--${other} goes with --to, the history's folder`);
  }
  if (isRelease && name === undefined) {
    throw options.error("--name is needed: the name of the release");
  }
  if (isRelease && options.operands.length === 0) return moveAnchor(options, name!);
  const results = await readRun(options, journalsGiven(options));
  const record = acceptResults(results, options.operands.join(", "));
  const names = new Set(results.trials.map(({ model }) => model.requested));
  const trials = `${results.trials.length} trials of ` +
    (names.size === 1 ? "1 model" : `${names.size} models`);
  if (isRelease) {
    const { folder, history } = historyGiven(options);
    const anchor = options.has("anchor");
    const { path, isAnchor } = addRelease(folder, record, { name: name!, anchor }, history);
    console.error(
      `Accepted ${trials} as release ${printable(name!, 200)} of ${folder.shown}` +
        (isAnchor ? ", the anchor" : "") + `: ${path}`,
    );
  } else {
    const out = options.text("out") ?? baselineName(options);
    const path = userPath(out);
    assertReplaceable(path, "the baseline", {
      ...{ kind: "a baseline", shown: out },
      isOwn: (value) => value["kind"] === "record",
    });
    writeOutput(path, recordText(record), "the baseline", { links: false });
    console.error(`Accepted ${trials} in ${out}`);
  }
  tellAccepted(results);
  return 0;
}

/** Makes a release the anchor of its suite. */
function moveAnchor(options: Arguments, name: string): number {
  if (!options.has("anchor")) {
    throw options.error("it takes one journal or more, or --anchor: none is given");
  }
  const { folder, history } = historyGiven(options);
  const known = history.records.find(({ release }) => release?.name === name);
  if (known === undefined) {
    const names = history.records.flatMap(({ release }) => release?.name ?? []);
    throw options.error(
      `--anchor without journals needs a release in the folder ${folder.shown}: ` +
        `there is no ${printable(name, 200)}${nearestOrAll(name, names)}`,
    );
  }
  addRelease(folder, known, { name, anchor: true }, history);
  console.error(`${printable(name, 200)} is the anchor of ${folder.shown} now`);
  return 0;
}

/** Says on stderr which rates are accepted, and of how many trials no model was asked. */
function tellAccepted(results: Results): void {
  for (const line of rateLines(results)) console.error(`  ${line}`);
  for (const line of skippedNote(results.plan ?? {})) console.error(`  ${line}`);
  const replayed = results.trials.filter((trial) => trial.replayed).length;
  if (replayed > 0) {
    console.error(`  ${replayed} were replayed from recordings: no model was asked for these`);
  }
  const partly = results.trials.filter((trial) => trial.partlyReplayed).length;
  if (partly > 0) console.error(`  ${partly} were replayed from recordings in part`);
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
      const idle = idlePerturbation(items);
      const name = printable(variantLabel(subject, items.some(({ model }) => model.simulated)));
      return `${name}: ${solved} of ${valid} valid trials solved (${percent(solved / valid)}); ` +
        `the true rate is at least ${percent(least)}, at most ${percent(most)}, each with ` +
        `${percent(policy.confidence)} confidence${idle === undefined ? "" : `; but ${idle}`}`;
    });
}
