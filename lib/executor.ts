/**
 * The executor: answers the calls on a generated task, records and classifies each, and judges the
 * answer (FuncBenchGen, sections 3.4 and 4.6).
 * @module
 */

import { parseAnswer } from "./answer.ts";
import {
  checkSchema,
  checkValues,
  type FailureCause,
  functionNotFound,
  isRoot,
  type Knowledge,
} from "./failure.ts";
import { type JsonObject, printable } from "./json.ts";
import { hash64 } from "./random.ts";
import type { Task, TaskFunction } from "./task.ts";
import type { Environment, Tool, ToolCall, ToolResult } from "./tool.ts";
import type { TraceEvent } from "./trace.ts";

/** How many numbers have three digits. */
const THREE_DIGITS = 900n;
/** Nothing that a model writes as a name or as arguments is kept longer than this. */
const LONGEST_KEPT = 10_000;

/** Options of {@linkcode createExecutor}. */
export interface ExecutorOptions {
  /** How many calls may be made; default twice the fewest that solve the task. */
  readonly callLimit?: number;
}

/** What became of a trial, as far as the executor can tell. */
export interface Judgement {
  /** Whether the answer is right, wrong or missing. */
  readonly outcome: "solved" | "wrong_answer" | "no_answer" | "call_limit";
  /** Whether the target function had really returned the value that was answered. */
  readonly grounded: boolean;
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

/**
 * Answers calls and records them. Calls that begin before an earlier one has resolved share its
 * step, as calls of one reply do; {@linkcode Executor.step} sets the steps by hand instead.
 */
export class Executor implements Environment, Disposable {
  /** The task. */
  readonly task: Task;
  /** The user message that the agent should get. */
  readonly prompt: string;
  /** The functions on offer, ready to be called. */
  readonly tools: readonly Tool[];
  /** How many calls may be made. */
  readonly callLimit: number;

  readonly #functions: ReadonlyMap<string, TaskFunction>;
  readonly #events: TraceEvent[] = [];
  readonly #returns: Return[] = [];
  #trueValues: ReadonlySet<number> | undefined;
  #calls = 0;
  #step = 0;
  #pending = 0;
  #stepsByHand = false;
  #exhausted = false;
  #closed = false;

  /** Makes an executor for one trial; {@linkcode createExecutor} does the same. */
  constructor(task: Task, { callLimit }: ExecutorOptions = {}) {
    this.task = task;
    this.prompt = task.prompt;
    this.callLimit = callLimit ?? 2 * task.minimumCalls;
    this.#functions = new Map(task.functions.map((made) => [made.name, made]));
    this.tools = task.tools.map((tool) => ({
      ...tool,
      execute: async (input: JsonObject) => {
        this.#begin();
        const { content } = this.#answerCall({ id: "", name: tool.name, arguments: input });
        await this.#end();
        return content;
      },
    }));
  }

  /** Everything that has happened, in order. */
  get events(): readonly TraceEvent[] {
    return this.#events;
  }

  /** How many calls were made within the limit, refused ones included. */
  get calls(): number {
    return this.#calls;
  }

  /** Whether a call past the limit was made, so that the trial is over. */
  get exhausted(): boolean {
    return this.#exhausted;
  }

  /**
   * Begins a new step. From the first use on, steps begin here and nowhere else: for agents that
   * carry out the calls of one reply one after another.
   */
  step(): void {
    this.#stepsByHand = true;
    this.#step++;
  }

  /** Answers the calls of one reply, in order; calls past the limit get an error. */
  execute(calls: readonly ToolCall[]): Promise<readonly ToolResult[]> {
    this.#step++;
    return Promise.resolve(calls.map((call) => this.#answerCall(call)));
  }

  /** Adds an event that is not the executor's own to the trace. */
  record(event: TraceEvent): void {
    this.#assertOpen("record an event");
    this.#events.push(event);
  }

  /** Takes the final answer, reads its value and judges it. */
  answer(text: string): Judgement {
    this.#assertOpen("take an answer");
    const { variable, value: truth } = this.task.target;
    const value = parseAnswer(text, variable);
    this.#events.push({ kind: "answer", text, value });
    this.#closed = true;
    const grounded = value !== null &&
      this.#returns.some((made) => made.variable === variable && made.value === value);
    if (this.#exhausted) return { outcome: "call_limit", grounded: false };
    if (value === null) return { outcome: "no_answer", grounded };
    return { outcome: value === truth ? "solved" : "wrong_answer", grounded };
  }

  /** Ends the trial: later calls are an error. */
  [Symbol.dispose](): void {
    this.#closed = true;
  }

  #begin(): void {
    if (this.#pending === 0 && !this.#stepsByHand) this.#step++;
    this.#pending++;
  }

  /** A turn of the event loop passes, in which the other calls of the same reply can begin. */
  async #end(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#pending--;
  }

  #answerCall(call: Omit<ToolCall, "arguments"> & { arguments: string | JsonObject }): ToolResult {
    this.#assertOpen(`call ${call.name}`);
    const answered = (content: string) => ({ callId: call.id, name: call.name, content });
    if (this.#calls >= this.callLimit) {
      if (!this.#exhausted) {
        this.#events.push({
          kind: "over_limit",
          function: call.name.slice(0, LONGEST_KEPT),
          limit: this.callLimit,
        });
      }
      this.#exhausted = true;
      return answered(
        JSON.stringify({ error: `No more than ${this.callLimit} calls are allowed` }),
      );
    }
    this.#calls++;
    const result = this.#check(call.name, call.arguments);
    return answered(result);
  }

