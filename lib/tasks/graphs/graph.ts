/**
 * Graph: the hidden function-dependency graph of a task (FuncBenchGen, section 3.2 and appendix A.1).
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import { hideOwnFrames } from "../../base/errors.ts";
import { fork, type Stream } from "../../base/random.ts";

/** The ways in which a parameter identifies the variable that it consumes (FuncBenchGen, appendix B.2). */
export const LINKINGS = ["types", "names"] as const;

/** `types`: by type and subtype only; `names`: it has the variable's name, which is easier. */
export type Linking = typeof LINKINGS[number];

/** The styles of function documents. */
export const SURFACES = ["plain", "rich"] as const;

/**
 * `plain`: as in FuncBenchGen; `rich`: with an example of each function's use, and with names of two
 * words for all variables but parameters, such as `bujxe_id` and `aargKavo`, half of them ids.
 */
export type Surface = typeof SURFACES[number];

/** What the names of functions and variables are made of. */
export const NAMES = ["random", "helpful", "misleading", "workflow"] as const;

/**
 * `random`: pseudo-words, as in FuncBenchGen. `helpful` and `misleading` are words of everyday domains, such as
 * `find_room_price`: `helpful` names tell which variable a function produces or takes, `misleading` ones
 * suggest another. `workflow` names are those of one domain (FuncBenchGen, section 3.3), such as
 * `book_city_hotel`, and tell types alone; descriptions then begin with what a function does. Descriptions hold
 * the truth in any case, and link by type and subtype.
 */
export type Names = typeof NAMES[number];

/** What names of variables tell of their types. */
export const CUES = ["none", "names"] as const;

/**
 * `none`: nothing, as in FuncBenchGen; `names`: the second and third words of a name are those of the
 * variable's type and subtype, such as `bujxe_uxe_muw`, and the question says so. What descriptions say of
 * types can then be wrong or missing, and the task can still be solved.
 */
export type Cues = typeof CUES[number];

/** The parameters that a task is generated from. The same spec gives the same task, byte for byte. */
export interface GraphSpec {
  /** Functions needed for the target, at least 1: the fewest calls that solve the task. */
  readonly core: number;
  /** Edges on the longest core path: 1 to `core - 1`, and 0 when `core` is 1. */
  readonly depth: number;
  /** Irrelevant functions that consume a core output. */
  readonly connected: number;
  /** Irrelevant functions without a connection to the core. */
  readonly disconnected: number;
  /** Seed of everything random, a whole number from 0 to 2^53 - 1. */
  readonly seed: number;
  /** Size of the pool of types that variables share. Default: half of `core`, rounded up. */
  readonly types?: number;
  /** Fewest and most input variables of a function that consumes no output. Default: `[1, 2]`. */
  readonly inputs?: readonly [fewest: number, most: number];
  /** Attempts to add a further edge between core functions. Default: twice `core`. */
  readonly extraEdges?: number;
  /** How parameters are linked to outputs. Default: `types`. */
  readonly linking?: Linking;
  /**
   * Style of function documents. Default: `plain`. Only `rich` ones have parts that all perturbations of
   * documents and returns can change.
   */
  readonly surface?: Surface;
  /**
   * Fewest and most variables that a function produces. Default: `[1, 1]`. Of several, others consume at
   * least one and may leave the rest unused.
   */
  readonly outputs?: readonly [fewest: number, most: number];
  /** What names are made of. Default: `random`. Names cannot mislead where parameters are linked by them. */
  readonly names?: Names;
  /** What names of variables tell of their types; only random names can. Default: `none`. */
  readonly cues?: Cues;
}

/**
 * A {@linkcode GraphSpec} with every default filled in; `surface` is omitted if plain, `outputs` if every
 * function has one, `names` if they are random, `cues` if there are none.
 */
export type CompleteGraphSpec =
  & Required<Omit<GraphSpec, "surface" | "outputs" | "names" | "cues">>
  & Pick<GraphSpec, "surface" | "outputs" | "names" | "cues">;

