/**
 * Randomness as an argument: streams forked from a seed by purpose, so that drawing more for one purpose
 * does not change another.
 * @module
 */

import { type Prng, randomSeeded } from "@std/random";

/** A stream of random numbers, in the shape that the functions of `@std/random` take. */
export interface Stream {
  /** Draws a number in `[0, 1)`. */
  readonly prng: Prng;
}

/** Puts the halves of a hash together: `bigint` arithmetic would make small tasks a tenth slower to generate. */
const HALVES = new DataView(new ArrayBuffer(8));

/**
 * Returns a 64-bit hash of `text`: two 32-bit lanes, each mixed as in MurmurHash3, one UTF-16 unit at a
 * time. It is not cryptographic. Its values are part of the generator's version.
 */
export function hash64(text: string): bigint {
  const [high, low] = hashHalves(text);
  HALVES.setUint32(0, high);
  HALVES.setUint32(4, low);
  return HALVES.getBigUint64(0);
}

/** Returns the upper and the lower 32 bits of {@linkcode hash64}. */
function hashHalves(text: string): [high: number, low: number] {
  let high = 0x9e3779b9;
  let low = 0x85ebca6b;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x85ebca77);
    high = (high << 13) | (high >>> 19);
    low = Math.imul(low ^ unit, 0xc2b2ae3d);
    low = (low << 15) | (low >>> 17);
  }
  high = avalanche(high ^ text.length ^ (low >>> 3));
  low = avalanche(low ^ high);
  return [high, low];
}

function avalanche(word: number): number {
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}

/**
 * Returns the stream for `seed` and a purpose. The same words give the same stream on every machine;
 * different words give unrelated ones.
 */
export function fork(seed: number | string, ...purpose: readonly (number | string)[]): Stream {
  return { prng: randomSeeded(hash64([seed, ...purpose].join("\u0000"))) };
}

/** Returns a seed, an integer of 48 bits, derived from `seed` and a purpose. */
export function forkSeed(seed: number | string, ...purpose: readonly (number | string)[]): number {
  const [high, low] = hashHalves([seed, ...purpose].join("\u0000"));
  return (high & 0xffff) * 2 ** 32 + low;
}

/** Returns a fresh seed, an integer of 48 bits, from the system's entropy. */
export function freshSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  return (high & 0xffff) * 2 ** 32 + low;
}
