/**
 * Conversations: what the readers of all forms of traces make of them, and the recorded run that it becomes.
 * @module
 */

import { countText } from "../../base/numbers.ts";
import { defined } from "../../base/json.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import type { FinishReason } from "../../models/model.ts";
import type {
  RecordedReply,
  RecordedReplyCall,
  RecordedRun,
  RecordedTurn,
} from "../../trials/recorded_run.ts";
import type { RecordedResult } from "../../tools/tool.ts";
import type { Part } from "./_part.ts";

/** A text of the instructions or of the user. */
interface PromptText {
  readonly kind: "system" | "user";
  readonly text: string;
  /** The parts left out, which are no text; default none. */
  readonly lost?: number;
  readonly at: Part;
}

/** A reply of the model. */
export interface Reply extends Omit<RecordedReply, "calls"> {
  readonly kind: "reply";
  readonly calls: readonly Omit<RecordedReplyCall, "result">[];
  /** Set if it goes on with the reply before it, of which it is a part. */
  readonly continues?: true;
  readonly at: Part;
}

/** What a call came to. */
export interface Result extends RecordedResult {
  readonly kind: "result";
  /** The id of its call, which is trusted only where it can mean one call. */
  readonly id?: string;
  /** The place of its call among those of the reply, counted from 0, where that is known. */
  readonly call?: number;
  /** The parts left out, which are no text; default none. */
  readonly lost?: number;
  readonly at: Part;
}

/** One of what was said, in order. */
export type Item = PromptText | Reply | Result;

/** Why replies were cut off or failed, as APIs and frameworks say it. */
const FINISH: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries({
    length: ["length", "max_tokens", "max_output_tokens", "incomplete", "model_length"],
    filter: ["content_filter", "safety", "refusal"],
    other: ["error", "failed", "cancelled", "in_progress", "queued", "abort"],
  }).flatMap(([finish, reasons]) => reasons.map((reason) => [reason, finish as FinishReason])),
);

/** Returns why a reply is no whole one, by its reason or state; `undefined` if that does not say so. */
export function finishOf(reason: unknown): FinishReason | undefined {
  if (typeof reason !== "string") return undefined;
  return FINISH.get(reason.toLowerCase().replaceAll("-", "_"));
}

/** A conversation as its reader found it. */
export interface Conversation {
  /** What was said, in order. */
  readonly items: readonly Item[];
  /** What distinguishes it from others of its test and model, such as the id of its trace; omitted where it does not say. */
  readonly id?: string;
  /** The documents of the tools that the trace has; omitted if it has none. */
  readonly tools?: Part;
  /** The name of the model; omitted where the trace does not say. */
  readonly model?: string;
  /** Set if that is a program. */
  readonly simulated?: true;
  /** The test that it is of, and its suite; omitted where the trace does not say. */
  readonly case?: string;
  readonly suite?: string;
  /** Where it begins, in what holds several. */
  readonly at?: Part;
  /** Why it cannot be judged anew; omitted if it can. */
  readonly unfit?: string;
  /** Why the model could not answer; omitted if nothing kept it from that. */
  readonly broken?: string;
  /** Sentences on what is not as it was. */
  readonly notes?: readonly string[];
}

/** A sentence on things of which there are some; none without any. */
export function counted(count: number, noun: string, what: string): string[] {
  return count === 0 ? [] : [`${countText(count, noun)} ${what}`];
}

/** Says why a trial of toolgate cannot be judged anew: what it was run with, and the number of texts that were cut. */
export function whyUnfit(ids: readonly (string | undefined)[], cut: number): string[] {
  const changed = ids.filter((id) => id !== undefined && id !== "plain" && id !== "none");
  return [
    ...changed.map((id) => `it was run with ${id}`),
    ...counted(cut, "text", "cut, as 10,000 characters are kept"),
  ];
}

/** The number of texts in an item that toolgate has cut: half a character more is cut than what is too long. */
export function cutIn(item: Item): number {
  const calls = item.kind === "reply" ? item.calls : [];
  return [item.text, ...calls.flatMap(({ name, arguments: written }) => [name, written])]
    .filter(({ length }) => length >= MAX_KEPT_LENGTH - 1).length;
}

/** A recorded run, and what was left out of it. */
export interface Assembled {
  readonly run: RecordedRun;
  readonly notes: readonly string[];
}

interface OpenReply extends Omit<Reply, "kind" | "continues" | "at" | "calls"> {
  readonly calls: Reply["calls"][number][];
  /** The ids of its calls. */
  readonly ids: Set<string | undefined>;
  readonly results: Result[];
}

interface OpenTurn {
  prompt: string;
  readonly replies: OpenReply[];
}

/**
 * Puts a conversation together: the messages of the user, what each led to, and the result of each call.
 *
 * @throws {InputError} If there is a result without a call, or nothing was said.
 */
