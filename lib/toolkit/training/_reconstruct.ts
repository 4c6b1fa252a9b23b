/**
 * Reconstruction: rebuilds a trial's conversation from its journal line. A journal keeps a model's replies and
 * the results of its calls, not the requests; so the trial is run again with the recorded replies in place of
 * the model, and must end as it did before.
 * @module
 */

import { runLoop } from "../../trials/agent/loop.ts";
import { attempt } from "../../base/errors.ts";
import { defined, isJsonObject, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelRequest } from "../../models/model.ts";
import { scripted } from "../../models/scripted.ts";
import { isGenerated, isProbe, isQuestion } from "../../tasks/task_kind.ts";
import { withStrategy } from "../../trials/strategies/registry.ts";
import { openTask } from "../../trials/executors/tasks.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";
import { differenceBetween } from "../../trials/derive.ts";
import { playTrial, type TrialOptions } from "../../trials/run_trial.ts";
import type { Trial } from "../../trials/trial.ts";

/** The reasons why a trial cannot be reconstructed, with descriptions. */
export const RECONSTRUCTION_FAILURES = {
  invalid: "it got no usable reply",
  limit: "a limit ended it, so that no answer ends the conversation",
  no_answer: "its answer is empty",
  own_task: "its task is a custom case, which is not available",
  no_set: "its call set is not available: name it with --set",
  unknown_task: "its task cannot be generated again",
  unknown_strategy: "its strategy is unknown",
  no_replies: "the journal keeps no replies of it, as with custom agents",
  cut: "it has a text longer than a journal keeps",
  unkept: "the journal does not keep the whole conversation",
  malformed: "it has a call whose arguments are not a JSON object",
  no_tools: "its model was offered no functions",
  differs: "run again, it does not end as its journal line says",
} as const;

/** A reason why a trial cannot be reconstructed. */
export type ReconstructionFailure = keyof typeof RECONSTRUCTION_FAILURES;

/** The conversation of a trial. */
export interface Reconstruction {
  /** All messages of the model's last request, and its answer. */
  readonly messages: readonly Message[];
  /** The functions as the model saw them. */
  readonly tools: readonly ToolSchema[];
}

/** Settings that determine how a trial went, but are not in its line. */
export type ReconstructOptions = Pick<TrialOptions, "strategy" | "limits" | "references" | "open">;

/**
 * Returns the conversation of a trial exactly as it was, except for the ids of calls, which journals do not
 * keep. If a strategy makes requests outside the loop, it is the conversation of the loop.
 *
 * Every call is run again, and the reconstruction succeeds only if all results, the answer and the outcome
 * match the trial's line; otherwise the reason is returned. Reasoning that a provider does not reveal is in no
 * journal, so not in a reconstruction either.
 */
export async function reconstructTrial(
  trial: Trial,
  options: ReconstructOptions = {},
): Promise<Reconstruction | { readonly failure: ReconstructionFailure }> {
  const failure = obstacle(trial, options);
  if (failure !== undefined) return { failure };
  const found = repliesIn(trial.events);
  if ("failure" in found) return found;
  const { replies } = found;
  const { open = openTask, limits: { observation, parallel, depth } = {}, ...others } = options;
  let [requestCount, last, isOpen] = [0, undefined as ModelRequest | undefined, false];
  const replayer = scripted(trial.model.requested, (request) => {
    const reply = replies[requestCount++];
    if (reply === undefined) throw new Error("There is no further reply");
    last = request;
    return { ...reply, usage: { inputTokens: 0, outputTokens: 0 } };
  });
  let rerun: Trial;
  try {
    rerun = await playTrial({ ...trial, model: trial.model.requested }, replayer, {
      ...others,
      // The trial has passed its limits already: only those that shape the conversation matter.
      limits: {
        calls: Infinity,
        ...defined({ observation, parallel, depth }),
      },
      open: (spec, given) => {
        const fixture = open(spec, given);
        isOpen = true;
        return fixture;
      },
    });
  } catch (error) {
    // Before the task is open, the error means that the line describes no valid task.
    if (isOpen) throw error;
    return { failure: "unknown_task" };
  }
  const isSame = trial.outcome === rerun.outcome && requestCount === replies.length &&
    differenceBetween(trial, rerun) === undefined;
  if (last === undefined || !isSame) return { failure: "differs" };
  if (last.tools.length === 0) return { failure: "no_tools" };
  const { text } = replies.at(-1)!;
  return {
    messages: [...renumbered(last.messages), { role: "assistant", content: text, calls: [] }],
    tools: last.tools,
  };
}

/** The messages with calls numbered consecutively, not counting requests outside the loop. */
function renumbered(messages: readonly Message[]): Message[] {
  const ids = new Map<string, string>();
  const newId = (id: string) => ids.getOrInsertComputed(id, () => `call_${ids.size + 1}`);
  return messages.map((message): Message =>
    message.role === "tool"
      ? { ...message, callId: newId(message.callId) }
      : message.role === "assistant"
      ? { ...message, calls: message.calls.map((call) => ({ ...call, id: newId(call.id) })) }
      : message
  );
}

/** Why a trial cannot be reconstructed, as far as this shows without running it. */
function obstacle(
  { outcome, task, strategy: name }: Trial,
  { open, strategy = { strategy: name } }: ReconstructOptions,
): ReconstructionFailure | undefined {
  if (outcome === "invalid") return "invalid";
  if (outcome.endsWith("_limit")) return "limit";
  if (isQuestion(task) && open === undefined) return "no_set";
  if (!isGenerated(task) && !isProbe(task) && !isQuestion(task)) return "own_task";
  const { strategy: id, ...settings } = strategy;
  const isKnown = attempt(() => withStrategy(id, runLoop, settings)) !== undefined;
  return isKnown ? undefined : "unknown_strategy";
}

/** A reply as recorded in a journal. */
interface RecordedReply {
  readonly text: string;
  readonly stage?: string;
  readonly calls: { readonly name: string; readonly arguments: string }[];
}

/** The replies of a trial with their calls, in order; or why they are incomplete. */
function repliesIn(
  events: readonly TraceEvent[],
): { readonly replies: readonly RecordedReply[] } | { readonly failure: ReconstructionFailure } {
  const replies: (RecordedReply & { readonly count: number })[] = [];
  let current: RecordedReply | undefined;
  for (const event of events) {
    if (event.kind === "reply") {
      const { text, stage, calls: count } = event;
      if (text.length >= MAX_KEPT_LENGTH) return { failure: "cut" };
      const reply = { text, count, calls: [], ...defined({ stage }) };
      replies.push(reply);
      // Calls in replies outside the loop are not carried out.
      if (stage === undefined) current = reply;
    } else if (event.kind === "call" && event.held === undefined) {
      const { function: name, arguments: argumentText } = event;
      if (current === undefined) return { failure: "no_replies" };
      if (Math.max(name.length, argumentText.length) >= MAX_KEPT_LENGTH) return { failure: "cut" };
      if (!isJsonObject(parseJson(argumentText))) return { failure: "malformed" };
      current.calls.push({ name, arguments: argumentText });
    }
  }
  const last = replies.at(-1);
  if (last === undefined) return { failure: "no_replies" };
  if (last.stage !== undefined || replies.some(({ count, calls }) => count !== calls.length)) {
    return { failure: "unkept" };
  }
  return last.text.trim() === "" ? { failure: "no_answer" } : { replies };
}
