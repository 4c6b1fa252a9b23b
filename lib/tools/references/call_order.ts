/**
 * The order of calls: which calls of one reply can be carried out, and which others each has to wait for
 * (Pipeline, "Parallel and Nested Tool Calls").
 * @module
 */

import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import { LEVELS, listed, mayRefer, RESULTS, signed, TOO_DEEP } from "./resolve.ts";
import { isWithin } from "../../base/json_depth.ts";
import { LONGEST_TOLD, referencesIn } from "./syntax.ts";
import type { Refusal } from "../tool.ts";

/** How many calls a chain of references may have, unless told otherwise (Pipeline's `max_depth`). */
export const MOST_DEPTH = 5;
/** So many parameters are kept. */
const MOST_KEPT = 20;

/** A call of a reply, as far as references go. */
export interface NestedCall {
  /** By what others may refer to it beside its number, if no other call has it. */
  readonly id?: string;
  /** Its arguments, or the text of them; what is no JSON object has no references. */
  readonly arguments: JsonObject | string;
}

/** In which order the calls of a reply can be carried out. */
export interface CallPlan {
  /**
   * The places of the calls, from 0: those of a level refer to calls of earlier levels alone, so that they
   * can run at the same time. Each level is in the order of the reply.
   */
  readonly levels: readonly (readonly number[])[];
  /** Why all others cannot be carried out, by their places. */
  readonly refusals: ReadonlyMap<number, Refusal>;
  /** By which names references may mean each call: its number, and its id where no other call has it. */
  readonly names: readonly (readonly string[])[];
}

/** Options of {@linkcode planCalls}. */
export interface PlanCallsOptions {
  /** How many calls a chain of references may have; default 5. */
  readonly depth?: number;
}

/**
 * Puts the calls of a reply in an order in which each comes after those that it refers to. A call that
 * refers to itself, to none, to several of one id, in a circle, or at the end of too long a chain is
 * refused; calls that refer to a refused one are not, as their turn tells that it has no result.
 *
 * @throws {RangeError} If `depth` is no whole number from 1 on.
 *
 * @example Usage
 * ```ts
 * import { planCalls } from "./call_order.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const { levels, refusals } = planCalls([
 *   { id: "mail", arguments: { to: "$2.address", text: "It is $forecast.degrees degrees" } },
 *   { id: "contact", arguments: { name: "John" } },
 *   { id: "forecast", arguments: { city: "Rome" } },
 *   { id: "lost", arguments: { to: "$9.address" } },
 * ]);
 * assertEquals(levels, [[1, 2], [0]]);
 * assertEquals(
 *   refusals.get(3)?.error,
 *   "$9 is no call of this reply, as in to: its calls are $1 to $4. Where the text itself is meant, write $$9",
 * );
 * ```
 */
export function planCalls(
  calls: readonly NestedCall[],
  { depth = MOST_DEPTH }: PlanCallsOptions = {},
): CallPlan {
  assertDepth(depth);
  const { places, names } = namesOf(calls);
  const refusals = new Map<number, Refusal>();
  const uses = calls.map((call, place) => {
    const written = writtenIn(call);
    const found = usesIn(written);
    const refusal = found.size === 0 || isWithin(written, LEVELS)
      ? refuseUses(found, place, places, calls.length)
      : refuse(TOO_DEEP, found);
    if (refusal === undefined) return found;
    refusals.set(place, refusal);
    return NONE;
  });
  const needs = uses.map((found) => new Set([...found.keys()].map((name) => places.get(name)!)));
  const level = levelsOf(needs);
  const levels: number[][] = [];
  for (const place of calls.keys()) {
    if (refusals.has(place)) continue;
    const own = level[place];
    if (own === undefined) {
      const inCircle = (name: string) => level[places.get(name)!] === undefined;
      refusals.set(place, refuseCircle(new Map([...uses[place]!].filter(([it]) => inCircle(it)))));
    } else if (own >= depth) {
      refusals.set(place, refuseDepth(uses[place]!, own + 1, depth));
    } else {
      (levels[own] ??= []).push(place);
    }
  }
  // Where all calls of a level are refused, nothing stands there.
  return { levels: levels.filter((own) => own !== undefined), refusals, names };
}

/** Checks how long a chain of references may be. */
export function assertDepth(depth: number): void {
  if (Number.isSafeInteger(depth) && depth >= 1) return;
  throw new RangeError(
    `Cannot limit chains of calls as the depth must be a whole number from 1 on: it is ${depth}`,
  );
}

/** Names of calls, each with the parameters that references to it stand in. */
type Uses = ReadonlyMap<string, readonly string[]>;

const NONE: Uses = new Map();

