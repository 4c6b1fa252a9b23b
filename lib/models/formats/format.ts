/**
 * Text formats: describe, call and answer functions in plain text, for models without native tool calls
 * (Pipeline, "Structured Output for Tool Invocation").
 *
 * Replies are read by a fixed policy. A reply is `strict` if it is as the format asks, with any words before,
 * between and after calls in tags. Everything else is repaired, with a description, or unreadable:
 *
 * | written | read as |
 * | --- | --- |
 * | JSON with small faults | JSON, repaired (see `base/json_repair.ts`) |
 * | a name or arguments in another place or under another key | a call, repaired (see `_json_calls.ts`) |
 * | several calls in one pair of tags; in ReAct, several actions in one reply | these calls, repaired |
 * | tags not closed, in capital letters, or of another format; labels in other signs | a call, repaired |
 * | `<function=NAME>` or `<invoke name="NAME">` around the JSON of arguments | a call, repaired |
 * | code fences around calls or arguments | the call, repaired |
 * | JSON of calls to available functions, with nothing around them in the whole reply | these calls, repaired |
 * | calls within thinking (`<think>…</think>`, or a server's field), and no text or call outside | these calls, repaired |
 * | a made-up result after calls | dropped with everything after it, repaired |
 * | in ReAct, an answer after a call in one reply | dropped, repaired |
 * | arguments that are still not a JSON object, expressions, elements for single arguments, no name | unreadable |
 * | tags or labels not followed by a call, or by `{...}` or `{"name": <…>` instead of one | text |
 * | in ReAct, an action that is called none, `N/A` or the like | text |
 *
 * Thinking is not part of the text. Thinking that is not closed extends to the end if its tag begins a line;
 * thinking that is closed without a begin began with the reply.
 * @module
 */

import { mediaIn, type WithMedia } from "../../tools/media.ts";
import type { Message } from "../../tools/message.ts";
import type { ToolCall, ToolChoice, ToolSchema } from "../../tools/tool.ts";
import type { Parse } from "../../calls/trace.ts";

/** A result to send back in a text. */
export interface WrittenResult {
  /** Number of its call in the reply, from 1. */
  readonly call: number;
  /** The name that was called. */
  readonly name: string;
  /** The text that the function returned. */
  readonly content: string;
}

/** The content of a reply's text. */
export interface FormatReading {
  /** The text outside of calls, or the answer, without thinking. */
  readonly text: string;
  /** The calls, in order. The arguments of an unreadable one are the text as written, not a JSON object. */
  readonly calls: readonly Omit<ToolCall, "id">[];
  /** How the calls could be parsed, the worst of them; omitted if none is attempted. */
  readonly parsed?: Parse;
  /** Descriptions of the repairs. */
  readonly repairs: readonly string[];
}

/** The parts of a format: a writer of prompts, a writer and a reader of replies, a writer of results. */
export interface FormatParts {
  /** Its id. */
  readonly id: string;
  /** Whether one reply may contain several calls. */
  readonly parallel: boolean;
  /** Stop sequences for servers that support them; optional for reading. */
  readonly stop: readonly string[];
  /** Describes the functions, and how to call them. */
  describe(tools: readonly ToolSchema[]): string;
  /** Writes a reply: text and calls. Without calls, it is an answer. */
  writeCalls(text: string, calls: readonly Omit<ToolCall, "id">[]): string;
  /** Writes the results of the calls of one reply. */
  writeResults(results: readonly WrittenResult[]): string;
  /**
   * Reads any reply, in time linear in its length. Never executes anything or throws.
   *
   * @param names Names of the available functions.
   */
  read(text: string, names: readonly string[]): FormatReading;
}

/** A format that writes calls as text. */
export interface TextFormat extends FormatParts {
  /**
   * Converts a conversation to plain texts: the system message describes the functions, assistant messages
   * contain the calls, and one user message contains the results of one reply.
   *
   * @param tools The available functions; without any, the format is not described.
   * @param toolChoice Whether the model may or must call. Default: `auto`, which adds no instruction.
   */
  present(
    messages: readonly Message[],
    tools: readonly ToolSchema[],
    toolChoice?: ToolChoice,
  ): Message[];
}

/** Creates a format from its parts. */
export function textFormat(parts: FormatParts): TextFormat {
  return {
    ...parts,
    present(messages, tools, toolChoice = "auto") {
      const added = instructions(parts, tools, toolChoice);
      if (added === "") return asTexts(parts, messages);
      const [first, ...others] = messages;
      if (first?.role !== "system") {
        return [{ role: "system", content: added }, ...asTexts(parts, messages)];
      }
      const content = `${first.content}\n\n${added}`;
      return [{ role: "system", content }, ...asTexts(parts, others)];
    },
  };
}

/** Returns the instructions for the system message; empty if there are no functions. */
function instructions(
  format: FormatParts,
  tools: readonly ToolSchema[],
  toolChoice: ToolChoice,
): string {
  if (tools.length === 0) return "";
  if (toolChoice === "none") return "No function can be called in this reply: answer in words.";
  const description = format.describe(tools);
  if (toolChoice === "auto") return description;
  const which = toolChoice === "required" ? "a function" : `the function ${toolChoice.function}`;
  return `${description}\n\nThis time you must call ${which}: do not answer yet.`;
}

/** Converts calls and results to texts; other messages stay as they are. */
function asTexts(format: FormatParts, messages: readonly Message[]): Message[] {
  const texts: Message[] = [];
  /** Numbers of the last reply's calls, by id. */
  let numbers: ReadonlyMap<string, number> = new Map();
  let results: (WrittenResult & WithMedia)[] = [];
  const flush = () => {
    if (results.length === 0) return;
    const media = results.flatMap((result) => result.media ?? []);
    const beside = media.length === 0 ? {} : { media };
    texts.push({ role: "user", content: format.writeResults(results), ...beside });
    results = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      const { callId, name, content } = message;
      const call = numbers.get(callId) ?? results.length + 1;
      results.push({ call, name, content, ...mediaIn(content, message.media) });
      continue;
    }
    flush();
    if (message.role !== "assistant") {
      texts.push(message);
      continue;
    }
    const { calls, content } = message;
    numbers = new Map(calls.map(({ id }, index) => [id, index + 1]));
    texts.push(
      calls.length === 0
        ? message
        : { ...message, content: format.writeCalls(content, calls), calls: [] },
    );
  }
  flush();
  return texts;
}

/**
 * Escapes closing tags of these names, which could end the element around the text: `</name` becomes
 * `<\/name`, which means the same within JSON strings.
 */
export function escapeClosingTags(text: string, tags: RegExp): string {
  return text.replace(tags, "<\\/$1");
}
