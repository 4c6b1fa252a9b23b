/**
 * Perturbations of user queries (Butterfly, section 4.2 and appendix A.3.2): what a user says of the
 * parameters is removed, complicated, or put beside what is much like it.
 * @module
 */

import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { type Change, type Perturbed, perturbed, type QueryMethod } from "../methods.ts";
import { fork, type Stream } from "../../base/random.ts";
import { Claims, freeOf, isPlace, type QueryParameter, textsOf } from "./literals.ts";
import { byPlace, type Query } from "./parameters.ts";
import { removedWith } from "../removal.ts";
import { editedText, Move, type TextEdit } from "./text_edits.ts";
import { Forms, type FormsWriter, type QueryWriter, WRITER } from "./write.ts";

/** How a perturbation is made. */
export interface QueryPerturbationOptions {
  /** What is drawn follows from it. */
  readonly seed: number;
  /** Writes phrases and sentences; default the built-in writer. */
  readonly writer?: QueryWriter;
}

/** What the methods need. */
interface Work {
  readonly method: QueryMethod;
  readonly text: string;
  /** The parameters whose places lie in the text and apart, by their first places. */
  readonly parameters: readonly QueryParameter[];
  readonly seed: number;
  readonly writer: FormsWriter;
}

const METHODS: Readonly<Record<QueryMethod, (work: Work) => TextEdit[]>> = {
  RP_F: (work) => remove(work, work.parameters[0]),
  RP_L: (work) => remove(work, work.parameters.at(-1)),
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
 * import { findParameters } from "./parameters.ts";
 * import { perturbQuery } from "./perturb.ts";
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

function remove({ text, parameters }: Work, parameter: QueryParameter | undefined): TextEdit[] {
  if (parameter === undefined) return [];
  const { spans, information = [] } = parameter;
  const others = parameters.filter((other) => other !== parameter).flatMap((other) => other.spans);
  return removedWith(text, [...spans, ...information], others)
    .map((span) => ({ ...span, after: "" }));
}

function complicate(work: Work): TextEdit[] {
  return written(work, (parameter, stream) => work.writer.complicate(parameter, stream))
    .flatMap(([{ spans }, after]) => spans.map(({ start, end }) => ({ start, end, after })));
}

function addNoise(work: Work): TextEdit[] {
  const { text, writer } = work;
  const forms = new Forms();
  const write = (parameter: QueryParameter, stream: Stream) =>
    writer.distract(parameter, stream, forms);
  const sentences = written(work, write, (isWritten) => forms.settle(isWritten))
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
  { method, text, parameters, seed }: Work,
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
