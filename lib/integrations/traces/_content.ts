/**
 * Contents of messages in traces: texts, and lists of parts of which each must be of a known type, so that none hides a call.
 * @module
 */

import type { OwnCall } from "../../calls/trace.ts";
import type { Conversation, Item, Reply, Result } from "./_conversation.ts";
import { type Part, textOf } from "./_part.ts";

/** What a part is: a text, none of these, a call, its result, or a call that the provider carries out itself. */
type Kind = "text" | "silent" | "call" | "result" | "own";

/** The types of parts in the words of all APIs and frameworks. */
const KINDS: ReadonlyMap<unknown, Kind> = new Map(
  Object.entries({
    text: ["text", "input_text", "output_text"],
    call: [
      ...["tool_call", "tool-call", "tool_use", "tool_call_chunk", "invalid_tool_call"],
      ...["function_call", "input_json_delta"],
    ],
    result: ["tool-result", "tool-error", "tool_call_response"],
    own: [
      ...["server_tool_call", "server_tool_use", "server_tool_call_response"],
      ...["server_tool_call_result", "server_tool_result", "web_search_tool_result"],
      "code_execution_tool_result",
    ],
    silent: [
      ...["refusal", "reasoning", "reasoning_text", "reasoning-file", "summary_text", "thinking"],
      ...["redacted_thinking", "image", "image_url", "input_image", "audio", "audio_url"],
      ...["input_audio", "video", "video_url", "input_video", "file", "input_file", "document"],
      ...["media", "text-plain", "blob", "uri", "custom", "source", "source-url"],
      ...["source-document", "step-start", "tool-approval-request", "tool-approval-response"],
    ],
  }).flatMap(([kind, types]) => types.map((type) => [type, kind as Kind])),
);

/** What a content says. */
export interface Said {
  readonly text: string;
  readonly calls: Reply["calls"];
  /** Omitted without any. */
  readonly ownCalls?: readonly OwnCall[];
  readonly results: readonly Result[];
  /** The number of parts that are neither a text nor a call or result, such as images. */
  readonly lost: number;
}

/**
 * Returns what a content says: a text, or a list of parts.
 *
 * @param allowed What may stand in it beside texts.
 * @throws {InputError} If it is neither, or a part is of a type that is not known or cannot stand there.
 */
export function saidIn(content: Part | undefined, allowed: readonly Kind[] = []): Said {
  const value = content?.value ?? "";
  if (typeof value === "string") return { text: value, calls: [], results: [], lost: 0 };
  if (!Array.isArray(value)) return content!.fail("must be a text or a list of parts");
  return saidOf(content!.items(), allowed);
}

/** Returns what parts say, as {@linkcode saidIn} does. */
export function saidOf(parts: readonly Part[], allowed: readonly Kind[]): Said {
  const of = (wanted: Kind) => parts.filter((part) => kindOf(part) === wanted);
  for (const part of parts) {
    const kind = kindOf(part);
    if (kind === "text" || kind === "silent" || kind !== undefined && allowed.includes(kind)) {
      continue;
    }
    part.need("type").fail("must be the type of a part that is known");
  }
  const calls = of("call");
  // The provider ran some, of which the results may not say so.
  const provided = new Set(calls.filter(isProvided).flatMap((part) => idOf(part) ?? []));
  const own = [...calls.filter(isProvided), ...of("own").filter((part) => !isResult(part))];
  const refusals = parts.map((part) => part.textAt("refusal") ?? "").join("");
  return {
    text: of("text").map(textIn).join("") || refusals,
    calls: calls.filter((part) => !isProvided(part)).map((part) => ({
      id: idOf(part),
      name: (part.first("name", "toolName") ?? part.need("name")).text(),
      arguments: writtenIn(part),
    })),
    ...(own.length === 0 ? {} : {
      ownCalls: own.map((part) => ({
        function: part.first("name", "toolName")?.text() ?? "",
        arguments: writtenIn(part),
      })),
    }),
    results: of("result").filter((part) => !isProvided(part) && !provided.has(idOf(part) ?? ""))
      .map((part) => ({ kind: "result", ...outputOf(part), at: part, id: idOf(part) })),
    lost: of("silent").length,
  };
}

function kindOf(part: Part): Kind | undefined {
  if (typeof part.value === "string") return "text";
  const type = part.get("type")?.value ?? "text";
  return KINDS.get(type) ?? (`${type}`.startsWith("data-") ? "silent" : undefined);
}

