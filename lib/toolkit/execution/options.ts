/**
 * The options of tool executors, and the checks of their values.
 * @module
 */

import { z } from "zod";
import { TOOL_ATTEMPTS } from "../../base/attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { cannot } from "../../base/errors.ts";
import { FUNCTION, must, parseWith, whole } from "../../base/input.ts";
import { isJsonObject } from "../../base/json.ts";
import { freshSeed } from "../../base/random.ts";
import type { Model } from "../../models/model.ts";
import type { Message } from "../../tools/message.ts";
import type { ExecutableCall, Tool } from "../../tools/tool.ts";
import type { ToolError } from "../../tools/tool_error.ts";

/** How arguments are repaired. */
export interface ArgumentRepair {
  /** The model to ask for other arguments. */
  readonly model: Model;
  /** How often to ask it in one execution, from 1 to 20. Default: 2. */
  readonly attempts?: number;
}

/**
 * The calls to make if a tool finds nothing or does not exist: by its name, the name of a tool to call with the
 * same arguments; or a function that returns another call, or nothing.
 */
export type AlternativeTools =
  | Readonly<Record<string, string>>
  | ((
    call: ExecutableCall,
    error: ToolError,
  ) => ExecutableCall | undefined | Promise<ExecutableCall | undefined>);

/** Options of a tool executor. Times are in milliseconds. */
export interface ToolExecutorOptions {
  /** Retries in one execution, including those of alternatives. Default: 3. */
  readonly retries?: number;
  /** The time limit of one attempt. Default: 60,000. */
  readonly timeout?: number;
  /** The time limit of a whole execution. Default: 300,000. */
  readonly timeLimit?: number;
  /** The first pause; later ones double up to 8,000, each shortened by up to half. Default: 500. */
  readonly backoff?: number;
  /** The longest pause; there is no retry if a tool asks for more. Default: 60,000. */
  readonly longestPause?: number;
  /** Lets a model replace invalid arguments. Omitted by default. */
  readonly repair?: ArgumentRepair;
  /** The calls to make if a tool finds nothing or does not exist. Default: none. */
  readonly alternatives?: AlternativeTools;
  /** The seed for the jitter of pauses. Default: a fresh one. */
  readonly seed?: number;
  /** The clock. Default: that of the system. */
  readonly clock?: Clock;
}

/** Options for one execution. */
export interface ExecuteOptions {
  /** Cancels the execution at once, even during a pause. */
  readonly signal?: AbortSignal;
  /** The conversation before the call, for the model that repairs its arguments. */
  readonly messages?: readonly Message[];
}

const DURATION = must<number>(
  "be a number above 0",
  (value) => typeof value === "number" && value > 0,
);
const PAUSE = must<number>(
  "be a number from 0 on",
  (value) => typeof value === "number" && value >= 0,
);

const REPAIR = z.strictObject(
  {
    model: must<Model>("be a model", (value) => has(value, "reply")),
    // As in the strategy `repair`.
    attempts: z.int().min(1).max(20).default(2),
  } satisfies Record<keyof ArgumentRepair, z.ZodType>,
);

const OPTIONS = z.strictObject(
  {
    retries: whole(0).default(TOOL_ATTEMPTS.retries),
    timeout: DURATION.default(60_000),
    timeLimit: DURATION.default(300_000),
    backoff: PAUSE.default(TOOL_ATTEMPTS.backoff),
    longestPause: PAUSE.default(TOOL_ATTEMPTS.longestPause),
    repair: REPAIR.optional(),
    alternatives: z.union([FUNCTION, z.record(z.string(), z.string())])
      .optional() as z.ZodType<AlternativeTools | undefined>,
    seed: whole(0).default(freshSeed),
    clock: must<Clock>(
      "be an object with the functions now, pause and after",
      (value) => ["now", "pause", "after"].every((name) => has(value, name)),
    ).default(SYSTEM_CLOCK),
  } satisfies Record<keyof ToolExecutorOptions, z.ZodType>,
);

/** The options of an executor with their defaults. */
export type ToolExecutorSettings = Readonly<z.infer<typeof OPTIONS>>;

function has(value: unknown, name: string): boolean {
  return isJsonObject(value) && typeof value[name] === "function";
}

/**
 * Returns the options of an executor with their defaults.
 *
 * @throws {InputError} If an option is unknown or its value is invalid.
 */
export function toolExecutorSettings(
  options: ToolExecutorOptions,
  tools: readonly Tool[],
): ToolExecutorSettings {
  const settings = parseWith(OPTIONS, options, "the options of a tool executor");
  const { alternatives } = settings;
  for (
    const [name, other] of Object.entries(typeof alternatives === "object" ? alternatives : {})
  ) {
    if (tools.some((tool) => tool.name === other)) continue;
    throw cannot(
      "make a tool executor",
      `the alternative to ${name} must be one of the tools`,
      `it is ${other}`,
    );
  }
  return settings;
}
