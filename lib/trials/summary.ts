/**
 * Trial summaries: the parts of a finished trial that tables and gates need, small enough to keep those of a
 * whole run.
 * @module
 */

import type { FaultKind } from "../tools/fault.ts";
import { callSignature } from "../calls/behaviour.ts";
import { hash64 } from "../base/random.ts";
import {
  type Failure,
  PARAMETER_FAILURE_TYPES,
  PARAMETER_FAILURES,
} from "../calls/failure_types.ts";
import { sumUsage } from "../tools/message.ts";
import {
  type ParameterScore,
  scoreOfViews,
  type ToolFailures,
  toolFailuresOf,
} from "../calls/parameter_views.ts";
import {
  type AgentWork,
  agentWorkOf,
  type ParseCounts,
  parsesOf,
  type StrategyWork,
  workOf,
} from "../calls/work.ts";
import { type Recovery, recoveryOf } from "../calls/recovery.ts";
import {
  type CallEvent,
  callsOf,
  CHAIN,
  type FailedAttempt,
  MAX_KEPT_LENGTH,
  type ScoredEvent,
  type TraceEvent,
} from "../calls/trace.ts";
import { isOn, type ReturnMethod } from "../perturbations/methods.ts";
import { perturbReturn } from "../perturbations/returns.ts";
import { type ExpressionKind, expressionsOf } from "../calls/expressions.ts";
import { isCase, isGenerated } from "../tasks/task_kind.ts";
import { isUneventful } from "./transcript.ts";
import { type Trial, TRIAL_FIELDS } from "./trial.ts";
import { type MissedCalls, missedCallsOf } from "./missed_calls.ts";
import { defined, jsonText } from "../base/json.ts";
import { whyUnsolved } from "./why_unsolved.ts";

/** Failed attempts of unclear cause kept of a trial, at most. */
const MAX_UNCLEAR = 20;

/** Returns the different failed attempts of unclear cause in a trace; `undefined` without any. */
function unclearOf({ events }: Trial): TrialSummary["unclear"] {
  const found = new Map<string, Omit<FailedAttempt, "cause">>();
  for (const event of events) {
    if (event.kind !== "reply") continue;
    for (const { cause, status, message } of event.failed ?? []) {
      if (cause !== "unclear" || found.size === MAX_UNCLEAR) continue;
      found.set(`${status} ${message}`, { status, message });
    }
  }
  return unlessEmpty([...found.values()]);
}

/** A trial without its events and the details of its failures, small enough to keep those of a whole run. */
export interface TrialSummary extends Omit<Trial, "events" | "failures" | "transcript"> {
  /** The type of each failure, and whether it was a root. */
  readonly failures: readonly Pick<Failure, "type" | "root">[];
  /** Set if a call was made that must not happen in any trial; else omitted. */
  readonly never?: true;
  /** Set if the model was shown a result with an injected instruction; else omitted. */
  readonly injected?: true;
  /** The number of replies with a call that is written as text, and in the reasoning alone; omitted without any. */
  readonly written?: WrittenCounts;
  /** The results that the model read under a perturbation of returns; omitted without one. */
  readonly returns?: ReturnCounts;
  /** Calls with a right value that nothing had established; omitted without any. */
  readonly guessed?: number;
  /** Requests and repairs of strategies outside the loop; omitted without any. */
  readonly work?: StrategyWork;
  /** What an agent of the user's own did beside carrying out calls; omitted without any. */
  readonly agentWork?: AgentWork;
  /** Set if its agent was seen to ask models, and none of the replies was of the model under test; else omitted. */
  readonly unasked?: true;
  /** The stages of strategies that it went through, such as `route` and `fill`; omitted without any. */
  readonly askedStages?: readonly string[];
  /** The tools that its chain needs; omitted for other tasks. */
  readonly chained?: readonly string[];
  /** Its calls compared to the correct ones; omitted when these are not known. */
  readonly parameters?: ParameterScore;
  /** The same by tool; omitted for generated tasks as well, each of which has functions of its own. */
  readonly toolFailures?: readonly ToolFailures[];
  /** The needed calls, and those that were never made; omitted when the right calls are not known. */
  readonly missed?: MissedCalls;
  /** How the model recovered from faults, by function; omitted without any faults. */
  readonly recoveries?: readonly Recovery[];
  /** The kinds of faults that its calls met; omitted without any. */
  readonly faults?: readonly FaultKind[];
  /** How its replies were parsed; omitted when unknown, or if none attempts a call. */
  readonly parses?: ParseCounts;
  /**
   * A hash of what the model did: its calls, step by step, and the value or the calls that it answered with;
   * omitted where events are missing.
   */
  readonly actions?: string;
  /** The dimensions of tool use; omitted when the trial says nothing about them. */
  readonly dimensions?: TrialDimensions;
  /** The kinds of expressions in its calls; omitted unless the probe `mental_arithmetic` asks for a long sum. */
  readonly expressions?: readonly ExpressionKind[];
  /** The calls for which a tool of its own ran, with its time; omitted without any. */
  readonly latencies?: readonly CallLatency[];
  /** The scored answer to a question of a call set; omitted for other tasks. */
  readonly scored?: ScoredAnswer;
  /**
   * Failed attempts of unclear cause before its replies, at most 20 different ones; omitted without any. Such
   * a trial was not valid at the first go.
   */
  readonly unclear?: readonly Omit<FailedAttempt, "cause">[];
  /** Why a reply ended in the words of its server, where these are not known; omitted without any such reply. */
  readonly unknownFinish?: string;
  /** Set for a case without a transcript whose model was asked. */
  readonly untold?: true;
  /** Why a case is not solved, in one line: the assertion that failed, or what ended the trial; else omitted. */
  readonly why?: string;
}

