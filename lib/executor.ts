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
import type { Environment, ResultWriter, Tool, ToolCall, ToolResult } from "./tool.ts";
import { type CallEvent, LONGEST_KEPT, type TraceEvent } from "./trace.ts";

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
  #coreValues: ReadonlySet<number> | undefined;
  #calls = 0;
  #step = 0;
  #pending = 0;
  #stepsByHand = false;
  #exhausted = false;
  #closed = false;

  /** Makes an executor for one trial; {@linkcode createExecutor} does the same. */
  constructor(task: Task, { callLimit = 2 * task.minimumCalls }: ExecutorOptions = {}) {
    if (!Number.isSafeInteger(callLimit) || callLimit < 0) {
      throw new RangeError(
        `Cannot limit calls as the limit must be a whole number from 0 on: it is ${callLimit}`,
      );
    }
    this.task = task;
    this.prompt = task.prompt;
    this.callLimit = callLimit;
    this.#functions = new Map(task.functions.map((made) => [made.name, made]));
    this.tools = task.tools.map((tool) => ({
      ...tool,
      execute: async (input: JsonObject) => {
        // An agent may leave a call behind; an error here would be one that nobody awaits.
        if (this.#closed) return JSON.stringify({ error: "The trial is over" });
        // An agent that does not heed the error of the first call past the limit would loop for ever.
        if (this.#exhausted) {
          throw new Error(
            `Cannot call ${tool.name} as no more than ${this.callLimit} calls are allowed`,
          );
        }
        if (this.#pending === 0 && !this.#stepsByHand) this.#step++;
        this.#pending++;
        const [answered] = this.#answerCalls([
          { id: "", name: tool.name, arguments: toText(input) },
        ]);
        // A turn of the event loop passes, in which other calls of the same reply can begin.
        await new Promise((resolve) => setTimeout(resolve, 0));
        this.#pending--;
        return answered!.content;
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

  /** Whether the trial was answered or disposed of. */
  get ended(): boolean {
    return this.#closed;
  }

  /**
   * Begins a new step. From the first use on, steps begin here and nowhere else: for agents that
   * carry out the calls of one reply one after another.
   */
  step(): void {
    this.#stepsByHand = true;
    this.#step++;
  }

  /**
   * Answers the calls of one reply, in order; calls past the limit get an error, which `write` does
   * not see.
   */
  // deno-lint-ignore require-await
  async execute(
    calls: readonly ToolCall[],
    write?: ResultWriter,
  ): Promise<readonly ToolResult[]> {
    this.#assertOpen("carry out calls");
    if (!this.#stepsByHand) this.#step++;
    return this.#answerCalls(calls, write);
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
    this.#events.push({ kind: "answer", text: text.slice(0, LONGEST_KEPT), value });
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

  /** Answers and records calls of one step. */
  #answerCalls(
    calls: readonly ToolCall[],
    write: ResultWriter = (content) => content,
  ): ToolResult[] {
    const events = calls.map((call) => this.#answerCall(call));
    const known = this.#knownValues();
    return calls.map(({ id, name }, place) => {
      const event = events[place];
      if (event === undefined) return { callId: id, name, content: this.#endByLimit(name) };
      const content = write(event.result, known);
      this.#events.push({ ...event, result: content });
      return { callId: id, name, content };
    });
  }

  /** What becomes of a call; `undefined` if it is past the limit. */
  #answerCall(call: ToolCall): CallEvent | undefined {
    if (this.#calls >= this.callLimit) return undefined;
    this.#calls++;
    return this.#check(call.name, call.arguments);
  }

  /** Ends the trial by a call past the limit, and gives the error that goes back. */
  #endByLimit(name: string): string {
    if (!this.#exhausted) {
      this.#events.push({
        kind: "over_limit",
        function: name.slice(0, LONGEST_KEPT),
        limit: this.callLimit,
      });
    }
    this.#exhausted = true;
    return JSON.stringify({ error: `No more than ${this.callLimit} calls are allowed` });
  }

  /** Checks a call, and carries it out if it conforms to the schema. */
  #check(name: string, written: string): CallEvent {
    const made = this.#functions.get(name);
    const event = {
      kind: "call" as const,
      call: this.#calls,
      step: this.#step,
      function: name.slice(0, LONGEST_KEPT),
      ...(made === undefined ? {} : { role: made.role }),
      arguments: written.slice(0, LONGEST_KEPT),
    };
    const refuse = (failure: FailureCause, error: string): CallEvent => {
      const result = JSON.stringify({ error });
      return { ...event, result, failure: { ...failure, root: true } };
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
    this.#returns.push({
      call: this.#calls,
      step: this.#step,
      variable,
      value,
      wrong: failure !== undefined,
    });
    return {
      ...event,
      result,
      returned: { variable, value },
      ...(failure === undefined ? {} : { failure: { ...failure, root: isRoot(failure) } }),
      ...(guessed ? { guessed: true } : {}),
      ...(coerced.length === 0 ? {} : { coerced }),
    };
  }

  /** Every variable that was given or returned, wrong values included; the last return wins. */
  #knownValues(): ReadonlyMap<string, number> {
    const returned = this.#returns.map(({ variable, value }) => [variable, value] as const);
    return new Map([...this.task.inputs, ...returned]);
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

  #assertOpen(action: string): void {
    if (this.#closed) {
      throw new Error(`Cannot ${action} as the trial is over: it was answered or disposed of`);
    }
  }
}

/** The arguments as text; what JSON cannot carry becomes text that is no JSON. */
function toText(input: unknown): string {
  try {
    return JSON.stringify(input) ?? String(input);
  } catch {
    return String(input);
  }
}

function coreValuesOf({ functions, inputs, values }: Task): ReadonlySet<number> {
  const core = functions.filter(({ role }) => role === "core");
  return new Set([...inputs.values(), ...core.map(({ output }) => values.get(output.name)!)]);
}

function schemaError({ name, parameters }: TaskFunction): string {
  const names = parameters.map((parameter) => parameter.name).join(", ");
  return `Function ${name} takes exactly these arguments, all of them integers: ${names}`;
}
