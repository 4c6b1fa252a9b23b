/**
 * Patterns: runs the regular expressions of schemas in a time that grows with the text alone, as schemas come
 * from servers and texts from models.
 * @module
 */

import { attempt } from "../../base/errors.ts";
// Loaded when a schema has the first pattern.
import defer * as re2 from "re2js";
import type { JsonObject } from "../../base/json.ts";

/** A pattern, ready to run. */
export interface Pattern {
  /** Whether it matches anywhere in a text. */
  test(text: string): boolean;
}

/**
 * What may run the patterns of a schema: only the engine whose time is linear, JavaScript's own for patterns
 * that it cannot express (`unsafePatterns`), or JavaScript's own for all, as for schemas of zod, which runs
 * them so itself.
 */
export type PatternTrust = "linear" | "unsafe" | "own";

/** By the schema's identity: the permission is the user's, and must not stand in what a server sends. */
const TRUST = new WeakMap<JsonObject, PatternTrust>();

/** Lets JavaScript's engine run the patterns of a schema that the linear one cannot express. */
export function allowUnsafePatterns(schema: JsonObject): void {
  if (trustOf(schema) === "linear") TRUST.set(schema, "unsafe");
}

/** Leaves the patterns and formats of a schema to what it was made from, which checks them itself. */
export function trustOwnSchema(schema: JsonObject): void {
  TRUST.set(schema, "own");
}

/** Gives a schema the trust of the one that it was made from. */
export function inheritTrust(schema: JsonObject, from: JsonObject): void {
  const trust = TRUST.get(from);
  if (trust !== undefined) TRUST.set(schema, trust);
}

/** What may run the patterns of a schema. */
export function trustOf(schema: JsonObject): PatternTrust {
  return TRUST.get(schema) ?? "linear";
}

/** What a pattern has that the linear engine cannot express. */
class NotLinear extends Error {}

/** Patterns have at most this many characters. */
const MAX_LENGTH = 10_000;
/** Patterns match at most this many characters, with counts written out: the time grows with them, too. */
const MAX_SIZE = 2_000;
/** The engine counts up to this number. */
const MAX_COUNT = 1_000;
/** At most this many patterns are kept ready. */
const MAX_KEPT = 500;

const KEPT = new Map<string, Pattern>();

/**
 * Compiles a pattern of a JSON Schema: an unanchored regular expression of ECMAScript, by code points.
 *
 * @throws {SyntaxError} If it is none, or if `trust` demands the linear engine and that cannot express it.
 */
export function compilePattern(pattern: string, trust: PatternTrust): Pattern {
  const key = `${trust} ${pattern}`;
  const known = KEPT.get(key);
  if (known !== undefined) return known;
  const made = make(pattern, trust);
  if (KEPT.size >= MAX_KEPT) KEPT.clear();
  KEPT.set(key, made);
  return made;
}

/** Those of JSON Schema's own schema, which every first compilation reads. */
const LINEAR_ANYWAY = new Set(["^[^#]*#?$", "^[A-Za-z_][-A-Za-z0-9._]*$"]);

function make(pattern: string, trust: PatternTrust): Pattern {
  if (trust === "own" || LINEAR_ANYWAY.has(pattern)) return backtracking(pattern);
  if (pattern.length > MAX_LENGTH) {
    if (trust === "unsafe") return backtracking(pattern);
    throw notLinear(pattern, `it is longer than ${MAX_LENGTH} characters`);
  }
  const tokens = readPattern(pattern);
  try {
    const tests = testsOf(tokens).map(({ tokens, wanted }) => ({ ...linear(tokens), wanted }));
    return { test: (text) => tests.every(({ test, wanted }) => test(text) === wanted) };
  } catch (error) {
    if (!(error instanceof NotLinear || error instanceof re2.RE2JSException)) throw error;
    if (trust === "unsafe") return backtracking(tokens.join(""));
    const why = error instanceof NotLinear ? error.message : `its engine says: ${error.message}`;
    throw notLinear(pattern, why);
  }
}

function notLinear(pattern: string, why: string): SyntaxError {
  const shown = pattern.length > 100 ? `${pattern.slice(0, 100)}...` : pattern;
  return new SyntaxError(
    `Pattern ${
      JSON.stringify(shown)
    } cannot be checked in linear time: ${why} (unsafePatterns: true ` +
      "runs it nevertheless, and a text may then block the process)",
  );
}

