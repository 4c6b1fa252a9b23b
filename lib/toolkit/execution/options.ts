/**
 * The options of tool executors, and the checks of their values.
 * @module
 */

import { z } from "zod";
import { TOOL_ATTEMPTS } from "../../base/attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { cannot } from "../../base/errors.ts";
import { FUNCTION, must, parseWith, whole } from "../../base/input.ts";
import { isJsonObject, type JsonValue, printable } from "../../base/json.ts";
import { freshSeed } from "../../base/random.ts";
import type { Model } from "../../models/model.ts";
import type { Message, Usage } from "../../tools/message.ts";
import type { ExecutableCall, Tool } from "../../tools/tool.ts";
import type { ToolError } from "../../tools/tool_error.ts";
import { redact } from "../../base/redact.ts";
import type { ToolErrorCategory } from "../../tools/error_category.ts";

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
  /** The first pause; later ones double up to 8,000, each shortened by up to half. Default: 1,000. */
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

/** One attempt to carry out a call. */
export interface ToolAttempt {
  /** Whether it succeeded. */
  readonly ok: boolean;
  /** The tool that was called. */
  readonly tool: string;
  /** The arguments as text, at most 10,000 UTF-16 code units. */
  readonly arguments: string;
  /**
   * What made it: a retry of the same call, a model that gave other arguments, or an alternative tool. Omitted for
   * the first one.
   */
  readonly by?: "retry" | "repair" | "alternative";
  /** When it began, in ISO 8601. */
  readonly startedAt: string;
  /** Its duration in milliseconds. */
  readonly durationMs: number;
  /** Whether the tool ran: it does not run with arguments that do not conform to its schema. */
  readonly ran: boolean;
  /** The category of its error; omitted if it succeeded. */
  readonly category?: ToolErrorCategory;
  /** The error message, with likely secrets removed; omitted if it succeeded. */
  readonly message?: string;
  /** Why nothing was done about it, where that failed itself: a function threw, or a model gave no reply. */
  readonly gaveUp?: string;
}

/** The result of a call through an executor. */
export type Execution =
  & {
    /** The tool called last: the one requested, or an alternative. */
    readonly tool: string;
    /** The text for the model: the result, or a JSON object with the single key `error`. */
    readonly content: string;
    /** All attempts, in order; empty if the call was cancelled before the first. */
    readonly attempts: readonly ToolAttempt[];
    /** Tokens used by repairs of arguments. */
    readonly usage: Usage;
  }
  & ({
    /** It succeeded. */
    readonly ok: true;
    /** The result parsed as JSON, or its text if it is not JSON. */
    readonly value: JsonValue;
  } | {
    /** It failed. */
    readonly ok: false;
    /** The last error: its category, and its message with likely secrets removed. */
    readonly error: { readonly category: ToolErrorCategory; readonly message: string };
  });

/** The longest error message, in UTF-16 code units. */
const MAX_MESSAGE_LENGTH = 1000;

/** An error message fit for models and people: one line of bounded length, with likely secrets removed. */
export function safeErrorMessage(message: string): string {
  return printable(redact(message), MAX_MESSAGE_LENGTH);
}
