/**
 * `history`: keeps what runs came to, and tells it over time.
 * @module
 */

import { printable } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { InputError } from "../base/errors.ts";
import { commandLine } from "../base/command_line.ts";
import { addToHistory } from "./_history_add.ts";
import { show } from "./_history_show.ts";

export const HISTORY_HELP =
  `A history is folders of small files, which are never changed: a record of each run, and of each release
that it was accepted. They may be kept in a repository, in a cache of CI or in a bucket.

  add F.jsonl...   writes a record of a run, without transcripts, unless it was recorded before. Several
                   journals are the shards of one run; of several suites each has a record; a folder stands
                   for the journals in it

    --to DIR       the folder of the history
    --commit HASH  the commit of what was under test (default: that of the CI job, else that of the folder)
    --prices F     prices of models, by which it keeps costs (default: those of the plan)

  show DIR...      tells what is in folders: a table for each model, strategy and perturbation, with a row
                   for each run, and what the canary says of the nights since the last release

    --suite S      the suite (default: that of the last release, else of the newest record)
    --last N       the newest N records alone
    --html F       writes one self-contained HTML file instead: figures over time, and the tables
    --json         prints all of it as JSON

Exit code 0 when it was written or told.`;

/** What `history` does, by its first operand. */
const ACTIONS: Readonly<Record<string, (arguments_: readonly string[]) => Promise<number>>> = {
  add: addToHistory,
  show,
};

/** Does what the first operand says. */
export async function history(arguments_: readonly string[]): Promise<number> {
  const [action = "", ...rest] = arguments_;
  if (Object.hasOwn(ACTIONS, action)) return await ACTIONS[action]!(rest);
  const why = action === ""
    ? "it needs to be told what to do: add or show"
    : `there is no ${printable(action, 100)}${nearestOrAll(action, Object.keys(ACTIONS))}`;
  throw new InputError(
    `Cannot run toolgate history: ${why} (see ${commandLine("history --help")})`,
  );
}
