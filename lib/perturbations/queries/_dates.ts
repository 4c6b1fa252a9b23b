/**
 * Dates and times: parses those that people write, puts them into words, and finds similar ones.
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

/** A date or time. */
interface Moment {
  /** Returns it in words. */
  say(stream: Stream): string;
  /** Returns a similar one in the same format. */
  near(stream: Stream): string;
}

/** A day with its format. */
interface DayForm {
  readonly date: Date;
  readonly hasYear: boolean;
  /** Writes another day in the same format. */
  readonly write: (date: Date) => string;
}

const pad = (number: number) => String(number).padStart(2, "0");
/** A leap year, for days without a year, and a common year. */
const ANY_YEAR = 2024;
const COMMON_YEAR = 2023;

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

/** `2026-03-04`, `2026/03/04`, `04.03.2026`, and `25/12/2026` if only one order is a date. */
function readNumeric(text: string): DayForm | undefined {
  const iso = /^(\d{4})([-/])(\d{2})\2(\d{2})$/.exec(text);
  if (iso !== null) {
    const [, year, mark, month, day] = iso;
    const date = dayOf(Number(year), Number(month), Number(day));
    return date && {
      date,
      hasYear: true,
      write: (other) =>
        [other.getUTCFullYear(), pad(other.getUTCMonth() + 1), pad(other.getUTCDate())].join(mark),
    };
  }
  const other = /^(\d{1,2})([./])(\d{1,2})\2(\d{4})$/.exec(text);
  if (other === null) return undefined;
  const [, first, mark, second, year] = other;
  const dayFirst = dayOf(Number(year), Number(second), Number(first));
  const monthFirst = mark === "/" ? dayOf(Number(year), Number(first), Number(second)) : undefined;
  const date = dayFirst ?? monthFirst;
  if (date === undefined || (dayFirst && monthFirst && +dayFirst !== +monthFirst)) return undefined;
  const write = (number: number, like: string) =>
    like.startsWith("0") ? pad(number) : String(number);
  return {
    date,
    hasYear: true,
    write: (near) => {
      const day = write(near.getUTCDate(), dayFirst ? first! : second!);
      const month = write(near.getUTCMonth() + 1, dayFirst ? second! : first!);
      return [...(dayFirst ? [day, month] : [month, day]), near.getUTCFullYear()].join(mark);
    },
  };
}

const DAY_FIRST = new RegExp(`^${DAY} (?:of )?${MONTH}(?:,? ${YEAR})?$`, "i");
const MONTH_FIRST = new RegExp(`^${MONTH} ${DAY}(?:,? ${YEAR})?$`, "i");

