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

/**
 * The value that a result gives for `variable`; `undefined` if it refuses. A name that differs only in
 * letter case and underscores is taken for the variable's, where its own does not stand, and a text that
 * is broken JSON is read by its statements. Nothing else is guessed: a value under another name says
 * nothing, and a text such as `"ID_512"` is no whole number.
 */
export function readValue(text: string, variable: string): Value | undefined {
  const symbol = readSymbol(text);
  if (symbol !== undefined) return symbol;
  const parsed = parseJson(text);
  let isOwn = likeness(variable);
  // Its own return stands before anything restated.
  if (isJsonObject(parsed)) {
    if (Object.hasOwn(parsed, "error")) return undefined;
    if (Object.hasOwn(parsed, variable)) isOwn = (name) => name === variable;
    const key = Object.keys(parsed).find(isOwn);
    const value = key === undefined ? undefined : parsed[key];
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  }
  const said = [...statements(text)];
  const own = said.find(([name]) => name === variable) ?? said.find(([name]) => isOwn(name));
  return own?.[1];
}

/** Why a result gives no value: the tool may not be used, it failed, or the call was refused. */
export type Refusal = "denied" | "failed" | "refused";

/** What tools say when they fail (Pipeline, "Error Handling and Retry Logic"). */
const DENIED = /permission denied/i;

const FAILED =
  /tim(?:ed|e) ?out|rate limit|too many requests|not found|\binvalid\b|temporarily unavailable|try again/i;

/** A page, such as servers on the way give in place of a result. */
const PAGE = /^\s*<(?:!doctype|html)\b/i;

/**
 * Why a result gives no value for `variable`. Where it is no JSON object, the tool failed; but where no
 * variable is known that it should give, any text may be a result, other than a page.
 */
export function readRefusal(text: string, variable: string | undefined): Refusal {
  const parsed = parseJson(text);
  if (!isJsonObject(parsed)) {
    return variable === undefined && !PAGE.test(text) ? "refused" : "failed";
  }
  if (!Object.hasOwn(parsed, "error")) return "refused";
  const said = JSON.stringify(parsed["error"]);
  if (DENIED.test(said)) return "denied";
  return FAILED.test(said) ? "failed" : "refused";
}

/** Whether a name differs from that of `variable` in nothing but letter case and underscores. */
function likeness(variable: string): (name: string) => boolean {
  const letters = (name: string) => name.replaceAll("_", "").toLowerCase();
  const own = letters(variable);
  return (name) => letters(name) === own;
}

/** The variables whose values a result gives besides that of `variable`, which it answers. */
export function readRestated(
  text: string,
  variable: string | undefined,
): ReadonlyMap<string, Value> {
  const said = [...statements(text)];
  if (readSymbol(text) !== undefined) return new Map(said);
  // The first statement of what it answers is the answer; a further one restates it.
  const isLike = variable === undefined ? () => false : likeness(variable);
  const answer = said.findIndex(([name]) => isLike(name));
  return new Map(said.filter((_, place) => place !== answer));
}

/** The symbol that a result consists of, on its first line. */
function readSymbol(text: string): string | undefined {
  const end = text.indexOf("\n");
  return /^"?(@\w+)"?$/.exec((end === -1 ? text : text.slice(0, end)).trim())?.[1];
}

/** Statements like `aargww = 123`, `"aargww": 123` and `"aargww": "@aargww"`, in order. */
function* statements(text: string): Generator<[string, Value]> {
  const statement = /\b([A-Za-z_]\w*)"?[ \t]*[=:][ \t]*(?:(-?\d{1,15})(?!\w|\.\d)|"?(@\w+))/g;
  for (const [, name, number, symbol] of text.matchAll(statement)) {
    yield [name!, symbol ?? Number(number)];
  }
}
