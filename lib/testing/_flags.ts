/**
 * Benchmark flags: the arguments after `--` on the command line of `deno test`, or those that another runner has.
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { InputError } from "../base/errors.ts";
import { didYouMean, nearestName } from "../base/nearest_name.ts";
import type { Story } from "../reports/story_lines.ts";
import { readArguments } from "../runs/flags.ts";
import { AUTO, flagsAt, type FlagsOf } from "../runs/options.ts";
import { printable } from "../base/json.ts";
import { redact } from "../base/redact.ts";
import { runner } from "./_runners.ts";

/** The flags of a benchmark. */
export type Flags = FlagsOf<"deno test">;

/**
 * Parses the flags of a benchmark. Unknown flags are ignored: they may belong to the user's own tests.
 *
 * @param subject How errors refer to the benchmark.
 * @throws {InputError} If a value cannot be used.
 */
export function parseFlags(arguments_: readonly string[], subject: string): Flags {
  const flags = flagsAt("deno test");
  const fail = (reason: string) => new InputError(`Cannot run ${subject}: ${reason}`);
  const { variable } = runner();
  const typo = typoIn(arguments_, flags.map(({ name }) => name), variable);
  if (typo !== undefined) throw fail(typo);
  const { values, operands, program } = readArguments(flags, arguments_, fail);
  const [stray] = variable === undefined ? [] : [...operands, ...program];
  if (stray !== undefined) throw fail(`${variable} has flags alone: it has ${printable(stray)}`);
  return values as Flags;
}

/**
 * Returns how much of a failure `--story` asks for. Assertions may be used without any benchmark, which would read
 * its flags, and refuse a wrong value.
 */
export function storyAsked(): Story {
  return parseArgs([...runner().flags()], { string: ["story"] })["story"] === "full"
    ? "full"
    : "brief";
}

/** Flags of others that a warning has named: each is named once. */
const toldFlags = new Set<string>();

/** Describes a flag that differs from one of toolgate's by a letter or two: it is a typing error. */
function typoIn(
  arguments_: readonly string[],
  known: readonly string[],
  variable: string | undefined,
): string | undefined {
  for (const argument of arguments_) {
    const name = /^--([\w-]+)/.exec(argument)?.[1];
    if (name === undefined || known.includes(name)) continue;
    // It may be a flag of the user's own tests: --send is no misspelt --seed.
    const similar = nearestName(name, known, { surely: true });
    if (similar !== undefined) return `there is no flag --${name}; did you mean --${similar}?`;
    // It may be the user's own flag; users who think it is toolgate's must learn that it is not.
    const meant = didYouMean(`--${name}`, known.map((flag) => `--${flag}`));
    if (variable !== undefined) return `there is no flag --${name} in ${variable}${meant}`;
    if (!toldFlags.has(name)) {
      console.error(`toolgate has no flag --${name} and leaves it alone${meant}`);
    }
    toldFlags.add(name);
  }
}

/**
 * Returns the arguments that one trial alone needs as well: the flags by which recordings or traces answer it, and of those that
 * are not toolgate's the ones by which the user's file may choose its model: switches, and those with one of the
 * values `texts`. All others may hold anything, also a secret.
 */
export function keptArguments(
  arguments_: readonly string[],
  texts: ReadonlySet<string>,
): string[] {
  const flags = new Map(flagsAt("deno test").map((flag) => [flag.name, flag]));
  const kept: string[] = [];
  for (let place = 0; place < arguments_.length; place++) {
    const argument = arguments_[place]!;
    const [, name, given] = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const next = arguments_[place + 1];
    if (name === undefined) {
      if (texts.has(argument) && isPlain(argument)) kept.push(argument);
      continue;
    }
    const flag = flags.get(name);
    if (flag === undefined) {
      const isSwitch = given === undefined && (next === undefined || next.startsWith("-"));
      const isChoice = given !== undefined
        ? texts.has(given)
        : next !== undefined && texts.has(next);
      if ((isSwitch || isChoice) && isPlain(argument)) kept.push(argument);
      continue;
    }
    const value = given ?? (flag.value === undefined ? undefined : arguments_[++place]);
    // To record anew would replace what is to be looked at.
    const answers = ["replay", "auto", "traces"].includes(name) ||
      name === "record" && value === AUTO;
    if (answers && isPlain(value!)) kept.push(`--${name}=${value}`);
  }
  return kept;
}

/** Whether a text of a command line can be shown to anyone as it is. */
export function isPlain(text: string): boolean {
  return printable(text) === text && redact(text) === text &&
    !/\bkey|_key|token|secret|passw|credential/i.test(text);
}
