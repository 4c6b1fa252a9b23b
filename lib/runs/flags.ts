/**
 * Flags: reads those that a command line takes.
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import type { InputError } from "../base/errors.ts";

/** A flag of a command line. */
export interface Flag {
  /** The name; default: the option's, in kebab case. */
  readonly name?: string;
  /** What stands for its value in `--help`; omitted for a switch. */
  readonly value?: string;
  /** Whether it may be given several times; its value then is a list. */
  readonly several?: true;
  /** What it does; default: what the option sets. `--help` leaves backticks out. */
  readonly help?: string;
  /** The words that it may have; default: any. */
  readonly choices?: readonly string[];
  /**
   * Returns the value of its text; default: the text.
   *
   * @param refuse Throws the error of a text that breaks a rule, such as `must be a number above 0`.
   */
  readonly read?: (text: string, refuse: Refuse) => unknown;
}

/** Throws the error of a text that breaks a rule; default state: the text. */
export type Refuse = (rule: string, state?: string) => never;

/** The value of a flag: a list for one that may be given several times, and `true` for a switch. */
type FlagValue<Row> = Row extends { readonly several: true } ? readonly ReadValue<Row>[]
  : ReadValue<Row>;

type ReadValue<Row> = Row extends { readonly read: (...given: never[]) => infer Value } ? Value
  : Row extends { readonly choices: readonly (infer Word)[] } ? Word
  : Row extends { readonly value: string } ? string
  : true;

/** The values of the flags that were given, by name. */
export type FlagValues<Flags> = { readonly [Name in keyof Flags]?: FlagValue<Flags[Name]> };

/** A flag with its name and that of its option. */
export interface NamedFlag extends Flag {
  /** The name of the option. */
  readonly option: string;
  /** The name after `--`. */
  readonly name: string;
  readonly help: string;
}

/** Flags, whose type alone has the values that they give. */
export type FlagsGiving<Values> = readonly NamedFlag[] & { readonly giving?: Values };

/** Names flags after their options: in kebab case, unless they have names of their own. */
export function namedFlags(flags: Readonly<Record<string, Flag>>): NamedFlag[] {
  return Object.entries(flags).map(([option, flag]) => ({
    name: option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    help: "",
    ...flag,
    option,
  }));
}

/** Reads a whole number. */
export const wholeFrom =
  (least: number, most = Number.MAX_SAFE_INTEGER) => (given: string, refuse: Refuse): number => {
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= least && value <= most) return value;
    const range = most < Number.MAX_SAFE_INTEGER ? `to ${most}` : "on";
    return refuse(`must be a whole number from ${least} ${range}`);
  };

/** Reads a number. */
export const number = (given: string, refuse: Refuse): number =>
  /^-?(\d+\.?\d*|\.\d+)$/.test(given) ? Number(given) : refuse("must be a number");

/**
 * Reads a command line.
 *
 * @param fail Makes the error of a front end from a reason.
 * @param unknown Gets each flag that is none of these; default: they are left alone.
 * @throws {InputError} If a value cannot be used or belongs to no flag, or a flag is given twice.
 */
export function readArguments(
  flags: readonly NamedFlag[],
  arguments_: readonly string[],
  fail: (reason: string) => InputError,
  unknown: (argument: string) => void = () => {},
) {
  const isValued = ({ value }: NamedFlag) => value !== undefined;
  const valued = flags.filter(isValued).map(({ name }) => name);
  const switches = flags.filter((flag) => !isValued(flag)).map(({ name }) => name);
  for (const argument of arguments_) {
    const [, name, given] = /^--([^=]+)=(.*)$/s.exec(argument) ?? [];
    if (name !== undefined && switches.includes(name)) {
      throw fail(`--${name} takes no value: it is given ${given}`);
    }
  }
  const parsed: Readonly<Record<string, unknown>> = parseArgs(
    joinNegativeValues(arguments_, valued),
    {
      string: [...valued, "_"],
      collect: valued,
      boolean: switches,
      "--": true,
      unknown(argument: string, key?: string) {
        if (key !== undefined) unknown(argument);
      },
    },
  );
  const values = flags.flatMap((flag) => {
    const { name, option, several, choices, read = (text: string) => text } = flag;
    if (!isValued(flag)) return parsed[name] === true ? [[option, true]] : [];
    const given = (parsed[name] as readonly string[]).map((text) => {
      if (text === "") throw fail(`--${name} needs a value`);
      const refuse = (rule: string, state = `is ${text}`): never => {
        throw fail(`--${name} ${rule}: it ${state}`);
      };
      if (choices?.includes(text) === false) refuse(`must be one of ${choices.join(", ")}`);
      return read(text, refuse);
    });
    if (given.length === 0) return [];
    if (!several && given.length > 1) throw fail(`--${name} is given twice`);
    return [[option, several ? given : given[0]]];
  });
  const [operands, program] = ["_", "--"].map((key) => (parsed[key] as unknown[]).map(String));
  return { values: Object.fromEntries(values), operands: operands!, program: program! };
}

/** Joins `--core -3` to `--core=-3`, so that `-3` is an invalid value and not an unknown flag. */
function joinNegativeValues(arguments_: readonly string[], valued: readonly string[]): string[] {
  const result: string[] = [];
  for (const argument of arguments_) {
    const last = result.at(-1);
    const isNegative = /^-[\d.]/.test(argument) && valued.some((name) => last === `--${name}`);
    if (isNegative) result[result.length - 1] = `${last}=${argument}`;
    else result.push(argument);
  }
  return result;
}