/** Replies with calls that are no calls. */
export interface WrittenCounts {
  /** The number of replies whose text has one. */
  readonly asText: number;
  /** The number of other replies whose reasoning has one that they did not make. */
  readonly asDraft: number;
  /** Set if a reply has nothing but reasoning. */
  readonly isReasoned?: true;
}

function writtenOf({ events }: Trial): WrittenCounts | undefined {
  const replies = events.filter((event) => event.kind === "reply");
  const asText = replies.filter(({ textCalls }) => textCalls !== undefined).length;
  const asDraft =
    replies.filter(({ textCalls, drafts }) => textCalls === undefined && drafts !== undefined)
      .length;
  const isReasoned = replies.some(({ reasoned }) => reasoned) || undefined;
  return asText + asDraft === 0 && !isReasoned
    ? undefined
    : { asText, asDraft, ...defined({ isReasoned }) };
}

/** Results of functions under a perturbation of returns. */
export interface ReturnCounts {
  /** The number of results, without errors and refusals. */
  readonly read: number;
  /** The methods of the perturbation that changed one of them, such as `CK`. */
  readonly changed: readonly ReturnMethod[];
}

/** Counts the results of a trial under a perturbation of returns; `undefined` without one, or if calls are missing. */
export function returnsOf(
  { perturbation, calls, events }: Pick<Trial, "perturbation" | "calls" | "events">,
): ReturnCounts | undefined {
  const methods = perturbation.split("+")
    .filter((id): id is ReturnMethod => isOn(id, "return"));
  const made = callsOf(events);
  if (methods.length === 0 || made.length < calls) return undefined;
  const results = made.filter(({ failure, returned, error, agentDid, blockedBy }) =>
    (failure === undefined || returned !== undefined) && error === undefined &&
    agentDid === undefined && blockedBy === undefined
  );
  const changed = results.flatMap(({ unperturbed, injected }) => {
    if (unperturbed === undefined) return [];
    // Another method or an instruction that was injected may be the change; a text that was cut off shows nothing.
    const isPlain = methods.length === 1 && injected === undefined;
    if (isPlain || unperturbed.length >= MAX_KEPT_LENGTH) return methods;
    let text = unperturbed;
    return methods.filter((id) => {
      const step = perturbReturn(id, text);
      text = step.value;
      return step.changed;
    });
  });
  return { read: results.length, changed: [...new Set(changed)] };
}

/** For how long the tool of one call ran. */
export interface CallLatency {
  /** The tool. */
  readonly tool: string;
  /** Milliseconds. */
  readonly durationMs: number;
}

