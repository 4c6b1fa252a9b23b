/**
 * What can be read from a conversation: the prompt, the functions on offer, and earlier calls with
 * their results, as plain data.
 *
 * Every text is taken to be hostile: names live in maps, never as keys of objects, and each regular
 * expression takes time linear in the text.
 * @module
 */

import { evaluate } from "../base/arithmetic.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
import { type FunctionReading, readFunctions } from "./functions.ts";
import { readRefusal, readRestated, readValue, type Refusal } from "./results.ts";
import {
  type ChatCall,
  type ChatMessage,
  type ChatRequest,
  stepOf,
  textOf,
  type Value,
} from "./wire.ts";

/**
 * Why a call brought no value: the tool's own reasons, arguments that are no JSON object (`malformed`), or
 * a reference to a call that brought none (`dangling`).
 */
export type CallRefusal = Refusal | "malformed" | "dangling";

/** An earlier call. */
export interface CallReading {
  /** The name that was called, possibly invented. */
  readonly name: string;
  /** What it returned for the function's output; `undefined` if it was refused or unanswered. */
  readonly value: Value | undefined;
  /** Why it brought no value; `undefined` if it did, or is unanswered. */
  readonly refusal: CallRefusal | undefined;
  /** How many messages came after its result; `undefined` if it was unanswered. */
  readonly age: number | undefined;
}

/** What a message that asks for better arguments says. */
export interface RepairReading {
  /** The name that was called. */
  readonly name: string;
  /** What it was called with, as far as these are values. */
  readonly arguments: ReadonlyMap<string, Value>;
  /** How many such messages there are, this one included. */
  readonly attempt: number;
}

/** Everything that a simulated model knows. */
export interface Conversation {
  /** The text of the first user message. */
  readonly prompt: string;
  /** The variable asked for, by the last user message that asks for one. */
  readonly target: string | undefined;
  /** The variables that user messages give, with their values. */
  readonly inputs: ReadonlyMap<string, Value>;
  /** How many messages came after the one that gave a variable its value, by variable. */
  readonly ages: ReadonlyMap<string, number>;
  /** The functions on offer, by name. */
  readonly functions: ReadonlyMap<string, FunctionReading>;
  /** The calls so far, in order. */
  readonly calls: readonly CallReading[];
  /** How many replies with calls there were before. */
  readonly step: number;
  /** Whether the request allows calls. */
  readonly mayCall: boolean;
  /** Whether the request demands a call. */
  readonly mustCall: boolean;
  /** The only function that the request lets be called, if it names one. */
  readonly chosen: FunctionReading | undefined;
  /** The variables whose values the last tool message gives besides answering. */
  readonly restated: ReadonlyMap<string, Value>;
  /** The call that the last message wants to be corrected, if it does. */
  readonly repair: RepairReading | undefined;
  /** Every symbol that was mentioned, bound or not. */
  readonly symbols: ReadonlySet<string>;
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
  const { messages, tool_choice: choice } = request;
  const said = messages.flatMap((message, place) =>
    message.role === "user"
      ? [{ text: textOf(message.content), age: messages.length - 1 - place }]
      : []
  );
  // What goes back with a call that does not fit is no question: it may quote anything.
  const asked = said.filter(({ text }) => !asksForRepair(text));
  const functions = readFunctions((request.tools ?? []).map((tool) => tool.function));
  const inputs = asked.flatMap(({ text, age }) =>
    readInputs(text).map(([name, value]) => ({ name, value, age }))
  );
  const { calls, restated } = readCalls(messages, functions);
  const returns = calls.flatMap(({ name, value, age }) => {
    const output = functions.get(name)?.output?.name;
    return output === undefined || value === undefined ? [] : [{ name: output, age: age! }];
  });
  const chosen = functions.get(readChosen(choice) ?? "");
  return {
    prompt: said[0]?.text ?? "",
    target: asked.map(({ text }) => readTarget(text)).findLast((target) => target !== undefined),
    inputs: new Map(inputs.map(({ name, value }) => [name, value])),
    ages: new Map([...inputs, ...returns].map(({ name, age }) => [name, age])),
    functions,
    calls,
    restated,
    step: stepOf(messages),
    mayCall: choice !== "none",
    mustCall: choice === "required" || chosen !== undefined,
    chosen,
    repair: readRepair(messages, said.length - asked.length),
    symbols: readSymbols(messages),
  };
}

/** The variable that a question asks for. */
export function readTarget(question: string): string | undefined {
  return /\bvalue of variable (\w+)/.exec(question)?.[1];
}

/**
 * The variables that a question gives, with their values: whole numbers, what comes to one by
 * `+ - * / ( )`, and names. What is said in words is not understood, so that it is not given.
 */
