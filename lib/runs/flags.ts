/**
 * Flags: reads those of the table of options from a command line, and describes them.
 * @module
 */

import { type Flag, type FlagPlace, type FlagsOf, type Option, OPTIONS } from "./options.ts";
import type { InputError } from "../base/errors.ts";

/** A flag with its name and that of its option. */
export interface NamedFlag extends Flag {
  /** The name of the option. */
  readonly option: string;
  /** The name after `--`. */
  readonly name: string;
  readonly help: string;
}

/** Returns the flags of a place, in the order of the table. */
export function flagsAt(place: FlagPlace): NamedFlag[] {
  return Object.entries(OPTIONS as Record<string, Option>).flatMap(
    ([option, { places, flag, about = "" }]) => {
      if (flag === undefined || !places.includes(place)) return [];
      const kebab = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      // An acronym keeps its capitals.
      const words = /^[A-Z]{2}/.test(about)
        ? about
        : about.charAt(0).toLowerCase() + about.slice(1);
      return [{ name: kebab, help: words.replace(/\.$/, ""), ...flag, option }];
    },
  );
}

/**
 * Returns the values of the flags that were given.
 *
 * @param textsOf Returns the texts of a flag, in order; empty if it was not given.
 * @param fail Makes the error of a front end from a reason.
 * @throws {InputError} If a value cannot be used, or two flags exclude each other.
 */
export function readFlags<P extends FlagPlace>(
  place: P,
  textsOf: (name: string) => readonly string[],
  fail: (reason: string) => InputError,
): FlagsOf<P> {
  const values = flagsAt(place).flatMap(({ name, option, value, several, read }) => {
    const given = textsOf(name).map((text) => {
      if (text === "" && value !== undefined) throw fail(`--${name} needs a value`);
      return read(text, (rule, state = `is ${text}`) => {
        throw fail(`--${name} ${rule}: it ${state}`);
      });
    });
    if (given.length === 0) return [];
    if (!several && given.length > 1) throw fail(`--${name} is given twice`);
    return [[option, several ? given : given[0]] as const];
  });
  return Object.fromEntries(values) as FlagsOf<P>;
}

/** Characters of a line of `--help`, at most. */
const MAX_LINE_LENGTH = 106;
/** Where the sentences of `--help` begin. */
const INDENT = 23;

/** Returns the lines of `--help` that describe the flags of a place. */
export function flagHelp(place: FlagPlace): string {
  return flagsAt(place).map(({ name, value, help }) => {
    const head = `  --${name}${value === undefined ? "" : ` ${value}`}`;
    const start = head.length < INDENT ? head.padEnd(INDENT) : `${head}\n${" ".repeat(INDENT)}`;
    return start + wrapped(help.replaceAll("`", ""), INDENT);
  }).join("\n");
}

/** Returns the names of the flags of a place as lines of `--help`. */
export function flagList(place: FlagPlace): string {
  return wrapped(flagsAt(place).map(({ name }) => `--${name}`).join(", "), 0);
}

/** Breaks a text into lines that begin at a column. */
function wrapped(text: string, column: number): string {
  let line = column;
  return text.split(" ").map((word, place) => {
    const fits = line + word.length <= MAX_LINE_LENGTH;
    line = (fits ? line : column) + word.length + 1;
    if (place === 0) return word;
    return fits ? ` ${word}` : `\n${" ".repeat(column)}${word}`;
  }).join("");
}
