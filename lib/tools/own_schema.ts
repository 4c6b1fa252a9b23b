/**
 * Schemas of own tools, of zod, Standard JSON Schema or JSON Schema: what a model sees of them, and how they check and parse arguments.
 * @module
 */

import { z } from "zod";
import { cannot, reasonOf } from "../base/errors.ts";
import { isShallow } from "../base/input.ts";
import {
  hasBigint,
  isJsonObject,
  isObject,
  type JsonObject,
  type JsonValue,
  nearestNumber,
  printable,
  withNumberBounds,
  withNumbers,
  writesDigits,
} from "../base/json.ts";
import { foreignSchema, hasJsonSchema } from "./schema/_foreign.ts";
import { targetOf, typesOf } from "./schema/position.ts";
import { trustOwnSchema } from "./schema/_patterns.ts";
import { resultCheck } from "./schema/returns.ts";
import { redact } from "../base/redact.ts";
import { type Refusal, refused, type Tool } from "./tool.ts";

/** A schema of any copy of zod 4: its output is inferred from its type. */
export interface ZodSchema<Output = unknown> {
  /** zod's internal data of the schema. */
  readonly _zod: { readonly output: Output };
}

/**
 * A schema with both Standard Schema and Standard JSON Schema (standardschema.dev), such as those of ArkType and
 * what `toStandardJsonSchema()` makes of a schema of Valibot: its output is inferred from its type.
 */
