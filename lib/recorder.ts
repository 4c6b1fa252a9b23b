/**
 * Recorders: what all environments share. They count, limit and record the calls of one trial, and tell
 * its steps apart; what a call comes to, each kind of environment says for itself.
 * @module
 */

import type { UncutCall } from "./call_record.ts";
import type { FailureCause } from "./failure.ts";
import { type JsonObject, type JsonValue, printable } from "./json.ts";
import type {
  Answered,
  Environment,
  PreparedCall,
  Refusal,
  ResultWriter,
  Tool,
  ToolResult,
  ToolSchema,
} from "./tool.ts";
import { type CallEvent, LONGEST_KEPT, type TraceEvent } from "./trace.ts";

/** Where a call stands in its trial. */
export interface CallPlace {
  /** The number of the call, from 1. */
  readonly call: number;
  /** The number of its step, from 1. */
  readonly step: number;
}

/** What became of a call. */
export interface CallOutcome {
  /** The text that goes back, unless something around the environment writes another. */
  readonly content: string;
  /** What was returned; left out when the call was refused or failed. */
  readonly value?: JsonValue;
  /** What is recorded of it, beside what was written. */
  readonly event?: Pick<CallEvent, "role" | "returned" | "guessed" | "coerced" | "error">;
  /** What is wrong with it. */
  readonly failure?: FailureCause & { readonly root: boolean };
}

/** What is set of a recorder. */
export interface RecorderOptions {
  /** How many calls may be made: a whole number from 0 on, or infinite. */
  readonly callLimit: number;
  /** How much of a result a model gets to see, in UTF-16 code units; default all of it. */
  readonly longestResult?: number | undefined;
  /** Changes what a function returned on its way to the model; what is refused or fails stays as it is. */
  readonly perturbReturn?: ((text: string) => string) | undefined;
}

/**
 * Answers calls and records them. Calls that begin before an earlier one has resolved share its
 * step, as calls of one reply do; {@linkcode Recorder.step} sets the steps by hand instead.
 */
export abstract class Recorder implements Environment, Disposable {
  /** The functions on offer, ready to be called by an agent of one's own. */
  readonly tools: readonly Tool[];
  /** How many calls may be made. */
  readonly callLimit: number;
  /** The values that the first message gives, by variable. */
  abstract readonly given: ReadonlyMap<string, JsonValue>;

  readonly #events: TraceEvent[] = [];
  readonly #uncut = new Map<number, UncutCall>();
  readonly #returned = new Map<string, JsonValue>();
  /** Texts that nobody has yet asked for what they make known. */
  readonly #unread: [text: string, call: PreparedCall, place: CallPlace][] = [];
  readonly #longestResult: number;
  readonly #perturbReturn: ((text: string) => string) | undefined;
  #calls = 0;
  #step = 0;
  #pending = 0;
  #stepsByHand = false;
  #exhausted = false;
  #closed = false;

  /** Offers tools. */
  constructor(
    tools: readonly ToolSchema[],
    { callLimit, longestResult = Infinity, perturbReturn }: RecorderOptions,
  ) {
    if (!(Number.isSafeInteger(callLimit) || callLimit === Infinity) || callLimit < 0) {
      throw new RangeError(
        `Cannot limit calls as the limit must be a whole number from 0 on: it is ${callLimit}`,
      );
    }
    if (!(longestResult >= 1)) {
      throw new RangeError(
        `Cannot limit results as the limit must be 1 or more: it is ${longestResult}`,
      );
    }
    this.callLimit = callLimit;
    this.#longestResult = longestResult;
    this.#perturbReturn = perturbReturn;
    this.tools = tools.map((tool) => ({
      ...tool,
      execute: async (input: JsonObject) => {
        // An agent may leave a call behind; an error here would be one that nobody awaits.
        if (this.#closed) return OVER;
        // An agent that does not heed the error of the first call past the limit would loop for ever.
        if (this.#exhausted) {
          throw new Error(
            `Cannot call ${tool.name} as no more than ${this.callLimit} calls are allowed`,
          );
        }
        if (this.#pending === 0 && !this.#stepsByHand) this.#step++;
        this.#pending++;
        try {
          const [answered] = await this.#answerCalls([
            { id: "", name: tool.name, arguments: toText(input) },
          ], undefined);
          // A turn of the event loop passes, in which other calls of the same reply can begin.
          await new Promise((resolve) => setTimeout(resolve, 0));
          return answered!.content;
        } finally {
          this.#pending--;
        }
      },
    }));
  }

  /** Everything that has happened, in order. */
  get events(): readonly TraceEvent[] {
    return this.#events;
  }

  /** What the events have cut of calls, by their numbers. */
  get uncut(): ReadonlyMap<number, UncutCall> {
    return this.#uncut;
  }

  /** How many calls of an agent have begun and not ended. */
  get pending(): number {
    return this.#pending;
  }

  /** How many calls were made within the limit, refused ones included. */
  get calls(): number {
    return this.#calls;
  }

  /** Whether a call past the limit was made, so that the trial is over. */
  get exhausted(): boolean {
    return this.#exhausted;
  }

