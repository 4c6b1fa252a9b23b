/**
 * Tools: functions that a model may call, and the place where its calls go.
 * @module
 */

import type { JsonObject, JsonValue } from "../base/json.ts";

/** A function on offer, as a model sees it. */
export interface ToolSchema {
  /** The function's name. */
  readonly name: string;
  /** What the function does, in words. */
  readonly description: string;
  /** The JSON Schema of its arguments, an object. */
  readonly parameters: JsonObject;
  /** Whether the provider should hold the model to the schema (OpenAI's strict mode). */
  readonly strict?: boolean;
  /** Arguments of calls that show how it is used. */
  readonly examples?: readonly JsonObject[];
  /** The JSON Schema of what it returns. */
  readonly returns?: JsonObject;
}

/**
 * Whether a reply may, must or must not call; or the one function that it must call.
 *
 * - `function`: The name of the function that must be called.
 */
export type ToolChoice = "auto" | "none" | "required" | { readonly function: string };

/** The mark of tools that have a state of their own, such as which of their results comes next. */
export const FRESH: unique symbol = Symbol("fresh");

/** The mark of tools that begin anew only in what is around them: what they run on, all runs share. */
export const SHARED: unique symbol = Symbol("shared");

/** A function that can be called: the plain shape that agents of any kind understand. */
export interface Tool extends ToolSchema {
  /** Runs the function on parsed arguments and gives the text that goes back to the model. */
  execute(input: JsonObject): Promise<string>;
  /**
   * Why arguments that conform to the schema are refused all the same; left out where the schema says
   * everything.
   */
  readonly check?: (input: JsonObject) => Refusal | undefined;
  /** The tool as it is when a run begins; left out where runs do not change it. */
  readonly [FRESH]?: () => Tool;
  /** `true` where runs share what the tool works on, although something of it begins anew. */
  readonly [SHARED]?: true;
}

/** A tool that can be told that nobody waits for it any more; every {@linkcode Tool} passes for one. */
export interface StoppableTool extends Tool {
  /** Runs the function. The signal aborts on timeouts and when the call is cancelled. */
  execute(input: JsonObject, options?: { readonly signal?: AbortSignal }): Promise<string>;
}

/** The signal among what a tool is run with: other frameworks hand over more, in forms of their own. */
export function signalIn(options: unknown): { readonly signal?: AbortSignal } {
  const { signal }: { signal?: unknown } = Object(options);
  return signal instanceof AbortSignal ? { signal } : {};
}

/** The tool as it is when a run begins. */
export function freshTool(tool: Tool): Tool {
  return tool[FRESH]?.() ?? tool;
}

/** Whether runs of a tool at the same time cannot get in each other's way. */
export function isApart(tool: Tool): boolean {
  return tool[FRESH] !== undefined && tool[SHARED] === undefined;
}

/** A call as a model wrote it: nothing in it is checked. */
export interface ToolCall {
  /** Pairs the call with its result. */
  readonly id: string;
  /** The name of the function, possibly invented. */
  readonly name: string;
  /** The arguments as text, which should be a JSON object. */
  readonly arguments: string;
}

/** How arguments do not conform to the schema. */
export interface SchemaFault {
  /** Parameters that got no argument. */
  readonly missing: readonly string[];
  /** Arguments that are no parameter. */
  readonly unexpected: readonly string[];
  /** Parameters whose argument is not of their type. */
  readonly wrongType: readonly string[];
  /** Whether the arguments did not parse to a JSON object at all. */
  readonly malformed: boolean;
}

/** Why a call is not carried out. */
export interface Refusal {
  /** What goes back to the model, in words. */
  readonly error: string;
  /** How its arguments are at fault. */
  readonly fault: SchemaFault;
}

/** A call with what stands around an environment has found out about it. */
export interface PreparedCall extends ToolCall {
  /** The arguments that are meant, where those written have names for values. */
  readonly resolved?: string;
  /** Set when it must not be carried out: it is counted and recorded all the same. */
  readonly refusal?: Refusal;
  /** Set when no tool of the environment is called: what goes back, counted and recorded too. */
  readonly answer?: string;
}

