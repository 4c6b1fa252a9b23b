/**
 * Validates the arguments of a call against the JSON Schema of its tool.
 * @module
 */

import defer * as draft7 from "ajv";
import defer * as draft2020 from "ajv/2020";
import defer * as formats from "ajv-formats";
import type { Ajv, ErrorObject, ValidateFunction } from "ajv";
import type { Ajv2020 } from "ajv/2020";
import type { FormatName } from "ajv-formats";
import { cannot, reasonOf } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pointerKeys,
  printable,
  withNumbers,
} from "../../base/json.ts";
import { foreignSchema } from "./_foreign.ts";
import { assertEnding } from "./_ending.ts";
import {
  allowUnsafePatterns,
  compilePattern,
  isPattern,
  type PatternTrust,
  trustOf,
} from "./_patterns.ts";
import { type Refusal, refused, type SchemaFault, type Tool, type ToolSchema } from "../tool.ts";
import { mapSchemas } from "./subschemas.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

// Loading the schema compiler takes a while, so it is put off until a schema has to be compiled.

/** Returns why arguments do not conform to a tool's schema; `undefined` if they do. */
export type ArgumentCheck = (given: JsonValue | undefined) => Refusal | undefined;

/**
 * Returns a check for the arguments of a tool. The schema is compiled once, and must not change afterwards.
 *
 * @throws {InputError} If the schema is not valid, or has a pattern that cannot be checked in linear time and
 * the tool does not allow `unsafePatterns`.
 */
export function argumentCheck(
  { name, parameters, unsafePatterns }: ToolSchema & Pick<Tool, "unsafePatterns">,
): ArgumentCheck {
  const foreign = foreignSchema(parameters);
  if (foreign !== undefined) {
    throw cannot(`offer tool ${name}`, "its parameters must be a JSON Schema", foreign);
  }
  if (unsafePatterns === true) allowUnsafePatterns(parameters);
  try {
    const validate = COMPILER.compile(parameters);
    return (given) => argumentRefusal(given, validate);
  } catch (error) {
    throw cannot(
      `offer tool ${name}`,
      "its parameters must be a JSON Schema",
      reasonOf(error),
    );
  }
}

function argumentRefusal(
  given: JsonValue | undefined,
  validate: ValidateFunction,
): Refusal | undefined {
  if (!isJsonObject(given)) {
    return refused("The arguments must be a JSON object", { malformed: true });
  }
  try {
    if (validate(withNumbers(given))) return undefined;
  } catch {
    // Recursive schemas recurse as deep as the arguments.
    const wrongType = Object.keys(given).slice(0, MAX_ERRORS).map(cutName);
    return refused("The arguments nest too deep", { wrongType });
  }
  const errors = (validate.errors ?? []).slice(0, MAX_ERRORS);
  return {
    error: `The arguments do not conform to the schema: ${
      errors.map((error) => errorText(error)).join("; ")
    }`,
    fault: schemaFault(errors),
  };
}

/** Returns what is wrong with a value, at most a few faults in words; `undefined` if it conforms. */
export type ValueCheck = (value: JsonValue) => string | undefined;

/**
 * Returns a check of values against a JSON Schema, which is compiled once and must not change afterwards.
 *
 * @param unsafePatterns Whether patterns that no linear engine can express are run.
 * @throws {Error} If the schema is not valid.
 */
export function valueCheck(schema: JsonObject, unsafePatterns = false): ValueCheck {
  if (unsafePatterns) allowUnsafePatterns(schema);
  const validate = COMPILER.compile(schema);
  return (value) => {
    try {
      if (validate(withNumbers(value))) return undefined;
    } catch {
      return "it nests too deep";
    }
    const errors = (validate.errors ?? []).slice(0, MAX_VALUE_ERRORS);
    return errors.map((error) => errorText(error, "the value")).join("; ");
  };
}

/** At most this many faults of one value are named. */
const MAX_VALUE_ERRORS = 5;

