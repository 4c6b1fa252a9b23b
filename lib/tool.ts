/**
 * Tools: functions that a model may call, and the place where its calls go.
 * @module
 */

import type { JsonObject, JsonValue } from "./json.ts";

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
}

/** A function that can be called: the plain shape that agents of any kind understand. */
export interface Tool extends ToolSchema {
  /** Runs the function on parsed arguments and gives the text that goes back to the model. */
  execute(input: JsonObject): Promise<string>;
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

/** The answer to one call. */
export interface ToolResult {
  /** The `id` of the call. */
  readonly callId: string;
  /** The name that was called. */
  readonly name: string;
  /** The text that goes back to the model. */
  readonly content: string;
}

/**
 * Writes the text that goes back for one call, once all calls of its step are answered.
 *
 * @param content What the function itself returned, or the error of a refused call.
 * @param known Every variable that was given or returned so far; the last return wins.
 */
export type ResultWriter = (content: string, known: ReadonlyMap<string, JsonValue>) => string;

/** Where the calls of a model go: a generated task's executor, or tools of the user's own. */
export interface Environment {
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** Whether a call past the limit was made, so that the trial is over. */
  readonly exhausted: boolean;
  /** Answers all calls of one model reply, in order; `write` may change the texts that go back. */
  execute(calls: readonly ToolCall[], write?: ResultWriter): Promise<readonly ToolResult[]>;
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

/** The tool as OpenAI's chat completions take it (FuncBenchGen, appendix B.3). */
export function toOpenAITool(tool: ToolSchema): OpenAITool {
  const { name, description, strict, parameters } = tool;
  return {
    type: "function",
    function: { name, description, ...(strict === undefined ? {} : { strict }), parameters },
  };
}
