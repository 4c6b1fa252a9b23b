/**
 * Names made of words that people use, for tasks whose names are not random: what everyday names and those of
 * workflows share.
 * @module
 */

import { sample } from "@std/random";
import type { Stream } from "../../base/random.ts";

/** Draws in a row that give a name already taken, after which names get a further word. */
const PATIENCE = 8;

/** How the name of a variable looks. */
export interface NameStyle {
  /** Whether it ends with the word `id`. */
  readonly id: boolean;
  /** Whether it is written as `roomPrice`, not as `room_price`. */
  readonly camelCase: boolean;
}

/** Draws names, none of them twice, also not in another way of writing. */
export abstract class WordNames {
  readonly #taken = new Set<string>();

  /** Names in `taken` are never drawn. */
  constructor(taken: Iterable<string> = []) {
    for (const name of taken) this.#taken.add(lettersOf(name));
  }

  /** A new type. */
  abstract type(stream: Stream): string;

  /** A new subtype, for a value of a type. */
  abstract subtype(stream: Stream, type: string): string;

  /** A new name for a variable of a type: one that fits it, unless `ofType` is `false`. */
  abstract variable(stream: Stream, type: string, ofType: boolean, style: NameStyle): string;

  /** A new name for a parameter that takes a variable. */
  abstract parameter(stream: Stream, variable: string): string;

  /** A new name for a function that produces a variable. */
  abstract function(stream: Stream, variable: string): string;

  /** Draws until a name is new. */
  protected draw(name: (further: number) => string): string {
    for (let attempt = 0;; attempt++) {
      const drawn = name(Math.floor(attempt / PATIENCE));
      const letters = lettersOf(drawn);
      if (this.#taken.has(letters)) continue;
      this.#taken.add(letters);
      return drawn;
    }
  }
}

/** The words of a list that is written as one text. */
export function words(text: string): readonly string[] {
  return text.split(" ");
}

/** The words of a name, whether it is written as `room_price`, `roomPrice` or `RoomPrice`. */
export function wordsOfName(name: string): string[] {
  return (name.match(/[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());
}

/** Writes words as the name of a variable. */
export function joined(parts: readonly string[], camelCase: boolean): string {
  const [first, ...rest] = parts;
  return camelCase ? first! + rest.map(capital).join("") : parts.join("_");
}

/** Writes a word with a capital. */
export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Draws different words of a list, or all of them in turn if they run short. */
export function drawn(list: readonly string[], count: number, stream: Stream): string[] {
  if (count === 0) return [];
  const own = new Set<string>();
  while (own.size < Math.min(count, list.length)) own.add(sample(list, stream)!);
  return [...own];
}

function lettersOf(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
