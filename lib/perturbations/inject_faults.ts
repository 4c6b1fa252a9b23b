/**
 * Fault injection: decides which calls fail and what the model reads then, in tasks and in custom tools
 * (Pipeline, "Error Handling and Retry Logic").
 * @module
 */

import { z } from "zod";
import { SYSTEM_CLOCK } from "../base/clock.ts";
import {
  type Fault,
  type FaultInjector,
  type FaultKind,
  FAULTS,
  FLAKY_RATE,
  isLasting,
} from "../tools/fault.ts";
import { must, parseWith } from "../base/input.ts";
import { assertTools } from "../tools/define_tool.ts";
import { fork } from "../base/random.ts";
import { argumentCheck } from "../tools/schema/validate.ts";
import {
  FRESH,
  freshTool,
  isIsolated,
  SHARED,
  signalIn,
  type StoppableTool,
} from "../tools/tool.ts";

/** A fault of a custom tool: its kind, how often it occurs, and its message. */
export interface ToolFault {
  /** The kind. */
  readonly kind: FaultKind;
  /** The name of the tool. Default: every tool. */
  readonly tool?: string;
  /**
   * How many of a tool's first calls it may hit: a whole number from 1, or `Infinity`. Default: 1, or for
   * `permission_denied`, `gone` and `flaky` all.
   */
  readonly times?: number;
  /** The probability that it hits each of these calls, from 0 to 1. Default: 1, or for `flaky` 0.2. */
  readonly rate?: number;
  /**
   * Seconds to wait according to the message of `rate_limit`. It is not enforced, but a tool executor does wait.
   * Default: "two seconds" in letters, for which an executor uses its own backoff.
   */
  readonly retryAfter?: number;
  /** Milliseconds before the call returns or fails. Default: 100 for `slow`, otherwise 0. */
  readonly delay?: number;
  /** The error message; for `malformed_return` the whole returned text. */
  readonly message?: string;
}

/** Options for the injection of faults. */
export interface FaultOptions {
  /** The same seed gives the same faults, in any order of calls to different tools. */
  readonly seed: number;
}

/** A fault with the tools that it hits. */
export interface AimedFault extends Omit<ToolFault, "tool"> {
  /** Whether it hits calls of a tool. */
  readonly hits: (tool: string) => boolean;
}

/** Default delay of a slow call in milliseconds. */
export const SLOW_DELAY = 100;

/**
 * The error message of each kind. A model that gives up may repeat it, so it contains no number that could
 * be taken for an answer.
 */
const MESSAGES: Readonly<Record<Exclude<FaultKind, "malformed_return" | "slow">, string>> = {
  timeout: "Timeout: the call timed out after thirty seconds",
  rate_limit: "Rate limit exceeded: too many requests. Retry after two seconds",
  not_found: "Not found: the requested record is not there yet. Try again",
  permission_denied: "Permission denied: access is forbidden with these credentials. Do not retry",
  gone:
    "Not found: this function no longer exists, and calling it again will not help. Another function " +
    "that gives the same result is on offer",
  invalid_argument:
    "Invalid argument: the service could not validate the request just now. Try again",
  flaky: "Service temporarily unavailable. Try again",
};

/** The text returned when a gateway answers in place of a tool. */
const MALFORMED =
  "<!DOCTYPE html>\n<html><head><title>Bad Gateway</title></head><body><center>Bad Gatew";

/**
 * Returns a function that decides for each call which fault hits it, if any. Each fault counts the calls of
 * each tool, except those that an earlier fault has hit.
 */
export function faultInjector(
  faults: readonly AimedFault[],
  { seed }: FaultOptions,
): FaultInjector {
  const counts = faults.map(() => new Map<string, number>());
  return (tool) => {
    // A fault that hits the tool called first must see every call, so all `hits` run before any fault is drawn.
    const candidates = [...faults.entries()].filter(([, { hits }]) => hits(tool));
    for (const [place, fault] of candidates) {
      const attempt = (counts[place]!.get(tool) ?? 0) + 1;
      counts[place]!.set(tool, attempt);
      if (isHit(fault, tool, { seed, attempt })) return toFault(fault);
    }
    return undefined;
  };
}

/** Whether a fault hits the n-th call of a tool: independent of other tools' calls, so their order is irrelevant. */
function isHit(
  { kind, times, rate }: Pick<ToolFault, "kind" | "times" | "rate">,
  tool: string,
  { seed, attempt }: FaultOptions & { readonly attempt: number },
): boolean {
  const limit = times ?? (isLasting(kind) || kind === "flaky" ? Infinity : 1);
  if (attempt > limit) return false;
  const probability = rate ?? (kind === "flaky" ? FLAKY_RATE : 1);
  return probability >= 1 || fork(seed, "fault", kind, tool, attempt).prng() < probability;
}

