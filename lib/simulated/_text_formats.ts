/**
 * Parses requests with functions, calls and results in text formats: converts their messages to the equivalent
 * request with native tools.
 * @module
 */

import type { TextFormat } from "../models/formats/format.ts";
import { type FormatId, formatOf, TEXT_FORMATS } from "../models/formats/registry.ts";
import { defined, isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import {
  type ChatCall,
  type ChatMessage,
  type ChatRequest,
  type ChatTool,
  contentText,
  functionOf,
} from "./_wire.ts";

/** A request in a text format. */
export interface TextRequest {
  /** The requested format. */
  readonly format: TextFormat;
  /** The request with native tools, calls and results. */
  readonly request: ChatRequest;
}

/** The parts of parsing that a format itself does not offer. */
interface FormatReader {
  /** Parses the functions in the instructions. */
  readonly tools: (functionsText: string) => ChatTool[];
  /** Parses the results in a message, by the numbers of their calls from 1; empty if it has none. */
  readonly results: (text: string, names: readonly string[]) => ReadonlyMap<number, string>;
  /** Frequent slips around the arguments of a call, at the end of a reply. */
  readonly slips: readonly ((text: string) => string)[];
}

/** Parses a request in a text format; `undefined` if it does not use one. */
export function readTextRequest(request: ChatRequest): TextRequest | undefined {
  const [first, ...others] = request.messages;
  if ((request.tools ?? []).length > 0 || first?.role !== "system") return undefined;
  const { text, choice } = readChoice(contentText(first.content));
  for (const { id, before, after } of FRAMES) {
    const format = formatOf(id);
    const start = text.lastIndexOf(before);
    const end = text.length - after.length;
    if (!text.endsWith(after) || start === -1 || start + before.length > end) continue;
    const tools = READERS[id].tools(text.slice(start + before.length, end));
    // An empty line separates the system's text from the format's instructions.
    const system = text.slice(0, Math.max(0, start - "\n\n".length));
    const opening: ChatMessage[] = system === "" ? [] : [{ role: "system", content: system }];
    const names = tools.map((tool) => tool.function.name);
    const rest = readMessages(others, format, names);
    const { messages: _, tools: _none, ...fields } = request;
    return {
      format,
      request: {
        ...fields,
        messages: [...opening, ...rest],
        tools,
        ...defined({ tool_choice: choice }),
        ...(format.parallel ? {} : { parallel_tool_calls: false }),
      },
    };
  }
}

/** Splits the format's instruction about a required call from the text. */
function readChoice(text: string): { readonly text: string; readonly choice?: unknown } {
  const start = text.lastIndexOf("\n\nThis time you must call ");
  const instruction = start === -1 ? null : CHOICE.exec(text.slice(start));
  if (instruction === null) return { text };
  const [, name] = instruction;
  return {
    text: text.slice(0, start),
    choice: name === undefined ? "required" : { type: "function", function: { name } },
  };
}

const CHOICE =
  /^\n\nThis time you must call (?:a function|the function (.+)): do not answer yet\.$/;

/** The messages with calls and results parsed from their texts. */
function readMessages(
  messages: readonly ChatMessage[],
  format: TextFormat,
  names: readonly string[],
): ChatMessage[] {
  const result: ChatMessage[] = [];
  let open: readonly ChatCall[] = [];
  let step = 0;
  for (const message of messages) {
    const text = contentText(message.content);
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
      result.push(open.length === 0 ? message : { role: "assistant", content, tool_calls: open });
      continue;
    }
    const results = message.role === "user" && waiting.length > 0
      ? READERS[format.id as FormatId].results(text, waiting.map((call) => call.function.name))
      : new Map<number, string>();
    if (results.size === 0) result.push(message);
    for (const [number, content] of results) {
      const id = waiting[number - 1]?.id;
      if (id !== undefined) result.push({ role: "tool", tool_call_id: id, content });
    }
  }
  return result;
}

// The text around the functions.

