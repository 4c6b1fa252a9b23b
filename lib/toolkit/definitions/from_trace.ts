/**
 * Lifting: from what a model did with names to a definition that does it again (Indirection, "Adding
 * a Level of Indirection").
 * @module
 */

import { Definition, type JsonType, type SymbolicCall, type TypedName } from "./definition.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonValue, parseJson, printable } from "../../base/json.ts";
import {
  isSymbol,
  referencesIn,
  replaceReferences,
  wholeReference,
} from "../../tools/references/syntax.ts";
import { isPlain } from "../../tools/references/symbol_table.ts";
import { LONGEST_KEPT, type TraceEvent } from "../../calls/trace.ts";

/** What the function that shows a model the value of a name is called, with a number where it must. */
const DEREFERENCE = /^dereference(?:_\d+)?$/;

/** A value that was shown to the model. */
export interface Dereferenced {
  /** The name, or a path such as `Order.total`, without its "@". */
  readonly dereferenced: string;
  /** The value. */
  readonly value: JsonValue;
}

/** What a model that works with names has done: calls that succeeded, and looks at values. */
export type SymbolicStep = SymbolicCall | Dereferenced;

/** Options of {@linkcode defineFrom}. */
export interface DefineOptions {
  /** What the definition is called; default `definition`. */
  readonly name?: string;
  /** What it does, in words. */
  readonly description?: string;
  /** The names that become its parameters, without "@", and their types. */
  readonly inputs: Readonly<Record<string, JsonType>>;
  /** The name whose value it gives. */
  readonly output: TypedName;
  /** Which calls it makes: those that the output depends on, as is default, or all. */
  readonly calls?: "needed" | "all";
  /** For events of a trial: in which parameter calls of a tool name their results, if not `result`. */
  readonly resultParameters?: ReadonlyMap<string, string>;
}

/**
 * The definition that does what was done in a trace. It follows names only: a literal argument that
 * the model took from a value it was shown would be wrong on other inputs, and is an error.
 *
 * @param trace What {@linkcode indirect} recorded, or the events of a trial, of which only calls
 * without a failure count.
 * @throws {InputError} If there are no calls, a name is bound twice, a call uses a name that is
 * neither an input nor the result of an earlier call, no call binds the output, or a literal argument
 * holds a value that was dereferenced before.
 *
 * @example Usage
 * ```ts
 * import { defineFrom } from "./from_trace.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const mean = defineFrom([
 *   { tool: "eval", arguments: { expression: "@X+@Y" }, result: "SumXY" },
 *   { tool: "eval", arguments: { expression: "@X*@Y" }, result: "Product" },
 *   { tool: "eval", arguments: { expression: "@SumXY/2" }, result: "Mean" },
 * ], {
 *   name: "mean",
 *   inputs: { X: "number", Y: "number" },
 *   output: { name: "Mean", type: "number" },
 * });
 * assertEquals(mean.calls.map(({ result }) => result), ["SumXY", "Mean"]);
 * ```
 */
export function defineFrom(
  trace: readonly (SymbolicStep | TraceEvent)[],
  options: DefineOptions,
): Definition {
  const { name = "definition", description, inputs, output, resultParameters } = options;
  const steps = trace.flatMap((step) => "kind" in step ? stepOf(step, resultParameters) : [step]);
  const parts = {
    name,
    ...(description === undefined ? {} : { description }),
    inputs: Object.entries(inputs).map(([name, type]) => ({ name, type })),
    output,
  };
  const all = steps.filter((step) => "tool" in step);
  const bound = new Set<string>();
  for (const { result } of all) {
    if (bound.has(result)) {
      throw new InputError(
        `Cannot define ${name} as a name stands for one value: two calls name @${result}`,
      );
    }
    bound.add(result);
  }
  const kept = options.calls === "all" ? all : neededFor(output.name, all);
  // Without any call that it needs, what is wrong shows in those that there are.
  const definition = new Definition({ ...parts, calls: kept.length > 0 ? kept : all });
  assertNoCopies(name, steps, new Set(kept));
  return definition;
}

