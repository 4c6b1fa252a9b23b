/**
 * Wrappers: the strategies that change tools and results, for an agent of the user's own. They take
 * plain tools and give plain tools.
 * @module
 */

import type { JsonObject, JsonValue } from "../base/json.ts";
import type { SymbolicStep } from "./definitions/from_trace.ts";
import { argumentCheck } from "../tools/schema/validate.ts";
import { explainNames, explainRefusal } from "../trials/strategies/indirection.ts";
import { withKnownVariables } from "../trials/strategies/restate.ts";
import { errorOfResult, Symbols, valueOfResult } from "../tools/references/symbol_table.ts";
import { dereferenceTool, resultParameter } from "../tools/references/schema.ts";
import { schemaOf, type Tool } from "../tools/tool.ts";
import { givenValues, namedReturns } from "../trials/executors/toolbox.ts";

/** Options of {@linkcode restate}. */
export interface RestateOptions {
  /** What the first message gives, by variable. */
  readonly given?: JsonObject;
}

/**
 * Tools whose results also list all that is known so far (FuncBenchGen, section 4.6.1): what was
 * given, and what the tools have returned, the last return winning. The keys of a result that is a
 * JSON object are listed as `tool.key`, any other result as `tool#n`, of the n-th call of all. Results
 * of calls that are made together list each other; a JSON object with the single key `error` adds
 * nothing, and what a tool throws goes through.
 *
 * @throws {InputError} If what is given is no plain JSON object.
 *
 * @example Usage
 * ```ts
 * import { restate } from "./wrap_tools.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const [weather] = restate([{
 *   name: "weather",
 *   description: "Gives the weather of a city",
 *   parameters: { type: "object", properties: { city: { type: "string" } } },
 *   execute: () => Promise.resolve('{"degrees":21}'),
 * }], { given: { city: "Paris" } });
 * assertEquals(
 *   await weather!.execute({ city: "Paris" }),
 *   '{"degrees":21,"known_variables":{"city":"Paris","weather.degrees":21}}',
 * );
 * ```
 */
export function restate(tools: readonly Tool[], { given = {} }: RestateOptions = {}): Tool[] {
  const known = new Map(givenValues(given));
  let calls = 0;
  return tools.map((tool) => ({
    ...schemaOf(tool),
    execute: async (input) => {
      const number = ++calls;
      const result = await tool.execute(input);
      if (errorOfResult(result) === undefined) {
        const returned = namedReturns(tool.name, number, valueOfResult(result));
        for (const [name, value] of returned) known.set(name, value);
      }
      // A turn of the event loop passes, in which other calls of the same reply can return.
      await new Promise((resolve) => setTimeout(resolve, 0));
      return withKnownVariables(result, known);
    },
  }));
}

/** Options of {@linkcode indirect}. */
export interface IndirectOptions {
  /** What the first message gives, by name without "@". */
  readonly given?: JsonObject;
  /**
   * Whether the model also gets a tool `dereference`, which shows it one value; default false. Where
   * there is such a tool already, it is called `dereference_2`.
   */
  readonly dereference?: boolean;
  /** The value that a result binds; default {@linkcode valueOfResult}. */
  readonly read?: (result: string, tool: Tool) => JsonValue;
}

/** Tools that work with names, and what is known about these. */
export interface Indirection {
  /** The tools: each call names its result, and gets that name back. */
  readonly tools: readonly Tool[];
  /** The names, and their values. */
  readonly symbols: Symbols;
  /** What was done so far, in the order in which it began, and grows: what {@linkcode defineFrom} takes. */
  readonly trace: readonly SymbolicStep[];
  /**
   * What to ask the model in place of a question: the same with given numbers, as in `x = 3`, hidden
   * behind their names, and how to work with names. A model that is not told so uses values, or none.
   */
  prompt(question: string): string;
  /** A final answer with values in the place of its names. */
  resolve(text: string): string;
  /** A text for a person, in which each name has its value beside it. */
  render(text: string): string;
}

