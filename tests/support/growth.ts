/**
 * Growth: whether work grows with the size of what it is done on, or with its square.
 */

import { assert } from "@std/assert";

/** The larger text is so many times as long. */
const FACTOR = 16;
/** Linear work takes 16 times as long, and quadratic work 256 times. */
const MOST = 90;
/** Less than this, in milliseconds, is too little to tell: memory that is still at hand makes it faster. */
const LEAST = 2;

/**
 * Fails where reading `repeated` again and again takes time that grows with the square of the length. Times
 * are the best of several, as others may use the same machine.
 */
export function assertLinear(
  read: (text: string) => unknown,
  before: string,
  repeated: string,
  length = 20_000,
): void {
  const text = (size: number) => before + repeated.repeat(Math.ceil(size / repeated.length));
  const [short, long] = [text(length), text(FACTOR * length)];
  read(short);
  let growth = Infinity;
  for (let attempt = 0; attempt < 4 && growth > MOST; attempt++) {
    const base = Math.min(...[1, 2, 3].map(() => timeOf(() => read(short))));
    growth = Math.min(growth, timeOf(() => read(long)) / Math.max(base, LEAST));
  }
  const shown = JSON.stringify(before + repeated);
  assert(growth <= MOST, `${FACTOR} times ${shown} takes ${Math.round(growth)} times as long`);
}

/** Fails where `more` takes many times as long as `work`. */
export function assertAlike(work: () => unknown, more: () => unknown, what: string): void {
  work();
  let growth = Infinity;
  for (let attempt = 0; attempt < 4 && growth > MOST_ALIKE; attempt++) {
    const base = Math.min(...[1, 2, 3].map(() => timeOf(work)));
    growth = Math.min(growth, timeOf(more) / Math.max(base, LEAST));
  }
  assert(growth <= MOST_ALIKE, `${what} takes ${Math.round(growth)} times as long`);
}

/** What takes as long is not measured to take much longer than this. */
const MOST_ALIKE = 20;

function timeOf(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}
