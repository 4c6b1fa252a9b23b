/**
 * Definitions as prompts of the Model Context Protocol (MCP), which have parameters and messages, and no calls
 * (Indirection, "Adding a Level of Indirection").
 * @see https://modelcontextprotocol.io/specification/2025-06-18/server/prompts
 * @module
 */

import type { Definition } from "./definition.ts";
import { checkInputs } from "./run.ts";
import { cannot } from "../../base/errors.ts";
import { type JsonObject, parseJson } from "../../base/json.ts";
import { Symbols } from "../../tools/references/symbol_table.ts";

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