/** The roles of functions. */
export const ROLES = ["core", "connected", "disconnected"] as const satisfies readonly Role[];

/** The role of a function in the task. */
export type Role = "core" | "connected" | "disconnected";

/** The graph: nodes are numbered core first, then connected, then disconnected. */
export interface Graph {
  /** The role of each node. */
  readonly roles: readonly Role[];
  /** The nodes whose outputs each node consumes. */
  readonly parents: readonly (readonly number[])[];
  /** The node of whose outputs the task asks for one. */
  readonly target: number;
}

/**
 * Fills in the defaults of `spec` and checks every value.
 *
 * @throws {RangeError} If a value is out of its range; the message names the rule and the value.
 */
export function completeSpec(spec: GraphSpec): CompleteGraphSpec {
  const { core, depth, connected, disconnected, seed } = spec;
  assertWholeNumber("core", core, 1, MAX_SIZE);
  assertWholeNumber("depth", depth, 0, MAX_SIZE);
  assertWholeNumber("connected", connected, 0, MAX_SIZE);
  assertWholeNumber("disconnected", disconnected, 0, MAX_SIZE);
  assertWholeNumber("seed", seed, 0, Number.MAX_SAFE_INTEGER);
  if (core === 1 && depth !== 0) reject("depth must be 0 when core is 1", `depth is ${depth}`);
  if (core > 1 && depth === 0) {
    reject("depth must be at least 1 when core is above 1", `depth is 0, core is ${core}`);
  }
  if (depth >= core) {
    reject("depth must be below core", `depth is ${depth}, core is ${core}`);
  }
  const types = spec.types ?? Math.ceil(core / 2);
  assertWholeNumber("types", types, 1, MAX_SIZE);
  const inputs = checkRange("inputs", spec.inputs ?? [1, 2]);
  const outputs = checkRange("outputs", spec.outputs ?? [1, 1]);
  const extraEdges = spec.extraEdges ?? 2 * core;
  assertWholeNumber("extraEdges", extraEdges, 0, 100 * MAX_SIZE);
  const linking = spec.linking ?? "types";
  assertOneOf("linking", linking, LINKINGS);
  const surface = spec.surface ?? "plain";
  assertOneOf("surface", surface, SURFACES);
  const names = spec.names ?? "random";
  assertOneOf("names", names, NAMES);
  if (names === "misleading" && linking === "names") {
    reject("names cannot mislead where they are what links parameters", "linking is names");
  }
  const cues = spec.cues ?? "none";
  assertOneOf("cues", cues, CUES);
  if (cues === "names" && names !== "random") {
    reject("names must be random where cues are in them", `names are ${names}`);
  }
  return {
    ...{ core, depth, connected, disconnected, seed, types, inputs, extraEdges, linking },
    ...(surface === "plain" ? {} : { surface }),
    ...(outputs[1] === 1 ? {} : { outputs }),
    ...(names === "random" ? {} : { names }),
    ...(cues === "none" ? {} : { cues }),
  };
}

/** Nodes of each kind, at most: few enough to fit in memory. */
const MAX_SIZE = 100_000;

/** Functions of a planned task, at most: far more than any model accepts, and made within seconds. */
const MAX_FUNCTIONS = 5_000;
/** Variables that the functions of a planned task take and produce, at most. */
const MAX_VARIABLES = 20_000;
/** Attempts to add an edge to a planned task, at most. */
const MAX_EXTRA_EDGES = 100_000;

/** What makes tasks large: see {@linkcode GraphSpec}. */
export type Sizes =
  & Pick<GraphSpec, "core" | "connected" | "disconnected">
  & Pick<Partial<CompleteGraphSpec>, "inputs" | "outputs" | "extraEdges">;

