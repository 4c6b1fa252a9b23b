/**
 * Runs in waves, on one machine after the other: what each would run, and the journals that they would write.
 */

import type { BaselineTrials } from "../../lib/gate/decide_trials.ts";
import type { Wave } from "../../lib/gate/waves.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import { Stopping } from "../../lib/runs/early_stopping.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import type { Shard } from "../../lib/runs/shard_text.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { linesOf } from "./journals.ts";
import type { Folder } from "./folders.ts";

/** The trials of a plan as they would end, by their places. */
export type Ends = readonly Trial[];

/** The trials that one machine runs of a plan, one after the other, until its gate has decided. */
export function aloneUntilDecided(plan: Plan, ends: Ends, baseline?: BaselineTrials): Trial[] {
  const stopping = new Stopping(plan, baseline);
  return plan.trials.flatMap((planned) => {
    if (stopping.needless(planned) !== undefined) return [];
    const trial = ends[planned.index]!;
    stopping.record(summarize(trial));
    return [trial];
  });
}

/** The trials that a shard runs of a wave, after those of earlier ones. */
export function ofWave(
  plan: Plan,
  ends: Ends,
  { shard, wave, earlier, baseline }: {
    readonly shard: Shard;
    readonly wave: Wave;
    readonly earlier: readonly Trial[];
    readonly baseline?: BaselineTrials | undefined;
  },
): Trial[] {
  const stopping = new Stopping(plan, baseline, { earlier: earlier.map(summarize) });
  return shardOf(plan, shard, wave).filter((planned) => stopping.needless(planned) === undefined)
    .map(({ index }) => ends[index]!);
}

/** The path of the journal of a shard and wave. */
export function pathOf(folder: Folder, shard: Shard, wave: Wave): string {
  return folder.file(`wave-${wave.index}-shard-${shard.index}.jsonl`);
}

/** Writes the journals of one wave, in which what earlier ones decided is left out; returns their paths and trials. */
export function writeWave(
  folder: Folder,
  plan: Plan,
  ends: Ends,
  { shards, wave, earlier, baseline }: {
    readonly shards: number;
    readonly wave: Wave;
    readonly earlier: readonly Trial[];
    readonly baseline?: BaselineTrials | undefined;
  },
): { paths: string[]; trials: Trial[] } {
  const paths: string[] = [];
  const all: Trial[] = [];
  for (let index = 1; index <= shards; index++) {
    const shard = { index, of: shards };
    const trials = ofWave(plan, ends, { shard, wave, earlier, baseline });
    const path = pathOf(folder, shard, wave);
    Deno.writeTextFileSync(path, linesOf([planLine(plan, shard, wave), ...trials]));
    paths.push(path);
    all.push(...trials);
  }
  return { paths, trials: all };
}
