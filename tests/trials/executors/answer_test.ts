import { assert, assertEquals } from "@std/assert";
import { parseAnswer } from "../../../lib/trials/executors/answer.ts";
import fc from "../../support/fast_check.ts";

/** Each text has 512 for the value of bujxe. */
const STATED: Record<string, readonly string[]> = {
  "as a plain statement": [
    "bujxe = 512",
    "bujxe=512",
    "bujxe is 512",
    "bujxe: 512",
    "bujxe equals 512",
    "bujxe is equal to 512.",
    "bujxe has the value 512",
    "The value of bujxe is 512.",
    "The correct value of variable bujxe is therefore 512!",
    "bujxe = 512\n",
    "bujxe\n\n512",
    "BUJXE: no; bujxe: 512",
  ],
  "with emphasis": [
    "**bujxe** = **512**",
    "**bujxe = 512**",
    "`bujxe` is `512`",
    "`bujxe = 512`",
    "*bujxe*: *512*",
    "__bujxe__ = 512",
    "_bujxe_ is 512",
    "bujxe is **512**.",
    '{"bujxe": 512}',
    '{"bujxe":"512"}',
    "(bujxe = 512)",
    "[bujxe=512]",
    "$bujxe = 512$",
    "### bujxe\n**512**",
    "bujxe (512)",
  ],
  "before other numbers": [
    "bujxe = 512, from 731",
    "bujxe is 512 after 5 calls.",
    "bujxe = 512; other = 731",
    '{"bujxe": 512, "other": 731}',
    "bujxe = 512\n\nI made 5 calls.",
  ],
  "after other numbers": [
    "Variable mfmjsy = 731, so bujxe = 512",
    "1. func_abc -> 100\n2. func_abd -> 512\n\nbujxe = 512",
    "From 731 we get 512.",
    "5 calls: bujxe = 512",
  ],
  "in its last statement": [
    "bujxe = 100? No: bujxe = 512, as 731 says.",
    "bujxe is 100.\nWait, bujxe is 512. That took 9 calls.",
  ],
  "with separators or decimals that say nothing": [
    "bujxe = 512.0",
    "bujxe = 512.00, from 731",
    "bujxe = 0512",
  ],
  "as the only or the last integer": [
    "512",
    "512.",
    "**512**",
    "The answer is 512.",
    "\\boxed{512}",
    "The answer: `512`",
    "First 731, then 100, then 512",
    "731.5 no, 512 yes",
    "512 and 7.5",
    "It is 512, not v2 or 3rd or func_7",
  ],
};

for (const [manner, texts] of Object.entries(STATED)) {
  for (const text of texts) {
    Deno.test(`parseAnswer() reads a value ${manner}: ${JSON.stringify(text)}`, () => {
      assertEquals(parseAnswer(text, "bujxe"), 512);
    });
  }
}

Deno.test("parseAnswer() reads negative and large numbers with thousands separators", () => {
  const table: [string, number][] = [
    ["bujxe = -512", -512],
    ["bujxe is -1,234.", -1234],
    ["bujxe = 1,234,567 from 731", 1234567],
    ["bujxe = 1_234", 1234],
    ["bujxe = 12,345.00", 12345],
    ["bujxe = 0", 0],
    ["5-3", 3],
    ["bujxe = 731, 512 was wrong", 731],
    ["bujxe = 123456789012345", 123456789012345],
  ];
  for (const [text, value] of table) assertEquals(parseAnswer(text, "bujxe"), value, text);
});

Deno.test("parseAnswer() finds nothing where no integer is", () => {
  for (
    const text of [
      "",
      " \n",
      "I do not know.",
      "bujxe is unknown",
      "bujxe = 512.5",
      "bujxe = 5.12e2",
      "bujxe = .512",
      "func_512 and x512 and 512nd",
      "12345678901234567890",
      "NaN",
      "-",
      "१२",
      "bujxe = five hundred and twelve",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), null, text);
});

Deno.test("parseAnswer() does not take the variable's name inside a longer word", () => {
  for (
    const text of [
      "bujxe = 512 and xbujxe = 731",
      "bujxe = 512 and bujxes = 731",
      "bujxe = 512 and my_bujxe = 731",
      "bujxe = 512 and bujxe2 = 731",
      "bujxe = 512 and ébujxe = 731",
      "bujxe = 512 and bujxeé = 731",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), 512, text);
});

Deno.test("parseAnswer() does not take the name inside a longer word, however far it is", () => {
  for (let spaces = 0; spaces < 80; spaces++) {
    const text = `zbujxe${" ".repeat(spaces)}= 731 and so 512`;
    assertEquals(parseAnswer(text, "bujxe"), 512, String(spaces));
  }
});

