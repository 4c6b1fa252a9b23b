/**
 * Tools: the functions a model may call, and the environment that answers the calls.
 * @module
 */

import type { ToolErrorCategory } from "./error_category.ts";
import { defined, type JsonObject, jsonText, type JsonValue } from "../base/json.ts";
import type { MediaPart, WithMedia } from "./media.ts";

/** A function as a model sees it. */
export interface ToolSchema {
  /** The function's name. */
  readonly name: string;
  /** A description of what the function does. */
  readonly description: string;
  /** The JSON Schema of its arguments, an object. */
  readonly parameters: JsonObject;
  /** Whether the provider should hold the model to the schema (OpenAI's strict mode). */
  readonly strict?: boolean;
  /** Arguments of example calls. */
  readonly examples?: readonly JsonObject[];
  /** The JSON Schema of its result. */
  readonly returns?: JsonObject;
}

/**
 * Whether a reply may, must or must not call a function, or the name of the one function it must call.
 *
 * - `function`: The name of the function that must be called.
 */
export type ToolChoice = "auto" | "none" | "required" | { readonly function: string };

/** Marks tools with state of their own, such as which of their results comes next. */
export const FRESH: unique symbol = Symbol("fresh");

/** Marks tools whose runs share what the tool works on: only wrappers around them start fresh. */
export const SHARED: unique symbol = Symbol("shared");

/** Marks tools of servers: recordings keep their results, and a replay asks no server. */
export const SERVED: unique symbol = Symbol("served");

/** Marks the JSON Schema of a tool's result that no model is shown, such as that of an operation of a service. */
export const RESULT: unique symbol = Symbol("result");

/** Marks where an operation of a service stands in it. */
export const ROUTE: unique symbol = Symbol("route");

