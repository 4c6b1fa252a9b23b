/**
 * Spans: what a trial does, by OpenTelemetry's semantic conventions for generative AI
 * (https://github.com/open-telemetry/semantic-conventions-genai). A trial is a trace: `invoke_agent` at its root, with
 * a `chat` for each reply and an `execute_tool` for each call. What the conventions have no word for is `toolgate.*`.
 * @module
 */

import { attempt, isErrorOf, reasonOf } from "../base/errors.ts";
import {
  cutText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printable,
  rawDigits,
} from "../base/json.ts";
import { redact, redactRecord, redactRecordValue } from "../base/redact.ts";
import {
  type FailedAttempt,
  MAX_KEPT_LENGTH,
  type OwnCall,
  type ReplyEvent,
} from "../calls/trace.ts";
import {
  type FinishReason,
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../models/model.ts";
import { currentRecording } from "../models/recordings/scope.ts";
import { claimedUsage, type Message, type Usage } from "../tools/message.ts";
import type { ToolCall, ToolSchema } from "../tools/tool.ts";
import { type CallOutcome, errorOf, type Making } from "./executors/made_call.ts";
import {
  type Attributes,
  currentSpans,
  type SpanEnd,
  spansFor,
  type TrialSpans,
} from "../base/tracing.ts";
import { bounded, shownOf } from "./transcript.ts";
import type { Trial } from "./trial.ts";
import type { PlannedTrial } from "./trial_id.ts";

/** Runs a trial as a trace of its own. */
export function traceTrial(
  { id, task, strategy, perturbation, variant, repetition }: PlannedTrial,
  { model, suite }: { readonly model: Model; readonly suite: string },
  run: () => Promise<Trial>,
): Promise<Trial> {
  const spans = spansFor(id);
  if (spans === undefined) return run();
  return spans.run({
    kind: "internal",
    start: () => ({
      name: named("invoke_agent", suite),
      attributes: {
        ...operation("invoke_agent", spans, model),
        "gen_ai.agent.name": suite === "" ? undefined : short(suite),
        ...texts({ suite, strategy, perturbation, variant }),
        ...texts(
          "case" in task
            ? { case: String(task.case) }
            : { task: id.slice(0, Math.max(0, id.indexOf(" model="))) },
        ),
        "toolgate.repetition": spans.whole(repetition),
      },
    }),
    describe: (ended) => "error" in ended ? thrownError(ended.error) : trialEnd(spans, ended.value),
  }, run);
}

function trialEnd(spans: TrialSpans, result: Trial): SpanEnd {
  const { outcome, solved, grounded, calls, failures, usage, agent, permanent, events } = result;
  const answer = events.findLast((event) => event.kind === "answer");
  const isError = outcome === "invalid" || outcome === "agent_error";
  return {
    attributes: {
      ...usageOf(usage, spans),
      ...{ "toolgate.outcome": outcome, "toolgate.solved": solved, "toolgate.grounded": grounded },
      // Models of stages may be simulated, too.
      "toolgate.simulated": result.model.simulated,
      "toolgate.calls": spans.whole(calls),
      "toolgate.failures": failures.map(({ type }) => type),
      ...texts({ agent }),
      "toolgate.replayed": currentRecording()?.replayed ? true : undefined,
    },
    content: () => ({
      ...spans.opening,
      "gen_ai.output.messages": answer &&
        outputText({ text: answer.text, calls: [] }, spans.keys),
    }),
    error: isError ? { type: permanent ?? outcome, message: result.reason ?? "" } : undefined,
  };
}

/** A request for a reply. */
export interface TracedRequest extends Pick<ModelRequest, "messages" | "tools"> {
  readonly model: Model;
  /** Its number in the trial, from 1. */
  readonly request: number;
  readonly stage?: string | undefined;
}

/** A reply, and what is known of it beside. */
interface TracedReply extends Pick<ReplyEvent, "model" | "ownCalls"> {
  readonly reply: ModelReply;
}

/** Asks for a reply: in a trial with spans, within one. */
export function traceReply<Result extends TracedReply>(
  { model, request, messages, tools, stage }: TracedRequest,
  ask: () => Promise<Result>,
): Promise<Result> {
  const spans = currentSpans();
  if (spans === undefined) return ask();
  // Loops and agents go on with their list.
  const asked = [...messages];
  const input = () => {
    const attributes = {
      "gen_ai.input.messages": messagesText(asked.map(spanMessage), spans.keys),
      "gen_ai.tool.definitions": tools.length === 0
        ? undefined
        : definitionsText(tools, spans.keys),
    };
    spans.opening ??= attributes;
    return attributes;
  };
  return spans.within({
    kind: "client",
    start: () => ({
      name: named("chat", nameAtServer(model)),
      attributes: {
        ...operation("chat", spans, model),
        "toolgate.request": spans.whole(request),
        ...texts({ stage }),
      },
    }),
    describe: (ended) => {
      if ("error" in ended) return { ...thrownError(ended.error), content: input };
      const { reply, model: other, ownCalls = [] } = ended.value;
      const { finish, served, usage, parsed } = reply;
      const reason = FINISH[finish];
      return {
        name: other === undefined ? undefined : named("chat", other),
        attributes: {
          "gen_ai.request.model": other && short(other),
          "gen_ai.response.model": served === "" ? undefined : short(served),
          "gen_ai.response.finish_reasons": reason && [reason],
          ...usageOf(usage, spans),
          "toolgate.failed_attempts": failedAttempts(reply.failed),
          ...texts({ parsed }),
        },
        content: () => ({
          ...input(),
          "gen_ai.output.messages": outputText({ ...reply, ownCalls, reason }, spans.keys),
        }),
      };
    },
  }, ask);
}

/** Carries out a call: in a trial with spans, within one. */
export function traceCall(
  { call, place, by }: Making,
  carryOut: () => CallOutcome | Promise<CallOutcome>,
): CallOutcome | Promise<CallOutcome> {
  const spans = currentSpans();
  if (spans === undefined) return carryOut();
  const { id, name, resolved: written = call.arguments, agentDid } = call;
  return spans.within({
    kind: "internal",
    start: () => ({
      name: named("execute_tool", name),
      attributes: {
        ...{ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": short(name) },
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": id === "" ? undefined : short(id),
        ...{ "toolgate.call": spans.whole(place.call), "toolgate.step": spans.whole(place.step) },
        ...texts({ by: by ?? call.by, agent_did: agentDid }),
      },
    }),
    describe: (ended) => {
      const given = () => ({ "gen_ai.tool.call.arguments": cleanText(written, spans.keys) });
      if ("error" in ended) return { ...thrownError(ended.error), content: given };
      const { content, event: { fault, error } = {}, failure } = ended.value;
      // A call that the agent left did not fail for that.
      const type = failure?.type ??
        (agentDid === undefined ? errorOf(ended.value, call, true)?.category : undefined);
      return {
        attributes: texts({ failure: failure?.type, fault }),
        content: () => ({
          ...given(),
          "gen_ai.tool.call.result": agentDid === undefined
            ? cleanText(content, spans.keys)
            : undefined,
        }),
        error: type === undefined ? undefined : { type, message: messageOf(error ?? content) },
      };
    },
  }, carryOut);
}

const FINISH: Readonly<Record<FinishReason, string | undefined>> = {
  stop: "stop",
  calls: "tool_call",
  length: "length",
  filter: "content_filter",
  other: undefined,
};

/** The names of the conventions for providers, by the end of their hosts; for all others `openai`, whose API it is. */
const PROVIDERS = Object.entries({
  "anthropic.com": "anthropic",
  "openai.azure.com": "azure.ai.openai",
  "cohere.ai": "cohere",
  "cohere.com": "cohere",
  "deepseek.com": "deepseek",
  "generativelanguage.googleapis.com": "gcp.gemini",
  "aiplatform.googleapis.com": "gcp.vertex_ai",
  "groq.com": "groq",
  "mistral.ai": "mistral_ai",
  "moonshot.ai": "moonshot_ai",
  "perplexity.ai": "perplexity",
  "x.ai": "x_ai",
});

/** What spans say of the model and its server. */
function operation(name: string, spans: TrialSpans, model: Model): Attributes {
  const { simulated, server } = model;
  const url = server?.origin === undefined ? undefined : new URL(server.origin);
  const host = `.${url?.hostname ?? ""}`;
  const [, known = "openai"] = PROVIDERS.find(([end]) => host.endsWith(`.${end}`)) ?? [];
  return {
    "gen_ai.operation.name": name,
    "gen_ai.provider.name": simulated ? "simulated" : server && known,
    "gen_ai.request.model": short(nameAtServer(model)),
    "gen_ai.conversation.id": spans.conversation,
    "server.address": url?.hostname,
    "server.port": url && spans.whole(Number(url.port || (url.protocol === "http:" ? 80 : 443))),
    "toolgate.trial": spans.trial,
    "toolgate.model": short(model.name),
    "toolgate.simulated": simulated,
  };
}

function nameAtServer({ name, server }: Model): string {
  return server?.model ?? name;
}

function usageOf(usage: Usage, spans: TrialSpans): Attributes {
  // Custom models may report anything.
  const { inputTokens, outputTokens, estimated } = claimedUsage(usage);
  return {
    "gen_ai.usage.input_tokens": spans.whole(inputTokens),
    "gen_ai.usage.output_tokens": spans.whole(outputTokens),
    "toolgate.usage.estimated": estimated,
  };
}

/** Why attempts failed before the last: their HTTP status, or their cause where there was no answer. */
function failedAttempts(failed: readonly FailedAttempt[] = []): readonly string[] | undefined {
  const attempts = failed.map(({ status, cause }) => status ? String(status) : cause);
  return attempts.length === 0 ? undefined : attempts;
}

/** What a span says of work that threw. */
function thrownError(error: unknown): SpanEnd {
  const message = messageOf(reasonOf(error));
  if (isErrorOf(error, InfrastructureError)) {
    const { status, permanent, failed } = error;
    const type = status === undefined ? permanent ?? "infrastructure" : String(status);
    // The last one is the error itself.
    const attributes = { "toolgate.failed_attempts": failedAttempts(failed.slice(0, -1)) };
    return { attributes, error: { type, message } };
  }
  if (isErrorOf(error, TimeLimitError)) {
    return { attributes: {}, error: { type: "timeout", message } };
  }
  const name = isErrorOf(error, Error) ? String(error.name) : "";
  return { attributes: {}, error: { type: /^\w{1,100}$/.test(name) ? name : "_OTHER", message } };
}

function messageOf(text: string): string {
  return printable(redact(text), 500);
}

/** Returns attributes of toolgate's own, of the texts that there are. */
function texts(given: Readonly<Record<string, string | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, text = ""]) =>
      text === "" ? [] : [[`toolgate.${name}`, short(text)]]
    ),
  );
}

