/**
 * Registry of text formats and of the other APIs.
 * @module
 */

import type { TextFormat } from "./format.ts";
import { hermes } from "./hermes.ts";
import { react } from "./_react.ts";
import { xml } from "./_xml.ts";

/** The ids of all text formats. */
export const TEXT_FORMATS = ["react", "xml", "hermes"] as const;

/** Id of a text format. */
export type FormatId = typeof TEXT_FORMATS[number];

const FORMATS: Readonly<Record<FormatId, TextFormat>> = { react, xml, hermes };

/**
 * API of a model: OpenAI's chat completions or responses, or a text format over plain chat, for models
 * without native tool calls (Pipeline, "Structured Output for Tool Invocation").
 */
export const APIS: readonly ["chat", "responses", "react", "xml", "hermes"] = [
  "chat",
  "responses",
  ...TEXT_FORMATS,
];

/** API of a model. */
export type Api = typeof APIS[number];

/**
 * Returns the format with an id.
 */
export function formatOf(id: FormatId): TextFormat {
  return FORMATS[id];
}

/** Returns whether an API is a text format. */
export function isTextFormat(api: Api): api is FormatId {
  return Object.hasOwn(FORMATS, api);
}
