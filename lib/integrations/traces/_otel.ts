/**
 * Traces of OpenTelemetry by its semantic conventions for generative AI: `chat`, `execute_tool` and `invoke_agent`.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
 * @module
 */

import { countText } from "../../base/numbers.ts";
import { defined } from "../../base/json.ts";
import type { FinishReason } from "../../models/model.ts";
import { readUsage } from "../../models/openai/reading.ts";
import {
  type Conversation,
  cutIn,
  type Item,
  type Reply,
  type Result,
  whyUnfit,
} from "./_conversation.ts";
import { type Span, spansIn, structured } from "./_otel_spans.ts";
import { type Part, textOf } from "./_part.ts";

/** Operations that ask a model. */
const ASKING: readonly string[] = ["chat", "generate_content", "text_completion"];

const FINISH: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ["length", "length"],
  ["max_tokens", "length"],
  ["content_filter", "filter"],
]);

/** Reads the conversations in spans: those of one `gen_ai.conversation.id`, else of one trace. */
export function readSpans(part: Part): Conversation[] {
  const spans = spansIn(part);
  const ids = new Map(spans.flatMap(({ trace, attribute }) => {
    const id = attribute("gen_ai.conversation.id")?.value;
    return typeof id === "string" ? [[trace, id] as const] : [];
  }));
  const groups = Map.groupBy(spans, ({ trace }) => `${ids.get(trace) ?? trace}`);
  const found = [...groups.values()].map((group) => group.toSorted(byTime)).flatMap((group) =>
    group.some(isOfAgent) ? [conversationOf(group, part)] : []
  );
  if (found.length > 0) return found;
  return part.fail(
    "must have spans with gen_ai.operation.name chat or invoke_agent",
    `there is none among ${countText(spans.length, "span")}`,
  );
}

const operationOf = ({ attribute }: Span) => attribute("gen_ai.operation.name")?.value;
/** Requests of a strategy beside the conversation are a stage of it. */
const isAsking = (span: Span) =>
  ASKING.includes(`${operationOf(span)}`) && span.attribute("toolgate.stage") === undefined;
const isOfAgent = (span: Span) => isAsking(span) || operationOf(span) === "invoke_agent";

function byTime({ start: one }: Span, { start: other }: Span): number {
  if (one === undefined || other === undefined) return 0;
  return one < other ? -1 : one > other ? 1 : 0;
}

function conversationOf(spans: readonly Span[], part: Part): Conversation {
  const byId = new Map(spans.map((span) => [span.id, span]));
  /** The agents that a span is within. */
  const agentsOf = (span: Span): number => {
    let [count, above] = [0, byId.get(span.parent)];
    for (let level = 0; above !== undefined && level < spans.length; level++) {
      if (operationOf(above) === "invoke_agent") count++;
      above = byId.get(above.parent);
    }
    return count;
  };
  const agents = spans.filter((span) => operationOf(span) === "invoke_agent");
  const all = spans.filter(isAsking);
  const asked = all.filter((span) => agentsOf(span) <= 1);
  const run = spans.filter((span) => operationOf(span) === "execute_tool" && agentsOf(span) <= 1);
  const sources = asked.length > 0 ? asked : agents.slice(0, 1);
  const [first] = sources;
  const items = asked.length > 0 ? itemsOf(asked, run) : itemsOf(sources, run);
  const text = (name: string) => {
    const value = spans.map(({ attribute }) => attribute(name)?.value)
      .find((one) => typeof one === "string");
    return value as string | undefined;
  };
  const tools = [...sources, ...agents].map(({ attribute }) => attribute("gen_ai.tool.definitions"))
    .find((one) => one !== undefined);
  const below = all.length - asked.length;
  const isSimulated = spans.some(({ attribute }) =>
    attribute("toolgate.simulated")?.value === true
  );
  if (first === undefined) return part.fail("must have spans that ask a model");
  // Only of toolgate's own spans is it known at what length texts are cut.
  const unfit = whyUnfit(
    ["toolgate.strategy", "toolgate.perturbation"].map(text),
    text("toolgate.trial") === undefined ? 0 : items.reduce((sum, item) => sum + cutIn(item), 0),
  );
  const left = below === 0
    ? []
    : [`${countText(below, "request")} of agents within the agent left out`];
  return {
    items,
    ...defined({
      tools: tools && structured(tools),
      model: text("toolgate.model") ?? text("gen_ai.request.model") ??
        text("gen_ai.response.model"),
      case: text("toolgate.case"),
      suite: text("toolgate.suite"),
      simulated: isSimulated || undefined,
      unfit: unfit[0],
    }),
    notes: [...unfit, ...left],
  };
}

/**
 * What was said, request by request: of each the messages behind the last reply before it, as each request has the whole
 * conversation, and its reply.
 */
