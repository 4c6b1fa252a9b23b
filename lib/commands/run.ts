/**
 * `run`: the trials of a suite file.
 * @module
 */

import { Connections } from "../connect.ts";
import { assertComparable, baselineOfGate, missingBaseline } from "../baseline.ts";
import { readJsonc } from "../input.ts";
import { parseShard, planSuite } from "../plan.ts";
import { renderTables } from "../reports/terminal.ts";
import { Run, type RunOptions, seedToResume } from "../run.ts";
import { SUITE } from "../suite.ts";
import { Arguments, userPath } from "./arguments.ts";
import {
  connectOptions,
  finish,
  Interrupt,
  overridden,
  reasonsOf,
  RUN_LISTS,
  RUN_VALUES,
  tellForecast,
} from "./running.ts";

export const RUN_HELP = `toolgate run SUITE.jsonc: runs the trials of a suite

  --model M            this model in place of the suite's; may be given several times
  --api A              how models are spoken to: chat
  --base-url U         the server of models other than sim:... (default OpenAI's)
  --strategy S         this strategy in place of the suite's; may be given several times
  --seed N             this seed in place of the suite's
  --out F.jsonl        the journal to which finished trials are appended
  --resume             continues the journal: what it has is not run again
  --retry-invalid      with --resume: runs invalid trials again
  --concurrency N      trials at the same time (default 8)
  --shard I/N          only this part of the plan
  --max-tokens N       begins nothing more once so many tokens were read and written
  --max-usd X          begins nothing more once so many US dollars were spent
  --prices F.jsonc     what models cost: { "MODEL": { "input": 1.25, "output": 10 } } in dollars a
                       million tokens
  --request-timeout S  seconds that one attempt of a request may take (default 600)
  --retries N          further attempts of a failed request (default 3)

It runs, and decides nothing: that is for gate. A sequential gate of the suite stops the run once it is
decided.

Exit code 0 when every trial that was needed ended validly, 3 when some are invalid or were not run.`;

/** Runs a suite and prints its tables to stdout. */
export async function run(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("run", arguments_, {
    values: [...RUN_VALUES, "shard"],
    lists: RUN_LISTS,
    switches: ["resume", "retry-invalid"],
  });
  const [file, ...rest] = options.operands;
  if (file === undefined || rest.length > 0) {
    throw options.error(`it takes one suite file: ${options.operands.length} are given`);
  }
  const out = options.text("out") === undefined ? undefined : userPath(options.text("out")!);
  const resume = options.has("resume");
  if (resume && out === undefined) throw options.error("--resume needs --out");
  if (options.has("retry-invalid") && !resume) {
    throw options.error("--retry-invalid needs --resume");
  }
  const connecting = connectOptions(options);
  const concurrency = options.integer("concurrency", 1);
  const shardText = options.text("shard");
  const shard = shardText === undefined ? undefined : parseShard(shardText);

  const path = userPath(file);
  const suite = overridden(readJsonc(path, SUITE), options, path);
  const resumed = resume ? seedToResume(out!) : undefined;
  const baseline = baselineOfGate(suite.gate, userPath);
  for (const notice of baseline?.notices ?? []) console.error(notice);
  const missing = missingBaseline(suite.gate, baseline);
  if (missing !== undefined) console.error(`No sequential gate can stop this run: ${missing}`);
  const known = resumed ?? baseline?.plan?.seed;
  const seed = suite.seed === "fresh" ? known ?? suite.seed : suite.seed;
  if (seed === "fresh" && shard !== undefined) {
    throw options.error('all shards need the same seed and it is "fresh": add --seed N');
  }
  const plan = planSuite({ ...suite, seed }, { source: path, sharded: shard !== undefined });
  if (baseline !== undefined) assertComparable(baseline, plan, plan.trials);
  if (plan.skipped > 0) {
    console.error(`Skipped ${plan.skipped} impossible crossings (depth must be below core)`);
  }
  if (seed === "fresh") console.error(`Fresh seed ${plan.resolved.seed}`);
  if (shard !== undefined && plan.gate?.sequential) {
    console.error("A shard cannot stop early: the gate is one of fixed size");
  }
  tellForecast(plan);

  await using connections = new Connections(connecting);
  using interrupt = new Interrupt();
  const runOptions: RunOptions = {
    connect: (entry) => connections.model(entry),
    signal: interrupt.signal,
    resume,
    retryInvalid: options.has("retry-invalid"),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(shard === undefined ? {} : { shard }),
    ...(baseline === undefined ? {} : { baseline }),
    ...(out === undefined ? {} : { journal: out }),
  };
  using running = new Run(plan, runOptions);
  for (const notice of running.notices) console.error(notice);
  running.connect();
  running.open();
  if (out === undefined) console.error("Without --out the trials are not kept");
  if (running.resumed > 0) {
    console.error(`${running.resumed} of ${running.trials.length} trials are in ${out} already`);
  }
  const { finished, spared, beyond } = await finish(running, interrupt.signal);
  if (finished.length > 0) console.log(renderTables(finished));
  const invalid = finished.filter(({ outcome }) => outcome === "invalid");
  const { stopped } = running;
  const unrun = running.trials.length - finished.length - spared - beyond;
  if (spared > 0) console.error(`${spared} trials were not needed: the gate had decided`);
  if (beyond > 0) console.error(`${beyond} trials were not run: the baseline ends before them`);
  if (invalid.length > 0) {
    console.error(`${invalid.length} trials are invalid: infrastructure spoiled them`);
    for (const [reason, count] of reasonsOf(invalid)) console.error(`  ${count} x ${reason}`);
  }
  if (interrupt.signal.aborted && out !== undefined) {
    console.error("Interrupted: continue with the same command and --resume");
  }
  if (unrun > 0) {
    console.error(`${unrun} trials were not run${stopped === undefined ? "" : `: ${stopped}`}`);
  }
  if (plan.gate !== undefined && !interrupt.signal.aborted) {
    const journal = options.text("out");
    console.error(
      journal === undefined
        ? "Nothing decides over the gate of this suite: keep the trials with --out F.jsonl"
        : `To decide: deno task toolgate gate ${journal}`,
    );
  }
  return invalid.length + unrun > 0 ? 3 : 0;
}
