/**
 * Work in a trace beside the calls as models made them: that of strategies, that of agents, and how often the calls in
 * replies could be parsed.
 * @module
 */

import { defined } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import { withoutNumbers } from "../base/text_kind.ts";
import type { AgentDeed } from "../tools/tool.ts";
import { type CallEvent, callsOf, type Parse, PARSES, type TraceEvent } from "./trace.ts";

/** The work of strategies outside the agent loop. */
export interface StrategyWork {
  /** Number of replies that stages asked for. */
  readonly asked: number;
  /** Number of stages without a usable result, such as an empty plan. */
  readonly unusable: number;
  /** Number of calls sent back because they did not conform to their schema. */
  readonly sentBack: number;
  /** Number of those that were repaired. */
  readonly mended: number;
  /** Number of calls made again after an error; omitted without any. */
  readonly retried?: number;
  /** Number of calls of another function in place of one that cannot work; omitted without any. */
  readonly replaced?: number;
}

/** Counts the work of strategies in a trace; `undefined` if there was none outside the agent loop. */
export function workOf(events: readonly TraceEvent[]): StrategyWork | undefined {
  const count = (counts: (event: TraceEvent) => boolean) => events.filter(counts).length;
  const work = {
    asked: count((event) => event.kind === "reply" && event.stage !== undefined),
    unusable: count((event) => event.kind === "stage" && event.unusable === true),
    sentBack: count((event) => event.kind === "repair"),
    mended: count((event) => event.kind === "repair" && event.repaired !== undefined),
  };
  const made = (by: CallEvent["by"]) => count((event) => event.kind === "call" && event.by === by);
  const all = {
    ...work,
    retried: made("retry") || undefined,
    replaced: made("alternative") || undefined,
  };
  return Object.values(all).some(Boolean) ? defined(all) : undefined;
}

/** What an agent of the user's own did beside carrying out calls as they were written; each is omitted if 0. */
export interface AgentWork {
  /** Number of wrong calls that it hid from the model. */
  readonly hid?: number;
  /** Number of calls in whose place it carried out others, with other arguments or a corrected name. */
  readonly repaired?: number;
  /** Number of right calls that it did not carry out. */
  readonly notRun?: number;
  /** Number of right calls that it holds: it answered before they had a result. */
  readonly held?: number;
  /** Number of calls that it made by itself, those in place of others included. */
  readonly made?: number;
  /** Number of replies that it threw away, to ask for them again. */
  readonly resampled?: number;
  /** Number of calls of its own functions that replies made, of one reply at most 20. */
  readonly ownCalls?: number;
}

/** Counts what an agent did in a trace; `undefined` if it carried out all calls as they were written. */
export function agentWorkOf(events: readonly TraceEvent[]): AgentWork | undefined {
  const calls = callsOf(events);
  const did = (deed: AgentDeed) => calls.filter(({ agentDid }) => agentDid === deed).length;
  const replies = events.filter((event) => event.kind === "reply");
  return sumAgentWork([{
    hid: did("hid"),
    repaired: did("repaired"),
    notRun: did("not_run"),
    held: did("held"),
    made: calls.filter(({ by }) => by === "agent").length,
    resampled: replies.filter(({ replaces }) => replaces !== undefined).length,
    ownCalls: sum(replies, ({ ownCalls = [] }) => ownCalls.length),
  }]);
}

/** Adds up what agents did in trials; `undefined` if that is nothing. */
export function sumAgentWork(works: readonly AgentWork[]): AgentWork | undefined {
  const names = ["hid", "repaired", "notRun", "held", "made", "resampled", "ownCalls"] as const;
  const counts = names.map((name) => [name, sum(works, (work) => work[name] ?? 0)] as const)
    .filter(([, count]) => count > 0);
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

/** A repair, and how often it was needed. */
export interface RepairCount {
  /** Description of the repair; numbers are replaced by `N`, so that repairs of any call look the same. */
  readonly repair: string;
  /** Number of replies that needed it. */
  readonly replies: number;
}

/** Number of replies that attempt calls, by how they could be parsed. */
export interface ParseCounts extends Readonly<Record<Parse, number>> {
  /** The repairs, most frequent first; at most 20. */
  readonly repairs: readonly RepairCount[];
}

/** Kinds of repairs, at most. */
const MAX_REPAIRS = 20;
/** Characters of each repair, at most: it may quote the model. */
const MAX_REPAIR_LENGTH = 100;

/**
 * Counts how the replies that attempt calls could be parsed; `undefined` if no reply says. Replies of stages, such as a
 * plan, do not count.
 */
export function parsesOf(events: readonly TraceEvent[]): ParseCounts | undefined {
  const replies = events.flatMap((event) =>
    event.kind === "reply" && event.stage === undefined && event.parsed !== undefined ? [event] : []
  );
  if (replies.length === 0) return undefined;
  const counted = (parse: Parse) => replies.filter(({ parsed }) => parsed === parse).length;
  // The numbers of calls differ from reply to reply.
  const kinds = replies.map(({ repairs = [] }) => [
    ...new Set(repairs.map((repair) => withoutNumbers(repair, MAX_REPAIR_LENGTH))),
  ]);
  return {
    ...Object.fromEntries(PARSES.map((parse) => [parse, counted(parse)])) as Record<Parse, number>,
    repairs: sumRepairs(kinds.flat().map((repair) => ({ repair, replies: 1 }))),
  };
}

/** Sums repairs of the same kind, most frequent first. */
export function sumRepairs(counts: readonly RepairCount[]): RepairCount[] {
  const sums = new Map<string, number>();
  for (const { repair, replies } of counts) {
    sums.set(repair, (sums.get(repair) ?? 0) + replies);
  }
  return [...sums].map(([repair, replies]) => ({ repair, replies }))
    .sort((one, other) => other.replies - one.replies || (one.repair < other.repair ? -1 : 1))
    .slice(0, MAX_REPAIRS);
}
