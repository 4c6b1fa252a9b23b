/**
 * Schema checks: whether the arguments of a call conform to its tool's own JSON Schema.
 * @module
 */

import { Ajv } from "ajv";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/2020";
import { InputError, reasonOf } from "./input.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "./json.ts";
import type { Refusal, SchemaFault, ToolSchema } from "./tool.ts";

/** Why arguments do not conform to a tool's schema; `undefined` when they do. */
export type ArgumentCheck = (given: JsonValue | undefined) => Refusal | undefined;

/**
 * What checks the arguments of a tool. Its schema is compiled once, and must not be changed afterwards.
 *
 * @throws {InputError} If its schema is none.
 *
 * @example Usage
 * ```ts
 * import { argumentCheck } from "./schema_check.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const check = argumentCheck({
 *   name: "double",
 *   description: "Doubles a number",
 *   parameters: { type: "object", properties: { x: { type: "number" } } },
 * });
 * assertEquals(check({ x: 21 }), undefined);
 * assertEquals(check({ x: "21" })?.fault.wrongType, ["x"]);
 * ```
 */
export function argumentCheck({ name, parameters }: ToolSchema): ArgumentCheck {
  try {
    const validate = COMPILED.get(parameters) ?? compile(parameters);
    COMPILED.set(parameters, validate);
    return (given) => refusalOf(given, validate);
  } catch (error) {
    throw new InputError(
      `Cannot offer tool ${printable(name)} as its parameters must be a JSON Schema: ` +
        reasonOf(error),
    );
  }
}

function refusalOf(given: JsonValue | undefined, validate: ValidateFunction): Refusal | undefined {
  if (!isJsonObject(given)) {
    return {
      error: "The arguments must be a JSON object",
      fault: { missing: [], unexpected: [], wrongType: [], malformed: true },
    };
  }
  try {
    if (validate(given)) return undefined;
  } catch {
    // Schemas that refer to themselves are followed as deep as the arguments go.
    return {
      error: "The arguments nest too deep",
      fault: {
        missing: [],
        unexpected: [],
        wrongType: Object.keys(given).slice(0, MOST_ERRORS).map(keptName),
        malformed: false,
      },
    };
  }
  const errors = (validate.errors ?? []).slice(0, MOST_ERRORS);
  return {
    error: `The arguments do not conform to the schema: ${errors.map(errorText).join("; ")}`,
    fault: faultOf(errors),
  };
}

const AJV = {
  strict: false,
  allErrors: true,
  validateFormats: false,
  // Parameters may be called as what every object has, such as `constructor`.
  ownProperties: true,
};

/** What compiles schemas, of drafts up to 7 and of later ones; kept, as the first schema takes long. */
const DIALECTS = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>();
/** Agents wrap the same tools again for every conversation. */
const COMPILED = new WeakMap<JsonObject, ValidateFunction>();

/** Checks arguments against a schema, whose keywords for programs are of no account. */
function compile({ $schema, $async: _, ...rules }: JsonObject): ValidateFunction {
  const kind = String($schema).includes("/draft-0") ? Ajv : Ajv2020;
  const dialect = DIALECTS.get(kind) ?? new kind(AJV);
  DIALECTS.set(kind, dialect);
  try {
    return dialect.compile(rules);
  } finally {
    dialect.removeSchema(rules);
  }
}

/** So many faults of one call are told. */
const MOST_ERRORS = 20;

function errorText({ instancePath, message = "is not valid", params }: ErrorObject): string {
  const extra = params["additionalProperty"];
  const what = instancePath === "" ? "the arguments" : printable(instancePath, 200);
  return `${what} ${message}` + (typeof extra === "string" ? ` (${printable(extra, 100)})` : "");
}

/** A name of the model's own, as far as it is kept. */
function keptName(name: string): string {
  return name.slice(0, 100);
}

function faultOf(errors: readonly ErrorObject[]): SchemaFault {
  const missing: string[] = [];
  const unexpected: string[] = [];
  const wrongType: string[] = [];
  for (const { instancePath, keyword, params } of errors) {
    const top = instancePath.split("/")[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
    if (top !== undefined) wrongType.push(keptName(top));
    else if (keyword === "required") missing.push(String(params["missingProperty"]));
    else if (keyword === "additionalProperties") {
      unexpected.push(keptName(String(params["additionalProperty"])));
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
