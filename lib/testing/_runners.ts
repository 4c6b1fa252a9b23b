/**
 * Runners: the programs that run test files, and what differs between them.
 * @module
 */

import * as fs from "node:fs";
import process from "node:process";
import * as urls from "node:url";
import { environmentVariable } from "../base/environment.ts";
import { cannot, isErrorOf } from "../base/errors.ts";
import { shellQuote, shellWords } from "../base/shell_quote.ts";
import { fileURLOf, pathOf, placesOf } from "../base/user_code.ts";
import type { Printer } from "../runs/session.ts";

/** A test. */
export interface TestDefinition {
  readonly name: string;
  readonly fn: (context: TestContext) => void | Promise<void>;
  /** Whether it is not run; default false. */
  readonly ignore?: boolean;
  /** Whether the runner runs no others of the file; default false. */
  readonly only?: boolean;
  /** Whether it only throws, as something cannot be used: its file fails however tests are selected. */
  readonly refused?: boolean;
}

/** What a test gets. */
export interface TestContext {
  readonly name: string;
  /** Shows a line beside the result of the test. */
  readonly note: (line: string) => Promise<void>;
}

/** Calls a function of a runner, which takes the place of its caller for that of a test. */
export type CallAt = <Options extends unknown[], Result>(
  add: (...options: Options) => Result,
  ...options: Options
) => Result;

/** One time that a test file is loaded and run. */
interface TestFile {
  readonly url: string;
  readonly isLoaded: boolean;
}

/** A runner, as the other modules see it. */
interface Runner {
  readonly name: "deno" | "node" | "vitest" | "bun";
  /** Returns the test file that is loaded, or whose tests run: a process may run several, or one again. */
  readonly file: () => TestFile;
  /** Returns the flags of the user. */
  readonly flags: () => readonly string[];
  /** What stands before and behind a flag that a hint names. */
  readonly flagHint: Required<Pick<Printer, "flagPrefix" | "flagHint">>;
  /** The variable that alone has the flags, so that all of them are toolgate's; omitted where others may stand there. */
  readonly variable?: string | undefined;
  /** Returns the failures of the test that runs which its assertions did not throw. */
  readonly softFailures?: () => readonly { readonly message: string }[];
  /** Whether this process runs a test file, for what may be called outside of one; default: yes. */
  readonly isTesting?: () => boolean;
  /** Registers a test at the place that `call` has. It throws once that cannot be done. */
  readonly test: (test: TestDefinition, call: CallAt) => void;
  /** Calls a function once the file is loaded, before its tests run, with whether loading it has failed. */
  readonly afterLoad: (work: (isBroken: boolean) => void) => void;
  /** Calls a function once the tests of the file are over; the last one that was added comes first. */
  readonly afterAll: (work: () => Promise<void>) => void;
  /** Calls a function once all else is done: what it throws fails the file. */
  readonly atEnd: (check: () => void) => void;
  /** Calls a function when the process exits, where nothing else says so; returns what takes it back. */
  readonly onExit: (work: () => void) => () => void;
  /** Returns the command that runs a test file with flags. */
  readonly command: (file: string, flags: readonly string[]) => string;
}

/** Retries would turn pass@1 into pass@k; sanitizers mistake trials that run ahead for leaks. */
const ONCE_AND_AHEAD = {
  retry: 0,
  repeats: 0,
  sanitizeOps: false,
  sanitizeResources: false,
  // An interruption exits during a test; `noticeExit` reports all other exits.
  sanitizeExit: false,
};

function deno(): Runner {
  const file = { url: Deno.mainModule, isLoaded: false };
  const listen = (event: "load" | "unload", work: () => void) => {
    globalThis.addEventListener(event, work);
    return () => globalThis.removeEventListener(event, work);
  };
  listen("load", () => file.isLoaded = true);
  return {
    name: "deno",
    file: () => file,
    flags: () => Deno.args,
    flagHint: { flagPrefix: "-- ", flagHint: "  (without -- Deno takes it)" },
    test({ fn, refused, ...test }, call) {
      const run = (context: Deno.TestContext) => {
        type Step = (step: Deno.TestStepDefinition) => Promise<boolean>;
        const step: Step = context.step.bind(context);
        const note = async (name: string) => void await call(step, { name, ignore: true, fn() {} });
        return fn({ name: test.name, note });
      };
      const all = { ...ONCE_AND_AHEAD, ...test, fn: refused ? fn : run };
      call(Deno.test as (test: typeof all) => void, all);
    },
    afterLoad(work) {
      let isBroken = false;
      // Where a file waits at its top level, its import may end before it does.
      import(Deno.mainModule).catch(() => isBroken = true);
      listen("load", () => work(isBroken));
    },
    afterAll: (work) => Deno.test.afterAll(work),
    // An error of a hook would keep those behind it from running.
    atEnd: (check) => void listen("unload", check),
    onExit: (work) => listen("unload", work),
    command: (file, flags) =>
      ["deno test -A --no-check", shellQuote(file), "--", ...flags.map((one) => flagText(one))]
        .join(" "),
  };
}

