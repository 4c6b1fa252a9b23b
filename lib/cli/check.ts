/**
 * `check`: plays all trials of journals again.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { InputError } from "../base/errors.ts";
import { countText, grouped, sum } from "../base/numbers.ts";
import { faultOf, readResults } from "../runs/journal/results.ts";
import { playAll } from "../runs/play_again.ts";
import { command } from "./command.ts";
import { JOURNALS, journalsOf, readJournals, UNCHECKED_OPTION } from "./journals.ts";

/** Disagreements that are listed, at most. */
const MAX_LISTED = 20;

/** Lists the trials that disagree with their own events on stdout. */
export const check = command({
  usage: "F.jsonl|FOLDER... [OPTIONS]",
  takes: JOURNALS,
  about:
    `Each journal must be as its run wrote it: a line that was changed, doubled or taken out is refused. Then
all of its trials are played again from what the model wrote, where the right answer is data: generated tasks,
call sets and probes. Those that do not end as their lines say are listed. A folder stands for the journals
in it. gate plays only some trials again, so that a CI job runs check first.`,
  options: { unchecked: UNCHECKED_OPTION },
  notes: "Exit code 0 when all trials end as their lines say, else 2.",
  needs: ["read"],
  async run({ unchecked }, { operands }) {
    const journals = [...new Set(journalsOf(operands))];
    const files = readJournals(journals, unchecked);
    for (const [place, file] of files.entries()) {
      // The other shards are other files.
      const results = readResults([userPath(journals[place]!)], [file]);
      for (const notice of new Set([results.cut ?? [], results.notices].flat())) {
        console.error(notice);
      }
      // Tasks that no plan has may be of any size.
      const fault = faultOf(results);
      if (fault !== undefined) throw new InputError(`Cannot check ${journals[place]}: ${fault}`);
    }
    const { agree, disagreements, notices } = await playAll(files);
    for (const disagreement of disagreements.slice(0, MAX_LISTED)) console.log(disagreement);
    const { length: wrong } = disagreements;
    if (wrong > MAX_LISTED) console.log(`and ${wrong - MAX_LISTED} more`);
    for (const notice of notices) console.log(notice);
    const all = grouped(sum(files, ({ trials }) => trials.length));
    const result = wrong > 0
      ? `${grouped(wrong)} do not agree with their events`
      : agree > 0
      ? "all agree"
      : "only trials of generated tasks, call sets and probes can be";
    console.log(
      `${grouped(agree + wrong)} of ${all} trials in ${countText(files.length, "journal")} ` +
        `played again: ${result}`,
    );
    return wrong === 0 ? 0 : 2;
  },
});
