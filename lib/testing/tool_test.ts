/**
 * Tests of one's own tools: a question, the tools, and what must come of it, as cases of `deno test`.
 * @module
 */

import { assertOptions, type BenchmarkOptions, type BenchmarkStrategy } from "./options.ts";
import { variantName } from "../gate/variant.ts";
import { InputError } from "../base/errors.ts";
import { isJsonObject, printable } from "../base/json.ts";
import { isCase, isProbe } from "../trials/executors/task_kind.ts";
import { inOwnWords, registerBenchmark, type RegisteredPlan } from "./register_plan.ts";
import { openTask, type TaskOpener } from "../trials/executors/tasks.ts";
import { isIsolated } from "../tools/tool.ts";
import {
  assertCaseTools,
  CaseExecutor,
  digestOf,
  type ToolCase,
} from "../trials/executors/case.ts";
import { Toolbox } from "../trials/executors/toolbox.ts";
import { isObject } from "../calls/values/parts.ts";
import { valueText } from "../calls/values/text.ts";

/** What of a benchmark a test of tools takes as well. */
export type SharedOptions = Pick<
  BenchmarkOptions,
  | "model"
  | "limits"
  | "references"
  | "gate"
  | "budget"
  | "prices"
  | "concurrency"
  | "retries"
  | "requestTimeout"
  | "requestsPerMinute"
  | "tokensPerMinute"
  | "baseURL"
  | "journal"
  | "recordings"
  | "report"
>;

/** Options of `toolTest()`. */
export interface ToolTestOptions<State = undefined>
  extends Omit<ToolCase<State>, "name">, SharedOptions {
  /** How often it is run; default once. A sequential gate sets it itself. */
  readonly trials?: number;
  /** Seed of what perturbations draw; default 1. `fresh` draws one at the start. */
  readonly seed?: number | "fresh";
  /** The strategy or strategies that the model works with, by id or with what is set of them. */
  readonly strategy?: string | BenchmarkStrategy | readonly (string | BenchmarkStrategy)[];
  /**
   * What is done to what the model gets to see, such as `RD` or `WT+CF`, or which faults it meets, such as
   * `timeout`; one or several. With `["none", "timeout"]` the same `assert` judges both: calls that met a fault
   * do not count in assertions, unless nothing must be called.
   */
  readonly perturbation?: string | readonly string[];
}

/** What belongs to the case, and what to its run. */
const CASE_OPTIONS: Readonly<Record<keyof Omit<ToolCase, "name">, true>> = {
  state: true,
  tools: true,
  system: true,
  prompt: true,
  turns: true,
  oracle: true,
  parameters: true,
  toolChoice: true,
  assert: true,
};
const RUN_OPTIONS: Readonly<Record<Exclude<keyof ToolTestOptions, keyof ToolCase>, true>> = {
  model: true,
  trials: true,
  seed: true,
  strategy: true,
  perturbation: true,
  limits: true,
  references: true,
  gate: true,
  budget: true,
  prices: true,
  concurrency: true,
  retries: true,
  requestTimeout: true,
  requestsPerMinute: true,
  tokensPerMinute: true,
  baseURL: true,
  journal: true,
  recordings: true,
  report: true,
};

/**
 * Registers a test of one's own tools. The model gets the question and the tools, works with them until
 * it answers, and `assert` judges what came of it: calls, answer, and the state that the tools have left.
 *
 * With `trials` it is run several times, each a case of its own; with a `gate` only the gate's test can
 * fail, once it has decided over all of them. Trials of one case are independent draws: the gate's
 * verdict is about this case, whatever it says about others. A run that reaches a limit before it answers
 * has failed, and `assert` is not asked. Models that cannot be reached are no failure of the model: such
 * a trial is `invalid`, and its case fails as that. Any other error of `assert` is a failed assertion,
 * a TypeError too, and says where it came about; but an `InputError`, by which an assertion says that it
 * was used wrongly, makes the trial `invalid`.
 *
 * `state` and, where they are a function, `tools` are made anew for each trial; a gate with prices or
 * perturbations makes them before, too, to plan with them. Trials share a list of
 * tools, so that they run one at a time unless all of them are faked, or `concurrency` says otherwise.
 *
 * Calls of one reply begin in their order and run at the same time, at most `limits.parallel` of them: what
 * a tool does before it first waits, such as taking the next result of its `sequence`, is done in the
 * order of the calls. With `limits: { parallel: 1 }` each begins once the one before has ended. With
 * `references` a call may take what others of the same reply return, and comes after these.
 *
 * The flags behind `--` are those of `benchmark`. A path that ends in `/` is a folder, in which each test
 * of a file has a file of its own: `--out=results/`.
 *
 * @throws {InputError} If an option or flag is not usable; the message gives path and rule.
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
  inOwnWords(() => register(name, options));
}

function register<State>(name: string, options: ToolTestOptions<State>): void {
  const subject = `tool test ${printable(String(name), 100)}`;
  if (!isObject(options)) {
    throw new InputError(`Cannot use ${subject} as it must have options: they are ${options}`);
  }
  assertOptions(subject, options, {
    names: Object.keys({ ...CASE_OPTIONS, ...RUN_OPTIONS }),
    elsewhere: new Map(
      [...SUITE_WORDS].map(([word, own]) => [word, `${own}, which takes one or a list`]),
    ),
  });
  const own: ToolCase<State> = { ...options, name };
  assertCase(subject, own);
  const { model, trials, seed = 1, gate } = options;
  assertTrials(subject, trials, gate);
  const strategies = listOf(options.strategy);
  const perturbations = listOf(options.perturbation);
  const sequential = gate?.sequential === true;
  const isSeveral = [listOf(model), strategies, perturbations].some((list = []) => list.length > 1);
  const open: TaskOpener = (spec, given) =>
    isCase(spec) ? new CaseExecutor(own, spec, given) : openTask(spec, given);
  const benchmark: BenchmarkOptions = {
    ...sharedOf(options),
    ...(areApart(own.tools) ? {} : { concurrency: 1 }),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    model,
    tasks: [],
    seed,
    ...(sequential ? {} : { graphs: trials ?? 1 }),
    ...(strategies === undefined ? {} : { strategies }),
    ...(perturbations === undefined ? {} : { perturbations }),
  };
  const registration: RegisteredPlan = {
    name,
    subject,
    source: { cells: () => [{ case: name }], open, cases: { [name]: digestOf(own) } },
    titleOf: (planned) =>
      [
        name,
        ...(sequential || (trials ?? 1) > 1 ? [`trial ${planned.repetition}`] : []),
        ...(isSeveral ? [variantName(planned)] : []),
      ].join(" > "),
  };
  inOptionsOf(options, () => registerBenchmark(benchmark, registration));
}

function listOf<Item>(given: Item | readonly Item[] | undefined): readonly Item[] | undefined {
  return given === undefined ? undefined : [given].flat() as readonly Item[];
}

/** The options that suites call otherwise. */
const SUITE_WORDS = new Map<string, keyof ToolTestOptions>([
  ["models", "model"],
  ["strategies", "strategy"],
  ["perturbations", "perturbation"],
]);

