// Where calls might stand in a text, and with which arguments.
// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLess,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { alignTokens, type TokenSpan } from "../../../lib/toolkit/toolformer/completions_scorer.ts";
import {
  candidatePositions,
  proposeInsertions,
} from "../../../lib/toolkit/toolformer/insertions.ts";
import { lossFrom, type ScoredToken } from "../../../lib/toolkit/toolformer/filter.ts";
import type { ToolSchema } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";
import { assertLinear, assertLinearWork, FACTOR } from "../../support/growth.ts";

/** The article's code, word for word: the numbers of sentences, with the tools that are tried there. */
function articlePositions(text: string): [sentence: number, tool: string][] {
  const candidates: [number, string][] = [];
  for (const [i, sentence] of text.split(". ").entries()) {
    if (["+", "-", "*", "/", "=", "calculate"].some((c) => sentence.includes(c))) {
      candidates.push([i, "calculator"]);
    }
    const lower = sentence.toLowerCase();
    if (["population", "capital", "founded"].some((w) => lower.includes(w))) {
      candidates.push([i, "search"]);
    }
  }
  return candidates;
}

/** Where each sentence of the article begins. */
function beginnings(text: string): number[] {
  const sentences = text.split(". ");
  return sentences.map((_, i) => sentences.slice(0, i).map((one) => `${one}. `).join("").length);
}

Deno.test("candidatePositions() gives the sentences that the article's code does (Pipeline, Constructing Tool Call Datasets)", () => {
  const known: [text: string, tools: string[]][] = [
    ["We calculate it.", ["calculator"]],
    ["a - b", ["calculator"]],
    ["A well-known tale.", ["calculator"]],
    ["CALCULATE it! There are 12", []],
    ["Its Capital is 1/2 of its POPULATION", ["calculator", "search"]],
  ];
  for (const [text, tools] of known) {
    assertEquals(candidatePositions(text), tools.map((tool) => ({ position: 0, tool })), text);
  }
  const parts = fc.constantFrom(
    ...[
      "We calculate",
      "a - b",
      "Calculate",
      "capital",
      "FOUNDED",
      "12",
      ". ",
      ".",
      "! ",
      "\n",
      "é",
    ],
  );
  fc.assert(fc.property(fc.array(parts, { maxLength: 12 }), (words) => {
    const text = words.join("");
    const starts = beginnings(text);
    assertEquals(
      candidatePositions(text),
      articlePositions(text).map(([i, tool]) => ({ position: starts[i]!, tool })),
    );
  }));
});

/** What follows each place within sentences, with the tool. */
function places(text: string, most = 5): string[] {
  return candidatePositions(text, { most })
    .map(({ position, tool }) => `${tool}: ${text.slice(position)}`);
}

Deno.test("candidatePositions() gives the words after a mark where it is told how many", () => {
  assertEquals(places("So 3 * 4 is 12."), [
    "calculator: 4 is 12.",
    "calculator: is 12.",
    "calculator: 12.",
  ]);
  assertEquals(places("He has 12. Its Capital is Oslo. Yes"), [
    "search: is Oslo. Yes",
    "search: Oslo. Yes",
  ]);
  const text = "1 + a b c d e f g";
  assertEquals(places(text).length, 5);
  assertEquals(places(text, 2), [
    "calculator: a b c d e f g",
    "calculator: b c d e f g",
  ]);
});

Deno.test("candidatePositions() gives the beginnings of words, in linear time, whatever the text", () => {
  fc.assert(fc.property(fc.string({ unit: fc.character() }), fc.string(), (one, other) => {
    const text = `${one} 1 = capital ${other}`;
    for (const { position } of candidatePositions(text, { most: 5 })) {
      assert(/\s/.test(text[position - 1]!) && /\S/.test(text[position]!));
    }
  }));
  for (const part of ["1 = ", "a", "1", ". ", "=", "capital\n", "  "]) {
    assertLinear(candidatePositions, "", part);
  }
});

const CALCULATOR: ToolSchema = {
  name: "calculator",
  description: "Calculates",
  parameters: { type: "object", properties: { expression: { type: "string" } } },
  examples: [{ expression: "1 + 1" }],
};
const TEXT = "So 17 + 25 = 42.";
const POSITIONS = [{ position: TEXT.indexOf("42"), tool: "calculator" }];

/** What comes of a reply. */
async function propose(text: string) {
  return await proposeInsertions(scripted("m", [{ text }]), TEXT, {
    tools: [CALCULATOR],
    positions: POSITIONS,
  });
}

