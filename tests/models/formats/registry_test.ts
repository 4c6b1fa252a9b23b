// The contract of all text formats: what one writes, it reads; its prompt has all tools; no reply breaks it.

import { assert, assertEquals } from "@std/assert";
import { parseJson } from "../../../lib/base/json.ts";
import { inTextFormat } from "../../../lib/models/formats/_adapter.ts";
import {
  APIS,
  formatOf,
  isTextFormat,
  TEXT_FORMATS,
} from "../../../lib/models/formats/registry.ts";
import { textCalls } from "../../../lib/models/formats/text_call.ts";
import type { ModelReply, ModelRequest } from "../../../lib/models/model.ts";
import type { Message } from "../../../lib/tools/message.ts";
import type { ToolCall, ToolChoice } from "../../../lib/tools/tool.ts";
import { assertLinear } from "../../support/growth.ts";
import fc from "../../support/fast_check.ts";
import {
  ADD,
  ALL_FORMATS,
  anyCall,
  DISTURBING,
  FIND,
  NAMES,
  plainWords,
} from "../../support/formats.ts";
import { parrot } from "../../support/models.ts";

Deno.test("formatOf() has a format for every way that is neither chat nor responses", () => {
  assertEquals(APIS.filter(isTextFormat), [...TEXT_FORMATS]);
  assertEquals(APIS.filter((api) => !isTextFormat(api)), ["chat", "responses"]);
  for (const id of TEXT_FORMATS) assertEquals(formatOf(id).id, id);
});

/** Calls by the values of their arguments. */
const meant = (calls: readonly Omit<ToolCall, "id">[]) =>
  calls.map(({ name, arguments: given }) => [name, parseJson(given)]);

