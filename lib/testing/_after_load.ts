/**
 * What is done once a test file is loaded: the tests of a suite are then all known, and can still be registered.
 * @module
 */

import type { CallSite } from "./_register.ts";

const tasks: (() => void)[] = [];
let isLoaded = false;
/** Whether the file could not be loaded: the runner says why, and of a part of it nothing is run. */
let isBroken = false;

// To import the file would not do: where it waits at its top level, such an import may end before it does.
globalThis.addEventListener("load", () => {
  isLoaded = true;
  for (const one of isBroken ? [] : tasks) one();
});

/**
 * Carries out a task once the test file, and all that it imports, has been loaded, before its tests are run.
 *
 * @throws {InputError} If it is loaded already.
 */
export function afterLoad(site: CallSite, task: () => void): void {
  if (isLoaded) throw site.tooLate("it is loaded already");
  if (tasks.push(task) > 1) return;
  import(Deno.mainModule).catch(() => isBroken = true);
  // What a running test imports first sees no file being loaded.
  globalThis.addEventListener("unload", () => {
    if (!isLoaded && !isBroken) throw site.tooLate();
  });
}
