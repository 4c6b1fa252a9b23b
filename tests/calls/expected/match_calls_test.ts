import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  compareTrajectory,
  matchCalls,
  nearestCall,
  TRAJECTORY_MODES,
  type TrajectoryMode,
} from "../../../lib/calls/expected/match_calls.ts";
import type { RecordedCall } from "../../../lib/calls/record.ts";
import type { CallExpectation, ExpectedCall } from "../../../lib/tools/expected_call.ts";
import { differencesOf } from "../../../lib/calls/expected/checked_call.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { anyOf, matching } from "../../../lib/calls/expected/matchers.ts";
import { made, recordOf, refused, toolWith } from "../../support/calls.ts";
import fc from "../../support/fast_check.ts";

/** Calls as `tool` or `tool=x`, with spaces between them. */
function callsIn(written: string): RecordedCall[] {
  return written.split(" ").filter((one) => one !== "").map((one) => {
    const [tool, x] = one.split("=");
    return made(tool!, x === undefined ? {} : { x });
  });
}

/** Expected calls as `tool`, with any arguments, or `tool=x`, or `tool=x|y` for either. */
function expectedIn(written: string): CallExpectation[] {
  return written.split(" ").filter((one) => one !== "").map((one) => {
    const [tool, x] = one.split("=");
    return x === undefined
      ? tool!
      : { tool: tool!, arguments: { x: x.includes("|") ? anyOf(...x.split("|")) : x } };
  });
}

Deno.test("matchCalls() finds as many expected calls as possible, whatever their order", () => {
  const table: [
    made: string,
    expected: string,
    missing: number[],
    unexpected: number[],
  ][] = [
    ["", "", [], []],
    ["a", "", [], [0]],
    ["", "a", [0], []],
    ["a b", "b a", [], []],
    // Whoever takes the first that fits gives the call that only the other one can have away.
    ["a=1 a=2", "a a=1", [], []],
    ["a=1 a=2 a=3", "a=1|2 a=1 a=2|3", [], []],
    ["a a", "a", [], [1]],
    ["a", "a a", [1], []],
    ["a=1 b=1", "a=2 b=1", [0], [0]],
    ["__proto__ constructor", "constructor __proto__", [], []],
  ];
  for (const [calls, expected, missing, unexpected] of table) {
    const matching = matchCalls(recordOf(...callsIn(calls)), expectedIn(expected));
    assertEquals([matching.missing, matching.unexpected], [missing, unexpected], calls);
  }
  const { partners } = matchCalls(recordOf(...callsIn("a=1 a=2 a=3")), expectedIn("a a=2 a=1"));
  assertEquals(partners, [2, 1, 0]);
});

Deno.test("compareTrajectory() holds as its mode says", () => {
  const table: [made: string, expected: string, modes: TrajectoryMode[]][] = [
    ["", "", ["exact", "unordered", "subset", "superset"]],
    ["a b", "a b", ["exact", "unordered", "subset", "superset"]],
    ["b a", "a b", ["unordered", "subset", "superset"]],
    ["a=2 a=1", "a a=1", ["exact", "unordered", "subset", "superset"]],
    ["a=1 a=2", "a a=1", ["unordered", "subset", "superset"]],
    ["a", "a b", ["subset"]],
    ["a b c", "a b", ["superset"]],
    ["a b a", "a b", ["superset"]],
    ["a b", "a b a", ["subset"]],
    ["a c", "a b", []],
    ["", "a", ["subset"]],
    ["a", "", ["superset"]],
  ];
  for (const [calls, expected, modes] of table) {
    const record = recordOf(...callsIn(calls));
    const holding = TRAJECTORY_MODES.filter((mode) =>
      compareTrajectory(record, expectedIn(expected), mode).holds
    );
    assertEquals(holding, modes, `${calls} | ${expected}`);
  }
});

