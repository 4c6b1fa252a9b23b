/**
 * Nesting: how deep values go, and how much there is in them.
 * @module
 */

/** How large a value may be. */
export interface Extent {
  /** How many lists and objects may stand within each other. */
  readonly levels: number;
  /** How many values there may be, those that stand in several places counted in each; default: any. */
  readonly values?: number;
}

/**
 * Whether `value` is no larger than that. What is larger could overflow the stack of whoever goes through
 * it; what holds itself, or holds one value in very many places, would have no end.
 *
 * @example Usage
 * ```ts
 * import { isWithin } from "./json_depth.ts";
 * import { assert } from "@std/assert";
 *
 * assert(isWithin([[1], 2], { levels: 2 }));
 * assert(!isWithin([[1], 2], { levels: 1 }));
 * assert(!isWithin([[1], 2], { levels: 2, values: 3 }));
 * ```
 */
export function isWithin(value: unknown, { levels, values = Infinity }: Extent): boolean {
  let [left, level] = [values - 1, [value].filter(isContainer)];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > levels) return false;
    const below: object[] = [];
    for (const container of level) {
      const held = Array.isArray(container) ? container : Object.values(container);
      left -= held.length;
      if (left < 0) return false;
      for (const inner of held) if (isContainer(inner)) below.push(inner);
    }
    level = below;
  }
  return left >= 0;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
