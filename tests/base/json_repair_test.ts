import { assert, assertEquals } from "@std/assert";
import { sample } from "@std/random";
import { type JsonValue, parseJson } from "../../lib/base/json.ts";
import { fork } from "../../lib/base/random.ts";
import { readTolerantJson } from "../../lib/base/json_repair.ts";
import fc from "../support/fast_check.ts";
import { assertAlike, assertLinear } from "../support/growth.ts";

Deno.test("readTolerantJson() takes strict JSON as it is written", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(4), fc.constantFrom("", " ", "\n\t"), (json, indent, space) => {
      const written = JSON.stringify(JSON.parse(json), null, indent);
      const text = `before${space}${written}${space}`;
      assertEquals(readTolerantJson(text, 6), {
        json: written,
        value: parseJson(json)!,
        end: 6 + space.length + written.length,
        repairs: [],
      });
    }),
  );
});

Deno.test("readTolerantJson() keeps every digit of a number, whether or not it repairs", () => {
  for (const digits of ["12345678901234567890", "1.0", "-0.10e+7", "9007199254740993"]) {
    assertEquals(readTolerantJson(`{"n": ${digits}}`, 0)?.json, `{"n": ${digits}}`);
    assertEquals(readTolerantJson(`{'n': ${digits}}`, 0)?.json, `{"n": ${digits}}`);
  }
});

/** What is written, the JSON that it becomes, and what is recorded of it. */
const REPAIRED: readonly (readonly [written: string, json: string, ...repairs: string[]])[] = [
  [`{'a': 'b'}`, `{"a": "b"}`, "single quotes"],
  [`{'a': "b"}`, `{"a": "b"}`, "single quotes"],
  [`{'a': 'it's'}`, `{"a": "it's"}`, "single quotes"],
  [`{'a': 'it\\'s'}`, `{"a": "it's"}`, "single quotes"],
  [`{'a': 'say "no"'}`, `{"a": "say \\"no\\""}`, "single quotes"],
  [`['a', 'b' ,'c']`, `["a", "b" ,"c"]`, "single quotes"],
  [`{“a”: “b”}`, `{"a": "b"}`, "typographic quotes"],
  [`{„a“: ‘b’}`, `{"a": "b"}`, "typographic quotes"],
  [`{‘it’s’: 1}`, `{"it’s": 1}`, "typographic quotes"],
  [`{"a": 1,}`, `{"a": 1}`, "a trailing comma"],
  [`[1, 2, ]`, `[1, 2 ]`, "a trailing comma"],
  [`{"a": [1,],}`, `{"a": [1]}`, "a trailing comma"],
  [`[True, False, None]`, `[true, false, null]`, "True, False or None"],
  [`{a: 1, b_2: {$c-d: 2}}`, `{"a": 1, "b_2": {"$c-d": 2}}`, "a key without quotes"],
  [`{été: 1}`, `{"été": 1}`, "a key without quotes"],
  [`{"a": "x\ny"}`, `{"a": "x\\ny"}`, "a line break within a text"],
  [`{"a": "x\ty"}`, `{"a": "x\\ty"}`, "a line break within a text"],
  [`{"a": "C:\\dir"}`, `{"a": "C:\\\\dir"}`, "a backslash that escapes nothing"],
  [`{"a": "\\u12"}`, `{"a": "\\\\u12"}`, "a backslash that escapes nothing"],
  [`{"a": 1 // one\n}`, `{"a": 1  }`, "a comment"],
  [`{/* one */"a": 1}`, `{ "a": 1}`, "a comment"],
  [`{"a": 1, // last\n}`, `{"a": 1  }`, "a comment", "a trailing comma"],
  [`{"a":\u00a01}`, `{"a": 1}`, "odd spaces"],
  [`{"a": {"b": [1`, `{"a": {"b": [1]}}`, "no closing bracket"],
  [`{"a": "b`, `{"a": "b"}`, "no closing quote", "no closing bracket"],
  [`{"a": 'b`, `{"a": "b"}`, "single quotes", "no closing quote", "no closing bracket"],
  [`{'a': 'b'`, `{"a": "b"}`, "single quotes", "no closing bracket"],
  [`{"a": 1, `, `{"a": 1 }`, "a trailing comma", "no closing bracket"],
  [`{"a": {`, `{"a": {}}`, "no closing bracket"],
  [
    `{'ok': True, n: [1, 2,`,
    `{"ok": true, "n": [1, 2]}`,
    ...["single quotes", "True, False or None", "a key without quotes", "a trailing comma"],
    "no closing bracket",
  ],
  [`"a`, `"a"`, "no closing quote"],
  ["```json\n{'a': 1}\n```", `{"a": 1}`, "single quotes", "a code fence"],
  ['```\n{"a": 1}\n```', `{"a": 1}`, "a code fence"],
  ['`{"a": 1}`', `{"a": 1}`, "a code fence"],
  ['```json\n{"a": 1\n```', `{"a": 1\n}`, "no closing bracket", "a code fence"],
];

