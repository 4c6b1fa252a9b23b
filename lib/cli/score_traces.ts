/**
 * `score traces`: judges recorded conversations by the tests of a file, which `deno test` runs.
 * @module
 */

import * as fs from "node:fs";
import defer * as os from "node:os";
import * as paths from "node:path";
import process from "node:process";
import { testStart } from "#runtime";
import { callerFolder, userPath } from "../base/command_line.ts";
import { cannot, errorCode, reasonOf } from "../base/errors.ts";
import { countText } from "../base/numbers.ts";
import { printable } from "../base/json.ts";
import { readTraceFile } from "../integrations/traces/read.ts";
import { baselineOfGate } from "../runs/baseline.ts";
import { decideResults } from "../runs/decide_results.ts";
import { readResults } from "../runs/journal/results.ts";
import { filesIn } from "../base/folder.ts";
import { isMissing } from "../base/output_file.ts";
import { command } from "./command.ts";
import { Interrupt } from "./running.ts";

/** Judges traces by tests. */
export const scoreTraces = command({
  usage: "FILE --with TESTS.ts [OPTIONS]",
  takes: ["one file", 1, 1],
  about:
    `FILE is JSON, JSON lines or a journal: messages of OpenAI, the AI SDK or LangChain, or spans of
OpenTelemetry. No model is asked and no tool is run, but judges in the tests' assertions ask their models.
A trace belongs to the test that its field "case" names, else to the one with its question and system text.
TESTS.ts is run as by deno test, with all permissions and without a check of its types.`,
  options: {
    with: { value: "TESTS.ts", help: "the file of tool tests" },
    out: { value: "F.jsonl", help: "a new journal of the trials; F/ is a folder of them" },
  },
  notes:
    `Exit code 0 if all pass, 1 if one or a gate fails, 2 if a trace is of no test, 3 if a test has no trace or a
gate cannot decide.`,
  // The tests are run by another process.
  needs: ["read", "write", "run"],
  rules: [[(given) => given.with === undefined, "--with TESTS is needed, a file of tool tests"]],
  async run({ with: tests = "", out }, { operands: [file = ""] }) {
    // What is wrong with the file is said before anything else.
    const traces = readTraceFile(userPath(file)).length;
    if (isMissing(userPath(tests))) {
      throw cannot(`read ${tests}`, "--with names a file of tool tests", "there is no such file");
    }
    using interrupt = new Interrupt();
    let own: string | undefined;
    try {
      own = out === undefined ? fs.mkdtempSync(paths.join(os.tmpdir(), "toolgate_")) : undefined;
      const journal = out ?? `${own}/`;
      const before = new Set(journalsAt(journal));
      if (!journal.endsWith("/") && before.size > 0) {
        throw cannot(`write ${journal}`, "it must be a new file", "it is there already");
      }
      const { default: programs } = await import("node:child_process");
      const { command: [program, ...args], env } = testStart(tests, [
        ...[`--traces=${file}`, `--out=${journal}`],
      ]);
      const child = programs.spawn(program, args, {
        ...{ cwd: callerFolder(), stdio: ["ignore", "inherit", "inherit"] },
        ...{ env: env && { ...process.env, ...env }, signal: interrupt.signal },
      });
      const hasPassed = await new Promise<boolean>((resolve, reject) =>
        child.once("exit", (code) => resolve(code === 0))
          .on("error", (error) => interrupt.signal.aborted || reject(error))
      );
      if (interrupt.signal.aborted) {
        console.error(`${printable(file, 200)}: interrupted`);
        return 3;
      }
      const written = journalsAt(journal).filter((path) => !before.has(path));
      if (written.length === 0 && hasPassed) {
        throw cannot(`score ${file}`, "--with names a file of tool tests", `${tests} has none`);
      }
      return await exitCodeOf(written, { file, traces, hasPassed });
    } catch (error) {
      if (errorCode(error) !== "NotCapable") throw error;
      throw cannot(
        `score ${file}`,
        "traces are judged by deno test, which this command runs, with a folder for its results: a task of " +
          "deno.json that runs it needs --allow-run",
        printable(reasonOf(error), 300),
      );
    } finally {
      if (own !== undefined) fs.rmSync(own, { recursive: true });
    }
  },
});

/** The journals at a path: a file, or those in a folder, which ends in "/". */
function journalsAt(path: string): string[] {
  const place = userPath(path);
  if (isMissing(place)) return [];
  return path.endsWith("/")
    ? filesIn(place, ".jsonl", path).map((name) => `${place}${name}`)
    : [place];
}

/** What came out, by the journals: tests fail for several reasons, and only journals tell which. */
function exitCodeOf(
  journals: readonly string[],
  { file, traces, hasPassed }: {
    readonly file: string;
    readonly traces: number;
    readonly hasPassed: boolean;
  },
): number {
  /** How often each trace was judged: of tests of two suites it is judged by both. */
  const draws = new Map<string, number>();
  const codes: number[] = [];
  for (const path of journals) {
    const results = readResults([path]);
    const { trials, gate } = results;
    for (const { draw } of trials) {
      if (draw !== undefined) draws.set(draw, (draws.get(draw) ?? 0) + 1);
    }
    if (gate !== undefined) {
      const baseline = baselineOfGate(gate, userPath);
      codes.push(decideResults(results, gate, { baseline }).exitCode);
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
