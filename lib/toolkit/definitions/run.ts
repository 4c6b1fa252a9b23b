/**
 * Runs definitions: makes their calls on other inputs, without a model.
 * @module
 */

import { type Definition, isOfType, type SymbolicMessage, type TypedName } from "./definition.ts";
import { cannot, reasonOf } from "../../base/errors.ts";
import {
  exactJson,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import { errorOfResult, Symbols, valueOfResult } from "../../tools/references/symbol_table.ts";
import type { Tool } from "../../tools/tool.ts";

/** Options of {@linkcode runDefinition}. */
export interface RunDefinitionOptions {
  /**
   * Reads the value that a result binds. Default: {@linkcode valueOfResult}. Functions of generated tasks
   * return `{"variable": 512}`, of which a strategy binds 512.
   */
  readonly read?: (result: string, tool: Tool) => JsonValue;
  /** Receives each message of the definition, once its names have values, as in `The mean is @Mean=15.` */
  readonly said?: (message: Pick<SymbolicMessage, "role" | "content">) => void;
}

/** The error of a run. Its message is made printable, as results may be hostile. */
function runError(message: string, options?: ErrorOptions): Error {
  return new Error(printable(message, MAX_MESSAGE_LENGTH), options);
}

const MAX_MESSAGE_LENGTH = 2_000;
const MAX_ARGUMENTS_LENGTH = 300;

/**
 * Makes the calls of `definition` one after another, and returns the value of its output.
 *
 * @throws {InputError} If an input is missing, unknown or of the wrong type, or a tool is missing.
 * @throws {Error} If a call throws or returns a JSON object with the single key `error`, or
 * the output has the wrong type.
 *
 * @example Usage
 * ```ts
 * import { parseDefinition, runDefinition } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const add = {
 *   name: "add",
 *   description: "Adds two numbers",
 *   parameters: {
 *     type: "object",
 *     properties: { left: { type: "number" }, right: { type: "number" } },
 *   },
 *   execute: ({ left, right }: Record<string, unknown>) => Promise.resolve(String(Number(left) + Number(right))),
 * };
 * const double = parseDefinition({
 *   v: 1,
 *   kind: "definition",
 *   name: "double",
 *   inputs: [{ name: "X", type: "number" }],
 *   output: { name: "Double", type: "number" },
 *   calls: [{ tool: "add", arguments: { left: "@X", right: "@X" }, result: "Double" }],
 * });
 * assertEquals(await runDefinition(double, [add], { X: 21 }), 42);
 * ```
 */
export async function runDefinition(
  definition: Definition,
  tools: readonly Tool[],
  inputs: JsonObject,
  { read = valueOfResult, said }: RunDefinitionOptions = {},
): Promise<JsonValue> {
  const symbols = new Symbols(checkInputs(definition, inputs));
  const named = new Map(tools.map((tool) => [tool.name, tool]));
  const missing = definition.calls.find(({ tool }) => !named.has(tool));
  if (missing !== undefined) {
    throw cannot(
      `run ${definition.name}`,
      "all tools that it calls must be given",
      `${missing.tool} is not`,
    );
  }
  const tell = (calls: number) => {
    for (const { role, content, after } of definition.messages ?? []) {
      if (after === calls) said?.({ role, content: symbols.render(content) });
    }
  };
  tell(0);
  for (const [index, { tool: name, arguments: args, result }] of definition.calls.entries()) {
    const tool = named.get(name)!;
    let filled = args;
    try {
      const { values, errors } = symbols.fill(tool, args);
      if (errors.length > 0) throw new Error(errors.join(". "));
      filled = values;
      // A copy, as a tool may change its arguments.
      const text = await tool.execute(exactJson(jsonText(values)) as JsonObject);
      const error = errorOfResult(text);
      if (error !== undefined) throw new Error(error);
      symbols.bind(result, read(text, tool));
    } catch (error) {
      const list = printable(jsonText(filled), MAX_ARGUMENTS_LENGTH);
      throw runError(
        `Cannot run ${definition.name} as call ${index + 1}, ${name}(${list}), failed: ${
          reasonOf(error)
        }`,
        { cause: error },
      );
    }
    tell(index + 1);
  }
  const { name, type } = definition.output;
  const value = symbols.get(name)!;
  if (isOfType(value, type)) return value;
  throw runError(
    `Cannot run ${definition.name} as its output @${name} must be of type ${type}: it is ${
      printable(jsonText(value), MAX_ARGUMENTS_LENGTH)
    }`,
  );
}

/** Checks that the inputs are complete, known and of the right types. */
export function checkInputs(
  { name, inputs }: Definition,
  given: JsonObject,
): [string, JsonValue][] {
  const typed = ({ name, type }: TypedName) => `@${name}: ${type}`;
  const fail = (state: string): never => {
    const list = inputs.length === 0 ? "nothing" : inputs.map(typed).join(", ");
    throw cannot(`run ${name}`, `it takes ${list}`, state);
  };
  if (!isJsonObject(given)) fail("the inputs are no object");
  const unknown = Object.keys(given).find((key) => !inputs.some(({ name }) => name === key));
  if (unknown !== undefined) fail(`${printable(unknown, 100)} is not one of these`);
  return inputs.map(({ name, type }) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined) return fail(`@${name} is missing`);
    if (isOfType(value, type)) return [name, value];
    return fail(`@${name} is ${printable(String(jsonText(value)), MAX_ARGUMENTS_LENGTH)}`);
  });
}

