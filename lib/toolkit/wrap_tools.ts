/**
 * Tool wrappers: the strategies that change tools and results, for custom agents. They take plain tools and
 * return plain tools.
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
import { argumentsText } from "../trials/executors/executor.ts";
import { exactJson } from "../base/json.ts";
import { givenValues, namedReturns } from "../trials/executors/toolbox.ts";

/** Options of {@linkcode restate}. */
export interface RestateOptions {
  /** The values given in the first message, by variable. */
  readonly given?: JsonObject;
}

/**
 * Returns tools whose results also list all values known so far (FuncBenchGen, section 4.6.1): the given ones
 * and those that tools returned, the latest return winning. The keys of a result that is a JSON object are
 * listed as `tool.key`, any other result as `tool#n` for the n-th call overall. Results of concurrent calls
 * list each other; a JSON object with the single key `error` adds nothing, and errors thrown by a tool are
 * passed on.
 *
 * @throws {InputError} If `given` is not a plain JSON object.
 *
 * @example Usage
 * ```ts
 * import { restate } from "@toolgate/toolgate/toolkit";
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
  const values = new Map(givenValues(given));
  let calls = 0;
  return tools.map((tool) => ({
    ...schemaOf(tool),
    execute: async (input) => {
      const number = ++calls;
      const result = await tool.execute(input);
      if (errorOfResult(result) === undefined) {
        const returned = namedReturns(tool.name, number, valueOfResult(result));
        for (const [name, value] of returned) values.set(name, value);
      }
      // Wait one turn of the event loop, in which other calls of the same reply can return.
      await new Promise((resolve) => setTimeout(resolve, 0));
      return withKnownVariables(result, values);
    },
  }));
}

/** Options of {@linkcode indirect}. */
export interface IndirectOptions {
  /** The values given in the first message, by name without "@". */
  readonly given?: JsonObject;
  /**
   * Whether the model also gets a tool `dereference`, which shows it one value; named `dereference_2` if the
   * name is taken. Default: false.
   */
  readonly dereference?: boolean;
  /** Reads the value that a result binds. Default: {@linkcode valueOfResult}. */
  readonly read?: (result: string, tool: Tool) => JsonValue;
}

/** Tools that work with names, and the values of these names. */
export interface Indirection {
  /** The tools: each call names its result, and returns that name. */
  readonly tools: readonly Tool[];
  /** The names, and their values. */
  readonly symbols: Symbols;
  /** The steps so far, ordered by when they began; it grows, and is input for {@linkcode defineFrom}. */
  readonly trace: readonly SymbolicStep[];
  /**
   * The prompt for a question: given numbers, as in `x = 3`, are replaced by names, and it explains how to use
   * names, as a model without these instructions would not.
   */
  prompt(question: string): string;
  /** Replaces the names in a final answer by their values. */
  resolve(text: string): string;
  /** Adds the value after each name in a text, for human readers. */
  render(text: string): string;
}

/**
 * Wraps tools so that a model works with names and never sees a value (Indirection, "Adding a Level of
 * Indirection"). A call that cannot be parsed, or whose tool returns a JSON object with the single key
 * `error`, returns that error and binds nothing; errors thrown by a tool are passed on.
 *
 * An agent framework can only check the arguments as the model wrote them: names, not values. The values are
 * therefore checked against the tool's JSON Schema before it runs, and a call that does not conform returns
 * an error as well.
 *
 * @throws {InputError} If a name in `given` is invalid, a value is not JSON, or a tool's parameters are not a
 * JSON Schema.
 *
 * @example The article's conversation
 * ```ts
 * import { indirect } from "@toolgate/toolgate/toolkit";
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
  // Steps are recorded when calls succeed, but in the order in which calls began.
  let begun = 0;
  const numbers = new Map<SymbolicStep, number>();
  const record = (step: SymbolicStep, number: number) => {
    numbers.set(step, number);
    trace.push(step);
    trace.sort((one, other) => numbers.get(one)! - numbers.get(other)!);
  };
  const wrapped = tools.map((tool): Tool => {
    const check = argumentCheck(tool);
    return {
      ...symbols.offer(tool),
      execute: async (input) => {
        const call = symbols.read(tool, argumentsText(input));
        if ("error" in call) return JSON.stringify({ error: call.error });
        const { name, resolved } = call;
        const args = exactJson(resolved) as JsonObject;
        const refusal = check(args);
        if (refusal !== undefined) {
          return JSON.stringify({ error: explainRefusal(refusal, tool).error });
        }
        const { [resultParameter(tool)]: _, ...symbolicArgs } = structuredClone(input);
        const number = ++begun;
        symbols.reserve(name);
        try {
          const result = await tool.execute(args);
          if (errorOfResult(result) !== undefined) return result;
          symbols.bind(name, read(result, tool));
        } finally {
          symbols.release(name);
        }
        record({ tool: tool.name, arguments: symbolicArgs, result: name }, number);
        return `@${name}`;
      },
    };
  });
  const lookup: Tool = {
    ...dereferenceTool(tools),
    execute: (input) => {
      const reference = input?.["name"];
      const name = String(reference).replace(/^@/, "");
      const value = symbols.get(name);
      if (value !== undefined) record({ dereferenced: name, value }, ++begun);
      return Promise.resolve(symbols.reveal(reference));
    },
  };
  return {
    tools: dereference ? [...wrapped, lookup] : wrapped,
    symbols,
    trace,
    prompt: (question) => explainNames(question, { tools, given: values }),
    resolve: (text) => symbols.resolve(text),
    render: (text) => symbols.render(text),
  };
}
