/**
 * Flags of benchmarks: what stands behind `--` on the command line of `deno test`.
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { InputError } from "../base/errors.ts";
import { parseShard, type Shard } from "../runs/shards.ts";
import type { Budget } from "../models/prices.ts";
import {
  RECORDING_FLAGS,
  type RecordingOptions,
  recordingsFromFlags,
} from "../models/recordings/recordings.ts";
import type { RateLimits } from "../models/http/rate_limiter.ts";

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
  /** What the run may spend, in place of the benchmark's budget. */
  readonly budget: Budget;
  /** What each model may be asked for, in place of the benchmark's limits. */
  readonly rates: RateLimits;
  /** Where models are recorded or replayed from, in place of the benchmark's recordings. */
  readonly recordings: RecordingOptions | undefined;
  /** The file to which the verdicts are written as JSON. */
  readonly verdict: string | undefined;
  /** The file to which the report is written as HTML. */
  readonly report: string | undefined;
}

/** All flags, as users write them. */
const TEXTS = [
  "only",
  "shard",
  "seed",
  "out",
  "concurrency",
  "max-tokens",
  "max-usd",
  "requests-per-minute",
  "tokens-per-minute",
  "verdict",
  "report",
  ...RECORDING_FLAGS,
];
const SWITCHES = ["resume", "retry-invalid"];

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
  assertNoSlip(arguments_);
  const parsed = parseArgs(arguments_, { string: TEXTS, boolean: SWITCHES });
  const text = (name: string) => {
    const written = parsed[name] as string | undefined;
    if (written === "") {
      throw new InputError(`Cannot use --${name} as it needs a value: it has none`);
    }
    return written;
  };
  const number = (name: string, least: number) => {
    const written = text(name);
    if (written === undefined) return undefined;
    const value = Number(written);
    if (/^\d+$/.test(written) && Number.isSafeInteger(value) && value >= least) return value;
    throw new InputError(
      `Cannot use --${name} as it must be a whole number from ${least} on: it is ${written}`,
    );
  };
  const tokens = number("max-tokens", 1);
  const usd = amount(text("max-usd"));
  const requestsPerMinute = number("requests-per-minute", 1);
  const tokensPerMinute = number("tokens-per-minute", 1);
  return {
    only: text("only"),
    shard: text("shard") === undefined ? undefined : parseShard(text("shard")!),
    seed: number("seed", 0),
    out: text("out"),
    concurrency: number("concurrency", 1),
    resume: parsed["resume"] === true,
    retryInvalid: parsed["retry-invalid"] === true,
    budget: {
      ...(tokens === undefined ? {} : { tokens }),
      ...(usd === undefined ? {} : { usd }),
    },
    rates: {
      ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
      ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    },
    recordings: recordingsFromFlags(text),
    verdict: text("verdict"),
    report: text("report"),
  };
}

function amount(written: string | undefined): number | undefined {
  if (written === undefined) return undefined;
  const value = Number(written);
  if (/^(\d+\.?\d*|\.\d+)$/.test(written) && value > 0) return value;
  throw new InputError(
    `Cannot use --max-usd as it must be a number of US dollars above 0: it is ${written}`,
  );
}

/** A flag that differs from ours by a letter or two is a slip, and not one of the user's own. */
function assertNoSlip(arguments_: readonly string[]): void {
  const known = [...TEXTS, ...SWITCHES];
  for (const argument of arguments_) {
    const name = /^--([\w-]+)/.exec(argument)?.[1];
    if (name === undefined || known.includes(name)) continue;
    const near = (flag: string) => levenshteinDistance(flag, name) <= (flag.length > 6 ? 2 : 1);
    // Short words are too close to others: --send is no slip of --seed.
    const meant = known.find((flag) => flag.length > 5 && near(flag));
    if (meant !== undefined) {
      throw new InputError(
        `Cannot use --${name} as there is no such flag: did you mean --${meant}?`,
      );
    }
    // It may be one of the user's own; whoever thinks that it is ours must hear that it is not.
    const ours = known.map((flag) => `--${flag}`).join(", ");
    console.error(`toolgate has no flag --${name} and leaves it alone; it has ${ours}`);
  }
}
