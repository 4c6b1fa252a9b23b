/**
 * Values of maps that are made when they are first needed.
 * @module
 */

interface AnyMap<Key, Value> {
  get(key: Key): Value | undefined;
  has(key: Key): boolean;
  set(key: Key, value: Value): unknown;
}

/** Returns the value of a key; where there is none, this one from now on. */
export function getOrInsert<Key, Value>(
  map: AnyMap<Key, Value>,
  key: Key,
  value: NoInfer<Value>,
): Value {
  return getOrInsertComputed(map, key, () => value);
}

/** Returns the value of a key; where there is none, what `make` returns from now on. */
export function getOrInsertComputed<Key, Value>(
  map: AnyMap<Key, Value>,
  key: Key,
  make: (key: Key) => NoInfer<Value>,
): Value {
  const known = map.get(key);
  if (known !== undefined || map.has(key)) return known as Value;
  const value = make(key);
  map.set(key, value);
  return value;
}
