/**
 * `accept`: makes results a baseline.
 * @module
 */

import { acceptResults, resultsText } from "../runs/accept.ts";
import { printable } from "../base/json.ts";
import { percent, sum } from "../base/numbers.ts";
import { assertReplaceable, writeOutput } from "../base/output_file.ts";
import { rateBounds, unitOf } from "../gate/evidence.ts";
import { completePolicy } from "../gate/policy.ts";
import { idlePerturbation } from "../gate/undecidable.ts";
import { skippedNote } from "../runs/plan.ts";
import { byGraph, byVariant, variantLabel, variantOf } from "../gate/variant.ts";
import { addRecord, addRelease, sameRun } from "../runs/history/add.ts";
import type { Results } from "../runs/journal/results.ts";
import { Arguments, userPath } from "./arguments.ts";
import { historyAt, historyFolder, readRun, RECORD_OPTIONS, recordOfRun } from "./_history_add.ts";
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

  --to DIR       the folder; the record of the run is added to it if need be
  --name NAME    the name of the release
  --anchor       later releases are compared with this one from now on, besides the last one; without
                 journals the release of this name becomes the anchor
  --commit HASH  the commit of what was under test (default: that of the CI job, else that of the folder)
  --prices F     prices of models, by which the record keeps costs (default: those of the plan)

Exit code 0 when it is written.`;

/** Writes the baseline, or the release, and reports it on stderr. */
export async function accept(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("accept", arguments_, {
    values: ["out", "name", ...RECORD_OPTIONS],
    switches: ["anchor"],
  });
  const isRelease = options.text("to") !== undefined;
  const other = isRelease
    ? ["out"].find((name) => options.text(name) !== undefined)
    : ["name", "commit", "prices"].find((name) => options.text(name) !== undefined) ??
      (options.has("anchor") ? "anchor" : undefined);
  if (other !== undefined) {
    throw options.error(
      isRelease
        ? `--${other} goes without --to`
        : `--${other} goes with --to, the history's folder`,
    );
  }
  if (isRelease) return await acceptRelease(options);
  const results = await readRun(journalsGiven(options));
  const file = acceptResults(results, options.operands.join(", "));
  const out = options.text("out") ?? baselineName(options);
  const path = userPath(out);
  assertReplaceable(path, "the baseline", {
    ...{ kind: "a baseline", shown: out },
    isOwn: (value) => value["kind"] === "baseline",
  });
  writeOutput(path, resultsText(file), "the baseline", { links: false });
  console.error(`Accepted ${trialsText(results)} in ${out}`);
  tellAccepted(results);
  return 0;
}

/** Makes a run a release of a history or, without journals, a release the anchor. */
async function acceptRelease(options: Arguments): Promise<number> {
  const name = options.text("name");
  if (name === undefined) throw options.error("--name is needed: the name of the release");
  const anchor = options.has("anchor");
  const folder = historyFolder(options);
  const shown = printable(name, 200);
  if (options.operands.length === 0) {
    if (!anchor) throw options.error("it takes one journal or more, or --anchor: none is given");
    const history = historyAt(folder);
    const known = history.releases.find((release) => release.name === name);
    if (known === undefined) {
      const names = history.releases.map((release) => release.name);
      const why = history.fault ??
        (names.length === 0
          ? "no run was accepted yet"
          : `there is no ${shown}; there are ${printable(names.join(", "), 200)}`);
      throw options.error(
        `--anchor without journals needs a release in the folder ${folder.shown}: ${why}`,
      );
    }
    addRelease(folder, known.record, { name, anchor }, history);
    console.error(`${shown} is the anchor of ${folder.shown} now`);
    return 0;
  }
  const journals = journalsGiven(options);
  const results = await readRun(journals);
  const source = options.operands.join(", ");
  acceptResults(results, source);
  const record = recordOfRun(options, results, journals);
  const history = historyAt(folder);
  const same = sameRun(record, history);
  const written = same === undefined ? addRecord(folder, record, history).path : same.path;
  const acceptance = addRelease(folder, same ?? record, { name, anchor }, history);
  console.error(
    `Accepted ${trialsText(results)} as release ${shown} of ${folder.shown}` +
      (acceptance.anchor ? ", the anchor" : "") + `: ${written}`,
  );
  tellAccepted(results);
  return 0;
}

function trialsText({ trials }: Results): string {
  const names = new Set(trials.map(({ model }) => model.requested));
  return `${trials.length} trials of ${names.size === 1 ? "1 model" : `${names.size} models`}`;
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
