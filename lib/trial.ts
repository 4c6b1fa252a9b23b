/**
 * One trial: a model works on a task, and what comes of it as one record.
 * @module
 */

import { abortable } from "@std/async/abortable";
import { z } from "zod";
import { type Limits, runLoop } from "./agent.ts";
import { type Behaviour, behavioursOf } from "./behaviour.ts";
import { createExecutor, type Executor } from "./executor.ts";
import { FAILURE, type Failure, FAILURE_TYPES, type FailureType } from "./failure.ts";
import { type GraphSpec, LINKINGS } from "./graph.ts";
import { InputError, reasonOf } from "./input.ts";
import { printable } from "./json.ts";
import { InfrastructureError, type Model, type Usage } from "./model.ts";
import { redact } from "./redact.ts";
import { strategyOf } from "./strategies.ts";
import { briefSpec, generateTask } from "./task.ts";
import { EVENT, failuresOf, type StopEvent, type TraceEvent } from "./trace.ts";

/** How a trial can end. `invalid` is infrastructure only: no failure and no success of the model. */
export const OUTCOMES = [
  "solved",
  "wrong_answer",
  "no_answer",
  "call_limit",
  "step_limit",
  "time_limit",
  "token_limit",
  "invalid",
] as const;

/** How a trial ended. */
export type Outcome = typeof OUTCOMES[number];

/** Stands between the names of served models, should they change within a trial. */
export const SERVED_SEPARATOR = ", ";

/** What is to be run: one model, strategy and perturbation on one task, for the nth time. */
export interface TrialKey {
  /** The model, by the name it is asked for. */
  readonly model: string;
  /** The strategy's id. */
  readonly strategy: string;
  /** The perturbation's id; `none` for none. */
  readonly perturbation: string;
  /** What the task is generated from. */
  readonly task: GraphSpec;
  /** The repetition, from 1. */
  readonly repetition: number;
}

/** A trial in its place in a plan. */
export interface PlannedTrial extends TrialKey {
  /** The one-line id. */
  readonly id: string;
  /** The place in the plan, from 0. */
  readonly index: number;
  /** The balanced block that it belongs to, from 0: one graph of every cell. */
  readonly block: number;
}

/** The record of a finished trial: one line of a journal. */
export interface Trial extends Omit<PlannedTrial, "model"> {
  /** The version of this format. */
  readonly v: 1;
  /** What kind of line it is. */
  readonly kind: "trial";
  /** The name of the suite. */
  readonly suite: string;
  /**
   * The model that was asked for, the one that says to have answered (empty when none did), and
   * whether it is a program.
   */
  readonly model: {
    readonly requested: string;
    readonly served: string;
    readonly simulated: boolean;
  };
  /** How it ended. */
  readonly outcome: Outcome;
  /** Whether it ended with the right answer. */
  readonly solved: boolean;
  /** Whether the target function had really returned the value that was answered. */
  readonly grounded: boolean;
  /** Calls within the limit, refused ones included. */
  readonly calls: number;
  /** The fewest calls that solve the task, where that is known. */
  readonly minimumCalls: number | null;
  /** What was wrong with its calls. */
  readonly failures: readonly Failure[];
  /** Habits that it showed. */
  readonly behaviours: readonly Behaviour[];
  /** Tokens that it took. */
  readonly usage: Usage;
  /** When it started, in ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds that it took, without waiting, retries and failed attempts. */
  readonly durationMs: number;
  /** Why it is invalid; left out when it is not. */
  readonly reason?: string;
  /** Why nothing was begun after it, such as a budget; left out when nothing ended the run. */
  readonly ends?: string;
  /** Everything that happened, in order. */
  readonly events: readonly TraceEvent[];
}

/**
 * A trial without its events and the details of its failures: what tables and gates need of it, small
 * enough that those of a whole run can be kept.
 */
export interface TrialScore extends Omit<Trial, "events" | "failures"> {
  /** The type of each failure, and whether it was a root. */
  readonly failures: readonly Pick<Failure, "type" | "root">[];
  /** Tokens of earlier tries at it, which infrastructure had spoiled; left out without any. */
  readonly replaced?: Usage;
}

/** What tables and gates need of a trial: other tools may keep whole transcripts in their lines. */
export function scoreOf(trial: Trial): TrialScore {
  const { v, kind, id, suite, index, block, model, strategy, perturbation, task, repetition } =
    trial;
  const { outcome, solved, grounded, calls, minimumCalls, behaviours, usage } = trial;
  const { startedAt, durationMs, reason, ends } = trial;
  return {
    ...{ v, kind, id, suite, index, block, model, strategy, perturbation, task, repetition },
    ...{ outcome, solved, grounded, calls, minimumCalls, behaviours, usage, startedAt, durationMs },
    ...(reason === undefined ? {} : { reason }),
    ...(ends === undefined ? {} : { ends }),
    failures: trial.failures.map(({ type, root }) => KINDS[`${root}`][type]),
  };
}

