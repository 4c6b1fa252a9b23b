/**
 * Call matching: pairs the calls that were made with the expected ones, in any order or in the given order
 * (the trajectory modes of langchain's agentevals). A refused call matches none of the expected ones, as no
 * tool was run. A call that an injected fault kept from its result does not count at all: it must be made again.
 * One that was not made as it refers to such a call counts only if it is none of the expected ones whatever it
 * refers to.
 * Scores of calls, for when one wrong call should not fail everything, are made of these pairs.
 * @module
 */

import { maximumMatching } from "../values/_matching.ts";
import type { CallRecord, RecordedCall } from "../record.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import { CheckedCall, nameDistance } from "./checked_call.ts";
import { isLost } from "../../tools/fault.ts";
import { holdsReference } from "../../tools/references/resolve.ts";
import { cannot } from "../../base/errors.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { isUndecided, type ValueDifference } from "../values/differences.ts";

/** Every trajectory mode. */
export const TRAJECTORY_MODES = ["exact", "unordered", "subset", "superset"] as const;

/**
 * How the calls that were made are compared with the expected ones.
 *
 * - `exact`: the same calls in the same order, and no others.
 * - `unordered`: the same calls, each as often, in any order.
 * - `subset`: every call that was made is an expected one, each at most as often.
 * - `superset`: every expected call was made, and others may be too.
 *
 * Refused calls count as made and match none of the expected ones: only `superset` accepts them. No mode
 * counts calls that an injected fault kept from their results.
 */
export type TrajectoryMode = typeof TRAJECTORY_MODES[number];

/** Calls that were made, and the tools that were available. */
export type MadeCalls = Pick<CallRecord, "calls" | "heldCalls" | "tools">;

/** Pairs of made and expected calls, by their indexes in both lists. */
export interface CallMatching {
  /** For each expected call, the call that was made; `null` if it was not made. */
  readonly partners: readonly (number | null)[];
  /** The expected calls that were not made. */
  readonly missing: readonly number[];
  /** The calls that match no expected one, including refused ones. */
  readonly unexpected: readonly number[];
}

/**
 * Checks expected calls.
 *
 * @throws {InputError} If they are not a list, or one of them is invalid.
 */
export function checkExpectedCalls(
  expected: readonly CallExpectation[],
  tools: readonly ToolSchema[],
): readonly CheckedCall[] {
  if (!Array.isArray(expected)) {
    throw cannot(
      "expect calls",
      "they must be a list",
      `it is ${expected === null ? "null" : `of type ${typeof expected}`}`,
    );
  }
  return expected.map((one) => new CheckedCall(one, tools));
}

/**
 * Matches as many expected calls as possible with calls that were carried out, in any order. Each call
 * matches at most one expected call; the order of the expected calls does not affect how many match.
 *
 * @throws {InputError} If an expected call is invalid, or there is no such tool.
 */
export function matchCalls(
  record: MadeCalls,
  expected: readonly CallExpectation[],
): CallMatching {
  return matchingOf(record, expected, maximumMatching);
}

/**
 * Compares the calls that were made with a trajectory. With `exact`, the calls that match are a longest
 * common subsequence, so that as few calls as possible are missing or unexpected.
 *
 * @throws {InputError} If there is no such mode, an expected call is invalid, or there is no such tool.
 */
export function compareTrajectory(
  record: MadeCalls,
  expected: readonly CallExpectation[],
  mode: TrajectoryMode,
): CallMatching & { readonly holds: boolean } {
  if (!TRAJECTORY_MODES.includes(mode)) {
    throw cannot(
      "compare calls",
      `the mode must be one of ${TRAJECTORY_MODES.join(", ")}`,
      `it is ${mode}`,
    );
  }
  const pair = mode === "exact" ? longestInOrder : maximumMatching;
  const matching = matchingOf(record, expected, pair);
  const mayMiss = mode === "subset";
  const mayAdd = mode === "superset";
  const holds = (mayMiss || matching.missing.length === 0) &&
    (mayAdd || matching.unexpected.length === 0);
  return { holds, ...matching };
}

