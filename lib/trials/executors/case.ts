/**
 * Cases: a question about custom tools, judged by the user's own assertions; opened for a trial with all that is made
 * for it, and without to look at them.
 * @module
 */

import {
  assertCaseTools,
  assertPrompt,
  assertUserTools,
  callsOfModel,
  eventsByTurn,
  type ToolCase,
  type ToolTestRun,
  turnsOf,
} from "./tool_case.ts";
import { type CaseSpec, isCase, type TaskSpec } from "../../tasks/task_kind.ts";
import { openTask, type TaskOpener, type TaskOptions } from "./tasks.ts";
import { AssertionError } from "@std/assert/assertion-error";
import { type ChainCase, chainCase } from "./_chain.ts";
import { type ReferenceState, runReference, unsaidText } from "./_reference.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { inTime } from "../../base/deadline.ts";
import {
  callsByKind,
  type RecordedCall,
  recordedCalls,
  type WrittenCall,
  writtenCalls,
  writtenIn,
} from "../../calls/record.ts";
import { textCalls } from "../../models/formats/text_call.ts";
import type { Dialogue } from "../../calls/inputs.ts";
import { CheckedCall } from "../../calls/expected/checked_call.ts";
import { assertReadable, forbiddenText } from "../../calls/expected/never.ts";
import { AskedJudges, collectAsked } from "../../models/judge/asked.ts";
import type { StageUse } from "../../models/model.ts";
import type { AnswerCheck, Fixture, Work } from "./fixture.ts";
import { Conversation, type ConversationOptions, historyOf } from "../users/conversation.ts";
import type { Message } from "../../tools/message.ts";
import { heardOf, isBlank, type ToolUser } from "../users/user.ts";
import { cannot, InputError, isErrorOf } from "../../base/errors.ts";
import { valueText } from "../../calls/values/text.ts";
import { defined, type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { isJson, isMatcher } from "../../calls/expected/matchers.ts";
import type { ExpectedCall } from "../../tools/expected_call.ts";
import { perturbCase } from "../../perturbations/perturbed_case.ts";
import { findParameters } from "../../perturbations/queries/literals.ts";
import { type PreparedCall, schemaOf } from "../../tools/tool.ts";
import { placeOf } from "../../base/user_code.ts";
import { type CaseSetUp, looseParts, setUpCase } from "./_case_set_up.ts";
import { Toolbox } from "./toolbox.ts";
import type { CallOutcome, CallPlace } from "./made_call.ts";
import {
  type AnswerEvent,
  type AssertionEvent,
  callsOf,
  CHAIN,
  type StopEvent,
  type TraceEvent,
  withOwnCalls,
} from "../../calls/trace.ts";
import {
  snapshotOf,
  type StateDifference,
  stateDifference,
  type StateSnapshot,
} from "../../calls/values/state_difference.ts";
import {
  assertionText,
  isNamed,
  isNeverError,
  keptText,
  MisusedAssertion,
} from "../../calls/assertion_text.ts";
import { countText } from "../../base/numbers.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** Returns what opens tasks: cases by name, under a variant of settings if there is one; others by `openTask()`. */
export function caseOpener<State>(
  caseOf: (name: string, variant: string | undefined) => ToolCase<State> | undefined,
): TaskOpener {
  const find = (spec: TaskSpec, variant: string | undefined): ChainCase<State> | undefined => {
    const found = isCase(spec) ? caseOf(spec.case, variant) : undefined;
    return found?.chain === undefined
      ? found
      : chainCase(found, found.chain, (spec as CaseSpec).seed);
  };
  const open: TaskOpener = (spec, { variant, ...options } = {}) => {
    const found = find(spec, variant);
    return found === undefined
      ? openTask(spec, options)
      : new CaseExecutor(found, spec as CaseSpec, options);
  };
  /** What was carried out: the variants of a case share it, unless they have tools of their own. */
  const references = new Map<unknown, Map<unknown, Map<string, Promise<ReferenceState>>>>();
  const referenceOf = (found: ToolCase<State>): Promise<ReferenceState> | undefined =>
    found.reference &&
    getOrInsertComputed(
      getOrInsertComputed(
        getOrInsertComputed(references, found.tools, () => new Map()),
        found.user?.tools,
        () => new Map(),
      ),
      found.name,
      async () => {
        const made = await setUpCase({ ...found, prompt: "" }, {});
        try {
          return await runReference(found as ToolCase<unknown>, made);
        } finally {
          await made.release?.();
        }
      },
    );
  const prepare: TaskOpener["prepare"] = async (trials) => {
    let first: unknown;
    for (const { task, variant } of trials) {
      const found = isCase(task) ? caseOf(task.case, variant) : undefined;
      // One after the other, as they may share tools.
      await (found && referenceOf(found))?.catch((error) => first ??= error);
    }
    return first;
  };
  const begin: TaskOpener["begin"] = async (spec, { variant, ...options }, setUpOptions) => {
    const found = find(spec, variant);
    if (found === undefined) return openTask(spec, options);
    const reference = await referenceOf(found);
    const setUp = await setUpCase(found, setUpOptions);
    try {
      if (setUp.fault === undefined) await reference?.assertStart(setUp.state);
      return new CaseExecutor(found, spec as CaseSpec, options, { ...setUp, reference });
    } catch (error) {
      await setUp.release?.();
      throw error;
    }
  };
  return Object.assign(open, { begin, prepare });
}

/** Seconds that assertions may take, at most: judges may have to wait for their turn. */
const MAX_ASSERT = 600;

/** The default call limit: stops a model that never stops calling. */
const MAX_CALLS = 50;

/** Options of {@linkcode CaseExecutor}. Where there is a record, the messages of the user are those of it. */
interface CaseExecutorOptions extends Omit<TaskOptions, "variant"> {
  /** The clock of tools and assertions; default: that of the system. */
  readonly clock?: Clock;
}

/** A case in one trial. */
export class CaseExecutor<State> extends Toolbox implements Fixture {
  /** The question as the model gets it. */
  readonly prompt: string;
  /** The system message. */
  readonly system: string | undefined;
  /** What was said before the question. */
  readonly history: readonly Message[];
  /** The user's further messages, each sent after an answer; omitted without any. */
  readonly turns: readonly string[] | undefined;
  /** The number of correct calls; `null` if these are not known. */
  readonly minimumCalls: number | null;

  readonly #case: ChainCase<State>;
  readonly #seed: number;
  readonly #isRecorded: boolean;
  /** The calls that a tool was asked to carry out, by number: at the end some may still be under way. */
  readonly #begun = new Map<number, RecordedCall>();
  readonly #asked = new AskedJudges();
  readonly #clock: Clock;
  #isForbiddenTold = false;
  #isOtherWay = false;
  /** The answer, once there is one. */
  #said = "";
  /** The state before the first message, and before `assert`, which may change it. */
  readonly #before: StateSnapshot | undefined;
  #after: StateSnapshot | undefined;
  readonly #setUp: CaseSetUp<State>;
  #conversation: Conversation | undefined;

  /**
   * Opens a case with what was made for the trial; without it, only to be looked at. The default call limit is 50.
   *
   * @throws {InputError} If the tools do not fit the case, there is no question, or the perturbation is unknown.
   */
  constructor(
    toolCase: ChainCase<State>,
    { seed }: CaseSpec,
    options: CaseExecutorOptions = {},
    setUp: CaseSetUp<State> = looseParts(toolCase),
  ) {
    const { perturbation: wanted = "none", recorded, ...others } = options;
    const { callLimit = MAX_CALLS, clock = SYSTEM_CLOCK } = options;
    const { state, tools, prompt: asked, fault, unmade } = setUp;
    const [{ prompt: text } = { prompt: asked }, ...said] = recorded?.turns ?? [];
    const isWhole = !unmade && fault === undefined;
    if (isWhole) {
      assertCaseTools(toolCase, tools);
      if (setUp.userTools !== undefined) assertUserTools(toolCase, setUp.userTools);
      if (toolCase.user === undefined || asked !== "") assertPrompt(asked);
    }
    // Nothing can be changed in what is not there.
    const perturbation = isWhole ? wanted : "none";
    const parameters = toolCase.parameters ??
      findParameters(text, (toolCase.expected ?? []).map(plainArguments));
    const perturbed = perturbation === "none"
      ? undefined
      : perturbCase(tools.map(schemaOf), { text, parameters }, perturbation, {
        seed,
        needed: [...new Set((toolCase.expected ?? []).map(({ tool }) => tool))],
      });
    super(tools, {
      ...others,
      callLimit,
      clock,
      perturbed,
      expected: toolCase.expected,
      toolChoice: toolCase.toolChoice,
    });
    this.#case = toolCase;
    this.#clock = clock;
    this.#setUp = setUp;
    this.#seed = seed;
    this.#isRecorded = recorded !== undefined;
    if (toolCase.state !== undefined && fault === undefined) this.#before = snapshotOf(state);
    this.prompt = perturbed?.query.text ?? text;
    toolCase.ids?.ask(this.prompt);
    this.system = recorded === undefined ? toolCase.system : recorded.system;
    const turns = recorded === undefined ? toolCase.turns : said.map(({ prompt }) => prompt);
    this.turns = turns?.length ? turns : undefined;
    this.history = recorded === undefined && toolCase.user !== undefined
      ? historyOf(toolCase.user).map(({ role, content }): Message =>
        role === "user" ? { role, content } : { role, content, calls: [] }
      )
      : [];
    // Of a state that must stay as it is, no call is known that a model needs to find that out.
    this.minimumCalls = toolCase.expected?.length ??
      (callsOfModel(toolCase.reference).length || null);
  }

  /** Set if functions of the case were not asked for its tools or its prompt. */
  get unmade(): true | undefined {
    return this.#setUp.unmade;
  }

  /** Makes the user's side of the conversation; what was said before has it already. */
  converse(
    options: Omit<ConversationOptions, "user" | "tools" | "seed">,
  ): Conversation | undefined {
    const { user } = this.#case;
    if (user === undefined || this.#isRecorded) return undefined;
    return this.#conversation = new Conversation({
      ...options,
      user: user as ToolUser<never>,
      tools: this.#setUp.userTools,
      stated: this.#setUp.prompt,
      seed: this.#seed,
    });
  }

  /** What was said to the simulated user, and what he knows. */
  protected override get dialogue(): Dialogue | undefined {
    const { user, expected: right = callsOfModel(this.#case.reference) } = this.#case;
    if (user === undefined || this.#conversation === undefined) return undefined;
    const { opening, messages } = this.#conversation;
    const said = messages.slice(this.history.length).filter(({ role }) => role === "agent");
    const hisCalls = this.events.flatMap((event) => event.kind === "user" ? event.calls ?? [] : []);
    return {
      right,
      before: [this.system ?? "", ...this.history.map(({ content }) => content)],
      known: [user.scenario, ...(user.facts ?? []).flat(), ...hisCalls.map(({ result }) => result)],
      turns: eventsByTurn(withOwnCalls(this.events)).map((
        { turn: { text } = { text: opening }, own },
        place,
      ) => ({
        prompt: text,
        calls: recordedCalls(own, this.uncut),
        said: said[place]?.text ?? "",
      })),
    };
  }

  /** Why the set-up of the trial failed. */
  get unready(): string | undefined {
    return this.#setUp.fault;
  }

  /** Disposes of what was made for the trial. */
  async release(): Promise<string | undefined> {
    return await this.#setUp.release?.();
  }

  /** Judges the run by the user's own assertions. */
  async answer(text: string, rendered: string | undefined, work: Work): Promise<AnswerCheck> {
    this.assertOpen("take an answer");
    if (this.exhausted) {
      this.end(text, null, rendered);
      return { outcome: "call_limit", grounded: false };
    }
    this.#said = text;
    if (this.#before !== undefined) this.#after = snapshotOf(this.#setUp.state);
    const isForbidden = this.#tellForbidden();
    if (!isForbidden) {
      const { never = [] } = this.#case;
      for (const one of never) assertReadable(new CheckedCall(one), this.#written);
    }
    const { conversation } = work;
    if (conversation !== undefined && isBlank(heardOf(text))) {
      this.end(text, null, rendered);
      return { outcome: "no_answer", grounded: false };
    }
    const { isAtLimit = false } = conversation?.told ?? {};
    if (isAtLimit && conversation!.isRepeating) conversation!.spoil("repeats");
    const isRight = !isForbidden && await this.#isAsAsserted(text, rendered, work);
    if (conversation !== undefined && isAtLimit) {
      if (isRight && conversation.unsaid === undefined) conversation.spoil("never_ends");
      return { outcome: "turn_limit", grounded: false };
    }
    this.end(text, null, rendered);
    return isRight
      ? { outcome: "solved", grounded: true }
      : { outcome: "wrong_answer", grounded: false };
  }

  /** Adds an event; before the one that ends the trial, the forbidden calls that were made, and the chain. */
  override record(event: TraceEvent): void {
    if (event.kind === "answer" || event.kind === "stop") {
      this.#tellForbidden();
      if (this.events.length > 0) this.#tellChain(event);
    }
    super.record(event);
  }

  /** Records the steps of the chain, how else it was solved, and the detours that a wrong answer follows from. */
  #tellChain(end: AnswerEvent | StopEvent): void {
    const { ids } = this.#case;
    if (ids === undefined) return;
    const isAnswered = end.kind === "answer" && !this.exhausted;
    const isSolved = isAnswered && !this.events.some(({ kind }) => kind === "assertion");
    this.#isOtherWay = isSolved && ids.isLeft;
    const calls = `${countText(this.calls, "call")}, the chain has ${this.minimumCalls}`;
    const message = ids.steps + (this.#isOtherWay ? `; solved by another way: ${calls}` : "");
    super.record({ kind: "stage", stage: CHAIN, message });
    if (isAnswered && !isSolved) this.blame(ids.detours(end.text));
  }

  /** The events with each call compared to the correct ones; those of another way to the right answer are no mistakes. */
  override async viewed(): Promise<readonly TraceEvent[] | undefined> {
    return this.#isOtherWay ? undefined : await super.viewed();
  }

  /** The tokens of the judges that `assert` asked; omitted if it asked none. */
  get judging(): readonly Omit<StageUse, "stage">[] {
    return this.#asked.uses;
  }

  /** Carries out a call, and remembers it: a tool may not be done when the trial ends. */
  protected override async carryOut(call: PreparedCall, place: CallPlace): Promise<CallOutcome> {
    if (this.#case.never !== undefined) {
      const { name: tool, resolved: written = call.arguments } = call;
      const asked = { tool, written, arguments: parseJson(written), result: "" };
      this.#begun.set(place.call, { ...asked, call: place.call, step: place.step });
    }
    const { ids } = this.#case;
    const checked = ids && this.checked(call);
    const failure = checked && "input" in checked
      ? ids?.begin(call.name, checked.input, place)
      : undefined;
    const outcome = await super.carryOut(call, place);
    if (outcome.value !== undefined) ids?.end(place, outcome.value);
    return failure === undefined ? outcome : { ...outcome, failure };
  }

  /** Records the forbidden calls once, if there are any, and returns whether there are. */
  #tellForbidden(): boolean {
    const { never = [] } = this.#case;
    if (never.length === 0 || this.#isForbiddenTold) return this.#isForbiddenTold;
    const ended = recordedCalls(this.events, this.uncut);
    const places = new Set(callsOf(this.events).map(({ call }) => call));
    const underWay = [...this.#begun.values()].filter(({ call }) => !places.has(call));
    // Of a call past the limit only the name is known.
    const beyond = this.events.flatMap((event): RecordedCall[] =>
      event.kind !== "over_limit" ? [] : [{
        ...{ call: this.calls + 1, step: (ended.at(-1)?.step ?? 0) + 1, tool: event.function },
        ...{ arguments: undefined, written: "", result: "", refused: true },
      }]
    );
    const made = [...ended, ...underWay, ...beyond];
    const text = forbiddenText(never, made, this.#setUp.tools.map(schemaOf), this.#written);
    if (text === undefined) return false;
    this.#isForbiddenTold = true;
    super.record({ kind: "assertion", message: keptText(text), never: true });
    return true;
  }

  /** The calls that the model wrote as text; those in the answer of an agent of which no reply was seen. */
  get #written(): WrittenCall[] {
    if (this.events.some(({ kind }) => kind === "reply")) return writtenCalls(this.events);
    const names = this.#setUp.tools.map(({ name }) => name);
    return writtenIn("the answer", textCalls(this.#said, names));
  }

  /** Whether the run is as `assert` says; records how it is not, and what judges were asked. */
  async #isAsAsserted(
    text: string,
    rendered: string | undefined,
    work: Work,
  ): Promise<boolean> {
    const run = this.#run(text, rendered, work);
    const { assert, communicate = [] } = this.#case;
    const told = [
      await this.#setUp.reference?.failure(run.state),
      // Names stand for values in messages, and not in what a user hears.
      unsaidText(communicate, [...work.conversation?.heard ?? [], ...run.texts].map(heardOf)),
    ].flatMap((failure) => failure === undefined ? [] : [keptText(failure)]);
    let failure: AssertionEvent | undefined;
    try {
      failure = assert &&
        await collectAsked(this.#asked, () => this.#runAssert(assert, run, work.signal));
    } finally {
      for (const event of this.#asked.events) super.record(event);
    }
    const messages = [...told, failure?.message ?? []].flat();
    if (messages.length === 0) return true;
    // The place is that of what assert says alone.
    const { at, ...only } = failure ?? {};
    super.record({
      kind: "assertion",
      ...only,
      ...(told.length === 0 ? { at } : {}),
      message: keptText(messages.join("\n\n")),
    });
    return false;
  }

  /** Returns what the tools changed in the state; `undefined` without one. */
  get stateDifference(): ((keys: Set<string>) => StateDifference) | undefined {
    const before = this.#before;
    if (before === undefined) return undefined;
    return (keys) => stateDifference(before, this.#after ?? snapshotOf(this.#setUp.state), keys);
  }

  #run(answer: string, rendered: string | undefined, work: Work): ToolTestRun<State> {
    const { messages, usage, durationMs, turnsMs } = work;
    const tools = this.#setUp.tools.map(schemaOf);
    const prompt = work.conversation?.opening ?? this.prompt;
    const before = this.history.length;
    const whole = { prompt, before, answer, messages, tools, durationMs, turnsMs };
    const { uncut } = this;
    const events = withOwnCalls(this.events);
    const turns = turnsOf({ events, uncut }, whole);
    // How a recorded conversation ended is in no record.
    const recordedTalk = this.#case.user &&
      { end: undefined, messages: turns.length, isAtLimit: false };
    return {
      ...callsByKind(events, uncut),
      written: this.#written,
      tools,
      turns,
      texts: turns.flatMap(({ texts }) => texts),
      answer,
      ...defined({ rendered }),
      replies: this.events.filter(({ kind }) => kind === "reply").length,
      ...{ messages, usage, durationMs },
      ...defined({ conversation: work.conversation?.told ?? recordedTalk }),
      state: this.#setUp.state,
      perturbed: this.perturbed?.steps ?? [],
      removed: this.perturbed?.removed ?? false,
      seed: this.#seed,
      events: [...this.events],
    };
  }

  /** The assertion that fails for the run; `undefined` if none does. */
  async #runAssert(
    judge: NonNullable<ToolCase<State>["assert"]>,
    run: ToolTestRun<State>,
    signal: AbortSignal | undefined,
  ): Promise<AssertionEvent | undefined> {
    // As with other errors, no model must become better by being asked again.
    const outOfTime = () =>
      new AssertionError(`assert did not end within ${MAX_ASSERT} seconds: look at the test first`);
    const assert = async () => {
      const returned: unknown = await judge(run);
      if (returned === undefined && this.#asked.open === 0) return;
      throw cannot(
        "use assert",
        "it must throw where the run is wrong, await what it asks, and return nothing",
        returned === undefined
          ? "a judge was asked and not awaited"
          // What it returned may run where it is looked at, as a generator does.
          : `it returned ${typeof returned === "object" ? "an object" : valueText(returned, 100)}`,
      );
    };
    try {
      const deadline = { timeout: 1000 * MAX_ASSERT, outOfTime, signal, clock: this.#clock };
      await inTime(assert, deadline);
      return undefined;
    } catch (error) {
      signal?.throwIfAborted();
      if (isErrorOf(error, InputError)) throw new MisusedAssertion(error);
      // An unreachable judge is not the model's failure.
      if (isNamed(error, "InfrastructureError")) throw error;
      const at = placeOf(error);
      return {
        kind: "assertion",
        message: assertionText(error),
        at,
        ...(isNeverError(error) ? { never: true as const } : {}),
      };
    }
  }
}

/** The arguments of a correct call that are plain values; of several alternatives, the first. */
function plainArguments({ arguments: expected = {} }: ExpectedCall): { arguments: JsonObject } {
  const plain = Object.entries(expected).flatMap(([name, value]): [string, JsonValue][] => {
    const [first] = isMatcher(value) ? value.values ?? [] : isJson(value) ? [value] : [];
    return first === undefined ? [] : [[name, first]];
  });
  return { arguments: Object.fromEntries(plain) };
}
