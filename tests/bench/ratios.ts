/**
 * What toolgate costs beside a bare loop around OpenAI's client, which says the same to the same server:
 * CPU, wall time and memory of `run` and of `deno test`; how long a benchmark file takes to start, and
 * `deno task bench`; how fast recordings are replayed and tasks generated; and what a report, its page and a gate
 * of 20,000 trials take. Takes some minutes, on Linux, and wants a quiet machine. Exit code 1 when a target is
 * missed.
 *
 * deno task ratios                                           all of it
 * deno task ratios --trials 200 --rounds 1 --graphs 250      shorter, and coarser
 */

import { parseArgs } from "@std/cli/parse-args";
import { CHROMIUM } from "../support/browser.ts";
import type { Asked } from "./mock_server.ts";
import { openings } from "./opening.ts";
import { isMet, LAUNCH, median, render, type Row, take, type Taken } from "./processes.ts";
import { commands, flatness, generation, GRAPHS, writeJournal } from "./sizes.ts";
import { REQUESTS, suiteOf, TASKS, workOf } from "./workload.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const CONCURRENCY = 8;
/** Trials of the shorter run whose wall time is measured: its start counts for more. */
const FEW_TRIALS = 200;
/** Milliseconds that the server takes where wall time is measured. */
const LATENCY = 50;
/** How often starts are measured. */
const STARTS = 15;

/** Where a way of running trials finds what it needs. */
interface Place {
  /** The base URL of the server. */
  readonly url: string;
  readonly trials: number;
  readonly journal: string;
  /** The file with all conversations, and one with the first of them. */
  readonly work: string;
  readonly first: string;
  /** Further options. */
  readonly options?: readonly string[];
}

/** A way of running the same trials. */
interface Way {
  /** As people call it. */
  readonly shown: string;
  /** The way that it is measured beside. */
  readonly beside: "bare" | "bareFirst";
  readonly command: (place: Place) => { args: string[]; env?: Record<string, string> };
}

const bare = (work: "work" | "first"): Way["command"] => (place) => ({
  args: ["run", "--no-prompt", "--allow-all", "tests/bench/bare_loop.ts"]
    .concat(place[work], place.url, String(place.trials), String(CONCURRENCY)),
});

const test = (file: string, work: "work" | "first" = "work"): Way["command"] => (place) => ({
  args: ["test", "--no-prompt", "--allow-all", `tests/bench/${file}`]
    .concat("--", `--out=${place.journal}`),
  env: {
    SPEED_URL: place.url,
    SPEED_TRIALS: String(place.trials),
    SPEED_WORK: place[work],
    OPENAI_API_KEY: "none",
  },
});

/** `floor` is the bare loop in one test, the least that runs under `deno test`. */
const WAYS = {
  bare: { shown: "bare loop", beside: "bare", command: bare("work") },
  bareFirst: { shown: "bare loop, one question", beside: "bareFirst", command: bare("first") },
  run: {
    shown: "toolgate run",
    beside: "bare",
    command({ url, trials, journal, options = [] }) {
      const suite = `${journal}.suite.jsonc`;
      Deno.writeTextFileSync(suite, JSON.stringify(suiteOf(trials, url)));
      return { args: [...LAUNCH, "run", suite, "--out", journal, ...options] };
    },
  },
  floor: { shown: "bare loop in a test", beside: "bare", command: test("speed_bare_loop.ts") },
  toolTest: {
    shown: "one toolTest",
    beside: "bareFirst",
    command: test("speed_trials.ts", "first"),
  },
  benchmark: { shown: "benchmark", beside: "bare", command: test("speed_benchmark.ts") },
  toolTests: { shown: "tool tests", beside: "bare", command: test("speed_tool_tests.ts") },
} as const satisfies Record<string, Way>;
type Name = keyof typeof WAYS;

/** What each way took in one round. */
type Round = Partial<Record<Name, Taken>>;

/** The server, in a process of its own. */
async function startServer(work: string) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-net=127.0.0.1", `--allow-read=${work}`]
      .concat(`${ROOT}tests/bench/mock_server.ts`, work),
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const url = `http://127.0.0.1:${Number(new TextDecoder().decode(value))}`;
  return {
    /** The base URL under which one client asks. */
    at: (client: string, latency: number) => `${url}/${client}/${latency}/v1`,
    asked: async (): Promise<Record<string, Asked>> => await (await fetch(url)).json(),
    async [Symbol.asyncDispose]() {
      child.kill();
      await reader.cancel();
      await child.status;
    },
  };
}

class Measurement {
  readonly #server: Awaited<ReturnType<typeof startServer>>;
  readonly #folder: string;
  #journals = 0;

