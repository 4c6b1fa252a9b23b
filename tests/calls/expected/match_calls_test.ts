import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { alignCalls } from "../../../lib/calls/expected/alignment.ts";
import { differencesOf } from "../../../lib/calls/expected/checked_call.ts";
import {
  compareTrajectory,
  matchCalls,
  nearestCall,
  scoreCalls,
  TRAJECTORY_MODES,
  type TrajectoryMode,
} from "../../../lib/calls/expected/match_calls.ts";
import { absent, anyOf, anything, matching } from "../../../lib/calls/expected/matchers.ts";
import type { RecordedCall } from "../../../lib/calls/record.ts";
import type {
  CallExpectation,
  ExpectedCall,
  ExpectedValue,
} from "../../../lib/tools/expected_call.ts";
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
    // Anyone who takes the first that fits gives the call that only the other one can have away.
    ["a=1 a=2", "a a=1", [], []],
    ["a=1 a=2 a=3", "a=1|2 a=1 a=2|3", [], []],
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
  fc.assertAll(
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
  const many = Array.from({ length: 150 }, (_, x) => made("f", { x }));
  const expected = many.map(({ arguments: given }) => ({
    tool: "f",
    arguments: given as { x: number },
  }));
  const record = recordOf(...many);
  assert(compareTrajectory(record, expected, "exact").holds);
  assert(compareTrajectory(record, expected.toReversed(), "unordered").holds);
  assertEquals(compareTrajectory(record, expected.toReversed(), "exact").missing.length, 149);
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

const even = matching((value) => Number(value) % 2 === 0, "an even number");

Deno.test("alignCalls() counts arguments that are right, by matchers too, and none of what is no object", () => {
  const at = (calls: JsonValue[], right: Readonly<Record<string, ExpectedValue>>) =>
    alignCalls(calls.map((given) => ({ tool: "f", arguments: given })), [
      { tool: "f", arguments: right },
    ]).indexOf(0);
  assertEquals(at([{ x: 1 }, { x: 1, y: 2 }, { x: 1, y: 2, z: 3 }], { x: 1, y: 2 }), 1);
  assertEquals(at([{ x: 1 }, { x: 4 }], { x: even }), 1);
  assertEquals(at([{ y: [1, 2] }, { x: 0, y: [1] }], { x: 1, y: [1] }), 1);
  assertEquals(at([{}, { toString: 1 }], { toString: anything() }), 1);
  assertEquals(at([[1], "x", null, { x: 1 }], { x: 1 }), 3);
  assertEquals(at([{ x: 2 }, {}], { x: absent() }), 1);
  const unread = [{ tool: "f", arguments: undefined }];
  assertEquals(alignCalls(unread, [{ tool: "f", arguments: { x: 1 } }]), [0]);
});

Deno.test("alignCalls() counts arguments that are right but for what is left open", () => {
  const at = (given: JsonValue[], right: Omit<ExpectedCall, "tool">) =>
    alignCalls(given.map((one) => ({ tool: "f", arguments: one })), [{ tool: "f", ...right }])
      .indexOf(0);
  const items = [{ id: 1, name: "pen" }];
  const calls = [{ items: [{ id: 1, name: "ink" }] }, { items: [{ id: 2, name: "pen" }] }];
  assertEquals(at(calls, { arguments: { items } }), 0);
  assertEquals(at(calls, { arguments: { items }, ignore: ["items[*].id"] }), 1);
  const addresses: JsonObject[] = [{ to: { city: "Rome" } }, { to: { city: "Oslo", zip: 7 } }];
  assertEquals(at(addresses, { arguments: { to: { city: "Oslo" } } }), 0);
  assertEquals(at(addresses, { arguments: { to: { city: "Oslo" } }, match: "partial" }), 1);
  // An argument that is ignored as a whole still shows which call is meant, where nothing else does.
  assertEquals(at([{ x: 1 }, { x: 2 }], { arguments: { x: 2 }, ignore: ["x"] }), 1);
  assertEquals(at([{ x: 1 }, { x: 2 }], {}), 0);
});

/** Every way to pair calls in order, slowly. */
function* everyAlignment(
  calls: Parameters<typeof alignCalls>[0],
  expected: readonly ExpectedCall[],
  from = 0,
): Generator<(number | null)[]> {
  const [first, ...others] = calls;
  if (first === undefined) return yield [];
  for (const rest of everyAlignment(others, expected, from)) yield [null, ...rest];
  for (let other = from; other < expected.length; other++) {
    if (expected[other]!.tool !== first.tool) continue;
    for (const rest of everyAlignment(others, expected, other + 1)) yield [other, ...rest];
  }
}

Deno.test("alignCalls() finds what trying all alignments finds", () => {
  const keys = ["x", "y"];
  const call = fc.record({
    tool: fc.constantFrom("a", "b"),
    arguments: fc.dictionary(fc.constantFrom(...keys), fc.constantFrom("1", "2")),
  });
  const few = fc.array(call, { maxLength: 6 });
  let ties = 0;
  fc.assertAll(
    fc.property(few, few, (calls, expected) => {
      const scored = [...everyAlignment(calls, expected)].map((pairs) => {
        const paired = pairs.flatMap((other, place) =>
          other === null ? [] : [{ given: calls[place]!, truth: expected[other]! }]
        );
        const right = paired.map(({ given, truth }) =>
          keys.filter((key) =>
            key in truth.arguments && given.arguments[key] === truth.arguments[key]
          )
            .length
        );
        const rank = [
          -paired.length,
          -right.reduce((sum, count) => sum + count, 0),
          ...pairs.map((other) => other ?? Infinity),
        ];
        return { pairs, rank };
      });
      scored.sort(({ rank: one }, { rank: other }) => {
        const place = one.findIndex((value, index) => value !== other[index]);
        return place < 0 ? 0 : one[place]! - other[place]!;
      });
      const [best, second] = scored;
      if (
        second !== undefined && best!.rank.slice(0, 2).join() === second.rank.slice(0, 2).join()
      ) {
        ties++;
      }
      assertEquals(alignCalls(calls, expected), best!.pairs);
    }),
    { numRuns: 500 },
  );
  assert(ties > 100, `${ties} ties`);
});

Deno.test("alignCalls() aligns hundreds of calls with hundreds of others", () => {
  const many = Array.from({ length: 500 }, (_, x) => ({ tool: "f", arguments: { x, y: 0 } }));
  assertEquals(alignCalls(many, many), many.map((_, index) => index));
  const shifted = many.slice(250).concat(many.slice(0, 250));
  assertEquals(alignCalls(shifted, many).filter((other) => other === null).length, 0);
});

const callOf = (x: number) => made("f", { x });
const expect = (...x: number[]) => ({ tool: "f", arguments: { x: anyOf(...x) } });

Deno.test("scoreCalls() counts each call for one expected call at most", () => {
  const table: [
    made: number[],
    expected: number[][],
    matched: number,
    shares: [precision: number, recall: number, f1: number],
  ][] = [
    [[], [], 0, [1, 1, 1]],
    [[1], [], 0, [0, 0, 0]],
    [[], [[1]], 0, [0, 0, 0]],
    [[1], [[1]], 1, [1, 1, 1]],
    [[1], [[2]], 0, [0, 0, 0]],
    [[1, 1, 1], [[1]], 1, [1 / 3, 1, 1 / 2]],
    [[1], [[1], [1]], 1, [1, 1 / 2, 2 / 3]],
    [[1, 2], [[1, 2], [1]], 2, [1, 1, 1]],
    [[3, 1, 2, 9], [[2], [3], [8]], 2, [1 / 2, 2 / 3, 4 / 7]],
  ];
  for (const [calls, expected, matched, [precision, recall, f1]] of table) {
    const score = scoreCalls(recordOf(...calls.map(callOf)), expected.map((x) => expect(...x)));
    const counts = { matched, made: calls.length, expected: expected.length };
    assertEquals(score, { precision, recall, f1, ...counts });
  }
});

Deno.test("scores are shares, f1 is the harmonic mean, and no order changes them", () => {
  const numbers = fc.array(fc.nat({ max: 3 }), { maxLength: 6 });
  const expectations = fc.array(fc.array(fc.nat({ max: 3 }), { minLength: 1 }), { maxLength: 6 });
  fc.assert(
    fc.property(numbers, expectations, (calls, expected) => {
      const score = scoreCalls(recordOf(...calls.map(callOf)), expected.map((x) => expect(...x)));
      const { precision, recall, f1, matched } = score;
      for (const share of [precision, recall, f1]) assert(share >= 0 && share <= 1);
      const mean = precision + recall === 0 ? 0 : 2 * precision * recall / (precision + recall);
      assert(Math.abs(f1 - mean) < 1e-12, `${f1} is not ${mean}`);
      assert(matched <= Math.min(calls.length, expected.length));
      const moved = scoreCalls(
        recordOf(...calls.toReversed().map(callOf)),
        expected.toReversed().map((x) => expect(...x)),
      );
      assertEquals(moved, score);
    }),
    { numRuns: 300 },
  );
});

Deno.test("scoreCalls() counts a refused call as made, and for none of the expected ones", () => {
  const no = refused("f", { x: 1 });
  assertEquals(scoreCalls(recordOf(no, callOf(1)), [expect(1), expect(1)]), {
    ...{ precision: 0.5, recall: 0.5, f1: 0.5 },
    ...{ matched: 1, made: 2, expected: 2 },
  });
  assertEquals(scoreCalls(recordOf(no), [expect(1)]).f1, 0);
  assertEquals(scoreCalls(recordOf(no), []).precision, 0);
});
