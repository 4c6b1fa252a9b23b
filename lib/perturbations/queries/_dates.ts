/**
 * Dates: parses those that people write, puts them into words, and finds similar ones.
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import type { Stream } from "../../base/random.ts";
import { numberInWords } from "./_numbers.ts";

const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July", "August", "September"],
  ...["October", "November", "December"],
];
const MONTH = `(?<month>${MONTHS.map((name) => `${name}|${name.slice(0, 3)}`).join("|")}|Sept)\\.?`;
const DAY = "(?<day>\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "(?<year>\\d{4})";

/** A date. */
interface Moment {
  /** Returns it in words. */
  say(stream: Stream): string;
  /** Returns a similar one in the same format. */
  near(stream: Stream): string;
}

/** A day with its format. */
interface DayForm {
  readonly date: Date;
  /** Writes another day in the same format. */
  readonly write: (date: Date) => string;
}

const pad = (number: number) => String(number).padStart(2, "0");
function dayOf(year: number, month: number, day: number): Date | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  date.setUTCFullYear(year);
  const isOne = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isOne && year >= 1000 ? date : undefined;
}

function monthOf(name: string): number {
  const short = name.slice(0, 3).toLowerCase();
  return MONTHS.findIndex((month) => month.toLowerCase().startsWith(short)) + 1;
}

/** `2026-03-04`, `2026/03/04`. */
function readNumeric(text: string): DayForm | undefined {
  const [, year, mark, month, day] = /^(\d{4})([-/])(\d{2})\2(\d{2})$/.exec(text) ?? [];
  const date = dayOf(Number(year), Number(month), Number(day));
  return date && {
    date,
    write: (other) =>
      [other.getUTCFullYear(), pad(other.getUTCMonth() + 1), pad(other.getUTCDate())].join(mark),
  };
}

const DAY_FIRST = new RegExp(`^${DAY} (?:of )?${MONTH},? ${YEAR}$`, "i");
const MONTH_FIRST = new RegExp(`^${MONTH} ${DAY},? ${YEAR}$`, "i");

/** `4 March 2026`, `March 4th, 2026`. */
function readNamed(text: string): DayForm | undefined {
  const isDayFirst = /^\d/.test(text);
  const { day, month: name = "", year } = (isDayFirst ? DAY_FIRST : MONTH_FIRST).exec(text)
    ?.groups ?? {};
  const date = dayOf(Number(year), monthOf(name), Number(day));
  return date && {
    date,
    write: (other) => {
      const full = MONTHS[other.getUTCMonth()]!;
      const month = name.length > 4 ? full : full.slice(0, 3);
      const day = isDayFirst ? `${other.getUTCDate()} ${month}` : `${month} ${other.getUTCDate()}`;
      return `${day}${text.includes(",") ? "," : ""} ${other.getUTCFullYear()}`;
    },
  };
}

const IRREGULAR = new Map(Object.entries({
  one: "first",
  two: "second",
  three: "third",
  five: "fifth",
  eight: "eighth",
  nine: "ninth",
  twelve: "twelfth",
  twenty: "twentieth",
  thirty: "thirtieth",
}));

/** The ordinal of a day of a month, in words. */
function ordinal(day: number): string {
  const words = numberInWords(day).split("-");
  const last = words.pop()!;
  return [...words, IRREGULAR.get(last) ?? `${last}th`].join("-");
}

function dayInWords(date: Date): string {
  return `the ${ordinal(date.getUTCDate())} of ${
    MONTHS[date.getUTCMonth()]
  } ${date.getUTCFullYear()}`;
}

const DAY_MS = 24 * 60 * 60 * 1000;

function addDays(date: Date, days: number): Date {
  return new Date(date.getTime() + days * DAY_MS);
}

/** Days to express a day by: their distance from it, and the words before them. */
const RELATIVE_DAYS = [
  [0, ""],
  [0, ""],
  [1, "the day before "],
  [-1, "the day after "],
  [2, "two days before "],
  [-7, "one week after "],
] as const;

/** Parses a day; `undefined` for other texts. */
export function dateOf(text: string): Moment | undefined {
  const form = readNumeric(text) ?? readNamed(text);
  return form && {
    say: (stream) => {
      const [days, relation] = sample(RELATIVE_DAYS, stream)!;
      return relation + dayInWords(addDays(form.date, days));
    },
    near: (stream) => {
      const days = randomIntegerBetween(1, 9, stream) * (stream.prng() < 0.5 ? -1 : 1);
      return form.write(addDays(form.date, days));
    },
  };
}
