import { assert, assertEquals } from "@std/assert";
import { backoffAfter, retryAfterOf } from "../../lib/base/attempts.ts";
import { SYSTEM_CLOCK } from "../../lib/base/clock.ts";
import fc from "../support/fast_check.ts";

Deno.test("backoffAfter() doubles from the first pause up to eight seconds", () => {
  const longest = (made: number, first: number) => backoffAfter(made, first, 1);
  assertEquals([1, 2, 3, 4, 5, 6, 7].map((made) => longest(made, 500)), [
    ...[500, 1000, 2000, 4000, 8000, 8000, 8000],
  ]);
  assertEquals([1, 2].map((made) => longest(made, 9000)), [8000, 8000]);
  assertEquals(longest(1e9, 1), 8000);
  assertEquals([longest(3, 0), longest(1e9, 0)], [0, 0]);
});

Deno.test("backoffAfter() lies in the upper half of the step, for any draw", () => {
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 2000 }),
    fc.double({ min: 0, max: 1e6, noNaN: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    (made, first, draw) => {
      const whole = backoffAfter(made, first, 1);
      assertEquals(backoffAfter(made, first, 0), whole / 2);
      const pause = backoffAfter(made, first, draw);
      assert(pause >= whole / 2 && pause <= whole && whole <= 8000);
      assert(backoffAfter(made + 1, first, draw) >= pause, "it never becomes shorter");
    },
  ));
});

Deno.test("SYSTEM_CLOCK.pause() does not end at once where a timer would overflow", async () => {
  const controller = new AbortController();
  const paused = SYSTEM_CLOCK.pause(2 ** 40, controller.signal).then(() => "woke", () => "stopped");
  await SYSTEM_CLOCK.pause(15);
  controller.abort();
  assert(Math.abs(SYSTEM_CLOCK.now() - Date.now()) < 86_400_000, "it is the time of day");
  assertEquals(await paused, "stopped");
});

Deno.test("retryAfterOf() reads seconds, dates and milliseconds", () => {
  const now = Date.UTC(2026, 0, 1);
  const table: [Record<string, string>, number | undefined][] = [
    [{}, undefined],
    [{ "retry-after": "2" }, 2000],
    [{ "Retry-After": "0.5" }, 500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "1e400" }, undefined],
    [{ "retry-after": "9", "retry-after-ms": "1e400" }, 9000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "9", "retry-after-ms": "15" }, 15],
    [{ "retry-after": "9", "retry-after-ms": "none" }, 9000],
  ];
  for (const [headers, expected] of table) {
    assertEquals(retryAfterOf(new Headers(headers), now), expected, JSON.stringify(headers));
  }
  assertEquals(retryAfterOf(undefined), undefined);
});
