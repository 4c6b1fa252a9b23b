/**
 * The built-in query writer, which needs no model: expresses values in complicated ways, and writes sentences
 * with similar values (Butterfly, appendix A.3.2, methods CP and AN).
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import type { Stream } from "../../base/random.ts";
import { dateOf } from "./_dates.ts";
import { isWithinCharacter, type QueryParameter } from "./literals.ts";
import { complicateNumber, DIGITS, nearNumber } from "./_numbers.ts";

/** Writes the new text of perturbed queries. */
export interface QueryWriter {
  /** Expresses the value in a complicated way, without its literal; `undefined` if it cannot. */
  complicate(parameter: QueryParameter, stream: Stream): string | undefined;
  /** Writes a sentence with a similar value; `undefined` if it cannot. */
  distract(parameter: QueryParameter, stream: Stream): string | undefined;
  /** Whether distracting texts go on separate lines after an empty one. Default: false. */
  readonly lines?: boolean;
}

/** A value as the writer understands it. */
interface ReadValue {
  /** Expresses the value in other words. */
  readonly say: (stream: Stream) => string;
  /** Returns another value of the same kind. */
  readonly near: (stream: Stream) => string | undefined;
}

/** Longer texts are treated as prose. */
const MAX_READ_LENGTH = 300;
const MAX_SPELLED_LENGTH = 24;
const MAX_CODE_LENGTH = 40;

/** Sentences with a gap for a similar value. */
const SENTENCES: readonly ((near: string) => string)[] = [
  (near) => `Last time I asked about ${near}.`,
  (near) => `A friend of mine had ${near} instead.`,
  (near) => `Someone else mentioned ${near} yesterday.`,
];

/** The name of a character; an invisible one by its code point. */
function named(character: string): string {
  if (/^\d$/.test(character)) return DIGITS[Number(character)]!;
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character)
    ? character
    : `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

function spelled(text: string, joint = ", "): string {
  return [...text].map(named).join(joint);
}

function readNumber(text: string): ReadValue | undefined {
  const digits = /^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text;
  // Leading zeros, and more digits than numbers can hold, mean that it is a code.
  if (!/^[-+]?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(digits)) return undefined;
  return numeric(Number(digits));
}

function numeric(value: number): ReadValue {
  return {
    say: (stream) => {
      const phrase = complicateNumber(value, stream);
      // In parentheses, as within a sentence a unit may follow the arithmetic.
      return / [-+] /.test(phrase) ? `(${phrase})` : phrase;
    },
    near: (stream) => nearNumber(value, stream),
  };
}

/** `AB-1234`, `0049`, `USD`: text with digits, signs between letters, or capitals only. */
function readCode(text: string): ReadValue | undefined {
  if (text.length > MAX_CODE_LENGTH || /\s/.test(text)) return undefined;
  const isCode = /\d/.test(text) || /\p{L}[-_/.#:+]\p{L}/u.test(text) ||
    /^\p{Lu}{2,5}$/u.test(text);
  return !isCode ? undefined : {
    say: () => `the code spelled ${spelled(text)}`,
    near: (stream) => otherCharacter(text, stream),
  };
}

const ALPHABETS = ["0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

/** The text with one letter or digit changed; the part from the last point on, such as `.com`, stays. */
function otherCharacter(text: string, stream: Stream): string | undefined {
  const end = text.lastIndexOf(".") > 0 ? text.lastIndexOf(".") : text.length;
  const start = Math.max(0, text.indexOf("://"));
  const places = Array.from({ length: end - start }, (_, place) => start + place)
    .filter((place) => /[A-Za-z0-9]/.test(text[place]!));
  const place = sample(places, stream);
  if (place === undefined) return undefined;
  const alphabet = ALPHABETS.find((letters) => letters.includes(text[place]!))!;
  return text.slice(0, place) + sample([...alphabet], stream) + text.slice(place + 1);
}

const WORDS = (
  "amber anchor basket bridge candle canyon cedar copper coral cotton desert ember falcon feather " +
  "forest garden ginger granite harbor hazel island jasmine lantern lemon marble meadow meteor " +
  "mirror orchard pepper pillar prairie quartz ribbon river saffron silver thunder timber velvet " +
  "walnut willow winter"
).split(" ");

/** Any other text: spelled if it is one short word, otherwise given as two parts. */
function readText(text: string): ReadValue {
  const isWord = [...text].length <= MAX_SPELLED_LENGTH && !/\s/.test(text);
  return {
    say: isWord ? (stream) => sayWord(text, stream) : (stream) => sayHalves(text, stream),
    near: (stream) =>
      (isWord ? otherCharacter(text, stream) : undefined) ?? otherWord(text, stream),
  };
}

function sayWord(text: string, stream: Stream): string {
  const isPlain = /^\p{L}+$/u.test(text);
  const way = randomIntegerBetween(0, isPlain ? 3 : 2, stream);
  if (way === 0) return `the word spelled ${spelled(text)}`;
  if (way === 1) return `what ${spelled(text)} gives when put together`;
  return way === 2 ? spelled(text, " ") : `"${[...text].reverse().join("")}" read backwards`;
}

function sayHalves(text: string, stream: Stream): string {
  const words = text.match(/\S+\s*/g)!;
  const split = words.length > 1
    ? words.slice(0, randomIntegerBetween(1, words.length - 1, stream)).join("").length
    : randomIntegerBetween(1, text.length - 1, stream);
  const middle = isWithinCharacter(text, split) ? split + 1 : split;
  const [first, last] = [text.slice(0, middle), text.slice(middle)];
  const joint = words.length > 1 ? "" : ", with nothing between";
  return stream.prng() < 0.5
    ? `"${first.trim()}" followed by "${last.trim()}"${joint}`
    : `"${last.trim()}" preceded by "${first.trim()}"${joint}`;
}

/** At most this many words of a text are repeated with one of them changed. */
const MAX_WORDS = 8;

function otherWord(text: string, stream: Stream): string | undefined {
  const words = text.split(/\s+/).slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_CODE_LENGTH));
  const place = randomIntegerBetween(0, words.length - 1, stream);
  const word = sample(WORDS, stream)!;
  const isCapital = /^\p{Lu}/u.test(words[place]!);
  words[place] = isCapital ? word[0]!.toUpperCase() + word.slice(1) : word;
  return words.join(" ").toWellFormed();
}

const READERS = [readNumber, dateOf, readCode];

function readingOf({ value }: QueryParameter): ReadValue | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return numeric(value);
  const text = typeof value === "string" ? value.trim() : "";
  if (text === "") return undefined;
  for (const read of text.length > MAX_READ_LENGTH ? [] : READERS) {
    const reading = read(text);
    if (reading !== undefined) return reading;
  }
  return readText(text);
}

/**
 * The built-in writer: expresses numbers as arithmetic or words, dates in words; spells or
 * splits other texts. It does not support booleans, lists or objects. What it writes may
 * hold the value by chance.
 */
export const WRITER: QueryWriter = {
  complicate: (parameter, stream) => readingOf(parameter)?.say(stream),
  distract(parameter, stream) {
    const near = readingOf(parameter)?.near(stream);
    return near && sample(SENTENCES, stream)!(near);
  },
};
