/**
 * Event streams: puts a streamed reply (server-sent events) together into the body that the server would have sent
 * whole. Nothing is judged here: what is wrong with the reply stays wrong in the body.
 *
 * Servers differ in how they stream calls:
 *
 * | deviation | whose |
 * | --- | --- |
 * | no `index`, or 0 for each call | Gemini; LMDeploy, SGLang, gateways |
 * | the name, and perhaps the id, in each chunk | MiniMax at NVIDIA, Fireworks |
 * | another id in later chunks | Poolside |
 * | a call begins at the index of an earlier one and goes on at its own | DeepSeek behind a gateway |
 * | arguments as an object | MiniMax |
 * | usage in a choice, or in `x_groq` | Moonshot; Groq |
 * | a completed response without its output | ChatGPT's Codex server, gateways |
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @see https://platform.openai.com/docs/api-reference/chat-streaming
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 * @see https://github.com/openai/openai-python/issues/2806
 * @see https://github.com/InternLM/lmdeploy/issues/3412
 * @see https://github.com/NousResearch/hermes-agent/issues/8259
 * @see https://github.com/poolsideai/pool/issues/9
 * @see https://github.com/agno-agi/agno/pull/8880
 * @see https://github.com/can1357/oh-my-pi/pull/1779
 * @see https://github.com/BerriAI/litellm/pull/32724
 * @module
 */

import {
  defined,
  isJsonObject,
  isObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../base/json.ts";
import type { WireApi } from "./wire_format.ts";

/**
 * Returns the body of a streamed reply as if it had been sent whole, unchecked: readers of bodies refuse it where it
 * has the wrong shape. An error anywhere in the stream, an event that is no JSON and a stream that ends before its
 * reply give a body with an `error`, which readers refuse as well.
 *
 * A chat completion is complete with a finish reason or `[DONE]`; a response with the event that contains it whole.
 * A text without events is returned as the JSON that it is, or else as it is: servers that do not stream answer so.
 * Takes time in proportion to the text.
 *
 * @param text All of the stream, of which the caller limits the length.
 */
export function wholeBody(api: WireApi, text: string): unknown {
  const { add, whole } = api === "chat" ? streamedCompletion() : streamedResponse();
  let isDone = false;
  let hasEvents = false;
  let error: JsonObject | undefined;
  for (const { name, data } of eventsIn(text)) {
    hasEvents = true;
    isDone = data.trim() === "[DONE]";
    if (isDone) break;
    if (data.trim() === "") continue;
    const chunk = parseJson(data);
    if (chunk === undefined) return failure("an event of the stream is no JSON");
    // Whatever else keeps a connection open.
    if (!isJsonObject(chunk)) continue;
    error ??= errorIn(name, chunk);
    add(chunk, name);
  }
  if (!hasEvents && !NOTHING.test(text)) return parseJson(text) ?? text;
  const body = whole(isDone);
  if (error !== undefined) return { ...body, error };
  return body ?? failure("the stream ended before its reply was complete");
}

/** A text of blanks, or one that begins with a comment. */
const NOTHING = /^\s*(?::|$)/;

/** A reply that is put together. */
interface StreamedReply {
  /** Adds one chunk; `name` is the type of its event. */
  readonly add: (chunk: JsonObject, name: string) => void;
  /** Returns the body; `undefined` if the reply is not complete. */
  readonly whole: (isDone: boolean) => JsonObject | undefined;
}

/** The body of a reply that cannot be used. */
function failure(message: string): JsonObject {
  return { error: { message } };
}

/** Returns the error in a chunk, as an object. */
function errorIn(name: string, chunk: JsonObject): JsonObject | undefined {
  const { error, x_groq: groq } = chunk;
  const said = error ?? (isJsonObject(groq) ? groq["error"] : undefined);
  if (said !== undefined && said !== null) return isJsonObject(said) ? said : { message: said };
  const isError = [name, chunk["type"], chunk["object"]].includes("error");
  return isError ? chunk : undefined;
}

/** The events of a stream that have data. */
function* eventsIn(text: string): Generator<{ readonly name: string; readonly data: string }> {
  let name = "";
  let lines: string[] = [];
  for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|\r|\n|$)/g)) {
    const colon = line.indexOf(":");
    const end = line.trimEnd().length;
    // A byte order mark may begin the stream.
    const field = line.slice(0, colon < 0 ? end : colon).replace(/^\uFEFF/, "");
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ |[\r\n]+$/g, "");
    if (field === "event") name = value;
    if (field === "data") lines.push(value);
    // The last event may lack the empty line that ends the others.
    if (!/^[\r\n]*$/.test(line)) continue;
    for (const data of dataOf(lines)) yield { name, data };
    [name, lines] = ["", []];
  }
}

