/**
 * Text formats: how functions are told, called and answered in plain texts, for models that have no calls
 * of their own (Pipeline, "Structured Output for Tool Invocation").
 *
 * Replies are read by a stated policy. `strict` is what a format asks for, with any words before, between and
 * behind the calls where these have tags. The rest is repaired, and told, or cannot be read:
 *
 * | written | read as |
 * | --- | --- |
 * | JSON with small faults | JSON, repaired (see `tolerant_json.ts`) |
 * | a name or arguments in another place or under another key | a call, repaired (see `json_calls.ts`) |
 * | several calls in one pair of tags; in ReAct, several actions in one reply | these calls, repaired |
 * | tags not closed, in capital letters, or of another format; labels in other signs | a call, repaired |
| `<function=NAME>` or `<invoke name="NAME">` around the JSON of arguments | a call, repaired |
 * | code fences around calls or arguments | the call, repaired |
 * | JSON of calls to offered functions, with nothing around them in the whole reply | these calls, repaired |
 * | calls within thinking (`<think>…</think>`), and nothing said outside | these calls, repaired |
 * | a result that the model makes up behind its calls | left out with all that stands behind it, repaired |
 * | in ReAct, an answer behind a call in one reply | left out, repaired |
 * | arguments that even so are no JSON object, expressions, elements for single arguments, no name | unreadable |
 * | tags or labels without a call behind them, or with `{...}` or `{"name": <…>` in the place of one | words |
| in ReAct, an action that is called none, `N/A` or the like | words |
 *
 * What was thought is left out of what was said. Thinking that is not closed goes on to the end, if it begins
 * a line; thinking that is closed without having begun began with the reply.
 * @module
 */

import type { Message } from "../../tools/message.ts";
import type { Api } from "../model.ts";
import type { ToolChoice, ToolSchema } from "../../tools/tool.ts";
import type { Parse } from "../../calls/trace.ts";

/** The formats that are written as texts. */
export type FormatId = Exclude<Api, "chat" | "responses">;

/** A call as it stands in a text. */
export interface WrittenCall {
  /** The name of the function, possibly invented. */
  readonly name: string;
  /** The arguments as text, which should be a JSON object. */
  readonly arguments: string;
}

/** A result, as it goes back in a text. */
export interface WrittenResult {
  /** Which call of the reply it is for, from 1. */
  readonly call: number;
  /** The name that was called. */
  readonly name: string;
  /** The text that the function returned. */
  readonly content: string;
}

/** What stands in the text of a reply. */
export interface FormatReading {
  /** What was said beside the calls, or the answer; what was only thought is left out. */
  readonly text: string;
  /** The calls, in order. Of one that cannot be read, the arguments are what was written: no JSON object. */
  readonly calls: readonly WrittenCall[];
  /** How the calls could be read, the worst of them; left out where none is attempted. */
  readonly parsed?: Parse;
  /** What had to be repaired, in words. */
  readonly repairs: readonly string[];
}

/** What a format consists of: a writer of prompts, a writer and a reader of replies, a writer of results. */
export interface FormatParts {
  /** Its id. */
  readonly id: FormatId;
  /** Whether one reply may hold several calls. */
  readonly parallel: boolean;
  /** Where a server should stop the reply, if it can; nothing depends on it. */
  readonly stop: readonly string[];
  /** Tells which functions there are, and how they are called. */
  describe(tools: readonly ToolSchema[]): string;
  /** Writes a reply: what is said, and the calls. Without calls, it is an answer. */
  writeCalls(text: string, calls: readonly WrittenCall[]): string;
  /** Writes the results of the calls of one reply. */
  writeResults(results: readonly WrittenResult[]): string;
  /**
   * Reads a reply, in time linear in its length, whatever is in it. Nothing is executed or thrown.
   *
   * @param names The names of the functions on offer.
   */
  read(text: string, names: readonly string[]): FormatReading;
}

/** One way to write calls as texts. */
export interface TextFormat extends FormatParts {
  /**
   * A conversation as texts: the functions are told in the message of the system that opens it, calls
   * stand in messages of the assistant, and the results of one reply in one message of the user.
   *
   * @param tools The functions on offer; nothing is told of the format where there are none.
   * @param toolChoice What is told of the freedom to call; default `auto`, which is nothing.
   */
  present(
    messages: readonly Message[],
    tools: readonly ToolSchema[],
    toolChoice?: ToolChoice,
  ): Message[];
}

/**
 * The format that consists of these parts.
 *
 * @example Usage
 * ```ts
 * import { hermes } from "./hermes.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const call = { id: "call_1", name: "add", arguments: '{"a":1}' };
 * const presented = hermes.present([
 *   { role: "user", content: "Add." },
 *   { role: "assistant", content: "", calls: [call] },
 *   { role: "tool", callId: "call_1", name: "add", content: "1" },
 * ], [{ name: "add", description: "Adds.", parameters: { type: "object" } }]);
 * assertEquals(presented.map(({ role }) => role), ["system", "user", "assistant", "user"]);
 * assertEquals(
 *   presented[2]?.content,
 *   '<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>',
 * );
 * ```
 */
export function textFormat(parts: FormatParts): TextFormat {
  return {
    ...parts,
    present: (messages, tools, toolChoice = "auto") =>
      presented(parts, messages, instructions(parts, tools, toolChoice)),
  };
}

/** The conversation as texts, opened by what is told of the format. */
function presented(format: FormatParts, messages: readonly Message[], told: string): Message[] {
  const [first] = messages;
  const opening: Message[] = told === "" ? [] : [{
    role: "system",
    content: first?.role === "system" ? `${first.content}\n\n${told}` : told,
  }];
  const rest = opening.length > 0 && first?.role === "system" ? messages.slice(1) : messages;
  return [...opening, ...asTexts(format, rest)];
}

/** What the opening message says; nothing where there is nothing to call. */
function instructions(
  format: FormatParts,
  tools: readonly ToolSchema[],
  toolChoice: ToolChoice,
): string {
  if (tools.length === 0) return "";
  if (toolChoice === "none") return "No function can be called in this reply: answer in words.";
  const told = format.describe(tools);
  if (toolChoice === "auto") return told;
  const which = toolChoice === "required" ? "a function" : `the function ${toolChoice.function}`;
  return `${told}\n\nThis time you must call ${which}: do not answer yet.`;
}

/** Calls and results as texts; all other messages as they are. */
function asTexts(format: FormatParts, messages: readonly Message[]): Message[] {
  const texts: Message[] = [];
  /** The calls of the last reply, by their ids. */
  let numbers: ReadonlyMap<string, number> = new Map();
  let results: WrittenResult[] = [];
  const flush = () => {
    if (results.length > 0) texts.push({ role: "user", content: format.writeResults(results) });
    results = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      const { callId, name, content } = message;
      results.push({ call: numbers.get(callId) ?? results.length + 1, name, content });
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
 * The text without closing tags of these names, which could end what it stands in: `</name` becomes
 * `<\/name`, which is the same within the texts of JSON.
 */
export function shielded(text: string, tags: RegExp): string {
  return text.replace(tags, "<\\/$1");
}
