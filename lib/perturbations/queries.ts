/**
 * Perturbations of user queries (Butterfly, section 4.2 and appendix A.3.2): what a user says of the
 * parameters is removed, complicated, or put beside what is much like it.
 * @module
 */

import { z } from "zod";
import { InputError, parseWith } from "../input.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../json.ts";
import { type Change, type Perturbed, perturbed, type QueryMethod } from "../perturbation.ts";
import { fork, type Stream } from "../random.ts";

import {
  Claims,
  freeOf,
  isPlace,
  isWithinCharacter,
  type NamedValue,
  type QueryParameter,
  textsOf,
} from "./literals.ts";
import { removedWith } from "./removal.ts";
import { editedText, Move, type TextEdit } from "./text_edits.ts";
import { Forms, type FormsWriter, type QueryWriter, WRITER } from "./writing.ts";

export type { QueryParameter, Span } from "./literals.ts";
export type { QueryWriter } from "./writing.ts";

/** What a user asks, and where the parameters of the calls stand in it. */
export interface Query {
  /** The text. */
  readonly text: string;
  /** The parameters. */
  readonly parameters: readonly QueryParameter[];
}

/** A call whose arguments may stand in a query. */
export interface ArgumentsOfCall {
  /** The arguments. */
  readonly arguments: JsonObject;
}

/** All values within the arguments of calls, named by their paths: however deep, without recursion. */
function valuesIn(calls: readonly ArgumentsOfCall[]): NamedValue[] {
  const values: NamedValue[] = [];
  const waiting: NamedValue[] = calls.map((call) => ({ name: "", value: call.arguments }))
    .reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, value } = next;
    if (typeof value !== "object" || value === null) {
      values.push(next);
      continue;
    }
    const inner = Object.entries(value).map(([key, value]): NamedValue => {
      return { name: name === "" ? key : `${name}.${key}`, value };
    });
    waiting.push(...inner.reverse());
  }
  return values;
}

const startOf = ({ spans }: QueryParameter) => spans[0]?.start ?? Infinity;

function byPlace(one: QueryParameter, other: QueryParameter): number {
  return startOf(one) - startOf(other);
}

/**
 * The parameters whose values stand in `text` as they are, in the order of their first places. The longest
 * values are looked for first, as words of their own; where one is not found as it is written, its case is
 * ignored. A place is one parameter's; a value that several have is the first one's. Values within others
 * are named by path, such as `address.city`.
 *
 * @example Usage
 * ```ts
 * import { findParameters } from "./queries.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const calls = [{ arguments: { from: "York", to: "New York", seats: 2 } }];
 * assertEquals(findParameters("2 seats from York to New York", calls), [
 *   { name: "seats", value: 2, spans: [{ start: 0, end: 1 }] },
 *   { name: "from", value: "York", spans: [{ start: 13, end: 17 }] },
 *   { name: "to", value: "New York", spans: [{ start: 21, end: 29 }] },
 * ]);
 * ```
 */
export function findParameters(
  text: string,
  calls: readonly ArgumentsOfCall[],
): QueryParameter[] {
  return claimed(new Claims(text), valuesIn(calls));
}

function claimed(claims: Claims, values: readonly NamedValue[]): QueryParameter[] {
  return [...claims.claimAll(values)].map(([number, spans]) => ({ ...values[number]!, spans }))
    .sort(byPlace);
}

/** How a perturbation is made. */
export interface QueryPerturbationOptions {
  /** What is drawn follows from it. */
  readonly seed: number;
  /** Writes phrases and sentences; default the built-in writer. */
  readonly writer?: QueryWriter;
}

/** What the methods need. */
interface Task {
  readonly method: QueryMethod;
  readonly text: string;
  /** The parameters whose places lie in the text and apart, by their first places. */
  readonly parameters: readonly QueryParameter[];
  readonly seed: number;
  readonly writer: FormsWriter;
}

const METHODS: Readonly<Record<QueryMethod, (task: Task) => TextEdit[]>> = {
  RP_F: (task) => remove(task, task.parameters[0]),
  RP_L: (task) => remove(task, task.parameters.at(-1)),
  CP: complicate,
  AN: addNoise,
};

