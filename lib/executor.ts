/**
 * The executor: answers the calls on a generated task, records and classifies each, and judges the
 * answer (FuncBenchGen, sections 3.4 and 4.6).
 * @module
 */

import { parseAnswer } from "./answer.ts";
import { type Behaviour, behavioursIn } from "./behaviour.ts";
import {
  checkSchema,
  checkValues,
  type Conforming,
  functionNotFound,
  isRoot,
  type Knowledge,
} from "./failure.ts";
import type { Fixture, Judgement } from "./fixture.ts";
import { hash64 } from "./random.ts";
import { type CallOutcome, type CallPlace, noSuchFunction, Recorder } from "./recorder.ts";
import type { Task, TaskFunction } from "./task.ts";
import type { PreparedCall, Refusal } from "./tool.ts";

/** Options of {@linkcode createExecutor}. */
export interface ExecutorOptions {
  /** How many calls may be made; default twice the fewest that solve the task. */
  readonly callLimit?: number;
}

interface Return {
  readonly call: number;
  readonly step: number;
  readonly variable: string;
  readonly value: number;
  readonly wrong: boolean;
}

/**
 * Makes an executor for one trial of `task`.
 *
 * @example With an agent of one's own
 * ```ts
 * import { createExecutor } from "./executor.ts";
 * import { generateTask } from "./task.ts";
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
export function createExecutor(task: Task, options: ExecutorOptions = {}): Executor {
  return new Executor(task, options);
}

/** Answers and judges calls on a generated task. */
export class Executor extends Recorder implements Fixture {
  /** The task. */
  readonly task: Task;
  /** The user message that the agent should get. */
  readonly prompt: string;

  readonly #functions: ReadonlyMap<string, TaskFunction>;
  readonly #returns: Return[] = [];
  #coreValues: ReadonlySet<number> | undefined;

  /** Makes an executor for one trial; {@linkcode createExecutor} does the same. */
  constructor(task: Task, { callLimit = 2 * task.minimumCalls }: ExecutorOptions = {}) {
    super(task.tools, callLimit);
    this.task = task;
    this.prompt = task.prompt;
    this.#functions = new Map(task.functions.map((made) => [made.name, made]));
  }

  /** The fewest calls that solve the task. */
  get minimumCalls(): number {
    return this.task.minimumCalls;
  }

  /** Generated tasks leave it to the model. */
  get toolChoice(): undefined {
    return undefined;
  }

  /** The input variables, which the prompt gives. */
  override get given(): ReadonlyMap<string, number> {
    return this.task.inputs;
  }

  /** Why the arguments of a call do not conform to its function's schema (predicate 2). */
  override refuse(call: PreparedCall): Refusal | undefined {
    const made = this.#functions.get(call.name);
    const checked = made === undefined ? undefined : checkCall(made, call);
    return checked === undefined || "values" in checked ? undefined : checked;
  }

  /**
   * Takes the final answer, reads its value and judges it. Where names stand for values, `text` has the
   * values, and `rendered` is what people are to read.
   */
  answer(text: string, rendered?: string): Judgement {
    this.assertOpen("take an answer");
    const { variable, value: truth } = this.task.target;
    const value = parseAnswer(text, variable);
    this.end(text, value, rendered);
    const grounded = value !== null &&
      this.#returns.some((made) => made.variable === variable && made.value === value);
    if (this.exhausted) return { outcome: "call_limit", grounded: false };
    if (value === null) return { outcome: "no_answer", grounded };
    return { outcome: value === truth ? "solved" : "wrong_answer", grounded };
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
  protected override carryOut(call: PreparedCall, { call: number, step }: CallPlace): CallOutcome {
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
    const known = this.#knowledge(step);
    const failure = checkValues(made, values, this.task.values, known);
    const variable = made.output.name;
    const truth = this.task.values.get(variable)!;
    const value = failure === undefined ? truth : this.#wrongValue(made, values, truth);
    const guessed = failure === undefined &&
      made.parameters.some((parameter) => !known.isEstablished(parameter.variable));
    this.#returns.push({ call: number, step, variable, value, wrong: failure !== undefined });
    return {
      content: JSON.stringify({ [variable]: value }),
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

  /** Every variable that was given or returned, wrong values included; the last return wins. */
  protected override known(): ReadonlyMap<string, number> {
    const returned = this.#returns.map(({ variable, value }) => [variable, value] as const);
    return new Map([...this.task.inputs, ...returned]);
  }

  /** What was known when a step began: calls of one reply cannot see each other's returns. */
  #knowledge(current: number): Knowledge {
    const seen = this.#returns.filter(({ step }) => step < current);
    const { inputs } = this.task;
    return {
      isEstablished: (variable) =>
        inputs.has(variable) || seen.some((made) => made.variable === variable),
      ownerOf: (value) =>
        inputs.entries().find((given) => given[1] === value)?.[0] ??
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

/** Judged are the arguments that names stand for, where there are names. */
function checkCall(made: TaskFunction, call: PreparedCall): Conforming | Refusal {
  if (call.refusal !== undefined) return call.refusal;
  const checked = checkSchema(made, call.resolved ?? call.arguments);
  return "values" in checked ? checked : { error: schemaError(made), fault: checked.detail };
}

function coreValuesOf({ functions, inputs, values }: Task): ReadonlySet<number> {
  const core = functions.filter(({ role }) => role === "core");
  return new Set([...inputs.values(), ...core.map(({ output }) => values.get(output.name)!)]);
}

function schemaError({ name, parameters }: TaskFunction): string {
  const names = parameters.map((parameter) => parameter.name).join(", ");
  return `Function ${name} takes exactly these arguments, all of them integers: ${names}`;
}
