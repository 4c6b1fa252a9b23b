import { assert, assertAlmostEquals, assertEquals, assertLess, assertThrows } from "@std/assert";
import { fork } from "../../lib/base/random.ts";
import { mcNemar } from "../../lib/statistics/proportions.ts";
import { signFlip, type Tally } from "../../lib/statistics/sign_flip.ts";
import fc from "../support/fast_check.ts";

type Graph = readonly [Tally, Tally];

const random = () => fork(1, "sign flips").prng;

function tally(most: number): fc.Arbitrary<Tally> {
  return fc.integer({ min: 1, max: most }).chain((trials) =>
    fc.nat(trials).map((successes): Tally => [successes, trials])
  );
}

const GRAPH: fc.Arbitrary<Graph> = fc.oneof(
  fc.tuple(tally(4), tally(4)),
  tally(4).chain(([one, trials]) =>
    fc.nat(trials).map((other): Graph => [[one, trials], [other, trials]])
  ),
);

/** Graphs of which both models had the same number of trials. */
const EVEN = GRAPH.map(([one, [successes]]): Graph => [one, [Math.min(successes, one[1]), one[1]]]);

function observedOf(graphs: readonly Graph[]): number {
  return graphs.reduce((sum, [one, other]) => sum + one[0] / one[1] - other[0] / other[1], 0);
}

/** The share of all sign vectors with a sum at least as far from 0. */
function allSigns(graphs: readonly Graph[]): number {
  const differences = graphs.map((graph) => observedOf([graph]));
  const observed = Math.abs(observedOf(graphs)) - 1e-9;
  let extreme = 0;
  for (let signs = 0; signs < 2 ** graphs.length; signs++) {
    const sum = differences.reduce((all, one, place) => all + (signs >> place & 1 ? -one : one), 0);
    if (Math.abs(sum) >= observed) extreme++;
  }
  return extreme / 2 ** graphs.length;
}

/** The same share of all ways to deal the trials of each graph, where both do not have as many. */
function allDeals(graphs: readonly Graph[]): number {
  let sums = [0];
  for (const [one, other] of graphs) {
    if (one[1] === other[1]) {
      const difference = observedOf([[one, other]]);
      sums = sums.flatMap((sum) => [sum - difference, sum + difference]);
    } else {
      const [size, of] = [one[1], one[1] + other[1]];
      const deals = Array.from(
        { length: 2 ** of },
        (_, deal) => [...deal.toString(2).padStart(of, "0")],
      )
        .filter((deal) => deal.filter((bit) => bit === "1").length === size);
      const solved = one[0] + other[0];
      const values = deals.map((deal) => {
        const own = deal.slice(0, solved).filter((bit) => bit === "1").length;
        return own / size - (solved - own) / (of - size);
      });
      sums = sums.flatMap((sum) => values.map((value) => sum + value));
    }
  }
  const observed = Math.abs(observedOf(graphs)) - 1e-9;
  return sums.filter((sum) => Math.abs(sum) >= observed).length / sums.length;
}

Deno.test("signFlip() of one trial a graph is McNemar's exact test", () => {
  fc.assert(fc.property(fc.nat(80), fc.nat(80), fc.nat(5), (gained, lost, same) => {
    const graphs = [[1, 0, gained], [0, 1, lost], [1, 1, same]].flatMap(([own, other, count]) =>
      new Array<Graph>(count!).fill([[own!, 1], [other!, 1]])
    );
    const { p, sampled } = signFlip(graphs, random());
    assertEquals(sampled, undefined);
    assertAlmostEquals(p / mcNemar(gained, lost).exact, 1, 1e-9);
  }));
});

Deno.test("signFlip() counts all sign vectors of graphs with as many trials of both, as brute force does", () => {
  fc.assert(fc.property(fc.array(EVEN, { maxLength: 9 }), (graphs) => {
    assertAlmostEquals(signFlip(graphs, random()).p, allSigns(graphs), 1e-12);
  }));
  // SciPy's permutation_test over signs of 1/2, 1/3, 1, -1/4, 1/2.
  const graphs: Graph[] = [
    [[2, 2], [1, 2]],
    [[2, 3], [1, 3]],
    [[1, 1], [0, 1]],
    [[1, 4], [2, 4]],
    [[1, 2], [0, 2]],
  ];
  assertEquals(signFlip(graphs, random()).p, 4 / 32);
});

Deno.test("signFlip() deals the trials of a graph anew where one model had more of them, as brute force does", () => {
  // Of the 3 trials one was solved, by whom the single one was: in a third of the deals.
  assertAlmostEquals(signFlip([[[1, 1], [0, 2]]], random()).p, 1 / 3, 1e-15);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(tally(3), tally(3)), { minLength: 1, maxLength: 4 }),
      (graphs) => assertAlmostEquals(signFlip(graphs, random()).p, allDeals(graphs), 1e-12),
    ),
    { numRuns: 50 },
  );
});

Deno.test("signFlip() is the same for both orders of two models, in any order of graphs, and with equal ones", () => {
  fc.assert(fc.property(
    fc.array(GRAPH, { maxLength: 20 }),
    (graphs) => {
      const { p } = signFlip(graphs, random());
      const same = (others: readonly Graph[]) =>
        assertAlmostEquals(signFlip(others, random()).p, p, 1e-12);
      same(graphs.map(([one, other]): Graph => [other, one]));
      same(graphs.toReversed());
      same([[[0, 2], [0, 3]], ...graphs, [[3, 3], [1, 1]], [[1, 2], [1, 2]]]);
    },
  ));
});

