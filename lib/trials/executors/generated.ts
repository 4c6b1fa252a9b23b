/**
 * Executors of generated tasks: answer, record and classify calls, and judge the answer (FuncBenchGen,
 * sections 3.4 and 4.6).
 * @module
 */

import { parseAnswer } from "../../tasks/graphs/answer.ts";
import { behavioursIn } from "../../calls/behaviour.ts";
import {
  type Behaviour,
  checkSchema,
  checkValues,
  type Conforming,
  isRoot,
  type Knowledge,
  type ParameterFailureType,
} from "../../calls/failure_types.ts";
import { attempt } from "../../base/errors.ts";
import { isLost } from "../../tools/fault.ts";
import { generatedExamples, type SolvedExample } from "../../tasks/examples.ts";
import type { AnswerCheck, Fixture } from "./fixture.ts";
import {
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
} from "../../base/json.ts";
import { ANY_REFERENCE, holdsReference } from "../../tools/references/resolve.ts";
import { withViews } from "../../calls/parameter_views.ts";
import { usualCallLimit } from "../../perturbations/ids.ts";
import type { Obstacle } from "../../perturbations/methods.ts";
import { type PerturbedTask, perturbTask } from "../../perturbations/perturbed_task.ts";
import type { ExecutorOptions } from "./executor_options.ts";
import { type CallOutcome, type CallPlace, notFound, refusedCall } from "./made_call.ts";
import { Executor } from "./executor.ts";
import { wordsOfName } from "../../tasks/graphs/word_names.ts";
import type { Task } from "../../tasks/graphs/task.ts";
import { outputsOf, returnText, type TaskFunction } from "../../tasks/graphs/wording.ts";
import type { PreparedCall, Refusal, ToolChoice } from "../../tools/tool.ts";
import {
  type CallEvent,
  callsOf,
  returnedBy,
  type ReturnedValue,
  type TraceEvent,
  withheldBy,
} from "../../calls/trace.ts";
import type { ExpectedCall } from "../../tools/expected_call.ts";
import { hash64 } from "../../base/random.ts";

interface Return extends CallPlace, ReturnedValue {
  readonly wrong: boolean;
}

/** Keeps the outputs of all calls in one trial, whose question gives values, by variable. */
function outputsIn(task: Task, told: ReadonlyMap<string, number>) {
  const returns: Return[] = [];
  let coreValues: ReadonlySet<number> | undefined;

  /** The true outputs of a function. */
  const right = (taskFunction: TaskFunction): readonly ReturnedValue[] =>
    outputsOf(taskFunction).map(({ name }) => ({ variable: name, value: task.values.get(name)! }));

  /**
   * A wrong value with as many digits as the true one, derived from `words`: task, function, arguments and
   * output. It is never the true value, and none of the core's or those `taken` while others are free: so its
   * origin stays clear, and distractors do not change it.
   */
  const wrongValue = (
    words: readonly (string | number)[],
    truth: number,
    taken: ReadonlySet<number>,
  ): number => {
    const least = 10 ** (String(truth).length - 1);
    const range = 9 * least;
    const start = Number(hash64(words.join("\u0000")) % BigInt(range));
    coreValues ??= coreValuesOf(task);
    let fallback = truth;
    for (let shift = 0; shift < range; shift++) {
      const value = least + (start + shift) % range;
      if (value === truth) continue;
      if (!coreValues.has(value) && !taken.has(value)) return value;
      if (fallback === truth) fallback = value;
    }
    return fallback;
  };

  /** Wrong values for all outputs of a function, none of them twice. */
  const wrong = (taskFunction: TaskFunction, values: readonly number[]) => {
    const taken = new Set<number>();
    return right(taskFunction).map(({ variable, value: truth }, place): ReturnedValue => {
      const words = ["wrong", task.spec.seed, taskFunction.name, ...values];
      const value = wrongValue(place === 0 ? words : [...words, variable], truth, taken);
      taken.add(value);
      return { variable, value };
    });
  };

  return {
    /** Returns the outputs of a function, and keeps them: true ones, or wrong ones derived from its arguments. */
    give(taskFunction: TaskFunction, place: CallPlace, wrongArguments?: readonly number[]) {
      const outputs = wrongArguments === undefined
        ? right(taskFunction)
        : wrong(taskFunction, wrongArguments);
      const isWrong = wrongArguments !== undefined;
      for (const one of outputs) returns.push({ ...place, ...one, wrong: isWrong });
      return outputs;
    },
    /** Whether a call returned a variable; with a value, whether it returned this one. */
    has: (variable: string, value?: number): boolean =>
      returns.some((one) =>
        one.variable === variable && (value === undefined || one.value === value)
      ),
    /**
     * What was known when a call could begin: calls of one reply cannot see each other's returns, unless one
     * had to wait for others.
     */
    knownAt(current: CallPlace): Knowledge {
      const earlier = returns.filter(({ step, level }) =>
        step < current.step || (step === current.step && level < current.level)
      );
      return {
        isEstablished: (variable) =>
          told.has(variable) || earlier.some((result) => result.variable === variable),
        ownerOf: (value) =>
          told.entries().find((one) => one[1] === value)?.[0] ??
            earlier.find((result) => result.value === value)?.variable,
        wrongReturn: (value, variable) => {
          const wrong = earlier.filter((result) => result.wrong && result.value === value);
          return (wrong.find((result) => result.variable === variable) ?? wrong[0])?.call;
        },
      };
    },
  };
}

