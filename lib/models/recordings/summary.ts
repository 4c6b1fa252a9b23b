/**
 * Summaries of recordings: what became of the trials of a run, as lines for the user.
 * @module
 */

import { countText } from "../../base/numbers.ts";
import { chosenText, type Origin, runsOf } from "./origin.ts";

/** How many trials were answered from recordings, in part, and not at all; and how many of these were recorded. */
export interface RecordingCounts {
  readonly replayed: number;
  readonly mixed: number;
  readonly asked: number;
  readonly recorded: number;
}

/** What may make recordings go another way than the run, or is missing from them. */
export interface Doubts {
  /** Replies from which something that looks like a secret was removed. */
  redacted: number;
  /** Trials that were not recorded, as they were invalid. */
  invalid: number;
  /** Those of them that have an older recording. */
  olderKept: number;
  /** The results of tools that came from recordings. */
  replayedResults: number;
  /** Trials in a replay whose tools ran nevertheless, as they work on a state. */
  ranTools: number;
  /** Where the replies of its trials come from. */
  readonly drawn: { readonly origin: Origin | undefined }[];
  /** Why a reply cannot be saved; omitted if all could. */
  unusableReply?: string;
}

/** The recordings of one run. */
export interface RunRecordings {
  readonly folder: string;
  readonly counts: RecordingCounts;
  /** The number of recordings in the folder that are of no trial of this process; 0 but in mode `auto`. */
  readonly others: number;
}

/**
 * Returns one line on runs that share a folder: how many trials its recordings answered, and how many of its
 * recordings are of none of their trials; nothing if there was no trial.
 *
 * @param whole What the runs are all of: other files of a `deno test` may use the same folder.
 */
export function runsSummary(
  runs: readonly RunRecordings[],
  whole: "run" | "file" = "run",
): string[] {
  const sum = (name: keyof RecordingCounts) =>
    runs.reduce((all, { counts }) => all + counts[name], 0);
  const [replayed, mixed, asked] = [sum("replayed"), sum("mixed"), sum("asked")];
  const [{ folder, others } = { folder: "", others: 0 }] = runs;
  const [all, recorded] = [replayed + mixed + asked, sum("recorded")];
  if (all === 0) return [];
  const place = `${folder.replace(/(?<=.)[/\\]+$/, "")}/`;
  const rest = [
    ...(mixed === 0 ? [] : [`${mixed} in part`]),
    ...(asked === 0 ? [] : [`${asked} asked`]),
  ].join(", ");
  const end = replayed === all
    ? ` in ${place}, none asked`
    : `, ${rest}${recorded === mixed + asked ? " and" : `; ${recorded}`} recorded in ${place}`;
  return [
    `${countText(all, "trial")}: ${replayed} from recordings${end}` +
    (others === 0
      ? ""
      : `; ${countText(others, "recording")} there ${
        others === 1 ? "is" : "are"
      } of no trial of this ${whole}`),
  ];
}

/**
 * Returns the lines on recordings that are incomplete or missing.
 *
 * @param left Planned trials whose recordings stay, where others of an earlier run are replaced.
 */
export function doubtsOf(
  { redacted, invalid, olderKept, drawn, replayedResults, ranTools, unusableReply }: Doubts,
  left: number,
): string[] {
  const { length: runs } = runsOf(drawn);
  return [
    ...(runs < 2 ? [] : [`these replies are of ${runs} runs`]),
    ...[chosenText(drawn) ?? []].flat(),
    ...(left === 0 ? [] : [
      `recordings of ${
        countText(left, "trial")
      } of an earlier run stay: a gate over these and what is ` +
      "recorded now in place of others is INVALID until all are recorded anew",
    ]),
    ...(replayedResults === 0 ? [] : [replayedResultsText(replayedResults)]),
    ...(ranTools === 0 ? [] : [`${countText(ranTools, "trial")} with state ran tools of servers`]),
    ...(redacted === 0 ? [] : [
      `${redacted} ${
        redacted === 1 ? "reply has" : "replies have"
      } [redacted] in the recording in place of what looks like a secret: a replay may go another way`,
    ]),
    ...(unusableReply === undefined ? [] : [
      `Trials were not recorded, as a reply cannot be saved: ${unusableReply}`,
    ]),
    ...(invalid === 0 ? [] : [
      `${count(invalid)} not recorded, as infrastructure errors made ${
        invalid === 1 ? "it" : "them"
      } invalid` +
      (olderKept === 0 ? "" : `; ${olderKept} of these have an older recording, which stays`),
    ]),
  ];
}

/** Says how many results of tools came from recordings. */
export function replayedResultsText(results: number): string {
  return `${countText(results, "result")} of tools came from recordings: nothing was run for them`;
}

function count(trials: number): string {
  return `${trials} ${trials === 1 ? "trial was" : "trials were"}`;
}
