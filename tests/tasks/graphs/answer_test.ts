import { assert, assertEquals } from "@std/assert";
import { parseAnswer } from "../../../lib/tasks/graphs/answer.ts";
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
    "bujxe → 512 (from 731)",
    "bujxe -> 512 (from 731)",
    "| bujxe | 512 |\n| other | 731 |",
    "Bujxe is 512, from 731.",
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
    "bujxe = _512_, from 731",
    "The answer is __512__.",
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
    "To get bujxe:\n\n1. I called func_abc.\n2. I called func_abd.\n\nThe answer is 512.",
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
    ["bujxe = \u2212512", -512],
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
      "512,5",
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

Deno.test("parseAnswer() reads what a sentence states, among any other words and numbers", () => {
  const other = fc.oneof(fc.nat().map(String), fc.constantFrom("alpha = 7", "so", "no, ", "x1"));
  const sides = fc.array(other).map((words) => words.join(" "));
  const join = fc.constantFrom(" = ", "=", " is ", ": ", " equals ", " is **");
  fc.assert(fc.property(sides, join, fc.nat(), sides, (before, joint, value, after) => {
    assertEquals(parseAnswer(`${before} bujxe${joint}${value}; ${after}`, "bujxe"), value);
  }));
});

Deno.test("parseAnswer() comes to an end with a million characters of any kind", () => {
  const kinds = [
    "1",
    "1,",
    "1,111",
    ",111",
    "-",
    "bujxe",
    "\ue000",
    "bujxe ",
    "bujxe = ",
    "1.",
    "1.0 ",
  ]
    .concat("bujxe is the value of ", " ", "**", "_1_", "512 ", "\ud835\udfd9", "\ud800", "\n")
    .concat(
      "I could not ",
      "cannot find ",
      "bujxe = (a+",
      "kann ",
      "n'a pas ",
      "1 + ",
      "1 = ",
      "a(",
    );
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

// What is no value

Deno.test("parseAnswer() reads no answer out of a text that says there is none, whatever it counts (FuncBenchGen 3.1)", () => {
  for (
    const text of [
      "I called 10 functions but could not find it.",
      "I called **10** different functions and couldn't find the value of bujxe.",
      "I could not determine bujxe. I made 10 calls.",
      "I was unable to find the value after 3 attempts.",
      "After 12 tool calls I still cannot tell.",
      "I don't know: 2 functions failed.",
      "bujxe cannot be determined from qwert = 200 and asdf = 68.",
      "I can't compute bujxe from the given values 200 and 68.",
      "I cannot determine bujxe, as qwert = 200 is all that I know.",
      "The value could not be found in 5 steps.",
      "bujxe is unknown: its function takes 3 inputs.",
      "I could not get the answer (step 4).",
      "I stop here after 7 calls, without the value.",
      "No answer: 4 calls failed.",
      "Ich konnte den Wert nach 10 Aufrufen nicht bestimmen.",
      "Je n'ai pas pu trouver la valeur après 10 appels.",
      "No pude encontrar el valor con 10 funciones.",
      "调用了10个函数，但无法确定。",
      "I made 10 calls.",
      "I couldn't determine bujxe. func_a returned 512.",
      "bujxe could not be found. The last result was 512.",
      "Could not find it, func_xyz gave 512",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), null, text);
});

Deno.test("parseAnswer() reads an answer although the text says that something was not found", () => {
  for (
    const text of [
      "I could not find it at first, but then got 512.",
      "I was unable to find it with 3 functions. Then func_abc gave 512.",
      "I could not find the value directly; bujxe = 512 follows from 731.",
      "I could not call func_abc, but the answer is 512.",
      "The answer is 512. I could not find any errors.",
      "So it is 512; I did not need to find the other 3 values.",
      "512, although I could not verify it",
      "I do not know why, but I got 512.",
      "I cannot say it more clearly:\n512",
      "I could not find it in the first call. But the second one returned 512.",
      "func_abc does not give the value itself; the sum is 512.",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), 512, text);
});

Deno.test("parseAnswer() reads the end of a chain of equations (FuncBenchGen 3.1)", () => {
  for (
    const text of [
      "bujxe = 200 + 312 = 512",
      "bujxe = 200 + 312 = 512, from 731 and 9",
      "bujxe = qwert + 312 = 200 + 312 = 512 (qwert = 200)",
      "bujxe is 200 + 312 = **512**. That took 5 more than 731.",
      "bujxe = func_abc(qwert=200, asdf=312) = 512; qwert = 200",
      "bujxe = func_abc(200, 312) → 512, not 731",
      "**bujxe = 2 * 256 = 512**, where 2 is given",
      "bujxe = 1024 / 2 = 512 and 1024 is given",
      "$bujxe = 2 \\times 256 = 512$ with 256 given",
      "$$\\mathrm{bujxe} = 200 + 312 = \\boxed{512}$$ where 200 is given",
      "bujxe &= 200 + 312 \\\\\n&= 512 \\\\ where qwert is 200",
      "bujxe = 712 - 200 = 512 since 712 was given",
      "bujxe = 512 = 200 + 312",
      "bujxe = (200 + 312) = 512, 731",
      "bujxe = 512 → other = 731",
      "bujxe = 512 - 731 was wrong",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), 512, text);
  assertEquals(parseAnswer("baxkdl = 200 + 68 = 268", "baxkdl"), 268);
  assertEquals(parseAnswer("baxkdl = 200 + 68", "baxkdl"), null, "no value is stated");
});

Deno.test("parseAnswer() tells the answer from what else is said, as a careful reader does", () => {
  for (
    const text of [
      "x = 200, so bujxe is 512 (not 200)",
      "The answer is 512, not 731.",
      "bujxe is not 731 but 512.",
      "The answer is 512, since 731 was given.",
      "\\boxed{512} after the values 100 and 731",
      "**Final answer: 512** (731 was an input)",
      "512 is the value of bujxe, and 731 that of qwert.",
      "So 512 = bujxe, from 731.",
      "It took 3 calls to get 512 in 4 steps.",
      "512 kg",
      "The result is 512 units.",
      "The result is 731. Adding the rest gives 512.",
      "The answer is 731 for qwert, and 512.",
      "bujxe 的值是512。",
      "bujxe的值为512，不是731",
      "Der Wert von bujxe ist 512, nicht 731.",
      "La valeur de bujxe est 512 (et 731 était donné).",
      "El valor de bujxe es 512, de 731.",
      "The answer: 512 (in 10 calls).",
      "- qwert: 731\n* 512",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), 512, text);
});

Deno.test("parseAnswer() takes neither of two values that a text offers", () => {
  for (
    const text of ["bujxe = 512 or 731", "bujxe is **512** or **731**.", "It is either 512 or 731."]
  ) assertEquals(parseAnswer(text, "bujxe"), null, text);
  assertEquals(parseAnswer("bujxe = 512 or, as text, 512", "bujxe"), 512);
});

Deno.test("parseAnswer() reads counts as values where the variable is what is counted", () => {
  assertEquals(parseAnswer("There are 512 attempts", "attempts"), 512);
  assertEquals(parseAnswer("calls = 512 calls", "calls"), 512);
  assertEquals(parseAnswer("bujxe has 2 inputs; it is 512", "bujxe"), 512);
});

Deno.test("parseAnswer() reads any value that is stated, and none of a text that abstains with counts (FuncBenchGen 3.1)", () => {
  const name = fc.stringMatching(/^[b-df-hj-np-tv-z]{5,8}$/);
  const value = fc.integer({ min: -9999, max: 9999 });
  const counts = fc.tuple(
    fc.nat(99),
    fc.constantFrom("functions", "tool calls", "different tools", "steps", "more attempts"),
  ).map(([count, what]) => `${count} ${what}`);
  const stating = fc.constantFrom<(name: string, value: number) => string>(
    (name, value) => `${name} = ${value}`,
    (name, value) => `The value of **${name}** is **${value}**`,
    (name, value) => `$\\text{${name}} = \\boxed{${value}}$`,
    (name, value) => `${name} = 3 + 4 = ${value}`,
    (name, value) => `| ${name} | ${value} |`,
    (name, value) => `${value} is the value of ${name}`,
    (name, value) => `So, after all, ${name}: ${value}`,
  );
  const unable = fc.constantFrom<(name: string) => string>(
    (name) => `I could not find ${name}`,
    (name) => `I was not able to determine the value of ${name}`,
    (name) => `${name} cannot be computed`,
    () => `I don't know the answer`,
    () => `I failed to get it`,
  );
  fc.assert(
    fc.property(name, value, counts, stating, unable, (name, value, counted, state, cannot) => {
      const [stated, abstained] = [state(name, value), cannot(name)];
      for (
        const text of [
          `${stated}.`,
          `I made ${counted}. ${stated}.`,
          `${stated}. It took ${counted}.`,
          `${abstained} at first, with ${counted}. But then: ${stated}.`,
        ]
      ) assertEquals(parseAnswer(text, name), value, text);
      for (
        const text of [
          `${abstained}. I made ${counted}.`,
          `I made ${counted}, but ${abstained}.`,
          `${abstained} with ${counted}`,
          `Given ${value} and 731, ${abstained} in ${counted}.`,
        ]
      ) assertEquals(parseAnswer(text, name), null, text);
    }),
    { numRuns: 500 },
  );
});

Deno.test("parseAnswer() takes only a claim where one is asked for", () => {
  const claimed = (text: string) => parseAnswer(text, "bujxe", { claimed: true });
  for (const text of ["512", "**512**", "It is 512.", "bujxe = ID_512", "\\boxed{512}"]) {
    assertEquals(claimed(text), 512, text);
  }
  for (const text of ["From 731 I got no further", "qwert = 731", "I got 731 from func_abc."]) {
    assertEquals(claimed(text), null, text);
  }
});

Deno.test("parseAnswer() takes no word about something else for an abstention", () => {
  for (
    const text of [
      "The target is 512. I did not find it necessary to call the other functions.",
      "Result of the last call: 512. No value was invented.",
      "The result of func_b is 512, hence the final value. No value was missing.",
      "**512**\n\nfunc_x returned no value, but it was not needed.",
      "The requested variable evaluates to 512. I do not know what it stands for.",
      "func_b returned 512, which is the requested value. I did not compute it by hand.",
      "Calling func_b returned 512. The first call gave no result because of a timeout.",
      "func_a could not be found, its value could not be obtained, and func_b returned 512.",
      "It's 512. No answer could be more certain.",
    ]
  ) assertEquals(parseAnswer(text, "bujxe"), 512, text);
});
