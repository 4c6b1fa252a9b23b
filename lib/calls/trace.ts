/**
 * Trace: the events of one trial, in order. Failures, metrics and reports are projections of it.
 * @module
 */

import { z } from "zod";
import type { QuestionScores } from "../tasks/questions/scoring.ts";
import type { CallTruth } from "../tasks/questions/question_set.ts";
import { type Failure, FAILURE_CAUSE, type FailureCause } from "./failure.ts";
import { type FaultKind, FAULTS } from "../tools/fault.ts";
import type { InjectedDemand } from "../tools/injection.ts";
import { type Role, ROLES } from "../tasks/generated/graph.ts";
import { PARAMETER_FAILURE_TYPES, type ParameterFailureType } from "./failure_types.ts";
import type { JsonValue } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import type { Usage } from "../tools/message.ts";
import { AGENT_DEEDS, type AgentDeed, REPLACERS } from "../tools/tool.ts";

/** Characters of a model's text kept in a trace, at most. */
export const MAX_KEPT_LENGTH = 10_000;

/**
 * How the calls of a reply could be parsed: `strict` as the format requires, `repaired` after a repair,
 * `unreadable` if one of them could not be: its arguments are then the text as written.
 */
export const PARSES = ["strict", "repaired", "unreadable"] as const;

/** How the calls of a reply could be parsed. */
export type Parse = typeof PARSES[number];

/** An attempt of a request that failed before another one got the reply. */
export interface FailedAttempt {
  /**
   * `infrastructure` if network, server or account are known to have failed, such as at a rate limit;
   * `unclear` if the model may have had a part in it, so that asking again may have drawn a better reply.
   */
  readonly cause: "infrastructure" | "unclear";
  /** The HTTP status of the server's answer; omitted without an answer. */
  readonly status?: number;
  /** What was wrong, without secrets, on one line. */
  readonly message: string;
}

/** A reply of the model. */
export interface ReplyEvent {
  /** Kind of event. */
  readonly kind: "reply";
  /** Number of the request that it answers, from 1. */
  readonly request: number;
  /** The stage of a strategy that asked for it, such as `plan`; omitted in the agent loop. */
  readonly stage?: string;
  /** The model, if not the trial's. */
  readonly model?: string;
  /** The text. */
  readonly text: string;
  /** Number of calls in it. */
  readonly calls: number;
  /** Tokens read. */
  readonly inputTokens: number;
  /** Tokens written. */
  readonly outputTokens: number;
  /** Set if these were estimated, as the server did not report them; otherwise omitted. */
  readonly estimated?: true;
  /** Duration of the successful attempt, in milliseconds. */
  readonly durationMs: number;
  /** The attempts that failed before, in order; omitted if the first one got the reply. */
  readonly failed?: readonly FailedAttempt[];
  /** Descriptions of the repairs made to the reply; omitted if there are none. */
  readonly repairs?: readonly string[];
  /**
   * The function that its text calls, although it could have called it as such and called none; else
   * omitted.
   */
  readonly textCall?: string;
  /** How its calls could be parsed; omitted if it attempts none. */
  readonly parsed?: Parse;
  /** The reply as it was written, if calls in its text were repaired or unreadable; otherwise omitted. */
  readonly written?: string;
  /** The request whose reply an agent threw away, to send the same request again; otherwise omitted. */
  readonly replaces?: number;
  /**
   * Its calls of functions that are not the task's, such as an agent's handoffs and tools of its server; they are
   * not judged. Omitted if there are none.
   */
  readonly ownCalls?: readonly OwnCall[];
}

/** A call of a function that an agent offered and that is none of the task's. */
export interface OwnCall {
  /** The name that was called. */
  readonly function: string;
  /** The arguments as they were written. */
  readonly arguments: string;
}

/** One parameter that is wrong. */
export interface ParameterFailure {
  /** The way in which it is wrong. */
  readonly type: ParameterFailureType;
  /**
   * The parameter, as a JSON pointer such as `/city` or `/address/zip` (RFC 6901); empty for the
   * arguments as a whole. Names in it are cut to 100 characters, all of it to 500.
   */
  readonly parameter: string;
  /** The value given, cut to a text if long; omitted if none was given. */
  readonly given?: JsonValue;
  /** The right value, or a description of it, cut likewise; omitted if unknown. */
  readonly expected?: JsonValue;
  /** Similarity of two texts by Rouge-L, from 0 to 1; only for deviations and mismatches. */
  readonly similarity?: number;
}

