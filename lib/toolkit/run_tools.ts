/**
 * The loop with a strategy on tools of one's own: what benchmarks measure, in production.
 * @module
 */

import { z } from "zod";
import { runLoop } from "../trials/agent/loop.ts";
import { converse } from "../trials/agent/conversation.ts";
import { parseWith } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { isJsonObject, type JsonObject, printable } from "../base/json.ts";
import type { Message, Usage } from "../tools/message.ts";
import type { Model, StageUse } from "../models/model.ts";
import { type Ending, type Limits, Session } from "../trials/agent/session.ts";
import {
  assertReferring,
  stagesOf,
  strategiesIn,
  type StrategyOptions,
  withStrategy,
} from "../trials/strategies/registry.ts";
import {
  type CaseOptions,
  perturbCase,
  type PerturbedCase,
  type Step,
  toolboxOptions,
} from "../perturbations/perturbed_case.ts";
import type { QueryParameter } from "../perturbations/queries/literals.ts";
import type { Tool, ToolChoice } from "../tools/tool.ts";
import { Toolbox } from "../trials/executors/toolbox.ts";
import type { TraceEvent } from "../calls/trace.ts";

/** What {@linkcode runTools} takes beside a model and tools. */
export interface RunToolsOptions extends StrategyOptions {
  /**
   * The conversation so far, or the user's message alone. Another run's conversation goes on with what
   * that run returned, and the user's next message.
   */
  readonly messages: string | readonly Message[];
  /** The strategy, such as `repair` or `restate+plan_then_call`; default `baseline`. */
  readonly strategy?: string;
  /** Models that are asked in place of `model`, by stage of the strategy, such as `plan`. */
  readonly models?: Readonly<Record<string, Model>>;
  /** The values that the messages give, by name: for `restate` and `indirection`. */
  readonly given?: JsonObject;
  /** What it may take; default 50 calls, and no other limit. */
  readonly limits?: Limits;
  /**
   * Whether arguments may refer to what other calls of the same reply return, such as `$1.field` for call 1
   * or `$call_id.field`; default `false`. Calls are then carried out in the order of their references, and
   * those that do not wait for each other at the same time.
   */
  readonly references?: boolean;
  /** Whether the model may, must or must not call; default what its options say. */
  readonly toolChoice?: ToolChoice;
  /** What is done to what the model gets to see: to find out how brittle it is with these tools. */
  readonly perturbation?: ToolsPerturbation;
  /** Aborts the work. */
  readonly signal?: AbortSignal;
}

/** A perturbation of tools, of the last user message, or of what the tools return. */
export interface ToolsPerturbation extends CaseOptions {
  /** The id, such as `WT`, or several joined by `+`; of the checks `reorder` alone. */
  readonly id: string;
  /** What the message tells, and where; {@linkcode findParameters} finds the arguments of known calls in it. */
  readonly parameters?: readonly QueryParameter[];
}

/** What came of the work. */
export interface ToolsRun {
  /** The answer, or the limit that was reached. */
  readonly ending: Ending;
  /**
   * The whole conversation: what was handed in, and what the model and the tools have said since. With
   * `indirection` these speak of names. What a strategy tells the model beside it is left out: the next
   * run tells it again.
   */
  readonly messages: readonly Message[];
  /** What was given, and with `indirection` each name that a value got: the next run needs these. */
  readonly given: JsonObject;
  /** Everything that happened, in order. */
  readonly events: readonly TraceEvent[];
  /** Tokens of all replies. */
  readonly usage: Usage;
  /** What other models than `model` were asked for. */
  readonly stages: readonly StageUse[];
  /** What each part of the perturbation did; empty without one. Of returns, only those that came count. */
  readonly perturbed: readonly Step[];
}

/** A model that never stops calling is stopped. */
const MOST_CALLS = 50;

