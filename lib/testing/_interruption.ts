/**
 * Interruptions: end the benchmarks of a test file cleanly on SIGTERM. On SIGINT the test runner ends at
 * once, before any code here could run.
 * @module
 */

import process from "node:process";
import { runner } from "./_runners.ts";

/** The functions to call before the process ends, one per unfinished benchmark. */
const endings = new Set<() => Promise<void>>();
/** The number of this library's tests that are running. */
let runningTests = 0;
/** Whether all benchmarks have ended after an interruption. */
let isLeaving = false;

/** The exit code of an interrupted run, which means undecided. */
const INTERRUPTED = 3;

/**
 * Calls `end` once when the process is interrupted, and then exits with code 3. A second signal ends it at
 * once.
 *
 * @return A function to call when the benchmark is over.
 */
export function onInterruption(end: () => Promise<void>): () => void {
  if (endings.size === 0) {
    process.on("SIGTERM", interrupt);
    ignoreExits = runner().onExit(noticeExit);
  }
  endings.add(end);
  return () => {
    endings.delete(end);
    if (endings.size > 0) return;
    stopListening();
    if (isLeaving) process.exit(INTERRUPTED);
  };
}

/**
 * Awaits the work of a test. It never settles once `signal` aborts, so that no test fails because of an
 * interruption before the process has ended.
 */
export async function untilInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  runningTests++;
  if (isLeaving) leave();
  try {
    return await work;
  } catch (error) {
    return signal.aborted ? await new Promise<never>(() => {}) : Promise.reject(error);
  } finally {
    runningTests--;
  }
}

/** Takes back that exits are noticed. */
let ignoreExits = () => {};

function stopListening(): void {
  process.off("SIGTERM", interrupt);
  ignoreExits();
}

async function interrupt(): Promise<void> {
  stopListening();
  const results = await Promise.allSettled([...endings].map((end) => end()));
  for (const one of results) if (one.status === "rejected") console.error(one.reason);
  isLeaving = true;
  // A running test of the user must not be cut off; the next one of this library exits.
  if (runningTests > 0) leave();
}

function leave(): void {
  ignoreExits();
  process.exit(INTERRUPTED);
}

/** If tested code exits, the whole file would pass, as these tests allow the process to exit. */
function noticeExit(): void {
  if (runningTests === 0) return;
  console.error("The process was ended while trials were under way, by Deno.exit or process.exit");
  process.exit(1);
}
