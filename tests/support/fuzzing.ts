/**
 * What fuzz tests share: a test of a property, and inputs near real ones.
 */

import { assert, assertEquals } from "@std/assert";
import { type JsonObject, type JsonValue, printable } from "../../lib/base/json.ts";
import fc from "./fast_check.ts";

/** Anyone who waits so long for one input takes it for a hang, in milliseconds. */
const LONGEST = 30_000;

/** Options of {@linkcode fuzz}. */
export interface FuzzOptions<T> {
  /** How many inputs are checked, where nothing multiplies them. */
  readonly runs: number;
  /** Inputs that once failed, which are checked first. */
  readonly examples?: readonly T[];
}

/**
 * A test of a property over random inputs. It fails with the seed, the path and the smallest input that was
 * found.
 */
export function fuzz<T>(
  name: string,
  inputs: fc.Arbitrary<T>,
  check: (input: T) => void | Promise<void>,
  { runs, examples = [] }: FuzzOptions<T>,
): void {
  Deno.test({
    name,
    async fn() {
      // Before anything is checked: an input that hangs or ends the process is found by it as well.
      console.log(`TOOLGATE_FUZZ_SEED=${fc.SEED}: ${fc.runsOf(runs)} inputs`);
      const property = fc.asyncProperty(inputs, async (input) => {
        const [before, started] = [builtIns(), performance.now()];
        await check(input);
        assertEquals(builtIns(), before, "what every object has was changed");
        const taken = performance.now() - started;
        assert(taken < LONGEST, `it took ${Math.round(taken / 1000)} s`);
      });
      await fc.assert(property, { numRuns: runs, examples: examples.map((one) => [one]) });
    },
  });
}

/** What every object, list, text and function has, by name. */
function builtIns(): string {
  return [Object.prototype, Array.prototype, String.prototype, Function.prototype]
    .map((prototype) => Object.getOwnPropertyNames(prototype).join()).join("\n");
}

/** Texts that have led programs astray. */
export const HOSTILE_TEXTS: readonly string[] = [
  "",
  " ",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "prototype",
  "then",
  "null",
  "undefined",
  "NaN",
  "-Infinity",
  "1e400",
  "0x10",
  "none",
  "fresh",
  "all",
  "sim:",
  "sim:planner",
  "sim:noisy?early=NaN&seed=-1",
  "../../../etc/passwd",
  "/dev/null",
  "\u0000",
  "\u001b[2J\u001b]0;owned\u0007",
  "\u202egnp.exe",
  "\ud800",
  "\u{1f3f3}\ufe0f Z\u0351\u036b",
  "<script>canary()</script>",
  "</script><script>canary()</script>",
  '<img src=x onerror="canary()">',
  "$1.field",
  "$call_1",
  "@name",
  "@@",
  "{{constructor}} ${1} %s %o $& $1",
  "(a+)+$",
  "|cell|[x](javascript:canary())",
  "\r\n",
  "2026-13-99T99:99:99Z",
  "x".repeat(5_000),
];

const HOSTILE_NUMBERS = [
  ...[0, -0, 1, -1, 2, 3, 0.5, 1e-9, 1e9, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53],
  ...[-(2 ** 53), 1e21, 1e308, -1e308, 5e-324],
];

/** Something in one of `cases` cases, and `null` in all others. */
export function seldom<T>(arbitrary: fc.Arbitrary<T>, cases: number): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: cases - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

/** Texts, the hostile ones first. */
export function anyText(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(...HOSTILE_TEXTS),
    fc.string({ maxLength: 20 }),
    fc.string({ unit: fc.character(), maxLength: 20 }),
  );
}

