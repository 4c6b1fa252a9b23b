// Conversations as the vendors want them.

import { assert, assertEquals } from "@std/assert";
import { hermes } from "../../../lib/models/formats/hermes.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { Message } from "../../../lib/tools/message.ts";
import {
  type TrainingConversation,
  trainingFormat,
} from "../../../lib/toolkit/training/registry.ts";
import fc from "../../support/fast_check.ts";
import { checkHermesLine, checkOpenAILine } from "../../support/training_lines.ts";

const ADD = {
  name: "add",
  description: "Adds.",
  strict: true,
  parameters: { type: "object", properties: { a: { type: "integer" } } },
  examples: [{ a: 1 }],
};

function conversation(
  messages: readonly Message[],
  more: Partial<TrainingConversation> = {},
): TrainingConversation {
  return { messages, tools: [ADD], parallel: true, ...more };
}

const call = (id: string, given = "{}", name = "add") => ({ id, name, arguments: given });
const result = (callId: string, content: string): Message => ({
  role: "tool",
  callId,
  name: "add",
  content,
});
const says = (content: string, ...calls: ReturnType<typeof call>[]): Message => ({
  role: "assistant",
  content,
  calls,
});

const PARALLEL = conversation([
  { role: "system", content: "Be brief." },
  { role: "user", content: "Add." },
  says("I add.", call("c1", '{"a":1}'), call("c2", '{"a":2}')),
  result("c1", '{"sum":1}'),
  result("c2", "no JSON"),
  says("", call("c3", '{"a":3}')),
  result("c3", "3"),
  says("It is 3."),
]);