export function readInputs(question: string): [string, Value][] {
  return question.split("\n").flatMap((line): [string, Value][] => {
    const [, name, number, symbol, expression] =
      /^Variable (\w+) = (?:(-?\d{1,15})|(@\w+)|([\d+*/(). -]+))$/.exec(line.trim()) ?? [];
    if (name === undefined) return [];
    const value = symbol ?? (expression === undefined ? Number(number) : evaluate(expression));
    const isKnown = typeof value === "string" || Number.isSafeInteger(value);
    return value !== undefined && isKnown ? [[name, value]] : [];
  });
}

/** The function that a tool choice names. */
export function readChosen(choice: unknown): string | undefined {
  const named = isJsonObject(choice) ? choice["function"] : undefined;
  const name = isJsonObject(named) ? named["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}

const REPAIR = { arguments: "\nArguments: ", errors: "\nErrors: " };

function asksForRepair(text: string): boolean {
  return text.includes("has invalid arguments") && /^Tool: /m.test(text) &&
    text.includes(REPAIR.arguments) && text.includes(REPAIR.errors);
}

/** What the last message wants to be corrected; there are `attempt` messages like it. */
function readRepair(messages: readonly ChatMessage[], attempt: number): RepairReading | undefined {
  const last = messages.at(-1);
  if (last?.role !== "user") return undefined;
  const text = textOf(last.content);
  if (!asksForRepair(text)) return undefined;
  const start = text.indexOf(REPAIR.arguments) + REPAIR.arguments.length;
  const written = parseJson(text.slice(start, text.indexOf(REPAIR.errors, start)));
  const given: JsonObject = isJsonObject(written) ? written : {};
  const values = Object.entries(given).filter((entry): entry is [string, Value] => {
    const [, value] = entry;
    return Number.isSafeInteger(value) || (typeof value === "string" && /^@\w+$/.test(value));
  });
  const name = /^Tool: (.*)$/m.exec(text)?.[1]?.trim() ?? "";
  return { name, arguments: new Map(values), attempt };
}

function readCalls(
  messages: readonly ChatMessage[],
  functions: ReadonlyMap<string, FunctionReading>,
): Pick<Conversation, "calls" | "restated"> {
  const calls: Mutable<CallReading>[] = [];
  const byId = new Map<
    string,
    { readonly reading: Mutable<CallReading>; readonly written: Written }
  >();
  let last: { readonly text: string; readonly answers: string | undefined } | undefined;
  for (const [place, message] of messages.entries()) {
    if (message.role === "assistant") {
      const together: CallReading[] = [];
      for (const { id, function: { name, arguments: given } } of message.tool_calls ?? []) {
        const reading = { name, value: undefined, refusal: undefined, age: undefined };
        together.push(reading);
        calls.push(reading);
        byId.set(id, { reading, written: { given: parseJson(given), together } });
      }
    } else if (message.role === "tool") {
      const call = byId.get(message.tool_call_id);
      const answers = functions.get(call?.reading.name ?? "")?.output?.name;
      const text = textOf(message.content);
      if (call !== undefined) {
        const { reading, written } = call;
        reading.age = messages.length - 1 - place;
        if (answers !== undefined) reading.value = readValue(text, answers);
        if (reading.value === undefined) reading.refusal = whyRefused(written, text, answers);
      }
      last = { text, answers };
    }
  }
  const restated = last === undefined ? [] : readRestated(last.text, last.answers);
  return { calls, restated: new Map(restated) };
}

type Mutable<Type> = { -readonly [Field in keyof Type]: Type[Field] };

/** A call as it was written: its arguments, and all calls of its reply. */
interface Written {
  readonly given: JsonValue | undefined;
  readonly together: readonly CallReading[];
}

/** References look to calls that stand before, whose results have been read by now. */
function whyRefused(
  { given, together }: Written,
  text: string,
  answers: string | undefined,
): CallRefusal {
  if (!isJsonObject(given)) return "malformed";
  const dangles = Object.values(given).some((value) => {
    const [, number] = typeof value === "string" ? /^\$(\d{1,9})\./.exec(value) ?? [] : [];
    return number !== undefined && together[Number(number) - 1]?.value === undefined;
  });
  return dangles ? "dangling" : readRefusal(text, answers);
}

/** All symbols in what was said by either side, in results, and in the arguments of calls. */
function readSymbols(messages: readonly ChatMessage[]): ReadonlySet<string> {
  return new Set(messages.flatMap((message) => {
    const calls: readonly ChatCall[] = message.role === "assistant" ? message.tool_calls ?? [] : [];
    return [textOf(message.content), ...calls.map((call) => call.function.arguments)]
      .flatMap((text) => text.match(/@\w+/g) ?? []);
  }));
}
