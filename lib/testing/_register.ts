/**
 * Registration: every test of this library is registered here, at the place in the user's file from which
 * `benchmark()` or `toolTest()` is called, as if the function of the runner stood there.
 * @module
 */

import defer * as vm from "node:vm";
import { AssertionError } from "@std/assert/assertion-error";
import {
  callersOf,
  type CodePlace,
  lineOf,
  placeOf,
  placesOf,
  placeText,
  shownFile,
  stackAt,
} from "../base/user_code.ts";
import { cannot, InputError, reasonOf } from "../base/errors.ts";
import { annotationLine, unannotatedLine } from "../reports/job_summary.ts";
import { type CallAt, perFile, runner, type TestContext, type TestDefinition } from "./_runners.ts";

/** The function of the library that the user calls. */
type Called = (...args: never) => unknown;

/** A call of the library in the user's file, where tests are registered. */
export class CallSite {
  /** The places that lead to it, innermost first. */
  readonly callers: readonly CodePlace[];
  readonly #called: Called;
  readonly #name: unknown;
  /** What the user calls the function. */
  readonly #word: string;
  readonly #call: CallAt;

  /**
   * For a call of `called`, which must be under way, with the name of a test.
   *
   * @throws {InputError} If no runner runs this program.
   */
  constructor(called: Called, name: unknown, word = called.name) {
    runner();
    this.callers = callersOf(called);
    this.#called = called;
    this.#name = name;
    this.#word = word;
    this.#call = callAt(this.callers[0]);
  }