/** What an event of a trial did with names, if anything. */
function stepOf(event: TraceEvent, parameters?: ReadonlyMap<string, string>): SymbolicStep[] {
  if (event.kind !== "call" || event.failure !== undefined) return [];
  const { call, function: tool, arguments: written, result: text } = event;
  const returned = parseJson(text);
  // A tool that failed has bound nothing, whatever else stands beside its error.
  if (isJsonObject(returned) && Object.hasOwn(returned, "error")) return [];
  const given = parseJson(written);
  const fail = (rule: string): never => {
    throw new InputError(
      `Cannot define from a trace as each call must ${rule}: call ${call}, ${
        printable(tool, 100)
      }, does not`,
    );
  };
  if (!isJsonObject(given) || !isPlain(given)) {
    return fail("have been recorded with all its arguments");
  }
  const { [parameters?.get(tool) ?? "result"]: named, ...others } = given;
  if (named === undefined && DEREFERENCE.test(tool)) {
    if (text.length >= LONGEST_KEPT) return fail("have been recorded with all that it returned");
    const name = String(given["name"]).replace(/^@/, "");
    // Restating writes a line behind what is no object.
    const [shown] = text.split('\n{"known_variables":', 1);
    return [{ dereferenced: name, value: parseJson(shown!) ?? shown! }];
  }
  const result = typeof named === "string" ? wholeReference(named) : undefined;
  return result !== undefined && isSymbol(result)
    ? [{ tool, arguments: others, result }]
    : fail("name its result");
}

/** The calls without which `output` has no value, in order. */
function neededFor(output: string, calls: readonly SymbolicCall[]): SymbolicCall[] {
  const needed = new Set([output]);
  return calls.toReversed().filter((call) => {
    if (!needed.has(call.result)) return false;
    for (const name of referencesIn(call.arguments)) needed.add(name);
    return true;
  }).reverse();
}

/** A literal argument that was shown before may have been copied, and would not follow the inputs. */
function assertNoCopies(
  name: string,
  steps: readonly SymbolicStep[],
  kept: ReadonlySet<SymbolicStep>,
): void {
  const shown: Shown[] = [];
  for (const step of steps) {
    if ("dereferenced" in step) shown.push(new Shown(step));
    else if (kept.has(step)) {
      const source = shown.find((one) => literalsIn(step.arguments).some((it) => one.isIn(it)));
      if (source === undefined) continue;
      throw new InputError(
        `Cannot define ${name} as a definition follows names only: the arguments of ${
          printable(step.tool, 100)
        } for @${step.result} hold the value of @${
          printable(source.name, 100)
        }, which was dereferenced before`,
      );
    }
  }
}

type Scalar = string | number | boolean | null;

/** What is written in arguments as it is: names are cut out of texts, with their paths. */
function literalsIn(value: JsonValue): Scalar[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(literalsIn);
  if (typeof value !== "string") return [value];
  return [replaceReferences(value, (reference) => (reference.skipPath(), " "))];
}

/** A whole number or decimal that no letter or digit touches. */
const NUMBER = /(?<![\p{L}\p{N}_.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_]|\.\d)/gu;
const NUMERIC = /^-?\d+(?:\.\d+)?$/;

/** A value that the model has seen, and what of it could be copied. */
class Shown {
  readonly name: string;
  readonly #scalars: ReadonlySet<Scalar>;
  readonly #texts: readonly string[];

  constructor({ dereferenced, value }: Dereferenced) {
    this.name = dereferenced;
    const inner = literalsOf(value);
    // Inside of structures, values that tell next to nothing would accuse every argument.
    const telling = typeof value === "object" && value !== null
      ? inner.filter((leaf) =>
        typeof leaf === "number" || (typeof leaf === "string" && leaf !== "")
      )
      : inner;
    const numbers = telling.filter((leaf) => typeof leaf === "string" && NUMERIC.test(leaf));
    this.#scalars = new Set([...telling, ...numbers.map(Number)]);
    this.#texts = telling.filter((leaf): leaf is string => typeof leaf === "string" && leaf !== "");
  }

  /** Whether a literal is the value, or a text with the value in it as a number or words of its own. */
  isIn(literal: Scalar): boolean {
    if (this.#scalars.has(literal)) return true;
    if (typeof literal !== "string") return this.#scalars.has(String(literal));
    for (const { 0: digits, index } of literal.matchAll(NUMBER)) {
      if (this.#scalars.has(Number(digits))) return true;
      if (literal[index - 1] === "-" && this.#scalars.has(-Number(digits))) return true;
    }
    return this.#texts.some((text) => hasWords(literal, text));
  }
}

function literalsOf(value: JsonValue): Scalar[] {
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap(literalsOf)
    : [value];
}

/** Whether `text` holds `words`, and no letter or digit of theirs is touched by another one there. */
function hasWords(text: string, words: string): boolean {
  const [opens, closes] = [/^[\p{L}\p{N}_]/u.test(words), /[\p{L}\p{N}_]$/u.test(words.slice(-2))];
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    const end = at + words.length;
    // Letters may take two units.
    const joined = opens && /[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, at - 2), at)) ||
      closes && /^[\p{L}\p{N}_]/u.test(text.slice(end, end + 2));
    if (!joined) return true;
  }
  return false;
}
