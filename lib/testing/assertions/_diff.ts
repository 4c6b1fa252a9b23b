/**
 * Diff blocks: what is there and what was expected line by line, as `@std/assert` shows them.
 * @module
 */

import defer * as diff from "diff";
import { isJsonObject, isWithin, printable } from "../../base/json.ts";
import { isMatcher } from "../../calls/expected/matchers.ts";
import { MAX_PATH_LENGTH, type ValueDifference } from "../../calls/values/differences.ts";
import { pathText } from "../../calls/values/paths.ts";

/** Lines of a text that are compared, at most. */
const MAX_COMPARED = 200;
/** Lines of a block, at most. */
const MAX_LINES = 30;
/** Characters of a line, at most. */
const MAX_LINE_LENGTH = 200;
/** Equal lines that are shown before and after ones that differ. */
const CONTEXT = 2;

/**
 * A block in which lines that are only there begin with `-`, and ones that were expected with `+`; empty if both
 * are the same. It has no colours: trials, job logs and reports keep it as it is.
 */
export function diffLines(actual: string, expected: string): readonly string[] {
  const [there, wanted] = [actual, expected].map((text) =>
    text.split(/\r?\n/, MAX_COMPARED).map((line) => printable(line, MAX_LINE_LENGTH))
  ) as [string[], string[]];
  const all = diff.diffArrays(there, wanted).flatMap(({ added, removed, value }) =>
    value.map((line) => ({ sign: added ? "+" : removed ? "-" : " ", line }))
  );
  if (all.every(({ sign }) => sign === " ")) return [];
  const isNear = (place: number) =>
    all.slice(Math.max(0, place - CONTEXT), place + CONTEXT + 1).some(({ sign }) => sign !== " ");
  const near = all.filter((_, place) => isNear(place));
  const more = near.length - MAX_LINES;
  return [
    "[Diff] Actual / Expected",
    ...near.slice(0, MAX_LINES).map(({ sign, line }) => `${sign}   ${line}`),
    ...(more > 0 ? [`... ${more} more lines`] : []),
  ];
}

/** Returns the block of a value and what was expected in its place, of which the differences are known. */
export function valueDiffLines(
  actual: unknown,
  expected: unknown,
  name: string,
  differences: readonly ValueDifference[],
): readonly string[] {
  // No one would read more, and text of a deeper value could overflow the stack.
  if (![actual, expected].every((value) => isWithin(value, { levels: 50, values: 10_000 }))) {
    return [];
  }
  const kinds = new Map(differences.map(({ path, kind }) => [path, kind]));
  const wanted = asExpected(actual, expected, [name], kinds);
  return diffLines(linesOf(actual), linesOf(wanted));
}

/** A value as it would have to be: parts that are right stay as they are, also where others would be right, too. */
function asExpected(
  actual: unknown,
  expected: unknown,
  steps: readonly unknown[],
  kinds: ReadonlyMap<string, ValueDifference["kind"]>,
): unknown {
  const path = placeOf(steps);
  const kind = kinds.get(path);
  if (kind === "missing" || kind === "different") return shown(expected);
  if (!kinds.keys().some((other) => other.startsWith(path))) return actual;
  const within = (one: unknown, other: unknown, step: unknown) =>
    kinds.get(placeOf([...steps, step])) === "unexpected"
      ? undefined
      : asExpected(one, other, [...steps, step], kinds);
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const length = Math.max(actual.length, expected.length);
    return Array.from({ length }, (_, place) => within(actual[place], expected[place], place))
      .filter((one) => one !== undefined);
  }
  if (!isJsonObject(actual) || !isJsonObject(expected)) return actual;
  const keys = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, within(actual[key], expected[key], key)]),
  );
}

/** The path to a value as differences have it. */
function placeOf(steps: readonly unknown[]): string {
  return printable(pathText(steps), MAX_PATH_LENGTH);
}

/** An expected value with the descriptions of its matchers. */
function shown(expected: unknown): unknown {
  if (isMatcher(expected)) return `(${expected.description})`;
  if (Array.isArray(expected)) return expected.map(shown);
  if (!isJsonObject(expected)) return expected;
  return Object.fromEntries(Object.entries(expected).map(([key, one]) => [key, shown(one)]));
}

/** A value on several lines; texts of several lines keep theirs. */
function linesOf(value: unknown): string {
  return (JSON.stringify(value, null, 2) ?? String(value)).replace(
    /^( *)(.*)$/gm,
    (_, space: string, line: string) => space + line.replaceAll("\\n", `\\n\n${space}  `),
  );
}
