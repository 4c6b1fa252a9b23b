/**
 * Retellings: what was said in a trial, made anew from its line in a journal, and proved on the way. A journal
 * keeps what a model said and what its tools answered, not what it was asked; so the trial is run once more with
 * the recorded replies in the model's place, and must come out as it did.
 * @module
 */

import { runLoop } from "../../trials/agent/loop.ts";
import { isJsonObject, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelRequest } from "../../models/model.ts";
import { scripted } from "../../models/scripted.ts";
import { isGenerated, isProbe, isQuestion } from "../../trials/executors/task_kind.ts";
import { withStrategy } from "../../trials/strategies/registry.ts";
import { openTask } from "../../trials/executors/tasks.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { LONGEST_KEPT, type TraceEvent } from "../../calls/trace.ts";
import { runTrial, type Trial, type TrialOptions } from "../../trials/trial.ts";

/** Why a trial cannot be retold, and that in words. */
export const RECONSTRUCTION_FAILURES = {
  invalid: "no usable reply was had",
  limit: "a limit ended it, so that no answer ends the conversation",
  no_answer: "its answer is empty",
  own_task: "it is on a case of one's own, which is not at hand",
  no_set: "it is on a call set that is not at hand: name it with --set",
  unknown_task: "its task cannot be made anew",
  unknown_strategy: "its strategy is not known",
  no_replies: "no reply is kept of it, as of agents of one's own",
  cut: "it has a text that is longer than a journal keeps",
  unkept: "the journal does not keep all that the model was told or said",
  malformed: "it has a call whose arguments are no JSON object",
  no_tools: "it was asked in words only, with no functions on offer",
  differs: "run once more, it does not come out as its line says",
} as const;

/** Why a trial cannot be retold. */
export type ReconstructionFailure = keyof typeof RECONSTRUCTION_FAILURES;

/** What was said in a trial. */
export interface Reconstruction {
  /** All that the model was sent with its last request, and its answer. */
  readonly messages: readonly Message[];
  /** The functions on offer, as the model saw them. */
  readonly tools: readonly ToolSchema[];
}

/** What decides how a trial went, and is not in its own line. */
export type ReconstructOptions = Pick<TrialOptions, "strategy" | "limits" | "references" | "open">;

/**
 * What was said in a trial, exactly as the model was sent it and said it, but for the ids of calls, which
 * journals do not keep. Of a strategy that asks beside the loop, it is the conversation of the loop.
 *
 * Every call is carried out once more, and the trial is retold only if all results, the answer and the
 * outcome are what its line says. Whatever in a line is made up or does not fit is told as the reason why it
 * is not. Reasoning that a provider keeps to itself is in no journal, and in no retelling.
 *
 * @example Usage
 * ```ts
 * import { reconstructTrial } from "./reconstruct.ts";
 * import { runTrial } from "../../trials/trial.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { generateTask } from "../../tasks/generated/task.ts";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const spec = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 };
 * const { functions: [only], inputs, target } = generateTask(spec);
 * const model = scripted("one", [
 *   { text: "I call it.", calls: [{ name: only!.name, arguments: Object.fromEntries(inputs) }] },
 *   { text: `${target.variable} = ${target.value}` },
 * ]);
 * const trial = await runTrial(spec, model);
 *
 * const retold = await reconstructTrial(trial);
 * assert("messages" in retold);
 * assertEquals(retold.messages.map(({ role }) => role), ["user", "assistant", "tool", "assistant"]);
 *
 * const forged = trial.events.map((event) =>
 *   event.kind === "call" ? { ...event, result: '{"x":1}' } : event
 * );
 * assertEquals(await reconstructTrial({ ...trial, events: forged }), { untold: "differs" });
 * ```
 */
