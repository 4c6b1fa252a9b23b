// Traces and documents of tools that programs have spoiled: each is read, with no call that it does not tell of, or
// there is one message that names the file and what is wrong with it.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";
import { readTraces } from "../../lib/integrations/traces.ts";
import { fileTrace, tracesIn } from "../../lib/integrations/traces/read.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import type { StoppableTool } from "../../lib/tools/tool.ts";
import fc from "../support/fast_check.ts";
import {
  assertReadable,
  changed,
  changedText,
  fuzz,
  quietly,
  textChanges,
  valueChanges,
} from "../support/fuzzing.ts";

const ask = { role: "user", content: "Rome?" };
const written = '{"city":"Rome"}';
const input = { city: "Rome" };
const part = (type: string, more: JsonObject) => ({ type, ...more });
const attributes = (output: JsonObject, more: JsonValue[] = []): JsonObject => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "gpt-5",
  "gen_ai.input.messages": [
    { role: "user", parts: [part("text", { content: "Rome?" })] },
    ...more,
  ],
  "gen_ai.output.messages": [{ role: "assistant", parts: [output] }],
});
const call = part("tool_call", { id: "1", name: "weather", arguments: input });

/** A trace of each form, with one call and its result. */
const TRACES: Readonly<Record<string, JsonValue>> = {
  chat: {
    model: "gpt-5",
    messages: [
      ask,
      {
        role: "assistant",
        content: "Let me see",
        tool_calls: [{
          id: "1",
          type: "function",
          function: { name: "weather", arguments: written },
        }],
      },
      { role: "tool", tool_call_id: "1", content: "21" },
      { role: "assistant", content: "21 degrees" },
    ],
  },
  responses: [
    ask,
    part("function_call", { call_id: "1", name: "weather", arguments: written }),
    part("function_call_output", { call_id: "1", output: "21" }),
    part("message", { role: "assistant", content: [part("output_text", { text: "21 degrees" })] }),
  ],
  ai_sdk: {
    messages: [
      ask,
      {
        role: "assistant",
        content: [part("tool-call", { toolCallId: "1", toolName: "weather", input })],
      },
      {
        role: "tool",
        content: [
          part("tool-result", {
            ...{ toolCallId: "1", toolName: "weather" },
            output: { type: "text", value: "21" },
          }),
        ],
      },
      { role: "assistant", content: [part("text", { text: "21 degrees" })] },
    ],
  },
  langchain: {
    messages: [
      { type: "human", content: "Rome?" },
      { type: "ai", content: "", tool_calls: [{ id: "1", name: "weather", args: input }] },
      { type: "tool", tool_call_id: "1", content: "21" },
      { type: "ai", content: "21 degrees" },
    ],
  },
  otel: [
    {
      name: "chat",
      spanId: "a",
      traceId: "t",
      startTimeUnixNano: "1",
      attributes: attributes(call),
    },
    {
      ...{ name: "chat", spanId: "b", traceId: "t", startTimeUnixNano: "2" },
      attributes: attributes(part("text", { content: "21 degrees" }), [
        { role: "assistant", parts: [call] },
        { role: "tool", parts: [part("tool_call_response", { id: "1", response: "21" })] },
      ]),
    },
  ],
};

/** Reads a text of traces as tests and as a program do; what is wrong with it must be said readably. */
async function read(text: string): Promise<void> {
  try {
    for (const { calls, tools, events } of await readTraces(text, { source: "traces.json" })) {
      const known = new Set(tools.map(({ name }) => name));
      // A call without a name is of no tool, and of long names the beginning is kept.
      for (const { tool } of calls) {
        assert(known.has(tool) || tool.trim() === "" || tool.length > 100);
      }
      assertEquals(JSON.parse(JSON.stringify(events)), events, "a trial of it can be written");
    }
    for (const found of tracesIn(text, "traces.json")) fileTrace(found);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    assertReadable(error.message);
    assertStringIncludes(error.message, "traces.json");
  }
  assertEquals(({} as { polluted?: unknown }).polluted, undefined);
}

const trace = () => fc.constantFrom(...Object.values(TRACES));

fuzz(
  "readTraces() reads traces with other fields, or says what is wrong",
  fc.tuple(
    fc.array(fc.tuple(trace(), valueChanges()), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  ),
  ([all, isList]) => {
    const made = all.map(([one, changes]) => changed(one, changes));
    return read(isList ? JSON.stringify(made) : made.map((one) => JSON.stringify(one)).join("\n"));
  },
  { runs: 100 },
);

fuzz(
  "readTraces() reads traces with another text, or says what is wrong",
  fc.tuple(trace(), textChanges()),
  ([one, changes]) => read(changedText(JSON.stringify(one), changes)),
  { runs: 100 },
);

const DOCUMENT: JsonObject = {
  openapi: "3.1.0",
  info: { title: "Weather", version: "1" },
  paths: {
    "/cities/{city}": {
      parameters: [{ $ref: "#/components/parameters/City" }],
      get: {
        operationId: "weather.of",
        summary: "Returns the weather of a city",
        parameters: [{ name: "unit", in: "query", schema: { enum: ["C", "F"] } }],
        responses: {
          200: {
            description: "The weather",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Weather" } } },
          },
        },
      },
      put: {
        operationId: "setWeather",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Weather" } } },
        },
        responses: { 204: { description: "Done" } },
      },
    },
  },
  components: {
    parameters: {
      City: { name: "city", in: "path", required: true, schema: { type: "string", minLength: 1 } },
    },
    schemas: {
      Weather: {
        type: "object",
        required: ["degrees"],
        properties: {
          degrees: { type: "number", minimum: -90, maximum: 60 },
          days: { type: "array", maxItems: 2, items: { $ref: "#/components/schemas/Weather" } },
        },
      },
    },
  },
};

/** What a mocked call comes to: a result, why the arguments do not fit, or why none can be made up. */
async function outcome(execute: StoppableTool["execute"]): Promise<unknown> {
  try {
    return await execute({ city: "Rome" }, {} as never);
  } catch (error) {
    const { message } = error as Error;
    if (/^The arguments do not conform/.test(message)) return message;
    // That there is no result is no fault of a model.
    assert(error instanceof InfrastructureError, message);
    return message;
  }
}

fuzz(
  "openApiTools() makes tools of a document with other fields, or says what is wrong",
  fc.tuple(valueChanges(), fc.constantFrom("3.0.3", "3.1.0")),
  async ([changes, version]) => {
    const document = changed({ ...DOCUMENT, openapi: version }, changes);
    try {
      const { value: tools } = await quietly(() =>
        openApiTools(document as JsonObject, { seed: 1 })
      );
      for (const { name, execute } of tools) {
        assert(/^[\w-]{1,64}$/.test(name), name);
        assertEquals(await outcome(execute), await outcome(execute));
      }
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      assertReadable(error.message);
    }
    assertEquals(({} as { polluted?: unknown }).polluted, undefined);
  },
  { runs: 100 },
);