/** The trust of the schema that is being compiled: Ajv does not pass it to a pattern's compiler. */
let trust: PatternTrust = "linear";

const AJV = {
  strict: false,
  allErrors: true,
  // Errors hold their values and schemas.
  verbose: true,
  logger: false,
  // Fractions are not exact: 19.99 is 1998.9999999999998 times 0.01.
  multipleOfPrecision: 6,
  code: {
    regExp: Object.assign(
      // Ajv takes patterns of one text for the same.
      (pattern: string) => {
        const { test } = compilePattern(pattern, trust);
        return { test, toString: () => `${trust} ${pattern}` };
      },
      { code: "compilePattern" },
    ),
  },
  // Parameters may have names that every object inherits, such as `constructor`.
  ownProperties: true,
} as const;

/** The formats of JSON Schema that are checked, and `url`: all others say nothing about a value. */
const FORMATS: FormatName[] = [
  ...["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri"] as const,
  ...["uri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer"] as const,
];

/** Compiles schemas: those of drafts up to 7, and later ones. */
class Compiler {
  /** Cached, as setting up the first one is slow. */
  readonly #dialects = new Map<typeof Ajv | typeof Ajv2020, Dialect>();
  /** Cached, as agents wrap the same tools again for every conversation. */
  readonly #compiled = new WeakMap<JsonObject, ValidateFunction>();

  compile(schema: JsonObject): ValidateFunction {
    const validate = this.#compiled.get(schema) ?? this.#compile(schema);
    this.#compiled.set(schema, validate);
    return validate;
  }

  #compile(schema: JsonObject): ValidateFunction {
    trust = trustOf(schema);
    const { rules, hasTuples, hasFormats } = readableSchema(withNumbers(schema), trust !== "own");
    assertEnding(rules);
    const isOld = String(schema["$schema"]).includes("/draft-0") || hasTuples;
    const dialect = this.#dialect(isOld ? draft7.Ajv : draft2020.Ajv2020);
    if (hasFormats && !dialect.hasFormats) addFormats(dialect);
    try {
      return dialect.ajv.compile(rules);
    } finally {
      dialect.ajv.removeSchema(rules);
    }
  }

  #dialect(kind: typeof Ajv | typeof Ajv2020): Dialect {
    return getOrInsertComputed(this.#dialects, kind, () => {
      const ajv = new kind(AJV);
      // JSON Schema's own schema is compiled before there are formats: real schemas refer to names with spaces.
      ajv.validateSchema({});
      return { ajv, hasFormats: false };
    });
  }
}

/** What compiles schemas of some drafts. */
interface Dialect {
  readonly ajv: Ajv | Ajv2020;
  hasFormats: boolean;
}

function addFormats(dialect: Dialect): void {
  dialect.hasFormats = true;
  const { ajv } = dialect;
  formats.default.default(ajv, FORMATS);
  const url = formats.default.default.get("url") as RegExp;
  // It takes time quadratic in the length.
  ajv.addFormat("url", (text: string) => text.length <= MAX_URL_LENGTH && url.test(text));
  ajv.addFormat("regex", isPattern);
}

const COMPILER = new Compiler();

/** An error of Ajv, with its value and schema. */
export type SchemaError = ErrorObject & {
  readonly data: JsonValue;
  readonly schema: JsonValue;
  readonly parentSchema: JsonObject;
};

/** The errors of a value against a schema. */
export interface SchemaErrors {
  /** The compiled schema, which is the root of its references. */
  readonly root: JsonObject;
  /** All errors; those of alternatives, if none fits, come before the error of the whole. */
  readonly errors: readonly SchemaError[];
}

/**
 * Returns all errors of a value against a schema. The schema is compiled once, and must not change afterwards.
 *
 * @throws {InputError} If the schema is not valid.
 * @throws {RangeError} If it refers to itself endlessly, or applies too many schemas to one value.
 */
