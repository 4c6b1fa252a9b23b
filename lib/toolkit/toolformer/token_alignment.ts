/**
 * Tokens laid over the text that they were read from: servers write them down in many ways.
 * @module
 */

/** A stretch of a text, in UTF-16 code units. */
export interface Stretch {
  /** Where it begins. */
  readonly start: number;
  /** Where it ends. */
  readonly end: number;
}

/**
 * Where each token stands in `text`: of all ways to make it up of the tokens in their order, the one that
 * takes the most of them as they are written. `undefined` where the tokens do not make up the text, all of it and no more.
 * This is put up with, which servers do:
 *
 * - tokens that open a text, such as `<s>` or `<|begin_of_text|>`, without being part of it;
 * - `\u2581` for a space, a space before the first token, a token without the space before it;
 * - parts of a character, which are no text of their own: `\ufffd`, nothing at all, or `bytes:\xe2\x82`.
 *
 * What a server itself says of offsets is not looked at: some count characters, some count what opens a
 * text, and none counts parts of characters. The time it takes is linear in the tokens and the text.
 *
 * @example Usage
 * ```ts
 * import { alignTokens } from "./token_alignment.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(alignTokens("It is 5.", ["<s>", "It", " is", " 5", "."]), [
 *   { start: 0, end: 0 },
 *   { start: 0, end: 2 },
 *   { start: 2, end: 5 },
 *   { start: 5, end: 7 },
 *   { start: 7, end: 8 },
 * ]);
 * assertEquals(alignTokens("It is 5.", ["It", " was"]), undefined);
 * ```
 */
export function alignTokens(text: string, tokens: readonly string[]): Stretch[] | undefined {
  const bytes = new TextEncoder().encode(text);
  // Of each place that a token may end at, where it then began.
  const steps: ReadonlyMap<number, Way>[] = [];
  let ways: ReadonlyMap<number, Way> = new Map([[0, { start: 0, cost: 0 }]]);
  const known = new Map<string, Reading[]>();
  for (const [number, token] of tokens.entries()) {
    const readings = known.get(token) ?? readingsOf(token);
    known.set(token, readings);
    const next = new Map<number, Way>();
    for (const [start, { cost: before }] of ways) {
      const opening = start === 0 && number < MOST_OPENING ? openingOf(token) : [];
      for (const { pieces, cost: own } of [...readings, ...opening]) {
        const cost = before + own;
        for (const end of endsOf(pieces, bytes, start)) {
          if (cost < (next.get(end)?.cost ?? Infinity)) next.set(end, { start, cost });
        }
      }
    }
    if (next.size === 0 || next.size > MOST_WAYS) return undefined;
    steps.push(next);
    ways = next;
  }
  const stretches: Stretch[] = [];
  let end = bytes.length;
  const offsets = offsetsOf(bytes);
  for (const step of steps.reverse()) {
    const way = step.get(end);
    if (way === undefined) return undefined;
    const { start } = way;
    // A part of a character stands for all of it.
    stretches.push({ start: offsets.before[start]!, end: offsets.after[end]! });
    end = start;
  }
  return end === 0 && tokens.length > 0 ? stretches.reverse() : undefined;
}

/** Bytes as they are, or so many bytes of characters that are more than one. */
type Piece = Uint8Array | { readonly least: number; readonly most: number };

/** One way to read a token. */
interface Reading {
  readonly pieces: readonly Piece[];
  /** What has to be put up with for it. */
  readonly cost: number;
}

/** One way to come to a place. */
interface Way {
  /** Where the last token began. */
  readonly start: number;
  /** What had to be put up with by then. */
  readonly cost: number;
}

/** So many tokens may open a text. */
const MOST_OPENING = 3;
/** No more ways are followed at once: a text of which so little is certain is not made up of its tokens. */
const MOST_WAYS = 1024;

const encoder = new TextEncoder();

/** The ways to read a token. */
function readingsOf(token: string): Reading[] {
  if (token === "") return [{ pieces: [], cost: 0 }, { pieces: [{ least: 1, most: 4 }], cost: 1 }];
  const literal = token.includes("\ufffd") ? splitParts(token) : [encoder.encode(token)];
  const bytes = /^bytes:((?:\\x[0-9a-f]{2})+)$/i.exec(token)?.[1]?.slice(2).split(/\\x/i);
  return [
    { pieces: literal, cost: 0 },
    ...(bytes === undefined
      ? []
      : [{ pieces: [Uint8Array.from(bytes, (pair) => parseInt(pair, 16))], cost: 0 }]),
    ...(token.includes("\u2581")
      ? [{ pieces: [encoder.encode(token.replaceAll("\u2581", " "))], cost: 0 }]
      : []),
    { pieces: [encoder.encode(" "), ...literal], cost: 1 },
    { pieces: [{ least: 1, most: 4 }, ...literal], cost: 2 },
  ];
}

/** The further ways to read a token that stands where the text begins. */
function openingOf(token: string): Reading[] {
  return [
    ...(/^[ \u2581]/.test(token) ? [{ pieces: [encoder.encode(token.slice(1))], cost: 1 }] : []),
    ...(/^[<[][^]*[>\]]$/.test(token) ? [{ pieces: [], cost: 1 }] : []),
  ];
}

/** A token with something for each part of a character in it. */
function splitParts(token: string): Piece[] {
  return token.split("\ufffd").flatMap((text, place): Piece[] => [
    ...(place === 0 ? [] : [{ least: 1, most: 3 }]),
    ...(text === "" ? [] : [encoder.encode(text)]),
  ]);
}

/** Where a reading may end that begins at `start`. */
function endsOf(pieces: readonly Piece[], bytes: Uint8Array, start: number): Iterable<number> {
  let places = new Set([start]);
  for (const piece of pieces) {
    const next = new Set<number>();
    for (const place of places) {
      if (piece instanceof Uint8Array) {
        if (isAt(piece, bytes, place)) next.add(place + piece.length);
        continue;
      }
      for (let length = 0; length <= piece.most; length++) {
        if (length >= piece.least) next.add(place + length);
        if (!(bytes[place + length]! >= 0x80)) break;
      }
    }
    if (next.size > MOST_WAYS) return [];
    places = next;
  }
  return places;
}

function isAt(piece: Uint8Array, bytes: Uint8Array, place: number): boolean {
  if (place + piece.length > bytes.length) return false;
  for (let offset = 0; offset < piece.length; offset++) {
    if (piece[offset] !== bytes[place + offset]) return false;
  }
  return true;
}

/** Where each byte stands in the text, in UTF-16 code units: the end of the character before it, and behind it. */
function offsetsOf(bytes: Uint8Array): { before: Uint32Array; after: Uint32Array } {
  const before = new Uint32Array(bytes.length + 1);
  const after = new Uint32Array(bytes.length + 1);
  let [offset, width] = [0, 0];
  for (const [place, byte] of bytes.entries()) {
    if ((byte & 0xc0) !== 0x80) {
      offset += width;
      width = byte >= 0xf0 ? 2 : 1;
      before[place] = after[place] = offset;
    } else {
      before[place] = offset;
      after[place] = offset + width;
    }
  }
  before[bytes.length] = after[bytes.length] = offset + width;
  return { before, after };
}
