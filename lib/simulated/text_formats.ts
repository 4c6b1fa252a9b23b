/**
 * What can be read from a request whose functions, calls and results are told in texts: the request that it
 * would be, had the model calls of its own. Nothing is read but the messages.
 * @module
 */

import type { TextFormat } from "../models/formats/format.ts";
import { formatOf, TEXT_FORMATS } from "../models/formats/registry.ts";
import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import {
  type ChatCall,
  type ChatMessage,
  type ChatRequest,
  type ChatTool,
  textOf,
} from "./wire.ts";

/** A request in a text format. */
export interface TextRequest {
  /** The format that is asked for. */
  readonly format: TextFormat;
  /** The request with tools, calls and results. */
  readonly request: ChatRequest;
}

/** What reading a format takes, beside what it reads itself. */
interface FormatReader {
  /** The functions that are told. */
  readonly tools: (told: string) => ChatTool[];
  /** The results in a message, by the numbers of their calls from 1; empty where it is none of results. */
  readonly results: (text: string, names: readonly string[]) => ReadonlyMap<number, string>;
}

/**
 * Reads a request in a text format; `undefined` where none is asked for.
 *
 * @example Usage
 * ```ts
 * import { readTextRequest } from "./text_formats.ts";
 * import { formatOf } from "../models/formats/registry.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const tool = { name: "add", description: "Adds.", parameters: { type: "object" } };
 * const messages = formatOf("xml").present([{ role: "user", content: "Add." }], [tool], "required")
 *   .map(({ role, content }) => ({ role: role as "system" | "user", content }));
 * const { format, request } = readTextRequest({ model: "sim:planner", messages })!;
 * assertEquals(format.id, "xml");
 * assertEquals(request.messages, [{ role: "user", content: "Add." }]);
 * assertEquals(request.tools, [{ type: "function", function: tool }]);
 * assertEquals(request.tool_choice, "required");
 * ```
 */
export function readTextRequest(request: ChatRequest): TextRequest | undefined {
  const [first, ...others] = request.messages;
  if ((request.tools ?? []).length > 0 || first?.role !== "system") return undefined;
  const { text, choice } = readChoice(textOf(first.content));
  for (const { id, before, behind } of FRAMES) {
    const format = formatOf(id);
    const start = text.lastIndexOf(before);
    const end = text.length - behind.length;
    if (!text.endsWith(behind) || start === -1 || start + before.length > end) continue;
    const tools = READERS[id].tools(text.slice(start + before.length, end));
    // An empty line stands between what the system says itself and the format.
    const own = text.slice(0, Math.max(0, start - "\n\n".length));
    const opening: ChatMessage[] = own === "" ? [] : [{ role: "system", content: own }];
    const names = tools.map((tool) => tool.function.name);
    const rest = readMessages(others, format, names);
    const { messages: _, tools: _none, ...fields } = request;
    return {
      format,
      request: {
        ...fields,
        messages: [...opening, ...rest],
        tools,
        ...(choice === undefined ? {} : { tool_choice: choice }),
        ...(format.parallel ? {} : { parallel_tool_calls: false }),
      },
    };
  }
  return undefined;
}

/** What the format says about the reply, taken off. */
function readChoice(text: string): { readonly text: string; readonly choice?: unknown } {
  const start = text.lastIndexOf("\n\nThis time you must call ");
  const told = start === -1 ? null : CHOICE.exec(text.slice(start));
  if (told === null) return { text };
  const [, name] = told;
  return {
    text: text.slice(0, start),
    choice: name === undefined ? "required" : { type: "function", function: { name } },
  };
}

const CHOICE =
  /^\n\nThis time you must call (?:a function|the function (.+)): do not answer yet\.$/;

/** The texts with calls and results in the place of those that stand for some. */
function readMessages(
  messages: readonly ChatMessage[],
  format: TextFormat,
  names: readonly string[],
): ChatMessage[] {
  const read: ChatMessage[] = [];
  let open: readonly ChatCall[] = [];
  let step = 0;
  for (const message of messages) {
    const text = textOf(message.content);
    const waiting = open;
    open = [];
    if (message.role === "assistant") {
      const { text: content, calls } = format.read(text, names);
      if (calls.length > 0) step++;
      open = calls.map(({ name, arguments: given }, index) => ({
        id: `call_${step}_${index + 1}`,
        type: "function",
        function: { name, arguments: given },
      }));
      read.push(open.length === 0 ? message : { role: "assistant", content, tool_calls: open });
      continue;
    }
    const results = message.role === "user" && waiting.length > 0
      ? READERS[format.id].results(text, waiting.map((call) => call.function.name))
      : new Map<number, string>();
    if (results.size === 0) read.push(message);
    for (const [number, content] of results) {
      const id = waiting[number - 1]?.id;
      if (id !== undefined) read.push({ role: "tool", tool_call_id: id, content });
    }
  }
  return read;
}

