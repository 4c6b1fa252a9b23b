/**
 * Chains of calls: questions whose answer the last of some calls shows, each of which takes what the one before returned.
 * @module
 */

import { z } from "zod";
import { sample as draw } from "@std/random";
import { attempt, cannot, InputError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { checkOptions, must, whole } from "../base/input.ts";
import { canonicalJson, isObject, jsonText, type JsonValue, listText } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { countText } from "../base/numbers.ts";
import { fork, forkSeed, hash64, type Stream } from "../base/random.ts";
import { FRESH, SERVED, type Tool } from "../tools/tool.ts";
import type { ToolGraph, ToolNode } from "./graph.ts";
import type { Leaf } from "./_leaves.ts";
import { Plan, relationOf, type View } from "./_plan.ts";
import { hasShorterWay, isShown } from "./_search.ts";
import { type Phrase, questionOf, TEMPLATES } from "./_questions.ts";
import type { Chain, ChainStep, ChainTask, RecordId } from "./_task.ts";
import { inVersion, type TracedTask } from "./_versions.ts";
import { World, type WorldOptions } from "./world.ts";

export type { Chain, ChainStep, ChainTask, RecordId };

/** Ways that are drawn for one task, at most, and those in one world. */
const MAX_WAYS = 2_000;
const WAYS = 50;
/** Seeds that must each give a task by a tenth of these ways, so that trials find theirs. */
const CHECKS = [1, 2, 3, 4];
/** Calls of a chain, at most. */
const MAX_CALLS = 8;

/** Options of {@linkcode chains}. */
export interface ChainsOptions {
  /** Numbers of calls that questions need. Default: those of 2, 3 and 4 of which the graph has chains. */
  readonly calls?: readonly number[];
  /** The number of chains, spread over `calls`. Default: 20. */
  readonly tasks?: number;
  /** The hash of the {@linkcode sample} that somebody has read; another one is refused. */
  readonly confirmed?: string;
  /** Tools on offer, at most: those that are needed, and others that are drawn. Default: 40. */
  readonly offered?: number;
  /** What ids give that no record has: an error, or values that are made up. Default: `error`. */
  readonly unknown?: "error" | "values";
  /**
   * Other versions of the tools by the names of the variants that have them: these are asked the same questions in the
   * same worlds, and the right calls are the fewest that answer them there.
   */
  readonly versions?: Readonly<Record<string, ToolGraph>>;
}

const OPTIONS: z.ZodType<ChainsOptions> = z.strictObject({
  calls: z.array(z.int().min(1).max(MAX_CALLS)).min(1),
  tasks: whole(1),
  confirmed: z.string(),
  offered: whole(1),
  unknown: z.enum(["error", "values"]),
  versions: z.record(
    z.string(),
    must<ToolGraph>("be made by toolGraph()", (graph) => isObject(graph) && "nodes" in graph),
  ),
}).partial();

/**
 * Returns chains over a graph: questions that no model has seen, each answered by a number of calls and not by fewer.
 *
 * A task is drawn with a {@linkcode World} of its own: a text or a number of a record is asked for, and the calls lead
 * there from an id in the question, or from an item of a list that the question names. Each call takes what one before
 * it has shown. A task is drawn again where fewer calls could show the answer.
 *
 * @throws {InputError} If options do not fit, the graph has no such chains, or the questions are not those that were
 * `confirmed`.
 *
 * @example Usage
 * ```ts
 * import { chains, isRight, toolGraph } from "@toolgate/toolgate/chains";
 * import { tool } from "@toolgate/toolgate";
 * import { assert, assertEquals } from "@std/assert";
 * import { z } from "zod";
 *
 * const order = tool({
 *   name: "get_order",
 *   description: "Returns an order",
 *   parameters: z.object({ order_id: z.string() }),
 *   output: z.object({ id: z.string(), customer_id: z.string() }),
 *   returns: { id: "A1", customer_id: "C7" },
 * });
 * const customer = tool({
 *   name: "get_customer",
 *   description: "Returns a customer",
 *   parameters: z.object({ customer_id: z.string() }),
 *   output: z.object({ id: z.string(), city: z.string() }),
 *   returns: { id: "C7", city: "Oslo" },
 * });
 * const [chain] = chains(toolGraph([order, customer]), { calls: [2] });
 * const task = chain!.draw(7);
 * assertEquals(
 *   task.question.replace(/"[^"]*"/, "#"),
 *   "Take the order whose id is #. What is the city of its customer? " +
 *     "Answer with the value alone, as the tool returns it.",
 * );
 * assertEquals(task.calls.map((call) => call.tool), ["get_order", "get_customer"]);
 * assert(isRight(task, `The answer is ${task.answer}.`));
 * ```
 */
export function chains(graph: ToolGraph, options: ChainsOptions = {}): Chain[] {
  checkOptions(OPTIONS, options, "the options of chains");
  for (const one of [graph, ...Object.values(options.versions ?? {})]) {
    if (one?.nodes instanceof Map) continue;
    throw cannot("make chains", "they must be over what toolGraph() returned", "it is no graph");
  }
  const { tasks = 20, confirmed, offered = 40 } = options;
  const { unknown = "error", versions = {} } = options;
  const plan = new Plan(graph);
  assertLinked(plan);
  assertFields(plan);
  assertAlike(graph, versions);
  const others = Object.entries(versions).map(([name, one]) => [name, new Plan(one)] as const);
  const ofWorld: WorldOptions = { unknown, versions: [graph, ...Object.values(versions)] };
  const wanted = [...new Set(options.calls ?? [2, 3, 4])];
  const drawn = (calls: number, most: number, ...seed: readonly (string | number)[]) =>
    drawTask(
      [plan, ...others.map(([, one]) => one)],
      calls,
      most,
      ofWorld,
      forkSeed("chain", ...seed),
    );
  const lengths = wanted.filter((length) =>
    CHECKS.every((seed) => drawn(length, MAX_WAYS / 10, seed) !== undefined)
  );
  if (lengths.length === 0 || options.calls !== undefined && lengths.length < wanted.length) {
    const missing = wanted.filter((length) => !lengths.includes(length));
    throw cannot(
      `make chains of ${listText(missing.map(String), 9)} calls`,
      "there must be questions that no fewer calls can answer",
      `too few were found over the ${countText(graph.nodes.size, "tool")}` +
        (lengths.length === 0 ? "" : `; write calls: ${jsonText(lengths)}`),
    );
  }
  const reviewed = { templates: TEMPLATES, graph: graph.digest, calls: lengths };
  const hash = sha256(canonicalJson(reviewed)).slice(0, 12);
  if (confirmed !== undefined && confirmed !== hash) {
    throw cannot(
      "use these chains",
      `the sample of their questions must be the one that was confirmed, ${confirmed}`,
      `the tools, their links, or options such as calls are others now: it is ${hash}; read a sample again`,
    );
  }
  return Array.from({ length: tasks }, (_, index): Chain => {
    const length = lengths[index % lengths.length]!;
    const name = `chain ${index + 1} of ${countText(length, "call")}`;
    const chainIn = (own: ToolGraph, wayOf: (task: TracedTask) => Partial<ChainTask>): Chain => ({
      ...{ name, calls: length, graph: own },
      id: canonicalJson({
        ...{ ...reviewed, calls: length, name, offered, unknown },
        versions: others.map(([name, { graph: { digest } }]) => [name, digest]),
      }),
      sample: hash,
      confirmed: confirmed !== undefined,
      draw(seed) {
        const task = drawn(length, MAX_WAYS, seed, name);
        if (task !== undefined) return withTools(own, { ...task, ...wayOf(task) }, offered, seed);
        throw cannot(
          `draw ${name}`,
          "there must be a question that no fewer calls can answer",
          `none of ${MAX_WAYS} has been one; try another seed`,
        );
      },
    });
    const chain = chainIn(graph, () => ({}));
    if (others.length === 0) return chain;
    const versions = new Map(others.map(([version, own]) => [
      version,
      chainIn(own.graph, (task) => inVersion(version, own, task, graph)),
    ]));
    return { ...chain, versions };
  });
}

/**
 * Returns tasks of chains, for a person to read their questions, and the hash by which that is confirmed: of the graph, the options
 * and the templates, and not of values, so that another seed needs no other confirmation.
 *
 * @throws {InputError} If there are no chains.
 *
 * @example Usage
 * ```ts
 * import { chains, sample, toolGraph } from "@toolgate/toolgate/chains";
 * import { tool } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 * import { z } from "zod";
 *
 * const pet = tool({
 *   name: "get_pet",
 *   description: "Returns a pet",
 *   parameters: z.object({ pet_id: z.int() }),
 *   output: z.object({ id: z.int(), owner_id: z.int() }),
 *   returns: { id: 1, owner_id: 2 },
 * });
 * const owner = tool({
 *   name: "get_owner",
 *   description: "Returns an owner",
 *   parameters: z.object({ owner_id: z.int() }),
 *   output: z.object({ id: z.int(), phone: z.string() }),
 *   returns: { id: 2, phone: "555-0100" },
 * });
 * const graph = toolGraph([pet, owner]);
 * const { tasks, hash } = sample(chains(graph), 5);
 * assertEquals(tasks.length, 5);
 * // Whoever has read them says so, until the graph, the options or the words change.
 * assertEquals(chains(graph, { confirmed: hash })[0]!.confirmed, true);
 * ```
 */
export function sample(
  made: readonly Chain[],
  count = 20,
  seed = 0,
): { readonly tasks: readonly ChainTask[]; readonly hash: string } {
  if (made.length === 0) throw cannot("sample chains", "there must be some");
  return {
    tasks: Array.from(
      { length: count },
      (_, index) => made[index % made.length]!.draw(forkSeed(seed, "sample", index)),
    ),
    hash: made[0]!.sample,
  };
}

/** Checks that words are of fields that there are. */
function assertFields(plan: Plan): void {
  const { graph: { words: { fields = {} }, types }, readers } = plan;
  const known = new Set(
    readers.flatMap((node) =>
      node.records.flatMap((place) =>
        plan.leaves(node, place).map(({ path }) =>
          [types.get(place.type)!.entity, ...path].join(".")
        )
      )
    ),
  );
  const odd = Object.keys(fields).find((name) => !known.has(name));
  if (odd === undefined) return;
  const state = `${jsonText(odd)} is none${nearestOrAll(odd, [...known])}`;
  throw cannot("make chains", "words.fields must name a field that there is", state);
}

/** Checks that tools lead to each other. */
function assertLinked({ graph, readers, views }: Plan): void {
  const tools = countText(graph.nodes.size, "tool");
  if (readers.length === 0) {
    throw cannot(
      "make chains",
      "tools that only read must say what they return",
      `of ${tools} none does; declare "output" of tool(), or write "returns" of toolGraph()`,
    );
  }
  if (views.some(({ places, label }) => places.length > 1 || label !== undefined)) return;
  const { tool, at, type } = graph.suggestions[0] ??
    { tool: readers[0]!.tool.name, at: "WAY.IN.RESULT", type: "ENTITY.KEY" };
  const isTaken = graph.nodes.get(tool)!.takes.some(({ parameter }) => parameter === at);
  const link = { [`${tool}${isTaken ? "." : ":"}${at}`]: type };
  throw cannot(
    "make chains",
    "a tool must return an id that another one takes",
    `of ${tools} none is known to; write "links" of toolGraph(), such as ${jsonText(link)}`,
  );
}

/** Checks that versions have ids of the same types: a world has both. */
function assertAlike({ types }: ToolGraph, versions: Readonly<Record<string, ToolGraph>>): void {
  for (const [version, other] of Object.entries(versions)) {
    for (const { name, type } of other.types.values()) {
      const own = types.get(name)?.type ?? type;
      if (own === type) continue;
      throw cannot(
        `use versions.${version}`,
        "ids must have one JSON type in all versions",
        `${name} is of type ${own}, and of type ${type} there`,
      );
    }
  }
}

/** Draws a task of the first of some versions; `undefined` if none is found among the `most` ways. */
function drawTask(
  plans: readonly [Plan, ...Plan[]],
  calls: number,
  most: number,
  ofWorld: WorldOptions,
  seed: number,
): TracedTask | undefined {
  const [plan] = plans;
  let world!: World;
  for (let tries = 0; tries < most; tries++) {
    if (tries % WAYS === 0) {
      world = new World(plan.graph, forkSeed(seed, "world", tries), ofWorld);
    }
    const stream = fork(seed, "way", tries);
    const way = plan.draw(calls, stream);
    if (way === undefined) continue;
    const task = attempt(() => taskOf(plans, way, world, stream), InputError);
    if (task === undefined || hasShorterWay(plan, task) || !isShown(task)) continue;
    return task;
  }
  return undefined;
}

/** Returns a task with the tools on offer: those of its calls, and others that are drawn by name, alike in all versions. */
function withTools(
  graph: ToolGraph,
  task: Omit<ChainTask, "tools">,
  offered: number,
  seed: number,
): ChainTask {
  const needed = new Set(task.calls.map(({ tool }) => tool));
  const others = graph.nodes.keys().filter((name) => !needed.has(name))
    .map((name) => [hash64(`${seed} ${name}`), name] as const).toArray()
    .sort(([one], [other]) => one < other ? -1 : 1).values().map(([, name]) => name)
    .filter((name) => isMade(task.world, graph.nodes.get(name)!))
    .take(Math.max(0, offered - needed.size));
  const names = needed.union(new Set(others));
  const tools = graph.nodes.values().filter(({ tool }) => names.has(tool.name))
    .map((node) => answered(graph, task.world, node)).toArray();
  return { ...task, tools };
}

/** Makes a task of the calls of a chain and a world; `undefined` if the world does not fit them. */
function taskOf(
  plans: readonly [Plan, ...Plan[]],
  { views, leaf }: { readonly views: readonly View[]; readonly leaf: Leaf },
  world: World,
  stream: Stream,
): TracedTask | undefined {
  const [{ graph }] = plans;
  const phrases: Phrase[] = [];
  const seen: RecordId[] = [];
  const scopes = new Map<string, JsonValue>();
  const calls: ChainTask["calls"][number][] = [];
  const steps: ChainStep[] = [];
  /** Goes on to a record, which must be another one than those before. */
  const see = (type: string, id: JsonValue | undefined) => {
    if (id === undefined || id === null) return false;
    if (seen.some((one) => one.type === type && one.id === id)) return false;
    seen.push({ type, id });
    return true;
  };
  const first = views[0]!.drive?.type;
  if (first !== undefined) {
    // Lists of all never show it, nor what it leads to.
    const id = draw(world.ids(first, false), stream);
    if (!see(first, id)) return undefined;
    phrases.push({ given: first, id: id! });
  }
  const given = [...seen];
  for (const { node, drive, places: [root, ...related], label } of views) {
    const { name } = node.tool;
    const args = new Map<string, JsonValue>();
    for (const { parameter, role, type, required, schema } of node.takes) {
      if (parameter === drive?.parameter) args.set(parameter, seen.at(-1)!.id);
      else if (!required || role === "fixed") continue;
      else if (role === "free") args.set(parameter, schema["default"]!);
      else if (role === "scope") {
        scopes.set(type!, world.scope(type!));
        args.set(parameter, world.scope(type!));
      } else {
        // Of several that are known, a question would have to say which one.
        const known = seen.filter((one) => one.type === type);
        if (known.length !== 1) return undefined;
        args.set(parameter, known[0]!.id);
      }
    }
    const input = Object.fromEntries(args);
    calls.push({ tool: name, arguments: input });
    if (label !== undefined) {
      const ids = world.records(name, input).filter(({ place }) => place === root)
        .map((record) => record.id);
      const id = draw(ids, stream);
      const of = drive && seen.at(-1)!.type;
      // Of two records of a kind, a question would have to say which of them it goes on with.
      const isSecond = seen.some((one) => one.type === root!.type);
      if (ids.length < 2 || isSecond || !see(root!.type, id)) return undefined;
      const nameOf = (one: JsonValue) => world.field(root!.type, one, label);
      const value = nameOf(id!);
      const isUnique = ids.filter((one) => nameOf(one) === value).length === 1;
      if (!isTelling(value) || !isUnique) return undefined;
      phrases.push({ item: root!.type, label, value, parameter: drive?.parameter, of });
    }
    for (const place of related) {
      const [from, relation] = [seen.at(-1)!, relationOf(place)!];
      if (!see(place.type, world.related(from.type, from.id, relation))) return undefined;
      phrases.push({ relation, from: from.type, to: place.type });
    }
    steps.push({ tool: name, at: (related.at(-1) ?? root!).path, shows: seen.at(-1)! });
  }
  const { type, id } = seen.at(-1)!;
  const answer = world.field(type, id, leaf.path);
  const last = phrases.at(-1)!;
  // A copy beside the id, such as customer_name, is drawn by itself, and would say something else.
  if ("relation" in last && plans.some((one) => one.hasCopy(last, leaf.path))) return undefined;
  phrases.push({ field: leaf.path, from: type });
  const shared = Object.fromEntries(scopes);
  const question = questionOf(graph, shared, phrases);
  const all = world.ids(type).filter((one) => one !== id)
    .map((one) => world.field(type, one, leaf.path))
    .filter((one) => one !== undefined && one !== null);
  // Whoever repeats what the question says names no other answer.
  const others = all.filter((one) => !question.includes(String(one)));
  // Neither the question nor another record may give the answer away, nor may it be one of few values.
  const isOwn = isTelling(answer) && !question.includes(String(answer)) &&
    new Set([answer, ...all].map(jsonText)).size > all.length;
  if (!isOwn) return undefined;
  const target = { type, id, path: leaf.path };
  const own = { question, calls, answer, target, given, scopes: shared, others, world, steps };
  return { ...own, trail: seen, phrases };
}

/** Whether a world has all ids and scopes of a tool. */
function isMade(world: World, { takes, records }: ToolNode): boolean {
  const types = [...records, ...takes.filter(({ role }) => role === "id")].map(({ type }) => type!);
  const scopes = takes.filter(({ role }) => role === "scope").map(({ type }) => type!);
  return types.every((type) => attempt(() => world.ids(type), InputError) !== undefined) &&
    scopes.every((name) => attempt(() => world.scope(name), InputError) !== undefined);
}

/** Returns a tool whose calls a world answers. */
function answered(graph: ToolGraph, world: World, { tool }: ToolNode): Tool {
  const own: Tool = {
    ...tool,
    [SERVED]: undefined,
    [FRESH]: () => own,
    execute(input) {
      const result = world.call(tool.name, input);
      if ("value" in result) return Promise.resolve(jsonText(result.value));
      const { unknown } = result;
      const { entity = unknown.type, key } = graph.types.get(unknown.type) ?? {};
      const error = key === undefined
        ? `There is no ${entity} ${jsonText(unknown.value)}`
        : `No ${entity} has the ${key} ${jsonText(unknown.value)}`;
      return Promise.resolve(jsonText({ error }));
    },
  };
  return own;
}

/** Whether a value can be told from others, so that it is not met by chance. */
function isTelling(value: JsonValue | undefined): value is string | number | bigint {
  if (typeof value === "string") return /^\S.{2,118}\S$/.test(value) && !value.includes("://");
  return (typeof value === "number" || typeof value === "bigint") && String(value).length > 4;
}
