/**
 * Reply reading: checks the shape of a reply and reads its calls, for both wire formats.
 * @module
 */

import { z } from "zod";
import {
  defined,
  fieldOf,
  isJsonObject,
  type JsonObject,
  jsonText,
  parseJson,
} from "../../base/json.ts";
import type { Usage } from "../../tools/message.ts";
import type { ToolCall, ToolSchema } from "../../tools/tool.ts";
import { unreadable, unreadableCall } from "../formats/_json_calls.ts";
import type { Ending } from "../http/error_meaning.ts";
import type { ModelReply } from "../model.ts";
import type { ReplySource, WireReply } from "./wire_format.ts";

/** Schema of the id of a call. */
export const WIRE_ID = z.union(
  [z.string(), z.number(), z.bigint()],
  "Invalid input: expected string or number",
).nullish();

/** A call as a server sent it, which becomes a {@linkcode ToolCall}. */
export interface WireCall {
  readonly id: z.infer<typeof WIRE_ID>;
  /** A model that writes none makes a call that cannot be read. */
  readonly name?: string | null | undefined;
  /** Mostly a text, which should be a JSON object; some servers parse it. */
  readonly arguments?: unknown;
  /** Whether the arguments are a text of any form, as those of custom calls. */
  readonly isCustom?: boolean;
  /** Whether its form has no ids, so that to be without one is no slip. */
  readonly isLegacy?: boolean;
  /** All fields of a call that may have some to send back; the id of a call is none within its function. */
  readonly fields?: JsonObject;
}

/** Levels of nesting in what a reply carries, at most. */
export const MAX_LEVELS = 100;

/** More tokens than any reply has. */
const MAX_TOKENS = 1e12;

/** Returns the usage with two token counts as a server sent them; `undefined` unless both can be counts. */
export function readUsage(inputTokens: unknown, outputTokens: unknown): Usage | undefined {
  return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : undefined;
}

/** Tokens that a total may have beyond its parts: no context of a model holds more. */
const MAX_BESIDE = 1e7;

/**
 * Returns the tokens in the usage of a reply. A larger total counts what its parts do not: xAI and Gemini count
 * reasoning beside what is written, Anthropic cached tokens beside what is read.
 *
 * @param names The fields of what was read and written.
 */
export function countedUsage(usage: unknown, names: readonly [string, string]): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const [read, written] = names;
  const { total_tokens: total } = usage;
  const known = readUsage(usage[read], usage[written] ?? (isCount(total) ? 0 : undefined));
  if (known === undefined) return undefined;
  const countIn = (value: unknown) => isCount(value) ? value : 0;
  const cached = countIn(usage["cache_read_input_tokens"]) +
    countIn(usage["cache_creation_input_tokens"]);
  const reasoning = countIn(fieldOf(usage[`${written}_details`], "reasoning_tokens"));
  const { inputTokens, outputTokens } = known;
  const isWithin = fieldOf(usage[`${read}_details`], "cached_tokens") !== undefined;
  const own = isWithin ? 0 : cached;
  const beside = isCount(total) ? total - inputTokens - outputTokens : own;
  const believed = beside > 0 && beside <= MAX_BESIDE ? beside : 0;
  const cachedBeside = Math.min(believed, cached);
  // More reasoning than was written is not within it.
  const thought = Math.max(believed - cachedBeside, reasoning > outputTokens ? reasoning : 0);
  return { inputTokens: inputTokens + cachedBeside, outputTokens: outputTokens + thought };
}

function isCount(tokens: unknown): tokens is number {
  return typeof tokens === "number" && tokens >= 0 && tokens <= MAX_TOKENS;
}

/**
 * Returns the answer if it has the shape; `place` is its path in the whole answer.
 *
 * @throws {InfrastructureError} If it does not.
 */
export function parseShape<T>(
  schema: z.ZodType<T>,
  answer: unknown,
  { unusable }: Pick<ReplySource, "unusable">,
  place: readonly PropertyKey[] = [],
): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  // A page at the address of an API is there for every request.
  const isPage = typeof answer === "string" && PAGE.test(answer);
  throw unusable(whyUnusable(answer, parsed.error, place), isPage ? { permanent: "address" } : {});
}

/**
 * Checks that a reply came to its end.
 *
 * @throws {InfrastructureError} If its finish reason says that the server failed.
 */
export function assertEnded(
  { means, finish, reply, fault }: Ending,
  { unusable }: Pick<ReplySource, "unusable">,
  reason: unknown,
): void {
  if (means === undefined || finish !== undefined || reply !== undefined) return;
  throw unusable(`its finish reason is an error: ${reason}`, defined({ fault }));
}

