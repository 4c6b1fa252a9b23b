/**
 * Call records: the calls of a run as assertions and scores see them. They are projections of the trace.
 * @module
 */

import { type FaultKind, isLost, lossText } from "../tools/fault.ts";
import {
  defined,
  isJsonObject,
  jsonText,
  type JsonValue,
  parseJson,
  printable,
} from "../base/json.ts";
import type { InjectedDemand } from "../tools/injection.ts";
import type { Usage } from "../tools/message.ts";
import type { AgentDeed, ToolSchema } from "../tools/tool.ts";
import { type CallEvent, callsOf, type TextCallEvent, type TraceEvent } from "./trace.ts";

/** A call event as assertions, alignment, scores and views see it, its arguments parsed. */
export interface RecordedCall {
  /** Number of the call in its run, from 1. */
  readonly call: number;
  /** Number of its step, from 1: calls of one reply share it. */
  readonly step: number;
  /** The name that was called; there may be no such tool. */
  readonly tool: string;
  /** The arguments; `undefined` if the text written is not JSON. */
  readonly arguments: JsonValue | undefined;
  /** The arguments as they were written, with references resolved. */
  readonly written: string;
  /** The text sent back. */
  readonly result: string;
  /** Why it failed: refused, no such tool, or the tool's error; omitted if it did not fail. */
  readonly error?: string;
  /** The fault injected into it; omitted if there is none. */
  readonly fault?: FaultKind;
  /** The call that a fault took and that it refers to, so that it was not made; omitted otherwise. */
  readonly blockedBy?: number;
  /** What an instruction injected into its result demanded; omitted without one. */
  readonly injected?: InjectedDemand;
  /**
   * `true` if no tool was run: the arguments do not conform, there is no such tool, or the agent did not carry it out
   * (`agentDid`).
   */
  readonly refused?: true;
  /** Set if the agent's own code made it, and no reply. */
  readonly by?: "agent";
  /** What an agent of the user's own did in place of carrying it out; omitted if it did carry it out. */
  readonly agentDid?: AgentDeed;
}

/** Characters of a name shown, at most. */
const MAX_NAME_LENGTH = 60;

/** Says of a call that its agent did not carry it out, or not yet. */
export function deedText(deed: AgentDeed): string {
  return deed === "held" ? "held by the agent" : "not carried out by the agent";
}

/** The name of a call, such as `call 2 (step 1) weather`, which says if it was refused, not carried out, held, or lost. */
export function callName(recorded: RecordedCall): string {
  const { call, step, tool, refused, agentDid } = recorded;
  const why = agentDid !== undefined
    ? deedText(agentDid)
    : refused
    ? "refused"
    : isLost(recorded)
    ? lossText(recorded)
    : undefined;
  return `call ${call} (step ${step}) ${printable(tool, MAX_NAME_LENGTH)}${
    why === undefined ? "" : ` (${why})`
  }`;
}

/** A call that a model wrote as text: it is no call, as nothing was carried out. */
export interface WrittenCall {
  /** The function; empty if its name cannot be read. */
  readonly tool: string;
  /** The arguments, as JSON; omitted if they cannot be read. */
  readonly written?: string;
  /** Where it stands, such as `reply 2`. */
  readonly where: string;
}

/** Returns calls that stand as text in a place, such as `reply 2`. */
export function writtenIn(where: string, calls: readonly TextCallEvent[]): WrittenCall[] {
  return calls.map(({ name: tool, arguments: written }) => defined({ tool, where, written }));
}

/** Returns the calls in the texts of a trace. */
export function writtenCalls(events: readonly TraceEvent[]): WrittenCall[] {
  return events.flatMap((event) =>
    event.kind === "reply" ? writtenIn(`reply ${event.request}`, event.textCalls ?? []) : []
  );
}

/** The calls and the answer of a run. */
export interface CallRecord {
  /** The calls, in order. */
  readonly calls: readonly RecordedCall[];
  /**
   * The calls of the model that an agent of the user's own holds, as until a person approves them: it answered before
   * they had a result. They are not made, and not among `calls`; one that a later turn carries out is a call of that
   * turn, and no longer held in the run. Default: none.
   */
  readonly heldCalls?: readonly RecordedCall[];
  /** What the model wrote as text in place of calls; default: what its texts have. */
  readonly written?: readonly WrittenCall[];
  /** The tools before any perturbation. */
  readonly tools: readonly ToolSchema[];
  /** The final text; `null` if there is none. */
  readonly answer: string | null;
  /** Number of model replies; 0 for a custom agent. */
  readonly replies: number;
  /** Tokens read and written. */
  readonly usage: Usage;
  /** Duration in milliseconds, tools included, without waiting, retries and failed attempts. */
  readonly durationMs: number;
}

