/**
 * The options of tool executors, and the checks of their values.
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { cannot } from "../../base/errors.ts";
import { nearestOrAll } from "../../base/nearest_name.ts";
import { isJsonObject, printable } from "../../base/json.ts";
import type { Model } from "../../models/model.ts";
import type { ExecutableCall, Tool } from "../../tools/tool.ts";
import type { ToolError } from "../../tools/tool_error.ts";

/** How arguments are repaired. */
export interface ArgumentRepair {
  /** The model to ask for other arguments. */
  readonly model: Model;
  /** How often to ask it in one execution, from 1 to 20. Default: 2. */
  readonly attempts?: number;
  /** The prompt. Default: that of the strategy `repair`. */
  readonly prompt?: string;
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
  /** How many calls of one reply run at a time. Default: 10. */
  readonly parallel?: number;
  /**
   * Whether arguments may refer to results of other calls in the same reply, such as `$1.field`. A call then
   * waits for those that it refers to. Default: `false`.
   */
  readonly references?: boolean;
  /** The longest chain of references, in calls. Default: 5. */
  readonly depth?: number;
  /** Lets a model replace invalid arguments. Omitted by default. */
  readonly repair?: ArgumentRepair;
  /** The calls to make if a tool finds nothing or does not exist. Default: none. */
  readonly alternatives?: AlternativeTools;
  /** The seed for the jitter of pauses. Default: a fresh one. */
  readonly seed?: number;
  /** The clock. Default: that of the system. */
  readonly clock?: Clock;
}

interface Rule {
  readonly words: string;
  readonly holds: (value: unknown) => boolean;
}

const COUNT: Rule = {
  words: "a whole number from 0 on",
  holds: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
};
const ONE_OR_MORE: Rule = {
  words: "a whole number from 1 on",
  holds: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
};
const DURATION: Rule = {
  words: "a number above 0",
  holds: (value) => typeof value === "number" && value > 0,
};
const PAUSE: Rule = {
  words: "a number from 0 on",
  holds: (value) => typeof value === "number" && value >= 0,
};

const RULES: Readonly<Record<keyof ToolExecutorOptions, Rule>> = {
  retries: COUNT,
  timeout: DURATION,
  timeLimit: DURATION,
  backoff: PAUSE,
  longestPause: PAUSE,
  parallel: ONE_OR_MORE,
  references: { words: "true or false", holds: (value) => typeof value === "boolean" },
  depth: ONE_OR_MORE,
  repair: { words: "an object with a model", holds: isJsonObject },
  alternatives: {
    words: "names of tools by names, or a function",
    holds: (value) => typeof value === "function" || isJsonObject(value),
  },
  seed: COUNT,
  clock: {
    words: "an object with the functions now, pause and after",
    holds: (value) => ["now", "pause", "after"].every((name) => has(value, name)),
  },
};

const REPAIR_RULES: Readonly<Record<keyof ArgumentRepair, Rule>> = {
  model: { words: "a model", holds: (value) => has(value, "reply") },
  attempts: {
    words: "a whole number from 1 to 20",
    holds: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 20,
  },
  prompt: { words: "a text", holds: (value) => typeof value === "string" },
};

function has(value: unknown, name: string): boolean {
  return isJsonObject(value) && typeof value[name] === "function";
}

/**
 * Checks the options of an executor.
 *
 * @throws {InputError} If an option is unknown or its value is invalid.
 */
export function checkExecutorOptions(options: ToolExecutorOptions, tools: readonly Tool[]): void {
  check(options, RULES, "");
  const { repair, alternatives } = options;
  if (repair !== undefined) check({ ...repair, model: repair.model }, REPAIR_RULES, "repair.");
  if (alternatives === undefined || typeof alternatives === "function") return;
  for (const [name, other] of Object.entries(alternatives)) {
    if (tools.some((tool) => tool.name === other)) continue;
    fail(`the alternative to ${printable(name, 100)} must be one of the tools`, other);
  }
}

function check(
  options: object,
  rules: Readonly<Record<string, Rule>>,
  prefix: "" | "repair.",
): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      const known = Object.keys(rules).map((one) => prefix + one);
      const unknown = prefix + name;
      throw cannot(
        "make a tool executor",
        `there is no option ${printable(unknown, 100)}${nearestOrAll(unknown, known)}`,
      );
    }
    const rule = rules[name]!;
    // An undefined option counts as omitted, except for the required model.
    if (value === undefined && name !== "model") continue;
    if (!rule.holds(value)) fail(`${prefix}${name} must be ${rule.words}`, value);
  }
}

function fail(rule: string, value: unknown): never {
  const state = typeof value === "object" && value !== null
    ? `of type ${Object.prototype.toString.call(value).slice(8, -1)}`
    : printable(String(value), 100);
  throw cannot("make a tool executor", rule, `it is ${state}`);
}
