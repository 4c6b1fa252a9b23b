/**
 * The names of simulated models and their options: checks them without loading the models.
 * @module
 */

import { cannot, type InputError } from "../base/errors.ts";

/** The kinds of mistakes. */
export const MISTAKES = [
  "early",
  "stale",
  "distract",
  "hallucinate",
  "arity",
  "key",
  "quit",
  "copy",
  "averse",
  "ignore",
  "resist",
  "dots",
  "brute",
  "needless",
  "inject",
] as const;

/** The kinds of reactions to tools that fail, other than a retry. */
export const REACTIONS = ["giveup", "invent"] as const;

/** The options for broken calls. */
export const BREAKS = ["breakFormat", "hopeless"] as const;

/** The kinds of mistakes in answers. */
export const ANSWER_MISTAKES = [
  "syntax",
  "fence",
  "route",
  "key",
  "value",
  "extra",
  "optional",
] as const;

/** The kinds of mistakes: those in answers, and that of the judge. */
export const TRUTH_MISTAKES = [...ANSWER_MISTAKES, "judge"] as const;

/** The names of all simulated models, without options. */
export const SIMULATED_MODELS: readonly string[] = ["sim:planner", "sim:noisy", "sim:truth"];

/** What a planner leans on in place of all that it can see. */
export const READINGS = ["descriptions", "types", "names"] as const;

/** What a planner leans on in place of all that it can see. */
export type Reading = typeof READINGS[number];

/** The options of each model. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ["sim:planner", ["reads"]],
  ["sim:noisy", [...MISTAKES, ...REACTIONS, ...BREAKS, "memory", "seed"]],
  ["sim:truth", [...TRUTH_MISTAKES, "seed"]],
]);

/** A parsed name of a simulated model. */
export interface SimulatedName {
  /** The model, without options. */
  readonly base: string;
  /** The options given that are numbers, by name. */
  readonly values: ReadonlyMap<string, number>;
  /** What a planner leans on; omitted if on all that it can see. */
  readonly reads?: Reading;
}

/**
 * Parses the name of a simulated model, such as `sim:noisy?early=0.25`.
 *
 * @throws {InputError} If the model or an option is unknown, or a value is out of range.
 */
export function readSimulatedName(name: string): SimulatedName {
  const mark = name.indexOf("?");
  const base = mark === -1 ? name : name.slice(0, mark);
  const keys = OPTIONS.get(base);
  if (keys === undefined) {
    const known = Array.from(
      OPTIONS,
      ([model, keys]) =>
        model + keys.map((key, place) => `${place === 0 ? "?" : "&"}${key}=`).join(""),
    );
    throw refusal(`it must be ${known.slice(0, -1).join(", ")} or ${known.at(-1)}`, name);
  }
  const query = new URLSearchParams(mark === -1 ? "" : name.slice(mark));
  const reads = readReading(name, base, query);
  const values = readOptions(name, base, keys, query);
  if ((values.get("giveup") ?? 0) + (values.get("invent") ?? 0) > 1) {
    throw refusal("giveup and invent must be at most 1 together", name);
  }
  return { base, values, reads };
}

/** Takes the option that is no number out of the others. */
function readReading(name: string, base: string, query: URLSearchParams): Reading | undefined {
  const [text, ...more] = query.getAll("reads");
  if (text === undefined || base !== "sim:planner") return undefined;
  const reads = READINGS.find((reading) => reading === text);
  if (reads === undefined || more.length > 0) {
    throw refusal(`reads must be one of ${READINGS.join(", ")}, and occur once`, name);
  }
  query.delete("reads");
  return reads;
}

interface RateRange {
  /** A description of the range. */
  readonly range: string;
  readonly includes: (value: number) => boolean;
}

const RATE: RateRange = {
  range: "a number from 0 to 1",
  includes: (value) => value >= 0 && value <= 1,
};

/** The ranges of options other than rates. */
const RANGES: Readonly<Record<string, RateRange>> = {
  seed: { range: "a whole number", includes: Number.isSafeInteger },
  memory: {
    range: "a whole number from 1 on",
    includes: (value) => Number.isSafeInteger(value) && value >= 1,
  },
};

function readOptions(
  name: string,
  base: string,
  keys: readonly string[],
  query: URLSearchParams,
): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const [key, text] of query) {
    if (!keys.includes(key)) {
      throw refusal(`the options of ${base} are ${keys.join(", ")}`, name);
    }
    if (values.has(key)) throw refusal(`each option may occur only once, unlike ${key}`, name);
    const value = /^[-+.\de]+$/i.test(text) ? Number(text) : NaN;
    const { range, includes } = RANGES[key] ?? RATE;
    if (!includes(value)) {
      throw refusal(`${key} must be ${range}; all options are ${keys.join(", ")}`, name);
    }
    values.set(key, value);
  }
  return values;
}

function refusal(rule: string, name: string): InputError {
  return cannot("use the simulated model", rule, `it is ${name}`);
}
