/**
 * Filling: values in the place of the references that stand in the arguments of a call.
 * @module
 */

import { partsInWords } from "./field_paths.ts";
import { type JsonValue, printable } from "./json.ts";
import {
  Binding,
  LONGEST_TEXT,
  LONGEST_TOLD,
  meaningOf,
  type MissingPart,
  type Reference,
  replaceReferences,
} from "./references.ts";
import type { Position } from "./schema_position.ts";

/** So many parameters, and names that are unknown, are told. */
const MOST_TOLD = 20;
/** So many parts that are missing are told, each with those that are there. */
const MOST_PARTS = 3;

/** Replaces the references in the arguments of one call, and keeps what is wrong with them. */
export class Filling {
  /** The top-level parameter that is gone through. */
  parameter = "";
  /** Parameters in which something is wrong. */
  readonly faults = new Set<string>();

  readonly #bindings: ReadonlyMap<string, Binding>;
  /** Names that have no value, and where they stand. */
  readonly #unknown = { names: new Set<string>(), parameters: new Set<string>(), inText: false };
  /** Parts that values do not have, by name and path. */
  readonly #missing = new Map<string, MissingPart>();
  /** The texts that hold more than a reference where no text is expected, by parameter. */
  readonly #partial = new Map<string, string>();
  /** How many characters may still be filled in. */
  #left = LONGEST_TEXT;

  /** Begins with nothing that is wrong. */
  constructor(bindings: ReadonlyMap<string, Binding>) {
    this.#bindings = bindings;
  }

  /** What is meant by a value that was written. */
  fill(written: JsonValue, position: Position): JsonValue {
    if (typeof written === "string") return this.#fillText(written, position);
    if (typeof written !== "object" || written === null) return written;
    const within = position.within(written);
    if (Array.isArray(written)) {
      return written.map((item, index) => this.fill(item, within(index)));
    }
    return Object.fromEntries(
      Object.entries(written).map(([key, value]) => [key, this.fill(value, within(key))]),
    );
  }

  /** What could not be replaced, in words; `known` says which names there are. */
  errors(known: () => string): string[] {
    const { names, parameters, inText } = this.#unknown;
    const unknown = [...names].map((name) => `@${name}`);
    const hint = inText
      ? `. Where the text ${unknown[0]} itself is meant, write @${unknown[0]}`
      : "";
    const partial = [...this.#partial].map(([parameter, text]) => `${parameter} is ${text}`);
    return [
      ...(unknown.length === 0 ? [] : [
        `There is no value named ${unknown.join(", ")}, as in ${[...parameters].join(", ")}. ` +
        `The name of a result is known from the next reply on. ${known()}${hint}`,
      ]),
      ...[...this.#missing.values()].map(missingInWords),
      ...(partial.length === 0 ? [] : [
        `Where no text is expected, write one @name by itself, or a value: ${partial.join(", ")}`,
      ]),
      ...(this.#left < 0
        ? [`With the values of its names, the call is longer than ${LONGEST_TEXT} characters`]
        : []),
    ];
  }

  #fillText(written: string, position: Position): JsonValue {
    if (!written.includes("@")) return written;
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
    });
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
    const meaning = meaningOf(reference, this.#bindings);
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
export function missingInWords({ path, key, value }: MissingPart): string {
  const whole = printable(path, LONGEST_TOLD);
  return `There is no @${printable(`${path}.${key}`, LONGEST_TOLD)}: @${whole} ${
    partsInWords(value)
  }`;
}
