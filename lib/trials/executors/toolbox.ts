/**
 * Toolboxes: tools of any kind as an environment, which checks, counts and records the calls on them.
 * @module
 */

import { functionNotFound } from "../../calls/failure.ts";
import { InputError, reasonOf } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import {
  type CallOutcome,
  type CallPlace,
  Executor,
  type ExecutorOptions,
  noSuchFunction,
} from "./executor.ts";
import { redact } from "../../base/redact.ts";
import { type ArgumentCheck, argumentCheck } from "../../tools/schema/validate.ts";
import { offerReferences } from "../../tools/references/schema.ts";
import { errorOfResult, isPlain, valueOfResult } from "../../tools/references/symbol_table.ts";
import {
  freshTool,
  type PreparedCall,
  type Refusal,
  type Tool,
  type ToolSchema,
} from "../../tools/tool.ts";

/** Options of {@linkcode Toolbox}. */
export interface ToolboxOptions extends Partial<ExecutorOptions> {
  /** The values that the first message gives, by name. */
  readonly given?: JsonObject;
  /** How many calls may be made; default any number. */
  readonly callLimit?: number;
  /** What a model is offered in place of the tools themselves, by which calls are still checked. */
  readonly offered?: readonly ToolSchema[];
}

/**
 * Plain tools as an environment: for strategies and the loop outside of benchmarks. Arguments are checked
 * against the tool's JSON Schema before it runs. A tool that throws answers with its error, and one whose
 * result is a JSON object with the single key `error` has failed as well.
 *
 * @example Usage
 * ```ts
 * import { Toolbox } from "./toolbox.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const double = {
 *   name: "double",
 *   description: "Doubles a number",
 *   parameters: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
 *   execute: async ({ x }: Record<string, unknown>) => await JSON.stringify(2 * (x as number)),
 * };
 * using toolbox = new Toolbox([double]);
 * const call = { id: "1", name: "double", arguments: '{"x":21}' };
 * assertEquals((await toolbox.execute([call]))[0]?.content, "42");
 * ```
 */
export class Toolbox extends Executor {
  /** The values that the first message gives, by name. */
  override readonly given: ReadonlyMap<string, JsonValue>;

  readonly #own: ReadonlyMap<string, Tool>;
  readonly #checks: ReadonlyMap<string, ArgumentCheck>;
  /** What checks arguments that hold references, made when it is needed. */
  readonly #shapes = new Map<string, ArgumentCheck>();

  /**
   * Offers tools.
   *
   * @throws {InputError} If two tools share a name, the schema of one is none, or what is given is no
   * JSON object.
   */
  constructor(tools: readonly Tool[], options: ToolboxOptions = {}) {
    const { given = {}, callLimit = Infinity } = options;
    super(options.offered ?? tools, { ...options, callLimit });
    this.given = givenValues(given);
    this.#own = new Map(tools.map((tool) => [tool.name, freshTool(tool)]));
    const twice = tools.find(({ name }, place) =>
      tools.findIndex((tool) => tool.name === name) !== place
    );
    if (twice !== undefined) {
      throw new InputError(
        `Cannot offer tools as their names must be distinct: ${
          printable(twice.name)
        } is there twice`,
      );
    }
    this.#checks = new Map(tools.map((tool) => [tool.name, argumentCheck(tool)]));
  }

  /** Why the arguments of a call do not conform to its tool's schema. */
  protected override refuseMeant(call: PreparedCall): Refusal | undefined {
    if (call.refusal !== undefined) return call.refusal;
    const input = parseJson(call.resolved ?? call.arguments);
    return this.#checks.get(call.name)?.(input) ??
      (isJsonObject(input) ? this.#own.get(call.name)?.check?.(input) : undefined);
  }

  /** Why arguments do not conform, of which some are not known yet. */
  protected override refuseShape(name: string, shape: JsonObject): Refusal | undefined {
    const tool = this.#own.get(name);
    if (tool === undefined) return undefined;
    const check = this.#shapes.get(name) ?? argumentCheck(offerReferences(tool));
    this.#shapes.set(name, check);
    return check(shape);
  }

  /** Carries out a call that conforms to the schema. */
  protected override async carryOut(call: PreparedCall, _: CallPlace): Promise<CallOutcome> {
    const { name } = call;
    const tool = this.#own.get(name);
    if (tool === undefined) {
      const failure = functionNotFound(name, this.#own.keys());
      return { content: noSuchFunction(name), failure: { ...failure, root: true } };
    }
    const refusal = this.refuseMeant(call);
    if (refusal !== undefined) {
      const { error, fault: detail } = refusal;
      return {
        content: JSON.stringify({ error }),
        failure: { type: "wrong_number_of_inputs", detail, root: true },
      };
    }
    const input = parseJson(call.resolved ?? call.arguments);
    try {
      // Types are not everywhere: whatever a tool gives must go back as a text.
      const returned: unknown = await tool.execute(isJsonObject(input) ? input : {});
      const content = typeof returned === "string" ? returned : JSON.stringify(returned) ?? "null";
      const error = errorOfResult(content);
      if (error !== undefined) return { content, event: { error: printable(redact(error), 1000) } };
      return { content, value: valueOfResult(content) };
    } catch (error) {
      const reason = printable(redact(reasonOf(error)), 1000);
      return { content: JSON.stringify({ error: reason }), event: { error: reason } };
    }
  }

  /** What a result says as JSON, else the text itself. */
  protected override valueOf(text: string): JsonValue {
    return valueOfResult(text);
  }

  /** What is restated of a result. */
  protected override namesIn(
    text: string,
    { name }: PreparedCall,
    { call }: CallPlace,
  ): [name: string, value: JsonValue][] {
    return namedReturns(name, call, valueOfResult(text));
  }
}

/**
 * What is given from the start, by name.
 *
 * @throws {InputError} If it is no plain JSON object.
 */
export function givenValues(given: JsonObject): ReadonlyMap<string, JsonValue> {
  const fail = (state: string): never => {
    throw new InputError(`Cannot use what is given as it must be a plain JSON object: ${state}`);
  };
  const values = isJsonObject(given) ? Object.entries(given) : [];
  const wrong = values.find(([, value]) => !isPlain(value));
  if (wrong !== undefined) return fail(`${printable(wrong[0], 100)} is not JSON`);
  // Maps have no entries of this kind, and are objects.
  if (isJsonObject(given) && isPlain(given, Infinity)) return new Map(values);
  return fail(`it is of type ${Object.prototype.toString.call(given).slice(8, -1)}`);
}

/** What a tool returned, by names: keys of an object as `tool.key`, anything else as `tool#n`. */
export function namedReturns(
  tool: string,
  number: number,
  value: JsonValue,
): [name: string, value: JsonValue][] {
  if (!isJsonObject(value)) return [[`${tool}#${number}`, value]];
  return Object.entries(value).map(([key, own]) => [`${tool}.${key}`, own]);
}
