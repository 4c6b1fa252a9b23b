/**
 * Differences between what a line says and what its events give.
 * @module
 */

import { canonicalJson, printable } from "../base/json.ts";

/** A field of a line that is not what the events of the line give. */
export interface Difference {
  readonly kind: "differs";
  /** The field, such as `outcome` or `result of call 3`. */
  readonly field: string;
  /** What the line says, as JSON. */
  readonly recorded: string;
  /** What its events give, as JSON. */
  readonly derived: string;
}

/** Characters of a value that are shown of a difference. */
const MAX_SHOWN = 200;

/** Returns how two values differ as JSON; `undefined` if they do not. */
export function differs(
  field: string,
  recorded: unknown,
  derived: unknown,
): Difference | undefined {
  if (isSame(recorded, derived)) return undefined;
  const [shown, other] = [recorded, derived]
    .map((value) => printable(canonicalJson(value), MAX_SHOWN)) as [string, string];
  return { kind: "differs", field, recorded: shown, derived: other };
}

/** Whether two values are the same JSON; files leave out what is undefined. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    return one === 0 && other === 0;
  }
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [fields, others] = [one, other].map((value) =>
    Object.entries(value).filter(([, inner]) => inner !== undefined)
  ) as [[string, unknown][], [string, unknown][]];
  return fields.length === others.length &&
    fields.every(([name, inner]) =>
      Object.hasOwn(other, name) && isSame(inner, (other as Record<string, unknown>)[name])
    );
}
