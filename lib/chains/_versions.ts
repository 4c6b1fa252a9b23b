/**
 * Questions in another version of the tools: the calls that lead to the answer there, in the same world.
 * @module
 */

import { attempt, cannot, InputError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { ROUTE } from "../tools/tool.ts";
import type { ToolGraph, ToolNode } from "./graph.ts";
import { isUsable, type Plan, relationOf } from "./_plan.ts";
import type { Phrase } from "./_questions.ts";
import { holds, inputsOf, resultOf } from "./_search.ts";
import type { ChainStep, ChainTask, RecordId } from "./_task.ts";
import type { ShownRecord, World } from "./world.ts";
import { getOrInsert } from "../base/get_or_insert.ts";

/** A task with the records that its question leads through, and how it names each. */
export interface TracedTask extends Omit<ChainTask, "tools"> {
  readonly trail: readonly RecordId[];
  readonly phrases: readonly Phrase[];
}

/** What a task has in a version. */
type Way = Pick<ChainTask, "calls" | "steps">;

/** Calls that a version may need beyond those of the first one. */
const MORE_CALLS = 2;

/**
 * Returns the fewest calls by which a question over one graph is answered with the tools of another version.
 *
 * @throws {InputError} If none are found: it names what was lost.
 */
export function inVersion(
  version: string,
  plan: Plan,
  task: TracedTask,
  before: ToolGraph,
): Way & Pick<ChainTask, "world"> {
  const { trail, phrases, target, answer, calls, steps } = task;
  const { graph } = plan;
  const world: World = task.world.inVersion(graph);
  const isCalled = ({ tool }: ToolNode) => calls.some((call) => call.tool === tool.name);
  const nodes = plan.readers.filter((node) =>
    isUsable(node) &&
    node.takes.every(({ required, role, type }) =>
      !required || role !== "scope" || Object.hasOwn(task.scopes, type!)
    )
  ).sort((one, other) => Number(isCalled(other)) - Number(isCalled(one)));
  const end = trail.length + 1;

  /** Whether what a question says leads to a record of its trail, where a call shows that. */
  const isNamed = (at: number, input: JsonObject, node: ToolNode, record: ShownRecord) => {
    const [phrase, last] = [phrases[at]!, trail[at - 1]];
    const { place, around } = record;
    const isOfLast = around === undefined
      ? last === undefined || Object.values(input).some((value) => value === last.id)
      : last !== undefined && isOne(around, last);
    const isItem = place.path.slice(around?.place.path.length ?? 0).includes("*");
    if ("item" in phrase) return isOfLast && isItem && plan.hasLeaf(node, place, phrase.label);
    return isOfLast && !isItem && around !== undefined && "relation" in phrase &&
      relationOf(place) === phrase.relation;
  };

  /** Yields the calls of a tool that lead on from the first records of the trail, and how far: the answer is its end. */
  function* callsFrom(known: number, node: ToolNode) {
    const idsOf = (type: string) => trail.slice(0, known).filter((one) => one.type === type);
    for (const input of attempt(() => [...inputsOf(node, world, idsOf)], InputError) ?? []) {
      const named = new Set<ShownRecord | undefined>([undefined]);
      let next = { known, step: steps[0]! };
      for (const record of attempt(() => world.records(node.tool.name, input), InputError) ?? []) {
        const at = trail.findIndex((one) => isOne(one, record));
        const isKnown = at < known || named.has(record.around) && isNamed(at, input, node, record);
        if (at < 0 || !isKnown) continue;
        named.add(record);
        const isEnd = at + 2 === end && plan.hasLeaf(node, record.place, target.path);
        const found = isEnd ? end : at + 1;
        if (found <= next.known) continue;
        if (!holds(resultOf(world, node.tool.name, input), isEnd ? answer : record.id)) continue;
        const step = { tool: node.tool.name, at: record.place.path, shows: trail[at]! };
        next = { known: found, step };
      }
      if (next.known > known) yield { ...next, call: { tool: node.tool.name, arguments: input } };
    }
  }

  const first = "given" in phrases[0]! ? 1 : 0;
  const reached = new Map<number, Way>([[first, { calls: [], steps: [] }]]);
  for (let count = 0; count < calls.length + MORE_CALLS; count++) {
    for (const [known, way] of [...reached].filter(([, { calls }]) => calls.length === count)) {
      for (const node of nodes) {
        for (const { known: next, call, step } of callsFrom(known, node)) {
          const longer = { calls: [...way.calls, call], steps: [...way.steps, step] };
          if (next === end) return { ...longer, world };
          getOrInsert(reached, next, longer);
        }
      }
    }
  }
  const placeOf = ({ shows }: ChainStep) => trail.indexOf(shows) + 1;
  const gone: string[] = [];
  const lost = steps.flatMap((step, at) => {
    const known = at === 0 ? first : placeOf(steps[at - 1]!);
    const isLast = at + 1 === steps.length;
    const own = counterpart(before.nodes.get(step.tool)!, graph);
    if (own === undefined) gone.push(`${step.tool} is gone`);
    const wanted = isLast ? end : placeOf(step);
    const isKept = own === undefined ||
      nodes.includes(own) && callsFrom(known, own).some((one) => one.known >= wanted);
    const what = isLast ? `the ${target.path.join(".")} of ` : "";
    return isKept ? [] : [`${own.tool.name} no longer leads to ${what}${step.shows.type}`];
  });
  throw cannot(
    `ask a question with the tools of ${version}`,
    "they must lead to its answer, too",
    // Without a tool, nothing may be known to be an id that it takes.
    (gone.length > 0 ? gone : lost).join("; "),
  );
}

/** Returns the same tool of another version: by its name, or by its route. */
function counterpart({ tool }: ToolNode, { nodes }: ToolGraph): ToolNode | undefined {
  const routeOf = ({ [ROUTE]: route }: ToolNode["tool"]) =>
    route && `${route.method} ${route.path.replaceAll(/\{[^{}]*\}/g, "{}")}`;
  const route = routeOf(tool);
  return nodes.get(tool.name) ??
    nodes.values().find((one) => route !== undefined && routeOf(one.tool) === route);
}

function isOne(one: RecordId, { type, id }: RecordId): boolean {
  return one.type === type && one.id === id;
}
