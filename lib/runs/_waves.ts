/**
 * Waves of a run: which one is run, and what earlier ones have decided and spent.
 * @module
 */

import defer * as files from "node:path";
import type { BaselineTrials } from "../gate/decide_trials.ts";
import { blocksOfWave, type Wave } from "../gate/waves.ts";
import { cannot } from "../base/errors.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { pathForUser } from "../base/command_line.ts";
import { shardOf } from "./_assign_shards.ts";
import { Stopping } from "./early_stopping.ts";
import { readPlanLine, suiteOf } from "./journal/journal.ts";
import { planLine } from "./journal/plan_line.ts";
import { filesIn, isFolder, pathIn } from "../base/folder.ts";
import { readResults, type Results } from "./journal/results.ts";
import type { Plan } from "./plan.ts";
import { assertSamePlan } from "./_resuming.ts";
import { type AskedWave, partText, type Shard } from "./shard_text.ts";

/** Waves of a plan that nobody has asked for another number of. */
const USUAL_WAVES = 6;

/** A wave that is run. */
export interface PlannedWave {
  readonly wave: Wave;
  /** The results of the waves before; omitted for the first one. */
  readonly earlier?: Results;
  /** What decided in these, so that nothing is left to run; omitted while something is. */
  readonly over?: string;
  /** Why nothing is left to run although not all has decided, such as a spent budget; omitted while something is. */
  readonly stopped?: string;
}

/** What a wave is asked for with. */
export interface WaveRequest {
  /** How errors refer to what is run. */
  readonly subject: string;
  readonly shard?: Shard | undefined;
  readonly wave: AskedWave;
  /** Its journal: those of the waves before are in the same folder. */
  readonly journal: string;
  readonly baseline?: BaselineTrials | undefined;
}

/**
 * Finds the wave of a plan, and reads what the waves before it have decided and spent.
 *
 * @throws {InputError} If the plan has no such wave, or the journals of the waves before are not all of them, and whole.
 */
export function planWave(plan: Plan, request: WaveRequest): PlannedWave {
  const { subject, wave: asked } = request;
  const { graphs: blocks } = plan.resolved;
  const { index, of = Math.min(USUAL_WAVES, blocks) } = asked;
  if (plan.rule === undefined) {
    throw cannot(
      `run ${subject}`,
      "--wave needs a sequential gate",
      "it has none",
    );
  }
  if (of > blocks || index > of) {
    throw cannot(
      `run ${subject}`,
      of > blocks
        ? `each wave must have a block of trials, of which there are ${blocks}`
        : `--wave must be at most ${of}`,
      `--wave is ${index}${asked.of === undefined ? "" : `/${of}`}`,
    );
  }
  const wave = { index, of };
  // There is nothing before the first one, so that all may be started by the same command.
  if (index === 1) return { wave };
  const earlier = readEarlier(plan, wave, request);
  const stopping = new Stopping(plan, request.baseline, { earlier: earlier.trials });
  const { first } = blocksOfWave(wave, blocks);
  const left = plan.trials.filter(({ block }) => block >= first)
    .map((trial) => stopping.needless(trial)?.reason);
  // Once all has decided, waves since then have no journals.
  if (!left.includes(undefined)) {
    return { wave, earlier, over: [...new Set(left)].join(", and ") };
  }
  return {
    wave,
    earlier,
    stopped: stoppedBefore(plan, wave, earlier, stopping, subject),
  };
}

/** Says what the folder of a wave must have. */
function folderRule({ index }: Wave): string {
  const which = index === 2 ? "wave 1" : `waves 1 to ${index - 1}`;
  return `the folder of --out must have the journals of ${which}, of all shards`;
}

/** Reads the journals of all waves before one. */
function readEarlier(
  plan: Plan,
  wave: Wave,
  { subject, journal, shard }: WaveRequest,
): Results {
  const action = `run ${subject}`;
  const expected = planLine(plan, shard, wave);
  const folder = files.dirname(journal);
  const where = printable(pathForUser(folder), 300);
  const names = isFolder(folder) ? filesIn(folder, ".jsonl", where) : [];
  const paths = names.map((name) => pathIn(folder, name)).filter((path) => {
    // There may be the journals of other suites, and those that this wave writes.
    if (suiteOf(path) !== plan.suite) return false;
    const line = readPlanLine(path);
    return line?.wave === undefined || line.wave.index < wave.index;
  });
  const rule = folderRule(wave);
  if (paths.length === 0) throw cannot(action, rule, `${where} has none of this suite`);
  const results = readResults(paths);
  const { plan: line, problem, waves } = results;
  // Such a run may have other graphs, which would say less.
  if (line.wave === undefined) throw cannot(action, rule, `${paths[0]} is of no wave`);
  assertSamePlan(`${action} after ${paths[0]}`, line, expected);
  const state = problem ??
    (line.shard.of !== expected.shard.of || waves!.last.of !== wave.of
      ? `${paths[0]} is ${partText(line.shard, line.wave)}, and this ${
        partText(expected.shard, wave)
      }`
      : canonicalJson(line.prices) !== canonicalJson(expected.prices)
      // No gate would decide over both, so that what this wave costs would be lost.
      ? `${paths[0]} declares other prices`
      : undefined);
  if (state !== undefined) throw cannot(action, rule, printable(state, 1000));
  return results;
}

/**
 * Refuses waves before this one of which a shard is missing, or a trial that was needed; returns what ended the run
 * before all of them were run.
 */
function stoppedBefore(
  plan: Plan,
  wave: Wave,
  { trials, waves, missing }: Results,
  stopping: Stopping,
  subject: string,
): string | undefined {
  const refuse = (rule: string, state: string) =>
    cannot(`run ${subject}`, rule, printable(state, 1000));
  if (missing !== undefined) throw refuse(folderRule(wave), missing);
  const present = new Set(trials.map(({ id }) => id));
  const { last, blocks, whyMissing } = waves!;
  const lacking = plan.trials.filter((trial) =>
    trial.block < blocks && !present.has(trial.id) && stopping.needless(trial) === undefined
  );
  const why = lacking.filter(({ block }) => block === lacking[0]!.block).map(whyMissing);
  const short = why.find(({ ended }) => !ended);
  if (short !== undefined) throw refuse("the waves before must be whole", short.reason);
  // Waves after the end have no journals.
  if (why.length > 0) {
    return `${
      printable(why[0]!.reason, 1000)
    }; with more of it, first go on with the shards that it ended, by --resume`;
  }
  if (stopping.spent !== undefined) return stopping.spent;
  if (last.index < wave.index - 1) {
    throw refuse(folderRule(wave), `wave ${wave.index - 1}/${wave.of} is missing`);
  }
}

/** Says which part of a plan a wave is. */
export function waveNote(plan: Plan, { wave }: PlannedWave, shard?: Shard): string {
  const { graphs: blocks } = plan.resolved;
  const { first, end } = blocksOfWave(wave, blocks);
  const { length } = shardOf(plan, shard ?? { index: 1, of: 1 }, wave);
  return `${partText(shard ?? { index: 1, of: 1 }, wave)}: ${
    countText(length, "trial")
  }, of blocks ${first + 1} to ${end} of ${blocks}`;
}
