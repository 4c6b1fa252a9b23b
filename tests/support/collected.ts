/**
 * Tests that calls of the library register, taken from the runner and run in this process: a process of
 * `deno test` for them takes longer than all that they do. What is about the runner itself, such as its flags and
 * its reports, or about permissions starts one in `tests/e2e/`.
 */

import type { Finished } from "./child.ts";

/** How a test ended, as `deno test` would tell it. */
export interface CollectedEnd {
  readonly name: string;
  readonly ended: "ok" | "FAILED" | "ignored";
  /** The error, with its frames; empty unless it failed. */
  readonly error: string;
  /** The names of its steps. */
  readonly steps: readonly string[];
}

/** What tests came to, and what they printed: in the form in which `deno test` ends and prints as well. */
export interface CollectedRun extends Finished {
  readonly tests: readonly CollectedEnd[];
  readonly printed: string;
}

/** Which tests are run, and in which order. */
export interface Selection {
  readonly filter?: (name: string) => boolean;
  readonly order?: (tests: Deno.TestDefinition[]) => Deno.TestDefinition[];
}

/** Where the library finds the function that registers a test. */
const place: { test: typeof Deno.test } = Deno;
const runner = place.test;

/** What is done once a test file is loaded. */
let onLoad = () => {};
globalThis.addEventListener("load", () => onLoad());

/** Tests that were registered, and what is to be done after them. */
export class CollectedTests {
  readonly #tests: Deno.TestDefinition[] = [];
  readonly #after: (() => unknown)[] = [];
  /** What was printed while they were registered. */
  #printed = "";

  /** Those that `body` registers, which finds `flags` behind `--`. */
  static of(body: () => unknown, flags: readonly string[] = []): CollectedTests {
    const collected = new CollectedTests();
    collected.#take(body, flags);
    return collected;
  }

  /**
   * Those that `body` registers while a test file is loaded, with all that is registered once it has been loaded.
   * The file imports this module before all others, as the library registers its suites in a listener of its own;
   * and has one of these.
   */
  static ofFile(body: () => unknown): CollectedTests {
    const collected = CollectedTests.of(body);
    onLoad = () => collected.#replace();
    globalThis.addEventListener("load", () => {
      place.test = runner;
    });
    return collected;
  }

  #take(body: () => unknown, flags: readonly string[]): void {
    const before = Object.getOwnPropertyDescriptor(Deno, "args")!;
    const console = printedTo((text) => this.#printed += text);
    Object.defineProperty(Deno, "args", { value: flags, configurable: true });
    this.#replace();
    try {
      body();
    } finally {
      place.test = runner;
      Object.defineProperty(Deno, "args", before);
      console[Symbol.dispose]();
    }
  }

  #replace(): void {
    const add = (test: Deno.TestDefinition | string, fn?: Deno.TestDefinition["fn"]) =>
      void this.#tests.push(typeof test === "string" ? { name: test, fn: fn! } : test);
    place.test = Object.assign(add, {
      afterAll: (task: () => unknown) => void this.#after.unshift(task),
    }) as unknown as typeof Deno.test;
  }

  /** The name and message of the first error in place of a test that was refused; "" without one. */
  async refusal(): Promise<string> {
    const isRefused = ({ fn }: Deno.TestDefinition) => fn.name === "refused";
    const refused = await Promise.all(this.#tests.filter(isRefused).map(ended));
    for (const task of this.#after) await task();
    return refused[0]?.error.replace(/\n {4}at [^]*$/, "") ?? "";
  }

  /** Runs those that are selected, one after another, and then what is to be done after them. */
  async run(
    { filter = () => true, order = (tests) => tests }: Selection = {},
  ): Promise<CollectedRun> {
    let printed = this.#printed;
    let report = printed;
    using _ = printedTo((text) => printed += text);
    const tests: CollectedEnd[] = [];
    for (const test of order(this.#tests.filter(({ name }) => filter(name)))) {
      const before = printed.length;
      const end = await ended(test);
      tests.push(end);
      report += reportOf(end, printed.slice(before));
    }
    const before = printed.length;
    for (const task of this.#after) await task();
    const failed = tests.filter((one) => one.ended === "FAILED");
    report += printed.slice(before) +
      `\n ERRORS \n\n${
        failed.map(({ name, error }) => `${name} =>\nerror: ${error}\n`).join("\n")
      }` +
      `\n FAILURES \n\n${failed.map(({ name }) => `${name} => \n`).join("")}`;
    const code = failed.length > 0 ? 1 : 0;
    return { tests, printed, code, stdout: report, stderr: "", all: report };
  }
}

/** What `deno test` prints of a test. */
function reportOf({ name, ended, steps }: CollectedEnd, printed: string): string {
  const output = printed === ""
    ? ""
    : `\n${name} ...\n------- output -------\n${printed}----- output end -----\n`;
  const lines = steps.map((step) => `  ${step} ... ignored (0ms)\n`);
  return `${output}${lines.join("")}${name} ... ${ended} (0ms)\n`;
}

async function ended({ name, fn, ignore = false }: Deno.TestDefinition): Promise<CollectedEnd> {
  const steps: string[] = [];
  const step = (one: Deno.TestStepDefinition) => Promise.resolve(steps.push(one.name) > 0);
  if (ignore) return { name, ended: "ignored", error: "", steps };
  try {
    await fn({ name, step } as unknown as Deno.TestContext);
    return { name, ended: "ok", error: "", steps };
  } catch (error) {
    if (typeof error === "string") return { name, ended: "FAILED", error, steps };
    const { name: kind, message, stack = "" } = error as Error;
    // The message may have lines that look like frames.
    const frames = stack.replace(message, "").split("\n").filter((line) => /^ {4}at /.test(line));
    const told = [`${kind}: ${message}`, ...frames].join("\n");
    return { name, ended: "FAILED", error: told, steps };
  }
}

/** Hands on what is printed, until it is disposed of. */
function printedTo(write: (text: string) => void): Disposable {
  const { log, error, warn } = console;
  const print = (...words: unknown[]) => write(`${words.join(" ")}\n`);
  Object.assign(console, { log: print, error: print, warn: print });
  return { [Symbol.dispose]: () => void Object.assign(console, { log, error, warn }) };
}
