/**
 * Symbols: names for values. A model works with the names and never sees the values, which an
 * environment of bindings holds (Indirection, "Adding a Level of Indirection").
 * @module
 */

import {
  missingInWords,
  substituteArguments,
  type Substituted,
  type Unknown,
} from "./substitute.ts";
import { InputError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import {
  Binding,
  isSymbol,
  LONGEST_NAME,
  LONGEST_TEXT,
  LONGEST_TOLD,
  meaningOf,
  type MissingPart,
  NAME_RULE,
  NAMES,
  Reference,
  replaceReferences,
  wholeReference,
} from "./syntax.ts";
import { offerNames, resultParameter } from "./schema.ts";
import type { Refusal, ToolSchema } from "../tool.ts";

export type { Substituted } from "./substitute.ts";

/** Values and arguments that nest deeper could overflow the stack of whoever reads them. */
const MOST_NESTING = 500;
/** So many known names are told. */
const MOST_TOLD = 20;
/** A person is shown so much of a value. */
const LONGEST_SHOWN = 100;

/**
 * The value that a function's result binds: what its text says as JSON, else the text itself. A text
 * stays a text, too, where a number would lose digits of it, and where it nests too deep.
 *
 * @example Usage
 * ```ts
 * import { valueOfResult } from "./symbol_table.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(valueOfResult("[3, 4]"), [3, 4]);
 * assertEquals(valueOfResult("Paris"), "Paris");
 * assertEquals(valueOfResult("12345678901234567890"), "12345678901234567890");
 * ```
 */
export function valueOfResult(text: string): JsonValue {
  const value = parseJson(text);
  if (value === undefined || !isPlain(value)) return text;
  const losesDigits = typeof value === "number" && !Number.isSafeInteger(value) &&
    /^-?\d+$/.test(text.trim()) && String(value) !== text.trim();
  return losesDigits ? text : value;
}

/** What went wrong, if a function's result is a JSON object with the single key `error`. */
export function errorOfResult(text: string): string | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value) || !Object.hasOwn(value, "error")) return undefined;
  if (Object.keys(value).length > 1) return undefined;
  const { error } = value;
  return typeof error === "string" ? error : JSON.stringify(error);
}

const KIND = Object.prototype.toString;

/** Whether `value` is one that JSON can carry, and does not nest too deep. */
export function isPlain(value: unknown, left = MOST_NESTING): value is JsonValue {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  // Objects of other kinds, such as maps, have no keys where JSON looks for them.
  if (!Array.isArray(value) && KIND.call(value) !== "[object Object]") return false;
  return left > 0 && Object.values(value).every((inner) => isPlain(inner, left - 1));
}

/** A call whose names have been replaced by values. */
export interface ReadCall {
  /** The name for its result. */
  readonly name: string;
  /** The arguments that are meant, as JSON text, without the one that names the result. */
  readonly resolved: string;
}

/** Why a call cannot be read, and what of it can. */
export interface UnreadCall extends Refusal {
  /** The arguments without the one that names the result, with values for the names that have one. */
  readonly meant?: string;
}

/**
 * The names that are known in one conversation, and their values. A name has letters, digits and
 * underscores, at most 64, the first of them no digit; nothing here but texts that a model writes
 * has an "@" before it. Behind the name of an object or a list a path may lead to a part of it, as in
 * `@Order.customer.name` or `@List.0`; results are named without one.
 *
 * @example The article's conversation
 * ```ts
 * import { Symbols } from "./symbol_table.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const tool = {
 *   name: "eval",
 *   description: "Evaluates an expression",
 *   parameters: { type: "object", properties: { expression: { type: "string" } } },
 * };
 * const symbols = new Symbols([["Sum", 3]]);
 * assertEquals(
 *   symbols.read(tool, '{"expression":"2×@Sum","result":"@DoubleSum"}'),
 *   { name: "DoubleSum", resolved: '{"expression":"2×3"}' },
 * );
 * symbols.bind("DoubleSum", 6);
 * assertEquals(symbols.render("It is `@DoubleSum`."), "It is `@DoubleSum=6`.");
 * assertEquals(symbols.resolve("@DoubleSum"), "6");
 * ```
 *
 * @example Parts of values
 * ```ts
 * import { Symbols } from "./symbol_table.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const symbols = new Symbols([["Order", { total: 30, customer: { name: "Ann" } }]]);
 * assertEquals(symbols.get("Order.total"), 30);
 * assertEquals(symbols.render("@Order.customer.name owes @Order.total."), "@Order.customer.name=Ann owes @Order.total=30.");
 * ```
 */
