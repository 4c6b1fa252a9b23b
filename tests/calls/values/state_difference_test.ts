// What changed in the state of a case: shown by place, without running code of the user, without secrets.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "../../support/fast_check.ts";
import {
  snapshotOf,
  type StateDifference,
  stateDifference,
} from "../../../lib/calls/values/state_difference.ts";

/** What differs between a state before and after its tools changed it. */
function changed<State>(state: State, change: (state: State) => void): StateDifference {
  const before = snapshotOf(state);
  change(state);
  return stateDifference(before, snapshotOf(state));
}

Deno.test("stateDifference() names what was added, removed and changed, by its place", () => {
  class Shop {
    orders = 1;
    #till = 0;
    sell = () => this.#till++;
  }
  const state = {
    orders: [{ id: "A1", status: "open" }, { id: "A2", status: "open" }, { id: "A3", status: "x" }],
    byName: new Map<string, unknown>([["Ada", { cents: 5 }], ["Bob", 1]]),
    tags: new Set(["new", "used"]),
    "odd name": { at: new Date(0), big: 1n as bigint | number } as Record<string, unknown>,
    shop: new Shop(),
    bytes: new Uint8Array(3),
  };
  assertEquals(changed(state, () => {}).changes, []);
  const { changes, hidden, ...rest } = changed(state, (state) => {
    state.orders.shift();
    state.orders[1]!.status = "refunded";
    state.byName.set("Eve", [1, "2"]).delete("Bob");
    // A member that is added anew is the same.
    state.tags.delete("new");
    state.tags.add("sold").add("new");
    state["odd name"]["at"] = new Date(1000);
    state["odd name"]["big"] = 1;
    state.shop.orders++;
  });
  assertEquals(changes, [
    // Its neighbour moved up, and is the same.
    { path: "orders[0].id", before: '"A1"', after: '"A2"' },
    { path: "orders[1].id", before: '"A2"', after: '"A3"' },
    { path: "orders[1].status", before: '"open"', after: '"refunded"' },
    { path: "orders[2]", before: '{"id":"A3","status":"x"}' },
    { path: "byName.Bob", before: "1" },
    { path: "byName.Eve", after: '[1,"2"]' },
    { path: "tags[1]", after: '"sold"' },
    {
      path: '["odd name"].at',
      before: "1970-01-01T00:00:00.000Z",
      after: "1970-01-01T00:00:01.000Z",
    },
    { path: '["odd name"].big', before: "1n", after: "1" },
    { path: "shop.orders", before: "1", after: "2" },
  ]);
  assertEquals(hidden, [
    "shop: Shop, of which only its own fields are seen",
    "shop.sell: a function",
    "bytes: 3 bytes",
  ]);
  assertEquals(rest, {});
  // One item that is taken out of a list is one change.
  const items = ["a", "b", "c", "d"];
  assertEquals(changed(items, (items) => void items.splice(1, 1)).changes, [
    { path: "[1]", before: '"b"' },
  ]);
});

Deno.test("stateDifference() runs nothing of a state's own, whatever it is", () => {
  let asked = 0;
  const ask = () => {
    asked++;
    throw new Error("asked");
  };
  const traps = Object.fromEntries(
    Object.getOwnPropertyNames(Reflect).map((name) => [name, ask]),
  );
  class Handle {
    #open = true;
    get isOpen() {
      ask();
      return this.#open;
    }
    toJSON = ask;
  }
  Object.defineProperty(Handle, Symbol.hasInstance, { get: ask });
  const circle: Record<string, unknown> = { deep: {} };
  circle["self"] = circle;
  let nested: unknown = 0;
  for (let level = 0; level < 100_000; level++) nested = [nested];
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const list = [1, 2];
  Object.defineProperty(list, 1, { get: ask });
  const states: unknown[] = [
    ...[undefined, null, 0, -0, NaN, 1n, "x".repeat(1_000_000), Symbol("x"), ask],
    ...[new Proxy({}, traps), new Proxy([], traps), new Proxy(ask, traps), revoked.proxy],
    ...[
      {
        get value() {
          return ask();
        },
      },
      list,
      new Handle(),
      Object.create(new Proxy({}, traps)),
    ],
    ...[circle, nested, new Array(1e9), new Uint8Array(1e7), new WeakMap(), Promise.resolve(1)],
    ...[Object.create(null), { ["__proto__"]: 1, constructor: ask }, new Date(NaN), new Error("x")],
    new (class extends Map<unknown, unknown> {
      override entries = ask as never;
    })([[circle, new Proxy({}, traps)]]),
  ];
  for (const state of states) {
    const { changes } = changed({ state }, (whole) => void (whole.state = "gone"));
    assertEquals(changes.map(({ path, after }) => [path, after]), [["state", '"gone"']]);
  }
  assertEquals(asked, 0);
  assertEquals(({} as Record<string, unknown>)["1"], undefined);
  assert(changed(circle, (one) => void (one["deep"] = 1)).changes.length === 1);
  assertEquals(changed(new Proxy({}, traps), () => {}).hidden, ["a Proxy"]);
  assertEquals(changed(new Array(1e9), () => {}).partial, true);
});

Deno.test("stateDifference() holds no secret, and no more than a journal can bear", () => {
  const key = "tok_1234567890abcdefgh";
  const keys = new Set<string>();
  const state: Record<string, unknown> = { user: {}, texts: [] };
  const before = snapshotOf(state);
  Object.assign(state["user"] as object, { api_key: key, seen: `sk-${"a1".repeat(20)}` });
  state["texts"] = Array.from({ length: 300 }, (_, place) => `${place}${"x".repeat(5_000)}`);
  const found = stateDifference(before, snapshotOf(state), keys);
  const text = JSON.stringify(found);
  assert(!text.includes(key), text.slice(0, 300));
  assert(!text.includes("a1a1a1"));
  assertStringIncludes(text, "[redacted]");
  // Events of the trial may hold it, too.
  assert(keys.has(key));
  assertEquals([found.changes.length, found.more], [100, 202]);
  assert(found.changes.every(({ after = "" }) => after.length <= 500));
});

Deno.test("stateDifference() finds a change exactly where two values of JSON differ", () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  fc.assert(
    fc.property(value, value, (one, other) => {
      const found = stateDifference(snapshotOf({ one }), snapshotOf({ one: other }));
      const isEqual = canonical(one) === canonical(other);
      assertEquals(found.changes.length === 0, isEqual);
      assertEquals(stateDifference(snapshotOf(one), snapshotOf(structuredClone(one))).changes, []);
    }),
    { numRuns: 300 },
  );
});

/** JSON with sorted names, by which a lack of a field differs from any value. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, inner) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => one < other ? -1 : 1))
        : Object.is(inner, -0)
        ? 0
        : inner,
  );
}
