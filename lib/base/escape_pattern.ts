/**
 * Patterns: puts texts into regular expressions.
 * @module
 */

/** Returns the pattern that a text alone matches, whatever stands around it but a backslash. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
}