/** The beginning of a page, such as a website has at addresses that are not of its API. */
const PAGE = /^\s*<(?:!|html)/i;

/** Describes what is wrong with an answer. */
function whyUnusable(answer: unknown, error: z.ZodError, place: readonly PropertyKey[]): string {
  if (answer === undefined || answer === null) return "it is empty";
  if (typeof answer === "string") {
    return PAGE.test(answer)
      ? `it is a page (HTML): is this the address of the API? Most end with /v1: ${answer}`
      : `it is text that is no JSON object: ${answer}`;
  }
  // Some routers pass on a provider's error with status 200.
  if (isJsonObject(answer) && isJsonObject(answer["error"])) {
    return `it is an error: ${jsonText(answer["error"])}`;
  }
  return error.issues.map(({ path, message }) =>
    `at ${z.core.toDotPath([...place, ...path]) || "the top"}: ${message}`
  ).join("; ");
}

/** Whether an id may be that of one call; some servers give all of theirs the same. */
export function isOwnId(id: unknown): boolean {
  return id !== undefined && id !== null && !["", "0", "null", "none"].includes(String(id));
}

/**
 * Returns the items without those that repeat a call, which a server has sent twice: with the same id, name and
 * arguments. A name in place of an id is none.
 *
 * @param callOf Returns the call that an item is, if any.
 */
export function withoutRepeats<T>(
  items: readonly T[],
  callOf: (item: T) => WireCall | undefined,
): T[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const { id, name, arguments: written } = callOf(item) ?? { id: null };
    if (!isOwnId(id) || id === name) return true;
    return seen.size < seen.add(JSON.stringify([id, name, written])).size;
  });
}

/**
 * Returns the calls. Missing ids and arguments are added, and ids of other calls are replaced.
 */
export function readCalls(
  wireCalls: readonly WireCall[],
  { tools, isTaken = () => false }: Pick<ReplySource, "tools" | "isTaken">,
): Pick<ModelReply, "calls" | "repairs" | "parsed"> {
  const given = new Set(wireCalls.map(({ id }) => `${id ?? ""}`));
  const used = new Set<string>();
  const repairs: string[] = [];
  const calls = wireCalls.map((call, index): ToolCall => {
    const position = index + 1;
    let id = `${call.id ?? ""}`;
    // Ids distinguish results, including those of earlier replies.
    if (id === "" || used.has(id) || isTaken(id)) {
      const flaw = id === "" ? "no id" : `the id of an${used.has(id) ? "other" : " earlier"} call`;
      id = freeId(position, (one) => given.has(one) || used.has(one) || isTaken(one));
      if (!call.isLegacy) repairs.push(`call ${position} had ${flaw} and was given ${id}`);
    } else if (typeof call.id === "number" || typeof call.id === "bigint") {
      repairs.push(`call ${position} had a number for an id, which was written as text`);
    }
    used.add(id);
    const name = call.name ?? "";
    const { arguments: written, repair } = call.isCustom && typeof call.arguments === "string"
      ? { arguments: call.arguments }
      : readArguments(call.arguments, name, tools);
    if (repair !== undefined) repairs.push(`call ${position} had ${repair}`);
    return { id, name, arguments: written };
  });
  if (calls.length === 0) return { calls, repairs };
  const readable = calls.every((call, place) =>
    wireCalls[place]!.isCustom || isJsonObject(parseJson(call.arguments))
  );
  const parsed = !readable ? "unreadable" : repairs.length > 0 ? "repaired" : "strict";
  return { calls, repairs, parsed };
}

/** Returns an id for the call at a position, from 1. */
function freeId(position: number, isTaken: (id: string) => boolean): string {
  let id = `call_${position}`;
  for (let suffix = 2; isTaken(id); suffix++) id = `call_${position}_${suffix}`;
  return id;
}

/** Returns arguments as text, and the repair that was made. */
function readArguments(
  given: unknown,
  name: string,
  tools: readonly ToolSchema[],
): { readonly arguments: string; readonly repair?: string | undefined } {
  if (given === undefined || given === null) {
    return { arguments: "{}", repair: "no arguments and was given {}" };
  }
  if (typeof given !== "string") {
    // Only an object can be meant; anything else the model wrote itself.
    const repair = "an object for arguments, which was written as text";
    return { arguments: jsonText(given), repair: isJsonObject(given) ? repair : undefined };
  }
  if (given.trim() !== "" || !tools.some((tool) => tool.name === name && needsNothing(tool))) {
    return { arguments: given };
  }
  return { arguments: "{}", repair: "an empty text for arguments and was given {}" };
}