export function assemble({ items, notes = [], broken }: Conversation, whole: Part): Assembled {
  const system: string[] = [];
  const turns: OpenTurn[] = [];
  const left = { system: 0, greetings: 0 };
  const called = new Set<string>();
  const isCalled = items.slice(0, items.findIndex(({ kind }) => kind === "user"))
    .some((item) => item.kind === "reply" && item.calls.length > 0);
  const hasUser = items.some(({ kind }) => kind === "user");
  for (const item of items) {
    const turn = turns.at(-1);
    switch (item.kind) {
      case "system":
        if (turn === undefined) system.push(item.text);
        else left.system++;
        break;
      case "user":
        // Messages of the user that nothing was said between are one.
        if (turn !== undefined && turn.replies.length === 0) turn.prompt += `\n\n${item.text}`;
        else turns.push({ prompt: item.text, replies: [] });
        break;
      case "reply":
        if (turn === undefined && hasUser && !isCalled) left.greetings++;
        else addReply(turn ?? newTurn(turns), item);
        for (const { id } of item.calls) if (id !== undefined) called.add(id);
        break;
      case "result":
        addResult(turn?.replies.at(-1), item, called);
    }
  }
  if (broken === undefined && turns.every(({ replies }) => replies.length === 0)) {
    whole.fail("must have a reply of a model", "it has none");
  }
  if (turns.length === 0) newTurn(turns);
  const made = turns.map(({ prompt, replies }): RecordedTurn => ({
    prompt,
    replies: replies.map(({ results, ids: _, ...reply }) => ({
      ...reply,
      calls: paired(reply.calls, results),
    })),
  }));
  const replies = made.flatMap((turn) => turn.replies);
  const calls = replies.flatMap((reply) => reply.calls);
  // No model is to blame for what its provider did not send.
  const failure = replies.at(-1)?.finish === "other" ? "its last reply failed" : undefined;
  const unanswered = calls.filter(({ result }) => result === undefined).length;
  const lostOf = (kind: Item["kind"]) =>
    items.reduce(
      (sum, item) => sum + (item.kind === kind && item.kind !== "reply" ? item.lost ?? 0 : 0),
      0,
    );
  return {
    run: {
      ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
      turns: made,
      broken: broken ?? failure,
    },
    notes: [
      ...notes,
      ...counted(left.system, "instruction", "in mid-conversation left out"),
      ...counted(left.greetings, "text", "before the first message of the user left out"),
      ...counted(lostOf("user"), "part", "of messages of the user left out, which are no text"),
      ...counted(lostOf("result"), "part", "of results left out, which are no text"),
      ...counted(unanswered, "call", "without a result, taken as not carried out"),
    ],
  };
}

/** A turn that begins without a message of the user, as agents do that are started by a program. */
function newTurn(turns: OpenTurn[]): OpenTurn {
  const turn = { prompt: "", replies: [] };
  turns.push(turn);
  return turn;
}

function addReply({ replies }: OpenTurn, { kind: _, at: __, continues, ...reply }: Reply): void {
  const before = replies.at(-1);
  if (!continues || before === undefined || before.results.length > 0) {
    const ids = new Set(reply.calls.map(({ id }) => id));
    replies.push({ ...reply, calls: [...reply.calls], ids, results: [] });
    return;
  }
  const { calls, ids } = before;
  // Each may have one call more: copies of so many lists would take quadratic time.
  for (const call of reply.calls) {
    calls.push(call);
    ids.add(call.id);
  }
  const ownCalls = [...before.ownCalls ?? [], ...reply.ownCalls ?? []];
  replies[replies.length - 1] = {
    ...before,
    ...defined(reply),
    text: before.text + reply.text,
    calls,
    ...(ownCalls.length === 0 ? {} : { ownCalls }),
    results: [],
  };
}

function addResult(
  reply: OpenReply | undefined,
  result: Result,
  called: ReadonlySet<string>,
): void {
  const { calls = [], results = [], ids } = reply ?? {};
  const isOfOther = result.call === undefined && result.id !== undefined &&
    called.has(result.id) && !ids?.has(result.id);
  if (calls.length > results.length && !isOfOther) {
    reply!.results.push(result);
    return;
  }
  result.at.fail(
    "a result must follow the reply whose call it answers",
    calls.length === 0
      ? "the reply before it makes no calls"
      : isOfOther
      ? "its id is that of a call of an earlier reply"
      : `the reply before it makes ${countText(calls.length, "call")}, which have their results`,
  );
}

/**
 * Pairs the calls of a reply with their results, by place: ids repeat in practice. Only where an id stands for one
 * call and one result alone does it decide.
 */
function paired(
  calls: OpenReply["calls"],
  results: readonly Result[],
): RecordedReplyCall[] {
  const callsOf = Map.groupBy(calls.keys(), (place) => calls[place]!.id);
  const resultsOf = Map.groupBy(results, ({ id }) => id);
  const places = new Map<Result, number>();
  for (const result of results) {
    const { id, call } = result;
    const isOnly = id && callsOf.get(id)?.length === 1 && resultsOf.get(id)?.length === 1;
    const place = call ?? (isOnly ? callsOf.get(id)![0] : undefined);
    if (place !== undefined) places.set(result, place);
  }
  const taken = new Set(places.values());
  const free = calls.keys().filter((place) => !taken.has(place));
  for (const result of results) {
    if (!places.has(result)) places.set(result, free.next().value!);
  }
  const byPlace = new Map([...places].map(([result, place]) => [place, result]));
  return calls.map((call, place) => {
    const result = byPlace.get(place);
    if (result === undefined) return call;
    const { text, isError, durationMs } = result;
    return { ...call, result: { text, isError, durationMs } };
  });
}
