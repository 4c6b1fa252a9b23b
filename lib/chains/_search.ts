/**
 * The search for shorter ways to an answer.
 * @module
 */

import { type JsonObject, jsonText, type JsonValue } from "../base/json.ts";
import type { ToolNode } from "./graph.ts";
import type { ChainTask, RecordId } from "./chains.ts";
import { type Plan, recordAround } from "./_plan.ts";

/** Calls that are tried, at most: where there are more, the task is taken for one with a shorter way. */
const MAX_CALLS = 3_000;
/** Calls whose whole results are looked through for the answer, at most. */
const MAX_RESULTS = 60;

/**
 * Whether fewer calls than those of a task may show its answer. From what the question gives it makes every call with
 * every combination of ids that calls before have shown; but only where the types of ids may still lead to the answer.
 * How many calls an argument took is counted for the one that took the most, so that no way is missed.
 */
export function hasShorterWay(
  plan: Plan,
  { world, given, target, answer, calls }: ChainTaskCore,
): boolean {
  const distances = plan.distances(target.type, target.path);
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
      const isLast = plan.shows(node, target.type, target.path);
      if (!isLast && !node.records.some(({ type }) => isNear(type))) continue;
      for (const input of inputs(node, after)) {
        if (++tried > MAX_CALLS) return true;
        const shown = shownBy(node, input);
        const isShown = shown.some(({ place, type, id }) =>
          type === target.type && jsonText(id) === jsonText(target.id) &&
          plan.hasLeaf(node, place, target.path)
        );
        if (
          isShown ||
          (tried <= MAX_RESULTS && holds(world.call(node.tool.name, input).value, answer))
        ) {
          return true;
        }
        learnt.push(...shown.filter(({ type }) => isNear(type)));
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

  /** Returns the records that a call shows. */
  function shownBy(node: ToolNode, input: JsonObject) {
    const found: { place: ToolNode["records"][number]; type: string; id: JsonValue }[] = [];
    for (const place of node.records) {
      const { of, type } = place;
      const around = "relation" in of ? recordAround(node, place) : undefined;
      const ids = "argument" in of
        ? [input[of.argument]]
        : "list" in of
        ? world.list(node.tool.name, input)
        : found.filter((one) => one.place === around)
          .map((one) => world.related(one.type, one.id, of.relation));
      found.push(
        ...ids.flatMap((id) => id === undefined || id === null ? [] : [{ place, type, id }]),
      );
    }
    return found;
  }
}

/** What the search asks of a task. */
type ChainTaskCore = Pick<ChainTask, "world" | "given" | "target" | "answer" | "calls">;

/** Whether a value holds another one. */
function holds(value: JsonValue | undefined, part: JsonValue): boolean {
  return typeof value === "object" && value !== null
    ? Object.values(value).some((inner) => holds(inner, part))
    : value === part;
}
