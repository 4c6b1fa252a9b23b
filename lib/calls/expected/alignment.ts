/**
 * Alignment: which calls of a trial correspond to which expected ones (Butterfly, section 5.2), and what an
 * expected call leaves open while their arguments are compared.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { isJsonObject, type JsonValue } from "../../base/json.ts";
import { mayBeAbsent, meets } from "./matchers.ts";
import type { ExpectedCall, ExpectedValue } from "../../tools/expected_call.ts";
import type { RecordedCall } from "../record.ts";
import { valueDifferences } from "../values/differences.ts";
import { checkIgnored } from "../values/ignored.ts";
import { ANY_ITEM, parsePath, type PathStep, type ValuePath } from "../values/paths.ts";

/** What an expected call leaves open at one place of its arguments. */
export interface Leniency {
  /** Whether there may be further keys. */
  readonly partial: boolean;
  /** Paths from here on to parts that may have any value or be absent. */
  readonly ignored: readonly ValuePath[];
}

const STRICT: Leniency = { partial: false, ignored: [] };

/**
 * Returns what an expected call leaves open in its arguments as a whole.
 *
 * @throws {InputError} If a path to ignore is invalid, or it sets `defaults`, which only assertions can honour.
 */
export function leniencyOf(
  { tool, arguments: expected, match, ignore = [], defaults }: ExpectedCall,
): Leniency {
  if (defaults !== undefined) {
    throw cannot(
      `expect a call of ${tool}`,
      "only assertions take defaults",
      `failure types always accept a default that is given, and never one that is left out; here it is ` +
        String(defaults),
    );
  }
  const ignored = ignore.map(parsePath);
  checkIgnored(expected, ignored);
  return { partial: match === "partial" || expected === undefined, ignored };
}

/** Returns what is left open one step further; `undefined` if all of it is. */
export function leniencyWithin(leniency: Leniency, step: PathStep): Leniency | undefined {
  const { partial, ignored } = leniency;
  if (ignored.length === 0) return leniency;
  const inner = ignored.flatMap(([first, ...others]) =>
    first === step || first === ANY_ITEM ? [others] : []
  );
  return inner.some(({ length }) => length === 0) ? undefined : { partial, ignored: inner };
}

/** Returns whether a value is right but for what is left open. */
export function meetsLeniently(
  given: JsonValue,
  expected: ExpectedValue,
  { partial, ignored }: Leniency,
): boolean {
  if (!partial && ignored.length === 0) return meets(given, expected);
  return valueDifferences(given, expected, { name: "", partial, ignore: ignored }).length === 0;
}

/**
 * Aligns the calls of a trial with the expected ones: returns for each call the index of its counterpart of the
 * same name, or `null` for a surplus call. Both stay in order. As many calls as possible have a counterpart
 * (the longest common subsequence of names); of these alignments, the one with most right arguments, at the
 * top level; and of these, the one in which the first call has the earliest counterpart, then the second,
 * and so on. Time and space grow with the product of both lengths.
 */
export function alignCalls(
  calls: readonly Pick<RecordedCall, "tool" | "arguments">[],
  expected: readonly ExpectedCall[],
): readonly (number | null)[] {
  const width = expected.length + 1;
  const parameters = expected.map(expectedParameters);
  // One more aligned call outweighs all arguments.
  const weight = 1 + parameters.flat().length;
  /** The best score of the calls from an index on against the expected ones from an index on. */
  const best = new Float64Array((calls.length + 1) * width);
  /** The same score if the first two of them are paired; `NaN` if their names differ. */
  const together = new Float64Array(best.length).fill(NaN);
  for (let call = calls.length - 1; call >= 0; call--) {
    for (let other = expected.length - 1; other >= 0; other--) {
      const here = call * width + other;
      if (calls[call]!.tool === expected[other]!.tool) {
        together[here] = best[here + width + 1]! + weight +
          rightArguments(calls[call]!.arguments, parameters[other]!);
      }
      best[here] = Math.max(best[here + 1]!, best[here + width]!, together[here]! || 0);
    }
  }
  let next = 0;
  return calls.map((_, call) => {
    const most = best[call * width + next]!;
    for (let other = next; other < expected.length; other++) {
      if (together[call * width + other] !== most) continue;
      next = other + 1;
      return other;
    }
    return null;
  });
}

interface ExpectedParameter {
  readonly key: string;
  readonly value: ExpectedValue;
  readonly leniency: Leniency;
}

function expectedParameters(call: ExpectedCall): readonly ExpectedParameter[] {
  const whole = leniencyOf(call);
  return Object.entries(call.arguments ?? {}).map(([key, value]) => {
    // An argument that is ignored may still tell which of two calls is meant.
    return { key, value, leniency: leniencyWithin(whole, key) ?? STRICT };
  });
}

function rightArguments(
  given: JsonValue | undefined,
  expected: readonly ExpectedParameter[],
): number {
  if (!isJsonObject(given)) return 0;
  return expected.filter(({ key, value, leniency }) =>
    Object.hasOwn(given, key) ? meetsLeniently(given[key]!, value, leniency) : mayBeAbsent(value)
  ).length;
}