/** What differs between runners that are told of tests once their file is loaded. */
interface Host extends Pick<Runner, "name" | "isTesting" | "softFailures"> {
  /** Returns the path of the test file. */
  readonly path: () => string;
  /** Calls `loaded` once the file is loaded, which returns the names of its tests, and `finish` once they are over. */
  readonly begin: (
    file: string,
    loaded: (isBroken: boolean) => readonly string[],
    finish: () => Promise<void>,
  ) => void;
  /** Registers a test, which is left out where others of the file alone are run. */
  readonly add: (test: TestDefinition, call: CallAt, isLeftOut: boolean) => void;
  /** Returns arguments that are the user's flags; default: none. */
  readonly arguments?: () => readonly string[];
  /** Returns the command that runs a test file. */
  readonly command: (file: string) => string;
}

class QueuedFile implements TestFile {
  readonly url: string;
  isLoaded = false;
  isOver = false;
  readonly tests: [TestDefinition, CallAt][] = [];
  readonly loads: ((isBroken: boolean) => void)[] = [];
  /** What is done once its tests are over, the last one first. */
  readonly ends: (() => unknown)[] = [];
  #hasBegun = false;

  constructor(url: string) {
    this.url = url;
  }

  /** Begins to wait for it to be loaded, unless it has begun. */
  begin({ name, begin, add }: Host): this {
    if (this.#hasBegun) return this;
    begin(this.url, (isBroken) => this.#load(isBroken, add), () => this.#finish());
    this.#hasBegun = true;
    // Vitest ends no process within a test.
    if (name === "vitest") return this;
    process.on("exit", (code) => {
      if (this.isOver || code !== 0) return;
      console.error(`${urls.fileURLToPath(this.url)} ended before its tests did`);
      process.exitCode = 1;
    });
    return this;
  }

  #load(isBroken: boolean, add: Host["add"]): readonly string[] {
    for (const work of this.loads) work(isBroken);
    this.isLoaded = true;
    const tests = isBroken ? [] : this.tests;
    const isOnly = tests.some(([{ only, ignore }]) => only && !ignore);
    for (const [test, call] of tests) add(test, call, isOnly && !test.only);
    return tests.map(([{ name }]) => name);
  }

  /** Does what is left to do: all of it, whatever throws. */
  async #finish(): Promise<void> {
    const errors: unknown[] = [];
    for (let work = this.ends.pop(); work !== undefined; work = this.ends.pop()) {
      try {
        await work();
      } catch (error) {
        errors.push(error);
      }
    }
    this.isOver = true;
    for (const error of errors.slice(1)) console.error(error);
    if (errors.length > 0) throw errors[0];
  }
}

/** A runner that is told of tests once their file is loaded: which of them alone are run is then known. */
function queueing(host: Host): Runner {
  let current: QueuedFile | undefined;
  const file = () => {
    const url = fileURLOf(host.path());
    if (current?.url !== url || current.isOver) current = new QueuedFile(url);
    return current;
  };
  return {
    name: host.name,
    isTesting: host.isTesting,
    file,
    flags: () => [...variableFlags(), ...host.arguments?.() ?? []],
    flagHint: { flagPrefix: "", flagHint: `  in ${FLAGS}` },
    variable: environmentVariable(FLAGS) && FLAGS,
    softFailures: host.softFailures,
    test(test, call) {
      const { isLoaded, tests } = file().begin(host);
      if (isLoaded) throw new Error("the file is loaded already");
      tests.push([test, call]);
    },
    afterLoad: (work) => void file().begin(host).loads.push(work),
    afterAll: (work) => void file().ends.push(work),
    atEnd: (check) => void file().ends.unshift(check),
    onExit: () => () => {},
    command: (file, flags) => {
      const words = flags.map((one) => flagText(one, doubleQuote)).join(" ");
      return `${FLAGS}=${shellQuote(words)} ${host.command(file)}`;
    },
  };
}