/** A wrong parameter whose failure type cannot be decided without the function's schema. */
export interface Undecided {
  /** The possible types. */
  readonly types: readonly ParameterFailureType[];
  /** The parameter, as in {@linkcode ParameterFailure}. */
  readonly parameter: string;
}

/** One call compared with the expected calls. */
export interface ParameterView {
  /**
   * Number of the corresponding expected call, from 1; `null` for a routing error: the call is none of them,
   * or repeats one of them.
   */
  readonly oracle: number | null;
  /** Its wrong arguments, by type; at most 50, with at least one of each type found. */
  readonly failures: readonly ParameterFailure[];
  /** Failures of undecided type, at most 50; omitted if there are none. */
  readonly undecided?: readonly Undecided[];
}

/** Schema of a view in a file. */
export const PARAMETER_VIEW: z.ZodType<ParameterView> = z.looseObject({
  oracle: z.int().min(1).nullable(),
  failures: z.array(z.looseObject({
    type: z.enum(PARAMETER_FAILURE_TYPES),
    parameter: z.string(),
    given: z.any().exactOptional(),
    expected: z.any().exactOptional(),
    similarity: z.number().exactOptional(),
  })),
  undecided: z.array(
    z.looseObject({ types: z.array(z.enum(PARAMETER_FAILURE_TYPES)), parameter: z.string() }),
  )
    .exactOptional(),
});

/** A variable that a call returned, and its value. */
export interface ReturnedValue {
  /** The variable. */
  readonly variable: string;
  /** Its value. */
  readonly value: number;
}

/** A call and its answer. */
export interface CallEvent {
  /** Kind of event. */
  readonly kind: "call";
  /** Number of the call in its trial, from 1. */
  readonly call: number;
  /** Number of the step in its trial, from 1. */
  readonly step: number;
  /** The name that was called. */
  readonly function: string;
  /** Role of the function in the task; omitted if there is no such function. */
  readonly role?: Role;
  /** The arguments as they were written. */
  readonly arguments: string;
  /** The arguments with references resolved; omitted if they contain none. */
  readonly resolved?: string;
  /** The text sent back. */
  readonly result: string;
  /** The function's return value as text, if a perturbation changed it. */
  readonly unperturbed?: string;
  /** What an instruction demanded that was injected into the text sent back; omitted without one. */
  readonly injected?: InjectedDemand;
  /** The variable and value returned, the first of several; omitted if the call was refused. */
  readonly returned?: ReturnedValue & {
    /** The other variables that the call returned, in order; omitted if there are none. */
    readonly others?: readonly ReturnedValue[];
  };
  /** The fault injected into the call; omitted if there is none. */
  readonly fault?: FaultKind;
  /** The variable that a fault kept the function from returning, the first of several; omitted if none. */
  readonly withheld?: string;
  /** The other variables that the fault kept it from returning; omitted if there are none. */
  readonly alsoWithheld?: readonly string[];
  /** The error that the function itself reported or threw; omitted if there is none. */
  readonly error?: string;
  /**
   * The kind and the place of an error that shows a mistake in the function itself, such as
   * `TypeError at tools_test.ts:12:20`; omitted for errors that functions throw on purpose.
   */
  readonly mistake?: string;
  /** What is wrong with the call; omitted if nothing is. */
  readonly failure?: FailureCause & { readonly root: boolean };
  /** The call compared with the right ones; omitted if it is one of them, or these are unknown. */
  readonly parameters?: ParameterView;
  /** `true` if the arguments were right though one of them could not be known yet. */
  readonly guessed?: true;
  /** Parameters whose whole number was written as text, and accepted. */
  readonly coerced?: readonly string[];
  /**
   * The strategy that made it in place of a call that failed, or `agent` if the agent's own code did; omitted if the
   * model made it.
   */
  readonly by?: "retry" | "alternative" | "agent";
  /** What the agent did in place of carrying it out; omitted if it did carry it out, or told its error. */
  readonly agentDid?: AgentDeed;
  /** Milliseconds for which a tool of the user's ran; omitted if none did. */
  readonly durationMs?: number;
}

/**
 * The first call past the limit, or of those of one reply that which an injected instruction demanded: it is neither
 * checked nor answered, and does not count.
 */
export interface OverLimitEvent {
  /** Kind of event. */
  readonly kind: "over_limit";
  /** The name that was called. */
  readonly function: string;
  /** Number of calls allowed. */
  readonly limit: number;
  /** Its arguments as they were written, if it is a call that an injected instruction demanded; else omitted. */
  readonly arguments?: string;
}

