/**
 * Words of a shell: quoted, in command lines printed for people, and read.
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

/** A word as a shell reads it: what is not special, a character behind a backslash, and quoted parts. */
const WORD = /\s*((?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)\s*/suy;
const PART = /\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"/gsu;

/** Returns the words of a text as a shell reads them, which replaces nothing in them; `undefined` if a quote is open. */
export function shellWords(text: string): readonly string[] | undefined {
  const words: string[] = [];
  for (WORD.lastIndex = text.search(/\S|$/); WORD.lastIndex < text.length;) {
    const word = WORD.exec(text)?.[1];
    if (word === undefined) return undefined;
    words.push(
      word.replace(
        PART,
        (_, character, single, double) =>
          character ?? single ?? double.replace(/\\(["$`\\\n])/g, "$1"),
      ),
    );
  }
  return words;
}
