// Where calls might stand in a text, and with which arguments.

import { assert, assertEquals, assertLess, assertRejects, assertStringIncludes } from "@std/assert";
import {
  candidatePositions,
  type CandidateRule,
  proposeInsertions,
} from "../../../lib/toolkit/toolformer/insertions.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import type { ToolSchema } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";
import { assertLinear } from "../../support/growth.ts";

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
function places(text: string, rules?: readonly CandidateRule[], most = 5): string[] {
  return candidatePositions(text, rules, { most })
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
  assertEquals(places(text, undefined, 2), [
    "calculator: a b c d e f g",
    "calculator: b c d e f g",
  ]);
});

Deno.test("candidatePositions() takes rules of one's own, in their order", () => {
  const rules = [
    { tool: "dates", search: (sentence: string) => sentence.indexOf("on") },
    { tool: "places", search: (sentence: string) => sentence.indexOf("in") },
    { tool: "never", search: () => NaN },
  ];
  assertEquals(places("in X on Monday", rules), [
    "dates: Monday",
    "places: X on Monday",
    "places: on Monday",
    "places: Monday",
  ]);
});

Deno.test("candidatePositions() gives the beginnings of words, in linear time, whatever the text", () => {
  fc.assert(fc.property(fc.string({ unit: fc.character() }), fc.string(), (one, other) => {
    const text = `${one} 1 = capital ${other}`;
    for (const { position } of candidatePositions(text, undefined, { most: 5 })) {
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

Deno.test("proposeInsertions() asks as it is told to", async () => {
  const model = scripted("m", ({ messages: [message] }) => {
    assertEquals(message!.content, "<here>|So 17 + 25 = <here> 42.|{other}");
    return { text: "null" };
  });
  await proposeInsertions(model, TEXT, {
    tools: [CALCULATOR],
    positions: POSITIONS,
    prompt: "{mark}|{text}|{other}",
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
