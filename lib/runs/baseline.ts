/**
 * Baselines: accepted results that later ones are compared with, read from a small committed file or from a
 * journal.
 * @module
 */

import defer * as paths from "node:path";
import { assertShallow, assertVersion, parseWith, readText } from "../base/input.ts";
import { commandLine } from "../base/command_line.ts";
import { cannot, InputError } from "../base/errors.ts";
import { isMissing } from "../base/output_file.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { defined, isJsonObject, parseJson } from "../base/json.ts";
import type { ScoredTrial } from "../gate/variant.ts";
import type { BaselineTrials } from "../gate/decide_trials.ts";
import {
  type AcceptedSubject,
  BASELINE_FILE,
  type BaselineFile,
  checksumOf,
  type LaterGo,
  plannedTrials,
  resolvedHash,
} from "./_baseline_file.ts";
import { MAX_TRIALS } from "./plan.ts";
import { countTrials } from "./resolved_suite.ts";
import { type GatePolicy, isUpgrade, policyInForce, recordedFile } from "../gate/policy.ts";
import { readResults } from "./journal/results.ts";
import { changesTask } from "../trials/executors/tasks.ts";
import { isCase, isProbe } from "../trials/executors/task_kind.ts";
import { trialKeys } from "./trial_keys.ts";

/** Results to compare with, and their plan. */
export interface Baseline extends BaselineTrials {
  /** The keys of its trials and of their draws. */
  readonly keys: ReadonlySet<string>;
  /** The fields of the plan; `undefined` for journals written by other tools. */
  readonly plan: Pick<BaselineFile, "suite" | "comparisonHash" | "seed" | "resolved"> | undefined;
  /** Messages for the user, such as dropped torn lines. */
  readonly notices: readonly string[];
}

/**
 * Reads a baseline from a file of `toolgate accept` or a journal.
 *
 * @throws {InputError} If it is neither, or its results cannot be compared with.
 */
export function readBaseline(path: string): Baseline {
  const value = parseJson(readText(path));
  if (value !== undefined && isJsonObject(value) && value["kind"] === "baseline") {
    assertShallow(value, path);
    assertVersion(value, path);
    const file = parseWith(BASELINE_FILE, value, path);
    assertIntact(file, path);
    return baselineOf(file, path);
  }
  const { trials, plan, problem, notices } = readResults([path]);
  if (problem !== undefined) {
    throw new InputError(`Cannot compare with ${path}: ${problem}`);
  }
  if (trials.length === 0) {
    throw cannot(`compare with ${path}`, "it must have trials", "there are none");
  }
  return { file: path, trials, plan, notices, keys: trialKeys(trials) };
}

/** Returns the baseline of a checked file. */
export function baselineOf(file: BaselineFile, path: string): Baseline {
  const keys = keysOf(file);
  return { file: path, trials: baselineTrials(file, path), plan: file, notices: [], keys };
}

/** The keys of the trials of a file, and of the replies that they replay. */
export function keysOf(
  { subjects }: {
    readonly subjects: readonly Pick<AcceptedSubject<unknown>, "keys" | "draws">[];
  },
): Set<string> {
  return new Set(
    subjects.flatMap(({ keys, draws = "" }) => `${keys},${draws}`.split(",").filter(Boolean)),
  );
}

/**
 * Checks that nobody changed a file of results by accident, and that this version makes the same trials of its plan,
 * and not too many.
 *
 * @throws {InputError} If that is not so.
 */
export function assertIntact(
  file: Pick<BaselineFile, "checksum" | "resolved" | "comparisonHash" | "generator" | "seed"> & {
    readonly subjects: readonly unknown[];
  },
  path: string,
  action = "compare with",
): void {
  const { resolved, comparisonHash: hash, generator, seed } = file;
  const { checksum, ...rest } = file;
  if (checksum !== checksumOf(rest)) {
    throw cannot(
      `${action} ${path}`,
      "its checksum must be that of its content",
      "it was changed",
    );
  }
  if (
    resolvedHash(resolved) !== hash || resolved.generator !== generator ||
    resolved.seed !== seed
  ) {
    throw cannot(
      `${action} ${path}`,
      "its comparisonHash must be that of its plan",
      "it was made by another version",
    );
  }
  const size = file.subjects.length * countTrials({
    ...resolved,
    ...{ models: [{ model: "" }], strategies: [""], perturbations: [""], variants: { "": {} } },
  });
  if (size > MAX_TRIALS) {
    throw cannot(
      `${action} ${path}`,
      `a run has at most ${MAX_TRIALS} trials`,
      `it has ${size}`,
    );
  }
}

function baselineTrials(file: BaselineFile, path: string): ScoredTrial[] {
  const { resolved } = file;
  return file.subjects.flatMap((one) => {
    const { model, strategy, perturbation, variant, agent, trials, later = {} } = one;
    const subject = { strategy, perturbation, ...defined({ variant }) };
    const planned = plannedTrials(resolved, { model: model.requested, ...subject });
    if (trials.length > planned.length) {
      throw cannot(
        `compare with ${path}`,
        `a subject has at most ${planned.length} trials`,
        `${model.requested} has ${trials.length}`,
      );
    }
    return trials.flatMap((ended, place): ScoredTrial[] => {
      if (ended === null) return [];
      const { task, repetition } = planned[place]!;
      const [outcome, ...types] = typeof ended === "string" ? [ended] : ended;
      const solved = outcome === "solved";
      const failures = types.map((type) => ({ type }));
      const { replaced, unclear } = Object.hasOwn(later, place) ? later[place]! : {} as LaterGo;
      const trial = {
        ...{ model, ...subject, task, repetition, outcome, solved, failures },
        ...defined({ agent, unclear, replaced: replaced && { inputTokens: 0, outputTokens: 0 } }),
      };
      // What a perturbation changes of a case is known to its own file alone: the candidate's trial tells it.
      const isChanged = isCase(task) && !isProbe(task) || changesTask(task, perturbation);
      return [isChanged ? trial : { ...trial, changed: false }];
    });
  });
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
