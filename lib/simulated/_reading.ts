/**
 * Parses a conversation into plain data: the prompt, the functions, and earlier calls with their results.
 *
 * Every text may be hostile: names are kept in maps, never as keys of objects, and each regular expression
 * takes time linear in the text.
 * @module
 */

import { evaluate } from "../base/arithmetic.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
import type { Reading } from "../models/simulated_name.ts";
import { type FunctionReading, leanOnNames, readFunctions } from "./_functions.ts";
import type { KnownValues } from "./_linking.ts";
import {
  type ChatCall,
  type ChatMessage,
  type ChatRequest,
  contentText,
  stepOf,
  type Value,
} from "./_wire.ts";

/**
 * Why a call has no value: for a reason given by the tool, because its arguments are not a JSON object
 * (`malformed`), or because it refers to a call without a value (`dangling`).
 */
export type CallRefusal = ReadRefusal | "malformed" | "dangling";

/** An earlier call. */
export interface CallReading {
  /** The name called, which may not exist. */
  readonly name: string;
  /**
   * The values returned, by variable; none if the call was refused or is unanswered. The empty name stands
   * for the invented result of a function whose outputs are unknown.
   */
  readonly values: ReadonlyMap<string, Value>;
  /** Why it lacks the value of an output; `undefined` if it lacks none or is unanswered. */
  readonly refusal: CallRefusal | undefined;
  /** How many messages came after its result; `undefined` if it was unanswered. */
  readonly age: number | undefined;
}

/** A request to repair the arguments of a call. */
export interface RepairReading {
  /** The name called. */
  readonly name: string;
  /** Its arguments, as far as they are values. */
  readonly arguments: ReadonlyMap<string, Value>;
  /** How many such requests there are, including this one. */
  readonly attempt: number;
}

/** All information that a simulated model uses. */
export interface ReadConversation extends KnownValues {
  /** The text of the first user message. */
  readonly prompt: string;
  /** The variable requested by the last user message that requests one. */
  readonly target: string | undefined;
  /** The number of messages after the one that gave a variable its value, by variable. */
  readonly ages: ReadonlyMap<string, number>;
  /** The calls so far, in order. */
  readonly calls: readonly CallReading[];
  /** The number of earlier replies with calls. */
  readonly step: number;
  /** Whether the request allows calls. */
  readonly mayCall: boolean;
  /** Whether the request requires a call. */
  readonly mustCall: boolean;
  /** The only function that the request allows, if it names one. */
  readonly chosen: FunctionReading | undefined;
  /** The further values in the last tool message, by variable. */
  readonly restated: ReadonlyMap<string, Value>;
  /** The call that the last message asks to repair, if it does. */
  readonly repair: RepairReading | undefined;
  /** The function in place of which the last message asks for another one, if it does. */
  readonly replaced: string | undefined;
  /** All symbols mentioned, bound or not. */
  readonly symbols: ReadonlySet<string>;
}

/** Parses the body of a request, for a model that leans on `reads` alone if given. */
export function readConversation(request: ChatRequest, reads?: Reading): ReadConversation {
  const { messages, tool_choice: choice } = request;
  const userTexts = messages.flatMap((message, place) =>
    message.role === "user"
      ? [{ text: contentText(message.content), age: messages.length - 1 - place }]
      : []
  );
  // Requests for repairs and other functions are not questions, and they may quote anything.
  const repairs = userTexts.filter(({ text }) => asksForRepair(text)).length;
  const questions = userTexts.filter(({ text }) => !asksForRepair(text) && !asksForOther(text));
  const described = readFunctions((request.tools ?? []).map((tool) => tool.function));
  const named = reads === "names" ? leanOnNames(described) : described;
  const namesTell = questions.some(({ text }) => sayNamesTell(text, reads));
  const corrected = reads === "types" ? new Set<string>() : readCorrected(messages);
  const functions = new Map(
    named.entries().map(([name, one]) => {
      const takesNumbers = reads !== "types" && (namesTell || corrected.has(name));
      return [name, takesNumbers ? { ...one, takesNumbers } : one];
    }),
  );
  const inputs = questions.flatMap(({ text, age }) =>
    readInputs(text).map(([name, value]) => ({ name, value, age }))
  );
  const { calls, restated } = readCalls(messages, functions);
  const returns = calls.flatMap(({ values, age }) =>
    Array.from(values.keys(), (name) => ({ name, age: age! }))
  );
  const chosen = functions.get(readChosen(choice) ?? "");
  return {
    prompt: userTexts[0]?.text ?? "",
    target: questions.map(({ text }) => readTarget(text)).findLast((target) =>
      target !== undefined
    ),
    inputs: new Map(inputs.map(({ name, value }) => [name, value])),
    ages: new Map([...inputs, ...returns].map(({ name, age }) => [name, age])),
    functions,
    namesTell,
    calls,
    restated,
    step: stepOf(messages),
    mayCall: choice !== "none",
    mustCall: choice === "required" || chosen !== undefined,
    chosen,
    repair: readRepair(messages, repairs),
    replaced: readReplaced(messages),
    symbols: readSymbols(messages),
  };
}

