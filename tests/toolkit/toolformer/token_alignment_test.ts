// Tokens as servers write them, laid over texts that were cut into them here.

import { assert, assertEquals } from "@std/assert";
import { alignTokens, type TokenSpan } from "../../../lib/toolkit/toolformer/_token_alignment.ts";
import fc from "../../support/fast_check.ts";
import { assertLinearWork, FACTOR } from "../../support/growth.ts";

const stretches = (...ends: number[]): TokenSpan[] =>
  ends.map((end, place) => ({ start: ends[place - 1] ?? 0, end }));

Deno.test("alignTokens() gives each token its place", () => {
  assertEquals(alignTokens("ab cd", ["ab", " c", "d"]), stretches(2, 4, 5));
});

Deno.test("alignTokens() refuses tokens that do not make up the text, all of it and no more", () => {
  for (
    const tokens of [
      [],
      ["ab"],
      ["ab", " cd", "!"],
      ["ab", " cx"],
      ["b", " cd"],
      ["ab", "cd "],
      ["AB", " cd"],
      ["cd", "ab"],
      ["x", "ab", " cd"],
    ]
  ) {
    assertEquals(alignTokens("ab cd", tokens), undefined, tokens.join("|"));
  }
});

Deno.test("alignTokens() puts up with tokens that open a text, at its beginning only", () => {
  const opened = [{ start: 0, end: 0 }, { start: 0, end: 2 }];
  for (const opening of ["<s>", "<|begin_of_text|>", "[BOS]"]) {
    assertEquals(alignTokens("ab", [opening, "ab"]), opened, opening);
    assertEquals(alignTokens("ab", ["a", opening, "b"]), undefined, opening);
  }
  assertEquals(alignTokens("ab", ["[gMASK]", "<sop>", "ab"])?.at(-1), { start: 0, end: 2 });
  // Where it is part of the text, it is just that.
  assertEquals(alignTokens("<s>ab", ["<s>", "ab"]), stretches(3, 5));
});

Deno.test("alignTokens() puts up with the ways in which spaces are written", () => {
  assertEquals(alignTokens("ab cd", ["\u2581ab", "\u2581cd"]), stretches(2, 5));
  assertEquals(alignTokens("ab cd", [" ab", " cd"]), stretches(2, 5));
  assertEquals(alignTokens("ab cd", ["ab", "cd"]), stretches(2, 5));
  assertEquals(alignTokens("a\u2581b", ["a", "\u2581b"]), stretches(1, 3));
  assertEquals(alignTokens("ab  cd", ["ab", "cd"]), undefined, "no more than one");
});

Deno.test("alignTokens() counts UTF-16 code units, whatever is in the text", () => {
  assertEquals(alignTokens("é€😀!", ["é", "€", "😀", "!"]), stretches(1, 2, 4, 5));
});

Deno.test("alignTokens() takes parts of a character for all of it", () => {
  const emoji = [{ start: 1, end: 3 }, { start: 1, end: 3 }];
  const inParts = [{ start: 0, end: 1 }, ...emoji, { start: 3, end: 4 }];
  assertEquals(alignTokens("a😀b", ["a", "\ufffd", "\ufffd", "b"]), inParts);
  assertEquals(alignTokens("a😀b", ["a", "bytes:\\xf0\\x9f", "bytes:\\x98\\x80", "b"]), inParts);
  // Half of the bytes stand in tokens that have something else in them.
  assertEquals(alignTokens("a 😀b", ["a", " \ufffd", "\ufffdb"]), [
    { start: 0, end: 1 },
    { start: 1, end: 4 },
    { start: 2, end: 5 },
  ]);
  assertEquals(alignTokens("a😀b", ["a", "", "", "b"])?.at(-1), { start: 3, end: 4 });
  assertEquals(alignTokens("a😀b", ["a", "", "😀", "b"]), [
    { start: 0, end: 1 },
    { start: 1, end: 1 },
    { start: 1, end: 3 },
    { start: 3, end: 4 },
  ]);
  assertEquals(alignTokens("ab", ["a", "\ufffd"]), undefined, "ASCII is never in parts");
  assertEquals(alignTokens("a\ufffdb", ["a", "\ufffd", "b"]), stretches(1, 2, 3));
});

/** How a server may write the tokens down that a text was cut into. */
const WRITERS: Readonly<Record<string, (bytes: Uint8Array, place: number) => string>> = {
  plain: (bytes) => new TextDecoder().decode(bytes),
  escaped(bytes) {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return "bytes:" +
        Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
    }
  },
  // As `errors="ignore"` in Python.
  dropping: (bytes) => new TextDecoder().decode(bytes).replaceAll("\ufffd", ""),
};

for (const [name, write] of Object.entries(WRITERS)) {
  Deno.test(`alignTokens() finds the tokens of any text, however it is cut, where they are written as ${name}`, () => {
    const letters = fc.constantFrom(..."abc  .\né€😀漢<>[]");
    fc.assert(fc.property(
      fc.array(letters, { minLength: 1, maxLength: 40 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      fc.boolean(),
      (characters, cuts, opened) => {
        const text = characters.join("");
        const bytes = new TextEncoder().encode(text);
        const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])]
          .sort((one, other) => one - other);
        const parts = places.slice(1).map((end, place) => bytes.subarray(places[place], end));
        const tokens = [
          ...(opened ? ["<s>"] : []),
          ...parts.map((part, place) => write(part, place)),
        ];
        const found = alignTokens(text, tokens);
        assert(found !== undefined && found.length === tokens.length, JSON.stringify(tokens));
        // Together they cover the text: none begins behind the end of those before it.
        let end = 0;
        for (const stretch of found) {
          assert(stretch.start <= Math.max(end, 0) && stretch.end >= stretch.start);
          end = Math.max(end, stretch.end);
        }
        assertEquals(end, text.length);
      },
    ));
  });
}

Deno.test("alignTokens() gives the exact place of every token that is whole characters", () => {
  fc.assert(fc.property(
    fc.array(fc.string({ unit: fc.character(), minLength: 1, maxLength: 5 }), { minLength: 1 }),
    (words) => {
      // Half characters are none, and what stands for parts may be any part.
      const tokens = words.map((word) => word.toWellFormed().replaceAll("\ufffd", "?"));
      let end = 0;
      assertEquals(
        alignTokens(tokens.join(""), tokens),
        stretches(...tokens.map((one) => end += one.length)),
      );
    },
  ));
});

Deno.test("alignTokens() takes time that is linear in the text, and gives up where nothing is certain", () => {
  const align = (length: number, token: string, text: string) => {
    const tokens = new Array<string>(length).fill(token);
    const whole = text.repeat(length);
    return () => alignTokens(whole, tokens);
  };
  for (
    const [token, text] of [["", "é"], ["\ufffd", "é"], ["é", "é"], ["a", "a"], [
      "\u2581",
      " ",
    ]] as const
  ) {
    const [short, long] = [2_000, FACTOR * 2_000].map((length) => align(length, token, text));
    assertLinearWork(short!, long!, JSON.stringify(token));
  }
});