/** Whether the provider ran the tool of a part itself. */
const isProvided = (part: Part) => part.get("providerExecuted")?.value === true;
const isResult = (part: Part) => /res(?:ult|ponse)$/.test(part.textAt("type")!);

function idOf(part: Part): string | undefined {
  return part.textAt("id") ?? part.textAt("toolCallId");
}

function textIn(part: Part): string {
  if (typeof part.value === "string") return part.value;
  return (part.first("text", "content") ?? part.need("text")).text();
}

/** The arguments of a call: text that could not be read stays as it is. */
export function writtenIn(part: Part): string {
  const given = part.first("arguments", "input", "args", "rawInput", "server_tool_call");
  return textOf(given?.value ?? {});
}

/** The text of a result: in messages of the AI SDK its type says what it is, elsewhere it is what the tool returned. */
function outputOf(part: Part): Pick<Result, "text" | "isError" | "lost"> {
  const type = part.textAt("type");
  if (type === "tool-error") return { text: textOf(part.get("error")?.value ?? ""), isError: true };
  const output = part.first("output", "result", "response");
  const value = output?.first("value", "reason");
  switch (type === "tool-result" ? output?.textAt("type") : undefined) {
    case "text":
    case "json":
      return { text: textOf(value?.value ?? null) };
    case "error-text":
    case "error-json":
    case "execution-denied":
      return { text: textOf(value?.value ?? output!.textAt("type")), isError: true };
    case "content": {
      const { text, lost } = saidIn(value);
      return { text, lost };
    }
    default:
      return { text: textOf(output?.value ?? null) };
  }
}

/** The items of a message whose parts hold calls and results as well. */
export function messageItems(at: Part, said: Said, more: Partial<Reply> = {}): Item[] {
  const { text, results, lost } = said;
  const role = at.need("role");
  switch (role.text()) {
    case "system":
    case "developer":
      return [{ kind: "system", text, at }];
    case "user":
      return [
        ...results,
        ...(results.length > 0 && text === "" ? [] : [{ kind: "user" as const, text, at, lost }]),
      ];
    case "tool":
      if (results.length === 0 && text !== "") at.fail("must have a part with a result");
      return [...results];
    case "assistant":
      return [{ ...replyOf(at, said), ...more }, ...results];
  }
  return role.fail("must be one of system, user, assistant and tool");
}

/** The reply of a message or a step. */
export function replyOf(at: Part, { text, calls, ownCalls }: Said): Reply {
  return { kind: "reply", text, calls, ...(ownCalls === undefined ? {} : { ownCalls }), at };
}

/** Reads a list of messages, or an object with one and perhaps instructions, tools and a model beside it. */
export function messagesIn(part: Part, itemsOf: (message: Part) => Item[]): Conversation {
  const list = Array.isArray(part.value) ? part : part.need("messages");
  return {
    ...besideMessages(part),
    items: [...instructionsIn(part), ...list.items().flatMap(itemsOf)],
  };
}

/** The tools, if they are documents (those of frameworks are objects by name), and the model beside messages. */
export function besideMessages(part: Part): Pick<Conversation, "tools" | "model"> {
  const tools = part.get("tools");
  return {
    tools: Array.isArray(tools?.value) ? tools : undefined,
    model: part.textAt("model"),
  };
}

/** The instructions beside messages, as bodies of APIs and frameworks have them. */
export function instructionsIn(part: Part): Item[] {
  const at = part.first("instructions", "system");
  if (at === undefined) return [];
  return [{ kind: "system", text: at.textAt("content") ?? saidIn(at).text, at }];
}

/** Names of fields in which messages of some API or framework have calls. */
const CALLS = /^(tool|function)_?(call|invocation|use)s?$/i;

/**
 * Checks that a message has no calls in fields that are not read, which would hide them.
 *
 * @throws {InputError} If it has.
 */
export function assertNoOtherCalls(message: Part, read: readonly string[] = []): void {
  for (const name of Object.keys(message.value as object)) {
    if (!CALLS.test(name) || read.includes(name)) continue;
    const field = message.get(name);
    if (field === undefined || Array.isArray(field.value) && field.value.length === 0) continue;
    field.fail("calls cannot stand here in a trace of this form");
  }
}