/** Each kind of failure once, as a run may have a hundred thousand of them. */
const KINDS = { true: kindsOf(true), false: kindsOf(false) };

function kindsOf(root: boolean) {
  return Object.fromEntries(FAILURE_TYPES.map((type) => [type, { type, root }])) as Record<
    FailureType,
    Pick<Failure, "type" | "root">
  >;
}

/** Works on a task instead of the agent loop: calls `executor.tools` and gives its final text. */
export type Agent = (executor: Executor, options: { signal?: AbortSignal }) => Promise<string>;

/** Options of {@linkcode runTrial}. */
export interface TrialOptions {
  /** The name of the suite; default empty. */
  readonly suite?: string;
  /** What the trial may take. */
  readonly limits?: Limits;
  /** Works on the task instead of the agent loop; the strategy must be `baseline`. */
  readonly agent?: Agent;
  /** Aborts the trial, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * The one-line id of a trial: everything that is needed to run it again.
 *
 * @example Usage
 * ```ts
 * import { parseTrialId, trialId } from "./trial.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const key = {
 *   model: "sim:planner",
 *   strategy: "baseline",
 *   perturbation: "none",
 *   task: { core: 5, depth: 2, connected: 0, disconnected: 0, seed: 17 },
 *   repetition: 1,
 * };
 * assertEquals(parseTrialId(trialId(key)), key);
 * ```
 */
export function trialId({ model, strategy, perturbation, task, repetition }: TrialKey): string {
  const words = { ...briefSpec(task), model, strategy, perturbation, repetition };
  return Object.entries(words).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join("..") : String(value);
    return `${name}=${encodeURI(text.toWellFormed())}`;
  }).join(" ");
}

const WHOLE = z.stringFormat("whole number", /^(0|[1-9]\d*)$/).transform(Number);
const TEXT = z.string().transform((text) => decodeURI(text));

/** The words of an id, no more and no fewer. */
const ID_WORDS = z.strictObject({
  core: WHOLE,
  depth: WHOLE,
  connected: WHOLE,
  disconnected: WHOLE,
  seed: WHOLE,
  types: WHOLE.exactOptional(),
  inputs: z.stringFormat("range", /^\d+\.\.\d+$/)
    .transform((range) => range.split("..").map(Number) as [number, number]).exactOptional(),
  extraEdges: WHOLE.exactOptional(),
  linking: z.enum(LINKINGS).exactOptional(),
  model: TEXT,
  strategy: TEXT,
  perturbation: TEXT,
  repetition: WHOLE.refine((repetition) => repetition >= 1),
});

/** What an id made by {@linkcode trialId} says, or `undefined` if it is none. */
export function parseTrialId(id: string): TrialKey | undefined {
  const words = id.trim().split(/\s+/).map((word) => {
    const sign = word.indexOf("=");
    return [word.slice(0, Math.max(0, sign)), word.slice(sign + 1)] as const;
  });
  if (new Set(words.map(([name]) => name)).size < words.length) return undefined;
  try {
    const { model, strategy, perturbation, repetition, ...spec } = ID_WORDS.parse(
      Object.fromEntries(words),
    );
    return { model, strategy, perturbation, task: briefSpec(spec), repetition };
  } catch {
    return undefined;
  }
}

/**
 * Runs one trial to its end. Whatever goes wrong on the way to the model makes it `invalid`.
 *
 * @throws {InputError} If there is no such strategy, or it does not go with an agent of one's own.
 * @throws The reason of `options.signal`, if that aborts it.
 *
 * @example Usage
 * ```ts
 * import { runTrial } from "./trial.ts";
 * import { scripted } from "./models/scripted.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const model = scripted("shrug", () => ({ text: "I cannot tell." }));
 * const trial = await runTrial(task, model);
 * assertEquals(trial.outcome, "no_answer");
 * ```
 */
