/**
 * The data of reports: what their pages unpack, read from the file itself.
 */

import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import type { TaskView } from "../../lib/reports/page/_task_view.ts";
import type { TrialView } from "../../lib/reports/page/_trial_view.ts";

/** A trial as a report's file has it. */
export interface ReportedTrial extends TrialView {
  /** Its outcome, as the list has it. */
  readonly outcome: string;
  /** What it can be found by beside: behaviours, and how faults ended. */
  readonly signs: readonly string[];
  /** `undefined` where it cannot be made anew. */
  readonly task: TaskView | undefined;
}

/** The trials of a report's HTML file, in the order of its list. */
export function reportedTrials(path: string): ReportedTrial[] {
  const blocks = new Map(
    [...Deno.readTextFileSync(path).matchAll(/id="(index|block-\d+)">([^<]*)</g)]
      .map(([, id, packed]) => [id!, JSON.parse(unpacked(packed!))]),
  );
  const { rows, outcomes, shown } = blocks.get("index") as {
    rows: number[][];
    outcomes: string[];
    shown: string[][];
  };
  return rows.map((row) => {
    const [chunk, place, taskChunk, taskPlace] = row.slice(11, 15) as [
      number,
      number,
      number,
      number,
    ];
    return {
      ...blocks.get(`block-${chunk}`)[place],
      outcome: outcomes[row[4]!]!,
      signs: shown[row[9]!]!,
      task: taskChunk < 0 ? undefined : blocks.get(`block-${taskChunk}`)[taskPlace],
    };
  });
}

function unpacked(packed: string): string {
  return new TextDecoder().decode(gunzipSync(Buffer.from(packed, "base64")));
}