/** Where an operation of a service stands in it. */
export interface Route {
  /** The HTTP method, in lower case. */
  readonly method: string;
  /** Its path as the document has it, such as `/pets/{petId}`. */
  readonly path: string;
  /** The name of the tool's parameter for each name in the path. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Takes the images and audio of a call's result, of which the text has notes alone. */
export const TAKE_MEDIA: unique symbol = Symbol("take media");

/** Key that marks matchers: no JSON value can have it. */
export const MATCHER: unique symbol = Symbol("matcher");

/** What an MCP server says of a tool: hints, which it need not keep, and which no model is shown. */
export interface ToolAnnotations {
  /** Whether it changes nothing. */
  readonly readOnlyHint?: boolean | undefined;
  /** Whether it may destroy something. */
  readonly destructiveHint?: boolean | undefined;
  /** Whether a second call with the same arguments changes nothing more. */
  readonly idempotentHint?: boolean | undefined;
  /** Whether it works on an open world, such as the web. */
  readonly openWorldHint?: boolean | undefined;
}

/** A function that can be called: a plain shape that agents of any kind understand. */
export interface Tool extends ToolSchema {
  /** Runs the function on parsed arguments and returns the text for the model. */
  execute(input: JsonObject): Promise<string>;
  /**
   * Returns why arguments that conform to the schema are refused nevertheless; omitted if the schema is
   * complete.
   */
  readonly check?: (input: JsonObject) => Refusal | undefined;
  /**
   * Returns why a value is not what the tool declares to return, in place of a check by `returns`: a library may take
   * values that its JSON Schema does not allow. Omitted if that schema says it all.
   */
  readonly checkResult?: (value: JsonValue) => string | undefined;
  /**
   * Whether patterns of the schema that no linear engine can express, such as ones with a backreference, are
   * run nevertheless. A text can then block the process for minutes; without it such a tool is refused.
   */
  readonly unsafePatterns?: boolean;
  /** What an MCP server says of it; omitted if it says nothing. */
  readonly annotations?: ToolAnnotations;
  /** Whether recordings keep its results, so that it does not run in a replay. */
  readonly replay?: boolean;
  /** Returns the JSON Schema of its result where `returns`, which a model is shown, does not say it. */
  readonly [RESULT]?: () => JsonObject;
  /** Where the operation that it calls stands in its service; omitted for other tools. */
  readonly [ROUTE]?: Route;
  /** `true` if a server answers its calls. */
  readonly [SERVED]?: true;
  /** Returns the tool in its state at the beginning of a run; omitted if runs do not change it. */
  readonly [FRESH]?: () => Tool;
  /** `true` if runs share what the tool works on, although a part of it starts fresh. */
  readonly [SHARED]?: true;
}

/** What is known of a call while its tool runs. */
export interface ToolCallOptions {
  /** Aborts on timeouts, and when the call is cancelled. */
  readonly signal?: AbortSignal;
  /** The id of the model's call, where a framework gives it. */
  readonly callId?: string;
  /** Takes the images and audio of the result; omitted where only text goes on. */
  readonly [TAKE_MEDIA]?: (media: readonly MediaPart[]) => void;
}

/** A tool that can be stopped by a signal; every {@linkcode Tool} can be used as one. */
export interface StoppableTool extends Tool {
  /** Runs the function; `options` say what is known of its call. */
  execute(input: JsonObject, options?: ToolCallOptions): Promise<string>;
}

/** Returns the signal in the options of a tool's run: other frameworks pass further options. */
export function signalIn(options: unknown): { readonly signal?: AbortSignal } {
  const { signal }: { signal?: unknown } = Object(options);
  return signal instanceof AbortSignal ? { signal } : {};
}

/** Returns the signal of a call, and its id where that is known. */
export function optionsOf(options: unknown, callId: unknown): ToolCallOptions {
  return { ...signalIn(options), ...(typeof callId === "string" ? { callId } : {}) };
}

/** Returns the tool in its state at the beginning of a run. */
export function freshTool(tool: Tool): Tool {
  return tool[FRESH]?.() ?? tool;
}

/** Whether concurrent runs of a tool cannot interfere with each other. */
export function isIsolated(tool: Tool): boolean {
  return tool[FRESH] !== undefined && tool[SHARED] === undefined;
}

/** A call as a model wrote it, read from its reply and unchecked. */
export interface ToolCall {
  /** Matches the call with its result. */
  readonly id: string;
  /** The name of the function, possibly one that does not exist. */
  readonly name: string;
  /** The arguments as text, which should be a JSON object. */
  readonly arguments: string;
}

/** A call as a program gives it, to be carried out: every {@linkcode ToolCall} is one. */
export interface ExecutableCall {
  /** The name of the tool, which may not exist. */
  readonly name: string;
  /** The arguments: a JSON object, or the text that should be one. */
  readonly arguments: JsonObject | string;
  /** An id to pair the call with its execution. */
  readonly id?: string;
}

/** How arguments violate the schema. */
export interface SchemaFault {
  /** Required parameters without an argument. */
  readonly missing: readonly string[];
  /** Arguments that are not parameters. */
  readonly unexpected: readonly string[];
  /** Parameters whose argument does not fit their schema. */
  readonly wrongType: readonly string[];
  /** Whether the arguments did not parse to a JSON object at all. */
  readonly malformed: boolean;
}

/** Why a call is refused. */
export interface Refusal {
  /** The text for the model. */
  readonly error: string;
  /** What is wrong with the arguments. */
  readonly fault: SchemaFault;
}

/** Makes a refusal, with what is wrong with the arguments. */
export function refused(error: string, fault: Partial<SchemaFault>): Refusal {
  return {
    error,
    fault: { missing: [], unexpected: [], wrongType: [], malformed: false, ...fault },
  };
}

/** A call on its way to a tool, with what the layers around an environment have added. */
export interface PreparedCall extends ToolCall {
  /** The arguments with values in place of names, if the model wrote names. */
  readonly resolved?: string;
  /** Set if the call must not run; it is counted and recorded nevertheless. */
  readonly refusal?: Refusal;
  /** Set if no tool of the environment is called: the answer to return, counted and recorded too. */
  readonly answer?: string;
  /** The number of the reply that makes it, from 1, which is its step; omitted where steps are counted. */
  readonly step?: number;
  /** Set if its request did not offer the function: the names that it did. */
  readonly offered?: readonly string[];
  /** Set if an agent's own code made it, and no reply. */
  readonly by?: "agent";
  /** Set if the agent did not carry it out: it is judged and recorded, and does not run. */
  readonly agentDid?: AgentDeed;
  /** Set if the agent held it in an earlier turn, and carries it out now: the number of its event there. */
  readonly held?: number;
  /** Set if the agent refused it by itself: the text that its model got for it. */
  readonly told?: string;
  /** Set if it was carried out before, in a run that was recorded: it is judged, and no tool runs. */
  readonly recorded?: RecordedResult;
}

/** What a call came to in a run that was recorded. */
export interface RecordedResult {
  /** The text that the model got. */
  readonly text: string;
  /** Set if the record says that the call failed. */
  readonly isError?: true;
  /** Milliseconds for which the tool ran; omitted if unknown. */
  readonly durationMs?: number;
}

/** What an agent can do with a call of its model in place of carrying it out. */
export const AGENT_DEEDS = ["hid", "repaired", "not_run", "held"] as const;

/**
 * What an agent did with a call of its model in place of carrying it out: no later request shows it,
 * it carried out another call in its place, it went on without a call that could have been carried out, or it
 * answered before such a call had a result, as where a person has to approve it.
 */
export type AgentDeed = typeof AGENT_DEEDS[number];

/** The result of one call, for the model. */
export interface ToolResult {
  /** The `id` of the call. */
  readonly callId: string;
  /** The name that was called. */
  readonly name: string;
  /** The text for the model. */
  readonly content: string;
}

/** A call with its result, on the way back to the model. */
export interface Answered extends WithMedia {
  /** The call. */
  readonly call: PreparedCall;
  /** The text that the function itself returned, or the error of a call that was refused or failed. */
  readonly content: string;
  /** The value that the function returned; omitted if there is none. */
  readonly value?: JsonValue;
}

/**
 * Writes the result texts for the calls of one step, once all of them are answered: one text per call.
 *
 * @param answered The calls, in order.
 * @param known Every variable given or returned so far; the last return wins.
 */
export type ResultWriter = (
  answered: readonly Answered[],
  known: ReadonlyMap<string, JsonValue>,
) => readonly string[];

/** The strategies that make calls in place of those that failed. */
export const REPLACERS = [
  "retry",
  "alternative",
] as const satisfies Replacement["by"][];

/** A call whose tool failed or does not exist. */
export interface FailedCall {
  /** The call that the model made. */
  readonly original: PreparedCall;
  /** The call that failed: the same, or one that was made in its place. */
  readonly call: PreparedCall;
  /** The category of its error. */
  readonly category: ToolErrorCategory;
  /** The error. */
  readonly message: string;
  /** Milliseconds that the tool asks to wait; omitted if it does not. */
  readonly retryAfter?: number;
  /** Whether the error was injected: then there is nothing to wait for. */
  readonly injected: boolean;
}

/** A call to make in place of one that failed. */
export interface Replacement {
  /** The call. */
  readonly call: PreparedCall;
  /** The strategy that makes it. */
  readonly by: "retry" | "alternative";
}

/**
 * Returns for each of the calls that failed one to make in its place, or `undefined` if its error stands. It is
 * asked again for those that fail in turn.
 */
export type CallReplacer = (
  failed: readonly FailedCall[],
) => Promise<readonly (Replacement | undefined)[]>;

/** Answers the calls of a model: a generated task's executor, or the user's tools. */
export interface Environment {
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** The values in the first message, by variable. */
  readonly given: ReadonlyMap<string, JsonValue>;
  /** Whether a call beyond the limit was made, which ends the trial. */
  readonly exhausted: boolean;
  /** The number of calls that may still be made; infinite without a limit. */
  readonly left: number;
  /** Returns why the arguments of a call would be refused; `undefined` if they conform to the schema. */
  refuse(call: PreparedCall): Refusal | undefined;
  /**
   * Answers all calls of one model reply, in order; `write` may change the result texts, and `replace` names
   * calls to make in place of those that fail, whose results they then have.
   */
  execute(
    calls: readonly PreparedCall[],
    write?: ResultWriter,
    replace?: CallReplacer,
  ): Promise<readonly ToolResult[]>;
}

/** Returns the environment with some of its parts replaced. */
export function wrapEnvironment(
  inner: Environment,
  changes: Partial<Omit<Environment, "exhausted" | "left">>,
): Environment {
  return {
    tools: inner.tools,
    given: inner.given,
    refuse: (call) => inner.refuse(call),
    execute: (calls, write, replace) => inner.execute(calls, write, replace),
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
  /** The kind of tool. */
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
 * Returns the full description of a tool for a model: no provider's format has a field for examples and
 * results, so they follow the description, one line each.
 */
export function describeTool({ description, examples = [], returns }: ToolSchema): string {
  return [
    description,
    ...examples.map((example) => `Example: ${jsonText(example)}`),
    ...(returns === undefined ? [] : [`Returns: ${jsonText(returns)}`]),
  ].join("\n");
}

/** Returns the parts of a tool that a model may see, without those that run it. */
export function schemaOf(tool: ToolSchema): ToolSchema {
  const { name, description, parameters, strict, examples, returns } = tool;
  return {
    ...{ name, description, parameters },
    ...defined({ strict, examples, returns }),
  };
}

/** Converts a tool to the form of OpenAI's chat completions (FuncBenchGen, appendix B.3). */
export function toOpenAITool(tool: ToolSchema): OpenAITool {
  const { name, strict, parameters } = tool;
  const description = describeTool(tool);
  return {
    type: "function",
    function: { name, description, ...defined({ strict }), parameters },
  };
}
