/**
 * Trace: the events of one trial, in order. Failures, metrics and reports are projections of it.
 * @module
 */

import { z } from "zod";
import type { QuestionScores } from "../tasks/questions/scoring.ts";
import type { CallTruth } from "../tasks/questions/question_set.ts";
import {
  type Failure,
  type FailureCause,
  failureSchema,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
} from "./failure_types.ts";
import { type FaultKind, FAULTS } from "../tools/fault.ts";
import type { InjectedDemand } from "../tools/injection.ts";
import { type Role, ROLES } from "../tasks/graphs/graph.ts";
import type { JsonValue } from "../base/json.ts";
import type { Usage } from "../tools/message.ts";
import { USER_FIELDS, type UserEvent } from "./user_reply.ts";
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
  /** The calls in its text outside of reasoning, which are no calls; omitted without any. */
  readonly textCalls?: readonly TextCallEvent[];
  /** The names of the functions that its reasoning calls, as drafts, and the reply does not; omitted without any. */
  readonly drafts?: readonly string[];
  /** Set if it has nothing but reasoning, and was not cut off; otherwise omitted. */
  readonly reasoned?: true;
  /** How its calls could be parsed; omitted if it attempts none. */
  readonly parsed?: Parse;
  /** The reply as it was written, if calls in its text were not strict, or thinking left out; otherwise omitted. */
  readonly written?: string;
  /** The request whose reply an agent threw away, to send the same request again; otherwise omitted. */
  readonly replaces?: number;
  /**
   * Its calls of functions that are not the task's, such as an agent's handoffs and tools of its server; they are
   * not judged. Omitted if there are none.
   */
  readonly ownCalls?: readonly OwnCall[];
  /** Why it ended in the words of its server, where these are not known; otherwise omitted. */
  readonly unknownFinish?: string;
  /** What no request of an agent has shown so far of what stands before the user's message; otherwise omitted. */
  readonly omits?: readonly Omission[];
}

/** A call in the text of a reply. */
export interface TextCallEvent {
  /** The name; empty if it cannot be read. */
  readonly name: string;
  /** The arguments, as JSON of an object; omitted if they cannot be read. */
  readonly arguments?: string;
}

/** What an agent may leave out: the instructions, or the messages before. */
export type Omission = "system" | "history";

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

/** The mistake of a function whose result is not what it declares. */
export const MALFORMED_RETURN = "malformed return";

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
  /**
   * The number of a call that a fault took, whose result its arguments refer to: it was not made, and that is no
   * failure of the model's. The other call may be blocked itself. Omitted otherwise.
   */
  readonly blockedBy?: number;
  /** The variable that a fault kept the function from returning, the first of several; omitted if none. */
  readonly withheld?: string;
  /** The other variables that the fault kept it from returning; omitted if there are none. */
  readonly alsoWithheld?: readonly string[];
  /** The error that the function itself reported or threw; omitted if there is none. */
  readonly error?: string;
  /**
   * A mistake in the function itself: the kind and the place of an error that shows one, such as
   * `TypeError at tools_test.ts:12:20`, or {@linkcode MALFORMED_RETURN}; omitted for errors that functions throw on
   * purpose.
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
  /** What the agent did in place of carrying it out; omitted if it did carry it out, or returned its error. */
  readonly agentDid?: AgentDeed;
  /**
   * The number of the event under which the agent left the same call in an earlier turn, before it carried it out;
   * omitted otherwise.
   */
  readonly held?: number;
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

/** The stage that has the steps of a chain, at the end of its trial. */
export const CHAIN = "chain";

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
  /** Set if an agent said it in the name of its user; otherwise omitted. */
  readonly by?: "agent";
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
  /** `true` if that is a program that simulates a model. */
  readonly simulated?: true;
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
  /** `true` if the judge could not be asked. */
  readonly unavailable?: true;
  /** `true` if the judge is a program that simulates a model. */
  readonly simulated?: true;
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
    | "turn_limit"
    | "filtered"
    | "agent_error"
    | "invalid";
  /** Description of the reason. */
  readonly message: string;
  /** The place in the user's file where an agent threw, such as `tools_test.ts:31:5`; omitted otherwise. */
  readonly at?: string;
}

/** One event of a trial. */
export type TraceEvent =
  | ReplyEvent
  | CallEvent
  | OverLimitEvent
  | RepairEvent
  | StageEvent
  | TurnEvent
  | UserEvent
  | AssertionEvent
  | JudgedEvent
  | ScoredEvent
  | AnswerEvent
  | StopEvent;

const text = z.string();
const texts = z.array(text);
const yes = z.literal(true);
// It was parsed as JSON.
const json = z.custom<JsonValue>((value) => value !== undefined);