function latenciesOf({ events }: Trial): TrialSummary["latencies"] {
  const timed = callsOf(events).flatMap(({ function: tool, durationMs }) =>
    durationMs === undefined ? [] : [{ tool, durationMs }]
  );
  return unlessEmpty(timed);
}

/** A fact that events tell. */
type Fact =
  | Exclude<keyof TrialSummary, keyof Trial>
  | "failures";

/**
 * What a summary keeps of the events of a trial, a row each: a new one is known to gates, reports and ceilings at once.
 */
const FACTS: { readonly [Name in Fact]-?: (trial: Trial) => TrialSummary[Name] } = {
  failures: ({ failures }) => sharedPart(failures.map(({ type, root }) => ({ type, root }))),
  never: (trial) => hasForbiddenCall(trial) || undefined,
  injected: ({ events }) =>
    events.some((event) => event.kind === "call" && event.injected !== undefined) || undefined,
  written: (trial) => sharedPart(writtenOf(trial)),
  returns: (trial) => sharedPart(returnsOf(trial)),
  guessed: ({ events }) => callsOf(events).filter(({ guessed }) => guessed).length || undefined,
  work: ({ events }) => workOf(events),
  agentWork: ({ events }) => agentWorkOf(events),
  unasked: (trial) => isUnasked(trial) || undefined,
  askedStages: ({ events }) =>
    distinct(
      events.flatMap((event) =>
        event.kind === "reply" || event.kind === "stage" ? event.stage ?? [] : []
      ),
    ),
  chained: (trial) => isOfChain(trial) ? sharedPart(distinct(trial.needed ?? [])) : undefined,
  parameters: (trial) => isCompared(trial) ? sharedPart(scoreOfViews(trial.events)) : undefined,
  toolFailures: (trial) =>
    isCompared(trial) && !isGenerated(trial.task)
      ? sharedPart(unlessEmpty(toolFailuresOf(trial.events)))
      : undefined,
  missed: (trial) => sharedPart(missedCallsOf(trial)),
  recoveries: ({ events }) => unlessEmpty(recoveryOf(events)),
  faults: ({ events }) => sharedPart(distinct(callsOf(events).flatMap(({ fault }) => fault ?? []))),
  parses: ({ events }) => parsesOf(events),
  actions: actionsOf,
  dimensions: (trial) => sharedPart(dimensionsOf(trial)),
  expressions: expressionsOf,
  latencies: latenciesOf,
  scored: ({ events }) => scoredAnswer(events),
  unclear: unclearOf,
  unknownFinish: ({ events }) =>
    sharedText(
      events.flatMap((event) => event.kind === "reply" ? event.unknownFinish ?? [] : [])[0] ?? "",
    ),
  untold: (trial) =>
    isCase(trial.task) && trial.transcript === undefined && !isUneventful(trial) || undefined,
  why: (trial) =>
    isCase(trial.task) && trial.reason === undefined ? sharedText(whyUnsolved(trial)) : undefined,
};

function isOfChain({ events }: Trial): boolean {
  return events.some((event) => event.kind === "stage" && event.stage === CHAIN);
}

/** Whether calls were compared to the correct ones and none is missing: other tools may drop events. */
function isCompared({ oracle, calls, events }: Trial): boolean {
  return oracle !== undefined && callsOf(events).length >= calls;
}

/** The fields of a trial that a summary does not keep. */
const LEFT_OUT = ["events", "failures", "transcript", "needed", "oracle", "cleanUp"];
const KEPT = TRIAL_FIELDS.filter((name) => !LEFT_OUT.includes(name));

/** Summarizes a trial. Fields unknown to this format, such as transcripts of other tools, are dropped. */
export function summarize(trial: Trial): TrialSummary {
  return summaryOf(trial, () => undefined);
}

