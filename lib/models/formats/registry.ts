/**
 * Registry of text formats.
 * @module
 */

import type { FormatId, TextFormat } from "./format.ts";
import { hermes } from "./hermes.ts";
import { react } from "./_react.ts";
import { xml } from "./_xml.ts";
import type { Api } from "../model.ts";

/** All formats, by their ids. */
const FORMATS: Readonly<Record<FormatId, TextFormat>> = { react, xml, hermes };

/** The ids of all text formats. */
export const TEXT_FORMATS = Object.keys(FORMATS) as readonly FormatId[];

/**
 * Returns the format with an id.
 *
 * @example Usage
 * ```ts
 * import { formatOf } from "@toolgate/toolgate/models";
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

/** Returns whether an API is a text format. */
export function isTextFormat(api: Api): api is FormatId {
  return Object.hasOwn(FORMATS, api);
}
