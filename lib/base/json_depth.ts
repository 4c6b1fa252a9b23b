/**
 * Limits on the size of JSON values: nesting and number of values.
 * @module
 */

import { isObject } from "./json.ts";

/** How large a value may be. */
export interface Extent {
  /** How many levels of lists and objects there may be. */
  readonly levels: number;
  /** How many values there may be; a value held in several places counts in each. Default: any number. */
  readonly values?: number;
}

/**
 * Returns whether `value` is within the limits. A deeper value could overflow the stack of recursive code;
 * a circular one, or one that holds the same value in very many places, would take forever to walk.
 */
export function isWithin(value: unknown, { levels, values = Infinity }: Extent): boolean {
  let [left, level] = [values - 1, [value].filter(isObject)];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > levels) return false;
    const below: object[] = [];
    for (const container of level) {
      const children = Array.isArray(container) ? container : Object.values(container);
      left -= children.length;
      if (left < 0) return false;
      for (const inner of children) if (isObject(inner)) below.push(inner);
    }
    level = below;
  }
  return left >= 0;
}
