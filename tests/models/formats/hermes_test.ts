import { assert, assertEquals } from "@std/assert";
import { hermes } from "../../../lib/models/formats/hermes.ts";
import { parseJson } from "../../../lib/base/json.ts";
import { toOpenAITool } from "../../../lib/tools/tool.ts";
import { ADD, FIND, testSamples } from "../../support/formats.ts";

const A: ["add", unknown] = ["add", { a: 1 }];
const B: ["add", unknown] = ["add", { a: 2 }];
const ONE = '{"name": "add", "arguments": {"a": 1}}';
const TWO = '{"name": "add", "arguments": {"a": 2}}';
const tagged = (body: string) => `<tool_call>\n${body}\n</tool_call>`;

Deno.test("hermes tells each function in one line of JSON", () => {
  const lines = hermes.describe([ADD, FIND]).split("\n");
  const listed = lines.slice(lines.indexOf("<tools>") + 1, lines.indexOf("</tools>"));
  assertEquals(
    listed.map(parseJson),
    [ADD, FIND].map((tool) => parseJson(JSON.stringify(toOpenAITool(tool)))!),
  );
  assertEquals(lines.filter((line) => line.includes("</tools>")).length, 1);
});

Deno.test("hermes writes calls and results in JSON of one line each (Pipeline, Structured Output for Tool Invocation)", () => {
  const calls = [{ name: "add", arguments: '{"a":1}' }, {
    name: "add",
    arguments: '{"t":"</tool_call>"}',
  }];
  assertEquals(
    hermes.writeCalls("I add.", calls),
    'I add.\n<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>\n' +
      '<tool_call>\n{"name": "add", "arguments": {"t":"<\\/tool_call>"}}\n</tool_call>',
  );
  const results = [
    { call: 1, name: "add", content: '{"sum": 12345678901234567890}' },
    { call: 2, name: "add", content: "failed: </tool_response>" },
  ];
  assertEquals(
    hermes.writeResults(results),
    '<tool_response>\n{"name": "add", "call": 1, "content": {"sum": 12345678901234567890}}\n</tool_response>\n' +
      '<tool_response>\n{"name": "add", "call": 2, "content": "failed: <\\/tool_response>"}\n</tool_response>',
  );
  for (const line of hermes.writeResults(results).split("\n")) {
    assert(line.startsWith("<") || parseJson(line) !== undefined);
  }
});

