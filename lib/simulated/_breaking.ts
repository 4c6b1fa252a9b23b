/**
 * Broken calls: when a simulated model breaks the format of its calls, and what it writes instead.
 * @module
 */

import type { BREAKS } from "../models/simulated_name.ts";
import { randomIntegerBetween, sample } from "@std/random";
import type { TextFormat } from "../models/formats/format.ts";
import { type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
import { fork, type Stream } from "../base/random.ts";
import { slipsOf } from "./_text_formats.ts";
import type { ChatCall } from "./_wire.ts";

/**
 * How often a model breaks the format of its calls. An opportunity is any reply with calls, in all formats.
 *
 * - `breakFormat`: the share of these replies that are broken, from 0 to 1.
 * - `hopeless`: the share of broken replies, from 0 to 1, that no parser can understand; all others can be
 *   repaired without guessing.
 *
 * A call that was refused because it could not be parsed is repeated at most 19 times.
 */
export type BreakRates = Readonly<Record<typeof BREAKS[number], number>>;

/** How a reply is broken: repairable, or beyond understanding. */
export type Break = "mendable" | "hopeless";

/** The rates and seeds that determine broken calls. */
export interface BreakDraws {
  /** The rates. Default: 0. */
  readonly rates: Partial<BreakRates>;
  /** The seed of the model. */
  readonly seed: number;
  /** The `seed` of the request, which is the number of the repetition; 0 if it has none. */
  readonly repetition: number;
  /** How often it was asked to repair a call of this step, including this time. Default: 0. */
  readonly attempt?: number;
}

/**
 * Returns how `sim:noisy` breaks a reply with calls; `undefined` if it does not.
 *
 * @param prompt The first user message.
 * @param step The number of earlier replies with calls.
 */
export function drawBreak(prompt: string, step: number, draws: BreakDraws): Break | undefined {
  const { rates: { breakFormat = 0, hopeless = 0 } } = draws;
  const { prng } = breakStream(prompt, step, draws);
  if (!(prng() < breakFormat)) return undefined;
  return prng() < hopeless ? "hopeless" : "mendable";
}

/** The stream of a break: its first two numbers determine whether and how, the others the text. */
export function breakStream(
  prompt: string,
  step: number,
  { seed, repetition, attempt = 0 }: BreakDraws,
): Stream {
  return fork(seed, repetition, prompt, step, "format", attempt);
}

/** Native calls, one of them broken. */
export function breakCalls(
  calls: readonly ChatCall[],
  kind: Break,
  stream: Stream,
): readonly ChatCall[] {
  const place = drawIndex(calls, stream);
  const call = calls[place]!;
  const { name, arguments: json } = call.function;
  if (kind === "hopeless") {
    return calls.with(place, { ...call, function: { name, arguments: garble(json, stream) } });
  }
  const broken = sample([
    { ...call, id: "" },
    { ...call, function: { name, arguments: parseJson(json) } },
  ], stream);
  // Broken calls do not conform to the type.
  return calls.with(place, broken as ChatCall);
}

/** The text of a reply, one of its calls broken. */
export function breakText(
  format: TextFormat,
  { text, calls }: { readonly text: string; readonly calls: readonly ChatCall[] },
  { kind, stream }: { readonly kind: Break; readonly stream: Stream },
): string {
  const place = drawIndex(calls, stream);
  const { name, arguments: json } = calls[place]!.function;
  const write = (args: string) => {
    const given = calls.map((call) => call.function);
    return format.writeCalls(text, given.with(place, { name, arguments: args }));
  };
  if (kind === "hopeless") return write(garble(json, stream));
  const loose = LOOSE.flatMap((loosen) => loosen(json) ?? []);
  return sample(
    [...loose.map(write), ...slipsOf(format).map((slip) => slip(write(json)))],
    stream,
  )!;
}

/** Draws the index of the broken call. */
function drawIndex(calls: readonly ChatCall[], stream: Stream): number {
  return randomIntegerBetween(0, calls.length - 1, stream);
}

/** Arguments beyond understanding: cut off before the first value, or words. */
function garble(json: string, stream: Stream): string {
  const words = "the values that are known by now";
  const colon = json.indexOf('":') + '":'.length;
  return colon < '":'.length
    ? words
    : sample([words, json.slice(0, '{"x'.length), json.slice(0, colon)], stream)!;
}

/** Frequent slips in the JSON of arguments; each returns `undefined` if it does not apply. */
const LOOSE: readonly ((json: string) => string | undefined)[] = [
  (json) => json === "{}" ? undefined : `${json.slice(0, -1)},}`,
  (json) => json === "{}" ? undefined : inPython(parseJson(json)!),
  (json) => json.slice(0, -1),
  (json) => {
    const entries = Object.entries(Object(parseJson(json)) as JsonObject);
    if (entries.length === 0 || !entries.every(([key]) => /^[a-z_]\w*$/i.test(key))) {
      return undefined;
    }
    return `{${entries.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")}}`;
  },
];

/** A value in Python's notation. */
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