export async function reconstructTrial(
  trial: Trial,
  options: ReconstructOptions = {},
): Promise<Reconstruction | { readonly untold: ReconstructionFailure }> {
  const untold = reasonAgainst(trial, options);
  if (untold !== undefined) return { untold };
  const kept = repliesIn(trial.events);
  if ("untold" in kept) return kept;
  const { replies } = kept;
  const { open = openTask, limits: { observation, parallel, depth } = {}, ...others } = options;
  let [asked, last, isOpen] = [0, undefined as ModelRequest | undefined, false];
  const teller = scripted(trial.model.requested, (request) => {
    const reply = replies[asked++];
    if (reply === undefined) throw new Error("There is no further reply");
    last = request;
    return { ...reply, usage: { inputTokens: 0, outputTokens: 0 } };
  });
  let again: Trial;
  try {
    again = await runTrial({ ...trial, model: trial.model.requested }, teller, {
      ...others,
      // What a trial may take it has taken: only what shows in the conversation counts.
      limits: {
        calls: Infinity,
        ...(observation === undefined ? {} : { observation }),
        ...(parallel === undefined ? {} : { parallel }),
        ...(depth === undefined ? {} : { depth }),
      },
      open: (spec, given) => {
        const fixture = open(spec, given);
        isOpen = true;
        return fixture;
      },
    });
  } catch (error) {
    // What a line says of its task is checked where that is made.
    if (isOpen) throw error;
    return { untold: "unknown_task" };
  }
  if (last === undefined || !isSame(trial, again)) {
    return { untold: "differs" };
  }
  if (last.tools.length === 0) return { untold: "no_tools" };
  const { text } = replies.at(-1)!;
  return {
    messages: [...renumbered(last.messages), { role: "assistant", content: text, calls: [] }],
    tools: last.tools,
  };
}

/** The messages with calls that are numbered through, whatever was asked beside them. */
function renumbered(messages: readonly Message[]): Message[] {
  const ids = new Map<string, string>();
  const idOf = (id: string) => ids.getOrInsertComputed(id, () => `call_${ids.size + 1}`);
  return messages.map((message): Message =>
    message.role === "tool"
      ? { ...message, callId: idOf(message.callId) }
      : message.role === "assistant"
      ? { ...message, calls: message.calls.map((call) => ({ ...call, id: idOf(call.id) })) }
      : message
  );
}

/** Why a trial is not even tried. */
function reasonAgainst(
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

/** A reply as a journal keeps it. */
interface KeptReply {
  readonly text: string;
  readonly stage?: string;
  readonly calls: { readonly name: string; readonly arguments: string }[];
}

/** The replies of a trial with their calls, in order; or why they are not all there. */
function repliesIn(
  events: readonly TraceEvent[],
): { readonly replies: readonly KeptReply[] } | { readonly untold: ReconstructionFailure } {
  const replies: (KeptReply & { readonly count: number })[] = [];
  let current: KeptReply | undefined;
  for (const event of events) {
    if (event.kind === "reply") {
      const { text, stage, calls: count } = event;
      if (text.length >= LONGEST_KEPT) return { untold: "cut" };
      const reply = { text, count, calls: [], ...(stage === undefined ? {} : { stage }) };
      replies.push(reply);
      // What is asked beside the loop makes no call that is carried out.
      if (stage === undefined) current = reply;
    } else if (event.kind === "call") {
      const { function: name, arguments: written } = event;
      if (current === undefined) return { untold: "no_replies" };
      if (Math.max(name.length, written.length) >= LONGEST_KEPT) return { untold: "cut" };
      if (!isJsonObject(parseJson(written))) return { untold: "malformed" };
      current.calls.push({ name, arguments: written });
    }
  }
  const last = replies.at(-1);
  if (last === undefined) return { untold: "no_replies" };
  if (last.stage !== undefined || replies.some(({ count, calls }) => count !== calls.length)) {
    return { untold: "unkept" };
  }
  return last.text.trim() === "" ? { untold: "no_answer" } : { replies };
}

/** Whether two trials are the same in all that the model did and what came of it. */
function isSame(one: Trial, other: Trial): boolean {
  if (one.outcome !== other.outcome || one.grounded !== other.grounded) return false;
  const [own, others] = [one, other].map(({ events }) => events.flatMap(tellingOf));
  return JSON.stringify(own) === JSON.stringify(others);
}

/** What of an event both trials must share. */
function tellingOf(event: TraceEvent): unknown[] {
  switch (event.kind) {
    case "reply":
      return [["reply", event.stage ?? null, event.text, event.calls]];
    case "call":
      return [["call", event.call, event.step, event.function, event.arguments, event.result]];
    case "answer":
      return [["answer", event.text, event.value]];
    default:
      return [];
  }
}
