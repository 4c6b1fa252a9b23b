/**
 * Training formats: how conversations with tools are written to train models on them (Pipeline, "Constructing
 * Tool Call Datasets").
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ToolSchema } from "../../tools/tool.ts";

/** The ids of all formats. */
export const TRAINING_FORMATS = ["openai-chat", "hermes"] as const;

/** The id of a format. */
export type TrainingFormatId = typeof TRAINING_FORMATS[number];

/** A conversation for training: it ends with an answer, and each of its calls is followed by its result. */
export interface TrainingConversation {
  /** All messages. */
  readonly messages: readonly Message[];
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** Whether one reply may contain several calls. */
  readonly parallel: boolean;
  /** The indexes of replies with a failed call, which are context but not training targets. Default: none. */
  readonly mistaken?: ReadonlySet<number>;
}

/** A format of training data. */
export interface TrainingFormat {
  /** Its id. */
  readonly id: TrainingFormatId;
  /** Describes why a conversation cannot be written in it; `undefined` if it can. */
  refuse(conversation: TrainingConversation): string | undefined;
  /** Writes a conversation as the object of a line, with the same keys for each. */
  write(conversation: TrainingConversation): JsonObject;
}
