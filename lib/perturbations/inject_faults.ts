/**
 * Putting faults in the way of calls: which calls are hit, what a model then reads, and the same for tools of
 * one's own (Pipeline, "Error Handling and Retry Logic").
 * @module
 */

import { SYSTEM_CLOCK } from "../base/clock.ts";
import {
  type Fault,
  type FaultInjector,
  type FaultKind,
  FAULTS,
  FLAKY_RATE,
} from "../tools/fault.ts";
import { InputError } from "../base/errors.ts";
import { type JsonObject, printable } from "../base/json.ts";
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

/** A fault of a tool of one's own: which, how often, and what is said. */
export interface ToolFault {
  /** The kind. */
  readonly kind: FaultKind;
  /** The tool; default each of them. */
  readonly tool?: string;
  /**
   * How many calls of a tool it hits, the first ones: a whole number from 1 on, or infinite. Default 1, for
   * `permission_denied` and `flaky` all.
   */
  readonly times?: number;
  /** The share of these calls that it hits, from 0 to 1; default 1, for `flaky` 0.2. */
  readonly rate?: number;
  /**
   * Seconds that the message of `rate_limit` says to wait. Nothing holds a caller to it, but a tool executor
   * does wait. By default it says "two seconds" in letters, which an executor leaves to its own backoff.
   */
  readonly retryAfter?: number;
  /** Milliseconds that pass before the call returns or fails; default 100 for `slow`, else none. */
  readonly delay?: number;
  /** What went wrong, in words; of `malformed_return` the whole of what is returned. */
  readonly message?: string;
}

/** What is drawn follows from it. */
export interface FaultOptions {
  /** The seed: the same one gives the same faults, whatever the order of calls of different tools. */
  readonly seed: number;
}

/** A fault, and which calls it hits. */
export interface AimedFault extends Omit<ToolFault, "tool"> {
  /** Whether it is one of this tool. */
  readonly hits: (tool: string) => boolean;
}

/** Milliseconds that a slow call takes longer, unless told otherwise. */
export const SLOW_DELAY = 100;

/**
 * What is said of each kind. A model that gives up may well say these words again, so that they hold no
 * number that could pass for its answer.
 */
const MESSAGES: Readonly<Record<Exclude<FaultKind, "malformed_return" | "slow">, string>> = {
  timeout: "Timeout: the call timed out after thirty seconds",
  rate_limit: "Rate limit exceeded: too many requests. Retry after two seconds",
  not_found: "Not found: the requested record is not there yet. Try again",
  permission_denied: "Permission denied: access is forbidden with these credentials. Do not retry",
  invalid_argument:
    "Invalid argument: the service could not validate the request just now. Try again",
  flaky: "Service temporarily unavailable. Try again",
};

/** What comes back where a gateway answers in place of a tool. */
const MALFORMED =
  "<!DOCTYPE html>\n<html><head><title>Bad Gateway</title></head><body><center>Bad Gatew";

/**
 * Puts faults in the way of calls. Each counts the calls of each tool that come to it: those which a fault
 * before it has hit do not.
 */
export function injectorOf(
  faults: readonly AimedFault[],
  { seed }: FaultOptions,
): FaultInjector {
  const counts = faults.map(() => new Map<string, number>());
  return (tool) => {
    // A fault of what is called first must hear of each call.
    const own = [...faults.entries()].filter(([, { hits }]) => hits(tool));
    for (const [place, fault] of own) {
      const attempt = (counts[place]!.get(tool) ?? 0) + 1;
      counts[place]!.set(tool, attempt);
      if (strikes(fault, tool, { seed, attempt })) return faultOf(fault);
    }
    return undefined;
  };
}

/** Whether a fault hits the n-th call of a tool: it hangs on nothing else, so that the order of calls is all one. */
function strikes(
  { kind, times, rate }: Pick<ToolFault, "kind" | "times" | "rate">,
  tool: string,
  { seed, attempt }: FaultOptions & { readonly attempt: number },
): boolean {
  const most = times ?? (kind === "permission_denied" || kind === "flaky" ? Infinity : 1);
  if (attempt > most) return false;
  const share = rate ?? (kind === "flaky" ? FLAKY_RATE : 1);
  return share >= 1 || fork(seed, "fault", kind, tool, attempt).prng() < share;
}