/** Whether a question says that the words of names tell types, for a model that reads names. */
export function sayNamesTell(question: string, reads: Reading | undefined): boolean {
  return reads !== "descriptions" &&
    question.includes("second and third words of each variable's name are those of its type");
}

/** The functions of which a refusal says that they take whole numbers. */
function readCorrected(messages: readonly ChatMessage[]): ReadonlySet<string> {
  return new Set(messages.flatMap((message) => {
    if (message.role !== "tool") return [];
    const said = /"Function (\w+) takes exactly these arguments, all of them integers: /
      .exec(contentText(message.content));
    return said === null ? [] : [said[1]!];
  }));
}

/** The variable that a question asks for. */
export function readTarget(question: string): string | undefined {
  return /\bvalue of variable (\w+)/.exec(question)?.[1];
}

/**
 * The values given in a question, by variable: whole numbers, expressions of `+ - * / ( )` with such a
 * result, and names. Numbers in words are not understood, so they count as not given.
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
  return text.includes("has invalid arguments") && NAMED_TOOL.test(text) &&
    text.includes(REPAIR.arguments) && text.includes(REPAIR.errors);
}

function asksForOther(text: string): boolean {
  return text.includes("making it again would not help") && NAMED_TOOL.test(text) &&
    text.includes(REPAIR.arguments) && text.includes(REPAIR.errors);
}

/** Reads the name in the last message if it asks for another function. */
function readReplaced(messages: readonly ChatMessage[]): string | undefined {
  const last = messages.at(-1);
  const text = last?.role === "user" ? contentText(last.content) : "";
  return asksForOther(text) ? NAMED_TOOL.exec(text)![1]!.trim() : undefined;
}

/** The line that names the function of a call, in requests about it. */
const NAMED_TOOL = /^Tool: (.*)$/m;

/** Reads the last message if it requests a repair; there are `attempt` such messages. */
function readRepair(messages: readonly ChatMessage[], attempt: number): RepairReading | undefined {
  const last = messages.at(-1);
  if (last?.role !== "user") return undefined;
  const text = contentText(last.content);
  if (!asksForRepair(text)) return undefined;
  const start = text.indexOf(REPAIR.arguments) + REPAIR.arguments.length;
  const parsed = parseJson(text.slice(start, text.indexOf(REPAIR.errors, start)));
  const args: JsonObject = isJsonObject(parsed) ? parsed : {};
  const values = Object.entries(args).filter((entry): entry is [string, Value] => {
    const [, value] = entry;
    return Number.isSafeInteger(value) || (typeof value === "string" && /^@\w+$/.test(value));
  });
  const name = NAMED_TOOL.exec(text)?.[1]?.trim() ?? "";
  return { name, arguments: new Map(values), attempt };
}

function readCalls(
  messages: readonly ChatMessage[],
  functions: ReadonlyMap<string, FunctionReading>,
): Pick<ReadConversation, "calls" | "restated"> {
  const calls: Mutable<CallReading>[] = [];
  const byId = new Map<
    string,
    { readonly reading: Mutable<CallReading>; readonly context: CallContext }
  >();
  let last: { readonly text: string; readonly answers: readonly string[] } | undefined;
  for (const [place, message] of messages.entries()) {
    if (message.role === "assistant") {
      const siblings: CallReading[] = [];
      for (const { id, function: { name, arguments: given } } of message.tool_calls ?? []) {
        const values = new Map<string, Value>();
        const reading = { name, values, refusal: undefined, age: undefined };
        siblings.push(reading);
        calls.push(reading);
        byId.set(id, { reading, context: { given: parseJson(given), siblings } });
      }
    } else if (message.role === "tool") {
      const call = byId.get(message.tool_call_id);
      const outputs = functions.get(call?.reading.name ?? "")?.outputs.map(({ name }) => name) ??
        [];
      const text = contentText(message.content);
      if (call !== undefined) {
        const { reading, context } = call;
        reading.age = messages.length - 1 - place;
        reading.values = readValues(text, outputs);
        if (outputs.length === 0 || reading.values.size < outputs.length) {
          reading.refusal = findRefusal(context, text, outputs);
        }
      }
      last = { text, answers: outputs };
    }
  }
  const restated = last === undefined ? [] : readRestated(last.text, last.answers);
  return { calls, restated: new Map(restated) };
}

type Mutable<Type> = { -readonly [Field in keyof Type]: Type[Field] };

/** The arguments of a call, and all calls of its reply. */
interface CallContext {
  readonly given: JsonValue | undefined;
  readonly siblings: readonly CallReading[];
}

/** Why a call has no value. References point to earlier calls, whose results are already read. */
function findRefusal(
  { given, siblings }: CallContext,
  text: string,
  answers: readonly string[],
): CallRefusal {
  if (!isJsonObject(given)) return "malformed";
  const dangles = Object.values(given).some((value) => {
    const [, number] = typeof value === "string" ? /^\$(\d{1,9})\./.exec(value) ?? [] : [];
    return number !== undefined && (siblings[Number(number) - 1]?.values.size ?? 0) === 0;
  });
  return dangles ? "dangling" : readRefusal(text, answers);
}