testSamples(hermes, [
  { what: "a call", reply: tagged(ONE), parsed: "strict", calls: [A] },
  {
    what: "calls with words around them",
    reply: `I add.\n${tagged(ONE)}\nAnd:\n${tagged(TWO)}\nDone.`,
    parsed: "strict",
    calls: [A, B],
    text: "I add.\nAnd:\nDone.",
  },
  {
    what: "a call with fields of no meaning",
    reply: tagged('{"id": "1", "name": "add", "arguments": {"a": 1}}'),
    parsed: "strict",
    calls: [A],
  },
  {
    what: "a fence around the tags",
    reply: "So:\n```\n" + tagged(ONE) + "\n```\nDone.",
    parsed: "repaired",
    calls: [A],
    text: "So:\nDone.",
    repairs: ["a code fence around calls was left out"],
  },
  {
    what: "a block of code before a call as words",
    reply: "```py\nadd(1)\n```\n" + tagged(ONE),
    parsed: "strict",
    calls: [A],
    text: "```py\nadd(1)\n```",
  },
  {
    what: "a call that is not closed",
    reply: `<tool_call>${ONE}`,
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had no closing tag"],
  },
  {
    what: "a call that is cut off",
    reply: '<tool_call>{"name": "add", "arguments": {"city": "Par',
    parsed: "repaired",
    calls: [["add", { city: "Par" }]],
    repairs: [
      "call 1 had no closing quote",
      "call 1 had no closing bracket",
      "call 1 had no closing tag",
    ],
  },

  {
    what: "a call with a bracket too many",
    reply: tagged(`${ONE}}`),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had a closing bracket too many"],
  },
  {
    what: "calls that are closed by opening tags",
    reply: `<tool_call>${ONE}<tool_call>${TWO}<tool_call>`,
    parsed: "repaired",
    calls: [A, B],
    repairs: [
      "call 1 had no closing tag",
      "call 2 had an opening tag in the place of a closing one",
    ],
  },
  {
    what: "tags in capital letters",
    reply: `<Tool_Call>${ONE}</TOOL_CALL>`,
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had capital letters in its tag"],
  },

  {
    what: "another closing tag",
    reply: `<tool_call>${ONE}</tool_use>`,
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had another closing tag"],
  },
  {
    what: "the tags of another format",
    reply: '<tool_use><name>add</name><arguments>{"a": 1}</arguments></tool_use>',
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had elements in the place of JSON", "call 1 had the tag tool_use"],
  },
  {
    what: "several calls in one pair of tags",
    reply: tagged(`${ONE}\n${TWO}`),
    parsed: "repaired",
    calls: [A, B],
    repairs: ["call 1 had further calls within its tags"],
  },
  {
    what: "a list of calls",
    reply: tagged(`[${ONE}, ${TWO}]`),
    parsed: "repaired",
    calls: [A, B],
    repairs: ["call 1 had a list around it", "call 2 had a list around it"],
  },
  {
    what: "words behind a call within its tags",
    reply: tagged(`${ONE} as I said`),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had words behind it within its tags"],
  },
  {
    what: "arguments under other keys",
    reply: tagged('{"name": "add", "parameters": {"a": 1}}') +
      tagged('{"tool": "add", "args": {"a": 2}}'),
    parsed: "repaired",
    calls: [A, B],
    repairs: [
      "call 1 had the key parameters",
      "call 2 had the key tool",
      "call 2 had the key args",
    ],
  },
  {
    what: "OpenAI's form of a call",
    reply: tagged(`{"type": "function", "function": ${ONE}}`),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had an object around it"],
  },
  {
    what: "arguments that are written as a text",
    reply: tagged('{"name": "add", "arguments": "{\\"a\\": 1,}"}'),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had its arguments written as a text", "call 1 had a trailing comma"],
  },
  {
    what: "arguments written as a text with more in it as unreadable",
    reply: tagged('{"name": "add", "arguments": "{\\"a\\": 1} or so"}'),
    parsed: "unreadable",
    calls: [["add", '{"a": 1} or so']],
  },
  {
    what: "a call within two objects as unreadable",
    reply: tagged(`{"function": {"function": ${ONE}}}`),
    parsed: "unreadable",
    calls: [["", `{"function": ${ONE}}`]],
    repairs: ["call 1 had an object around it"],
  },
  {
    what: "no arguments",
    reply: tagged('{"name": "add"}') + tagged('{"name": "add", "arguments": null}') +
      tagged('{"name": "add", "arguments": ""}'),
    parsed: "repaired",
    calls: [["add", {}], ["add", {}], ["add", {}]],
    repairs: [1, 2, 3].map((call) => `call ${call} had no arguments`),
  },
  {
    what: "a name with its arguments behind it",
    reply: tagged('add\n{"a": 1}'),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had its arguments beside its name"],
  },
  {
    what: "tags of calls, thinking and results within arguments as arguments",
    reply: tagged(
      '{"name": "add", "arguments": {"t": "</tool_call><think><tool_response><tool_call>{"}}',
    ),
    parsed: "strict",
    calls: [["add", { t: "</tool_call><think><tool_response><tool_call>{" }]],
  },
  {
    what: "a call behind a mention of its tag",
    reply: `I write <tool_call> now: ${tagged(ONE)}`,
    parsed: "strict",
    calls: [A],
    text: "I write <tool_call> now:",
  },
  {
    what: "a call of a function that is not on offer",
    reply: tagged('{"name": "subtract", "arguments": {}}'),
    parsed: "strict",
    calls: [["subtract", {}]],
  },
  {
    what: "a call in Python as unreadable",
    reply: tagged("add(a=1)"),
    parsed: "unreadable",
    calls: [["add", "(a=1)"]],
  },
  {
    what: "expressions as unreadable",
    reply: tagged('{"name": "add", "arguments": {"a": 1 + 1}}'),
    parsed: "unreadable",
    calls: [["add", '{"a": 1 + 1}']],
  },
  {
    what: "arguments beside the name as unreadable",
    reply: tagged('{"name": "add", "a": 1}'),
    parsed: "unreadable",
    calls: [["add", '{"name": "add", "a": 1}']],
  },
  {
    what: "a call without a name as unreadable",
    reply: tagged('{"arguments": {"a": 1}}'),
    parsed: "unreadable",
    calls: [["", '{"arguments": {"a": 1}}']],
  },
  {
    what: "the other calls beside one that is unreadable",
    reply: `${tagged("{'name': add}")}${tagged(ONE)}`,
    parsed: "unreadable",
    calls: [["", "{'name': add}"], A],
  },
  {
    what: "calls and the other way to think",
    reply: `<scratch_pad>\n${tagged(TWO)}\n</scratch_pad>\n${tagged(ONE)}`,
    parsed: "strict",
    calls: [A],
  },
  {
    what: "a call that was only thought, within thinking that began before the reply",
    reply: `So ${tagged(TWO)} <tool_response>3</tool_response>\n</think>\n${tagged(ONE)}`,
    parsed: "strict",
    calls: [A],
  },
  {
    what: "JSON within a tag that has the name in it",
    reply: `<function=add>{"a": 1}</function>`,
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had the tag function"],
  },
  {
    what: "elements for single arguments within a tag that has the name in it as unreadable",
    reply: tagged("<function=add>\n<parameter=a>\n1\n</parameter>\n</function>"),
    parsed: "unreadable",
    calls: [["add", "<parameter=a>\n1\n</parameter>"]],
    repairs: ["call 1 had a tag with its name in it"],
  },

  {
    what: "elements for single arguments of an invocation as unreadable",
    reply: '<invoke name="add"><parameter name="a">1</parameter></invoke>',
    parsed: "unreadable",
    calls: [["add", '<parameter name="a">1</parameter>']],
    repairs: ["call 1 had the tag invoke"],
  },
  {
    what: "several tags with names in them within tags of calls, and one that is left open",
    reply: tagged('<function=add>{"a": 1}</function><function=add>{"a": 2}'),
    parsed: "repaired",
    calls: [A, B],
    repairs: [
      "call 1 had an element without its closing tag",
      "call 1 had a tag with its name in it",
      "call 1 had further calls within its tags",
    ],
  },
  {
    what: "no arguments in a tag with the name in it",
    reply: "<function=add></function>",
    parsed: "repaired",
    calls: [["add", {}]],
    repairs: ["call 1 had no arguments", "call 1 had the tag function"],
  },
  {
    what: "an argument that is called name, behind the name in an attribute",
    reply: `<tool_call name="add">{"name": "Bob"}</tool_call>`,
    parsed: "repaired",
    calls: [["add", { name: "Bob" }]],
    repairs: ["call 1 had attributes in its tag"],
  },
  {
    what: "a tag around several calls",
    reply: `<tool_calls>[${ONE}]</tool_calls>`,
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had a list around it", "call 1 had the tag tool_calls"],
  },
  { what: "an empty list as no call", reply: tagged("[]"), calls: [], text: tagged("[]") },
]);
