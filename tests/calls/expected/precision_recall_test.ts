import { assert, assertEquals, assertThrows } from "@std/assert";
import { scoreCalls } from "../../../lib/calls/expected/precision_recall.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { anyOf } from "../../../lib/calls/expected/matchers.ts";
import { made, recordOf, refused, toolWith } from "../../support/calls.ts";
import fc from "../../support/fast_check.ts";

const call = (x: number) => made("f", { x });
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
    const score = scoreCalls(recordOf(...calls.map(call)), expected.map((x) => expect(...x)));
    const counts = { matched, made: calls.length, expected: expected.length };
    assertEquals(score, { precision, recall, f1, ...counts });
  }
});

Deno.test("scores are shares, f1 is the harmonic mean, and no order changes them", () => {
  const numbers = fc.array(fc.nat({ max: 3 }), { maxLength: 6 });
  const expectations = fc.array(fc.array(fc.nat({ max: 3 }), { minLength: 1 }), { maxLength: 6 });
  fc.assert(
    fc.property(numbers, expectations, (calls, expected) => {
      const score = scoreCalls(recordOf(...calls.map(call)), expected.map((x) => expect(...x)));
      const { precision, recall, f1, matched } = score;
      for (const share of [precision, recall, f1]) assert(share >= 0 && share <= 1);
      const mean = precision + recall === 0 ? 0 : 2 * precision * recall / (precision + recall);
      assert(Math.abs(f1 - mean) < 1e-12, `${f1} is not ${mean}`);
      assert(matched <= Math.min(calls.length, expected.length));
      const moved = scoreCalls(
        recordOf(...calls.toReversed().map(call)),
        expected.toReversed().map((x) => expect(...x)),
      );
      assertEquals(moved, score);
    }),
    { numRuns: 300 },
  );
});

Deno.test("scoreCalls() refuses what cannot be expected", () => {
  const record = { calls: [], tools: [toolWith("search")] };
  assertThrows(() => scoreCalls(record, ["serach"]), InputError, "the nearest is search");
  assertThrows(() => scoreCalls(record, "search" as never), InputError, "must be a list");
});

Deno.test("scoreCalls() counts a refused call as made, and for none of the expected ones", () => {
  const no = refused("f", { x: 1 });
  assertEquals(scoreCalls(recordOf(no, call(1)), [expect(1), expect(1)]), {
    ...{ precision: 0.5, recall: 0.5, f1: 0.5 },
    ...{ matched: 1, made: 2, expected: 2 },
  });
  assertEquals(scoreCalls(recordOf(no), [expect(1)]).f1, 0);
  assertEquals(scoreCalls(recordOf(no), []).precision, 0);
});
