/**
 * What MCP servers list and return, in toolgate's terms.
 * @module
 */

import { z } from "zod";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { leftOut, type MediaPart, mediaPart, untaken } from "../../tools/media.ts";
import type { ToolAnnotations } from "../../tools/tool.ts";

const OBJECT = z.custom<JsonObject>(isJsonObject, "must be an object");

/** What may be left out, or be null. */
function maybe<T>(schema: z.ZodType<T>) {
  return schema.nullish().transform((value) => value ?? undefined).optional();
}

const HINT = maybe(z.boolean());

/** A tool as a server lists it. */
const LISTED = z.object({
  name: z.string().min(1),
  title: maybe(z.string()),
  description: maybe(z.string()),
  inputSchema: OBJECT,
  outputSchema: maybe(OBJECT),
  annotations: maybe(z.object({
    readOnlyHint: HINT,
    destructiveHint: HINT,
    idempotentHint: HINT,
    openWorldHint: HINT,
  })) as z.ZodType<ToolAnnotations | undefined>,
});

/** A page of tools, which are read one by one: a wrong one is no reason to do without the others. */
export const PAGE = z.object({
  tools: z.array(z.looseObject({ name: z.string().min(1) })),
  // The last page has none, in whatever way a server says so.
  nextCursor: z.string().nullish().transform((cursor) => cursor || undefined),
});

/** All that a server says of its tools. */
export const LIST = PAGE.pick({ tools: true }).extend({ instructions: z.string().optional() });

/** A tool as a server lists it. */
export type Listed = z.infer<typeof LISTED>;

/** A tool of which nothing but the name was read. */
export type Named = z.infer<typeof PAGE>["tools"][number];

/** Characters of the schemas of a tool, at most: larger ones take minutes to compile. */
const MAX_SCHEMA = 2 ** 18;

/**
 * Reads a tool as a server lists it. Its parameters are an object, also where the schema does not say so.
 *
 * @throws {InputError} If it cannot be used.
 */
export function readListed(given: Named): Listed {
  const { data, error } = LISTED.safeParse(given);
  if (data === undefined) {
    const [{ path, message }] = error.issues as [z.core.$ZodIssue];
    throw new InputError(`${path.join(".")} ${message}`);
  }
  const { inputSchema, outputSchema } = data;
  if (JSON.stringify([inputSchema, outputSchema]).length > MAX_SCHEMA) {
    throw new InputError(`they have more than ${MAX_SCHEMA} characters`);
  }
  return { ...data, inputSchema: { type: "object", ...inputSchema } };
}

/** What a call gave. */
export const RESULT = z.object({
  content: z.array(z.looseObject({ type: z.string() })).nullish().transform((some) => some ?? []),
  structuredContent: z.json().optional(),
  isError: z.boolean().nullish(),
});

/** Bytes of the images and audio of one result, at most. */
const MAX_MEDIA = 8 * 2 ** 20;

/**
 * Returns the text of a result for the model, all parts of the content or else what is structured, and the images and
 * audio whose notes are in it.
 */
export function readResult(
  { content, structuredContent }: z.infer<typeof RESULT>,
): { readonly text: string; readonly media: readonly MediaPart[] } {
  const media: MediaPart[] = [];
  if (content.length === 0 && structuredContent !== undefined) {
    return { text: JSON.stringify(structuredContent), media };
  }
  let left = MAX_MEDIA;
  const texts = content.map((part) => {
    const { type, text, resource } = part;
    if (type === "text" && typeof text === "string") return text;
    const held = type === "resource" && isJsonObject(resource) ? resource : part;
    if (held !== part && typeof held["text"] === "string") return held["text"];
    const given = [held["data"], held["blob"]].find((one) => typeof one === "string");
    if (given === undefined) return JSON.stringify(part);
    const data = given.replace(/\s+/g, "");
    // Neither padding nor breaks between lines stand for bytes.
    const bytes = Math.floor(data.replaceAll("=", "").length * 3 / 4);
    const known = [held["uri"], held["mimeType"]].filter((one) => typeof one === "string");
    const note = `[${[type, ...known, countText(bytes, "byte")].join(", ")}]`;
    if (bytes > left) return leftOut(note, "images and audio of one result have at most 8 MiB");
    const read = BASE64.test(data) ? mediaPart(held["mimeType"], note, data) : undefined;
    if (read === undefined) return leftOut(note, "it is no png, jpeg, gif, webp, wav or mp3");
    left -= bytes;
    media.push(read);
    return untaken(read);
  });
  return { text: texts.join("\n"), media };
}

/** Data as APIs take it. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
