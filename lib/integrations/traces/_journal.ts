/**
 * Traces of journals: a trial's line holds its events, from which its conversation follows.
 * @module
 */

import { assertVersion, parseWith } from "../../base/input.ts";
import { isCase } from "../../tasks/task_kind.ts";
import { callEventsOf } from "../../calls/trace.ts";
import { type Trial, TRIAL_LINE } from "../../trials/trial.ts";
import type { FinishReason } from "../../models/model.ts";
import type { Message } from "../../tools/message.ts";
import { type Conversation, counted, cutIn, type Item, whyUnfit } from "./_conversation.ts";
import type { Part } from "./_part.ts";

/** Why a reply was no answer, by how its trial ended. */
const FINISH: Readonly<Record<string, FinishReason>> = {
  token_limit: "length",
  filtered: "filter",
};

/** Reads a trial, as a line of a journal or as it is. */
export function readTrial(part: Part): Conversation & { readonly trial: Trial } {
  if (part.textAt("kind") !== "trial") {
    return part.fail('must be a line of a journal with the kind "trial"');
  }
  assertVersion(part.value, part.source);
  const trial = parseWith(TRIAL_LINE, part.value, part.source);
  const { task, suite, model, transcript, events, strategy, perturbation } = trial;
  const { prompt, system, tools } = transcript ?? {};
  const at = part;
  const items: Item[] = [
    ...(system?.value === undefined ? [] : [{ kind: "system" as const, text: system.value, at }]),
    ...(prompt?.value === undefined ? [] : [{ kind: "user" as const, text: prompt.value, at }]),
  ];
  // What was asked first is in the transcript, which has it whole.
  const whole = items.length;
  let lost = 0;
  // A call that was held and carried out later stands where the model made it.
  const later = new Map(callEventsOf(events).map((event) => [event.held, event]));
  for (const recorded of events) {
    const event = recorded.kind === "call" ? later.get(recorded.call) ?? recorded : recorded;
    if (event.kind === "turn") items.push({ kind: "user", text: event.text, at });
    if (event.kind === "reply" && event.stage === undefined) {
      lost += event.calls;
      const { inputTokens, outputTokens, estimated, durationMs, ownCalls } = event;
      items.push({
        ...{ kind: "reply", text: event.text, calls: [], at, durationMs },
        usage: { inputTokens, outputTokens, estimated },
        served: model.served,
        ownCalls,
      });
    }
    if (
      event.kind !== "call" || event.by !== undefined ||
      event === recorded && event.held !== undefined
    ) continue;
    const written = event.arguments;
    const id = `call_${event.call}`;
    // Calls stand behind the reply that made them, with their results.
    const place = items.findLastIndex(({ kind }) => kind === "reply");
    const reply = items[place];
    if (reply?.kind !== "reply") continue;
    lost--;
    items[place] = {
      ...reply,
      calls: [...reply.calls, { id, name: event.function, arguments: written }],
    };
    const isRun = event.agentDid === undefined || event.agentDid === "repaired";
    if (!isRun) continue;
    items.push({
      ...{ kind: "result", id, text: event.result, at },
      isError: event.error === undefined ? undefined : true as const,
      durationMs: event.durationMs,
    });
  }
  const cut = items.slice(whole).reduce((sum, item) => sum + cutIn(item), 0);
  const unfit = [
    ...whyUnfit([strategy, perturbation], cut),
    ...(prompt?.value === undefined ? ["its question is in no transcript"] : []),
    ...counted(lost, "call", "not kept, such as those past a limit"),
  ];
  const { outcome } = trial;
  const isAnswered = events.some(({ kind }) => kind === "answer");
  // A trial that broke off is as invalid as it was; of one with an answer the judge may have failed.
  const isBroken = outcome === "invalid" && !isAnswered;
  const last = items.at(-1);
  if (last?.kind === "reply" && !isAnswered) {
    // A limit may have ended it behind a text.
    items[items.length - 1] = { ...last, finish: FINISH[outcome] ?? "stop" };
  }
  return {
    trial,
    items,
    ...(isBroken ? { broken: trial.reason ?? "it has no answer" } : {}),
    model: model.requested,
    ...(model.simulated ? { simulated: true } : {}),
    ...(isCase(task) ? { case: task.case, suite } : {}),
    tools: tools?.value && part.as(tools.value),
    notes: unfit,
    ...(unfit.length === 0 ? {} : { unfit: unfit[0]! }),
  };
}

/** The messages of a trial, as far as its line has them. */
export function messagesOf(items: readonly Item[]): Message[] {
  const names = new Map<string, string>();
  return items.map((item): Message => {
    if (item.kind === "result") {
      const id = item.id ?? "";
      return { role: "tool", callId: id, name: names.get(id) ?? "", content: item.text };
    }
    if (item.kind !== "reply") return { role: item.kind, content: item.text };
    const calls = item.calls.map(({ id = "", name, arguments: written }) => {
      names.set(id, name);
      return { id, name, arguments: written };
    });
    return { role: "assistant", content: item.text, calls };
  });
}
