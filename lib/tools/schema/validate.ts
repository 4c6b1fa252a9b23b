/**
 * Validates the arguments of a call against the JSON Schema of its tool.
 * @module
 */

// Loading the schema compiler takes a while, so it is put off until a schema has to be compiled.
import type { Ajv, ErrorObject, ValidateFunction } from "ajv";
import defer * as draft7 from "ajv";
import defer * as draft2020 from "ajv/2020";
import type { Ajv2020 } from "ajv/2020";
import defer * as formats from "ajv-formats";
import { cannot, reasonOf } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pointerKeys,
  printable,
} from "../../base/json.ts";
import { regExpOf } from "./position.ts";
import type { Refusal, SchemaFault, ToolSchema } from "../tool.ts";

/** Returns why arguments do not conform to a tool's schema; `undefined` if they do. */
export type ArgumentCheck = (given: JsonValue | undefined) => Refusal | undefined;

/**
 * Returns a check for the arguments of a tool. The schema is compiled once, and must not change afterwards.
 *
 * @throws {InputError} If the schema is not valid.
 */
export function argumentCheck({ name, parameters }: ToolSchema): ArgumentCheck {
  try {
    const validate = CONFORMANCE.compile(parameters);
    return (given) => argumentRefusal(given, validate);
  } catch (error) {
    throw cannot(
      `offer tool ${printable(name)}`,
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
    return {
      error: "The arguments must be a JSON object",
      fault: { missing: [], unexpected: [], wrongType: [], malformed: true },
    };
  }
  try {
    if (validate(given)) return undefined;
  } catch {
    // Recursive schemas recurse as deep as the arguments.
    return {
      error: "The arguments nest too deep",
      fault: {
        missing: [],
        unexpected: [],
        wrongType: Object.keys(given).slice(0, MAX_ERRORS).map(cutName),
        malformed: false,
      },
    };
  }
  const errors = (validate.errors ?? []).slice(0, MAX_ERRORS);
  return {
    error: `The arguments do not conform to the schema: ${errors.map(errorText).join("; ")}`,
    fault: schemaFault(errors),
  };
}

const AJV = {
  strict: false,
  allErrors: true,
  validateFormats: false,
  // Fractions are not exact: 19.99 is 1998.9999999999998 times 0.01.
  multipleOfPrecision: 6,
  code: { regExp: Object.assign(regExpOf, { code: "regExpOf" }) },
  // Parameters may have names that every object inherits, such as `constructor`.
  ownProperties: true,
};

/** Compiles schemas with one set of options: drafts up to 7, and later ones. */
class Compiler {
  readonly #prepare: (kind: typeof Ajv | typeof Ajv2020) => Ajv | Ajv2020;
  /** Cached, as setting up the first one is slow. */
  readonly #dialects = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>();
  /** Cached, as agents wrap the same tools again for every conversation. */
  readonly #compiled = new WeakMap<JsonObject, ValidateFunction>();

  constructor(prepare: (kind: typeof Ajv | typeof Ajv2020) => Ajv | Ajv2020) {
    this.#prepare = prepare;
  }

  compile(schema: JsonObject): ValidateFunction {
    const validate = this.#compiled.get(schema) ?? this.#compile(schema);
    this.#compiled.set(schema, validate);
    return validate;
  }

  /** Compiles a schema, without keywords that only concern programs. */
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
 * Returns all errors of a value against a schema, including formats such as `date`, which do not count when
 * a call is checked. The schema is compiled once, and must not change afterwards.
 *
 * @throws {InputError} If the schema is not valid.
 * @throws {RangeError} If it refers to itself endlessly.
 */
export function schemaErrors(schema: JsonObject, value: JsonValue): SchemaErrors {
  const validate = compileDetailed(schema);
  validate(value);
  return {
    root: validate.schema as JsonObject,
    errors: (validate.errors ?? []) as unknown as SchemaError[],
  };
}

function compileDetailed(schema: JsonObject): ValidateFunction {
  try {
    return DETAILS.compile(schema);
  } catch (error) {
    throw cannot("check a value", "its schema must be a JSON Schema", reasonOf(error));
  }
}

const DETAILS = new Compiler((kind) => {
  const dialect = new kind({ ...AJV, validateFormats: true, verbose: true, logger: false });
  formats.default.default(dialect);
  const url = formats.default.default.get("url") as RegExp;
  // It takes time quadratic in the length.
  dialect.addFormat("url", (text: string) => text.length <= MAX_URL_LENGTH && url.test(text));
  // Ajv validates schemas with it: every pattern that compiles must pass.
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

/** The longest URL that browsers and servers accept. */
const MAX_URL_LENGTH = 2_000;

/** At most this many faults of one call are reported. */
const MAX_ERRORS = 20;

function errorText({ instancePath, message = "is not valid", params }: ErrorObject): string {
  const extra = params["additionalProperty"];
  const what = instancePath === "" ? "the arguments" : printable(instancePath, 200);
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
