/**
 * Traces of the AI SDK: the steps of `generateText()`, `streamText()` and agents, and lists of its messages.
 * @module
 */

import { readUsage } from "../../models/openai/reading.ts";
import { lostIn } from "./_content.ts";
import {
  type Conversation,
  finishOf,
  type Item,
  type Reply,
  type Result,
} from "./_conversation.ts";
import { type Part, textOf } from "./_part.ts";

/**
 * Reads steps, or an object with them. What was asked is in no step: it stands beside them as `prompt` or `messages`, and
 * `system` or `instructions`.
 */
export function readSteps(part: Part): Conversation {
  const steps = Array.isArray(part.value) ? part : part.need("steps");
  const prompt = part.get("prompt");
  const asked = part.get("messages") ?? (Array.isArray(prompt?.value) ? prompt : undefined);
  const said: Item[] = [
    ...instructionsIn(part),
    ...(asked === undefined ? [] : asked.items().flatMap(modelMessage)),
    ...(prompt === undefined || asked === prompt
      ? []
      : [{ kind: "user" as const, text: prompt.text(), at: prompt }]),
  ];
  const list = steps.items();
  return {
    items: [...said, ...list.flatMap(stepItems)],
    tools: toolsIn(part),
    model: list[0]?.get("model")?.textAt("modelId") ??
      list[0]?.get("response")?.textAt("modelId"),
  };
}

/** The instructions beside steps or messages, which are none of these. */
function instructionsIn(part: Part): Item[] {
  const at = part.first("instructions", "system");
  return at === undefined ? [] : [{ kind: "system", text: textIn(at), at }];
}

/** Documents of tools, if those beside the steps are any: tools of the SDK are objects by name. */
function toolsIn(part: Part): Part | undefined {
  const tools = part.get("tools");
  return Array.isArray(tools?.value) ? tools : undefined;
}

function stepItems(step: Part): Item[] {
  const parts = step.need("content").items();
  const response = step.get("response");
  const usage = step.get("usage");
  const performance = step.get("performance");
  const reply: Reply = {
    ...replyOf(parts, step),
    usage: readUsage(usage?.get("inputTokens")?.value, usage?.get("outputTokens")?.value),
    served: response?.textAt("modelId"),
    durationMs: numberAt(performance, "responseTimeMs"),
    finish: finishOf(step.textAt("finishReason")),
  };
  if (reply.calls.length === 0) return [reply];
  // The message is what the model got; a part of the step may hold an error, of which JSON keeps nothing. Some versions
  // repeat the messages of earlier steps.
  const messages = response?.get("messages")?.items() ?? [];
  const last = messages.findLastIndex((message) => message.textAt("role") === "assistant");
  const told = messages.slice(last + 1).filter((message) => message.textAt("role") === "tool")
    .flatMap((message) => message.need("content").items().flatMap(resultsIn));
  const results = told.length > 0 ? told : parts.flatMap(resultsIn);
  const times = performance?.get("toolExecutionMs");
  return [
    reply,
    ...results.map((result) => ({
      ...result,
      durationMs: result.id === undefined ? undefined : numberAt(times, result.id),
    })),
  ];
}

function numberAt(part: Part | undefined, name: string): number | undefined {
  const value = part?.get(name)?.value;
  return typeof value === "number" && value >= 0 ? Math.round(value) : undefined;
}

/** Parts that are neither said nor called, and no results. */
const SILENT: readonly string[] = [
  "reasoning",
  "reasoning-file",
  "custom",
  "file",
  "image",
  "source",
  "source-url",
  "source-document",
  "step-start",
  "tool-approval-request",
  "tool-approval-response",
];

const RESULTS: readonly string[] = ["tool-result", "tool-error"];

/** Whether the provider ran the tool of a part itself. */
const isOfProvider = (part: Part) => part.get("providerExecuted")?.value === true;

/** The reply in the parts of a step or of a message. */
function replyOf(parts: readonly Part[], at: Part): Reply {
  const calls = parts.filter((part) => part.textAt("type") === "tool-call");
  for (const part of parts) {
    const type = part.need("type").text();
    if ([...SILENT, ...RESULTS, "text", "tool-call"].includes(type) || type.startsWith("data-")) {
      continue;
    }
    part.need("type").fail("must be the type of a part of the AI SDK");
  }
  const ownCalls = calls.filter(isOfProvider).map((part) => ({
    function: part.need("toolName").text(),
    arguments: inputOf(part),
  }));
  return {
    kind: "reply",
    text: parts.map((part) => part.textAt("type") === "text" ? part.need("text").text() : "").join(
      "",
    ),
    calls: calls.filter((part) => !isOfProvider(part)).map((part) => ({
      id: part.textAt("toolCallId"),
      name: part.need("toolName").text(),
      arguments: inputOf(part),
    })),
    ...(ownCalls.length === 0 ? {} : { ownCalls }),
    at,
  };
}

/** The arguments of a call: text that could not be read stays as it is. */
function inputOf(part: Part): string {
  const input = part.first("input", "args", "rawInput");
  return input === undefined ? "{}" : textOf(input.value);
}

