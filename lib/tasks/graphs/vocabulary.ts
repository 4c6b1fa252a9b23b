/**
 * Vocabulary: draws pseudo-words and numbers that no model has seen, none of them twice.
 * @module
 */

import { randomIntegerBetween } from "@std/random";
import type { Stream } from "../../base/random.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz";
const BASE = ALPHABET.length;
const FIRST = ALPHABET.charCodeAt(0);
/** Letters from one draw: its 32 bits are enough for these and a choice of lengths. */
const LETTERS_A_DRAW = 6;
/** How many words of each length there are, and how many shorter ones, with the empty one. */
const POWERS = Array.from({ length: 24 }, (_, letters) => BASE ** letters);
const SHORTER = POWERS.map((power) => (power - 1) / (BASE - 1));
/** Collisions in a row after which longer words are drawn. */
const PATIENCE = 8;

/**
 * Draws pseudo-words, each at most once, and none of the reserved ones.
 *
 * A word is represented by the number that its letters spell in base 26, after all shorter words: hashing
 * new strings would take a third of the time of generation.
 */
export class Vocabulary {
  readonly #used: Set<number>;

  constructor(reserved: readonly string[] = []) {
    this.#used = new Set(reserved.map(wordNumber));
  }

  /** Draws a new word of `shortest` to `longest` letters, or a longer one if those run short. */
  word(stream: Stream, shortest: number, longest = shortest): string {
    for (let attempt = 0;; attempt++) {
      // One draw chooses the length and, with its remaining bits, up to six letters.
      const draw = stream.prng() * (longest - shortest + 1);
      const extra = Math.floor(draw);
      const length = shortest + extra + Math.floor(attempt / PATIENCE);
      const drawn = Math.min(length, LETTERS_A_DRAW);
      const first = Math.floor((draw - extra) * POWERS[drawn]!);
      let [spelled, more] = [first, ""];
      for (let letters = drawn; letters < length; letters++) {
        const letter = Math.floor(stream.prng() * BASE);
        spelled = spelled * BASE + letter;
        more += ALPHABET[letter];
      }
      const number = SHORTER[length]! + spelled;
      if (this.#used.has(number)) continue;
      this.#used.add(number);
      return spellWord(first, drawn) + more;
    }
  }
}

function wordNumber(word: string): number {
  let spelled = 0;
  for (let at = 0; at < word.length; at++) spelled = spelled * BASE + word.charCodeAt(at) - FIRST;
  return SHORTER[word.length]! + spelled;
}

/** Each two letters, as joining single ones takes twice as long. */
const PAIRS = Array.from(ALPHABET, (one) => Array.from(ALPHABET, (other) => one + other)).flat();

/** Spells a word of at most six letters, whose number is a small integer: others are slow to divide. */
function spellWord(spelled: number, length: number): string {
  const isOdd = length % 2 === 1;
  let letters = isOdd ? ALPHABET[spelled % BASE]! : "";
  let rest = isOdd ? (spelled / BASE) | 0 : spelled | 0;
  for (; letters.length < length; rest = (rest / PAIRS.length) | 0) {
    letters = PAIRS[rest % PAIRS.length]! + letters;
  }
  return letters;
}

/** Draws whole numbers, each at most once: of three digits while they suffice, then of more. */
export class Numbers {
  /** The least number of the range to draw from: three digits, and one more each time a range is used up. */
  #least = 100;
  /** Which numbers of the range are used: 1 where one is. */
  #used = new Uint8Array(9 * this.#least);
  #left = this.#used.length;

  /** Draws a new number. */
  next(stream: Stream): number {
    if (this.#left === 0) {
      this.#least *= 10;
      this.#used = new Uint8Array(9 * this.#least);
      this.#left = this.#used.length;
    }
    this.#left--;
    for (;;) {
      const value = randomIntegerBetween(this.#least, 10 * this.#least - 1, stream);
      if (this.#used[value - this.#least] === 1) continue;
      this.#used[value - this.#least] = 1;
      return value;
    }
  }
}