/**
 * Tools behind names for values (Indirection, "Adding a Level of Indirection"): a model that calls
 * them never sees a value. A call that cannot be read, or whose tool returns a JSON object with the
 * single key `error`, gets that error back and binds nothing; what a tool throws goes through.
 *
 * An agent's framework checks what the model wrote, if anything: a name, not the value behind it. What
 * is meant is therefore checked against the tool's own JSON Schema before the tool is called, and a call
 * that does not conform gets an error back as well.
 *
 * @throws {InputError} If a name of `given` is none, a value is not one of JSON, or a tool's parameters
 * are no JSON Schema.
 *
 * @example The article's conversation
 * ```ts
 * import { indirect } from "./wrap_tools.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const { tools: [double], prompt, render } = indirect([{
 *   name: "double",
 *   description: "Doubles a number",
 *   parameters: { type: "object", properties: { number: { type: "number" } } },
 *   execute: ({ number }: Record<string, unknown>) => Promise.resolve(String(2 * Number(number))),
 * }], { given: { Sum: 3 } });
 * assertEquals(prompt("What is twice Sum, where Sum = 3?").split("\n")[0], "What is twice Sum, where Sum = @Sum?");
 * assertEquals(await double!.execute({ number: "@Sum", result: "@DoubleSum" }), "@DoubleSum");
 * assertEquals(
 *   render("Multiplying `@Sum` by 2 gives `@DoubleSum`."),
 *   "Multiplying `@Sum=3` by 2 gives `@DoubleSum=6`.",
 * );
 * ```
 */
export function indirect(tools: readonly Tool[], options: IndirectOptions = {}): Indirection {
  const { given = {}, dereference = false, read = valueOfResult } = options;
  const values = givenValues(given);
  const symbols = new Symbols(values);
  const trace: SymbolicStep[] = [];
  // Calls have their places in the order in which they begin, and steps once they have succeeded.
  const places: { done: boolean }[] = [];
  const record = (step: SymbolicStep, place: { done: boolean }) => {
    const before = places.slice(0, places.indexOf(place)).filter(({ done }) => done);
    trace.splice(before.length, 0, step);
    place.done = true;
  };
  const begin = () => {
    const place = { done: false };
    places.push(place);
    return place;
  };
  const wrapped = tools.map((tool): Tool => {
    const check = argumentCheck(tool);
    return {
      ...symbols.offer(tool),
      execute: async (input) => {
        const call = symbols.read(tool, toText(input));
        if ("error" in call) return JSON.stringify({ error: call.error });
        const { name, resolved } = call;
        const meant: JsonObject = JSON.parse(resolved);
        const refusal = check(meant);
        if (refusal !== undefined) {
          return JSON.stringify({ error: explainRefusal(refusal, tool).error });
        }
        const { [resultParameter(tool)]: _, ...written } = structuredClone(input);
        const place = begin();
        symbols.reserve(name);
        try {
          const result = await tool.execute(meant);
          if (errorOfResult(result) !== undefined) return result;
          symbols.bind(name, read(result, tool));
        } finally {
          symbols.release(name);
        }
        record({ tool: tool.name, arguments: written, result: name }, place);
        return `@${name}`;
      },
    };
  });
  const look: Tool = {
    ...dereferenceTool(tools),
    execute: (input) => {
      const asked = input?.["name"];
      const name = String(asked).replace(/^@/, "");
      const value = symbols.get(name);
      if (value !== undefined) record({ dereferenced: name, value }, begin());
      return Promise.resolve(symbols.reveal(asked));
    },
  };
  return {
    tools: dereference ? [...wrapped, look] : wrapped,
    symbols,
    trace,
    prompt: (question) => explainNames(question, { tools, given: values }),
    resolve: (text) => symbols.resolve(text),
    render: (text) => symbols.render(text),
  };
}

/** The arguments as text; what JSON cannot carry becomes text that is no JSON. */
function toText(input: JsonObject): string {
  try {
    return JSON.stringify(input) ?? "";
  } catch {
    return "";
  }
}
