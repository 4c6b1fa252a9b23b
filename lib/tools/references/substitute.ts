/**
 * Substitution: replaces the references in the arguments of a call by values.
 * @module
 */

import { describeParts } from "./_field_paths.ts";
import { type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import {
  Binding,
  MAX_QUOTE_LENGTH,
  MAX_TEXT_LENGTH,
  type MissingPart,
  type Notation,
  type Reference,
  replaceReferences,
} from "./syntax.ts";
import { Position } from "../schema/position.ts";

/** At most this many parameters and unknown names are listed. */
const MAX_LISTED = 20;
/** At most this many missing parts are listed, each with the parts that exist. */
const MAX_PARTS = 3;

/** Arguments with values in place of references. */
export interface Substituted {
  /** The arguments. */
  readonly values: JsonObject;
  /** The references that could not be replaced, as messages. */
  readonly errors: readonly string[];
  /** The parameters that hold them. */
  readonly faults: readonly string[];
}

/** The meanings of references. */
export interface Meanings {
  /** How references are written. */
  readonly notation: Notation;
  /** Returns the value of a reference; `undefined` if its name has none. */
  readonly of: (reference: Reference) => Binding | MissingPart | undefined;
  /** Returns messages about names without a value. */
  readonly unknown: (unknown: Unknown) => readonly string[];
  /** How many characters may be inserted; default 10,000,000. */
  readonly left?: number;
}

/** Names without a value. */
export interface Unknown {
  /** The first of them, without signs. */
  readonly names: ReadonlySet<string>;
  /** The first parameters that hold them. */
  readonly parameters: ReadonlySet<string>;
  /** Whether one is where a string is expected. */
  readonly inText: boolean;
}

/**
 * Returns the arguments with values in place of references, as the schema requires: where it expects no string,
 * a reference must be the whole string and becomes the value itself; in strings, references become the text of
 * their values.
 */
export function substituteArguments(
  input: JsonObject,
  parameters: JsonObject,
  meanings: Meanings,
): Substituted {
  const substitution = new Substitution(meanings);
  const within = new Position(parameters).within(input);
  const values = Object.fromEntries(
    Object.entries(input).map(([parameter, value]) => {
      substitution.parameter = parameter;
      return [parameter, substitution.fill(value, within(parameter))];
    }),
  );
  return { values, errors: substitution.errors(), faults: [...substitution.faults] };
}

/** Returns a value with each string in it replaced. */
export function replaceTexts(
  value: JsonValue,
  position: Position,
  replace: (text: string, position: Position) => JsonValue,
): JsonValue {
  if (typeof value === "string") return replace(value, position);
  if (typeof value !== "object" || value === null) return value;
  const within = position.within(value);
  if (Array.isArray(value)) {
    return value.map((item, index) => replaceTexts(item, within(index), replace));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, value]) => [
      key,
      replaceTexts(value, within(key), replace),
    ]),
  );
}

/** Replaces the references in the arguments of one call, and collects the faults. */
class Substitution {
  /** The current top-level parameter. */
  parameter = "";
  /** Parameters with faults. */
  readonly faults = new Set<string>();

  readonly #meanings: Meanings;
  /** Names without a value, and the parameters that hold them. */
  readonly #unknown = { names: new Set<string>(), parameters: new Set<string>(), inText: false };
  /** Parts that values do not have, by name and path. */
  readonly #missing = new Map<string, MissingPart>();
  /** Strings that are more than a reference where no string is expected, by parameter. */
  readonly #partial = new Map<string, string>();
  /** How many characters may still be inserted. */
  #left: number;

  /** Starts without faults. */
  constructor(meanings: Meanings) {
    this.#meanings = meanings;
    this.#left = meanings.left ?? MAX_TEXT_LENGTH;
  }

  /** Returns a value with its references replaced. */
  fill(value: JsonValue, position: Position): JsonValue {
    return replaceTexts(value, position, (text, place) => this.#fillText(text, place));
  }

  /** Returns messages about the references that could not be replaced. */
  errors(): string[] {
    const { notation: { sign, example }, unknown, left = MAX_TEXT_LENGTH } = this.#meanings;
    const most = left === MAX_TEXT_LENGTH
      ? `${MAX_TEXT_LENGTH} characters`
      : `the ${left} characters that are left of ${MAX_TEXT_LENGTH} for its reply`;
    const partial = [...this.#partial].map(([parameter, text]) => `${parameter} is ${text}`);
    return [
      ...(this.#unknown.names.size === 0 ? [] : unknown(this.#unknown)),
      ...[...this.#missing.values()].map((missing) => describeMissing(missing, sign)),
      ...(partial.length === 0 ? [] : [
        `Where no text is expected, write one ${example} by itself, or a value: ` +
        partial.join(", "),
      ]),
      ...(this.#left < 0 ? [`With the values of its names, the call is longer than ${most}`] : []),
    ];
  }

  #fillText(source: string, position: Position): JsonValue {
    const { notation } = this.#meanings;
    if (!source.includes(notation.sign)) return source;
    const { takes } = position;
    // Listed values are accepted as they are, even if they look like references.
    if (position.lists(source)) return source;
    const bindings: (Binding | undefined)[] = [];
    let isWhole = false;
    const filled = replaceReferences(source, (reference) => {
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
    // Unknown and missing references in it are reported already.
    if (bindings.length > 0 && !bindings.includes(undefined)) {
      const text = printable(JSON.stringify(source.slice(0, MAX_QUOTE_LENGTH)), MAX_QUOTE_LENGTH);
      const parameter = this.#refuse();
      if (this.#partial.size < MAX_LISTED) this.#partial.set(parameter, text);
    }
    return source;
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
      if (names.size < MAX_LISTED) names.add(reference.name.slice(0, MAX_QUOTE_LENGTH));
      if (parameters.size < MAX_LISTED) parameters.add(parameter);
      this.#unknown.inText ||= inText;
    } else if (this.#missing.size < MAX_PARTS) {
      this.#missing.set(`${meaning.path}.${meaning.key}`, meaning);
    }
    return undefined;
  }

  /** Records a fault in the current parameter, and returns its name for messages. */
  #refuse(): string {
    this.faults.add(this.parameter.slice(0, MAX_QUOTE_LENGTH));
    return printable(this.parameter, MAX_QUOTE_LENGTH);
  }
}

/** Describes a missing part, and the parts that exist. */
export function describeMissing({ path, key, value }: MissingPart, sign: string = "@"): string {
  const whole = printable(path, MAX_QUOTE_LENGTH);
  return `There is no ${sign}${printable(`${path}.${key}`, MAX_QUOTE_LENGTH)}: ${sign}${whole} ${
    describeParts(value)
  }`;
}
