/**
 * The order of calls: which calls of one reply can run, and which others each has to wait for (Pipeline,
 * "Parallel and Nested Tool Calls").
 * @module
 */

import { isJsonObject, isWithin, type JsonObject, parseJson } from "../../base/json.ts";
import { LEVELS, listReferences, listWords, mayRefer, RESULTS, TOO_DEEP } from "./resolve.ts";
import { MAX_QUOTE_LENGTH, referencesIn } from "./syntax.ts";
import { type ExecutableCall, type Refusal, refused } from "../tool.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** The default limit on the calls in a chain of references (Pipeline's `max_depth`). */
export const MAX_DEPTH = 5;
/** At most this many parameters are recorded. */
const MAX_KEPT = 20;

/** The order in which the calls of a reply can run. */
export interface CallPlan {
  /**
   * The indices of the calls: those of a level refer only to calls of earlier levels, so they can run at the
   * same time. Each level is in the order of the reply.
   */
  readonly levels: readonly (readonly number[])[];
  /** Why each other call is refused, by index. */
  readonly refusals: ReadonlyMap<number, Refusal>;
  /** The names by which references may name each call: its number, and its id if it is unique. */
  readonly names: readonly (readonly string[])[];
}

/** Options of {@linkcode planCalls}. */
export interface PlanCallsOptions {
  /** The largest number of calls in a chain of references; default 5. */
  readonly depth?: number;
}

/**
 * Orders the calls of a reply so that each comes after those it refers to. A call is refused if it refers to
 * itself, to no call, to an id of several calls, in a circle, or at the end of too long a chain. Calls that
 * refer to a refused one stay in the plan: they fail in their turn, as it has no result.
 */
export function planCalls(
  calls: readonly Pick<ExecutableCall, "id" | "arguments">[],
  { depth = MAX_DEPTH }: PlanCallsOptions = {},
): CallPlan {
  const { places, names } = callNames(calls);
  const refusals = new Map<number, Refusal>();
  const uses = calls.map((call, place) => {
    const input = parsedArguments(call);
    const found = usesIn(input);
    const refusal = found.size === 0 || isWithin(input, LEVELS)
      ? refuseUses(found, place, places, calls.length)
      : refuseOrder(TOO_DEEP, found);
    if (refusal === undefined) return found;
    refusals.set(place, refusal);
    return NONE;
  });
  const needs = uses.map((found) => new Set([...found.keys()].map((name) => places.get(name)!)));
  const level = callLevels(needs);
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
  // A level whose calls are all refused is empty.
  return { levels: levels.filter((own) => own !== undefined), refusals, names };
}

/** Checks the limit on a chain of references. */
export function assertDepth(depth: number): void {
  if (Number.isSafeInteger(depth) && depth >= 1) return;
  throw new RangeError(
    `Cannot limit chains of calls as the depth must be a whole number from 1 on: it is ${depth}`,
  );
}

/** Names of calls, each with the parameters that refer to it. */
type Uses = ReadonlyMap<string, readonly string[]>;

const NONE: Uses = new Map();

/** Returns the arguments of a call if they may hold references, else an empty object. */
export function parsedArguments(
  { arguments: given }: Pick<ExecutableCall, "arguments">,
): JsonObject {
  const input = typeof given === "string" && mayRefer(given) ? parseJson(given) : given;
  return isJsonObject(input) ? input : {};
}

/** Returns the call names that the arguments refer to, each with its parameters. */
export function usesIn(input: JsonObject): Uses {
  const uses = new Map<string, string[]>();
  for (const [parameter, value] of Object.entries(input)) {
    for (const name of referencesIn(value, RESULTS)) {
      getOrInsertComputed(uses, name, () => []).push(parameter);
    }
  }
  return uses;
}

/** Maps names to indices of calls; an id of several calls maps to `undefined`. */
function callNames(calls: readonly Pick<ExecutableCall, "id" | "arguments">[]) {
  const places = new Map<string, number | undefined>();
  for (const [place, { id }] of calls.entries()) {
    if (id !== undefined && id !== "") places.set(id, places.has(id) ? undefined : place);
  }
  // A number is always an index, even if ids are numbers too.
  for (const place of calls.keys()) places.set(String(place + 1), place);
  const names = calls.map(({ id }, place) =>
    id !== undefined && places.get(id) === place && id !== String(place + 1)
      ? [String(place + 1), id]
      : [String(place + 1)]
  );
  return { places, names };
}

/** Returns the longest chain of references from each call; `undefined` for calls in or behind a circle. */
function callLevels(needs: readonly ReadonlySet<number>[]): (number | undefined)[] {
  const users = needs.map((): number[] => []);
  for (const [place, own] of needs.entries()) for (const need of own) users[need]!.push(place);
  const left = needs.map(({ size }) => size);
  const levels: (number | undefined)[] = needs.map(() => undefined);
  const ready = [...needs.keys()].filter((place) => left[place] === 0);
  // The list grows during the loop: a call is ready once all calls it needs are done.
  for (const place of ready) {
    let level = 0;
    for (const need of needs[place]!) level = Math.max(level, levels[need]! + 1);
    levels[place] = level;
    for (const user of users[place]!) if (--left[user]! === 0) ready.push(user);
  }
  return levels;
}

/** Returns the refusal of a call for the names it refers to; `undefined` if all are valid. */
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
  const faults: [uses: Uses, fault: string, why: string][] = [
    [own, "the call itself", "no call can wait for what it returns itself"],
    [unclear, "the id of several calls", numbers],
    [
      unknown,
      "no call of this reply",
      `${numbers}. Where the text itself is meant, write $$${odd?.slice(0, MAX_QUOTE_LENGTH)}`,
    ],
  ];
  const found = faults.filter(([{ size }]) => size > 0);
  if (found.length === 0) return undefined;
  return refuseOrder(
    found.map(([uses, fault, why]) => describe(uses, `is ${fault}`, why)).join(". "),
    new Map(found.flatMap(([uses]) => [...uses])),
  );
}

function refuseCircle(uses: Uses): Refusal {
  const why = "of calls that refer to each other in a circle none can be the first";
  return refuseOrder(describe(uses, "leads in a circle", why), uses);
}

function refuseDepth(uses: Uses, length: number, depth: number): Refusal {
  const why = `a chain of calls that refer to each other may have ${depth}`;
  return refuseOrder(describe(uses, `makes it call ${length} of a chain`, why), uses);
}

/** Returns a message about names: the fault, the parameters that hold them, and the reason. */
function describe(uses: Uses, fault: string, why: string): string {
  const parameters = new Set([...uses.values()].flat());
  return `${uses.size === 1 ? "" : "each of "}${listReferences(uses.keys())} ${fault}, as in ${
    listWords(parameters)
  }: ${why}`;
}

function refuseOrder(error: string, uses: Uses): Refusal {
  return referenceRefusal(error, new Set([...uses.values()].flat()));
}

/** Makes a refusal for invalid references, with the parameters that hold them. */
export function referenceRefusal(error: string, parameters: Iterable<string>): Refusal {
  return refused(error, {
    wrongType: [...parameters].slice(0, MAX_KEPT)
      .map((parameter) => parameter.slice(0, MAX_QUOTE_LENGTH)),
  });
}