/** A summary of the facts that `told` has already, and those of the trial. */
function summaryOf(trial: Trial, told: (fact: Fact) => unknown): TrialSummary {
  const summary: Record<string, unknown> = {};
  const add = (name: string, value: unknown) => {
    if (value !== undefined) summary[name] = value;
  };
  for (const name of KEPT) add(name, trial[name]);
  for (const name of Object.keys(FACTS) as Fact[]) add(name, told(name) ?? FACTS[name](trial));
  add("model", sharedPart(trial.model));
  add("origin", sharedPart(trial.origin));
  add("behaviours", sharedPart(trial.behaviours));
  const { impossible: types } = trial;
  add(
    "impossible",
    sharedPart(types && PARAMETER_FAILURE_TYPES.filter((type) => types.includes(type))),
  );
  // A copy is no hash table, which takes several times as much memory.
  return { ...summary } as unknown as TrialSummary;
}

/** Returns items; `undefined` without any. */
export function unlessEmpty<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length === 0 ? undefined : items;
}

/** Returns items each once; `undefined` without any. */
function distinct<T>(items: readonly T[]): readonly T[] | undefined {
  return unlessEmpty([...new Set(items)]);
}

/** Whether all replies to an agent are of other models than the one under test. */
function isUnasked({ agent, events }: Trial): boolean {
  const replies = events.filter((event) => event.kind === "reply");
  return agent !== undefined && replies.length > 0 &&
    replies.every(({ model }) => model !== undefined);
}

/** Calls of one step have no order: how they are listed may depend on how long each took. */
function actionsOf({ calls, events }: Trial): string | undefined {
  const made = callsOf(events);
  if (events.length === 0 || made.length < calls) return undefined;
  const steps = [...Map.groupBy(made, ({ step }) => step).values()];
  const answer = events.findLast((event) => event.kind === "answer");
  // No signature has a line break.
  const lines = steps.map((step) => step.map(callSignature).sort().join("\n"));
  const end = jsonText([answer?.value, scoredAnswer(events)?.output]);
  return hash64([...lines, end].join("\n\n")).toString(36);
}

/** An answer with its scores. */
export interface ScoredAnswer
  extends Pick<ScoredEvent, "scores" | "unrepaired" | "errors" | "judged"> {
  /** The answer: made calls as JSON, else its text. */
  readonly output: string;
}

function scoredAnswer(events: readonly TraceEvent[]): ScoredAnswer | undefined {
  const event = events.find((event) => event.kind === "scored");
  if (event === undefined) return undefined;
  const { scores, unrepaired, errors, judged, output } = event;
  return { scores, unrepaired, errors, judged, output };
}

/**
 * Returns the summary of a trial; a summary is returned as it is. Callers may pass whole trials anywhere,
 * whose events hold facts that summaries need.
 */
export function asSummary(trial: Trial | TrialSummary): TrialSummary {
  if (!("events" in trial)) return trial;
  // A trial that comes from a summary has facts of events that are gone.
  const known: Partial<TrialSummary> = { ...trial, failures: undefined };
  return summaryOf(trial, (fact) => known[fact]);
}

/** Parts that trials share, by their JSON text: of a hundred thousand trials most have the same ones. */
const PARTS = new Map<string, unknown>();
/** Texts that trials share: of many that fail, most fail for the same reason. */
const TEXTS = new Map<string, unknown>();
/** At most this many are shared: those of a hostile journal or tool may all differ. */
const MAX_SHARED = 1000;

function shared<Value>(known: Map<string, unknown>, key: string, value: Value): Value {
  if (known.has(key)) return known.get(key) as Value;
  if (known.size < MAX_SHARED) known.set(key, value);
  return value;
}

function sharedPart<Part>(part: Part): Part {
  return part === undefined ? part : shared(PARTS, JSON.stringify(part), part);
}

function sharedText(text: string): string | undefined {
  // A part of a text would keep the whole of it in memory.
  const copy = [...text].join("");
  return text === "" ? undefined : shared(TEXTS, copy, copy);
}

/**
 * Faults that no model can cause, unless only words say so; a connection that is refused may be that of a server that a model broke, and a
 * request that is refused may quote what the model wrote.
 */
const IDLE: readonly unknown[] = ["key", "model", "address", "permission", "credit", "limit"];

/** The invalid goes before a trial, and whether a call was made in one that must not happen in any trial. */
export type EarlierAttempts = Pick<TrialSummary, "replaced" | "replacedIdle" | "never">;