/** Fields of the same schema. */
function each<Schema extends z.ZodType>(schema: Schema, ...names: string[]) {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

const types = z.array(z.enum(PARAMETER_FAILURE_TYPES));

/** Schema of a view in a file. */
export const PARAMETER_VIEW: z.ZodType<ParameterView> = z.looseObject({
  oracle: z.int().min(1).nullable(),
  failures: z.array(z.looseObject({
    type: z.enum(PARAMETER_FAILURE_TYPES),
    parameter: text,
    given: z.any().optional(),
    expected: z.any().optional(),
    similarity: z.number().optional(),
  })),
  undecided: z.array(z.looseObject({ types, parameter: text })).optional(),
});

/** Schema of an answer's scores in a file. */
const CALL_SCORES = z.looseObject({
  ...each(z.boolean().nullable(), "syntaxValid", "structural", "exact"),
  routingExact: z.boolean(),
});

const RETURNED = z.looseObject({ variable: text, value: z.number() });
const SCORE = z.number().min(0).max(1).nullable();

/** The schemas of the fields of each kind of event. */
const EVENTS: { readonly [Kind in TraceEvent["kind"]]: Readonly<Record<string, z.ZodType>> } = {
  reply: {
    ...each(text, "text"),
    ...each(z.int(), "request", "calls"),
    ...each(z.number(), "inputTokens", "outputTokens", "durationMs"),
    ...each(text.optional(), "stage", "model", "written", "unknownFinish"),
    ...each(texts.optional(), "repairs", "drafts"),
    ...each(yes.optional(), "estimated", "reasoned"),
    failed: z.array(z.looseObject({
      cause: z.enum(["infrastructure", "unclear"]),
      status: z.int().optional(),
      message: text,
    })).optional(),
    textCalls: z.array(z.looseObject({ name: text, arguments: text.optional() })).optional(),
    parsed: z.enum(PARSES).optional(),
    replaces: z.int().optional(),
    ownCalls: z.array(z.looseObject({ function: text, arguments: text })).optional(),
    omits: z.array(z.enum(["system", "history"])).optional(),
  },
  call: {
    ...each(z.int(), "call", "step"),
    ...each(text, "function", "arguments", "result"),
    ...each(text.optional(), "resolved", "unperturbed", "withheld", "error", "mistake"),
    ...each(texts.optional(), "alsoWithheld", "coerced"),
    injected: z.union([
      z.looseObject({ function: text, arguments: z.record(text, json) }),
      z.looseObject({ say: text }),
    ]).optional(),
    role: z.enum(ROLES).optional(),
    returned: RETURNED.safeExtend({ others: z.array(RETURNED).optional() }).optional(),
    fault: z.enum(FAULTS).optional(),
    ...each(z.int().optional(), "blockedBy", "held"),
    failure: failureSchema({ root: z.boolean() }).optional(),
    parameters: PARAMETER_VIEW.optional(),
    guessed: yes.optional(),
    by: z.enum([...REPLACERS, "agent"]).optional(),
    agentDid: z.enum(AGENT_DEEDS).optional(),
    durationMs: z.number().min(0).optional(),
  },
  over_limit: { function: text, limit: z.int(), arguments: text.optional() },
  repair: {
    ...each(text, "function", "arguments", "error"),
    attempts: z.int(),
    repaired: text.optional(),
  },
  stage: { ...each(text, "stage", "message"), unusable: yes.optional() },
  turn: { text, by: z.literal("agent").optional() },
  user: USER_FIELDS,
  assertion: { message: text, at: text.optional(), never: yes.optional() },
  judged: {
    ...each(text, "question", "reply", "model"),
    ...each(text.optional(), "criterion", "reason"),
    score: SCORE,
    simulated: yes.optional(),
    atLeast: z.number().optional(),
    usage: z.looseObject({
      ...each(z.number().min(0), "inputTokens", "outputTokens"),
      estimated: yes.optional(),
    }),
  },
  scored: {
    ...each(text, "question", "output"),
    truth: z.looseObject({ API: texts, parameters: z.array(json) }),
    scores: CALL_SCORES,
    unrepaired: CALL_SCORES.optional(),
    errors: texts,
    judged: z.looseObject({
      score: SCORE,
      why: text.optional(),
      ...each(yes.optional(), "unfit", "unavailable", "simulated"),
    }).optional(),
  },
  answer: {
    text,
    ...each(text.optional(), "rendered", "said"),
    value: z.number().nullable(),
  },
  stop: { ...each(text, "reason", "message"), at: text.optional() },
};

const [FIRST, ...OTHERS] = Object.entries(EVENTS).map(([kind, fields]) =>
  z.looseObject({ kind: z.literal(kind), ...fields })
);

/** Schema of an event in a file. */
export const EVENT = z.discriminatedUnion("kind", [FIRST!, ...OTHERS]) as unknown as z.ZodType<
  TraceEvent
>;

/** Returns the events of calls in the order in which these were made, which may not be that of their ends. */
export function callEventsOf(events: readonly TraceEvent[]): CallEvent[] {
  const calls = events.filter((event) => event.kind === "call");
  const isOrdered = calls.every(({ call }, place) => place === 0 || calls[place - 1]!.call <= call);
  return isOrdered ? calls : calls.sort((one, other) => one.call - other.call);
}

/** Returns the calls of a trace, in order, each once: one that was held and then carried out as it was carried out. */
export function callsOf(events: readonly TraceEvent[]): CallEvent[] {
  const all = callEventsOf(events);
  if (all.every(({ agentDid }) => agentDid === undefined)) return all;
  const later = new Set(all.flatMap(({ held }) => held ?? []));
  return all.filter(({ call, agentDid }) => agentDid === undefined || !later.has(call));
}

/** Marks the calls that an agent made before it asked for a reply: no reply can have made them. */
export function withOwnCalls(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const first = events.findIndex(({ kind }) => kind === "reply");
  return events.map((event, place) =>
    event.kind === "call" && place < first && event.by === undefined
      ? { ...event, by: "agent" }
      : event
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
