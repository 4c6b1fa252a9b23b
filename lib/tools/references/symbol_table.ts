/**
 * Symbols: names for values. A model works with the names and never sees the values, which are stored in an
 * environment of bindings (Indirection, "Adding a Level of Indirection").
 * @module
 */

import {
  describeMissing,
  substituteArguments,
  type Substituted,
  type Unknown,
} from "./substitute.ts";
import { InputError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import {
  Binding,
  isSymbol,
  MAX_NAME_LENGTH,
  MAX_QUOTE_LENGTH,
  MAX_TEXT_LENGTH,
  meaningOf,
  type MissingPart,
  NAME_RULE,
  NAMES,
  Reference,
  replaceReferences,
  wholeReference,
} from "./syntax.ts";
import { offerNames, resultParameter } from "./schema.ts";
import { type Refusal, refused, type ToolSchema } from "../tool.ts";

export type { Substituted } from "./substitute.ts";

/** Deeper values and arguments could overflow the stack of recursive code. */
const MAX_NESTING = 500;
/** At most this many known names are listed. */
const MAX_LISTED = 20;
/** Longer values are cut when rendered for people. */
const MAX_SHOWN_LENGTH = 100;

/**
 * Returns the value that a function's result is bound to: its text parsed as JSON, else the text itself. Text
 * also stays text if it nests too deep.
 */
export function valueOfResult(text: string): JsonValue {
  const value = parseJson(text);
  return value === undefined || !isPlain(value) ? text : value;
}

/** Returns the error message, if a function's result is a JSON object with the single key `error`. */
export function errorOfResult(text: string): string | undefined {
  // Most results have no such key, and parsing takes far longer. It may be written with escapes.
  const value = /error|\\/.test(text) ? parseJson(text) : undefined;
  if (!isJsonObject(value) || !Object.hasOwn(value, "error")) return undefined;
  if (Object.keys(value).length > 1) return undefined;
  const { error } = value;
  return typeof error === "string" ? error : jsonText(error);
}

const KIND = Object.prototype.toString;

/** Whether `value` is a JSON value, and does not nest too deep. */
export function isPlain(value: unknown, left = MAX_NESTING): value is JsonValue {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return ["string", "boolean", "bigint"].includes(typeof value);
  if (value === null) return true;
  // Objects of other kinds, such as maps, do not keep their content in keys.
  if (!Array.isArray(value) && KIND.call(value) !== "[object Object]") return false;
  return left > 0 && Object.values(value).every((inner) => isPlain(inner, left - 1));
}

/**
 * The names known in one conversation, and their values. A name has at most 64 letters, digits and
 * underscores, and does not begin with a digit; only texts written by a model have an "@" before it. After
 * the name of an object or a list a path may lead to a part of it, as in `@Order.customer.name` or
 * `@List.0`; results are named without a path.
 */
export class Symbols {
  readonly #bindings = new Map<string, Binding>();
  readonly #reserved = new Set<string>();

  /**
   * Binds the initial values. Invalid names are rejected, not changed, as the prompt mentions them: the names
   * that a model reads and those it may write must be the same.
   *
   * @throws {InputError} If a name is not valid or is given twice, or a value is not JSON.
   */
  constructor(bindings: Iterable<readonly [string, JsonValue]> = []) {
    for (const [name, value] of bindings) this.bind(name, value);
  }

  /** Whether `name` has a value. */
  has(name: string): boolean {
    return this.#bindings.has(name);
  }

  /** Returns the value of a name, or of a path such as `Order.total`; `undefined` if there is none. */
  get(path: string): JsonValue | undefined {
    const meaning = this.#meaning(path);
    return meaning instanceof Binding ? meaning.value : undefined;
  }

  /** Returns all names that have values, in the order of binding. */
  names(): string[] {
    return [...this.#bindings.keys()];
  }

  /**
   * Binds `name` to a value, permanently.
   *
   * @throws {InputError} If the name is not valid or has a value, or `value` is not JSON.
   */
  bind(name: string, value: JsonValue): void {
    const action = `Cannot bind @${printable(name, MAX_QUOTE_LENGTH)}`;
    if (!isSymbol(name)) throw new InputError(`${action} as ${NAME_RULE}`);
    if (this.#bindings.has(name)) {
      throw new InputError(`${action} as a name stands for one value: it has one`);
    }
    if (!isPlain(value)) {
      throw new InputError(
        `${action} as a value must be JSON, nested at most ${MAX_NESTING} deep: it is ${
          typeof value === "object" ? "not" : String(value)
        }`,
      );
    }
    this.#bindings.set(name, new Binding(value));
  }

  /** Reserves `name` for the result of a running call: it is neither known nor free. */
  reserve(name: string): void {
    this.#reserved.add(name);
  }

  /** Releases a reserved name, whose call has ended. */
  release(name: string): void {
    this.#reserved.delete(name);
  }

  /** Returns the tool as a model sees it: see {@linkcode offerNames}. */
  offer(tool: ToolSchema): ToolSchema {
    return offerNames(tool);
  }

  /**
   * Reads the arguments that a model wrote for a call of `tool`, as shown to it by {@linkcode offer}.
   * Where `tool` expects no string, a value may be a single `@name`, which becomes its value, and a string
   * with more than the name is refused; in strings, names are replaced by the text of their values.
   *
   * @param tool The original tool, not the offered one.
   * @param text The arguments as text.
   * @param taken Names that other calls of the same reply have taken.
   * @returns The name for the result, and the arguments as JSON text with values in place of names and
   * without the parameter that names the result; else why they cannot be read, and this text as far as they
   * can be.
   */
  read(
    tool: ToolSchema,
    text: string,
    taken: ReadonlySet<string> = new Set(),
  ): { readonly name: string; readonly resolved: string } | Refusal & { readonly meant?: string } {
    const input = parseJson(text);
    if (!isJsonObject(input) || !isPlain(input)) {
      return refused(
        `The arguments must be one JSON object, nested at most ${MAX_NESTING} deep`,
        { malformed: true },
      );
    }
    const parameter = resultParameter(tool);
    const { [parameter]: result, ...others } = input;
    const name = typeof result === "string" ? wholeReference(result) : undefined;
    const nameFault = this.#resultNameFault(parameter, result, name, taken);
    const { values, errors, faults } = this.fill(tool, others);
    if (nameFault !== undefined || errors.length > 0) {
      const error = [nameFault, ...errors].filter((error) => error !== undefined).join(". ");
      const fault = {
        missing: result === undefined ? [parameter] : [],
        wrongType: [...(nameFault && result !== undefined ? [parameter] : []), ...faults],
      };
      return { ...refused(error, fault), meant: jsonText(values) };
    }
    return { name: name!, resolved: jsonText(values) };
  }

  /** Replaces names by values in the arguments of a call that does not name its result. */
  fill(tool: ToolSchema, input: JsonObject): Substituted {
    return substituteArguments(input, tool.parameters, {
      notation: NAMES,
      of: (reference) => meaningOf(reference, this.#bindings),
      unknown: (unknown) => this.#describeUnknown(unknown),
    });
  }

  /**
   * Returns the value of a name or a path, with or without its "@", as JSON for the model, or an error that
   * lists the known names.
   */
  reveal(path: JsonValue | undefined): string {
    const meaning = typeof path === "string" ? this.#meaning(path.replace(/^@/, "")) : undefined;
    if (meaning instanceof Binding) return jsonText(meaning.value);
    if (meaning !== undefined) return JSON.stringify({ error: describeMissing(meaning) });
    const quote = printable(jsonText(path) ?? "nothing", MAX_QUOTE_LENGTH);
    return JSON.stringify({ error: `There is no value named ${quote}. ${this.#knownNames()}` });
  }

  /**
   * Returns a text, such as a final answer, with values in place of all known names. A path that does not
   * exist stays unchanged.
   */
  resolve(text: string): string {
    let left = MAX_TEXT_LENGTH;
    return replaceReferences(text, (reference) => {
      const meaning = meaningOf(reference, this.#bindings);
      if (!(meaning instanceof Binding)) return undefined;
      left -= meaning.text.length;
      return left < 0 ? undefined : meaning.text;
    });
  }

  /** Returns a text for people: names and paths are each followed by their value, long values cut. */
  render(text: string): string {
    return replaceReferences(text, (reference) => {
      const meaning = meaningOf(reference, this.#bindings);
      if (!(meaning instanceof Binding)) return undefined;
      return `@${reference.path}=${printable(meaning.text, MAX_SHOWN_LENGTH)}`;
    });
  }

  /** Returns the meaning of a path that begins with a name, without "@". */
  #meaning(path: string): Binding | MissingPart | undefined {
    const [name] = /^\w+/.exec(path) ?? [];
    if (name === undefined) return undefined;
    const reference = new Reference(`@${path}`, 0, name);
    const meaning = meaningOf(reference, this.#bindings);
    // The whole text must be a path.
    return meaning instanceof Binding && !reference.isWhole ? undefined : meaning;
  }

  #describeUnknown({ names, parameters, inText }: Unknown): string[] {
    const unknown = [...names].map((name) => `@${name}`);
    const hint = inText
      ? `. Where the text ${unknown[0]} itself is meant, write @${unknown[0]}`
      : "";
    return [
      `There is no value named ${unknown.join(", ")}, as in ${[...parameters].join(", ")}. ` +
      `The name of a result is known from the next reply on. ${this.#knownNames()}${hint}`,
    ];
  }

  #resultNameFault(
    parameter: string,
    result: JsonValue | undefined,
    name: string | undefined,
    taken: ReadonlySet<string>,
  ): string | undefined {
    if (name === undefined || !isSymbol(name)) {
      const state = result === undefined
        ? "it is missing"
        : `it is ${printable(jsonText(result), MAX_QUOTE_LENGTH)}`;
      const free = this.#free("Result", taken);
      return `Parameter ${parameter} must name the result, such as @${free}; ${NAME_RULE}: ${state}`;
    }
    if (!this.#isTaken(name, taken)) return undefined;
    const free = this.#free(name, taken);
    return `Parameter ${parameter} must be a new name, such as @${free}: @${name} is taken. ` +
      this.#knownNames();
  }

  #isTaken(name: string, taken: ReadonlySet<string>): boolean {
    return this.#bindings.has(name) || this.#reserved.has(name) || taken.has(name);
  }

  /** Returns a free name similar to `name`. */
  #free(name: string, taken: ReadonlySet<string>): string {
    if (!this.#isTaken(name, taken)) return name;
    const stem = name.replace(/_\d{1,9}$/, "");
    for (let next = 2;; next++) {
      const free = `${stem.slice(0, MAX_NAME_LENGTH - 10)}_${next}`;
      if (!this.#isTaken(free, taken)) return free;
    }
  }

  #knownNames(): string {
    const names = this.names();
    // The model is most likely to use the newest.
    const newest = names.slice(-MAX_LISTED).map((name) => `@${name}`).join(", ");
    if (names.length === 0) return "No name is known yet";
    return names.length > MAX_LISTED
      ? `Known names: ${newest} and ${names.length - MAX_LISTED} older ones`
      : `Known names: ${newest}`;
  }
}