function coreValuesOf({ functions, inputs, values }: Task): ReadonlySet<number> {
  const core = functions.filter(({ role }) => role === "core");
  const outputs = core.flatMap(outputsOf);
  return new Set([...inputs.values(), ...outputs.map(({ name }) => values.get(name)!)]);
}

/** Options of {@linkcode createExecutor}. */
export interface GeneratedTaskExecutorOptions
  extends Partial<Omit<ExecutorOptions, "perturbReturn" | "injectFault" | "injectInstruction">> {
  /**
   * The number of calls that may be made; default: twice the minimum for the task, plus those expected to be
   * lost to the faults of the perturbation.
   */
  readonly callLimit?: number;
  /** Perturbation of what the agent sees, such as `RD` or `RP_F+CF`; default `none`. */
  readonly perturbation?: string;
}

/** A call that conforms to its schema, and what is wrong with its values. */
interface JudgedValues extends Conforming, Pick<CallOutcome, "failure"> {
  readonly taskFunction: TaskFunction;
}

/**
 * Makes an executor for one trial of `task`. With a perturbation, question, tools and returns are perturbed;
 * calls and answers are judged by the original task.
 *
 * @throws {InputError} If the perturbation is unknown.
 *
 * @example With a custom agent
 * ```ts
 * import { createExecutor, generateTask } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 *
 * const spec = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 };
 * using executor = createExecutor(generateTask(spec));
 *
 * // Your agent gets executor.prompt and executor.tools; this one calls the only tool there is.
 * const [tool] = executor.tools;
 * const result = await tool!.execute(Object.fromEntries(executor.task.inputs));
 * const [[variable, value]] = Object.entries(JSON.parse(result)) as [[string, number]];
 *
 * const { outcome, grounded } = executor.answer(`${variable} = ${value}`);
 * assertEquals({ outcome, grounded }, { outcome: "solved", grounded: true });
 * assertEquals(executor.events.length, 2);
 * ```
 */
export function createExecutor(
  task: Task,
  options: GeneratedTaskExecutorOptions = {},
): GeneratedTaskExecutor {
  return new GeneratedTaskExecutor(task, options);
}

/** Answers and judges calls on a generated task. */
export class GeneratedTaskExecutor extends Executor<Conforming> implements Fixture {
  /** The task by which calls and answers are judged. */
  readonly task: Task;
  /** The user message that the agent should get. */
  readonly prompt: string;
  /** Whether the perturbation found something to change; `true` without one. */
  readonly changed: boolean;
  /** What keeps a model from the right answer; omitted where nothing does. */
  readonly unsolvable?: Obstacle;
  /** The parameter failure that no call of it can show: its functions list, require and take the same keys. */
  readonly impossible: readonly ParameterFailureType[] = ["redundant_information"];
  /** Generated tasks leave the tool choice to the model. */
  readonly toolChoice: undefined = undefined;

  /** Returns solved examples of other tasks like the original one. */
  readonly examples: (count: number) => SolvedExample[];

  readonly #perturbed: PerturbedTask;
  readonly #functions: ReadonlyMap<string, TaskFunction>;
  readonly #outputs: ReturnType<typeof outputsIn>;