/** Compiles for JavaScript's engine: by code points, or without the flag where it is not valid so. */
function backtracking(pattern: string): Pattern {
  const compiled = isNative(pattern) ? new RegExp(pattern, "u") : new RegExp(pattern);
  return { test: (text) => compiled.test(text) };
}

/** Whether a text is a regular expression of ECMAScript with the flag `u`. */
function isNative(pattern: string): boolean {
  return attempt(() => new RegExp(pattern, "u")) !== undefined;
}

/** Whether a text is a pattern. */
export function isPattern(text: string): boolean {
  return attempt(() =>
    text.length > MAX_LENGTH ? isNative(text) : readPattern(text) !== undefined
  ) ?? false;
}

/** A class of characters, an escape, the beginning of a group, a quantifier, or a character. */
const TOKEN =
  /\[(?:\\[^]|[^\\\]])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[1-9]\d*|[^])|\(\?(?:<?[=!]|<[^>]*>|[a-z]*(?:-[a-z]+)?:)|(?:[*+?]|\{\d+(?:,\d*)?\})\??|[^]/gu;

/** What other languages write, and what ECMAScript has for it. */
const FOREIGN: readonly (readonly [written: RegExp, advice: string])[] = [
  [/\\A/, "write ^"],
  [/\\[Zz]/, "write $"],
  [/\(\?[imsxaLu-]+\)/, "write both cases, as in [aA]"],
  [/\(\?P[<=]/, "write (?<name>...)"],
  [/\{,\d+\}/, "write {0,n}"],
];

/**
 * Splits a pattern into classes, escapes, beginnings of groups, quantifiers and characters, as ECMAScript writes
 * them with the flag `u`. What only its older syntax knows is written anew: needless escapes as in `\_`, `-` behind
 * a class as in `[\w-.]`, and lone braces.
 *
 * @throws {SyntaxError} If it is no pattern of ECMAScript.
 */
export function readPattern(pattern: string): readonly string[] {
  const isCurrent = isNative(pattern);
  if (!isCurrent) {
    for (const [written, advice] of FOREIGN) {
      const [found] = written.exec(pattern) ?? [];
      if (found !== undefined) throw notNative(found, advice);
    }
    new RegExp(pattern);
  }
  const tokens = pattern.match(TOKEN) ?? [];
  const named = tokens.find((token) => /^\[\[?:\^?[a-z]+:\]/.test(token));
  if (named !== undefined) throw notNative(named, "write the characters, as in [a-z]");
  if (isCurrent) return tokens;
  const native = tokens.map(withFlag);
  // It is not run: what V8 takes is a pattern, with the counts, names and ranges that it checks.
  new RegExp(native.join(""), "u");
  return native;
}

function notNative(found: string, advice: string): SyntaxError {
  return new SyntaxError(`${found} is not of ECMAScript: ${advice}`);
}

/** Writes a token of the older syntax as the flag `u` demands it. */
function withFlag(token: string): string {
  if (/^[\]{}]$/.test(token)) return `\\${token}`;
  const inClass = token.length > 1 && token.startsWith("[");
  return token.replaceAll(/\\([^])(-(?!\]))?/gu, (_, escaped: string, dash: string = "") => {
    const isNeeded = /[\w^$\\.*+?()[\]{}|/]/.test(escaped) && escaped !== "_" ||
      inClass && escaped === "-";
    const written = isNeeded ? `\\${escaped}` : escaped;
    return written + (/[dsw]/i.test(escaped) ? dash.replace("-", "\\-") : dash);
  });
}

/**
 * Splits a pattern that begins with lookaheads, as in `^(?!-)[a-z-]+$`: each is a pattern of its own, which must
 * match or must not.
 */
function testsOf(tokens: readonly string[]) {
  let depth = 0;
  const depths = tokens.map((token) => depth += token.startsWith("(") ? 1 : token === ")" ? -1 : 0);
  const hasBranches = tokens.some((token, place) => token === "|" && depths[place] === 0);
  const aheads: { tokens: readonly string[]; wanted: boolean }[] = [];
  let place = 1;
  while (tokens[0] === "^" && !hasBranches && /^\(\?[=!]$/.test(tokens[place] ?? "")) {
    const end = depths.indexOf(0, place);
    aheads.push({
      tokens: ["^", "(?:", ...tokens.slice(place + 1, end), ")"],
      wanted: tokens[place] === "(?=",
    });
    place = end + 1;
  }
  return [...aheads, { tokens: tokens.toSpliced(1, place - 1), wanted: true }];
}

/** Compiles a pattern for the linear engine. */
function linear(tokens: readonly string[]): Pattern {
  const [start, part, quantifier = "", end] = tokens;
  const count = countOf(quantifier);
  // A count of one kind of character is all there is, as in `^[^]{1,4096}$`: any count is as cheap.
  if (
    count !== undefined && count.reach > MAX_COUNT && start === "^" && tokens.length === 4 &&
    end === "$"
  ) {
    const all = linear([start, part!, "*", end]);
    return {
      test(text) {
        if (!all.test(text)) return false;
        const points = text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
        return points >= count.least && points <= count.most;
      },
    };
  }
  if (sizeOf(tokens) > MAX_SIZE) {
    throw new NotLinear(
      `it has more than ${MAX_SIZE} characters to match, with its counts written out`,
    );
  }
  const written = tokens.map((token, place) =>
    writtenCount(token, tokens[place - 1]) ?? writtenToken(token)
  );
  const pattern = re2.RE2JS.compile(re2.RE2JS.translateRegExp(written.join("")));
  return { test: (text) => pattern.test(text) };
}

/** How often the part before a token may repeat, and how far it counts; `undefined` if it is no quantifier. */
export function countOf(token: string): Count | undefined {
  const [written, sign, from, comma, to] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(token) ?? [];
  if (written === undefined) return undefined;
  const least = Number(from ?? sign === "+");
  const most = sign === "?" ? 1 : comma === "" ? least : Number(to || Infinity);
  return { least, most, reach: most === Infinity ? least : most };
}

interface Count {
  readonly least: number;
  readonly most: number;
  readonly reach: number;
}

/** The number of characters to match, with all counts written out. */
function sizeOf(tokens: readonly string[]): number {
  const open = [0];
  let last = 0;
  for (const token of tokens) {
    const count = countOf(token);
    if (token.startsWith("(")) open.push(last = 0);
    else if (token === ")") last = open.pop()!;
    else if (count === undefined) last = 1;
    else last *= Math.max(1, count.reach) - 1;
    open[open.length - 1]! += last;
  }
  return open[0]!;
}

/** Writes a quantifier that goes further than the engine counts, in pieces; `undefined` for all others. */
function writtenCount(token: string, part = ""): string | undefined {
  const count = countOf(token);
  if (count === undefined || count.reach <= MAX_COUNT || part === ")") return undefined;
  const { least, most } = count;
  const split = (times: number, from: string) => [
    ...Array(Math.floor(times / MAX_COUNT)).fill(`{${from}${MAX_COUNT}}`),
    `{${from}${times % MAX_COUNT}}`,
  ];
  return [...split(least, ""), ...(most === Infinity ? ["*"] : split(most - least, "0,"))]
    .join(writtenToken(part));
}

/** What the linear engine cannot express. */
const NOT_LINEAR: readonly (readonly [token: RegExp, what: string])[] = [
  [/^\(\?<[=!]/, "a lookbehind"],
  [/^\(\?[=!]/, "a lookahead that is not at its start, after ^"],
  [/^\(\?[a-z-]+:/, "flags within it"],
  [/^\\(?:[1-9]|k<)/, "a backreference"],
];

/** What `\s` and `\S` stand for in ECMAScript. */
const SPACE =
  "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NO_SPACE =
  "\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}" +
  "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";

/** Writes a token in the engine's syntax, in which some tokens mean something else. */
function writtenToken(token: string): string {
  const [, what] = NOT_LINEAR.find(([written]) => written.test(token)) ?? [];
  if (what !== undefined) throw new NotLinear(`it has ${what}`);
  if (token === ".") return "[^\\n\\r\\x{2028}\\x{2029}]";
  if (token.startsWith("(?<")) return "(";
  if (/^\\[sSpPu]/.test(token)) return `[${writtenEscape(token)}]`;
  if (token.length === 1 || !token.startsWith("[")) return token;
  return "[" +
    token.slice(1).replaceAll(/\[|\\(?:[pP]\{[^}]*\}|u[^{]{4}\\u[^{]{4}|[^])/gu, writtenEscape);
}

/** Writes a bracket or an escape within a class. */
function writtenEscape(escape: string): string {
  if (escape === "[") return "\\[";
  if (escape === "\\b") return "\\x08";
  if (escape === "\\s") return SPACE;
  if (escape === "\\S") return NO_SPACE;
  if (/^\\[pP]/.test(escape)) return escape.replace(/\{(?:Script|sc|General_Category|gc)=/, "{");
  // Two halves of one character.
  return escape.length === 12 ? JSON.parse(`"${escape}"`) : escape;
}