function itemsOf(asked: readonly Span[], run: readonly Span[]): Item[] {
  const items: Item[] = [];
  const left = [...run];
  for (const [place, span] of asked.entries()) {
    const input = messagesIn(span, "gen_ai.input.messages");
    const last = place === 0 ? -1 : input.findLastIndex(({ kind }) => kind === "reply");
    const news = place === 0 ? [...instructionsIn(span), ...input] : input.slice(last + 1);
    const results = news.filter((item) => item.kind === "result");
    // What the spans of tools say is needed only where no request shows it.
    const before = place === 0 ? [] : takeRuns(items, left, span.start);
    items.push(
      ...(results.length > 0 ? news.map((item) => timed(item, before)) : [...before, ...news]),
    );
    const output = messagesIn(span, "gen_ai.output.messages");
    if (!output.some(({ kind }) => kind === "reply")) {
      span.at.fail(
        "must have gen_ai.output.messages: instrumentations keep what was said only when told to",
        `a span ${operationOf(span)} has none`,
      );
    }
    const usage = ["input", "output"].map((way) =>
      span.attribute(`gen_ai.usage.${way}_tokens`)?.value
    );
    const own = output.findLastIndex(({ kind }) => kind === "reply");
    const told = defined({
      usage: readUsage(usage[0], usage[1]),
      served: span.attribute("gen_ai.response.model")?.value as string | undefined,
      durationMs: millisecondsOf(span),
    });
    items.push(...output.map((item, at) => at === own ? { ...item, ...told } as Item : item));
  }
  items.push(...takeRuns(items, left, undefined));
  return items;
}

function millisecondsOf({ start, end }: Span): number | undefined {
  if (start === undefined || end === undefined || end < start) return undefined;
  return Number((end - start) / 1_000_000n);
}

/** A result with the time that the span of its tool took. */
function timed(item: Item, runs: readonly Result[]): Item {
  if (item.kind !== "result") return item;
  const own = runs.filter(({ id }) => id !== undefined && id === item.id);
  if (own.length !== 1) return item;
  const { durationMs, isError } = own[0]!;
  return { ...item, ...defined({ durationMs, isError }) };
}

/** Takes the results of the tools that ran for the last reply, before the next request began. */
function takeRuns(items: readonly Item[], left: Span[], before: bigint | undefined): Result[] {
  const last = items.findLast((item) => item.kind === "reply");
  const calls = last?.kind === "reply" ? last.calls : [];
  const end = left.findIndex(({ start }) =>
    before !== undefined && start !== undefined && start >= before
  );
  const own = left.splice(0, Math.min(end < 0 ? left.length : end, calls.length));
  return own.flatMap((span): Result[] => {
    const result = span.attribute("gen_ai.tool.call.result");
    const error = span.isError || span.attribute("error.type") !== undefined;
    if (result === undefined && !error) return [];
    const id = span.attribute("gen_ai.tool.call.id")?.value;
    const text = textOf(
      result?.value ?? span.at.get("status")?.first("message", "description")?.value ??
        span.attribute("error.type")?.value ?? "",
    );
    return [{
      kind: "result",
      text,
      at: span.at,
      ...defined({
        id: typeof id === "string" ? id : undefined,
        isError: error ? true as const : undefined,
        durationMs: millisecondsOf(span),
      }),
    }];
  });
}

function instructionsIn(span: Span): Item[] {
  const found = span.attribute("gen_ai.system_instructions");
  if (found === undefined) return [];
  const at = typeof found.value === "string" && !/^\s*\[/.test(found.value)
    ? found
    : structured(found);
  const text = Array.isArray(at.value) ? at.items().map(partText).join("") : at.text();
  return [{ kind: "system", text, at }];
}

function partText(part: Part): string {
  return part.textAt("type") === "text" ? part.textAt("content") ?? part.textAt("text") ?? "" : "";
}

function messagesIn(span: Span, name: string): Item[] {
  const found = span.attribute(name);
  return found === undefined ? [] : structured(found).items().flatMap(messageItems);
}

/** Parts that are neither said nor called, and no results. */
const SILENT: readonly string[] = ["reasoning", "blob", "file", "uri", "thinking"];
const KNOWN: readonly string[] = [
  ...SILENT,
  "text",
  "tool_call",
  "tool_call_response",
  "server_tool_call",
  "server_tool_call_response",
];

function messageItems(at: Part): Item[] {
  const role = at.need("role").text();
  const parts = at.need("parts").items();
  const of = (type: string) => parts.filter((part) => part.textAt("type") === type);
  for (const part of parts) {
    if (KNOWN.includes(part.need("type").text())) continue;
    part.need("type").fail("must be the type of a part of a message");
  }
  const text = parts.map(partText).join("");
  const results = of("tool_call_response").map((part): Result => ({
    kind: "result",
    text: textOf(part.first("response", "result")?.value ?? null),
    at: part,
    ...defined({ id: part.textAt("id") }),
  }));
  if (role === "system" || role === "developer") return [{ kind: "system", text, at }];
  if (role === "tool") return results;
  if (role === "user") {
    return [
      ...results,
      ...(results.length > 0 && text === "" ? [] : [{ kind: "user" as const, text, at }]),
    ];
  }
  if (role !== "assistant") {
    return at.need("role").fail("must be one of system, user, assistant and tool");
  }
  const own = of("server_tool_call").map((part) => ({
    function: part.textAt("name") ?? "",
    arguments: textOf(part.first("arguments", "server_tool_call")?.value ?? {}),
  }));
  const reply: Reply = {
    ...{ kind: "reply", text, at },
    calls: of("tool_call").map((part) => ({
      ...defined({ id: part.textAt("id") }),
      name: part.need("name").text(),
      arguments: textOf(part.get("arguments")?.value ?? {}),
    })),
    ...(own.length === 0 ? {} : { ownCalls: own }),
    ...defined({ finish: FINISH.get(at.textAt("finish_reason")) }),
  };
  return [reply, ...results];
}
