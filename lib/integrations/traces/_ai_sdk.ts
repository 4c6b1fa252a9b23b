/**
 * Traces of the AI SDK: the steps of `generateText()`, `streamText()` and agents, and lists of its messages.
 * @module
 */

import { readUsage } from "../../models/openai/reading.ts";
import {
  besideMessages,
  instructionsIn,
  messageItems,
  messagesIn,
  replyOf,
  saidIn,
  saidOf,
  writtenIn,
} from "./_content.ts";
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
    tools: besideMessages(part).tools,
    model: list[0]?.get("model")?.textAt("modelId") ??
      list[0]?.get("response")?.textAt("modelId"),
  };
}

function stepItems(step: Part): Item[] {
  const content = saidIn(step.need("content"), ["call", "result"]);
  const response = step.get("response");
  const usage = step.get("usage");
  const performance = step.get("performance");
  const reply: Reply = {
    ...replyOf(step, content),
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
    .flatMap((message) => saidIn(message.need("content"), ["result"]).results);
  const results = told.length > 0 ? told : content.results;
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

/** Reads a list of `ModelMessage`, or an object with one as its `messages`. */
export function readModelMessages(part: Part): Conversation {
  return messagesIn(part, modelMessage);
}

function modelMessage(at: Part): Item[] {
  return messageItems(at, saidIn(at.need("content"), ["call", "result"]));
}

/** Reads a list of `UIMessage`, or an object with one as its `messages`: each step of one begins a reply. */
export function readUIMessages(part: Part): Conversation {
  return messagesIn(part, uiMessage);
}

function uiMessage(at: Part): Item[] {
  const parts = at.need("parts").items();
  if (at.textAt("role") !== "assistant") return messageItems(at, saidOf(parts, []));
  const steps: Part[][] = [[]];
  for (const one of parts) {
    if (one.textAt("type") === "step-start") steps.push([]);
    else steps.at(-1)!.push(one);
  }
  return steps.filter((step) => step.length > 0).flatMap((step): Item[] => {
    const tools = step.filter(isToolPart);
    const calls = tools.filter((one) => one.get("providerExecuted")?.value !== true);
    const own = tools.filter((one) => !calls.includes(one)).map(uiCall);
    // A text that broke off stays so.
    const isCut = step.some((one) =>
      one.textAt("type") === "text" && one.textAt("state") === "streaming"
    );
    return [
      {
        ...replyOf(at, saidOf(step.filter((one) => !isToolPart(one)), [])),
        finish: isCut ? "other" : undefined,
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
    arguments: writtenIn(part),
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