Deno.test("compareTrajectory() tells as little as possible of what is out of order", () => {
  const compared = (calls: string, expected: string) => {
    const { partners, missing, unexpected } = compareTrajectory(
      recordOf(...callsIn(calls)),
      expectedIn(expected),
      "exact",
    );
    return { partners, missing, unexpected };
  };
  assertEquals(compared("x a b c", "a b c"), { partners: [1, 2, 3], missing: [], unexpected: [0] });
  assertEquals(compared("a c", "a b c"), { partners: [0, null, 1], missing: [1], unexpected: [] });
  assertEquals(compared("a a a", "a a"), { partners: [0, 1], missing: [], unexpected: [2] });
  assertEquals(compared("a", "a a").missing.length, 1);
  assertEquals(compared("c a b", "a b c"), {
    partners: [1, 2, null],
    missing: [2],
    unexpected: [0],
  });
});

Deno.test("calls and expectations that cannot be used are refused", () => {
  const record = { calls: [], tools: [toolWith("search")] };
  const mode = "loose" as TrajectoryMode;
  assertThrows(
    () => compareTrajectory(record, [], mode),
    InputError,
    "the mode must be one of exact, unordered, subset, superset: it is loose",
  );
  const message = "there is no tool of this name, and the nearest is search";
  assertThrows(() => compareTrajectory(record, ["serach"], "subset"), InputError, message);
  assertThrows(() => matchCalls(record, ["search", "serach"]), InputError, message);
  assertThrows(() => nearestCall("serach", record), InputError, message);
  for (const expected of ["search", null, { tool: "search" }]) {
    assertThrows(
      () => matchCalls(record, expected as unknown as string[]),
      InputError,
      "Cannot expect calls as they must be a list: it is ",
    );
  }
});

const tool = fc.constantFrom("a", "b");
const value = fc.constantFrom("1", "2", "3");
const call = fc.tuple(tool, value).map(([tool, x]) => made(tool, { x }));
const expectation: fc.Arbitrary<ExpectedCall> = fc.oneof(
  tool.map((tool) => ({ tool })),
  fc.tuple(tool, fc.uniqueArray(value, { minLength: 1 })).map(([tool, values]) => ({
    tool,
    arguments: { x: anyOf(...values) },
  })),
);
const calls = fc.array(call, { maxLength: 5 });
const expectations = fc.array(expectation, { maxLength: 5 });

function* permutations<T>(all: readonly T[]): Generator<T[]> {
  if (all.length === 0) yield [];
  for (const [place, one] of all.entries()) {
    for (const rest of permutations(all.toSpliced(place, 1))) yield [one, ...rest];
  }
}

/** Whether a list in one order is the beginning of the other list, call by call. */
function isBeginning(all: readonly RecordedCall[], expected: readonly ExpectedCall[]): boolean {
  return all.length <= expected.length &&
    all.every((one, place) => differencesOf(one, expected[place]!, undefined).length === 0);
}

/** The verdict of each mode, by trying every order. */
function slowVerdicts(
  all: readonly RecordedCall[],
  expected: readonly ExpectedCall[],
): Record<TrajectoryMode, boolean> {
  const orders = [...permutations(expected)];
  const subset = orders.some((order) => isBeginning(all, order));
  const covers = (order: readonly RecordedCall[]) =>
    order.length >= expected.length && isBeginning(order.slice(0, expected.length), expected);
  return {
    exact: all.length === expected.length && isBeginning(all, expected),
    unordered: all.length === expected.length && subset,
    subset,
    superset: [...permutations(all)].some(covers),
  };
}

Deno.test("compareTrajectory() finds what trying every order finds", () => {
  const holding = { exact: 0, unordered: 0, subset: 0, superset: 0 };
  fc.assert(
    fc.property(calls, expectations, (calls, expected) => {
      const slow = slowVerdicts(calls, expected);
      for (const mode of TRAJECTORY_MODES) {
        const { holds } = compareTrajectory(recordOf(...calls), expected, mode);
        assertEquals(holds, slow[mode], mode);
        if (holds && calls.length > 0 && expected.length > 0) holding[mode]++;
      }
    }),
    { numRuns: 400 },
  );
  for (const mode of TRAJECTORY_MODES) assert(holding[mode] > 5, `${mode}: ${holding[mode]}`);
});

