import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { compilePattern } from "../../../lib/tools/schema/_patterns.ts";
import { Position } from "../../../lib/tools/schema/position.ts";
import { argumentCheck } from "../../../lib/tools/schema/validate.ts";
import { violationsOf } from "../../../lib/tools/schema/violations.ts";
import { assertLinear } from "../../support/growth.ts";

/** Texts of all kinds that patterns tell apart. */
const TEXTS = [
  ...[
    "",
    "a",
    "A",
    "Z",
    "b",
    "ab",
    "aab",
    "abab",
    "a-b",
    "a_b",
    "0",
    "7",
    "42",
    "2024-02-29",
    "x.y",
  ],
  ...[
    "\n",
    "a\n",
    "\na",
    "a\nb",
    "\r",
    "a\r\nb",
    "\u2028",
    "\t",
    "\v",
    "\f",
    " ",
    "\u00a0",
    "\ufeff",
  ],
  ...[
    "é",
    "e\u0301",
    "ß",
    "ſ",
    "K",
    "ä",
    "я",
    "中",
    "٣",
    "\u{1f600}",
    "a\u{1f600}b",
    "\ud83d",
    "\ude00",
  ],
  ...[
    "$",
    "^",
    "\\",
    "/",
    "]",
    "[",
    "{",
    "}",
    "-",
    "_",
    ".",
    "\0",
    "\b",
    "a]b",
    "{a}",
    "a{2}",
    "\u0001",
  ],
];

Deno.test("compilePattern() answers as JavaScript does with the flag u", () => {
  const patterns = [
    ...[
      "",
      "a",
      "^a$",
      "^a",
      "a$",
      "^$",
      "$",
      "a|b",
      "^(?:a|ab)$",
      "^(a|b)*$",
      "a{2}",
      "^a{1,2}b?$",
    ],
    ...["^.$", "^.+$", "a.b", "^[^]$", "^[^]*$", "[]", "^[]?$", "\\d", "^\\d+$", "\\D", "^\\D$"],
    ...["\\w", "^\\w$", "^\\W$", "\\s", "^\\s$", "^\\S$", "\\ba", "b\\b", "^\\b", "\\Bb", "^\\B$"],
    ...[
      "^[a-c]+$",
      "^[^a-c]$",
      "^[\\d_-]$",
      "^[^\\s\\w]$",
      "^[\\W]$",
      "^[-a]$",
      "^[a-]$",
      "^[\\b]$",
    ],
    ...["\\p{L}", "^\\p{Lu}$", "^\\P{L}$", "\\p{Script=Cyrillic}", "^[\\p{L}-]+$", "^[^\\P{Ll}]$"],
    ...["^\\p{Nd}$", "\\p{Emoji_Presentation}", "\\p{Any}", "^\\p{Cs}$"],
    ...[
      "^\\u00e9$",
      "^\\u{1f600}$",
      "^\\ud83d\\ude00$",
      "^\\ud83d$",
      "^\\ude00$",
      "\\x41",
      "^\\cA$",
    ],
    ...[
      "^\\0$",
      "^\\t|\\v|\\f|\\r|\\n$",
      "\\/",
      "\\$",
      "^\\^$",
      "^\\\\$",
      "^\\]$",
      "^\\{a\\}$",
      "^\\.$",
    ],
    ...[
      "^[\\]]$",
      "^[\\^]$",
      "^[\\\\]$",
      "^[.]$",
      "^[$]$",
      "^[\u{1f600}-\u{1f64f}]$",
      "^\u{1f600}$",
    ],
    ...["^a*?b", "a+?", "^(?<name>a)b$", "^(?:a(?:b(?:a)?)?)+$", "^(?:a*)*$", "(?:|a)+", "^a{0}$"],
    ...[
      "^(?!a)",
      "^(?!.*_).+$",
      "^(?=.*\\d)(?=.*-).+$",
      "^(?!$)(?:a|b)",
      "^(?!\\s*$)[^]+$",
      "^(?=a)",
    ],
    ...["^a{0,3000}$", "^[^]{1,4096}$", "^(?:a{40}){20}|b$", "^[ab]{2,}$", "^(?:ab){2}$"],
  ];
  for (const pattern of patterns) {
    const own = new RegExp(pattern, "u");
    const linear = compilePattern(pattern, "linear");
    for (const text of TEXTS) {
      assertEquals(linear.test(text), own.test(text), JSON.stringify([pattern, text]));
    }
  }
});

