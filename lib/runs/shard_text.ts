/**
 * Shards as texts, such as `2/5`.
 * @module
 */

import { cannot } from "../base/errors.ts";

/** The part of a plan that one machine runs. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly of: number;
}

/** The maximum number of shards. */
export const MAX_SHARDS = 999_999;

/**
 * Parses a shard such as `2/5`.
 *
 * @throws {InputError} If it is not a shard.
 */
export function parseShard(text: string): Shard {
  const [index, of] = (/^(\d+)\/(\d+)$/.exec(text)?.slice(1) ?? []).map(Number);
  if (
    index !== undefined && of !== undefined && index >= 1 && index <= of && of <= MAX_SHARDS
  ) return { index, of };
  throw cannot(`use shard ${text}`, "it must be I/N with 1 <= I <= N, such as 2/5");
}

/** A shard in words, for users who may not know shards. */
export function shardText({ index, of }: Shard): string {
  return of === 1 ? "the whole run" : `shard ${index}/${of}`;
}