/**
 * Returns the call most like an expected one, and its differences from it: by the edit distance of tool
 * names, then by the number of differences, then by order. It may have been refused, or have met a fault, and
 * then have no difference. Returns `undefined` if no call was made.
 *
 * @throws {InputError} If the expected call is invalid, or there is no such tool.
 */
export function nearestCall(
  expected: CallExpectation | CheckedCall,
  { calls, tools }: MadeCalls,
): { readonly call: RecordedCall; readonly differences: readonly ValueDifference[] } | undefined {
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
 * Returns the indexes of the calls that are as expected, and of those that a matcher could not decide.
 *
 * @param counts Which calls are looked at. Default: those that were neither refused nor lost to a fault.
 */
export function fittingPlaces(
  expected: CheckedCall,
  calls: readonly RecordedCall[],
  counts: (call: RecordedCall) => boolean = isCarriedOut,
): { readonly fitting: readonly number[]; readonly undecided: readonly number[] } {
  const fitting: number[] = [];
  const undecided: number[] = [];
  calls.forEach((call, place) => {
    if (!counts(call)) return;
    const differences = expected.differencesOf(call);
    if (differences.length === 0) fitting.push(place);
    else if (isUndecided(differences)) undecided.push(place);
  });
  return { fitting, undecided };
}

/** Whether a call was neither refused nor lost to a fault. */
export function isCarriedOut(call: RecordedCall): boolean {
  return !call.refused && !isLost(call);
}

/** Whether a call counts as made: it may have been blocked, unless it is as expected but for what it refers to. */
function countsAsMade(call: RecordedCall, expected: readonly CheckedCall[]): boolean {
  if (call.blockedBy === undefined) return !isLost(call);
  return !expected.some((one) =>
    one.differencesOf(call).every(({ kind, actual }) =>
      kind === "different" && holdsReference(actual)
    )
  );
}

function matchingOf(
  { calls, tools }: MadeCalls,
  expected: readonly CallExpectation[],
  pair: (fitting: readonly (readonly number[])[]) => readonly (number | null)[],
): CallMatching {
  const checked = checkExpectedCalls(expected, tools);
  const partners = pair(checked.map((one) => fittingPlaces(one, calls).fitting));
  const matched = new Set(partners);
  return {
    partners,
    missing: partners.flatMap((partner, place) => partner === null ? [place] : []),
    unexpected: calls.flatMap((call, place) =>
      matched.has(place) || !countsAsMade(call, checked) ? [] : [place]
    ),
  };
}

/** Pairs as many as possible where both sides stay in order (a longest common subsequence). */
function longestInOrder(fitting: readonly (readonly number[])[]): readonly (number | null)[] {
  /** For each length, the chain of pairs that ends earliest. */
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

/** The last pair of a chain in which both sides are in order. */
interface Link {
  readonly expected: number;
  readonly place: number;
  readonly before: Link | undefined;
}

/** Returns the length of the longest chain that ends before a place. */
function lengthBefore(ends: readonly Link[], place: number): number {
  const length = ends.findIndex((end) => end.place >= place);
  return length < 0 ? ends.length : length;
}

/**
 * Scores the calls that were made, in any order: each matches at most one expected call, and as many match
 * as possible. A refused call counts as made and matches none; a call that an injected fault kept from its
 * result does not count. Where there is nothing to share, a share is 1 if nothing was expected and made, else 0.
 *
 * @throws {InputError} If an expected call is invalid, or there is no such tool.
 */
export function scoreCalls(record: MadeCalls, expected: readonly CallExpectation[]) {
  const { missing, unexpected } = matchCalls(record, expected);
  const matched = expected.length - missing.length;
  const made = matched + unexpected.length;
  const isEmpty = made + expected.length === 0;
  const share = (count: number, of: number) => isEmpty ? 1 : of === 0 ? 0 : count / of;
  return {
    precision: share(matched, made),
    recall: share(matched, expected.length),
    f1: share(2 * matched, made + expected.length),
    matched,
    made,
    expected: expected.length,
  };
}