export async function runTrial(
  spec: GraphSpec | PlannedTrial,
  model: Model,
  options: TrialOptions = {},
): Promise<Trial> {
  const planned = "task" in spec ? spec : onlyTrial(spec, model.name);
  const { limits = {}, signal } = options;
  const strategy = strategyOf(planned.strategy);
  if (options.agent !== undefined) assertAgentStrategies("the trial", [planned.strategy]);
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const task = generateTask(planned.task);
  using executor = createExecutor(
    task,
    limits.calls === undefined ? {} : { callLimit: limits.calls },
  );
  const served = new Set<string>();
  let replies = 0;
  let inputTokens = 0;
  let outputTokens = 0;
  const record = (event: TraceEvent) => {
    executor.record(event);
    if (event.kind !== "reply") return;
    replies += event.durationMs;
    inputTokens += event.inputTokens;
    outputTokens += event.outputTokens;
  };

  const stop = (kind: StopEvent["reason"], message: string) => {
    if (!executor.ended) executor.record({ kind: "stop", reason: kind, message });
    return { outcome: kind, grounded: false };
  };
  const work = async () => {
    signal?.throwIfAborted();
    if (options.agent !== undefined) {
      const working = options.agent(executor, signal === undefined ? {} : { signal });
      return executor.answer(await (signal === undefined ? working : abortable(working, signal)));
    }
    const ending = await strategy({
      model,
      environment: executor,
      messages: [{ role: "user", content: executor.prompt }],
      context: { trial: planned.id, repetition: planned.repetition },
      limits,
      record,
      served: (name) => served.add(name),
      ...(signal === undefined ? {} : { signal }),
    }, runLoop);
    return ending.kind === "answer"
      ? executor.answer(ending.text)
      : stop(ending.kind, ending.message);
  };
  let reason: string | undefined;
  const { outcome, grounded } = await work().catch((error) => {
    signal?.throwIfAborted();
    // An agent that trips over the error of a call past the limit has reached the limit.
    if (executor.exhausted) return stop("call_limit", "a call past the limit was made");
    const said = error instanceof InfrastructureError
      ? error.message
      : `the ${options.agent === undefined ? "model" : "agent"} threw: ${reasonOf(error)}`;
    reason = printable(redact(said), 500);
    return stop("invalid", reason);
  });

  return {
    v: 1,
    kind: "trial",
    id: planned.id,
    suite: options.suite ?? "",
    index: planned.index,
    block: planned.block,
    model: {
      requested: model.name,
      served: [...served].join(SERVED_SEPARATOR),
      simulated: model.simulated,
    },
    strategy: planned.strategy,
    perturbation: planned.perturbation,
    task: planned.task,
    repetition: planned.repetition,
    outcome,
    solved: outcome === "solved",
    grounded,
    calls: executor.calls,
    minimumCalls: task.minimumCalls,
    failures: failuresOf(executor.events),
    behaviours: behavioursOf(task, executor.events),
    usage: { inputTokens, outputTokens },
    startedAt,
    durationMs: Math.round(options.agent === undefined ? replies : performance.now() - started),
    ...(reason === undefined ? {} : { reason }),
    events: executor.events,
  };
}

/**
 * Strategies change what goes into the agent loop; an agent of one's own has none.
 *
 * @throws {InputError} If there is another strategy than `baseline`.
 */
export function assertAgentStrategies(action: string, strategies: readonly string[]): void {
  const other = strategies.find((strategy) => strategy !== "baseline");
  if (other === undefined) return;
  throw new InputError(
    `Cannot run ${action} as an agent of your own has no loop that a strategy could change: ` +
      `the strategy is ${printable(other)}`,
  );
}

function onlyTrial(task: GraphSpec, model: string): PlannedTrial {
  const key = { model, strategy: "baseline", perturbation: "none", task, repetition: 1 };
  return { ...key, id: trialId(key), index: 0, block: 0 };
}

/** What a line of a journal must hold to be read as a trial; further fields are kept as they are. */
export const TRIAL_LINE: z.ZodType<Trial> = z.looseObject({
  v: z.literal(1),
  kind: z.literal("trial"),
  id: z.string().min(1),
  suite: z.string(),
  index: z.int().min(0).default(0),
  block: z.int().min(0).default(0),
  model: z.looseObject({
    requested: z.string(),
    served: z.string(),
    simulated: z.boolean().optional(),
  }).transform((model) => ({
    ...model,
    simulated: model.simulated ?? model.requested.startsWith("sim:"),
  })),
  strategy: z.string().default("baseline"),
  perturbation: z.string().nullish().transform((id) => id ?? "none"),
  task: z.looseObject({}),
  repetition: z.int().min(1).default(1),
  outcome: z.enum(OUTCOMES),
  solved: z.boolean(),
  grounded: z.boolean().default(false),
  calls: z.int().min(0),
  minimumCalls: z.int().min(0).nullable().default(null),
  failures: z.array(FAILURE).default([]),
  behaviours: z.array(z.string()).default([]),
  usage: z.looseObject({ inputTokens: z.number().min(0), outputTokens: z.number().min(0) })
    .default({ inputTokens: 0, outputTokens: 0 }),
  startedAt: z.string().default(""),
  durationMs: z.number().default(0),
  reason: z.string().nullish().transform((reason) => reason ?? undefined),
  ends: z.string().exactOptional(),
  // Other tools may keep other events; nothing that is decided rests on them.
  events: z.array(EVENT).catch([]),
}).refine((trial) => trial.solved === (trial.outcome === "solved"), {
  message: "solved must be true exactly when outcome is solved",
  path: ["solved"],
}) as unknown as z.ZodType<Trial>;
