/**
 * Benchmark flags: the arguments after `--` on the command line of `deno test`.
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { InputError } from "../base/errors.ts";
import { didYouMean, nearestName } from "../base/nearest_name.ts";
import type { Story } from "../reports/story_lines.ts";
import { flagsAt, readFlags } from "../runs/flags.ts";
import type { FlagsOf } from "../runs/options.ts";

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
  const typo = typoIn(arguments_, flags.map(({ name }) => name));
  if (typo !== undefined) throw fail(typo);
  const valued = flags.filter(({ value }) => value !== undefined).map(({ name }) => name);
  const boolean = flags.filter(({ value }) => value === undefined).map(({ name }) => name);
  const parsed = parseArgs(arguments_, { string: valued, boolean, collect: valued });
  return readFlags("deno test", (name) => {
    const value: unknown = parsed[name];
    return Array.isArray(value) ? value : value === true ? [""] : [];
  }, fail);
}

/**
 * Returns how much of a failure `--story` asks for. Assertions may be used without any benchmark, which would read
 * its flags, and refuse a wrong value.
 */
export function storyAsked(arguments_: readonly string[] = Deno.args): Story {
  return parseArgs(arguments_, { string: ["story"] })["story"] === "full" ? "full" : "brief";
}

/** Describes a flag that differs from one of toolgate's by a letter or two: it is a typing error. */
function typoIn(arguments_: readonly string[], known: readonly string[]): string | undefined {
  for (const argument of arguments_) {
    const name = /^--([\w-]+)/.exec(argument)?.[1];
    if (name === undefined || known.includes(name)) continue;
    // It may be a flag of the user's own tests: --send is no misspelt --seed.
    const similar = nearestName(name, known, { surely: true });
    if (similar !== undefined) return `there is no flag --${name}; did you mean --${similar}?`;
    // It may be the user's own flag; users who think it is toolgate's must learn that it is not.
    const meant = didYouMean(`--${name}`, known.map((flag) => `--${flag}`));
    console.error(`toolgate has no flag --${name} and leaves it alone${meant}`);
  }
}