export interface StandardSchema<Output = unknown> {
  /** What the two standards define. */
  readonly "~standard": {
    /** The version of the standards. */
    readonly version: 1;
    /** The library. */
    readonly vendor: string;
    /** Parses a value, at once or later: without issues it conforms. */
    readonly validate: (
      value: unknown,
    ) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /**
     * Converts the schema to JSON Schema.
     *
     * - `input`: Returns the JSON Schema of what the schema takes.
     */
    readonly jsonSchema: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** What a {@linkcode StandardSchema} makes of a value: its output, or the issues of a value that does not conform. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
    readonly issues: readonly {
      readonly message: string;
      readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
    }[];
  };

/** A schema of arguments. */
export type ParametersSchema = ZodSchema | StandardSchema | JsonObject;

/** Whether a schema accepts an object, itself or by what it refers to. */
function takesObject(
  root: JsonObject,
  schema: JsonValue | undefined,
  visited = new Set<JsonValue>(),
): boolean {
  if (!isJsonObject(schema) || visited.has(schema)) return false;
  visited.add(schema);
  const types = typesOf(schema);
  if (types !== undefined) return types.includes("object");
  const { $ref, anyOf, oneOf, allOf, properties } = schema;
  const takes = (branch: JsonValue | undefined) => takesObject(root, branch, visited);
  if (isJsonObject(properties) || takes(targetOf(root, $ref))) return true;
  if (Array.isArray(allOf) && allOf.some(takes)) return true;
  return [anyOf, oneOf].some((branches) => {
    if (!Array.isArray(branches)) return false;
    // A body that may be left out is null in OpenAPI.
    const others = branches.filter((branch) => !isJsonObject(branch) || branch["type"] !== "null");
    return others.length > 0 && others.every(takes);
  });
}

/** Checks and parses the arguments of a tool. */
interface ArgumentReader {
  readonly parameters: JsonObject;
  readonly check?: (input: JsonObject) => Refusal | undefined;
  readonly read: (input: JsonObject) => unknown;
}

/**
 * Returns how the arguments of a tool are checked and parsed. `read` returns a promise where the schema does so; what
 * it finds then is thrown by that, as a check says at once what it knows.
 */
export function argumentReader(subject: string, schema: ParametersSchema): ArgumentReader {
  const given = jsonSchemaOf(subject, schema);
  if (!takesObject(given, given)) {
    throw cannot(
      `make ${subject}`,
      "its parameters must be the schema of an object",
      given["type"] === undefined
        ? "they have no type and no properties"
        : `the type is ${JSON.stringify(given["type"])}`,
    );
  }
  // Providers want the type, also beside a reference or alternatives.
  const parameters = withNumberBounds(
    given["type"] === undefined ? { type: "object", ...given } : given,
  );
  const parse = parserOf(schema);
  if (parse === undefined) return { parameters, read: (input) => input };
  trustOwnSchema(parameters);
  // Arguments that were checked, and have not been read: libraries do both at once.
  const checked = new WeakMap<JsonObject, { readonly output: unknown }>();
  const check = (input: JsonObject) => {
    const parsed = parsedInput(subject, parse, input);
    if ("error" in parsed) return parsed;
    checked.set(input, parsed);
  };
  return {
    parameters,
    check,
    read: (input) => {
      const refusal = checked.has(input) ? undefined : check(input);
      if (refusal !== undefined) throw new Error(refusal.error);
      const { output } = checked.get(input)!;
      // The tool may change what it gets.
      checked.delete(input);
      return output;
    },
  };
}

/** Parses a value by a schema. */
type Parser = StandardSchema["~standard"]["validate"];

/** Returns what parses values by a schema; `undefined` if there is nothing but a JSON Schema. */
function parserOf(schema: ParametersSchema): Parser | undefined {
  if (!isZod(schema)) {
    if (!isStandard(schema)) return undefined;
    const { validate }: Partial<StandardSchema["~standard"]> = schema["~standard"];
    return validate;
  }
  return (value) => {
    const { error, data } = schema.safeParse(value);
    return error === undefined ? { value: data } : { issues: error.issues };
  };
}

function parsedInput(
  subject: string,
  parse: Parser,
  input: JsonObject,
): { readonly output: unknown } | Refusal {
  const { whole, parts } = withoutPrototypes(withNumbers(input));
  const outcome = (result: StandardResult<unknown>) => {
    if (result.issues !== undefined) return issuesRefusal(result.issues);
    // Objects that a schema passes through must have the usual prototype.
    for (const part of parts) {
      if (!Array.isArray(part)) Object.setPrototypeOf(part, Object.prototype);
    }
    return { output: withDigitsOf(input, result.value) };
  };
  try {
    const result = parse(whole);
    if (!(result instanceof Promise)) return outcome(result);
    const output = result.then(outcome).catch((error) => thrownRefusal(subject, error, input))
      .then((parsed) => {
        if ("error" in parsed) throw new Error(parsed.error);
        return parsed.output;
      });
    // Checked arguments need not be read.
    output.catch(() => {});
    return { output };
  } catch (error) {
    return thrownRefusal(subject, error, input);
  }
}

/** Puts back the bigints in whose place a library got numbers, where these are as they were. */
function withDigitsOf(input: unknown, output: unknown): unknown {
  if (typeof input === "bigint") return output === nearestNumber(input) ? input : output;
  if (!isObject(output) || !hasBigint(input)) return output;
  const isFrozen = Object.isFrozen(output);
  const given: object = isFrozen ? Array.isArray(output) ? [...output] : { ...output } : output;
  for (const [key, inner] of Object.entries(input as object)) {
    if (!hasBigint(inner) || !Object.hasOwn(given, key)) continue;
    Reflect.set(given, key, withDigitsOf(inner, Reflect.get(given, key)));
    writesDigits(given);
  }
  return isFrozen ? Object.freeze(given) : given;
}

function thrownRefusal(subject: string, error: unknown, input: JsonObject): Refusal {
  // Recursive schemas recurse as deep as the arguments.
  if (error instanceof RangeError && !isShallow(input)) {
    return refusal("The arguments nest too deep", Object.keys(input).slice(0, MAX_ISSUES));
  }
  if (error instanceof z.core.$ZodAsyncError) {
    throw cannot(
      `check the arguments of ${subject}`,
      "its zod schema must check them at once",
      reasonOf(error),
    );
  }
  // A custom refinement or transform threw on unexpected input.
  const names = Object.keys(input).slice(0, MAX_ISSUES);
  return refusal(
    `The arguments do not conform: ${printable(redact(reasonOf(error)), MAX_ISSUE_LENGTH)}`,
    names,
  );
}

/** Copies without prototypes: zod reads a missing key such as `constructor` from the prototype. */
function withoutPrototypes(
  input: JsonObject,
): { readonly whole: JsonObject; readonly parts: readonly object[] } {
  const whole: Record<string, JsonValue> = copyFields(input);
  const parts: (Record<string, JsonValue> | JsonValue[])[] = [whole];
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      if (typeof value !== "object" || value === null) continue;
      const copy = Array.isArray(value) ? [...value] : copyFields(value as JsonObject);
      Object.assign(part, { [key]: copy });
      parts.push(copy);
    }
  }
  return { whole, parts };
}

function copyFields(value: JsonObject): Record<string, JsonValue> {
  return Object.assign(Object.create(null), value);
}

/** Limits on the number and length of the faults in a message. */
const MAX_ISSUES = 20;
const MAX_ISSUE_LENGTH = 300;
/** Longer names from the model are cut. */
const MAX_NAME_LENGTH = 100;