  /** Checks a call, records it and gives the text that goes back. */
  #check(name: string, written: string | JsonObject): string {
    const made = this.#functions.get(name);
    const event = {
      kind: "call" as const,
      call: this.#calls,
      step: this.#step,
      function: name.slice(0, LONGEST_KEPT),
      ...(made === undefined ? {} : { role: made.role }),
      arguments: (typeof written === "string" ? written : JSON.stringify(written))
        .slice(0, LONGEST_KEPT),
    };
    const refuse = (failure: FailureCause, error: string): string => {
      const result = JSON.stringify({ error });
      this.#events.push({ ...event, result, failure: { ...failure, root: true } });
      return result;
    };

    if (made === undefined) {
      const failure = functionNotFound(name, this.#functions.keys());
      return refuse(failure, `There is no function ${printable(name, 100)}`);
    }
    const checked = checkSchema(made, written);
    if ("type" in checked) return refuse(checked, schemaError(made));

    const { values, coerced } = checked;
    const known = this.#knowledge();
    const failure = checkValues(made, values, this.task.values, known);
    const variable = made.output.name;
    const truth = this.task.values.get(variable)!;
    const value = failure === undefined ? truth : this.#wrongValue(made, values, truth);
    const result = JSON.stringify({ [variable]: value });
    const guessed = failure === undefined &&
      made.parameters.some((parameter) => !known.isEstablished(parameter.variable));
    this.#events.push({
      ...event,
      result,
      returned: { variable, value },
      ...(failure === undefined ? {} : { failure: { ...failure, root: isRoot(failure) } }),
      ...(guessed ? { guessed: true } : {}),
      ...(coerced.length === 0 ? {} : { coerced }),
    });
    this.#returns.push({
      call: this.#calls,
      step: this.#step,
      variable,
      value,
      wrong: failure !== undefined,
    });
    return result;
  }

  /** What was known when this step began: calls of one reply cannot see each other's returns. */
  #knowledge(): Knowledge {
    const seen = this.#returns.filter(({ step }) => step < this.#step);
    const { inputs } = this.task;
    return {
      isEstablished: (variable) =>
        inputs.has(variable) || seen.some((made) => made.variable === variable),
      ownerOf: (value) =>
        inputs.entries().find((given) => given[1] === value)?.[0] ??
          seen.find((made) => made.value === value && !made.wrong)?.variable,
      wrongReturn: (value, variable) => {
        const wrong = seen.filter((made) => made.wrong && made.value === value);
        return (wrong.find((made) => made.variable === variable) ?? wrong[0])?.call;
      },
    };
  }

  /**
   * A three-digit value that follows from task, function and arguments and is never the true one;
   * nor is it another variable's, as long as there are free ones, so that its origin stays plain.
   */
  #wrongValue(made: TaskFunction, values: readonly number[], truth: number): number {
    const { seed } = this.task.spec;
    const words = ["wrong", seed, made.name, ...values];
    const start = Number(hash64(words.join("\u0000")) % THREE_DIGITS);
    const taken = this.#trueValues ??= new Set(this.task.values.values());
    let fallback = truth;
    for (let shift = 0; shift < Number(THREE_DIGITS); shift++) {
      const value = 100 + (start + shift) % Number(THREE_DIGITS);
      if (!taken.has(value)) return value;
      if (fallback === truth) fallback = value;
    }
    return fallback;
  }

  #assertOpen(action: string): void {
    if (this.#closed) {
      throw new Error(`Cannot ${action} as the trial is over: it was answered or disposed of`);
    }
  }
}

function schemaError({ name, parameters }: TaskFunction): string {
  const names = parameters.map((parameter) => parameter.name).join(", ");
  return `Function ${name} takes exactly these arguments, all of them integers: ${names}`;
}