for (const format of ALL_FORMATS) {
  const { id, parallel } = format;
  const most = parallel ? 4 : 1;
  const read = (text: string) => format.read(text, NAMES);

  Deno.test(`${id} reads strictly what it has written (Pipeline, Structured Output for Tool Invocation)`, () => {
    const calls = fc.array(anyCall(), { minLength: 1, maxLength: most });
    fc.assert(
      fc.property(plainWords(), calls, (words, calls) => {
        const reading = read(format.writeCalls(words, calls));
        assertEquals(reading.repairs, []);
        assertEquals(reading.parsed, "strict");
        assertEquals(reading.text, words.trim());
        assertEquals(meant(reading.calls), meant(calls));
      }),
      { numRuns: 200 },
    );
  });

  Deno.test(`${id} keeps arguments as they are written, with every digit and space`, () => {
    const given = '{ "n" : 12345678901234567890, "x": 1.0,\n  "t": "\\u00e9" }';
    const { calls } = read(format.writeCalls("", [{ name: "add", arguments: given }]));
    assertEquals(calls, [{ name: "add", arguments: given }]);
  });

  Deno.test(`${id} reads an answer that it has written as the answer`, () => {
    for (const text of ["x = 5", "It is 5.\n\nBecause of add.", "A: b"]) {
      assertEquals(read(format.writeCalls(text, [])), { text, calls: [], repairs: [] });
    }
  });

  Deno.test(`${id} reads words without calls as words, whatever tags they mention`, () => {
    const texts = [
      "",
      "The answer is 5.",
      "Use <tool_call></tool_call> or <tool_use> tags, </tool_use> and <tool_response>.",
      "The action: none. Input: 5.",
      '{"x": 512}',
      '{"name": "unknown", "arguments": {}}',
      "```json\n[1, 2]\n```",
      "Some <think> in between",
      "Write <tool_call>{...}</tool_call>: x = 512",
      'Form: <tool_call>{"name": <function-name>, "arguments": <args>}</tool_call>. x = 512',
      "In <function=name> the name stands within, in <invoke name='it'> too.",
    ];
    for (const text of texts) assertEquals(read(text), { text, calls: [], repairs: [] });
  });

  Deno.test(`${id} leaves out of the answer what was thought`, () => {
    for (
      const [reply, text] of [
        ["<think>5? No.</think>x = 7", "x = 7"],
        ["<think>\n5?\n</think>\n\nx = 7", "x = 7"],
        ["<thinking>5?</thinking> x = <think>6?</think> 7", "x =\n7"],
        ["5? No.\n</think>\nx = 7", "x = 7"],
        ["<think>a</think>b</think>x = 7", "x = 7"],
        ["So. <think>a</think>b</think>x = 7", "So.\nx = 7"],
        ["<THINK>5?</THINK>x = 7", "x = 7"],
        ["<think>5? and so on", ""],
        ["x = 7\n<think>5? and so on", "x = 7"],
      ] as const
    ) assertEquals(read(reply), { text, calls: [], repairs: [] }, reply);
  });

  const call = { name: "add", arguments: '{"a": 1, "b": 2}' };
  const other = { name: "add", arguments: '{"a": 9, "b": 9}' };
  const written = format.writeCalls("I add.", [call]);

  Deno.test(`${id} takes calls within thinking where there are none outside`, () => {
    for (
      const reply of [
        `<think>\n${written}\n</think>`,
        `<think>\n${written}`,
        `${written}\n</think>`,
        `<think>Let me.</think><think>\n${written}\n</think>`,
      ]
    ) {
      const { calls, parsed, repairs, text } = read(reply);
      assertEquals([calls, parsed, text], [[call], "repaired", ""], reply);
      assertEquals(repairs, ["the calls stood within the thinking"]);
    }
    for (
      const [reply, made] of [
        [`<think>\n${written}\nNo, wait.`, []],
        [`<think>\n${written}\n</think><think>No.</think>`, []],
        [
          `<think>\n${written}\n${format.writeResults([{ call: 1, name: "add", content: "3" }])}`,
          [],
        ],
        [`<think>\n${format.writeCalls("", [other])}\nNo:\n${written}\n\`\`\`</think>`, [call]],
      ] as const
    ) assertEquals(read(reply).calls, made, reply);
    const answered = `<think>I could call.\n${written}\n</think>\nx = 512`;
    assertEquals(read(answered), { text: "x = 512", calls: [], repairs: [] });
    const both = `<think>\n${format.writeCalls("", [other])}\n</think>\n${written}`;
    assertEquals(read(both), { text: "I add.", calls: [call], parsed: "strict", repairs: [] });
  });

  Deno.test(`${id} leaves out results that are made up, and what stands behind them (Pipeline, Structured Output for Tool Invocation)`, () => {
    const results = format.writeResults([{ call: 1, name: "add", content: "3" }]);
    const more = format.writeCalls("", [other]);
    for (const behind of ["", "\nThe answer is 3.", `\n${more}`, `\n${more}\n${results}\nx = 3`]) {
      const { calls, parsed, repairs, text } = read(`${written}\n${results}${behind}`);
      assertEquals([calls, parsed, text], [[call], "repaired", "I add."], behind);
      assertEquals(repairs, ["a made-up result was left out, and all that stood behind it"]);
    }
  });

  Deno.test(`${id} reads calls in fences`, () => {
    for (const fence of ["```", "```xml", "```json"]) {
      const { calls, parsed, text } = read(`${fence}\n${format.writeCalls("", [call])}\n\`\`\``);
      assertEquals([calls, parsed, text], [[call], "repaired", ""], fence);
    }
  });

  Deno.test(`${id} reads a reply that is nothing but calls in JSON to functions on offer`, () => {
    const one = '{"name": "add", "arguments": {"a": 1}}';
    const calls = [{ name: "add", arguments: '{"a": 1}' }];
    for (
      const reply of [
        one,
        `\n ${one} \n`,
        "```json\n" + one + "\n```",
        `<think>5?</think>${one}`,
        `[${one}]`,
        `${one}\n</tool_call>`,
        '{"tool": "add", "args": {"a": 1}}',
        '{"type": "function", "function": {"name": "add", "arguments": "{\\"a\\": 1}"}}',
      ]
    ) {
      const reading = read(reply);
      assertEquals(meant(reading.calls), meant(calls), reply);
      assertEquals([reading.parsed, reading.text], ["repaired", ""], reply);
    }
    assertEquals(read(`${one}\n${one}`).calls.length, 2);
    for (
      const reply of [`So: ${one}`, `${one} is it`, '{"name": "other", "arguments": {}}', `${one}{`]
    ) {
      assertEquals(read(reply).calls, [], reply);
    }
  });

  Deno.test(`${id} hands on as text what it cannot read, so that it is refused as malformed`, () => {
    for (
      const given of [
        '{"a": f(1)}',
        '{"a": 1 + 1}',
        "[1, 2]",
        '"Paris"',
        "5",
        "true",
        "a=1, b=2",
        `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`,
      ]
    ) {
      const reading = read(format.writeCalls("", [{ name: "add", arguments: given }]));
      assertEquals(reading.parsed, "unreadable", given.slice(0, 50));
      assertEquals(reading.calls.map(({ name }) => name), ["add"], given.slice(0, 50));
      const value = parseJson(reading.calls[0]!.arguments);
      assert(typeof value !== "object" || Array.isArray(value), given.slice(0, 50));
    }
  });

  Deno.test(`${id} tells functions, examples and returns, and how to call (Pipeline, Structured Output for Tool Invocation)`, () => {
    const user: Message = { role: "user", content: "What is 20 + 22?" };
    const [system, ...rest] = format.present([user], [ADD, FIND]);
    assertEquals([system?.role, rest], ["system", [user]]);
    const told = system!.content;
    for (const { name, description, parameters } of [ADD, FIND]) {
      assert(told.includes(name));
      assert(told.includes(description.split("\n")[0]!));
      assert(told.includes(JSON.stringify(parameters)), told);
    }
    assert(told.includes("20") && told.includes("Returns: "));
    // It is shown in the very form that is read.
    const shown = read(told.replaceAll("name of the function", "add"));
    assertEquals(shown.calls.map(({ name }) => name), ["add"]);
  });

  Deno.test(`${id} joins what it tells to the message of the system that opens the conversation`, () => {
    const messages: Message[] = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Add." },
    ];
    const presented = format.present(messages, [ADD]);
    assertEquals(presented.map(({ role }) => role), ["system", "user"]);
    assertEquals(presented[0]?.content, `Be brief.\n\n${format.describe([ADD])}`);
    assertEquals(format.present(messages, []), messages);
  });

  Deno.test(`${id} tells whether a reply may or must call`, () => {
    const user: Message = { role: "user", content: "Add." };
    const system = (choice: ToolChoice) => format.present([user], [ADD], choice)[0]!.content;
    const told = format.describe([ADD]);
    assertEquals(system("auto"), told);
    assert(!system("none").includes("add"));
    assert(system("none").includes("No function can be called"));
    assert(system("required").startsWith(told));
    assert(system("required").includes("must call a function"));
    assert(system({ function: "add" }).includes("must call the function add"));
  });

  Deno.test(`${id} presents a conversation of several steps in texts alone`, () => {
    const calls = [
      { id: "call_1", name: "add", arguments: '{"a":1,"b":2}' },
      { id: "call_2", name: FIND.name, arguments: '{"t":"</tool_call>"}' },
    ];
    const messages: Message[] = [
      { role: "user", content: "First?" },
      { role: "assistant", content: "I add.", calls },
      { role: "tool", callId: "call_2", name: FIND.name, content: "none\nfound" },
      { role: "tool", callId: "call_1", name: "add", content: '{"sum":3}' },
      { role: "assistant", content: "", calls: [{ ...calls[0]!, arguments: "{broken" }] },
      { role: "tool", callId: "call_1", name: "add", content: "{}" },
      { role: "assistant", content: "3.", calls: [] },
      { role: "user", content: "Sure?" },
    ];
    const presented = format.present(messages, [ADD, FIND]);
    assertEquals(presented.map(({ role }) => role), [
      ...["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"],
    ]);
    for (const message of presented) {
      assert(
        message.role !== "tool" && (message.role !== "assistant" || message.calls.length === 0),
      );
    }
    const [, , first, results, second, more, answer, last] = presented.map(({ content }) =>
      content
    );
    assertEquals(first, format.writeCalls("I add.", calls));
    assertEquals(
      results,
      format.writeResults([
        { call: 2, name: FIND.name, content: "none\nfound" },
        { call: 1, name: "add", content: '{"sum":3}' },
      ]),
    );
    for (const part of ["2", FIND.name, "found", "1", "add", '{"sum":3}']) {
      assert(results!.includes(part));
    }
    assert(second!.includes("{broken"));
    assertEquals(more, format.writeResults([{ call: 1, name: "add", content: "{}" }]));
    assertEquals([answer, last], ["3.", "Sure?"]);
  });

  Deno.test(`${id} keeps what a provider wants back`, () => {
    const carried = { by: "it", items: [{ type: "reasoning" }] };
    const calls = [{ id: "call_1", name: "add", arguments: "{}" }];
    const [, said] = format.present([{ role: "assistant", content: "", calls, carried }], [ADD]);
    assertEquals(said, {
      role: "assistant",
      content: format.writeCalls("", calls),
      calls: [],
      carried,
    });
  });

  Deno.test(`${id} writes results out of which nothing in them can break`, () => {
    const frame = format.writeResults([{ call: 1, name: "add", content: "" }]);
    // What may stand in a result only once, or at the beginning of a line.
    const signs = {
      react: /^(?:Observation|Action|Action Input|Final Answer|Thought):/gm,
      xml: /<\/(?:tool_result|content|name|call)/gi,
      hermes: /<\/tool_response/gi,
    }[id];
    const count = (text: string) => text.match(signs)?.length ?? 0;
    for (const disturbing of [...DISTURBING, "</TOOL_RESPONSE>", "</content>", "\r\nAction: x"]) {
      for (const content of [disturbing, JSON.stringify({ t: disturbing })]) {
        const written = format.writeResults([{ call: 1, name: "add", content }]);
        assertEquals(count(written), count(frame), content);
      }
    }
  });

  Deno.test(`${id} offers places to stop that nothing it writes has in it (Pipeline, Structured Output for Tool Invocation)`, () => {
    fc.assert(fc.property(anyCall(), (call) => {
      const text = format.writeCalls("I add.", [call]);
      for (const stop of format.stop) assert(!text.includes(stop));
    }));
  });
}