function toFault({ kind, retryAfter, message, ...others }: AimedFault): Fault {
  const delay = others.delay ?? (kind === "slow" ? SLOW_DELAY : 0);
  const late = delay > 0 ? { delay } : {};
  if (kind === "slow") return { kind, ...late };
  if (kind === "malformed_return") return { kind, content: message ?? MALFORMED, ...late };
  const standard = kind === "rate_limit" && retryAfter !== undefined
    ? `Rate limit exceeded: too many requests. Retry after ${retryAfter} seconds`
    : MESSAGES[kind];
  const error = message ?? standard;
  return { kind, content: JSON.stringify({ error }), error, ...late };
}

/**
 * Returns tools that fail on purpose, to replace the given ones in custom agents and tests. An error is
 * returned as custom tools return it, as a JSON object with the single key `error`; nothing is thrown, and
 * the tool itself does not run. A delay ends early when the signal of the call aborts. Faults never hit calls
 * that do not conform to the schema: the tool gets them. In each run, such as a trial of a test, counts start
 * again.
 *
 * @throws {InputError} If a tool is invalid, or a fault names an unknown tool or has a field out of range.
 *
 * @example Usage
 * ```ts
 * import { tool, withFaults } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 * import { z } from "zod";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Tells the weather of a city",
 *   parameters: z.object({ city: z.string() }),
 *   returns: { sky: "clear" },
 * });
 * const faults = [{ kind: "rate_limit", tool: "weather", times: 2, retryAfter: 5 }] as const;
 * const [failing] = withFaults([weather], faults, { seed: 7 });
 *
 * const results = [];
 * for (let call = 1; call <= 3; call++) results.push(await failing!.execute({ city: "Rome" }));
 * const error = "Rate limit exceeded: too many requests. Retry after 5 seconds";
 * assertEquals(results.map((result) => JSON.parse(result)), [{ error }, { error }, { sky: "clear" }]);
 * ```
 */
export function withFaults(
  tools: readonly StoppableTool[],
  faults: readonly ToolFault[],
  options: FaultOptions,
): StoppableTool[] {
  assertTools(tools);
  parseWith(faultsOf(tools.map(({ name }) => name)), faults, "the faults of tools");
  parseWith(FAULT_OPTIONS, options, "the options of faults");
  const aimed = faults.map(({ tool, ...fault }): AimedFault => ({
    ...fault,
    hits: (name) => tool === undefined || name === tool,
  }));
  return tools.map((tool) => failing(tool, aimed, options));
}

/** A tool with its faults. Calls are counted by tool, so each tool can have its own injector. */
function failing(
  tool: StoppableTool,
  faults: readonly AimedFault[],
  options: FaultOptions,
): StoppableTool {
  const inject = faultInjector(faults, options);
  const check = argumentCheck(tool);
  const wrapped: StoppableTool = {
    ...tool,
    async execute(input, callOptions) {
      const refusal = check(input) ?? tool.check?.(input);
      const fault = refusal === undefined ? inject(tool.name) : undefined;
      if (fault?.delay !== undefined) {
        await SYSTEM_CLOCK.pause(fault.delay, signalIn(callOptions).signal);
      }
      return fault?.content ?? await tool.execute(input, callOptions);
    },
  };
  // Not enumerable: a copy that wraps execute must not inherit it, as a restart would drop its wrapper.
  const begin = () => failing(freshTool(tool), faults, options);
  return Object.defineProperties(wrapped, {
    [FRESH]: { value: begin, enumerable: false },
    ...(isIsolated(tool) ? {} : { [SHARED]: { value: true, enumerable: false } }),
  });
}

const FAULT_OPTIONS = z.object({ seed: z.int() });

const AMOUNT = z.number().min(0).optional();

/** The schema of the faults of tools of these names. */
const faultsOf = (names: readonly string[]) =>
  z.array(z.strictObject(
    {
      kind: z.enum(FAULTS),
      tool: z.enum(names).optional(),
      times: must(
        "be a whole number from 1 on, or Infinity",
        (times) => times === Infinity || Number.isSafeInteger(times) && Number(times) >= 1,
      ).optional(),
      rate: z.number().min(0).max(1).optional(),
      retryAfter: AMOUNT,
      delay: AMOUNT,
      message: z.string().optional(),
    } satisfies Record<keyof ToolFault, z.ZodType>,
  ));
