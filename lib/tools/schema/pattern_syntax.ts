/**
 * The patterns of JSON Schema: ECMAScript's regular expressions with the flag `u`, read into a tree.
 * @module
 */

/** Code points as ranges that ascend and do not touch. */
export type Ranges = readonly (readonly [from: number, to: number])[];

/** A part of a pattern. */
export type Part =
  | { readonly kind: "set"; readonly ranges: Ranges }
  | { readonly kind: "edge"; readonly edge: "^" | "$" | "\\b" | "\\B" }
  | { readonly kind: "sequence"; readonly parts: readonly Part[] }
  | { readonly kind: "either"; readonly branches: readonly Part[] }
  | {
    readonly kind: "times";
    readonly part: Part;
    readonly least: number;
    readonly most: number;
  }
  | { readonly kind: "ahead"; readonly part: Part; readonly wanted: boolean }
  | { readonly kind: "other"; readonly what: string };

/** A pattern, read. */
export interface PatternSyntax {
  /** Its parts. */
  readonly part: Part;
  /** The same pattern as ECMAScript reads it with the flag `u`. */
  readonly source: string;
}

/** The largest code point. */
const LAST = 0x10ffff;
const DIGITS: Ranges = [[0x30, 0x39]];
const WORD: Ranges = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const SPACE: Ranges = [
  ...[[0x9, 0xd], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a]] as const,
  ...[[0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000]] as const,
  [0xfeff, 0xfeff],
];
const LINE_ENDS: Ranges = [[0xa, 0xa], [0xd, 0xd], [0x2028, 0x2029]];
const CLASSES: Readonly<Record<string, Ranges>> = { d: DIGITS, w: WORD, s: SPACE };
/** Escapes of single characters. */
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/** What other languages write, and what ECMAScript has for it. */
const FOREIGN: readonly (readonly [written: RegExp, advice: string])[] = [
  [/^\\A/, "write ^"],
  [/^\\[Zz]/, "write $"],
  [/^\(\?[imsxaLu-]+\)/, "write both cases, as in [aA]"],
  [/^\(\?P[<=]/, "write (?<name>...)"],
  [/^\[\[?:\^?[a-z]+:\]/, "write the characters, as in [a-z]"],
  [/^\{,\d+\}/, "write {0,n}"],
];

/** Groups nest at most so deep. */
const MAX_NESTING = 200;

/**
 * Reads a pattern. What only ECMAScript's older syntax knows is taken for the character that it stands for:
 * needless escapes as in `\_`, `-` beside a class as in `[\w-.]`, and lone braces.
 *
 * @throws {SyntaxError} If it is no pattern of ECMAScript.
 */
export function readPattern(pattern: string): PatternSyntax {
  return new PatternReader(pattern).read();
}

class PatternReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  /** The pattern with the flag `u`, as far as it was read. */
  #source = "";

  constructor(text: string) {
    this.#text = text;
  }

  read(): PatternSyntax {
    const part = this.#either();
    // Only a closing parenthesis ends it early.
    if (this.#at < this.#text.length) this.#take(1);
    // It is not run: what V8 takes is a pattern, with the counts, names and ranges that it checks.
    new RegExp(this.#source + this.#text.slice(this.#at), "u");
    return { part, source: this.#source };
  }

  #either(): Part {
    const branches = [this.#sequence()];
    while (this.#next("|")) {
      this.#take(1);
      branches.push(this.#sequence());
    }
    return branches.length === 1 ? branches[0]! : { kind: "either", branches };
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#text.length && !this.#next("|") && !this.#next(")")) {
      parts.push(this.#quantified(this.#atom()));
    }
    return parts.length === 1 ? parts[0]! : { kind: "sequence", parts };
  }

  #quantified(part: Part): Part {
    const [written, sign, least, comma, most] = this.#match(/([*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y) ??
      [];
    if (written === undefined) return part;
    this.#take(written.length);
    const range = sign === "*"
      ? [0, Infinity]
      : sign === "+"
      ? [1, Infinity]
      : sign === "?"
      ? [0, 1]
      : [Number(least), comma === undefined ? Number(least) : Number(most || Infinity)];
    return { kind: "times", part, least: range[0]!, most: range[1]! };
  }

  #atom(): Part {
    const [written = ""] = this.#match(/\\[bB]|\(\?(?:<?[=!]|:|<(?![=!])[^>]*>)|[^]/uy)!;
    if (written === "^" || written === "$" || written === "\\b" || written === "\\B") {
      this.#take(written.length);
      return { kind: "edge", edge: written };
    }
    this.#assertNative();
    if (written.startsWith("(")) return this.#group(written);
    if (written === "[") return this.#class();
    if (written === "\\") return this.#escape();
    if (written === ".") {
      this.#take(1);
      return { kind: "set", ranges: inverse(LINE_ENDS) };
    }
    if (/[\]{}]/.test(written)) return this.#literal(1, written, `\\${written}`);
    // Quantifiers without anything before them: V8 says what is wrong with them.
    return this.#literal(written.length, written, written);
  }

  #group(start: string): Part {
    if (start === "(" && this.#text[this.#at + 1] === "?") {
      this.#take(2);
      if (this.#match(/[ims]*-?[ims]*:/y) === undefined) this.#refuse();
      this.#within();
      return { kind: "other", what: "flags within it" };
    }
    this.#take(start.length);
    const part = this.#within();
    if (start === "(?=" || start === "(?!") {
      return { kind: "ahead", part, wanted: start === "(?=" };
    }
    return start === "(?<=" || start === "(?<!" ? { kind: "other", what: "a lookbehind" } : part;
  }

  /** Reads to the end of a group. */
  #within(): Part {
    if (++this.#depth > MAX_NESTING) {
      throw new SyntaxError(`its groups nest deeper than ${MAX_NESTING}`);
    }
    const part = this.#either();
    this.#depth--;
    if (!this.#next(")")) this.#refuse();
    this.#take(1);
    return part;
  }

  /** Reads an escape outside of a class. */
  #escape(): Part {
    const [reference] = this.#match(/\\(?:[1-9]\d*|k<[^>]*>)/y) ?? [];
    if (reference !== undefined) {
      this.#take(reference.length);
      return { kind: "other", what: "a backreference" };
    }
    return { kind: "set", ranges: this.#escapedSet(/[\^$\\.*+?()[\]{}|/]/) };
  }

  #class(): Part {
    this.#take(1);
    const isInverse = this.#next("^");
    if (isInverse) this.#take(1);
    const ranges: [number, number][] = [];
    while (!this.#next("]")) {
      if (this.#at >= this.#text.length) this.#refuse();
      const first = this.#classSet();
      const isRange = this.#next("-") &&
        !/^-(?:\]|$)/.test(this.#text.slice(this.#at, this.#at + 2));
      if (!isRange) {
        ranges.push(...first.map(([from, to]): [number, number] => [from, to]));
        continue;
      }
      const dash = this.#source.length;
      this.#take(1);
      const last = this.#classSet();
      const from = onlyOne(first);
      const to = onlyOne(last);
      if (from !== undefined && to !== undefined) {
        if (from > to) this.#refuse();
        ranges.push([from, to]);
        continue;
      }
      // No range can begin or end with a class.
      this.#source = `${this.#source.slice(0, dash)}\\${this.#source.slice(dash)}`;
      for (const set of [first, [[0x2d, 0x2d]] as const, last]) {
        ranges.push(...set.map(([low, high]): [number, number] => [low, high]));
      }
    }
    this.#take(1);
    const all = joined(ranges);
    return { kind: "set", ranges: isInverse ? inverse(all) : all };
  }

  /** Reads one character of a class, or a class within it. */
  #classSet(): Ranges {
    this.#assertNative();
    if (this.#next("\\")) {
      const [backspace] = this.#match(/\\b/y) ?? [];
      if (backspace !== undefined) {
        this.#take(2);
        return [[8, 8]];
      }
      return this.#escapedSet(/[\^$\\.*+?()[\]{}|/-]/);
    }
    const code = this.#text.codePointAt(this.#at)!;
    this.#take(String.fromCodePoint(code).length);
    return [[code, code]];
  }

  /** Reads an escape that stands for characters; `needed` are those that may be escaped with `u`. */
  #escapedSet(needed: RegExp): Ranges {
    const [property, kind] = this.#match(/\\([pP])\{[^}]*\}/y) ?? [];
    if (property !== undefined) {
      this.#take(property.length);
      const ranges = propertyRanges(`\\p${property.slice(2)}`);
      return kind === "P" ? inverse(ranges) : ranges;
    }
    const [code, pair, ...codes] = this.#match(
      /\\(?:u(d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/iy,
    ) ?? [];
    if (code !== undefined) {
      this.#take(code.length);
      const [high, low] = (pair ?? "").split(/\\u/i).map((half) => parseInt(half, 16));
      const point = pair === undefined
        ? parseInt(codes.find((digits) => digits !== undefined)!, 16)
        : String.fromCharCode(high!, low!).codePointAt(0)!;
      return [[point, point]];
    }
    const [control, letter] = this.#match(/\\c([A-Za-z])/y) ?? [];
    if (control !== undefined) {
      this.#take(control.length);
      const point = letter!.charCodeAt(0) % 32;
      return [[point, point]];
    }
    const point = this.#text.codePointAt(this.#at + 1);
    if (point === undefined) this.#refuse();
    const character = String.fromCodePoint(point);
    const lower = character.toLowerCase();
    if (Object.hasOwn(CLASSES, lower)) {
      this.#take(2);
      return character === lower ? CLASSES[lower]! : inverse(CLASSES[lower]!);
    }
    if (Object.hasOwn(CONTROLS, character)) {
      if (character === "0" && /^\d$/.test(this.#text[this.#at + 2] ?? "")) this.#refuse();
      this.#take(2);
      return [[CONTROLS[character]!, CONTROLS[character]!]];
    }
    // With `u` these are kept for escapes to come; other languages have their own meaning for them.
    if (/[A-Za-z0-9]/.test(character)) {
      throw new SyntaxError(`\\${character} is no escape of ECMAScript`);
    }
    const length = 1 + character.length;
    if (needed.test(character)) this.#take(length);
    else this.#literal(length, character, character);
    return [[point, point]];
  }

  /** Reads characters that stand for one, which `source` stands for with the flag `u`. */
  #literal(length: number, character: string, source: string): Part {
    this.#at += length;
    this.#source += source;
    const point = character.codePointAt(0)!;
    return { kind: "set", ranges: [[point, point]] };
  }

  /** Refuses what other languages write, and ECMAScript's older syntax would misread. */
  #assertNative(): void {
    for (const [written, advice] of FOREIGN) {
      const [foreign] = written.exec(this.#text.slice(this.#at, this.#at + 40)) ?? [];
      if (foreign === undefined) continue;
      throw new SyntaxError(`${foreign} is not of ECMAScript: ${advice}`);
    }
  }

  #next(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text) ?? undefined;
  }

  #take(length: number): void {
    this.#source += this.#text.slice(this.#at, this.#at + length);
    this.#at += length;
  }

  /** Lets V8 say what is wrong. */
  #refuse(): never {
    new RegExp(this.#text, "u");
    throw new SyntaxError("it is no regular expression of ECMAScript");
  }
}

