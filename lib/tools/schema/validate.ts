/**
 * Schema checks: whether the arguments of a call conform to its tool's own JSON Schema.
 * @module
 */

// Loading the compiler of schemas takes a while, which is put off until there is one to compile.
import type { Ajv, ErrorObject, ValidateFunction } from "ajv";
import defer * as draft7 from "ajv";
import defer * as draft2020 from "ajv/2020";
import type { Ajv2020 } from "ajv/2020";
import defer * as formats from "ajv-formats";
import { InputError, reasonOf } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { regExpOf } from "./position.ts";
import type { Refusal, SchemaFault, ToolSchema } from "../tool.ts";

/** Why arguments do not conform to a tool's schema; `undefined` when they do. */
export type ArgumentCheck = (given: JsonValue | undefined) => Refusal | undefined;

/**
 * What checks the arguments of a tool. Its schema is compiled once, and must not be changed afterwards.
 *
 * @throws {InputError} If its schema is none.
 *
 * @example Usage
 * ```ts
 * import { argumentCheck } from "./validate.ts";
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
    const validate = CONFORMANCE.compile(parameters);
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
  // Fractions are not exact: 19.99 is 1998.9999999999998 times 0.01.
  multipleOfPrecision: 6,
  code: { regExp: Object.assign(regExpOf, { code: "regExpOf" }) },
  // Parameters may be called as what every object has, such as `constructor`.
  ownProperties: true,
};

/** Compiles schemas in one way, of drafts up to 7 and of later ones. */
class Compiler {
  readonly #prepare: (kind: typeof Ajv | typeof Ajv2020) => Ajv | Ajv2020;
  /** Kept, as the first schema takes long. */
  readonly #dialects = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>();
  /** Agents wrap the same tools again for every conversation. */
  readonly #compiled = new WeakMap<JsonObject, ValidateFunction>();

  constructor(prepare: (kind: typeof Ajv | typeof Ajv2020) => Ajv | Ajv2020) {
    this.#prepare = prepare;
  }

  compile(schema: JsonObject): ValidateFunction {
    const validate = this.#compiled.get(schema) ?? this.#compile(schema);
    this.#compiled.set(schema, validate);
    return validate;
  }

  /** Checks arguments against a schema, whose keywords for programs are of no account. */
  #compile({ $schema, $async: _, ...rules }: JsonObject): ValidateFunction {
    const kind = String($schema).includes("/draft-0") ? draft7.Ajv : draft2020.Ajv2020;
    const dialect = this.#dialects.get(kind) ?? this.#prepare(kind);
    this.#dialects.set(kind, dialect);
    try {
      return dialect.compile(rules);
    } finally {
      dialect.removeSchema(rules);
    }
  }
}

const CONFORMANCE = new Compiler((kind) => new kind(AJV));

/** An error of Ajv, with the value and the schema that it is about. */
export type SchemaError = ErrorObject & {
  readonly data: JsonValue;
  readonly schema: JsonValue;
  readonly parentSchema: JsonObject;
};

/** What is wrong with a value by a schema. */
export interface SchemaErrors {
  /** The schema as it was compiled: the one that references within it start from. */
  readonly root: JsonObject;
  /** All errors; those of alternatives of which none fits stand before the error that says so. */
  readonly errors: readonly SchemaError[];
}

/**
 * Everything that is wrong with a value by a schema, formats such as `date` included, which do not count
 * where a call is refused. The schema is compiled once, and must not be changed afterwards.
 *
 * @throws {InputError} If it is none.
 * @throws {RangeError} If it refers to itself without end.
 *
 * @example Usage
 * ```ts
 * import { schemaErrors } from "./validate.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const day = { type: "string", format: "date" };
 * const { errors } = schemaErrors({ properties: { day } }, { day: "2026-02-30" });
 * assertEquals(errors.map(({ instancePath, keyword }) => [instancePath, keyword]), [
 *   ["/day", "format"],
 * ]);
 * ```
 */
export function schemaErrors(schema: JsonObject, value: JsonValue): SchemaErrors {
  const validate = compiledInDetail(schema);
  validate(value);
  return {
    root: validate.schema as JsonObject,
    errors: (validate.errors ?? []) as unknown as SchemaError[],
  };
}

function compiledInDetail(schema: JsonObject): ValidateFunction {
  try {
    return DETAILS.compile(schema);
  } catch (error) {
    throw new InputError(
      `Cannot check a value as what it is checked by must be a JSON Schema: ${reasonOf(error)}`,
    );
  }
}

const DETAILS = new Compiler((kind) => {
  const dialect = new kind({ ...AJV, validateFormats: true, verbose: true, logger: false });
  formats.default.default(dialect);
  const url = formats.default.default.get("url") as RegExp;
  // It takes time by the square of the length.
  dialect.addFormat("url", (text: string) => text.length <= LONGEST_URL && url.test(text));
  // Schemas are checked by it: what can be compiled must pass.
  dialect.addFormat("regex", isRegExp);
  return dialect;
});

function isRegExp(text: string): boolean {
  try {
    regExpOf(text);
    return true;
  } catch {
    return false;
  }
}

/** What browsers and servers take at most. */
const LONGEST_URL = 2_000;

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