  /** Makes an executor for one trial; {@linkcode createExecutor} does the same. */
  constructor(original: Task, options: GeneratedTaskExecutorOptions = {}) {
    const { perturbation = "none" } = options;
    const { callLimit = usualCallLimit(original.minimumCalls, perturbation) } = options;
    const perturbed = perturbTask(original, perturbation);
    const { task, prompt, tools, changed, twins } = perturbed;
    const { perturbReturn, injectFault, injectInstruction } = perturbed;
    super(tools, { ...options, callLimit, perturbReturn, injectFault, injectInstruction });
    this.examples = (count) => generatedExamples(original, count);
    this.#perturbed = perturbed;
    this.#outputs = outputsIn(task, perturbed.told);
    this.task = task;
    this.prompt = prompt;
    this.changed = changed;
    const functions = [...task.functions, ...(twins === undefined ? [] : [twins.other])];
    this.#functions = new Map(functions.map((taskFunction) => [taskFunction.name, taskFunction]));
    const { obstacle } = perturbed;
    if (obstacle !== undefined) this.unsolvable = obstacle;
  }

  /** The minimum number of calls that solve the task. */
  get minimumCalls(): number {
    return this.task.minimumCalls;
  }

  /** The events with each call compared to the correct ones. */
  async viewed(): Promise<readonly TraceEvent[]> {
    const called = new Set<string>();
    // A call that was blocked may be wrong.
    const made = callsOf(this.events).filter(({ fault }) => !isLost({ fault }));
    // Most trials have only correct calls, each made once: there is nothing to add.
    const right = made.every(({ function: name, role, failure, coerced }) => {
      const again = called.has(name);
      called.add(name);
      return role === "core" && !again && failure === undefined && coerced === undefined;
    });
    if (right) return this.events;
    const calls = callsOf(this.events);
    const { functions, tools } = this.#asCalled(calls.filter((call) => !isLost(call)));
    return await withViews(
      this.events,
      expectedCallsFor(functions, this.task.values, calls),
      tools,
    );
  }