Deno.test("proposeInsertions() tells the model the place, the function and its schema, and offers nothing", async () => {
  const prompts: string[] = [];
  const model = scripted("m", ({ messages, tools, context }) => {
    prompts.push(messages.map(({ content }) => content).join("\n"));
    assertEquals(tools, []);
    assertEquals([context.trial, context.request], ["insertions", prompts.length]);
    return { text: "null", usage: { inputTokens: 5, outputTokens: 1 } };
  });
  const { usage } = await proposeInsertions(model, TEXT, { tools: [CALCULATOR] });
  assertEquals(prompts.length, 3);
  assertStringIncludes(prompts[2]!, "So 17 + 25 = <here> 42.");
  assertStringIncludes(prompts[2]!, 'calculator: Calculates\nExample: {"expression":"1 + 1"}');
  assertStringIncludes(prompts[2]!, JSON.stringify(CALCULATOR.parameters));
  assertEquals(usage, { inputTokens: 15, outputTokens: 3 });
});

Deno.test("proposeInsertions() marks the place by what the text does not have", async () => {
  const model = scripted("m", ({ messages: [message] }) => {
    assertStringIncludes(message!.content, "a <here> = <here 2> b");
    return { text: "null" };
  });
  await proposeInsertions(model, "a <here> = b", {
    tools: [CALCULATOR],
    positions: [{ position: 11, tool: "calculator" }],
  });
});

Deno.test("proposeInsertions() reads arguments as models write them", async () => {
  for (
    const said of [
      '{"expression":"17 + 25"}',
      'Sure! Here they are:\n```json\n{"expression": "17 + 25"}\n```',
      "{'expression': '17 + 25',}",
      'The set {a, b} is of no use. {"expression": "17 + 25"} it is.',
    ]
  ) {
    const { insertions, left } = await propose(said);
    assertEquals(insertions, [{ ...POSITIONS[0]!, arguments: { expression: "17 + 25" } }], said);
    assertEquals(left, []);
  }
});

Deno.test("proposeInsertions() tells of places without a call", async () => {
  assertEquals((await propose(" null\n")).left, [
    { ...POSITIONS[0]!, reason: "the model wants no call there" },
  ]);
  for (const said of ["", "42", "[1]", "calculator(17)", "{".repeat(50_000)]) {
    const { insertions, left } = await propose(said);
    assertEquals(insertions, []);
    assertStringIncludes(left[0]!.reason, "the reply holds no arguments");
    assertLess(left[0]!.reason.length, 200);
  }
});

Deno.test("proposeInsertions() leaves the prototypes of objects alone", async () => {
  const { insertions } = await propose('{"__proto__": {"polluted": true}}');
  assertEquals(Object.keys(insertions[0]!.arguments), ["__proto__"]);
  assertEquals(({} as Record<string, unknown>)["polluted"], undefined);
});

Deno.test("proposeInsertions() asks for tools on offer only", async () => {
  const model = scripted("m", () => {
    throw new Error("It was asked");
  });
  const { insertions, left } = await proposeInsertions(model, "The capital is Oslo", {
    tools: [CALCULATOR],
  });
  assertEquals([insertions, left], [[], []]);
});

Deno.test("proposeInsertions() passes on that no reply could be had", async () => {
  const model = scripted("m", () => {
    throw new InfrastructureError("Cannot reach it");
  });
  await assertRejects(
    () => proposeInsertions(model, TEXT, { tools: [CALCULATOR] }),
    InfrastructureError,
    "Cannot reach it",
  );
});

// Losses, worked out by hand.

/** Tokens of two characters each, with these probabilities. */
function tokens(...probabilities: (number | null)[]): ScoredToken[] {
  return probabilities.map((probability, place) => ({
    start: 2 * place,
    end: 2 * place + 2,
    logProbability: probability === null ? null : Math.log(probability),
  }));
}

Deno.test("lossFrom() is the mean of what follows, in nats a token", () => {
  const loss = lossFrom(tokens(null, 0.5, 0.25, 1), 2)!;
  assertAlmostEquals(loss, (Math.log(2) + Math.log(4) + 0) / 3);
});

Deno.test("lossFrom() takes a token that straddles the offset for one that follows", () => {
  assertAlmostEquals(lossFrom(tokens(null, 0.5, 0.25), 3)!, Math.log(8) / 2);
  assertAlmostEquals(lossFrom(tokens(null, 0.5, 0.25), 4)!, Math.log(4));
});

Deno.test("lossFrom() is undefined where nothing counts", () => {
  assertEquals(lossFrom(tokens(null, 0.5), 4), undefined);
  assertEquals(lossFrom(tokens(null), 0), undefined);
  assertEquals(lossFrom([], 0), undefined);
});

// Tokens as servers write them, laid over texts that were cut into them here.

const stretches = (...ends: number[]): TokenSpan[] =>
  ends.map((end, place) => ({ start: ends[place - 1] ?? 0, end }));

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
    const [short, long] = [300, FACTOR * 300].map((length) => align(length, token, text));
    assertLinearWork(short!, long!, JSON.stringify(token));
  }
});