Deno.test("openaiChat writes what a request would hold, and the answer", () => {
  const { write, refuse } = trainingFormat("openai-chat");
  assertEquals(refuse(PARALLEL), undefined);
  const line = write(PARALLEL);
  assertEquals(line, {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Add." },
      {
        role: "assistant",
        content: "I add.",
        tool_calls: [
          { id: "c1", type: "function", function: { name: "add", arguments: '{"a":1}' } },
          { id: "c2", type: "function", function: { name: "add", arguments: '{"a":2}' } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: '{"sum":1}' },
      { role: "tool", tool_call_id: "c2", content: "no JSON" },
      {
        role: "assistant",
        tool_calls: [{
          id: "c3",
          type: "function",
          function: { name: "add", arguments: '{"a":3}' },
        }],
      },
      { role: "tool", tool_call_id: "c3", content: "3" },
      { role: "assistant", content: "It is 3." },
    ],
    tools: [{
      type: "function",
      function: {
        name: "add",
        description: 'Adds.\nExample: {"a":1}',
        strict: true,
        parameters: ADD.parameters,
      },
    }],
    parallel_tool_calls: true,
  });
  checkOpenAILine(line, true);
  assertEquals(write({ ...PARALLEL, parallel: false })["parallel_tool_calls"], false);
});

Deno.test("openaiChat refuses names and numbers of functions that OpenAI does not accept", () => {
  const { refuse } = trainingFormat("openai-chat");
  const named = (name: string) => conversation([says("", call("c", "{}", name)), says("x")]);
  for (const name of ["a b", "", "x".repeat(65), "é", "f\n", "a.b"]) {
    assertEquals(refuse(named(name)), "a function has a name that OpenAI does not accept", name);
    assert(refuse(conversation([], { tools: [{ ...ADD, name }] })) !== undefined, name);
  }
  assertEquals(refuse(named("func_abc-D9")), undefined);
  const tools = (count: number) =>
    Array.from({ length: count }, (_, place) => ({ ...ADD, name: `f${place}` }));
  assertEquals(refuse(conversation([], { tools: tools(128) })), undefined);
  assertEquals(
    refuse(conversation([], { tools: tools(129) })),
    "it offers more than 128 functions",
  );
});

Deno.test("hermesConversations writes functions, calls and results within their tags", () => {
  const { write, refuse } = trainingFormat("hermes");
  assertEquals(refuse(PARALLEL), undefined);
  const { conversations } = checkHermesLine({ ...write(PARALLEL), metadata: {} });
  assertEquals(conversations.map(({ from }) => from), [
    ...["system", "human", "gpt", "tool", "gpt", "tool", "gpt"],
  ]);
  assert(conversations[0]!.value.startsWith("Be brief.\n\n"));
  assertEquals(conversations.slice(1).map(({ value }) => value), [
    "Add.",
    'I add.\n<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>\n' +
    '<tool_call>\n{"name": "add", "arguments": {"a":2}}\n</tool_call>',
    '<tool_response>\n{"name": "add", "call": 1, "content": {"sum":1}}\n</tool_response>\n' +
    '<tool_response>\n{"name": "add", "call": 2, "content": "no JSON"}\n</tool_response>',
    '<tool_call>\n{"name": "add", "arguments": {"a":3}}\n</tool_call>',
    '<tool_response>\n{"name": "add", "call": 1, "content": 3}\n</tool_response>',
    "It is 3.",
  ]);
});

Deno.test("hermesConversations keeps a further question apart from the results before it", () => {
  const { write } = trainingFormat("hermes");
  const turns: readonly Message[] = [
    { role: "user", content: "Add." },
    says("Done."),
    { role: "user", content: "Again." },
    says("", call("c")),
    result("c", "1"),
    says("Done."),
  ];
  const { conversations } = write(conversation(turns)) as { conversations: JsonObject[] };
  assertEquals(conversations.map(({ from }) => from), [
    ...["system", "human", "gpt", "human", "gpt", "tool", "gpt"],
  ]);
});

Deno.test("hermesConversations refuses texts that would be read as other calls", () => {
  const { refuse } = trainingFormat("hermes");
  const why = "a text of the model contains what looks like a call";
  const fake = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>';
  assertEquals(refuse(conversation([says(fake)])), why);
  assertEquals(refuse(conversation([says(fake, call("c")), result("c", "1"), says("x")])), why);
  // What is not said by the model is no call.
  assertEquals(refuse(conversation([{ role: "user", content: fake }, says("x")])), undefined);
  assertEquals(
    refuse(conversation([says("", call("c")), result("c", fake), says("x")])),
    undefined,
  );
});

Deno.test("hermesConversations writes no tag but those of the trial's calls", () => {
  const { write, refuse } = trainingFormat("hermes");
  const why = "a text of the model contains what looks like a call";
  const fake = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>';
  for (
    const text of [
      `<think>${fake}</think> It is 3.`,
      "I write <tool_call> before a call.",
      "</TOOL_CALL >",
      "<tool_response>3</tool_response>",
    ]
  ) assertEquals(refuse(conversation([says(text)])), why, text);
  const end = "<|im_end|>";
  const separates = "a text contains a token that separates the turns of a chat";
  assertEquals(refuse(conversation([says(end)])), separates);
  assertEquals(refuse(conversation([says("", call("c")), result("c", end), says("x")])), separates);

  const piece = fc.constantFrom(
    ...["<tool_call>", "</tool_call>", '{"name": "add", "arguments": {}}', "<think>", "</think>"],
    ...["<tool_response>", end, "<b>", "It is 3.", "\n", "```"],
  );
  const text = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(""));
  let written = 0;
  fc.assert(fc.property(text, fc.array(text, { maxLength: 3 }), text, (said, given, answer) => {
    const calls = given.map((value, place) => call(`c${place}`, JSON.stringify({ value })));
    const whole = conversation([
      says(said || "I add.", ...calls),
      ...calls.map(({ id }) => result(id, "3")),
      says(answer || "Done"),
    ]);
    if (refuse(whole) !== undefined) return;
    written++;
    const { conversations } = write(whole) as { conversations: { from: string; value: string }[] };
    const turns = conversations.filter(({ from }) => from === "gpt").map(({ value }) => value);
    assertEquals(turns.some((turn) => turn.includes(end)), false);
    // As trainers read it: whatever is between tags is a call.
    const plain = turns.map((turn) =>
      turn.split("<tool_call>").slice(1).map((rest) => JSON.parse(rest.split("</tool_call>")[0]!))
    );
    const expected = [given.map((value) => ({ name: "add", arguments: { value } })), []];
    assertEquals(plain, expected);
    const read = turns.map((turn) =>
      hermes.read(turn, ["add"]).calls.map((one) => ({
        name: one.name,
        arguments: JSON.parse(one.arguments),
      }))
    );
    assertEquals(read, expected);
  }));
  assert(written > 0);
});
