/**
 * The executor: answers the calls on a generated task, records and classifies each, and judges the
 * answer (FuncBenchGen, sections 3.4 and 4.6).
 * @module
 */

import { parseAnswer, statedAnswer } from "./answer.ts";
import { behavioursIn } from "../../calls/behaviour.ts";
import type { Behaviour } from "../../calls/failure_types.ts";
import {
  checkSchema,
  checkValues,
  type Conforming,
  functionNotFound,
  isRoot,
  type Knowledge,
} from "../../calls/failure.ts";
import { isLost } from "../../tools/fault.ts";
import type { AnswerCheck, Fixture } from "./fixture.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { ANY_REFERENCE } from "../../tools/references/resolve.ts";
import type { OracleCall } from "../../calls/expected/oracle.ts";
import { type Oracle, withViews } from "../../calls/parameter_views.ts";
import { usualCallLimit } from "../../perturbations/ids.ts";
import { type PerturbedTask, perturbTask } from "../../perturbations/perturbed_task.ts";
import { hash64 } from "../../base/random.ts";
import {
  type CallOutcome,
  type CallPlace,
  Executor,
  type ExecutorOptions,
  noSuchFunction,
} from "./executor.ts";
import { returnText, type Task, type TaskFunction } from "../../tasks/generated/task.ts";
import type { PreparedCall, Refusal } from "../../tools/tool.ts";
import { type CallEvent, callsOf, type TraceEvent } from "../../calls/trace.ts";

/** Options of {@linkcode createExecutor}. */
export interface GeneratedTaskExecutorOptions
  extends Partial<Omit<ExecutorOptions, "perturbReturn" | "injectFault">> {
  /**
   * How many calls may be made; default twice the fewest that solve the task, and as many more as the faults
   * of the perturbation are expected to take of them.
   */
  readonly callLimit?: number;
  /** What is done to what the agent gets to see, such as `RD` or `RP_F+CF`; default `none`. */
  readonly perturbation?: string;
}

interface Return extends CallPlace {
  readonly variable: string;
  readonly value: number;
  readonly wrong: boolean;
}

