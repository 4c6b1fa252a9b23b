/**
 * Replies of users: how one ends a conversation, and what may be wrong with it.
 * @module
 */

import { z } from "zod";
import type { Usage } from "../tools/message.ts";

/**
 * Why users end conversations: one is `done`, was `transferred` to somebody else, or his scenario does not say enough to
 * go on (`out_of_scope`).
 */
export const END_REASONS: readonly EndReason[] = ["done", "transferred", "out_of_scope"];

/** A reason of {@linkcode END_REASONS}. */
export type EndReason = "done" | "transferred" | "out_of_scope";

/**
 * What a simulated user did wrong, or what kept him from replying:
 *
 * | fault | he |
 * | --- | --- |
 * | `empty` | wrote nothing and called nothing |
 * | `text_and_call` | wrote a message and called a tool in one reply |
 * | `swapped_role` | wrote as the assistant, or for both sides |
 * | `reasoning` | wrote his thoughts into his message |
 * | `too_many_calls` | called tools again and again in place of a message |
 * | `early_end` | was `done` before he had said all facts, or while he was asked for his consent |
 * | `repeats` | said the same things until the limit of his messages |
 * | `never_ends` | went on to that limit, though nothing was left to do |
 * | `unavailable` | could not be asked: his model failed, was filtered or cut off, or his function threw |
 */
export const USER_FAULTS = [
  "empty",
  "text_and_call",
  "swapped_role",
  "reasoning",
  "too_many_calls",
  "early_end",
  "repeats",
  "never_ends",
  "unavailable",
] as const;

/** A kind of {@linkcode USER_FAULTS}. */
export type UserFaultKind = typeof USER_FAULTS[number];

/** A reply of the simulated user; what was said to the model is a turn, and the first message of the trial. */
export interface UserEvent extends Usage {
  /** Kind of event. */
  readonly kind: "user";
  /** What he says, without the words that end the conversation. */
  readonly text: string;
  /** Duration of the reply, in milliseconds. */
  readonly durationMs: number;
  /** His thoughts, as far as his model shows them; omitted without any. */
  readonly reasoning?: string;
  /** The calls of his own tools, which are not the model's; omitted without any. */
  readonly calls?: readonly {
    readonly function: string;
    readonly arguments: string;
    readonly result: string;
  }[];
  /** Why he ends the conversation; omitted if he goes on. */
  readonly end?: EndReason;
  /** What is wrong with the reply, which is drawn once more, unless it was; omitted if nothing is. */
  readonly fault?: UserFaultKind;
}

const TEXT = z.string();
const COUNT = z.number().min(0);

/** The schemas of the fields of a {@linkcode UserEvent}. */
export const USER_FIELDS = {
  text: TEXT,
  ...{ inputTokens: COUNT, outputTokens: COUNT, durationMs: COUNT },
  estimated: z.literal(true).optional(),
  reasoning: TEXT.optional(),
  calls: z.array(z.looseObject({ function: TEXT, arguments: TEXT, result: TEXT })).optional(),
  end: z.enum(END_REASONS).optional(),
  fault: z.enum(USER_FAULTS).optional(),
};