/** Whether a call was made that must not happen in any trial. */
export function hasForbiddenCall({ events }: Pick<Trial, "events">): boolean {
  return events.some((event) => event.kind === "assertion" && event.never);
}

/** What a trial that is run again in place of an invalid one takes over from it. */
export function takenOver(
  before: Pick<TrialSummary, "usage" | "permanent" | "byWords"> & EarlierAttempts,
): EarlierAttempts {
  const { usage, replaced, replacedIdle, never, permanent, byWords } = before;
  const isIdle = IDLE.includes(permanent) && !byWords &&
    (replaced === undefined || replacedIdle === true);
  return {
    replaced: replaced === undefined ? usage : sumUsage([usage, replaced]),
    replacedIdle: isIdle || undefined,
    never,
  };
}

/** Returns a trial with the invalid attempts before it, in its journal as in its recording. */
export function inPlaceOf<Own extends EarlierAttempts>(
  trial: Own,
  before: EarlierAttempts | undefined,
): Own {
  if (before?.replaced === undefined) return trial;
  const { replacedIdle, ...others } = trial;
  const isIdle = before.replacedIdle && (trial.replaced === undefined || replacedIdle);
  return {
    ...others as Own,
    // The recording has those of the journal, and may have more.
    replaced: trial.replaced ?? before.replaced,
    ...(isIdle ? { replacedIdle: true } : {}),
    // A call that must not happen was made, however often its trial is run again.
    ...(before.never ? { never: true } : {}),
  };
}

/** The dimensions of tool use in a trial; those it says nothing about are omitted. */
export interface TrialDimensions {
  /** Whether the set of functions called is the set of those needed, as 1 or 0. */
  readonly exact_selection?: number;
  /** Whether the first call has the right arguments, as 1 or 0; omitted without calls. */
  readonly first_arguments?: number;
  /** The F1 score of the functions called against those needed. */
  readonly tool_selection?: number;
  /** The share of calls to existing functions that have correct arguments. */
  readonly argument_correctness?: number;
  /** Whether the answer uses what the calls returned, as 1 or 0; omitted if they returned too little. */
  readonly result_interpretation?: number;
  /** Whether a task of several calls was solved, as 1 or 0. */
  readonly multi_step_planning?: number;
}

/**
 * Returns the dimensions of tool use in a trial. Returns `undefined` for perturbed trials, probes,
 * questions, cases without known correct calls, and if calls were dropped from the events.
 *
 * - Tool selection: whether the set of functions called equals the set needed (Pipeline, "Benchmarking Tool
 *   Use"), and the F1 score of the two sets, which is 1 exactly then. Needed are the core functions of a generated
 *   task, or the tools of a case's expected calls. Names of functions that do not exist count as called.
 * - Argument correctness: whether the first call has every argument of a right call, with its value (Pipeline);
 *   further arguments do not count, and a call that is none of the right ones has none of theirs. Omitted for
 *   trials without calls, and where no call is right. And the share of calls to existing functions with correct
 *   arguments, by the task's own check or the case's correct calls. A repeated call of a needed tool is correct
 *   if it equals a correct one; a call of a tool that is not needed, if it conforms to its schema.
 * - Result interpretation: 1 if the trial is solved and grounded. Only if all core functions returned their
 *   true values, or all correct calls of a case succeeded.
 * - Multi-step planning: 1 if solved. Only tasks of depth 1 or more, and cases of at least two correct
 *   calls.
 */
export function dimensionsOf(trial: Trial): TrialDimensions | undefined {
  const { task, perturbation, calls: count, events } = trial;
  if (perturbation !== "none") return undefined;
  const calls = callsOf(events);
  if (calls.length < count) return undefined;
  if (isGenerated(task)) return generatedDimensions(trial, task, calls);
  if (!isCase(task) || trial.needed === undefined) return undefined;
  // A chain that was solved in another way has no right calls.
  if (trial.oracle === undefined && isOfChain(trial)) return undefined;
  return caseDimensions(trial, new Set(trial.needed), calls);
}

