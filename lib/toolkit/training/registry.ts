/**
 * All training formats, by id.
 * @module
 */

import type { TrainingFormat, TrainingFormatId } from "./format.ts";
import { hermesConversations } from "./_hermes.ts";
import { openaiChat } from "./_openai_chat.ts";

const FORMATS: Readonly<Record<TrainingFormatId, TrainingFormat>> = {
  "openai-chat": openaiChat,
  hermes: hermesConversations,
};

/**
 * Returns a format by its id.
 *
 * @example Usage
 * ```ts
 * import { trainingFormat } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(trainingFormat("hermes").id, "hermes");
 * ```
 */
export function trainingFormat(id: TrainingFormatId): TrainingFormat {
  return FORMATS[id];
}