function issuesRefusal(found: NonNullable<StandardResult<unknown>["issues"]>): Refusal {
  const issues = found.slice(0, MAX_ISSUES).map(({ message, path = [] }) => ({
    message: String(message),
    path: path.map((part) => typeof part === "object" ? part.key : part),
  }));
  const messages = issues.map(({ path, message }) => {
    const where = path.length === 0 ? "" : `${z.core.toDotPath(path)}: `;
    return printable(`${where}${message}`, MAX_ISSUE_LENGTH);
  });
  return refusal(
    `The arguments do not conform: ${messages.join("; ")}`,
    issues.flatMap(({ path }) => path.length === 0 ? [] : [String(path[0])]),
  );
}

function refusal(error: string, names: readonly string[]): Refusal {
  return refused(error, {
    wrongType: [...new Set(names.map((name) => name.slice(0, MAX_NAME_LENGTH)))],
  });
}

/** Whether it is a schema of another library that has a JSON Schema: some are functions. */
function isStandard(schema: unknown): schema is StandardSchema {
  return hasJsonSchema(schema);
}

/** Whether it is a schema of zod 4, of any copy of it. */
function isZod(schema: unknown): schema is z.ZodType {
  return typeof schema === "object" && schema !== null && "_zod" in schema;
}

/**
 * Returns the JSON Schema of a declared result, as a model is shown it, and what checks results. What a library takes
 * of other values, such as objects with further keys, and what it gives by a transform, is a result as well.
 */
export function resultSchemaOf(
  subject: string,
  schema: ParametersSchema,
  unsafePatterns: boolean | undefined,
): Pick<Tool, "returns" | "checkResult"> {
  const returns = jsonSchemaOf(subject, schema);
  const parse = parserOf(schema);
  if (parse === undefined) return { returns };
  const given = isZod(schema) ? outputOf(schema) : returns;
  trustOwnSchema(given);
  const check = resultCheck(subject, given, unsafePatterns);
  const takes = (value: JsonValue) => {
    try {
      const result = parse(value);
      // What only time will tell is not held against a tool.
      return result instanceof Promise || result.issues === undefined;
    } catch {
      return false;
    }
  };
  return { returns, checkResult: (value) => takes(value) ? undefined : check(value) };
}

/** Returns the JSON Schema of what a zod schema gives. */
function outputOf(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, {
    io: "output",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === "object" && (def as z.core.$ZodObjectDef).catchall === undefined) {
        delete jsonSchema.additionalProperties;
      }
    },
  }) as unknown as JsonObject;
}

/**
 * Returns the JSON Schema of a model's arguments, which is the input of a zod schema: parameters with a default
 * are optional. Keys that an object does not declare are refused; zod would drop them silently.
 */
export function jsonSchemaOf(subject: string, schema: ParametersSchema): JsonObject {
  if (!isZod(schema) && !isStandard(schema)) {
    const foreign = foreignSchema(schema);
    if (foreign === undefined && isJsonObject(schema)) return schema;
    throw cannot(
      `make ${subject}`,
      "its schemas must be of zod 4, Standard JSON Schemas or JSON Schemas",
      schema === undefined ? "parameters are missing" : foreign ?? "one is none of them",
    );
  }
  try {
    if (!isZod(schema)) {
      const { jsonSchema } = schema["~standard"];
      return jsonSchema.input({ target: "draft-2020-12" }) as JsonObject;
    }
    const { $schema: _, ...json } = z.toJSONSchema(schema, {
      io: "input",
      override: ({ zodSchema, jsonSchema }) => {
        const { def } = zodSchema._zod;
        if (def.type === "object" && (def as z.core.$ZodObjectDef).catchall === undefined) {
          jsonSchema.additionalProperties = false;
        }
        // JSON Schema has no flags, so that only zod can check such patterns.
        const patterns = [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)]
          .flatMap((one) => "pattern" in one && one.pattern instanceof RegExp ? [one.pattern] : []);
        if (patterns.some(({ flags }) => flags.replace("u", "") !== "")) {
          delete jsonSchema.pattern;
          delete jsonSchema.allOf;
        }
      },
    });
    return json as unknown as JsonObject;
  } catch (error) {
    throw cannot(
      `make ${subject}`,
      `its ${isZod(schema) ? "zod schema" : "schema"} must be one that JSON Schema can express`,
      reasonOf(error),
    );
  }
}
