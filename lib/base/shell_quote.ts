/**
 * Quotes words for a shell, in command lines printed for people.
 * @module
 */

/**
 * Returns `word` quoted so that bash, zsh, fish and the like read it back. Within single quotes only the
 * closing quote and, in fish, a backslash are special: both are put outside of them.
 */
export function shellQuote(word: string): string {
  // zsh expands = at the beginning of a word.
  return /^(?!=)[\w./:=-]+$/.test(word)
    ? word
    : `'${word.replaceAll(/['\\]/g, (character) => `'\\${character}'`)}'`;
}