  /** The functions and tools of the task, with the other one of two that do the same where that was called. */
  #asCalled(calls: readonly CallEvent[]): Pick<Task, "functions" | "tools"> {
    const { twins } = this.#perturbed;
    const { functions, tools } = this.task;
    const isCalled = (name: string) => calls.some((call) => call.function === name);
    if (twins === undefined || isCalled(twins.name) || !isCalled(twins.other.name)) {
      return { functions, tools };
    }
    const { name, other, tool } = twins;
    return {
      functions: functions.map((one) => one.name === name ? other : one),
      tools: tools.map((one) => one.name === name ? tool : one),
    };
  }

  /** The variables given in the prompt, with their values. */
  override get given(): ReadonlyMap<string, number> {
    return this.#perturbed.given;
  }

  /** Checks that arguments conform to their function's schema (predicate 2). */
  protected override check(name: string, written: string): Conforming | Refusal | undefined {
    const taskFunction = this.#functions.get(name);
    if (taskFunction === undefined) return undefined;
    const checked = checkSchema(taskFunction, written);
    return "values" in checked
      ? checked
      : { error: schemaError(taskFunction), fault: checked.detail };
  }

  /** Checks partly unknown arguments: any number may take the place of an unknown one. */
  protected override checkShape(name: string, shape: JsonObject): Conforming | Refusal | undefined {
    const entries = Object.entries(shape).map((
      [key, value],
    ) => [key, value === ANY_REFERENCE ? 0 : typeof value === "bigint" ? null : value]);
    return this.check(name, JSON.stringify(Object.fromEntries(entries)));
  }

  /**
   * Takes the final answer, reads its value and judges it. Where names stand for values, `text` has the
   * values, and `rendered` is the text for people.
   */
  answer(text: string, rendered?: string): AnswerCheck {
    this.assertOpen("take an answer");
    const { variable, value: truth } = this.task.target;
    // Where no value can be known, a text that says what is missing may hold other numbers.
    const claimed = this.#hasNoAnswer;
    const value = parseAnswer(withNames(text, this.task), variable, { claimed });
    this.end(text, value, rendered);
    const grounded = value !== null && this.#outputs.has(variable, value);
    if (this.exhausted) return { outcome: "call_limit", grounded: false };
    if (value === null) return { outcome: this.#abstained ? "abstained" : "no_answer", grounded };
    return { outcome: value === truth ? "solved" : "wrong_answer", grounded };
  }

  /** Whether nobody who was given this task, and these results, can know its value. */
  get #hasNoAnswer(): boolean {
    return this.unsolvable !== undefined || this.#lacksResult;
  }

  /** Whether a fault withheld the result of a core function that the model never got afterwards. */
  get #lacksResult(): boolean {
    return callsOf(this.events).some((call) =>
      call.role === "core" && withheldBy(call).some((variable) => !this.#outputs.has(variable))
    );
  }

  /** Whether values were withheld from the model and it invented none in their place. */
  get #abstained(): boolean {
    return this.unsolvable !== undefined &&
      callsOf(this.events).every((call) =>
        call.failure?.type !== "value_not_yet_known" && call.guessed !== true &&
        !this.#inventsValue(call)
      );
  }

  /** Whether a call, refused or not, gives a value for something that cannot be known. */
  #inventsValue(call: CallEvent): boolean {
    const taskFunction = this.#functions.get(call.function);
    const input = parseJson(call.resolved ?? call.arguments);
    if (taskFunction === undefined || !isJsonObject(input)) return false;
    const { withheld } = this.#perturbed;
    return taskFunction.parameters.some(({ name, variable }) =>
      (withheld.has(variable) || withheld.has(name)) &&
      Object.hasOwn(input, name) && !isReference(input[name]!) && holdsDigit(input[name]!)
    );
  }

  /** The behaviours that a trace of it shows; default: its own. */
  behaviours(
    events: readonly TraceEvent[] = this.events,
    toolChoice?: ToolChoice,
  ): Behaviour[] {
    const { variable } = this.task.target;
    const { functions } = this.#asCalled(callsOf(events));
    return behavioursIn(events, {
      needed: functions.flatMap(({ role, name }) => role === "core" ? [name] : []),
      answerOf: (call) => returnedBy(call).find((one) => one.variable === variable)?.value,
      // Where no value can be known, to give none is right.
      settles: () => !this.#hasNoAnswer,
      wordsCount: false,
      toolChoice,
    });
  }

  /** Checks a call, and carries it out if it conforms to the schema. */
  protected override carryOut(call: PreparedCall, place: CallPlace): CallOutcome {
    const judged = this.#judged(call, place);
    if ("content" in judged) return judged;
    const { taskFunction, values, coerced, failure } = judged;
    const known = this.#outputs.knownAt(place);
    const guessed = failure === undefined &&
      taskFunction.parameters.some((parameter) => !known.isEstablished(parameter.variable));
    const outputs = this.#outputs.give(taskFunction, place, failure && values);
    const [{ variable, value }, ...others] = outputs as [ReturnedValue, ...ReturnedValue[]];
    const entries = outputs.map((one) => [one.variable, one.value] as const);
    return {
      content: returnText(entries),
      value: others.length === 0 ? value : Object.fromEntries(entries),
      event: {
        role: taskFunction.role,
        returned: { variable, value, ...(others.length === 0 ? {} : { others }) },
        ...(guessed ? { guessed: true } : {}),
        ...(coerced.length === 0 ? {} : { coerced }),
      },
      failure,
    };
  }

  /** What is wrong with a call: also with the values of one that conforms to the schema. */
  protected override judge(call: PreparedCall, place: CallPlace): CallOutcome | undefined {
    const judged = this.#judged(call, place);
    if ("content" in judged) return judged;
    const { taskFunction: { role }, failure } = judged;
    if (failure === undefined) return undefined;
    return { content: JSON.stringify({ error: "Not carried out" }), event: { role }, failure };
  }

  /** Checks a call: the outcome of one that is refused, or its values and what is wrong with these. */
  #judged(call: PreparedCall, place: CallPlace): CallOutcome | JudgedValues {
    const { name } = call;
    const taskFunction = this.#functions.get(name);
    if (taskFunction === undefined) return notFound(name, this.#functions.keys());
    const checked = this.take(call)!;
    if ("error" in checked) {
      return { ...refusedCall(checked), event: { role: taskFunction.role } };
    }
    const { values } = checked;
    return { taskFunction, ...checked, failure: this.#failureOf(taskFunction, values, place) };
  }

  /** What is wrong with the values of a call. */
  #failureOf(
    taskFunction: TaskFunction,
    values: readonly number[],
    place: CallPlace,
  ): CallOutcome["failure"] {
    const known = this.#outputs.knownAt(place);
    const failure = checkValues(taskFunction, values, this.task.values, known);
    return failure && { ...failure, root: isRoot(failure) };
  }

  /** What is wrong with the values of a call that are no references. */
  protected override failureOfLiterals(
    { name, resolved, arguments: text }: PreparedCall,
    place: CallPlace,
  ): CallOutcome["failure"] {
    const taskFunction = this.#functions.get(name)!;
    const literals = Object.entries(parseJson(resolved ?? text) as JsonObject)
      .filter(([, value]) => !holdsReference(value));
    const given = Object.fromEntries(literals);
    const parameters = taskFunction.parameters.filter((one) => Object.hasOwn(given, one.name));
    const part = { ...taskFunction, parameters };
    const checked = checkSchema(part, jsonText(given));
    return "values" in checked ? this.#failureOf(part, checked.values, place) : undefined;
  }

  /** The role of a function and the variables that it would have returned. */
  protected override lostFields(
    { name }: PreparedCall,
  ): Pick<CallEvent, "role" | "withheld" | "alsoWithheld"> {
    const taskFunction = this.#functions.get(name)!;
    const [withheld, ...alsoWithheld] = outputsOf(taskFunction).map((output) => output.name);
    return {
      role: taskFunction.role,
      withheld,
      ...(alsoWithheld.length === 0 ? {} : { alsoWithheld }),
    };
  }

  /**
   * The value of the only variable in a text, and an object of several; a text without variables is a value
   * itself.
   */
  protected override valueOf(text: string): JsonValue {
    const [named, ...others] = this.namesIn(text);
    if (named === undefined) return text;
    return others.length === 0 ? named[1] : Object.fromEntries([named, ...others]);
  }

  /** The variables of a returned object. */
  protected override namesIn(text: string): [name: string, value: JsonValue][] {
    const returned = parseJson(text);
    return isJsonObject(returned) ? Object.entries(returned) : [];
  }
}

