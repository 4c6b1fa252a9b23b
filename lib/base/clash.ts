/**
 * Clashes: items that have one key and are not the same.
 * @module
 */

import { getOrInsert } from "./get_or_insert.ts";

/**
 * Returns the first two items that have one key and different values, in their order.
 *
 * @param valueOf Returns what items of one key must have alike; default: the item itself.
 */
export function firstClash<Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => unknown,
  valueOf: (item: Item) => unknown = (item) => item,
): readonly [before: Item, again: Item] | undefined {
  const seen = new Map<unknown, Item>();
  for (const item of items) {
    const before = getOrInsert(seen, keyOf(item), item);
    if (before !== item && valueOf(before) !== valueOf(item)) return [before, item];
  }
}
