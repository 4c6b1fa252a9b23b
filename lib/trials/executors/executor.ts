/**
 * Executors: answer, count, limit and record the calls of one trial and group them into steps. Subclasses
 * define what a call returns.
 * @module
 */

import {
  type CallOutcome,
  type CallPlace,
  errorOf,
  type Made,
  type Making,
  notFound,
  Trace,
  withoutRoot,
} from "./made_call.ts";
import {
  type ExecutorOptions,
  type ExecutorSettings,
  executorSettings,
} from "./executor_options.ts";
import type { RecordedCall } from "../../calls/record.ts";
import { traceCall } from "../_spans.ts";
import { type Fault, isLost } from "../../tools/fault.ts";
import { attempt } from "../../base/errors.ts";
import { cutText, type JsonObject, jsonText, type JsonValue, printable } from "../../base/json.ts";
import { mapConcurrent } from "../../base/concurrent.ts";
import { checkableArguments } from "../../tools/references/resolve.ts";
import { NestedReply } from "../../tools/references/reply.ts";
import { offerReferences } from "../../tools/references/schema.ts";
import type { InfrastructureError } from "../../models/model.ts";
import { valueOfResult } from "../../tools/references/symbol_table.ts";
import type {
  CallReplacer,
  Environment,
  FailedCall,
  PreparedCall,
  Refusal,
  Replacement,
  ResultWriter,
  Tool,
  ToolResult,
  ToolSchema,
} from "../../tools/tool.ts";
import type { CallEvent, TraceEvent } from "../../calls/trace.ts";

/**
 * Answers calls and records them. Calls that begin before an earlier one has resolved share its step, like
 * calls of one reply; {@linkcode Executor.step} sets the steps by hand instead.
 */
