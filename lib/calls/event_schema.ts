/**
 * The schema of events, by which journals are read.
 * @module
 */

import { z } from "zod";
import { FAILURE_CAUSE } from "./failure.ts";
import { PARAMETER_FAILURE_TYPES } from "./failure_types.ts";
import { FAULTS } from "../tools/fault.ts";
import { ROLES } from "../tasks/generated/graph.ts";
import { AGENT_DEEDS, REPLACERS } from "../tools/tool.ts";
import { type ParameterView, PARSES, type TraceEvent } from "./trace.ts";

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

/** Schema of an answer's scores in a file. */
const CALL_SCORES = z.looseObject({
  syntaxValid: z.boolean().nullable(),
  structural: z.boolean().nullable(),
  exact: z.boolean().nullable(),
  routingExact: z.boolean(),
});

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
    textCalls: z.array(z.looseObject({
      name: z.string(),
      arguments: z.string().exactOptional(),
    })).exactOptional(),
    drafts: z.array(z.string()).exactOptional(),
    parsed: z.enum(PARSES).exactOptional(),
    written: z.string().exactOptional(),
    replaces: z.int().exactOptional(),
    ownCalls: z.array(z.looseObject({ function: z.string(), arguments: z.string() }))
      .exactOptional(),
    omits: z.array(z.enum(["system", "history"])).exactOptional(),
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
      unavailable: z.literal(true).exactOptional(),
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