export class Symbols {
  readonly #bindings = new Map<string, Binding>();
  readonly #reserved = new Set<string>();

  /**
   * Binds what is given from the start. A name that is none is not changed into one: a prompt speaks
   * of it, and what a model reads and what it may write must be the same.
   *
   * @throws {InputError} If a name is none or is given twice, or a value is not one of JSON.
   */
  constructor(given: Iterable<readonly [string, JsonValue]> = []) {
    for (const [name, value] of given) this.bind(name, value);
  }

  /** Whether `name` has a value. */
  has(name: string): boolean {
    return this.#bindings.has(name);
  }

  /** The value of a name, or of a path such as `Order.total`; `undefined` when there is none. */
  get(path: string): JsonValue | undefined {
    const meaning = this.#meaning(path);
    return meaning instanceof Binding ? meaning.value : undefined;
  }

  /** All names that have values, in the order in which they got them. */
  names(): string[] {
    return [...this.#bindings.keys()];
  }

  /**
   * Gives `name` its value, for good.
   *
   * @throws {InputError} If it is no name or has a value, or `value` is not one of JSON.
   */
  bind(name: string, value: JsonValue): void {
    const action = `Cannot bind @${printable(name, LONGEST_TOLD)}`;
    if (!isSymbol(name)) throw new InputError(`${action} as ${NAME_RULE}`);
    if (this.#bindings.has(name)) {
      throw new InputError(`${action} as a name stands for one value: it has one`);
    }
    if (!isPlain(value)) {
      throw new InputError(
        `${action} as a value must be JSON, nested at most ${MOST_NESTING} deep: it is ${
          typeof value === "object" ? "not" : String(value)
        }`,
      );
    }
    this.#bindings.set(name, new Binding(value));
  }

  /** Keeps `name` for the result of a call that still runs: it is neither known nor free. */
  reserve(name: string): void {
    this.#reserved.add(name);
  }

  /** Lets go of a reserved name, whose call has ended. */
  release(name: string): void {
    this.#reserved.delete(name);
  }

  /** The tool as a model sees it: see {@linkcode offerNames}. */
  offer(tool: ToolSchema): ToolSchema {
    return offerNames(tool);
  }

  /**
   * Reads what a model wrote for a call of `tool`, which it saw as {@linkcode offer} gives it.
   * Where `tool` expects no string, a value may be one whole `@name`, which its value replaces as it
   * is, and a text with more around a name is refused; in strings, names are replaced inside by the
   * text of their values.
   *
   * @param tool The tool itself, as it was before it was offered.
   * @param written The arguments as text.
   * @param taken Names that other calls of the same reply have taken.
   */
  read(
    tool: ToolSchema,
    written: string,
    taken: ReadonlySet<string> = new Set(),
  ): ReadCall | UnreadCall {
    const given = parseJson(written);
    if (!isJsonObject(given) || !isPlain(given)) {
      return {
        error: `The arguments must be one JSON object, nested at most ${MOST_NESTING} deep`,
        fault: { missing: [], unexpected: [], wrongType: [], malformed: true },
      };
    }
    const parameter = resultParameter(tool);
    const { [parameter]: result, ...others } = given;
    const name = typeof result === "string" ? wholeReference(result) : undefined;
    const unnamed = this.#faultOfResult(parameter, result, name, taken);
    const { values, errors, faults } = this.fill(tool, others);
    if (unnamed !== undefined || errors.length > 0) {
      return {
        error: [unnamed, ...errors].filter((error) => error !== undefined).join(". "),
        fault: {
          missing: result === undefined ? [parameter] : [],
          unexpected: [],
          wrongType: [...(unnamed && result !== undefined ? [parameter] : []), ...faults],
          malformed: false,
        },
        meant: JSON.stringify(values),
      };
    }
    return { name: name!, resolved: JSON.stringify(values) };
  }

  /** The arguments of a call of `tool`, that does not name its result, with values for names. */
  fill(tool: ToolSchema, written: JsonObject): Substituted {
    return substituteArguments(written, tool.parameters, {
      notation: NAMES,
      of: (reference) => meaningOf(reference, this.#bindings),
      unknown: (unknown) => this.#tellUnknown(unknown),
    });
  }

  /**
   * What goes back for a look at the value of a name or a path, with or without its "@": the value as
   * JSON, or an error that tells which there are.
   */
  reveal(asked: JsonValue | undefined): string {
    const meaning = typeof asked === "string" ? this.#meaning(asked.replace(/^@/, "")) : undefined;
    if (meaning instanceof Binding) return JSON.stringify(meaning.value);
    if (meaning !== undefined) return JSON.stringify({ error: missingInWords(meaning) });
    const shown = printable(JSON.stringify(asked) ?? "nothing", LONGEST_TOLD);
    return JSON.stringify({ error: `There is no value named ${shown}. ${this.#knownNames()}` });
  }

  /**
   * A text, such as a final answer, with the values of all names in it that are known. A path that
   * leads nowhere stays as it was written.
   */
  resolve(text: string): string {
    let left = LONGEST_TEXT;
    return replaceReferences(text, (reference) => {
      const meaning = meaningOf(reference, this.#bindings);
      if (!(meaning instanceof Binding)) return undefined;
      left -= meaning.text.length;
      return left < 0 ? undefined : meaning.text;
    });
  }

  /** A text for a person: the names and paths in it, each with its value, long ones cut. */
  render(text: string): string {
    return replaceReferences(text, (reference) => {
      const meaning = meaningOf(reference, this.#bindings);
      if (!(meaning instanceof Binding)) return undefined;
      return `@${reference.path}=${printable(meaning.text, LONGEST_SHOWN)}`;
    });
  }

  /** What a path means, which begins with a name and has no "@". */
  #meaning(path: string): Binding | MissingPart | undefined {
    const [name] = /^\w+/.exec(path) ?? [];
    if (name === undefined) return undefined;
    const reference = new Reference(`@${path}`, 0, name);
    const meaning = meaningOf(reference, this.#bindings);
    // What a path leaves over is no part of it: the whole must be one.
    return meaning instanceof Binding && !reference.isWhole ? undefined : meaning;
  }

  #tellUnknown({ names, parameters, inText }: Unknown): string[] {
    const unknown = [...names].map((name) => `@${name}`);
    const hint = inText
      ? `. Where the text ${unknown[0]} itself is meant, write @${unknown[0]}`
      : "";
    return [
      `There is no value named ${unknown.join(", ")}, as in ${[...parameters].join(", ")}. ` +
      `The name of a result is known from the next reply on. ${this.#knownNames()}${hint}`,
    ];
  }

  #faultOfResult(
    parameter: string,
    result: JsonValue | undefined,
    name: string | undefined,
    taken: ReadonlySet<string>,
  ): string | undefined {
    if (name === undefined || !isSymbol(name)) {
      const state = result === undefined
        ? "it is missing"
        : `it is ${printable(JSON.stringify(result), LONGEST_TOLD)}`;
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

  /** A name like `name` that can be taken. */
  #free(name: string, taken: ReadonlySet<string>): string {
    if (!this.#isTaken(name, taken)) return name;
    const stem = name.replace(/_\d{1,9}$/, "");
    for (let next = 2;; next++) {
      const free = `${stem.slice(0, LONGEST_NAME - 10)}_${next}`;
      if (!this.#isTaken(free, taken)) return free;
    }
  }

  #knownNames(): string {
    const names = this.names();
    // The newest are what a model is about to use.
    const told = names.slice(-MOST_TOLD).map((name) => `@${name}`).join(", ");
    if (names.length === 0) return "No name is known yet";
    return names.length > MOST_TOLD
      ? `Known names: ${told} and ${names.length - MOST_TOLD} older ones`
      : `Known names: ${told}`;
  }
}
