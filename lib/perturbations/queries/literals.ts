/**
 * Literals: how the values of parameters are written in a text, and where they occur in it.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";

/** A part of a text, as offsets in UTF-16 code units. */
export interface Span {
  /** The offset where it begins. */
  readonly start: number;
  /** The offset after its end. */
  readonly end: number;
}

/** A parameter whose value occurs in a user's query. */
export interface QueryParameter {
  /** Its name; for a value within another, the path to it, such as `address.city`. */
  readonly name: string;
  /** Its value. */
  readonly value: JsonValue;
  /** Where the value occurs, at least one place. */
  readonly spans: readonly Span[];
  /** The text to remove together with the parameter. Default: its spans. */
  readonly information?: readonly Span[];
}

/** A value that may occur in a text, with the parameter's name. */
export type NamedValue = Pick<QueryParameter, "name" | "value">;

/** Created on first use, as the rules of a language take long to load. */
let grouped: Intl.NumberFormat | undefined;

/** Whether a span is a non-empty part of `text`. */
export function isPlace({ start, end }: Span, text: string): boolean {
  return Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end &&
    end <= text.length;
}

/** The ways to write a value: numbers with grouped thousands too; empty for lists, objects and the like. */
export function literalsOf(value: JsonValue): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "number") return [];
  grouped ??= new Intl.NumberFormat("en-US", { maximumFractionDigits: 20 });
  return [...new Set([String(value), grouped.format(value)])];
}

/** All texts that would reveal a parameter's value: its literals, and the text at its spans. */
export function revealingTexts({ value, spans }: QueryParameter, text: string): string[] {
  const spanTexts = spans.map(({ start, end }) => text.slice(start, end));
  return [...new Set([...literalsOf(value), ...spanTexts].map((one) => one.trim()))]
    .filter((one) => one !== "");
}

/** The text in lower case, with the offset of every character kept. */
function fold(text: string): string {
  return text.replace(/[\p{Lu}\p{Lt}]/gu, (upper) => {
    const lower = upper.toLowerCase();
    return lower.length === upper.length ? lower : upper;
  });
}

/** Shorter literals match case-sensitively: `IN` is not `in`. */
const SHORTEST_FOLDED = 3;

/**
 * Returns a function that checks that a text contains none of `literals`. Those of three or more characters are
 * found anywhere and in any case, shorter ones only as separate words in the same case.
 */
export function freeOf(literals: Iterable<string>): (text: string) => boolean {
  const [long, short] = [new Set<string>(), new Set<string>()];
  for (const literal of literals) {
    const composed = literal.normalize("NFC");
    if (composed.length >= SHORTEST_FOLDED) long.add(fold(composed));
    else if (composed !== "") short.add(composed);
  }
  return (text) => {
    const composed = text.normalize("NFC");
    const folded = fold(composed);
    return !long.values().some((literal) => folded.includes(literal)) &&
      !short.values().some((literal) =>
        occurrencesOf(literal, composed).some((span) => standsAlone(composed, span))
      );
  };
}

const WORD = /[\p{L}\p{M}\p{N}_]/u;
/** Characters of scripts without spaces between words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}ー]/u;
const MARK = /\p{M}/u;
const DIGIT = /\d/;

/** Whether a place lies within a word, or within a surrogate pair. */
export function isWithinWord(text: string, place: number): boolean {
  if (place <= 0 || place >= text.length) return false;
  if (isWithinCharacter(text, place)) return true;
  const before = text.slice(isWithinCharacter(text, place - 1) ? place - 2 : place - 1, place);
  const after = String.fromCodePoint(text.codePointAt(place)!);
  if (!WORD.test(before) || !WORD.test(after)) return false;
  return MARK.test(after) || !(UNSPACED.test(before) || UNSPACED.test(after));
}

/** Whether a place lies between the halves of a surrogate pair. */
export function isWithinCharacter(text: string, place: number): boolean {
  return place > 0 && /[\ud800-\udbff]/.test(text[place - 1]!) &&
    /[\udc00-\udfff]/.test(text[place] ?? "");
}

