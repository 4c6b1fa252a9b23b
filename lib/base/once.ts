/**
 * Values that are made once for each object.
 * @module
 */

/** Returns a function that makes each object's value when first asked for it; objects that go take theirs along. */
export function onceFor<Key extends object, Value>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const made = new WeakMap<Key, Value>();
  return (key) => made.getOrInsertComputed(key, make);
}
