/**
 * The trace: everything that happened in one trial, in order. Failures, metrics and reports are
 * projections of it.
 * @module
 */

import { z } from "zod";
import type { QuestionScores } from "../tasks/questions/scoring.ts";
import type { CallTruth } from "../tasks/questions/question_set.ts";
import { type Failure, FAILURE_CAUSE, type FailureCause } from "./failure.ts";
import { type FaultKind, FAULTS } from "../tools/fault.ts";
import { type Role, ROLES } from "../tasks/generated/graph.ts";
import { PARAMETER_VIEW, type ParameterView } from "./parameter_failure.ts";

/** Nothing that a model writes is kept longer than this in a trace. */
export const LONGEST_KEPT = 10_000;

/**
 * How the calls of a reply could be read: `strict` as the format wants them, `repaired` once something was
 * put right, `unreadable` where one of them could not be: its arguments then are what was written.
 */
export const PARSES = ["strict", "repaired", "unreadable"] as const;

/** How the calls of a reply could be read. */
export type Parse = typeof PARSES[number];

/** A reply of the model. */
export interface ReplyEvent {
  /** What kind of event it is. */
  readonly kind: "reply";
  /** The number of the request that it answers, from 1. */
  readonly request: number;
  /** What it was asked for beside the loop, such as `plan`; left out of replies of the loop. */
  readonly stage?: string;
  /** The model, where another than the trial's own was asked. */
  readonly model?: string;
  /** What the model said. */
  readonly text: string;
  /** How many calls it made. */
  readonly calls: number;
  /** Tokens read. */
  readonly inputTokens: number;
  /** Tokens written. */
  readonly outputTokens: number;
  /** Milliseconds that the successful attempt took. */
  readonly durationMs: number;
  /** What had to be repaired in the reply, in words; left out when nothing had. */
  readonly repairs?: readonly string[];
  /** How its calls could be read; left out where it attempts none. */
  readonly parsed?: Parse;
  /** The reply as it was written, where calls in its text were repaired or cannot be read; left out else. */
  readonly written?: string;
}

/** A call and its answer. */
export interface CallEvent {
  /** What kind of event it is. */
  readonly kind: "call";
  /** The number of the call in its trial, from 1. */
  readonly call: number;
  /** The number of the step in its trial, from 1. */
  readonly step: number;
  /** The name that was called. */
  readonly function: string;
  /** What the function is to the task; left out when there is no such function. */
  readonly role?: Role;
  /** The arguments as they were written. */
  readonly arguments: string;
  /** The arguments that they stand for; left out where they stand for themselves. */
  readonly resolved?: string;
  /** The text that went back. */
  readonly result: string;
  /** What the function returned as text, where a perturbation changed it on its way. */
  readonly unperturbed?: string;
  /** The variable and value that were returned; left out when the call was refused. */
  readonly returned?: { readonly variable: string; readonly value: number };
  /** The fault that was put in the way of the call; left out where none was. */
  readonly fault?: FaultKind;
  /** The variable that a fault kept the function from returning; left out where it kept none. */
  readonly withheld?: string;
  /** What the function itself said that went wrong, such as what it threw; left out when nothing did. */
  readonly error?: string;
  /** What is wrong with the call; left out when nothing is. */
  readonly failure?: FailureCause & { readonly root: boolean };
  /** What the call is beside the right ones; left out when it is one of them, or these are not known. */
  readonly parameters?: ParameterView;
  /** `true` when the arguments were right though one of them could not be known yet. */
  readonly guessed?: true;
  /** Parameters whose whole number was written as text, and accepted. */
  readonly coerced?: readonly string[];
}

/** The first call past the limit: it is neither checked nor answered, and does not count. */
export interface OverLimitEvent {
  /** What kind of event it is. */
  readonly kind: "over_limit";
  /** The name that was called. */
  readonly function: string;
  /** How many calls were allowed. */
  readonly limit: number;
}

/** A call that did not conform to its schema, and what became of it before it was carried out. */
export interface RepairEvent {
  /** What kind of event it is. */
  readonly kind: "repair";
  /** The name that was called. */
  readonly function: string;
  /** The arguments as they were written. */
  readonly arguments: string;
  /** What was wrong with them, in words. */
  readonly error: string;
  /** How often they went back to the model. */
  readonly attempts: number;
  /** The arguments that conform; left out when there are none. */
  readonly repaired?: string;
}

/** What came of a stage of a strategy. */
export interface StageEvent {
  /** What kind of event it is. */
  readonly kind: "stage";
  /** The stage, such as `plan`. */
  readonly stage: string;
  /** In words. */
  readonly message: string;
  /** `true` when the stage gave nothing to work with; left out when it did. */
  readonly unusable?: true;
}

/** A further message of the user, after the answer to the one before. */
export interface TurnEvent {
  /** What kind of event it is. */
  readonly kind: "turn";
  /** What the user said. */
  readonly text: string;
}

/** An assertion of the user's own that failed. */
export interface AssertionEvent {
  /** What kind of event it is. */
  readonly kind: "assertion";
  /** What it said. */
  readonly message: string;
  /** Where in the user's file, such as `tools_test.ts:31:5`; left out where that is not known. */
  readonly at?: string;
}

