import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InfrastructureError, type ModelRequest } from "../../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { findParameters, type Query } from "../../../lib/perturbations/queries/parameters.ts";
import { perturbQuery } from "../../../lib/perturbations/queries/perturb.ts";
import { WRITER } from "../../../lib/perturbations/queries/write.ts";
import { modelWriter } from "../../../lib/perturbations/queries/model_writer.ts";
import { fork } from "../../../lib/base/random.ts";

const TEXT = "From Rome to Paris for 731 euros.";
const QUERY: Query = {
  text: TEXT,
  parameters: findParameters(TEXT, [{ arguments: { from: "Rome", to: "Paris", price: 731 } }]),
};
const ONE: Query = { text: TEXT, parameters: QUERY.parameters.slice(1, 2) };
const [PARIS] = ONE.parameters;

/** A model that says these texts one after another, and the requests that it got. */
function saying(...replies: (string | ScriptedReply)[]) {
  const requests: ModelRequest[] = [];
  const model = scripted("double", (request) => {
    const reply = replies[requests.push(request) - 1];
    assert(reply !== undefined, "it is asked too often");
    return typeof reply === "string" ? { text: reply } : reply;
  });
  return { model, requests };
}

/** Why a text for Paris cannot be used; `undefined` when it is used, as it stands. */
async function faultOf(text: string, method: "CP" | "AN" = "CP"): Promise<string | undefined> {
  const { model } = saying(text);
  const writer = await modelWriter(model, ONE, method, { retries: 0 });
  return writer.fallbacks[0]?.reason;
}

Deno.test("modelWriter() asks once for each parameter, and writes what it got (Butterfly 4.2, A.3.2)", async () => {
  const phrases = ["the capital of Italy", "the city of light", "seven hundred and thirty-one"];
  const { model, requests } = saying(...phrases);
  const writer = await modelWriter(model, QUERY, "CP");
  assertEquals(requests.length, 3);
  assertEquals(
    perturbQuery("CP", QUERY, { seed: 1, writer }).value.text,
    "From the capital of Italy to the city of light for seven hundred and thirty-one euros.",
  );
  assertEquals(writer.fallbacks, []);
  for (const [place, { messages, tools, context }] of requests.entries()) {
    const { name, value } = QUERY.parameters[place]!;
    assertEquals([messages.length, messages[0]!.role, tools.length], [1, "user", 0]);
    assertStringIncludes(messages[0]!.content, TEXT);
    assertStringIncludes(messages[0]!.content, `${name}: ${value}`);
    assertEquals(context, { trial: "perturb", repetition: 1, request: place + 1, stage: "CP" });
  }
});

Deno.test("modelWriter() asks for a sentence where one is to be appended", async () => {
  const { model, requests } = saying("My sister went to Lyon.");
  const writer = await modelWriter(model, ONE, "AN", { trial: "t1" });
  assertEquals(
    perturbQuery("AN", ONE, { seed: 1, writer }).value.text,
    `${TEXT} My sister went to Lyon.`,
  );
  assertStringIncludes(requests[0]!.messages[0]!.content, "one sentence");
  assertEquals(requests[0]!.context.trial, "t1");
  // For the other method it has asked nothing.
  assertEquals(
    writer.complicate(PARIS!, fork(1, "x")),
    WRITER.complicate(PARIS!, fork(1, "x")),
  );
});

Deno.test("modelWriter() takes one printable line without any value of the query", async () => {
  const usable = ["the city of light", "Σίτυ", "x".repeat(300), "it's a “city”"];
  for (const text of usable) assertEquals(await faultOf(text), undefined, text);
  const faults: [string, RegExp][] = [
    ["", /empty/],
    [" \n ", /empty/],
    ["the city\nof light", /more than one line/],
    ["a\r\nb", /more than one line/],
    ["x".repeat(301), /longer than 300 characters/],
    ["red \u001b[31mcity", /printed/],
    ["a\tb", /printed/],
    ["half \ud800", /printed/],
    ["a\u202eb", /printed/],
    ["the PARISIAN region", /contains a value/],
  ];
  for (const [text, reason] of faults) {
    const fault = await faultOf(text);
    assert(fault !== undefined && reason.test(fault), `${JSON.stringify(text)}: ${fault}`);
  }
  const { model } = saying("north of Rome", "north of Rome", "north of Lyon");
  const writer = await modelWriter(model, QUERY, "CP", { retries: 0 });
  assertEquals(writer.fallbacks.map(({ name }) => name), ["from", "to"]);
});

Deno.test("modelWriter() takes quotes away that stand around all of it", async () => {
  const cases: [string, string][] = [
    [' "the city of light" \n', "the city of light"],
    ["`the city`", "the city"],
    ["“the city”", "the city"],
    ['"a" and "b"', '"a" and "b"'],
    ["'tis", "'tis"],
  ];
  for (const [text, written] of cases) {
    const writer = await modelWriter(saying(text).model, ONE, "CP");
    assertEquals(writer.complicate(PARIS!, fork(1)), written);
  }
});