Deno.test("the order of expectations never changes a verdict, nor that of calls, but where it is exact", () => {
  const shuffled = <T>(all: fc.Arbitrary<T[]>) =>
    all.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))
    );
  fc.assert(
    fc.property(shuffled(calls), shuffled(expectations), ([calls, moved], [expected, other]) => {
      for (const mode of ["unordered", "subset", "superset"] as const) {
        const { holds } = compareTrajectory(recordOf(...calls), expected, mode);
        assertEquals(compareTrajectory(recordOf(...moved), other, mode).holds, holds, mode);
      }
      const missing = matchCalls(recordOf(...calls), expected).missing.length;
      assertEquals(matchCalls(recordOf(...moved), other).missing.length, missing);
    }),
    { numRuns: 300 },
  );
});

Deno.test("what is told of exact trajectories is one of the longest common subsequences", () => {
  fc.assert(
    fc.property(calls, expectations, (calls, expected) => {
      const { partners } = compareTrajectory(recordOf(...calls), expected, "exact");
      const pairs = partners.flatMap((place, index) => place === null ? [] : [[index, place]]);
      const fits = (index: number, place: number) =>
        differencesOf(calls[place]!, expected[index]!, undefined).length === 0;
      assert(pairs.every(([index, place]) => fits(index!, place!)));
      assert(pairs.every(([, place], at) => at === 0 || place! > pairs[at - 1]![1]!));
      const longest = (index: number, place: number): number => {
        if (index === expected.length || place === calls.length) return 0;
        const skipped = Math.max(longest(index + 1, place), longest(index, place + 1));
        return fits(index, place) ? Math.max(skipped, 1 + longest(index + 1, place + 1)) : skipped;
      };
      assertEquals(pairs.length, longest(0, 0));
    }),
    { numRuns: 300 },
  );
});

Deno.test("nearestCall() takes the tool first, then the name, then the fewest differences", () => {
  const expected = { tool: "search", arguments: { x: 1, y: 2, z: 3 } };
  const nearest = (...calls: RecordedCall[]) => nearestCall(expected, recordOf(...calls));
  const none = made("search");
  assertEquals(nearest(), undefined);
  assertEquals(nearest(made("serach", expected.arguments), none)?.call.call, 2);
  assertEquals(nearest(made("delete"), made("serach"), made("sear"))?.call.call, 2);
  assertEquals(
    nearest(none, made("search", { x: 1, y: 0 }), made("search", { x: 0 }))?.call.call,
    2,
  );
  assertEquals(nearest(made("search", { x: 1 }), made("search", { y: 2 }))?.call.call, 1);
  assertEquals(nearest(none, made("search", expected.arguments))?.differences, []);
  assertEquals(nearest(made("x".repeat(100_000)))?.differences[0]?.path, "tool");
  const judge = matching(() => {
    throw new Error("not asked yet");
  }, "kind");
  const judged = nearestCall({ tool: "f", arguments: { x: judge } }, recordOf(made("f", { x: 1 })));
  assertEquals(judged?.differences[0]?.error, "not asked yet");
});

Deno.test("hundreds of calls are matched with hundreds of expectations", () => {
  const many = Array.from({ length: 300 }, (_, x) => made("f", { x }));
  const expected = many.map(({ arguments: given }) => ({
    tool: "f",
    arguments: given as { x: number },
  }));
  const record = recordOf(...many);
  assert(compareTrajectory(record, expected, "exact").holds);
  assert(compareTrajectory(record, expected.toReversed(), "unordered").holds);
  assertEquals(compareTrajectory(record, expected.toReversed(), "exact").missing.length, 299);
});

Deno.test("refused calls are none of the expected ones, and to spare in every mode but superset", () => {
  const record = recordOf(refused("a"), made("a"), refused("b"));
  assertEquals(matchCalls(record, ["b", "a", "a"]), {
    partners: [null, 1, null],
    missing: [0, 2],
    unexpected: [0, 2],
  });
  const table: [expected: string[], calls: typeof record, modes: TrajectoryMode[]][] = [
    [["a"], record, ["superset"]],
    [["a", "a", "b"], record, []],
    [["a", "b"], record, []],
    [["a"], recordOf(refused("a")), []],
    [[], recordOf(refused("a")), ["superset"]],
  ];
  for (const [expected, calls, modes] of table) {
    const holding = TRAJECTORY_MODES.filter((mode) =>
      compareTrajectory(calls, expected, mode).holds
    );
    assertEquals(holding, modes, expected.join());
  }
  assertEquals(nearestCall("b", record), { call: record.calls[2]!, differences: [] });
});
