// Replies are hostile: whatever is in them, no reader throws, hangs, runs out of stack or is led astray.
// Runs without counters of lines.

import { assert, assertEquals } from "@std/assert";
import type { FormatReading, TextFormat } from "../../lib/models/formats/format.ts";
import { isJsonObject, parseJson } from "../../lib/base/json.ts";
import fc from "../support/fast_check.ts";
import { ALL_FORMATS, anyCall, DISTURBING, NAMES, plainWords } from "../support/formats.ts";
import { assertLinear } from "../support/growth.ts";

/** What replies consist of, whole and in pieces. */
const TOKENS: readonly string[] = [
  ...DISTURBING,
  "<tool_call>",
  "<tool_use>",
  "<function_call name=",
  "<name>",
  "<arguments>",
  "<think>",
  "</think>",
  "<tool_response>",
  "<",
  "</",
  ">",
  "Action:",
  "Action Input:",
  "Observation:",
  "Final Answer:",
  "Thought:",
  "**",
  "\n",
  " ",
  "add",
  "find.city-2",
  '{"name": "add", "arguments": ',
  '{"a": 1}',
  '"function": ',
  '{"__proto__": {"polluted": true}}',
  "'name': 'add'",
  "[",
  "(",
  ",",
  ":",
  "5",
  "None",
  "&quot;",
  "<![CDATA[",
];

/** Shapes on which a careless reader goes over the rest of the text again and again. */
const TAG_SHAPES = [
  "<tool_call>",
  "</tool_call>",
  "<tool_call>{",
  '<tool_call>{"',
  "<tool_call>{'",
  "<tool_call>{“",
  "<tool_call>{/*",
  "<tool_call>{//",
  "<tool_call>```",
  "<tool_call>add(",
  '<tool_call>{"name":"add","arguments":{"t":"',
  '<tool_call>{"name":"add"}</tool_call>',
  '<tool_call>{"name":"add"}</tool_call><tool_response>',
  "<think><tool_call>{“</think>",
  "<tool_use><name>",
  "<tool_use><name>add</name><arguments>{'a': “",
  "<tool_use><arguments>&quot;",
  '<tool_use name="',
];

/** Each is read by one of the two readers of tags, as both go over tags of either kind alike. */
function ownTags(id: string): readonly string[] {
  if (fc.IS_SOAK) return TAG_SHAPES;
  return TAG_SHAPES.filter((shape) => shape.includes("<tool_use>") === (id === "xml"));
}

const REACT_SHAPES = [
  "Action:",
  "Action:\n",
  "Action: add\n",
  "Action: add(\n",
  "Action: {\n",
  "Action: add\nAction Input:",
  "Action: add\nAction Input: {\n",
  "Action: add\nAction Input: {'\n",
  "Action: add\nAction Input: {/*\n",
  'Action: add\nAction Input: {"a": 1}\n',
  "Observation: x\n",
  "Final Answer: x\n</think>\n",
  "\nAction Input:",
  "Action: add Action Input:",
  "<think>\nAction: add\n",
  "* ",
];

/** What holds of every reading. */
function checkReading(reading: FormatReading, whole: string): void {
  const reply = whole.slice(0, 1000);
  const { calls, parsed, text, repairs } = reading;
  assertEquals(parsed === undefined, calls.length === 0, reply);
  assert(typeof text === "string" && text.length <= whole.length, reply);
  const objects = calls.filter(({ arguments: given }) => isJsonObject(parseJson(given)));
  if (parsed === "strict" || parsed === "repaired") {
    assertEquals(objects.length, calls.length, reply);
    assert(calls.every(({ name }) => name !== ""), reply);
  }
  if (parsed === "strict") assertEquals(repairs, [], reply);
  if (parsed === "repaired") assert(repairs.length > 0, reply);
  if (parsed === "unreadable") {
    assert(objects.length < calls.length || calls.some(({ name }) => name === ""), reply);
  }
  assertEquals(({} as { polluted?: unknown }).polluted, undefined);
}

/** Reads a reply, and checks what is read. */
function readChecked(format: TextFormat, reply: string): FormatReading {
  const reading = format.read(reply, NAMES);
  checkReading(reading, reply);
  return reading;
}