/** The answer to one call. */
export interface ToolResult {
  /** The `id` of the call. */
  readonly callId: string;
  /** The name that was called. */
  readonly name: string;
  /** The text that goes back to the model. */
  readonly content: string;
}

/** A call that was answered. */
export interface Answered {
  /** The call. */
  readonly call: PreparedCall;
  /** What the function itself returned as text, or the error of a call that was refused or failed. */
  readonly content: string;
  /** What the function returned; left out when there is nothing. */
  readonly value?: JsonValue;
}

/**
 * Writes the texts that go back for the calls of one step, once all of them are answered: one for each.
 *
 * @param answered The calls, in order.
 * @param known Every variable that was given or returned so far; the last return wins.
 */
export type ResultWriter = (
  answered: readonly Answered[],
  known: ReadonlyMap<string, JsonValue>,
) => readonly string[];

/** Where the calls of a model go: a generated task's executor, or tools of the user's own. */
export interface Environment {
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** The values that the first message gives, by variable. */
  readonly given: ReadonlyMap<string, JsonValue>;
  /** Whether a call past the limit was made, so that the trial is over. */
  readonly exhausted: boolean;
  /** How many calls may still be made; infinite where there is no limit. */
  readonly left: number;
  /** Why the arguments of a call would be refused; `undefined` when they conform to its schema. */
  refuse(call: PreparedCall): Refusal | undefined;
  /** Answers all calls of one model reply, in order; `write` may change the texts that go back. */
  execute(calls: readonly PreparedCall[], write?: ResultWriter): Promise<readonly ToolResult[]>;
}

/** The environment with something else in place of some of its parts. */
export function around(
  inner: Environment,
  changes: Partial<Omit<Environment, "exhausted" | "left">>,
): Environment {
  return {
    tools: inner.tools,
    given: inner.given,
    refuse: (call) => inner.refuse(call),
    execute: (calls, write) => inner.execute(calls, write),
    ...changes,
    get exhausted() {
      return inner.exhausted;
    },
    get left() {
      return inner.left;
    },
  };
}

/** A function tool in OpenAI's form. */
export interface OpenAITool {
  /** What kind of tool it is. */
  readonly type: "function";
  /** The function. */
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly strict?: boolean;
    readonly parameters: JsonObject;
  };
}

/**
 * What a tool does, in all the words that a model reads: no provider's form has room of its own for
 * examples and for what is returned, so they stand behind the description, a line each.
 *
 * @example Usage
 * ```ts
 * import { describeTool } from "./tool.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const parameters = { type: "object", properties: { x: { type: "number" } } };
 * const tool = { name: "double", description: "Doubles x.", parameters, examples: [{ x: 21 }] };
 * assertEquals(describeTool(tool), 'Doubles x.\nExample: {"x":21}');
 * ```
 */
export function describeTool({ description, examples = [], returns }: ToolSchema): string {
  return [
    description,
    ...examples.map((example) => `Example: ${JSON.stringify(example)}`),
    ...(returns === undefined ? [] : [`Returns: ${JSON.stringify(returns)}`]),
  ].join("\n");
}

/** What a model may see of a tool, and nothing that would run it. */
export function schemaOf(tool: ToolSchema): ToolSchema {
  const { name, description, parameters, strict, examples, returns } = tool;
  return {
    ...{ name, description, parameters },
    ...(strict === undefined ? {} : { strict }),
    ...(examples === undefined ? {} : { examples }),
    ...(returns === undefined ? {} : { returns }),
  };
}

/** The tool as OpenAI's chat completions take it (FuncBenchGen, appendix B.3). */
export function toOpenAITool(tool: ToolSchema): OpenAITool {
  const { name, strict, parameters } = tool;
  const description = describeTool(tool);
  return {
    type: "function",
    function: { name, description, ...(strict === undefined ? {} : { strict }), parameters },
  };
}