/** Whether a tool can be called without arguments, as far as its schema says so plainly. */
function needsNothing({ parameters }: ToolSchema): boolean {
  const { required } = parameters;
  return (required === undefined || (Array.isArray(required) && required.length === 0)) &&
    !DEMANDING.some((keyword) => Object.hasOwn(parameters, keyword));
}

/** Keywords by which a schema may refuse an empty object. */
const DEMANDING = [
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "minProperties",
  "const",
  "enum",
];

/**
 * Returns the reply of a model that meant to call a function, of which its server could read nothing: a reply
 * like any other, as asking again would draw a better one. It makes one unreadable call of the function that
 * `generated` names, or else of one without a name, as text formats do.
 *
 * @param generated What the model wrote, if the server says so, or else an empty text.
 */
export function unreadableReply(
  generated: string,
  { tools, hide, isTaken = () => false }: Pick<ReplySource, "tools" | "hide" | "isTaken">,
  { text = "", usage, served = "" }: Partial<Pick<WireReply, "text" | "usage" | "served">> = {},
): WireReply {
  const written = hide(generated);
  const call = callWithin(written, tools.map(({ name }) => name));
  return {
    text: hide(text),
    calls: [{ ...call, id: freeId(1, isTaken) }],
    finish: "calls",
    usage,
    served: hide(served),
    repairs: [],
    parsed: "unreadable",
    ...(written === "" ? {} : { written }),
  };
}

/**
 * Returns the name and the arguments in the text of a call, as far as they can be found. The arguments are no
 * JSON object, so that no environment carries the call out: its server has refused it.
 */
function callWithin(text: string, names: readonly string[]): Omit<ToolCall, "id"> {
  const { name, arguments: written } = partsWithin(text, names);
  const isWhole = !isJsonObject(parseJson(text));
  return {
    name,
    arguments: isWhole && isJsonObject(parseJson(written)) ? text.trim() : unreadable(written),
  };
}

function partsWithin(text: string, names: readonly string[]): Omit<ToolCall, "id"> {
  const tag = FUNCTION_TAG.exec(text);
  if (tag !== null) {
    const behind = text.slice(tag.index + tag[0].length);
    return { name: tag[1]!, arguments: behind.replace(/^[\s>"',)]+/, "").replace(CLOSING, "") };
  }
  const { name, arguments: written } = unreadableCall(text);
  if (name !== "") return { name, arguments: written };
  // Code, such as `print(default_api.add(left=1))`, or words.
  const found = names.map((name) => ({ name, at: placeOf(name, text) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at || other.name.length - one.name.length);
  return { name: found[0]?.name ?? "", arguments: text.trim() };
}

/** Llama's form, in which Groq's models write calls: `<function=add>{"left": 1}</function>`. */
const FUNCTION_TAG = /<function\s{0,9}[=(:]\s{0,9}["']?([^\s"'<>{}()[\],]{1,300})/;
const CLOSING = /\s*<\/function>\s*$/;
/** Characters searched for the names of functions, at most. */
const REACH = 10_000;

/** Returns where a name stands in a text as a whole word; -1 if it does not. */
function placeOf(name: string, text: string): number {
  if (name === "") return -1;
  const beginning = text.slice(0, REACH);
  const isPart = (at: number) => /[\p{L}\p{N}_]/u.test(beginning[at] ?? "");
  for (let at = beginning.indexOf(name); at >= 0; at = beginning.indexOf(name, at + 1)) {
    if (!isPart(at - 1) && !isPart(at + name.length)) return at;
  }
  return -1;
}

/**
 * Returns a name as it is sent back: OpenAI refuses other characters in it, and longer ones. What the model wrote
 * is in the result that says that there is no such function.
 */
function sendableName(name: string): string {
  return name === "" ? NAMELESS : name.slice(0, 64).replaceAll(/[^\w-]/g, "_");
}

/** The name of a call without one, when it is sent back. */
const NAMELESS = "unreadable_call";

/**
 * Returns name and arguments of a call as they are sent back. Servers parse the calls of earlier replies (vLLM,
 * SGLang, llama.cpp, Ollama), and refuse every further request once there is one that a model wrote wrongly:
 * the fault of the model would look like one of the server. So arguments that are no JSON object go back
 * within one.
 */
export function sendableCall(
  { name, arguments: written }: Omit<ToolCall, "id">,
  offered: readonly ToolSchema[] = [],
): Omit<ToolCall, "id"> {
  return {
    name: offered.some((tool) => tool.name === name) ? name : sendableName(name),
    arguments: isJsonObject(parseJson(written))
      ? written
      : written.trim() === ""
      ? "{}"
      : JSON.stringify({ unreadable: written }),
  };
}
