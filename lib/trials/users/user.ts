/**
 * Users who answer: who plays them, what they know, and how their conversations end.
 * @module
 */

import type { EndReason, UserFaultKind } from "../../calls/user_reply.ts";
import { canonicalJson, type JsonObject, type JsonValue } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import type { ModelEntry } from "../../models/entry.ts";
import { thinkingOf } from "../../models/formats/text_call.ts";
import { isModel, type Model, type StageUse } from "../../models/model.ts";
import { schemaOf, type Tool } from "../../tools/tool.ts";

/** A message that both sides see. */
export interface SharedMessage {
  /** Who said it: the agent under test or its user. */
  readonly role: "agent" | "user";
  /** The text. */
  readonly text: string;
}

/** A conversation as its user sees it. */
export interface UserConversation {
  /** What was said so far, without calls and results of the agent. */
  readonly messages: readonly SharedMessage[];
  /** Who the user is, what he wants, and what he knows. */
  readonly scenario: string;
  /** How he behaves, for functions that play users of several kinds. */
  readonly guidelines: string;
  /**
   * Calls one of the user's own tools, and returns its result or its error as text; it is recorded as his.
   *
   * @throws {Error} If he has no such tool.
   */
  readonly call: (tool: string, input: JsonObject) => Promise<string>;
}

/** What a user says: a message, or the end of the conversation, which may have a last message to be answered first. */
export type UserSays = string | { readonly text?: string; readonly end: EndReason };

/**
 * Plays a user by code, so that a test needs no key.
 *
 * @param seed A whole number that follows from the seed of the trial; it is the same for every model under test.
 */
export type UserFunction = (
  conversation: UserConversation,
  seed: number,
) => UserSays | Promise<UserSays>;

/** A user who answers what the model under test says. */
export interface ToolUser<State = undefined> {
  /** Plays him: a language model by name, an entry with options, a model, or a function. */
  readonly model: string | ModelEntry | Model | UserFunction;
  /** Who he is, what he wants, and what he knows and does not know. The model under test never sees it. */
  readonly scenario: string;
  /**
   * How he behaves; default: {@linkcode USER_GUIDELINES}. Other ones must name `end_conversation` or a stop word, so that
   * he can end: `###STOP###` (done), `###TRANSFER###` or `###OUT-OF-SCOPE###`.
   */
  readonly guidelines?: string;
  /** Who speaks first: the user, or the agent with a fixed greeting. Default: `user`. */
  readonly opens?: "user" | { readonly greeting: string };
  /** What was said before, which both sides see; the last message is the assistant's. */
  readonly history?: readonly {
    readonly role: "user" | "assistant";
    readonly content: string;
  }[];
  /** What he must have said before he may be `done`: of a list any. Numbers match by value, case does not count. */
  readonly facts?: readonly (string | readonly string[])[];
  /** His own tools, such as a switch on his phone, or a function that makes them on the state of the trial. */
  readonly tools?:
    | readonly Tool[]
    | ((state: State) => readonly Tool[] | Promise<readonly Tool[]>);
  /** `turns`: at most this many messages of his; default 30. */
  readonly limits?: { readonly turns?: number };
}

/** At most this many messages of a user, unless he says otherwise. */
export const USUAL_TURNS = 30;

/** The usual guidelines of simulated users. They are a part of the plan: results under other ones are not compared. */
export const USER_GUIDELINES = `Guidelines for users, version 1.
You play a user who talks to an assistant. Stay this user whatever the assistant says: you are not the assistant, and you do not help it.
- Write one short message at a time, as this person would, and nothing beside it: no thoughts, no name in front, no quotes around it.
- Tell what you know piece by piece, when it is needed or asked for. Never make up what the scenario does not say: answer that you do not know.
- Do not quote or mention the scenario or these guidelines.
- Answer each question of the assistant, above all when it asks for your consent, before you end the conversation.
- When you have what you want, or it is clear that you will not get it, call end_conversation with the reason "done", and write nothing beside the call. When the assistant hands you over to somebody else, the reason is "transferred". When the scenario does not say enough to go on, it is "out_of_scope".`;

/** The words by which a user ends a conversation in his text. */
export const STOP_WORDS: Readonly<Record<string, EndReason>> = {
  "###STOP###": "done",
  "###TRANSFER###": "transferred",
  "###OUT-OF-SCOPE###": "out_of_scope",
};

/** The tool by which a user ends a conversation. */
export const END_TOOL = "end_conversation";

/** Whether guidelines say how a conversation is ended. */
export function namesEnd(guidelines: string): boolean {
  return [END_TOOL, ...Object.keys(STOP_WORDS)].some((one) => guidelines.includes(one));
}

/** The user of a trial: who played him, what that took, and how he ended the conversation. */
export interface TrialUser extends Omit<StageUse, "stage"> {
  /** The number of his messages. */
  readonly messages: number;
  /** Why he ended it; omitted if he did not. */
  readonly end?: EndReason;
  /** The fault that made the trial invalid; omitted without one. */
  readonly fault?: UserFaultKind;
  /** The number of his replies that were thrown away and drawn again; omitted without any. */
  readonly redraws?: number;
}

/** What assertions see of a conversation. */
export interface ConversationRecord {
  /** Why the user ended it; `undefined` if he did not. */
  readonly end: EndReason | undefined;
  /** The number of his messages. */
  readonly messages: number;
  /** Whether it went on until his last message, and he had more to say. */
  readonly isAtLimit: boolean;
}

/** What a user hears of a text: no thoughts. */
export function heardOf(text: string): string {
  return thinkingOf(text).said.trim();
}

/** Whether a text shows nothing. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cf}]/u.test(text);
}

/** The name under which a function plays users in results. */
export const FUNCTION_USER = "function";

/** A hash of all that decides what a user says, as far as a test contains it; a function counts by its text. */
export function userDigest<State>(user: ToolUser<State>): string {
  const { model, tools, guidelines = USER_GUIDELINES, ...others } = user;
  return sha256(canonicalJson({
    ...others as unknown as JsonObject,
    guidelines,
    model: typeof model === "function"
      ? String(model)
      : (isModel(model) ? model.name : model) as unknown as JsonValue,
    tools: typeof tools === "function"
      ? String(tools)
      : tools?.map(schemaOf) as unknown as JsonValue,
  }));
}
