/**
 * Call records: what a run has to show to assertions and scores, whoever made its calls. They are
 * projections of the trace.
 * @module
 */

import type { FaultKind } from "../tools/fault.ts";
import { isJsonObject, type JsonValue, parseJson } from "../base/json.ts";
import type { Usage } from "../tools/message.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { callsOf, type TraceEvent } from "./trace.ts";

/** A call as it was made, and what came back. */
export interface RecordedCall {
  /** The number of the call in its run, from 1. */
  readonly call: number;
  /** The number of its step, from 1: calls of one reply share it. */
  readonly step: number;
  /** The name that was called; there need be no such tool. */
  readonly tool: string;
  /** The arguments; `undefined` where what was written is no JSON. */
  readonly arguments: JsonValue | undefined;
  /** The arguments as they were written. */
  readonly written: string;
  /** The text that went back. */
  readonly result: string;
  /** Why it failed: refused, no such tool, or what the tool threw; left out where it did not. */
  readonly error?: string;
  /** The fault that was put in its way; left out where none was. */
  readonly fault?: FaultKind;
  /** `true` where no tool was run: the arguments do not conform, or there is no such tool. */
  readonly refused?: true;
}

/** What a trace has cut of a call. */
export interface UncutCall {
  /** The arguments as they were written, or what they stand for. */
  readonly written: string;
  /** The text that went back. */
  readonly result: string;
}

/** What a run has to show. */
export interface CallRecord {
  /** The calls, in order. */
  readonly calls: readonly RecordedCall[];
  /** The tools as they are, whatever a model was shown of them. */
  readonly tools: readonly ToolSchema[];
  /** The final text; `null` where there is none. */
  readonly answer: string | null;
  /** Model replies; 0 where an agent of one's own was asked. */
  readonly replies: number;
  /** Tokens read and written. */
  readonly usage: Usage;
  /** Milliseconds that it took, tools included, without waiting, retries and failed attempts. */
  readonly durationMs: number;
}

/**
 * The calls of a trace. A trace keeps 10,000 characters of a text: `uncut` has what it has cut, by the
 * numbers of calls.
 *
 * @example Usage
 * ```ts
 * import { recordedCalls } from "./record.ts";
 * import { Toolbox } from "../trials/executors/toolbox.ts";
 * import { assertEquals } from "@std/assert";
 *
 * using toolbox = new Toolbox([]);
 * await toolbox.execute([{ id: "1", name: "search", arguments: "{}" }]);
 * assertEquals(recordedCalls(toolbox.events)[0]?.error, "There is no function search");
 * ```
 */
export function recordedCalls(
  events: readonly TraceEvent[],
  uncut: ReadonlyMap<number, UncutCall> = new Map(),
): RecordedCall[] {
  return callsOf(events).map((event): RecordedCall => {
    const { call, step, function: tool } = event;
    const whole = uncut.get(call);
    const written = whole?.written ?? event.resolved ?? event.arguments;
    const result = whole?.result ?? event.result;
    // A function may answer a call that is wrong: what it returned is no error.
    const isRefused = event.failure !== undefined && event.returned === undefined;
    const error = event.error ?? (isRefused ? refusalIn(event.unperturbed ?? result) : undefined);
    return {
      ...{ call, step, tool, written, result },
      arguments: parseJson(written),
      ...(error === undefined ? {} : { error }),
      ...(event.fault === undefined ? {} : { fault: event.fault }),
      ...(isRefused ? { refused: true as const } : {}),
    };
  });
}

/** What a refused call was told. */
function refusalIn(result: string): string {
  const value = parseJson(result);
  const told = isJsonObject(value) ? value["error"] ?? result : result;
  return typeof told === "string" ? told : JSON.stringify(told);
}
