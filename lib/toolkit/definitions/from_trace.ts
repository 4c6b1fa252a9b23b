/**
 * Makes definitions from traces: the calls that a model made with names become a reusable definition
 * (Indirection, "Adding a Level of Indirection").
 * @module
 */

import {
  Definition,
  type JsonType,
  type SymbolicCall,
  type SymbolicMessage,
  type TypedName,
} from "./definition.ts";
import { cannot } from "../../base/errors.ts";
import { isJsonObject, type JsonValue, parseJson, printable } from "../../base/json.ts";
import {
  isSymbol,
  referencesIn,
  replaceReferences,
  wholeReference,
} from "../../tools/references/syntax.ts";
import { isPlain } from "../../tools/references/symbol_table.ts";
import { type CallEvent, MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";

/** The name of the function that shows a model a value, with a number if that name was taken. */
const DEREFERENCE = /^dereference(?:_\d+)?$/;

/** A value that was shown to the model. */
export interface Dereferenced {
  /** The name, or a path such as `Order.total`, without its "@". */
  readonly dereferenced: string;
  /** The value. */
  readonly value: JsonValue;
}

/** A step of a model that works with names: a call that succeeded, or a look at a value. */
export type SymbolicStep = SymbolicCall | Dereferenced;

/** What was said between steps, with names in place of values. */
export type Said = Pick<SymbolicMessage, "role" | "content">;

/** Options of {@linkcode defineFrom}. */
export interface DefineOptions {
  /** The name of the definition. Default: `definition`. */
  readonly name?: string;
  /** A description. */
  readonly description?: string;
  /** The types of its parameters, by name without "@". */
  readonly inputs: Readonly<Record<string, JsonType>>;
  /** The name whose value is its result. */
  readonly output: TypedName;
  /**
   * Whether the texts of the events of a trial are kept as messages: those that the model wrote, and further
   * messages of the user; the first one is not among the events. Default: `false`.
   */
  readonly messages?: boolean;
}

/**
 * Returns a definition that repeats the calls of a trace that its output depends on. It follows names only: a literal argument copied from
 * a value that the model was shown would be wrong on other inputs, and is an error.
 *
 * @param trace The trace of {@linkcode indirect}, or the events of a trial, of which only calls without a
 * failure count. Messages among them are kept, as they were said.
 * @throws {InputError} If there are no calls, a name is bound twice, a call uses a name that is
 * neither an input nor the result of an earlier call, no call binds the output, or a literal argument
 * contains a value that was dereferenced before.
 *
 * @example Usage
 * ```ts
 * import { defineFrom } from "@toolgate/toolgate/toolkit";
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
  trace: readonly (SymbolicStep | Said | TraceEvent)[],
  options: DefineOptions,
): Definition {
  const { name = "definition", description, inputs, output } = options;
  const told = trace.flatMap((step): readonly (SymbolicStep | Said)[] =>
    !("kind" in step)
      ? [step]
      : step.kind === "call"
      ? stepsOf(step)
      : options.messages === true
      ? saidIn(step)
      : []
  );
  const steps = told.filter((step): step is SymbolicStep => !("role" in step));
  const parts = {
    name,
    description,
    inputs: Object.entries(inputs).map(([name, type]) => ({ name, type })),
    output,
  };
  const all = steps.filter((step) => "tool" in step);
  const bound = new Set<string>();
  for (const { result } of all) {
    if (bound.has(result)) {
      throw cannot(`define ${name}`, "a name stands for one value", `two calls name @${result}`);
    }
    bound.add(result);
  }
  const needed = neededFor(output.name, all);
  // If no call is needed, check all of them, so that the error names the actual fault.
  const calls = needed.length > 0 ? needed : all;
  const kept = new Set<SymbolicStep | Said>(calls);
  let after = 0;
  const messages: SymbolicMessage[] = [];
  for (const step of told) {
    if ("role" in step) messages.push({ role: step.role, content: step.content, after });
    else if (kept.has(step)) after++;
  }
  const definition = new Definition({
    ...parts,
    calls,
    messages: messages.length === 0 ? undefined : messages,
  });
  assertNoCopies(name, steps, new Set(needed));
  return definition;
}

/** The text of an event, if it is one of the conversation. */
function saidIn(event: TraceEvent): Said[] {
  const [role, content] = event.kind === "turn"
    ? ["user" as const, event.text]
    : event.kind === "reply" && event.stage === undefined
    ? ["assistant" as const, event.text]
    : ["user" as const, ""];
  return content.trim() === "" ? [] : [{ role, content }];
}

/** The step that an event of a trial represents, if any. */
function stepsOf(event: CallEvent): SymbolicStep[] {
  if (event.failure !== undefined) return [];
  const { call, function: tool, arguments: argumentText, result: text } = event;
  const resultValue = parseJson(text);
  // A failed call binds nothing, even if its result has other keys besides its error.
  if (isJsonObject(resultValue) && Object.hasOwn(resultValue, "error")) return [];
  const args = parseJson(argumentText);
  const fail = (rule: string): never => {
    throw cannot(
      "define from a trace",
      `each call must ${rule}`,
      `call ${call}, ${printable(tool, 100)}, does not`,
    );
  };
  if (!isJsonObject(args) || !isPlain(args)) {
    return fail("have been recorded with all its arguments");
  }
  const { result: named, ...otherArgs } = args;
  if (named === undefined && DEREFERENCE.test(tool)) {
    if (text.length >= MAX_KEPT_LENGTH) return fail("have been recorded with all that it returned");
    const name = String(args["name"]).replace(/^@/, "");
    // The strategy `restate` appends a line to results that are not objects.
    const [valueText] = text.split('\n{"known_variables":', 1);
    return [{ dereferenced: name, value: parseJson(valueText!) ?? valueText! }];
  }
  const result = typeof named === "string" ? wholeReference(named) : undefined;
  return result !== undefined && isSymbol(result)
    ? [{ tool, arguments: otherArgs, result }]
    : fail("name its result");
}

/** The calls that `output` depends on, in order. */
function neededFor(output: string, calls: readonly SymbolicCall[]): SymbolicCall[] {
  const needed = new Set([output]);
  return calls.toReversed().filter((call) => {
    if (!needed.has(call.result)) return false;
    for (const name of referencesIn(call.arguments)) needed.add(name);
    return true;
  }).reverse();
}

/** Throws if a literal argument was shown before, as it may be a copy that would not follow the inputs. */
function assertNoCopies(
  name: string,
  steps: readonly SymbolicStep[],
  needed: ReadonlySet<SymbolicStep>,
): void {
  const seen: ReturnType<typeof seenValue>[] = [];
  for (const step of steps) {
    if ("dereferenced" in step) seen.push(seenValue(step));
    else if (needed.has(step)) {
      const source = seen.find((one) => literalsIn(step.arguments).some((it) => one.isIn(it)));
      if (source === undefined) continue;
      throw cannot(
        `define ${name}`,
        "a definition follows names only",
        `the arguments of ${printable(step.tool, 100)} for @${step.result} hold the value of @${
          printable(source.name, 100)
        }, which was dereferenced before`,
      );
    }
  }
}

type Scalar = string | number | bigint | boolean | null;

/** The literal values in arguments: names, with their paths, are cut out of texts. */
function literalsIn(value: JsonValue): Scalar[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(literalsIn);
  if (typeof value !== "string") return [value];
  return [replaceReferences(value, (reference) => (reference.skipPath(), " "))];
}

/** A whole number or decimal next to no letter or digit. */
const NUMBER = /(?<![\p{L}\p{N}_.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_]|\.\d)/gu;
const NUMERIC = /^-?\d+(?:\.\d+)?$/;

/** A value that the model has seen, with what finds it among literals. */
function seenValue({ dereferenced: name, value }: Dereferenced) {
  const inner = literalsOf(value);
  // Within structures, common values such as true or null would match arguments by chance.
  const parts = typeof value === "object" && value !== null
    ? inner.filter((leaf) => leaf !== "" && leaf !== null && typeof leaf !== "boolean")
    : inner;
  const numbers = parts.filter((leaf) => typeof leaf === "string" && NUMERIC.test(leaf));
  const scalars: ReadonlySet<Scalar> = new Set([...parts, ...numbers.map(Number)]);
  const texts = parts.filter((leaf) => typeof leaf === "string").filter((leaf) => leaf !== "");
  /** Whether a literal is the value, or a text that contains it as a separate number or words. */
  const isIn = (literal: Scalar): boolean => {
    if (scalars.has(literal)) return true;
    if (typeof literal !== "string") return scalars.has(String(literal));
    for (const { 0: digits, index } of literal.matchAll(NUMBER)) {
      if (scalars.has(Number(digits))) return true;
      if (literal[index - 1] === "-" && scalars.has(-Number(digits))) return true;
    }
    return texts.some((text) => hasWords(literal, text));
  };
  return { name, isIn };
}

function literalsOf(value: JsonValue): Scalar[] {
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap(literalsOf)
    : [value];
}

/** Whether `text` contains `words` as whole words. */
function hasWords(text: string, words: string): boolean {
  const [opens, closes] = [/^[\p{L}\p{N}_]/u.test(words), /[\p{L}\p{N}_]$/u.test(words.slice(-2))];
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    const end = at + words.length;
    // A letter may take two code units.
    const joined = opens && /[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, at - 2), at)) ||
      closes && /^[\p{L}\p{N}_]/u.test(text.slice(end, end + 2));
    if (!joined) return true;
  }
  return false;
}
