/**
 * Interruptions: end the benchmarks of a test file cleanly on SIGTERM. On SIGINT the test runner ends at
 * once, before any code here could run.
 * @module
 */

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
    // Windows has no such signal.
    if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", interrupt);
    globalThis.addEventListener("unload", noticeExit);
  }
  endings.add(end);
  return () => {
    endings.delete(end);
    if (endings.size > 0) return;
    stopListening();
    if (isLeaving) Deno.exit(INTERRUPTED);
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

function stopListening(): void {
  if (Deno.build.os !== "windows") Deno.removeSignalListener("SIGTERM", interrupt);
  globalThis.removeEventListener("unload", noticeExit);
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
  globalThis.removeEventListener("unload", noticeExit);
  Deno.exit(INTERRUPTED);
}

/** If tested code exits, the whole file would pass, as these tests allow the process to exit. */
function noticeExit(): void {
  if (runningTests === 0) return;
  console.error("The process was ended while trials were under way, by Deno.exit or process.exit");
  Deno.exit(1);
}
