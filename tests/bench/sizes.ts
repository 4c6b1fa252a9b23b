/**
 * What grows with size: how long generating a task takes beside the plainest program that makes as much text, and how
 * that grows with the number of its functions, and how long a report and a gate of many trials take, as users start them, each beside its floor; and
 * what memory a run takes as it grows.
 */

import { JournalWriter } from "../../lib/runs/journal/lines.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { realTrials } from "../support/many_trials.ts";
import { LAUNCH, median, type Row, take, type Taken } from "./processes.ts";
import { yardstick } from "./yardstick.ts";

/** In each of four cells, for each of two models: 20,000 trials. */
export const GRAPHS = 2500;

/** Writes a journal of trials that were all run, so that they can be derived again; returns their number. */
export async function writeJournal(path: string, graphs: number): Promise<number> {
  const { plan, trials } = realTrials(graphs);
  using journal = JournalWriter.create(path);
  journal.write(planLine(plan));
  for await (const trial of trials) journal.write(trial);
  return plan.trials.length;
}

/** How the engine is set to use memory in `deno task toolgate`. */
const ENGINE = LAUNCH.filter((flag) => flag.startsWith("--v8-flags"));

/** The plainest program that reads a journal. */
const FLOOR = `for (const line of Deno.readTextFileSync(Deno.args[0]).split("\\n")) {
  if (line !== "") JSON.parse(line);
}`;

/** Makes a report of a journal and decides its gate, in processes of their own, beside reading and parsing it. */
export async function commands(journal: string, html: string, trials: number): Promise<Row[]> {
  const floor = `${journal}.js`;
  Deno.writeTextFileSync(floor, FLOOR);
  const plain = await take(["run", "--no-prompt", "--allow-read", floor, journal]);
  const report = await take([...LAUNCH, "report", journal, "--html", html]);
  const gate = await take([...LAUNCH, "gate", journal]);
  const from = `${(Deno.statSync(journal).size / 1e6).toFixed(0)} MB of journal`;
  const limits = { seconds: trials / 20_000, peak: 1 };
  const row = (what: string, taken: Taken, of: "seconds" | "peak", most: number): Row => ({
    what: `${what} of ${trials} trials, ${of === "peak" ? "peak memory" : "wall time"}`,
    figure: taken[of],
    ...(of === "peak" ? { unit: " MiB" } : { unit: " s", digits: 1 }),
    most: most * limits[of],
    floor: plain[of],
    from,
  });
  return [
    row("Report", report, "seconds", 8),
    row("Report", report, "peak", 300),
    row("Gate", gate, "seconds", 3),
    row("Gate", gate, "peak", 300),
  ];
}

/** How much more memory a run of 100,000 trials takes than one of 20,000. */
export async function flatness(folder: string): Promise<Row> {
  const peakOf = async (trials: number) => {
    const file = "tests/bench/many_trials_run.ts";
    const journal = `${folder}/many_${trials}.jsonl`;
    return (await take(["run", ...ENGINE, "--allow-all", file, String(trials), journal])).peak;
  };
  const [some, many] = [await peakOf(20_000), await peakOf(100_000)];
  return {
    what: "Peak memory, run of 100,000 trials to one of 20,000",
    figure: many / some,
    most: 1.3,
    floor: 1,
    from: `${many.toFixed(0)} MiB to ${some.toFixed(0)} MiB`,
  };
}

/** How long generating tasks takes beside the plainest program that makes as much text. */
export function generation(): Row[] {
  let seed = 0;
  const task = (functions: number, core: number) => () => {
    const others = (functions - core) / 2;
    generateTask({ core, depth: 10, connected: others, disconnected: others, seed: ++seed });
  };
  /** As many functions and parameters, in the plainest way. */
  const plain = (functions: number) => () => yardstick(functions, 2 * functions, ++seed);
  const kinds = {
    plain: { make: plain(120), times: 40 },
    task: { make: task(120, 40), times: 40 },
    small: { make: task(125, 25), times: 40 },
    large: { make: task(1_000, 200), times: 5 },
    plainSmall: { make: plain(125), times: 40 },
    plainLarge: { make: plain(1_000), times: 5 },
  };
  const taken = Object.fromEntries(
    Object.keys(kinds).map((name) => [name, [] as number[]]),
  ) as Record<keyof typeof kinds, number[]>;
  for (let round = 0; round < 60; round++) {
    for (const [name, { make, times }] of Object.entries(kinds)) {
      const began = performance.now();
      for (let left = times; left > 0; left--) make();
      // The first ones are compiled.
      if (round >= 10) {
        taken[name as keyof typeof kinds].push((performance.now() - began) / times);
      }
    }
  }
  const of = (kind: keyof typeof kinds) => median(taken[kind]);
  const ms = (time: number) => `${time.toFixed(2)} ms`;
  return [
    {
      what: "Time of a task of 120 functions to its yardstick",
      figure: of("task") / of("plain"),
      most: 0.8,
      from: `${ms(of("task"))} to ${ms(of("plain"))}`,
    },
    {
      what: "Time of 1,000 functions to that of 125",
      figure: of("large") / of("small"),
      most: 9,
      floor: of("plainLarge") / of("plainSmall"),
      from: `${ms(of("large"))} to ${ms(of("small"))}`,
    },
  ];
}
