/**
 * The search for shorter ways to an answer.
 * @module
 */

import { attempt, InputError } from "../base/errors.ts";
import { type JsonObject, jsonText, type JsonValue } from "../base/json.ts";
import type { ToolNode } from "./graph.ts";
import type { ChainTask, RecordId } from "./_task.ts";
import type { Plan } from "./_plan.ts";
import type { World } from "./world.ts";
import { getOrInsert, getOrInsertComputed } from "../base/get_or_insert.ts";

/** Calls that are tried, at most: where there are more, the task is taken for one with a shorter way. */
const MAX_CALLS = 3_000;
/** Calls whose whole results are looked through for an answer that may also stand elsewhere by chance, at most. */
const MAX_RESULTS = 20;

/**
 * Whether fewer calls than those of a task may show its answer. From what the question gives it makes every call with
 * every combination of ids that calls before have shown. How many calls an argument took is counted for the one that
 * took the most, so that no way is missed.
 */
export function hasShorterWay(plan: Plan, task: Omit<ChainTask, "tools">): boolean {
  const { world, given, target, answer, calls } = task;
  const known = new Map<string, Map<string, Known>>();
  const learn = ({ type, id }: RecordId, after: number) => {
    const own = getOrInsertComputed(known, type, () => new Map());
    getOrInsert(own, jsonText(id), { id, after });
  };
  for (const one of given) learn(one, 0);
  const idsOf = (type: string) => [...known.get(type)?.values() ?? []];
  const tried: (readonly [tool: string, input: JsonObject])[] = [];
  for (let after = 1; after < calls.length; after++) {
    // Of other calls the round before has shown all.
    const isNew = (chosen: readonly (Known | undefined)[]) =>
      after === 1 || chosen.some((one) => one?.after === after - 1);
    const learnt: RecordId[] = [];
    for (const node of plan.readers) {
      const { name } = node.tool;
      for (
        const input of attempt(() => [...inputsOf(node, world, idsOf, isNew)], InputError) ?? []
      ) {
        if (tried.push([name, input]) > MAX_CALLS) return true;
        for (const record of attempt(() => world.records(name, input), InputError) ?? []) {
          const isTarget = record.type === target.type && record.id === target.id;
          // Records nest deeper than the graph follows them.
          const isShown = isTarget && (plan.hasLeaf(node, record.place, target.path) ||
            holds(resultOf(world, name, input), answer));
          if (isShown) return true;
          learnt.push(record);
        }
      }
    }
    for (const one of learnt) learn(one, after);
  }
  // Words that are made up hardly stand twice; numbers and dates do.
  return tried.slice(0, /\d/.test(String(answer)) ? MAX_RESULTS : 0)
    .some(([tool, input]) => holds(resultOf(world, tool, input), answer));
}

/** An id that is known after some calls. */
interface Known {
  readonly id: JsonValue;
  readonly after: number;
}

/** Yields the arguments of all calls of a tool with ids that are known, or of those with a choice of them. */
export function* inputsOf<Id extends Pick<Known, "id">>(
  { takes }: ToolNode,
  world: World,
  idsOf: (type: string) => readonly Id[],
  isMeant: (chosen: readonly (Id | undefined)[]) => boolean = () => true,
): Generator<JsonObject> {
  const ids = takes.filter(({ role }) => role === "id");
  const others = takes.filter(({ role, required }) => required && /^(scope|free)$/.test(role))
    .map(({ parameter, role, type, schema }) =>
      [parameter, role === "scope" ? world.scope(type!) : schema["default"] ?? null] as const
    );
  function* choose(chosen: readonly (Id | undefined)[]): Generator<typeof chosen> {
    const next = ids[chosen.length];
    if (next === undefined) return yield chosen;
    const values = [...(next.required ? [] : [undefined]), ...idsOf(next.type!)];
    for (const value of values) yield* choose([...chosen, value]);
  }
  for (const chosen of choose([])) {
    if (!isMeant(chosen)) continue;
    const given = ids.flatMap(({ parameter }, at) =>
      chosen[at] === undefined ? [] : [[parameter, chosen[at].id] as const]
    );
    yield Object.fromEntries([...others, ...given]);
  }
}

/** Whether each call of a task shows what the next one takes, and the last one alone shows the answer. */
export function isShown({ world, answer, calls, steps }: Omit<ChainTask, "tools">): boolean {
  return calls.every(({ tool, arguments: input }, at) => {
    const value = resultOf(world, tool, input);
    if (value === undefined) return false;
    const isLast = at + 1 === calls.length;
    return holds(value, answer) === isLast && (isLast || holds(value, steps[at]!.shows.id));
  });
}

/** Returns the result of a call; `undefined` if there is none. */
export function resultOf(world: World, tool: string, input: JsonObject): JsonValue | undefined {
  const result = attempt(() => world.call(tool, input), InputError);
  return result !== undefined && "value" in result ? result.value : undefined;
}

/** Whether a value holds another one. */
export function holds(value: JsonValue | undefined, part: JsonValue): boolean {
  return typeof value === "object" && value !== null
    ? Object.values(value).some((inner) => holds(inner, part))
    : value === part;
}
