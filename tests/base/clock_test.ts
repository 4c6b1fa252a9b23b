import { assertEquals } from "@std/assert";
import { SYSTEM_CLOCK } from "../../lib/base/clock.ts";

/** Timers that ring when the test says, as those of a busy machine ring late. */
class Timers implements Disposable {
  #now = 0;
  #last = 0;
  readonly #waiting = new Map<number, { readonly due: number; readonly ring: () => void }>();
  readonly #real = { setTimeout, clearTimeout };
  readonly #realNow = performance.now;

  constructor() {
    Object.assign(globalThis, {
      setTimeout: (ring: () => void, milliseconds: number) => {
        this.#waiting.set(++this.#last, { due: this.#now + milliseconds, ring });
        return this.#last;
      },
      clearTimeout: (timer: number) => void this.#waiting.delete(timer),
    });
    performance.now = () => this.#now;
  }

  /** How many timers are set. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Lets time pass, and what is due until then ring at its moment. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const [next] = [...this.#waiting].toSorted(([, one], [, other]) => one.due - other.due);
      if (next === undefined || next[1].due > end) break;
      this.#waiting.delete(next[0]);
      this.#now = next[1].due;
      next[1].ring();
    }
    this.#now = end;
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, this.#real);
    performance.now = this.#realNow;
  }
}

Deno.test("SYSTEM_CLOCK.after() calls each function when it is due, and none that was taken back", () => {
  using timers = new Timers();
  const called: [name: string, at: number][] = [];
  const call = (name: string) => () => void called.push([name, performance.now()]);
  const takeBack = [
    SYSTEM_CLOCK.after(40, call("first")),
    SYSTEM_CLOCK.after(40, call("taken back")),
  ];
  SYSTEM_CLOCK.after(5, () => {
    takeBack[0]!();
    SYSTEM_CLOCK.after(40, call("last"));
  });
  SYSTEM_CLOCK.after(40, call("third"));
  takeBack[1]!();
  // A second call changes nothing.
  takeBack[1]!();
  timers.advance(120);
  assertEquals(called, [["third", 40], ["last", 45]]);
  assertEquals(timers.waiting, 0);
});

Deno.test("SYSTEM_CLOCK.after() leaves no timer behind", async () => {
  // Deno checks that for each test.
  for (let turn = 0; turn < 3; turn++) {
    SYSTEM_CLOCK.after(60_000, () => {})();
    await new Promise<void>((resolve) => SYSTEM_CLOCK.after(1, resolve));
  }
});

Deno.test("SYSTEM_CLOCK.pause() waits as long as it is told, and stops where a signal aborts, or has", async () => {
  using timers = new Timers();
  let over = false;
  const pause = SYSTEM_CLOCK.pause(50).then(() => over = true);
  timers.advance(49);
  await Promise.resolve();
  assertEquals(over, false);
  timers.advance(1);
  await pause;
  const stop = new AbortController();
  const stopped = SYSTEM_CLOCK.pause(50, stop.signal).catch((reason) => reason);
  stop.abort("enough");
  assertEquals([await stopped, timers.waiting], ["enough", 0]);
  const late = SYSTEM_CLOCK.pause(50, stop.signal).catch((reason) => reason);
  assertEquals([await late, timers.waiting], ["enough", 0]);
});
