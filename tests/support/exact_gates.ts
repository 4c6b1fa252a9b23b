/**
 * Exact chances of how gates end. What decides a gate is how many graphs of each kind it has seen, so
 * that the probabilities of these counts, graph by graph, give the chances without any simulation.
 * @module
 */

import { completePolicy, type GatePolicy, hypothesesOf } from "../../lib/gate/policy.ts";
import { Bets, type Sample, sequentialRule } from "../../lib/gate/sequential.ts";

/** The graphs of a gate. */
export interface World<T> {
  /** What one graph can show, from the worst to the best. */
  readonly kinds: readonly T[];
  /** Cells of the plan, whose graphs come one after another in each block. */
  readonly cells: number;
  /** The probability of each kind at a place of the plan. */
  chances(place: number): readonly number[];
}

/** When a gate is looked at. */
export interface Looks {
  /** Graphs at which the gate ends, whatever it has shown. */
  readonly most: number;
  /** Graphs between two looks; default `most`. */
  readonly every?: number;
}

/** How gates end: shares of all gates, and the mean number of graphs. */
export interface Ends {
  readonly pass: number;
  readonly fail: number;
  readonly undecided: number;
  readonly units: number;
}

/** Rows of states that are less probable than this are not looked at, and stay undecided. */
const SMALLEST = 1e-9;

/**
 * The chances of gates that end at the first look at which `decide` says pass or fail.
 *
 * `decide` gets the graphs in an order of no meaning. It must never decide worse where one graph is
 * better: what is between two equal decisions is then known without asking.
 */
export function endsOf<T>(
  { kinds, chances }: World<T>,
  { most, every = most }: Looks,
  decide: (graphs: readonly T[]) => string,
): Ends {
  const size = most + 1;
  // A state holds the count of each kind but the best, as the digits of its index.
  const strides = kinds.slice(1).map((_, kind) => size ** (kinds.length - 2 - kind));
  const states = new Float64Array(size ** strides.length);
  states[0] = 1;
  const ends = { pass: 0, fail: 0, undecided: 0, units: 0 };

  const look = (graphs: number) => {
    const decisions = new Map<number, string>();
    const decideAt = (index: number) =>
      decisions.getOrInsertComputed(index, () => {
        const counts = strides.map((stride) => Math.floor(index / stride) % size);
        counts.push(graphs - counts.reduce((sum, count) => sum + count, 0));
        return decide(counts.flatMap((count, kind) => new Array<T>(count).fill(kinds[kind]!)));
      });
    const passes = (index: number) => decideAt(index) === "pass";
    const goesOn = (index: number) => decideAt(index) !== "fail";
    // Along a row graphs are worse and worse; it is decided about where the row before it was.
    let [passed, open] = [0, 0];
    for (let row = 0; row < states.length; row += size) {
      let [first, end, mass] = [row + size, row, 0];
      for (let index = row; index < row + size; index++) {
        if (states[index]! < SMALLEST / size) continue;
        if (first > index) first = index;
        end = index + 1;
        mass += states[index]!;
      }
      if (mass < SMALLEST) continue;
      passed = partition(first, end, passes, passed + size);
      open = partition(passed, end, goesOn, open + size);
      for (let index = row; index < end; index++) {
        if (index >= passed && index < open) continue;
        ends[index < passed ? "pass" : "fail"] += states[index]!;
        ends.units += graphs * states[index]!;
        states[index] = 0;
      }
    }
  };

  for (let place = 0; place < most; place++) {
    const shares = chances(place);
    for (let index = Math.min(states.length - 1, (place + 1) * strides[0]!); index >= 0; index--) {
      let state = shares.at(-1)! * states[index]!;
      for (let kind = 0; kind < strides.length; kind++) {
        const before = index - strides[kind]!;
        if (before >= 0) state += shares[kind]! * states[before]!;
      }
      states[index] = state;
    }
    if ((place + 1) % every === 0) look(place + 1);
  }
  ends.undecided = states.reduce((sum, state) => sum + state, 0);
  ends.units += most * ends.undecided;
  return ends;
}

/** The chances of sequential gates, which look after each block of one graph of every cell. */
export function sequentialEnds<T>(
  world: World<T>,
  given: GatePolicy,
  sampleOf: (graph: T) => Sample,
): Ends {
  const policy = completePolicy(given);
  const rule = sequentialRule(policy, world.cells);
  // What bets come to depends on the graphs, not on the blocks they came in.
  const decide = (graphs: readonly T[]) =>
    new Bets(rule, hypothesesOf(policy)).look(graphs.map(sampleOf)) ?? "undecided";
  return endsOf(world, { most: rule.largestSize, every: world.cells }, decide);
}

/** The first index from `start` on, up to `end`, that does not hold; all before it do. */
function partition(
  start: number,
  end: number,
  holds: (index: number) => boolean,
  guess: number,
): number {
  // All below `low` hold, and `high` does not; each step away from the guess is twice as long.
  let [low, high] = [start, end];
  let next = Math.min(Math.max(guess, start), end - 1);
  for (let step = 1; low < high; step *= 2) {
    if (holds(next)) low = next + 1;
    else high = next;
    const isBounded = low > start && high < end;
    if (isBounded) next = Math.floor((low + high) / 2);
    else next = low > start ? Math.min(low + step - 1, end - 1) : Math.max(high - step, start);
  }
  return low;
}