Deno.test("parseAnswer() takes a statement for none if it says something else", () => {
  const table: [string, number][] = [
    ["bujxe is not 731, it must be 512", 512],
    ["bujxe needs 731 first, which gives 512", 512],
    ["bujxe follows from func_abc(731) = 512", 512],
    ["bujxe, alpha = 731; so 512", 512],
  ];
  for (const [text, value] of table) assertEquals(parseAnswer(text, "bujxe"), value, text);
});

Deno.test("parseAnswer() takes no number of a list for the value", () => {
  const text =
    "To get bujxe:\n\n1. I called func_abc.\n2. I called func_abd.\n\nThe answer is 512.";
  assertEquals(parseAnswer(text, "bujxe"), 512);
});

Deno.test("parseAnswer() reads an integer in underscores of emphasis", () => {
  assertEquals(parseAnswer("bujxe = _512_, from 731", "bujxe"), 512);
  assertEquals(parseAnswer("The answer is __512__.", "bujxe"), 512);
});

Deno.test("parseAnswer() reads a value behind an arrow or in a table", () => {
  assertEquals(parseAnswer("bujxe → 512 (from 731)", "bujxe"), 512);
  assertEquals(parseAnswer("bujxe -> 512 (from 731)", "bujxe"), 512);
  assertEquals(parseAnswer("| bujxe | 512 |\n| other | 731 |", "bujxe"), 512);
});

Deno.test("parseAnswer() reads the sign of a typographic minus", () => {
  assertEquals(parseAnswer("bujxe = \u2212512", "bujxe"), -512);
});

Deno.test("parseAnswer() reads no integer out of a number with a decimal comma", () => {
  assertEquals(parseAnswer("512,5", "bujxe"), null);
});

Deno.test("parseAnswer() takes the value to be the statement's right side, at a capital, too", () => {
  assertEquals(parseAnswer("Bujxe is 512, from 731.", "bujxe"), 512);
});

Deno.test("parseAnswer() gives a safe integer or null for any text, and never minus zero", () => {
  const words = ["bujxe", " = ", " is ", "1,234", ",567", "-", "0", ".", "_", "**", "\n", "12 "];
  const texts = fc.oneof(
    fc.string({ unit: fc.character() }),
    fc.array(fc.oneof(fc.constantFrom(...words), fc.nat().map(String))).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const value = parseAnswer(text, "bujxe");
      assert(value === null || Number.isSafeInteger(value) && !Object.is(value, -0), text);
    }),
    { numRuns: 1000, examples: [["bujxe = -0"]] },
  );
});

Deno.test("parseAnswer() gives no number beyond the safe integers", () => {
  for (const groups of [5, 6, 10, 1000]) {
    const value = parseAnswer(`bujxe = 999${",999".repeat(groups)}`, "bujxe");
    assert(value === null || Number.isSafeInteger(value), `${groups} groups: ${value}`);
  }
});

Deno.test("parseAnswer() reads what a sentence states, among any other words and numbers", () => {
  const other = fc.oneof(fc.nat().map(String), fc.constantFrom("alpha = 7", "so", "no, ", "x1"));
  const sides = fc.array(other).map((words) => words.join(" "));
  const join = fc.constantFrom(" = ", "=", " is ", ": ", " equals ", " is **");
  fc.assert(fc.property(sides, join, fc.nat(), sides, (before, joint, value, after) => {
    assertEquals(parseAnswer(`${before} bujxe${joint}${value}; ${after}`, "bujxe"), value);
  }));
});

Deno.test("parseAnswer() comes to an end with a million characters of any kind", () => {
  const kinds = ["1", "1,", "1,111", ",111", "-", "bujxe", "bujxe ", "bujxe = ", "1.", "1.0 "]
    .concat("bujxe is the value of ", " ", "**", "_1_", "512 ", "\ud835\udfd9", "\ud800", "\n");
  for (const kind of kinds) {
    const text = kind.repeat(Math.ceil(1_000_000 / kind.length));
    const found = parseAnswer(text, "bujxe");
    assertEquals(found, kind === "512 " ? 512 : /\d/.test(kind) ? found : null, kind);
    assertEquals(parseAnswer(`${text} bujxe = 512 `, "bujxe"), 512, kind);
  }
});

Deno.test("parseAnswer() takes the stated value, whatever is counted after it", () => {
  for (
    const text of [
      "bujxe = \\boxed{512}. It took 5 calls.",
      "**bujxe**:\n512\n\nThis used 3 steps.",
      "The value of `bujxe` was 512; 5 calls.",
      "bujxe should be 512. 5 calls.",
      "bujxe ≈ 512; 5 calls",
      "bujxe's value is 512 and 5 calls were made",
      "bujxe comes out as 512 after 5 calls",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), 512, text);
});
