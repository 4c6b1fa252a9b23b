// Streamed replies put together: the same as sent whole, whatever the pieces, and never good where one is missing.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { defined, isJsonObject, type JsonObject, type JsonValue } from "../../../lib/base/json.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { FORMATS, readAnswer } from "../../../lib/models/openai/watched_reply.ts";
import { wholeBody } from "../../../lib/models/openai/_event_stream.ts";
import type { ReplySource, WireApi, WireReply } from "../../../lib/models/openai/wire_format.ts";
import fc from "../../support/fast_check.ts";
import { ADD, call, callItem, completion, response, said } from "../../support/wire_servers.ts";

const SOURCE: ReplySource = {
  who: "parrot",
  hide: (text) => text,
  quote: (text) => text,
  told: [],
  unusable: (state) => new InfrastructureError(state),
  tools: [ADD],
};

function readBody(api: WireApi, body: unknown): WireReply {
  return readAnswer(FORMATS[api], body, SOURCE);
}

function readStream(api: WireApi, text: string): WireReply {
  return readBody(api, wholeBody(api, text));
}

/** An event stream with these chunks; a text is written as it is. */
function stream(...chunks: (JsonValue | undefined)[]): string {
  return chunks.filter((chunk) => chunk !== undefined)
    .map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`)
    .join("");
}

/** A chunk of a chat completion. */
function chunk(delta: JsonObject | null, more: JsonObject = {}, top: JsonObject = {}): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "parrot-2",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
    ...top,
  };
}

const STOP = chunk({}, { finish_reason: "stop" });
const CALLS = chunk({}, { finish_reason: "tool_calls" });

/** A chunk with parts of calls. */
function calls(...parts: JsonValue[]): JsonObject {
  return chunk({ tool_calls: parts });
}

function part(more: JsonObject, func: JsonObject = {}): JsonObject {
  return { ...more, function: func };
}

/** The names and arguments of the calls in a stream of these chunks. */
function callsIn(...chunks: JsonValue[]): string[] {
  const reply = readStream("chat", stream(...chunks, CALLS, "[DONE]"));
  return reply.calls.map(({ name, arguments: written }) => `${name}(${written})`);
}

// Pieces.

/** Cuts a text into pieces of these lengths, the rest being the last. */
function cut(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return [...pieces, text.slice(at)];
}

const LENGTHS = fc.array(fc.nat({ max: 7 }), { maxLength: 6 });
const TEXT = fc.string({ unit: fc.character(), maxLength: 30 });
const ARGUMENTS = fc.oneof(
  fc.json({ maxDepth: 2 }),
  TEXT,
  fc.constantFrom("{}", "", '{"left":1}', '{"left":', null),
);

/** What a writer of streams may do. */
const WRITING = fc.record({
  lengths: fc.array(LENGTHS, { minLength: 1, maxLength: 8 }),
  order: fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 20 }),
  lineBreak: fc.constantFrom("\n", "\r\n", "\r"),
  hasBom: fc.boolean(),
  hasDone: fc.boolean(),
  hasEventNames: fc.boolean(),
  isSpread: fc.boolean(),
  comments: fc.boolean(),
});

type Writing = typeof WRITING extends fc.Arbitrary<infer T> ? T : never;

function writeEvents(
  events: readonly JsonObject[],
  { lineBreak, hasBom, hasDone, hasEventNames, isSpread, comments }: Writing,
): string {
  const lines = events.flatMap((event) => [
    ...(comments ? [": keep-alive", ""] : []),
    ...(hasEventNames ? [`event: ${event["type"] ?? "message"}`, "id: 7"] : []),
    // JSON in several lines comes as several data lines.
    ...JSON.stringify(event, null, isSpread ? 1 : undefined).split("\n")
      .map((line) => `data:${comments ? "" : " "}${line}`),
    "",
  ]);
  if (hasDone) lines.push("data: [DONE]", "");
  return (hasBom ? "\uFEFF" : "") + lines.map((line) => line + lineBreak).join("");
}

/** Merges lists in an order that is drawn, each in its own order. */
function shuffled<T>(lists: readonly (readonly T[])[], order: readonly number[]): T[] {
  const left = lists.map((list) => [...list]);
  const merged: T[] = [];
  while (true) {
    const open = left.filter((list) => list.length > 0);
    if (open.length === 0) return merged;
    const number = order[merged.length % order.length]!;
    merged.push(open[number % open.length]!.shift()!);
  }
}

/** Writes a chat completion as a stream. */
function writeCompletion(body: JsonObject, writing: Writing): string {
  const { choices, usage, object: _object, ...top } = body;
  const { message, finish_reason: finish, ...choice } = (choices as JsonObject[])[0]!;
  const { tool_calls: toolCalls, function_call: legacy, ...fields } = message as JsonObject;
  let drawn = 0;
  const pieces = (text: string) => cut(text, writing.lengths[drawn++ % writing.lengths.length]!);
  const fieldDeltas = Object.entries(fields).filter(([key]) => key !== "role")
    .map(([key, value]): JsonObject[] =>
      typeof value === "string"
        ? pieces(value).map((piece) => ({ [key]: piece }))
        : [{ [key]: value }]
    );
  const functionParts = (func: JsonObject): JsonObject[] => {
    const { arguments: written, ...rest } = func;
    return typeof written === "string"
      ? [{ ...rest, arguments: "" }, ...pieces(written).map((piece) => ({ arguments: piece }))]
      : [func];
  };
  const callDeltas = ((toolCalls ?? []) as JsonObject[]).map((one, index): JsonObject[] => {
    const { function: func, ...rest } = one;
    return functionParts(func as JsonObject).map((given, place) => ({
      tool_calls: [{ index, ...(place === 0 ? rest : {}), function: given }],
    }));
  });
  const legacyDeltas = isJsonObject(legacy)
    ? functionParts(legacy).map((given): JsonObject => ({ function_call: given }))
    : [];
  const deltas = shuffled([...fieldDeltas, ...callDeltas, legacyDeltas], writing.order);
  const base = { ...top, object: "chat.completion.chunk" };
  return writeEvents([
    ...[{ role: "assistant", content: "" }, ...deltas].map((delta): JsonObject => ({
      ...base,
      choices: [{ index: 1, delta: { content: "another choice" } }, { index: 0, delta }],
    })),
    { ...base, choices: [{ ...choice, delta: {}, finish_reason: finish! }] },
    ...(usage === undefined ? [] : [{ ...base, choices: [], usage }]),
  ], writing);
}

const CALL = fc.record({
  id: fc.oneof(TEXT, fc.nat(), fc.constantFrom("x", "", null)),
  type: fc.constant("function"),
  function: fc.record({
    // A name that is empty may be no begin of a call.
    name: fc.oneof(fc.constantFrom("add", "subtract"), fc.string({ minLength: 1, maxLength: 9 })),
    arguments: ARGUMENTS,
  }),
  extra_content: fc.constant({ google: { thought_signature: "s" } }),
}, { requiredKeys: ["function"] });

const COMPLETION = fc.record({
  message: fc.record({
    role: fc.constant("assistant"),
    content: fc.oneof(
      TEXT,
      fc.constant(null),
      fc.constant([
        { type: "thinking", thinking: [{ type: "text", text: "Hm" }] },
        { type: "text", text: "Yes" },
      ]),
    ),
    refusal: fc.oneof(TEXT, fc.constant(null)),
    reasoning_content: TEXT,
    reasoning: TEXT,
    reasoning_details: fc.constant([
      { type: "reasoning.text", text: "a", index: 0 },
      { type: "reasoning.text", text: "b", index: 1 },
    ]),
    tool_calls: fc.array(CALL, { maxLength: 4 }),
    function_call: fc.record({ name: fc.constantFrom("add", ""), arguments: ARGUMENTS }),
  }, { requiredKeys: ["role"] }),
  finish: fc.constantFrom(
    ...["stop", "length", "tool_calls", "content_filter", "function_call"],
    ...["error", "abort", "MALFORMED_FUNCTION_CALL: x", "odd"],
  ),
  top: fc.record({
    model: fc.constantFrom("parrot-2", "parrot-3"),
    usage: fc.record({ prompt_tokens: fc.nat(), completion_tokens: fc.nat() }),
    service_tier: fc.constant("default"),
  }, { requiredKeys: [] }),
  choice: fc.record({
    native_finish_reason: fc.constantFrom("STOP", "malformed_function_call"),
    finish_message: fc.constant("Malformed function call: add(left=1"),
  }, { requiredKeys: [] }),
}).map(({ message, finish, top, choice }): JsonObject => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  ...top as JsonObject,
  choices: [{
    ...choice,
    index: 0,
    finish_reason: finish,
    message: message as unknown as JsonObject,
  }],
}));

/** What a reader makes of a body: its reply, or its error. */
function outcome(read: () => WireReply): unknown {
  try {
    return read();
  } catch (error) {
    assert(error instanceof InfrastructureError, `${error}`);
    return error.message;
  }
}

Deno.test("wholeBody() gives what is read as the unstreamed chat completion, for any pieces", () => {
  fc.assert(
    fc.property(COMPLETION, WRITING, (body, writing) => {
      assertEquals(
        outcome(() => readStream("chat", writeCompletion(body, writing))),
        outcome(() => readBody("chat", body)),
      );
    }),
    { numRuns: 100 },
  );
});

Deno.test("wholeBody() never gives a good reply of a stream that was cut before its end", () => {
  fc.assert(
    fc.property(COMPLETION, WRITING, fc.double({ min: 0, max: 1, noNaN: true }), (...drawn) => {
      const [body, writing, share] = drawn;
      const text = writeCompletion(body, { ...writing, hasDone: false });
      const finish = text.lastIndexOf('"finish_reason"');
      const head = text.slice(0, Math.floor(share * finish));
      assertThrows(() => readStream("chat", head), InfrastructureError);
    }),
    { numRuns: 100 },
  );
});

// Responses.

const ITEMS = fc.array(
  fc.oneof(
    TEXT.map((text) => said(text)),
    fc.constant<JsonObject>({ id: "rs_1", type: "reasoning", summary: [] }),
    fc.record({ call_id: fc.constantFrom("x", "y", ""), arguments: ARGUMENTS }).map(callItem),
  ),
  { maxLength: 5 },
);

/** Writes a response as a stream; its last event may lack the output. */
function writeResponse(body: JsonObject, writing: Writing, isEmpty: boolean): string {
  const begun = { ...body, status: "in_progress", output: [], usage: null };
  const items = body["output"] as JsonObject[];
  return writeEvents([
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...items.flatMap((item, place): JsonObject[] => [
      { type: "response.output_item.added", output_index: place, item: { ...item, arguments: "" } },
      { type: "response.output_text.delta", output_index: place, delta: "…" },
      { type: "response.output_item.done", output_index: place, item },
    ]),
    {
      type: `response.${body["status"]}`,
      response: isEmpty ? { ...body, output: [] } : body,
    },
  ], writing);
}

Deno.test("wholeBody() gives what is read as the unstreamed response", () => {
  const bodies = fc.record({
    items: ITEMS,
    status: fc.constantFrom("completed", "incomplete", "failed"),
    more: fc.constantFrom<JsonObject>(
      {},
      { incomplete_details: { reason: "max_output_tokens" } },
      { error: { code: "server_error", message: "The server had an error" } },
    ),
  }).map(({ items, status, more }) => response(items, { status, ...more }));
  fc.assert(
    fc.property(bodies, WRITING, fc.boolean(), (body, writing, isEmpty) => {
      const text = writeResponse(body, writing, isEmpty);
      assertEquals(
        outcome(() => readStream("responses", text)),
        outcome(() => readBody("responses", body)),
      );
      const cut = text.slice(0, text.lastIndexOf(`"response.${body["status"]}"`));
      assertThrows(() => readStream("responses", cut), InfrastructureError);
    }),
    { numRuns: 100 },
  );
});

Deno.test("wholeBody() takes a failed response for none that is good, whatever else it says", () => {
  const failed = (more: JsonObject) =>
    stream({ type: "response.failed", response: { ...response(), ...more } });
  for (const more of [{}, { status: null }, { status: "completed" }] as JsonObject[]) {
    assertThrows(() => readStream("responses", failed(more)), InfrastructureError, "an error");
  }
});

// Deviations of servers. Each group of calls is what the chunks before it mean.

const CALL_STREAMS: Readonly<Record<string, readonly [JsonValue[], string[]]>> = {
  "Gemini: whole calls without an index": [
    [
      calls(part({ id: "a" }, { name: "add", arguments: '{"left":1}' })),
      calls(part({ id: "b" }, { name: "add", arguments: '{"left":2}' })),
    ],
    ['add({"left":1})', 'add({"left":2})'],
  ],
  "Gemini: without an index, in pieces": [
    [
      calls(part({ id: "a" }, { name: "add", arguments: '{"le' })),
      calls(part({ id: "" }, { arguments: 'ft":1}' })),
      calls(part({ id: "b" }, { name: "add", arguments: "" })),
      calls(part({}, { arguments: '{"left":2}' })),
    ],
    ['add({"left":1})', 'add({"left":2})'],
  ],
  "whole calls in one chunk without an index and an id": [
    [calls(
      part({}, { name: "add", arguments: '{"left":1}' }),
      part({}, { name: "add", arguments: '{"left":1}' }),
    )],
    ['add({"left":1})', 'add({"left":1})'],
  ],
  "Ollama: index 0 for each, with ids": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left":1}' })),
      calls(part({ index: 0, id: "b" }, { name: "subtract", arguments: '{"left":2}' })),
    ],
    ['add({"left":1})', 'subtract({"left":2})'],
  ],
  "index 0 for each, without ids": [
    [
      calls(part({ index: 0 }, { name: "add", arguments: '{"left":1}' })),
      calls(part({ index: 0 }, { name: "add", arguments: '{"left":1}' })),
    ],
    ['add({"left":1})', 'add({"left":1})'],
  ],
  "vLLM at LMDeploy: index 0 for each, an empty id in later chunks": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: "" })),
      calls(part({ index: 0, id: "" }, { name: null, arguments: '{"left":1}' })),
      calls(part({ index: 0, id: "b" }, { name: "add", arguments: "" })),
      calls(part({ index: 0, id: "" }, { name: "", arguments: '{"left":2}' })),
    ],
    ['add({"left":1})', 'add({"left":2})'],
  ],
  "SGLang: index 0 for each, the id in each chunk": [
    [
      calls(part({ index: 0, id: "0" }, { name: "add", arguments: "" })),
      calls(part({ index: 0, id: "0" }, { name: null, arguments: '{"left":1}' })),
      calls(part({ index: 0, id: "1" }, { name: "add", arguments: "" })),
      calls(part({ index: 0, id: "1" }, { name: null, arguments: '{"left":2}' })),
    ],
    ['add({"left":1})', 'add({"left":2})'],
  ],
  "MiniMax: the name and the id in each chunk": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left"' })),
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: ":1}" })),
      calls(part({ index: 0 }, { name: "add", arguments: "" })),
    ],
    ['add({"left":1})'],
  ],
  "a name in pieces": [
    [
      calls(part({ index: 0, id: "a" }, { name: "sub" })),
      calls(part({ index: 0 }, { name: "tract", arguments: "{}" })),
    ],
    ["subtract({})"],
  ],
  "a name that grows": [
    [
      calls(part({ index: 0, id: "a" }, { name: "sub" })),
      calls(part({ index: 0 }, { name: "subtract", arguments: "{}" })),
    ],
    ["subtract({})"],
  ],
  "Poolside: another id in later chunks": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: "" })),
      calls(part({ index: 0, id: "b" }, { arguments: '{"left"' })),
      calls(part({ index: 0, id: "b" }, { arguments: ":1}" })),
    ],
    ['add({"left":1})'],
  ],
  "DeepSeek: begins at the index of another, goes on at its own": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left":1}' })),
      calls(part({ index: 0, id: "b" }, { name: "add", arguments: "" })),
      calls(part({ index: 1 }, { arguments: '{"left"' })),
      calls(part({ index: 1 }, { arguments: ":2}" })),
    ],
    ['add({"left":1})', 'add({"left":2})'],
  ],
  "the call once more, whole, in the last chunk": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left":1}' })),
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left":1}' })),
    ],
    ['add({"left":1})'],
  ],
  "the same after pieces": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left"' })),
      calls(part({ index: 0 }, { arguments: ":1}" })),
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left":1}' })),
    ],
    ['add({"left":1})'],
  ],
  "MiniMax: arguments as an object": [
    [calls(part({ index: 0, id: "a" }, { name: "add", arguments: { left: 1 } }))],
    ['add({"left":1})'],
  ],
  "Anthropic by a gateway: the first index is 1": [
    [
      calls(part({ index: 1, id: "a" }, { name: "add", arguments: "" })),
      calls(part({ index: 1 }, { arguments: '{"left":1}' })),
    ],
    ['add({"left":1})'],
  ],
  "indexes out of order": [
    [
      calls(part({ index: 1, id: "b" }, { name: "subtract", arguments: "{}" })),
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: "{}" })),
    ],
    ["add({})", "subtract({})"],
  ],
  "two calls with one id": [
    [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: '{"left":1}' })),
      calls(part({ index: 1, id: "a" }, { name: "add", arguments: '{"left":2}' })),
    ],
    ['add({"left":1})', 'add({"left":2})'],
  ],
  "OpenAI's first API": [
    [
      chunk({ function_call: { name: "add", arguments: "" } }),
      chunk({ function_call: { arguments: '{"left":1}' } }),
    ],
    ['add({"left":1})'],
  ],
  "a whole message in place of deltas": [
    [chunk(null, { message: { content: null, tool_calls: [call()] } })],
    ["add({})"],
  ],
};

const LEFT = '{"left":1}';
const HALVES = ['{"left"', ":1}"] as const;

/** The chunks of one call, add({"left":1}): index, id, name and arguments of each. */
const ONE_CALL: Readonly<Record<string, readonly Readonly<Parameters<typeof piece>>[]>> = {
  "LocalAI: one id at two indexes, at first empty": [[0, "a", "add", ""], [1, "a", "add", LEFT]],
  "LocalAI: whole at each": [0, 1, 2].map((index) => [index, "a", "add", LEFT]),
  "one id at two indexes, halves": [[0, "a", "add", HALVES[0]], [1, "a", "add", HALVES[1]]],
  "LiteLLM: {} with the name": [[0, "a", "add", "{}"], [0, undefined, undefined, HALVES[0]], [
    0,
    undefined,
    undefined,
    HALVES[1],
  ]],
  "null with the name": [[0, "a", "add", "null"], [0, undefined, undefined, LEFT]],
  "{} at another index": [[0, "a", "add", "{}"], [1, "a", "add", LEFT]],
  "vLLM: once more in the end": [
    ...[
      [0, "a", "add"],
      [0, undefined, undefined, HALVES[0]],
      [0, undefined, undefined, HALVES[1]],
      [0, undefined, undefined, LEFT],
    ] as const,
  ],
  "once more without the name": [[0, "a", "add", LEFT], [0, undefined, undefined, LEFT]],
  "all so far": [[0, "a", "add", '{"le'], [0, undefined, undefined, '{"left":'], [
    0,
    undefined,
    undefined,
    LEFT,
  ]],
  "all so far, with the name": ['{"le', HALVES[0], LEFT].map((text) => [0, "a", "add", text]),
  "a text for an index": [["0", "a", "add", HALVES[0]], ["0", undefined, undefined, HALVES[1]]],
  "a new id in each": ["", ...HALVES].map((text, place) => [0, `${place}`, "add", text]),
  "LM Studio: a new id and index, no name": [
    ...[[0, "a", "add", ""], [1, "b", "", HALVES[0]], [2, "c", "", HALVES[1]]] as const,
  ],
  "two ids": [[0, "a", "add", HALVES[0]], [1, "b", "add", HALVES[1]]],
  "the name in each, no index": HALVES.map((half) => [undefined, undefined, "add", half]),
};

/** Two calls, whatever they look like. */
const TWO_CALLS: Readonly<Record<string, readonly Readonly<Parameters<typeof piece>>[]>> = {
  "ids and indexes of their own": [[0, "a", "add", LEFT], [1, "b", "add", LEFT]],
  "one index": [[0, "a", "add", LEFT], [0, "b", "add", LEFT]],
  "the name in place of an id": [[0, "add", "add", LEFT], [1, "add", "add", LEFT]],
  "a broken one before": [[0, "a", "add", '{"le'], [1, "b", "add", LEFT]],
  "an empty one before": [[0, "a", "add", ""], [1, "b", "add", LEFT]],
  "one id, other arguments": [[0, "a", "add", LEFT], [0, "a", "add", '{"left":2}']],
  "the id of all calls": [[0, "0", "add", LEFT], [1, "0", "add", LEFT]],
};

function piece(
  index?: number | string,
  id?: string,
  name?: string,
  written?: string,
): JsonObject {
  return calls(part(defined({ index, id }), defined({ name, arguments: written })));
}

Deno.test("wholeBody() puts the calls of many servers together", async (t) => {
  for (const [name, [chunks, expected]] of Object.entries(CALL_STREAMS)) {
    await t.step(name, () => assertEquals(callsIn(...chunks), expected));
  }
  for (const [name, pieces] of Object.entries(ONE_CALL)) {
    const chunks = pieces.map((one) => piece(...one));
    await t.step(name, () => assertEquals(callsIn(...chunks), [`add(${LEFT})`]));
  }
  for (const [name, pieces] of Object.entries(TWO_CALLS)) {
    const written = pieces.map(([, , , text]) => `add(${text})`);
    const chunks = pieces.map((one) => piece(...one));
    await t.step(name, () => assertEquals(callsIn(...chunks), written));
  }
  const custom = (input: string) => calls({ index: 0, id: "a", custom: { name: "note", input } });
  assertEquals(callsIn(custom("{}"), custom("{}")), ["note({}{})"]);
  // Written otherwise, beside the finish reason.
  const { choices: [last] } = piece(0, undefined, undefined, '{ "left": 1 }') as unknown as {
    choices: JsonObject[];
  };
  const ended = { choices: [{ ...last, finish_reason: "tool_calls" }] };
  assertEquals(callsIn(piece(0, "a", "add", LEFT), ended), ['add({ "left": 1 })']);
});

Deno.test("wholeBody() keeps arguments that cannot be read as they were streamed", () => {
  const broken = '{"left": the value';
  const pieces = [...broken].map((piece) => calls(part({ index: 0 }, { arguments: piece })));
  const begun = calls(part({ index: 0, id: "a" }, { name: "add" }));
  assertEquals(callsIn(begun, ...pieces), [`add(${broken})`]);
  // A model that writes them twice is not corrected.
  const twice = [...`${LEFT}${LEFT}`].map((text) => piece(0, undefined, undefined, text));
  assertEquals(callsIn(begun, ...twice), [`add(${LEFT}${LEFT})`]);
});

Deno.test("wholeBody() finds the usage where a server puts it; the last one holds", () => {
  const usage = (input: number, output: number) => ({
    prompt_tokens: input,
    completion_tokens: output,
  });
  const hello = chunk({ content: "hello" });
  const streams: Readonly<Record<string, JsonValue[]>> = {
    "OpenAI": [{ ...hello, usage: null }, STOP, { ...STOP, choices: [], usage: usage(11, 7) }],
    "growing in each": [{ ...hello, usage: usage(11, 1) }, { ...STOP, usage: usage(11, 7) }],
    "empty afterwards": [{ ...hello, usage: usage(11, 7) }, { ...STOP, usage: {} }],
    "Moonshot": [hello, chunk({}, { finish_reason: "stop", usage: usage(11, 7) })],
    "Groq": [hello, { ...STOP, x_groq: { id: "req_1", usage: usage(11, 7) } }],
  };
  for (const [name, chunks] of Object.entries(streams)) {
    const reply = readStream("chat", stream(...chunks, "[DONE]"));
    assertEquals(reply.usage, { inputTokens: 11, outputTokens: 7 }, name);
    assertEquals([reply.text, reply.served], ["hello", "parrot-2"], name);
  }
});

Deno.test("wholeBody() joins reasoning and content that come as lists of parts", () => {
  const thinking = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
  const detail = (index: number, more: JsonObject) => ({ type: "reasoning.text", index, ...more });
  const reply = readStream(
    "chat",
    stream(
      chunk({ content: [thinking("Let me ")], reasoning_details: [detail(0, { text: "a" })] }),
      chunk({ content: [thinking("think")], reasoning_details: [detail(0, { text: "b" })] }),
      chunk({ content: "Ye", reasoning_details: [detail(0, { text: "", signature: "s" })] }),
      chunk({ content: "s", reasoning_details: [detail(1, { text: "c" })] }),
      STOP,
    ),
  );
  assertEquals(reply.text, "Yes");
  assertEquals(reply.carried?.items, [{
    type: "chat.message",
    reasoning_details: [detail(0, { text: "ab", signature: "s" }), detail(1, { text: "c" })],
    content: [thinking("Let me think"), { type: "text", text: "Yes" }],
  }]);
});

// Streams that are no good reply.

const doubtful = (text: string) =>
  stream(
    piece(0, "a", "add"),
    piece(0, undefined, undefined, text),
    piece(0, undefined, undefined, LEFT),
    CALLS,
  );

const BAD: Readonly<Record<string, readonly [WireApi, string, RegExp]>> = {
  "nothing": ["chat", "", /it is empty/],
  "comments alone": ["chat", ": OPENROUTER PROCESSING\n\n", /ended before its reply/],

  "an empty finish reason": ["chat", stream(chunk({}, { finish_reason: "" })), /ended before/],
  "a finish reason of another choice": [
    "chat",
    stream(chunk({ content: "he" }), chunk({}, { index: 1, finish_reason: "stop" })),
    /ended before its reply/,
  ],
  "[DONE] alone": ["chat", stream("[DONE]"), /at choices/],
  "an event cut in half": [
    "chat",
    stream(chunk({ content: "hello" })) + stream(STOP).slice(0, -9),
    /is no JSON/,
  ],
  "an error in the middle": [
    "chat",
    stream(
      chunk({ content: "hel" }),
      { error: { code: 502, message: "Upstream is gone" } },
      "[DONE]",
    ),
    /it is an error: .*Upstream is gone/,
  ],
  "an error after the finish reason": [
    "chat",
    stream(chunk({ content: "hello" }), STOP, { error: "overloaded" }),
    /it is an error: .*overloaded/,
  ],
  "OpenRouter: an error with a choice": [
    "chat",
    stream(
      chunk({ content: "he" }),
      chunk({ content: "" }, { finish_reason: "error" }, { error: { code: 429, message: "slow" } }),
    ),
    /it is an error: .*slow/,
  ],

  "Groq: an error event": [
    "chat",
    stream(chunk({ content: "he" })) +
    'event: error\ndata: {"message":"no capacity"}\n\ndata: [DONE]\n\n',
    /it is an error: .*no capacity/,
  ],
  "Groq: stopped early": [
    "chat",
    stream(STOP, { ...STOP, x_groq: { error: "over capacity" } }, "[DONE]"),
    /it is an error: .*over capacity/,
  ],
  "vLLM: an error object": [
    "chat",
    stream({ object: "error", message: "too long", code: 400 }, "[DONE]"),
    /it is an error: .*too long/,
  ],
  "a line of an error": ["chat", "error: the worker died\n\n", /it is an error: the worker died/],
  "a response without what its events said": [
    "responses",
    stream({ type: "response.output_text.delta", delta: "hi" }, {
      type: "response.completed",
      response: response([]),
    }),
    /lacks what its events say/,
  ],
  "a call that is no object": ["chat", stream(calls(null), CALLS), /tool_calls.0/],
  "calls that are no list": ["chat", stream(chunk({ tool_calls: { a: 1 } }), CALLS), /tool_calls/],
  "arguments that the server or the model repeats": ["chat", doubtful(LEFT), /repeats a part/],
  "{} of the server or the model": ["chat", doubtful("{}"), /repeats a part/],
  "an error between events, that is none": [
    "chat",
    `${stream(chunk({ content: "he" }))}{"error":{"message":"CUDA"}}\n\n${stream("[DONE]")}`,
    /it is an error: .*CUDA/,
  ],
  "words": ["chat", "upstream: connect error", /it is text .*connect error/],
  "an error sent whole": ["chat", '{"error":{"message":"no"}}', /it is an error: .*no/],
  "a page": ["chat", "<html>", /it is a page/],
  "a response that has only begun": [
    "responses",
    stream({ type: "response.created", response: response([], { status: "in_progress" }) }),
    /ended before its reply/,
  ],
  "an error event of responses": [
    "responses",
    stream({ type: "error", code: "server_error", message: "broken", sequence_number: 3 }),
    /it is an error: .*broken/,
  ],
  "a response that is none": [
    "responses",
    stream({ type: "response.completed", response: "hello" }, "[DONE]"),
    /ended before its reply/,
  ],
  "an output that is none": [
    "responses",
    stream({ type: "response.completed", response: { ...response(), output: {} } }),
    /at output/,
  ],
};

Deno.test("wholeBody() gives a body that readers refuse where a stream is no good reply", async (t) => {
  for (const [name, [api, text, message]] of Object.entries(BAD)) {
    await t.step(name, () => {
      assertMatch(assertThrows(() => readStream(api, text), InfrastructureError).message, message);
    });
  }
});

Deno.test("wholeBody() passes over what says nothing", () => {
  const sent = { message: { role: "assistant", content: null, tool_calls: [call()] } };
  const whole = stream(
    chunk({ role: "assistant" }, {}, { error: "" }),
    chunk({}, { finish_reason: "tool_calls", ...sent }, { error: false }),
  );
  assertEquals(readStream("chat", whole).calls.length, 1);
  const status = "event: status\ndata: processing\n\n";
  const text = status + stream(chunk({ content: "hello" }), STOP, "done");
  assertEquals(readStream("chat", text).text, "hello");
});

Deno.test("wholeBody() keeps what a server says of calls that it could not read, beside the error", () => {
  const reply = readStream(
    "chat",
    stream(chunk({}, {
      finish_reason: "error",
      native_finish_reason: "MALFORMED_FUNCTION_CALL",
    }, { error: { code: 502, message: "Provider returned error" } })),
  );
  assertEquals([reply.parsed, reply.calls.length], ["unreadable", 1]);
});

Deno.test("wholeBody() reads a body that was sent whole, and events that end with one line break", () => {
  for (const [api, body] of [["chat", completion()], ["responses", response()]] as const) {
    const [line, lines] = [JSON.stringify(body), JSON.stringify(body, null, 2)];
    for (
      const text of [
        ...[line, `\uFEFF${line}`, ` \n${lines}\n`, `${lines}\n\ndata: [DONE]\n\n`],
        ...[`: wait\r\n\r\n${line}`, `: wait\n\n: wait\n\n${lines}\n`, stream(body, "[DONE]")],
      ]
    ) assertEquals(readStream(api, text).text, "hello", text);
  }
  // Chunks on lines of their own.
  const bare = [chunk({ content: "hel" }), chunk({ content: "lo" }), STOP];
  assertEquals(
    readStream("chat", bare.map((one) => JSON.stringify(one)).join("\n")).text,
    "hello",
  );
  const text = stream(chunk({ content: "hel" }), chunk({ content: "lo" }), STOP, "[DONE]");
  assertEquals(readStream("chat", text.replaceAll("\n\n", "\n")).text, "hello");
  assertEquals(readStream("chat", text.trimEnd()).text, "hello");
});

Deno.test("wholeBody() passes over whatever else keeps a connection open", () => {
  const text = stream(
    { choices: [], prompt_filter_results: [] },
    '{"type":"ping"}',
    "",
    "null",
    "1",
    "[]",
    { choices: [null, 7] },
    chunk({ content: "hello" }),
    chunk(null),
    STOP,
    "[DONE]",
    "{",
  );
  assertEquals(readStream("chat", `event: error\n\n${text}`).text, "hello");
  const role = chunk({ role: "assistant", content: "" });
  const { choices } = wholeBody("chat", stream(role, role, STOP)) as { choices: unknown };
  assertEquals(choices, [{
    index: 0,
    finish_reason: "stop",
    message: { role: "assistant", content: "" },
  }]);
});

Deno.test("wholeBody() gives hostile streams no more than their own text", () => {
  const keys = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}';
  const text = stream(
    `${keys},"choices":[${keys},"index":0,"delta":${keys},"content":"hello"}}]}`,
    `{"choices":[{"delta":{"content":[${keys},"type":"t","text":"a"}]}}]}`,
    `{"choices":[{"delta":{"content":[${keys},"type":"t","text":"a"}]}}]}`,
    `{"choices":[{"delta":{"tool_calls":[${keys},"function":${keys},"name":"add"}}]}}]}`,
    STOP,
  );
  assertEquals(readStream("chat", text).calls[0]?.name, "add");
  assertEquals(({} as JsonObject)["polluted"], undefined);
  const plain = '{"choices":[{"delta":{"reasoning_details":[{"type":"t","text":"a"}]}}]}';
  const set = plain.replace('{"type"', `${keys},"type"`);
  const [detail] = readStream("chat", stream(plain, set, STOP))
    .carried?.items[0]?.["reasoning_details"] as JsonObject[];
  assertEquals([detail?.["text"], detail?.["polluted"]], ["aa", undefined]);

  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const nested = '[{"type":"t","thinking":'.repeat(20_000) + '""' + "}]".repeat(20_000);
  for (const value of [deep, nested]) {
    const delta = `{"choices":[{"delta":{"content":${value}}}]}`;
    assertThrows(() => readStream("chat", stream(delta, delta, STOP)), InfrastructureError);
  }

  const many = Array.from({ length: 15_000 }, (_, place) => 15_000 - place);
  const indexes = many.map((index) => calls(part({ index }, { name: "add", arguments: "{}" })));
  assertEquals(readStream("chat", stream(...indexes, CALLS)).calls.length, many.length);

  // Texts and names that are searched or joined anew with each chunk would take minutes.
  const long = "x".repeat(2_000_000);
  for (const first of [`{"left":"${long}`, `{"left":"${long}"}`]) {
    const growing = [
      calls(part({ index: 0, id: "a" }, { name: "add", arguments: first })),
      ...many.map(() => calls(part({ index: 0, id: "a" }, { name: "a" }))),
      ...many.map(() => calls(part({ index: 0, id: "a" }, { name: "a", arguments: "{" }))),
    ];
    assertEquals(readStream("chat", stream(...growing, CALLS)).calls.length, 1);
  }
});