/** An object whose keys may be those that literals treat in their own way. */
export function objectOf(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  const made: JsonObject = {};
  for (const [key, value] of entries) {
    Object.defineProperty(made, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return made;
}

/** JSON values of all kinds; numbers are of all sizes, and keys may be hostile. */
export function anyJson(): fc.Arbitrary<JsonValue> {
  const leaf: fc.Arbitrary<JsonValue> = fc.oneof(
    fc.constantFrom<JsonValue>(null, true, false, [], {}),
    fc.constantFrom(...HOSTILE_NUMBERS),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    anyText(),
  );
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { arbitrary: leaf, weight: 4 },
      { arbitrary: fc.array(tie("value"), { maxLength: 3 }), weight: 1 },
      {
        arbitrary: fc.array(fc.tuple(anyText(), tie("value")), { maxLength: 3 }).map(objectOf),
        weight: 1,
      },
    ),
  }));
  return value;
}

/** A value within `levels` lists or objects. */
export function nested(levels: number, key?: string): string {
  const [open, close] = key === undefined ? ["[", "]"] : [`{${JSON.stringify(key)}:`, "}"];
  return open.repeat(levels) + "1" + close.repeat(levels);
}

/** One change of a JSON value. */
export interface ValueChange {
  readonly kind: "delete" | "set" | "rename" | "repeat" | "swap" | "wrap" | "text";
  /** Which of its places, by number, in whatever order they have. */
  readonly place: number;
  /** Which other place it is swapped with. */
  readonly other: number;
  readonly value: JsonValue;
  readonly name: string;
}

/** Changes of the parts of JSON values. */
export function valueChanges(most = 3): fc.Arbitrary<ValueChange[]> {
  const change = fc.record({
    kind: fc.constantFrom<ValueChange["kind"]>(
      ...["delete", "set", "set", "rename", "repeat", "swap", "wrap", "text"] as const,
    ),
    place: fc.nat(),
    other: fc.nat(),
    value: anyJson(),
    name: anyText(),
  });
  return fc.array(change, { minLength: 1, maxLength: most });
}

/** Where a value stands in another one. */
interface Place {
  readonly within: JsonObject | JsonValue[];
  readonly key: string | number;
}

function placesIn(value: JsonValue): Place[] {
  const places: Place[] = [];
  const waiting: JsonValue[] = [value];
  for (let inner; (inner = waiting.pop()) !== undefined;) {
    if (typeof inner !== "object" || inner === null) continue;
    for (const key of Array.isArray(inner) ? inner.keys() : Object.keys(inner)) {
      const place = { within: inner, key };
      places.push(place);
      waiting.push(read(place));
    }
  }
  return places;
}

function read({ within, key }: Place): JsonValue {
  return (within as JsonObject)[key]!;
}

function write({ within, key }: Place, value: JsonValue): void {
  const descriptor = { value, enumerable: true, writable: true, configurable: true };
  Object.defineProperty(within, key, descriptor);
}

/** The value with its parts changed; what it was is left as it is. */
export function changed(value: JsonValue, changes: readonly ValueChange[]): JsonValue {
  // A part that stands in two places must not be changed in both, or come to stand within itself.
  const top: JsonValue[] = [structuredClone(value)];
  for (const change of changes) applyChange(top, change);
  return top[0] ?? null;
}

function applyChange(top: JsonValue[], change: ValueChange): void {
  const places = placesIn(top);
  if (places.length === 0) return;
  const place = places[change.place % places.length]!;
  const { within, key } = place;
  const fresh = structuredClone(change.value);
  const old = read(place);
  switch (change.kind) {
    case "delete":
      if (within === top) write(place, null);
      else if (Array.isArray(within)) within.splice(Number(key), 1);
      else delete within[key];
      break;
    case "set":
      write(place, fresh);
      break;
    case "rename":
      if (Array.isArray(within)) break;
      delete within[key];
      write({ within, key: change.name }, old);
      break;
    case "repeat":
      if (Array.isArray(within) && within !== top) within.push(structuredClone(old));
      else write({ within, key: change.name }, structuredClone(old));
      break;
    case "swap": {
      const other = places[change.other % places.length]!;
      const copy = structuredClone(read(other));
      write(other, structuredClone(old));
      if (placesIn(top).some((one) => one.within === within && one.key === key)) write(place, copy);
      break;
    }
    case "wrap":
      write(place, change.other % 2 === 0 ? [old] : objectOf([[change.name, old]]));
      break;
    case "text":
      write(place, typeof old === "string" ? old + change.name : JSON.stringify(old));
  }
}

