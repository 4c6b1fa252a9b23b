/**
 * The search for shorter ways to an answer.
 * @module
 */

import { fieldOf, type JsonObject, jsonText, type JsonValue } from "../base/json.ts";
import type { ToolNode } from "./graph.ts";
import type { ChainTask, RecordId } from "./chains.ts";
import type { Plan } from "./_plan.ts";

/** Calls that are tried, at most: where there are more, the task is taken for one with a shorter way. */
const MAX_CALLS = 3_000;
/** Calls that are tried, at most, of tools that do not lead to the answer. */
const MAX_FAR = 60;

/**
 * Whether fewer calls than those of a task may show its answer. From what the question gives it makes every call with
 * every combination of ids that calls before have shown, where the types of ids may still lead to the answer. How many calls an argument took is counted for the one that took the most, so that no way is missed.
 */
export function hasShorterWay(
  plan: Plan,
  { world, given, target, answer, calls }: ChainTaskCore,
): boolean {
  const distances = plan.distances(target.type, target.path);
  const showing = plan.showing(target.type, target.path);
  const known = new Map<string, Map<string, { readonly id: JsonValue; readonly after: number }>>();
  const learn = ({ type, id }: RecordId, after: number) => {
    const own = known.get(type) ?? new Map();
    known.set(type, own);
    const text = jsonText(id);
    if (!own.has(text)) own.set(text, { id, after });
  };
  for (const one of given) learn(one, 0);
  let tried = 0;
  for (let after = 1; after < calls.length; after++) {
    const left = calls.length - 1 - after;
    const isNear = (type: string) => (distances.get(type) ?? Infinity) <= left;
    const learnt: RecordId[] = [];
    for (const node of plan.readers) {
      const isFar = !showing.has(node) && !node.records.some(({ type }) => isNear(type));
      for (const input of inputs(node, after)) {
        // The same value may stand elsewhere by chance: the first calls are made wherever they lead.
        if (isFar && tried > MAX_FAR) break;
        if (++tried > MAX_CALLS) return true;
        const { value } = world.call(node.tool.name, input);
        if (value === undefined) continue;
        if (holds(value, answer)) return true;
        for (const { path, type, key } of node.records) {
          for (const found of valuesAt(value, path)) {
            const id = key === undefined ? found : fieldOf(found, key);
            if (id !== undefined && id !== null) learnt.push({ type, id });
          }
        }
      }
    }
    for (const one of learnt) learn(one, after);
  }
  return false;

  /** Yields the arguments of all calls that take something which the calls of the round before have shown. */
  function* inputs(node: ToolNode, after: number): Generator<JsonObject> {
    const takes = node.takes.filter(({ role }) => role === "id");
    const values = takes.map(({ type, required }) => [
      ...(required ? [] : [undefined]),
      ...known.get(type!)?.values() ?? [],
    ]);
    const scopes = node.takes.filter(({ role, required }) => role === "scope" && required)
      .map(({ parameter, type }) => [parameter, world.scope(type!)] as const);
    const chosen: ({ readonly id: JsonValue; readonly after: number } | undefined)[] = [];
    function* choose(at: number): Generator<JsonObject> {
      if (at < takes.length) {
        for (const value of values[at]!) {
          chosen[at] = value;
          yield* choose(at + 1);
        }
      } else if (after === 1 || chosen.some((one) => one?.after === after - 1)) {
        yield Object.fromEntries([
          ...scopes,
          ...takes.flatMap(({ parameter }, index) =>
            chosen[index] === undefined ? [] : [[parameter, chosen[index].id] as const]
          ),
        ]);
      }
    }
    yield* choose(0);
  }
}

/** What the search asks of a task. */
type ChainTaskCore = Pick<ChainTask, "world" | "given" | "target" | "answer" | "calls">;

/** Returns the values at a way: names of properties, and `*` for each item of a list. */
export function valuesAt(
  value: JsonValue | undefined,
  [key, ...rest]: readonly string[],
): JsonValue[] {
  if (value === undefined || value === null) return [];
  if (key === undefined) return [value];
  if (key !== "*") return valuesAt(fieldOf(value, key), rest);
  return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, rest)) : [];
}

/** Whether a value holds another one. */
function holds(value: JsonValue | undefined, part: JsonValue): boolean {
  return typeof value === "object" && value !== null
    ? Object.values(value).some((inner) => holds(inner, part))
    : value === part;
}