/**
 * Lets a model work with tools of one's own, by a strategy.
 *
 * @throws {InputError} If there is no such strategy, stage or option, options do not go with the strategy,
 * or tools, messages or what is given are unusable.
 * @throws {InfrastructureError} If no usable reply could be had.
 *
 * @example Usage
 * ```ts
 * import { runTools } from "./run_tools.ts";
 * import { scripted } from "../models/scripted.ts";
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
  checkOptions(options);
  const { strategy = "baseline", models = {}, given = {}, limits = {}, toolChoice } = options;
  const { messages, signal, references = false, ...settings } = options;
  const opening = checkMessages(messages);
  checkStages(strategy, models);
  checkToolChoice(toolChoice, tools);
  const { calls: callLimit = MOST_CALLS, observation: longestResult, ...others } = limits;
  const { parallel, depth } = limits;
  if (references) assertReferring("run tools", strategy);
  const perturbed = perturb(tools, opening, options.perturbation);
  const asked = perturbed === undefined ? opening : withQuestion(opening, perturbed.query.text);
  const work = withStrategy(strategy, runLoop, settings);
  using toolbox = new Toolbox(tools, {
    ...{ callLimit, given, longestResult, references, parallel, depth },
    ...(perturbed === undefined ? {} : toolboxOptions(perturbed)),
  });
  const session = new Session({
    model,
    models: new Map(Object.entries(models)),
    limits: others,
    toolChoice,
    context: { trial: "", repetition: 1 },
    record: (event) => toolbox.record(event),
    ...(signal === undefined ? {} : { signal }),
  });
  const done = await converse(work, { session, environment: toolbox, messages: asked });
  return {
    ending: done.ending,
    messages: done.messages,
    given: Object.fromEntries(done.given),
    events: toolbox.events,
    usage: session.usage,
    stages: session.stages,
    perturbed: perturbed?.steps ?? [],
  };
}

/** What the model gets to see in place of the tools, the last user message and the returns. */
function perturb(
  tools: readonly Tool[],
  messages: readonly Message[],
  perturbation: ToolsPerturbation | undefined,
): PerturbedCase | undefined {
  if (perturbation === undefined) return undefined;
  const { id, parameters = [], ...options } = perturbation;
  const text = messages.findLast(({ role }) => role === "user")?.content ?? "";
  return perturbCase(tools, { text, parameters }, id, options);
}

/** A conversation whose last user message reads otherwise. */
function withQuestion(messages: readonly Message[], content: string): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.map((message, place): Message =>
    place === last && message.role === "user" ? { ...message, content } : message
  );
}

/** The options there are: one that is mistyped would change nothing, and nobody would know. */
const OPTIONS: Readonly<Record<keyof RunToolsOptions, true>> = {
  messages: true,
  strategy: true,
  models: true,
  given: true,
  limits: true,
  references: true,
  toolChoice: true,
  perturbation: true,
  signal: true,
  prompts: true,
  attempts: true,
  rounds: true,
  dereference: true,
};

function checkOptions(options: RunToolsOptions): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown === undefined) return;
  throw new InputError(
    `Cannot run tools as the options are ${Object.keys(OPTIONS).join(", ")}: ${
      printable(unknown, 100)
    } is none of them`,
  );
}

function checkStages(strategy: string, models: Readonly<Record<string, Model>>): void {
  const stages = stagesOf(strategiesIn(strategy));
  const unknown = Object.keys(models).find((stage) => !stages.includes(stage));
  if (unknown === undefined) return;
  throw new InputError(
    `Cannot run tools as the models of ${strategy} are by stage, which is ${
      stages.join(" or ") || "none"
    }: ${printable(unknown, 100)} is no stage of it`,
  );
}

const FREEDOMS: readonly unknown[] = ["auto", "none", "required"] satisfies ToolChoice[];

function checkToolChoice(choice: ToolChoice | undefined, tools: readonly Tool[]): void {
  if (choice === undefined || FREEDOMS.includes(choice)) return;
  const named = isJsonObject(choice) ? choice["function"] : undefined;
  if (tools.some(({ name }) => name === named)) return;
  const state = isJsonObject(choice) ? `the function is ${named}` : `it is ${choice}`;
  throw new InputError(
    "Cannot run tools as toolChoice must be auto, none, required, or { function: name }, with the " +
      `name of one of the tools: ${printable(state, 100)}`,
  );
}

const CALL = z.object({ id: z.string(), name: z.string(), arguments: z.string() });

// Deeper down they are for whoever they go back to: nobody else reads them.
const ITEM = z.custom<JsonObject>(isJsonObject, "must be an object");
const CARRIED = z.object({ by: z.string(), items: z.array(ITEM) });

const MESSAGES = z.array(z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "user"]), content: z.string() }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    calls: z.array(CALL),
    carried: CARRIED.exactOptional(),
  }),
  z.object({
    role: z.literal("tool"),
    callId: z.string(),
    name: z.string(),
    content: z.string(),
  }),
])).min(1, "there must be a message") satisfies z.ZodType<readonly Message[]>;

function checkMessages(messages: string | readonly Message[]): readonly Message[] {
  if (typeof messages === "string") return [{ role: "user", content: messages }];
  parseWith(MESSAGES, messages, "the messages");
  return messages;
}
