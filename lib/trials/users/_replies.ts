/**
 * Replies of users: what one says, how it ends the conversation, and what is wrong with it.
 * @module
 */

import { isJsonObject, parseJson } from "../../base/json.ts";
import { thinkingOf } from "../../models/formats/text_call.ts";
import type { ModelReply } from "../../models/model.ts";
import { asks } from "../../calls/questions.ts";
import { END_REASONS, type EndReason, type UserFaultKind } from "../../calls/user_reply.ts";
import { END_TOOL, type SharedMessage, STOP_WORDS } from "./user.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** What a reply says. */
export interface Said {
  /** The message, without stop words; empty without one. */
  readonly text: string;
  /** The reason for which it ends the conversation; omitted if it goes on. */
  readonly end?: EndReason;
  /** What is wrong with it; omitted if nothing is. */
  readonly fault?: UserFaultKind;
  /** Whether his tools were called for it, so that it cannot be drawn again; default false. */
  readonly hasCalled?: boolean;
}

/** Characters of one message, at most. */
const MAX_MESSAGE = 50_000;

/** Reads a text of a user, with the stop words in it: of several the first counts. */
export function readText(written: string): Said {
  const places = Object.entries(STOP_WORDS).map(([word, end]) => ({
    end,
    place: written.indexOf(word),
  })).filter(({ place }) => place >= 0).sort((one, other) => one.place - other.place);
  const text = Object.keys(STOP_WORDS).reduce((left, word) => left.replaceAll(word, ""), written);
  return { text: text.slice(0, MAX_MESSAGE).trim(), end: places[0]?.end };
}

/** Reads a reply of a model that plays a user. */
export function readReply(
  { text: written, calls }: Pick<ModelReply, "text" | "calls">,
  messages: readonly SharedMessage[],
): Said {
  const { text, end = endOf(calls) } = readText(written);
  return { text, end, fault: faultOf({ text, end }, messages, calls.length) };
}

/** What is wrong with what a user says, who calls so many tools beside it; `undefined` if nothing is. */
export function faultOf(
  { text, end }: Said,
  messages: readonly SharedMessage[],
  calls = 0,
): UserFaultKind | undefined {
  if (text === "") return end === undefined && calls === 0 ? "empty" : undefined;
  if (calls > 0) return "text_and_call";
  if (isReasoned(text)) return "reasoning";
  return isSwapped(text, messages) ? "swapped_role" : undefined;
}

/** The reason in a call that ends the conversation; of one with an unknown reason there is none. */
function endOf(calls: ModelReply["calls"]): EndReason | undefined {
  const given = calls.filter(({ name }) => name === END_TOOL).map((call) =>
    parseJson(call.arguments)
  );
  return END_REASONS.find((reason) =>
    given.some((one) => isJsonObject(one) && one["reason"] === reason)
  );
}

/** Whether thoughts stand in a message: in tags, or before what they lead to. */
function isReasoned(text: string): boolean {
  return thinkingOf(text).said.trim() !== text ||
    /^[ \t]*(?:thought|thinking|reasoning)s?:[^]*^[ \t]*(?:message|reply|response|answer|action)s?:/im
      .test(text);
}

/** Offers of help that only an assistant makes. */
const OFFER =
  /\bhow (?:can|may|could) I (?:help|assist)(?: you)?(?: today)?\s*[?!.]|\banything else I can (?:help|assist) you\b|\bI(?:'m| am) here to (?:help|assist) you\b/i;

/** Whether a message is written as the assistant, or for both sides. */
function isSwapped(text: string, messages: readonly SharedMessage[]): boolean {
  const isOf = (label: RegExp) => label.test(text);
  if (isOf(/^\s*(?:assistant|agent)\s*:/i) || OFFER.test(text)) return true;
  if (isOf(/^[ \t]*(?:user|customer)\s*:/im) && isOf(/^[ \t]*(?:assistant|agent|support)\s*:/im)) {
    return true;
  }
  // What is read out to him he may well repeat; a sentence to him is not his.
  const own = plain(text);
  const words = own.split(" ");
  return [words.slice(2), words.slice(0, -2)].some((part) => /\byou\b/.test(part.join(" "))) &&
    messages.some((one) => one.role === "agent" && plain(one.text) === own);
}

function plain(text: string): string {
  return text.toLowerCase().replace(/\s+/g, " ").trim();
}

/**
 * Whether a user repeated himself: at least half of his messages are ones that he had said before, in answer to another
 * message that asked him nothing. Who is asked again and again may answer the same.
 */
export function repeatedHimself(messages: readonly SharedMessage[]): boolean {
  const said = new Map<string, Set<string>>();
  let [all, repeated, before, isAsked] = [0, 0, "", false];
  for (const { role, text } of messages) {
    if (role === "agent") {
      [before, isAsked] = [plain(text), asks(text)];
      continue;
    }
    all++;
    const answered = getOrInsertComputed(said, plain(text), () => new Set());
    if (answered.size > 0 && !answered.has(before) && !isAsked) repeated++;
    answered.add(before);
  }
  return all > 2 && 2 * repeated >= all;
}
