/**
 * Uses of folders: which trial of this process takes which recording, so that none answers two.
 * @module
 */

import { redactRecord } from "../../base/redact.ts";
import { resolvePath } from "../../base/output_file.ts";
import { requestKey } from "./_entries.ts";
import { keptPath, type RecordedRequest, type Recording, recordingPath } from "./_file.ts";
import { MAX_FILES, namesIn, readIfUsable, recordingsIn } from "./_folder.ts";
import { type InvalidGoes, type Listed, Manifests, recordingHash } from "./_manifest.ts";
import { idWords } from "./_miss.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A trial to record or replay. */
export interface UsedRecording {
  /** The trial's id. */
  readonly id: string;
  /** Name of its model. */
  readonly model: string;
}

/** A recording that may answer another trial than its own. */
interface Candidate {
  readonly path: string;
  readonly trial: string;
  readonly draw: string;
  /** Key and hash of its first request. */
  readonly first: string;
  /** The server of that. */
  readonly origin: RecordedRequest["server"];
}

/**
 * What the trials of this process take from a folder. Trials of one case are independent draws, so that each
 * recorded conversation answers one of them at most, however many have the same content.
 */
export class FolderUse {
  /** By the path of the folder. */
  static readonly #all = new Map<string, FolderUse>();
  /** The ids of all planned trials, without secrets. */
  readonly claimed = new Set<string>();
  readonly #folder: string;
  /** The trial that each draw answers. */
  readonly #taken = new Map<string, string>();
  /** By the folder of a model. */
  readonly #candidates = new Map<string, readonly Candidate[]>();
  #manifests: Manifests | undefined;
  /** What is listed and there; or is gone, and has a trial of another name in its place. */
  readonly #settled = new Set<Listed>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the use of a folder, which all runs of this process share. */
  static of(folder: string): FolderUse {
    return getOrInsertComputed(FolderUse.#all, resolvePath(folder), () => new FolderUse(folder));
  }

  /** Takes a recording for a trial; returns whether no other trial has it. */
  take({ draw }: Recording, id: string): boolean {
    const owner = this.#taken.get(draw) ?? id;
    this.#taken.set(draw, owner);
    return owner === id;
  }

  /** Takes a recording whose first request has this key and hash, of a trial that nobody plans; if there is one. */
  find(
    { path, id, model }: UsedRecording & { readonly path: string },
    { key, hash, server }: {
      readonly key: string;
      readonly hash: string;
      readonly server: string | undefined;
    },
  ): Recording | undefined {
    const candidates = getOrInsertComputed(
      this.#candidates,
      path.slice(0, path.lastIndexOf("/")),
      (folder) => candidatesIn(this.#folder, folder, model),
    );
    const kept = new Set(
      candidates.flatMap(({ trial, draw }) => this.claimed.has(trial) ? [draw] : []),
    );
    for (const { path, trial, draw, first, origin } of candidates) {
      if (first !== `${key} ${hash}` || kept.has(draw) || this.#taken.has(draw)) continue;
      if (origin !== server) continue;
      // It may have been changed since it was listed.
      const recording = readIfUsable(path);
      if (recording?.trial !== trial || recording.draw !== draw) continue;
      this.#taken.set(draw, id);
      return recording;
    }
  }

  /** Takes the invalid goes of a trial that nobody plans, whose first request has this hash; if there are some. */
  findInvalid(id: string, hash: string): [trial: string, goes: InvalidGoes] | undefined {
    const all = this.manifests.invalidOf(hash);
    const model = idWords(redactRecord(id)).get("model");
    const found = all.entries().find(([trial]) =>
      !this.claimed.has(trial) && idWords(trial).get("model") === model
    );
    if (found !== undefined) all.delete(found[0]);
    return found;
  }

  /** The manifests of the folder, which are read when first needed. */
  get manifests(): Manifests {
    return this.#manifests ??= new Manifests(this.#folder);
  }

  /**
   * Returns the runs of listed replies in whose place a trial has others: of its own ones, or of those of a trial that
   * nobody plans, such as of this one under another name; empty where it has what is listed, or more is drawn.
   *
   * @param asked The hash of its first request.
   * @param file The recording that answers it; default: its model is asked.
   * @param isAnew Whether that is asked although there may be a recording.
   */
  lostRuns(id: string, asked: string, file?: Recording, isAnew = false): string[] {
    const listed = this.manifests.of(file?.requests[0]?.hash ?? asked);
    if (file !== undefined && !this.#isListed(file)) return file.origin.runs;
    const own = listed.get(redactRecord(id));
    if (own !== undefined) {
      const isKept = !isAnew && (own.trial === file?.trial || !this.#isGone(own));
      return isKept ? [] : own.runs;
    }
    for (const one of listed.values()) {
      if (this.claimed.has(one.trial) || this.#settled.has(one)) continue;
      this.#settled.add(one);
      if (this.#isGone(one)) return one.runs;
    }
    return [];
  }

  /** Returns whether a condition holds, given what is listed; what other processes list by now is read if need be. */
  #holds(condition: () => boolean): boolean {
    if (condition()) return true;
    this.manifests.readMore();
    return condition();
  }

  #isListed(file: Recording): boolean {
    const [hash, recording] = [file.requests[0]?.hash ?? "", recordingHash(file)];
    return this.#holds(() =>
      this.manifests.of(hash).get(file.trial)?.recordings.includes(recording) === true
    );
  }

  #isGone({ trial, hash }: Listed): boolean {
    const path = recordingPath(this.#folder, trial, idWords(trial).get("model") ?? "");
    return !this.#holds(() => {
      const { recordings } = this.manifests.of(hash).get(trial)!;
      const found = [path, keptPath(path, hash)].flatMap((file) => readIfUsable(file) ?? []);
      return found.some((file) => recordings.includes(recordingHash(file)));
    });
  }

  /** The number of recordings of trials that nobody plans. */
  others(): number {
    return recordingsIn(this.#folder).filter(({ trial }) => !this.claimed.has(trial)).length;
  }
}

/** Returns the recordings in the folder of a model, in the order of their names. */
function candidatesIn(root: string, folder: string, model: string): Candidate[] {
  const found: Candidate[] = [];
  const own = redactRecord(encodeURI(model.toWellFormed()));
  for (const path of namesIn(folder, ".json")) {
    const recording = readIfUsable(path);
    const [first] = recording?.requests ?? [];
    if (recording === undefined || first === undefined) continue;
    const { trial, draw } = recording;
    // A copy under another name is no other draw.
    if (recordingPath(root, trial, model) !== path) continue;
    // Names that differ may share a folder, and each may be of another server.
    if (idWords(trial).get("model") !== own) continue;
    found.push({
      path,
      trial,
      draw,
      first: `${requestKey(first)} ${first.hash}`,
      origin: first.server,
    });
    if (found.length >= MAX_FILES) break;
  }
  return found;
}
