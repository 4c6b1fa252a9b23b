/**
 * Media: images and audio in the results of tools, which reach the models whose entries take them. Each has a note in the
 * text of its result; where a perturbation, a strategy or a limit takes the note away, the model does not get it.
 * @module
 */

import { sha256 } from "../base/hash.ts";

/** What a model may take beside text. */
export const MEDIA = ["image", "audio"] as const;

/** What a model may take beside text. */
export type Medium = typeof MEDIA[number];

/** An image or audio of a result. */
export interface MediaPart {
  /** Its type, such as `image/png`. */
  readonly mimeType: string;
  /** What stands for it in the text of its result, such as `[image, image/png, 68 bytes]`. */
  readonly note: string;
  /** The SHA-256 of the data, in hexadecimal. */
  readonly hash: string;
  /** The data as an address, `data:image/png;base64,...`; not enumerable, so that no JSON of it has the data. */
  readonly url: string;
}

/** What may have images and audio beside its text. */
export interface WithMedia {
  /** Images and audio beside the text; omitted if there are none. */
  readonly media?: readonly MediaPart[];
}

/** The types that the APIs of models take. */
const TYPE = /^(?:image\/(?:png|jpeg|gif|webp)|audio\/(?:wav|x-wav|mpeg|mp3))$/;

/** Returns an image or audio of data in base64; `undefined` if it is of a type that no API takes. */
export function mediaPart(mimeType: unknown, note: string, data: string): MediaPart | undefined {
  if (typeof mimeType !== "string" || !TYPE.test(mimeType)) return undefined;
  const part = { mimeType, note, hash: sha256(data) };
  const url = `data:${mimeType};base64,${data}`;
  return Object.defineProperty(part, "url", { value: url }) as MediaPart;
}

/** Returns the note of what is left out. */
export function leftOut(note: string, why: string): string {
  return `${note.slice(0, -1)}: left out; ${why}]`;
}

/** Returns the note of a part for models that do not take it. */
export function untaken({ note }: MediaPart): string {
  return leftOut(note, "only text is passed on");
}

/** Returns the images and audio that a model takes. */
export function taken({ media = [] }: WithMedia, takes: readonly Medium[]): readonly MediaPart[] {
  return media.filter(({ mimeType }) => takes.some((medium) => mimeType.startsWith(medium)));
}

/** Returns a text whose notes say that a model gets these images and audio. */
export function noted(text: string, media: readonly MediaPart[]): string {
  return media.reduce((said, part) => said.replaceAll(untaken(part), () => part.note), text);
}

/** Returns the images and audio whose notes are in a text. */
export function mediaIn(text: string, media: readonly MediaPart[] = []): WithMedia {
  const left = media.filter(({ note }) => text.includes(note));
  return left.length === 0 ? {} : { media: left };
}
