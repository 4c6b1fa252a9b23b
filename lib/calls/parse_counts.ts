/**
 * Parses: how well the calls in the replies of one trial could be read.
 * @module
 */

import { printable } from "../base/json.ts";
import { type Parse, PARSES, type TraceEvent } from "./trace.ts";

/** Something that had to be repaired in replies. */
export interface RepairCount {
  /** What it was, in words: numbers in it are `N`, so that the same of another call is the same. */
  readonly repair: string;
  /** In how many replies. */
  readonly replies: number;
}

/** How the replies of a trial that attempt calls could be read. */
export interface ParseCounts extends Readonly<Record<Parse, number>> {
  /** What had to be repaired in them, the commonest first; at most 20. */
  readonly repairs: readonly RepairCount[];
}

/** So many kinds of repairs are kept. */
const MOST_REPAIRS = 20;
/** So much of each is kept: it may hold what a model wrote. */
const LONGEST_REPAIR = 100;

/**
 * How the replies of the loop that attempt calls could be read; `undefined` where no reply tells, as in older
 * journals. Replies of stages, such as a plan, are none of the loop.
 *
 * @example Usage
 * ```ts
 * import { parsesOf } from "./parse_counts.ts";
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
  const kinds = replies.map(({ repairs = [] }) => [...new Set(repairs.map(kindOf))]);
  return {
    ...Object.fromEntries(PARSES.map((parse) => [parse, counted(parse)])) as Record<Parse, number>,
    repairs: sumRepairs(kinds.flat().map((repair) => ({ repair, replies: 1 }))),
  };
}

/** Repairs of one kind together, the commonest first. */
export function sumRepairs(counts: readonly RepairCount[]): RepairCount[] {
  const sums = new Map<string, number>();
  for (const { repair, replies } of counts) {
    sums.set(repair, (sums.get(repair) ?? 0) + replies);
  }
  return [...sums].map(([repair, replies]) => ({ repair, replies }))
    .sort((one, other) => other.replies - one.replies || (one.repair < other.repair ? -1 : 1))
    .slice(0, MOST_REPAIRS);
}

/** Which calls of a reply were repaired differs from reply to reply. */
function kindOf(repair: string): string {
  // An id that was taken already goes on, as in call_1_2.
  const kind = repair.slice(0, 2 * LONGEST_REPAIR).replace(/\d+(?:_\d+)*/g, "N");
  return printable(kind, LONGEST_REPAIR);
}
