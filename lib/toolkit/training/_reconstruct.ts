/**
 * Reconstruction: rebuilds a trial's conversation from its journal line. A journal keeps a model's replies and
 * the results of its calls, not the requests; so the trial is run again with the recorded replies in place of
 * the model, and must end as it did before.
 * @module
 */

import { runLoop } from "../../trials/agent/loop.ts";
import { isJsonObject, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelRequest } from "../../models/model.ts";
import { isGenerated, isProbe, isQuestion } from "../../trials/executors/task_kind.ts";
import { withStrategy } from "../../trials/strategies/registry.ts";
import { openTask } from "../../trials/executors/tasks.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { callsOf, MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";
import { deriveAgain } from "../../trials/derive.ts";
import type { TrialOptions } from "../../trials/run_trial.ts";
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
  const failure = obstacle(trial, options) ?? gapIn(trial.events);
  if (failure !== undefined) return { failure };
  const { limits: { observation, parallel, depth } = {}, references = false } = options;
  const { open = openTask, strategy = { strategy: trial.strategy } } = options;
  let [isOpen, last] = [false, undefined as ModelRequest | undefined];
  try {
    const { kind } = await deriveAgain(trial, {
      // The trial has passed its limits already: only those that shape the conversation matter.
      limits: { calls: Infinity, observation, parallel, depth },
      references,
      strategy,
      open: (spec, at) => {
        const fixture = open(spec, at);
        isOpen = true;
        return fixture;
      },
      asked: (request) => last = { ...request, messages: [...request.messages] },
    });
    if (kind !== "agrees" || last === undefined) return { failure: "differs" };
  } catch (error) {
    // Before the task is open, the error means that the line describes no valid task.
    if (isOpen) throw error;
    return { failure: "unknown_task" };
  }
  if (last.tools.length === 0) return { failure: "no_tools" };
  const { text } = trial.events.findLast((event) => event.kind === "reply")!;
  return {
    messages: [...numbered(last.messages), { role: "assistant", content: text, calls: [] }],
    tools: last.tools,
  };
}

/** The messages with calls and their results numbered consecutively. */
function numbered(messages: readonly Message[]): Message[] {
  let [made, answered] = [0, 0];
  return messages.map((message): Message =>
    message.role === "tool"
      ? { ...message, callId: `call_${++answered}` }
      : message.role === "assistant"
      ? { ...message, calls: message.calls.map((call) => ({ ...call, id: `call_${++made}` })) }
      : message
  );
}

/** Why a trial cannot be reconstructed, as far as this shows without its events. */
function obstacle(
  { outcome, task, strategy: name }: Trial,
  { open, strategy = { strategy: name } }: ReconstructOptions,
): ReconstructionFailure | undefined {
  if (outcome === "invalid") return "invalid";
  if (outcome.endsWith("_limit")) return "limit";
  if (isQuestion(task) && open === undefined) return "no_set";
  if (!isGenerated(task) && !isProbe(task) && !isQuestion(task)) return "own_task";
  const { strategy: id, ...settings } = strategy;
  try {
    withStrategy(id, runLoop, settings);
  } catch {
    return "unknown_strategy";
  }
  return undefined;
}

/** Why events do not hold the whole conversation, if they do not. */
function gapIn(events: readonly TraceEvent[]): ReconstructionFailure | undefined {
  const replies = events.filter((event) => event.kind === "reply");
  const calls = callsOf(events);
  const last = replies.at(-1);
  if (last === undefined) return "no_replies";
  const texts = [
    ...replies.map(({ text }) => text),
    ...calls.flatMap((call) => [call.function, call.arguments]),
  ];
  if (texts.some((text) => text.length >= MAX_KEPT_LENGTH)) return "cut";
  if (calls.some((call) => !isJsonObject(parseJson(call.arguments)))) return "malformed";
  if (last.stage !== undefined) return "unkept";
  return last.text.trim() === "" ? "no_answer" : undefined;
}
