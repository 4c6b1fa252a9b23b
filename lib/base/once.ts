/**
 * Values that are made once for each object.
 * @module
 */

import { getOrInsertComputed } from "./get_or_insert.ts";

/** Objects that nobody changes any more. */
const SETTLED = new WeakSet<object>();

/** Returns an object that nobody changes any more. */
export function settled<T extends object>(value: T): T {
  SETTLED.add(value);
  return value;
}

/**
 * Returns a function that makes the value of a settled object when first asked for it; those of others are made each
 * time. An object that is made is settled as well.
 */
export function onceFor<Key extends object, Value>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const made = new WeakMap<Key, Value>();
  const makeSettled = (key: Key) => {
    const value = make(key);
    return typeof value === "object" && value !== null ? settled(value) : value;
  };
  return (key) => SETTLED.has(key) ? getOrInsertComputed(made, key, makeSettled) : make(key);
}