/** One change of a text. */
export interface TextChange {
  readonly place: number;
  readonly removed: number;
  readonly added: string;
}

/** What spoils texts that are to be JSON. */
const SPOILING: readonly string[] = [
  ...["{", "}", "[", "]", '"', ",", ":", "\\", "'", "`", "/", "//", "/*", "*/", "#"],
  ...["\n", "\r\n", "\r", "\t", "\u0000", "\ufeff", "\u2028", "\u00a0", "\\ud800", "\\u0000"],
  ...["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "01", "+1", ".5", "0x10", "-0"],
  ...["undefined", "null", "true", "9".repeat(400), '"__proto__":{"a":1},', ",,", "}{", '""'],
  ...['"core":1e9,', '"kind":"plan",', '"kind":"trial",', '"solved":true,', '"v":2,'],
  nested(50_000),
  nested(50_000, "a"),
  "[".repeat(50_000),
];

/** Changes of texts. */
export function textChanges(most = 3): fc.Arbitrary<TextChange[]> {
  const change = fc.record({
    place: fc.nat(),
    removed: fc.oneof(fc.constant(0), fc.nat(6), fc.nat(400)),
    added: fc.oneof(fc.constant(""), fc.constantFrom(...SPOILING), anyText()),
  });
  return fc.array(change, { minLength: 1, maxLength: most });
}

/** The text, changed. */
export function changedText(text: string, changes: readonly TextChange[]): string {
  return changes.reduce((before, { place, removed, added }) => {
    const at = place % (before.length + 1);
    return before.slice(0, at) + added + before.slice(at + removed);
  }, text);
}

/** One change of bytes: a bit of one turned, some cut out, or others put in. */
export interface ByteChange {
  readonly place: number;
  readonly kind: "turn" | "cut" | "add";
  readonly value: number;
}

/** Changes of bytes. */
export function byteChanges(most = 4): fc.Arbitrary<ByteChange[]> {
  const change = fc.record({
    place: fc.nat(),
    kind: fc.constantFrom<ByteChange["kind"]>("turn", "turn", "cut", "add"),
    value: fc.nat(255),
  });
  return fc.array(change, { minLength: 1, maxLength: most });
}

/** The bytes, changed. */
export function changedBytes(bytes: Uint8Array, changes: readonly ByteChange[]): Uint8Array {
  return changes.reduce((before, { place, kind, value }) => {
    const at = place % Math.max(1, before.length);
    if (kind === "turn") {
      const turned = before.slice();
      turned[at] = (turned[at] ?? 0) ^ (1 << value % 8);
      return turned;
    }
    const [head, tail] = [
      before.subarray(0, at),
      before.subarray(kind === "cut" ? at + value : at),
    ];
    const added = kind === "cut" ? [] : new Array<number>(1 + value % 3).fill(value);
    return new Uint8Array([...head, ...added, ...tail]);
  }, bytes);
}

/** Fails where a message for people is long, or steers what shows it. */
export function assertReadable(message: string, longest = 20_000): void {
  assert(message.length > 0 && message.length <= longest, `it has ${message.length} characters`);
  for (const line of message.split("\n")) {
    assertEquals(printable(line, Infinity), line, "it has characters that cannot be seen");
  }
}

/** What was printed, and what came of it. */
export interface Quiet<T> {
  readonly value: T;
  readonly stdout: string;
  readonly stderr: string;
}

/** Does work of which nothing is printed. */
export async function quietly<T>(work: () => T | Promise<T>): Promise<Quiet<T>> {
  const { log, error } = console;
  const lines: { readonly out: string[]; readonly err: string[] } = { out: [], err: [] };
  console.log = (...words: unknown[]) => void lines.out.push(words.join(" "));
  console.error = (...words: unknown[]) => void lines.err.push(words.join(" "));
  try {
    const value = await work();
    return { value, stdout: lines.out.join("\n"), stderr: lines.err.join("\n") };
  } finally {
    Object.assign(console, { log, error });
  }
}