/** The one code point of a set; `undefined` if it has more. */
function onlyOne(ranges: Ranges): number | undefined {
  const [[from, to] = [0, LAST], ...others] = ranges;
  return others.length === 0 && from === to ? from : undefined;
}

/** Returns the ranges in order, without overlaps. */
function joined(ranges: Ranges): Ranges {
  const found: [number, number][] = [];
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    const last = found.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

/** Returns all other code points. */
function inverse(ranges: Ranges): Ranges {
  const found: [number, number][] = [];
  let next = 0;
  for (const [from, to] of ranges) {
    if (from > next) found.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= LAST) found.push([next, LAST]);
  return found;
}

const PROPERTIES = new Map<string, Ranges>();
/** At most this many of them are looked up, as each takes about 50 ms. */
const MAX_PROPERTIES = 50;

/** Returns the code points with a property of Unicode, as this JavaScript engine knows it. */
function propertyRanges(escape: string): Ranges {
  const known = PROPERTIES.get(escape);
  if (known !== undefined) return known;
  if (PROPERTIES.size >= MAX_PROPERTIES) {
    throw new SyntaxError(
      `there are patterns with more than ${MAX_PROPERTIES} properties of Unicode`,
    );
  }
  const pattern = new RegExp(`^${escape}$`, "u");
  const found: [number, number][] = [];
  for (let point = 0; point <= LAST; point++) {
    if (!pattern.test(String.fromCodePoint(point))) continue;
    const last = found.at(-1);
    if (last?.[1] === point - 1) last[1] = point;
    else found.push([point, point]);
  }
  PROPERTIES.set(escape, found);
  return found;
}
