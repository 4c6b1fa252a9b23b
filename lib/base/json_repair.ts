/**
 * Tolerant JSON: reads a value as models write it and returns strict JSON. Nothing is evaluated, and
 * deviations that the table does not list are not read.
 *
 * | written | becomes |
 * | --- | --- |
 * | `'single'`, `“typographic”` quotes | double quotes |
 * | `True`, `False`, `None` | `true`, `false`, `null` |
 * | keys without quotes | quoted keys |
 * | a comma before a closing bracket | none |
 * | line breaks and other control characters in a text | their escapes |
 * | a backslash that escapes nothing | a backslash |
 * | `//` and `/*` comments, odd spaces | a space |
 * | strings or brackets left open at the end | closed ones |
 * | a code fence around the value | none |
 * | single words as values, missing commas, expressions, joined texts, numbers in other forms | not read |
 * | more than 500 levels | not read |
 *
 * @module
 */

import { type JsonValue, parseJson } from "./json.ts";
import { ESCAPE, stickyEnd, textEnd } from "./json_slices.ts";

/** A value that was read, with its repairs. */
export interface TolerantJson {
  /** The value as strict JSON; unchanged text where nothing had to be repaired. */
  readonly json: string;
  /** The value. It may have any keys. */
  readonly value: JsonValue;
  /** The index in the text just behind the value. */
  readonly end: number;
  /** The repairs, as phrases that continue "it had". */
  readonly repairs: readonly string[];
}

/** Limits of reading. */
export interface TolerantJsonOptions {
  /** Where text in need of repair ends; default: the end of the text. Strict JSON may go on behind it. */
  readonly to?: number | undefined;
}

/**
 * Returns the value that begins at `from`, after spaces and a code fence; `undefined` if none can be read.
 * Takes time linear in the text read.
 */
export function readTolerantJson(
  text: string,
  from: number,
  options: TolerantJsonOptions = {},
): TolerantJson | undefined {
  const outer = Math.min(options.to ?? text.length, text.length);
  FENCE.lastIndex = from;
  const [opening, fence] = FENCE.exec(text) ?? [];
  const start = opening === undefined ? spaceEnd(text, from) : from + opening.length;
  const inner = fence === undefined ? -1 : fenceEnd(text.slice(start, outer), fence);
  const to = inner === -1 ? Math.max(start, outer) : start + inner;
  const found = new Scanner(text, start, text.length, false).scan() ??
    new Scanner(text, start, to, true).scan();
  if (found === undefined) return undefined;
  const value = parseJson(found.json);
  if (value === undefined) return undefined;
  if (fence === undefined) return { ...found, value };
  const behind = spaceEnd(text, found.end);
  return {
    json: found.json,
    value,
    end: text.startsWith(fence, behind) ? behind + fence.length : found.end,
    repairs: [...found.repairs, "a code fence"],
  };
}

/** Where a code fence ends, preferably at the beginning of a line; -1 if it is not closed. */
function fenceEnd(text: string, fence: string): number {
  const end = text.indexOf(`\n${fence}`);
  return end === -1 ? text.indexOf(fence) : end;
}

/** Deepest nesting of lists and objects. */
const MAX_LEVELS = 500;

// All of them are tried at one position only, and none can backtrack.
const SPACE = /[\s\ufeff]*/y;
const FENCE = /[\s\ufeff]*(```|~~~|``|`)(?:\w{0,20}(?=[\s{[]))?[\s\ufeff]*/y;
const STRICT_SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_$.])/uy;
const WORD = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;

/** Where the spaces that begin at `at` end. */
function spaceEnd(text: string, at: number): number {
  return stickyEnd(SPACE, text, at)!;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);

/** The characters that close a string, by the one that opens it. */
const QUOTES: ReadonlyMap<string, readonly [closing: string, what: string]> = new Map([
  ["'", ["'", "single quotes"]],
  ["‘", ["‘’", "typographic quotes"]],
  ["’", ["‘’", "typographic quotes"]],
  ["“", ["“”", "typographic quotes"]],
  ["”", ["“”", "typographic quotes"]],
  ["„", ["“”", "typographic quotes"]],
]);

/** The kind of token that may come next. */
type Expected = "value" | "key" | "colon" | "more";

