/**
 * Manifests: which replies a folder of recordings must have. Each process that records writes one of its own, so that
 * several can write at a time.
 * @module
 */

import { z } from "zod";
import { canonicalJson, parseJson } from "../../base/json.ts";
import { isShallow } from "../../base/input.ts";
import { sha256 } from "../../base/hash.ts";
import { HASH, readIfExists, type Recording } from "./_file.ts";
import { appendText, namesIn } from "./_folder.ts";
import { RUNS } from "./origin.ts";

/** How the name of a manifest ends; it begins with its run. */
const ENDING = ".manifest";

const LISTED = z.strictObject({
  v: z.literal(1),
  time: z.string(),
  trial: z.string(),
  // That of the first request.
  hash: HASH,
  // That of the recording.
  recording: HASH,
  runs: RUNS,
  // A hash of the fields above and of the line before; of the name of the run in the first one.
  sum: HASH,
});

/** The replies of a trial that ended validly, which a folder must have. */
export type Listed = Omit<z.infer<typeof LISTED>, "sum">;

/** The manifests of a folder, and that of this process. */
export class Manifests {
  /** The run of this process. */
  readonly run: string;
  /** What is listed last of each first request and trial. */
  readonly #listed = new Map<string, Map<string, Listed>>();
  readonly #path: string;
  #sum: string;

  /** Reads all manifests of a folder, each up to the first line that was torn, or is not as it was written. */
  constructor(folder: string) {
    for (const path of namesIn(folder, ENDING)) {
      let before = path.slice(folder.length + 1, -ENDING.length);
      for (const line of readIfExists(path)?.split("\n") ?? []) {
        const { data } = LISTED.safeParse(parseJson(line));
        if (data === undefined) break;
        const { sum, ...said } = data;
        if (sum !== sha256(before + canonicalJson(said))) break;
        before = sum;
        this.of(said.hash).set(said.trial, said);
      }
    }
    const began = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
    this.run = this.#sum = `${began}-${crypto.randomUUID().slice(0, 8)}`;
    this.#path = `${folder}/${this.run}${ENDING}`;
  }

  /** Returns what is listed of all trials whose first request has this hash, by trial. */
  of(hash: string): Map<string, Listed> {
    return this.#listed.getOrInsertComputed(hash, () => new Map());
  }

  /** Lists a recording that is about to be written. */
  list(written: Recording): void {
    const { trial, requests: [first], origin: { runs } } = written;
    // A request that was given up has no reply to keep.
    if (first === undefined) return;
    const [{ hash }, recording] = [first, recordingHash(written)];
    const said = { v: 1 as const, time: new Date().toISOString(), trial, hash, recording, runs };
    const sum = sha256(this.#sum + canonicalJson(said));
    appendText(this.#path, `${JSON.stringify({ ...said, sum })}\n`);
    this.#sum = sum;
    this.of(hash).set(trial, said);
  }
}

/** Returns a hash of all that a recording says. */
export function recordingHash(recording: Recording): string {
  return isShallow(recording) ? sha256(canonicalJson(recording)) : "";
}