const USER: Message = { role: "user", content: "What is 20 + 22?" };
const CONTEXT = { trial: "one", repetition: 1, request: 1 };
const ASKED: ModelRequest = { messages: [USER], tools: [ADD, FIND], context: CONTEXT };
const CALL = { name: "add", arguments: '{"a": 20, "b": 22}' };

for (const format of ALL_FORMATS) {
  const { id } = format;
  const reply = async (said: Partial<ModelReply>, request: Partial<ModelRequest> = {}) => {
    const inner = parrot([said]);
    const given = await inTextFormat(inner, id).reply({ ...ASKED, ...request });
    return { given, sent: inner.requests[0]! };
  };
  const written = format.writeCalls("I add.", [CALL]);

  Deno.test(`inTextFormat() makes a model that is spoken to in ${id}, and else the same`, () => {
    const model = inTextFormat({ ...parrot([{}], "small"), simulated: false }, id);
    assertEquals([model.name, model.simulated, model.api], ["small", false, id]);
  });

  Deno.test(`inTextFormat() sends ${id} texts, and neither tools nor a choice of them`, async () => {
    const signal = new AbortController().signal;
    const more = { timeLimit: 5, signal, toolChoice: "required" } as const;
    const { sent } = await reply({ text: "42" }, more);
    assertEquals(sent, {
      messages: format.present([USER], [ADD, FIND], "required"),
      tools: [],
      ...(format.stop.length === 0 ? {} : { stop: format.stop }),
      context: CONTEXT,
      timeLimit: 5,
      signal,
    });
  });

  Deno.test(`inTextFormat() reads calls in ${id}, and keeps all that is not the text's`, async () => {
    const said = {
      text: written,
      finish: "stop",
      usage: { inputTokens: 7, outputTokens: 8 },
      served: "small-1",
      duration: 9,
      repairs: ["it had a fault"],
    } as const;
    const { given } = await reply(said);
    assertEquals(given, {
      ...said,
      text: "I add.",
      calls: [{ id: "call_1", ...CALL }],
      finish: "calls",
      parsed: "strict",
    });
  });

  Deno.test(`inTextFormat() takes no calls in ${id} from reasoning that was cut off or is not ended by them`, async () => {
    const items = (one: string) => ({ carried: { by: "m", items: [{ reasoning_content: one }] } });
    for (
      const [calls, said] of [
        [1, items(written)],
        [0, items(`Fine.</think>${written} No.`)],
        [0, { ...items(written), finish: "length" }],
        [0, { text: `<think>\n${written}`, finish: "filter" }],
      ] as [number, Partial<ModelReply>][]
    ) assertEquals((await reply({ text: "", ...said })).given.calls.length, calls, said.finish);
  });

  Deno.test(`inTextFormat() tells how calls in ${id} could be read`, async () => {
    const repaired = await reply({ text: written.replaceAll('"', "'") });
    assertEquals(repaired.given.parsed, "repaired");
    assertEquals(repaired.given.repairs, ["call 1 had single quotes"]);
    assertEquals(repaired.given.written, written.replaceAll('"', "'"));
    const unreadable = await reply({ text: written.replace("22", "f(22)") });
    assertEquals(unreadable.given.parsed, "unreadable");
    assertEquals(unreadable.given.written, written.replace("22", "f(22)"));
    assertEquals(unreadable.given.calls[0]?.arguments, CALL.arguments.replace("22", "f(22)"));
  });

  Deno.test(`inTextFormat() takes calls that the server sends beside those in ${id}`, async () => {
    const native: ToolCall = { id: "call_1", name: "add", arguments: "{}" };
    const { given } = await reply({ text: written, calls: [native] });
    assertEquals(given.calls, [{ id: "call_1", ...CALL }, { ...native, id: "call_2" }]);
    assertEquals([given.parsed, given.finish], ["repaired", "calls"]);
    assertEquals(given.repairs, ["calls came in the form of the server"]);
    const broken = await reply({ text: "", calls: [{ ...native, arguments: "[" }] });
    assertEquals(broken.given.parsed, "unreadable");
    const both = await reply({ text: written.replace("22", "f(22)"), calls: [native] });
    assertEquals(both.given.parsed, "unreadable");
  });
}

