/**
 * Recorded runs: what a model said and its tools returned before, judged as if it happened now. No model is asked, and
 * no tool is run.
 * @module
 */

import type { OwnCall } from "../calls/trace.ts";
import { type FinishReason, InfrastructureError, type ModelReply } from "../models/model.ts";
import { readCalls } from "../models/openai/reading.ts";
import type { Usage } from "../tools/message.ts";
import type { Environment, PreparedCall, RecordedResult } from "../tools/tool.ts";
import type { Loop } from "./agent/loop.ts";
import { isLimited } from "./agent/session.ts";

/** A call of a recorded reply. */
export interface RecordedReplyCall {
  /** Its id in the record, which need not be unique there; omitted without one. */
  readonly id?: string;
  /** The name that was called. */
  readonly name: string;
  /** The arguments as they were written. */
  readonly arguments: string;
  /** What it came to; omitted if the record has no result of it, so that it was not carried out. */
  readonly result?: RecordedResult;
}

/** A recorded reply. */
export interface RecordedReply {
  /** The text; empty if it only calls. */
  readonly text: string;
  /** Its calls, in order. */
  readonly calls: readonly RecordedReplyCall[];
  /** The tokens that it took; default: none, as nobody knows. */
  readonly usage?: Usage;
  /** The name of the model that gave it; default: that of the trial. */
  readonly served?: string;
  /** Milliseconds that it took; default 0, as nobody knows. */
  readonly durationMs?: number;
  /** Why it was cut off, so that it is no answer; omitted if it was not. */
  readonly finish?: FinishReason;
  /** Calls of tools that its provider ran; omitted without any. */
  readonly ownCalls?: readonly OwnCall[];
}

/** A message of the user, and the replies that it led to. */
export interface RecordedTurn {
  /** The message; empty where the record begins without one. */
  readonly prompt: string;
  /** The replies, in order; the last one is the answer if it makes no calls. */
  readonly replies: readonly RecordedReply[];
}

/** A recorded run. */
export interface RecordedRun {
  /** The system message; omitted without one. */
  readonly system?: string;
  /** The messages of the user with their replies, at least one. */
  readonly turns: readonly RecordedTurn[];
  /** Set if it is judged however it ended, also without an answer. */
  readonly partial?: true;
  /** Why the model could not answer, such as a network that failed: the run is invalid. Omitted if it could. */
  readonly broken?: string;
}

/** The error of a recorded run that ends without an answer, or of an agent that gives something else. */
export class NoAnswer extends Error {
  /** The name of the class. */
  override name = "NoAnswer";
}

/**
 * Returns the loop that gives the replies of a recorded run, and the results of their calls. It reads the conversation
 * that it shares with who runs it.
 */
export function recordedLoop({ turns, partial, broken }: RecordedRun): Loop {
  const used = new Set<string>();
  let [turn, count] = [0, 0];
  return async ({ session, environment, messages, heard = () => {} }) => {
    if (broken !== undefined) throw new InfrastructureError(broken);
    let answer: string | undefined;
    for (const recorded of turns[turn++]?.replies ?? []) {
      const { text, finish, served, durationMs = 0, ownCalls } = recorded;
      const own = withIds(recorded.calls, ++count, used);
      const results = new Map(own.map(({ id, result }) => [id, result]));
      const read = readCalls(own, { tools: environment.tools });
      const reply: ModelReply = {
        text,
        ...read,
        finish: !partial && finish || (own.length > 0 ? "calls" : "stop"),
        usage: recorded.usage ?? { inputTokens: 0, outputTokens: 0 },
        served: served ?? "",
        duration: durationMs,
      };
      const said = await session.ask({
        messages,
        tools: environment.tools,
        watch: () => Promise.resolve({ reply, ownCalls }),
      });
      if (isLimited(said)) return said;
      heard({ role: "assistant", content: text, calls: read.calls });
      if (read.calls.length === 0) {
        answer = finish === undefined || partial ? text : undefined;
        continue;
      }
      answer = undefined;
      const calls = read.calls.map((call) => prepared(call, results.get(call.id), environment));
      const told = await environment.execute(
        calls,
        (answered) => answered.map(({ call, content }) => results.get(call.id)?.text ?? content),
      );
      for (const [place, result] of told.entries()) {
        // What no message of the record has, the model was not shown.
        if (calls[place]!.recorded !== undefined) heard({ role: "tool", ...result });
      }
      if (environment.exhausted) {
        return { kind: "call_limit", message: "a call past the limit was made" };
      }
    }
    if (answer !== undefined || partial) return { kind: "answer", text: answer ?? "" };
    throw new NoAnswer(
      "the trace ends without an answer of the model" +
        (turn < turns.length ? `, to message ${turn} of the user` : ""),
    );
  };
}

/** The calls with ids that are unique in the run: those of a record may repeat, and do in practice. */
function withIds(
  calls: readonly RecordedReplyCall[],
  reply: number,
  used: Set<string>,
): (RecordedReplyCall & { readonly id: string })[] {
  return calls.map((call, place) => {
    let id = call.id ?? "";
    for (let suffix = 0; id === "" || used.has(id); suffix++) {
      id = `call_${reply}_${place + 1}${suffix === 0 ? "" : `_${suffix}`}`;
    }
    used.add(id);
    return { ...call, id };
  });
}

/** A call with what it came to or, without a result, with what that means. */
function prepared(
  call: PreparedCall,
  recorded: RecordedResult | undefined,
  environment: Environment,
): PreparedCall {
  if (recorded !== undefined) return { ...call, recorded };
  const isKnown = environment.tools.some(({ name }) => name === call.name);
  const isRight = isKnown && environment.refuse(call) === undefined;
  return { ...call, agentDid: isRight ? "not_run" : "hid" };
}