for (const format of ALL_FORMATS) {
  const { id } = format;

  Deno.test(`${id} reads random texts without a fault`, () => {
    const tokens = fc.array(fc.constantFrom(...TOKENS), { maxLength: 40 })
      .map((parts) => parts.join(""));
    const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => new TextDecoder().decode(array));
    const texts = fc.oneof(
      { weight: 4, arbitrary: tokens },
      bytes,
      fc.string({ unit: fc.character() }),
    );
    fc.assert(fc.property(texts, (text) => void readChecked(format, text)), { numRuns: 2000 });
  });

  Deno.test(`${id} reads what it has written after any mutation`, () => {
    const reply = fc.tuple(plainWords(), fc.array(anyCall(), { minLength: 1, maxLength: 3 }))
      .map(([words, calls]) => format.writeCalls(words, calls));
    const mutation = fc.tuple(
      fc.nat(),
      fc.nat(6),
      fc.oneof(fc.constant(""), fc.constantFrom(...TOKENS)),
    );
    fc.assert(
      fc.property(reply, fc.array(mutation, { minLength: 1, maxLength: 4 }), (reply, mutations) => {
        let text = reply;
        for (const [place, removed, added] of mutations) {
          const at = place % (text.length + 1);
          text = text.slice(0, at) + added + text.slice(at + removed);
        }
        readChecked(format, text);
      }),
      { numRuns: 300 },
    );
  });

  Deno.test(`${id} reads what it has written, cut off at every place`, () => {
    const given = '{"t": "it\'s <b>é</b>\\n", "n": [1, 20], "o": {"deep": true}}';
    const calls = [{ name: "add", arguments: given }, { name: "find.city-2", arguments: "{}" }];
    const reply = format.writeCalls("I add.", calls);
    for (let length = 0; length <= reply.length; length++) {
      const reading = readChecked(format, reply.slice(0, length));
      // Nothing is made up: what is read is what was written so far.
      assert(reading.calls.length <= 2);
      for (const [index, call] of reading.calls.entries()) {
        if (call.name !== "") assert(calls[index]!.name.startsWith(call.name), call.name);
        const read = parseJson(call.arguments);
        if (!isJsonObject(read)) continue;
        const whole = parseJson(calls[index]!.arguments) as Record<string, unknown>;
        for (const key of Object.keys(read)) assert(Object.hasOwn(whole, key), key);
      }
    }
    assertEquals(readChecked(format, reply).calls.length, 2);
  });

  Deno.test(`${id} reads what nests 10,000 levels deep`, () => {
    const levels = 10_000;
    const calls = [
      `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`,
      `${"{'a':".repeat(levels)}1${"}".repeat(levels)}`,
      `${"[".repeat(levels)}${"]".repeat(levels)}`,
      "[".repeat(levels),
      '{"function":'.repeat(levels) + "1" + "}".repeat(levels),
    ];
    for (const nested of calls) {
      readChecked(format, nested);
      const reply = format.writeCalls("", [{ name: "add", arguments: nested }]);
      assertEquals(readChecked(format, reply).parsed, "unreadable");
    }
    for (const tag of ["<tool_call>", "<tool_use>", "<think>", "<name>", "("]) {
      readChecked(format, tag.repeat(levels));
    }
  });

  Deno.test(`${id} takes __proto__ for a key and a name like any other`, () => {
    const given =
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}';
    for (const name of ["__proto__", "constructor", "toString", "add"]) {
      for (const written of [given, given.replaceAll('"', "'")]) {
        const [call] =
          readChecked(format, format.writeCalls("", [{ name, arguments: written }])).calls;
        assertEquals(call?.name, name);
        assertEquals(call?.arguments, given);
      }
    }
  });

  Deno.test(`${id} reads 300 kB`, () => {
    const call = format.writeCalls("", [{ name: "add", arguments: '{"a": 1}' }]);
    const many = `${call}\n`.repeat(Math.ceil(300_000 / call.length));
    assertEquals(readChecked(format, many).calls.length, Math.ceil(300_000 / call.length));
    const text = "x ".repeat(150_000);
    const long = format.writeCalls("", [{ name: "add", arguments: JSON.stringify({ text }) }]);
    assertEquals(readChecked(format, long).parsed, "strict");
    assertEquals(readChecked(format, text).text.length, text.length - 1);
    readChecked(format, long.slice(0, -5));
    readChecked(format, long.replaceAll('"', "'"));
  });

  const shapes: readonly (readonly [before: string, repeated: string])[] = [
    ...["{", "[", '"', "'", "“", "```", "<think>", "a<think>", "</think>", "<", " ", "\n"]
      .map((repeated) => ["", repeated] as const),
    ["", "<think></think>"],
    ["", "<tool_call><function=add>"],
    ["", "<function=add><parameter=a>"],
    ["<tool_call>", "<function=add>{"],
    ["", '{"name":"add"},'],
    ["", '{"function":'],
    ...(id === "react" ? REACT_SHAPES : ownTags(id)).map((repeated) => ["", repeated] as const),
    ["<think>", id === "react" ? "Action: add\nAction Input: {'\n" : '<tool_call>{"name":"add"}'],
    ["", id === "react" ? "Action: add()\n</think>\n" : '<tool_call>{"name":"add"}</think>'],
  ];
  for (const [before, repeated] of shapes) {
    Deno.test(`${id} takes time that is linear in ${JSON.stringify(before + repeated)}`, () => {
      assertLinear((text) => format.read(text, NAMES), before, repeated, 10_000);
    });
  }
}