/** A record with what an agent did besides. */
export interface AgentRecord extends CallRecord {
  /** The calls that the agent holds, as {@linkcode CallRecord} has them; empty without any. */
  readonly heldCalls: readonly RecordedCall[];
  /**
   * The calls of functions that are not the test's, such as handoffs (`transfer_to_refunds`) and tools that the server
   * runs (`web_search_call`), of one reply at most 20. They are not judged, and have no result.
   */
  readonly ownCalls: readonly RecordedCall[];
}

/** The calls of a record, and what the model said besides. */
export type SaidAndMade =
  & Pick<CallRecord, "calls">
  & Partial<Pick<CallRecord, "tools" | "answer" | "written">>
  & {
    /** The texts of the model, one for each reply that has any; default: the answer. */
    readonly texts?: readonly string[];
  };

/** Returns the calls of a trace, those that an agent holds, and those of its own functions. */
export function callsByKind(
  events: readonly TraceEvent[],
  uncut: ReadonlyMap<number, Pick<RecordedCall, "written" | "result">> = new Map(),
): Pick<AgentRecord, "calls" | "heldCalls" | "ownCalls"> {
  const held = callsOf(events).filter(({ agentDid }) => agentDid === "held");
  const own = events.flatMap((event) =>
    event.kind !== "reply"
      ? []
      : (event.ownCalls ?? []).map((one) => ({ step: event.request, one }))
  );
  return {
    calls: recordedCalls(events, uncut),
    heldCalls: held.map((event) => recordOf(event, uncut)),
    ownCalls: own.map(({ step, one: { function: tool, arguments: written } }, place) => ({
      ...{ call: place + 1, step, tool, written, arguments: parseJson(written), result: "" },
    })),
  };
}

/**
 * Returns the calls of a trace that were made; what the strategy `retry` made again is one call, with its last result.
 * A trace cuts texts to 10,000 characters: `uncut` has the whole texts, by the numbers of calls.
 */
export function recordedCalls(
  events: readonly TraceEvent[],
  uncut: ReadonlyMap<number, Pick<RecordedCall, "written" | "result">> = new Map(),
): RecordedCall[] {
  const records: RecordedCall[] = [];
  for (const event of callsOf(events)) {
    if (event.agentDid === "held") continue;
    const record = recordOf(event, uncut);
    const first = event.by !== "retry"
      ? -1
      : records.findIndex((one) =>
        one.error !== undefined && one.step === record.step && one.tool === record.tool &&
        one.written === record.written
      );
    if (first === -1) records.push(record);
    // The model called once, and got the last result.
    else records[first] = { ...record, call: records[first]!.call };
  }
  return records;
}

function recordOf(
  event: CallEvent,
  uncut: ReadonlyMap<number, Pick<RecordedCall, "written" | "result">>,
): RecordedCall {
  const { call, step, function: tool, agentDid, by } = event;
  const whole = uncut.get(call);
  const written = whole?.written ?? event.resolved ?? event.arguments;
  const result = whole?.result ?? event.result;
  // A function may answer a wrong call: its return value is not an error.
  const isRefused = event.failure !== undefined && event.returned === undefined;
  const error = event.error ?? (isRefused ? refusalText(event.unperturbed ?? result) : undefined);
  return {
    ...{ call, step, tool, written, result },
    arguments: parseJson(written),
    ...defined({
      error,
      fault: event.fault,
      blockedBy: event.blockedBy,
      injected: event.injected,
      refused: isRefused || agentDid !== undefined ? true as const : undefined,
      by: by === "agent" ? by : undefined,
      agentDid,
    }),
  };
}

/** Returns the error message in the result of a refused call. */
function refusalText(result: string): string {
  const value = parseJson(result);
  const error = isJsonObject(value) ? value["error"] ?? result : result;
  return typeof error === "object" ? jsonText(error) : String(error);
}
