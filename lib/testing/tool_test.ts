/**
 * Tool tests: a question, the user's tools, and assertions on the result, as cases of `deno test`.
 * @module
 */

import {
  assertOptions,
  type BenchmarkOptions,
  type BenchmarkStrategy,
  listOf,
  type ModelChoice,
  withOptionNames,
} from "./options.ts";
import { optionSchemas } from "../runs/options.ts";
import type { ToolTestSettings } from "../runs/option_types.ts";
import { variantName } from "../gate/variant.ts";
import { cannot, InputError } from "../base/errors.ts";
import { defined, isJsonObject, isObject, printable } from "../base/json.ts";
import { isCase, isProbe } from "../trials/executors/task_kind.ts";
import { type Register, registerFrom } from "./_register.ts";
import { registerBenchmark, type RegisteredPlan } from "./_register_plan.ts";
import { openTask, type TaskOpener } from "../trials/executors/tasks.ts";
import { isIsolated } from "../tools/tool.ts";
import {
  assertCaseTools,
  caseDigest,
  CaseExecutor,
  type ToolCase,
} from "../trials/executors/case.ts";
import { Toolbox } from "../trials/executors/toolbox.ts";
import { leniencyOf } from "../calls/expected/alignment.ts";
import { checkExpectedCalls } from "../calls/expected/match_calls.ts";
import { valueText } from "../calls/values/text.ts";

/** Options of `toolTest()`. */
export interface ToolTestOptions<State = undefined>
  extends Omit<ToolCase<State>, "name">, ToolTestSettings {
  /** One or several models: a name such as `sim:planner` or `gpt-5`, an entry with options, or a model. */
  readonly model: ModelChoice | readonly ModelChoice[];
  /** The number of trials; default 1. A sequential gate sets it itself. */
  readonly trials?: number;
  /** The seed of perturbations; default 1. `fresh` draws one at the start. */
  readonly seed?: number | "fresh";
  /** One or several strategies of the model, by id or with options. */
  readonly strategy?: string | BenchmarkStrategy | readonly (string | BenchmarkStrategy)[];
  /**
   * One or several perturbations of what the model sees, such as `RD` or `WT+CF`, or faults such as
   * `timeout`. With `["none", "timeout"]` the same `assert` judges both: assertions ignore calls lost to a
   * fault, unless nothing must be called.
   */
  readonly perturbation?: string | readonly string[];
}

/** The options of the case, and those of its run. */
const CASE_OPTIONS: Readonly<Record<keyof Omit<ToolCase, "name">, true>> = {
  state: true,
  tools: true,
  system: true,
  prompt: true,
  turns: true,
  expected: true,
  parameters: true,
  toolChoice: true,
  assert: true,
};
/** The options of its run that the table of options does not have. */
const RUN_OPTIONS = ["model", "trials", "strategy", "perturbation"] as const satisfies Exclude<
  keyof ToolTestOptions,
  keyof ToolCase | keyof ToolTestSettings
>[];

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
 * `state` and, if a function, `tools` are called for each trial; a gate with prices or perturbations also
 * calls them earlier, to plan. Trials share a list of tools, so that they run one at a time unless all tools
 * are fakes or `concurrency` is set.
 *
 * Calls of one reply start in order and run at the same time, at most `limits.parallel` of them: whatever a
 * tool does before it first waits, such as taking the next result of its `sequence`, happens in the order of
 * the calls. With `limits: { parallel: 1 }` each starts once the one before has ended. With `references` a
 * call may use results of others in the same reply, and runs after them.
 *
 * The flags after `--` are those of `benchmark`. A path ending in `/` is a folder; each test writes a file
 * named after itself: `--out=results/`.
 *
 * If an option or flag cannot be used, a test of the name `name` fails in place of all others; the message has
 * the option's path and the rule.
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
export function toolTest<State = undefined>(name: string, options: ToolTestOptions<State>): void {
  registerFrom(toolTest, name, (register) => begin(name, options, register));
}