/** The result in a part; of one that is none nothing. */
function resultsIn(part: Part): Result[] {
  const type = part.textAt("type") ?? "";
  if (!RESULTS.includes(type) || isOfProvider(part)) return [];
  const id = part.textAt("toolCallId");
  const output = type === "tool-error"
    ? { text: textOf(part.get("error")?.value ?? ""), isError: true as const }
    : outputOf(part);
  return [{ kind: "result", ...output, at: part, id }];
}

/** The text of an output: in messages its type says what it is, in steps it is what the tool returned. */
function outputOf(part: Part): Pick<Result, "text" | "isError" | "lost"> {
  const output = part.first("output", "result");
  const type = output?.textAt("type");
  const value = output?.first("value", "reason");
  switch (type) {
    case "text":
    case "json":
      return { text: textOf(value?.value ?? null) };
    case "error-text":
    case "error-json":
    case "execution-denied":
      return { text: textOf(value?.value ?? type), isError: true };
    case "content":
      return { text: textIn(value), ...lostIn(value) };
    default:
      return { text: textOf(output?.value ?? null) };
  }
}

/** The text of a text, or of a list of parts. */
function textIn(part: Part | undefined): string {
  if (part === undefined) return "";
  if (typeof part.value === "string") return part.value;
  if (!Array.isArray(part.value)) return part.textAt("content") ?? part.text();
  return part.items().map((one) => one.textAt("text") ?? one.textAt("content") ?? "").join("");
}

/** Reads a list of `ModelMessage`, or an object with one as its `messages`. */
export function readModelMessages(part: Part): Conversation {
  const list = Array.isArray(part.value) ? part : part.need("messages");
  const model = part.textAt("model");
  return {
    items: [...instructionsIn(part), ...list.items().flatMap(modelMessage)],
    tools: toolsIn(part),
    model,
  };
}

function modelMessage(at: Part): Item[] {
  const role = at.need("role").text();
  const content = at.need("content");
  if (role === "system" || role === "user") {
    return [{ kind: role, text: textIn(content), at, ...lostIn(content) }];
  }
  if (role === "tool") return content.items().flatMap(resultsIn);
  if (role !== "assistant") {
    return at.need("role").fail("must be one of system, user, assistant and tool");
  }
  if (typeof content.value === "string") {
    return [{ kind: "reply", text: content.value, calls: [], at }];
  }
  const parts = content.items();
  // Results of the provider's calls are not marked here.
  const own = new Set(parts.filter(isOfProvider).map((part) => part.textAt("toolCallId")));
  const results = parts.filter((part) => !own.has(part.textAt("toolCallId"))).flatMap(resultsIn);
  return [replyOf(parts, at), ...results];
}

/** Reads a list of `UIMessage`, or an object with one as its `messages`: each step of one begins a reply. */
export function readUIMessages(part: Part): Conversation {
  const list = Array.isArray(part.value) ? part : part.need("messages");
  return {
    items: [...instructionsIn(part), ...list.items().flatMap(uiMessage)],
    tools: toolsIn(part),
  };
}

function uiMessage(at: Part): Item[] {
  const role = at.need("role").text();
  const parts = at.need("parts").items();
  if (role === "system" || role === "user") {
    const text = parts.map((one) => one.textAt("text") ?? "").join("");
    return [{ kind: role, text, at, ...lostIn(at.get("parts")) }];
  }
  if (role !== "assistant") {
    return at.need("role").fail("must be one of system, user and assistant");
  }
  const steps: Part[][] = [[]];
  for (const one of parts) {
    if (one.textAt("type") === "step-start") steps.push([]);
    else steps.at(-1)!.push(one);
  }
  return steps.filter((step) => step.length > 0).flatMap((step): Item[] => {
    const calls = step.filter((one) => isToolPart(one) && !isOfProvider(one));
    const own = step.filter((one) => isToolPart(one) && isOfProvider(one)).map(uiCall);
    const reply = replyOf(step.filter((one) => !isToolPart(one)), at);
    // A text that broke off stays so.
    const isCut = step.some((one) =>
      one.textAt("type") === "text" && one.textAt("state") === "streaming"
    );
    return [
      {
        ...reply,
        ...(isCut ? { finish: "other" as const } : {}),
        calls: calls.map(uiCall),
        ...(own.length === 0 ? {} : {
          ownCalls: own.map(({ name, arguments: written }) => ({
            function: name,
            arguments: written,
          })),
        }),
      },
      ...calls.flatMap(uiResult),
    ];
  });
}

/** The part of a tool is called after it, that of one that is known only at run time is `dynamic-tool`. */
function isToolPart(part: Part): boolean {
  const type = part.textAt("type") ?? "";
  return type === "dynamic-tool" ||
    type.startsWith("tool-") && part.has("toolCallId") && part.has("state");
}

function uiCall(part: Part): Reply["calls"][number] {
  return {
    id: part.textAt("toolCallId"),
    name: part.textAt("toolName") ?? part.need("type").text().slice("tool-".length),
    arguments: inputOf(part),
  };
}

function uiResult(part: Part): Result[] {
  const state = part.need("state").text();
  const id = part.textAt("toolCallId");
  const of = { kind: "result" as const, at: part, id };
  if (state === "output-available") {
    return [{ ...of, text: textOf(part.get("output")?.value ?? null) }];
  }
  if (state === "output-error") {
    return [{ ...of, text: part.textAt("errorText") ?? "", isError: true }];
  }
  return [];
}
