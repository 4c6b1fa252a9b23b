/**
 * Texts for results that are made up: of a pattern, of a format, or of words.
 * @module
 */

import { attempt } from "../../base/errors.ts";
import type { Stream } from "../../base/random.ts";
import { countOf, readPattern } from "./_patterns.ts";
import { randomIntegerBetween, sample } from "@std/random";

/** Characters of a text, at most. */
export const MAX_TEXT = 10_000;

/** Parts of a pattern that a text is made of, at most. */
const MAX_PARTS = 2 * MAX_TEXT;

/** Repetitions beyond the least that a pattern asks for, at most. */
const MAX_MORE = 4;

const SYLLABLES = "ba do fe gi ka lo mi ne pa ro su ti ve zo".split(" ");

/** Returns a word that means nothing: two of them hardly stand twice in a result, however large. */
export function word(stream: Stream): string {
  return Array.from({ length: 3 }, () => sample(SYLLABLES, stream)!).join("");
}

/** Returns a text of two words or more, of at least `least` and at most `most` characters: two are seldom the same. */
export function words(stream: Stream, least: number, most: number): string {
  const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);
  let text = `${capital(word(stream))} ${capital(word(stream))}`;
  while (text.length < least) text += ` ${word(stream)}`;
  // No text ends with a space: many servers would cut it.
  return text.slice(0, most).replace(/ $/, "a");
}

/** Returns a text in a format; `undefined` where any text is in it, or it is not known. */
export function formattedText(format: unknown, stream: Stream): string | undefined {
  const number = (least: number, most: number) => randomIntegerBetween(least, most, stream);
  const digits = (count: number, value: number) => String(value).padStart(count, "0");
  const hex = (count: number) =>
    Array.from({ length: count }, () => number(0, 15).toString(16)).join("");
  const date = () =>
    `${number(2020, 2029)}-${digits(2, number(1, 12))}-${digits(2, number(1, 28))}`;
  const time = () =>
    [number(0, 23), number(0, 59), number(0, 59)].map((part) => digits(2, part)).join(":") + "Z";
  const made: Readonly<Record<string, () => string>> = {
    date,
    time,
    "date-time": () => `${date()}T${time()}`,
    duration: () => `P${number(1, 30)}D`,
    email: () => `${word(stream)}@${word(stream)}.example`,
    hostname: () => `${word(stream)}.example`,
    // Of the addresses for documentation (RFC 5737).
    ipv4: () => `192.0.2.${number(1, 254)}`,
    ipv6: () => `2001:db8::${hex(4)}`,
    uri: () => `https://${word(stream)}.example/${word(stream)}`,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-${sample([..."89ab"], stream)}${hex(3)}-${hex(12)}`,
    "json-pointer": () => `/${word(stream)}`,
    "relative-json-pointer": () => `${number(0, 3)}`,
    regex: () => `^${word(stream)}$`,
    byte: () => btoa(word(stream)),
  };
  const plain = String(format)
    .replace(/^idn-/, "")
    .replace(/^(?:[ui]ri(?:-reference)?|uri-template|url)$/, "uri");
  return Object.hasOwn(made, plain) ? made[plain]!() : undefined;
}

/**
 * Returns a text that a pattern most likely matches: edges and what is looked ahead for are left to the check of the
 * text. `undefined` if it has something that no text can be made of, or its texts are too long.
 *
 * @param least How long the text should be, at least: what may repeat does so more often.
 */
export function patternText(pattern: string, stream: Stream, least = 0): string | undefined {
  return attempt(() => madeOf(readPattern(pattern), stream, least));
}

/** Adds a part to the text. */
type AddPart = () => void;

function madeOf(tokens: readonly string[], stream: Stream, least: number): string {
  let [at, text, parts] = [0, "", 0];
  /** Reads to the end of a group. */
  const group = (): AddPart => {
    const branches: AddPart[][] = [];
    do {
      const own: AddPart[] = [];
      while (!["|", ")", undefined].includes(tokens[at])) own.push(repeated());
      branches.push(own);
    } while (tokens[at++] === "|");
    return () => sample(branches, stream)!.forEach((make) => make());
  };
  /** Reads a part, and how often it may repeat. */
  const repeated = (): AddPart => {
    const make = part(tokens[at++]!);
    const count = countOf(tokens[at] ?? "");
    if (count !== undefined) at++;
    const { least: fewest, most } = count ?? { least: 1, most: 1 };
    return () => {
      const more = Math.max(MAX_MORE, least - text.length);
      const times = randomIntegerBetween(fewest, Math.min(most, fewest + more), stream);
      for (let done = 0; done < times; done++) {
        if (++parts > MAX_PARTS) throw new RangeError("it is too long");
        make();
      }
    };
  };
  const part = (token: string): AddPart => {
    const inner = token.startsWith("(") ? group() : undefined;
    if (/^(?:[$^]|\\[bB]|\(\?<?[=!])$/.test(token)) return () => {};
    if (inner !== undefined) return inner;
    const fitting = fittingCharacters(token);
    return () => {
      text += sample(fitting, stream)!;
    };
  };
  group()();
  return text;
}

/** Most classes hold letters or digits, and those are what a reader expects. */
const USUAL = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const OTHERS = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\t\n\r";

/** The characters that a class, an escape or a character stands for: the usual ones, if there are any. */
function fittingCharacters(token: string): readonly string[] {
  const pattern = new RegExp(`^${token}$`, "u");
  const named = token.replaceAll(
    /\\u\{?([\da-f]+)\}?/gi,
    (_, digits) => String.fromCodePoint(parseInt(digits, 16)),
  );
  for (const characters of [USUAL, OTHERS, named]) {
    const fitting = [...characters].filter((one) => pattern.test(one));
    if (fitting.length > 0) return fitting;
  }
  throw new RangeError("no character is in the set");
}
