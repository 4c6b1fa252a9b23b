/**
 * Checks whether values that were made up fit schemas, each of which is compiled when that is first asked.
 * @module
 */

import { defined, type JsonObject, type JsonValue } from "../../base/json.ts";
import { type ValueCheck, valueCheck } from "../../tools/schema/validate.ts";

/** What a schema says of a value without parts; it is checked by itself, as compiling a whole schema takes long. */
export const OF_PLAIN_VALUES = [
  ...["type", "enum", "format", "pattern", "minLength", "maxLength", "multipleOf"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
];

/** Thrown where no value fits what was chosen before; its cause says why a schema cannot be checked. */
export class Unfit extends Error {}

/** Checks of values by a schema and its parts. */
export class Checks {
  readonly #root: JsonObject;
  readonly #unsafePatterns: boolean;
  readonly #checks = new Map<JsonObject, ValueCheck>();
  readonly #plain = new Map<string, JsonObject>();

  constructor(root: JsonObject, unsafePatterns: boolean) {
    this.#root = root;
    this.#unsafePatterns = unsafePatterns;
  }

  /** Whether a value fits a schema, which may refer to the definitions of the root. */
  fits(schema: JsonObject, value: JsonValue): boolean {
    const check = this.#checks.get(schema) ?? this.#checkOf(schema);
    this.#checks.set(schema, check);
    return check(value) === undefined;
  }

  /** Whether a value without parts fits what a schema says of it. */
  fitsPlain(schema: JsonObject, value: JsonValue): boolean {
    const rules = defined(
      Object.fromEntries(OF_PLAIN_VALUES.map((keyword) => [keyword, schema[keyword]])),
    ) as JsonObject;
    const key = JSON.stringify(rules);
    const known = this.#plain.get(key) ?? rules;
    this.#plain.set(key, known);
    return this.fits(known, value);
  }

  #checkOf(schema: JsonObject): ValueCheck {
    const { $defs } = this.#root;
    const whole = { ...schema, ...defined({ $defs }) } as JsonObject;
    try {
      return valueCheck(whole, this.#unsafePatterns);
    } catch (cause) {
      return () => {
        throw new Unfit("The schema cannot be checked", { cause });
      };
    }
  }
}
