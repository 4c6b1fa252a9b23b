/**
 * Kept values: the parts of transcripts that a journal has once, in the first line that has them.
 * @module
 */

import { isJsonObject, type JsonValue } from "../../base/json.ts";
import { InputError } from "../../base/errors.ts";
import { type JournalPlace, readLineAgain } from "./lines.ts";
import { type Kept, SHARED_PARTS, TRANSCRIPT, type Transcript } from "../../trials/transcript.ts";
import type { Trial } from "../../trials/trial.ts";

type SharedPart = typeof SHARED_PARTS[number];

/** Stands for the place of a line that this process wrote. */
const WRITTEN: JournalPlace = { line: 0, start: 0, bytes: 0 };

/** At most this many values are kept in memory: most trials of a run share theirs. */
const MAX_VALUES = 64;

/** The values of a journal, by their ids. */
export class KeptValues {
  readonly #path: string;
  /** The first line that has each of them. */
  readonly #places = new Map<string, JournalPlace>();
  /** The values used last. */
  readonly #values = new Map<string, unknown>();

  /** Begins without any. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Takes note of the values in a line. Of other lines, and those of other tools, there is nothing to note. */
  note(line: JsonValue, place: JournalPlace): void {
    const transcript = isJsonObject(line) ? line["transcript"] : undefined;
    if (!isJsonObject(transcript)) return;
    for (const name of SHARED_PARTS) {
      const part = transcript[name];
      if (!isJsonObject(part)) continue;
      const { id, value } = part;
      if (typeof id !== "string" || value === undefined || this.#places.has(id)) continue;
      this.#places.set(id, place);
    }
  }

  /** Returns a trial without the values that the journal has; it has those of the trial from now on. */
  shorten(trial: Trial): Trial {
    return this.#map(trial, (part) => {
      if (this.#places.has(part.id)) return { id: part.id };
      if (part.value !== undefined) this.#places.set(part.id, WRITTEN);
      return part;
    });
  }

  /** Returns a trial with the values that other lines of the journal have, as far as they are there. */
  complete(trial: Trial): Trial {
    return this.#map(trial, (part, name) => {
      if (part.value !== undefined) return part;
      const value = this.#values.has(part.id) ? this.#values.get(part.id) : this.#read(part.id);
      this.#values.delete(part.id);
      this.#values.set(part.id, value);
      for (const [oldest] of this.#values) {
        if (this.#values.size <= MAX_VALUES) break;
        this.#values.delete(oldest);
      }
      // Anyone may have written the journal: tools are no text, and a text is no tools.
      const isOfKind = value !== undefined && Array.isArray(value) === (name === "tools");
      return isOfKind ? { ...part, value } : part;
    });
  }

  /** Reads a value from its line; `undefined` if the journal does not have it. */
  #read(id: string): unknown {
    const place = this.#places.get(id);
    if (place === undefined || place === WRITTEN) return undefined;
    try {
      const line = readLineAgain(this.#path, place);
      const { data } = TRANSCRIPT.safeParse(isJsonObject(line) ? line["transcript"] : undefined);
      // One text may be the system text of a trial and the question of another.
      return SHARED_PARTS.map((name) => data?.[name])
        .find((part) => part?.id === id && part.value !== undefined)?.value;
    } catch (error) {
      if (error instanceof InputError) return undefined;
      throw error;
    }
  }

  #map(
    trial: Trial,
    map: (part: Kept<unknown>, name: SharedPart) => Kept<unknown>,
  ): Trial {
    const { transcript } = trial;
    if (transcript === undefined) return trial;
    const parts = SHARED_PARTS.flatMap((name) => {
      const part = transcript[name];
      return part === undefined ? [] : [[name, map(part, name)] as const];
    });
    return { ...trial, transcript: { ...transcript, ...Object.fromEntries(parts) } as Transcript };
  }
}