function begin<State>(
  name: string,
  options: ToolTestOptions<State>,
  register: Register,
): void {
  const subject = `tool test ${printable(String(name), 100)}`;
  assertOptions(subject, options, {
    place: "toolTest",
    names: [...Object.keys(CASE_OPTIONS), ...RUN_OPTIONS],
    elsewhere: new Map([
      ...[...SUITE_NAMES].map(([word, option]) =>
        [word, `${option}, which takes one or a list`] as const
      ),
      ["oracle", "expected, whose calls have ignore in place of allowed"],
    ]),
  });
  const toolCase: ToolCase<State> = { ...options, name };
  assertCase(subject, toolCase);
  const { model, trials, seed = 1, gate } = options;
  assertTrials(subject, trials, gate);
  const strategies = listed(options.strategy);
  const perturbations = listed(options.perturbation);
  const sequential = gate?.sequential === true;
  const isSeveral = [model, strategies, perturbations].some((one) =>
    listOf<unknown>(one).length > 1
  );
  const open: TaskOpener = (spec, settings) =>
    isCase(spec) ? new CaseExecutor(toolCase, spec, settings) : openTask(spec, settings);
  const names = Object.keys(optionSchemas("toolTest"));
  const benchmark: BenchmarkOptions = {
    ...(areIndependent(toolCase.tools) ? {} : { concurrency: 1 }),
    ...Object.fromEntries(
      Object.entries(options).filter(([option, value]) =>
        names.includes(option) && value !== undefined
      ),
    ),
    model,
    tasks: [],
    seed,
    ...(sequential ? {} : { graphs: trials ?? 1 }),
    ...defined({ strategies, perturbations }),
  };
  const registration: RegisteredPlan = {
    name,
    subject,
    register,
    source: { cells: () => [{ case: name }], open, cases: { [name]: caseDigest(toolCase) } },
    titleOf: (planned) =>
      [
        name,
        ...(sequential || (trials ?? 1) > 1 ? [`trial ${planned.repetition}`] : []),
        ...(isSeveral ? [variantName(planned)] : []),
      ].join(" > "),
  };
  withOptionNames(options, SUITE_NAMES, () => registerBenchmark(benchmark, registration));
}

/** The items of an option; `undefined` if it is left out. */
function listed<Item>(value: Item | readonly Item[] | undefined): readonly Item[] | undefined {
  return value === undefined ? undefined : listOf(value);
}

/** Options that have other names in suites. */
const SUITE_NAMES = new Map<string, keyof ToolTestOptions>([
  ["models", "model"],
  ["strategies", "strategy"],
  ["perturbations", "perturbation"],
]);

/** Whether trials that run at the same time cannot interfere with each other. */
function areIndependent(tools: ToolCase<never>["tools"]): boolean {
  return typeof tools === "function" || tools.every(isIsolated);
}

/** Runtime checks for callers without TypeScript. */
function assertCase<State>(subject: string, toolCase: ToolCase<State>): void {
  const fault = caseFault(toolCase);
  if (fault !== undefined) throw cannot(`use ${subject}`, fault);
  try {
    const { expected = [] } = toolCase;
    checkExpectedCalls(expected, []);
    for (const call of expected) leniencyOf(call);
    // Tools made by a function are checked when a trial begins.
    if (typeof toolCase.tools === "function") return;
    assertCaseTools(toolCase, toolCase.tools);
    new Toolbox(toolCase.tools)[Symbol.dispose]();
  } catch (error) {
    // A file has many tests, so that the error must name this one.
    if (error instanceof InputError) {
      throw new InputError(`Cannot use ${subject}: ${error.message}`);
    }
    throw error;
  }
}

/** The first broken rule of a case. */
function caseFault<State>(toolCase: ToolCase<State>): string | undefined {
  const { name, state, tools, system, prompt, turns = [], assert } = toolCase;
  const { expected = [], parameters = [], toolChoice = "auto" } = toolCase;
  const rules: [holds: boolean, rule: string, value: unknown][] = [
    [isText(name), "its name must be a text", name],
    [!isProbe({ case: name }), "its name must not be that of a probe", name],
    [isText(prompt), "prompt must be a text that is not empty", prompt],
    [system === undefined || typeof system === "string", "system must be a text", system],
    [
      isListOf(turns, isText),
      "turns must be a list of texts that are not empty",
      turns,
    ],
    [typeof assert === "function", "assert must be a function of the run", assert],
    [state === undefined || typeof state === "function", "state must be a function", state],
    [
      Array.isArray(tools) || typeof tools === "function",
      "tools must be a list of tools, or a function that makes it",
      tools,
    ],
    [
      isListOf(expected, isJsonObject),
      "expected must be a list of calls: tool and arguments",
      expected,
    ],
    [
      isListOf(parameters, isParameter),
      "parameters must be a list of names, values and spans",
      parameters,
    ],
    [
      isToolChoice(toolChoice),
      "toolChoice must be auto, none, required or { function: name }",
      toolChoice,
    ],
  ];
  const broken = rules.find(([holds]) => !holds);
  return broken === undefined ? undefined : `${broken[1]}: it is ${valueText(broken[2])}`;
}

function assertTrials(
  subject: string,
  trials: unknown,
  gate: ToolTestOptions["gate"],
): void {
  if (trials === undefined) return;
  const fault = !Number.isSafeInteger(trials) || Number(trials) < 1
    ? "trials must be a whole number from 1 on"
    : gate?.sequential === true
    ? "a sequential gate sets the number of trials itself, so that it must be left out"
    : undefined;
  if (fault === undefined) return;
  throw cannot(`use ${subject}`, fault, `it is ${valueText(trials)}`);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function isListOf(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isParameter(value: unknown): boolean {
  return isJsonObject(value) && isText(value["name"]) && "value" in value &&
    isListOf(value["spans"], isObject);
}

function isToolChoice(value: unknown): boolean {
  if (typeof value === "string") return ["auto", "none", "required"].includes(value);
  return isJsonObject(value) && isText(value["function"]);
}