/** Joins the data lines of an event, unless each is an event of its own: some servers end them with one line break. */
function dataOf(lines: readonly string[]): readonly string[] {
  if (lines.length < 2) return lines;
  const data = lines.join("\n");
  return parseJson(data) === undefined ? lines : [data];
}

/** Whether a value says anything: fields without a value come with every chunk of some servers. */
function isSaid(value: JsonValue | undefined): value is JsonValue {
  if (value === undefined || value === null || value === "") return false;
  return !isObject(value) || Object.keys(value).length > 0;
}

/** Sets the fields that say anything, apart from some. */
function setFields(
  target: Map<string, JsonValue>,
  fields: JsonObject,
  except: readonly string[] = [],
): void {
  for (const [key, value] of Object.entries(fields)) {
    if (isSaid(value) && !except.includes(key)) target.set(key, value);
  }
}

// Chat completions.

function streamedCompletion(): StreamedReply {
  const top = new Map<string, JsonValue>();
  const choice = new Map<string, JsonValue>();
  const message = new Map<string, JsonValue>();
  const calls = streamedCalls();
  const legacy = functionParts();
  let [hasChoice, hasDelta] = [false, false];
  let groqUsage: JsonValue | undefined;

  const addDelta = (delta: JsonObject) => {
    hasDelta ||= isSaid(delta);
    for (const [key, value] of Object.entries(delta)) {
      if (key === "tool_calls" && Array.isArray(value)) value.forEach(calls.add);
      else if (key === "function_call" && isJsonObject(value)) legacy.add(value);
      else if (key === "role") message.set(key, value);
      else message.set(key, joined(message.get(key), value));
    }
  };
  const add = (chunk: JsonObject) => {
    const { choices, x_groq: groq } = chunk;
    setFields(top, chunk, ["choices", "x_groq"]);
    if (isJsonObject(groq) && isSaid(groq["usage"])) groqUsage = groq["usage"];
    for (const one of Array.isArray(choices) ? choices : []) {
      if (!isJsonObject(one) || (one["index"] ?? 0) !== 0) continue;
      hasChoice = true;
      setFields(choice, one, ["index", "delta", "logprobs"]);
      if (isJsonObject(one["delta"])) addDelta(one["delta"]);
    }
  };
  const whole = (isDone: boolean): JsonObject | undefined => {
    if (!isDone && !choice.has("finish_reason")) return undefined;
    const { message: sent, usage: choiceUsage, ...rest } = Object.fromEntries(choice);
    const toolCalls = calls.whole();
    const built: JsonObject = {
      ...Object.fromEntries(message),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      ...defined({ function_call: legacy.whole() }),
    };
    return {
      ...Object.fromEntries(top),
      object: "chat.completion",
      // Some servers send the whole message in a single chunk.
      choices: hasChoice ? [{ ...rest, index: 0, message: hasDelta ? built : sent ?? built }] : [],
      ...defined({ usage: top.get("usage") ?? choiceUsage ?? groqUsage }),
    };
  };
  return { add, whole };
}

/** Text fields of parts that are streamed in pieces. */
const PIECES = ["text", "summary", "thinking"];