/**
 * Returns a tool that runs `definition`; its result is the output as JSON text.
 *
 * @example Usage
 * ```ts
 * import { definitionTool, parseDefinition } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const shout = {
 *   name: "shout",
 *   description: "Says it louder",
 *   parameters: { type: "object", properties: { words: { type: "string" } } },
 *   execute: ({ words }: Record<string, unknown>) => Promise.resolve(String(words).toUpperCase()),
 * };
 * const greet = parseDefinition({
 *   v: 1,
 *   kind: "definition",
 *   name: "greet",
 *   inputs: [{ name: "Who", type: "string" }],
 *   output: { name: "Greeting", type: "string" },
 *   calls: [{ tool: "shout", arguments: { words: "Hello @Who" }, result: "Greeting" }],
 * });
 * const tool = definitionTool(greet, [shout]);
 * assertEquals(await tool.execute({ Who: "Ada" }), '"HELLO ADA"');
 * ```
 */
export function definitionTool(
  definition: Definition,
  tools: readonly Tool[],
  options: RunDefinitionOptions = {},
): Tool {
  const { name, description, inputs, output } = definition;
  return {
    name,
    description: description ?? `Gives ${output.name}, of type ${output.type}`,
    parameters: {
      type: "object",
      properties: Object.fromEntries(inputs.map(({ name, type }) => [name, { type }])),
      required: inputs.map(({ name }) => name),
      additionalProperties: false,
    },
    execute: async (input) => jsonText(await runDefinition(definition, tools, input, options)),
  };
}

/** A prompt as MCP's `prompts/list` has it. */
export interface McpPrompt {
  /** Its name. */
  readonly name: string;
  /** A description; omitted when there is none. */
  readonly description?: string;
  /** Its parameters, in order; their values are texts. */
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: true;
  }[];
}

/** The result of MCP's `prompts/get`. */
export interface McpPromptResult {
  /** A description; omitted when there is none. */
  readonly description?: string;
  /** The messages, in order. */
  readonly messages: readonly {
    readonly role: "user" | "assistant";
    readonly content: { readonly type: "text"; readonly text: string };
  }[];
}

/**
 * Returns a definition as a prompt in the form of MCP's `prompts/list`. Its calls are not part of it.
 *
 * @throws {InputError} If the definition keeps no messages.
 *
 * @example Usage
 * ```ts
 * import { definitionPrompt, parseDefinition } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const definition = parseDefinition({
 *   v: 1,
 *   kind: "definition",
 *   name: "double",
 *   inputs: [{ name: "X", type: "number" }],
 *   output: { name: "Double", type: "number" },
 *   calls: [{ tool: "eval", arguments: { expression: "2*@X" }, result: "Double" }],
 *   messages: [{ role: "user", content: "What is twice @X?", after: 0 }],
 * });
 * assertEquals(definitionPrompt(definition), {
 *   name: "double",
 *   arguments: [{ name: "X", description: "of type number, as JSON", required: true }],
 * });
 * ```
 */
export function definitionPrompt(definition: Definition): McpPrompt {
  assertMessages(definition);
  const { name, description, inputs } = definition;
  return {
    name,
    ...(description !== undefined && { description }),
    arguments: inputs.map(({ name, type }) => ({
      name,
      description: type === "string" ? "a text" : `of type ${type}, as JSON`,
      required: true,
    })),
  };
}

/**
 * Returns the messages of a definition in the form of MCP's `prompts/get`. The names of inputs are replaced by
 * their values; those of results stay, as nothing is called.
 *
 * @param given The values of the inputs, by name: texts, as MCP has them, of JSON unless the input is a text.
 * @throws {InputError} If the definition keeps no messages, or an input is missing, unknown or of the wrong
 * type.
 *
 * @example Usage
 * ```ts
 * import { getDefinitionPrompt, parseDefinition } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const definition = parseDefinition({
 *   v: 1,
 *   kind: "definition",
 *   name: "double",
 *   inputs: [{ name: "X", type: "number" }],
 *   output: { name: "Double", type: "number" },
 *   calls: [{ tool: "eval", arguments: { expression: "2*@X" }, result: "Double" }],
 *   messages: [{ role: "user", content: "What is twice @X?", after: 0 }],
 * });
 * assertEquals(getDefinitionPrompt(definition, { X: "21" }), {
 *   messages: [{ role: "user", content: { type: "text", text: "What is twice 21?" } }],
 * });
 * ```
 */
export function getDefinitionPrompt(
  definition: Definition,
  given: Readonly<Record<string, string>>,
): McpPromptResult {
  const { description, inputs } = definition;
  const messages = assertMessages(definition);
  const types = new Map(inputs.map(({ name, type }) => [name, type]));
  const read = Object.entries(given).map(([name, text]): [string, JsonObject[string]] => [
    name,
    types.get(name) === "string" ? text : parseJson(text) ?? text,
  ]);
  const symbols = new Symbols(new Map(checkInputs(definition, Object.fromEntries(read))));
  return {
    ...(description !== undefined && { description }),
    messages: messages.map(({ role, content }) => ({
      role,
      content: { type: "text", text: symbols.resolve(content) },
    })),
  };
}

function assertMessages({ name, messages }: Definition): NonNullable<Definition["messages"]> {
  if (messages !== undefined) return messages;
  throw cannot(`make a prompt of ${name}`, "a prompt has messages", "the definition keeps none");
}