export abstract class Executor<Accepted extends object = object>
  implements Environment, Disposable {
  /** The functions on offer, ready to be called by a custom agent. */
  readonly tools: readonly Tool[];
  /** The number of calls that may be made. */
  readonly callLimit: number;
  /** The values given in the first message, by variable. */
  abstract readonly given: ReadonlyMap<string, JsonValue>;

  readonly #trace: Trace;
  #known: Map<string, JsonValue> | undefined;
  /** Results whose variables have not been read yet. */
  readonly #unread: [text: string, call: PreparedCall, place: CallPlace][] = [];
  /** The arguments of calls that were checked: strategies and faults ask before a call is carried out. */
  readonly #checked = new WeakMap<
    PreparedCall,
    { readonly name: string; readonly written: string; readonly result: Accepted | Refusal }
  >();
  readonly #settings: ExecutorSettings;
  /** The parameters of the functions on offer, without references. */
  readonly #parameters: ReadonlyMap<string, JsonObject>;
  #step = 0;
  #pending = 0;
  #stepsByHand = false;
  #closed = false;
  #broken: InfrastructureError | undefined;

  /** Offers tools. */
  constructor(
    tools: readonly ToolSchema[],
    options: ExecutorOptions,
  ) {
    const settings = executorSettings(options);
    const { callLimit, references } = settings;
    this.callLimit = callLimit;
    this.#trace = new Trace(callLimit);
    this.#settings = settings;
    this.#parameters = new Map(tools.map(({ name, parameters }) => [name, parameters]));
    this.tools = tools.map((tool) => ({
      ...tool,
      ...(references ? offerReferences(tool) : {}),
      execute: (input: JsonObject) => this.call(tool.name, argumentsText(input)),
    }));
  }

  /** Everything that has happened, in order. */
  get events(): readonly TraceEvent[] {
    return this.#trace.events;
  }

  /** The parts of calls that events truncate, by call number. */
  get uncut(): ReadonlyMap<number, Pick<RecordedCall, "written" | "result">> {
    return this.#trace.uncut;
  }

  /** The number of an agent's calls that have begun and not ended. */
  get pending(): number {
    return this.#pending;
  }

  /** The number of calls within the limit, including refused ones, without those that an agent left. */
  get calls(): number {
    return this.#trace.calls;
  }

  /** Whether a call past the limit was made, so that the trial is over. */
  get exhausted(): boolean {
    return this.#trace.exhausted;
  }

  /** The number of calls that may still be made. */
  get left(): number {
    return this.#trace.left;
  }

  /** Why what the tools need broke, such as a server that died, so that nothing can be said of the model. */
  get broken(): InfrastructureError | undefined {
    return this.#broken;
  }

  /** Whether the trial was answered or disposed of. */
  get ended(): boolean {
    return this.#closed;
  }

  /**
   * Begins a new step. After the first use, only this begins steps: for agents that make the calls of one
   * reply one after another.
   */
  step(): void {
    this.#stepsByHand = true;
    this.#step++;
  }

  /**
   * Answers the calls of one reply, in order; calls past the limit get an error, which `write` does not
   * see. Calls that `replace` makes in place of those that failed are recorded as calls of the same step, count as
   * calls, and are made within the limit only.
   */
  async execute(
    calls: readonly PreparedCall[],
    write?: ResultWriter,
    replace?: CallReplacer,
  ): Promise<readonly ToolResult[]> {
    this.assertOpen("carry out calls");
    const step = calls[0]?.step;
    if (step !== undefined) {
      this.#stepsByHand = true;
      this.#step = Math.max(this.#step, step);
    } else if (!this.#stepsByHand) this.#step++;
    return await this.#answerCalls(calls, write, replace, step);
  }

  /**
   * Answers a call that a custom agent makes by itself, of any name and with any text as its arguments; calls that
   * begin before an earlier one has resolved share its step.
   *
   * @throws {Error} If a call past the limit was made before.
   */
  async call(name: string, written: string): Promise<string> {
    // An agent may abandon a call; nobody would await an error here.
    if (this.#closed) return TRIAL_OVER;
    // An agent that ignores the error of the first call past the limit would loop forever.
    if (this.exhausted) {
      throw new Error(
        `Cannot call ${printable(name, 100)} as no more than ${this.callLimit} calls are allowed`,
      );
    }
    if (this.#pending === 0 && !this.#stepsByHand) this.#step++;
    this.#pending++;
    try {
      const [answered] = await this.#answerCalls([
        { id: "", name, arguments: written },
      ], undefined);
      // Lets other calls of the same reply begin within one turn of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 0));
      return answered!.content;
    } finally {
      this.#pending--;
    }
  }

  /** Adds an event from outside the environment to the trace. */
  record(event: TraceEvent): void {
    this.assertOpen("record an event");
    this.#trace.add(event);
  }

  /** Says of recorded calls what is wrong with them, by their numbers, once that is known. */
  protected blame(failures: ReadonlyMap<number, CallOutcome["failure"]>): void {
    this.#trace.blame(failures);
  }

  /** Ends the trial: later calls are an error. */
  [Symbol.dispose](): void {
    this.#closed = true;
  }

  /**
   * Returns why the arguments of a call would be refused; `undefined` if they conform to its schema. A
   * reference is accepted wherever it may stand, as its value is not known yet.
   */
  refuse(call: PreparedCall): Refusal | undefined {
    const { name, refusal, resolved } = call;
    const parameters = this.#settings.references && refusal === undefined && resolved === undefined
      ? this.#parameters.get(name)
      : undefined;
    const shape = parameters === undefined
      ? undefined
      : checkableArguments(call.arguments, parameters);
    const checked = shape === undefined ? this.checked(call) : this.checkShape(name, shape);
    return checked !== undefined && "error" in checked ? checked : undefined;
  }

  /**
   * Returns the arguments of a call as its function takes them, or why they are refused; `undefined` if there
   * is no such function. A call is checked once before it is carried out, however often it is asked for.
   */
  checked(call: PreparedCall): Accepted | Refusal | undefined {
    if (call.refusal !== undefined) return call.refusal;
    const { name, resolved: written = call.arguments } = call;
    const known = this.#checked.get(call);
    if (known?.name === name && known.written === written) return known.result;
    const result = this.check(name, written);
    if (result !== undefined) this.#checked.set(call, { name, written, result });
    return result;
  }

  /**
   * Returns what {@linkcode checked} does, for the one time that the call is carried out: a function may change
   * its arguments, and a call that is carried out again is checked again.
   */
  take(call: PreparedCall): Accepted | Refusal | undefined {
    const checked = this.checked(call);
    this.#checked.delete(call);
    return checked;
  }

  /** Checks arguments without references; `undefined` if there is no such function. */
  protected abstract check(name: string, written: string): Accepted | Refusal | undefined;

  /** Checks arguments with {@linkcode ANY_REFERENCE} in place of unknown values. */
  protected abstract checkShape(
    name: string,
    shape: JsonObject,
  ): Accepted | Refusal | undefined;

  /** Carries out a call within the limit, or refuses it. */
  protected abstract carryOut(
    call: PreparedCall,
    place: CallPlace,
  ): CallOutcome | Promise<CallOutcome>;

  /** What is wrong with a call, without carrying it out; `undefined` if nothing is. */
  protected abstract judge(call: PreparedCall, place: CallPlace): CallOutcome | undefined;

  /** What is wrong with the values of a call that are no references; `undefined` where no value is known to be wrong. */
  protected failureOfLiterals(_: PreparedCall, __: CallPlace): CallOutcome["failure"] {
    return undefined;
  }

  /** The event fields of a call whose result was lost to a fault. */
  protected lostFields(_: PreparedCall): Pick<CallEvent, "role" | "withheld" | "alsoWithheld"> {
    return {};
  }

  /** Takes the error of something that a tool needs: once the calls of the reply are recorded, the trial breaks off. */
  protected breakOff(error: InfrastructureError): void {
    this.#broken ??= error;
  }

  /** The value of a returned text. */
  protected abstract valueOf(text: string): JsonValue;

  /**
   * Why a call failed; `undefined` if it did not, or was refused: then its function never ran.
   *
   * @param made The call that was made, for which one of the model's, and by what if not by the model.
   */
  protected failureIn(
    { original, call }: Pick<FailedCall, "original" | "call"> & Partial<Pick<Replacement, "by">>,
    outcome: CallOutcome,
  ): FailedCall | undefined {
    const error = errorOf(outcome, call, this.#parameters.has(call.name));
    if (error === undefined) return undefined;
    const { category, message, retryAfter } = error;
    const injected = outcome.event?.fault !== undefined;
    return { original, call, category, message, injected, retryAfter };
  }

  /** The variables and values in a returned text. */
  protected abstract namesIn(
    text: string,
    call: PreparedCall,
    place: CallPlace,
  ): readonly (readonly [name: string, value: JsonValue])[];

  /** All variables given or returned, including wrong values; the last return wins. */
  protected get known(): ReadonlyMap<string, JsonValue> {
    const known = this.#known ??= new Map(this.given);
    for (const [text, call, place] of this.#unread.splice(0)) {
      for (const [name, value] of this.namesIn(text, call, place)) known.set(name, value);
    }
    return known;
  }

  /**
   * Refuses an action once the trial is over.
   *
   * @throws {Error} If the trial is over.
   */
  protected assertOpen(action: string): void {
    if (this.#closed) {
      throw new Error(`Cannot ${action} as the trial is over: it was answered or disposed of`);
    }
  }

  /** Records the answer, which ends the trial. */
  protected end(text: string, value: number | null, rendered: string | undefined): void {
    this.record(this.#trace.answer(text, value, rendered));
    this.#closed = true;
  }

  /** Answers and records calls of one step. */
  async #answerCalls(
    calls: readonly PreparedCall[],
    write: ResultWriter | undefined,
    replace?: CallReplacer,
    step = this.#step,
  ): Promise<ToolResult[]> {
    const { within, first } = this.#trace.count(calls);
    const { references, depth, parallel } = this.#settings;
    const nested = references ? new NestedReply(calls, depth) : undefined;
    const done: Made[] = [];
    for (const [level, indexes] of (nested?.levels ?? [[...calls.keys()]]).entries()) {
      let batch = indexes.filter((index) => index < within).map((index): Making => {
        const call = nested?.prepare(index, this.#parameters.get(calls[index]!.name)) ??
          calls[index]!;
        return { index, call, original: call, place: { call: first + index, step, level } };
      });
      // Rounds: calls that failed, and those that are made in their place.
      while (batch.length > 0) {
        const making = batch;
        const running = mapConcurrent(
          making.length,
          (at) => {
            const one = making[at]!;
            return traceCall(one, () => this.#carryOutOrFail(one.call, one.place));
          },
          { most: parallel, ended: () => this.#closed },
        );
        // Synchronous answers stay within this turn, so that an agent's calls keep their order.
        const outcomes = running instanceof Promise ? await running : running;
        // The caller did not wait: late results are not part of the trial.
        if (this.#closed) return toResults(calls, [], TRIAL_OVER);
        for (const [at, one] of making.entries()) {
          const { index, call, place } = one;
          const waited = nested?.waitsFor(call)?.map((place) => done[place]);
          const outcome = waited === undefined
            ? outcomes[at]!
            : this.#inVain(outcomes[at]!, one, calls[index]!, waited);
          // Code around the environment sees the tool's results and knows of no perturbation.
          const { answered, injection } = this.#answered(outcome, call, place);
          // References name parts of the text sent to the model, which an environment may keep only in part.
          const whole = injection?.before ?? answered.content;
          if (answered.value !== undefined) nested?.keep(index, valueOfResult(whole));
          done[index] = { ...one, answered, injection, outcome };
        }
        batch = replace === undefined ? [] : await this.#replace(making, done, replace);
        if (this.#closed) return toResults(calls, [], TRIAL_OVER);
      }
    }
    // Another tool may have been called in its place: the model gets the result for the call that it made.
    const answers = done.map(({ answered, original }) => ({ ...answered, call: original }));
    const contents = answers.map(({ content }) => content);
    const texts = write?.(answers, this.known) ?? contents;
    const results = texts.map((text) => cutText(text, this.#settings.longestResult));
    for (const [index, made] of done.entries()) this.#trace.addCall(made, results[index]!);
    if (within < calls.length) this.#trace.endByLimit(calls.slice(within));
    if (this.#broken !== undefined) throw this.#broken;
    const error = JSON.stringify({ error: `No more than ${this.callLimit} calls are allowed` });
    return toResults(calls, results, error);
  }

  /**
   * Records the calls of a round that failed and are replaced, and returns what is made in their place. A call whose
   * arguments were refused has not failed: its function never ran.
   */
  async #replace(
    making: readonly Making[],
    done: readonly Made[],
    replace: CallReplacer,
  ): Promise<Making[]> {
    const failed = making.flatMap(({ index }) => {
      const made = done[index]!;
      const failure = this.failureIn(made, made.outcome);
      return failure === undefined ? [] : [{ made, failure }];
    }).slice(0, this.left);
    if (failed.length === 0) return [];
    const replacements = await replace(failed.map(({ failure }) => failure));
    // The caller did not wait, and the trial is over.
    if (this.#closed) return [];
    return failed.flatMap(({ made }, at): Making[] => {
      const replacement = replacements[at];
      if (replacement === undefined) return [];
      this.#trace.addCall(made, made.answered.content);
      const { index, original, place } = made;
      return [{
        index,
        original,
        ...replacement,
        place: { ...place, call: this.#trace.countReplacement() },
      }];
    });
  }

  /**
   * The outcome of a call that is refused as those it waited for gave no result: where faults took all of them, it is
   * lost with them, and only what else is wrong with it counts; where another one failed, it is no first mistake.
   */
  #inVain(
    outcome: CallOutcome,
    { call, place }: Making,
    written: PreparedCall,
    waited: readonly (Made | undefined)[],
  ): CallOutcome {
    const { failure, ...others } = outcome;
    const [first] = waited;
    // Calls past the limit were not made at all.
    const areLost = waited.every((made) => isLost(made?.outcome.event ?? {}));
    if (!areLost) return withoutRoot(outcome);
    // What would be wrong in any case is a mistake of its own.
    if (failure?.type !== "wrong_number_of_inputs" || this.refuse(written) !== undefined) {
      return outcome;
    }
    return {
      ...others,
      event: { ...others.event, blockedBy: first!.place.call },
      failure: this.failureOfLiterals(call, place),
    };
  }

  /** Carries out a call, or applies a fault to it. */
  #carryOutOrFail(call: PreparedCall, place: CallPlace): CallOutcome | Promise<CallOutcome> {
    const { answer, offered } = call;
    if (answer !== undefined) return { content: answer };
    if (offered !== undefined) return notFound(call.name, offered);
    if (call.agentDid !== undefined) return this.judge(call, place) ?? { content: NOT_RUN };
    // A call that would be refused never reaches a tool, so that no fault applies.
    const { injectFault } = this.#settings;
    const reaches = injectFault !== undefined && this.#parameters.has(call.name) &&
      this.refuse(call) === undefined;
    const fault = reaches ? injectFault(call.name) : undefined;
    return fault === undefined ? this.carryOut(call, place) : this.#applyFault(fault, call, place);
  }

  /** The outcome of a call under a fault. */
  #applyFault(
    fault: Fault,
    call: PreparedCall,
    place: CallPlace,
  ): CallOutcome | Promise<CallOutcome> {
    const { kind, content, error, delay = 0 } = fault;
    if (delay > 0) {
      const waiting = this.#settings.waits
        ? new Promise((resolve) => setTimeout(resolve, delay))
        : Promise.resolve();
      return waiting
        .then(() => this.#applyFault({ ...fault, delay: 0 }, call, place));
    }
    // A delayed call must not reach a tool once the trial is over.
    if (this.#closed) return { content: TRIAL_OVER };
    if (content !== undefined) {
      const details = error === undefined ? {} : { error: printable(error, 1000) };
      return { content, event: { ...this.lostFields(call), fault: kind, ...details } };
    }
    const withFault = (outcome: CallOutcome): CallOutcome => ({
      ...outcome,
      event: { ...outcome.event, fault: kind },
    });
    const outcome = this.carryOut(call, place);
    return outcome instanceof Promise ? outcome.then(withFault) : withFault(outcome);
  }

  /**
   * The result as the model gets it, perturbed if required; its variables are known from now on. An instruction that
   * is injected changes no value.
   */
  #answered(
    { content, value, media = [] }: CallOutcome,
    call: PreparedCall,
    place: CallPlace,
  ): Pick<Made, "answered" | "injection"> {
    if (value === undefined) return { answered: { call, content } };
    const text = this.#settings.perturbReturn?.(content) ?? content;
    const parsed = text === content ? value : this.valueOf(text);
    this.#unread.push([text, call, place]);
    const injection = this.#settings.injectInstruction?.(call.name, text);
    const answered = { call, content: injection?.content ?? text, value: parsed, media };
    return { answered, injection };
  }
}

/** The reply to calls after the end of the trial. */
const TRIAL_OVER = JSON.stringify({ error: "The trial is over" });

/** What is recorded as the result of a call that an agent did not carry out. */
const NOT_RUN = JSON.stringify({ error: "The agent did not carry out this call" });

/** Returns arguments as text; values that JSON cannot represent become text that is not JSON. */
export function argumentsText(input: unknown): string {
  return attempt(() => jsonText(input)) ?? String(input);
}

/** The answers of a reply's calls: the texts that there are, and `rest` for the calls after these. */
function toResults(
  calls: readonly PreparedCall[],
  texts: readonly string[],
  rest: string,
): ToolResult[] {
  return calls.map(({ id, name }, index) => ({ callId: id, name, content: texts[index] ?? rest }));
}