/** Levels at which lists of parts are joined: content, and the thinking in it. */
const MAX_LEVELS = 2;

/** Joins two values of one field: texts, and lists of parts; of other values the later one holds. */
function joined(
  before: JsonValue | undefined,
  after: JsonValue,
  levels: number = MAX_LEVELS,
): JsonValue {
  if (!isSaid(after)) return before ?? after;
  if (!isSaid(before)) return after;
  if (typeof before === "string" && typeof after === "string") return before + after;
  const [parts, added] = [partsOf(before), partsOf(after)];
  if (parts === undefined || added === undefined) return after;
  const [first] = added;
  const last = parts.at(-1);
  const isMore = levels > 0 && isJsonObject(last) && isJsonObject(first) && goesOn(last, first);
  if (isMore) {
    for (const [key, value] of Object.entries(first)) {
      if (PIECES.includes(key)) last[key] = joined(last[key], value, levels - 1);
      // An assignment would be to its prototype.
      else if (isSaid(value) && key !== "__proto__") last[key] = value;
    }
  }
  for (const part of isMore ? added.slice(1) : added) parts.push(part);
  return parts;
}

function partsOf(value: JsonValue): JsonValue[] | undefined {
  if (typeof value === "string") return [{ type: "text", text: value }];
  return Array.isArray(value) ? value : undefined;
}

/** Whether a part goes on with the last one: of the same type, and in the same place as far as that is said. */
function goesOn(last: JsonObject, part: JsonObject): boolean {
  return last["type"] === part["type"] && last["index"] === part["index"] &&
    (!isSaid(last["id"]) || !isSaid(part["id"]) || last["id"] === part["id"]) &&
    PIECES.some((key) => last[key] !== undefined && part[key] !== undefined);
}

/** A function's name and arguments that are put together. */
interface FunctionParts {
  readonly add: (given: JsonObject) => void;
  /** Whether the arguments are the text of a JSON object that came in one piece. */
  readonly isOnePiece: () => boolean;
  /** The arguments so far. */
  readonly written: () => JsonValue | undefined;
  /** Returns the function; `undefined` if there was none. */
  readonly whole: () => JsonObject | undefined;
}

function functionParts(): FunctionParts {
  const fields = new Map<string, JsonValue>();
  let [isThere, isOnePiece] = [false, false];
  return {
    add(given) {
      isThere = true;
      for (const [key, value] of Object.entries(given)) {
        const before = fields.get(key);
        if (!isSaid(value)) {
          // Whether there was an empty text or nothing makes a difference.
          if (value !== null && before === undefined) fields.set(key, value);
        } else if (key === "arguments") {
          isOnePiece = !isSaid(before) && isObjectWritten(value);
          const isText = typeof before === "string" && typeof value === "string";
          fields.set(key, isText ? before + value : value);
        } else if (key === "name") {
          fields.set(key, joinedName(before, value));
        } else {
          fields.set(key, value);
        }
      }
    },
    isOnePiece: () => isOnePiece,
    written: () => fields.get("arguments"),
    whole: () => isThere ? Object.fromEntries(fields) : undefined,
  };
}

/** Joins a name: whole in each chunk, longer in each, or in pieces. */
function joinedName(before: JsonValue | undefined, after: JsonValue): JsonValue {
  if (typeof before !== "string" || typeof after !== "string") return after;
  if (before === after) return before;
  return after.length > before.length && after.startsWith(before) ? after : before + after;
}

function isObjectWritten(value: JsonValue | undefined): boolean {
  return typeof value === "string" && isJsonObject(parseJson(value));
}

/** A call that is put together. */
interface StreamedCall {
  readonly fields: Map<string, JsonValue>;
  readonly func: FunctionParts;
  /** Its place; omitted if the server says none. */
  readonly index?: number;
}

