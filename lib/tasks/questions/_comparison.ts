/**
 * Comparison of the arguments of a call with the right ones, some of which allow several values or none: by
 * the rules of CallNavi, and with the options that a set declares as BFCL's checker does.
 * @module
 */

import {
  asNumbers,
  isFraction,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../base/json.ts";
import { choiceOf, type Comparison, isSameValue, PLACEHOLDER } from "./question_set.ts";

/** How the arguments of a call are compared. */
export interface ArgumentRule extends Comparison {
  /** Whether arguments that the truth does not have are wrong, and `{}` is right for itself alone. */
  readonly isStrict: boolean;
  /** The schema of the parameters; omitted if it is not known. */
  readonly schema?: JsonObject | undefined;
}

/** What is wrong with a call, and the argument that it is about. */
export type CallFault = readonly [
  kind: "missing_argument" | "unexpected_argument" | "wrong_type" | "wrong_value",
  argument?: string,
];

/** Returns the first fault of the arguments of a call; `undefined` if they are right. */
export function argumentFault(
  given: JsonValue | undefined,
  expected: JsonValue,
  rule: ArgumentRule,
): CallFault | undefined {
  if (!isJsonObject(given) || !isJsonObject(expected)) {
    const isRight = !rule.isStrict && Object.keys(Object(expected)).length === 0;
    return isRight ? undefined : ["missing_argument"];
  }
  const { properties, required } = rule.numbers && rule.schema || {};
  const schemas = isJsonObject(properties) ? properties : undefined;
  const missing = [required ?? []].flat().map(String).find((name) => !Object.hasOwn(given, name)) ??
    Object.keys(expected).find((name) => isLeftOut(given, expected, name));
  if (missing !== undefined) return ["missing_argument", missing];
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(expected, name) && Object.hasOwn(schemas ?? expected, name)) {
      const { anyOf } = choiceOf(expected[name]!);
      const kind = anyOf && valueFault(value, anyOf, Object(schemas?.[name]), rule);
      if (kind !== undefined) return [kind, name];
    } else if (rule.isStrict) return ["unexpected_argument", name];
  }
  return undefined;
}

function isLeftOut(given: JsonObject, expected: JsonObject, name: string): boolean {
  return !Object.hasOwn(given, name) && !choiceOf(expected[name]!).optional;
}

function valueFault(
  value: JsonValue,
  right: readonly JsonValue[],
  schema: JsonObject,
  rule: ArgumentRule,
): "wrong_type" | "wrong_value" | undefined {
  // An empty text is the mark of one that may be left out.
  const first = right.find((one) => one !== "");
  const isTyped = rule.numbers === undefined || isOfType(value, schema);
  const hasTypedItems = !Array.isArray(value) ||
    right.some((one) => areItemsTyped(value, one, schema));
  const isOfTruth = first !== undefined && kindOf(value) === kindOf(first);
  if (rule.numbers && !(isTyped ? hasTypedItems : isOfTruth)) return "wrong_type";
  // A right value of another type stands for a variable, whose name is compared as it is.
  const isLiteral = rule.numbers && first !== undefined && !(isTyped && isOfType(first, schema));
  const isFree = (one: JsonValue) =>
    one === PLACEHOLDER || !rule.isStrict && isJsonObject(one) && Object.keys(one).length === 0;
  return right.some((one) => isFree(one) || fits(value, one, rule, isLiteral ? 3 : 0))
    ? undefined
    : "wrong_value";
}

/** The type of a value as it was written. */
function kindOf(value: JsonValue): string {
  if (isFraction(value)) return "float";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "float";
  if (typeof value === "bigint") return "integer";
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** Whether a value is of the type that its schema names; without one, whether it is a text. */
function isOfType(value: JsonValue, schema: JsonObject, kinds = ["integer", "float"]): boolean {
  const kind = kindOf(value);
  return [schema["type"] ?? "string"].flat().some((type) =>
    type === "number" ? kinds.includes(kind) : type === kind
  );
}

/** Whether all items are of the type that the schema of a list names, or of that of the first right item. */
function areItemsTyped(items: readonly JsonValue[], right: JsonValue, schema: JsonObject): boolean {
  const own = schema["items"];
  if (!Array.isArray(right) || !isJsonObject(own) || !Object.hasOwn(own, "type")) return true;
  const first = right.find((one) => one !== "");
  // BFCL takes a whole number for a float where it is the argument, not within a list.
  const kinds = own["format"] === "float" ? ["float"] : undefined;
  return items.every((item) =>
    isOfType(item, own, kinds) || first !== undefined && kindOf(item) === kindOf(first)
  );
}

/** Whether a value is right: texts by the rule, also in a list (level 1) and in an object (2); as it is from level 3. */
function fits(value: JsonValue, right: JsonValue, rule: ArgumentRule, level: number): boolean {
  // In BFCL an empty text stands beside lists for one that may be left out; an empty list is right as well.
  const items = rule.numbers && right === "" ? [] : right;
  if (level === 0 && Array.isArray(value) && Array.isArray(items)) {
    return value.length === items.length &&
      value.every((item, place) => fits(item, items[place]!, rule, 1));
  }
  if (level < 2 && [value, right].every((one) => isJsonObject(one) && !isFraction(one))) {
    const [given, expected] = [value, right] as [JsonObject, JsonObject];
    return Object.keys({ ...expected, ...given }).every((key) => {
      if (!Object.hasOwn(given, key)) return !isLeftOut(given, expected, key);
      const { anyOf } = Object.hasOwn(expected, key) ? choiceOf(expected[key]!) : { anyOf: [] };
      return anyOf?.some((one) => fits(given[key]!, one, rule, 2)) ?? true;
    });
  }
  if (rule.text && level < 3 && typeof value === "string" && typeof right === "string") {
    return right === PLACEHOLDER || normalizedText(value) === normalizedText(right);
  }
  const placeholder = rule.isStrict ? PLACEHOLDER : undefined;
  return isSameValue(asNumbers(value), asNumbers(right), placeholder);
}

function normalizedText(text: string): string {
  return text.replaceAll(/[ ,./\-_*^]/g, "").toLowerCase().replaceAll("'", '"');
}
