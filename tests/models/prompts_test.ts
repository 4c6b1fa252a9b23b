import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { optionFault, STRATEGIES, type StrategyId } from "../../lib/trials/strategies/registry.ts";
import fc from "../support/fast_check.ts";

/** Every text, with the strategy that it belongs to and what it is for. */
const TEXTS = Object.entries(PROMPTS).flatMap(([id, texts]) =>
  Object.entries(texts).map(([name, text]) => ({ id: id as StrategyId, name, text }))
);

Deno.test("fillPrompt() fills in each word wherever it stands, and leaves what it does not know", () => {
  assertEquals(fillPrompt("{a} and {b}, {a} again", { a: "1", b: "2" }), "1 and 2, 1 again");
  assertEquals(fillPrompt("{a}{b}", { a: "", b: "x" }), "x");
  assertEquals(fillPrompt("{unknown} {a}", { a: "1" }), "{unknown} 1");
  assertEquals(
    fillPrompt('{"API": ["name"]} {A} { a } {}', { a: "1" }),
    '{"API": ["name"]} {A} { a } {}',
  );
  assertEquals(fillPrompt("nothing", {}), "nothing");
});

Deno.test("fillPrompt() does not look again at what it has filled in", () => {
  const words = { question: "{tools} {question}", tools: "{question}" };
  assertEquals(fillPrompt("{question}|{tools}", words), "{tools} {question}|{question}");
});

Deno.test("fillPrompt() takes what it fills in literally", () => {
  for (const text of ["$&", "$1", "$$", "$`", "$'", "$<a>", "\\", "\n", "\0", "{", "}"]) {
    assertEquals(fillPrompt("<{a}>", { a: text }), `<${text}>`);
  }
});

Deno.test("fillPrompt() fills in own words only, called as what every object has", () => {
  for (const word of ["constructor", "valueof", "hasownproperty", "tostring"]) {
    assertEquals(fillPrompt(`{${word}}`, {}), `{${word}}`);
  }
  assertEquals(fillPrompt("{constructor}", { constructor: "x" }), "x");
});

Deno.test("fillPrompt() gives the parts around the words as they are, for any text", () => {
  const part = fc.string({ unit: fc.character() }).filter((text) => !/[{}]/.test(text));
  fc.assert(
    fc.property(fc.array(part, { minLength: 1 }), fc.string(), (parts, filling) => {
      assertEquals(fillPrompt(parts.join("{word}"), { word: filling }), parts.join(filling));
    }),
    { numRuns: 300 },
  );
});

Deno.test("PROMPTS are of strategies that there are, each text plain and trimmed", () => {
  for (const { id, name, text } of TEXTS) {
    const where = `${id}.${name}`;
    assert(STRATEGIES.includes(id), where);
    assertEquals(text, text.trim(), where);
    assert(text.length > 80, where);
    // deno-lint-ignore no-control-regex
    assert(!/[^\x0a\x20-\x7e]/.test(text), `${where} has odd characters`);
  }
  assert(TEXTS.length >= 8, `there are ${TEXTS.length}`);
});

Deno.test("PROMPTS may be given as texts of one's own as they are", () => {
  for (const { id, name, text } of TEXTS) {
    assertEquals(optionFault([id], { prompts: { [id]: { [name]: text } } }), undefined);
  }
});

Deno.test("PROMPTS ask with the question and the functions wherever no message has them", () => {
  const asking = TEXTS.filter(({ name }) => ["plan", "route", "final"].includes(name));
  assertEquals(asking.map(({ id }) => id), ["plan_then_call", "route_then_fill", "backward"]);
  for (const { text } of asking) {
    assertStringIncludes(text, "{question}");
    assertStringIncludes(text, "{tools}");
  }
});

Deno.test("PROMPTS of CallNavi say what its appendix does (CallNavi B.3)", () => {
  assertMatch(
    PROMPTS.route_then_fill.route,
    /^Give the API list with descriptions below, then give/,
  );
  assertStringIncludes(
    PROMPTS.route_then_fill.route,
    "NO explanation and NO parameters in the answer!",
  );
  assertStringIncludes(
    PROMPTS.backward.final,
    '{"API": ["name"], "parameters": [{"parameter": "value"}]}',
  );
  assertStringIncludes(PROMPTS.backward.missing, "please write a <!stop> after the full API list");
  assertStringIncludes(PROMPTS.backward.final, '"$$$"');
});
