/**
 * Words of a shell, for the command lines that are handed to people.
 * @module
 */

/**
 * `word` as bash, zsh, fish and their like read it back. Within single quotes nothing has a meaning but
 * their end and, in fish, a backslash: both stand outside of them.
 *
 * @example Usage
 * ```ts
 * import { quoted } from "./shell_quote.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(quoted("core=5 $(true)"), "'core=5 $(true)'");
 * ```
 */
export function quoted(word: string): string {
  // At the beginning of a word, zsh takes = for its own.
  return /^(?!=)[\w./:=-]+$/.test(word)
    ? word
    : `'${word.replaceAll(/['\\]/g, (character) => `'\\${character}'`)}'`;
}