  /**
   * Registers a test.
   *
   * @throws {InputError} If the file is loaded already.
   */
  add(test: TestDefinition): void {
    const [place] = this.callers;
    const run = (context: TestContext) => runAt(place, test, context);
    this.register(() => runner().test({ ...test, fn: run }, this.#call));
  }

  /** Does what a runner refuses once the file is loaded, with frames of this library. */
  register(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw error instanceof InputError ? error : this.tooLate();
    }
  }

  /** The error of a call once its file is loaded. */
  tooLate(state = "a test is running"): InputError {
    return cannot(
      `register ${this.#word}(${JSON.stringify(this.#name)})`,
      "it must be called while its file is loaded",
      state,
    );
  }

  /**
   * Carries out a part of the registration; returns whether that could be done. Invalid input becomes a test that fails
   * there, of the given name or that of the call, with frames that begin there too: an error thrown while a file is loaded would keep the file's other tests
   * from running, and no JUnit report would have it.
   */
  attempt(part: () => void, name = this.#name): boolean {
    try {
      part();
      return true;
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      this.#refuse(name, error);
      return false;
    }
  }

  #refuse(name: unknown, error: InputError): void {
    const [place] = this.callers;
    const text = typeof name === "string" && name.trim() !== "" ? name : `${this.#word}()`;
    error.stack = `${error.name}: ${error.message}`;
    Error.captureStackTrace(error, this.#called);
    // Once the file is loaded the call is no longer under way.
    if (place !== undefined && placeOf(error) === undefined) {
      // The runner would print the lines of a text before the frames again.
      error.stack = stackAt(titleOf(error), placeText(place));
    }
    refuse((test) => runner().test(test, this.#call), text, error);
  }
}

/**
 * Registers a test that fails with an error. Where it is not run, as `--filter` may leave it out, the file fails all
 * the same: a gate that cannot be used must not look like one that passed.
 */
function refuse(add: (test: TestDefinition) => void, name: string, error: Error): void {
  let wasRun = false;
  try {
    add({
      name,
      refused: true,
      fn: function refused() {
        wasRun = true;
        annotate(name, error);
        throw error;
      },
    });
  } catch {
    // Within a test nothing can be registered.
    throw error;
  }
  runner().atEnd(() => {
    if (!wasRun) throw error;
  });
}

/** The one function of a script, which has the place that the runner takes for that of a test. */
const ADD = "(add,...options)=>";
/** Coverage leaves out what is named like a part of Deno: the user's file is measured by itself. */
const NAME = "//# sourceURL=ext:toolgate/register.js";

/** Returns a function that registers tests and steps at a place or, if it is unknown, in this module. */
function callAt(place: CodePlace | undefined): CallAt {
  if (place === undefined) return (add, ...options) => add(...options);
  const { line, column } = place;
  // The place is one in the source already. With an escaped letter, which the runner's outputs show as it is,
  // the file is not among those that were loaded, so that the place is not mapped to the source again.
  const filename = place.url.replace(
    /[a-z]$/i,
    (letter) => `%${letter.charCodeAt(0).toString(16)}`,
  );
  const begin = line > 1 ? `${"\n".repeat(line - 2)}${ADD}\n` : ADD;
  const source = `${begin}${" ".repeat(column - 1)}add(...options)\n${
    runner().name === "deno" ? NAME : ""
  }`;
  let call: CallAt | undefined;
  return (add, ...options) => {
    call ??= vm.runInThisContext(source, { filename }) as CallAt;
    return call(add, ...options);
  };
}

/** Runs a test. The frames of its failure, most of which lead into this library, are replaced by one place. */
async function runAt(
  place: CodePlace | undefined,
  { name, fn: run }: TestDefinition,
  context: TestContext,
): Promise<void> {
  try {
    await run(context);
  } catch (error) {
    const registered = place === undefined ? undefined : placeText(place);
    // All that matters of these is in their message.
    // The projects of users know no types of the library that the first of these is from.
    const isTold = error instanceof Error &&
      (error instanceof AssertionError || error instanceof InputError);
    const told = isTold ? toldAt(error, error.message, registered) : error;
    // A text says that another test has the error.
    if (typeof told !== "string") annotate(name, told);
    throw told;
  }
}

/**
 * Returns an error with a message and the place of another in the user's file or, if that has none, of its
 * registration.
 */
export function toldAt(
  error: AssertionError | InputError,
  message: string,
  registered?: string,
): AssertionError | InputError {
  // The runner would show the frames of an error whose stack was read before.
  const told = new (error instanceof InputError ? InputError : AssertionError)(message);
  // It would print the text before the frames again, unless it is one line.
  told.stack = stackAt(titleOf(told), placeOf(error) ?? registered);
  return told;
}

/** What a stack begins with: node prints it alone, others the message as well. */
function titleOf({ name, message }: Error): string {
  return runner().name === "node" ? `${name}: ${message}` : name;
}

/**
 * Prints an annotation of a test that is about to fail, unless nobody would see it.
 *
 * @param error Its stack may have places in the user's files; without one the test file is named.
 */
function annotate(title: string, error: unknown): void {
  const [place] = error instanceof Error ? placesOf(error) : [];
  const at = place === undefined ? { file: shownFile(runner().file().url) } : lineOf(place);
  const text = annotationLine({ title, message: reasonOf(error), ...at });
  if (text !== undefined) console.log(text);
}

/** Counts what got no annotation, once all tests of the file are over. */
export function annotateRest(): void {
  const text = unannotatedLine();
  if (text !== undefined) console.log(text);
}

/** What is done once the test file is loaded: the tests of a suite are then all known, and can still be registered. */
const tasksOf = perFile((): (() => void)[] => []);

/**
 * Carries out a task once the test file, and all that it imports, has been loaded, before its tests are run.
 *
 * @throws {InputError} If it is loaded already.
 */
export function afterLoad(site: CallSite, task: () => void): void {
  if (runner().file().isLoaded) throw site.tooLate("it is loaded already");
  const tasks = tasksOf();
  if (tasks.push(task) > 1) return;
  let isSeen = false;
  site.register(() =>
    runner().afterLoad((isBroken) => {
      isSeen = true;
      // The runner says why, and of a part of the file nothing is run.
      for (const one of isBroken ? [] : tasks) one();
    })
  );
  // What a running test imports first sees no file being loaded.
  runner().atEnd(() => {
    if (!isSeen) throw site.tooLate();
  });
}