/** The calls of a message that are put together. */
function streamedCalls(): {
  readonly add: (given: JsonValue) => void;
  readonly whole: () => JsonValue[];
} {
  const calls: StreamedCall[] = [];
  const odd: JsonValue[] = [];
  const byIndex = new Map<number, StreamedCall>();
  const byId = new Map<JsonValue, StreamedCall>();
  // Whether calls have begun at the index of another one.
  let isMixed = false;

  const begin = (index: number | undefined) => {
    const call = { fields: new Map(), func: functionParts(), index };
    calls.push(call);
    return call;
  };
  /** Returns the call that a chunk is a part of, a new one if need be; `undefined` if it only repeats one. */
  const callOf = (
    { id, index: place, function: func }: JsonObject,
  ): StreamedCall | undefined => {
    const index = typeof place === "number" ? place : undefined;
    const { name, arguments: written } = isJsonObject(func) ? func : {} as JsonObject;
    const isNamed = isSaid(name);
    const held = index === undefined ? undefined : byIndex.get(index);
    const known = isSaid(id) ? byId.get(id) : undefined;
    if (index !== undefined && held === undefined) {
      const last = isMixed && !isSaid(id) ? calls.at(-1) : undefined;
      return (isNamed ? undefined : known ?? last) ?? begin(index);
    }
    // The one that this goes on with, if it is no new call.
    const call = known ?? (isSaid(id) && held === undefined ? undefined : held ?? calls.at(-1));
    if (call === undefined || !isNamed) return call ?? begin(index);
    const isWhole = isObjectWritten(written);
    if (isWhole && known !== undefined && written === call.func.written()) return undefined;
    const isRepeated = isWhole && call.func.isOnePiece();
    const isOther = isSaid(id) && known === undefined && isSaid(call.fields.get("id"));
    // Without an index and an id, a name begins a call.
    if (!isRepeated && !isOther && (held ?? known) !== undefined) return call;
    isMixed ||= held !== undefined;
    return begin(index);
  };
  return {
    add(given) {
      if (!isJsonObject(given)) {
        odd.push(given);
        return;
      }
      const call = callOf(given);
      if (call === undefined) return;
      const { id, index, function: func } = given;
      if (isSaid(id)) byId.set(id, call);
      if (typeof index === "number") byIndex.set(index, call);
      setFields(call.fields, given, ["id", "index", "function"]);
      if (id !== undefined && id !== null && !isSaid(call.fields.get("id"))) {
        call.fields.set("id", id);
      }
      if (isJsonObject(func)) call.func.add(func);
      else if (isSaid(func)) call.fields.set("function", func);
    },
    whole() {
      const isOrdered = !isMixed && calls.every(({ index }) => index !== undefined);
      const ordered = isOrdered ? calls.toSorted((one, other) => one.index! - other.index!) : calls;
      return [
        ...ordered.map(({ fields, func }): JsonObject => ({
          ...Object.fromEntries(fields),
          ...defined({ function: func.whole() }),
        })),
        // A reader refuses them.
        ...odd,
      ];
    },
  };
}

// Responses.

/** Events that contain a whole response, and its status. */
const ENDS: ReadonlyMap<JsonValue, string> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
  ["response.failed", "failed"],
]);

function streamedResponse(): StreamedReply {
  const items: { readonly item: JsonValue; readonly place: number }[] = [];
  let body: JsonObject | undefined;
  return {
    add(chunk, name) {
      const { type = name, response, item, output_index: place } = chunk;
      if (type === "response.output_item.done" && item !== undefined) {
        items.push({ item, place: typeof place === "number" ? place : items.length });
      }
      const status = ENDS.get(type);
      if (status === undefined || !isJsonObject(response)) return;
      body = { ...response, status: status === "failed" ? status : response["status"] ?? status };
      const { output } = response;
      if (output === undefined || output === null || (Array.isArray(output) && !isSaid(output))) {
        body["output"] = items.toSorted((one, other) => one.place - other.place)
          .map((one) => one.item);
      }
    },
    whole: () => body,
  };
}
