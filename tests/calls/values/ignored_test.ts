import { assertEquals, assertThrows } from "@std/assert";
import { checkIgnored, expectsNothing } from "../../../lib/calls/values/ignored.ts";
import { InputError } from "../../../lib/base/errors.ts";
import {
  anyOf,
  anything,
  inAnyOrder,
  matching,
  optional,
} from "../../../lib/calls/expected/matchers.ts";
import { parsePath } from "../../../lib/calls/values/paths.ts";

const whole = matching(() => true, "what it likes");

Deno.test("checkIgnored() refuses paths that lead into matchers that know of no parts", () => {
  const table: [expected: unknown, path: string, refused: boolean][] = [
    [{ to: whole }, "to", false],
    [{ to: whole }, "to.id", true],
    [{ to: whole }, "to.id.deep", true],
    [{ to: whole }, "from.id", false],
    [{ to: { id: whole } }, "to.id", false],
    [{ to: { id: whole } }, "to.id[0]", true],
    [{ to: anything() }, "to.id", true],
    [whole, "to", true],
    [{ to: anyOf({ id: 1 }, { id: 2 }) }, "to.id", false],
    [{ to: anyOf({ id: 1 }, whole) }, "to.id", false],
    [{ to: anyOf("ann", whole) }, "to.id", true],
    [{ to: anyOf("ann", "bob") }, "to.id", false],
    [{ to: optional(anyOf(whole)) }, "to.id", true],
    [{ to: optional(anyOf({ id: 1 })) }, "to.id", false],
    [{ items: inAnyOrder({ id: 1 }) }, "items[*].id", false],
    [{ items: inAnyOrder({ id: 1 }) }, "items[*]", false],
    [{ items: inAnyOrder({ id: 1 }) }, "items[0].id", true],
    [{ items: inAnyOrder({ id: 1 }) }, "items[0]", true],
    [{ items: inAnyOrder({ id: 1 }) }, "items.id", true],
    [{ items: inAnyOrder({ in: inAnyOrder({ id: 1 }) }) }, "items[*].in[*].id", false],
    [{ items: inAnyOrder({ in: inAnyOrder({ id: 1 }) }) }, "items[*].in[1].id", true],
    [{ items: inAnyOrder(whole, whole) }, "items[*].id", true],
    // Of one place it can be ignored, be it there or not.
    [{ items: inAnyOrder(whole, {}) }, "items[*].id", false],
    [{ items: inAnyOrder(whole, {}) }, "items[*].in.id", false],
    [{ items: [whole, { name: "pen" }] }, "items[*].id", false],
    [{ items: [whole, { name: "pen" }] }, "items[0].id", true],
    [{ items: [whole, { name: "pen" }] }, "items[1].id", false],
    [new Map([["a", { to: whole }]]), "a.to.id", true],
    [new Map([["a", { to: whole }]]), "[*].to.id", true],
    [new Set([{ to: whole }]), "[*].to.id", true],
    [{ "0": whole }, "[0].id", false],
    [{ "a.b": whole }, '["a.b"].id', true],
    [JSON.parse('{"__proto__":1}'), "constructor.name", false],
    [7, "a.b", false],
    [undefined, "a.b", false],
  ];
  for (const [expected, written, refused] of table) {
    const paths = [parsePath("other"), parsePath(written)].slice(expected === whole ? 1 : 0);
    if (!refused) checkIgnored(expected, paths);
    else {
      const { message } = assertThrows(() => checkIgnored(expected, paths), InputError);
      assertEquals(
        message,
        `Cannot ignore ${written} as a path must not end in a matcher: it leads into one that gets ` +
          "the whole value, or to one item of a list in any order, where only [*] can be used",
      );
    }
  }
});

Deno.test("checkIgnored() comes to an end where a part can be reached in many ways", () => {
  let shared: unknown = { to: whole };
  for (let level = 0; level < 60; level++) shared = { left: shared, right: shared };
  checkIgnored(shared, [parsePath("[*]".repeat(60) + ".to")]);
  assertThrows(() => checkIgnored(shared, [parsePath("[*]".repeat(60) + ".to.id")]), InputError);
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  checkIgnored(circle, [parsePath("self.self.self.id")]);
});

Deno.test("expectsNothing() tells what any object of its kind would meet", () => {
  const table: [expected: unknown, ignore: string[], exact: boolean, partial: boolean][] = [
    [{}, [], false, true],
    [new Map(), [], false, true],
    [new Set(), [], false, true],
    [[], [], false, false],
    [{ a: 1 }, [], false, false],
    [{ a: 1 }, ["a"], false, true],
    [{ a: 1 }, ["a.b", "b"], false, false],
    [{ a: 1, b: 2 }, ["a"], false, false],
    [{ a: 1, b: 2 }, ["a", "b"], false, true],
    [{ a: 1, b: 2 }, ["[*]"], true, true],
    [{ a: 1 }, ["[*].b"], false, false],
    [{ a: { b: 1 } }, ["a.b"], false, false],
    [[1, 2], ["[0]", "[1]"], false, false],
    [[1, 2], ["[*]"], true, true],
    [new Uint8Array(2), ["[*]"], true, true],
    [new Map([["a", 1]]), ["a"], false, true],
    [new Map([[{ a: 1 }, 1]]), ["a"], false, false],
    [new Map([[{ a: 1 }, 1]]), ["[*]"], true, true],
    [new Set([1]), ["[0]"], false, false],
    [new Set([1]), ["[*]"], true, true],
    [[], ["length"], false, false],
    [new Date(0), ["[*]"], false, false],
    [/a/, ["[*]"], false, false],
    [new URL("https://a.example"), ["[*]"], false, false],
    [Promise.resolve(1), ["[*]"], false, false],
    [7, ["[*]"], false, false],
    [null, ["[*]"], false, false],
    [whole, ["[*]"], false, false],
    [anyOf({ a: 1 }, { b: 1 }), ["a"], false, true],
    [anyOf({ a: 1 }, { b: 1 }), ["c"], false, false],
    [optional({}), [], false, true],
    [inAnyOrder(1, 2), [], false, false],
    [inAnyOrder(1, 2), ["[*]"], true, true],
  ];
  for (const [expected, ignore, exact, partial] of table) {
    const paths = ignore.map(parsePath);
    assertEquals(
      [expectsNothing(expected, false, paths), expectsNothing(expected, true, paths)],
      [exact, partial],
      Deno.inspect([expected, ignore]),
    );
  }
});