/**
 * Returns what is too large about planned tasks of these sizes, as `core must be at most 5000: it is 50000`;
 * `undefined` if nothing is. Larger ones would take minutes to make, or more memory than there is; those of old
 * journals can still be made.
 */
export function sizeFault(
  { core, connected, disconnected, inputs = [1, 2], outputs = [1, 1], extraEdges = 0 }: Sizes,
): string | undefined {
  const functions = core + connected + disconnected;
  const limits: [what: string, value: number, most: number][] = [
    ["core", core, MAX_FUNCTIONS],
    ["connected", connected, MAX_FUNCTIONS],
    ["disconnected", disconnected, MAX_FUNCTIONS],
    ["core, connected and disconnected together", functions, MAX_FUNCTIONS],
    ["inputs and outputs of all functions", functions * (inputs[1] + outputs[1]), MAX_VARIABLES],
    ["extraEdges", extraEdges, MAX_EXTRA_EDGES],
  ];
  const broken = limits.find(([, value, most]) => value > most);
  if (broken === undefined) return undefined;
  const [what, value, most] = broken;
  return `${what} must be at most ${most}: ${what.includes(" ") ? "they are" : "it is"} ${value}`;
}

function assertOneOf(name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  reject(`${name} must be one of ${known.join(", ")}`, `it is ${String(value)}`);
}

function assertWholeNumber(name: string, value: unknown, least: number, most: number): void {
  if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) return;
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  reject(`${name} must be a whole number from ${least} to ${most}`, `it is ${shown}`);
}

/** Returns a range of how many `things` a function has, once it is checked. */
function checkRange(things: string, range: readonly [number, number]): readonly [number, number] {
  if (!Array.isArray(range) || range.length !== 2) {
    reject(`${things} must be a pair`, `it is [${range}]`);
  }
  const [fewest, most] = range;
  assertWholeNumber(`the fewest ${things}`, fewest, 1, MAX_SIZE);
  assertWholeNumber(`the most ${things}`, most, 1, MAX_SIZE);
  if (fewest > most) {
    reject(`the fewest ${things} must not be above the most`, `${things} are ${fewest}..${most}`);
  }
  return [fewest, most];
}

function reject(rule: string, state: string): never {
  const error = new RangeError(`Cannot generate a graph as ${rule}: ${state}`);
  hideOwnFrames(error);
  throw error;
}

/**
 * Generates the graph of `spec`.
 *
 * It begins with a path of `depth + 1` core nodes. The other core nodes become new parents of random core
 * nodes, and random further edges are tried, all without a cycle and without a path longer than `depth`.
 * Connected nodes then get 1 to 3 core parents; disconnected ones get at most half as many edges among
 * themselves as there are nodes. Each role draws from separate random streams, so that adding distractors
 * never changes the core.
 *
 * @throws {RangeError} If a value of `spec` is out of its range.
 */
export function generateGraph(spec: GraphSpec): Graph {
  const complete = completeSpec(spec);
  const { core, connected, disconnected, seed } = complete;
  const parents = [
    ...coreParents(complete),
    ...connectedParents(core, connected, fork(seed, "connected", "graph")),
    ...disconnectedParents(core + connected, disconnected, fork(seed, "disconnected", "graph")),
  ];
  const roles: Role[] = parents.map((_, node) =>
    node < core ? "core" : node < core + connected ? "connected" : "disconnected"
  );
  return { roles, parents, target: complete.depth };
}

function coreParents({ core, depth, extraEdges, seed }: CompleteGraphSpec): number[][] {
  const dag = new DepthBoundedDag(core, depth);

  // A new node has no parents, so only the path that starts at it grows.
  const backbone = fork(seed, "core", "graph");
  const children: number[] = [];
  for (let node = 1; node <= depth; node++) children.push(node);
  for (let node = depth + 1; node < core; node++) {
    const child = sample(children, backbone)!;
    dag.add(node, child);
    if (dag.below(node) < depth) children.push(node);
  }

  const edges = fork(seed, "core", "edges");
  for (let attempt = 0; attempt < extraEdges; attempt++) {
    const from = randomIntegerBetween(0, core - 1, edges);
    const to = randomIntegerBetween(0, core - 1, edges);
    if (dag.allows(from, to)) dag.add(from, to);
  }
  return dag.parents;
}