Deno.test("modelWriter() with AN takes nothing that is there already", async () => {
  assertEquals(await faultOf("for", "AN"), "the query contains it already");
  assertEquals(await faultOf("for", "CP"), undefined);
  const { model } = saying("It was Lyon.", "It was Lyon.", "It was Milan.", "It was 700.");
  const writer = await modelWriter(model, QUERY, "AN");
  assertEquals(
    perturbQuery("AN", QUERY, { seed: 1, writer }).value.text,
    `${TEXT} It was Lyon. It was Milan. It was 700.`,
  );
});

Deno.test("modelWriter() takes no text for two parameters", async () => {
  const { model } = saying("I cannot help.", "I cannot help.", "a city", "a city");
  const { fallbacks } = await modelWriter(model, QUERY, "CP", { retries: 0 });
  assertEquals(fallbacks, [{
    name: "to",
    reason: "the model wrote the same for another parameter",
  }]);
});

Deno.test("modelWriter() asks again as often as it is told, and then falls back", async () => {
  const { model, requests } = saying("Paris", "in Paris", "", "never asked for");
  const writer = await modelWriter(model, ONE, "CP", { retries: 2 });
  assertEquals(requests.map(({ context }) => context.request), [1, 2, 3]);
  assertEquals(writer.fallbacks, [{ name: "to", reason: "it is empty" }]);
  assertEquals(perturbQuery("CP", ONE, { seed: 5, writer }), perturbQuery("CP", ONE, { seed: 5 }));
  const second = saying("Paris", "the city of light", "never asked for");
  const good = await modelWriter(second.model, ONE, "CP");
  assertEquals([second.requests.length, good.fallbacks], [2, []]);
  assertEquals(good.complicate(PARIS!, fork(1)), "the city of light");
});

Deno.test("modelWriter() varies the sentences of those that it falls back for", async () => {
  const text = "10:30, 12:15.";
  const query = {
    text,
    parameters: findParameters(text, [{ arguments: { a: "10:30", b: "12:15" } }]),
  };
  const writer = await modelWriter(saying("", "").model, query, "AN", { retries: 0 });
  for (let seed = 1; seed <= 20; seed++) {
    const { value } = perturbQuery("AN", query, { seed, writer });
    assertStringIncludes(value.text, "Yesterday it was at ");
    assertStringIncludes(value.text, "My colleague begins at ");
  }
});

Deno.test("modelWriter() does not use a text that was cut off, and sums up the tokens", async () => {
  const usage = { inputTokens: 10, outputTokens: 5 };
  const { model } = saying({ text: "the city of", finish: "length", usage }, {
    text: "a b",
    usage,
  });
  const writer = await modelWriter(model, ONE, "CP");
  assertEquals(writer.complicate(PARIS!, fork(1)), "a b");
  assertEquals(writer.usage, { inputTokens: 20, outputTokens: 10 });
  const cut = saying({ text: "the city of", finish: "length" });
  const { fallbacks } = await modelWriter(cut.model, ONE, "CP", { retries: 0 });
  assertEquals(fallbacks, [{ name: "to", reason: "the model ran out of tokens" }]);
});

Deno.test("modelWriter() throws what the model throws, and passes the signal on", async () => {
  const failure = new InfrastructureError("no such server");
  const failing = scripted("double", () => {
    throw failure;
  });
  const thrown = await assertRejects(() => modelWriter(failing, ONE, "CP"), InfrastructureError);
  assert(thrown === failure);
  const controller = new AbortController();
  const { model, requests } = saying("a b");
  await modelWriter(model, ONE, "CP", { signal: controller.signal });
  assert(requests[0]!.signal === controller.signal);
});

Deno.test("modelWriter() takes hostile names, values and queries", async () => {
  const text = "{value} {name} \ud800 Paris";
  const hostile: Query = {
    text,
    parameters: [
      { name: "__proto__", value: "Paris", spans: [{ start: 17, end: 22 }] },
      { name: "constructor", value: ["Paris"], spans: [{ start: 0, end: 7 }] },
      { name: "n".repeat(5_000), value: true, spans: [{ start: 8, end: 14 }] },
    ],
  };
  const { model, requests } = saying("one", "two", "three");
  const writer = await modelWriter(model, hostile, "CP");
  assertEquals(perturbQuery("CP", hostile, { seed: 1, writer }).value.text, "two three \ud800 one");
  const prompts = requests.map(({ messages }) => messages[0]!.content);
  assertStringIncludes(prompts[0]!, "{value} {name} \ufffd Paris\n");
  assertStringIncludes(prompts[1]!, "constructor: {value}\n");
  assert(prompts.every((prompt) => prompt.isWellFormed() && prompt.length < 2_000));
  const none = await modelWriter(saying().model, { text, parameters: [] }, "AN");
  assertEquals([none.fallbacks, none.usage], [[], { inputTokens: 0, outputTokens: 0 }]);
});
