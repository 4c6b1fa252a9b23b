/**
 * Shards and waves as texts, such as `2/5`.
 * @module
 */

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
