/**
 * Arguments of commands: parsed strictly, so that a misspelled option is an error.
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { commandLine } from "../base/command_line.ts";
import { InputError } from "../base/errors.ts";
import { nearestOrAll } from "../base/nearest_name.ts";

/** The options of a command. */
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
  /** The arguments that are no options, in order. */
  readonly operands: readonly string[];
  readonly #command: string;
  readonly #parsed: Record<string, unknown>;

  /** @throws {InputError} If an option is unknown, lacks its value, or is given twice. */
  constructor(command: string, arguments_: readonly string[], names: OptionNames) {
    const { values = [], lists = [], switches = [] } = names;
    this.#command = command;
    const parsed = parseArgs(joinNegativeValues(arguments_, [...values, ...lists]), {
      string: [...values, ...lists, "_"],
      collect: [...values, ...lists],
      boolean: switches,
      unknown: (argument, key) => {
        if (key === undefined) return true;
        if (SECRET_OPTION.test(argument)) throw this.error(NO_KEYS);
        const known = [...values, ...lists, ...switches].map((name) => `--${name}`);
        const given = argument.split("=")[0]!;
        throw this.error(`there is no option ${given}${nearestOrAll(given, known)}`);
      },
    });
    this.#parsed = parsed;
    this.operands = parsed._.map(String);
    for (const name of [...values, ...lists]) {
      const texts = parsed[name] as readonly string[];
      if (texts.includes("")) throw this.error(`--${name} needs a value`);
      if (texts.length > 1 && values.includes(name)) throw this.error(`--${name} is given twice`);
    }
  }

  /** Returns the value of an option. */
  text(name: string): string | undefined {
    return this.list(name)[0];
  }

  /** Returns all values of an option that may be given several times. */
  list(name: string): readonly string[] {
    const given = this.#parsed[name];
    return Array.isArray(given) ? given : [];
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

  /** Returns an error that names the command. */
  error(reason: string): InputError {
    return new InputError(
      `Cannot run toolgate ${this.#command}: ${reason} (see ${
        commandLine(`${this.#command} --help`)
      })`,
    );
  }
}

/** Joins `--core -3` to `--core=-3`, so that `-3` is an invalid value and not an unknown option. */
function joinNegativeValues(arguments_: readonly string[], valued: readonly string[]): string[] {
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

export { userPath } from "../base/command_line.ts";
