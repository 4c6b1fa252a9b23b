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

/** A test. */
export interface TestDefinition {
  readonly name: string;
  readonly fn: (context: TestContext) => void | Promise<void>;
  /** Whether it is not run; default false. */
  readonly ignore?: boolean;
  /** Whether the runner runs no others of the file; default false. */
  readonly only?: boolean;
  /** Set for a test that only throws this, as it cannot be used: its file fails however tests are selected. */
  readonly refused?: Error;
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

/** A runner, as the other modules see it. */
export interface Runner {
  readonly name: "deno" | "node" | "vitest" | "bun";
  /** Returns the URL of the test file that is loaded, or whose tests run. */
  readonly file: () => string;
  /** Returns what stands for one time that a file is loaded and run: a process may run several, or one again. */
  readonly key: () => object;
  /** Returns the flags of the user. */
  readonly flags: () => readonly string[];
  /** What stands before a flag that a hint names. */
  readonly flagPrefix: string;
  /** Why that stands there; empty if it is plain. */
  readonly flagHint: string;
  /** What stands at the end of a script that registers tests at a place. */
  readonly scriptName: string;
  /** Whether this process runs a test file, for what may be called outside of one. */
  readonly isTesting: () => boolean;
  /** Registers a test at the place that `call` has. It throws once that cannot be done. */
  readonly test: (test: TestDefinition, call: CallAt) => void;
  /** Whether the file is loaded. */
  readonly isLoaded: () => boolean;
  /** Calls a function once the file is loaded, before its tests run, with whether loading it has failed. */
  readonly afterLoad: (work: (isBroken: boolean) => void) => void;
  /** Calls a function once the tests of the file are over; the last one that was added comes first. */
  readonly afterAll: (work: () => Promise<void>) => void;
  /** Calls a function once all else is done: what it throws fails the file. */
  readonly atEnd: (check: () => void) => void;
  /** Calls a function when the process exits; returns what takes it back. */
  readonly onExit: (work: () => void) => () => void;
  /** Returns the command that runs a test file with flags, each quoted for a shell. */
  readonly command: (file: string, flags: readonly string[]) => string;
}

/** The functions of a runner that registers tests. */
type Register = (...options: unknown[]) => unknown;
type Registers<Name extends string> = Register & Readonly<Record<Name, Register>>;

/** What differs between runners that are told of tests once their file is loaded. */
interface Host extends Pick<Runner, "name" | "isTesting"> {
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
  const key = {};
  let isLoaded = false;
  const listen = (event: "load" | "unload", work: () => void) => {
    globalThis.addEventListener(event, work);
    return () => globalThis.removeEventListener(event, work);
  };
  listen("load", () => isLoaded = true);
  return {
    name: "deno",
    file: () => Deno.mainModule,
    key: () => key,
    flags: () => Deno.args,
    flagPrefix: "-- ",
    flagHint: "  (without -- Deno takes it)",
    // Coverage leaves out what is named like a part of Deno: the user's file is measured by itself.
    scriptName: "//# sourceURL=ext:toolgate/register.js",
    isTesting: () => true,
    test({ fn, refused, ...test }, call) {
      const run = (context: Deno.TestContext) => {
        type Step = (step: Deno.TestStepDefinition) => Promise<boolean>;
        const step: Step = context.step.bind(context);
        const note = async (name: string) => void await call(step, { name, ignore: true, fn() {} });
        return fn({ name: test.name, note });
      };
      const all = { ...ONCE_AND_AHEAD, ...test, fn: refused === undefined ? run : fn };
      call(Deno.test as (test: typeof all) => void, all);
    },
    isLoaded: () => isLoaded,
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
      ["deno test -A --no-check", shellQuote(file), "--", ...flags].join(" "),
  };
}

/** One time that a test file is loaded and run. */
class TestFile {
  readonly url: string;
  readonly tests: [TestDefinition, CallAt][] = [];
  readonly afterLoad: ((isBroken: boolean) => void)[] = [];
  readonly afterAll: (() => Promise<void>)[] = [];
  readonly atEnd: (() => void)[] = [];
  hasBegun = false;
  isLoaded = false;
  isOver = false;

  constructor(url: string) {
    this.url = url;
  }