function generatedDimensions(
  { solved, grounded }: Trial,
  { core, depth }: { readonly core: number; readonly depth: number },
  all: readonly CallEvent[],
): TrialDimensions {
  // Requests answered without a function, such as looking up a value, are no calls of the task.
  const calls = all.filter(({ role, failure }) => role !== undefined || failure !== undefined);
  const existing = calls.filter(({ role }) => role !== undefined);
  const ofCore = existing.filter(({ role }) => role === "core");
  const returned = ofCore.filter((call) =>
    call.failure === undefined && call.returned !== undefined
  );
  const couldAnswer = solved && grounded || functionNames(returned).size >= core;
  return {
    ...selection(functionNames(ofCore).size, functionNames(calls).size, core),
    ...firstArguments(calls, ({ role }) => role === "core"),
    ...correctShare(existing.map(({ failure }) => failure === undefined)),
    ...(couldAnswer ? { result_interpretation: Number(solved && grounded) } : {}),
    ...(depth > 0 ? { multi_step_planning: Number(solved) } : {}),
  };
}

function caseDimensions(
  { solved, grounded, minimumCalls }: Trial,
  needed: ReadonlySet<string>,
  all: readonly CallEvent[],
): TrialDimensions {
  const calls = all.filter((call) =>
    call.failure !== undefined || call.parameters !== undefined || needed.has(call.function)
  );
  const called = functionNames(calls);
  // Only calls that are wrong in some way have a view.
  const right = calls.filter(isRight);
  const texts = new Set(right.map(callSignature));
  const correct = calls.flatMap((call) => {
    const { failure, parameters } = call;
    if (failure?.type === "function_not_found") return [];
    if (failure !== undefined || parameters === undefined) return [failure === undefined];
    if (parameters.failures.length > 0) return [false];
    if (parameters.undecided !== undefined) return [];
    return [
      parameters.oracle !== null || !needed.has(call.function) || texts.has(callSignature(call)),
    ];
  });
  const fewest = minimumCalls ?? 0;
  const couldAnswer = fewest > 0 &&
    right.filter(({ error }) => error === undefined).length >= fewest;
  return {
    ...selection([...called].filter((name) => needed.has(name)).length, called.size, needed.size),
    ...(needed.size === 0 ? {} : firstArguments(calls, ({ function: name }) => needed.has(name))),
    ...correctShare(correct),
    ...(couldAnswer ? { result_interpretation: Number(solved && grounded) } : {}),
    ...(fewest > 1 ? { multi_step_planning: Number(solved) } : {}),
  };
}

function isRight({ failure, parameters }: CallEvent): boolean {
  return failure === undefined && parameters === undefined;
}

function functionNames(calls: readonly CallEvent[]): Set<string> {
  return new Set(calls.map((call) => call.function));
}

/**
 * How well two sets agree, from their sizes and that of their intersection: whether they are the same, and their F1
 * score, which is 1 if both are empty.
 */
function selection(
  common: number,
  called: number,
  needed: number,
): Pick<TrialDimensions, "exact_selection" | "tool_selection"> {
  return {
    exact_selection: Number(common === called && common === needed),
    tool_selection: called + needed === 0 ? 1 : 2 * common / (called + needed),
  };
}

/** Whether the first call has the arguments of a right call. */
function firstArguments(
  [first]: readonly CallEvent[],
  isNeeded: (call: CallEvent) => boolean,
): Pick<TrialDimensions, "first_arguments"> {
  if (first === undefined) return {};
  const { failure, parameters } = first;
  if (parameters === undefined) {
    return { first_arguments: Number(failure === undefined && isNeeded(first)) };
  }
  const { oracle, failures, undecided } = parameters;
  // Of the right call the article looks at its arguments alone, whatever stands beyond them.
  const isRight = oracle !== null &&
    failures.every(({ type }) => PARAMETER_FAILURES[type].of === "surplus");
  return isRight && undecided !== undefined ? {} : { first_arguments: Number(isRight) };
}

function correctShare(correct: readonly boolean[]): Pick<TrialDimensions, "argument_correctness"> {
  if (correct.length === 0) return {};
  return { argument_correctness: correct.filter((right) => right).length / correct.length };
}