/** Lets bad input be told by the names of one's own options. */
function inOptionsOf(options: object, register: () => void): void {
  try {
    register();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const own = error.message.replace(/^ {2}at (\w+)(\[\d+\])?/gm, (path, word, index = "") => {
      const option = SUITE_WORDS.get(word);
      if (option === undefined) return path;
      const isList = Array.isArray((options as Partial<Record<string, unknown>>)[option]);
      return `  at ${option}${isList ? index : ""}`;
    });
    throw new InputError(own);
  }
}

/** The options that a benchmark has as well. */
function sharedOf<State>(
  options: ToolTestOptions<State>,
): Omit<SharedOptions, "model" | "concurrency"> {
  const { gate, limits, references, budget, prices } = options;
  const { retries, requestTimeout, requestsPerMinute, tokensPerMinute } = options;
  const { baseURL, journal, recordings, report } = options;
  const given = {
    ...{ gate, limits, references, budget, prices },
    ...{ retries, requestTimeout, requestsPerMinute, tokensPerMinute },
    ...{ baseURL, journal, recordings, report },
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Whether trials that run at the same time cannot get in each other's way. */
function areApart(tools: ToolCase<never>["tools"]): boolean {
  return typeof tools === "function" || tools.every(isIsolated);
}

/** What neither the rules of suites nor types say to users of plain JavaScript. */
function assertCase<State>(subject: string, own: ToolCase<State>): void {
  const fault = faultOf(own);
  if (fault !== undefined) throw new InputError(`Cannot use ${subject} as ${fault}`);
  // What a function makes is checked when a trial begins.
  if (typeof own.tools === "function") return;
  try {
    assertCaseTools(own, own.tools);
    new Toolbox(own.tools)[Symbol.dispose]();
  } catch (error) {
    // A file has many tests.
    if (error instanceof InputError) {
      throw new InputError(`Cannot use ${subject}: ${error.message}`);
    }
    throw error;
  }
}

/** The first rule that a case breaks. */
function faultOf<State>(own: ToolCase<State>): string | undefined {
  const { name, state, tools, system, prompt, turns = [], assert } = own;
  const { oracle = [], parameters = [], toolChoice = "auto" } = own;
  const rules: [holds: boolean, rule: string, value: unknown][] = [
    [isText(name), "its name must be a text", name],
    [!isProbe({ case: name }), "its name must be none of a probe", name],
    [isText(prompt), "prompt must be what the user says", prompt],
    [system === undefined || typeof system === "string", "system must be a text", system],
    [
      isListOf(turns, isText),
      "turns must be a list of what the user says after each answer",
      turns,
    ],
    [typeof assert === "function", "assert must be a function of the run", assert],
    [state === undefined || typeof state === "function", "state must be a function", state],
    [
      Array.isArray(tools) || typeof tools === "function",
      "tools must be a list of tools, or a function that makes it",
      tools,
    ],
    [isListOf(oracle, isCall), "oracle must be a list of calls: tool and arguments", oracle],
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
  throw new InputError(`Cannot use ${subject} as ${fault}: it is ${valueText(trials)}`);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function isListOf(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isCall(value: unknown): boolean {
  return isJsonObject(value) && isText(value["tool"]) && isJsonObject(value["arguments"]);
}

function isParameter(value: unknown): boolean {
  return isJsonObject(value) && isText(value["name"]) && "value" in value &&
    isListOf(value["spans"], isObject);
}

function isToolChoice(value: unknown): boolean {
  if (typeof value === "string") return ["auto", "none", "required"].includes(value);
  return isJsonObject(value) && isText(value["function"]);
}
