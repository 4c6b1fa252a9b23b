/**
 * Truth checks: whether right calls conform to the schema of their function, whatever values they leave open.
 * @module
 */

import { PLACEHOLDER } from "./question_set.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { type ArgumentCheck, argumentCheck } from "../../tools/schema/validate.ts";
import { HOLDERS } from "../../tools/schema/subschemas.ts";
import type { SchemaFault, ToolSchema } from "../../tools/tool.ts";

/**
 * What does not conform in arguments, such as `: missing city; unexpected town; wrong days`, or nothing but an
 * empty text where no parameter by itself is at fault; `undefined` when they conform.
 */
export type TruthCheck = (given: JsonValue) => string | undefined;

/**
 * What checks the arguments of right calls, in which a placeholder is anything that its place takes. Which of
 * several alternatives is meant is then not known, so arguments need to meet one of them only, and conditions
 * and lists of different items cannot be held against them. Its schema is compiled once, and must not be
 * changed afterwards.
 *
 * @throws {InputError} If its schema is none.
 *
 * @example Usage
 * ```ts
 * import { truthCheck } from "./check_truth.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const properties = { city: { type: "string" }, days: { type: "integer" } };
 * const check = truthCheck({
 *   name: "forecast",
 *   description: "Tells the weather",
 *   parameters: { type: "object", properties, required: ["city"] },
 * });
 * assertEquals(check({ city: "Oslo", days: "$$$" }), undefined);
 * assertEquals(check({ days: "two" }), ": missing city; wrong days");
 * ```
 */
export function truthCheck(tool: ToolSchema): TruthCheck {
  const check = argumentCheck(tool);
  let open: ArgumentCheck | undefined;
  return (given) => {
    const own = isOpen(given) ? open ??= openCheck(tool) : check;
    const refusal = own(given);
    return refusal === undefined ? undefined : faultText(refusal.fault);
  };
}

function isOpen(value: JsonValue): boolean {
  if (value === PLACEHOLDER) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(isOpen);
}

function openCheck(tool: ToolSchema): ArgumentCheck {
  try {
    return argumentCheck({ ...tool, parameters: opened(tool.parameters) });
  } catch {
    // A reference may lead into what cannot be held against anything, which is gone.
    return () => undefined;
  }
}

/** What they say of a text is not said of a placeholder. */
const OF_VALUES = new Set([
  ...["type", "nullable", "enum", "const", "pattern", "minLength", "maxLength"],
]);
/** Whether they hold hangs on values that are not known. */
const UNDECIDABLE = new Set(["not", "uniqueItems", "maxContains"]);

/** The schema, taking a placeholder wherever there is a value. What references lead to stays in its place. */
function opened(schema: JsonObject): JsonObject {
  const kept: [string, JsonValue][] = [];
  const ofValues: [string, JsonValue][] = [];
  const { allOf, ...others } = schema;
  const all = Array.isArray(allOf) ? allOf.map(openedIn) : [];
  for (const [keyword, held] of Object.entries(others)) {
    if (UNDECIDABLE.has(keyword)) continue;
    if (OF_VALUES.has(keyword)) ofValues.push([keyword, held]);
    else if (keyword === "oneOf") all.push({ anyOf: openedBehind(keyword, held) });
    // It may know keys that are else forbidden.
    else if (keyword === "then" || keyword === "else") all.push({ anyOf: [true, openedIn(held)] });
    else kept.push([keyword, openedBehind(keyword, held)]);
  }
  if (ofValues.length > 0) {
    all.push({ anyOf: [{ const: PLACEHOLDER }, Object.fromEntries(ofValues)] });
  }
  return Object.fromEntries(all.length === 0 ? kept : [...kept, ["allOf", all]]);
}

function openedBehind(keyword: string, held: JsonValue): JsonValue {
  const { shape, role } = HOLDERS.get(keyword) ?? {};
  if (shape === undefined || role === "condition") return held;
  if (Array.isArray(held)) return held.map(openedIn);
  if (shape !== "named" || !isJsonObject(held)) return openedIn(held);
  return Object.fromEntries(Object.entries(held).map(([name, inner]) => [name, openedIn(inner)]));
}

function openedIn(schema: JsonValue): JsonValue {
  return isJsonObject(schema) ? opened(schema) : schema;
}

function faultText({ missing, unexpected, wrongType }: SchemaFault): string {
  const parts = Object.entries({ missing, unexpected, wrong: wrongType })
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what} ${names.map((name) => printable(name, 100)).join(", ")}`);
  return parts.length === 0 ? "" : `: ${parts.join("; ")}`;
}
