// Text formats beside the patterns by which the Pipeline article reads calls, and the words by which it asks.

import { assert, assertEquals } from "@std/assert";
import { formatOf } from "../../../lib/models/formats/registry.ts";
import fc from "../../support/fast_check.ts";
import { ADD } from "../../support/formats.ts";

/** Calls as the article reads them out of XML. */
function readXml(reply: string): [name: string, arguments_: unknown][] {
  const pattern =
    /<tool_use>\s*<name>([^]*?)<\/name>\s*<arguments>([^]*?)<\/arguments>\s*<\/tool_use>/g;
  return [...reply.matchAll(pattern)].map(([, name, own]) => [
    name!.trim(),
    JSON.parse(own!.trim()),
  ]);
}

/** The one call as the article reads it out of ReAct. */
function readReact(reply: string): [name: string, arguments_: unknown][] {
  const [, name, own] = /Action:\s*(\w+)\s*\nAction Input:\s*(\{[^]*\})/.exec(reply)!;
  return [[name!, JSON.parse(own!)]];
}

const numbers = fc.array(fc.record({ a: fc.integer(), b: fc.integer() }), {
  minLength: 1,
  maxLength: 3,
});

Deno.test("calls are written as the article's patterns read them, in XML and in ReAct (Pipeline, Structured Output for Tool Invocation)", () => {
  fc.assert(fc.property(numbers, fc.constantFrom("", "I add."), (all, text) => {
    const calls = all.map((own) => ({ name: "add", arguments: JSON.stringify(own) }));
    const expected = all.map((own): [string, unknown] => ["add", own]);
    assertEquals(readXml(formatOf("xml").writeCalls(text, calls)), expected);
    const [first] = calls;
    assertEquals(readReact(formatOf("react").writeCalls(text, [first!])), [expected[0]!]);
  }));
});

Deno.test("replies in the article's own forms of XML and ReAct are read strictly (Pipeline, Structured Output for Tool Invocation)", () => {
  fc.assert(fc.property(fc.integer(), fc.integer(), (a, b) => {
    const own = `{"a": ${a}, "b": ${b}}`;
    for (
      const [format, reply] of [
        ["xml", `<tool_use>\n <name>add</name>\n <arguments>${own}</arguments>\n</tool_use>`],
        ["react", `Thought: reasoning about what to do\nAction: add\nAction Input: ${own}\n`],
      ] as const
    ) {
      const { calls, parsed } = formatOf(format).read(reply, [ADD.name]);
      assertEquals(parsed, "strict", format);
      assertEquals(calls.map((call) => [call.name, JSON.parse(call.arguments)]), [["add", {
        a,
        b,
      }]]);
    }
  }));
});

Deno.test("functions are told with name, description and parameters, and ReAct stops at an observation (Pipeline, Structured Output for Tool Invocation)", () => {
  for (const id of ["xml", "react", "hermes"] as const) {
    const told = formatOf(id).describe([ADD]);
    for (const part of [ADD.name, ADD.description, '"integer"']) assert(told.includes(part), id);
  }
  assertEquals(formatOf("react").stop.map((stop) => stop.trim()), ["Observation:"]);
});