Deno.test("signFlip() is above 0 and at most 1, also where nothing or everything differs", () => {
  assertEquals(signFlip([], random()), { p: 1 });
  assertEquals(signFlip([[[0, 1], [0, 3]], [[2, 2], [5, 5]]], random()), { p: 1 });
  assertEquals(signFlip([[[1, 2], [0, 2]], [[0, 2], [1, 2]]], random()), { p: 1 });
  const all = new Array<Graph>(2_000).fill([[1, 1], [0, 1]]);
  const { p, sampled } = signFlip(all, random());
  assert(p > 0 && p < 1e-300);
  assertEquals(sampled, undefined);
  assertEquals(signFlip(all, random(), { exactly: 1 }), { p: 1 / 100_000, sampled: 99_999 });
  fc.assert(fc.property(fc.array(GRAPH, { maxLength: 30 }), fc.boolean(), (graphs, draws) => {
    const { p } = signFlip(graphs, random(), draws ? { exactly: 0, samples: 19 } : {});
    assert(p > 0 && p <= 1);
  }));
});

/** Results of as many graphs, on each of which both models have the same rate, or one a better one. */
function results(
  graphs: number,
  prng: () => number,
  trials: readonly (readonly [number, number])[],
  { better = 0, rate = () => prng() ** 2 } = {},
): Graph[] {
  const solved = (count: number, rate: number) =>
    Array.from({ length: count }, () => prng() < rate).filter(Boolean).length;
  return Array.from({ length: graphs }, (_, place) => {
    const [one, other] = trials[place % trials.length]!;
    const own = rate();
    return [[solved(one, Math.min(1, own + better)), one], [solved(other, own), other]];
  });
}

Deno.test("signFlip() draws where there are too many sums, near the exact value", () => {
  const { prng } = fork(7, "differences");
  for (const trials of [[[3, 3]], [[4, 4], [4, 3], [2, 4]], [[5, 1]]] as [number, number][][]) {
    for (const count of [30, 100]) {
      const graphs = results(count, prng, trials, { better: 0.06 });
      const exact = signFlip(graphs, random());
      assertEquals(exact.sampled, undefined);
      const drawn = signFlip(graphs, random(), { exactly: 0 });
      assertEquals(drawn.sampled, 99_999);
      const error = Math.sqrt(exact.p * (1 - exact.p) / 99_999);
      assertAlmostEquals(drawn.p, exact.p, 4 * error + 1e-5);
      assertEquals(
        signFlip(graphs, random(), { exactly: 0 }),
        drawn,
        "the same numbers, the same p",
      );
    }
  }
});

Deno.test("signFlip() draws where differences have no common denominator to add them up by", () => {
  const trials = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149];
  const graphs = trials.map((
    of,
    place,
  ): Graph => [[place % 3 === 0 ? 50 : 58, of], [place % 3 === 0 ? 53 : 53, of]]);
  const { p, sampled } = signFlip(graphs, random());
  assertEquals(sampled, 99_999);
  assertAlmostEquals(p, allSigns(graphs), 0.006);
  const one: Graph[] = trials.map((of): Graph => [[5, of], [0, of]]);
  assertAlmostEquals(
    signFlip(one, random()).p,
    2 / 1024,
    0.0006,
    "all of one sign, which is a tie",
  );
});

Deno.test("signFlip() is wrong in at most 5% of runs without a difference, however often each model ran", () => {
  const { prng } = fork(3, "null");
  const runs = 2_000;
  const most = 0.05 + 3 * Math.sqrt(0.05 * 0.95 / runs);
  // With signs flipped in the last two, a difference would be seen in up to 26% of runs.
  for (const trials of [[[2, 2]], [[2, 4], [4, 2]], [[5, 1]], [[1, 10]]] as [number, number][][]) {
    for (const rate of [() => prng() ** 2, () => 0.9, () => 0.05]) {
      for (const graphs of [10, 25]) {
        let wrong = 0;
        for (let run = 0; run < runs; run++) {
          if (signFlip(results(graphs, prng, trials, { rate }), prng).p <= 0.05) wrong++;
        }
        assertLess(wrong / runs, most, `${trials.join()} ${rate} ${graphs}`);
      }
    }
  }
});

Deno.test("signFlip() finds a difference", () => {
  const { prng } = fork(5, "power");
  for (const options of [{}, { exactly: 0, samples: 999 }]) {
    for (const trials of [[[4, 4]], [[4, 3]]] as [number, number][][]) {
      const graphs = results(60, prng, trials, { better: 0.25, rate: () => prng() / 2 });
      assertLess(signFlip(graphs, prng, options).p, 0.01);
    }
  }
});

Deno.test("signFlip() refuses what is no tally", () => {
  for (const wrong of [[0.5, 1], [2, 1], [0, 0], [-1, 2], [NaN, 1], [1, 1.5]] as Tally[]) {
    assertThrows(
      () => signFlip([[[1, 1], wrong]], random()),
      RangeError,
      "Cannot compare pairs as it needs whole numbers with 0 <= successes <= trials and trials >= 1: " +
        `there are ${wrong[0]} of ${wrong[1]}`,
    );
  }
});