  /** How many calls may still be made. */
  get left(): number {
    return this.callLimit - this.#calls;
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
  async execute(
    calls: readonly PreparedCall[],
    write?: ResultWriter,
  ): Promise<readonly ToolResult[]> {
    this.assertOpen("carry out calls");
    if (!this.#stepsByHand) this.#step++;
    return await this.#answerCalls(calls, write);
  }

  /** Adds an event that is not the environment's own to the trace. */
  record(event: TraceEvent): void {
    this.assertOpen("record an event");
    this.#events.push(event);
  }

  /** Ends the trial: later calls are an error. */
  [Symbol.dispose](): void {
    this.#closed = true;
  }

  /** Why the arguments of a call would be refused; `undefined` when they conform to its schema. */
  abstract refuse(call: PreparedCall): Refusal | undefined;

  /** Carries out a call within the limit, or refuses it. */
  protected abstract carryOut(
    call: PreparedCall,
    place: CallPlace,
  ): CallOutcome | Promise<CallOutcome>;

  /** The value that a returned text stands for. */
  protected abstract valueOf(text: string): JsonValue;

  /** The variables that a returned text gives values, with these. */
  protected abstract namesIn(
    text: string,
    call: PreparedCall,
    place: CallPlace,
  ): readonly (readonly [name: string, value: JsonValue])[];

  /** Every variable that was given or returned, wrong values included; the last return wins. */
  protected get known(): ReadonlyMap<string, JsonValue> {
    for (const [text, call, place] of this.#unread.splice(0)) {
      for (const [name, value] of this.namesIn(text, call, place)) this.#returned.set(name, value);
    }
    return new Map([...this.given, ...this.#returned]);
  }

  /**
   * Refuses an action once the trial is over.
   *
   * @throws {Error} If it is.
   */
  protected assertOpen(action: string): void {
    if (this.#closed) {
      throw new Error(`Cannot ${action} as the trial is over: it was answered or disposed of`);
    }
  }

  /** Records the answer, which ends the trial. */
  protected end(text: string, value: number | null, rendered: string | undefined): void {
    this.record({
      kind: "answer",
      text: text.slice(0, LONGEST_KEPT),
      ...(rendered === undefined ? {} : { rendered: rendered.slice(0, LONGEST_KEPT) }),
      value,
    });
    this.#closed = true;
  }

  /** Answers and records calls of one step. */
  async #answerCalls(
    calls: readonly PreparedCall[],
    write: ResultWriter | undefined,
  ): Promise<ToolResult[]> {
    const step = this.#step;
    const within = calls.slice(0, this.left);
    const beyond = calls.slice(within.length);
    const places = within.map((): CallPlace => ({ call: ++this.#calls, step }));
    const outcomes: CallOutcome[] = [];
    for (const [index, call] of within.entries()) {
      const carried = call.answer === undefined
        ? this.carryOut(call, places[index]!)
        : { content: call.answer };
      // What is answered at once stays within this turn, so that calls of an agent keep their order.
      outcomes.push(carried instanceof Promise ? await carried : carried);
    }
    // Whoever asked did not wait: what comes too late is no part of the trial.
    if (this.#closed) return calls.map(({ id, name }) => ({ callId: id, name, content: OVER }));
    // Whatever stands around an environment works with what a tool gave: it knows of no perturbation.
    const answered = outcomes.map((outcome, index) =>
      this.#seen(outcome, within[index]!, places[index]!)
    );
    const seen = answered.map(({ content }) => content);
    const texts = write?.(answered, this.known) ?? seen;
    const written = texts.map((text) => this.#cut(text));
    for (const [index, call] of within.entries()) {
      const { content, event, failure } = outcomes[index]!;
      const meant = call.resolved ?? call.arguments;
      if (Math.max(meant.length, written[index]!.length) > LONGEST_KEPT) {
        this.#uncut.set(places[index]!.call, { written: meant, result: written[index]! });
      }
      this.#events.push({
        kind: "call",
        ...places[index]!,
        function: call.name.slice(0, LONGEST_KEPT),
        ...event,
        arguments: call.arguments.slice(0, LONGEST_KEPT),
        ...(call.resolved === undefined || call.resolved === call.arguments
          ? {}
          : { resolved: call.resolved.slice(0, LONGEST_KEPT) }),
        result: written[index]!.slice(0, LONGEST_KEPT),
        ...(seen[index] === content ? {} : { unperturbed: content.slice(0, LONGEST_KEPT) }),
        ...(failure === undefined ? {} : { failure }),
      });
    }
    if (beyond.length > 0) this.#endByLimit(beyond[0]!.name);
    const error = JSON.stringify({ error: `No more than ${this.callLimit} calls are allowed` });
    return calls.map(({ id, name }, index) => ({
      callId: id,
      name,
      content: written[index] ?? error,
    }));
  }

  /** An outcome as it goes back, perturbed where it is to be; what it makes known is known from now on. */
  #seen({ content, value }: CallOutcome, call: PreparedCall, place: CallPlace): Answered {
    if (value === undefined) return { call, content };
    const text = this.#perturbReturn?.(content) ?? content;
    const read = text === content ? value : this.valueOf(text);
    this.#unread.push([text, call, place]);
    return { call, content: text, value: read };
  }

  /** As much of a text as a model gets to see; no character is cut in two. */
  #cut(text: string): string {
    return text.length <= this.#longestResult
      ? text
      : text.slice(0, this.#longestResult).replace(/[\uD800-\uDBFF]$/, "");
  }

  /** Ends the trial by the first call past the limit. */
  #endByLimit(name: string): void {
    if (!this.#exhausted) {
      this.#events.push({
        kind: "over_limit",
        function: name.slice(0, LONGEST_KEPT),
        limit: this.callLimit,
      });
    }
    this.#exhausted = true;
  }
}

/** What goes back once the trial was answered or disposed of. */
const OVER = JSON.stringify({ error: "The trial is over" });

/** What goes back for a call that no function has the name of. */
export function noSuchFunction(name: string): string {
  return JSON.stringify({ error: `There is no function ${printable(name, 100)}` });
}

/** The arguments as text; what JSON cannot carry becomes text that is no JSON. */
function toText(input: unknown): string {
  try {
    return JSON.stringify(input) ?? String(input);
  } catch {
    return String(input);
  }
}
