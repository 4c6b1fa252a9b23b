/**
 * Runs a model with a strategy on custom tools: the loop that benchmarks measure, for production.
 * @module
 */

import { z } from "zod";
import { converse, runLoop } from "../trials/agent/loop.ts";
import { must, parseWith } from "../base/input.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Message, Usage } from "../tools/message.ts";
import type { Model, StageUse } from "../models/model.ts";
import { type Ending, type Limits, Session } from "../trials/agent/session.ts";
import { strategySchema } from "../trials/strategies/entry.ts";
import {
  assertReferring,
  type StrategyOptions,
  withStrategy,
} from "../trials/strategies/registry.ts";
import type { Tool } from "../tools/tool.ts";
import { Toolbox } from "../trials/executors/toolbox.ts";
import type { TraceEvent } from "../calls/trace.ts";

/** Options of {@linkcode runTools}. */
export interface RunToolsOptions extends StrategyOptions {
  /**
   * The conversation so far, or a single user message. To continue an earlier run, pass the messages that it
   * returned, followed by the user's next one.
   */
  readonly messages: string | readonly Message[];
  /** The strategy, such as `repair` or `restate+plan_then_call`. Default: `plain`. */
  readonly strategy?: string;
  /** Models to ask in place of `model`, by stage of the strategy, such as `plan`. */
  readonly models?: Readonly<Record<string, Model>>;
  /** The values given in the messages, by name, for `restate` and `indirection`. */
  readonly given?: JsonObject;
  /** The limits of the run. Default: 50 calls, and no others. */
  readonly limits?: Limits;
  /**
   * Whether arguments may refer to results of other calls in the same reply, such as `$1.field` for call 1 or
   * `$call_id.field`. Calls then run in the order of their references, independent ones at the same time.
   * Default: `false`.
   */
  readonly references?: boolean;
  /** Aborts the run. */
  readonly signal?: AbortSignal;
}

/** The result of {@linkcode runTools}. */
export interface ToolsRun {
  /** The answer, or the limit reached. */
  readonly ending: Ending;
  /**
   * The whole conversation: the messages passed in, and those of the model and the tools. With `indirection`
   * these contain names. Instructions added by the strategy are left out, as the next run adds them again.
   */
  readonly messages: readonly Message[];
  /** The given values, and with `indirection` those of all names. Pass them to the next run. */
  readonly given: JsonObject;
  /** All events, in order. */
  readonly events: readonly TraceEvent[];
  /** Tokens of all replies. */
  readonly usage: Usage;
  /** The use of models other than `model`, by stage. */
  readonly stages: readonly StageUse[];
}

/** The default limit on calls, to stop a model that never stops calling. */
const CALL_LIMIT = 50;

/**
 * Runs a model with a strategy on custom tools.
 *
 * @throws {InputError} If the strategy, a stage or an option is unknown, an option does not fit the strategy,
 * or the tools, messages or given values are invalid.
 * @throws {InfrastructureError} If the model gives no usable reply.
 *
 * @example Usage
 * ```ts
 * import { scripted } from "@toolgate/toolgate";
 * import { runTools } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const double = {
 *   name: "double",
 *   description: "Doubles a number",
 *   parameters: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
 *   execute: async ({ x }: Record<string, unknown>) => await JSON.stringify(2 * (x as number)),
 * };
 * const model = scripted("script", [
 *   { calls: [{ name: "double", arguments: { x: 21, result: "@Twice" } }] },
 *   { text: "It is @Twice." },
 * ]);
 *
 * const { ending, messages, given } = await runTools(model, [double], {
 *   messages: "What is twice 21?",
 *   strategy: "indirection",
 * });
 * assertEquals(ending, { kind: "answer", text: "It is 42.", rendered: "It is @Twice=42." });
 *
 * // The conversation goes on:
 * const next = scripted("script", [{ text: "Still @Twice." }]);
 * const { ending: more } = await runTools(next, [double], {
 *   messages: [...messages, { role: "user", content: "And now?" }],
 *   given,
 *   strategy: "indirection",
 * });
 * assertEquals(more.kind === "answer" && more.text, "Still 42.");
 * ```
 */
export async function runTools(
  model: Model,
  tools: readonly Tool[],
  options: RunToolsOptions,
): Promise<ToolsRun> {
  const { strategy = "plain", models = {}, given = {}, limits = {} } = options;
  parseWith(OPTIONS, { ...options, strategy }, "the options of runTools");
  const { messages, signal, references = false, ...settings } = options;
  const opening: readonly Message[] = typeof messages === "string"
    ? [{ role: "user", content: messages }]
    : messages;
  const { calls: callLimit = CALL_LIMIT, observation: longestResult, parallel, depth } = limits;
  if (references) assertReferring("run tools", strategy);
  const loop = withStrategy(strategy, runLoop, settings);
  using toolbox = new Toolbox(tools, {
    callLimit,
    given,
    longestResult,
    references,
    parallel,
    depth,
  });
  const session = new Session({
    model,
    models: new Map(Object.entries(models)),
    limits,
    context: { trial: "", repetition: 1 },
    record: (event) => toolbox.record(event),
    signal,
  });
  const result = await converse(loop, { session, environment: toolbox, messages: opening });
  return {
    ending: result.ending,
    messages: result.messages,
    given: Object.fromEntries(result.given),
    events: toolbox.events,
    usage: session.usage,
    stages: session.stages,
  };
}

const CALL = z.object({ id: z.string(), name: z.string(), arguments: z.string() });

// Only the provider that gets the items back reads their contents.
const ITEM = z.custom<JsonObject>(isJsonObject, "must be an object");
const CARRIED = z.object({ by: z.string(), items: z.array(ITEM) });

const MESSAGES = z.array(z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "user"]), content: z.string() }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    calls: z.array(CALL),
    carried: CARRIED.optional(),
  }),
  z.object({
    role: z.literal("tool"),
    callId: z.string(),
    name: z.string(),
    content: z.string(),
  }),
])).min(1, "there must be a message") satisfies z.ZodType<readonly Message[]>;

const ANY = z.unknown().optional();

/** The options, of which some are looked at where they are used: a mistyped one would silently have no effect. */
const OPTIONS = strategySchema(
  must("be a model", (value) => isJsonObject(value) && typeof value["reply"] === "function"),
  {
    messages: z.union([z.string(), MESSAGES]),
    references: z.boolean().optional(),
    given: ANY,
    limits: ANY,
    signal: ANY,
  },
);
