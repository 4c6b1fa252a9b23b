/**
 * Tool faults: what can go wrong with a correct call (Pipeline, "Error Handling and Retry Logic"), and the
 * ids of the perturbations that inject them.
 * @module
 */

import { cannot } from "../base/errors.ts";

/**
 * Every kind of fault. `slow` returns late, but with the correct result; all others return no usable
 * result.
 */
export const FAULTS = [
  "timeout",
  "rate_limit",
  "not_found",
  "permission_denied",
  "gone",
  "invalid_argument",
  "malformed_return",
  "slow",
  "flaky",
] as const;

/** A kind of fault. */
export type FaultKind = typeof FAULTS[number];

/** A fault injected into one call. */
export interface Fault {
  /** Its kind. */
  readonly kind: FaultKind;
  /** The text to return in place of a result, without running the function; omitted if it runs. */
  readonly content?: string;
  /** The error message; omitted if the content is not an error. */
  readonly error?: string;
  /** Delay before the call in milliseconds; default none. */
  readonly delay?: number;
}

/** Injects faults: called in order, once for each call that conforms to its schema. */
export type FaultInjector = (tool: string) => Fault | undefined;

/**
 * The id of a fault as a perturbation: its kind, optionally with a colon and the number of calls it hits,
 * such as `timeout:3`, or for `flaky` the rate, such as `flaky:0.35`.
 */
export type FaultId = FaultKind | `${FaultKind}:${number}`;

/** A parsed fault id. */
export interface FaultSetting {
  /** The kind. */
  readonly kind: FaultKind;
  /** The number of calls of the function it hits, from the first on; infinite for those that last. */
  readonly times: number;
  /** The share of all calls that `flaky` hits. */
  readonly rate: number;
}

/** The default rate of `flaky`. */
export const FLAKY_RATE = 0.2;

/** The effect of each kind, in a few words. */
export const FAULT_EFFECTS: Readonly<Record<FaultKind, string>> = {
  timeout: "the first call of a function that is needed times out",
  rate_limit: "the first call of a function that is needed is rejected by a rate limit",
  not_found: "the first call of a function that is needed finds nothing",
  permission_denied: "no call of a function that is needed is allowed",
  gone: "a function that is needed is gone for good, and another one on offer does the same",
  invalid_argument:
    "the first call of a function that is needed is rejected, although it is correct",
  malformed_return: "the first call of a function that is needed returns unreadable text",
  slow: "the first call of a function that is needed returns late, but correctly",
  flaky: "calls of any function fail, one in five",
};

/** No trial repeats calls of one function more often than this. */
const MAX_TIMES = 99;

/** The ids of faults as a regular expression, for editors. */
export const FAULT_PATTERN: string = [
  `(${FAULTS.filter((kind) => !isLasting(kind) && kind !== "flaky").join("|")})` +
  "(:[1-9][0-9]?)?",
  "permission_denied",
  "gone",
  "flaky(:0\\.[0-9]{0,5}[1-9])?",
].join("|");

/** Whether an id names a fault: the number after its colon may still be invalid. */
export function isFault(id: string): id is FaultId {
  const [kind] = id.split(":", 1);
  return (FAULTS as readonly string[]).includes(kind!);
}

/**
 * Parses the id of a fault.
 *
 * @throws {InputError} If its number is not valid for its kind.
 */
export function faultIn(id: FaultId): FaultSetting {
  const rule = numberRule(id);
  if (rule !== undefined) throw cannot("use the perturbation", `it ${rule}`, id);
  const { kind, number } = splitFault(id);
  if (kind === "flaky") {
    return { kind, times: Infinity, rate: number === undefined ? FLAKY_RATE : Number(number) };
  }
  if (isLasting(kind)) return { kind, times: Infinity, rate: 1 };
  return { kind, times: number === undefined ? 1 : Number(number), rate: 1 };
}

/** Returns which rule the number in the id of a fault breaks; `undefined` if it is right. */
export function numberRule(id: FaultId): string | undefined {
  const { kind, number } = splitFault(id);
  if (number === undefined) return undefined;
  if (kind === "flaky") {
    return /^0\.[0-9]{0,5}[1-9]$/.test(number)
      ? undefined
      : "must say how often a call fails by a rate between 0 and 1 that ends in no zero, such as flaky:0.35";
  }
  if (isLasting(kind)) {
    const what = kind === "gone" ? "a function is gone" : "permission is denied";
    return `must have no number where ${what} for good`;
  }
  return /^[1-9][0-9]?$/.test(number)
    ? undefined
    : `must say how many calls fail by a whole number from 1 to ${MAX_TIMES}, such as ${kind}:2`;
}

function splitFault(
  id: FaultId,
): { readonly kind: FaultKind; readonly number: string | undefined } {
  const colon = id.indexOf(":");
  if (colon === -1) return { kind: id as FaultKind, number: undefined };
  return { kind: id.slice(0, colon) as FaultKind, number: id.slice(colon + 1) };
}

/** Returns the id of a fault without default numbers: `timeout` for `timeout:1`. */
export function briefFault(id: FaultId): FaultId {
  const { kind, times, rate } = faultIn(id);
  if (kind === "flaky") return rate === FLAKY_RATE ? kind : `${kind}:${rate}`;
  return times === 1 || times === Infinity ? kind : `${kind}:${times}`;
}

/** What became of a call under a fault. */
export interface FaultFate {
  /** The fault injected into the call; omitted if there is none. */
  readonly fault?: FaultKind | undefined;
  /**
   * The number of the call that it refers to and that is lost itself, so that this one could not be made; omitted
   * otherwise. Values that are no references may be wrong.
   */
  readonly blockedBy?: number | undefined;
}

/** Whether a fault kept a call from returning its result: its own, or that of a call that it refers to. */
export function isLost({ fault, blockedBy }: FaultFate): boolean {
  return blockedBy !== undefined || fault !== undefined && fault !== "slow";
}

/** Says what became of a lost call: `fault timeout`, or `blocked by call 1`. */
export function lossText({ fault, blockedBy }: FaultFate): string {
  return blockedBy === undefined ? `fault ${fault}` : `blocked by call ${blockedBy}`;
}

/** Whether a fault hits every call of its function, for good. */
export function isLasting(kind: FaultKind): boolean {
  return kind === "permission_denied" || kind === "gone";
}

/** Whether a call that this fault hit may succeed when repeated. */
export function isTransient(kind: FaultKind): boolean {
  return !isLasting(kind) && kind !== "slow";
}
