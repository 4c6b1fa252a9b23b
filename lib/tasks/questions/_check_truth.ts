/**
 * Truth checks: whether right calls conform to the schema of their function, ignoring placeholders.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { holdsPlaceholder, PLACEHOLDER } from "./question_set.ts";
import { type ArgumentCheck, argumentCheck } from "../../tools/schema/validate.ts";
import { HOLDERS, mapSchemas } from "../../tools/schema/subschemas.ts";
import type { SchemaFault, ToolSchema } from "../../tools/tool.ts";

/**
 * Returns what does not conform in arguments, such as `: missing city; unexpected town; wrong days`, or an
 * empty text if no single parameter is wrong; `undefined` if they conform.
 */
export type TruthCheck = (given: JsonValue) => string | undefined;

/**
 * Creates a check for the arguments of right calls, in which a placeholder matches any value that the schema
 * accepts there. With placeholders, arguments need only match one of several alternatives (`oneOf`), and
 * `not`, `uniqueItems` and conditions are not checked. The schema is compiled once, and must not be changed
 * afterwards.
 *
 * @throws {InputError} If its schema is invalid.
 */
export function truthCheck(tool: ToolSchema): TruthCheck {
  const check = argumentCheck(tool);
  let open: ArgumentCheck | undefined;
  return (given) => {
    const own = holdsPlaceholder(given) ? open ??= placeholderCheck(tool) : check;
    const refusal = own(given);
    return refusal === undefined ? undefined : faultText(refusal.fault);
  };
}

function placeholderCheck(tool: ToolSchema): ArgumentCheck {
  try {
    return argumentCheck({ ...tool, parameters: allowPlaceholders(tool.parameters) });
  } catch {
    // A reference may lead into a keyword that was removed.
    return () => undefined;
  }
}

/** Keywords that apply to values, and so not to placeholders. */
const VALUE_KEYWORDS = new Set([
  ...["type", "nullable", "enum", "const", "pattern", "format", "minLength", "maxLength"],
]);
/** Keywords whose result depends on the unknown values. */
const UNDECIDABLE = new Set(["not", "uniqueItems", "maxContains"]);

/** Returns the schema, accepting a placeholder for any value. Targets of references stay in their places. */
function allowPlaceholders(schema: JsonObject): JsonObject {
  const kept: [string, JsonValue][] = [];
  const ofValues: [string, JsonValue][] = [];
  const { allOf, ...others } = schema;
  const all = Array.isArray(allOf) ? allOf.map(allowInSubschema) : [];
  for (const [keyword, value] of Object.entries(others)) {
    if (UNDECIDABLE.has(keyword)) continue;
    if (VALUE_KEYWORDS.has(keyword)) ofValues.push([keyword, value]);
    else if (keyword === "oneOf") all.push({ anyOf: allowInKeyword(keyword, value) });
    // It may declare keys that are otherwise forbidden.
    else if (keyword === "then" || keyword === "else") {
      all.push({ anyOf: [true, allowInSubschema(value)] });
    } else kept.push([keyword, allowInKeyword(keyword, value)]);
  }
  if (ofValues.length > 0) {
    all.push({ anyOf: [{ const: PLACEHOLDER }, Object.fromEntries(ofValues)] });
  }
  return Object.fromEntries(all.length === 0 ? kept : [...kept, ["allOf", all]]);
}

function allowInKeyword(keyword: string, value: JsonValue): JsonValue {
  const isCondition = HOLDERS.get(keyword)?.role === "condition";
  return isCondition ? value : mapSchemas(keyword, value, allowInSubschema);
}

function allowInSubschema(schema: JsonValue): JsonValue {
  return isJsonObject(schema) ? allowPlaceholders(schema) : schema;
}

function faultText({ missing, unexpected, wrongType }: SchemaFault): string {
  const parts = Object.entries({ missing, unexpected, wrong: wrongType })
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what} ${names.map((name) => printable(name, 100)).join(", ")}`);
  return parts.length === 0 ? "" : `: ${parts.join("; ")}`;
}
