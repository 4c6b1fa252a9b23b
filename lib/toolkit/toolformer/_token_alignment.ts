/**
 * Alignment of tokens with their text, as servers write tokens in many ways.
 * @module
 */

/** The place of a token in a text, in UTF-16 code units. */
export interface TokenSpan {
  /** Where it begins. */
  readonly start: number;
  /** Where it ends. */
  readonly end: number;
}

/**
 * Returns the place of each token in `text`: of all alignments of the tokens in order, the one that reads most
 * of them literally; `undefined` if the tokens do not cover exactly the text. These habits of servers are
 * accepted:
 *
 * - opening tokens that are not part of the text, such as `<s>` or `<|begin_of_text|>`;
 * - `\u2581` for a space, a space before the first token, a token without the space before it;
 * - parts of a character, which are not valid text: `\ufffd`, an empty token, or `bytes:\xe2\x82`.
 *
 * Offsets given by servers are ignored: some count characters, some count opening tokens, and none counts
 * parts of characters. Takes time linear in the tokens and the text.
 */
export function alignTokens(text: string, tokens: readonly string[]): TokenSpan[] | undefined {
  const bytes = new TextEncoder().encode(text);
  // For each token, by the offset where it may end, the best way to get there.
  const steps: ReadonlyMap<number, Way>[] = [];
  let ways: ReadonlyMap<number, Way> = new Map([[0, { start: 0, cost: 0 }]]);
  const cache = new Map<string, Reading[]>();
  for (const [number, token] of tokens.entries()) {
    const readings = cache.get(token) ?? readingsOf(token);
    cache.set(token, readings);
    const next = new Map<number, Way>();
    for (const [start, { cost: before }] of ways) {
      const opening = start === 0 && number < MAX_OPENING ? openingOf(token) : [];
      for (const { pieces, cost: readingCost } of [...readings, ...opening]) {
        const cost = before + readingCost;
        for (const end of endsOf(pieces, bytes, start)) {
          if (cost < (next.get(end)?.cost ?? Infinity)) next.set(end, { start, cost });
        }
      }
    }
    if (next.size === 0 || next.size > MAX_WAYS) return undefined;
    steps.push(next);
    ways = next;
  }
  const stretches: TokenSpan[] = [];
  let end = bytes.length;
  const offsets = offsetsOf(bytes);
  for (const step of steps.reverse()) {
    const way = step.get(end);
    if (way === undefined) return undefined;
    const { start } = way;
    // A part of a character gets the place of the whole character.
    stretches.push({ start: offsets.before[start]!, end: offsets.after[end]! });
    end = start;
  }
  return end === 0 && tokens.length > 0 ? stretches.reverse() : undefined;
}

/** Literal bytes, or a range of lengths for bytes of non-ASCII characters. */
type Piece = Uint8Array | { readonly least: number; readonly most: number };

/** One way to read a token. */
interface Reading {
  readonly pieces: readonly Piece[];
  /** How far it departs from the literal token. */
  readonly cost: number;
}

/** One way to reach an offset. */
interface Way {
  /** The offset where the last token begins. */
  readonly start: number;
  /** The total cost of the readings up to there. */
  readonly cost: number;
}

/** How many opening tokens a text may have. */
const MAX_OPENING = 3;
/** The limit on ways followed at once: with more, the tokens cannot be aligned reliably. */
const MAX_WAYS = 1024;

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

/** Further ways to read a token at the start of the text. */
function openingOf(token: string): Reading[] {
  return [
    ...(/^[ \u2581]/.test(token) ? [{ pieces: [encoder.encode(token.slice(1))], cost: 1 }] : []),
    ...(/^[<[][^]*[>\]]$/.test(token) ? [{ pieces: [], cost: 1 }] : []),
  ];
}

/** A token as pieces, with a range of lengths for each part of a character in it. */
function splitParts(token: string): Piece[] {
  return token.split("\ufffd").flatMap((text, place): Piece[] => [
    ...(place === 0 ? [] : [{ least: 1, most: 3 }]),
    ...(text === "" ? [] : [encoder.encode(text)]),
  ]);
}

/** The offsets where a reading that begins at `start` may end. */
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
    if (next.size > MAX_WAYS) return [];
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

/** The offset of each byte in the text, in UTF-16 code units, rounded down and up to whole characters. */
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
