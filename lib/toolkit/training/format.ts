/**
 * Training formats: how conversations with tools are written down for those who train models on them
 * (Pipeline, "Constructing Tool Call Datasets").
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ToolSchema } from "../../tools/tool.ts";

/** The ids of all formats. */
export const TRAINING_FORMATS = ["openai-chat", "hermes"] as const;

/** The id of a format. */
export type TrainingFormatId = typeof TRAINING_FORMATS[number];

/** A conversation to learn from: it ends with an answer, and each of its calls is followed by its result. */
export interface TrainingConversation {
  /** All that was said. */
  readonly messages: readonly Message[];
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** Whether one reply might hold several calls. */
  readonly parallel: boolean;
  /** The places of replies with a call that failed: there to be recovered from, not to be learnt; default none. */
  readonly mistaken?: ReadonlySet<number>;
}

/** One way to write conversations down. */
export interface TrainingFormat {
  /** Its id. */
  readonly id: TrainingFormatId;
  /** Why a conversation cannot be written in it, in words; `undefined` where it can. */
  refuse(conversation: TrainingConversation): string | undefined;
  /** What a line holds of a conversation: the same keys in each. */
  write(conversation: TrainingConversation): JsonObject;
}
