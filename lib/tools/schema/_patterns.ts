/**
 * Patterns: runs the regular expressions of schemas in a time that grows with the text alone, as schemas come
 * from servers and texts from models.
 * @module
 */

// Loaded when a schema has the first pattern.
import defer * as re2 from "re2js";
import type { JsonObject } from "../../base/json.ts";
import { type Part, type Ranges, readPattern } from "./pattern_syntax.ts";

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

/** Whether a text is a pattern. */
export function isPattern(text: string): boolean {
  try {
    readPattern(text);
    return true;
  } catch {
    return false;
  }
}

/** Those of JSON Schema's own schema, which every first compilation reads. */
const LINEAR_ANYWAY = new Set(["^[^#]*#?$", "^[A-Za-z_][-A-Za-z0-9._]*$"]);

function make(pattern: string, trust: PatternTrust): Pattern {
  if (trust === "own" || LINEAR_ANYWAY.has(pattern)) return backtracking(pattern);
  if (pattern.length > MAX_LENGTH) {
    if (trust === "unsafe") return backtracking(pattern);
    throw notLinear(pattern, `it is longer than ${MAX_LENGTH} characters`);
  }
  const { part, source } = readPattern(pattern);
  try {
    const tests = testsOf(part).map(({ part, wanted }) => ({ ...linearTest(part), wanted }));
    return { test: (text) => tests.every(({ test, wanted }) => test(text) === wanted) };
  } catch (error) {
    if (trust === "unsafe") return backtracking(source);
    if (error instanceof NotLinear) throw notLinear(pattern, `it has ${error.message}`);
    throw error;
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
  const compiled = regExpOf(pattern);
  return { test: (text) => compiled.test(text) };
}

function regExpOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

/** A pattern that must match, or must not. */
interface Wanted {
  readonly part: Part;
  readonly wanted: boolean;
}

const START: Part = { kind: "edge", edge: "^" };

/** Splits a pattern that begins with lookaheads, as in `^(?!-)[a-z-]+$`: each is a pattern of its own. */
function testsOf(part: Part): Wanted[] {
  if (part.kind !== "sequence" || !isEdge(part.parts[0], "^")) return [{ part, wanted: true }];
  const [, ...rest] = part.parts;
  const first = rest.findIndex(({ kind }) => kind !== "ahead");
  const aheads = rest.slice(0, first === -1 ? rest.length : first);
  const others = rest.slice(aheads.length);
  return [
    ...aheads.flatMap((ahead) => ahead.kind === "ahead" ? [ahead] : []),
    { part: { kind: "sequence" as const, parts: others }, wanted: true },
  ].map(({ part, wanted }) => ({ part: { kind: "sequence", parts: [START, part] }, wanted }));
}

function isEdge(part: Part | undefined, edge: string): boolean {
  return part?.kind === "edge" && part.edge === edge;
}

/** Compiles a pattern for the linear engine. */
function linearTest(part: Part): Pattern {
  const counted = countedTest(part);
  if (counted !== undefined) return counted;
  const size = sizeOf(part);
  if (size > MAX_SIZE) {
    throw new NotLinear(`more than ${MAX_SIZE} characters to match, with its counts written out`);
  }
  return run(written(part));
}

function run(source: string): Pattern {
  const pattern = re2.RE2JS.compile(source);
  return { test: (text) => pattern.test(text) };
}

/** A count of one kind of character is all there is, as in `^[^]{1,4096}$`: any count is as cheap. */
function countedTest(part: Part): Pattern | undefined {
  const parts = flat(part);
  const isAnchored = isEdge(parts[0], "^");
  const isClosed = isEdge(parts.at(-1), "$");
  const [counted, ...others] = parts.slice(isAnchored ? 1 : 0, isClosed ? -1 : undefined);
  if (counted?.kind !== "times" || counted.part.kind !== "set" || others.length > 0) {
    return undefined;
  }
  const { least, most } = counted;
  if (!isAnchored || !isClosed || Math.max(least, most) <= MAX_COUNT) return undefined;
  const all = run(written({
    kind: "sequence",
    parts: [START, { ...counted, least: 0, most: Infinity }, { kind: "edge", edge: "$" }],
  }));
  return {
    test: (text) => {
      if (!all.test(text)) return false;
      let points = 0;
      for (const _ of text) points++;
      return points >= least && points <= most;
    },
  };
}

/** The parts of a sequence, with those of sequences in it. */
function flat(part: Part): readonly Part[] {
  return part.kind === "sequence" ? part.parts.flatMap(flat) : [part];
}

/** The number of characters to match, with all counts written out. */
function sizeOf(part: Part): number {
  if (part.kind === "sequence") return sum(part.parts);
  if (part.kind === "either") return sum(part.branches) + part.branches.length;
  if (part.kind !== "times") return 1;
  const { least, most } = part;
  return 1 + sizeOf(part.part) * Math.max(1, most === Infinity ? least : most);
}

function sum(parts: readonly Part[]): number {
  return parts.reduce((total, one) => total + sizeOf(one), 0);
}

/** How far counts within counts go. */
function reachOf(part: Part): number {
  if (part.kind === "sequence") return Math.max(1, ...part.parts.map(reachOf));
  if (part.kind === "either") return Math.max(1, ...part.branches.map(reachOf));
  if (part.kind !== "times") return 1;
  const { least, most } = part;
  return reachOf(part.part) * Math.max(1, most === Infinity ? least : most);
}

/** Writes a pattern in the engine's syntax, in which all means the same that means anything there. */
function written(part: Part): string {
  switch (part.kind) {
    case "set":
      return writtenSet(part.ranges);
    case "edge":
      return EDGES[part.edge];
    case "sequence":
      return part.parts.map(written).join("");
    case "either":
      return `(?:${part.branches.map(written).join("|")})`;
    case "times":
      return writtenCount(part);
    case "ahead":
      throw new NotLinear("a lookahead that is not at its start, after ^");
    case "other":
      throw new NotLinear(part.what);
  }
}

const EDGES = { "^": "\\A", "$": "\\z", "\\b": "\\b", "\\B": "\\B" };

function writtenSet(ranges: Ranges): string {
  const point = (code: number) => `\\x{${code.toString(16)}}`;
  if (ranges.length === 0) return `[^${point(0)}-${point(0x10ffff)}]`;
  return `[${ranges.map(([from, to]) => `${point(from)}-${point(to)}`).join("")}]`;
}

/** Writes a count, split where it goes further than the engine counts. */
function writtenCount({ part, least, most }: Part & { readonly kind: "times" }): string {
  const inner = `(?:${written(part)})`;
  if (most === 0) return "";
  const longest = Math.max(1, Math.floor(MAX_COUNT / reachOf(part)));
  const repeated = (count: number, from: (times: number) => string) => {
    const wholes = `${inner}${from(longest)}`.repeat(Math.floor(count / longest));
    const rest = count % longest;
    return rest === 0 ? wholes : `${wholes}${inner}${from(rest)}`;
  };
  const required = repeated(least, (times) => `{${times}}`);
  if (most === Infinity) return `${required}${inner}*`;
  return required + repeated(most - least, (times) => `{0,${times}}`);
}