  constructor(server: Awaited<ReturnType<typeof startServer>>, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  /** Runs this many trials in one way. */
  async run(
    name: Name,
    { trials, latency = 0, options }: {
      readonly trials: number;
      readonly latency?: number;
      readonly options?: readonly string[];
    },
  ): Promise<Taken> {
    const { args, env } = (WAYS[name] as Way).command({
      url: this.#server.at(name, latency),
      trials,
      journal: `${this.#folder}/${++this.#journals}.jsonl`,
      work: `${this.#folder}/work.json`,
      first: `${this.#folder}/first.json`,
      options,
    });
    return await take(args, env);
  }

  /** Runs each way once a round, so that whatever else the machine does strikes all alike. */
  async rounds(
    names: readonly Name[],
    times: number,
    size: { readonly trials: number; readonly latency?: number },
  ): Promise<Round[]> {
    const rounds: Round[] = [];
    for (let round = 1; round <= times; round++) {
      const taken: Round = {};
      for (const name of names) {
        console.error(
          `Round ${round} of ${times}, ${size.latency ?? 0} ms latency: ${WAYS[name].shown}`,
        );
        taken[name] = await this.run(name, size);
      }
      rounds.push(taken);
    }
    return rounds;
  }

  /** The row of a benchmark file of one trial of a simulated model, above an empty test file. */
  async start(): Promise<Row> {
    const empty = `${this.#folder}/empty_test.ts`;
    Deno.writeTextFileSync(empty, 'Deno.test("nothing", () => {});\n');
    const cpuOf = async (file: string) => {
      const { cpu } = await take(["test", "--no-prompt", "--allow-all", file]);
      return 1000 * cpu;
    };
    const taken: { benchmark: number; nothing: number }[] = [];
    // The first run checks types and keeps what it compiles to.
    for (let start = 0; start <= STARTS; start++) {
      const nothing = await cpuOf(empty);
      taken.push({ nothing, benchmark: await cpuOf("tests/bench/speed_start.ts") });
    }
    const measured = taken.slice(1);
    const of = (kind: "benchmark" | "nothing") => median(measured.map((one) => one[kind]));
    return {
      what: "CPU to start a benchmark file, above an empty one",
      figure: median(measured.map(({ benchmark, nothing }) => benchmark - nothing)),
      unit: " ms",
      most: 400,
      from: `${of("benchmark").toFixed(0)} ms less ${of("nothing").toFixed(0)} ms`,
    };
  }

  /** The row of recordings that are replayed. */
  async replay(trials: number, rounds: number): Promise<Row> {
    const recordings = `${this.#folder}/recordings`;
    await this.run("run", { trials, options: ["--record", recordings] });
    const taken: Taken[] = [];
    for (let round = 0; round < rounds; round++) {
      taken.push(await this.run("run", { trials, options: ["--replay", recordings] }));
    }
    return {
      what: "Replayed trials, a second of CPU",
      figure: median(taken.map(({ cpu }) => trials / cpu)),
      unit: "",
      least: 300,
      from: `${taken[0]!.seconds.toFixed(1)} s in all`,
    };
  }

  /** That all that are measured beside the same loop have sent requests of as many bytes. */
  async assertSame(): Promise<void> {
    const asked = await this.#server.asked();
    for (const beside of ["bare", "bareFirst"] as const) {
      const own = Object.entries(asked).filter(([name]) => WAYS[name as Name]?.beside === beside);
      const sizes = own.map(([, { requests, bytes }]) => bytes / requests);
      if (new Set(sizes).size > 1) {
        throw new Error(
          `The clients do not say the same: ${JSON.stringify(Object.fromEntries(own))}`,
        );
      }
    }
  }
}

/** A figure of a way beside the loop that asks the same, by rounds; `floor` says whether it runs under `deno test`. */
function besideRow(
  what: string,
  rounds: readonly Round[],
  [name, of, most, floor = false]: readonly [Name, keyof Taken, number | undefined, boolean?],
  text: (taken: Taken) => string,
): Row {
  const { shown, beside } = WAYS[name];
  const ratio = (one: Name) =>
    median(rounds.map((round) => round[one]![of] / round[WAYS[one].beside]![of]));
  const middle = rounds[Math.floor(rounds.length / 2)]!;
  return {
    what: `${what}, ${shown} to the bare loop`,
    figure: ratio(name),
    most,
    ...(floor ? { floor: ratio("floor") } : {}),
    from: [name, beside].map((one) => text(middle[one]!)).join(" to "),
  };
}

interface Size {
  readonly trials: number;
  readonly rounds: number;
  readonly wallRounds: number;
}

async function measure(
  measurement: Measurement,
  { trials, rounds, wallRounds }: Size,
): Promise<Row[]> {
  // The first run of a file checks its types and keeps what it compiles to.
  const names = Object.keys(WAYS) as Name[];
  for (const name of names) await measurement.run(name, { trials: TASKS });
  const start = await measurement.start();
  const fast = await measurement.rounds(names, rounds, { trials });
  const latency = LATENCY;
  const waiting = ["bare", "run", "floor", "benchmark", "toolTests"] as const;
  const few = await measurement.rounds(waiting, wallRounds + 2, { trials: FEW_TRIALS, latency });
  const slow = await measurement.rounds(waiting.slice(0, 4), wallRounds, { trials, latency });
  const milliseconds = ({ cpu }: Taken) => `${(1000 * cpu / trials).toFixed(2)} ms`;
  const seconds = (taken: Taken) => `${taken.seconds.toFixed(1)} s`;
  const mebibytes = ({ peak }: Taken) => `${peak.toFixed(0)} MiB`;
  const ideal = Math.ceil(trials / CONCURRENCY) * REQUESTS * LATENCY / 1000;
  const cpu = `CPU of ${trials} trials`;
  const wall = (count: number) => `Wall time of ${count}, ${LATENCY} ms a reply`;
  return [
    besideRow(cpu, fast, ["run", "cpu", 1.4], milliseconds),
    besideRow(cpu, fast, ["toolTest", "cpu", 1.4, true], milliseconds),
    besideRow(cpu, fast, ["benchmark", "cpu", 1.8, true], milliseconds),
    besideRow(cpu, fast, ["toolTests", "cpu", 1.8, true], milliseconds),
    besideRow("Peak memory", fast, ["run", "peak", 1.15], mebibytes),
    besideRow("Peak memory", fast, ["benchmark", "peak", 1.7, true], mebibytes),
    besideRow(wall(FEW_TRIALS), few, ["run", "seconds", 1.15], seconds),
    besideRow(wall(FEW_TRIALS), few, ["benchmark", "seconds", 1.15, true], seconds),
    besideRow(wall(FEW_TRIALS), few, ["toolTests", "seconds", 1.15, true], seconds),
    ...slow.slice(0, 1).flatMap((): Row[] => [
      {
        what: `${wall(trials)}, bare loop to the ideal`,
        figure: median(slow.map((taken) => taken.bare!.seconds / ideal)),
        from: `${seconds(slow[0]!.bare!)} to ${ideal.toFixed(1)} s`,
      },
      besideRow(wall(trials), slow, ["run", "seconds", 1.03], seconds),
      besideRow(wall(trials), slow, ["benchmark", "seconds", 1.03, true], seconds),
    ]),
    start,
    await benchTask(rounds),
    await measurement.replay(trials, rounds),
  ];
}

/** The row of the project's main task, whose first run keeps what it compiles to. */
async function benchTask(rounds: number): Promise<Row> {
  const taken: Taken[] = [];
  for (let round = 0; round <= rounds; round++) taken.push(await take(["task", "bench"]));
  return {
    what: "CPU of deno task bench",
    figure: median(taken.slice(1).map(({ cpu }) => cpu)),
    unit: " s",
    digits: 2,
    most: 1.8,
    from: `${taken[1]!.seconds.toFixed(1)} s in all`,
  };
}

/** The row of the page of a report in a browser; none where there is none. */
async function pageRow(html: string, trials: number): Promise<Row[]> {
  if (CHROMIUM === undefined) return [];
  const { pages } = await openings(html, trials);
  return [{
    what: `Page of ${trials} trials, ready in Chromium`,
    figure: median(pages) / 1000,
    unit: " s",
    digits: 2,
    most: 0.7,
    from: `${(Deno.statSync(html).size / 1e6).toFixed(1)} MB`,
  }];
}

async function main(): Promise<number> {
  const given = parseArgs(Deno.args, { string: ["trials", "rounds", "wall-rounds", "graphs"] });
  const trials = Number(given["trials"] ?? 2000);
  const rounds = Number(given["rounds"] ?? 5);
  const wallRounds = Number(given["wall-rounds"] ?? 1);
  if (Deno.build.os !== "linux") {
    console.error(`Cannot measure as /proc is read, which Linux has: this is ${Deno.build.os}`);
    return 2;
  }
  const folder = Deno.makeTempDirSync({ prefix: "toolgate_ratios_" });
  try {
    const work = workOf(trials);
    const path = `${folder}/work.json`;
    Deno.writeTextFileSync(path, JSON.stringify(work));
    const first = { ...work, conversations: work.conversations.slice(0, 1) };
    Deno.writeTextFileSync(`${folder}/first.json`, JSON.stringify(first));
    await using server = await startServer(path);
    const measurement = new Measurement(server, folder);
    const rows = await measure(measurement, { trials, rounds, wallRounds });
    await measurement.assertSame();
    console.error("Generation, report and gate");
    const journal = `${folder}/sizes.jsonl`;
    const html = `${folder}/report.html`;
    const many = await writeJournal(journal, Number(given["graphs"] ?? GRAPHS));
    rows.push(...generation(), ...await commands(journal, html, many));
    rows.push(...await pageRow(html, many), await flatness(folder));
    console.log(`${trials} trials of ${REQUESTS} requests, ${CONCURRENCY} at the same time`);
    console.log(`Load of the machine at the end: ${Deno.loadavg()[0]!.toFixed(1)}\n`);
    console.log(render(rows));
    return rows.every(isMet) ? 0 : 1;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

if (import.meta.main) Deno.exitCode = await main();
