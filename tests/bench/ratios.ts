/**
 * What toolgate costs beside a bare loop around OpenAI's client, which says the same to the same server:
 * CPU, wall time and memory of `run` and of `deno test`; how long a benchmark file takes to start; wall time
 * of a suite of tool tests; how fast recordings are replayed and tasks generated; and what a report and a gate
 * of 20,000 trials take. Takes some minutes, on Linux, and wants a quiet machine. Exit code 1 when a target is
 * missed.
 *
 * deno task ratios                                           all of it
 * deno task ratios --trials 200 --rounds 1 --graphs 250      shorter, and coarser
 */

import { parseArgs } from "@std/cli/parse-args";
import type { Asked } from "./mock_server.ts";
import { isMet, LAUNCH, median, render, type Row, take, type Taken } from "./processes.ts";
import { commands, flatness, generation, GRAPHS, writeJournal } from "./sizes.ts";
import { REQUESTS, suiteOf, TASKS, workOf } from "./workload.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const CONCURRENCY = 8;
/** Trials of the shorter run whose wall time is measured: its start counts for more. */
const FEW_TRIALS = 200;
/** Milliseconds that the server takes where wall time is measured. */
const LATENCY = 50;
/** How often the start of a benchmark file is measured. */
const STARTS = 15;
/** Tests of tools, of one trial each, whose wall time is measured. */
const TOOL_TESTS = 200;
/** Conversations of these: tests of one file share their tools. */
const TOOL_CONVERSATIONS = 4;

/** What a process took, and how long it asked the server: the seconds from its first request to the last answer. */
interface Spent extends Taken {
  readonly span: number;
}

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

/** The ways in which the same trials are run; `one` is the bare loop in one test, the floor of those under `deno test`. */
const CLIENTS = ["bare", "run", "one", "test"] as const;
type Client = typeof CLIENTS[number];
/** As people call them. */
const SHOWN = { run: "toolgate run", test: "deno test" };

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
    client: Client,
    { trials, latency = 0 }: { readonly trials: number; readonly latency?: number },
    options: readonly string[] = [],
  ): Promise<Taken> {
    const url = this.#server.at(client, latency);
    const journal = `${this.#folder}/${++this.#journals}.jsonl`;
    const work = `${this.#folder}/work.json`;
    if (client === "bare") {
      return await take([
        ...["run", "--no-prompt", "--allow-all", "tests/bench/bare_loop.ts"],
        ...[work, url, String(trials), String(CONCURRENCY)],
      ]);
    }
    if (client === "one") {
      const env = { SPEED_URL: url, SPEED_WORK: work, SPEED_TRIALS: String(trials) };
      const file = "tests/bench/speed_bare_loop.ts";
      return await take(["test", "--no-prompt", "--allow-all", file], env);
    }
    if (client === "test") return await this.#test(url, trials, ["--", `--out=${journal}`]);
    const suite = `${this.#folder}/suite.jsonc`;
    Deno.writeTextFileSync(suite, JSON.stringify(suiteOf(trials, url)));
    return await take([...LAUNCH, "run", suite, "--out", journal, ...options]);
  }

  /** Runs a benchmark file of one trial, and an empty test file: the milliseconds of CPU of both. */
  async start(): Promise<{ benchmark: number; empty: number }> {
    const empty = `${this.#folder}/empty_test.ts`;
    Deno.writeTextFileSync(empty, 'Deno.test("nothing", () => {});\n');
    const none = await take(["test", "--no-prompt", "--allow-all", empty]);
    const benchmark = await this.#test(this.#server.at("start", 0), 1);
    return { benchmark: 1000 * benchmark.cpu, empty: 1000 * none.cpu };
  }

  /**
   * Has the same conversations in tests of tools, one trial each, and in a bare loop: the seconds from the first
   * request to the last answer, as the server sees them, and those of the processes.
   */
  async toolTests(round: number): Promise<{ tools: Spent; bare: Spent }> {
    const work = `${this.#folder}/tool_work.json`;
    const { model, conversations } = workOf(TOOL_CONVERSATIONS);
    Deno.writeTextFileSync(work, JSON.stringify({ model, conversations }));
    const bare = await take([
      ...["run", "--no-prompt", "--allow-all", "tests/bench/bare_loop.ts", work],
      ...[this.#server.at(`loop${round}`, LATENCY), String(TOOL_TESTS), String(CONCURRENCY)],
    ]);
    const journal = `${this.#folder}/${++this.#journals}.jsonl`;
    const tools = await take([
      ...["test", "--no-prompt", "--allow-all", "tests/bench/speed_tool_tests.ts"],
      ...["--", `--out=${journal}`],
    ], {
      SPEED_URL: this.#server.at(`tools${round}`, LATENCY),
      SPEED_WORK: work,
      SPEED_TRIALS: String(TOOL_TESTS),
      OPENAI_API_KEY: "none",
    });
    const asked = await this.#server.asked();
    const [of, own] = [asked[`loop${round}`]!, asked[`tools${round}`]!];
    assertAlike({ bare: of, tools: own });
    return {
      bare: { ...bare, span: (of.last - of.first) / 1000 },
      tools: { ...tools, span: (own.last - own.first) / 1000 },
    };
  }

  /** Replays what was recorded before. */
  async replay(trials: number): Promise<Taken> {
    const recordings = `${this.#folder}/recordings`;
    const kept = (() => {
      try {
        return Deno.statSync(recordings).isDirectory;
      } catch {
        return false;
      }
    })();
    if (!kept) await this.run("run", { trials }, ["--record", recordings]);
    return await this.run("run", { trials }, ["--replay", recordings]);
  }

  /** That all have sent as many requests, and as many bytes. */
  async assertSame(): Promise<void> {
    const asked = await this.#server.asked();
    assertAlike(Object.fromEntries(
      CLIENTS.filter((client) => client in asked).map((client) => [client, asked[client]!]),
    ));
  }

  async #test(url: string, trials: number, flags: readonly string[] = []): Promise<Taken> {
    const file = "tests/bench/speed_benchmark.ts";
    const env = { SPEED_URL: url, SPEED_TRIALS: String(trials) };
    return await take(["test", "--no-prompt", "--allow-all", file, ...flags], env);
  }
}

