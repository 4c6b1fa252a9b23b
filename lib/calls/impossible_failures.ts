/**
 * Impossible failures: the parameter failures that no call of a task can show.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import type { ExpectedCall, ExpectedValue } from "../tools/expected_call.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { type Leniency, leniencyOf, leniencyWithin } from "./expected/alignment.ts";
import { isList, isMatcher, mayBeAbsent } from "./expected/matchers.ts";
import { PARAMETER_FAILURE_TYPES, type ParameterFailureType } from "./failure_types.ts";

/**
 * Returns the types of parameter failures that no call of a task can show, in their order; where a schema leaves
 * that open, a type is possible.
 *
 * - `hallucination_name`: no schema lists keys, or each of them takes any key.
 * - `missing_information`: no schema requires a key, and no right call has an argument that must be there.
 * - `redundant_information`: each right call has all parameters that its schema declares.
 * - `task_deviation`: no right call has an argument.
 *
 * A `specification_mismatch` is always possible, as arguments may be no JSON object.
 */
export function impossibleFailures(
  expected: readonly ExpectedCall[],
  tools: readonly Pick<ToolSchema, "name" | "parameters">[],
): readonly ParameterFailureType[] {
  const byName = new Map(tools.map(({ name, parameters }) => [name, parameters]));
  const values = expected.flatMap((call) => Object.values(call.arguments ?? {}));
  const possible: Record<ParameterFailureType, () => boolean> = {
    hallucination_name: () => tools.some(({ parameters }) => holds(parameters, listsKeys)),
    missing_information: () =>
      values.some((value) => !mayBeAbsent(value)) ||
      tools.some(({ parameters }) => holds(parameters, requiresKeys)),
    redundant_information: () =>
      expected.some((call) => {
        const schema = byName.get(call.tool);
        return schema === undefined ||
          takesMore(schema, call.arguments ?? {}, leniencyOf(call));
      }),
    specification_mismatch: () => true,
    task_deviation: () => values.length > 0,
  };
  return PARAMETER_FAILURE_TYPES.filter((type) => !possible[type]());
}

/** Whether a test holds for a schema or anything in it. */
function holds(schema: JsonValue, test: (part: JsonObject) => boolean): boolean {
  const parts = new Set<JsonValue>([schema]);
  for (const part of parts) {
    if (typeof part !== "object" || part === null) continue;
    if (isJsonObject(part) && test(part)) return true;
    for (const inner of Object.values(part)) parts.add(inner);
  }
  return false;
}

function listsKeys(
  { properties, additionalProperties, unevaluatedProperties, propertyNames }: JsonObject,
): boolean {
  // Without any properties, a schema can still refuse them all.
  return additionalProperties === false || unevaluatedProperties === false ||
    propertyNames !== undefined ||
    isJsonObject(properties) && additionalProperties !== true &&
      !isJsonObject(additionalProperties);
}

function requiresKeys({ required, dependentRequired, dependencies }: JsonObject): boolean {
  return required === true || Array.isArray(required) && required.length > 0 ||
    dependentRequired !== undefined || dependencies !== undefined;
}

/** Keywords by which a schema may declare further keys, or others for other values. */
const OPENING = [
  "$ref",
  "$dynamicRef",
  "anyOf",
  "oneOf",
  "allOf",
  "if",
  "patternProperties",
  "dependentSchemas",
  "unevaluatedProperties",
];

/** Whether a call may have a declared key that is not expected, at any depth. */
function takesMore(
  schema: JsonValue | undefined,
  expected: ExpectedValue,
  leniency: Leniency,
): boolean {
  if (isMatcher(expected) || typeof expected !== "object" || expected === null) return false;
  if (leniency.partial) return false;
  if (!isJsonObject(schema) || OPENING.some((keyword) => Object.hasOwn(schema, keyword))) {
    return true;
  }
  const inside = (key: string | number, inner: JsonValue | undefined, value: ExpectedValue) => {
    const left = leniencyWithin(leniency, key);
    return left !== undefined && takesMore(inner, value, left);
  };
  if (isList(expected)) {
    return expected.some((value, index) => inside(index, schema["items"], value));
  }
  const { properties, additionalProperties = false } = schema;
  if (!isJsonObject(properties) || additionalProperties !== false) return true;
  return Object.keys(properties).some((key) =>
    !Object.hasOwn(expected, key) && leniencyWithin(leniency, key) !== undefined
  ) ||
    Object.entries(expected).some(([key, value]) => inside(key, properties[key], value));
}