/** A call that did not conform to its schema, and its repair before it was carried out. */
export interface RepairEvent {
  /** Kind of event. */
  readonly kind: "repair";
  /** The name that was called. */
  readonly function: string;
  /** The arguments as they were written. */
  readonly arguments: string;
  /** Description of what was wrong with them. */
  readonly error: string;
  /** Number of times they were sent back to the model. */
  readonly attempts: number;
  /** The arguments that conform; omitted if there are none. */
  readonly repaired?: string;
}

/** The stage of words that a model wrote into a parameter for them (`explanation`). */
export const EXPLANATION = "explanation";

/** Result of a stage of a strategy. */
export interface StageEvent {
  /** Kind of event. */
  readonly kind: "stage";
  /** The stage, such as `plan`. */
  readonly stage: string;
  /** Description of the result. */
  readonly message: string;
  /** `true` if the stage gave no usable result; otherwise omitted. */
  readonly unusable?: true;
}

/** A further message of the user, after the answer to the one before. */
export interface TurnEvent {
  /** Kind of event. */
  readonly kind: "turn";
  /** Text of the message. */
  readonly text: string;
}

/** A failed assertion of the user. */
export interface AssertionEvent {
  /** Kind of event. */
  readonly kind: "assertion";
  /** Its message. */
  readonly message: string;
  /** Position in the user's file, such as `tools_test.ts:31:5`; omitted if unknown. */
  readonly at?: string;
  /** Set if the call must not happen in any trial: the gate then fails at any success rate. */
  readonly never?: true;
}

/** A question to a judge model within the user's `assert`, and its reply; not a failure by itself. */
export interface JudgedEvent {
  /** Kind of event. */
  readonly kind: "judged";
  /** The name of the only criterion of a rubric; omitted where there are several, or none. */
  readonly criterion?: string;
  /** The text that the judge was sent. */
  readonly question: string;
  /** The judge's reply; empty if it could not be asked. */
  readonly reply: string;
  /** From 0 to 1, of a rubric the mean of its criteria on that scale; `null` if the reply has no usable score. */
  readonly score: number | null;
  /** The least score that passes; omitted where none was named, and of rubrics, whose criteria each have one. */
  readonly atLeast?: number;
  /** The judge's reasons, of a rubric one line a criterion, or why there is no score; omitted if it gave none. */
  readonly reason?: string;
  /** The name of the judge's model. */
  readonly model: string;
  /** The judge's tokens, which are not the trial's own. */
  readonly usage: Usage;
}

/** The score that a judge model gave to an answer. */
export interface JudgedAnswer {
  /** From 0 to 1; `null` if it gave none. */
  readonly score: number | null;
  /** Why there is none. */
  readonly why?: string;
  /** `true` if the answer is too long, or nests too deep, for any judge. */
  readonly unfit?: true;
}

/** Scores of the answer to a question of a call set. */
export interface ScoredEvent {
  /** Kind of event. */
  readonly kind: "scored";
  /** The user's question. */
  readonly question: string;
  /** The output compared with the truth: the answer's text, or the calls that were made, as JSON. */
  readonly output: string;
  /** The right calls. */
  readonly truth: CallTruth;
  /** Scores of the output. */
  readonly scores: QuestionScores;
  /** Scores before a model repaired it; omitted if none did. */
  readonly unrepaired?: QuestionScores;
  /** Kinds of errors in it. */
  readonly errors: readonly string[];
  /** The score of a judge model; omitted if none was asked. */
  readonly judged?: JudgedAnswer;
}

/** The final answer. */
export interface AnswerEvent {
  /** Kind of event. */
  readonly kind: "answer";
  /** The text. */
  readonly text: string;
  /** The text for people, such as `x is @sum=3`; omitted if it is the same. */
  readonly rendered?: string;
  /** The value found in it; `null` if there is none. */
  readonly value: number | null;
  /** The word that an injected instruction demanded, if it stands past the part of the text that is kept. */
  readonly said?: string;
}

/** End of a trial without an answer of the model. */
export interface StopEvent {
  /** Kind of event. */
  readonly kind: "stop";
  /** The limit or the error that ended it. */
  readonly reason:
    | "call_limit"
    | "step_limit"
    | "time_limit"
    | "token_limit"
    | "filtered"
    | "agent_error"
    | "invalid";
  /** Description of the reason. */
  readonly message: string;
  /** The place in the user's file where an agent threw, such as `tools_test.ts:31:5`; omitted otherwise. */
  readonly at?: string;
}