/** Returns the name of a span. */
function named(operation: string, of: string): string {
  return of === "" ? operation : `${operation} ${printable(short(of))}`;
}

/** Returns a name, which models may make up, without secrets and not too long. */
function short(name: string): string {
  return cutText(redactRecord(name), 200);
}

/** Characters of the messages of one span, at most: of more only the last are sent. */
const MAX_MESSAGES_LENGTH = 1_000_000;

/** A message as the conventions have it. */
interface SpanMessage {
  readonly role: string;
  readonly parts: readonly JsonObject[];
  readonly finish_reason?: string;
}

/** Returns a reply, with the calls of functions that are not the task's. */
export function outputText(
  { text, written = text, calls, ownCalls = [], reason }:
    & Pick<ModelReply, "text" | "written" | "calls">
    & { readonly ownCalls?: readonly OwnCall[]; readonly reason?: string | undefined },
  keys: Set<string>,
): string {
  const parts = [...textParts(written), ...calls.map(callPart), ...ownCalls.map(ownCallPart)];
  return messagesText([{ role: "assistant", parts, finish_reason: reason }], keys);
}

/** Returns the functions that a model is offered. */
function definitionsText(tools: readonly ToolSchema[], keys: Set<string>): string {
  const { tools: shown } = shownOf({ messages: [], tools });
  return jsonText(shown.map((tool) => ({ type: "function", ...tool })), keys);
}