/** A flag for a shell; only its value is quoted. */
function flagText(flag: string, quote = shellQuote): string {
  const [, name = "", value = flag] = /^(--[\w-]+=)(.*)$/s.exec(flag) ?? [];
  return name + quote(value);
}

/** Quotes a word of a variable's value, which is quoted itself. */
function doubleQuote(word: string): string {
  return shellQuote(word) === word || /["$`\\]/.test(word) ? shellQuote(word) : `"${word}"`;
}

/** The variable that has the flags where a runner passes none to test files. */
const FLAGS = "TOOLGATE_FLAGS";

function variableFlags(): readonly string[] {
  const words = shellWords(environmentVariable(FLAGS) ?? "");
  if (words !== undefined) return words;
  throw cannot(`read the flags in ${FLAGS}`, "they are quoted as for a shell", "a quote is open");
}

/** The functions of a runner that register tests. */
type Register = (...options: unknown[]) => unknown;

/** Options of node by which it reads test files; their values may stand behind them. */
const LOADERS =
  /^(--(import|require|loader|conditions|env-file|experimental-(loader|(strip|transform)-types))(=.*)?|-[rC])$/;

function node(): Runner {
  const testing: Readonly<Record<"test" | "after", Register>> = Object(
    process.getBuiltinModule("node:test"),
  );
  const { argv, execArgv } = process;
  const isChild = environmentVariable("NODE_TEST_CONTEXT") !== undefined;
  const path = () => fs.realpathSync(argv[1]!);
  // A program that a test starts has the variable, too.
  const isFile = isChild && fs.existsSync(argv[1] ?? "");
  let isOnly = false;
  let isLoaded = false;
  // A running test that registers the first one must not make it a part of itself.
  const outside = new (process.getBuiltinModule("node:async_hooks").AsyncResource)("toolgate");
  if (isFile) import(fileURLOf(path())).then(() => isLoaded = true, () => {});
  return queueing({
    name: "node",
    path,
    isTesting: () =>
      isChild || environmentVariable(FLAGS) !== undefined ||
      /(^|[\\/])test[\\/]|(^|[\\/]|[._-])test\.[cm]?[jt]s$/.test(argv[1] ?? ""),
    arguments: () => isChild ? [] : argv.slice(2),
    begin(file, loaded, finish) {
      if (isLoaded) throw new Error("the file is loaded already");
      const rerun = execArgv.find((option) => /^--test-rerun-failures(=.|$)/.test(option));
      if (rerun !== undefined) {
        throw cannot("run tests", `${rerun} would run failed trials until they pass`);
      }
      if (!isChild && execArgv.includes("--test")) {
        throw cannot("run tests", "each test file needs a process: leave out --test-isolation");
      }
      const load = (isBroken: boolean) => {
        testing.after(async () => {
          await finish();
          // As Deno does: what is left in a file by mistake must not pass.
          if (isOnly) throw new Error('The tests of the file were not run, by "only"');
        });
        loaded(isBroken);
      };
      const later = (isBroken: boolean) => outside.runInAsyncScope(() => load(isBroken));
      import(file).then(() => later(false), () => later(true));
    },
    add({ name, fn, ignore }, call, isLeftOut) {
      isOnly ||= isLeftOut;
      const run = (context: { diagnostic(line: string): void }) =>
        fn({ name, note: (line) => Promise.resolve(context.diagnostic(line)) });
      call(testing.test, name, { skip: ignore || isLeftOut, timeout: Infinity }, run);
    },
    command(file) {
      const isLoader = (option = "") => LOADERS.test(option);
      const kept = execArgv.filter((option, place) =>
        isLoader(option) || !option.startsWith("-") && isLoader(execArgv[place - 1])
      );
      return ["node", ...kept, "--test", file].map(shellQuote).join(" ");
    },
  });
}

function vitest(
  { test, describe, afterAll, expect }:
    & Readonly<Record<"test" | "describe" | "afterAll", Register>>
    & { readonly expect: { getState(): { readonly testPath: string } } },
): Runner {
  // Only vitest's own modules are given what selects tests, and which one runs.
  const worker = () => Reflect.get(globalThis, "__vitest_worker__");
  const pattern = (): RegExp | undefined => worker()?.config?.testNamePattern;
  return queueing({
    name: "vitest",
    path: () => expect.getState().testPath,
    softFailures: () => worker()?.current?.result?.errors ?? [],
    begin(_file, loaded, finish) {
      // Within a test or a hook vitest takes tests, and runs none of them.
      if (worker()?.current?.result !== undefined) throw new Error("the file is loaded already");
      afterAll(finish, 0);
      describe("", { concurrent: false, shuffle: false }, async () => {
        const names = loaded(false);
        // Where no test is selected, vitest calls no hook.
        // The name of this group, which is empty, stands before theirs.
        if (!names.some((name) => pattern()?.test(` ${name}`) ?? true)) await finish();
      });
    },
    add({ name, fn, ignore: skip, only }) {
      const options = { skip, only, timeout: 0, retry: 0, repeats: 0, concurrent: false };
      test(name, options, () => fn({ name, note: printed }));
    },
    command: (file) => `npx vitest run ${shellQuote(file)}`,
  });
}

function bun(
  { describe, test: { serial }, afterAll }:
    & Readonly<Record<"describe" | "afterAll", Register>>
    & { readonly test: { serial: Register & Readonly<Record<"only" | "skip", Register>> } },
): Runner {
  return queueing({
    name: "bun",
    // The arguments have the first of several files.
    path: () => Reflect.get(globalThis, "Bun").main,
    begin(_file, loaded, finish) {
      afterAll(finish, 0);
      describe("", () => void loaded(false));
    },
    add({ name, fn, ignore, only, refused }) {
      const run = async () => {
        try {
          await fn({ name, note: printed });
        } catch (error) {
          throw isErrorOf(error, Error) ? framed(error) : error;
        }
      };
      // What a group throws fails the file also where the name is not selected.
      if (refused) return void describe(name, run);
      const register = ignore ? serial.skip : only ? serial.only : serial;
      register(name, run, { timeout: 0, retry: 0, repeats: 0 });
    },
    // Without a folder it would be a part of names.
    command: (file) => `bun test ${shellQuote(file.startsWith("/") ? file : `./${file}`)}`,
  });
}

/** Returns an error whose place bun shows: it reads a stack only of an error that had none, and of that paths. */
function framed(told: Error): Error {
  const { name, message } = told;
  const [place] = placesOf(told);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = new Error(message);
  Error.stackTraceLimit = stackTraceLimit;
  const stack = place === undefined ? name : `${name}\n    at test (${pathOf(place)})`;
  return Object.assign(error, { name, stack });
}

function printed(line: string): Promise<void> {
  return Promise.resolve(console.log(line));
}

async function choose(): Promise<Runner | undefined> {
  // By a name that is not known here: not all of them are there.
  const load = (module: string) => import(module);
  // Outside of its tests Deno takes them and does nothing.
  if ("Deno" in globalThis && Deno.test.name !== "noopTest") return deno();
  if (environmentVariable("VITEST") !== undefined) return vitest(await load("vitest"));
  if (process.versions["bun"] !== undefined) {
    return await load("bun:test").then(bun, () => undefined);
  }
  return "Deno" in globalThis ? undefined : node();
}

const chosen = await choose();

/** Whether a runner runs this program as a test file, as far as can be told before a test is registered. */
export function isTesting(): boolean {
  return chosen !== undefined && (chosen.isTesting?.() ?? true);
}

/**
 * Returns the runner of this program.
 *
 * @throws {InputError} If there is none.
 */
export function runner(): Runner {
  if (chosen !== undefined) return chosen;
  throw cannot(
    "register tests",
    "a runner runs them: deno test, node --test, vitest or bun test",
    "this is a plain program",
  );
}

/** Returns what returns the state of a module for the test file that is loaded, or whose tests run. */
export function perFile<State>(make: () => State): () => State {
  const states = new WeakMap<object, State>();
  return () => {
    const file = runner().file();
    if (!states.has(file)) states.set(file, make());
    return states.get(file)!;
  };
}