/**
 * Makes an executor for one trial of `task`. With a perturbation, question, tools and returns are
 * perturbed; calls and answers are judged by the task as it is.
 *
 * @throws {InputError} If there is no such perturbation.
 *
 * @example With an agent of one's own
 * ```ts
 * import { createExecutor } from "./generated.ts";
 * import { generateTask } from "../../tasks/generated/task.ts";
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
export class GeneratedTaskExecutor extends Executor implements Fixture {
  /** The task by which calls and answers are judged. */
  readonly task: Task;
  /** The user message that the agent should get. */
  readonly prompt: string;
  /** Whether the perturbation found something to change; `true` without one. */
  readonly changed: boolean;

  readonly #seen: PerturbedTask;
  readonly #functions: ReadonlyMap<string, TaskFunction>;
  readonly #returns: Return[] = [];
  #coreValues: ReadonlySet<number> | undefined;

  /** Makes an executor for one trial; {@linkcode createExecutor} does the same. */
  constructor(original: Task, options: GeneratedTaskExecutorOptions = {}) {
    const { perturbation = "none", longestResult } = options;
    const { callLimit = usualCallLimit(original.minimumCalls, perturbation) } = options;
    const seen = perturbTask(original, perturbation);
    const { task, prompt, tools, changed, perturbReturn, injectFault } = seen;
    const { references, parallel, depth } = options;
    super(tools, {
      ...{ callLimit, longestResult, perturbReturn, injectFault },
      ...{ references, parallel, depth },
    });
    this.#seen = seen;
    this.task = task;
    this.prompt = prompt;
    this.changed = changed;
    this.#functions = new Map(task.functions.map((made) => [made.name, made]));
  }

  /** The fewest calls that solve the task. */
  get minimumCalls(): number {
    return this.task.minimumCalls;
  }

  /** One right call of each core function, those that were called in the order of their best calls. */
  get oracle(): Oracle {
    return truthOf(this.task, callsOf(this.events));
  }

  /** The events, with what each call is beside the right ones. */
  viewed(): readonly TraceEvent[] {
    const called = new Set<string>();
    const carriedOut = callsOf(this.events).filter((call) => !isLost(call));
    // Most trials have none but right calls, each made once, of which there is nothing to tell.
    const right = carriedOut.every(({ function: name, role, failure, coerced }) => {
      const again = called.has(name);
      called.add(name);
      return role === "core" && !again && failure === undefined && coerced === undefined;
    });
    return right ? this.events : withViews(this.events, this.oracle);
  }

  /** Generated tasks leave it to the model. */
  get toolChoice(): undefined {
    return undefined;
  }

  /** The variables that the prompt gives, by their numbers. */
  override get given(): ReadonlyMap<string, number> {
    return this.#seen.given;
  }

  /** Why the arguments of a call do not conform to its function's schema (predicate 2). */
  protected override refuseMeant(call: PreparedCall): Refusal | undefined {
    const made = this.#functions.get(call.name);
    const checked = made === undefined ? undefined : checkCall(made, call);
    return checked === undefined || "values" in checked ? undefined : checked;
  }

  /** Why arguments do not conform, of which some are not known yet: any number may be one of these. */
  protected override refuseShape(name: string, shape: JsonObject): Refusal | undefined {
    const some = Object.entries(shape).map((
      [key, value],
    ) => [key, value === ANY_REFERENCE ? 0 : value]);
    return this.refuseMeant({ id: "", name, arguments: JSON.stringify(Object.fromEntries(some)) });
  }

  /**
   * Takes the final answer, reads its value and judges it. Where names stand for values, `text` has the
   * values, and `rendered` is what people are to read.
   */
  answer(text: string, rendered?: string): AnswerCheck {
    this.assertOpen("take an answer");
    const { variable, value: truth } = this.task.target;
    const isLacking = this.#seen.unsolvable || this.#lacksResult;
    const value = isLacking ? this.#claim(text) : parseAnswer(text, variable);
    this.end(text, value, rendered);
    const grounded = value !== null &&
      this.#returns.some((made) => made.variable === variable && made.value === value);
    if (this.exhausted) return { outcome: "call_limit", grounded: false };
    if (value === null) return { outcome: this.#abstained ? "abstained" : "no_answer", grounded };
    return { outcome: value === truth ? "solved" : "wrong_answer", grounded };
  }

  /**
   * The value that an answer claims where there is none to be had: a bare number, or one that is stated of
   * the target or of what stands for it. Whoever says what is missing may well use other numbers, and tell
   * how many of something the target has.
   */
  #claim(text: string): number | null {
    const { variable } = this.task.target;
    // Of a number that was prefixed on its way the number is what is meant.
    const plain = text.replaceAll(/\bID_(?=\d)/g, "");
    if (/^[\s*`'"]*-?\d[\d,]*[\s*`'".]*$/.test(plain)) return parseAnswer(plain, variable);
    const stated = statedAnswer(plain.replaceAll(/\bhas\b/gi, ";"), variable);
    if (stated !== null) return stated;
    const meant = MEANT.exec(plain)?.[1];
    return meant === undefined ? null : parseAnswer(meant, variable);
  }

  /** Whether a fault kept the result of a function from the model, and it has not got it since. */
  get #lacksResult(): boolean {
    const got = new Set(this.#returns.map(({ variable }) => variable));
    return callsOf(this.events).some(({ role, withheld }) =>
      role === "core" && withheld !== undefined && !got.has(withheld)
    );
  }

  /** Whether something was kept from the model, and it made up no value in its place. */
  get #abstained(): boolean {
    return this.#seen.unsolvable &&
      callsOf(this.events).every((call) =>
        call.failure?.type !== "value_not_yet_known" && call.guessed !== true &&
        !this.#makesUp(call)
      );
  }

  /** Whether a call, refused or not, has a value for what cannot be known. */
  #makesUp(call: CallEvent): boolean {
    const made = this.#functions.get(call.function);
    const given = parseJson(call.resolved ?? call.arguments);
    if (made === undefined || !isJsonObject(given)) return false;
    return made.parameters.some(({ name, variable }) =>
      this.#seen.withheld.has(variable) &&
      Object.hasOwn(given, name) && !isReference(given[name]!) && holdsDigit(given[name]!)
    );
  }

  /** The behaviours that the trace shows. */
  behaviours(): Behaviour[] {
    const { variable } = this.task.target;
    return behavioursIn(this.events, {
      needed: this.task.functions.flatMap(({ role, name }) => role === "core" ? [name] : []),
      answerOf: ({ returned }) => returned?.variable === variable ? returned.value : undefined,
      wordsCount: false,
      forced: false,
    });
  }

  /** Checks a call, and carries it out if it conforms to the schema. */
  protected override carryOut(call: PreparedCall, place: CallPlace): CallOutcome {
    const { name } = call;
    const made = this.#functions.get(name);
    if (made === undefined) {
      const failure = functionNotFound(name, this.#functions.keys());
      return { content: noSuchFunction(name), failure: { ...failure, root: true } };
    }
    const { role } = made;
    const checked = checkCall(made, call);
    if ("error" in checked) {
      const { error, fault } = checked;
      const failure = { type: "wrong_number_of_inputs", detail: fault, root: true } as const;
      return { content: JSON.stringify({ error }), event: { role }, failure };
    }
    const { values, coerced } = checked;
    const known = this.#knowledge(place);
    const failure = checkValues(made, values, this.task.values, known);
    const variable = made.output.name;
    const truth = this.task.values.get(variable)!;
    const value = failure === undefined ? truth : this.#wrongValue(made, values, truth);
    const guessed = failure === undefined &&
      made.parameters.some((parameter) => !known.isEstablished(parameter.variable));
    this.#returns.push({ ...place, variable, value, wrong: failure !== undefined });
    return {
      content: returnText(variable, value),
      value,
      event: {
        role,
        returned: { variable, value },
        ...(guessed ? { guessed: true } : {}),
        ...(coerced.length === 0 ? {} : { coerced }),
      },
      ...(failure === undefined ? {} : { failure: { ...failure, root: isRoot(failure) } }),
    };
  }

  /** What a function is to the task, and the variable that it would have given. */
  protected override kept({ name }: PreparedCall): Pick<CallEvent, "role" | "withheld"> {
    const { role, output } = this.#functions.get(name)!;
    return { role, withheld: output.name };
  }

  /** The value of the one variable that a text is of; a text that says none is a value itself. */
  protected override valueOf(text: string): JsonValue {
    const [named] = this.namesIn(text);
    return named === undefined ? text : named[1];
  }

  /** The variables of a returned object. */
  protected override namesIn(text: string): [name: string, value: JsonValue][] {
    const returned = parseJson(text);
    return isJsonObject(returned) ? Object.entries(returned) : [];
  }

  /**
   * What was known when a call could begin: calls of one reply cannot see each other's returns, unless
   * one had to wait for others.
   */
  #knowledge(current: CallPlace): Knowledge {
    const seen = this.#returns.filter(({ step, level }) =>
      step < current.step || (step === current.step && level < current.level)
    );
    const { told } = this.#seen;
    return {
      isEstablished: (variable) =>
        told.has(variable) || seen.some((made) => made.variable === variable),
      ownerOf: (value) =>
        told.entries().find((one) => one[1] === value)?.[0] ??
          seen.find((made) => made.value === value)?.variable,
      wrongReturn: (value, variable) => {
        const wrong = seen.filter((made) => made.wrong && made.value === value);
        return (wrong.find((made) => made.variable === variable) ?? wrong[0])?.call;
      },
    };
  }

  /**
   * A value with as many digits as the true one, that follows from task, function and arguments.
   * It is never the true one, nor one of the core's as long as there are free ones: so its origin
   * stays plain, and distractors do not change it.
   */
  #wrongValue(made: TaskFunction, values: readonly number[], truth: number): number {
    const words = ["wrong", this.task.spec.seed, made.name, ...values];
    const least = 10 ** (String(truth).length - 1);
    const range = 9 * least;
    const start = Number(hash64(words.join("\u0000")) % BigInt(range));
    this.#coreValues ??= coreValuesOf(this.task);
    let fallback = truth;
    for (let shift = 0; shift < range; shift++) {
      const value = least + (start + shift) % range;
      if (value === truth) continue;
      if (!this.#coreValues.has(value)) return value;
      if (fallback === truth) fallback = value;
    }
    return fallback;
  }
}

