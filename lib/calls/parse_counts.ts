/**
 * Parse counts: how often the calls in the replies of one trial could be parsed.
 * @module
 */

import { withoutNumbers } from "../base/text_kind.ts";
import { type Parse, PARSES, type TraceEvent } from "./trace.ts";

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
 *
 * @example Usage
 * ```ts
 * import { parsesOf } from "@toolgate/toolgate/calls";
 * import { assertEquals } from "@std/assert";
 *
 * const numbers = { request: 1, calls: 1, inputTokens: 9, outputTokens: 9, durationMs: 9 };
 * const reply = { kind: "reply", text: "", ...numbers } as const;
 * assertEquals(
 *   parsesOf([
 *     { ...reply, parsed: "strict" },
 *     { ...reply, parsed: "repaired", repairs: ["call 1 had a trailing comma"] },
 *   ]),
 *   {
 *     strict: 1,
 *     repaired: 1,
 *     unreadable: 0,
 *     repairs: [{ repair: "call N had a trailing comma", replies: 1 }],
 *   },
 * );
 * assertEquals(parsesOf([reply]), undefined);
 * ```
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