/** Whether a value is a reference, such as `$2.sum`: that invents nothing, even if the call failed. */
function isReference(value: JsonValue): boolean {
  return typeof value === "string" && /^\s*\$\w[\w.]*\s*$/.test(value);
}

function holdsDigit(value: JsonValue): boolean {
  // Thousands of nested brackets exceed the stack, and are invented.
  return attempt(() => /\d/.test(JSON.stringify(value))) ?? true;
}

/**
 * Writes the name of the target wherever a text has its words, such as `room_price` for "Room price":
 * people and models say it in words. Longer names that end with these words are written first.
 */
function withNames(text: string, { spec, target, values }: Task): string {
  if (spec.names === undefined) return text;
  const own = wordsOfName(target.variable).join(" ");
  const alike = Array.from(values.keys(), (name) => ({ name, words: wordsOfName(name) }))
    .filter(({ words }) => ` ${words.join(" ")}`.endsWith(` ${own}`))
    .sort((one, other) => other.words.length - one.words.length);
  return alike.reduce((read, { name, words }) => {
    const spoken = `(?<![\\p{L}\\p{N}_])${words.join("[\\s_-]{0,3}")}(?![\\p{L}\\p{N}_])`;
    return read.replaceAll(new RegExp(spoken, "giu"), name);
  }, text);
}

function schemaError({ name, parameters }: TaskFunction): string {
  const names = parameters.map((parameter) => parameter.name).join(", ");
  return `Function ${name} takes exactly these arguments, all of them integers: ${names}`;
}

/**
 * Returns one correct call of each core function; those that were called are in the order of their best calls. A task
 * may be solved in many orders, so that each is compared to its best call: the first with the most correct
 * arguments.
 */
function expectedCallsFor(
  functions: readonly TaskFunction[],
  values: Task["values"],
  calls: readonly CallEvent[],
): readonly ExpectedCall[] {
  const expected = functions.filter(({ role }) => role === "core").map(({ name, parameters }) => {
    const right = Object.create(null) as Record<string, number>;
    for (const parameter of parameters) right[parameter.name] = values.get(parameter.variable)!;
    return { tool: name, arguments: right };
  });
  const best = new Map<string, { place: number; right: number }>();
  const byName = new Map(expected.map((one) => [one.tool, one]));
  for (const [place, call] of calls.entries()) {
    if (isLost(call)) continue;
    const truth = byName.get(call.function)?.arguments;
    if (truth === undefined) continue;
    const input = parseJson(call.resolved ?? call.arguments);
    const right = Object.entries(truth).filter(([name, value]) =>
      isJsonObject(input) && Object.hasOwn(input, name) && input[name] === value
    ).length;
    if (right > (best.get(call.function)?.right ?? -1)) {
      best.set(call.function, { place, right });
    }
  }
  const bestPlace = ({ tool }: ExpectedCall) => best.get(tool)?.place ?? calls.length;
  return expected.toSorted((one, other) => bestPlace(one) - bestPlace(other));
}
