/**
 * Baselines: accepted results that later ones are compared with, read from a small committed file or from a
 * journal.
 * @module
 */

import defer * as paths from "node:path";
import { readText } from "../base/input.ts";
import { commandLine } from "../base/command_line.ts";
import { cannot, InputError } from "../base/errors.ts";
import { isMissing } from "../base/output_file.ts";
import { shellQuote } from "../base/shell_quote.ts";
import type { BaselineTrials } from "../gate/decide_trials.ts";
import { type GatePolicy, isUpgrade, policyInForce, recordedFile } from "../gate/policy.ts";
import { readJournalFile } from "./journal/journal.ts";
import type { ReadingOptions } from "./journal/lines.ts";
import { readResults } from "./journal/results.ts";
import { isRecord, keysOf, readRecord, type RunRecord, trialsOf } from "./record.ts";
import { trialKeys } from "./trial_keys.ts";

/** Results to compare with, and their plan. */
export interface Baseline extends BaselineTrials {
  /** The keys of its trials and of their draws. */
  readonly keys: ReadonlySet<string>;
  /** The plan, or the record that has it. */
  readonly plan: Pick<RunRecord, "suite" | "resolved">;
  /** Messages for the user, such as dropped torn lines. */
  readonly notices: readonly string[];
}

/**
 * Reads a baseline from a record or a journal.
 *
 * @throws {InputError} If it is neither, or its results cannot be compared with.
 */
export function readBaseline(path: string, options?: ReadingOptions): Baseline {
  const text = readText(path);
  if (isRecord(text)) return baselineOf(readRecord(text, path), path);
  const { trials, plan, problem, notices } = readResults([path], [readJournalFile(path, options)]);
  if (problem !== undefined) {
    throw new InputError(`Cannot compare with ${path}: ${problem}`);
  }
  if (trials.length === 0) {
    throw cannot(`compare with ${path}`, "it must have trials", "there are none");
  }
  return { file: path, trials, plan, notices, keys: trialKeys(trials) };
}

/** Returns the baseline that a record is. */
export function baselineOf(record: RunRecord, file: string): Baseline {
  return { file, trials: trialsOf(record), plan: record, notices: [], keys: keysOf(record) };
}

/**
 * Reads the baseline file that a gate names, if any. Returns `undefined` if the file does not exist yet: the
 * trials are run anyway, so that they can be accepted.
 *
 * @throws {InputError} If the file exists and cannot be used.
 */
export function baselineOfGate(
  gate: GatePolicy | undefined,
  pathOf = (file: string) => file,
): Baseline | undefined {
  const file = baselineFile(gate);
  return file === undefined || isMissing(pathOf(file)) ? undefined : readBaseline(pathOf(file));
}

/** Returns the gate that a run is judged by: where a baseline is recorded first, that depends on whether it is there. */
export function gateInForce(
  gate: GatePolicy | undefined,
  pathOf = (file: string) => file,
): GatePolicy | undefined {
  const file = recordedFile(gate);
  return file === undefined ? gate : policyInForce(gate!, !isMissing(pathOf(file)));
}

/** Options of {@linkcode howToAccept}. */
interface AcceptOptions {
  /** Returns the path of a file as the user gives it to a command. Default: the path. */
  readonly pathOf?: (file: string) => string;
  /** The journals that have all trials of the run; omitted if these are not kept. */
  readonly journals?: readonly string[];
}

/**
 * Returns how to make a baseline file that does not exist; `undefined` if none is missing. It is never to be made of the
 * run that it would judge: the file may just be elsewhere.
 *
 * @param pathOf Returns the path of the file for this process, where it is another one. Default: the path.
 * @param shownOf Returns the path of the file as the user gives it to a command. Default: the path.
 */
export function missingBaseline(
  gate: GatePolicy | undefined,
  baseline: Baseline | undefined,
  pathOf = (file: string) => file,
  shownOf = (file: string) => file,
): string | undefined {
  const file = baselineFile(gate);
  if (file === undefined || baseline !== undefined) return undefined;
  return `there is no baseline ${
    paths.resolve(pathOf(file))
  }: keep a run of what is in use now with --out=old.jsonl, and ` +
    `make it the baseline with ${
      commandLine(`accept old.jsonl --out ${shellQuote(shownOf(file))}`)
    }`;
}

/** Returns how to accept a run as the baseline of its gate; `undefined` if that is no file. */
export function howToAccept(
  gate: GatePolicy | undefined,
  { pathOf = (file) => file, journals }: AcceptOptions = {},
): string | undefined {
  const file = baselineFile(gate);
  if (file === undefined) return undefined;
  const shown = (path: string) => shellQuote(pathOf(path));
  const accepted = (journals ?? ["results.jsonl"]).map(shown).join(" ");
  const first = journals === undefined ? "keep the trials with --out=results.jsonl, then " : "";
  return first + commandLine(`accept ${accepted} --out ${shown(file)}`);
}

function baselineFile(gate: GatePolicy | undefined): string | undefined {
  if (gate === undefined || !isUpgrade(gate)) return undefined;
  return typeof gate.baseline === "string" ? undefined : gate.baseline.file;
}
