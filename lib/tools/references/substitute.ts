/**
 * Filling: values in the place of the references that stand in the arguments of a call.
 * @module
 */

import { partsInWords } from "./field_paths.ts";
import { type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import {
  Binding,
  LONGEST_TEXT,
  LONGEST_TOLD,
  type MissingPart,
  type Notation,
  type Reference,
  replaceReferences,
} from "./syntax.ts";
import { Position } from "../schema/position.ts";

/** So many parameters, and names that are unknown, are told. */
const MOST_TOLD = 20;
/** So many parts that are missing are told, each with those that are there. */
const MOST_PARTS = 3;

/** Arguments with values in the place of references. */
export interface Substituted {
  /** The arguments. */
  readonly values: JsonObject;
  /** What could not be replaced, in words. */
  readonly errors: readonly string[];
  /** The parameters it stands in. */
  readonly faults: readonly string[];
}

/** What references stand for. */
export interface Meanings {
  /** How they are written. */
  readonly notation: Notation;
  /** What one means: `undefined` when its name has no value. */
  readonly of: (reference: Reference) => Binding | MissingPart | undefined;
  /** Tells of names that have no value, and where they stand. */
  readonly unknown: (unknown: Unknown) => readonly string[];
  /** How many characters may be filled in, where some of those that a call may have are used up. */
  readonly left?: number;
}

/** Names that have no value. */
export interface Unknown {
  /** The first of them, without their signs. */
  readonly names: ReadonlySet<string>;
  /** The first parameters that they stand in. */
  readonly parameters: ReadonlySet<string>;
  /** Whether one stands where a text is expected. */
  readonly inText: boolean;
}

/**
 * Arguments with values in place of the references in them, as the schema asks for: where it expects no
 * text, a reference stands by itself, and its value takes its place as it is; in texts references are
 * replaced by the text of their values.
 */
export function substituteArguments(
  written: JsonObject,
  parameters: JsonObject,
  meanings: Meanings,
): Substituted {
  const filling = new Filling(meanings);
  const within = new Position(parameters).within(written);
  const values = Object.fromEntries(
    Object.entries(written).map(([parameter, value]) => {
      filling.parameter = parameter;
      return [parameter, filling.fill(value, within(parameter))];
    }),
  );
  return { values, errors: filling.errors(), faults: [...filling.faults] };
}

/** A value with something in place of each text in it. */
export function replaceTexts(
  written: JsonValue,
  position: Position,
  replace: (text: string, position: Position) => JsonValue,
): JsonValue {
  if (typeof written === "string") return replace(written, position);
  if (typeof written !== "object" || written === null) return written;
  const within = position.within(written);
  if (Array.isArray(written)) {
    return written.map((item, index) => replaceTexts(item, within(index), replace));
  }
  return Object.fromEntries(
    Object.entries(written).map(([key, value]) => [
      key,
      replaceTexts(value, within(key), replace),
    ]),
  );
}

/** Replaces the references in the arguments of one call, and keeps what is wrong with them. */
class Filling {
  /** The top-level parameter that is gone through. */
  parameter = "";
  /** Parameters in which something is wrong. */
  readonly faults = new Set<string>();

  readonly #meanings: Meanings;
  /** Names that have no value, and where they stand. */
  readonly #unknown = { names: new Set<string>(), parameters: new Set<string>(), inText: false };
  /** Parts that values do not have, by name and path. */
  readonly #missing = new Map<string, MissingPart>();
  /** The texts that hold more than a reference where no text is expected, by parameter. */
  readonly #partial = new Map<string, string>();
  /** How many characters may still be filled in. */
  #left: number;

  /** Begins with nothing that is wrong. */
  constructor(meanings: Meanings) {
    this.#meanings = meanings;
    this.#left = meanings.left ?? LONGEST_TEXT;
  }

  /** What is meant by a value that was written. */
  fill(written: JsonValue, position: Position): JsonValue {
    return replaceTexts(written, position, (text, place) => this.#fillText(text, place));
  }

  /** What could not be replaced, in words. */
  errors(): string[] {
    const { notation: { sign, example }, unknown, left = LONGEST_TEXT } = this.#meanings;
    const most = left === LONGEST_TEXT
      ? `${LONGEST_TEXT} characters`
      : `the ${left} characters that are left of ${LONGEST_TEXT} for its reply`;
    const partial = [...this.#partial].map(([parameter, text]) => `${parameter} is ${text}`);
    return [
      ...(this.#unknown.names.size === 0 ? [] : unknown(this.#unknown)),
      ...[...this.#missing.values()].map((missing) => missingInWords(missing, sign)),
      ...(partial.length === 0 ? [] : [
        `Where no text is expected, write one ${example} by itself, or a value: ` +
        partial.join(", "),
      ]),
      ...(this.#left < 0 ? [`With the values of its names, the call is longer than ${most}`] : []),
    ];
  }

  #fillText(written: string, position: Position): JsonValue {
    const { notation } = this.#meanings;
    if (!written.includes(notation.sign)) return written;
    const { takes } = position;
    // Listed values can be given as they are listed, whatever they look like.
    if (position.lists(written)) return written;
    const bindings: (Binding | undefined)[] = [];
    let isWhole = false;
    const filled = replaceReferences(written, (reference) => {
      const binding = this.#bind(reference, takes !== "value");
      bindings.push(binding);
      isWhole ||= reference.isWhole;
      return binding?.text;
    }, notation);
    const [first] = bindings;
    if (isWhole && first !== undefined) {
      const isTyped = takes !== "text" || (first.value === null && position.takesNull);
      return isTyped ? first.value : first.text;
    }
    if (takes !== "value") return filled;
    // What is unknown or missing in it is told already.
    if (bindings.length > 0 && !bindings.includes(undefined)) {
      const text = printable(JSON.stringify(written.slice(0, LONGEST_TOLD)), LONGEST_TOLD);
      const parameter = this.#refuse();
      if (this.#partial.size < MOST_TOLD) this.#partial.set(parameter, text);
    }
    return written;
  }

  #bind(reference: Reference, inText: boolean): Binding | undefined {
    const meaning = this.#meanings.of(reference);
    if (meaning instanceof Binding) {
      this.#left -= meaning.text.length;
      if (this.#left >= 0) return meaning;
      this.#refuse();
      return undefined;
    }
    const parameter = this.#refuse();
    if (meaning === undefined) {
      const { names, parameters } = this.#unknown;
      if (names.size < MOST_TOLD) names.add(reference.name.slice(0, LONGEST_TOLD));
      if (parameters.size < MOST_TOLD) parameters.add(parameter);
      this.#unknown.inText ||= inText;
    } else if (this.#missing.size < MOST_PARTS) {
      this.#missing.set(`${meaning.path}.${meaning.key}`, meaning);
    }
    return undefined;
  }

  /** Finds fault with the parameter, whose name comes back as it is told. */
  #refuse(): string {
    this.faults.add(this.parameter.slice(0, LONGEST_TOLD));
    return printable(this.parameter, LONGEST_TOLD);
  }
}

/** What is not there, and what is. */
export function missingInWords({ path, key, value }: MissingPart, sign: string = "@"): string {
  const whole = printable(path, LONGEST_TOLD);
  return `There is no ${sign}${printable(`${path}.${key}`, LONGEST_TOLD)}: ${sign}${whole} ${
    partsInWords(value)
  }`;
}