/** Whoever refers to a result, such as `$2.sum`, has made up none, whatever came of that call. */
function isReference(value: JsonValue): boolean {
  return typeof value === "string" && /^\s*\$\w[\w.]*\s*$/.test(value);
}

function holdsDigit(value: JsonValue): boolean {
  try {
    return /\d/.test(JSON.stringify(value));
  } catch {
    // Thousands of brackets within each other exceed the stack, and are made up.
    return true;
  }
}

/** A number that an answer states of what it may call the variable, and nothing of which there are so many. */
const MEANT =
  /\b(?:answer|result|value|it)\b[*`"']{0,3}\s{0,3}(?:is|=|:|equals|equal to)[\s:*`"']{0,5}(-?\d[\d,]{0,20})(?=[*`"']{0,3}(?:[.,;!)]|\s*$|\n))/i;

/** DecidedVariant are the arguments that names stand for, where there are names. */
function checkCall(made: TaskFunction, call: PreparedCall): Conforming | Refusal {
  if (call.refusal !== undefined) return call.refusal;
  const checked = checkSchema(made, call.resolved ?? call.arguments);
  return "values" in checked ? checked : { error: schemaError(made), fault: checked.detail };
}

/**
 * The calls that solve a task may be made in many orders. Each core function is called once, so that each
 * is held against its best call: the first with the most right arguments.
 */
function truthOf({ functions, values, tools }: Task, calls: readonly CallEvent[]): Oracle {
  const oracle = functions.filter(({ role }) => role === "core").map(({ name, parameters }) => {
    const right = Object.create(null) as Record<string, number>;
    for (const parameter of parameters) right[parameter.name] = values.get(parameter.variable)!;
    return { tool: name, arguments: right };
  });
  const best = new Map<string, { place: number; right: number }>();
  const byName = new Map(oracle.map((one) => [one.tool, one]));
  for (const [place, call] of calls.entries()) {
    if (isLost(call)) continue;
    const expected = byName.get(call.function)?.arguments;
    if (expected === undefined) continue;
    const given = parseJson(call.resolved ?? call.arguments);
    const right = Object.entries(expected).filter(([name, value]) =>
      isJsonObject(given) && Object.hasOwn(given, name) && given[name] === value
    ).length;
    if (right > (best.get(call.function)?.right ?? -1)) {
      best.set(call.function, { place, right });
    }
  }
  const placeOf = ({ tool }: OracleCall) => best.get(tool)?.place ?? calls.length;
  return {
    calls: oracle.toSorted((one, other) => placeOf(one) - placeOf(other)),
    tools: new Map(tools.map((tool) => [tool.name, tool])),
  };
}

function coreValuesOf({ functions, inputs, values }: Task): ReadonlySet<number> {
  const core = functions.filter(({ role }) => role === "core");
  return new Set([...inputs.values(), ...core.map(({ output }) => values.get(output.name)!)]);
}

function schemaError({ name, parameters }: TaskFunction): string {
  const names = parameters.map((parameter) => parameter.name).join(", ");
  return `Function ${name} takes exactly these arguments, all of them integers: ${names}`;
}
