/**
 * Traces of OpenTelemetry by its semantic conventions for generative AI: `chat`, `execute_tool` and `invoke_agent`.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
 * @module
 */

import { countText } from "../../base/numbers.ts";
import { defined, listText, printable } from "../../base/json.ts";
import { readUsage } from "../../models/openai/reading.ts";
import {
  type Conversation,
  counted,
  cutIn,
  finishOf,
  type Item,
  type Reply,
  type Result,
  whyUnfit,
} from "./_conversation.ts";
import {
  above,
  keyed,
  millisecondsOf,
  nestedOnce,
  operationOf,
  spansIn,
  structured,
  textOfAttribute,
  type TraceSpan,
} from "./_otel_spans.ts";
import { messageItems, saidIn } from "./_content.ts";
import { type Part, textOf } from "./_part.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** Operations that ask a model. */
const ASKING: readonly string[] = ["chat", "generate_content", "text_completion"];

/**
 * Reads the conversations in spans, which may stand in several exports: those of one `gen_ai.conversation.id`, else of one
 * trace. Each names the first of its spans.
 */
export function readSpans(parts: readonly Part[]): Conversation[] {
  const spans = parts.flatMap(spansIn);
  const keyOf = keyed(spans);
  const traces = new Set(spans.filter(isAsking).map(({ trace }) => trace));
  const groups = [...Map.groupBy(spans, keyOf).values()].filter((group) =>
    group.some(isAsking) || group.some((span) => isOfAgent(span) && !traces.has(span.trace))
  );
  if (groups.length > 0) {
    return groups.map((group) => ({ ...conversationOf(group), at: group[0]!.at }));
  }
  return parts[0]!.fail(
    "must have spans with gen_ai.operation.name chat or invoke_agent",
    `there is none among ${countText(spans.length, "span")}`,
  );
}

/** Requests of a strategy beside the conversation are a stage of it. */
const isAsking = (span: TraceSpan) =>
  ASKING.includes(`${operationOf(span)}`) && span.attribute("toolgate.stage") === undefined;
const isOfAgent = (span: TraceSpan) => isAsking(span) || operationOf(span) === "invoke_agent";