/**
 * A directed acyclic graph that tracks, for each node, the longest paths above and below it. It begins as a
 * path over the first `depth + 1` nodes.
 */
class DepthBoundedDag {
  readonly parents: number[][];
  readonly #children: number[][];
  readonly #above: number[];
  readonly #below: number[];
  readonly #depth: number;

  constructor(nodes: number, depth: number) {
    this.parents = Array.from({ length: nodes }, () => []);
    this.#children = Array.from({ length: nodes }, () => []);
    this.#above = new Array(nodes).fill(0);
    this.#below = new Array(nodes).fill(0);
    this.#depth = depth;
    for (let node = 0; node <= depth; node++) {
      this.#above[node] = node;
      this.#below[node] = depth - node;
      if (node > 0) this.parents[node]!.push(node - 1);
      if (node < depth) this.#children[node]!.push(node + 1);
    }
  }

  /** Number of edges on the longest path that starts at `node`. */
  below(node: number): number {
    return this.#below[node]!;
  }

  /** Returns whether an edge is new, closes no cycle and makes no path longer than the depth. */
  allows(from: number, to: number): boolean {
    return from !== to && this.#above[from]! + 1 + this.#below[to]! <= this.#depth &&
      !this.parents[to]!.includes(from) && !this.#reaches(to, from);
  }

  add(from: number, to: number): void {
    this.parents[to]!.push(from);
    this.#children[from]!.push(to);
    raise(this.#above, this.#children, to, this.#above[from]! + 1);
    raise(this.#below, this.parents, from, this.#below[to]! + 1);
  }

  /** The longest path above grows along every edge: nodes with one as long as `to`'s need no search. */
  #reaches(from: number, to: number): boolean {
    const seen = new Set([from]);
    for (const node of seen) {
      if (node === to) return true;
      for (const child of this.#children[node]!) {
        if (child === to || this.#above[child]! < this.#above[to]!) seen.add(child);
      }
    }
    return false;
  }
}

/** Raises the longest path at `node` to at least `length`, and updates the nodes along `edges`. */
function raise(longest: number[], edges: readonly number[][], node: number, length: number): void {
  const raised: [node: number, length: number][] = [[node, length]];
  for (let next = raised.pop(); next !== undefined; next = raised.pop()) {
    const [reached, least] = next;
    if (longest[reached]! >= least) continue;
    longest[reached] = least;
    for (const further of edges[reached]!) raised.push([further, least + 1]);
  }
}

function connectedParents(core: number, count: number, stream: Stream): number[][] {
  return Array.from({ length: count }, () => {
    const wanted = randomIntegerBetween(1, Math.min(3, core), stream);
    const parents: number[] = [];
    while (parents.length < wanted) {
      const parent = randomIntegerBetween(0, core - 1, stream);
      if (!parents.includes(parent)) parents.push(parent);
    }
    return parents;
  });
}

function disconnectedParents(first: number, count: number, stream: Stream): number[][] {
  const parents: number[][] = Array.from({ length: count }, () => []);
  for (let attempt = 0; attempt < Math.floor(count / 2); attempt++) {
    const [from, to] = orderedPair(count, stream);
    if (from !== to && !parents[to]!.includes(first + from)) parents[to]!.push(first + from);
  }
  return parents;
}

/** Draws two random indexes, the smaller first: edges that only lead forward never close a cycle. */
function orderedPair(count: number, stream: Stream): [number, number] {
  const one = randomIntegerBetween(0, count - 1, stream);
  const other = randomIntegerBetween(0, count - 1, stream);
  return one < other ? [one, other] : [other, one];
}
