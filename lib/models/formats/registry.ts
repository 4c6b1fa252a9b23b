/**
 * The table of text formats.
 * @module
 */

import type { FormatId, TextFormat } from "./format.ts";
import { hermes } from "./hermes.ts";
import { react } from "./react.ts";
import { xml } from "./xml.ts";
import type { Api } from "../model.ts";

/** All formats, by their ids. */
const FORMATS: Readonly<Record<FormatId, TextFormat>> = { react, xml, hermes };

/** The ids of all text formats. */
export const TEXT_FORMATS = Object.keys(FORMATS) as readonly FormatId[];

/**
 * The format of an id.
 *
 * @example Usage
 * ```ts
 * import { formatOf } from "./registry.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const calls = [{ name: "add", arguments: '{"a":1}' }];
 * const { writeCalls } = formatOf("react");
 * assertEquals(writeCalls("I add.", calls), 'Thought: I add.\nAction: add\nAction Input: {"a":1}');
 * ```
 */
export function formatOf(id: FormatId): TextFormat {
  return FORMATS[id];
}

/** Whether a model is spoken to in texts. */
export function isTextFormat(api: Api): api is FormatId {
  return Object.hasOwn(FORMATS, api);
}
