/**
 * Interruptions: how the benchmarks of a file of tests end when the process is told to (SIGTERM). On SIGINT
 * the runner of tests ends at once, before anything here could run.
 * @module
 */

/** What is to be done before the process ends, by each benchmark that is not over. */
const endings = new Set<() => Promise<void>>();
/** Tests of ours that are being run. */
let testsUnderWay = 0;
/** Whether the process was told to end, and all is done for that. */
let isLeaving = false;

/** What a run that was interrupted ends with: undecided, in the words of exit codes. */
const INTERRUPTED = 3;

/**
 * Calls `end` once when the process is told to end, and then ends it with exit code 3. A second signal ends
 * it at once, as ever.
 *
 * @return To be called when the benchmark is over.
 */
export function onInterruption(end: () => Promise<void>): () => void {
  if (endings.size === 0) {
    // Windows knows no such signal.
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
 * What a test of ours awaits; it goes on for ever once `signal` aborts, so that no test fails for an
 * interruption before the process has ended.
 */
export async function underWay<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  testsUnderWay++;
  if (isLeaving) leave();
  try {
    return await work;
  } catch (error) {
    return signal.aborted ? await new Promise<never>(() => {}) : Promise.reject(error);
  } finally {
    testsUnderWay--;
  }
}

function stopListening(): void {
  if (Deno.build.os !== "windows") Deno.removeSignalListener("SIGTERM", interrupt);
  globalThis.removeEventListener("unload", noticeExit);
}

async function interrupt(): Promise<void> {
  stopListening();
  const ended = await Promise.allSettled([...endings].map((end) => end()));
  for (const one of ended) if (one.status === "rejected") console.error(one.reason);
  isLeaving = true;
  // Tests of the user's own may not be exited from: the next one of ours may.
  if (testsUnderWay > 0) leave();
}

function leave(): void {
  globalThis.removeEventListener("unload", noticeExit);
  Deno.exit(INTERRUPTED);
}

/** Code under test that exits would make the whole file pass, as our tests let the process exit. */
function noticeExit(): void {
  if (testsUnderWay === 0) return;
  console.error("The process was ended while trials were under way, by Deno.exit or process.exit");
  Deno.exit(1);
}
