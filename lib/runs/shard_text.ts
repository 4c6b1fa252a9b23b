/**
 * Shards and waves as texts, such as `2/5`.
 * @module
 */

import { environmentVariable } from "../base/environment.ts";
import { isGranted } from "#runtime";
import { cannot } from "../base/errors.ts";
import type { Wave } from "../gate/waves.ts";

/** The part of a plan that one machine runs. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly of: number;
}

/** The maximum number of shards. */
export const MAX_SHARDS = 999_999;

/**
 * Where systems that start a job many times number its machines: the variable of the index, what the first one has, the
 * variable of how many there are, and that of the step from one to the next. They are `parallel` of GitLab, array jobs
 * of Slurm and of AWS Batch, and Indexed Jobs of Kubernetes; the last one is for a matrix of GitHub, which has
 * `strategy.job-index` and `strategy.job-total` in expressions alone.
 */
const SYSTEMS: readonly (readonly [index: string, ...others: string[]])[] = [
  ["CI_NODE_INDEX", "1", "CI_NODE_TOTAL"],
  [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_STEP",
  ],
  ["AWS_BATCH_JOB_ARRAY_INDEX", "0", "AWS_BATCH_JOB_ARRAY_SIZE"],
  ["JOB_COMPLETION_INDEX", "0"],
  ["TOOLGATE_SHARD_INDEX", "0", "TOOLGATE_SHARD_TOTAL"],
];

/**
 * Parses a shard such as `2/5`; `auto` and `auto/5` stand for that of this machine, which the environment says.
 *
 * @throws {InputError} If it is not a shard, or the environment does not say one.
 */
export function parseShard(text: string): Shard {
  if (/^auto(?:\/\d+)?$/.test(text)) return ownShard(text);
  return readShard(text) ??
    fail(text, "it must be I/N with 1 <= I <= N, such as 2/5, or auto or auto/N");
}

function fail(text: string, rule: string, state?: string): never {
  throw cannot(`use shard ${text}`, rule, state);
}

function readShard(text: string): Shard | undefined {
  const [index, of] = (/^(\d+)\/(\d+)$/.exec(text)?.slice(1) ?? []).map(Number);
  return index !== undefined && of !== undefined && index >= 1 && index <= of && of <= MAX_SHARDS
    ? { index, of }
    : undefined;
}

function ownShard(text: string): Shard {
  const found = SYSTEMS.filter(([index]) => environmentVariable(index) !== undefined);
  const [words] = found;
  if (words === undefined || found.length > 1) {
    const names = (words === undefined ? SYSTEMS : found).map(([index]) => index);
    const unread = isGranted({ name: "env" }) ? "" : ", or Deno may not read it (--allow-env)";
    const state = words === undefined
      ? `none of ${names.join(", ")} is set${unread}`
      : `${names.join(" and ")} are set`;
    fail(text, "one variable must have the index of this machine", state);
  }
  const read = (word: string) => /^\d+$/.test(word) ? word : environmentVariable(word);
  const [index, first, count, step = 1] = words.map(read);
  const place = (Number(index) - Number(first)) / Number(step) + 1;
  const shard = readShard(`${place}/${text.split("/")[1] ?? count}`);
  // What is started again in part has another count: its shards would be others.
  if (shard !== undefined && (count === undefined || Number(count) === shard.of)) return shard;
  const state = words.filter((word) => read(word) !== word)
    .map((name) => `${name} is ${read(name) ?? "not set"}`);
  return fail(text, "index and count must be those of one shard of N", state.join(", "));
}

/** A wave that is asked for: the number of waves may be left to the plan. */
export type AskedWave = Pick<Wave, "index"> & Partial<Wave>;

/**
 * Parses a wave such as `2` or `2/6`.
 *
 * @throws {InputError} If it is no wave.
 */
export function parseWave(text: string): AskedWave {
  const [index, of] = (/^(\d{1,9})(?:\/(\d{1,9}))?$/.exec(text)?.slice(1) ?? [])
    .map((one) => one === undefined ? undefined : Number(one));
  if (index !== undefined && index >= 1 && index <= (of ?? Infinity)) {
    return { index, ...(of === undefined ? {} : { of }) };
  }
  throw cannot(`use wave ${text}`, "it must be K or K/N with 1 <= K <= N, such as 2 or 2/6");
}

/** A part of a plan in words, for users who may not know shards. */
export function partText({ index, of }: Shard, wave: Wave | undefined): string {
  const shard = of === 1 ? undefined : `shard ${index}/${of}`;
  if (wave === undefined) return shard ?? "the whole run";
  return `${shard === undefined ? "" : `${shard} of `}wave ${wave.index}/${wave.of}`;
}