export function schemaErrors(schema: JsonObject, value: JsonValue): SchemaErrors {
  const validate = compileDetailed(schema);
  validate(withNumbers(value));
  return {
    root: validate.schema as JsonObject,
    errors: (validate.errors ?? []) as unknown as SchemaError[],
  };
}

function compileDetailed(schema: JsonObject): ValidateFunction {
  try {
    return COMPILER.compile(schema);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw cannot("check a value", "its schema must be a JSON Schema", reasonOf(error));
  }
}

/** The longest URL that browsers and servers accept. */
const MAX_URL_LENGTH = 2_000;

/** At most this many faults of one call are reported. */
const MAX_ERRORS = 20;

function errorText(
  { instancePath, message = "is not valid", params }: ErrorObject,
  whole = "the arguments",
): string {
  const extra = params["additionalProperty"];
  const what = instancePath === "" ? whole : printable(instancePath, 200);
  return `${what} ${message}` + (typeof extra === "string" ? ` (${printable(extra, 100)})` : "");
}

/** Cuts a name from the model. */
function cutName(name: string): string {
  return name.slice(0, 100);
}

function schemaFault(errors: readonly ErrorObject[]): SchemaFault {
  const missing: string[] = [];
  const unexpected: string[] = [];
  const wrongType: string[] = [];
  for (const { instancePath, keyword, params } of errors) {
    const [top] = pointerKeys(instancePath);
    if (top !== undefined) wrongType.push(cutName(top));
    else if (keyword === "required") missing.push(String(params["missingProperty"]));
    else if (keyword === "additionalProperties") {
      unexpected.push(cutName(String(params["additionalProperty"])));
    }
  }
  const once = (names: readonly string[]) => [...new Set(names)];
  return {
    missing: once(missing),
    unexpected: once(unexpected),
    wrongType: once(wrongType),
    malformed: false,
  };
}

/** What a schema has that decides how it is compiled. */
interface Readable {
  /** The schema, rewritten. */
  readonly rules: JsonObject;
  /** Whether a list of `items` describes a tuple, as in drafts before 2020-12. */
  readonly hasTuples: boolean;
  /** Whether a format is to be checked. */
  readonly hasFormats: boolean;
}

/**
 * Keywords for people and programs, which constrain nothing. OpenAPI and others write them in their own ways,
 * such as one object as `examples`.
 */
const ANNOTATIONS = new Set([
  ...["title", "description", "$comment", "default", "example", "examples", "deprecated"],
  ...["readOnly", "writeOnly", "xml", "externalDocs", "discriminator"],
  ...["$schema", "$async", "$vocabulary", "id", "$recursiveAnchor"],
]);

/** What constrains a value itself: `null` is accepted instead where a schema is `nullable`. */
const OF_VALUES = new Set([
  ...["enum", "const", "not", "$ref", "$dynamicRef"],
  ...["anyOf", "oneOf", "allOf", "if", "then", "else"],
]);

/** Lists of which each entry counts once, and those that say nothing when they are empty. */
const SETS = new Set(["type", "required", "enum"]);
const NEVER_EMPTY = new Set(["enum", "anyOf", "oneOf", "allOf", "prefixItems"]);

const BOUNDS = { exclusiveMinimum: "minimum", exclusiveMaximum: "maximum" } as const;

/** Rewrites a schema; `formats` says whether its formats are to be checked. */
function readableSchema(schema: JsonObject, formats: boolean): Readable {
  const reader = new SchemaReader(formats);
  const rules = reader.rewrite(schema);
  const { components } = schema;
  // Operations of OpenAPI keep the place that their references point to.
  const schemas = isJsonObject(components) ? components["schemas"] : undefined;
  const moved: JsonObject = isJsonObject(schemas)
    ? { components: { schemas: mapSchemas("$defs", schemas, (inner) => reader.schema(inner)) } }
    : {};
  const { hasTuples, hasFormats } = reader;
  return { rules: { ...rules, ...moved }, hasTuples, hasFormats };
}

