/**
 * `score traces`: judges recorded conversations by the tests of a file, which `deno test` runs.
 * @module
 */

import { callerFolder } from "../base/command_line.ts";
import { cannot, InputError, reasonOf } from "../base/errors.ts";
import { countText } from "../base/numbers.ts";
import { printable } from "../base/json.ts";
import { readTraceFile } from "../integrations/traces/read.ts";
import { baselineOfGate } from "../runs/baseline.ts";
import { decideResults } from "../runs/decide_results.ts";
import { readAndDerive } from "../runs/derived.ts";
import { readResults } from "../runs/journal/results.ts";
import { journalsIn } from "../runs/journal/jsonl.ts";
import { Arguments, userPath } from "./arguments.ts";

/**
 * Judges traces, and returns the exit code: 0 if all are right or the gates pass, 1 if one is not or fails, 2 if a trace
 * could not be used, 3 if a test has no trace or a gate could not decide.
 */
export async function scoreTraces(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("score", arguments_, {
    values: ["with", "out", "story"],
    lists: ["report"],
  });
  const [file, ...others] = options.operands;
  const tests = options.text("with");
  if (file === undefined || others.length > 0) {
    throw options.error(`traces takes one file: ${options.operands.length} are given`);
  }
  if (tests === undefined) throw options.error("traces needs --with TESTS, a file of tool tests");
  // What is wrong with the file is said before anything else.
  const traces = readTraceFile(userPath(file)).length;
  assertFile(tests);
  const [out, story] = [options.text("out"), options.text("story")];
  using ending = new Ending();
  let own: string | undefined;
  try {
    own = out === undefined ? Deno.makeTempDirSync({ prefix: "toolgate_" }) : undefined;
    const journal = out ?? `${own}/`;
    const before = new Set(journalsOf(journal));
    if (!journal.endsWith("/") && before.size > 0) {
      throw cannot(`write ${journal}`, "it must be a new file", "it is there already");
    }
    const hasPassed = await runTests(tests, ending, [
      `--traces=${file}`,
      `--out=${journal}`,
      ...options.list("report").map((path) => `--report=${path}`),
      ...(story === undefined ? [] : [`--story=${story}`]),
    ]);
    if (ending.isAsked) {
      console.error(`${printable(file, 200)}: interrupted`);
      return 3;
    }
    const written = journalsOf(journal).filter((path) => !before.has(path));
    if (written.length === 0 && hasPassed) {
      throw cannot(`score ${file}`, "--with names a file of tool tests", `${tests} has none`);
    }
    return await exitCodeOf(written, { file, traces, hasPassed });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    throw cannot(
      `score ${file}`,
      "traces are judged by deno test, which this command runs, with a folder for its results: a task of " +
        "deno.json that runs it needs --allow-run",
      printable(reasonOf(error), 300),
    );
  } finally {
    if (own !== undefined) Deno.removeSync(own, { recursive: true });
  }
}

function assertFile(path: string): void {
  let isFile = false;
  try {
    ({ isFile } = Deno.statSync(userPath(path)));
  } catch {
    // Said below.
  }
  if (!isFile) {
    throw cannot(`read ${path}`, "--with names a file of tool tests", "there is no such file");
  }
}

/** The journals at a path: a file, or those in a folder, which ends in "/". */
function journalsOf(path: string): string[] {
  const place = userPath(path);
  try {
    if (path.endsWith("/")) return journalsIn(place, path).map((name) => `${place}${name}`);
    Deno.statSync(place);
    return [place];
  } catch (error) {
    if (error instanceof InputError || error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Runs the tests where the user stands; returns whether all passed. */
async function runTests(
  tests: string,
  ending: Ending,
  flags: readonly string[],
): Promise<boolean> {
  const cwd = callerFolder();
  const child = new Deno.Command(Deno.execPath(), {
    // Types were checked where the tests are written: that would take longer than all else.
    args: ["test", "-A", "--no-check", "--no-prompt", tests, "--", ...flags],
    ...(cwd === undefined ? {} : { cwd }),
    stdin: "null",
  }).spawn();
  ending.end(child);
  return (await child.status).success;
}

/** Ends the tests with the command: a signal may reach it alone. A second signal ends them at once. */
class Ending implements Disposable {
  /** Windows has no SIGTERM. */
  readonly #names: readonly Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT"]
    : ["SIGINT", "SIGTERM"];
  #child: Deno.ChildProcess | undefined;
  #asked = 0;
  readonly #ask = (): void => {
    this.#asked++;
    this.#kill();
  };

  constructor() {
    for (const name of this.#names) Deno.addSignalListener(name, this.#ask);
  }

  /** Whether a signal has come. */
  get isAsked(): boolean {
    return this.#asked > 0;
  }

  /** Ends a process once a signal comes, or has come. */
  end(child: Deno.ChildProcess): void {
    this.#child = child;
    if (this.isAsked) this.#kill();
  }

  #kill(): void {
    try {
      this.#child?.kill(this.#asked === 1 ? "SIGTERM" : "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }

  [Symbol.dispose](): void {
    for (const name of this.#names) Deno.removeSignalListener(name, this.#ask);
  }
}

/** What came out, by the journals: tests fail for several reasons, and only journals tell which. */
async function exitCodeOf(
  journals: readonly string[],
  { file, traces, hasPassed }: {
    readonly file: string;
    readonly traces: number;
    readonly hasPassed: boolean;
  },
): Promise<number> {
  /** How often each trace was judged: of tests of two suites it is judged by both. */
  const draws = new Map<string, number>();
  const codes: number[] = [];
  for (const path of journals) {
    const results = readResults([path], await readAndDerive([path]));
    const { trials, gate } = results;
    for (const { draw } of trials) {
      if (draw !== undefined) draws.set(draw, (draws.get(draw) ?? 0) + 1);
    }
    if (gate !== undefined) {
      codes.push(
        (await decideResults(results, gate, { baseline: baselineOfGate(gate, userPath) })).exitCode,
      );
    } else if (trials.some(({ outcome }) => outcome === "invalid")) codes.push(3);
    else codes.push(trials.every(({ outcome }) => outcome === "solved") ? 0 : 1);
  }
  const doubled = [...draws.values()].filter((times) => times > 1).length;
  const lost = traces - draws.size;
  if (lost + doubled > 0) {
    const told = [
      ...(lost === 0 ? [] : [`${countText(lost, "trace")} of ${traces} not judged`]),
      ...(doubled === 0 ? [] : [`${countText(doubled, "trace")} of ${traces} judged twice`]),
    ];
    console.error(`${printable(file, 200)}: ${told.join(", ")}`);
    return 2;
  }
  const worst = [1, 3].find((code) => codes.includes(code)) ?? 0;
  // Something else of the file of tests has failed.
  return worst === 0 && !hasPassed ? 2 : worst;
}
