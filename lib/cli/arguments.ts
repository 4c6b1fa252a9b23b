/**
 * Arguments of commands: read strictly, so that a misspelled option is told and not ignored.
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { InputError } from "../base/errors.ts";

/** Which options a command takes. */
export interface OptionNames {
  /** Options with a value. */
  readonly values?: readonly string[];
  /** Options with a value that may be given several times. */
  readonly lists?: readonly string[];
  /** Options without a value. */
  readonly switches?: readonly string[];
}

/** Options that would hold a key, such as `--api-key`. */
const SECRET_OPTION = /^--?[\w-]*(?:key|token|secret|password|authorization|headers?)(?:=|$)/i;
const NO_KEYS =
  "keys are never given on a command line, which others can see: set OPENAI_API_KEY, or " +
  "another variable that the model's apiKeyVariable names in the suite";

/** The arguments of one command. */
export class Arguments {
  /** What stands beside the options, in order. */
  readonly operands: readonly string[];
  readonly #command: string;
  readonly #parsed: Record<string, unknown>;

  /** @throws {InputError} If an option is unknown, lacks its value, or is given twice. */
  constructor(command: string, arguments_: readonly string[], names: OptionNames) {
    const { values = [], lists = [], switches = [] } = names;
    this.#command = command;
    const parsed = parseArgs(joined(arguments_, [...values, ...lists]), {
      string: [...values, ...lists, "_"],
      collect: [...values, ...lists],
      boolean: switches,
      unknown: (argument, key) => {
        if (key === undefined) return true;
        if (SECRET_OPTION.test(argument)) throw this.error(NO_KEYS);
        const known = [...values, ...lists, ...switches].map((name) => `--${name}`).join(", ");
        throw this.error(`there is no option ${argument.split("=")[0]}; there are ${known}`);
      },
    });
    this.#parsed = parsed;
    this.operands = parsed._.map(String);
    for (const name of [...values, ...lists]) {
      const given = parsed[name] as readonly string[];
      if (given.includes("")) throw this.error(`--${name} needs a value`);
      if (given.length > 1 && values.includes(name)) throw this.error(`--${name} is given twice`);
    }
  }

  /** The value of an option. */
  text(name: string): string | undefined {
    return this.list(name)[0];
  }

  /** All values of an option that may be given several times. */
  list(name: string): readonly string[] {
    return (this.#parsed[name] ?? []) as readonly string[];
  }

  /** Whether an option without a value was given. */
  has(name: string): boolean {
    return this.#parsed[name] === true;
  }

  /** @throws {InputError} If the value is no whole number from `least` on. */
  integer(name: string, least = 0): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
    throw this.error(`--${name} must be a whole number from ${least} on: it is ${text}`);
  }

  /** @throws {InputError} If the value is no number. */
  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (/^-?(\d+\.?\d*|\.\d+)$/.test(text)) return Number(text);
    throw this.error(`--${name} must be a number: it is ${text}`);
  }

  /** An error that names the command. */
  error(reason: string): InputError {
    return new InputError(
      `Cannot run toolgate ${this.#command}: ${reason} (see toolgate ${this.#command} --help)`,
    );
  }
}

/** `--core -3` is a value, if a wrong one, and not an option `-3`. */
function joined(arguments_: readonly string[], valued: readonly string[]): string[] {
  const result: string[] = [];
  for (const argument of arguments_) {
    const last = result.at(-1);
    const negative = /^-[\d.]/.test(argument) && last !== undefined &&
      valued.some((name) => last === `--${name}`);
    if (negative) result[result.length - 1] = `${last}=${argument}`;
    else result.push(argument);
  }
  return result;
}

/** `path` as the user meant it: `deno task` changes to the project's folder and tells the user's. */
export function userPath(path: string): string {
  const permission = Deno.permissions.querySync({ name: "env", variable: "INIT_CWD" });
  const base = permission.state === "granted" ? Deno.env.get("INIT_CWD") : undefined;
  const absolute = /^([/\\]|[A-Za-z]:[/\\])/.test(path);
  return base === undefined || absolute ? path : `${base}/${path}`;
}