for (const [written, json, ...repairs] of REPAIRED) {
  Deno.test(`readTolerantJson() repairs ${JSON.stringify(written)}`, () => {
    const read = readTolerantJson(written, 0);
    assertEquals(read, { json, value: JSON.parse(json), end: written.length, repairs });
  });
}

/** What is not read at all. */
const UNREAD = [
  "",
  "   ",
  "word",
  "{a: word}",
  '{"a": f(1)}',
  '{"a": 1 + 1}',
  '{"a": "b" + "c"}',
  '{"a": "b" "c"}',
  '{"a": 1 "b": 2}',
  "[1 2]",
  "[1,,2]",
  "[,1]",
  "[,]",
  "{,}",
  "[1}",
  '{"a": 1]',
  '{"a"}',
  '{"a":}',
  '{"a" 1}',
  '{"a"',
  '{"a": ',
  '{"a',
  "{a",
  '{1: "a"}',
  '{"a": 01}',
  '{"a": +1}',
  '{"a": .5}',
  '{"a": 5.}',
  '{"a": 0x1F}',
  '{"a": 1_000}',
  '{"a": NaN}',
  '{"a": undefined}',
  '{"a": TRUE}',
  '{"a": -}',
  "{/* open",
  '{/*/ "a": 1}',
  "{/ 1}",
  '{"a": `b`}',
  '{"a": b"c"}',
  "}",
  "]",
  ":",
  ",",
];

for (const written of UNREAD) {
  Deno.test(`readTolerantJson() does not read ${JSON.stringify(written)}`, () => {
    assertEquals(readTolerantJson(written, 0), undefined);
  });
}

