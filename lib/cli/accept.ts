/**
 * `accept`: makes results a baseline, or a release.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { acceptResults, recordText } from "../runs/record.ts";
import { printable } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { percent, sum } from "../base/numbers.ts";
import { assertReplaceable, writeOutput } from "../base/output_file.ts";
import { rateBounds, unitOf } from "../gate/evidence.ts";
import { completePolicy } from "../gate/policy.ts";
import { idlePerturbation } from "../gate/undecidable.ts";
import { remarksOf } from "../runs/remarks.ts";
import { byGraph, byVariant, simulatedIn, variantLabel, variantOf } from "../gate/variant.ts";
import { addRelease } from "../runs/history/history.ts";
import type { Results } from "../runs/journal/results.ts";
import {
  historyAt,
  journalsOf,
  PRICES_OPTION,
  readRun,
  RUN,
  UNCHECKED_OPTION,
} from "./journals.ts";
import { command, type Rest } from "./command.ts";

/** Writes the baseline, or the release, and reports it on stderr. */
export const accept = command({
  usage: "F.jsonl|FOLDER [OPTIONS]",
  takes: [RUN[0], 0, 1],
  about: `Writes a small file to commit, with the outcome of each trial. A gate compares with it by
"gate": { "baseline": { "file": "baseline.json" } } or gate --baseline baseline.json. A folder stands
for the journals in it: the shards of one run, or those of the test files of one suite. Prints the
success rates that are accepted.

With --to the run becomes a release in the folder of a history, with which later runs are compared. The
first one is the anchor, until another one is accepted with --anchor.`,
  options: {
    out: {
      value: "F.json",
      help:
        "the file to write; default the name of the journal or folder with .baseline.json. An " +
        "existing baseline is replaced",
    },
    to: {
      value: "DIR",
      help: "the folder of a history, in which the run becomes a release",
    },
    name: { value: "NAME", help: "the name of the release" },
    anchor: {
      help:
        "makes this release the anchor: later ones are compared with it and with the last one; without " +
        "journals, the release of this name",
    },
    prices: PRICES_OPTION,
    unchecked: UNCHECKED_OPTION,
  },
  notes: "Exit code 0 when it is written.",
  needs: ["read", "write"],
  rules: [
    [["out"], "goes without", ["to"]],
    [["name", "anchor"], "goes with", ["to"], "the history's folder"],
    [["to"], "goes with", ["name"], "the name of the release"],
    [
      ({ anchor }, { operands }) => operands.length === 0 && !anchor,
      "it takes a journal or a folder, or --anchor: none is given",
    ],
  ],
  async run({ out, to, name = "", anchor = false, prices, unchecked }, { operands, error }) {
    if (operands.length === 0) return moveAnchor(to!, name, error);
    const results = await readRun(journalsOf(operands), { prices, unchecked });
    const record = acceptResults(results, operands.join(", "));
    const names = new Set(results.trials.map(({ model }) => model.requested));
    const trials = `${results.trials.length} trials of ` +
      (names.size === 1 ? "1 model" : `${names.size} models`);
    if (to !== undefined) {
      const { folder, history } = historyAt(to);
      const { path, isAnchor } = addRelease(folder, record, { name, anchor }, history);
      console.error(
        `Accepted ${trials} as release ${printable(name, 200)} of ${folder.shown}` +
          (isAnchor ? ", the anchor" : "") + `: ${path}`,
      );
    } else {
      const file = out ?? baselineName(operands[0]!, error);
      const path = userPath(file);
      assertReplaceable(path, "the baseline", {
        kind: "a baseline",
        shown: file,
        isOwn: (value) => value["kind"] === "record",
      });
      writeOutput(path, recordText(record), "the baseline", { links: false });
      console.error(`Accepted ${trials} in ${file}`);
    }
    tellAccepted(results);
    return 0;
  },
});

/** Makes a release the anchor of its suite. */
function moveAnchor(to: string, name: string, error: Rest["error"]): number {
  const { folder, history } = historyAt(to);
  const known = history.records.find(({ release }) => release?.name === name);
  if (known === undefined) {
    const names = history.records.flatMap(({ release }) => release?.name ?? []);
    throw error(
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
  for (const { text } of remarksOf(results)) console.error(`  ${text}`);
  const replayed = results.trials.filter((trial) => trial.replayed).length;
  if (replayed > 0) {
    console.error(`  ${replayed} were replayed from recordings: no model was asked for these`);
  }
  const partly = results.trials.filter((trial) => trial.partlyReplayed).length;
  if (partly > 0) console.error(`  ${partly} were replayed from recordings in part`);
}

/** The name of a baseline without `--out`: that of the journal, or of its folder. */
function baselineName(operand: string, error: Rest["error"]): string {
  const name = operand.replace(/[/\\]+$/, "");
  if (!/(^|[/\\])\.{0,2}$/.test(name)) return `${name.replace(/\.jsonl$/, "")}.baseline.json`;
  throw error("--out is needed, as the baseline cannot be named after this folder");
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
      const name = printable(variantLabel(subject, simulatedIn(items)));
      return `${name}: ${solved} of ${valid} valid trials solved (${percent(solved / valid)}); ` +
        `the true rate is at least ${percent(least)}, at most ${percent(most)}, each with ` +
        `${percent(policy.confidence)} confidence${idle === undefined ? "" : `; but ${idle}`}`;
    });
}
