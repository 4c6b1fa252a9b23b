// The address of a report's page: which trials are listed, and what is open.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

/** Everything an address can say, in the order in which it is written. */
const KEYS = /** @type {const} */ ([
  ...["pair", "change", "task", "trial", "beside"],
  ...["subject", "cell", "outcome", "type", "behaviour", "q", "page"],
]);

/**
 * What an address says: a text for each key, empty where it says nothing.
 * @typedef {Record<typeof KEYS[number], string>} Address
 */

/**
 * Returns what an address says; values that are not allowed count as not given.
 * @param {string} hash
 * @param {(key: keyof Address, value: string) => boolean} isAllowed
 * @returns {Address}
 */
export function readAddress(hash, isAllowed) {
  const [, trial] = /^#trial-(\d+)$/.exec(hash) ?? [];
  const given = new URLSearchParams(
    trial !== undefined ? { trial } : hash.startsWith("#?") ? hash.slice(2) : "",
  );
  return /** @type {Address} */ (Object.fromEntries(KEYS.map((key) => {
    const value = given.get(key) ?? "";
    return [key, value !== "" && isAllowed(key, value) ? value : ""];
  })));
}

/**
 * Returns the address that says this.
 * @param {Address} address
 */
export function addressOf(address) {
  const given = KEYS.filter((key) => address[key] !== "");
  if (given.length === 0) return "#trials";
  if (given.join() === "trial") return `#trial-${address.trial}`;
  return `#?${new URLSearchParams(given.map((key) => [key, address[key]]))}`;
}