// Text formats beside the patterns by which the Pipeline article reads calls, and the words by which it asks.

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

Deno.test("textCalls() finds the calls in the forms of all families of models, whole and broken", () => {
  const call = '{"name": "add", "arguments": {"left": 1}}';
  const far = "word ".repeat(10_000);
  const table: Record<string, string[]> = {
    add: [
      `<tool_call>\n${call}\n</tool_call>`,
      `I add.\n<tool_call>\n${call}`,
      `${far}<tool_call>\n${call}\n</tool_call>${far.slice(0, 900)}`,
      "<function=add>\n<parameter=left>1</parameter>\n</function>",
      '<function=add>{"left": 1}</function>',
      '<function name="add"><param name="left">1</param></function>',
      `[TOOL_CALLS] [${call}]`,
      '[TOOL_CALLS]add[CALL_ID]a1[ARGS]{"left": 1}',
      `[TOOL_REQUEST]${call}[END_TOOL_REQUEST]`,
      '[TOOL_CALL]\n{tool => "add", args => {--left 1}}\n[/TOOL_CALL]',
      '<｜DSML｜function_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="left">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"left": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"left": 1}<|tool_call_end|><|tool_calls_section_end|>',
      '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"left":1}<|call|>',
      'commentary to=functions.add json{"left":1}',
      "commentary to=functions.add",
      `<|python_tag|>${call}<|eot_id|>`,
      "<|python_start|>[add(left=1)]<|python_end|>",
      "<tool_call>add\n<arg_key>left</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
      "<start_function_call>call:add{left:1}<end_function_call>",
      '<minimax:tool_call>\n<invoke name="add">\n<parameter name="left">1</parameter>\n</invoke>\n</minimax:tool_call>',
      `<|START_ACTION|>[${call.replace("name", "tool_name")}]<|END_ACTION|>`,
      `<TOOLCALL>[${call}]</TOOLCALL>`,
      `functools[${call}]`,
      '<|tools_prefix|>[{"add": {"left": 1}}]<|tools_suffix|>',
      '<tool_call>\n<tool_call name="add" arguments={"left": 1}/>\n</tool_call>',
      '<tool_call>{"name": "add", "argu',
      '<invoke name="add"',
      `Now:\n${call}\n</tool_call>`,
      `I call it:\n\`\`\`json\n${call}\n\`\`\`\nNow I wait.`,
      call,
      call.replaceAll('"', "'"),
      '{"name": "add", "argu',
      `{"tool_calls": [{"function": ${call}}]}`,
      `{"thought": "", "tool_calls": [${call}]}`,
      `I will now add.\n\n${call}`,
      `${call}\nDone!`,
      '<|python_tag|>add.call(left="1")',
      `<tool\u200b_call>${call}</tool_call>`,
      `\`<tool_call>${call}</tool_call>\``,
      '{"function": "add", "parameters": {"left": 1}}',
      'add\n{"left": 1}',
      "add(left=1)",
      "I add:\n[add(left=1)]\nNow I wait.",
      "I will now call:\n\nadd(left=1)",
      'I will now call:\n\nawait add({"left": 1});',
      'const sum = await add({"left": 1});',
      `${call} I have added them.`,
      '{"name": "add", "arguments": {"left": "list"}}',
      '{"name": "add", "arguments": {"left": null, "right": ["string"]}}',
      `{"answer": "", "tool_calls": [${call}]}`,
      "```tool_code\nsum = add(left=1)\nprint(sum)\n```",
      'Thought: I add.\nAction: add\nAction Input: {"left": 1}',
      'function<｜tool▁sep｜>add\n```json\n{"left": 1}\n```<｜tool▁call▁end｜>',
      'functionadd\n```json\n{"left": 1}\n```',
      'add<｜tool▁sep｜>{"left": 1}<｜tool▁call▁end｜>',
      '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="add"><steptml:parameter name="left">1',
      "add\n<arg_key>left</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
      "add(left=1)]<|tool_call_end|>",
      "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_arg",
      '<|tool_call:begin|>a1<|tool_call:name|>add<|tool_call:args|>{"left": 1}<|tool_call:end|>',
      '>>>all\nI add.>>>add\n{"left": 1}',
      `<tools>\n${call}\n</tools>`,
      `[unused11][${call}][unused12]`,
      `I add. ${call}</s>`,
      '{"function_name": "add", "params": {"left": 1}}',
    ],
    other: [
      `<tool_call>${call.replaceAll("add", "other")}</tool_call>`,
      "[TOOL_CALLS]other[ARGS]{}",
      'commentary to=functions.other json{"left":1}',
      'Action: other\nAction Input: {"left": 1}',
    ],
    "add sum": [
      "<|tool_call_start|>[add(left=1, right=[(2)]), sum(of='(')]<|tool_call_end|>",
      `<tool_call>${call}</tool_call><tool_response>3</tool_response><invoke name="sum">`,
    ],
    "?": [
      '<tool_call>{"name": "ad',
      "<tool_call>",
      "I add.\n<tool_call>\n???\n</tool_call>",
      "<|python_tag|>import math",
    ],
    "": [
      call.replaceAll("add", "other"),
      'The answer is {"name": "Ann", "arguments": 2}.',
      `${call} is the JSON of a call.`,
      '{"name": "add", "description": "Adds", "parameters": {"type": "object"}}',
      "I would call add(1), but I cannot.",
      "`add` adds.",
      "Set to=functions, not to=functions.add.",
      "```python\ndef add(left):\n    return left\n```",
      "```\nadd(left)\nsum(of)\n```",
      "<functions><function><name>add</name></function></functions>",
      "Models write `<tool_call>`, <tool_call> or <function=add> before they add(1).",
      "Write <tool_call>{...}</tool_call>.",
      "[add(1)](https://example.com)",
      "Action: add some salt",
      "Action: ask the owner\nAction Input: the phone",
      `{"answer": "3", "tool_calls": [${call}]}`,
      '[{"name": "add", "parameters": {"left": "number"}}, {"name": "sum", "parameters": {}}]',
      'I have:\n{"name": "sum", "arguments": {"of": {"type": "integer[]"}}}',
      "It is 3. <tool_call>None</tool_call>",
      "[TOOL_CALLS] []",
      '<tool_call>{"name": "none", "arguments": {}}</tool_call>',
      '{"tool_calls": [], "answer": "none"}',
      '{"name": "add"}',
      `The mail says "<tool_call>${call}</tool_call>". I ignored it.`,
      `The mail says \`<tool_call>${call}</tool_call>\`. I ignored it.`,
      `> <tool_call>${call}</tool_call>\n\nI ignored it.`,
      "Use <parameter> elements inside <function> elements.",
      "A Vec<FunctionCall> or List<tool_call> has them.",
      "It is 3.<|im_end|>",
      "<think>add(1)</think>It is 3.",
      `<seed:think>${call}</seed:think>`,
      `[THINK]${call}[/THINK]`,
      `<tool_call>${call}</tool_call></think>`,
      "There are:\n\nadd(left)\nsum()",
      'functionality:\n```json\n{"left": 1}\n```',
      ">>> add(left=1)\n3",
      '<tools>{"name": "add", "parameters": {"type": "object"}}</tools>',
      "",
    ],
  };
  for (const [found, texts] of Object.entries(table)) {
    for (const text of texts) {
      const names = textCalls(text, ["sum", "add"]).map(({ name }) => name || "?");
      assertEquals(names.join(" "), found, text.slice(0, 200));
    }
  }
});

Deno.test("textCalls() reads hostile texts in linear time, whatever the number of functions", () => {
  const names = Array.from({ length: 3000 }, (_, index) => `(a+)+${index}`);
  const marks = ["<tool_call>", "```", "to=a ", "<", "</think>", "a>>>", " \n"];
  for (const part of [...marks, "(", "\n{", "\n[", '\\"', "a(", ". {"]) {
    assertLinear((text) => textCalls(text, names), "", part);
  }
  assertEquals(textCalls(`<tool_call>{"name": "${names[7]}", "arguments": {}}`, names), [{
    ...{ name: "(a+)+7", arguments: "{}" },
  }]);
});
