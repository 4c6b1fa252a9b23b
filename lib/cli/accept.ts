/**
 * `accept`: makes results a baseline.
 * @module
 */

import { acceptResults, baselineText } from "../runs/baseline.ts";
import { deriveJournals } from "../runs/derived.ts";
import { readText } from "../base/input.ts";
import { cannot, cannotFile } from "../base/errors.ts";
import { isJsonObject, parseJson } from "../base/json.ts";
import { readResults } from "../runs/journal/results.ts";
import { Arguments, userPath } from "./arguments.ts";

export const ACCEPT_HELP = `toolgate accept F.jsonl...: makes results a baseline

Writes a small file to commit, with the outcome of each trial. A gate compares with it by
"gate": { "baseline": { "file": "baseline.json" } } or gate --baseline baseline.json. Several journals
are the shards of one run.

  --out F.json   the file to write (default: the first journal's name with .baseline.json); an existing
                 baseline is replaced

Exit code 0 when it is written.`;

/** Writes the baseline and reports it on stderr. */
export async function accept(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("accept", arguments_, { values: ["out"] });
  const [first] = options.operands;
  if (first === undefined) throw options.error("it takes one journal or more: none is given");
  const results = readResults(options.operands.map(userPath));
  for (const notice of results.notices) console.error(notice);
  if (results.problem === undefined) {
    for (const note of await deriveJournals(results)) console.error(note);
  }
  const file = acceptResults(results, options.operands.join(", "));
  const out = options.text("out") ?? `${first.replace(/\.jsonl$/, "")}.baseline.json`;
  const path = userPath(out);
  assertReplaceable(path, out);
  try {
    // Renamed into place, as a truncated baseline must not replace a good one.
    Deno.writeTextFileSync(`${path}.new`, baselineText(file));
    Deno.renameSync(`${path}.new`, path);
  } catch (error) {
    throw cannotFile(`write the baseline ${out}`, error);
  }
  const names = new Set(file.subjects.map(({ model }) => model.requested));
  const models = names.size === 1 ? "1 model" : `${names.size} models`;
  console.error(`Accepted ${results.trials.length} trials of ${models} in ${out}`);
  const replayed = results.trials.filter((trial) => trial.replayed).length;
  if (replayed > 0) {
    console.error(`  ${replayed} were replayed from recordings: no model was asked for these`);
  }
  return 0;
}

/** @throws {InputError} If the file exists and is no baseline, as it may be the user's. */
function assertReplaceable(path: string, out: string): void {
  try {
    Deno.statSync(path);
  } catch {
    return;
  }
  const value = parseJson(readText(path));
  if (value !== undefined && isJsonObject(value) && value["kind"] === "baseline") return;
  throw cannot(
    `write the baseline ${out}`,
    "only a baseline may be replaced",
    "another file is there",
  );
}