/** The arguments of a call, if there may be references in them. */
export function writtenIn({ arguments: given }: NestedCall): JsonObject {
  const written = typeof given === "string" && mayRefer(given) ? parseJson(given) : given;
  return isJsonObject(written) ? written : {};
}

/** The names that references in arguments have, each with the parameters that it stands in. */
export function usesIn(written: JsonObject): Uses {
  const uses = new Map<string, string[]>();
  for (const [parameter, value] of Object.entries(written)) {
    for (const name of referencesIn(value, RESULTS)) {
      const known = uses.get(name);
      if (known === undefined) uses.set(name, [parameter]);
      else known.push(parameter);
    }
  }
  return uses;
}

/** Which call each name means; an id that several calls have means none of them. */
function namesOf(calls: readonly NestedCall[]) {
  const places = new Map<string, number | undefined>();
  for (const [place, { id }] of calls.entries()) {
    if (id !== undefined && id !== "") places.set(id, places.has(id) ? undefined : place);
  }
  // A number is always a place, even where ids are numbers too.
  for (const place of calls.keys()) places.set(String(place + 1), place);
  const names = calls.map(({ id }, place) =>
    id !== undefined && places.get(id) === place && id !== String(place + 1)
      ? [String(place + 1), id]
      : [String(place + 1)]
  );
  return { places, names };
}

/** How far each call is from those that refer to none; `undefined` where references lead in a circle. */
function levelsOf(needs: readonly ReadonlySet<number>[]): (number | undefined)[] {
  const users = needs.map((): number[] => []);
  for (const [place, own] of needs.entries()) for (const need of own) users[need]!.push(place);
  const left = needs.map(({ size }) => size);
  const levels: (number | undefined)[] = needs.map(() => undefined);
  const ready = [...needs.keys()].filter((place) => left[place] === 0);
  // The list grows while it is gone through: a call is ready once all it needs have been.
  for (const place of ready) {
    let level = 0;
    for (const need of needs[place]!) level = Math.max(level, levels[need]! + 1);
    levels[place] = level;
    for (const user of users[place]!) if (--left[user]! === 0) ready.push(user);
  }
  return levels;
}

/** Why a call is refused by what its references name; `undefined` if it is not. */
function refuseUses(
  uses: Uses,
  place: number,
  places: ReadonlyMap<string, number | undefined>,
  count: number,
): Refusal | undefined {
  const numbers = count === 1 ? "its only call is $1" : `its calls are $1 to $${count}`;
  const own = new Map([...uses].filter(([name]) => places.get(name) === place));
  const unmet = [...uses].filter(([name]) => places.get(name) === undefined);
  const unclear = new Map(unmet.filter(([name]) => places.has(name)));
  const unknown = new Map(unmet.filter(([name]) => !places.has(name)));
  const [odd] = unknown.keys();
  const faults: [uses: Uses, is: string, are: string, why: string][] = [
    [
      own,
      "is the call itself",
      "are the call itself",
      "no call can wait for what it returns itself",
    ],
    [unclear, "is the id of several calls", "are ids of several calls", numbers],
    [
      unknown,
      "is no call of this reply",
      "are no calls of this reply",
      `${numbers}. Where the text itself is meant, write $$${odd?.slice(0, LONGEST_TOLD)}`,
    ],
  ];
  const found = faults.filter(([{ size }]) => size > 0);
  if (found.length === 0) return undefined;
  return refuse(
    found.map(([uses, is, are, why]) => told(uses, is, are, why)).join(". "),
    new Map(found.flatMap(([uses]) => [...uses])),
  );
}

function refuseCircle(uses: Uses): Refusal {
  const why = "of calls that refer to each other in a circle none can be the first";
  return refuse(told(uses, "leads in a circle", "lead in a circle", why), uses);
}

function refuseDepth(uses: Uses, length: number, depth: number): Refusal {
  const why = `a chain of calls that refer to each other may have ${depth}`;
  return refuse(
    told(uses, `makes it call ${length} of a chain`, `make it call ${length} of a chain`, why),
    uses,
  );
}

/** What is wrong with names, where they stand, and why it is wrong. */
function told(uses: Uses, is: string, are: string, why: string): string {
  const parameters = new Set([...uses.values()].flat());
  return `${signed(uses.keys())} ${uses.size === 1 ? is : are}, as in ${
    listed(parameters)
  }: ${why}`;
}

function refuse(error: string, uses: Uses): Refusal {
  return refusalOf(error, new Set([...uses.values()].flat()));
}

/** A refusal for what references stand for, by the parameters that they stand in. */
export function refusalOf(error: string, parameters: Iterable<string>): Refusal {
  const wrongType = [...parameters].slice(0, MOST_KEPT)
    .map((parameter) => parameter.slice(0, LONGEST_TOLD));
  return { error, fault: { missing: [], unexpected: [], wrongType, malformed: false } };
}
