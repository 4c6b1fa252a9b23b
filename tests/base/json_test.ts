import fc from "../support/fast_check.ts";
import { assert, assertEquals, assertLessOrEqual, assertMatch, assertNotMatch } from "@std/assert";
import {
  canonicalJson,
  isJsonObject,
  isWithin,
  parseJson,
  pointerKeys,
  pointerPart,
  printable,
  printableJson,
  printableLines,
} from "../../lib/base/json.ts";
import { sha256 } from "../../lib/base/hash.ts";
import { HOSTILE, STEERING } from "../support/records.ts";

/** The value with the keys of all its objects in the opposite order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toReversed().map(([k, v]) => [k, turned(v)]));
}

Deno.test("canonicalJson() sorts the keys of every object, and leaves lists in order", () => {
  assertEquals(
    canonicalJson({ b: [{ z: 1, y: 2 }, "x"], a: null, B: 1.5 }),
    '{"B":1.5,"a":null,"b":[{"y":2,"z":1},"x"]}',
  );
});

Deno.test("canonicalJson() gives equal values equal texts, and says the same as JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      assertEquals(text, canonicalJson(turned(value)));
      assertEquals(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 300 },
  );
});

Deno.test("canonicalJson() tells different values apart", () => {
  const values = [0, "0", null, false, "", [], {}, [0], [[0]], { a: 0 }, { a: "0" }, { 0: "a" }, [
    null,
  ]];
  assertEquals(new Set(values.map(canonicalJson)).size, values.length);
});

Deno.test("canonicalJson() leaves out keys without a value, and keeps odd keys", () => {
  assertEquals(canonicalJson({ b: undefined, a: 1 }), '{"a":1}');
  const odd = JSON.parse('{"constructor":1,"__proto__":2}');
  assertEquals(canonicalJson(odd), '{"__proto__":2,"constructor":1}');
});

Deno.test("isJsonObject() takes objects, neither null nor lists", () => {
  assertEquals([{}, { a: 1 }, Object.create(null)].map(isJsonObject), [true, true, true]);
  assertEquals([null, [], "x", 1, true, undefined].map(isJsonObject), new Array(6).fill(false));
});

Deno.test("parseJson() gives undefined for what is no JSON, and never throws", () => {
  assertEquals(parseJson('{"a":[1,null]}'), { a: [1, null] });
  assertEquals(parseJson("null"), null);
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  assertEquals([parseJson(nested(200_000)) === undefined, parseJson(nested(200_001))], [
    false,
    undefined,
  ]);
  for (const text of ["", "{", "undefined", "NaN", "{'a':1}", "1 2", '{"a":1,}']) {
    assertEquals(parseJson(text), undefined, text);
  }
});

Deno.test("sha256() agrees with the standard's examples", () => {
  assertEquals(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assertEquals(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

Deno.test("sha256() hashes the UTF-8 bytes of text", async () => {
  const bytes = new TextEncoder().encode("é 日本 🜁");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  assertEquals(sha256("é 日本 🜁"), digest.toHex());
});

Deno.test("printable() leaves plain text of any language alone", () => {
  for (const text of ["", "plain text", "é 日本 🜁 ß", "a\\nb", "100% <b>"]) {
    assertEquals(printable(text), text);
  }
});

Deno.test("printable() escapes what steers, reorders or hides text, and no letter, digit or sign", () => {
  for (let code = 0; code <= 0xffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const text = `a${String.fromCharCode(code)}b`;
    const shown = printable(text);
    if (/[\p{Cc}\p{Bidi_Control}\u00ad\u2028\u2029\u200b\u2060\ufeff]/u.test(text)) {
      assertMatch(shown, /^a\\([nrt]|u[0-9a-f]{4})b$/, code.toString(16));
    } else if (/^.[\p{L}\p{N}\p{P}\p{S}\p{M}\p{Zs}]/u.test(text)) {
      assertEquals(shown, text, code.toString(16));
    }
  }
});

Deno.test("printable() names line breaks and tabs as programmers do", () => {
  assertEquals(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  assertEquals(printable("\u001b[31m"), "\\u001b[31m");
});

Deno.test("printable() lets nothing hostile through", () => {
  assertNotMatch(printable(HOSTILE), STEERING);
});

Deno.test("printable() leaves no command to the runner of a CI job, and texts alike alone", () => {
  const shown = {
    "##[error]x": "\\u0023#[error]x",
    "a ###vso[task.complete]": "a #\\u0023#vso[task.complete]",
    "##teamcity[x '1']": "\\u0023#teamcity[x '1']",
    "##": "\\u0023#",
    "::warning::x": "\\u003a:warning::x",
    " \u00a0::add-mask::x": " \u00a0\\u003a:add-mask::x",
    "# a": "# a",
    "## Results [1]": "## Results [1]",
    "std::vector": "std::vector",
    "::1": "::1",
  };
  for (const [text, expected] of Object.entries(shown)) assertEquals(printable(text), expected);
  assertEquals(printableLines("a\n  ::error::x"), "a\n  \\u003a:error::x");
});

Deno.test("printableJson() writes no command and no control character, and says the same as JSON", () => {
  const value = { "##[error]": ["\\##vso[a]", "\u009b2J", "a\u2028b", HOSTILE], b: 1 };
  for (const indent of [undefined, 2]) {
    const text = printableJson(value, indent);
    assertEquals(JSON.parse(text), value);
    assertNotMatch(text, /##\w*\[/);
    assertNotMatch(text.replaceAll("\n", ""), STEERING);
  }
});

Deno.test("printable() cuts long text, and shows that it did", () => {
  assertEquals(printable("abcdef", 6), "abcdef");
  assertEquals(printable("abcdef", 5), "abcd…");
  assertEquals(printable("x".repeat(300)), "x".repeat(199) + "…");
  assertEquals(printable("abc", 1), "…");
});

Deno.test("printable() keeps within its limit also where characters are escaped", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.character(), maxLength: 40 }),
      fc.integer({ min: 1, max: 30 }),
      (text, limit) => {
        assertLessOrEqual(printable(text, limit).length, limit);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("printableLines() keeps line breaks, and shows all else as printable() does", () => {
  assertEquals(printableLines("a\nb\r\n\nc\td\re"), "a\nb\n\nc\\td\\re");
  assertEquals(printableLines("x".repeat(300)), "x".repeat(300));
  assertNotMatch(printableLines(HOSTILE), STEERING);
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.character() }), { minLength: 1, maxLength: 5 }),
      (lines) => {
        const plain = lines.map((line) => line.replace(/[\r\n]/g, ""));
        assertEquals(
          printableLines(plain.join("\n")),
          plain.map((line) => printable(line, Infinity)).join("\n"),
        );
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("printableLines() cuts long texts, and shows that it did", () => {
  assertEquals(printableLines("abc\ndef", 7), "abc\ndef");
  assertEquals(printableLines("abc\ndef", 5), "abc\nd…");
  for (let limit = 1; limit < 12; limit++) {
    assertMatch(printableLines("a🜁🜁🜁🜁🜁🜁", limit), /^a🜁*…$/u, `${limit}`);
  }
});

Deno.test("printable() does not cut a character in two", () => {
  for (let limit = 1; limit < 12; limit++) {
    assertEquals(printable("a🜁🜁🜁🜁🜁🜁", limit).isWellFormed(), true, `${limit}`);
  }
});

Deno.test("pointerKeys() gives back the keys that pointerPart() has escaped (RFC 6901)", () => {
  const keys = ["a/b", "~1", "~01", "m~n", ""];
  assertEquals(pointerKeys(`/${keys.map(pointerPart).join("/")}`), keys);
});

/** How deep a value goes, worked out slowly. */
function levelsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf));
}

/** How many values there are, worked out slowly. */
function valuesOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return 1 + Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 0);
}

Deno.test("isWithin() counts levels and values of any JSON value", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
    const [levels, values] = [levelsOf(value), valuesOf(value)];
    assert(isWithin(value, { levels }));
    assert(isWithin(value, { levels, values }));
    assert(!isWithin(value, { levels, values: values - 1 }));
    if (levels > 0) assert(!isWithin(value, { levels: levels - 1 }));
  }));
});

Deno.test("isWithin() does not overflow the stack, and ends where values do not", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 200_000; level++) deep = [deep];
  assertEquals([199_999, 200_000].map((levels) => isWithin(deep, { levels })), [false, true]);
  const endless: unknown[] = [];
  endless.push(endless);
  assert(!isWithin(endless, { levels: 1_000 }));
  // Two to the power of a hundred places.
  let doubled: unknown = 1;
  for (let level = 0; level < 100; level++) doubled = { one: doubled, other: doubled };
  assert(!isWithin(doubled, { levels: 1_000, values: 10_000 }));
});
