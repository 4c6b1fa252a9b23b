import { assert, assertEquals, assertRejects } from "@std/assert";
import { inTime } from "../../lib/base/deadline.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const outOfTime = () => new RangeError("too late");

Deno.test("inTime() gives what comes of the work, and leaves no timer behind", async () => {
  using clock = new VirtualClock();
  assertEquals(
    await inTime(() => clock.pause(10).then(() => 42), { timeout: 1000, outOfTime, clock }),
    42,
  );
  assertEquals([clock.now(), clock.waiting], [10, 0]);
  assertEquals(await inTime(() => Promise.resolve(1), { timeout: 1e9, outOfTime }), 1);
});

Deno.test("inTime() throws what the work throws", async () => {
  const bug = new TypeError("a bug");
  for (
    const work of [() => Promise.reject(bug), () => {
      throw bug;
    }]
  ) {
    assert(await assertRejects(() => inTime(work, { timeout: 1000, outOfTime })) === bug);
  }
});

Deno.test("inTime() ends when the time is over, and tells the work why", async () => {
  using clock = new VirtualClock();
  const told: unknown[] = [];
  const work = (signal: AbortSignal) =>
    new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => {
        told.push(signal.reason);
        reject(new TypeError("aborted"));
      })
    );
  const error = await assertRejects(
    () => inTime(work, { timeout: 500, outOfTime, clock }),
    RangeError,
    "too late",
  );
  assertEquals([clock.now(), told], [500, [error]]);
});

Deno.test("inTime() leaves behind what does not listen, its late error included", async () => {
  using clock = new VirtualClock();
  const late = async () => {
    await clock.pause(900);
    throw new TypeError("much too late");
  };
  await assertRejects(() => inTime(late, { timeout: 500, outOfTime, clock }), RangeError);
  await clock.pause(1000);
  assertEquals(clock.now(), 1500);
});

Deno.test("inTime() waits for ever unless told otherwise", async () => {
  using clock = new VirtualClock();
  await inTime(() => clock.pause(1e12), { outOfTime, clock });
  assertEquals([clock.now(), clock.pauses], [1e12, [1e12]]);
});

Deno.test("inTime() ends with the signal's reason, before and while the work is done", async () => {
  using clock = new VirtualClock();
  let begun = 0;
  const work = () => {
    begun++;
    return clock.pause(1000);
  };
  const reason = new TypeError("stop");
  const aborted = { timeout: 500, outOfTime, clock, signal: AbortSignal.abort(reason) };
  assert(await assertRejects(() => inTime(work, aborted)) === reason);
  assertEquals(begun, 0);
  const controller = new AbortController();
  const working = inTime(work, { timeout: 500, outOfTime, clock, signal: controller.signal });
  controller.abort(reason);
  assert(await assertRejects(() => working) === reason);
  assertEquals([begun, clock.now()], [1, 0]);
});

Deno.test("inTime() listens to a signal no longer than it works", async () => {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (
      ...given: Parameters<typeof add>
    ) => (listeners.add(given[1]), add(...given)),
    removeEventListener: (...given: Parameters<typeof remove>) => (
      listeners.delete(given[1]), remove(...given)
    ),
  });
  let during = 0;
  const work = () => {
    during = listeners.size;
    return Promise.resolve();
  };
  await inTime(work, { outOfTime, signal });
  assertEquals([during, listeners.size], [1, 0]);
});

Deno.test("inTime() handles a signal that aborts in the very moment in which the work throws", async () => {
  const controller = new AbortController();
  const work = () => {
    controller.abort(new TypeError("stop"));
    throw new RangeError("mine");
  };
  await assertRejects(() => inTime(work, { outOfTime, signal: controller.signal }), RangeError);
  // A rejection that nobody handles would end the test run here.
  await new Promise((resolve) => setTimeout(resolve, 0));
});
