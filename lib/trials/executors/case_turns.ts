/**
 * Turns of a case: what each message of the user led to.
 * @module
 */

import { type CallRecord, recordedCalls, writtenCalls } from "../../calls/record.ts";
import type { TraceEvent } from "../../calls/trace.ts";
import { type Message, sumUsage } from "../../tools/message.ts";
import type { Executor } from "./executor.ts";

/** What one message of the user led to: assertions take it as they take the whole run. */
export interface ToolTestTurn extends CallRecord {
  /** The message. */
  readonly prompt: string;
  /** The texts of the model, one for each reply that has any, in order; the last is the answer. */
  readonly texts: readonly string[];
}

/** A run, of which the turns are parts. */
interface WholeRun {
  readonly prompt: string;
  readonly answer: string;
  readonly messages: readonly Message[];
  readonly tools: CallRecord["tools"];
  /** Milliseconds of the whole run. */
  readonly durationMs: number;
  /** Milliseconds of each turn; omitted if there is one alone. */
  readonly turnsMs: readonly number[] | undefined;
}

/** Returns the turns of a run. */
export function turnsOf(
  { events, uncut }: Pick<Executor, "events" | "uncut">,
  { prompt, answer, messages, tools, durationMs, turnsMs = [durationMs] }: WholeRun,
): ToolTestTurn[] {
  const parts = eventsByTurn(events);
  const said = textsByTurn(messages, parts.slice(1).map(({ text }) => text!));
  return parts.map(({ text = prompt, own }, place) => {
    const replies = own.filter((event) => event.kind === "reply");
    const isLast = place === parts.length - 1;
    const texts = said[place] ?? [];
    // Names stand for values in messages, and not in the answer.
    const all = isLast ? [...texts.slice(0, -1), answer] : texts;
    return {
      prompt: text,
      calls: recordedCalls(own, uncut),
      ...(replies.length === 0 ? {} : { written: writtenCalls(own) }),
      tools,
      texts: all.filter((one) => one.trim() !== ""),
      answer: all.at(-1) ?? "",
      replies: replies.length,
      usage: sumUsage(replies),
      durationMs: turnsMs[place] ?? 0,
    };
  });
}

/** The events of each turn, and the message that began it; of the first that is the question. */
function eventsByTurn(events: readonly TraceEvent[]): { text?: string; own: TraceEvent[] }[] {
  const parts: { text?: string; own: TraceEvent[] }[] = [{ own: [] }];
  for (const event of events) {
    if (event.kind === "turn") parts.push({ text: event.text, own: [] });
    else parts.at(-1)!.own.push(event);
  }
  return parts;
}

/** The texts of the model in each turn, empty ones among them. */
function textsByTurn(messages: readonly Message[], prompts: readonly string[]): string[][] {
  const texts: string[][] = [[]];
  const opening = messages.findIndex(({ role }) => role === "user");
  for (const { role, content } of messages.slice(opening + 1)) {
    if (role === "user" && content === prompts[texts.length - 1]) texts.push([]);
    else if (role === "assistant") texts.at(-1)!.push(content);
  }
  return texts;
}
