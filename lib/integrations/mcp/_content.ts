/**
 * What MCP servers list and return, in toolgate's terms.
 * @module
 */

import { z } from "zod";
import { defined, isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ToolAnnotations } from "../../tools/tool.ts";

const OBJECT = z.custom<JsonObject>(isJsonObject, "must be an object");
const HINT = z.boolean().optional();

/** A tool as a server lists it. */
export const LISTED = z.object({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: OBJECT,
  outputSchema: OBJECT.optional(),
  annotations: z.object({
    readOnlyHint: HINT,
    destructiveHint: HINT,
    idempotentHint: HINT,
    openWorldHint: HINT,
  }).optional() as z.ZodType<ToolAnnotations | undefined>,
});

/** A page of tools. */
export const PAGE = z.object({ tools: z.array(LISTED), nextCursor: z.string().optional() });

/** A tool as a server lists it. */
export type Listed = z.infer<typeof LISTED>;

/** What a call gave. */
export const RESULT = z.object({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.json().optional(),
  isError: z.boolean().default(false),
});

/** A part of the content. */
type ContentPart = z.infer<typeof RESULT>["content"][number];

/** Returns the text of a result for the model: all parts of the content, else what is structured. */
export function resultText(
  { content, structuredContent }: z.infer<typeof RESULT>,
): string {
  if (content.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent);
  }
  return content.map(partText).join("\n");
}

/** Returns a part as text; images, sounds and files are replaced by a note to the model. */
function partText(part: ContentPart): string {
  const { type, text, resource } = part;
  if (type === "text" && typeof text === "string") return text;
  if (type !== "resource" || !isJsonObject(resource)) return JSON.stringify(withoutData(part));
  const { text: own } = resource;
  if (typeof own === "string") return own;
  return JSON.stringify({ ...part, resource: withoutData(resource) });
}

/** Replaces data in base64 by its length. */
function withoutData({ data, blob, ...others }: Record<string, unknown>): object {
  const bytes = [data, blob].find((one) => typeof one === "string")?.length;
  return { ...others, ...defined({ bytes: bytes && Math.floor(bytes * 3 / 4) }) };
}