/**
 * Perturbs a query (Butterfly, appendix A.3.2).
 *
 * - `RP_F`, `RP_L`: the information of the first or last parameter, by place, is removed wherever it
 *   stands, with the spaces and points that would dangle.
 * - `CP`: each value is said in a complicated way.
 * - `AN`: sentences with values that are much like those of the parameters stand behind it.
 *
 * What is written holds no value of any parameter; where the writer has nothing of the kind, the parameter
 * is left as it is. The changes are of the text; the places of the parameters move along, a parameter that
 * was removed is gone, and one that was complicated stands where its phrase does. Places that are not
 * within the text, or that another parameter has already, are ignored.
 *
 * @throws {InputError} If there is no such method, or `query` is none.
 *
 * @example Usage
 * ```ts
 * import { findParameters, perturbQuery } from "./queries.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const text = "Book a flight to Paris, please.";
 * const query = { text, parameters: findParameters(text, [{ arguments: { city: "Paris" } }]) };
 * const { value } = perturbQuery("CP", query, { seed: 1 });
 * assertEquals(value.text, "Book a flight to the capital of France, please.");
 * assertEquals(value.parameters[0]?.spans, [{ start: 17, end: 38 }]);
 * assertEquals(perturbQuery("RP_F", query, { seed: 1 }).value.text, "Book a flight to, please.");
 * ```
 */
export function perturbQuery(
  method: QueryMethod,
  query: Query,
  { seed, writer = WRITER }: QueryPerturbationOptions,
): Perturbed<Query> {
  refuseOthers(method, query);
  const { text } = query;
  const parameters = standing(query);
  const edits = METHODS[method]({ method, text, parameters, seed, writer })
    .filter(({ start, end, after }) => text.slice(start, end) !== after)
    .sort((one, other) => one.start - other.start);
  const changes = edits.map(({ start, end, after }): Change => {
    return { kind: "text", start, end, before: text.slice(start, end), after };
  });
  return perturbed(query, applied(text, parameters, edits), changes);
}

function refuseOthers(method: QueryMethod, query: Query): void {
  if (!Object.hasOwn(METHODS, method)) {
    throw new InputError(
      `Cannot perturb a query as the method must be one of ${Object.keys(METHODS).join(", ")}: ` +
        `it is ${printable(String(method))}`,
    );
  }
  if (typeof query?.text !== "string" || !Array.isArray(query.parameters)) {
    throw new InputError(
      "Cannot perturb a query as it must have text and parameters, a list: " +
        `it is ${printable(kindOf(query))}; parseQuery() reads the form of files`,
    );
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? String(value);
  return `an object with ${Object.keys(value).join(", ") || "nothing"}`;
}

/** Parameters with what is right of their places; those that have none are left out. */
function standing({ text, parameters }: Query): QueryParameter[] {
  const claims = new Claims(text);
  return parameters.map((parameter): QueryParameter => {
    const spans = parameter.spans.filter((span) => claims.claim(span))
      .sort((one, other) => one.start - other.start);
    const { information } = parameter;
    if (information === undefined) return { ...parameter, spans };
    return { ...parameter, spans, information: information.filter((span) => isPlace(span, text)) };
  }).filter(({ spans }) => spans.length > 0).sort(byPlace);
}

function remove({ text, parameters }: Task, parameter: QueryParameter | undefined): TextEdit[] {
  if (parameter === undefined) return [];
  const { spans, information = [] } = parameter;
  const others = parameters.filter((other) => other !== parameter).flatMap((other) => other.spans);
  return removedWith(text, [...spans, ...information], others)
    .map((span) => ({ ...span, after: "" }));
}

function complicate(task: Task): TextEdit[] {
  return written(task, (parameter, stream) => task.writer.complicate(parameter, stream))
    .flatMap(([{ spans }, after]) => spans.map(({ start, end }) => ({ start, end, after })));
}

function addNoise(task: Task): TextEdit[] {
  const { text, writer } = task;
  const forms = new Forms();
  const write = (parameter: QueryParameter, stream: Stream) =>
    writer.distract(parameter, stream, forms);
  const sentences = written(task, write, (isWritten) => forms.settle(isWritten))
    .map(([, sentence]) => sentence);
  if (sentences.length === 0) return [];
  // A full stop would become part of an address or a code that ends the text; a line break does not.
  const joint = text === "" || /\s$/.test(text) ? "" : /[.!?…。！？]$/.test(text) ? " " : "\n";
  const { lines = false } = writer;
  const added = lines ? `\n\n${sentences.join("\n")}` : joint + sentences.join(" ");
  return [{ start: text.length, end: text.length, after: added }];
}

/** A writer that has several ways to say something is asked as often for one that gives nothing away. */
const MOST_TRIES = 32;

/**
 * What is written for each parameter; those for which nothing can be are left out. Of each, `settle` is told
 * whether something was.
 */
function written(
  { method, text, parameters, seed }: Task,
  write: (parameter: QueryParameter, stream: Stream) => string | undefined,
  settle: (isWritten: boolean) => void = () => {},
): (readonly [QueryParameter, string])[] {
  const isFree = freeOf(parameters.flatMap((parameter) => textsOf(parameter, text)));
  const named = new Map<string, number>();
  return parameters.flatMap((parameter) => {
    const { name } = parameter;
    const number = (named.get(name) ?? 0) + 1;
    named.set(name, number);
    // Parameters of several calls may share a name.
    const stream = fork(seed, method, name, ...(number === 1 ? [] : [number]));
    const said = firstWritten(() => write(parameter, stream), isFree);
    settle(said !== undefined);
    return said === undefined ? [] : [[parameter, said] as const];
  });
}

function firstWritten(
  write: () => string | undefined,
  isFree: (text: string) => boolean,
): string | undefined {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const said = write();
    if (said === undefined) return undefined;
    if (said.trim() !== "" && isFree(said)) return said;
  }
}

