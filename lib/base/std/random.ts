/**
 * A stand-in for `@std/random`, which no npm registry carries: the same names, the same contracts
 * and, for the same seed, the same sequence.
 *
 * The generator is PCG32 (XSH-RR, 64-bit state), seeded as Rust's `rand` crate does. The 64-bit
 * state is kept as two 32-bit halves, as `bigint` arithmetic would dominate task generation.
 *
 * @see O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
 * Random Number Generation", 2014.
 * @module
 */

/** A generator of numbers in `[0, 1)`, with the contract of `Math.random`. */
export type Prng = () => number;

/** Options of every function here: where the randomness comes from. */
export interface RandomOptions {
  /** The generator to draw from; `Math.random` by default. */
  prng?: Prng;
}

// The multiplier 6364136223846793005 in parts. The two lowest have 15 bits, so that no product of
// one with 16 bits of state leaves the range of 32-bit integers, where arithmetic is fast.
const MULTIPLIER_HIGH = 0x5851f42d;
const MULTIPLIER_LOW = 0x4c957f2d;
const MULTIPLIER_1 = 0x4c95;
const MULTIPLIER_0 = 0x7f2d;
// The increment 11634580027462260723 of the generator that expands seeds, in halves.
const SEEDING_INCREMENT_HIGH = 0xa17654e4;
const SEEDING_INCREMENT_LOW = 0x6fbe17f3;

/** The PCG32 generator: 64 bits of state, 32 bits out. Halves are kept as signed integers. */
class Pcg32 {
  #high: number;
  #low: number;
  readonly #incrementHigh: number;
  readonly #incrementLow: number;

  constructor(high: number, low: number, incrementHigh: number, incrementLow: number) {
    this.#high = high | 0;
    this.#low = low | 0;
    this.#incrementHigh = incrementHigh | 0;
    this.#incrementLow = incrementLow | 0;
  }

  /** The state becomes state * multiplier + increment, modulo 2^64. */
  step(): void {
    const low = this.#low;
    const low1 = low >>> 16;
    const low0 = low & 0xffff;
    const middle = (low1 * MULTIPLIER_0 + ((low0 * MULTIPLIER_0) >>> 16)) | 0;
    const other = (low0 * MULTIPLIER_1 + (middle & 0xffff)) | 0;
    const carry = (low1 * MULTIPLIER_1 + (middle >>> 16) + (other >>> 16)) | 0;
    const high = (Math.imul(low, MULTIPLIER_HIGH) + Math.imul(this.#high, MULTIPLIER_LOW)) | 0;
    const sum = (Math.imul(low, MULTIPLIER_LOW) + this.#incrementLow) | 0;
    const overflow = (sum >>> 0) < (this.#incrementLow >>> 0) ? 1 : 0;
    this.#low = sum;
    this.#high = (high + carry + this.#incrementHigh + overflow) | 0;
  }

  nextUint32(): number {
    const high = this.#high;
    const low = this.#low;
    this.step();
    // ((state >> 18) ^ state) >> 27, its low 32 bits, rotated right by the state's top five bits.
    const shiftedHigh = (high >>> 18) ^ high;
    const shiftedLow = ((low >>> 18) | (high << 14)) ^ low;
    const mixed = (shiftedLow >>> 27) | (shiftedHigh << 5);
    const rotation = high >>> 27;
    return ((mixed >>> rotation) | (mixed << (-rotation & 31))) >>> 0;
  }
}

const SEED = new DataView(new ArrayBuffer(8));

/** A generator whose whole sequence follows from `seed` (its lowest 64 bits). */
export function randomSeeded(seed: bigint): Prng {
  // Without `bigint` arithmetic, which would take most of the time of making a generator.
  SEED.setBigUint64(0, seed);
  const high = SEED.getUint32(0);
  const low = SEED.getUint32(4);
  // PCG32's state and increment are expanded from the seed as `rand_core` does.
  const expander = new Pcg32(high, low, SEEDING_INCREMENT_HIGH, SEEDING_INCREMENT_LOW);
  expander.step();
  const stateLow = expander.nextUint32();
  const stateHigh = expander.nextUint32();
  const incrementLow = (expander.nextUint32() | 1) >>> 0;
  const incrementHigh = expander.nextUint32();
  const sumLow = stateLow + incrementLow;
  const sumHigh = stateHigh + incrementHigh + (sumLow >= 2 ** 32 ? 1 : 0);
  const pcg = new Pcg32(sumHigh, sumLow, incrementHigh, incrementLow);
  pcg.step();
  return () => pcg.nextUint32() / 2 ** 32;
}

/**
 * A number in `[min, max)`.
 *
 * @throws {RangeError} If a bound is not finite, or `max` is below `min`.
 */
export function randomBetween(min: number, max: number, options?: RandomOptions): number {
  if (!Number.isFinite(min)) throw new RangeError(`min cannot be ${min}`);
  if (!Number.isFinite(max)) throw new RangeError(`max cannot be ${max}`);
  if (max < min) throw new RangeError("max must be greater than or equal to min");
  return (options?.prng ?? Math.random)() * (max - min) + min;
}

/**
 * An integer in `[min, max]`, both included.
 *
 * @throws {RangeError} If a bound is not finite, or `max` is more than 1 below `min` when rounded.
 */
export function randomIntegerBetween(min: number, max: number, options?: RandomOptions): number {
  if (!Number.isFinite(min) || !Number.isFinite(max)) {
    throw new RangeError("min and max must be finite");
  }
  return Math.floor(randomBetween(Math.ceil(min), Math.floor(max) + 1, options));
}

/** A random item of `array`, or `undefined` if it is empty. */
export function sample<T>(array: readonly T[], options?: RandomOptions): T | undefined {
  return array.length ? array[randomIntegerBetween(0, array.length - 1, options)] : undefined;
}

/** A shuffled copy of `items` (Fisher and Yates, from the last place down). */
export function shuffle<T>(items: readonly T[], options?: RandomOptions): T[] {
  const result = [...items];
  for (let last = result.length - 1; last >= 1; last--) {
    const other = randomIntegerBetween(0, last, options);
    [result[last], result[other]] = [result[other]!, result[last]!];
  }
  return result;
}