  /** Begins to wait for it to be loaded, unless it has begun. */
  begin({ name, begin, add }: Host): this {
    if (this.hasBegun) return this;
    begin(this.url, (isBroken) => this.#load(isBroken, add), () => this.#finish());
    this.hasBegun = true;
    if (name === "vitest") return this;
    process.on("exit", (code) => {
      if (this.isOver || code !== 0) return;
      console.error(`${urls.fileURLToPath(this.url)} ended before its tests did`);
      process.exitCode = 1;
    });
    return this;
  }

  #load(isBroken: boolean, add: Host["add"]): readonly string[] {
    for (const work of this.afterLoad) work(isBroken);
    this.isLoaded = true;
    if (isBroken) return [];
    const isOnly = this.tests.some(([{ only, ignore }]) => only && !ignore);
    for (const [test, call] of this.tests) add(test, call, isOnly && !test.only);
    return this.tests.map(([{ name }]) => name);
  }

  /** Does what is left to do: all of it, whatever throws. */
  async #finish(): Promise<void> {
    if (this.isOver) return;
    const errors: unknown[] = [];
    for (const list of [this.afterAll.reverse(), this.atEnd]) {
      for (const work of list) {
        try {
          await work();
        } catch (error) {
          errors.push(error);
        }
      }
    }
    this.isOver = true;
    for (const error of errors.slice(1)) console.error(error);
    if (errors.length > 0) throw errors[0];
  }
}

/** A runner that is told of tests once their file is loaded: which of them alone are run is then known. */
function queueing(host: Host): Runner {
  let current: TestFile | undefined;
  const own = () => {
    const url = fileURLOf(host.path());
    if (current?.url !== url || current.isOver) current = new TestFile(url);
    return current;
  };
  return {
    name: host.name,
    isTesting: host.isTesting,
    file: () => own().url,
    key: own,
    flags: () => [...variableFlags(), ...host.arguments?.() ?? []],
    flagPrefix: "",
    flagHint: `  in ${FLAGS}`,
    scriptName: "",
    test(test, call) {
      const file = own().begin(host);
      if (file.isLoaded) throw new Error("the file is loaded already");
      file.tests.push([test, call]);
    },
    isLoaded: () => own().isLoaded,
    afterLoad: (work) => void own().begin(host).afterLoad.push(work),
    afterAll: (work) => void own().afterAll.push(work),
    atEnd: (check) => void own().atEnd.push(check),
    onExit(work) {
      process.on("exit", work);
      return () => void process.off("exit", work);
    },
    command: (file, flags) => `${FLAGS}=${shellQuote(flags.join(" "))} ${host.command(file)}`,
  };
}

/** The variable that has the flags where a runner passes none to test files. */
const FLAGS = "TOOLGATE_FLAGS";

function variableFlags(): readonly string[] {
  const text = environmentVariable(FLAGS) ?? "";
  const words = shellWords(text);
  if (words === undefined) {
    throw cannot(`read the flags in ${FLAGS}`, "they are quoted as for a shell", "a quote is open");
  }
  return words;
}

/** Options of node by which it reads test files; those of the runner are left out. */
const LOADERS = /^--(import|require|loader|experimental-loader|conditions|env-file)(=|$)|^-[rC]$/;
const SWITCHES = /^--experimental-(strip|transform)-types$/;