/** Writes a value as models do; the same numbers give the same text. */
function messy(value: JsonValue, seed: number): string {
  const stream = fork(seed, "messy");
  const one = <T>(...options: readonly [T, ...T[]]): T => sample(options, stream)!;
  const space = () => one("", " ", "\n", "\u00a0", " /* ' */ ", ' // "\n', "\ufeff");
  const text = (content: string) => {
    const inner = JSON.stringify(content).slice(1, -1);
    // A quote of its own kind that stands before a sign of JSON would end the text.
    if (/['‘’“”]/.test(content)) return `"${inner}"`;
    return one(`"${inner}"`, `'${inner.replaceAll('\\"', '"')}'`, `“${inner}”`, `‘${inner}’`);
  };
  const write = (inner: JsonValue): string => {
    if (typeof inner === "string") return text(inner);
    if (typeof inner === "number") return JSON.stringify(inner);
    if (inner === null) return one("null", "None");
    if (typeof inner === "boolean") return inner ? one("true", "True") : one("false", "False");
    const list = Array.isArray(inner);
    const parts = list ? inner.map(write) : Object.entries(inner).map(([key, held]) => {
      const bare = /^[a-z]+$/.test(key) ? one(key, text(key)) : text(key);
      return `${bare}${space()}:${space()}${write(held)}`;
    });
    const last = parts.length > 0 ? one("", ",") : "";
    const held = parts.map((part) => `${space()}${part}${space()}`).join(",") + last + space();
    return list ? `[${held}]` : `{${held}}`;
  };
  return write(value);
}

Deno.test("readTolerantJson() reads any value in any mixture of what is tolerated", () => {
  const value = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;
  fc.assert(
    fc.property(value, fc.nat(), (value, seed) => {
      const written = messy(value, seed);
      const read = readTolerantJson(`${written} behind`, 0);
      assertEquals(read?.value, parseJson(JSON.stringify(value)), written);
      assertEquals(read?.value, parseJson(read!.json), written);
      assertEquals(read?.end, written.length, written);
    }),
    { numRuns: 500 },
  );
});

Deno.test("readTolerantJson() reads what is cut off as far as it is sure of it", () => {
  const written = `{"city": "Paris", "days": [1, 22], "deep": {"ok": true}}`;
  const reads = [...written].map((_, length) => readTolerantJson(written.slice(0, length), 0));
  for (const [length, read] of reads.entries()) {
    if (read === undefined) continue;
    assert(read.repairs.includes("no closing bracket"), written.slice(0, length));
    const value = read.value as Record<string, JsonValue>;
    assert(Object.keys(value).every((key) => ["city", "days", "deep"].includes(key)));
  }
  assertEquals(reads[0], undefined);
  assertEquals(reads[1]?.value, {});
  assertEquals(reads[4], undefined);
  assertEquals(reads[13]?.value, { city: "Par" });
  assertEquals(reads[30]?.value, { city: "Paris", days: [1] });
  assertEquals(reads.at(-1)?.value, { city: "Paris", days: [1, 22], deep: { ok: true } });
});

Deno.test("readTolerantJson() does not repair behind the place where it must end", () => {
  const text = `{"a": 'b</end>', "c": 1}`;
  assertEquals(readTolerantJson(text, 0)?.end, text.length);
  const read = readTolerantJson(text, 0, { to: 8 });
  assertEquals([read?.json, read?.end], ['{"a": "b"}', 8]);
  for (let to = 0; to < text.length; to++) {
    assert((readTolerantJson(text, 0, { to })?.end ?? 0) <= to, `${to}`);
  }
});

Deno.test("readTolerantJson() takes strict JSON also behind the place where repairs must end", () => {
  const text = `{"a": "b</end>", "c": 1}`;
  for (let to = 0; to <= text.length; to++) {
    assertEquals(readTolerantJson(text, 0, { to })?.json, text, `${to}`);
  }
});

Deno.test("readTolerantJson() reads 500 levels, and no more", () => {
  for (const [open, close] of [["[", "]"], ['{"a":', "}"], ["{'a':", "}"]] as const) {
    const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`;
    assertEquals(readTolerantJson(nested(500), 0)?.end, nested(500).length);
    for (const levels of [501, 10_000, 200_000]) {
      assertEquals(readTolerantJson(nested(levels), 0), undefined);
      assertEquals(readTolerantJson(open.repeat(levels), 0), undefined);
    }
  }
});

Deno.test("readTolerantJson() takes __proto__ for a key like any other, and the last of equal keys", () => {
  for (const quote of ['"', "'", ""]) {
    const key = `${quote}__proto__${quote}`;
    const read = readTolerantJson(`{${key}: {"polluted": 1}}`, 0);
    assertEquals(Object.keys(read?.value as object), ["__proto__"]);
    assertEquals(Object.getPrototypeOf(read?.value), Object.prototype);
  }
  assertEquals(({} as { polluted?: unknown }).polluted, undefined);
  assertEquals(readTolerantJson(`{"a": 1, 'a': 2}`, 0)?.value, { a: 2 });
});

Deno.test("readTolerantJson() gives JSON or nothing, whatever is written", () => {
  const signs = fc.constantFrom(
    ...`{}[]:,"'“”‘’\\/*\`\n\t truefalsn01.5eE+-_$ é\u0000\u00a0\ufeff\ud800`,
    ...["True", "None", "```json\n", "__proto__", "//", "/*", "*/", "\\u00", '\\"', "null"],
  );
  const texts = fc.array(signs, { maxLength: 60 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(texts, fc.string({ unit: fc.character() })), fc.nat(70), (text, to) => {
      for (const options of [{}, { to }]) {
        const read = readTolerantJson(text, 0, options);
        if (read === undefined) continue;
        assertEquals(JSON.parse(read.json), read.value);
        assert(read.end <= text.length);
        assertEquals(new Set(read.repairs).size, read.repairs.length);
      }
    }),
    { numRuns: 3000 },
  );
});

Deno.test("readTolerantJson() does not go through what stands behind the place where repairs end", () => {
  const [near, far] = [2_000, 8_000_000].map((length) => "x ".repeat(length / 2));
  for (const text of ["{/*", "{//", "{'", "{“", "```\n{'", "[True,", "{a", "[-", "{'a': 1"]) {
    const read = (behind: string) => {
      const whole = text + behind;
      return () => {
        for (let time = 0; time < 400; time++) readTolerantJson(whole, 0, { to: text.length });
      };
    };
    // A reader that does would take a thousand times as long.
    assertAlike(read(near!), read(far!), text);
  }
});

Deno.test("readTolerantJson() takes time that is linear in the text", () => {
  for (
    const [before, repeated] of [
      ["", "["],
      ["[", "1,"],
      ["[", "'a',"],
      ["[", "/**/"],
      ["[", "True,"],
      ["[", '"\\n",'],
      ["'", "' "],
      ["“", "” "],
      ['"', "\\x"],
      ['"', "\n"],
      ["{'a': ", " "],
      ["```\n", "`"],
      ["", "1"],
      ["{", "a"],
    ] as const
  ) assertLinear((text) => readTolerantJson(text, 0), before, repeated, 5_000);
});

Deno.test("readTolerantJson() takes a backslash at its limit for one, whatever stands behind it", () => {
  const text = `{"a": "b\\'c`;
  const read = readTolerantJson(text, 0, { to: text.indexOf("\\") + 1 });
  assertEquals([read?.json, read?.value], [`{"a": "b\\\\"}`, { a: "b\\" }]);
});
