/**
 * Call matching: which of the calls that were made are which of the expected ones, in any order or in the
 * order in which they stand (the trajectory modes of langchain's agentevals). A call that was refused is
 * none of the expected ones: no tool was run. One that a fault was put in the way of, so that it had no
 * result, is of no account at all: it is to be made again.
 * @module
 */

import { maximumMatching } from "../values/bipartite_matching.ts";
import type { CallRecord, RecordedCall } from "../record.ts";
import {
  type CallDifference,
  type CallExpectation,
  CheckedCall,
  nameDistance,
} from "./expected_call.ts";
import { isLost } from "../../tools/fault.ts";
import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { isUndecided } from "../values/differences.ts";

/** Every trajectory mode. */
export const TRAJECTORY_MODES = ["exact", "unordered", "subset", "superset"] as const;

/**
 * How the calls that were made are held against the expected ones.
 *
 * - `exact`: the same calls in the same order, and no others.
 * - `unordered`: the same calls, each as often, in any order.
 * - `subset`: every call that was made is an expected one, each at most as often.
 * - `superset`: every expected call was made, and others may be too.
 *
 * Refused calls were made, and are none of the expected ones: `superset` alone takes them. Calls that met a
 * fault are left out in all of them.
 */
export type TrajectoryMode = typeof TRAJECTORY_MODES[number];

/** Calls, and the tools that they are made on. */
export type MadeCalls = Pick<CallRecord, "calls" | "tools">;

/** Which calls are which of the expected ones, by their places in both lists, from 0. */
export interface CallMatching {
  /** The call of each expected one; `null` where it was not made. */
  readonly partners: readonly (number | null)[];
  /** The expected calls that were not made. */
  readonly missing: readonly number[];
  /** The calls that are none of the expected ones, those that were refused among them. */
  readonly unexpected: readonly number[];
}

/** What comes of holding calls against a trajectory. */
export interface TrajectoryComparison extends CallMatching {
  /** Whether they are as the mode demands. */
  readonly holds: boolean;
}

/** The call that is nearest to an expected one. */
export interface NearestCall {
  /** The call. */
  readonly call: RecordedCall;
  /** How it is not as expected; none where it is, though it may have been refused or have met a fault. */
  readonly differences: readonly CallDifference[];
}

/**
 * Checks expected calls.
 *
 * @throws {InputError} If they are no list, or one of them cannot be used.
 */
export function checkExpectedCalls(
  expected: readonly CallExpectation[],
  tools: readonly ToolSchema[],
): readonly CheckedCall[] {
  if (!Array.isArray(expected)) {
    throw new InputError(
      `Cannot expect calls as they must be a list: it is ${
        expected === null ? "null" : `of type ${typeof expected}`
      }`,
    );
  }
  return expected.map((one) => new CheckedCall(one, tools));
}

/**
 * Finds as many expected calls as possible among those that were carried out, in any order, each call
 * standing for one expected call only: what an expectation could take as well as another never hangs on the order
 * in which they are written.
 *
 * @throws {InputError} If what is expected cannot be used, or there is no such tool.
 *
 * @example Usage
 * ```ts
 * import { matchCalls } from "./match_calls.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const call = (number: number, city: string) => {
 *   const given = { city };
 *   const written = JSON.stringify(given);
 *   return { call: number, step: number, tool: "weather", arguments: given, written, result: "" };
 * };
 * const calls = [call(1, "Paris"), call(2, "Rome"), call(3, "Oslo")];
 * const rome = { tool: "weather", arguments: { city: "Rome" } };
 * const paris = { tool: "weather", arguments: { city: "Paris" } };
 * assertEquals(matchCalls({ calls, tools: [] }, ["weather", rome, paris]), {
 *   partners: [2, 1, 0],
 *   missing: [],
 *   unexpected: [],
 * });
 * ```
 */
export function matchCalls(
  record: MadeCalls,
  expected: readonly CallExpectation[],
): CallMatching {
  return matchingOf(fittingCalls(record, expected), record.calls, maximumMatching);
}

/**
 * Holds the calls that were made against a trajectory. Of expected and made calls that are not the same,
 * `exact` tells as few as possible, those that are in order being right.
 *
 * @throws {InputError} If there is no such mode, what is expected cannot be used, or there is no such tool.
 *
 * @example Usage
 * ```ts
 * import { compareTrajectory } from "./match_calls.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const call = (number: number, tool: string) =>
 *   ({ call: number, step: number, tool, arguments: {}, written: "{}", result: "" });
 * const record = { calls: [call(1, "locate"), call(2, "search")], tools: [] };
 * assertEquals(compareTrajectory(record, ["search", "locate"], "unordered").holds, true);
 * assertEquals(compareTrajectory(record, ["search", "locate"], "exact"), {
 *   holds: false,
 *   partners: [null, 0],
 *   missing: [0],
 *   unexpected: [1],
 * });
 * ```
 */
