// 2,000 trials against a server that does all that servers and networks do: as they are, and while the
// runner is killed again and again. Takes minutes: deno task soak

import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertMatch,
  assertNotMatch,
} from "@std/assert";
import { SYSTEM_CLOCK } from "../../lib/base/clock.ts";
import { fork, freshSeed } from "../../lib/base/random.ts";
import { type Child, type Folder, folder, readLines, ROOT, start } from "../support/child.ts";
import { CHAOS_KINDS, HUGE_KINDS } from "../support/chaos_faults.ts";
import { peakOf } from "../support/peak_memory.ts";
import type { ChaosCounts, ChaosOptions } from "../support/chaos_server.ts";

/** Another one each time, unless it is given, as it is printed. */
const SEED = Number(Deno.env.get("CHAOS_SEED") ?? freshSeed());
const TRIALS = Number(Deno.env.get("CHAOS_TRIALS") ?? 2_000);
const CONCURRENCY = 32;

/** MiB that bodies of 20 MB may add: of each that is under way no more is read than 16. */
const MOST_FOR_HUGE = 16 * CONCURRENCY;
/** MiB that a run may take in all. */
const MOST_MEMORY = 256 + MOST_FOR_HUGE;

console.log(`CHAOS_SEED=${SEED} CHAOS_TRIALS=${TRIALS}`);

interface Server extends AsyncDisposable {
  readonly url: string;
  counts(): Promise<ChaosCounts>;
}

/** A server in a process of its own. */
async function serve(options: Partial<ChaosOptions> = {}): Promise<Server> {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--allow-all", `${ROOT}/tests/support/chaos_server.ts`],
      JSON.stringify({ seed: SEED, ...options }),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await lines.read();
  const url = value.trim();
  return {
    url,
    counts: async () => await (await fetch(`${url}/counts`)).json(),
    async [Symbol.asyncDispose]() {
      await process.stdin.close();
      await lines.cancel();
      await process.status;
    },
  };
}

/** A suite of `trials` trials, half of them in each wire format. */
function writeSuite(files: Folder, { url }: Server, trials = TRIALS): string {
  const entry = { model: "sim:planner", baseURL: url };
  return files.write(
    "suite.jsonc",
    JSON.stringify({
      name: "chaos",
      seed: 1,
      graphs: trials / 2,
      tasks: [{ core: 3, depth: 2, connected: 1 }],
      models: [entry, { ...entry, api: "responses" }],
      limits: { tokens: 1_000_000 },
    }),
  );
}

/** The command line as `deno task toolgate` starts it. */
const LAUNCH: readonly string[] = JSON.parse(Deno.readTextFileSync(`${ROOT}/deno.json`))
  .tasks.toolgate.command.split(" ").slice(1);

function run(suite: string, journal: string, more: readonly string[] = []): Child {
  return start(Deno.execPath(), [
    ...LAUNCH,
    ...["run", suite, "--out", journal, "--concurrency", `${CONCURRENCY}`],
    ...["--request-timeout", "2", ...more],
  ]);
}

interface Watched {
  /** The largest resident set, in MiB. */
  readonly memory: number;
  /** Numbers of open files, from the first to the last look. */
  readonly files: readonly number[];
}

