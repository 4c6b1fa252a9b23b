/**
 * What the vendors' own documentation says of lines of training data, written down as strict schemas.
 */

import { assert, assertEquals } from "@std/assert";
import { z } from "zod";

/**
 * A line of OpenAI's file for fine-tuning chat models: "The per-line training example of a fine-tuning input file
 * for chat models using the supervised method", `FineTuneChatRequestInput` of its API reference, whose keys are
 * messages, tools, parallel_tool_calls and the deprecated functions. What its upload wants of results of tools is
 * stricter than the reference: texts.
 */
const CALL = z.strictObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.strictObject({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    arguments: z.string(),
  }),
});

const MESSAGE = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: z.string() }),
  z.strictObject({ role: z.literal("user"), content: z.string() }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.string().min(1).optional(),
    tool_calls: z.array(CALL).min(1).optional(),
    weight: z.literal([0, 1]).optional(),
  }).refine((message) => message.content !== undefined || message.tool_calls !== undefined),
  z.strictObject({ role: z.literal("tool"), tool_call_id: z.string(), content: z.string() }),
]);

const TOOL = z.strictObject({
  type: z.literal("function"),
  function: z.strictObject({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    description: z.string(),
    parameters: z.looseObject({ type: z.literal("object") }),
    strict: z.boolean().optional(),
  }),
});

/** Metadata as OpenAI takes it where it takes any: at most 16 texts by short keys. */
const METADATA = z.record(z.string().min(1).max(64), z.string().max(512))
  .refine((metadata) => Object.keys(metadata).length <= 16);

const OPENAI_LINE = z.strictObject({
  messages: z.array(MESSAGE).min(2),
  tools: z.array(TOOL).min(1).max(128),
  parallel_tool_calls: z.boolean(),
});

/** A line as it is exported, with metadata by default. */
export type OpenAILine = z.infer<typeof OPENAI_LINE> & { metadata: Record<string, string> };

/** A line that OpenAI documents, and beside it the metadata. */
export function checkOpenAILine(line: unknown, bare = false): OpenAILine {
  const schema = bare ? OPENAI_LINE : OPENAI_LINE.extend({ metadata: METADATA });
  const read = schema.parse(line) as OpenAILine;
  const { messages, tools } = read;
  // "The last message must be from the assistant."
  assertEquals(messages.at(-1)!.role, "assistant");
  const names = tools.map((tool) => tool.function.name);
  assertEquals(new Set(names).size, names.length);
  // Each call is answered, in order, by a message behind it, and each answer is one to a call.
  let owed: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      assertEquals(message.tool_call_id, owed.shift());
      continue;
    }
    assertEquals(owed, []);
    owed = message.role === "assistant" ? (message.tool_calls ?? []).map(({ id }) => id) : [];
  }
  assertEquals(owed, []);
  const ids = messages.flatMap((message) =>
    message.role === "assistant" ? (message.tool_calls ?? []).map(({ id }) => id) : []
  );
  assertEquals(new Set(ids).size, ids.length);
  return read;
}

const HERMES_LINE = z.strictObject({
  conversations: z.array(
    z.strictObject({ from: z.enum(["system", "human", "gpt", "tool"]), value: z.string().min(1) }),
  ).min(3),
  metadata: METADATA,
});

/** A line as it is exported for Hermes. */
export type HermesLine = z.infer<typeof HERMES_LINE>;

/** A line in the form of the published data of Hermes: functions, calls and results within their tags. */
export function checkHermesLine(line: unknown): HermesLine {
  const read = HERMES_LINE.parse(line);
  const [system, human, ...rest] = read.conversations;
  assertEquals([system!.from, human!.from], ["system", "human"]);
  const [, tools] = /<tools>\n([^]*)\n<\/tools>/.exec(system!.value)!;
  for (const tool of tools!.split("\n")) TOOL.parse(JSON.parse(tool));
  let calls = 0;
  for (const { from, value } of rest) {
    // Some strategies go on from what the model has said.
    if (from === "human") {
      assertEquals(calls, 0);
      continue;
    }
    const tag = from === "gpt" ? "tool_call" : "tool_response";
    const bodies = Array.from(
      value.matchAll(new RegExp(`<${tag}>\n([^]*?)\n</${tag}>`, "g")),
      ([, body]) => JSON.parse(body!),
    );
    if (from === "gpt") {
      for (const { name, arguments: given } of bodies) {
        assertEquals([typeof name, typeof given], ["string", "object"]);
      }
      calls = bodies.length;
    } else {
      assertEquals(from, "tool");
      assertEquals(bodies.length, calls);
      assert(calls > 0);
      calls = 0;
    }
  }
  assertEquals([rest.at(-1)!.from, calls], ["gpt", 0]);
  return read;
}