/** Reads one value from left to right, without recursion. */
class Scanner {
  readonly #text: string;
  readonly #start: number;
  readonly #to: number;
  readonly #tolerant: boolean;
  readonly #repairs = new Set<string>();
  /** The text read, with replacements; each comma is a piece of its own. */
  readonly #pieces: string[] = [];
  /** Closing brackets still missing. */
  readonly #open: ("}" | "]")[] = [];
  /** The text before this index is in the pieces. */
  #copied: number;
  #at: number;
  /** The index of the piece that is the comma before the next token; -1 if there is none. */
  #comma = -1;

  constructor(text: string, start: number, to: number, tolerant: boolean) {
    this.#text = text;
    this.#start = start;
    this.#at = this.#copied = start;
    this.#to = to;
    this.#tolerant = tolerant;
  }

  scan(): { json: string; end: number; repairs: readonly string[] } | undefined {
    let expected: Expected | undefined = "value";
    while (expected !== undefined) {
      if (!this.#skip()) return undefined;
      if (this.#at >= this.#to) {
        return this.#closeAll(expected) ? this.#done() : undefined;
      }
      expected = this.#next(expected);
      if (expected === "more" && this.#open.length === 0) return this.#done();
    }
    return undefined;
  }

  /** Reads one token and returns what may follow it; `undefined` if the token is not allowed here. */
  #next(expected: Expected): Expected | undefined {
    const char = this.#text[this.#at]!;
    if (expected === "colon") {
      if (char !== ":") return undefined;
      this.#at++;
      return "value";
    }
    if (char === this.#open.at(-1)) {
      // A colon must be followed by a value.
      if (expected === "value" && char === "}") return undefined;
      if (!this.#dropComma()) return undefined;
      this.#open.pop();
      this.#at++;
      return "more";
    }
    if (expected === "more") {
      if (char !== ",") return undefined;
      this.#comma = 0;
      if (this.#tolerant) {
        this.#flush();
        this.#comma = this.#pieces.push(",") - 1;
        this.#copied++;
      }
      this.#at++;
      return this.#open.at(-1) === "}" ? "key" : "value";
    }
    this.#comma = -1;
    if (char === '"' || QUOTES.has(char)) {
      return this.#readText(char, expected) ? (expected === "key" ? "colon" : "more") : undefined;
    }
    if (expected === "key") return this.#readKey() ? "colon" : undefined;
    if (char === "{" || char === "[") {
      if (this.#open.push(char === "{" ? "}" : "]") > MAX_LEVELS) return undefined;
      this.#at++;
      return char === "{" ? "key" : "value";
    }
    return this.#readWord() ? "more" : undefined;
  }

  /** Skips spaces and comments; returns false for a comment that is not valid. */
  #skip(): boolean {
    while (true) {
      this.#at = stickyEnd(STRICT_SPACE, this.#text, this.#at)!;
      if (!this.#tolerant || this.#at >= this.#to) return true;
      const comment = this.#text[this.#at] === "/" ? this.#commentEnd() : undefined;
      if (comment === -1) return false;
      const end = Math.min(comment ?? spaceEnd(this.#text, this.#at), this.#to);
      if (end === this.#at) return true;
      this.#replace(end, " ", comment === undefined ? "odd spaces" : "a comment");
    }
  }

  /** Where the comment at this position ends; -1 if it does not end or is not a comment. */
  #commentEnd(): number {
    const rest = this.#text.slice(this.#at, this.#to);
    const closing = rest.startsWith("/*") ? "*/" : rest.startsWith("//") ? "\n" : undefined;
    if (closing === undefined) return -1;
    const end = rest.indexOf(closing, 2);
    if (end !== -1) return this.#at + end + closing.length;
    return closing === "\n" ? this.#to : -1;
  }

  #readKey(): boolean {
    const end = stickyEnd(WORD, this.#text, this.#at);
    if (!this.#tolerant || end === undefined || end > this.#to) return false;
    const key = JSON.stringify(this.#text.slice(this.#at, end));
    this.#replace(end, key, "a key without quotes");
    return true;
  }

  /** Reads a number or a literal such as `true`. */
  #readWord(): boolean {
    const number = stickyEnd(NUMBER, this.#text, this.#at);
    if (number !== undefined) {
      this.#at = number;
      return number <= this.#to;
    }
    const end = stickyEnd(WORD, this.#text, this.#at);
    if (end === undefined || end > this.#to) return false;
    const word = this.#text.slice(this.#at, end);
    const literal = WORDS.get(word);
    if (literal === undefined) return false;
    if (literal === word) {
      this.#at = end;
      return true;
    }
    if (!this.#tolerant) return false;
    this.#replace(end, literal, "True, False or None");
    return true;
  }

  /** Reads a string that begins with `quote`. */
  #readText(quote: string, expected: Expected): boolean {
    const strict = quote === '"' ? textEnd(this.#text, this.#at, this.#to) : undefined;
    if (strict !== undefined) {
      this.#at = strict;
      return true;
    }
    return this.#tolerant && this.#readOddText(quote, expected);
  }

  #readOddText(quote: string, expected: Expected): boolean {
    const text = this.#text;
    const [closing, what] = QUOTES.get(quote) ?? ['"', undefined];
    let content = "";
    let at = this.#at + 1;
    while (at < this.#to) {
      const char = text[at]!;
      if (closing.includes(char) && (what === undefined || this.#endsText(at + 1, expected))) {
        this.#replace(at + 1, `"${content}"`, what);
        return true;
      }
      if (char === "\\" && at + 1 < this.#to) {
        const escape = stickyEnd(ESCAPE, text, at);
        const next = text[at + 1]!;
        if (escape !== undefined && escape <= this.#to) {
          content += text.slice(at, escape);
          at = escape;
        } else if (QUOTES.has(next)) {
          content += next;
          at += 2;
        } else {
          this.#repairs.add("a backslash that escapes nothing");
          content += "\\\\";
          at++;
        }
        continue;
      }
      if (char < " ") this.#repairs.add("a line break within a text");
      content += char === '"' || char === "\\" || char < " "
        ? JSON.stringify(char).slice(1, -1)
        : char;
      at++;
    }
    // A key that is cut off has no meaning.
    if (expected === "key") return false;
    if (what !== undefined) this.#repairs.add(what);
    this.#replace(this.#to, `"${content}"`, "no closing quote");
    return true;
  }

  /** Whether a quote before `at` ends the string, and is not an apostrophe within it. */
  #endsText(at: number, expected: Expected): boolean {
    const next = spaceEnd(this.#text, at);
    if (next >= this.#to) return true;
    const char = this.#text[next]!;
    if (char === "/" && "/*".includes(this.#text[next + 1] ?? " ")) return true;
    if (expected === "key") return char === ":";
    const closing = this.#open.at(-1);
    return closing === undefined || char === closing || char === ",";
  }

  /** Closes the brackets left open at the end; returns whether that makes a value. */
  #closeAll(expected: Expected): boolean {
    if (!this.#tolerant || this.#open.length === 0 || expected === "colon") return false;
    // A key must have a value; a list need not go on.
    if (expected === "value" && this.#open.at(-1) === "}") return false;
    if (!this.#dropComma()) return false;
    this.#replace(this.#to, this.#open.reverse().join(""), "no closing bracket");
    return true;
  }

  /** Removes a trailing comma; returns whether that is allowed. */
  #dropComma(): boolean {
    if (this.#comma === -1) return true;
    if (!this.#tolerant) return false;
    this.#repairs.add("a trailing comma");
    this.#pieces[this.#comma] = "";
    this.#comma = -1;
    return true;
  }

  /** Replaces the text up to `end`. */
  #replace(end: number, replacement: string, what?: string): void {
    this.#flush();
    this.#pieces.push(replacement);
    if (what !== undefined) this.#repairs.add(what);
    this.#copied = this.#at = end;
  }

  #flush(): void {
    this.#pieces.push(this.#text.slice(this.#copied, this.#at));
    this.#copied = this.#at;
  }

  #done() {
    this.#flush();
    const json = this.#repairs.size === 0
      ? this.#text.slice(this.#start, this.#at)
      : this.#pieces.join("");
    return { json, end: this.#at, repairs: [...this.#repairs] };
  }
}