/** The query after the edits, which are in order and apart; places move along. */
function applied(
  text: string,
  parameters: readonly QueryParameter[],
  edits: readonly TextEdit[],
): Query {
  const move = new Move(edits);
  const moved = parameters.map((parameter) => {
    const spans = parameter.spans.flatMap((span) => move.whole(span));
    const { information } = parameter;
    if (information === undefined) return { ...parameter, spans };
    return { ...parameter, spans, information: information.flatMap((span) => move.rest(span)) };
  });
  return {
    text: editedText(text, edits),
    parameters: moved.filter(({ spans }) => spans.length > 0),
  };
}

const NAMED_VALUE = z.strictObject({
  name: z.string(),
  value: z.custom<JsonValue>((value) => value !== undefined, "is needed"),
  start: z.int().exactOptional(),
  end: z.int().exactOptional(),
});

const QUERY_FILE = z.strictObject({
  query: z.string(),
  parameters: z.array(NAMED_VALUE).exactOptional(),
  calls: z.array(z.looseObject({
    arguments: z.custom<JsonObject>(isJsonObject, "must be an object"),
  })).exactOptional(),
}).transform((file, context): Query =>
  readQuery(file, (path, message) => {
    context.addIssue({ code: "custom", path: ["parameters", ...path], message });
  })
);

type Fault = (path: readonly PropertyKey[], message: string) => void;

interface QueryFile {
  readonly query: string;
  readonly parameters?: readonly z.output<typeof NAMED_VALUE>[];
  readonly calls?: readonly ArgumentsOfCall[];
}

/** Places that are told come first, then values that are named, then those of calls. */
function readQuery({ query: text, parameters = [], calls = [] }: QueryFile, fault: Fault): Query {
  const claims = new Claims(text);
  const placed = parameters.flatMap((parameter, number): QueryParameter[] => {
    const { name, value, start, end } = parameter;
    if (start === undefined && end === undefined) return [];
    const wrong = faultOf(text, start, end);
    if (wrong !== undefined) fault([number, wrong.key], wrong.message);
    else if (claims.claim({ start: start!, end: end! })) {
      return [{ name, value, spans: [{ start: start!, end: end! }] }];
    } else fault([number], `must not overlap another one: it is at ${start} to ${end}`);
    return [];
  });
  const unplaced = [...parameters.entries()].filter(([, { start, end }]) =>
    start === undefined && end === undefined
  );
  const places = claims.claimAll(unplaced.map(([, parameter]) => parameter));
  const named = unplaced.flatMap(([number, { name, value }], index): QueryParameter[] => {
    const spans = places.get(index);
    if (spans !== undefined) return [{ name, value, spans }];
    const shown = typeof value === "object" ? "a list, an object or null" : String(value);
    fault(
      [number, "value"],
      "must stand in the query, by itself and apart from other values, unless start and end say " +
        `where: it is ${shown}`,
    );
    return [];
  });
  const found = claimed(claims, valuesIn(calls));
  return { text, parameters: [...placed, ...named, ...found].sort(byPlace) };
}

/** What is wrong with a place that a file tells. */
function faultOf(
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
 * Reads the value of a query file: `{"query": text}` with `"parameters"`, a list of `{"name", "value"}`, and
 * of `"start"` and `"end"` where the value stands in other words, or with `"calls"`, whose arguments are
 * looked for in the text; or with both.
 *
 * @throws {InputError} Naming `source`, the path in it and the rule: a place is not within the query, two
 * overlap, or a value that is named does not stand in it.
 *
 * @example Usage
 * ```ts
 * import { parseQuery } from "./queries.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const query = "Weather in the States?";
 * const parameters = [{ name: "country", value: "US", start: 15, end: 21 }];
 * assertEquals(parseQuery({ query, parameters }, "weather.json"), {
 *   text: query,
 *   parameters: [{ name: "country", value: "US", spans: [{ start: 15, end: 21 }] }],
 * });
 * ```
 */
export function parseQuery(value: unknown, source: string): Query {
  return parseWith(QUERY_FILE, value, source);
}
