/**
 * Definitions: named sequences of calls with parameters, taken from the calls that a model made with names. They
 * run on other inputs without a model (Indirection, "Adding a Level of Indirection").
 * @module
 */

import { z } from "zod";
import { assertVersion, parseWith, withoutMark } from "../../base/input.ts";
import { InputError } from "../../base/errors.ts";
import {
  defined,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import {
  isSymbol,
  MAX_QUOTE_LENGTH,
  NAME_RULE,
  referencesIn,
} from "../../tools/references/syntax.ts";
import { typeOf } from "../../tools/schema/position.ts";
import { isPlain } from "../../tools/references/symbol_table.ts";

/** A type of JSON values, named as in JSON Schema. */
export type JsonType = "number" | "integer" | "string" | "boolean" | "object" | "array" | "null";

/** Whether `value` is of a type. */
export function isOfType(value: JsonValue, type: JsonType): boolean {
  return typeOf(value) === type ||
    type === "integer" && (Number.isInteger(value) || typeof value === "bigint");
}

/** A name and the type of its value. */
export interface TypedName {
  /** The name, without its "@". */
  readonly name: string;
  /** The type of its value. */
  readonly type: JsonType;
}

/** A call with names in place of values. */
export interface SymbolicCall {
  /** The name of the tool. */
  readonly tool: string;
  /** Its arguments, which may contain names, without the one that names the result. */
  readonly arguments: JsonObject;
  /** The name of its result, without its "@". */
  readonly result: string;
}

/** What was said before, between or after the calls of a definition. */
export interface SymbolicMessage {
  /** Who said it. */
  readonly role: "user" | "assistant";
  /** Its text, in which names such as `@X` stand for values. */
  readonly content: string;
  /** The number of calls before it. */
  readonly after: number;
}

/** The parts of a definition. */
export interface DefinitionParts {
  /** Its name, as for a tool: letters, digits, `_` and `-`. */
  readonly name: string;
  /** A description. */
  readonly description?: string;
  /** Its parameters, in order. */
  readonly inputs: readonly TypedName[];
  /** Its result. */
  readonly output: TypedName;
  /** The calls, in order. */
  readonly calls: readonly SymbolicCall[];
  /** The messages around them, in order; omitted when none were kept. */
  readonly messages?: readonly SymbolicMessage[];
}

/** A definition as plain JSON. */
export interface DefinitionJson extends DefinitionParts {
  /** The version of this form. */
  readonly v: 1;
  /** Marks the JSON as a definition. */
  readonly kind: "definition";
}

/** Its parts are its fields. */
export interface Definition extends DefinitionParts {}

/**
 * A sequence of calls with a name and parameters, and of the messages around them if they were kept.
 */
export class Definition {
  /**
   * Makes a definition from a copy of its parts.
   *
   * @throws {InputError} If there are no calls, a name is invalid or bound twice, a call uses a name that is
   * neither an input nor the result of an earlier call, no call binds the output, or messages are not in the
   * order of the calls.
   */
  constructor(parts: DefinitionParts) {
    check(parts);
    Object.assign(this, defined(structuredClone(parts)));
  }

  /** The definition as plain JSON for {@linkcode parseDefinition}. */
  toJSON(): DefinitionJson {
    return { v: 1, kind: "definition", ...structuredClone({ ...this }) };
  }
}

/** The longest message of a definition in a file. */
const MAX_MESSAGE_LENGTH = 100_000;
const FUNCTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;

function check({ name, inputs, output, calls, messages = [] }: DefinitionParts): void {
  const action = `Cannot define ${printable(name, MAX_QUOTE_LENGTH)}`;
  const fail = (rule: string, state: string): never => {
    throw new InputError(`${action} as ${rule}: ${state}`);
  };
  if (!FUNCTION_NAME.test(name)) {
    fail("its name must be 1 to 64 English letters, digits, _ or -", "it is not");
  }
  const known = new Set<string>();
  const bind = (name: string, where: string) => {
    const binding = `${where} names @${printable(name, MAX_QUOTE_LENGTH)}`;
    if (!isSymbol(name)) fail(NAME_RULE, binding);
    if (known.has(name)) fail("a name stands for one value", `${binding} again`);
    known.add(name);
  };
  for (const { name } of inputs) bind(name, "an input");
  if (calls.length === 0) fail("it must make a call", "there is none");
  calls.forEach(({ tool, arguments: args, result }, index) => {
    const call = `call ${index + 1}, ${printable(tool, MAX_QUOTE_LENGTH)},`;
    if (!isPlain(args)) {
      fail("arguments must be JSON that does not nest too deeply", `those of ${call} are not`);
    }
    for (const name of referencesIn(args)) {
      if (known.has(name)) continue;
      fail(
        "each name must be an input or the result of an earlier call",
        `${call} uses @${name.slice(0, MAX_QUOTE_LENGTH)}`,
      );
    }
    bind(result, call);
  });
  if (!calls.some(({ result }) => result === output.name)) {
    fail("a call must bind its output", `none binds @${printable(output.name, MAX_QUOTE_LENGTH)}`);
  }
  for (const [place, { after }] of messages.entries()) {
    const least = messages[place - 1]?.after ?? 0;
    if (Number.isInteger(after) && after >= least && after <= calls.length) continue;
    fail("messages must be in the order of the calls", `message ${place + 1} is after ${after}`);
  }
}

const TYPED_NAME = z.strictObject({
  name: z.string(),
  type: z.enum(["number", "integer", "string", "boolean", "object", "array", "null"]),
});

/** Arguments are checked without copying, as a schema of records would lose keys such as `__proto__`. */
const DEFINITION = z.strictObject({
  v: z.literal(1),
  kind: z.literal("definition"),
  name: z.string(),
  description: z.string().exactOptional(),
  inputs: z.array(TYPED_NAME),
  output: TYPED_NAME,
  calls: z.array(z.strictObject({
    tool: z.string(),
    arguments: z.custom<JsonObject>(isJsonObject, "must be a JSON object"),
    result: z.string(),
  })),
  messages: z.array(z.strictObject({
    role: z.enum(["user", "assistant"]),
    content: z.string().max(MAX_MESSAGE_LENGTH),
    after: z.int(),
  })).exactOptional(),
}) satisfies z.ZodType<DefinitionJson>;

/**
 * Parses a definition from JSON text or its parsed value, and checks all of it.
 *
 * @throws {InputError} If it is invalid, with the reason.
 *
 * @example Usage
 * ```ts
 * import { parseDefinition } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const definition = parseDefinition({
 *   v: 1,
 *   kind: "definition",
 *   name: "double",
 *   inputs: [{ name: "X", type: "number" }],
 *   output: { name: "Double", type: "number" },
 *   calls: [{ tool: "eval", arguments: { expression: "2×@X" }, result: "Double" }],
 * });
 * assertEquals(parseDefinition(JSON.stringify(definition)), definition);
 * ```
 */
export function parseDefinition(json: unknown): Definition {
  const value = typeof json === "string" ? parseJson(withoutMark(json)) : json;
  assertVersion(value, "the definition");
  const { v: _, kind: __, ...parts } = parseWith(DEFINITION, value, "the definition");
  return new Definition(parts);
}
