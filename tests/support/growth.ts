/**
 * Growth: whether work grows with the size of what it is done on, or with its square.
 */

import process from "node:process";
import { assert } from "@std/assert";

/** The larger input is this many times as long. */
export const FACTOR = 16;
/** Linear work takes 16 times as long, and quadratic work 256 times. */
const MOST = 90;
/** Work on inputs that are nearly the same may take this many times as long, and no longer. */
const MOST_ALIKE = 20;
/** The same of work that is waited for, of which only the time that this thread worked is measured. */
const MOST_WAITED = 40;
/** Less than this, in milliseconds, is too little to tell: memory that is still at hand makes it faster. */
const LEAST = 2;
/** How exactly the system counts the time of a thread, in milliseconds. */
const TICK = 10;
/** What takes longer, in milliseconds, is measured well enough by one attempt. */
const LONG = 20;
/**
 * Others may use the same machine: only work that is slow each time, for this many milliseconds and at
 * least three times, is slow.
 */
const PATIENCE = 10_000;

/**
 * Fails where reading `repeated` again and again takes time that grows with the square of the length.
 */
export function assertLinear(
  read: (text: string) => unknown,
  before: string,
  repeated: string,
  length = 8_000,
): void {
  const text = (size: number) => before + repeated.repeat(Math.ceil(size / repeated.length));
  const [short, long] = [text(length), text(FACTOR * length)];
  const shown = JSON.stringify(before + repeated);
  assertLinearWork(() => read(short), () => read(long), `${FACTOR} times ${shown}`);
}

/** Fails where `more`, the work on an input {@linkcode FACTOR} times as large, grows with its square. */
export function assertLinearWork(work: () => unknown, more: () => unknown, what: string): void {
  assertGrowth(work, more, what, MOST);
}

/** Fails where `more` takes many times as long as `work`. */
export function assertAlike(work: () => unknown, more: () => unknown, what: string): void {
  assertGrowth(work, more, what, MOST_ALIKE);
}

function assertGrowth(work: () => unknown, more: () => unknown, what: string, most: number): void {
  work();
  let [shorter, longer] = [Infinity, Infinity];
  let growth = Infinity;
  const start = performance.now();
  for (let attempt = 0; growth > most; attempt++) {
    if (attempt >= 3 && performance.now() - start > PATIENCE) break;
    for (let time = 0; time < 3 && (time === 0 || shorter < LONG); time++) {
      shorter = Math.min(shorter, timeOf(work));
    }
    longer = Math.min(longer, timeOf(more));
    growth = longer / Math.max(shorter, LEAST);
  }
  assert(growth <= most, `${what} takes ${Math.round(growth)} times as long`);
}

/** Fails where `more`, which is waited for, makes this thread work for longer than linear work does. */
export async function assertLinearWait(
  work: () => Promise<unknown>,
  more: () => Promise<unknown>,
  what: string,
): Promise<void> {
  const timed = async (awaited: () => Promise<unknown>) => {
    const before = process.threadCpuUsage();
    await awaited();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000 + TICK;
  };
  await work();
  const shorter = await timed(work);
  const growth = await timed(more) / shorter;
  assert(growth <= MOST_WAITED, `${what} takes ${Math.round(growth)} times as long`);
}

/** Milliseconds that this thread worked, as far as they are known: others may use the same machine. */
function timeOf(work: () => unknown): number {
  const [before, started] = [process.threadCpuUsage(), performance.now()];
  work();
  const passed = performance.now() - started;
  const { user, system } = process.threadCpuUsage(before);
  return Math.min(passed, (user + system) / 1_000 + TICK);
}
