/**
 * What can be read from a conversation: the prompt, the descriptions of the functions, and earlier
 * calls with their results, as plain data.
 *
 * Every text is taken to be hostile: names live in maps, never as keys of objects, and each regular
 * expression takes time linear in the text.
 * @module
 */

import { isJsonObject, parseJson } from "../../json.ts";
import {
  type ChatContent,
  type ChatMessage,
  type ChatRequest,
  type ChatTool,
  stepOf,
} from "./wire.ts";

/** A parameter or an output of a function. */
export interface Variable {
  /** Its name. */
  readonly name: string;
  /** Type and subtype as one text; `undefined` where the description gives none. */
  readonly type: string | undefined;
}

/** A function as its schema and description present it. */
export interface FunctionReading {
  /** Its name. */
  readonly name: string;
  /** Its parameters, in the order of the schema. */
  readonly parameters: readonly Variable[];
  /** What it produces, if the description says so. */
  readonly output: Variable | undefined;
}

/** An earlier call. */
export interface CallReading {
  /** The name that was called, possibly invented. */
  readonly name: string;
  /** What it returned for the function's output; `undefined` if it was refused or unanswered. */
  readonly value: number | undefined;
  /** How many messages came after its result; `undefined` if it was unanswered. */
  readonly age: number | undefined;
}

/** Everything that a simulated model knows. */
export interface Conversation {
  /** The text of the first user message. */
  readonly prompt: string;
  /** The variable asked for, by the last user message that asks for one. */
  readonly target: string | undefined;
  /** The variables that user messages give, with their values. */
  readonly inputs: ReadonlyMap<string, number>;
  /** How many messages came after the one that gave a variable its value, by variable. */
  readonly ages: ReadonlyMap<string, number>;
  /** The functions on offer, by name. */
  readonly functions: ReadonlyMap<string, FunctionReading>;
  /** The calls so far, in order. */
  readonly calls: readonly CallReading[];
  /** How many replies there were before. */
  readonly step: number;
  /** Whether the request allows calls. */
  readonly mayCall: boolean;
  /** The variables whose values the last tool message gives besides answering. */
  readonly restated: ReadonlyMap<string, number>;
}

/**
 * Reads the body of a request.
 *
 * @example Usage
 * ```ts
 * import { readConversation } from "./reading.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const prompt = "Give me the correct value of variable bujxe.\n\nVariable mfmjsy = 731";
 * const { target, inputs } = readConversation({
 *   model: "sim:planner",
 *   messages: [{ role: "user", content: prompt }],
 * });
 * assertEquals(target, "bujxe");
 * assertEquals([...inputs], [["mfmjsy", 731]]);
 * ```
 */
export function readConversation(request: ChatRequest): Conversation {
  const { messages } = request;
  const asked = messages.flatMap((message, place) =>
    message.role === "user"
      ? [{ text: textOf(message.content), age: messages.length - 1 - place }]
      : []
  );
  const functions = readFunctions(request.tools ?? []);
  const inputs = asked.flatMap(({ text, age }) =>
    readInputs(text).map(([name, value]) => ({ name, value, age }))
  );
  const { calls, restated } = readCalls(messages, functions);
  const returns = calls.flatMap(({ name, value, age }) => {
    const output = functions.get(name)?.output?.name;
    return output === undefined || value === undefined ? [] : [{ name: output, age: age! }];
  });
  return {
    prompt: asked[0]?.text ?? "",
    target: asked.map(({ text }) => readTarget(text)).findLast((target) => target !== undefined),
    inputs: new Map(inputs.map(({ name, value }) => [name, value])),
    ages: new Map([...inputs, ...returns].map(({ name, age }) => [name, age])),
    functions,
    calls,
    restated,
    step: stepOf(messages),
    mayCall: request.tool_choice !== "none",
  };
}

function textOf(content: ChatContent | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

function readTarget(text: string): string | undefined {
  return /\bvalue of variable (\w+)/.exec(text)?.[1];
}

function readInputs(text: string): [string, number][] {
  return text.split("\n").flatMap((line): [string, number][] => {
    const match = /^Variable (\w+) = (-?\d{1,15})$/.exec(line.trim());
    return match === null ? [] : [[match[1]!, Number(match[2])]];
  });
}

function readFunctions(tools: readonly ChatTool[]): ReadonlyMap<string, FunctionReading> {
  const functions = new Map<string, FunctionReading>();
  for (const { function: { name, description = "", parameters } } of tools) {
    const split = description.indexOf(" to produce ");
    const [consumed, produced] = split === -1
      ? [description, ""]
      : [description.slice(0, split), description.slice(split)];
    const types = new Map(readClauses(consumed).map((variable) => [variable.name, variable.type]));
    const properties = parameters?.["properties"];
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    functions.set(name, {
      name,
      parameters: names.map((parameter) => ({ name: parameter, type: types.get(parameter) })),
      output: readClauses(produced)[0],
    });
  }
  return functions;
}

/** Clauses like `variable mfmjsy (type_uxe with subtype_muw)`, with or without the parenthesis. */
function readClauses(text: string): Variable[] {
  return Array.from(
    text.matchAll(/\bvariable (\w+)(?: \((\w+) with (\w+)\))?/g),
    ([, name, type, subtype]) => ({
      name: name!,
      type: type === undefined ? undefined : `${type} ${subtype}`,
    }),
  );
}

function readCalls(
  messages: readonly ChatMessage[],
  functions: ReadonlyMap<string, FunctionReading>,
): Pick<Conversation, "calls" | "restated"> {
  const calls: { -readonly [Field in keyof CallReading]: CallReading[Field] }[] = [];
  const byId = new Map<string, typeof calls[number]>();
  let last: { readonly text: string; readonly answers: string | undefined } | undefined;
  for (const [place, message] of messages.entries()) {
    if (message.role === "assistant") {
      for (const { id, function: { name } } of message.tool_calls ?? []) {
        const call = { name, value: undefined, age: undefined };
        calls.push(call);
        byId.set(id, call);
      }
    } else if (message.role === "tool") {
      const text = textOf(message.content);
      const call = byId.get(message.tool_call_id);
      const answers = functions.get(call?.name ?? "")?.output?.name;
      if (call !== undefined) call.age = messages.length - 1 - place;
      if (call !== undefined && answers !== undefined) call.value = readValue(text, answers);
      last = { text, answers };
    }
  }
  const said = last === undefined ? [] : [...statements(last.text)];
  // The first statement of what it answers is the answer; a further one restates it.
  const answer = said.findIndex(([name]) => name === last?.answers);
  return { calls, restated: new Map(said.filter((_, place) => place !== answer)) };
}

/** The value that a result gives for `variable`: its own return stands before anything restated. */
function readValue(text: string, variable: string): number | undefined {
  const parsed = parseJson(text);
  if (isJsonObject(parsed)) {
    if (Object.hasOwn(parsed, "error")) return undefined;
    const value = Object.hasOwn(parsed, variable) ? parsed[variable] : undefined;
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  }
  for (const [name, value] of statements(text)) {
    if (name === variable) return value;
  }
  return undefined;
}

/** Statements like `aargww = 123` and `"aargww": 123`, in order. */
function* statements(text: string): Generator<[string, number]> {
  const statement = /\b([A-Za-z_]\w*)"?[ \t]*[=:][ \t]*(-?\d{1,15})(?!\w|\.\d)/g;
  for (const [, name, value] of text.matchAll(statement)) yield [name!, Number(value)];
}
