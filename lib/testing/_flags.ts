/**
 * Benchmark flags: the arguments after `--` on the command line of `deno test`.
 * @module
 */

import { defined } from "../base/json.ts";
import { parseArgs } from "@std/cli/parse-args";
import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { cannot } from "../base/errors.ts";
import { parseShard, type Shard } from "../runs/shards.ts";
import type { Budget } from "../models/prices.ts";
import {
  RECORDING_FLAGS,
  type RecordingOptions,
  recordingsFromFlags,
} from "../models/recordings/recordings.ts";
import type { RateLimits } from "../models/http/rate_limiter.ts";

/** The parsed flags of a benchmark. */
export interface Flags {
  /** Runs only the trial with this id. */
  readonly only: string | undefined;
  /** Runs only this part of the plan. */
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
  /** The run's budget, in place of the benchmark's. */
  readonly budget: Budget;
  /** The rate limits of each model, in place of the benchmark's. */
  readonly rates: RateLimits;
  /** The recordings to write or replay, in place of the benchmark's. */
  readonly recordings: RecordingOptions | undefined;
  /** The file to which the verdicts are written as JSON. */
  readonly verdict: string | undefined;
  /** The file to which the report is written as HTML. */
  readonly report: string | undefined;
}

/** The names of flags that take a value. */
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
 * Parses the flags of a benchmark. Unknown flags are ignored: they may belong to the user's own tests.
 *
 * @throws {InputError} If a value cannot be used.
 *
 * @example Usage
 * ```ts
 * import { parseFlags } from "./_flags.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseFlags(["--shard=2/5"]).shard, { index: 2, of: 5 });
 * ```
 */
export function parseFlags(arguments_: readonly string[]): Flags {
  assertNoTypo(arguments_);
  const parsed = parseArgs(arguments_, { string: TEXTS, boolean: SWITCHES });
  const text = (name: string) => {
    const value = parsed[name] as string | undefined;
    if (value === "") {
      throw cannot(`use --${name}`, "it needs a value", "it has none");
    }
    return value;
  };
  const number = (name: string, least: number) => {
    const digits = text(name);
    if (digits === undefined) return undefined;
    const value = Number(digits);
    if (/^\d+$/.test(digits) && Number.isSafeInteger(value) && value >= least) return value;
    throw cannot(`use --${name}`, `it must be a whole number from ${least} on`, `it is ${digits}`);
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
    budget: defined({ tokens, usd }),
    rates: defined({ requestsPerMinute, tokensPerMinute }),
    recordings: recordingsFromFlags(text),
    verdict: text("verdict"),
    report: text("report"),
  };
}

function amount(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^(\d+\.?\d*|\.\d+)$/.test(text) && value > 0) return value;
  throw cannot("use --max-usd", "it must be a number of US dollars above 0", `it is ${text}`);
}

/** Refuses flags that differ from one of toolgate's by a letter or two: these are typing errors. */
function assertNoTypo(arguments_: readonly string[]): void {
  const known = [...TEXTS, ...SWITCHES];
  for (const argument of arguments_) {
    const name = /^--([\w-]+)/.exec(argument)?.[1];
    if (name === undefined || known.includes(name)) continue;
    const near = (flag: string) => levenshteinDistance(flag, name) <= (flag.length > 6 ? 2 : 1);
    // Short words are too close to others: --send is no misspelt --seed.
    const similar = known.find((flag) => flag.length > 5 && near(flag));
    if (similar !== undefined) {
      throw cannot(`use --${name}`, "there is no such flag", `did you mean --${similar}?`);
    }
    // It may be the user's own flag; users who think it is toolgate's must learn that it is not.
    const flags = known.map((flag) => `--${flag}`).join(", ");
    console.error(`toolgate has no flag --${name} and leaves it alone; it has ${flags}`);
  }
}