Deno.test("compilePattern() counts further than its engine does", () => {
  const as = (count: number) => "a".repeat(count);
  const table: [pattern: string, right: readonly string[], wrong: readonly string[]][] = [
    ["^[^]{2,1500}$", ["ab", as(1500), "\u{1f600}".repeat(1500)], ["a", as(1501)]],
    ["^a{1200}b{0,300}$", [as(1200), `${as(1200)}b`], [as(1199), as(1200) + "b".repeat(301)]],
    ["^a{1001,}$", [as(1001), as(5000)], [as(1000)]],
    ["^(?:a{30,40}){20}$", [as(600), as(800)], [as(599), as(801)]],
  ];
  for (const [pattern, right, wrong] of table) {
    const { test } = compilePattern(pattern, "linear");
    for (const text of right) assert(test(text), `${pattern} ${text.length}`);
    for (const text of wrong) assert(!test(text), `${pattern} ${text.length}`);
  }
});

Deno.test("compilePattern() takes needless escapes and lone braces for characters", () => {
  const table: [pattern: string, right: readonly string[], wrong: readonly string[]][] = [
    ["^[\\w-.]+$", ["a-b.c", "_"], ["a b", "\u{1f600}"]],
    ["^a\\_b\\@c\\-d$", ["a_b@c-d"], ["a\\_b@c-d"]],
    ["^[\\_\\@\\'\\u00e9]$", ["_", "@", "'", "é"], ["\\", "u"]],
    ["^\\{\\{[a-z]+}}$", ["{{name}}"], ["{{name}"]],
    ["^{[a-z]+}$", ["{name}"], ["name"]],
    ["^\\[[a-z]+]$", ["[name]"], ["name]"]],
    ["^[\\w-.]\\p{L}$", ["aé"], ["ap{L}", "a1"]],
    ["^[\\w-.].$", ["a\u{1f600}"], ["abc"]],
  ];
  for (const [pattern, right, wrong] of table) {
    for (const trust of ["linear", "unsafe"] as const) {
      const { test } = compilePattern(pattern, trust);
      for (const text of right) assert(test(text), `${pattern} ${text}`);
      for (const text of wrong) assert(!test(text), `${pattern} ${text}`);
    }
  }
});

/** Makes a tool, and calls it with a text that should match its pattern. */
function ownTool(pattern: string, unsafePatterns?: boolean) {
  return tool({
    ...{ name: "own", description: "", execute: () => "done" },
    parameters: { type: "object", properties: { x: { type: "string", pattern } } },
    ...(unsafePatterns === undefined ? {} : { unsafePatterns }),
  });
}

Deno.test("tool() refuses patterns that ECMAScript would misread or does not know", () => {
  const table: [pattern: string, reason: string][] = [
    ["^a\\Z", "\\Z is not of ECMAScript: write $"],
    ["\\Aa", "\\A is not of ECMAScript: write ^"],
    ["a\\z", "\\z is not of ECMAScript: write $"],
    ["(?i)abc", "(?i) is not of ECMAScript: write both cases, as in [aA]"],
    ["(?P<name>a)", "(?P< is not of ECMAScript: write (?<name>...)"],
    ["^[[:alpha:]]+$", "[[:alpha:] is not of ECMAScript: write the characters, as in [a-z]"],
    ["^a{,3}$", "{,3} is not of ECMAScript: write {0,n}"],
    ["\\Qa\\E", "Invalid escape"],
    ["[\\a]", "Invalid escape"],
    ["\\pL", "Invalid property name"],
    ["\\p{Nonsense}", "Invalid property name"],
    ["[b-a]", "Range out of order"],
    ["a{3,2}", "numbers out of order"],
    ["a++", "Nothing to repeat"],
    ["(?>a)", "Invalid group"],
    ["(?#a)", "Invalid group"],
    ["(a", "Unterminated group"],
    ["a)", "Unmatched ')'"],
    ["[", "Unterminated character class"],
    ["\\", "\\ at end of pattern"],
    ["\\u{110000}", "Invalid Unicode escape"],
    ["^*", "Nothing to repeat"],
  ];
  for (const [pattern, reason] of table) {
    for (const unsafe of [undefined, true]) {
      const { message } = assertThrows(() => ownTool(pattern, unsafe), InputError);
      assertStringIncludes(
        message,
        "Cannot offer tool own as its parameters must be a JSON Schema: ",
      );
      assertStringIncludes(message, reason);
    }
  }
});

