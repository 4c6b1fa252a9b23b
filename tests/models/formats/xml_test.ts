import { assertEquals } from "@std/assert";
import { xml } from "../../../lib/models/formats/_xml.ts";
import { ADD, FIND, testSamples } from "../../support/formats.ts";

const A: ["add", unknown] = ["add", { a: 1 }];
const used = (...parts: readonly string[]) => `<tool_use>\n${parts.join("\n")}\n</tool_use>`;
const NAME = "<name>add</name>";
const GIVEN = '<arguments>{"a": 1}</arguments>';

Deno.test("xml tells functions in elements, out of which nothing in them can break", () => {
  const told = xml.describe([ADD, FIND]);
  assertEquals(told.match(/<tool_definition>/g)?.length, 2);
  assertEquals(told.match(/<\/tool_definition>/g)?.length, 2);
  assertEquals(
    xml.describe([{ name: "f", description: "Does.", parameters: { type: "object" } }])
      .split("\n").slice(1, 6),
    [
      "<tool_definition>",
      "<name>f</name>",
      "<description>Does.</description>",
      '<parameters>{"type":"object"}</parameters>',
      "</tool_definition>",
    ],
  );
});

Deno.test("xml writes calls and results as elements (Pipeline, Structured Output for Tool Invocation)", () => {
  assertEquals(
    xml.writeCalls("I add.", [{ name: "add", arguments: '{"t":"</arguments>"}' }]),
    'I add.\n<tool_use>\n<name>add</name>\n<arguments>{"t":"<\\/arguments>"}</arguments>\n</tool_use>',
  );
  assertEquals(
    xml.writeResults([{ call: 2, name: "add", content: "3 </Tool_Result>" }]),
    "<tool_result>\n<call>2</call>\n<name>add</name>\n<content>3 <\\/Tool_Result></content>\n</tool_result>",
  );
});

testSamples(xml, [
  { what: "a call", reply: used(NAME, GIVEN), parsed: "strict", calls: [A] },
  {
    what: "a call with spaces around everything",
    reply:
      '<tool_use>\n  <name> add </name>\n\n  <arguments>\n{\n "a": 1}\n</arguments>\n </tool_use>',
    parsed: "strict",
    calls: [A],
  },
  { what: "arguments before the name", reply: used(GIVEN, NAME), parsed: "strict", calls: [A] },
  {
    what: "calls with words around them",
    reply: `I add.\n${used(NAME, GIVEN)}\nAnd:\n${used(NAME, GIVEN)}\nDone.`,
    parsed: "strict",
    calls: [A, A],
    text: "I add.\nAnd:\nDone.",
  },
  {
    what: "tags within arguments as arguments",
    reply: used(NAME, '<arguments>{"t": "</arguments></tool_use><tool_use><think>"}</arguments>'),
    parsed: "strict",
    calls: [["add", { t: "</arguments></tool_use><tool_use><think>" }]],
  },
  {
    what: "tags that are left open, one after the other",
    reply: '<tool_use><name>add<arguments>{"a": 1',
    parsed: "repaired",
    calls: [A],
    repairs: [
      "call 1 had no closing bracket",
      "call 1 had an element without its closing tag",
      "call 1 had an element without its closing tag",
      "call 1 had no closing tag",
    ],
  },
  {
    what: "arguments that are not closed before the call is",
    reply: `<tool_use>${NAME}<arguments>{'a': 1</tool_use>`,
    parsed: "repaired",
    calls: [A],
    repairs: [
      "call 1 had single quotes",
      "call 1 had no closing bracket",
      "call 1 had an element without its closing tag",
    ],
  },
  {
    what: "a call that is not closed before the next one",
    reply: `<tool_use>${NAME}${GIVEN}\n${used(NAME, GIVEN)}`,
    parsed: "repaired",
    calls: [A, A],
    repairs: ["call 1 had no closing tag"],
  },
  {
    what: "several calls in one pair of tags",
    reply: used(NAME, GIVEN, NAME, '<arguments>{"a": 2}</arguments>'),
    parsed: "repaired",
    calls: [A, ["add", { a: 2 }]],
    repairs: ["call 1 had further calls within its tags"],
  },
  {
    what: "arguments that come twice, once",
    reply: used(NAME, GIVEN, '<arguments>{"a": 2}</arguments>'),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had words behind it within its tags"],
  },
  {
    what: "no arguments, in three ways",
    reply: used(NAME) + used(NAME, "<arguments></arguments>") +
      used(NAME, "<arguments>null</arguments>"),
    parsed: "repaired",
    calls: [["add", {}], ["add", {}], ["add", {}]],
    repairs: [1, 2, 3].map((call) => `call ${call} had no arguments`),
  },
  {
    what: "other tags and capital letters",
    reply: '<TOOL_USE><Tool_Name>add</Tool_Name><Parameters>{"a": 1}</Parameters></TOOL_USE>',
    parsed: "repaired",
    calls: [A],
    repairs: [
      "call 1 had the tag tool_name",
      "call 1 had the tag parameters",
      "call 1 had capital letters in its tag",
    ],
  },
  {
    what: "the name in an attribute",
    reply: `<tool_use name="add">${GIVEN}</tool_use>`,
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had attributes in its tag"],
  },
  {
    what: "signs around the name",
    reply: used("<name>`add`</name>", GIVEN),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had signs around its name"],
  },
  {
    what: "entities of XML",
    reply: used(NAME, "<arguments>{&quot;t&quot;: &quot;&lt;b&gt; &amp;amp;&quot;}</arguments>"),
    parsed: "repaired",
    calls: [["add", { t: "<b> &amp;" }]],
    repairs: ["call 1 had entities of XML"],
  },
  {
    what: "arguments marked as data of characters",
    reply: used(NAME, '<arguments><![CDATA[{"a": 1}]]></arguments>'),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had entities of XML"],
  },

  {
    what: "JSON in place of the elements",
    reply: used('{"name": "add", "arguments": {"a": 1}}'),
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had JSON in the place of elements"],
  },
  {
    what: "the form of another format",
    reply: '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
    parsed: "repaired",
    calls: [A],
    repairs: ["call 1 had JSON in the place of elements", "call 1 had the tag tool_call"],
  },
  {
    what: "an element for each argument as unreadable, as nothing tells its type",
    reply: used(NAME, "<arguments><a>1</a></arguments>"),
    parsed: "unreadable",
    calls: [["add", "<a>1</a>"]],
  },
  {
    what: "arguments that are no object as unreadable",
    reply: used(NAME, "<arguments>Paris</arguments>") + used(NAME, "<arguments>[1]</arguments>"),
    parsed: "unreadable",
    calls: [["add", "Paris"], ["add", [1]]],
  },
  {
    what: "a call without a name as unreadable",
    reply: used(GIVEN),
    parsed: "unreadable",
    calls: [["", '{"a": 1}']],
  },
  {
    what: "a mention of its tags as words",
    reply: "Write <tool_use>…</tool_use>, with <name>add</name> within.",
    calls: [],
    text: "Write <tool_use>…</tool_use>, with <name>add</name> within.",
  },
]);
