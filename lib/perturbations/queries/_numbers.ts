/**
 * Numbers in other forms: in words, and as arithmetic.
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import type { Stream } from "../../base/random.ts";

const ONES = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
  "sixteen seventeen eighteen nineteen"
).split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SCALES = ["", " thousand", " million", " billion", " trillion", " quadrillion"];

/** The digits 0 to 9 as words. */
export const DIGITS: readonly string[] = ONES.slice(0, 10);

/** A whole number from 0 to 999 in words. */
function belowThousand(number: number): string {
  if (number >= 100) {
    const rest = number % 100;
    return `${ONES[Math.floor(number / 100)]} hundred${
      rest === 0 ? "" : ` ${belowThousand(rest)}`
    }`;
  }
  if (number < 20) return ONES[number]!;
  const ones = number % 10;
  return `${TENS[Math.floor(number / 10) - 2]}${ones === 0 ? "" : `-${ONES[ones]}`}`;
}

/** A whole number from 0 to below 10^18 in words. */
function wholeInWords(number: number): string {
  if (number < 1000) return belowThousand(number);
  const groups: string[] = [];
  for (const scale of SCALES) {
    const group = number % 1000;
    if (group > 0) groups.unshift(belowThousand(group) + scale);
    number = Math.floor(number / 1000);
  }
  return groups.join(" ");
}

/** The decimal notation of a number: its digits before and after the point, its sign and its exponent. */
interface Decimal {
  readonly whole: string;
  readonly fraction: string;
  readonly negative: boolean;
  readonly exponent: number;
}

function decimalOf(value: number): Decimal {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/
    .exec(String(value))!;
  return { whole: whole!, fraction, negative: sign === "-", exponent: Number(exponent) };
}

/**
 * A number in words, such as `minus seven hundred thirty-one point five`.
 *
 * @throws {RangeError} If it is not finite.
 */
export function numberInWords(value: number): string {
  if (!Number.isFinite(value)) {
    throw new RangeError(`Cannot put a number into words as it must be finite: it is ${value}`);
  }
  const { whole, fraction, negative, exponent } = decimalOf(value);
  const digits = (text: string) => [...text].map((digit) => DIGITS[Number(digit)]).join(" ");
  const words = whole.length > MAX_DIGITS ? digits(whole) : wholeInWords(Number(whole));
  return (negative ? "minus " : "") + words +
    (fraction === "" ? "" : ` point ${digits(fraction)}`) +
    (exponent === 0 ? "" : ` times ten to the power of ${numberInWords(exponent)}`);
}

/** Whole numbers of at most this many digits are written in words, longer ones digit by digit. */
const MAX_DIGITS = 16;
/** Up to here whole numbers and sums of two are exact. */
const MAX_UNITS = 10 ** 15;

/** A number as a count of `10 ** -places`, if that is exact. */
function scaled(value: number): { readonly units: number; readonly places: number } | undefined {
  const { whole, fraction, negative, exponent } = decimalOf(value);
  const units = Number(whole + fraction) * (negative ? -1 : 1);
  if (exponent !== 0 || Math.abs(units) > MAX_UNITS) return undefined;
  return { units, places: fraction.length };
}

/** The decimal notation of `units * 10 ** -places`. */
function decimalText(units: number, places: number): string {
  const digits = String(Math.abs(units)).padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places);
  const fraction = digits.slice(digits.length - places).replace(/0+$/, "");
  return (units < 0 ? "-" : "") + whole + (fraction === "" ? "" : `.${fraction}`);
}

/** Splits a whole number, at least 2, into two summands: its leading digits and the rest, or any two. */
function summands(units: number, stream: Stream): readonly [number, number] {
  const unit = 10 ** randomIntegerBetween(1, Math.max(1, String(units).length - 1), stream);
  const rest = units % unit;
  if (rest > 0 && rest < units) return [units - rest, rest];
  const first = randomIntegerBetween(1, units - 1, stream);
  return [first, units - first];
}

/** A number as arithmetic; `undefined` if it has too many digits. */
function asArithmetic(value: number, stream: Stream): string | undefined {
  const exact = scaled(value);
  if (exact === undefined) return undefined;
  const { units, places } = exact;
  if (units >= 2 && stream.prng() < 0.5) {
    const [one, other] = summands(units, stream);
    return `${decimalText(one, places)} + ${decimalText(other, places)}`;
  }
  const beyond = units < 0 ? -units : 0;
  const less = beyond +
    randomIntegerBetween(1, Math.max(9, Math.min(999, Math.abs(units))), stream);
  return `${decimalText(units + less, places)} - ${decimalText(less, places)}`;
}

const WAYS = [asArithmetic, asArithmetic, (value: number) => numberInWords(value)];
const MAX_TRIES = 8;

/**
 * Expresses a number in a complicated way, as arithmetic or in words that never contain its digits
 * (Butterfly, appendix A.3.2, method CP).
 *
 * @throws {RangeError} If it is not finite.
 */
export function complicateNumber(value: number, stream: Stream): string {
  const words = numberInWords(value);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const phrase = sample(WAYS, stream)!(value, stream) ?? words;
    if (!phrase.includes(String(value))) return phrase;
  }
  return words;
}

/** Returns a similar number of the same sign and with as many decimal places. */
export function nearNumber(value: number, stream: Stream): string {
  const exact = scaled(value);
  if (exact === undefined) return String(Math.abs(value) > 1 ? value / 2 : value * 2);
  const { units, places } = exact;
  const size = Math.abs(units);
  const step = randomIntegerBetween(1, Math.max(3, Math.min(99, Math.floor(size / 10))), stream);
  const near = stream.prng() < 0.5 && size > step ? size - step : size + step;
  return decimalText(units < 0 ? -near : near, places);
}
