/**
 * Tool tests: a question, the user's tools, and assertions on the result, as cases of `deno test`.
 * @module
 */

import { z } from "zod";
import { cannot, InputError, isErrorOf } from "../base/errors.ts";
import { checkOptions, FUNCTION, parseWith } from "../base/input.ts";
import { isObject, printable } from "../base/json.ts";
import { shownFile, thrownText } from "../base/user_code.ts";
import { afterLoad, CallSite } from "./_register.ts";
import { perFile, runner } from "./_runners.ts";
import defer * as util from "node:util";
import {
  type AnyOptions,
  isOwnSuite,
  isRunAlike,
  testSubject,
  TOOL_SUITE,
  type ToolSuiteOptions,
  type ToolTest,
  type ToolTestOptions,
} from "./tool_test_options.ts";
import { type Mode, SuiteTests } from "./_tool_suites.ts";
import { NAME } from "./options.ts";

/** Takes a test at its place in the user's file, with what returns its options. */
type Add = (site: CallSite, name: string, options: () => AnyOptions, mode?: Mode) => void;

/** What `each()` takes, all together. */
const EACH = z.object({
  table: z.array(z.unknown()).min(1),
  name: z.string(),
  options: FUNCTION,
});

/** Returns the functions that register tests by `add`. */
function testFunctions<Shared extends keyof ToolTestOptions, Usual>(
  called: string,
  add: Add,
): ToolTest<Shared, Usual> {
  const registering = (mode?: Mode) => {
    const register = (name: string, options: unknown) => {
      const site = new CallSite(register, name, called);
      site.attempt(() => add(site, name, () => options as AnyOptions, mode));
    };
    return register;
  };
  const each = (table: readonly unknown[]) => {
    const register = (name: string, options: (...values: readonly unknown[]) => unknown) => {
      const sites = `${called}.each`;
      const site = new CallSite(register, name, sites);
      try {
        parseWith(EACH, { table, name, options }, `${sites}(table)(name, options)`);
      } catch (refused) {
        // Its suite must know them, as it is not whole without them.
        site.attempt(() =>
          add(site, name, () => {
            throw refused;
          })
        );
        return;
      }
      for (const [place, row] of table.entries()) {
        const named = rowName(name, row, place);
        const own = new CallSite(register, named, sites);
        own.attempt(() => add(own, named, () => rowOptions(named, options, row)));
      }
    };
    return register;
  };
  const [only, skip] = [registering("only"), registering("skip")];
  return Object.assign(registering(), { only, skip, each }) as ToolTest<Shared, Usual>;
}

/** Returns the options of a row's test. What the user's function throws fails this test, and no other of the file. */
function rowOptions(
  name: string,
  make: (...values: readonly unknown[]) => unknown,
  row: unknown,
): AnyOptions {
  const refuse = (state: string) =>
    cannot(`use ${testSubject(name)}`, "the function of its row must return its options", state);
  let options: unknown;
  try {
    options = make(...valuesOf(row));
  } catch (error) {
    throw isErrorOf(error, InputError) ? error : refuse(`it ${thrownText(error)}`);
  }
  if (options instanceof Promise) {
    options.catch(() => {});
    throw refuse("it returned a promise");
  }
  return options as AnyOptions;
}

/** Returns the values that a row gives to a function: those of a list one by one. */
function valuesOf(row: unknown): readonly unknown[] {
  return Array.isArray(row) ? row : [row];
}

/**
 * Returns the name of a row's test: `%s`, `%d`, `%i`, `%f`, `%j`, `%o` and `%O` take the row's values in order, `%#` is
 * its place from 0, `%%` a percent sign, and `$key` or `$key.nested` a property of an object.
 */