/** That each request was as long, on average. */
function assertAlike(asked: Readonly<Record<string, Asked>>): void {
  const sizes = Object.values(asked).map(({ requests, bytes }) => bytes / requests);
  if (new Set(sizes).size > 1) {
    throw new Error(`The clients do not say the same: ${JSON.stringify(asked)}`);
  }
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
    const work = `${folder}/work.json`;
    Deno.writeTextFileSync(work, JSON.stringify(workOf(trials)));
    await using server = await startServer(work);
    const measurement = new Measurement(server, folder);
    const rows = await measure(measurement, { trials, rounds, wallRounds });
    await measurement.assertSame();
    console.error("Generation, report and gate");
    const journal = `${folder}/sizes.jsonl`;
    const many = await writeJournal(journal, Number(given["graphs"] ?? GRAPHS));
    rows.push(...generation(), ...await commands(journal, `${folder}/report.html`, many));
    rows.push(await flatness(folder));
    console.log(`${trials} trials of ${REQUESTS} requests, ${CONCURRENCY} at the same time\n`);
    console.log(render(rows));
    return rows.every(isMet) ? 0 : 1;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
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
  await measurement.start();
  await measurement.run("one", { trials: TASKS });
  const starts: { benchmark: number; empty: number }[] = [];
  for (let start = 0; start < STARTS; start++) starts.push(await measurement.start());

  /** Each way once a round, so that whatever else the machine does strikes all alike. */
  const inTurn = async (times: number, size: { trials: number; latency?: number }) => {
    const taken: Record<Client, Taken>[] = [];
    for (let round = 1; round <= times; round++) {
      const one: Partial<Record<Client, Taken>> = {};
      for (const client of CLIENTS) {
        console.error(`Round ${round} of ${times}, ${size.latency ?? 0} ms latency: ${client}`);
        one[client] = await measurement.run(client, size);
      }
      taken.push(one as Record<Client, Taken>);
    }
    return taken;
  };
  const fast = await inTurn(rounds, { trials });
  const few = await inTurn(wallRounds + 2, { trials: FEW_TRIALS, latency: LATENCY });
  const slow = await inTurn(wallRounds, { trials, latency: LATENCY });
  const tests: { tools: Spent; bare: Spent }[] = [];
  for (let round = 1; round <= Math.max(3, wallRounds); round++) {
    console.error(`Round ${round}: ${TOOL_TESTS} tests of tools`);
    tests.push(await measurement.toolTests(round));
  }
  const replays: Taken[] = [];
  for (let round = 0; round < rounds; round++) replays.push(await measurement.replay(trials));

  const ratio = (taken: readonly Record<Client, Taken>[], client: Client, of: keyof Taken) =>
    median(taken.map((one) => one[client][of] / one.bare[of]));
  /** The row of a way beside the bare loop. */
  const beside = (
    what: string,
    taken: readonly Record<Client, Taken>[],
    [way, of, most]: readonly ["run" | "test", keyof Taken, number],
    text: (taken: Taken) => string,
  ): Row => ({
    what: `${what}, ${SHOWN[way]} to the bare loop`,
    figure: ratio(taken, way, of),
    most,
    ...(way === "test" ? { floor: ratio(taken, "one", of) } : {}),
    from: [way, "bare" as const].map((one) => text(taken[Math.floor(taken.length / 2)]![one]))
      .join(" to "),
  });
  const milliseconds = ({ cpu }: Taken) => `${(1000 * cpu / trials).toFixed(2)} ms`;
  const seconds = (taken: Taken) => `${taken.seconds.toFixed(1)} s`;
  const mebibytes = ({ peak }: Taken) => `${peak.toFixed(0)} MiB`;
  const ideal = Math.ceil(trials / CONCURRENCY) * REQUESTS * LATENCY / 1000;
  const ofTests = (key: "span" | "seconds") => {
    // The first run of the file checks its types.
    const { tools, bare } = tests[Math.floor(tests.length / 2)]!;
    return {
      figure: median(tests.map((one) => one.tools[key] / one.bare[key])),
      from: `${tools[key].toFixed(1)} s to ${bare[key].toFixed(1)} s`,
    };
  };
  const ways = ["run", "test"] as const;
  const startOf = (kind: "benchmark" | "empty") => median(starts.map((start) => start[kind]));
  return [
    ...ways.map((way) => beside("CPU a trial", fast, [way, "cpu", 1.25], milliseconds)),
    ...ways.map((way) => beside("Peak memory", fast, [way, "peak", 1.5], mebibytes)),
    ...ways.map((way) =>
      beside(`Wall time of ${FEW_TRIALS}`, few, [way, "seconds", 1.05], seconds)
    ),
    ...slow.slice(0, 1).map(({ bare }) => ({
      what: `Wall time of ${trials}, bare loop to the ideal`,
      figure: median(slow.map((taken) => taken.bare.seconds / ideal)),
      from: `${seconds(bare)} to ${ideal.toFixed(1)} s`,
    })),
    ...(slow.length === 0 ? [] : ways).map((way) =>
      beside(`Wall time of ${trials}`, slow, [way, "seconds", 1.03], seconds)
    ),
    {
      what: `Wall time, ${TOOL_TESTS} tool tests to the bare loop, requests`,
      ...ofTests("span"),
      most: 1.1,
    },
    {
      what: `Wall time, ${TOOL_TESTS} tool tests to the bare loop, with start`,
      ...ofTests("seconds"),
    },
    {
      what: "CPU to start a benchmark file, above an empty one",
      figure: median(starts.map(({ benchmark, empty }) => benchmark - empty)),
      unit: " ms",
      most: 330,
      from: `${startOf("benchmark").toFixed(0)} ms less ${startOf("empty").toFixed(0)} ms`,
    },
    {
      what: "Replayed trials, a second of CPU",
      figure: median(replays.map(({ cpu }) => trials / cpu)),
      unit: "",
      least: 300,
      from: `${seconds(replays[0]!)} in all`,
    },
  ];
}

if (import.meta.main) Deno.exitCode = await main();