// What stands around the functions.

const SAMPLES = ["a", "b"].map((name) => ({ name, description: name, parameters: {} }));

/** The words around the list of functions: what is told of none, cut where a list would stand. */
function frameOf(format: TextFormat): { readonly before: string; readonly behind: string } {
  const [none, some] = [format.describe([]), format.describe(SAMPLES)];
  let length = 0;
  while (length < none.length && none[length] === some[length]) length++;
  return { before: none.slice(0, length), behind: none.slice(length) };
}

const FRAMES = TEXT_FORMATS.map((id) => ({ id, ...frameOf(formatOf(id)) }));

// What stands in the formats.

const READERS: Readonly<Record<TextFormat["id"], FormatReader>> = {
  react: {
    tools: (told) =>
      told.split(/\n(?=- )/).flatMap((entry) => {
        const colon = entry.indexOf(": ");
        const split = entry.lastIndexOf(PARAMETERS);
        return toTool({
          name: entry.slice("- ".length, colon),
          description: outdented(entry.slice(colon + ": ".length, split)),
          parameters: parseJson(entry.slice(split + PARAMETERS.length)) ?? null,
        });
      }),
    results: (text, names) =>
      new Map(
        text.startsWith("Observation: [")
          ? text.split(/\n(?=Observation: \[)/).flatMap((entry): [number, string][] => {
            const [head = "", number] = /^Observation: \[(\d{1,9}), /.exec(entry) ?? [];
            const name = indented(names[Number(number) - 1] ?? "");
            const isIts = number !== undefined && entry.startsWith(`${name}] `, head.length);
            const start = head.length + name.length + "] ".length;
            return isIts ? [[Number(number), outdented(entry.slice(start))]] : [];
          })
          : [],
      ),
  },
  xml: {
    tools: (told) =>
      elements(told, "tool_definition").flatMap((entry) => {
        const [name = "", description = "", parameters = ""] = elements(entry);
        return toTool({
          name: unshielded(name),
          description: unshielded(description),
          parameters: parseJson(parameters) ?? null,
        });
      }),
    results: (text) =>
      new Map(
        elements(text, "tool_result").map((entry) => {
          const [call, _name, content = ""] = elements(entry);
          return [Number(call), unshielded(content)];
        }),
      ),
  },
  hermes: {
    tools: (told) =>
      told.split("\n").flatMap((line) => {
        const read = parseJson(line);
        const told = isJsonObject(read) ? read["function"] : undefined;
        return isJsonObject(told) ? toTool(told) : [];
      }),
    results: (text) =>
      new Map(
        elements(text, "tool_response").flatMap((entry): [number, string][] => {
          const read = parseJson(entry);
          if (!isJsonObject(read)) return [];
          const content = read["content"];
          // What is JSON stands there as it was written: long numbers would lose digits.
          const start = entry.indexOf(CONTENT);
          return [[
            Number(read["call"]),
            typeof content === "string"
              ? content
              : unshielded(entry.slice(start + CONTENT.length, entry.lastIndexOf("}"))),
          ]];
        }),
      ),
  },
};

const PARAMETERS = "\n  Parameters: ";
const CONTENT = ', "content": ';

/** A function as it was told; none where it has no name. */
function toTool(told: JsonObject): ChatTool[] {
  const { name, description, strict, parameters } = told;
  if (typeof name !== "string") return [];
  return [{
    type: "function",
    function: {
      name,
      ...(typeof description === "string" ? { description } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
      ...(isJsonObject(parameters) ? { parameters } : {}),
    },
  }];
}

/**
 * What stands in the elements that a text begins with, one behind the other: those of a name, or any. None of
 * them has a closing tag of its own name in it.
 */
function elements(text: string, name?: string): string[] {
  const found: string[] = [];
  const opening = /\s*<([a-z_]{1,20})>/y;
  for (let tag = opening.exec(text); tag !== null; tag = opening.exec(text)) {
    const closing = `</${tag[1]}>`;
    const end = text.indexOf(closing, opening.lastIndex);
    if (end === -1 || (name !== undefined && tag[1] !== name)) break;
    found.push(text.slice(opening.lastIndex, end));
    opening.lastIndex = end + closing.length;
  }
  return found;
}

/** Within texts the closing tags of formats have a stroke more. */
function unshielded(text: string): string {
  return text.replace(/<\\\/(?=[a-z])/gi, "</");
}

const LINE_BREAK = /\r\n|[\r\n\u2028\u2029]/g;
const INDENTED = /(\r\n|[\r\n\u2028\u2029]) {2}/g;

function indented(text: string): string {
  return text.replace(LINE_BREAK, "$&  ");
}

function outdented(text: string): string {
  return text.replace(INDENTED, "$1");
}
