/**
 * Query files: a user's query with its parameters.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import {
  byPlace,
  Claims,
  claimValues,
  isWithinCharacter,
  type Query,
  type QueryParameter,
  valuesIn,
} from "./literals.ts";

const NAMED_VALUE = z.strictObject({
  name: z.string(),
  value: z.custom<JsonValue>((value) => value !== undefined, "is needed"),
  start: z.int().exactOptional(),
  end: z.int().exactOptional(),
});

const FILE = z.strictObject({
  query: z.string(),
  parameters: z.array(NAMED_VALUE).exactOptional(),
  calls: z.array(z.looseObject({
    arguments: z.custom<JsonObject>(isJsonObject, "must be an object"),
  })).exactOptional(),
});

const QUERY_FILE = FILE.transform((file, context): Query =>
  readQuery(file, (path, message) => {
    context.addIssue({ code: "custom", path: ["parameters", ...path], message });
  })
);

/** Claims text for parameters with given places first, then for those without, then for arguments of calls. */
function readQuery(
  { query: text, parameters = [], calls = [] }: z.output<typeof FILE>,
  report: (path: readonly PropertyKey[], message: string) => void,
): Query {
  const claims = new Claims(text);
  const placed = parameters.flatMap((parameter, number): QueryParameter[] => {
    const { name, value, start, end } = parameter;
    if (start === undefined && end === undefined) return [];
    const wrong = placeFault(text, start, end);
    if (wrong !== undefined) report([number, wrong.key], wrong.message);
    else if (claims.claim({ start: start!, end: end! })) {
      return [{ name, value, spans: [{ start: start!, end: end! }] }];
    } else report([number], `must not overlap another one: it is at ${start} to ${end}`);
    return [];
  });
  const unplaced = [...parameters.entries()].filter(([, { start, end }]) =>
    start === undefined && end === undefined
  );
  const places = claims.claimAll(unplaced.map(([, parameter]) => parameter));
  const named = unplaced.flatMap(([number, { name, value }], index): QueryParameter[] => {
    const spans = places.get(index);
    if (spans !== undefined) return [{ name, value, spans }];
    const valueText = typeof value === "object" ? "a list, an object or null" : String(value);
    report(
      [number, "value"],
      "must occur in the query, by itself and apart from other values, unless start and end say " +
        `where: it is ${valueText}`,
    );
    return [];
  });
  const found = claimValues(claims, valuesIn(calls));
  return { text, parameters: [...placed, ...named, ...found].sort(byPlace) };
}

/** Describes what is wrong with a place given in a file; `undefined` if it is right. */
function placeFault(
  text: string,
  start: number | undefined,
  end: number | undefined,
): { readonly key: "start" | "end"; readonly message: string } | undefined {
  if (start === undefined) return { key: "start", message: "is needed where end is given" };
  if (end === undefined) return { key: "end", message: "is needed where start is given" };
  if (start < 0) return { key: "start", message: `must be at least 0: it is ${start}` };
  if (end <= start) return { key: "end", message: `must be above start, ${start}: it is ${end}` };
  if (end > text.length) {
    return {
      key: "end",
      message: `must be at most ${text.length}, the length of the query: it is ${end}`,
    };
  }
  for (const [key, place] of [["start", start], ["end", end]] as const) {
    if (isWithinCharacter(text, place)) {
      return { key, message: `must not be in the middle of a character: it is ${place}` };
    }
  }
}

/**
 * Parses the value of a query file: `{"query": text}` with `"parameters"`, a list of `{"name", "value"}`, plus
 * `"start"` and `"end"` if the query gives the value in other words, or with `"calls"`, whose arguments are
 * searched for in the text, or with both.
 *
 * @throws {InputError} Naming `source`, the path in it and the rule, if a place is outside the query, two
 * overlap, or the value of a parameter does not occur in it.
 */
export function parseQuery(value: unknown, source: string): Query {
  return parseWith(QUERY_FILE, value, source);
}
