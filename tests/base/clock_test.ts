import { assert, assertEquals } from "@std/assert";
import { SYSTEM_CLOCK } from "../../lib/base/clock.ts";

Deno.test("SYSTEM_CLOCK.after() calls each function when it is due, and none that was taken back", async () => {
  const began = performance.now();
  const called: [name: string, milliseconds: number][] = [];
  const call = (name: string) => () => void called.push([name, performance.now() - began]);
  const takeBack = [
    SYSTEM_CLOCK.after(40, call("first")),
    SYSTEM_CLOCK.after(40, call("taken back")),
  ];
  SYSTEM_CLOCK.after(5, () => {
    // The timer of the first one must not go with it.
    takeBack[0]!();
    SYSTEM_CLOCK.after(40, call("last"));
  });
  SYSTEM_CLOCK.after(40, call("third"));
  takeBack[1]!();
  // A second call changes nothing.
  takeBack[1]!();
  await SYSTEM_CLOCK.pause(120);
  assertEquals(called.map(([name]) => name), ["third", "last"]);
  assert(called[0]![1] >= 40 && called[1]![1] >= 45, `called too early: ${called}`);
});

Deno.test("SYSTEM_CLOCK.after() leaves no timer behind", async () => {
  // Deno checks that for each test.
  for (let turn = 0; turn < 3; turn++) {
    SYSTEM_CLOCK.after(60_000, () => {})();
    await new Promise<void>((resolve) => SYSTEM_CLOCK.after(1, resolve));
  }
});

Deno.test("SYSTEM_CLOCK.after() is not late for a function that waits while another one asks again", async () => {
  const called: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  // A line of progress does so.
  SYSTEM_CLOCK.after(40, () => {
    called.push("first");
    SYSTEM_CLOCK.after(40, resolve);
  });
  await SYSTEM_CLOCK.pause(20);
  SYSTEM_CLOCK.after(40, () => called.push("second"));
  SYSTEM_CLOCK.after(50, () => called.push("later than that"));
  await promise;
  assertEquals(called, ["first", "second", "later than that"]);
});