/** What a model that judges answers says of one. */
export interface JudgedAnswer {
  /** From 0 to 1; `null` where it gave none. */
  readonly score: number | null;
  /** Why there is none. */
  readonly why?: string;
  /** `true` where the answer is too long, or nests too deep, for any judge. */
  readonly unfit?: true;
}

/** What the answer to a question of a call set is worth. */
export interface ScoredEvent {
  /** What kind of event it is. */
  readonly kind: "scored";
  /** The user's question. */
  readonly question: string;
  /** What is held against the truth: the answer's text, or the calls that were made, as JSON. */
  readonly output: string;
  /** The calls that are true. */
  readonly truth: CallTruth;
  /** What the answer is worth. */
  readonly scores: QuestionScores;
  /** What it was worth before a model had repaired it; left out where none did. */
  readonly unrepaired?: QuestionScores;
  /** What kinds of errors it has. */
  readonly errors: readonly string[];
  /** What a model says of it that was asked to judge it; left out where none was. */
  readonly judged?: JudgedAnswer;
}

/** The final answer. */
export interface AnswerEvent {
  /** What kind of event it is. */
  readonly kind: "answer";
  /** The text. */
  readonly text: string;
  /** The text for people, such as `x is @sum=3`; left out where it is the same. */
  readonly rendered?: string;
  /** The value found in it; `null` when there is none. */
  readonly value: number | null;
}

/** Why a trial ended without an answer of its own. */
export interface StopEvent {
  /** What kind of event it is. */
  readonly kind: "stop";
  /** What ended it. */
  readonly reason: "call_limit" | "step_limit" | "time_limit" | "token_limit" | "invalid";
  /** In words. */
  readonly message: string;
}

/** What the scores of an answer must hold where they are read from a file. */
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
  | ScoredEvent
  | AnswerEvent
  | StopEvent;

/** What an event must hold where it is read from a file. */
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
    durationMs: z.number(),
    repairs: z.array(z.string()).exactOptional(),
    parsed: z.enum(PARSES).exactOptional(),
    written: z.string().exactOptional(),
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
    role: z.enum(ROLES).exactOptional(),
    returned: z.looseObject({ variable: z.string(), value: z.number() }).exactOptional(),
    fault: z.enum(FAULTS).exactOptional(),
    withheld: z.string().exactOptional(),
    error: z.string().exactOptional(),
    failure: z.intersection(FAILURE_CAUSE, z.looseObject({ root: z.boolean() })).exactOptional(),
    parameters: PARAMETER_VIEW.exactOptional(),
    guessed: z.literal(true).exactOptional(),
    coerced: z.array(z.string()).exactOptional(),
  }),
  z.looseObject({ kind: z.literal("over_limit"), function: z.string(), limit: z.int() }),
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
  }),
  z.looseObject({ kind: z.literal("stop"), reason: z.string(), message: z.string() }),
]) as unknown as z.ZodType<TraceEvent>;

/** What strategies did beside the loop. */
export interface StrategyWork {
  /** Replies that were asked for beside it. */
  readonly asked: number;
  /** Stages that gave nothing to work with, such as an empty plan. */
  readonly unusable: number;
  /** Calls that went back because they did not conform to their schema. */
  readonly sentBack: number;
  /** Those of them that then conformed. */
  readonly mended: number;
}

/**
 * What strategies did in a trace; `undefined` where they asked for nothing beside the loop.
 *
 * @example Usage
 * ```ts
 * import { workOf } from "./trace.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const repair = { kind: "repair", function: "f", arguments: "{", error: "no JSON" } as const;
 * assertEquals(workOf([{ ...repair, attempts: 2 }]), {
 *   asked: 0,
 *   unusable: 0,
 *   sentBack: 1,
 *   mended: 0,
 * });
 * assertEquals(workOf([]), undefined);
 * ```
 */
export function workOf(events: readonly TraceEvent[]): StrategyWork | undefined {
  const count = (counts: (event: TraceEvent) => boolean) => events.filter(counts).length;
  const work = {
    asked: count((event) => event.kind === "reply" && event.stage !== undefined),
    unusable: count((event) => event.kind === "stage" && event.unusable === true),
    sentBack: count((event) => event.kind === "repair"),
    mended: count((event) => event.kind === "repair" && event.repaired !== undefined),
  };
  return Object.values(work).some((number) => number > 0) ? work : undefined;
}

/** The calls of a trace, in the order in which they were made: those of an agent may end in another one. */
export function callsOf(events: readonly TraceEvent[]): CallEvent[] {
  return events.filter((event) => event.kind === "call").sort((one, other) =>
    one.call - other.call
  );
}

/**
 * The failures of a trace, in order, as journals keep them.
 *
 * @example Usage
 * ```ts
 * import { failuresOf } from "./trace.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const failures = failuresOf([{
 *   kind: "call",
 *   call: 1,
 *   step: 1,
 *   function: "func_qzx",
 *   arguments: "{}",
 *   result: '{"error":"There is no function func_qzx"}',
 *   failure: { type: "function_not_found", detail: { nearest: "func_qxz" }, root: true },
 * }]);
 * assertEquals(failures[0]?.type, "function_not_found");
 * ```
 */
export function failuresOf(events: readonly TraceEvent[]): Failure[] {
  return callsOf(events).flatMap(({ failure, call, step, function: name }) =>
    failure === undefined ? [] : [{ call, step, function: name, ...failure }]
  );
}