function faultOf({ kind, retryAfter, message, ...others }: AimedFault): Fault {
  const delay = others.delay ?? (kind === "slow" ? SLOW_DELAY : 0);
  const late = delay > 0 ? { delay } : {};
  if (kind === "slow") return { kind, ...late };
  if (kind === "malformed_return") return { kind, content: message ?? MALFORMED, ...late };
  const usual = kind === "rate_limit" && retryAfter !== undefined
    ? `Rate limit exceeded: too many requests. Retry after ${retryAfter} seconds`
    : MESSAGES[kind];
  const error = message ?? usual;
  return { kind, content: JSON.stringify({ error }), error, ...late };
}

/**
 * Tools that fail as they are told to, for agents and tests of one's own: plain tools that take the place of
 * the others. Errors come back as tools of one's own give them, as a JSON object with the single key `error`;
 * nothing is thrown, and the tool itself is not run. A delay ends as soon as the signal aborts that a call
 * was made with. Calls that do not conform to the schema are none that
 * could fail: they go on to the tool. Wherever a run begins, in each trial of a test, faults begin anew.
 *
 * @throws {InputError} If one is no tool, a fault names none of them, or something of it is out of its range.
 *
 * @example Usage
 * ```ts
 * import { withFaults } from "./inject_faults.ts";
 * import { tool } from "../tools/define_tool.ts";
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
  checkFaults(faults, tools.map(({ name }) => name));
  if (!Number.isSafeInteger(options?.seed)) {
    throw new InputError(
      `Cannot put faults in the way of tools as the seed must be a whole number: it is ${options?.seed}`,
    );
  }
  const aimed = faults.map(({ tool, ...fault }): AimedFault => ({
    ...fault,
    hits: (name) => tool === undefined || name === tool,
  }));
  return tools.map((tool) => failing(tool, aimed, options));
}

/** A tool with its faults. These are counted for each tool, so that each can have an injector of its own. */
function failing(
  tool: StoppableTool,
  faults: readonly AimedFault[],
  options: FaultOptions,
): StoppableTool {
  const inject = injectorOf(faults, options);
  const check = argumentCheck(tool);
  const own: StoppableTool = {
    ...tool,
    async execute(input: JsonObject, given): Promise<string> {
      const refused = check(input) ?? tool.check?.(input);
      const fault = refused === undefined ? inject(tool.name) : undefined;
      if (fault?.delay !== undefined) await SYSTEM_CLOCK.pause(fault.delay, signalIn(given).signal);
      return fault?.content ?? await tool.execute(input, given);
    },
  };
  // A copy with an execute around this one must not be begun anew without what is around.
  const begin = () => failing(freshTool(tool), faults, options);
  return Object.defineProperties(own, {
    [FRESH]: { value: begin, enumerable: false },
    ...(isIsolated(tool) ? {} : { [SHARED]: { value: true, enumerable: false } }),
  });
}

function checkFaults(faults: readonly ToolFault[], names: readonly string[]): void {
  const fail = (place: number, rule: string, state: unknown): never => {
    throw new InputError(
      `Cannot put faults in the way of tools as ${rule}: at faults[${place}] it is ` +
        printable(String(state), 100),
    );
  };
  if (!Array.isArray(faults)) {
    throw new InputError("Cannot put faults in the way of tools as they must be a list");
  }
  for (const [place, fault] of (faults as readonly ToolFault[]).entries()) {
    const { kind, tool, times, rate, retryAfter, delay, message } = fault ?? {} as ToolFault;
    if (!FAULTS.includes(kind)) fail(place, `kind must be one of ${FAULTS.join(", ")}`, kind);
    if (tool !== undefined && !names.includes(tool)) {
      fail(place, `tool must be one of ${names.join(", ")}`, tool);
    }
    if (times !== undefined && times !== Infinity && !(Number.isSafeInteger(times) && times >= 1)) {
      fail(place, "times must be a whole number from 1 on", times);
    }
    if (rate !== undefined && !(rate >= 0 && rate <= 1)) {
      fail(place, "rate must be from 0 to 1", rate);
    }
    for (const [name, number] of Object.entries({ retryAfter, delay })) {
      if (number === undefined || Number.isFinite(number) && number >= 0) continue;
      fail(place, `${name} must be 0 or more`, number);
    }
    if (message !== undefined && typeof message !== "string") {
      fail(place, "message must be a text", message);
    }
    const unknown = Object.keys(fault).find((key) => !Object.hasOwn(FIELDS, key));
    if (unknown !== undefined) {
      fail(place, `a fault has no fields but ${Object.keys(FIELDS).join(", ")}`, unknown);
    }
  }
}

const FIELDS: Readonly<Record<keyof ToolFault, true>> = {
  kind: true,
  tool: true,
  times: true,
  rate: true,
  retryAfter: true,
  delay: true,
  message: true,
};
