/**
 * Manifests: which replies a folder of recordings must have. Each process that records writes one of its own, so that
 * several can write at a time.
 * @module
 */

import { z } from "zod";
import { canonicalJson, defined, parseJson } from "../../base/json.ts";
import { isShallow } from "../../base/input.ts";
import { sha256 } from "../../base/hash.ts";
import { HASH, readIfExists, type Recording, USAGE } from "./_file.ts";
import { appendText, namesIn } from "./_folder.ts";
import { RUNS } from "./origin.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** How the name of a manifest ends; it begins with its run. */
const ENDING = ".manifest";

const LISTED = z.strictObject({
  v: z.literal(1),
  time: z.string(),
  trial: z.string(),
  // That of the first request.
  hash: HASH,
  // That of the recording; omitted if the trial was invalid.
  recording: HASH.exactOptional(),
  // The invalid goes of the trial with this one: their tokens, and whether they failed for nothing a model can cause.
  invalid: z.strictObject({ replaced: USAGE, replacedIdle: z.literal(true).exactOptional() })
    .exactOptional(),
  // The trial of another name whose invalid goes are among its own ones now.
  instead: z.string().exactOptional(),
  runs: RUNS,
  // A hash of the fields above and of the line before; of the name of the run in the first one.
  sum: HASH,
});

type Line = Omit<z.infer<typeof LISTED>, "sum">;

/** The invalid goes of a trial that has no recording since. */
export type InvalidGoes = NonNullable<Line["invalid"]>;

/** The replies of a trial that ended validly, of which a folder must have one of these recordings. */
export type Listed = Pick<Line, "time" | "trial" | "hash" | "runs"> & {
  readonly recordings: readonly string[];
};

/**
 * Milliseconds within which two processes may list a trial in one order, and write its recording in the other: any of
 * these is as good.
 */
const CLOSE_MS = 100;

/** The manifests of a folder, and that of this process. */
export class Manifests {
  /** The run of this process. */
  readonly run: string;
  /** What is listed last of each first request and trial. */
  readonly #listed = new Map<string, Map<string, Listed>>();
  /** By first request and trial. */
  readonly #invalid = new Map<string, Map<string, InvalidGoes>>();
  /** Of each manifest how many characters were read, and the `sum` of the last line of these. */
  readonly #read = new Map<string, { length: number; sum: string }>();
  readonly #folder: string;
  readonly #path: string;
  #sum: string;

  /** Reads all manifests of a folder. */
  constructor(folder: string) {
    this.#folder = folder;
    this.readMore();
    const began = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
    this.run = this.#sum = `${began}-${crypto.randomUUID().slice(0, 8)}`;
    this.#path = `${folder}/${this.run}${ENDING}`;
  }

  /**
   * Reads what was added to the manifests since, such as by another process: each up to the first line that is torn or
   * not as it was written.
   */
  readMore(): void {
    for (const path of namesIn(this.#folder, ENDING)) {
      const sum = path.slice(this.#folder.length + 1, -ENDING.length);
      const read = getOrInsertComputed(this.#read, path, () => ({ length: 0, sum }));
      for (const line of readIfExists(path)?.slice(read.length).split("\n") ?? []) {
        const { data } = LISTED.safeParse(parseJson(line));
        if (data === undefined) break;
        const { sum, ...said } = data;
        if (sum !== sha256(read.sum + canonicalJson(said))) break;
        read.sum = sum;
        read.length += line.length + 1;
        this.#note(said);
      }
    }
  }

  #note({ recording, invalid, instead, ...line }: Line): void {
    const listed = this.of(line.hash);
    const last = listed.get(line.trial);
    const goes = this.invalidOf(line.hash);
    if (instead !== undefined) goes.delete(instead);
    if (recording === undefined) {
      if (invalid !== undefined && !(last && last.time > line.time)) goes.set(line.trial, invalid);
      return;
    }
    // What was recorded in their place has them.
    goes.delete(line.trial);
    // Processes may record at the same time, so that the order of their manifests tells nothing.
    const since = last === undefined ? Infinity : Date.parse(line.time) - Date.parse(last.time);
    if (since < 0 && -since > CLOSE_MS) return;
    const others = since > CLOSE_MS ? [] : last!.recordings;
    listed.set(line.trial, { ...(since < 0 ? last! : line), recordings: [...others, recording] });
  }

  /** Returns what is listed of all trials whose first request has this hash, by trial. */
  of(hash: string): Map<string, Listed> {
    return getOrInsertComputed(this.#listed, hash, () => new Map());
  }

  /** Returns the invalid goes of all trials whose first request has this hash, by trial. */
  invalidOf(hash: string): Map<string, InvalidGoes> {
    return getOrInsertComputed(this.#invalid, hash, () => new Map());
  }

  /** Lists a recording that is about to be written, or the invalid goes of a trial. */
  list(what: Pick<Line, "trial" | "hash" | "recording" | "invalid" | "instead" | "runs">): void {
    const said = { v: 1 as const, time: new Date().toISOString(), ...defined(what) };
    const sum = sha256(this.#sum + canonicalJson(said));
    appendText(this.#path, `${JSON.stringify({ ...said, sum })}\n`);
    this.#sum = sum;
    this.#note(said);
  }
}

/** Returns a hash of all that a recording says. */
export function recordingHash(recording: Recording): string {
  return isShallow(recording) ? sha256(canonicalJson(recording)) : "";
}
