/**
 * Value paths: addresses of parts of a value, such as `filters.since` and `items[0].id`.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { parseJson, printable } from "../../base/json.ts";

/** Matches every part: each item of a list, member of a set, entry of a map and key of an object. */
export const ANY_ITEM: unique symbol = Symbol("any item");

/** A key, the index of an item, or all of them. */
export type PathStep = string | number | typeof ANY_ITEM;

/** The steps to a part of a value, from the outside. */
export type ValuePath = readonly PathStep[];

/** A key after a dot (none before the first key); or an index, a star or a quoted key in brackets. */
const STEP = /(?:^|(?!^)\.)([^.[\]"]+)|\[(?:(0|[1-9]\d{0,8})|(\*)|("(?:[^"\\]|\\.)*"))\]/y;

/** Keys that need no quotation marks. */
const PLAIN = /^[\p{L}\p{N}_$-]+$/u;

/**
 * Parses a path: keys with dots between them, and in brackets an index, a key as a JSON string, or `*` for
 * every item of a list, member of a set, entry of a map or key of an object (as in JSONPath, RFC 9535,
 * section 2.3.2): `items[*].id`, `["a.b"].c`.
 *
 * @throws {InputError} If the path is invalid; the message says from which character on.
 */
export function parsePath(written: string): ValuePath {
  if (typeof written !== "string") throwInvalidPath(written, `it is of type ${typeof written}`);
  const steps: PathStep[] = [];
  let at = 0;
  while (at < written.length) {
    STEP.lastIndex = at;
    const [whole, key, index, star, quoted] = STEP.exec(written) ?? [];
    const step = key ??
      (index !== undefined
        ? Number(index)
        : star
        ? ANY_ITEM
        : parseJson(quoted ?? "") as string | undefined);
    if (whole === undefined || step === undefined || key === "*") {
      return throwInvalidPath(written, `it is invalid at character ${at + 1}`);
    }
    steps.push(step);
    at += whole.length;
  }
  if (steps.length === 0) throwInvalidPath(written, "it is empty");
  return steps;
}

function throwInvalidPath(written: unknown, state: string): never {
  throw cannot(
    `use path ${printable(String(JSON.stringify(written)))}`,
    "it must be keys with dots between them, and in brackets an index, * or a key in quotation marks, " +
      'such as items[0].id, items[*].id or ["a.b"]',
    state,
  );
}

/** Formats a path. {@linkcode parsePath} can parse it again if all steps are keys and indexes. */
export function pathText(steps: readonly unknown[]): string {
  return steps.map((step, place) => {
    if (typeof step !== "string") return `[${step === ANY_ITEM ? "*" : String(step)}]`;
    if (!PLAIN.test(step)) return `[${JSON.stringify(step)}]`;
    return place === 0 ? step : `.${step}`;
  }).join("");
}
