/**
 * Hashes of texts.
 * @module
 */

import defer * as crypto from "node:crypto";
import { sha256 as digest } from "@noble/hashes/sha2";

/** Characters from which on Node's own hash pays: it takes up to 50 ms to load, and is ten times as fast. */
const MANY = 1_000_000;

let hashed = 0;

/** Returns the SHA-256 of `text` in hexadecimal. */
export function sha256(text: string): string {
  hashed += text.length;
  if (hashed > MANY) return crypto.hash("sha256", text);
  const bytes = digest(new TextEncoder().encode(text));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