/** Looks at a process until it ends. */
async function watch({ process, finished }: Child): Promise<Watched> {
  let memory = 0;
  const files: number[] = [];
  let running = true;
  const ended = finished.finally(() => running = false);
  for (; running; await Promise.race([ended, SYSTEM_CLOCK.pause(100)])) {
    try {
      memory = Math.max(memory, peakOf(process.pid));
      files.push([...Deno.readDirSync(`/proc/${process.pid}/fd`)].length);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return { memory, files };
}

/** What must hold of a process that was not killed. */
function assertSound({ stderr, all }: { readonly stderr: string; readonly all: string }): void {
  assertNotMatch(stderr, /uncaught|in promise|panicked|^ +at /im, all);
}

interface Line {
  readonly kind: string;
  readonly id: string;
  readonly outcome: string;
  readonly reason?: string;
  readonly failures: readonly { readonly type: string }[];
}

/** The trials of a journal; whatever is wrong with any of them fails the test. */
function trialsOf(journal: string): Line[] {
  const [plan, ...trials] = readLines(journal) as [Line, ...Line[]];
  assertEquals(plan.kind, "plan");
  for (const { kind, id, outcome, reason, failures } of trials) {
    assertEquals([kind, failures], ["trial", []], id);
    // A request that is never answered, by a server that answers others, may be that of a slow model.
    if (outcome === "solved" || outcome === "time_limit") continue;
    assertEquals(outcome, "invalid", id);
    assertMatch(reason!, /^Cannot .* \(([4-9]|\d\d) attempts\)$/, id);
  }
  return trials;
}

function share(trials: readonly Line[]): string {
  const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
  return `${invalid} of ${trials.length} trials are invalid ` +
    `(${(100 * invalid / trials.length).toFixed(2)}%)`;
}

async function uninterrupted(amount: number, without: readonly string[]) {
  await using files = await folder();
  await using server = await serve({ without });
  const journal = files.file("a.jsonl");
  const began = performance.now();
  const child = run(writeSuite(files, server, amount), journal);
  const [watched, finished, counts] = [
    await watch(child),
    await child.finished,
    await server.counts(),
  ];
  const seconds = (performance.now() - began) / 1000;
  assertSound(finished);
  const trials = trialsOf(journal);
  const invalid = trials.some(({ outcome }) => outcome === "invalid");
  assertEquals(finished.code, invalid ? 3 : 0, finished.all);
  assertEquals([counts.elsewhere, counts.errors], [0, []]);
  if (amount >= 500) {
    const missing = CHAOS_KINDS.filter(({ name }) => counts.kinds[name] === 0);
    assertEquals(missing.map(({ name }) => name), [...without]);
  }
  const happened = Object.values(counts.kinds).reduce((sum, count) => sum + count, 0);
  console.log(
    `${share(trials)}; ${counts.requests} requests, ${happened} of them not plain; ` +
      `${seconds.toFixed(0)} s, peak ${watched.memory.toFixed(0)} MiB, ` +
      `at most ${Math.max(...watched.files)} open files`,
  );
  return { trials, watched };
}

/** The ids of trials, each of which must be there once. */
function idsOf(trials: readonly Line[]): string[] {
  const ids = trials.map(({ id }) => id).sort();
  assertEquals(ids.length, new Set(ids).size, "a trial has two lines");
  return ids;
}

/** A test of child processes, whose own leaks are what is looked for. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

let whole: string[] = [];

test("run ends every trial in one line, in bounded memory, whatever a server does", async () => {
  const { trials, watched } = await uninterrupted(TRIALS, []);
  whole = idsOf(trials);
  assertEquals(whole.length, TRIALS);
  const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
  assertLess(invalid, TRIALS / 10);
  // A part of them is enough, as finished trials are not kept in memory.
  const huge = HUGE_KINDS.map(({ name }) => name);
  const { watched: without } = await uninterrupted(2 * Math.ceil(TRIALS / 8), huge);
  assertLess(watched.memory, MOST_MEMORY);
  assertLess(watched.memory - without.memory, MOST_FOR_HUGE);
  // Each request under way has a socket; what leaks would be there more often the longer it runs.
  const half = Math.floor(watched.files.length / 2);
  const [early, late] = [watched.files.slice(0, half), watched.files.slice(half)];
  assertLess(Math.max(...late), Math.max(...early) + CONCURRENCY / 2);
});

test("run with --resume loses and doubles no trial, however often it is killed", async () => {
  await using files = await folder();
  await using server = await serve();
  const suite = writeSuite(files, server);
  const journal = files.file("a.jsonl");
  const { prng } = fork(SEED, "kills");
  const kills = { SIGKILL: 0, SIGTERM: 0, torn: 0 };
  let torn = 0;
  let had = 0;
  for (let complete = false; !complete;) {
    const child = run(suite, journal, had === 0 && !exists(journal) ? [] : ["--resume"]);
    let ended = false;
    child.finished.finally(() => ended = true);
    const signal = prng() < 0.7 ? "SIGKILL" : "SIGTERM";
    // Some are killed before they have begun.
    const after = had + Math.floor(prng() * TRIALS / 6);
    const early = prng() < 0.1 ? SYSTEM_CLOCK.pause(prng() * 1_000) : undefined;
    while (!ended) {
      if (early === undefined ? linesIn(journal) > after : true) {
        await early;
        await SYSTEM_CLOCK.pause(prng() * 200);
        if (!ended) child.process.kill(signal);
        break;
      }
      await Promise.race([child.finished, SYSTEM_CLOCK.pause(50)]);
    }
    const finished = await child.finished;
    if (torn > 0 && linesIn(journal) > had) {
      const notice = `Dropped a torn last line of ${journal} (${torn} bytes)`;
      assert(finished.stderr.includes(notice), `${notice}: ${finished.all}`);
    }
    if (finished.code !== 137) assertSound(finished);
    complete = finished.code !== 137 && linesIn(journal) === TRIALS + 1 && tornOf(journal) === 0;
    if (complete) break;
    assert([137, 143, 3].includes(finished.code), finished.all);
    if (finished.code === 137) kills.SIGKILL++;
    else kills.SIGTERM++;
    if (!exists(journal)) continue;
    // A clean stop leaves no torn line behind, unless it came before the run had begun.
    if (finished.code !== 137) {
      if (linesIn(journal) > had) assertEquals(tornOf(journal), 0, finished.all);
    } // What a dying machine leaves is made by hand.
    else if (prng() < 0.5 && linesIn(journal) > 2) {
      Deno.truncateSync(journal, Deno.statSync(journal).size - 2 - Math.floor(prng() * 200));
    }
    torn = tornOf(journal);
    if (torn > 0) kills.torn++;
    had = linesIn(journal);
  }
  const trials = trialsOf(journal);
  console.log(
    `${kills.SIGKILL} times SIGKILL, ${kills.SIGTERM} times SIGTERM, ${kills.torn} torn lines; ` +
      share(trials),
  );
  assertGreater(kills.SIGKILL, 0);
  const ids = idsOf(trials);
  if (whole.length > 0) assertEquals(ids, whole);
  assertEquals(ids.length, TRIALS);

  // Invalid trials are run again until there are none, and their last lines count.
  for (let round = 0; invalidIn(journal) > 0; round++) {
    assertLess(round, 10, "trials stay invalid");
    const finished = await run(suite, journal, ["--resume", "--retry-invalid"]).finished;
    assertSound(finished);
    assertEquals(finished.code, invalidIn(journal) > 0 ? 3 : 0, finished.all);
  }
  const last = new Map(trialsOf(journal).map((trial) => [trial.id, trial]));
  assertEquals([...last.keys()].sort(), ids);
  assert([...last.values()].every(({ outcome }) => outcome !== "invalid"));
  const { errors, elsewhere } = await server.counts();
  assertEquals([elsewhere, errors], [0, []]);
});

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Whole lines in a journal that may be written to, its plan and its trials. */
function linesIn(path: string): number {
  const text = exists(path) ? Deno.readTextFileSync(path) : "";
  return text.match(/^\{"v":1,"kind":"(?:plan|trial)".*\n/gm)?.length ?? 0;
}

/** Bytes after the last line break. */
function tornOf(path: string): number {
  return new TextEncoder().encode(Deno.readTextFileSync(path).split("\n").at(-1)).length;
}

function invalidIn(journal: string): number {
  const last = new Map(trialsOf(journal).map(({ id, outcome }) => [id, outcome]));
  return [...last.values()].filter((outcome) => outcome === "invalid").length;
}
