/**
 * Mutation testing: how many of some small faults, drawn by a seed and put into lib/ one at a time, make a
 * test fail. Each is tried on at most twelve test files that run its line, in a copy of the tree.
 *
 * deno run -A tests/bench/mutations.ts --seed=1 --count=60 --map=FILE [--tree=DIR] [--draw-from=DIR]
 *   [--jobs=2] [--out=FILE.json]
 *
 * The map says which lines each test file runs; it is written if it is absent, which takes minutes. With
 * the same map, seed and `--draw-from`, two trees get the same faults, found again by the text of their
 * lines; those whose text is not there any more are `gone`.
 */

import { parseArgs } from "@std/cli/parse-args";
import { sample } from "@std/random";
import { cpSync, existsSync, globSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { mapConcurrent } from "../../lib/base/concurrent.ts";
import { fork } from "../../lib/base/random.ts";
import { Folder } from "../support/folders.ts";

/** What the task `test` allows, but for other programs: a fault must not start any. */
const FLAGS = "--no-check --no-prompt --parallel --allow-net=127.0.0.1 --allow-env --allow-read " +
  "--ignore-read=/proc/sys/fs/binfmt_misc/WSLInterop,/run/WSL --allow-write --allow-sys " +
  "--deny-run --coverage-raw-data-only --v8-flags=--max-old-space-size=2048";

/** Test files that a mutation is tried on, at most. */
const MOST_TESTS = 12;

/** What is changed, in code without types and texts, and what becomes of it. */
const CHANGES: readonly (readonly [pattern: RegExp, change: (found: string) => string])[] = [
  [/===|!==/g, (found) => found === "===" ? "!==" : "==="],
  // Generics and arrows have no spaces on both sides.
  [/ [<>]=?(?=\s)/g, (found) => found.endsWith("=") ? found.slice(0, -1) : `${found}=`],
  [/(?:&&|\|\|)(?!=)/g, (found) => found === "&&" ? "||" : "&&"],
  // Where there are several, `&&` must not stand among them.
  [/(?<!\?\?[^;{}]*)\?\?(?!=|[^;{}]*\?\?)/g, () => "&&"],
  [/(?<!["'`]) [+-] (?!["'`])/g, (found) => found === " + " ? " - " : " + "],
  [/\b(?:true|false)\b/g, (found) => String(found === "false")],
  [/(?<![\w.$])\d[\d_]*(?:\.\d+)?(?![\w.])/g, (found) => `${Number(found.replace(/_/g, "")) + 1}`],
  [/(?<![\w)\]])!(?=[\w(#])/g, () => ""],
  [/\breturn (?!undefined\b)[^;\n]+;$/gm, () => "return undefined as never;"],
  [/\b(?:throw [^;\n]+|continue);$/gm, () => ";"],
  [/(?<=[;{}]\s*)\b(?:await )?(?!super\b)[\w.#$?]+\([^;\n]*\);$/gm, () => ";"],
];

/** Comments, strings, regular expressions, and templates; these may hold one level of others. */
const TEXTS =
  /\/\/.*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?<=(?:[=(,:;!&|?{}[>]|\breturn)\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*|`(?:\\.|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|[^`\\])*`/g;

/** Which test files run which lines of lib/. */
interface CoverageMap {
  /** How long each takes, and how many lines it runs. */
  readonly tests: readonly { readonly test: string; seconds: number; covered: number }[];
  /** Several of the tests: their places there, with commas. */
  readonly sets: readonly string[];
  /** By file of lib/, from its first line on: the place of the set that runs it. */
  readonly lines: Readonly<Record<string, readonly number[]>>;
}

/** A change of one line; lines count from 1. */
interface Mutation {
  readonly file: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

/** Test files that pass without a mutation, and those that do not. */
const GOOD = new Map<string, boolean>();

const linesOf = (...path: string[]) => Deno.readTextFileSync(path.join("/")).split("\n");

function runTests(tree: string, files: readonly string[], ...options: readonly string[]) {
  const lock = existsSync(`${tree}/tests/deno.lock`) ? ["--lock=tests/deno.lock"] : [];
  const args = [Deno.execPath(), "test", ...FLAGS.split(" "), ...lock, ...options, ...files];
  // Seconds of CPU, as others may keep the machine busy: enough for one slow file, or for many.
  return run(tree, "prlimit", [`--cpu=${40 + 10 * files.length}`, ...args]);
}

async function run(cwd: string, program: string, args: string[]) {
  const began = performance.now();
  // After five minutes it hangs, and takes no CPU.
  const options = { args, cwd, env: { NO_COLOR: "1" }, signal: AbortSignal.timeout(300_000) };
  const { success, signal, ...told } = await new Deno.Command(program, options).output();
  const output = await new Blob([told.stdout, told.stderr]).text();
  const seconds = Math.round(performance.now() - began) / 1000;
  return { success, late: /TERM|KILL|CPU/.test(signal ?? ""), output, seconds };
}

/** Leaves out test files that fail without other programs, or take too long. */
async function makeMap(tree: string, most: number): Promise<CoverageMap> {
  const tests: CoverageMap["tests"][number][] = [];
  const runners: Record<string, number[][]> = {};
  const files = globSync("tests/**/*_test.ts", { cwd: tree, exclude: ["tests/e2e/**"] }).sort();
  await mapConcurrent(files.length, async (place) => {
    using raw = new Folder();
    const { success, seconds } = await runTests(tree, [files[place]!], `--coverage=${raw.path}`);
    if (!success) return console.error(`left out: ${files[place]}`);
    const own = `--include=^file://${tree}/lib/.*\\.ts$`;
    const { output } = await run(tree, Deno.execPath(), ["coverage", "--lcov", own, raw.path]);
    for (const section of output.split("end_of_record\n")) {
      const file = /^SF:(.*)$/m.exec(section)?.[1]?.slice(tree.length + 1) ?? "";
      for (const [, line] of section.matchAll(/^DA:(\d+),[1-9]/gm)) {
        ((runners[file] ??= [])[Number(line)] ??= []).push(tests.length);
      }
    }
    const covered = output.match(/^DA:\d+,[1-9]/gm)?.length ?? 0;
    tests.push({ test: files[place]!, seconds, covered });
  }, { most });
  const sets = new Map([["", 0]]);
  const lines = Object.entries(runners).map(([file, each]) =>
    [file, Array.from(each, (set = []) => sets.getOrInsert(set.join(), sets.size))] as const
  );
  return { tests, sets: [...sets.keys()], lines: Object.fromEntries(lines.sort()) };
}

/** The changes of a line that leave no syntax error in the file and are more than changes of types. */
function mutationsOf(tree: string, file: string, line: number): Mutation[] {
  const lines = linesOf(tree, file);
  const stripped = withoutTypes(lines.join("\n"));
  if (stripped === undefined) return [];
  const code = stripped.replace(TEXTS, (found) => found.replace(/[^\n"'`]/g, " "));
  const before = lines[line - 1]!;
  const start = lines.slice(0, line - 1).map((one) => `${one}\n`).join("").length;
  return CHANGES.flatMap(([pattern, change]) =>
    [...code.matchAll(pattern)].flatMap(({ 0: found, index }) => {
      const column = index - start;
      if (column < 0 || column >= before.length) return [];
      const after = before.slice(0, column) + change(found) + before.slice(column + found.length);
      const mutated = withoutTypes(lines.with(line - 1, after).join("\n"));
      return [undefined, stripped].includes(mutated) ? [] : [{ file, line, before, after }];
    })
  );
}

/** `undefined` for files with syntax errors, and for those few that are more than code with types. */
function withoutTypes(text: string): string | undefined {
  try {
    return stripTypeScriptTypes(text);
  } catch {
    return undefined;
  }
}

function draw(map: CoverageMap, tree: string, seed: string, count: number): Mutation[] {
  const stream = fork(seed, "mutations");
  const lines = Object.entries(map.lines).flatMap(([file, sets]) =>
    sets.flatMap((set, line) => set === 0 ? [] : [{ file, line }])
  );
  const drawn = new Map<string, Mutation>();
  for (let draws = 0; drawn.size < count && draws < 100 * count; draws++) {
    const { file, line } = sample(lines, stream)!;
    const mutation = sample(mutationsOf(tree, file, line), stream);
    if (mutation !== undefined) drawn.set(`${file}:${line} ${mutation.after}`, mutation);
  }
  return [...drawn.values()];
}

/** Where the changed line is in a tree: its text beside the same line before or after it. */
function locate(mutation: Mutation, from: string, tree: string): Mutation | undefined {
  const { file, line, before } = mutation;
  const { [line - 2]: last, [line]: next } = linesOf(from, file);
  const places = globSync("lib/**/*.ts", { cwd: tree }).flatMap((other) =>
    linesOf(tree, other).flatMap((text, at, texts) => {
      const isSame = text === before && (texts[at - 1] === last || texts[at + 1] === next);
      return isSame ? [{ ...mutation, file: other, line: at + 1 }] : [];
    })
  );
  const inFile = places.filter((place) => place.file === file);
  return inFile.find((place) => place.line === line) ??
    [inFile, places].find(({ length }) => length === 1)?.[0];
}

/** Test files that run the line, the likeliest to fail first, where they are in the tree now. */
function testsOf({ file, line }: Mutation, map: CoverageMap, tree: string): string[] {
  const room = file.replace(/^lib\/([^/]+)\/.*$/, "tests/$1/");
  const sameName = file.replace(/^lib\/(.*?)_?([^/]+)\.ts$/, "tests/$1$2_test.ts");
  const rank = (test: string) => test === sameName ? 0 : test.startsWith(room) ? 1 : 2;
  const places = map.sets[map.lines[file]![line]!]!.split(",").map(Number);
  const known = map.tests.map(({ test }) => test);
  const present = globSync("tests/**/*_test.ts", { cwd: tree });
  const found = places.map((place) => map.tests[place]!)
    .sort((one, other) => rank(one.test) - rank(other.test) || one.covered - other.covered)
    .flatMap(({ test }) => {
      if (present.includes(test)) return [test];
      const [folder, name] = [test.slice(0, test.lastIndexOf("/") + 1), test.split("/").at(-1)!];
      const moved = present.filter((path) => path.endsWith(`/${name}`) && !known.includes(path));
      // One that is not there at all has become a part of another one of its folder.
      return moved.length === 1 ? moved : present.filter((path) => path.startsWith(folder));
    });
  return [...new Set(found)].filter((path) => !path.startsWith("tests/e2e/")).slice(0, MOST_TESTS);
}

/** Runs the tests with a mutation, which is taken back. */
async function attempt({ file, line, after }: Mutation, all: readonly string[], tree: string) {
  for (const test of all) GOOD.set(test, GOOD.get(test) ?? (await runTests(tree, [test])).success);
  const tests = all.filter((test) => GOOD.get(test));
  if (tests.length === 0) return { status: "survived", by: "no test", tests, seconds: 0 };
  const lines = linesOf(tree, file);
  Deno.writeTextFileSync(`${tree}/${file}`, lines.with(line - 1, after).join("\n"));
  const { success, late, output, seconds } = await runTests(tree, tests, "--fail-fast");
  Deno.writeTextFileSync(`${tree}/${file}`, lines.join("\n"));
  if (success) return { status: "survived", by: "", tests, seconds };
  const failed = output.match(/Fatal .*memory|^\S.*(?= => \S+:\d+:\d+$)|^\S+ \(uncaught error\)/m);
  const by = late ? "timeout" : failed?.[0] ?? output.slice(-2000);
  // Without a failed test there was a syntax error, unless time ran out; it may without a mutation.
  const isJudged = late ? !(await runTests(tree, tests)).late : failed !== null;
  return { status: isJudged ? "killed" : "invalid", by, tests, seconds };
}

if (import.meta.main) {
  const string = ["seed", "count", "map", "jobs", "out", "tree", "draw-from"];
  const args = parseArgs(Deno.args, { string }) as Readonly<Record<string, string | undefined>>;
  const { seed = "1", count = 60, map: path = "map.json", jobs = 2, out } = args;
  const given = Deno.realPathSync(args["tree"] ?? ".");
  using folder = new Folder();
  // All work is done in copies, as the tree may change meanwhile.
  const trees = Array.from({ length: Number(jobs) }, (_, job) => folder.file(`job${job}/main`));
  for (const copy of trees) {
    cpSync(copy === trees[0] ? given : trees[0]!, copy, { recursive: true });
    Deno.symlinkSync(`${given}/../shared`, `${copy}/../shared`);
  }
  const most = trees.length;
  const from = Deno.realPathSync(args["draw-from"] ?? trees[0]!);
  if (!existsSync(path)) Deno.writeTextFileSync(path, JSON.stringify(await makeMap(from, most)));
  const map: CoverageMap = JSON.parse(Deno.readTextFileSync(path));
  const mutations = draw(map, from, seed, Number(count));
  const outcomes = await mapConcurrent(mutations.length, async (place) => {
    const drawn = mutations[place]!;
    const tree = trees.pop()!;
    const mutation = locate(drawn, from, tree);
    const result = mutation === undefined
      ? { status: "gone", by: "" }
      : await attempt(mutation, testsOf(drawn, map, tree), tree);
    trees.push(tree);
    const { file, line, before, after } = mutation ?? drawn;
    const change = `${file}:${line}  ${before.trim()} -> ${after.trim()}`;
    console.log(`${result.status.padEnd(8)}  ${change}${result.by && `  by ${result.by}`}`);
    return { file, line, before, after, ...result };
  }, { most });
  const judged = outcomes.filter((outcome) => /killed|survived/.test(outcome!.status));
  const killed = judged.filter((outcome) => outcome!.status === "killed").length;
  console.log(`${killed} of ${judged.length} killed`);
  if (out) Deno.writeTextFileSync(out, JSON.stringify({ seed, killed, outcomes }, null, 2));
}
