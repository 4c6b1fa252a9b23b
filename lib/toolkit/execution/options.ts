/**
 * What can be set of a tool executor, and what cannot.
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, printable } from "../../base/json.ts";
import type { Model } from "../../models/model.ts";
import type { Tool } from "../../tools/tool.ts";
import type { ToolError } from "./tool_error.ts";
import type { ExecutableCall } from "./result.ts";

/** How arguments are repaired. */
export interface ArgumentRepair {
  /** The model that is asked for other arguments. */
  readonly model: Model;
  /** How often it is asked for one execution, 1 to 20; default 2. */
  readonly attempts?: number;
  /** What it is told; default what the strategy `repair` says. */
  readonly prompt?: string;
}

/**
 * What is called where a tool finds nothing or is none: by name, another tool with the same arguments; or
 * a function that gives the other call, or nothing.
 */
export type AlternativeTools =
  | Readonly<Record<string, string>>
  | ((
    call: ExecutableCall,
    error: ToolError,
  ) => ExecutableCall | undefined | Promise<ExecutableCall | undefined>);

/** What can be set of a tool executor. Times are in milliseconds. */
export interface ToolExecutorOptions {
  /** Retries of one execution, of its alternatives too; default 3. */
  readonly retries?: number;
  /** How long one attempt may take; default 60,000. */
  readonly timeout?: number;
  /** How long an execution may take with everything; default 300,000. */
  readonly timeLimit?: number;
  /** The first pause, which doubles up to 8,000, each shortened by up to half of it; default 500. */
  readonly backoff?: number;
  /** The longest pause: a tool that asks for more is given up; default 60,000. */
  readonly longestPause?: number;
  /** Calls that run at a time, of those that are carried out together; default 10. */
  readonly parallel?: number;
  /**
   * Whether arguments may refer to what other calls of the same reply return, such as `$1.field`; default
   * `false`. Calls that are carried out together then wait for those that they refer to.
   */
  readonly references?: boolean;
  /** How many calls a chain of references may have; default 5. */
  readonly depth?: number;
  /** Lets a model give other arguments where these do not fit; default none does. */
  readonly repair?: ArgumentRepair;
  /** What is called in place of a tool that finds nothing or is none; default nothing. */
  readonly alternatives?: AlternativeTools;
  /** Decides the jitter of the pauses; default a fresh one. */
  readonly seed?: number;
  /** Where time comes from; default the system. */
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
 * Checks what users set.
 *
 * @throws {InputError} If there is no such option, or its value cannot be used.
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
      const state = `${printable(prefix + name, 100)} is none of them`;
      throw new InputError(
        `Cannot make a tool executor as the options are ${
          Object.keys(rules).map((one) => prefix + one).join(", ")
        }: ${state}`,
      );
    }
    const rule = rules[name]!;
    // What is undefined is as good as left out, but for what must be there.
    if (value === undefined && name !== "model") continue;
    if (!rule.holds(value)) fail(`${prefix}${name} must be ${rule.words}`, value);
  }
}

function fail(rule: string, value: unknown): never {
  const state = typeof value === "object" && value !== null
    ? `of type ${Object.prototype.toString.call(value).slice(8, -1)}`
    : printable(String(value), 100);
  throw new InputError(`Cannot make a tool executor as ${rule}: it is ${state}`);
}
