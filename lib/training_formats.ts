/**
 * The training formats there are, by id.
 * @module
 */

import type { TrainingFormat, TrainingFormatId } from "./training_format.ts";
import { hermesConversations } from "./training_formats/hermes.ts";
import { openaiChat } from "./training_formats/openai_chat.ts";

const FORMATS: Readonly<Record<TrainingFormatId, TrainingFormat>> = {
  "openai-chat": openaiChat,
  hermes: hermesConversations,
};

/**
 * A format by its id.
 *
 * @example Usage
 * ```ts
 * import { trainingFormat } from "./training_formats.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(trainingFormat("hermes").id, "hermes");
 * ```
 */
export function trainingFormat(id: TrainingFormatId): TrainingFormat {
  return FORMATS[id];
}
