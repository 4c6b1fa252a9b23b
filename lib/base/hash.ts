/**
 * Hashes of texts.
 * @module
 */

// Node's own takes 50 ms to load, more than all the hashing of a run.
import { sha256 as digest } from "@noble/hashes/sha2";

/** Returns the SHA-256 of `text` in hexadecimal. */
export function sha256(text: string): string {
  const bytes = digest(new TextEncoder().encode(text));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
