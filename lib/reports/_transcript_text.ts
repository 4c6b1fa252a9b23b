/**
 * Transcripts in words: which texts are answers, what judges said, and what changed in the state. All of these texts
 * are hostile: callers get them printable.
 * @module
 */

import { countText } from "../base/numbers.ts";
import type { JudgedEvent, TraceEvent } from "../calls/trace.ts";
import { marked } from "../gate/variant.ts";
import type { StateChange, StateDifference } from "../calls/values/state_difference.ts";
import type { TrialUser } from "../trials/users/user.ts";
import type { ShowText } from "./story_lines.ts";

/** Describes a failed assertion on one line: where it stands, and the first line of what it says. */
export function describeAssertion(
  { message, at }: { readonly message: string; readonly at?: string | undefined },
  show: ShowText,
): string {
  const place = at === undefined ? "" : ` at ${show(at, 100)}`;
  return `an assertion failed${place}: ${show(message.split("\n")[0]!)}`;
}

/** Whether the text of a reply is that of the answer, which is shown by itself. */
export function isAnswerText(events: readonly TraceEvent[], place: number): boolean {
  const event = events[place];
  if (event?.kind !== "reply" || event.calls > 0 || event.stage !== undefined) return false;
  // Of a conversation, each turn but the last ends with an answer that nothing else shows.
  return !events.slice(place + 1).some(({ kind }) => kind === "reply" || kind === "turn") &&
    events.some(({ kind }) => kind === "answer");
}

/** The events with an answer before what the user of a conversation said to it, which is recorded first. */
export function inTalkOrder(events: readonly TraceEvent[]): readonly TraceEvent[] {
  if (!events.some(({ kind }) => kind === "answer")) return events;
  // Of an agent that was not watched there are no replies; the first event may be how he opened.
  const last = Math.max(0, events.findLastIndex(({ kind }) => kind === "reply" || kind === "turn"));
  const late = new Set(events.filter(({ kind }, place) => kind === "user" && place > last));
  return [...events.filter((event) => !late.has(event)), ...late];
}

/** Names who played the user of a trial, and says how the conversation went. */
export function userText({ model, messages, end, fault, redraws = 0 }: TrialUser): string {
  const name = marked(model.requested, model.simulated);
  return `${name}, ${countText(messages, "message")}` +
    (redraws === 0 ? "" : `, ${countText(redraws, "redraw")}`) +
    (end === undefined ? "" : `, ended it: ${end}`) +
    (fault === undefined ? "" : `, his fault: ${fault}`);
}

/** What a judge was asked, and what it said. */
export function judgedTitle(
  { criterion, score, atLeast, model, simulated }: JudgedEvent,
  show: ShowText,
): string {
  return `judge ${marked(show(model, 100), simulated === true)}${
    criterion === undefined ? "" : `, ${show(criterion)}`
  }: ` +
    (score === null ? "no score" : `score ${score}`) +
    (atLeast === undefined ? "" : ` of at least ${atLeast}`);
}

/** Describes the tokens of what was asked beside the model under test: a question to a judge, or a user. */
export function tokensText({ usage }: Pick<JudgedEvent, "usage">): string {
  return `${usage.inputTokens} tokens read, ${usage.outputTokens} written` +
    (usage.estimated ? " (estimated)" : "");
}

/** Describes a change of a state on one line. */
function describeChange({ path, before, after }: StateChange, show: ShowText): string {
  const where = path === "" ? "the state" : show(path, 300);
  if (before === undefined) return `+ ${where}: ${show(after ?? "")}`;
  if (after === undefined) return `- ${where}: ${show(before)}`;
  return `${where}: ${show(before)} \u2192 ${show(after)}`;
}

/** Where a part of a state was not compared, it may have changed. */
const NOTHING_SEEN = "no change in what was compared";

function isWhole({ hidden = [], partial }: StateDifference): boolean {
  return hidden.length === 0 && partial === undefined;
}

/** Says in a few words how much changed in a state. */
export function changeCount(state: StateDifference): string {
  const count = state.changes.length + (state.more ?? 0);
  return count > 0 ? countText(count, "change") : isWhole(state) ? "as before" : NOTHING_SEEN;
}

/** Describes what changed in a state, and what of it was not compared. */
export function stateLines(state: StateDifference, show: ShowText): string[] {
  const { changes, more = 0, hidden = [], partial } = state;
  return [
    ...(changes.length === 0 ? [isWhole(state) ? "nothing changed in it" : NOTHING_SEEN] : []),
    ...changes.map((change) => describeChange(change, show)),
    ...(more === 0 ? [] : [`and ${countText(more, "more change")}`]),
    ...(hidden.length === 0 ? [] : [`not compared: ${hidden.map((one) => show(one)).join("; ")}`]),
    ...(partial ? ["it is too large, or nests too deep, to be compared as a whole"] : []),
  ];
}
