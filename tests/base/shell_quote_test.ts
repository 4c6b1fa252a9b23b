import { assertEquals } from "@std/assert";
import { shellQuote, shellWords } from "../../lib/base/shell_quote.ts";
import fc from "../support/fast_check.ts";

/** What fish makes of a word: there a backslash has a meaning within single quotes too. */
function fishWord(line: string): string {
  let [word, quoted] = ["", false];
  for (let at = 0; at < line.length; at++) {
    const [character, next] = [line[at]!, line[at + 1]];
    const escapes = character === "\\" && (!quoted || next === "\\" || next === "'");
    if (escapes) word += line[++at];
    else if (character === "'") quoted = !quoted;
    else word += character;
  }
  assertEquals(quoted, false, `the quotes do not end: ${line}`);
  return word;
}

/** Arguments of programs, which hold everything but NUL. */
const WORDS = fc.array(
  fc.string({ unit: fc.character(), maxLength: 60 })
    .map((text) => text.replaceAll("\0", "").toWellFormed()),
  { minLength: 1, maxLength: 30 },
);

Deno.test("shellQuote() leaves plain words as they are, for eyes", () => {
  for (const word of ["a", "results/run-1.jsonl", "--only=x", "a_b.ts", "C:/x"]) {
    assertEquals(shellQuote(word), word);
  }
});

Deno.test("shellQuote() quotes all that a shell takes for its own", () => {
  const signs = " \t\n!\"#$&'()*,;<>?@[\\]^`{|}~%";
  for (const sign of signs) {
    assertEquals(shellQuote(`a${sign}b`)[0], "'", sign);
  }
  assertEquals(shellQuote(""), "''");
  assertEquals(shellQuote("it's"), "'it'\\''s'");
});

Deno.test("shellQuote() gives fish any words back, whose quotes differ", () => {
  const mixed = fc.array(fc.constantFrom("'", "\\", "a", "\\'", "\n")).map((parts) =>
    parts.join("")
  );
  for (const words of [WORDS, fc.array(mixed)]) {
    fc.assert(
      fc.property(words, (words) => {
        assertEquals(words.map((word) => fishWord(shellQuote(word))), words);
      }),
      { seed: 1 },
    );
  }
});

Deno.test("shellQuote() quotes what zsh would take for the name of a program to look up", () => {
  assertEquals([shellQuote("=ls"), shellQuote("--only=ls")], ["'=ls'", "--only=ls"]);
});

Deno.test("shellWords() reads what shellQuote() has quoted, and what people quote in other ways", () => {
  fc.assert(
    fc.property(WORDS, (words) => assertEquals(shellWords(words.map(shellQuote).join(" ")), words)),
  );
  assertEquals(
    shellWords(` --only="case=a \\"b\\" \\c" --out=a\\ b'c d'"" '' `),
    ['--only=case=a "b" \\c', "--out=a bc d", ""],
  );
  for (const open of ["'a", 'a "b', "a\\"]) assertEquals(shellWords(open), undefined, open);
});
