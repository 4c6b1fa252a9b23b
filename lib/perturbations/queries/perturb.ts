/**
 * Perturbations of user queries (Butterfly, section 4.2 and appendix A.3.2): values of parameters are removed,
 * complicated, or followed by similar ones.
 * @module
 */

import { type Change, type Perturbed, perturbed, type QueryMethod } from "../methods.ts";
import { fork, type Stream } from "../../base/random.ts";
import {
  byPlace,
  Claims,
  freeOf,
  isPlace,
  type Query,
  type QueryParameter,
  revealingTexts,
  type Span,
} from "./literals.ts";
import { spansToRemove } from "../_removal.ts";
import { type QueryWriter, WRITER } from "./_query_writer.ts";

/** The input of a method. */
interface Work {
  readonly method: QueryMethod;
  readonly text: string;
  /** The parameters with valid places that do not overlap, in the order of their first places. */
  readonly parameters: readonly QueryParameter[];
  readonly seed: number;
  readonly writer: QueryWriter;
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
 * - `RP_F`, `RP_L`: all information of the first or last parameter, by place, is removed, with the spaces
 *   and punctuation that would be left over.
 * - `CP`: each value is expressed in a complicated way.
 * - `AN`: sentences with values similar to those of the parameters are appended.
 *
 * New text never contains a value of any parameter; if the writer finds none, the parameter stays as it is.
 * Changes are those of the text. The spans of the parameters are updated: a removed parameter is dropped, and a
 * complicated one has the span of its phrase. Spans outside the text, or that another parameter has already,
 * are ignored.
 */
export function perturbQuery(
  method: QueryMethod,
  query: Query,
  { seed, writer = WRITER }: { readonly seed: number; readonly writer?: QueryWriter },
): Perturbed<Query> {
  const { text } = query;
  const parameters = placedParameters(query);
  const edits = METHODS[method]({ method, text, parameters, seed, writer })
    .filter(({ start, end, after }) => text.slice(start, end) !== after)
    .sort((one, other) => one.start - other.start);
  const changes = edits.map(({ start, end, after }): Change => {
    return { kind: "text", start, end, before: text.slice(start, end), after };
  });
  return perturbed(query, applyEdits(text, parameters, edits), changes);
}

/** Parameters with their valid places only; those without any are left out. */
function placedParameters({ text, parameters }: Query): QueryParameter[] {
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
  return spansToRemove(text, [...spans, ...information], others)
    .map((span) => ({ ...span, after: "" }));
}

function complicate(work: Work): TextEdit[] {
  return writeEach(work, (parameter, stream) => work.writer.complicate(parameter, stream))
    .flatMap(([{ spans }, after]) => spans.map(({ start, end }) => ({ start, end, after })));
}

function addNoise(work: Work): TextEdit[] {
  const { text, writer } = work;
  const write = (parameter: QueryParameter, stream: Stream) => writer.distract(parameter, stream);
  const sentences = writeEach(work, write).map(([, sentence]) => sentence);
  if (sentences.length === 0) return [];
  // A full stop could be read as part of an address or code at the end of the text; a line break cannot.
  const joint = text === "" || /\s$/.test(text) ? "" : /[.!?…。！？]$/.test(text) ? " " : "\n";
  const { lines = false } = writer;
  const added = lines ? `\n\n${sentences.join("\n")}` : joint + sentences.join(" ");
  return [{ start: text.length, end: text.length, after: added }];
}

/** How often a writer is asked for a text that reveals no value, as it may draw another each time. */
const MAX_TRIES = 32;

/** Writes a text for each parameter; those without a usable text are left out. */
function writeEach(
  { method, text, parameters, seed }: Work,
  write: (parameter: QueryParameter, stream: Stream) => string | undefined,
): (readonly [QueryParameter, string])[] {
  const isFree = freeOf(parameters.flatMap((parameter) => revealingTexts(parameter, text)));
  const uses = new Map<string, number>();
  return parameters.flatMap((parameter) => {
    const { name } = parameter;
    const number = (uses.get(name) ?? 0) + 1;
    uses.set(name, number);
    // Parameters of several calls may share a name.
    const stream = fork(seed, method, name, ...(number === 1 ? [] : [number]));
    const phrase = firstFreeText(() => write(parameter, stream), isFree);
    return phrase === undefined ? [] : [[parameter, phrase] as const];
  });
}

function firstFreeText(
  write: () => string | undefined,
  isFree: (text: string) => boolean,
): string | undefined {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const text = write();
    if (text === undefined) return undefined;
    if (text.trim() !== "" && isFree(text)) return text;
  }
}

/** The query after edits, which must be in order and not overlap; spans are updated. */
function applyEdits(
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

/** The replacement of a part of a text. */
interface TextEdit extends Span {
  /** The new text. */
  readonly after: string;
}

/** The text after edits, which must be in order and not overlap. */
function editedText(text: string, edits: readonly TextEdit[]): string {
  const parts: string[] = [];
  let place = 0;
  for (const { start, end, after } of edits) {
    parts.push(text.slice(place, start), after);
    place = end;
  }
  return parts.join("") + text.slice(place);
}

/** Maps positions of a text to those after edits, which must be in order and not overlap. */
class Move {
  /** How far a position moves, by the number of edits before it. */
  readonly #shifts = [0];

  /** Computes how far each edit moves the text after it. */
  constructor(readonly edits: readonly TextEdit[]) {
    for (const { start, end, after } of edits) {
      this.#shifts.push(this.#shifts.at(-1)! + after.length - (end - start));
    }
  }

  /** The new position of a span; empty if a part of it was changed, unless all of it was replaced. */
  whole(span: Span): Span[] {
    const next = this.edits[this.#endedBy(span.start)];
    if (next === undefined || next.start >= span.end) return this.rest(span);
    const isReplaced = next.start === span.start && next.end === span.end;
    return isReplaced && next.after !== "" ? this.rest(span) : [];
  }

  /** The new position of the remaining part of a span; empty if nothing remains. */
  rest({ start, end }: Span): Span[] {
    const moved = { start: this.#start(start), end: this.#end(end) };
    return moved.start < moved.end ? [moved] : [];
  }

  #start(place: number): number {
    const before = this.#endedBy(place);
    return Math.min(place, this.edits[before]?.start ?? place) + this.#shifts[before]!;
  }

  #end(place: number): number {
    const before = this.#endedBy(place);
    // Text inserted at the end of a span is not part of it.
    if (this.edits[before - 1]?.start === place) return place + this.#shifts[before - 1]!;
    const next = this.edits[before];
    if (next === undefined || next.start >= place) return place + this.#shifts[before]!;
    return next.start + this.#shifts[before]! + next.after.length;
  }

  /** The number of edits that end at or before a place. */
  #endedBy(place: number): number {
    return this.edits.findLastIndex(({ end }) => end <= place) + 1;
  }
}