function rowName(template: string, row: unknown, place: number): string {
  const values = [...valuesOf(row)];
  return template.replace(/%([sdifjoO#%])|\$([A-Za-z_][\w.]*)/g, (token, kind, path) => {
    if (kind === "%") return "%";
    if (kind === "#") return String(place);
    try {
      if (path !== undefined) return propertyText(token, row, path);
      return values.length === 0 ? token : tokenText(kind, values.shift());
    } catch {
      // What contains itself is no JSON, and a symbol no number.
      return token;
    }
  });
}

function tokenText(kind: string, value: unknown): string {
  if (kind === "d" || kind === "f") return String(Number(value));
  if (kind === "i") return String(Math.trunc(Number(value)));
  if (kind === "j") return JSON.stringify(value) ?? String(value);
  return kind === "s" && !isObject(value) ? String(value) : util.inspect(value);
}

function propertyText(token: string, row: unknown, path: string): string {
  // "$price." ends a sentence.
  const [, keys = "", rest = ""] = /^(.*?)(\.*)$/.exec(path) ?? [];
  let value: unknown = row;
  for (const key of keys.split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return token;
    value = Reflect.get(value, key);
  }
  return (typeof value === "string" ? value : util.inspect(value)) + rest;
}

/** The tests of the file that are in no suite of their own, with the options of the first one. */
const ofFile = perFile((): {
  first?: { readonly tests: SuiteTests; readonly options: AnyOptions };
} => ({}));

/** Adds a test to those of its file or, if it is run in another way, makes a suite of it alone. */
const addToFile: Add = (site, name, make, mode) => {
  const options = make();
  const given = isObject(options) ? options : {};
  const isOwn = isOwnSuite(given);
  const { first } = ofFile();
  if (!isOwn && (first === undefined || isRunAlike(given, first.options))) {
    const tests = first?.tests ?? newFileSuite(site);
    tests.add(site, name, () => options, mode);
    if (first === undefined) afterLoad(site, () => tests.register());
    ofFile().first ??= { tests, options: given };
    return;
  }
  const suite = new SuiteTests({
    name,
    subject: testSubject(name),
    site,
    options: given,
    kind: "test",
  });
  suite.add(site, name, () => options, mode);
  if (isOwn) suite.register();
  // The others of the file come first where both want the same file.
  else afterLoad(site, () => suite.register());
};

function newFileSuite(site: CallSite): SuiteTests {
  const file = shownFile(runner().file().url);
  const [, stem = file] = /([^/]+?)(?:[._]test)?\.[cm]?[jt]sx?$/.exec(file) ?? [];
  return new SuiteTests({
    name: stem,
    subject: `the tool tests of ${printable(file, 200)}`,
    site,
    options: {},
    kind: "file",
  });
}

/**
 * Registers a test of the user's tools. The model gets the question and the tools, works with them until it
 * answers, and `assert` judges the result: calls, answer, and the state that the tools left behind.
 *
 * With `trials` it is run several times, one case each; with a `gate` only the gate's test can fail, once it
 * has decided over all of them. Trials of one case are independent draws: the gate's verdict is about this
 * case only. A run that reaches a limit before it answers has failed, without calling `assert`. If a model
 * cannot be reached, that is not its failure: the trial is `invalid`, and its case fails with that reason.
 * Any other error of `assert`, such as a TypeError, is a failed assertion that shows its location; but an
 * `InputError`, which means that an assertion was used wrongly, makes the trial `invalid`.
 *
 * `state` and, if functions, `tools` and `prompt` are called for each trial, and never earlier. They may be
 * async. What they make is disposed of once its trial is over, if it has `Symbol.asyncDispose` or
 * `Symbol.dispose`. Where one throws, or takes longer than 60 seconds or `limits.seconds`, the trial is `invalid`.
 * Trials share a list of tools, so that they run one at a time unless all tools are fakes or `concurrency` is
 * set.
 *
 * Calls of one reply start in order and run at the same time, at most `limits.parallel` of them: what a
 * tool does before it first waits, such as taking the next result of its `sequence`, happens in the order of
 * the calls. With `limits: { parallel: 1 }` each starts once the one before has ended. With `references` a
 * call may use results of others in the same reply, and runs after them.
 *
 * The tests of a file make one suite, which is named after the file: they have one journal, one report and one pool
 * of trials. They are registered once the file has been loaded, behind its other tests. A test that has a `gate`,
 * `requireGate`, a `journal`, a `report`, `recordings`, a `budget` or `variants` is a suite of its own instead, and so is
 * one that has a fresh `seed` and a perturbation, or whose options of the run, such as `concurrency`, are not those of
 * the first test. For a gate over several tests there is `toolSuite()`.
 *
 * The flags after `--` are those of `benchmark`. A path ending in `/` is a folder, in which a file of tests writes
 * one that is named after it, such as `tests.refunds_test.jsonl`: `--out=results/`.
 *
 * If an option cannot be used, a test of the name `name` fails in its place, and the others of the file run; the
 * message has the option's path and the rule.
 *
 * @example In a test file
 * ```ts ignore
 * import { assertAnswer, assertCalled, tool, toolTest } from "@toolgate/toolgate";
 * import { z } from "zod";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Tells the weather of a city",
 *   parameters: z.object({ city: z.string() }),
 *   returns: { degrees: 21, sky: "clear" },
 * });
 *
 * toolTest("asks for the weather", {
 *   model: "gpt-5",
 *   tools: [weather],
 *   prompt: "Do I need an umbrella in Rome today?",
 *   assert(run) {
 *     assertCalled(run, { tool: "weather", arguments: { city: "Rome" } });
 *     assertAnswer(run, /\bno\b/i);
 *   },
 * });
 * ```
 */
export const toolTest: ToolTest = testFunctions("toolTest", addToFile);

/**
 * Begins a suite of tool tests, and returns a function that registers its tests as `toolTest()` does: the suite has one
 * plan, one journal, one gate and one report, and its trials run side by side.
 *
 * Options of the suite hold for all of its tests. Tests may have a `model`, `strategy`, `perturbation`, `trials`, `seed`,
 * `limits` or `references` of their own; with a gate these are the same for all, but for `limits` and `references`, as the
 * gate decides over all trials of all tests. `tools`, `system`, `state`, `toolChoice` and `never` hold for tests that have
 * none of their own.
 *
 * The suite is registered once its file has been loaded. If something is wrong with it, a test of its name fails in place
 * of all others; what is wrong with one test fails where that stands and, with a gate, keeps the suite from running.
 *
 * @example In a test file
 * ```ts ignore
 * import { assertCalled, tool, toolSuite } from "@toolgate/toolgate";
 * import { z } from "zod";
 *
 * const refund = tool({
 *   name: "refund",
 *   description: "Refunds an order",
 *   parameters: z.object({ order: z.string() }),
 *   returns: { refunded: true },
 * });
 *
 * const test = toolSuite("support", {
 *   model: "gpt-5",
 *   tools: [refund],
 *   trials: 10,
 *   gate: { successRate: 0.9 },
 * });
 *
 * test("refunds an order", {
 *   prompt: "Please refund order A7.",
 *   assert: (run) => assertCalled(run, { tool: "refund", arguments: { order: "A7" } }),
 * });
 *
 * test.each([{ order: "B1" }, { order: "C2" }])("refunds $order", ({ order }) => ({
 *   prompt: `I want my money back for order ${order}.`,
 *   assert: (run) => assertCalled(run, { tool: "refund", arguments: { order } }),
 * }));
 * ```
 */
export function toolSuite<State = undefined>(
  name: string,
  options: ToolSuiteOptions<State>,
): ToolTest<"model" | "tools", State> {
  const site = new CallSite(toolSuite, name);
  const make = () => {
    parseWith(NAME, name, "the name of a tool suite");
    const subject = `tool suite ${printable(name, 100)}`;
    const suite = new SuiteTests({
      name,
      subject,
      site,
      kind: "suite",
      options: checkOptions(TOOL_SUITE, options, subject),
    });
    afterLoad(site, () => suite.register());
    return suite;
  };
  // Files that share the module which begins it may be loaded by one process.
  const suite = perFile(() => {
    let made: SuiteTests | undefined;
    site.attempt(() => made = make());
    return made;
  });
  suite();
  return testFunctions("test", (place, test, own, mode) => {
    // Of a suite that cannot be used nothing is run.
    suite()?.add(place, test, own, mode);
  });
}
