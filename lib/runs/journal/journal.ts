/**
 * Journal files: a plan line, trials, and lines about their run.
 * @module
 */

import { z } from "zod";
import type { Release } from "../../base/clone.ts";
import { assertShallow, parseWith } from "../../base/input.ts";
import { cannot, InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonValue } from "../../base/json.ts";
import {
  type JournalEnd,
  journalLines,
  type JournalPlace,
  type ReadingOptions,
  readLineAgain,
} from "./lines.ts";
import { parsePlanLine, type PlanLine, RELEASE } from "./plan_line.ts";
import { type Trial, TRIAL_LINE } from "../../trials/trial.ts";
import { inPlaceOf, summarize, takenOver, type TrialSummary } from "../../trials/summary.ts";
import { type Kept, SHARED_PARTS, TRANSCRIPT, type Transcript } from "../../trials/transcript.ts";

/** A journal with its lines checked. */
export interface JournalFile {
  readonly path: string;
  /** The end of the file. */
  readonly end: JournalEnd;
  /** Its first line; `undefined` if it is empty. */
  readonly plan: PlanLine | undefined;
  /**
   * Summaries of the trials. Of several lines with one id the last counts, as invalid trials may be run
   * again.
   */
  readonly trials: readonly TrialSummary[];
  /** The place of each trial, by its id: see {@linkcode wholeTrial}. */
  readonly places: ReadonlyMap<string, JournalPlace>;
  /** The parts of transcripts that its lines share. */
  readonly values: KeptValues;
  /** The id of a trial that was run again although its first run was valid. */
  readonly doubled: string | undefined;
  /** How often its run was continued. */
  readonly resumed: number;
  /** What ran it at first, and when it was continued. */
  readonly releases: readonly Release[];
  /** Its last line, if that is about its run. */
  readonly last: RunLine | undefined;
}

const RUN_LINE = z.looseObject({
  v: z.literal(1),
  kind: z.enum(["resume", "end"]),
  /** When it was written, in ISO 8601. */
  time: z.string(),
  /** The number of trials that the journal has by then. */
  trials: z.int().min(0),
  /** What continues it; omitted at the end. */
  toolgate: RELEASE.optional(),
  /** Why no more are run, such as a budget; omitted if all that was needed was run. */
  reason: z.string().optional(),
});

/** A journal that is not empty. */
export type BegunJournal = JournalFile & { readonly plan: PlanLine };

/** A line about a run: that it was continued, or that no trial is left to run. */
export type RunLine = Readonly<z.infer<typeof RUN_LINE>>;

/**
 * Reads and checks one journal.
 *
 * @throws {InputError} If it is invalid, or a line is not as its run wrote it; the message has the file, the line, the
 * path in it and the rule.
 */
export function readJournalFile(path: string, options: ReadingOptions = {}): JournalFile {
  let plan: PlanLine | undefined;
  const trials = new Map<string, TrialSummary>();
  const places = new Map<string, JournalPlace>();
  const values = new KeptValues(path);
  let doubled: string | undefined;
  let last: RunLine | undefined;
  let resumed = 0;
  const releases: Release[] = [];
  let end: JournalEnd | undefined;
  const lines = function* () {
    end = yield* journalLines(path, options);
  };
  for (const { value, ...place } of lines()) {
    const source = `${path}, line ${place.line}`;
    const kind = lineKind(value);
    last = undefined;
    if (plan === undefined) {
      plan = parseFirstLine(value, source);
      releases.push(plan.toolgate);
    } else if (kind === "plan") {
      throw new InputError(`Cannot use ${source}: only the first line can be a plan`);
    } else if (kind === "trial") {
      const trial = summarize(parseTrial(value, source));
      const before = trials.get(trial.id);
      if (before !== undefined && before.outcome !== "invalid") doubled ??= trial.id;
      trials.set(trial.id, before === undefined ? trial : inPlaceOf(trial, takenOver(before)));
      places.set(trial.id, place);
      values.note(value, place);
    } else if (kind === "resume" || kind === "end") {
      last = readRunLine(value, source, trials.size);
      if (kind === "resume") resumed++;
      if (last.toolgate !== undefined) releases.push(last.toolgate);
    } else {
      throw new InputError(
        `Cannot use ${source}: it is no line of a journal, such as one whose kind is "trial"`,
      );
    }
  }
  return {
    path,
    end: end!,
    plan,
    trials: [...trials.values()],
    places,
    values,
    doubled,
    ...{ resumed, releases, last },
  };
}

function readRunLine(value: JsonValue, source: string, count: number): RunLine {
  const line = parseWith(RUN_LINE, value, source);
  if (line.trials === count) return line;
  throw cannot(`use ${source}`, `it tells of ${line.trials} trials`, `there are ${count}`);
}

/**
 * Reads only the plan of a journal; returns `undefined` if it is empty.
 *
 * @throws {InputError} If it is invalid, or not as its run wrote it; the message has the file, the line, the path in it
 * and the rule.
 */
export function readPlanLine(path: string): PlanLine | undefined {
  for (const { value, line } of journalLines(path)) {
    return parseFirstLine(value, `${path}, line ${line}`);
  }
}

function parseFirstLine(value: JsonValue, source: string): PlanLine {
  if (lineKind(value) === "plan") return parsePlanLine(value, source);
  throw cannot(`use ${source}`, PLAN_RULE, "it is none");
}

/** What makes a file a journal: without a plan nobody can tell which trials are missing. */
export const PLAN_RULE = "the first line of a journal must be its plan";

/** Returns the name of the suite in the first line of a journal, unchecked; `undefined` if that has none. */
export function suiteOf(path: string): string | undefined {
  for (const { value } of journalLines(path, { unchecked: true })) {
    const { suite } = isJsonObject(value) ? value : {};
    return typeof suite === "string" ? suite : undefined;
  }
}

/**
 * Yields the whole trials of a journal in the order of their lines, those that were there when it was read and count.
 *
 * @throws {InputError} If the journal has changed since it was read.
 */
export function* journalTrials({ path, places, values }: JournalFile): Generator<Trial> {
  let left = places.size;
  for (const { value, line } of journalLines(path, { again: true })) {
    if (lineKind(value) !== "trial") continue;
    const trial = parseTrial(value, `${path}, line ${line}`);
    if (places.get(trial.id)?.line !== line) continue;
    left--;
    yield values.complete(trial);
  }
  if (left > 0) throw new InputError(`Cannot use ${path}: it was changed while it was in use`);
}

/**
 * Reads one trial of a journal again, with all of its fields.
 *
 * @throws {InputError} If the journal has changed since it was read.
 */
export function wholeTrial(path: string, place: JournalPlace): Trial {
  return parseTrial(readLineAgain(path, place), `${path}, line ${place.line}`);
}

/** Parses a trial line. Only its events are traversed; fields of other tools are not. */
function parseTrial(value: JsonValue, source: string): Trial {
  assertShallow(value, source);
  return parseWith(TRIAL_LINE, value, source);
}

function lineKind(value: JsonValue): unknown {
  return isJsonObject(value) ? value["kind"] : undefined;
}

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