/** Returns a text without secrets, cut as in a trace. */
function cleanText(text: string, keys: Set<string>): string {
  return cutText(redactRecordValue(bounded(text), keys), MAX_KEPT_LENGTH);
}

function messagesText(messages: readonly SpanMessage[], keys: Set<string>): string {
  let left = MAX_MESSAGES_LENGTH;
  const texts = messages.map((message) => jsonText(message, keys));
  // Earlier spans of the trial have the first ones.
  const before = texts.findLastIndex((text) => (left -= text.length) < 0);
  return `[${texts.slice(before + 1).join(",")}]`;
}

function spanMessage(message: Message): SpanMessage {
  const { role, content } = message;
  if (role === "tool") {
    const part = { type: "tool_call_response", id: message.callId, response: bounded(content) };
    return { role, parts: [part] };
  }
  const calls = role === "assistant" ? message.calls : [];
  return { role, parts: [...textParts(content), ...calls.map(callPart)] };
}

function textParts(text: string): JsonObject[] {
  return text === "" ? [] : [{ type: "text", content: bounded(text) }];
}

function callPart({ id, name, arguments: written }: ToolCall): JsonObject {
  return {
    type: "tool_call",
    ...(id === "" ? {} : { id }),
    name: bounded(name),
    arguments: argumentsOf(written),
  };
}

/** A call that an agent carried out by itself: for the conventions its details are an object with a type. */
function ownCallPart({ function: name, arguments: written }: OwnCall): JsonObject {
  return {
    type: "server_tool_call",
    name: bounded(name),
    arguments: argumentsOf(written),
    server_tool_call: { type: "function" },
  };
}

/** Arguments as an object where that says all that was written, such as not where a name is there twice. */
function argumentsOf(written: string): JsonValue {
  // A longer text would be cut, and is then not JSON.
  const given = written.length > MAX_KEPT_LENGTH ? undefined : parseJson(written);
  return isJsonObject(given) && attempt(() => JSON.stringify(given)) === written
    ? given
    : bounded(written);
}

/** Returns JSON without secrets, whose texts are cut as in a trace: half a key would not be recognised. */
function jsonText(value: object, keys: Set<string>): string {
  return JSON.stringify(
    redactRecordValue(value, keys),
    (_, inner: JsonValue) =>
      typeof inner === "string" ? cutText(inner, MAX_KEPT_LENGTH) : rawDigits(inner),
  );
}
