/**
 * Bodies of replies: reads one by what it is, whatever it is marked as, and puts a streamed reply (server-sent events)
 * together into the body that the server would have sent whole. Nothing is judged here: what is wrong with the reply
 * stays wrong in the body.
 *
 * Servers differ in how they stream calls:
 *
 * | deviation | whose |
 * | --- | --- |
 * | no `index`, or 0 for each call | Gemini; LMDeploy, SGLang, gateways |
 * | the name, and perhaps the id, in each chunk | MiniMax at NVIDIA, Fireworks |
 * | another id in later chunks, or a new id and index in each | Poolside; LM Studio |
 * | one call at two indexes, with one id | LocalAI |
 * | `{}` before the arguments | Anthropic's models behind LiteLLM |
 * | the whole arguments once more, or all so far in each chunk | vLLM's last chunk; gateways |
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
 * @see https://github.com/BerriAI/litellm/issues/4537
 * @see https://github.com/mudler/LocalAI/issues/9722
 * @see https://github.com/NousResearch/hermes-agent/pull/5331
 * @module
 */

import {
  canonicalJson,
  defined,
  fieldOf,
  isJsonObject,
  isObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../base/json.ts";
import { isOwnId } from "./reading.ts";
import type { WireApi } from "./wire_format.ts";

/**
 * Returns the body of a reply as if it had been sent whole, unchecked: readers of bodies refuse it where it has the
 * wrong shape. What the text is decides: JSON, also between comments and `[DONE]`; events; chunks on lines of their
 * own; or else the text as it is, and `undefined` for one of blanks.
 *
 * An error anywhere in a stream, an event that is no JSON and a stream that ends before its reply give a body with an
 * `error`, which readers refuse as well, as does one whose call may be there once or twice. A chat completion is
 * complete with a finish reason or `[DONE]`; a response with the event that contains it whole. Takes time in proportion
 * to the text.
 *
 * @param text All of the body, of which the caller limits the length.
 */
export function wholeBody(api: WireApi, text: string): unknown {
  const sent = text.replace(/^\uFEFF/, "");
  const json = parseJson(sent) ?? parseJson(sent.replaceAll(BESIDE_JSON, ""));
  if (json !== undefined) return json;
  if (/^\s*(?:<|$)/.test(sent)) return sent.trim() === "" ? undefined : sent;
  const { add, whole } = api === "chat" ? streamedCompletion() : streamedResponse();
  let isDone = false;
  let hasEvents = false;
  let error: JsonObject | undefined;
  for (const { name, data } of eventsIn(sent)) {
    hasEvents = true;
    isDone = /^\s*\[?done\]?\s*$/i.test(data);
    if (isDone) break;
    if (data.trim() === "") continue;
    const chunk = parseJson(data);
    // What another event than a reply's says may be words.
    if (chunk === undefined && OTHER_EVENT.test(name)) continue;
    if (chunk === undefined) return failure("an event of the stream is no JSON");
    // Whatever else keeps a connection open.
    if (!isJsonObject(chunk)) continue;
    error ??= errorIn(name, chunk);
    add(chunk, name);
  }
  if (!hasEvents && !/^\s*:/.test(sent)) return sent;
  const body = whole(isDone);
  if (error !== undefined) return { ...body, error };
  return body ?? failure("the stream ended before its reply was complete");
}

/** Names of events that have nothing of a reply. */
const OTHER_EVENT = /^(?!(?:message|error|data|response\..*|chat\..*|)$)/;

/** What stands around JSON that is sent as a stream: comments, and its end. */
const BESIDE_JSON = /^(?::.*|data: ?\[DONE\]\s*)$/gm;

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
  const said = chunk["error"] ?? fieldOf(chunk["x_groq"], "error");
  if (isSaid(said) && said !== false) return isJsonObject(said) ? said : { message: said };
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
    const field = line.slice(0, colon < 0 ? end : colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ |[\r\n]+$/g, "");
    if (field === "event") name = value;
    if (field === "data") lines.push(value);
    if (field === "error") {
      yield { name: field, data: JSON.stringify({ error: parseJson(value) ?? value }) };
    }
    // Some servers forget the field, above all for errors.
    if (line.startsWith("{") && isObjectWritten(line)) yield { name: "", data: line };
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
  const legacy = new FunctionParts();
  let [hasChoice, hasDelta] = [false, false];
  let groqUsage: JsonValue | undefined;

  const addDelta = (delta: JsonObject, isLast: boolean) => {
    for (const [key, value] of Object.entries(delta)) {
      hasDelta ||= key !== "role" && isSaid(value);
      if (key === "tool_calls" && Array.isArray(value)) {
        for (const given of value) calls.add(given, isLast);
      } else if (key === "function_call" && isJsonObject(value)) legacy.add(value, isLast);
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
      if (isJsonObject(one["delta"])) addDelta(one["delta"], isSaid(one["finish_reason"]));
    }
  };
  const whole = (isDone: boolean): JsonObject | undefined => {
    if (!isDone && !choice.has("finish_reason")) return undefined;
    const { message: sent, usage: choiceUsage, ...rest } = Object.fromEntries(choice);
    const toolCalls = calls.whole();
    const isDoubtful = [...toolCalls, { function: legacy.whole() }]
      .some((call) => isJsonObject(call) && call["function"] === null);
    if (isDoubtful) return failure("the stream repeats a part, or its model does");
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

/** Arguments as a chunk has them; marked where it also has the name or the end, which no model writes. */
interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

/** A function's name and arguments that are put together. */
class FunctionParts {
  /** The arguments, as far as they are text. */
  pieces: Piece[] = [];
  readonly #fields = new Map<string, JsonValue>();
  #isThere = false;
  // The text of a custom call is its input.
  #textKey = "arguments";

  get name(): JsonValue | undefined {
    return this.#fields.get("name");
  }

  add(given: JsonObject, isLast: boolean): void {
    this.#isThere = true;
    for (const [key, value] of Object.entries(given)) {
      if (!isSaid(value)) {
        // Whether there was an empty text or nothing makes a difference.
        if (value !== null && !this.#fields.has(key)) this.#fields.set(key, value);
      } else if ((key === "arguments" || key === "input") && typeof value === "string") {
        this.#textKey = key;
        this.pieces.push({ text: value, isMarked: isLast || isSaid(given["name"]) });
      } else if (key === "name") {
        this.#fields.set(key, joinedName(this.name, value));
      } else {
        if (key === "arguments") this.pieces = [];
        this.#fields.set(key, value);
      }
    }
  }

  /** Returns the function; `undefined` if there was none, `null` if nobody knows what its arguments are. */
  whole(): JsonObject | null | undefined {
    if (!this.#isThere) return undefined;
    const fields = Object.fromEntries(this.#fields);
    if (this.pieces.length === 0) return fields;
    const text = this.#textKey === "input" ? joinedText(this.pieces) : argumentsIn(this.pieces);
    return text === undefined ? null : { ...fields, [this.#textKey]: text };
  }
}

function joinedText(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join("");
}

/** Arguments that a server may send before it has any. */
const NONE_YET = ["{}", "null"];

/**
 * Returns the arguments in pieces: all of them, unless that is no JSON object and the pieces show that a server sent
 * something before them, or some of them again. `undefined` if the model may as well have written that.
 */
function argumentsIn(pieces: readonly Piece[]): string | undefined {
  const all = joinedText(pieces);
  const last = pieces.at(-1);
  if (pieces.length < 2 || last === undefined || isObjectWritten(all)) return all;
  const begin = pieces.findIndex(({ text }) => !NONE_YET.includes(text.trim()));
  const own = begin < 0 ? pieces.slice(-2) : pieces.slice(begin);
  const isBegun = begin <= 0 || pieces[0]!.isMarked;
  const rest = joinedText(own);
  if (isObjectWritten(rest)) return isBegun ? rest : undefined;
  if (!isObjectWritten(last.text)) return all;
  const before = joinedText(own.slice(0, -1));
  if (isSameObject(before, last.text)) {
    return isBegun && (own.length > 2 || own[0]!.isMarked || last.isMarked) ? last.text : undefined;
  }
  const grows = own.every(({ text }, place) =>
    place === 0 || text.startsWith(own[place - 1]!.text)
  );
  return !grows ? all : isBegun ? last.text : undefined;
}

/** Whether two texts are the same JSON object; one of them is known to be an object. */
function isSameObject(text: string, object: string): boolean {
  return text === object ||
    isObjectWritten(text) && canonicalJson(parseJson(text)) === canonicalJson(parseJson(object));
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
function streamedCalls() {
  const calls: StreamedCall[] = [];
  const odd: JsonValue[] = [];
  const byIndex = new Map<number, StreamedCall>();
  const byId = new Map<JsonValue, StreamedCall>();
  // Whether calls have begun at the index of another one.
  let isMixed = false;

  const begin = (index: number | undefined) => {
    const call: StreamedCall = { fields: new Map(), func: new FunctionParts(), index };
    calls.push(call);
    return call;
  };
  /** Returns the call that a chunk is a part of, a new one if need be. */
  const callOf = (id: JsonValue | undefined, index: number | undefined, func: JsonObject) => {
    const isNamed = isSaid(func["name"]);
    const held = index === undefined ? undefined : byIndex.get(index);
    const known = isSaid(id) ? byId.get(id) : undefined;
    if (index !== undefined && held === undefined) {
      const last = isMixed && !isSaid(id) ? calls.at(-1) : undefined;
      return (isNamed ? undefined : known ?? last) ?? begin(index);
    }
    // The one that this goes on with, if it is no new call.
    const call = known ?? (isSaid(id) && held === undefined ? undefined : held ?? calls.at(-1));
    if (call === undefined || !isNamed) return call ?? begin(index);
    const { pieces } = call.func;
    const isRepeated = isObjectWritten(func["arguments"]) && pieces.length === 1 &&
      isObjectWritten(pieces[0]!.text);
    const isOther = isSaid(id) && known === undefined && isSaid(call.fields.get("id"));
    // Without an index and an id, a name begins a call.
    if (!isRepeated && !isOther && (held ?? known) !== undefined) return call;
    isMixed ||= held !== undefined;
    return begin(index);
  };
  return {
    add(given: JsonValue, isLast: boolean): void {
      if (!isJsonObject(given)) {
        odd.push(given);
        return;
      }
      const { id, index: place, function: func, custom } = given;
      const said = isJsonObject(func) ? func : isJsonObject(custom) ? custom : undefined;
      const index = typeof place === "string" && /^\d{1,9}$/.test(place) ? Number(place) : place;
      const call = callOf(id, typeof index === "number" ? index : undefined, said ?? {});
      if (isSaid(id)) byId.set(id, call);
      if (typeof index === "number") byIndex.set(index, call);
      setFields(call.fields, given, ["id", "index", "function", "custom"]);
      if (id !== undefined && id !== null && !isSaid(call.fields.get("id"))) {
        call.fields.set("id", id);
      }
      if (said === custom && said !== undefined) call.fields.set("custom", {});
      if (said !== undefined) call.func.add(said, isLast);
      else if (isSaid(func)) call.fields.set("function", func);
    },
    whole(): JsonValue[] {
      const isOrdered = !isMixed && calls.every(({ index }) => index !== undefined);
      const ordered = isOrdered ? calls.toSorted((one, other) => one.index! - other.index!) : calls;
      return [
        ...united(united(ordered, splitKeys(ordered), joinedText), idKey, argumentsIn).map(
          ({ fields, func }): JsonObject => {
            const said = func.whole();
            if (said !== undefined) fields.set(fields.has("custom") ? "custom" : "function", said);
            return Object.fromEntries(fields);
          },
        ),
        // A reader refuses them.
        ...odd,
      ];
    },
  };
}

/** Puts calls with one key together where `textOf` makes the arguments of one call of their pieces. */
function united(
  calls: readonly StreamedCall[],
  keyOf: (call: StreamedCall) => unknown,
  textOf: typeof argumentsIn,
): StreamedCall[] {
  const gone = new Set<StreamedCall>();
  for (const [first, ...others] of Map.groupBy(calls, keyOf).values()) {
    if (others.length === 0) continue;
    const pieces = [first!, ...others].flatMap(({ func }) => func.pieces);
    if (!isObjectWritten(textOf(pieces))) continue;
    first!.func.pieces = pieces;
    for (const other of others) gone.add(other);
  }
  return calls.filter((call) => !gone.has(call));
}

/** Calls with one id are the same one; a server that names the function in its place gives none. */
function idKey(call: StreamedCall): unknown {
  const [id, name] = [call.fields.get("id"), call.func.name];
  return isOwnId(id) && id !== name ? JSON.stringify([id, name]) : call;
}

/** Returns the keys of calls that may be parts of one: each but the last is no whole one. */
function splitKeys(calls: readonly StreamedCall[]): (call: StreamedCall) => unknown {
  const keys = new Map<StreamedCall, StreamedCall>();
  let head: StreamedCall | undefined;
  let isWritten = false;
  for (const call of calls) {
    const { index, func } = call;
    const isSame = func.name === head?.func.name && (isWritten || index === head?.index);
    if (head === undefined || isSaid(func.name) && !isSame) [head, isWritten] = [call, false];
    keys.set(call, head);
    isWritten ||= func.pieces.length > 0;
    if (isObjectWritten(joinedText(func.pieces))) head = undefined;
  }
  return (call) => keys.get(call);
}

// Responses.

/** What is behind `response.` in the types of events that contain a whole response: its status. */
const ENDS = ["completed", "incomplete", "failed"];

function streamedResponse(): StreamedReply {
  const items: { readonly item: JsonValue; readonly place: number }[] = [];
  let body: JsonObject | undefined;
  let hasParts = false;
  return {
    add(chunk, name) {
      const { type = name, item, output_index: place } = chunk;
      // Some servers send the whole response in an event without a type.
      const isWhole = chunk["object"] === "response";
      const response = isWhole ? chunk : chunk["response"];
      if (type === "response.output_item.done" && item !== undefined) {
        items.push({ item, place: typeof place === "number" ? place : items.length });
      }
      hasParts ||= /\.(?:delta|arguments\.done|output_text\.done)$/.test(String(type));
      const status = ENDS.find((end) =>
        isWhole ? chunk["status"] === end : type === `response.${end}`
      );
      if (status === undefined || !isJsonObject(response)) return;
      body = { ...response, status: status === "failed" ? status : response["status"] ?? status };
      const { output } = response;
      if (output === undefined || output === null || (Array.isArray(output) && !isSaid(output))) {
        body["output"] = items.toSorted((one, other) => one.place - other.place)
          .map((one) => one.item);
        if (hasParts && items.length === 0) {
          body = failure("the response lacks what its events say");
        }
      }
    },
    whole: () => body,
  };
}
