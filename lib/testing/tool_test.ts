/**
 * Tool tests: a question, the user's tools, and assertions on the result, as cases of `deno test`.
 * @module
 */

import { cannot, InputError, isErrorOf } from "../base/errors.ts";
import { isObject, printable } from "../base/json.ts";
import { shownFile, thrownText } from "../base/user_code.ts";
import { valueText } from "../calls/values/text.ts";
import { afterLoad } from "./_after_load.ts";
import { CallSite } from "./_register.ts";
import { rowName, valuesOf } from "./_row_names.ts";
import type { ToolTest, ToolTestOptions } from "./tool_test_options.ts";
import { type AnyOptions, isOwnSuite, isRunAlike, testSubject } from "./_tool_options.ts";
import { type Mode, SuiteTests } from "./_tool_suites.ts";

/** Takes a test at its place in the user's file, with what returns its options. */
type Add = (site: CallSite, name: string, options: () => AnyOptions, mode?: Mode) => void;

/** Returns the functions that register tests by `add`. */
export function testFunctions<Shared extends keyof ToolTestOptions, Usual>(
  name: string,
  add: Add,
): ToolTest<Shared, Usual> {
  const begin = (
    called: (...given: never) => void,
    test: string,
    options: unknown,
    mode?: Mode,
  ) => {
    const site = new CallSite(called, test, name);
    site.attempt(() => add(site, test, () => options as AnyOptions, mode));
  };
  const test = (title: string, options: unknown) => begin(test, title, options);
  const only = (title: string, options: unknown) => begin(only, title, options, "only");
  const skip = (title: string, options: unknown) => begin(skip, title, options, "skip");
  const each = (table: readonly unknown[]) => {
    const row = (title: string, make: (...values: readonly unknown[]) => unknown) => {
      const site = new CallSite(row, title, `${name}.each`);
      const refused = refusedRows(name, title, table, make);
      if (refused !== undefined) {
        // Told to its suite, which is not whole without them.
        site.attempt(() =>
          add(site, title, () => {
            throw refused;
          })
        );
        return;
      }
      for (const [place, one] of table.entries()) {
        const named = rowName(title, one, place);
        const own = new CallSite(row, named, `${name}.each`);
        own.attempt(() => add(own, named, () => rowOptions(named, make, one)));
      }
    };
    return row;
  };
  return Object.assign(test, { only, skip, each }) as ToolTest<Shared, Usual>;
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
    throw isErrorOf(error, InputError) ? error : refuse(thrownText(error));
  }
  if (options instanceof Promise) {
    options.catch(() => {});
    throw refuse("it returned a promise");
  }
  return options as AnyOptions;
}

/** Why a table of tests cannot be used, for callers without TypeScript; `undefined` if it can be. */
function refusedRows(
  called: string,
  title: unknown,
  table: unknown,
  make: unknown,
): InputError | undefined {
  const fault: [rule: string, value: unknown] | undefined = !Array.isArray(table)
    ? ["its table must be a list", table]
    : table.length === 0
    ? ["its table must have rows", table]
    : typeof title !== "string"
    ? ["its name must be a text", title]
    : typeof make !== "function"
    ? ["its options must be a function of a row", make]
    : undefined;
  if (fault === undefined) return undefined;
  return cannot(
    `use ${called}.each(table)(name, options)`,
    fault[0],
    `it is ${valueText(fault[1])}`,
  );
}

/** The tests of the file that are in no suite of their own. */
let ofFile: { readonly tests: SuiteTests; readonly options: AnyOptions } | undefined;

/** Adds a test to those of its file or, if it is run in another way, makes a suite of it alone. */
const addToFile: Add = (site, name, make, mode) => {
  const options = make();
  const given = isObject(options) ? options : {};
  const isOwn = isOwnSuite(given);
  if (!isOwn && (ofFile === undefined || isRunAlike(given, ofFile.options))) {
    const tests = ofFile?.tests ?? newFileSuite(site);
    tests.add(site, name, () => options, mode);
    if (ofFile === undefined) afterLoad(site, () => tests.register());
    ofFile ??= { tests, options: given };
    return;
  }
  const suite = new SuiteTests({
    ...{ name, subject: testSubject(name), site, options: given, kind: "test" },
  });
  suite.add(site, name, () => options, mode);
  if (isOwn) suite.register();
  // The others of the file come first where both want the same file.
  else afterLoad(site, () => suite.register());
};

function newFileSuite(site: CallSite): SuiteTests {
  const file = shownFile(Deno.mainModule);
  const [, stem = file] = /([^/]+?)(?:[._]test)?\.[cm]?[jt]sx?$/.exec(file) ?? [];
  return new SuiteTests({
    ...{ name: stem, subject: `the tool tests of ${printable(file, 200)}`, site },
    ...{ options: {}, kind: "file" },
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
