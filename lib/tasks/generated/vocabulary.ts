/**
 * Vocabulary: draws pseudo-words and numbers that no model has seen, none of them twice.
 * @module
 */

import { randomIntegerBetween } from "@std/random";
import type { Stream } from "../../base/random.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz";
const BASE = ALPHABET.length;
const PAIRS = [...ALPHABET].flatMap((first) => [...ALPHABET].map((second) => first + second));
/** Letters from one draw: its 32 bits are enough for these and a choice of lengths. */
const LETTERS_A_DRAW = 6;
const POWERS = Array.from({ length: LETTERS_A_DRAW + 1 }, (_, letters) => BASE ** letters);
/** Collisions in a row after which longer words are drawn. */
const PATIENCE = 8;

/**
 * Draws pseudo-words, each at most once, and none of the reserved ones.
 *
 * A word is represented by the number that its letters spell in base 26, after all shorter words: hashing
 * new strings would take a third of the time of generation.
 */
export class Vocabulary {
  readonly #used = new NumberSet();

  constructor(reserved: Iterable<string> = []) {
    for (const word of reserved) this.#used.add(wordNumber(word));
  }

  /** Draws a new word of `shortest` to `longest` letters, or a longer one if those run short. */
  word(stream: Stream, shortest: number, longest = shortest): string {
    for (let attempt = 0;; attempt++) {
      // One draw chooses the length and, with its remaining bits, up to six letters.
      const draw = stream.prng() * (longest - shortest + 1);
      const extra = Math.floor(draw);
      const length = shortest + extra + Math.floor(attempt / PATIENCE);
      let spelled = Math.floor((draw - extra) * POWERS[Math.min(length, LETTERS_A_DRAW)]!);
      for (let letters = LETTERS_A_DRAW; letters < length; letters++) {
        spelled = spelled * BASE + Math.floor(stream.prng() * BASE);
      }
      const number = shorterWords(length) + spelled;
      if (this.#used.add(number)) return spellWord(spelled, length);
    }
  }
}

/** A set of whole numbers above zero: a hash table with open addressing, at most half full. */
class NumberSet {
  #slots = new Float64Array(2048);
  #size = 0;

  /** Adds a number; returns whether it is new to the set. */
  add(number: number): boolean {
    const mask = this.#slots.length - 1;
    let place = (Math.imul(number, 0x9e3779b1) >>> 12) & mask;
    for (; this.#slots[place] !== 0; place = (place + 1) & mask) {
      if (this.#slots[place] === number) return false;
    }
    this.#slots[place] = number;
    if (2 * ++this.#size > this.#slots.length) this.#grow();
    return true;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Float64Array(2 * before.length);
    this.#size = 0;
    for (const number of before) if (number !== 0) this.add(number);
  }
}

/** Returns the number of words shorter than `length`: 1 (the empty one) for 1, 27 for 2, and so on. */
function shorterWords(length: number): number {
  let count = 0;
  for (let letters = 0; letters < length; letters++) count = count * BASE + 1;
  return count;
}

function wordNumber(word: string): number {
  let spelled = 0;
  for (const letter of word) spelled = spelled * BASE + ALPHABET.indexOf(letter);
  return shorterWords(word.length) + spelled;
}

function spellWord(spelled: number, length: number): string {
  let letters = "";
  let rest = spelled;
  for (let left = length; left > 0; left -= 2) {
    const radix = left === 1 ? BASE : BASE * BASE;
    const digit = rest % radix;
    rest = (rest - digit) / radix;
    letters = (left === 1 ? ALPHABET[digit]! : PAIRS[digit]!) + letters;
  }
  return letters;
}

/** Draws whole numbers, each at most once: of three digits while they suffice, then of more. */
export class Numbers {
  readonly #used = new Set<number>();

  /** Draws a new number. */
  next(stream: Stream): number {
    for (;;) {
      const [least, most] = this.#range();
      const value = randomIntegerBetween(least, most, stream);
      if (this.#used.has(value)) continue;
      this.#used.add(value);
      return value;
    }
  }

  /** Returns the range to draw from: three digits, and one more each time a range is used up. */
  #range(): [number, number] {
    let least = 100;
    while (this.#used.size >= 10 * least - 100) least *= 10;
    return [least, 10 * least - 1];
  }
}
