/**
 * How much memory `run` takes: the peak of a run of one model, and that of one of seven. More trials
 * must hardly take more, as a finished one is kept in the journal and not in memory.
 *
 * deno task memory                  the main grid in full, which takes minutes
 * deno task memory --shard 1/10     any options of `run` make both runs smaller
 */

import { SYSTEM_CLOCK } from "../../lib/base/clock.ts";
import { readJournalFile } from "../../lib/runs/journal/journal.ts";
import { peakOf } from "../support/peak_memory.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/**
 * The command line as `deno task toolgate` starts it, but told to leave little garbage: else the peak
 * tells of that, and not of what is kept.
 */
const LAUNCH: readonly string[] = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`))
  .tasks.toolgate.command.replace(/--v8-flags=\S+/, "--v8-flags=--optimize-for-size")
  .split(" ").slice(1);

const SUITE = new URL("../../fixtures/suites/main_grid.jsonc", import.meta.url).pathname;

/** So much more the longer run may take. */
const MOST_GROWTH = 1.3;

/** What a run took. */
interface Measured {
  readonly trials: number;
  readonly seconds: number;
  /** The largest resident set, in MiB. */
  readonly peak: number;
}

/** Runs the suite with so many models, each erring in its own way, in a process of its own. */
async function measure(models: number, options: readonly string[], out: string): Promise<Measured> {
  const names = Array.from({ length: models }, (_, index) => [
    "--model",
    `sim:noisy?early=0.01&stale=0.02&seed=${index + 1}`,
  ]).flat();
  const began = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: [...LAUNCH, "run", SUITE, ...names, "--out", out, ...options],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  let peak = 0;
  let running = true;
  const ended = child.status.finally(() => running = false);
  for (; running; await Promise.race([ended, SYSTEM_CLOCK.pause(100)])) {
    peak = Math.max(peak, peakOf(child.pid));
  }
  const { code } = await ended;
  if (code !== 0) throw new Error(`the run ended with exit code ${code}`);
  const seconds = (performance.now() - began) / 1000;
  return { trials: readJournalFile(out).trials.length, seconds, peak };
}

if (import.meta.main) {
  if (Deno.build.os !== "linux") {
    console.error(
      `Cannot measure memory as that is read from /proc, which Linux has: this is ${Deno.build.os}`,
    );
    Deno.exit(2);
  }
  const folder = Deno.makeTempDirSync({ prefix: "toolgate_memory_" });
  try {
    const runs: Measured[] = [];
    for (const models of [1, 7]) {
      const run = await measure(models, Deno.args, `${folder}/${models}.jsonl`);
      runs.push(run);
      console.log(
        `${run.trials} trials of ${models === 1 ? "1 model" : `${models} models`}: ` +
          `peak ${run.peak.toFixed(0)} MiB, ${run.seconds.toFixed(0)} s`,
      );
    }
    const [one, seven] = runs as [Measured, Measured];
    const growth = seven.peak / one.peak;
    const most = `${MOST_GROWTH} is the most that it may be`;
    console.log(
      `${(seven.trials / one.trials).toFixed(1)} times the trials, ` +
        `${growth.toFixed(2)} times the memory: ${most}`,
    );
    if (growth >= MOST_GROWTH) Deno.exitCode = 1;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}
