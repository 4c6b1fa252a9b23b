/**
 * Definitions: sequences of calls with a name and parameters, lifted from what a model did with
 * names, that run again on other inputs without a model (Indirection, "Adding a Level of
 * Indirection").
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { InputError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import { isSymbol, LONGEST_QUOTE, NAME_RULE, referencesIn } from "../../tools/references/syntax.ts";
import { typeOf } from "../../tools/schema/position.ts";
import { isPlain } from "../../tools/references/symbol_table.ts";

/** A type of JSON values, as JSON Schema names it. */
export type JsonType = "number" | "integer" | "string" | "boolean" | "object" | "array" | "null";

/** Whether `value` is of a type. */
export function isOfType(value: JsonValue, type: JsonType): boolean {
  return typeOf(value) === type || (type === "integer" && Number.isInteger(value));
}

/** A name, without its "@", and the type of what it stands for. */
export interface TypedName {
  /** The name. */
  readonly name: string;
  /** The type of its value. */
  readonly type: JsonType;
}

/** A call as a model writes it that works with names. */
export interface SymbolicCall {
  /** The tool that is called. */
  readonly tool: string;
  /** Its arguments, names among them, without the one that names the result. */
  readonly arguments: JsonObject;
  /** The name of its result, without its "@". */
  readonly result: string;
}

/** What a definition is made of. */
export interface DefinitionParts {
  /** What it is called, as a tool is: letters, digits, `_` and `-`. */
  readonly name: string;
  /** What it does, in words. */
  readonly description?: string;
  /** What it takes, in order. */
  readonly inputs: readonly TypedName[];
  /** What it gives. */
  readonly output: TypedName;
  /** The calls, in the order in which they are made. */
  readonly calls: readonly SymbolicCall[];
}

/** A definition as plain JSON. */
export interface DefinitionJson extends DefinitionParts {
  /** The version of this form. */
  readonly v: 1;
  /** What it is. */
  readonly kind: "definition";
}

/**
 * A sequence of calls with a name and parameters.
 *
 * @example The article's definition
 * ```ts
 * import { Definition } from "./definition.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const mean = new Definition({
 *   name: "mean",
 *   inputs: [{ name: "X", type: "number" }, { name: "Y", type: "number" }],
 *   output: { name: "Mean", type: "number" },
 *   calls: [
 *     { tool: "eval", arguments: { expression: "@X+@Y" }, result: "SumXY" },
 *     { tool: "eval", arguments: { expression: "@SumXY/2" }, result: "Mean" },
 *   ],
 * });
 * assertEquals(
 *   String(mean),
 *   `mean(@X: number, @Y: number) -> @Mean: number :-
 *   eval({"expression":"@X+@Y"}) -> @SumXY
 *   eval({"expression":"@SumXY/2"}) -> @Mean`,
 * );
 * ```
 */
export class Definition implements DefinitionParts {
  /** What it is called. */
  readonly name: string;
  /** What it does, in words. */
  readonly description?: string;
  /** What it takes, in order. */
  readonly inputs: readonly TypedName[];
  /** What it gives. */
  readonly output: TypedName;
  /** The calls, in the order in which they are made. */
  readonly calls: readonly SymbolicCall[];

  /**
   * Makes a definition of a copy of its parts.
   *
   * @throws {InputError} If it has no calls, a name is none or is bound twice, a call uses a name that
   * is neither an input nor the result of an earlier call, or no call binds the output.
   */
  constructor(parts: DefinitionParts) {
    check(parts);
    const { name, description, inputs, output, calls } = structuredClone(parts);
    this.name = name;
    if (description !== undefined) this.description = description;
    this.inputs = inputs.map(({ name, type }) => ({ name, type }));
    this.output = { name: output.name, type: output.type };
    this.calls = calls.map(({ tool, arguments: written, result }) => ({
      tool,
      arguments: written,
      result,
    }));
  }

  /** The definition as people read it, in the form of the article. */
  toString(): string {
    const { name, description, inputs, output, calls } = this;
    const typed = (one: TypedName) => `@${one.name}: ${one.type}`;
    return [
      ...(description === undefined ? [] : [`/** ${printable(description, LONGEST_LINE)} */`]),
      `${name}(${inputs.map(typed).join(", ")}) -> ${typed(output)} :-`,
      ...calls.map(({ tool, arguments: written, result }) =>
        `  ${printable(tool)}(${printable(JSON.stringify(written), LONGEST_LINE)}) -> @${result}`
      ),
    ].join("\n");
  }

  /** The definition as plain data, which {@linkcode parseDefinition} reads. */
  toJSON(): DefinitionJson {
    return { v: 1, kind: "definition", ...structuredClone({ ...this }) };
  }
}

/** No line of a definition is shown longer. */
const LONGEST_LINE = 2_000;
const FUNCTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;

function check({ name, inputs, output, calls }: DefinitionParts): void {
  const action = `Cannot define ${printable(name, LONGEST_QUOTE)}`;
  const fail = (rule: string, state: string): never => {
    throw new InputError(`${action} as ${rule}: ${state}`);
  };
  if (!FUNCTION_NAME.test(name)) {
    fail("a definition's name has at most 64 letters of English, digits, _ and -", "it has not");
  }
  const known = new Set<string>();
  const bind = (name: string, where: string) => {
    const shown = `${where} names @${printable(name, LONGEST_QUOTE)}`;
    if (!isSymbol(name)) fail(NAME_RULE, shown);
    if (known.has(name)) fail("a name stands for one value", `${shown} again`);
    known.add(name);
  };
  for (const { name } of inputs) bind(name, "an input");
  if (calls.length === 0) fail("it must make a call", "there is none");
  calls.forEach(({ tool, arguments: written, result }, index) => {
    const call = `call ${index + 1}, ${printable(tool, LONGEST_QUOTE)},`;
    if (!isPlain(written)) {
      fail("arguments must be JSON that nests not too deep", `${call} does not`);
    }
    for (const name of referencesIn(written)) {
      if (known.has(name)) continue;
      fail(
        "each name must be an input or the result of an earlier call",
        `${call} uses @${name.slice(0, LONGEST_QUOTE)}`,
      );
    }
    bind(result, call);
  });
  if (!calls.some(({ result }) => result === output.name)) {
    fail("a call must bind its output", `none binds @${printable(output.name, LONGEST_QUOTE)}`);
  }
}

const TYPED_NAME = z.strictObject({
  name: z.string(),
  type: z.enum(["number", "integer", "string", "boolean", "object", "array", "null"]),
});

/** The arguments are taken as they are: a schema of records would lose keys such as `__proto__`. */
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
}) satisfies z.ZodType<DefinitionJson>;

/**
 * Reads a definition: JSON text, or what was parsed from it. Everything is checked again.
 *
 * @throws {InputError} Naming what is wrong.
 *
 * @example Usage
 * ```ts
 * import { parseDefinition } from "./definition.ts";
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
  const value = typeof json === "string" ? parseJson(json) : json;
  return new Definition(parseWith(DEFINITION, value, "the definition"));
}