export function compareTrajectory(
  record: MadeCalls,
  expected: readonly CallExpectation[],
  mode: TrajectoryMode,
): TrajectoryComparison {
  if (!TRAJECTORY_MODES.includes(mode)) {
    throw new InputError(
      `Cannot compare calls as the mode must be one of ${TRAJECTORY_MODES.join(", ")}: it is ${
        printable(String(mode), 100)
      }`,
    );
  }
  const pair = mode === "exact" ? longestInOrder : maximumMatching;
  const matching = matchingOf(fittingCalls(record, expected), record.calls, pair);
  const mayMiss = mode === "subset";
  const mayAdd = mode === "superset";
  const holds = (mayMiss || matching.missing.length === 0) &&
    (mayAdd || matching.unexpected.length === 0);
  return { holds, ...matching };
}

/**
 * The call that is nearest to an expected one: of the same tool, else of one with a name that is as near as
 * any (by edit distance); of these, with the fewest differences; of these, the first. It may be one that was
 * refused, or met a fault. `undefined` where no call was made.
 *
 * @throws {InputError} If what is expected cannot be used, or there is no such tool.
 *
 * @example Usage
 * ```ts
 * import { nearestCall } from "./match_calls.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const call = (number: number, tool: string, given: { [key: string]: number }) =>
 *   ({ call: number, step: 1, tool, arguments: given, written: JSON.stringify(given), result: "" });
 * const calls = [call(1, "add", { x: 1, y: 2 }), call(2, "add", { x: 1, y: 3 })];
 * const expected = { tool: "add", arguments: { x: 5, y: 3 } };
 * assertEquals(nearestCall(expected, { calls, tools: [] })?.call.call, 2);
 * ```
 */
export function nearestCall(
  expected: CallExpectation | CheckedCall,
  { calls, tools }: MadeCalls,
): NearestCall | undefined {
  const checked = expected instanceof CheckedCall ? expected : new CheckedCall(expected, tools);
  const ranked = calls.map((call) => {
    const differences = checked.differencesOf(call);
    return { call, differences, distance: nameDistance(call.tool, checked.tool) };
  });
  const [nearest] = ranked.sort((one, other) =>
    one.distance - other.distance || one.differences.length - other.differences.length
  );
  return nearest && { call: nearest.call, differences: nearest.differences };
}

/**
 * The calls that are as expected, and those of which a matcher could not tell, by their places.
 *
 * @param attempts Whether calls that were refused or met a fault count, too; default `false`.
 */
export function fittingPlaces(
  expected: CheckedCall,
  calls: readonly RecordedCall[],
  attempts = false,
): { readonly fitting: readonly number[]; readonly undecided: readonly number[] } {
  const fitting: number[] = [];
  const undecided: number[] = [];
  calls.forEach((call, place) => {
    if ((call.refused || isLost(call)) && !attempts) return;
    const differences = expected.differencesOf(call);
    if (differences.length === 0) fitting.push(place);
    else if (isUndecided(differences)) undecided.push(place);
  });
  return { fitting, undecided };
}

/** The calls that each expected one may be, by their places. */
function fittingCalls(
  { calls, tools }: MadeCalls,
  expected: readonly CallExpectation[],
): readonly (readonly number[])[] {
  return checkExpectedCalls(expected, tools).map((one) => fittingPlaces(one, calls).fitting);
}

function matchingOf(
  fitting: readonly (readonly number[])[],
  calls: readonly RecordedCall[],
  pair: (fitting: readonly (readonly number[])[]) => readonly (number | null)[],
): CallMatching {
  const partners = pair(fitting);
  const made = new Set(partners);
  return {
    partners,
    missing: partners.flatMap((partner, place) => partner === null ? [place] : []),
    unexpected: calls.flatMap((call, place) => made.has(place) || isLost(call) ? [] : [place]),
  };
}

/** Pairs as many as possible where both sides stay in order (a longest common subsequence). */
function longestInOrder(fitting: readonly (readonly number[])[]): readonly (number | null)[] {
  /** The chain of each length that ends earliest, as a call and what stands before it. */
  const ends: Link[] = [];
  fitting.forEach((places, expected) => {
    // From the last to the first, as one expected call must not follow itself.
    for (const place of places.toReversed()) {
      const length = lengthBefore(ends, place);
      ends[length] = { expected, place, before: ends[length - 1] };
    }
  });
  const partners: (number | null)[] = fitting.map(() => null);
  for (let link = ends.at(-1); link !== undefined; link = link.before) {
    partners[link.expected] = link.place;
  }
  return partners;
}

/** A pair in a chain of pairs in order. */
interface Link {
  readonly expected: number;
  readonly place: number;
  readonly before: Link | undefined;
}

/** How many chains end before a place; they stand in order. */
function lengthBefore(ends: readonly Link[], place: number): number {
  const length = ends.findIndex((end) => end.place >= place);
  return length < 0 ? ends.length : length;
}