class SchemaReader {
  hasTuples = false;
  hasFormats = false;
  readonly #formats: boolean;

  constructor(formats: boolean) {
    this.#formats = formats;
  }

  rewrite(schema: JsonObject): JsonObject {
    const rules: JsonObject = {};
    for (const [keyword, value] of Object.entries(schema)) {
      // Serializers write null for what is not set.
      if (ANNOTATIONS.has(keyword) || (value === null && keyword !== "const")) continue;
      if (NEVER_EMPTY.has(keyword) && Array.isArray(value) && value.length === 0) continue;
      rules[keyword] = SETS.has(keyword) && Array.isArray(value)
        ? once(value)
        : mapSchemas(keyword, value, (inner) => this.schema(inner));
    }
    this.#readItems(rules);
    this.#readFormat(rules);
    readBounds(rules);
    readRequired(schema, rules);
    readRecursion(rules);
    return readNullable(rules);
  }

  schema(value: JsonValue): JsonValue {
    return isJsonObject(value) ? this.rewrite(value) : value;
  }

  #readItems(rules: JsonObject): void {
    const { items } = rules;
    if (!Array.isArray(items)) return;
    if (items.length === 0) delete rules["items"];
    else this.hasTuples = true;
  }

  #readFormat(rules: JsonObject): void {
    const { format, pattern } = rules;
    if (format === undefined) return;
    // Libraries write `time` for times without an offset, too, with the pattern that says so.
    const isOther = typeof pattern === "string" && (format === "time" || format === "date-time");
    if (!this.#formats || isOther || typeof format !== "string") delete rules["format"];
    else this.hasFormats = true;
  }
}

function once(values: readonly JsonValue[]): JsonValue[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Draft 4: `exclusiveMinimum: true` is about `minimum`. */
function readBounds(rules: JsonObject): void {
  for (const [exclusive, inclusive] of Object.entries(BOUNDS)) {
    const isExclusive = rules[exclusive];
    if (typeof isExclusive !== "boolean") continue;
    delete rules[exclusive];
    const bound = rules[inclusive];
    if (!isExclusive || bound === undefined) continue;
    delete rules[inclusive];
    rules[exclusive] = bound;
  }
}

/** Draft 3, and many since: a property says that it is `required` itself. */
function readRequired(schema: JsonObject, rules: JsonObject): void {
  if (typeof rules["required"] === "boolean") delete rules["required"];
  const { properties } = schema;
  if (!isJsonObject(properties)) return;
  const own = Object.keys(properties).filter((name) => {
    const inner = properties[name];
    return isJsonObject(inner) && inner["required"] === true;
  });
  if (own.length === 0) return;
  const { required } = rules;
  rules["required"] = [...new Set([...(Array.isArray(required) ? required : []), ...own])];
}

/** Draft 2019-09: in a schema without others in it, `$recursiveRef` is a reference to the root. */
function readRecursion(rules: JsonObject): void {
  const { $recursiveRef, $ref } = rules;
  if (typeof $recursiveRef !== "string" || $ref !== undefined) return;
  delete rules["$recursiveRef"];
  rules["$ref"] = $recursiveRef;
}

/** OpenAPI 3.0: `nullable: true` accepts null, with or without a type. */
function readNullable(rules: JsonObject): JsonObject {
  const { nullable, ...others } = rules;
  if (nullable !== true) return others;
  const entries = Object.entries(others);
  const ofValues = entries.filter(([keyword]) => OF_VALUES.has(keyword));
  const rest = Object.fromEntries(entries.filter(([keyword]) => !OF_VALUES.has(keyword)));
  return {
    ...rest,
    // Ajv takes it beside a type only.
    ...(rest["type"] === undefined ? {} : { nullable }),
    ...(ofValues.length === 0 ? {} : { if: { type: "null" }, else: Object.fromEntries(ofValues) }),
  };
}
