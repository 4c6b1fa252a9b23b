/**
 * Flags of benchmarks: what stands behind `--` on the command line of `deno test`.
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { InputError } from "./input.ts";
import { parseShard, type Shard } from "./plan.ts";

/** What users hand over on the command line, behind `--`. */
export interface Flags {
  /** Just this trial, by its id. */
  readonly only: string | undefined;
  /** Only this part of the plan. */
  readonly shard: Shard | undefined;
  /** The seed of all tasks. */
  readonly seed: number | undefined;
  /** The file to which finished trials are appended. */
  readonly out: string | undefined;
  /** Trials that run at the same time. */
  readonly concurrency: number | undefined;
  /** Continues the journal. */
  readonly resume: boolean;
  /** When resuming, runs invalid trials again. */
  readonly retryInvalid: boolean;
}

/**
 * Reads the flags of a benchmark. Others are left alone: they belong to the user's own tests.
 *
 * @throws {InputError} If a value is not usable.
 *
 * @example Usage
 * ```ts
 * import { parseFlags } from "./flags.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseFlags(["--shard=2/5"]).shard, { index: 2, of: 5 });
 * ```
 */
export function parseFlags(arguments_: readonly string[]): Flags {
  const parsed = parseArgs(arguments_, {
    string: ["only", "shard", "seed", "out", "concurrency"],
    boolean: ["resume", "retry-invalid"],
  });
  const text = (name: string) => parsed[name] as string | undefined;
  const number = (name: string, least: number) => {
    const written = text(name);
    if (written === undefined) return undefined;
    const value = Number(written);
    if (/^\d+$/.test(written) && Number.isSafeInteger(value) && value >= least) return value;
    throw new InputError(
      `Cannot use --${name} as it must be a whole number from ${least} on: it is ${written}`,
    );
  };
  return {
    only: text("only"),
    shard: text("shard") === undefined ? undefined : parseShard(text("shard")!),
    seed: number("seed", 0),
    out: text("out"),
    concurrency: number("concurrency", 1),
    resume: parsed["resume"] === true,
    retryInvalid: parsed["retry-invalid"] === true,
  };
}