Deno.test("tool() refuses patterns that no linear engine can run, unless it is told to run them", async () => {
  const table: [pattern: string, reason: string, right: string, wrong: string][] = [
    ["^(a)\\1$", "a backreference", "aa", "ab"],
    ["^(?<x>a|b)\\k<x>$", "a backreference", "bb", "ab"],
    ["^a(?=b)b$", "a lookahead that is not at its start", "ab", "ac"],
    ["^(?!x)a|b$", "a lookahead that is not at its start", "ab", "xa"],
    ["(?!a)b", "a lookahead that is not at its start", "b", "a"],
    ["^(?!(?!a)).$", "a lookahead that is not at its start", "a", "b"],
    ["(?<=a)b", "a lookbehind", "ab", "cb"],
    ["^(?i:a)$", "flags within it", "A", "b"],
    ["^(?:a{1000}b?){3}$", "more than 2000 characters to match", "a".repeat(3000), "a"],
    ["^(?:a{40}){30}$", "its engine says", "a".repeat(1200), "a"],
    ["^\\p{ASCII}$", "its engine says", "a", "é"],
    [`^a${"b?".repeat(6000)}$`, "it is longer than 10000 characters", "ab", "ac"],
  ];
  for (const [pattern, reason, right, wrong] of table) {
    const { message } = assertThrows(() => ownTool(pattern), InputError);
    assertStringIncludes(message, "cannot be checked in linear time: it");
    assertStringIncludes(message, reason);
    assertStringIncludes(message, "unsafePatterns: true");
    const own = ownTool(pattern, true);
    assertEquals(await own.execute({ x: right }), "done");
    const { parameters } = own;
    assertEquals(violationsOf(parameters, { x: right }), []);
    assertEquals(violationsOf(parameters, { x: wrong }).map(({ kind }) => kind), ["mismatch"]);
    // The permission is not taken from what a server sends.
    const sent = { ...parameters, unsafePatterns: true };
    assertThrows(
      () => argumentCheck({ name: "own", description: "", parameters: sent }),
      InputError,
    );
  }
});

Deno.test("patterns of a server do not block the process, neither for values nor for names", async () => {
  // With an engine that goes back, it would take longer than anyone lives.
  const patterns = [
    ...["^(a+)+$", "(a|a)*b", "^(a|aa)+$", "a*a*a*a*c", "(?:a*)*!!", "^(?=(a+)+$)", "(x+x+)+y"],
    ...["^a{1,1500}$", "^(?:a{30,40}){25}$"],
  ];
  const text = "a".repeat(100_000) + "!";
  for (const pattern of patterns) {
    const parameters: JsonObject = {
      type: "object",
      properties: { x: { pattern } },
      patternProperties: { [pattern.replace("!", "x")]: { type: "null" } },
    };
    const own = tool({ name: "own", description: "", parameters, returns: 1 });
    await assertRejects(
      async () => await own.execute({ x: text, [text]: 1 }),
      Error,
      "The arguments do not conform to the schema: /x must match pattern",
    );
    const violations = violationsOf(parameters, { x: text, [text]: 1 });
    assertEquals(violations.map(({ kind }) => kind), ["undeclared", "mismatch"]);
  }
});

Deno.test("formats take time that is linear in the text", () => {
  const formats = [
    ...[
      "date",
      "time",
      "date-time",
      "duration",
      "email",
      "hostname",
      "ipv4",
      "ipv6",
      "uri",
      "uuid",
    ],
    ...["uri-reference", "uri-template", "json-pointer", "relative-json-pointer", "regex", "url"],
  ];
  const texts = [["", "a."], ["", "a-"], ["a@", "a-"], ["", "/a"], ["http://", "a"], ["", "\n"]];
  for (const format of formats) {
    const parameters: JsonObject = { type: "object", properties: { x: { format } } };
    const check = argumentCheck({ name: "own", description: "", parameters });
    for (const [start, part] of texts) {
      assertLinear((x) => check({ x: `${x} ` }), start!, part!, 2_000);
    }
  }
});

Deno.test("Position.declares() knows names by the patterns of a schema", () => {
  const position = new Position({
    properties: { a: {} },
    patternProperties: { "^x-": {}, "^[\\w-.]+!$": {} },
  });
  const declares = position.declares({ a: 1 });
  assertEquals(["a", "x-1", "b.c!", "b"].map(declares), [true, true, true, false]);
});