/** Schema of an answer's scores in a file. */
const CALL_SCORES = z.looseObject({
  syntaxValid: z.boolean().nullable(),
  structural: z.boolean().nullable(),
  exact: z.boolean().nullable(),
  routingExact: z.boolean(),
});

/** One event of a trial. */
export type TraceEvent =
  | ReplyEvent
  | CallEvent
  | OverLimitEvent
  | RepairEvent
  | StageEvent
  | TurnEvent
  | AssertionEvent
  | JudgedEvent
  | ScoredEvent
  | AnswerEvent
  | StopEvent;

const RETURNED = z.looseObject({ variable: z.string(), value: z.number() });

/** Schema of an event in a file. */
export const EVENT: z.ZodType<TraceEvent> = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("reply"),
    request: z.int(),
    stage: z.string().exactOptional(),
    model: z.string().exactOptional(),
    text: z.string(),
    calls: z.int(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    estimated: z.literal(true).exactOptional(),
    durationMs: z.number(),
    failed: z.array(z.looseObject({
      cause: z.enum(["infrastructure", "unclear"]),
      status: z.int().exactOptional(),
      message: z.string(),
    })).exactOptional(),
    repairs: z.array(z.string()).exactOptional(),
    textCall: z.string().exactOptional(),
    parsed: z.enum(PARSES).exactOptional(),
    written: z.string().exactOptional(),
    replaces: z.int().exactOptional(),
    ownCalls: z.array(z.looseObject({ function: z.string(), arguments: z.string() }))
      .exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("call"),
    call: z.int(),
    step: z.int(),
    function: z.string(),
    arguments: z.string(),
    resolved: z.string().exactOptional(),
    result: z.string(),
    unperturbed: z.string().exactOptional(),
    injected: z.union([
      z.looseObject({ function: z.string(), arguments: z.record(z.string(), z.json()) }),
      z.looseObject({ say: z.string() }),
    ]).exactOptional(),
    role: z.enum(ROLES).exactOptional(),
    returned: RETURNED.safeExtend({ others: z.array(RETURNED).exactOptional() }).exactOptional(),
    fault: z.enum(FAULTS).exactOptional(),
    withheld: z.string().exactOptional(),
    alsoWithheld: z.array(z.string()).exactOptional(),
    error: z.string().exactOptional(),
    mistake: z.string().exactOptional(),
    failure: z.intersection(FAILURE_CAUSE, z.looseObject({ root: z.boolean() })).exactOptional(),
    parameters: PARAMETER_VIEW.exactOptional(),
    guessed: z.literal(true).exactOptional(),
    coerced: z.array(z.string()).exactOptional(),
    by: z.enum([...REPLACERS, "agent"]).exactOptional(),
    agentDid: z.enum(AGENT_DEEDS).exactOptional(),
    durationMs: z.number().min(0).exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("over_limit"),
    function: z.string(),
    limit: z.int(),
    arguments: z.string().exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("repair"),
    function: z.string(),
    arguments: z.string(),
    error: z.string(),
    attempts: z.int(),
    repaired: z.string().exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("stage"),
    stage: z.string(),
    message: z.string(),
    unusable: z.literal(true).exactOptional(),
  }),
  z.looseObject({ kind: z.literal("turn"), text: z.string() }),
  z.looseObject({
    kind: z.literal("assertion"),
    message: z.string(),
    at: z.string().exactOptional(),
    never: z.literal(true).exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("judged"),
    criterion: z.string().exactOptional(),
    question: z.string(),
    reply: z.string(),
    score: z.number().min(0).max(1).nullable(),
    atLeast: z.number().exactOptional(),
    reason: z.string().exactOptional(),
    model: z.string(),
    usage: z.looseObject({
      inputTokens: z.number().min(0),
      outputTokens: z.number().min(0),
      estimated: z.literal(true).exactOptional(),
    }),
  }),
  z.looseObject({
    kind: z.literal("scored"),
    question: z.string(),
    output: z.string(),
    truth: z.looseObject({ API: z.array(z.string()), parameters: z.array(z.json()) }),
    scores: CALL_SCORES,
    unrepaired: CALL_SCORES.exactOptional(),
    errors: z.array(z.string()),
    judged: z.looseObject({
      score: z.number().min(0).max(1).nullable(),
      why: z.string().exactOptional(),
      unfit: z.literal(true).exactOptional(),
    }).exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("answer"),
    text: z.string(),
    rendered: z.string().exactOptional(),
    value: z.number().nullable(),
    said: z.string().exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("stop"),
    reason: z.string(),
    message: z.string(),
    at: z.string().exactOptional(),
  }),
]) as unknown as z.ZodType<TraceEvent>;

