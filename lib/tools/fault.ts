/**
 * Faults: what can go wrong with a tool that was called rightly (Pipeline, "Error Handling and Retry
 * Logic"), and the ids by which perturbations put them in the way of calls.
 * @module
 */

import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";

/**
 * Every kind of fault. `slow` returns late, and as it should; whoever gets one of the others has no
 * result.
 */
export const FAULTS = [
  "timeout",
  "rate_limit",
  "not_found",
  "permission_denied",
  "invalid_argument",
  "malformed_return",
  "slow",
  "flaky",
] as const;

/** A kind of fault. */
export type FaultKind = typeof FAULTS[number];

/** A fault that is put in the way of one call. */
export interface Fault {
  /** Its kind. */
  readonly kind: FaultKind;
  /** What goes back in place of a result: the function is not run. Left out where it is. */
  readonly content?: string;
  /** What went wrong, in words; left out where the content is no error. */
  readonly error?: string;
  /** Milliseconds that pass before; default none. */
  readonly delay?: number;
}

/** Puts faults in the way of calls: asked once for each call that conforms to its schema, in order. */
export type FaultInjector = (tool: string) => Fault | undefined;

/**
 * The id of a fault as a perturbation: its kind, and behind a colon how many calls it hits, such as
 * `timeout:3`, or of `flaky` how often, such as `flaky:0.35`.
 */
export type FaultId = FaultKind | `${FaultKind}:${number}`;

/** What an id of a fault says. */
export interface FaultSetting {
  /** The kind. */
  readonly kind: FaultKind;
  /** How many calls of the function it hits, the first ones; infinite for `permission_denied`. */
  readonly times: number;
  /** The share of all calls that `flaky` hits. */
  readonly rate: number;
}

/** How often `flaky` hits a call unless its id says it. */
export const FLAKY_RATE = 0.2;

/** What each kind does, in a few words. */
export const FAULT_EFFECTS: Readonly<Record<FaultKind, string>> = {
  timeout: "the first call of a function that is needed times out",
  rate_limit: "the first call of a function that is needed is refused for being one too many",
  not_found: "the first call of a function that is needed finds nothing",
  permission_denied: "no call of a function that is needed is allowed",
  invalid_argument: "the first call of a function that is needed is refused, though it is right",
  malformed_return: "the first call of a function that is needed returns what nobody can read",
  slow: "the first call of a function that is needed returns late, and as it should",
  flaky: "calls of any function fail, one in five",
};

/** More than so many calls of one function no trial makes for a fault to go away. */
const MOST_TIMES = 99;

/** The ids of faults as a regular expression, for editors. */
export const FAULT_PATTERN: string = [
  `(${FAULTS.filter((kind) => kind !== "permission_denied" && kind !== "flaky").join("|")})` +
  "(:[1-9][0-9]?)?",
  "permission_denied",
  "flaky(:0\\.[0-9]{0,5}[1-9])?",
].join("|");

/** Whether an id is meant as that of a fault: what stands behind its colon may still be wrong. */
export function isFault(id: string): id is FaultId {
  const [kind] = id.split(":", 1);
  return (FAULTS as readonly string[]).includes(kind!);
}

/**
 * What an id of a fault says.
 *
 * @throws {InputError} If its number is not one that its kind takes.
 *
 * @example Usage
 * ```ts
 * import { faultIn } from "./fault.ts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * assertEquals(faultIn("timeout:3"), { kind: "timeout", times: 3, rate: 1 });
 * assertEquals(faultIn("flaky").rate, 0.2);
 * assertThrows(() => faultIn("timeout:0"));
 * ```
 */
export function faultIn(id: FaultId): FaultSetting {
  const colon = id.indexOf(":");
  const kind = (colon === -1 ? id : id.slice(0, colon)) as FaultKind;
  const number = colon === -1 ? undefined : id.slice(colon + 1);
  const fail = (rule: string): never => {
    const told = printable(id, 100);
    throw new InputError(`Cannot use the perturbation as it ${rule}: ${told}`);
  };
  if (kind === "flaky") {
    if (number !== undefined && !/^0\.[0-9]{0,5}[1-9]$/.test(number)) {
      fail(
        "must say how often a call fails by a rate between 0 and 1 that ends in no zero, such as flaky:0.35",
      );
    }
    return { kind, times: Infinity, rate: number === undefined ? FLAKY_RATE : Number(number) };
  }
  if (kind === "permission_denied") {
    if (number !== undefined) fail("must have no number where permission is denied for good");
    return { kind, times: Infinity, rate: 1 };
  }
  if (number !== undefined && !/^[1-9][0-9]?$/.test(number)) {
    fail(
      `must say how many calls fail by a whole number from 1 to ${MOST_TIMES}, such as ${kind}:2`,
    );
  }
  return { kind, times: number === undefined ? 1 : Number(number), rate: 1 };
}

/** The id of a fault without what is usual anyway: `timeout` for `timeout:1`. */
export function briefFault(id: FaultId): FaultId {
  const { kind, times, rate } = faultIn(id);
  if (kind === "flaky") return rate === FLAKY_RATE ? kind : `${kind}:${rate}`;
  return times === 1 || times === Infinity ? kind : `${kind}:${times}`;
}

/** Whether a fault kept a call from its result. */
export function isLost({ fault }: { readonly fault?: FaultKind | undefined }): boolean {
  return fault !== undefined && fault !== "slow";
}

/** Whether it is worth while to make a call again that a fault kept from its result. */
export function isTransient(kind: FaultKind): boolean {
  return kind !== "permission_denied" && kind !== "slow";
}
