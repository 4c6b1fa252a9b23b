/**
 * The first context: the asynchronous one in which a program began.
 * @module
 */

import defer * as hooks from "node:async_hooks";

let first: ReturnType<typeof hooks.AsyncLocalStorage.snapshot> | undefined;

/**
 * Keeps the present context, in which all trials begin and modules are loaded. A module that is first imported within
 * another one, as by an agent's library, leaves Deno in it, so that later trials would begin in that of an earlier one,
 * with its signal.
 */
export function keepContext(): void {
  first ??= hooks.AsyncLocalStorage.snapshot();
}

/** Does something in the first context. */
export function inFirstContext<T>(work: () => T): T {
  keepContext();
  return first!(work);
}
