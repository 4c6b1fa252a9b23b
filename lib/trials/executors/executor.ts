/**
 * Recorders: what all environments share. They count, limit and record the calls of one trial, and tell
 * its steps apart; what a call comes to, each kind of environment says for itself.
 * @module
 */

import type { UncutCall } from "../../calls/record.ts";
import type { Fault, FaultInjector } from "../../tools/fault.ts";
import { type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { mapConcurrent } from "../../base/concurrent.ts";
import { checkableArguments } from "../../tools/references/resolve.ts";
import { NestedReply } from "../../tools/references/reply.ts";

import { offerReferences } from "../../tools/references/schema.ts";
import { valueOfResult } from "../../tools/references/symbol_table.ts";
import type {
  Answered,
  Environment,
  PreparedCall,
  Refusal,
  ResultWriter,
  Tool,
  ToolResult,
  ToolSchema,
} from "../../tools/tool.ts";
import { type CallEvent, LONGEST_KEPT, type TraceEvent } from "../../calls/trace.ts";
import { assertDepth, MOST_DEPTH } from "../../tools/references/call_order.ts";
import type { FailureCause } from "../../calls/failure.ts";

/**
 * Answers calls and records them. Calls that begin before an earlier one has resolved share its
 * step, as calls of one reply do; {@linkcode Executor.step} sets the steps by hand instead.
 */
export abstract class Executor implements Environment, Disposable {
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
  readonly #settings: ExecutorSettings;
  /** What the functions on offer take, apart from references. */
  readonly #parameters: ReadonlyMap<string, JsonObject>;
  #calls = 0;
  #step = 0;
  #pending = 0;
  #stepsByHand = false;
  #exhausted = false;
  #closed = false;

  /** Offers tools. */
  constructor(
    tools: readonly ToolSchema[],
    options: ExecutorOptions,
  ) {
    const settings = executorSettings(options);
    const { callLimit, references } = settings;
    this.callLimit = callLimit;
    this.#settings = settings;
    this.#parameters = new Map(tools.map(({ name, parameters }) => [name, parameters]));
    this.tools = tools.map((tool) => ({
      ...tool,
      ...(references ? offerReferences(tool) : {}),
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

  /**
   * Why the arguments of a call would be refused; `undefined` when they conform to its schema. References
   * in them are taken to fit where they may stand: what they stand for is not known yet.
   */
  refuse(call: PreparedCall): Refusal | undefined {
    const { name, refusal, resolved } = call;
    const parameters = this.#settings.references && refusal === undefined && resolved === undefined
      ? this.#parameters.get(name)
      : undefined;
    const shape = parameters === undefined
      ? undefined
      : checkableArguments(call.arguments, parameters);
    return shape === undefined ? this.refuseMeant(call) : this.refuseShape(name, shape);
  }

  /** Why arguments would be refused, in which there are no references. */
  protected abstract refuseMeant(call: PreparedCall): Refusal | undefined;

  /** Why arguments would be refused that have {@linkcode ANY_REFERENCE} in place of what is not known. */
  protected abstract refuseShape(name: string, shape: JsonObject): Refusal | undefined;

  /** Carries out a call within the limit, or refuses it. */
  protected abstract carryOut(
    call: PreparedCall,
    place: CallPlace,
  ): CallOutcome | Promise<CallOutcome>;

  /** What is recorded of a call that a fault kept from its result. */
  protected kept(_: PreparedCall): Pick<CallEvent, "role" | "withheld"> {
    return {};
  }

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
    const first = this.#calls + 1;
    this.#calls += within.length;
    const { references, depth, parallel } = this.#settings;
    const nested = references ? new NestedReply(calls, depth) : undefined;
    const done: EndedCall[] = [];
    for (const [level, listed] of (nested?.levels ?? [[...within.keys()]]).entries()) {
      const begun = listed.filter((index) => index < within.length).map((index) => ({
        index,
        call: nested?.prepare(index, this.#parameters.get(within[index]!.name)) ?? within[index]!,
        place: { call: first + index, step, level },
      }));
      const carried = mapConcurrent(
        begun.length,
        (at) => this.#carry(begun[at]!.call, begun[at]!.place),
        { most: parallel, ended: () => this.#closed },
      );
      // What is answered at once stays within this turn, so that calls of an agent keep their order.
      const outcomes = carried instanceof Promise ? await carried : carried;
      // Whoever asked did not wait: what comes too late is no part of the trial.
      if (this.#closed) return calls.map(({ id, name }) => ({ callId: id, name, content: OVER }));
      for (const [at, { index, call, place }] of begun.entries()) {
        const outcome = outcomes[at]!;
        // Whatever stands around an environment works with what a tool gave: it knows of no perturbation.
        const answered = this.#seen(outcome, call, place);
        // References name parts of the text that goes back, of which an environment may know the gist alone.
        if (answered.value !== undefined) nested?.keep(index, valueOfResult(answered.content));
        done[index] = { call, place, outcome, answered, waits: nested?.waitsInVain(call) ?? false };
      }
    }
    const seen = done.map(({ answered }) => answered.content);
    const texts = write?.(done.map(({ answered }) => answered), this.known) ?? seen;
    const written = texts.map((text) => this.#cut(text));
    for (const [index, { call, place }] of done.entries()) {
      const meant = call.resolved ?? call.arguments;
      if (Math.max(meant.length, written[index]!.length) > LONGEST_KEPT) {
        this.#uncut.set(place.call, { written: meant, result: written[index]! });
      }
      this.#events.push(eventOf(done[index]!, written[index]!));
    }
    if (beyond.length > 0) this.#endByLimit(beyond[0]!.name);
    const error = JSON.stringify({ error: `No more than ${this.callLimit} calls are allowed` });
    return calls.map(({ id, name }, index) => ({
      callId: id,
      name,
      content: written[index] ?? error,
    }));
  }

  /** Carries out a call, or puts a fault in its way. */
  #carry(call: PreparedCall, place: CallPlace): CallOutcome | Promise<CallOutcome> {
    if (call.answer !== undefined) return { content: call.answer };
    // Whatever would be refused never reaches a tool that could fail.
    const { injectFault } = this.#settings;
    const reaches = injectFault !== undefined && this.#parameters.has(call.name) &&
      this.refuse(call) === undefined;
    const fault = reaches ? injectFault(call.name) : undefined;
    return fault === undefined ? this.carryOut(call, place) : this.#fail(fault, call, place);
  }

  /** What a call comes to that has a fault in its way. */
  #fail(fault: Fault, call: PreparedCall, place: CallPlace): CallOutcome | Promise<CallOutcome> {
    const { kind, content, error, delay = 0 } = fault;
    if (delay > 0) {
      return new Promise((resolve) => setTimeout(resolve, delay))
        .then(() => this.#fail({ ...fault, delay: 0 }, call, place));
    }
    // What is only late must not reach a tool once nobody waits for it any more.
    if (this.#closed) return { content: OVER };
    if (content !== undefined) {
      const told = error === undefined ? {} : { error: printable(error, 1000) };
      return { content, event: { ...this.kept(call), fault: kind, ...told } };
    }
    const marked = (outcome: CallOutcome): CallOutcome => ({
      ...outcome,
      event: { ...outcome.event, fault: kind },
    });
    const carried = this.carryOut(call, place);
    return carried instanceof Promise ? carried.then(marked) : marked(carried);
  }

  /** An outcome as it goes back, perturbed where it is to be; what it makes known is known from now on. */
  #seen({ content, value }: CallOutcome, call: PreparedCall, place: CallPlace): Answered {
    if (value === undefined) return { call, content };
    const text = this.#settings.perturbReturn?.(content) ?? content;
    const read = text === content ? value : this.valueOf(text);
    this.#unread.push([text, call, place]);
    return { call, content: text, value: read };
  }

  /** As much of a text as a model gets to see; no character is cut in two. */
  #cut(text: string): string {
    const { longestResult } = this.#settings;
    return text.length <= longestResult
      ? text
      : text.slice(0, longestResult).replace(/[\uD800-\uDBFF]$/, "");
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

/** What is set of a recorder. */
export interface ExecutorOptions {
  /** How many calls may be made: a whole number from 0 on, or infinite. */
  readonly callLimit: number;
  /** How much of a result a model gets to see, in UTF-16 code units; default all of it. */
  readonly longestResult?: number | undefined;
  /** Changes what a function returned on its way to the model; what is refused or fails stays as it is. */
  readonly perturbReturn?: ((text: string) => string) | undefined;
  /** Puts faults in the way of calls that conform to their schemas; default none. */
  readonly injectFault?: FaultInjector | undefined;
  /**
   * Whether arguments may refer to what other calls of the same reply return, such as `$1.field`; default
   * `false`. Then all tools on offer take references, and calls are carried out in the order of these.
   */
  readonly references?: boolean | undefined;
  /** How many calls of a reply may be under way at the same time; default 10. */
  readonly parallel?: number | undefined;
  /** How many calls a chain of references may have; default 5. */
  readonly depth?: number | undefined;
}

/** What is set of a recorder, with what is usual where nothing is. */
export interface ExecutorSettings extends ExecutorOptions {
  readonly longestResult: number;
  readonly references: boolean;
  readonly parallel: number;
  readonly depth: number;
}

/** So many calls of a reply run at the same time, unless told otherwise (Pipeline's `max_parallel`). */
export const MOST_PARALLEL = 10;

/**
 * What is set of a recorder, checked.
 *
 * @throws {RangeError} If a limit is none.
 */
export function executorSettings(options: ExecutorOptions): ExecutorSettings {
  const { callLimit, longestResult = Infinity } = options;
  const { references = false, parallel = MOST_PARALLEL, depth = MOST_DEPTH } = options;
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
  if (!Number.isSafeInteger(parallel) || parallel < 1) {
    throw new RangeError(
      `Cannot limit calls at the same time as the limit must be a whole number from 1 on: ` +
        `it is ${parallel}`,
    );
  }
  assertDepth(depth);
  return { ...options, longestResult, references, parallel, depth };
}

/** Where a call stands in its trial. */
export interface CallPlace {
  /** The number of the call, from 1. */
  readonly call: number;
  /** The number of its step, from 1. */
  readonly step: number;
  /** How many calls of the same reply had to end one after another before it could begin, from 0. */
  readonly level: number;
}

/** What became of a call. */
export interface CallOutcome {
  /** The text that goes back, unless something around the environment writes another. */
  readonly content: string;
  /** What was returned; left out when the call was refused or failed. */
  readonly value?: JsonValue;
  /** What is recorded of it, beside what was written. */
  readonly event?: Pick<
    CallEvent,
    "role" | "returned" | "guessed" | "coerced" | "error" | "fault" | "withheld"
  >;
  /** What is wrong with it. */
  readonly failure?: FailureCause & { readonly root: boolean };
}

/** A call that has ended. */
export interface EndedCall {
  /** The call, as it was carried out. */
  readonly call: PreparedCall;
  /** Where it stands. */
  readonly place: CallPlace;
  /** What became of it. */
  readonly outcome: CallOutcome;
  /** What goes back, unless something around the environment writes another text. */
  readonly answered: Answered;
  /** Whether it was refused for no other reason than that calls had failed to which it refers. */
  readonly waits: boolean;
}

/** What is recorded of a call, and of the text that went back for it in the end. */
export function eventOf(
  { call, place, outcome, answered, waits }: EndedCall,
  written: string,
): CallEvent {
  const { content, event, failure } = outcome;
  return {
    kind: "call",
    call: place.call,
    step: place.step,
    function: call.name.slice(0, LONGEST_KEPT),
    ...event,
    arguments: call.arguments.slice(0, LONGEST_KEPT),
    ...(call.resolved === undefined || call.resolved === call.arguments
      ? {}
      : { resolved: call.resolved.slice(0, LONGEST_KEPT) }),
    result: written.slice(0, LONGEST_KEPT),
    ...(answered.content === content ? {} : { unperturbed: content.slice(0, LONGEST_KEPT) }),
    // What only waited for a call that has failed is no first mistake.
    ...(failure === undefined ? {} : { failure: waits ? { ...failure, root: false } : failure }),
  };
}