function byTime({ start: one }: TraceSpan, { start: other }: TraceSpan): number {
  if (one === undefined || other === undefined) return 0;
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The spans of a group, each once: what is exported twice, or sent again, is one. */
function withoutDoubled(group: readonly TraceSpan[]): TraceSpan[] {
  const byId = new Map<string, TraceSpan>();
  for (const span of group) {
    getOrInsertComputed(
      byId,
      span.id === "" ? `${byId.size} ` : `${span.trace}/${span.id}`,
      () => span,
    );
  }
  return [...byId.values()];
}

/** Names in parentheses, each once. */
function named(names: readonly string[]): string {
  const known = [...new Set(names)].filter((name) => name !== "").map((name) =>
    printable(name, 80)
  );
  return known.length === 0 ? "" : ` (${listText(known, 5)})`;
}

/** Whether a span has the reply of its model. */
function hasReply(span: TraceSpan): boolean {
  return messagesIn(span, "gen_ai.output.messages").some(({ kind }) => kind === "reply");
}

/** Whether a request goes on with what was said before. */
function goesOn(span: TraceSpan): boolean {
  return messagesIn(span, "gen_ai.input.messages").some(({ kind }) =>
    kind === "reply" || kind === "result"
  );
}

function conversationOf(group: readonly TraceSpan[]): Conversation {
  const spans = withoutDoubled(group).toSorted(byTime);
  const aboveOf = above(spans);
  const isOuter = (span: TraceSpan) =>
    aboveOf(span).filter((one) => operationOf(one) === "invoke_agent").length <= 1;
  const agents = spans.filter((span) => operationOf(span) === "invoke_agent");
  const all = spans.filter(isAsking);
  const isOfTool = (span: TraceSpan) =>
    aboveOf(span).some((one) => operationOf(one) === "execute_tool");
  // A tool may ask a model, or be what runs the agent.
  const outer = all.filter(
    all.every(isOfTool) ? isOuter : (span) => isOuter(span) && !isOfTool(span),
  );
  const told = new Set(outer.filter(hasReply));
  const failed = outer.filter((span) => span.hasFailed && !told.has(span));
  const tried = outer.filter((span) => !failed.includes(span));
  const asked = nestedOnce(tried, told, aboveOf);
  const ran = spans.filter((span) => operationOf(span) === "execute_tool");
  const run = ran.filter(isOuter);
  const innerTools = ran.filter((span) => !isOuter(span))
    .map((span) => textOfAttribute(span, "gen_ai.tool.name") ?? "");
  const isBroken = asked.length === 0 && failed.length > 0;
  const cut = failed.filter((span) => span === outer.at(-1) && goesOn(span));
  const sources = asked.length > 0
    ? [...asked, ...cut]
    : isBroken
    ? failed.slice(-1)
    : agents.slice(0, 1);
  const [first] = sources;
  if (first === undefined) return group[0]!.at.fail("must have spans that ask a model");
  const { items, notes } = isBroken
    ? {
      items: [...instructionsIn(first), ...messagesIn(first, "gen_ai.input.messages")],
      notes: [],
    }
    : itemsOf(sources, run);
  const lastReply = items.findLast((item) => item.kind === "reply");
  const isCut = cut.length > 0 || failed.includes(outer.at(-1)!) && lastReply?.calls.length !== 0;
  const text = (name: string, among = spans) =>
    among.map((span) => textOfAttribute(span, name)).find((one) => one !== undefined);
  const asking = [...sources, ...agents];
  const tools = [...sources, ...outer, ...agents]
    .map(({ attribute }) => attribute("gen_ai.tool.definitions"))
    .find((one) => one !== undefined);
  // Each is asked: one that is neither true nor false is an error.
  const simulated = spans.map(({ attribute }) => attribute("toolgate.simulated")?.isTrue());
  // Only of toolgate's own spans is it known at what length texts are cut.
  const unfit = whyUnfit(
    ["toolgate.strategy", "toolgate.perturbation"].map((name) => text(name)),
    text("toolgate.trial") === undefined ? 0 : items.reduce((sum, item) => sum + cutIn(item), 0),
  );
  const left = (count: number, noun: string, why: string) =>
    counted(count, noun, `${why} left out`);
  return {
    items,
    id: text("gen_ai.conversation.id") ?? spans.map(({ trace }) => trace).find((id) => id !== ""),
    tools: tools && structured(tools),
    model: text("toolgate.model") ?? text("gen_ai.request.model", asking) ??
      text("gen_ai.response.model", asking),
    case: text("toolgate.case"),
    suite: text("toolgate.suite"),
    simulated: simulated.includes(true) || undefined,
    unfit: unfit[0],
    broken: isBroken ? "no request got a reply" : isCut ? "its last request failed" : undefined,
    notes: [
      ...unfit,
      ...left(all.length - outer.length, "request", "of agents or tools within the agent"),
      ...left(innerTools.length, "run", `of tools of agents within the agent${named(innerTools)}`),
      ...left(group.length - spans.length, "span", "that stand twice"),
      ...left(tried.length - asked.length, "request", "that others are within, or hold,"),
      ...left(isBroken ? 0 : failed.length, "request", "that failed"),
      ...notes,
    ],
  };
}

/**
 * What was said, request by request: of each the messages behind the replies that its conversation had so far, as each
 * request has the whole of it, and its reply. A request whose span is missing is read from the one behind it.
 */
function itemsOf(
  asked: readonly TraceSpan[],
  run: readonly TraceSpan[],
): { readonly items: Item[]; readonly notes: string[] } {
  const items: Item[] = [];
  const runs = runsOf(run);
  let [said, hidden] = [0, 0];
  for (const [place, span] of asked.entries()) {
    const input = messagesIn(span, "gen_ai.input.messages");
    const news = place === 0
      ? [...instructionsIn(span), ...input]
      : withoutLast(input.slice(behind(input, said, items)), items);
    if (place > 0) {
      const replies = news.filter((item) => item.kind === "reply");
      if (replies.some((one) => isPending(one, items))) {
        span.at.fail(
          "must go on with the request before it: conversations of one trace need ids of their own",
          "it has the reply of an earlier one",
        );
      }
      hidden += replies.length;
    }
    const results = news.filter((item) => item.kind === "result");
    // What the spans of tools say is needed only where no request shows it.
    const before = place === 0 ? [] : runs.take(items, span.start);
    items.push(
      ...(results.length > 0
        ? news.map((item) => item.kind === "result" ? timed(item, results, before) : item)
        : [...before, ...news]),
    );
    const output = messagesIn(span, "gen_ai.output.messages");
    // Each message of the output is a choice by the conventions; where replies come in parts, one has the reason.
    const choices = output.filter(({ kind, at }) => kind === "reply" && at.has("finish_reason"));
    if (choices.length > 1) {
      span.at.fail(
        "gen_ai.output.messages must be one choice",
        `there are ${choices.length}`,
      );
    }
    if (!span.hasFailed && !output.some(({ kind }) => kind === "reply")) {
      span.at.fail(
        "must have gen_ai.output.messages: turn on the recording of message contents in the instrumentation",
        `a span ${operationOf(span)} has none`,
      );
    }
    said = repliesIn([...input, ...output]).length;
    const usage = ["input", "output"].map((way) =>
      span.attribute(`gen_ai.usage.${way}_tokens`)?.value
    );
    const own = output.findLast((item) => item.kind === "reply");
    const reasons = span.attribute("gen_ai.response.finish_reasons")?.value;
    const told = defined({
      // What a request said until it failed is no answer.
      finish: own?.finish ?? finishOf([reasons].flat()[0]) ??
        (span.hasFailed ? "other" as const : undefined),
      usage: readUsage(usage[0], usage[1]),
      served: textOfAttribute(span, "gen_ai.response.model"),
      durationMs: millisecondsOf(span),
    });
    items.push(...output.map((item) => item === own ? { ...own, ...told } : item));
  }
  items.push(...runs.take(items, undefined));
  const lost = runs.lost(items);
  return {
    items,
    notes: [
      ...counted(hidden, "request", "without a span read from a later one"),
      ...counted(lost, "run", "of tools that no reply calls left out"),
    ],
  };
}

/** The places behind the replies in messages: replies with nothing between them are parts of one. */
function repliesIn(items: readonly Item[]): number[] {
  return items.flatMap(({ kind }, place) =>
    kind === "reply" && items[place + 1]?.kind !== "reply" ? [place + 1] : []
  );
}

/**
 * Where the messages begin that follow a number of replies. A history that was cut has fewer: there it is behind the last
 * reply that was heard or, as of a summary, behind the last one, if that is none that nobody heard.
 */
function behind(input: readonly Item[], said: number, items: readonly Item[]): number {
  const places = repliesIn(input);
  if (places.length > said) return places[said - 1] ?? 0;
  const heard = callsOf(items, repliesIn(items).at(-1) ?? 0);
  const calls = places.map((place) => callsOf(input, place));
  const text = textOfCalls(heard);
  const own = calls.findLastIndex((each) => textOfCalls(each) === text);
  if (own >= 0) return places[own]!;
  const ids = new Set(heard.map(({ id }) => id));
  const last = calls.at(-1) ?? [];
  const isHidden = last.length > 0 && last.every(({ id }) => (id ?? "") !== "" && !ids.has(id));
  return (isHidden ? startOf(input, places.at(-1)!) : places.at(-1)) ?? 0;
}

/** Where the reply begins that ends at a place. */
function startOf(items: readonly Item[], place: number): number {
  let start = place;
  while (items[start - 1]?.kind === "reply") start--;
  return start;
}

/** The calls of the reply that ends at a place. */
function callsOf(items: readonly Item[], place: number): Reply["calls"] {
  return items.slice(startOf(items, place), place)
    .flatMap((item) => item.kind === "reply" ? item.calls : []);
}

const textOfCalls = (calls: Reply["calls"]) =>
  JSON.stringify(calls.map(({ name, arguments: written }) => [name, written]));
const callsText = (calls: Reply["calls"]) =>
  JSON.stringify(calls.map(({ id, name, arguments: written }) => [id, name, written]));

/** Without replies that repeat calls of the last one, as histories do that have each call and its result apart. */
function withoutLast(news: readonly Item[], items: readonly Item[]): Item[] {
  const last = items.findLast((item) => item.kind === "reply");
  const key = ({ id = "", name, arguments: written }: Reply["calls"][number]) =>
    JSON.stringify([id, name, written]);
  const known = new Set(last?.calls.filter(({ id }) => (id ?? "") !== "").map(key));
  return news.filter((item) =>
    item.kind !== "reply" || item.calls.length === 0 ||
    !item.calls.every((call) => known.has(key(call)))
  );
}

/** Whether a reply is there, and nothing answers its calls. */
function isPending({ calls }: Reply, items: readonly Item[]): boolean {
  const place = items.findLastIndex((item) =>
    item.kind === "reply" && item.calls.length > 0 && callsText(item.calls) === callsText(calls)
  );
  return place >= 0 && items[place + 1]?.kind !== "result";
}

/** A result with what the span of its tool says: by the id of the call or, without one, by place. */
function timed(item: Result, results: readonly Item[], runs: readonly Result[]): Result {
  const { id = "" } = item;
  const isOnly = id !== "" &&
    results.filter((one) => one.kind === "result" && one.id === id).length === 1;
  const place = results.indexOf(item);
  const own = runs.find((run) => isOnly ? run.id === id : run.call === place);
  const { durationMs = item.durationMs, isError = item.isError } = own ?? {};
  return { ...item, durationMs, isError };
}

function instructionsIn(span: TraceSpan): Item[] {
  const found = span.attribute("gen_ai.system_instructions");
  if (found === undefined) return [];
  const at = typeof found.value === "string" && !/^\s*\[/.test(found.value)
    ? found
    : structured(found);
  return [{ kind: "system", text: saidIn(at).text, at }];
}

function messagesIn(span: TraceSpan, name: string): Item[] {
  const found = span.attribute(name);
  return found === undefined ? [] : structured(found).items().flatMap(itemsIn);
}

function itemsIn(at: Part): Item[] {
  const said = saidIn(at.need("parts"), ["call", "result", "own"]);
  return messageItems(at, said, { finish: finishOf(at.textAt("finish_reason")) });
}

/** The spans of tools, from which the results of one reply after the other are taken. */
interface Runs {
  /** Takes the results of the calls of the last reply, of what ran before a time. */
  readonly take: (items: readonly Item[], before: bigint | undefined) => Result[];
  /** The number of runs that are of no call. */
  readonly lost: (items: readonly Item[]) => number;
}

/** Returns the runs of tools in spans, which are in order of time. */
function runsOf(spans: readonly TraceSpan[]): Runs {
  let left = [...spans];
  const unmatched: TraceSpan[] = [];
  return {
    take: (items, before) => {
      const last = items.findLast((item) => item.kind === "reply");
      const isLater = ({ start }: TraceSpan) =>
        before !== undefined && start !== undefined && start >= before;
      const window = left.filter((span) => !isLater(span));
      const calls = last?.calls ?? [];
      const done = window.filter((span) => !isTriedAgain(span, window, calls));
      const places = placesOf(done, calls);
      // A run without a time may be of a reply that is still to come.
      left = left.filter((span) => isLater(span) || span.start === undefined && !places.has(span));
      unmatched.push(...window.filter((span) => span.start !== undefined && !places.has(span)));
      return [...places].flatMap(([span, call]) => resultOf(span, call, calls[call]!.id))
        .sort((one, other) => one.call! - other.call!);
    },
    lost: (items) => {
      const ids = new Set(
        items.flatMap((item) => item.kind === "reply" ? item.calls.map(({ id }) => id) : []),
      );
      // One span within another may be of the same call.
      return [...unmatched, ...left].filter((span) => {
        const id = textOfAttribute(span, "gen_ai.tool.call.id");
        return id === undefined || !ids.has(id);
      }).length;
    },
  };
}

interface SpanCall {
  readonly id?: string;
  readonly name: string;
}

/** The place of the call that each span is of: by its id, else by its name, and by place only without a name. */
function placesOf(spans: readonly TraceSpan[], calls: readonly SpanCall[]): Map<TraceSpan, number> {
  const places = new Map<TraceSpan, number>();
  const taken = new Set<number>();
  for (
    const fits of [
      (span: TraceSpan, { id }: SpanCall) =>
        id !== undefined && id !== "" && id === textOfAttribute(span, "gen_ai.tool.call.id"),
      (span: TraceSpan, { name }: SpanCall) => name === nameOf(span),
      (span: TraceSpan) => nameOf(span) === undefined,
    ]
  ) {
    for (const span of spans) {
      if (places.has(span)) continue;
      const place = calls.findIndex((call, at) => !taken.has(at) && fits(span, call));
      if (place < 0) continue;
      places.set(span, place);
      taken.add(place);
    }
  }
  return places;
}

/** Whether a span failed whose call, the only one of its id, another one carried out again. */
function isTriedAgain(
  { hasFailed, end, attribute }: TraceSpan,
  spans: readonly TraceSpan[],
  calls: readonly SpanCall[],
): boolean {
  const id = attribute("gen_ai.tool.call.id")?.value;
  return hasFailed && end !== undefined && id !== undefined &&
    calls.filter((call) => call.id === id).length === 1 &&
    spans.some((other) =>
      other.start !== undefined && other.start >= end &&
      other.attribute("gen_ai.tool.call.id")?.value === id
    );
}

/** The name of the tool; the name of the span has it as well. */
function nameOf(span: TraceSpan): string | undefined {
  return textOfAttribute(span, "gen_ai.tool.name") ??
    /^execute_tool (\S+)$/.exec(span.at.textAt("name") ?? "")?.[1];
}

function resultOf(span: TraceSpan, call: number, id: string | undefined): Result[] {
  const result = span.attribute("gen_ai.tool.call.result");
  if (result === undefined && !span.hasFailed) return [];
  const text = textOf(
    result?.value ?? span.at.get("status")?.first("message", "description")?.value ??
      span.attribute("error.type")?.value ?? "",
  );
  return [{
    ...{ kind: "result", text, at: span.at, call },
    id,
    isError: span.hasFailed ? true as const : undefined,
    durationMs: millisecondsOf(span),
  }];
}