/** `4 March 2026`, `March 4th, 2026`, `Mar 4`. */
function readNamed(text: string): DayForm | undefined {
  const isDayFirst = /^\d/.test(text);
  const { day, month: name, year } = (isDayFirst ? DAY_FIRST : MONTH_FIRST).exec(text)?.groups ??
    {};
  if (day === undefined || name === undefined) return undefined;
  const date = dayOf(Number(year ?? ANY_YEAR), monthOf(name), Number(day));
  return date && {
    date,
    hasYear: year !== undefined,
    write: (other) => {
      const full = MONTHS[other.getUTCMonth()]!;
      const month = name.length > 4 ? full : full.slice(0, 3);
      const day = isDayFirst ? `${other.getUTCDate()} ${month}` : `${month} ${other.getUTCDate()}`;
      if (year === undefined) return day;
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

function dayInWords(date: Date, hasYear: boolean): string {
  const phrase = `the ${ordinal(date.getUTCDate())} of ${MONTHS[date.getUTCMonth()]}`;
  return hasYear ? `${phrase} ${date.getUTCFullYear()}` : phrase;
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

/** Whether a distance in days leads to the same day in all years: not across the end of February. */
function isSameInAllYears(date: Date, days: number): boolean {
  const common = dayOf(COMMON_YEAR, date.getUTCMonth() + 1, date.getUTCDate());
  if (days === 0 || common === undefined) return days === 0;
  return dayInWords(addDays(common, days), false) === dayInWords(addDays(date, days), false);
}

function readDay(text: string): (Moment & DayForm) | undefined {
  const form = readNumeric(text) ?? readNamed(text);
  return form && {
    ...form,
    say: (stream) => {
      const [days, relation] = sample(
        RELATIVE_DAYS.filter(([days]) => form.hasYear || isSameInAllYears(form.date, days)),
        stream,
      )!;
      return relation + dayInWords(addDays(form.date, days), form.hasYear);
    },
    near: (stream) => {
      const days = randomIntegerBetween(1, 9, stream) * (stream.prng() < 0.5 ? -1 : 1);
      return form.write(addDays(form.date, days));
    },
  };
}

const CLOCK =
  /^(?<hour>\d{1,2})(?::(?<minute>\d{2})(?::(?<second>\d{2}))?)?(?:(?<space>\s?)(?<half>[ap])(?<dot>\.?)m\.?)?$/i;

/** A time of day with its format. */
interface TimeForm {
  /** Seconds since midnight. */
  readonly seconds: number;
  /** The precision of the format, in seconds. */
  readonly step: number;
  readonly write: (seconds: number) => string;
}

function readTimeForm(text: string): TimeForm | undefined {
  const { hour, minute, second, space = "", half, dot = "" } = CLOCK.exec(text)?.groups ?? {};
  if (hour === undefined || (minute === undefined && half === undefined)) return undefined;
  const [hours, minutes, rest] = [Number(hour), Number(minute ?? 0), Number(second ?? 0)];
  if (minutes > 59 || rest > 59) return undefined;
  if (half === undefined ? hours > 23 : hours < 1 || hours > 12) return undefined;
  const offset = half?.toLowerCase() === "p" ? 12 : 0;
  const upper = half !== undefined && half !== half.toLowerCase();
  const wide = hour.length === 2 && half === undefined;
  return {
    seconds: ((half === undefined ? hours : hours % 12 + offset) * 60 + minutes) * 60 + rest,
    step: second !== undefined ? 1 : minute !== undefined ? 60 : 3600,
    write: (seconds) => {
      const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
      const clockHour = half === undefined ? h : h % 12 || 12;
      const mark = `${h < 12 ? "a" : "p"}${dot}m${dot}`;
      return (wide ? pad(clockHour) : String(clockHour)) +
        (minute === undefined ? "" : `:${pad(m)}`) +
        (second === undefined ? "" : `:${pad(s)}`) +
        (half === undefined ? "" : space + (upper ? mark.toUpperCase() : mark));
    },
  };
}

function partOfDay(hour: number): string {
  if (hour >= 22 || hour < 5) return "at night";
  if (hour < 12) return "in the morning";
  return hour < 18 ? "in the afternoon" : "in the evening";
}

function timeInWords(seconds: number): string {
  const [hour, minute, rest] = [
    Math.floor(seconds / 3600),
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  const named = (number: number) => numberInWords(number % 12 || 12);
  const minutes = `${numberInWords(minute)} minute${minute === 1 ? "" : "s"}`;
  const phrase = minute === 0
    ? `${named(hour)} o'clock`
    : minute === 15
    ? `a quarter past ${named(hour)}`
    : minute === 30
    ? `half past ${named(hour)}`
    : minute === 45
    ? `a quarter to ${named(hour + 1)}`
    : `${minutes} past ${named(hour)}`;
  const exact = rest === 0 ? "" : ` and ${numberInWords(rest)} second${rest === 1 ? "" : "s"}`;
  return `${phrase}${exact} ${partOfDay(hour)}`;
}

const SECONDS_A_DAY = 24 * 60 * 60;

/** Parses a time of day; `undefined` for other texts. */
export function readTime(text: string): (Moment & TimeForm) | undefined {
  const form = readTimeForm(text);
  return form && {
    ...form,
    say: () => timeInWords(form.seconds),
    near: (stream) => {
      const step = Math.max(form.step, 5 * 60);
      const steps = randomIntegerBetween(1, form.step === 3600 ? 3 : 18, stream);
      const other = form.seconds + step * steps * (stream.prng() < 0.5 ? -1 : 1);
      return form.write((other + SECONDS_A_DAY) % SECONDS_A_DAY);
    },
  };
}

/** `2026-03-04T10:30`, with or without a Z. */
function readDateTime(text: string): Moment | undefined {
  const [, dayText, mark, timeText, zone = ""] =
    /^(\d{4}-\d{2}-\d{2})([T ])(\d{2}:\d{2}(?::\d{2})?)(Z?)$/.exec(text) ?? [];
  if (dayText === undefined) return undefined;
  const [day, time] = [readDay(dayText), readTime(timeText!)];
  if (day === undefined || time === undefined) return undefined;
  return {
    say: (stream) => `${time.say(stream)}${zone && " UTC"} on ${dayInWords(day.date, true)}`,
    near: (stream) => day.near(stream) + mark + timeText + zone,
  };
}

/** Parses a day, or a day with a time; `undefined` for other texts and for the ambiguous `03/04/2026`. */
export function dateOf(text: string): Moment | undefined {
  return readDateTime(text) ?? readDay(text);
}
