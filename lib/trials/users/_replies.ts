/**
 * Replies of users: what one says, how it ends the conversation, and what is wrong with it.
 * @module
 */

import { isJsonObject, parseJson } from "../../base/json.ts";
import { thinkingOf } from "../../models/formats/text_call.ts";
import type { ModelReply } from "../../models/model.ts";
import { END_REASONS, type EndReason, type UserFaultKind } from "../../calls/user_reply.ts";
import { END_TOOL, type SharedMessage, STOP_WORDS } from "./user.ts";

/** What a reply says. */
export interface Said {
  /** The message, without stop words; empty without one. */
  readonly text: string;
  /** The reason for which it ends the conversation; omitted if it goes on. */
  readonly end?: EndReason;
  /** What is wrong with it; omitted if nothing is. */
  readonly fault?: UserFaultKind;
}

/** Characters of one message, at most. */
const MAX_MESSAGE = 50_000;

/** Reads a text of a user, with the stop words in it: of several the first counts. */
export function readText(whole: string): Said {
  const written = whole.slice(0, MAX_MESSAGE);
  const places = Object.entries(STOP_WORDS).map(([word, end]) => ({
    end,
    place: written.indexOf(word),
  })).filter(({ place }) => place >= 0).sort((one, other) => one.place - other.place);
  const text = Object.keys(STOP_WORDS).reduce((left, word) => left.replaceAll(word, ""), written);
  return { text: text.trim(), end: places[0]?.end };
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

/** Whether thoughts stand in a message. */
function isReasoned(text: string): boolean {
  const { said } = thinkingOf(text);
  return said.trim() !== text ||
    /^\s*(?:thought|thinking|reasoning|internal monologue)s?:/im.test(text);
}

/** Offers of help, which only an assistant makes. */
const OFFERS = [
  /\bhow (?:can|may|could) I (?:help|assist)\b/i,
  /\banything else I can (?:help|assist|do)\b/i,
  /\bI(?:'m| am) here to (?:help|assist)\b/i,
];

/** Whether a message is written as the assistant, or for both sides. */
function isSwapped(text: string, messages: readonly SharedMessage[]): boolean {
  if (/^\s*(?:assistant|agent|user|customer|support|representative)\s*:/im.test(text)) return true;
  if (OFFERS.some((offer) => offer.test(text))) return true;
  // A word or two may well be the same.
  return text.length >= 20 &&
    messages.some((one) => one.role === "agent" && isSame(one.text, text));
}

/** Whether texts are the same but for case and spaces. */
export function isSame(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

function plain(text: string): string {
  return text.toLowerCase().replace(/\s+/g, " ").trim();
}

/** Words by which an assistant asks for the consent of its user. */
const CONSENT =
  /\b(?:confirm|proceed|go ahead|agree|consent|approve|okay|ok|yes or no|yes\/no|(?:shall|should|may|can) I|(?:do|would) you (?:want|like) me to|is (?:that|this) (?:right|correct|all right|fine))\b/i;

/** Whether the last sentences of a message of the model ask for the consent of its user. */
export function asksConsent(text: string): boolean {
  const end = text.trimEnd().slice(-300);
  const place = end.lastIndexOf("?");
  if (place < 0) return /\(yes(?:\/| or )no\)\W*$/i.test(end);
  const start = Math.max(...[".", "!", "?", "\n"].map((sign) => end.lastIndexOf(sign, place - 1)));
  const question = end.slice(start + 1, place);
  return CONSENT.test(question) && !/\b(?:anything|something) else\b|\bhelp you\b/i.test(question);
}

/**
 * Whether a user repeated himself: at least half of his messages are ones that he had said before, in answer to another
 * message. One who is asked the same again and again may answer the same.
 */
export function repeatedHimself(messages: readonly SharedMessage[]): boolean {
  const said = new Map<string, Set<string>>();
  let [all, repeated, before] = [0, 0, ""];
  for (const { role, text } of messages) {
    if (role === "agent") {
      before = plain(text);
      continue;
    }
    all++;
    const answered = said.getOrInsertComputed(plain(text), () => new Set());
    if (answered.size > 0 && !answered.has(before)) repeated++;
    answered.add(before);
  }
  return all > 2 && 2 * repeated >= all;
}