/** Whether a span is not part of a longer word or number, as the 5 of `15`, `-5`, `0.5` and `1,500` is. */
function standsAlone(text: string, { start, end }: Span): boolean {
  if (isWithinWord(text, start) || isWithinWord(text, end)) return false;
  const digitAt = (place: number) => DIGIT.test(text[place] ?? "");
  const [before, after] = [text[start - 1], text[end]];
  if (digitAt(end - 1) && digitAt(end + 1)) {
    if (after === "." || (after === "," && isThousand(text, end + 1))) return false;
  }
  if (!digitAt(start)) {
    // Between two numbers, as in `3-5`, it is not a sign.
    return !(/[-+.]/.test(text[start]!) && digitAt(start + 1) && WORD.test(before ?? ""));
  }
  if (digitAt(start - 2)) return !(before === "." || (before === "," && isThousand(text, start)));
  return !(/[-−]/.test(before ?? "") && !/[^\s([{]/.test(text[start - 2] ?? ""));
}

/** Whether exactly three digits begin at a place. */
function isThousand(text: string, place: number): boolean {
  return /^\d{3}(?!\d)/.test(text.slice(place, place + 4));
}

/** Where a literal occurs in a text; occurrences may overlap. */
function* occurrencesOf(literal: string, text: string): Generator<Span> {
  for (let start = text.indexOf(literal); start >= 0; start = text.indexOf(literal, start + 1)) {
    yield { start, end: start + literal.length };
  }
}

/** A text of which each character can be claimed once. */
export class Claims {
  readonly #claimed: Uint8Array;
  #folded: string | undefined;

  /** Starts with no claims. */
  constructor(private readonly text: string) {
    this.#claimed = new Uint8Array(text.length);
  }

  /** Claims a span if it is valid and all of it is free. */
  claim(span: Span): boolean {
    if (!isPlace(span, this.text) || !this.#isFree(span)) return false;
    this.#claimed.fill(1, span.start, span.end);
    return true;
  }

  /**
   * Claims all occurrences of each value, the longest literals first; equal values belong to the first. Returns
   * the spans by the index of the value.
   */
  claimAll(values: readonly NamedValue[]): Map<number, Span[]> {
    const owners = new Map<string, number>();
    values.forEach(({ value }, owner) => {
      for (const literal of literalsOf(value)) {
        if (isFindable(literal) && !owners.has(literal)) owners.set(literal, owner);
      }
    });
    const found = new Map<number, Span[]>();
    const longestFirst = [...owners].sort(([one], [other]) => other.length - one.length);
    for (const [literal, owner] of longestFirst) {
      let spans = this.#claimIn(this.text, literal);
      if (spans.length === 0 && literal.length >= SHORTEST_FOLDED) {
        spans = this.#claimIn(this.#folded ??= fold(this.text), fold(literal));
      }
      if (spans.length > 0) found.set(owner, [...found.get(owner) ?? [], ...spans]);
    }
    for (const spans of found.values()) spans.sort((one, other) => one.start - other.start);
    return found;
  }

  #claimIn(searched: string, literal: string): Span[] {
    return occurrencesOf(literal, searched)
      .filter((span) => standsAlone(this.text, span) && this.claim(span)).toArray();
  }

  #isFree({ start, end }: Span): boolean {
    const claimed = this.#claimed;
    // A claimed end, the usual case, is quick to see.
    return claimed[start] === 0 && claimed[end - 1] === 0 &&
      !claimed.subarray(start, end).includes(1);
  }
}

/** Whether a literal is distinctive enough to search for: a single letter or sign is not. */
function isFindable(literal: string): boolean {
  return literal.trim() !== "" && ([...literal].length > 1 || DIGIT.test(literal));
}

/** A user's query, and where the parameters of the calls occur in it. */
export interface Query {
  /** The text. */
  readonly text: string;
  /** The parameters. */
  readonly parameters: readonly QueryParameter[];
}

/** All values within the arguments of calls, named by path; without recursion, as nesting may be deep. */
export function valuesIn(calls: readonly { readonly arguments: JsonObject }[]): NamedValue[] {
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

/** Sorts parameters by their first places. */
export function byPlace(one: QueryParameter, other: QueryParameter): number {
  return startOf(one) - startOf(other);
}

/**
 * Finds the parameters whose values occur literally in `text`, in the order of their first places. The longest
 * values are searched for first, as separate words; case is ignored if the exact case is not found. A place
 * belongs to one parameter, and a value of several parameters to the first. Nested values are named by path,
 * such as `address.city`.
 */
export function findParameters(
  text: string,
  calls: readonly { readonly arguments: JsonObject }[],
): QueryParameter[] {
  return claimValues(new Claims(text), valuesIn(calls));
}

/** Claims the places where values occur, and returns these as parameters. */
export function claimValues(claims: Claims, values: readonly NamedValue[]): QueryParameter[] {
  return [...claims.claimAll(values)].map(([number, spans]) => ({ ...values[number]!, spans }))
    .sort(byPlace);
}
