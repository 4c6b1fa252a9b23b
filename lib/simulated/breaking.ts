/**
 * How a simulated model breaks the form of its calls: when, and what it writes in their place.
 * @module
 */

import type { BREAKS } from "../models/simulated_name.ts";
import { randomIntegerBetween, sample } from "@std/random";
import type { FormatId, TextFormat } from "../models/formats/format.ts";
import { type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
import { fork, type Stream } from "../base/random.ts";
import type { ChatCall } from "./wire.ts";

/**
 * How often a model breaks the form of its calls. An opportunity is a reply that makes any, whatever it is
 * asked through.
 *
 * - `breakFormat`: The share of these replies that break it, 0..1.
 * - `hopeless`: The share of broken replies, 0..1, of which no parser can tell what was meant; all others
 *   can be mended without guessing.
 *
 * A call that was refused as it could not be read is made again, at most 19 times.
 */
export type BreakRates = Readonly<Record<typeof BREAKS[number], number>>;

/** How a reply is broken: so that what was meant can be told, or not. */
export type Break = "mendable" | "hopeless";

/** What breaks are drawn from. */
export interface BreakDraws {
  /** The rates; those that are left out are 0. */
  readonly rates: Partial<BreakRates>;
  /** The seed of the model. */
  readonly seed: number;
  /** The `seed` of the request, which is the number of the repetition; 0 where there is none. */
  readonly repetition: number;
  /** How often it was asked in vain to correct a call of this step, this time included; default 0. */
  readonly attempt?: number;
}

/**
 * Whether and how `sim:noisy` breaks a reply that calls.
 *
 * @param prompt The first user message.
 * @param step How many replies with calls there were before.
 *
 * @example Usage
 * ```ts
 * import { drawBreak } from "./breaking.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const draws = { seed: 7, repetition: 1 };
 * assertEquals(drawBreak("x?", 0, { ...draws, rates: { hopeless: 1 } }), undefined);
 * assertEquals(drawBreak("x?", 0, { ...draws, rates: { breakFormat: 1 } }), "mendable");
 * assertEquals(drawBreak("x?", 0, { ...draws, rates: { breakFormat: 1, hopeless: 1 } }), "hopeless");
 * ```
 */
export function drawBreak(prompt: string, step: number, draws: BreakDraws): Break | undefined {
  const { rates: { breakFormat = 0, hopeless = 0 } } = draws;
  const { prng } = breakStream(prompt, step, draws);
  if (!(prng() < breakFormat)) return undefined;
  return prng() < hopeless ? "hopeless" : "mendable";
}

/** What a break is drawn from: its first two numbers tell whether and how, the others what is written. */
export function breakStream(
  prompt: string,
  step: number,
  { seed, repetition, attempt = 0 }: BreakDraws,
): Stream {
  return fork(seed, repetition, prompt, step, "format", attempt);
}

/** Calls as a server sends them that makes them itself, one of them broken. */
export function breakCalls(
  calls: readonly ChatCall[],
  kind: Break,
  stream: Stream,
): readonly ChatCall[] {
  const place = placeIn(calls, stream);
  const call = calls[place]!;
  const { name, arguments: written } = call.function;
  if (kind === "hopeless") {
    return calls.with(place, { ...call, function: { name, arguments: spoil(written, stream) } });
  }
  const broken = sample([
    { ...call, id: "" },
    { ...call, function: { name, arguments: parseJson(written) } },
  ], stream);
  // What is broken is nothing that the format has a type for.
  return calls.with(place, broken as ChatCall);
}

/** The text of a reply that calls, one of its calls broken. */
export function breakText(
  format: TextFormat,
  { text, calls }: { readonly text: string; readonly calls: readonly ChatCall[] },
  { kind, stream }: { readonly kind: Break; readonly stream: Stream },
): string {
  const place = placeIn(calls, stream);
  const { name, arguments: written } = calls[place]!.function;
  const write = (own: string) => {
    const given = calls.map((call) => call.function);
    return format.writeCalls(text, given.with(place, { name, arguments: own }));
  };
  if (kind === "hopeless") return write(spoil(written, stream));
  const loose = LOOSE.flatMap((loosen) => loosen(written) ?? []);
  return sample(
    [...loose.map(write), ...SLIPS[format.id].map((slip) => slip(write(written)))],
    stream,
  )!;
}

/** Which of the calls is broken. */
function placeIn(calls: readonly ChatCall[], stream: Stream): number {
  return randomIntegerBetween(0, calls.length - 1, stream);
}

/** Arguments of which nobody can tell what they were to be: cut off before the first value, or words. */
function spoil(written: string, stream: Stream): string {
  const words = "the values that are known by now";
  const colon = written.indexOf('":') + '":'.length;
  return colon < '":'.length
    ? words
    : sample([words, written.slice(0, '{"x'.length), written.slice(0, colon)], stream)!;
}

/** Arguments as they are often written, but should not be; nothing where there is nothing to spoil. */
const LOOSE: readonly ((written: string) => string | undefined)[] = [
  (written) => written === "{}" ? undefined : `${written.slice(0, -1)},}`,
  (written) => written === "{}" ? undefined : inPython(parseJson(written)!),
  (written) => written.slice(0, -1),
  (written) => {
    const entries = Object.entries(Object(parseJson(written)) as JsonObject);
    if (entries.length === 0 || !entries.every(([key]) => /^[a-z_]\w*$/i.test(key))) {
      return undefined;
    }
    return `{${entries.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")}}`;
  },
];

/** A value as Python writes it. */
function inPython(value: JsonValue): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") {
    const escaped = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll(
      "'",
      "\\'",
    );
    return `'${escaped}'`;
  }
  if (Array.isArray(value)) return `[${value.map(inPython).join(", ")}]`;
  const entries = Object.entries(value);
  return `{${entries.map(([key, own]) => `${inPython(key)}: ${inPython(own)}`).join(", ")}}`;
}

/** What goes wrong around the arguments, at the end of a reply. */
const SLIPS: Readonly<Record<FormatId, readonly ((written: string) => string)[]>> = {
  react: [(written) => `${written}\nObservation: [1, it] {"value": 512}\nThought: That is it.`],
  xml: [
    (written) => withoutEnd(written, "\n</tool_use>"),
    (written) => `\`\`\`xml\n${written}\n\`\`\``,
    (written) => withoutEnd(written, "</arguments>\n</tool_use>"),
  ],
  hermes: [
    (written) => withoutEnd(written, "\n</tool_call>"),
    (written) => `\`\`\`\n${written}\n\`\`\``,
  ],
};

function withoutEnd(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}
