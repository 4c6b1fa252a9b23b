/**
 * Replacing: how several strategies name calls to make in place of those that failed.
 * @module
 */

import type { LoopOptions, Replacer } from "../agent/loop.ts";

/** The options with another replacer, which is asked about failed calls that those before it leave. */
export function replacing(options: LoopOptions, own: Replacer): LoopOptions {
  const { replace } = options;
  if (replace === undefined) return { ...options, replace: own };
  return {
    ...options,
    replace: async (failing) => {
      const before = await replace(failing);
      const left = failing.failed.filter((_, place) => before[place] === undefined);
      const others = left.length === 0 ? [] : await own({ ...failing, failed: left });
      let next = 0;
      return failing.failed.map((_, place) => before[place] ?? others[next++]);
    },
  };
}