function node(): Runner {
  const testing = process.getBuiltinModule("node:test") as unknown as {
    readonly test: Register;
    readonly after: Register;
  };
  const { argv, execArgv } = process;
  const isChild = environmentVariable("NODE_TEST_CONTEXT") !== undefined;
  const path = () => fs.realpathSync(argv[1]!);
  let isOnly = false;
  let isLoaded = false;
  const { AsyncResource } = process.getBuiltinModule("node:async_hooks");
  // A running test that registers the first one must not make it a part of itself.
  const outside = new AsyncResource("toolgate");
  if (isChild) import(fileURLOf(path())).then(() => isLoaded = true, () => {});
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
      const end = async () => {
        await finish();
        // As Deno does: what is left in a file by mistake must not pass.
        if (isOnly) throw new Error('The tests of the file were not run, by "only"');
      };
      const load = (isBroken: boolean) =>
        outside.runInAsyncScope(() => {
          testing.after(end);
          loaded(isBroken);
        });
      import(file).then(() => load(false), () => load(true));
    },
    add(test, call, isLeftOut) {
      isOnly ||= isLeftOut;
      const run = told(test, (error) => {
        // Only the stack is printed.
        const { name, message, stack = "" } = error;
        if (!stack.includes(message)) {
          error.stack = stack.replace(name, () => `${name}: ${message}`);
        }
        return error;
      });
      const skip = test.ignore || isLeftOut;
      call(
        testing.test,
        test.name,
        { skip, timeout: Infinity },
        (context: { diagnostic(line: string): void }) =>
          run({ note: (line) => Promise.resolve(context.diagnostic(line)) }),
      );
    },
    command(file) {
      const kept = execArgv.flatMap((option, place) => {
        if (SWITCHES.test(option)) return [option];
        if (!LOADERS.test(option)) return [];
        return option.includes("=") ? [option] : [option, execArgv[place + 1] ?? ""];
      });
      return ["node", ...kept, "--test", file].map(shellQuote).join(" ");
    },
  });
}

function vitest(api: {
  readonly test: Register;
  readonly describe: Register;
  readonly afterAll: Register;
  readonly expect: { getState(): { readonly testPath: string } };
}): Runner {
  /** What selects tests by their names, which only vitest's own modules are told. */
  const pattern = (): RegExp | undefined =>
    Reflect.get(globalThis, "__vitest_worker__")?.config?.testNamePattern;
  return queueing({
    name: "vitest",
    path: () => api.expect.getState().testPath,
    isTesting: () => true,
    begin(_file, loaded, finish) {
      api.afterAll(finish, 0);
      api.describe("", { concurrent: false, shuffle: false }, async () => {
        const names = loaded(false);
        // Where no test is selected, vitest calls no hook.
        if (!names.some((name) => pattern()?.test(name) ?? true)) await finish();
      });
    },
    add({ name, fn, ignore: skip, only }) {
      const options = { skip, only, timeout: 0, retry: 0, repeats: 0, concurrent: false };
      api.test(name, options, () => fn({ name, note: printed }));
    },
    command: (file) => `npx vitest run ${shellQuote(file)}`,
  });
}

function bun({ describe, test, afterAll }: {
  readonly test: Registers<"skip"> & { readonly serial: Registers<"only" | "skip"> };
  readonly describe: Register;
  readonly afterAll: Register;
}): Runner {
  return queueing({
    name: "bun",
    path: () => process.argv[1]!,
    isTesting: () => true,
    begin(_file, loaded, finish) {
      afterAll(finish, 0);
      describe("", () => void loaded(false));
    },
    add(one) {
      const { name, ignore, only, refused } = one;
      const { serial } = test;
      const run = told(one, framed);
      // What a group throws fails the file also where the name is not selected.
      if (refused !== undefined) return void describe(name, () => run({ note: printed }));
      const register = ignore ? serial.skip : only ? serial.only : serial;
      register(name, () => run({ note: printed }), { timeout: 0, retry: 0, repeats: 0 });
    },
    // Without a folder it would be a part of names.
    command: (file) => `bun test ${shellQuote(file.startsWith("/") ? file : `./${file}`)}`,
  });
}

/** Returns an error whose place bun shows: it reads a stack only of an error that had none, and of that paths. */
function framed({ name, message }: Error, place: string | undefined): Error {
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

/** Runs a test, of which a runner prints what another function makes of an error of this library. */
function told(
  { name, fn }: TestDefinition,
  tell: (error: Error, place: string | undefined) => Error,
): (context: Pick<TestContext, "note">) => Promise<void> {
  return async ({ note }) => {
    try {
      await fn({ name, note });
    } catch (error) {
      throw isErrorOf(error, Error) ? tell(error, placesOf(error)[0]) : error;
    }
  };
}

/** Loads the functions of a runner; those that only it has are not known here. */
async function load(module: string) {
  return await import(module);
}

async function choose(): Promise<Runner | undefined> {
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
  return chosen?.isTesting() ?? false;
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
    const key = runner().key();
    if (!states.has(key)) states.set(key, make());
    return states.get(key)!;
  };
}