/** All symbols in messages, results and arguments of calls. */
function readSymbols(messages: readonly ChatMessage[]): ReadonlySet<string> {
  return new Set(messages.flatMap((message) => {
    const calls: readonly ChatCall[] = message.role === "assistant" ? message.tool_calls ?? [] : [];
    return [contentText(message.content), ...calls.map((call) => call.function.arguments)]
      .flatMap((text) => text.match(/@\w+/g) ?? []);
  }));
}

/**
 * The values of `variables` in a result, as far as {@linkcode readValue} finds them. A name for a result of
 * several variables leads to each of them by a path, such as `@rooms.bujxe`.
 */
function readValues(text: string, variables: readonly string[]): Map<string, Value> {
  const symbol = variables.length > 1 ? readSymbol(text) : undefined;
  return new Map(variables.flatMap((variable): [string, Value][] => {
    const value = symbol === undefined ? readValue(text, variable) : `${symbol}.${variable}`;
    return value === undefined ? [] : [[variable, value]];
  }));
}

/**
 * The value of `variable` in a result; `undefined` if there is none. If its exact name does not occur, a name
 * that differs only in letter case and underscores is accepted, and broken JSON is read statement by statement.
 * Nothing else is guessed: a value under another name is ignored, and `"ID_512"` is not a whole number.
 */
export function readValue(text: string, variable: string): Value | undefined {
  const symbol = readSymbol(text);
  if (symbol !== undefined) return symbol;
  const parsed = parseJson(text);
  let isOwn = looseMatch(variable);
  // Its own return comes before restated values.
  if (isJsonObject(parsed)) {
    if (Object.hasOwn(parsed, "error")) return undefined;
    if (Object.hasOwn(parsed, variable)) isOwn = (name) => name === variable;
    const key = Object.keys(parsed).find(isOwn);
    const value = key === undefined ? undefined : parsed[key];
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  }
  const found = [...statements(text)];
  const own = found.find(([name]) => name === variable) ?? found.find(([name]) => isOwn(name));
  return own?.[1];
}

/** Why a result has no value: access was denied, the tool is gone or failed, or the call was refused. */
export type ReadRefusal = "denied" | "gone" | "failed" | "refused";

/** Messages of tools that fail (Pipeline, "Error Handling and Retry Logic"). */
const DENIED = /permission denied/i;

const GONE = /no longer exists/i;

const FAILED =
  /tim(?:ed|e) ?out|rate limit|too many requests|not found|\binvalid\b|temporarily unavailable|try again/i;

/** An HTML page, as gateways return in place of a result. */
const PAGE = /^\s*<(?:!doctype|html)\b/i;

/**
 * Why a result has no value for one of `variables`. If it is not a JSON object, the tool failed; but if the
 * variables are unknown, any text other than an HTML page may be a result.
 */
export function readRefusal(text: string, variables: readonly string[]): ReadRefusal {
  const parsed = parseJson(text);
  if (!isJsonObject(parsed)) {
    return variables.length === 0 && !PAGE.test(text) ? "refused" : "failed";
  }
  if (!Object.hasOwn(parsed, "error")) return "refused";
  const { error } = parsed;
  const errorText = typeof error === "bigint" ? "" : JSON.stringify(error);
  if (DENIED.test(errorText)) return "denied";
  if (GONE.test(errorText)) return "gone";
  return FAILED.test(errorText) ? "failed" : "refused";
}

/** Returns a function that checks whether a name equals `variable`, ignoring letter case and underscores. */
function looseMatch(variable: string): (name: string) => boolean {
  const letters = (name: string) => name.replaceAll("_", "").toLowerCase();
  const ownLetters = letters(variable);
  return (name) => letters(name) === ownLetters;
}

/** The values in a result other than those of `variables`, its actual outputs. */
export function readRestated(
  text: string,
  variables: readonly string[],
): ReadonlyMap<string, Value> {
  const found = [...statements(text)];
  if (readSymbol(text) !== undefined) return new Map(found);
  // The first statement of an output is the return; further ones restate it.
  const answers = new Set(variables.map((variable) => {
    const isLike = looseMatch(variable);
    return found.findIndex(([name]) => isLike(name));
  }));
  return new Map(found.filter((_, place) => !answers.has(place)));
}

/** The symbol that is the whole first line of a result, if any. */
function readSymbol(text: string): string | undefined {
  const end = text.indexOf("\n");
  return /^"?(@\w+)"?$/.exec((end === -1 ? text : text.slice(0, end)).trim())?.[1];
}

/** Statements like `aargww = 123`, `"aargww": 123` and `"aargww": "@aargww"`, in order. */
function* statements(text: string): Generator<[string, Value]> {
  const statement =
    /\b([A-Za-z_]\w*)"?[ \t]*[=:][ \t]*(?:(-?\d{1,15})(?!\w|\.\d)|"?(@\w+(?:\.\w+)*))/g;
  for (const [, name, number, symbol] of text.matchAll(statement)) {
    yield [name!, symbol ?? Number(number)];
  }
}
