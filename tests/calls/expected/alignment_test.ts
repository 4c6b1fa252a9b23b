import { assert, assertEquals } from "@std/assert";
import type { JsonValue } from "../../../lib/base/json.ts";
import { alignCalls } from "../../../lib/calls/expected/alignment.ts";
import { absent, anything, matching } from "../../../lib/calls/expected/matchers.ts";
import type { ExpectedCall, ExpectedValue } from "../../../lib/tools/expected_call.ts";
import fc from "../../support/fast_check.ts";

const even = matching((value) => Number(value) % 2 === 0, "an even number");

/** Calls as `name` or `name=value`, the value being the argument `x`. */
const callsOf = (written: string) =>
  written.split(" ").filter((one) => one !== "").map((one) => {
    const [tool, x] = one.split("=");
    return { tool: tool!, arguments: x === undefined ? {} : { x } };
  });

Deno.test("alignCalls() pairs calls with the expected ones by name, in order", () => {
  const table: [calls: string, right: string, (number | null)[]][] = [
    ["", "", []],
    ["", "a b", []],
    ["a b", "", [null, null]],
    ["a b c", "a b c", [0, 1, 2]],
    // Calls too many, and too few.
    ["z a z b z", "a b", [null, 0, null, 1, null]],
    ["a c", "a b c", [0, 2]],
    ["c", "a b c", [2]],
    ["a a a", "a", [0, null, null]],
    ["a", "a a a", [0]],
    // In another order: one of the two, and with nothing else to choose by, the first call.
    ["b a", "a b", [1, null]],
    ["b a=1", "a=1 b", [null, 0]],
    ["b=1 a=2", "a=1 b=1", [1, null]],
    ["c a b", "a b c", [null, 0, 1]],
    // More calls outweigh better arguments.
    ["c=1 a b", "a=2 b=2 c=1", [null, 0, 1]],
    // Of calls of one name, those that are right.
    ["a=1 a=2 a=3", "a=2", [null, 0, null]],
    ["a=3", "a=1 a=2 a=3", [2]],
    ["a=2 a=3", "a=1 a=2 a=3", [1, 2]],
    ["a=1 a=9 a=2", "a=1 a=2", [0, null, 1]],
    ["a=9 a=8", "a=1 a=2", [0, 1]],
    ["a=2 a=1", "a=1 a=2", [0, 1]],
    ["a=2 a=1 a=2", "a=1 a=2", [null, 0, 1]],
    // The earliest, call by call.
    ["x a", "a a", [null, 0]],
    ["a x a", "a a a", [0, null, 1]],
    ["a b a", "a b a b a", [0, 1, 2]],
    ["toString __proto__", "__proto__ toString", [1, null]],
  ];
  for (const [calls, right, expected] of table) {
    assertEquals(alignCalls(callsOf(calls), callsOf(right)), expected, `${calls} | ${right}`);
  }
});

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
  const addresses = [{ to: { city: "Rome" } }, { to: { city: "Oslo", zip: 7 } }];
  assertEquals(at(addresses, { arguments: { to: { city: "Oslo" } } }), 0);
  assertEquals(at(addresses, { arguments: { to: { city: "Oslo" } }, match: "partial" }), 1);
  // What is ignored as a whole still tells which call is meant, where nothing else does.
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
  fc.assert(
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

Deno.test("alignCalls() aligns a thousand calls with a thousand others", () => {
  const many = Array.from({ length: 1_000 }, (_, x) => ({ tool: "f", arguments: { x, y: 0 } }));
  assertEquals(alignCalls(many, many), many.map((_, index) => index));
  const shifted = many.slice(500).concat(many.slice(0, 500));
  assertEquals(alignCalls(shifted, many).filter((other) => other === null).length, 0);
});