const SAMPLES = ["a", "b"].map((name) => ({ name, description: name, parameters: {} }));

/** The text before and after the list of functions, found by comparing instructions with and without any. */
function frameOf(format: TextFormat): { readonly before: string; readonly after: string } {
  const [none, some] = [format.describe([]), format.describe(SAMPLES)];
  let length = 0;
  while (length < none.length && none[length] === some[length]) length++;
  return { before: none.slice(0, length), after: none.slice(length) };
}

const FRAMES = TEXT_FORMATS.map((id) => ({ id, ...frameOf(formatOf(id)) }));

// The contents of the formats.

const READERS: Readonly<Record<FormatId, FormatReader>> = {
  react: {
    slips: [(text) => `${text}\nObservation: [1, it] {"value": 512}\nThought: That is it.`],
    tools: (functionsText) =>
      functionsText.split(/\n(?=- )/).flatMap((entry) => {
        const colon = entry.indexOf(": ");
        const split = entry.lastIndexOf(PARAMETERS);
        return toChatTools({
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
            const name = (names[Number(number) - 1] ?? "").replace(LINE_BREAK, "$&  ");
            const isIts = number !== undefined && entry.startsWith(`${name}] `, head.length);
            const start = head.length + name.length + "] ".length;
            return isIts ? [[Number(number), outdented(entry.slice(start))]] : [];
          })
          : [],
      ),
  },
  xml: {
    slips: [
      (text) => withoutEnd(text, "\n</tool_use>"),
      (text) => `\`\`\`xml\n${text}\n\`\`\``,
      (text) => withoutEnd(text, "</arguments>\n</tool_use>"),
    ],
    tools: (functionsText) =>
      elements(functionsText, "tool_definition").flatMap((entry) => {
        const [name = "", description = "", parameters = ""] = elements(entry);
        return toChatTools({
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
    slips: [
      (text) => withoutEnd(text, "\n</tool_call>"),
      (text) => `\`\`\`\n${text}\n\`\`\``,
    ],
    tools: (functionsText) =>
      functionsText.split("\n").flatMap((line) => {
        const parsed = parseJson(line);
        const definition = isJsonObject(parsed) ? parsed["function"] : undefined;
        return isJsonObject(definition) ? toChatTools(definition) : [];
      }),
    results: (text) =>
      new Map(
        elements(text, "tool_response").flatMap((entry): [number, string][] => {
          const parsed = parseJson(entry);
          if (!isJsonObject(parsed)) return [];
          const content = parsed["content"];
          // JSON is copied as text, as parsing would cost long numbers their digits.
          const start = entry.indexOf(CONTENT);
          return [[
            Number(parsed["call"]),
            typeof content === "string"
              ? content
              : unshielded(entry.slice(start + CONTENT.length, entry.lastIndexOf("}"))),
          ]];
        }),
      ),
  },
};

/** Returns the slips of models that write calls in a format. */
export function slipsOf({ id }: TextFormat): FormatReader["slips"] {
  return READERS[id as FormatId].slips;
}

function withoutEnd(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}

const PARAMETERS = "\n  Parameters: ";
const CONTENT = ', "content": ';

/** A function parsed from a text; empty if it has no name. */
function toChatTools(definition: JsonObject): ChatTool[] {
  const { name } = definition;
  if (typeof name !== "string") return [];
  return [{ type: "function", function: functionOf(name, definition) }];
}

/**
 * The contents of the consecutive elements at the start of a text: those with a name, or any. No element
 * contains a closing tag of its own name.
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

/** Removes the backslash that formats add to closing tags within texts. */
function unshielded(text: string): string {
  return text.replace(/<\\\/(?=[a-z])/gi, "</");
}

const LINE_BREAK = /\r\n|[\r\n\u2028\u2029]/g;
const INDENTED = /(\r\n|[\r\n\u2028\u2029]) {2}/g;

function outdented(text: string): string {
  return text.replace(INDENTED, "$1");
}