/** The work of strategies outside the agent loop. */
export interface StrategyWork {
  /** Number of replies that stages asked for. */
  readonly asked: number;
  /** Number of stages without a usable result, such as an empty plan. */
  readonly unusable: number;
  /** Number of calls sent back because they did not conform to their schema. */
  readonly sentBack: number;
  /** Number of those that were repaired. */
  readonly mended: number;
  /** Number of calls made again after an error; omitted without any. */
  readonly retried?: number;
  /** Number of calls of another function in place of one that cannot work; omitted without any. */
  readonly replaced?: number;
}

/** Counts the work of strategies in a trace; `undefined` if there was none outside the agent loop. */
export function workOf(events: readonly TraceEvent[]): StrategyWork | undefined {
  const count = (counts: (event: TraceEvent) => boolean) => events.filter(counts).length;
  const work = {
    asked: count((event) => event.kind === "reply" && event.stage !== undefined),
    unusable: count((event) => event.kind === "stage" && event.unusable === true),
    sentBack: count((event) => event.kind === "repair"),
    mended: count((event) => event.kind === "repair" && event.repaired !== undefined),
  };
  const made = (by: CallEvent["by"]) => count((event) => event.kind === "call" && event.by === by);
  const [retried, replaced] = [made("retry"), made("alternative")];
  const all = {
    ...work,
    ...(retried === 0 ? {} : { retried }),
    ...(replaced === 0 ? {} : { replaced }),
  };
  return Object.values(all).some((number) => number > 0) ? all : undefined;
}

/** What an agent of the user's own did beside carrying out calls as they were written; each is omitted if 0. */
export interface AgentWork {
  /** Number of wrong calls that it hid from the model. */
  readonly hid?: number;
  /** Number of calls in whose place it carried out other arguments. */
  readonly repaired?: number;
  /** Number of right calls that it did not carry out. */
  readonly notRun?: number;
  /** Number of calls that it made by itself, those in place of others included. */
  readonly made?: number;
  /** Number of replies that it threw away, to ask for them again. */
  readonly resampled?: number;
  /** Number of calls of its own functions that replies made, of one reply at most 20. */
  readonly ownCalls?: number;
}

/** Counts what an agent did in a trace; `undefined` if it carried out all calls as they were written. */
export function agentWorkOf(events: readonly TraceEvent[]): AgentWork | undefined {
  const calls = callsOf(events);
  const did = (deed: AgentDeed) => calls.filter(({ agentDid }) => agentDid === deed).length;
  const replies = events.filter((event) => event.kind === "reply");
  return sumAgentWork([{
    hid: did("hid"),
    repaired: did("repaired"),
    notRun: did("not_run"),
    made: calls.filter(({ by }) => by === "agent").length,
    resampled: replies.filter(({ replaces }) => replaces !== undefined).length,
    ownCalls: sum(replies, ({ ownCalls = [] }) => ownCalls.length),
  }]);
}

/** Adds up what agents did in trials; `undefined` if that is nothing. */
export function sumAgentWork(works: readonly AgentWork[]): AgentWork | undefined {
  const names = ["hid", "repaired", "notRun", "made", "resampled", "ownCalls"] as const;
  const counts = names.map((name) => [name, sum(works, (work) => work[name] ?? 0)] as const)
    .filter(([, count]) => count > 0);
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

/** Returns the calls of a trace in the order in which they were made, which may not be that of their ends. */
export function callsOf(events: readonly TraceEvent[]): CallEvent[] {
  return events.filter((event) => event.kind === "call").sort((one, other) =>
    one.call - other.call
  );
}

/** Returns all variables that a call returned. */
export function returnedBy({ returned }: Pick<CallEvent, "returned">): readonly ReturnedValue[] {
  return returned === undefined ? [] : [returned, ...returned.others ?? []];
}

/** Returns all variables that a fault kept a call from returning. */
export function withheldBy(
  { withheld, alsoWithheld = [] }: Pick<CallEvent, "withheld" | "alsoWithheld">,
): readonly string[] {
  return withheld === undefined ? [] : [withheld, ...alsoWithheld];
}

/** Returns the failures of a trace, in order, as they are written to journals. */
export function failuresOf(events: readonly TraceEvent[]): Failure[] {
  return callsOf(events).flatMap(({ failure, call, step, function: name }) =>
    failure === undefined ? [] : [{ call, step, function: name, ...failure }]
  );
}
