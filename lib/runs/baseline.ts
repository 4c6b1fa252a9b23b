/**
 * Baselines: accepted results that later ones are compared with, read from a small committed file or from a
 * journal.
 * @module
 */

import { assertNotNewer, assertShallow, parseWith, readText } from "../base/input.ts";
import { commandLine } from "../base/command_line.ts";
import { cannot, InputError } from "../base/errors.ts";
import { didYouMean } from "../base/nearest_name.ts";
import { shellQuote } from "../base/shell_quote.ts";
import {
  canonicalJson,
  defined,
  isJsonObject,
  listText,
  parseJson,
  printable,
} from "../base/json.ts";
import { type ComparedCases, leftOutLines, type PartsOfVariant } from "../gate/compared_cases.ts";
import type { ScoredTrial } from "../gate/variant.ts";
import type { BaselineTrials } from "../gate/decide_trials.ts";
import {
  BASELINE_FILE,
  type BaselineFile,
  checksumOf,
  type LaterGo,
  plannedTrials,
  resolvedHash,
} from "./_baseline_file.ts";
import { MAX_TRIALS, type Plan } from "./plan.ts";
import {
  comparedSettings,
  comparisonHash,
  countTrials,
  type ResolvedSuite,
} from "./resolved_suite.ts";
import { type GatePolicy, isUpgrade, policyInForce, recordedFile } from "../gate/policy.ts";
import { differences, ownName, readResults } from "./journal/results.ts";
import { changesTask } from "../trials/executors/tasks.ts";
import { isCase, isProbe } from "../trials/executors/task_kind.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { trialKeys } from "./trial_keys.ts";
import { unitNames } from "../gate/unit_names.ts";

/** Results to compare with, and their plan. */
export interface Baseline extends BaselineTrials {
  /** The keys of its trials and of their draws; of a file of version 1 those of its runs. */
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
    assertNotNewer(value, 2, path);
    const file = parseWith(BASELINE_FILE, value, path);
    const keys = new Set(
      file.subjects.flatMap(({ run = "", keys = run, draws = "" }) =>
        `${keys},${draws}`.split(",").filter(Boolean)
      ),
    );
    return { file: path, trials: baselineTrials(file, path), plan: file, notices: [], keys };
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

function baselineTrials(file: BaselineFile, path: string): ScoredTrial[] {
  const { resolved, comparisonHash: hash, generator, seed } = file;
  const { checksum, ...rest } = file;
  if (checksum !== checksumOf(rest)) {
    throw cannot(
      `compare with ${path}`,
      "its checksum must be that of its content",
      "it was changed",
    );
  }
  if (
    resolvedHash(resolved) !== hash || resolved.generator !== generator ||
    resolved.seed !== seed
  ) {
    throw cannot(
      `compare with ${path}`,
      "its comparisonHash must be that of its plan",
      "it was made by another version",
    );
  }
  const size = countTrials({
    ...resolved,
    ...{ models: [{ model: "" }], strategies: [""], perturbations: [""], variants: { "": {} } },
  });
  if (size > MAX_TRIALS) {
    throw cannot(
      `compare with ${path}`,
      `a model has at most ${MAX_TRIALS} trials`,
      `it has ${size}`,
    );
  }
  return file.subjects.flatMap((one) => {
    const { model, strategy, perturbation, variant, trials, later = {} } = one;
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
        ...defined({ unclear, replaced: replaced && { inputTokens: 0, outputTokens: 0 } }),
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

function isMissing(path: string): boolean {
  try {
    Deno.statSync(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** Options of {@linkcode missingBaseline}. */
interface MissingBaselineOptions {
  /** Returns the path of a file as the user gives it to a command. Default: the path. */
  readonly pathOf?: (file: string) => string;
  /** The journals that have all trials of the run; omitted if these are not kept. */
  readonly journals?: readonly string[];
}

/** Returns how to make a baseline file that does not exist yet; `undefined` if none is missing. */
export function missingBaseline(
  gate: GatePolicy | undefined,
  baseline: Baseline | undefined,
  { pathOf = (file) => file, journals }: MissingBaselineOptions = {},
): string | undefined {
  const file = baselineFile(gate);
  if (file === undefined || baseline !== undefined) return undefined;
  const how = howToAccept(gate, defined({ pathOf, journals }));
  return `there is no baseline ${file} yet: ${journals === undefined ? "" : "make it with "}${how}`;
}

/** Returns how to accept a run as the baseline of its gate; `undefined` if that is no file. */
export function howToAccept(
  gate: GatePolicy | undefined,
  { pathOf = (file) => file, journals }: MissingBaselineOptions = {},
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

/** How {@linkcode comparableBaseline} tells what to do about a baseline that cannot be used. */
interface ComparableOptions {
  /** Whether a sequential gate decides, which looks at whole rounds over all cases. */
  readonly sequential?: boolean;
  /** The gate, whose baseline may name a variant. */
  readonly gate?: GatePolicy | undefined;
  /** How to accept a run as the new baseline, if that is known. */
  readonly accept?: string | undefined;
  /** See {@linkcode ComparedCases.all}. */
  readonly all?: boolean;
}

/**
 * Returns a baseline that results of `plan` may be compared with, and which cases both have in common. Generated
 * graphs and questions must be the same as a whole.
 *
 * @throws {InputError} If they may not be compared; the message names the fields that differ.
 */
export function comparableBaseline(
  baseline: Baseline,
  plan: Pick<Plan, "suite" | "resolved"> | undefined,
  planned: readonly PlannedTrial[],
  options: ComparableOptions = {},
): Baseline {
  const { file } = baseline;
  assertVariant(baseline, options.gate);
  const { same } = unitNames(planned.map(({ task }) => task));
  if (plan !== undefined && baseline.plan !== undefined) {
    if (comparisonHash(plan) === baseline.plan.comparisonHash) return baseline;
    const byCase = comparedCases(plan.resolved, baseline.plan.resolved);
    // Plans of journals also have models and strategies, which may differ.
    const shared = ({ resolved }: { readonly resolved: Partial<ResolvedSuite> }) => {
      const {
        models: _,
        strategies: __,
        judge: ___,
        parts: ____,
        variants: _____,
        tests,
        ...others
      } = resolved;
      const rest = { ...others, ...defined({ tests: comparedSettings(tests) }) };
      if (byCase === undefined) return { resolved: rest };
      const { cells: ______, cases: _______, tests: own, ...setting } = rest;
      // Of a suite in several files the baseline has the tests of all of them.
      const compared = Object.entries(own ?? {}).filter(([name]) => !isOnlyThere(byCase, name));
      return {
        resolved: {
          ...setting,
          ...(compared.length === 0 ? {} : { tests: Object.fromEntries(compared) }),
        },
      };
    };
    const [here, there] = [shared(plan), shared(baseline.plan)];
    const show = (value: unknown) => printable(canonicalJson(value) ?? "absent", 60);
    const fields = differences(here, there).map((name) =>
      `${byCase === undefined ? name : ownName(name)} (${
        show(Reflect.get(there.resolved, name))
      } there, ` +
      `${show(Reflect.get(here.resolved, name))} here)`
    );
    if (byCase !== undefined && fields.length === 0) {
      return withCases(baseline, plan.suite, byCase, options);
    }
    throw cannot(
      `compare with ${file}`,
      `both must be of the same ${same}`,
      `they differ in ${fields.join(", ") || "their hash"}`,
    );
  }
  // Without a plan on either side, the graphs themselves must be the same.
  const trialKey = ({ task, repetition }: ScoredTrial | PlannedTrial) =>
    canonicalJson([task, repetition]);
  const [one, other] = [new Set(planned.map(trialKey)), new Set(baseline.trials.map(trialKey))];
  const different = one.symmetricDifference(other).size;
  if (different === 0) return baseline;
  throw cannot(
    `compare with ${file}`,
    `both must be of the same ${same}`,
    `${different} of ${one.union(other).size} are only in one of them`,
  );
}

/** Refuses a gate that names a variant which its baseline does not have. */
function assertVariant({ file, trials }: Baseline, gate: GatePolicy | undefined): void {
  const baseline = gate !== undefined && isUpgrade(gate) ? gate.baseline : undefined;
  if (typeof baseline !== "object" || baseline.variant === undefined) return;
  const { variant } = baseline;
  const known = [...new Set(trials.flatMap((trial) => trial.variant ?? []))];
  if (known.includes(variant)) return;
  throw cannot(
    `compare with ${file}`,
    "gate.baseline.variant must be one of its variants",
    `it is ${printable(variant, 100)}` +
      (known.length === 0
        ? ", and there are none"
        : `, and there are ${printable(known.join(", "), 200)}${didYouMean(variant, known)}`),
  );
}

/** Whether a case is in one of two plans alone, or another one in each. */
function isOnlyThere({ changed, added, removed }: ComparedCases, name: string): boolean {
  return [changed, added, removed].some((names) => names.includes(name));
}

/** What of a plan tells its cases. */
type CasesOfPlan = Pick<Partial<ResolvedSuite>, "cells" | "cases" | "parts">;

/** Compares the cases of two plans; `undefined` unless both are of the user's own cases alone. */
function comparedCases(here: CasesOfPlan, there: CasesOfPlan): ComparedCases | undefined {
  const isOwn = ({ cells = [], cases }: CasesOfPlan) =>
    cases !== undefined && cells.every((cell) => "case" in cell && Object.hasOwn(cases, cell.case));
  if (!isOwn(here) || !isOwn(there)) return undefined;
  const [own, other] = [here.cases!, there.cases!];
  const partOf = ({ parts = {} }: CasesOfPlan, name: string) =>
    Object.hasOwn(parts, name) ? parts[name]!.case : undefined;
  let isWhole = false;
  const isChanged = (name: string) => {
    if (own[name] === other[name]) return false;
    const [now, before] = [partOf(here, name), partOf(there, name)];
    if (now !== undefined && before !== undefined) return now !== before;
    // Its system text or its tools may be all that changed.
    return isWhole = true;
  };
  const both = Object.keys(own).filter((name) => Object.hasOwn(other, name));
  const changed = both.filter(isChanged);
  return {
    planned: Object.keys(own).length,
    changed,
    added: Object.keys(own).filter((name) => !Object.hasOwn(other, name)),
    removed: Object.keys(other).filter((name) => !Object.hasOwn(own, name)),
    ...(isWhole ? { whole: true as const } : {}),
  };
}

function withCases(
  baseline: Baseline,
  suite: string,
  cases: ComparedCases,
  { sequential, accept, all }: ComparableOptions,
): Baseline {
  const { file, plan } = baseline;
  const { planned, changed, added, removed } = cases;
  if (added.length === planned && plan?.suite !== suite) {
    throw cannot(
      `compare with ${file}`,
      `it must be of ${printable(suite, 100)}, or have some of its cases`,
      `it is of ${printable(plan!.suite, 100)}, and has ${
        listText(removed.map((name) => printable(name, 60)), MAX_NAMED)
      }`,
    );
  }
  if (sequential && changed.length + added.length + removed.length > 0) {
    throw cannot(
      `compare with ${file}`,
      "a sequential gate looks at whole rounds over the same cases",
      `${
        leftOutLines(cases).join("; ")
      }. Leave out sequential, or move ${file} away, run, and accept that`,
    );
  }
  const told = { ...defined({ accept }), ...(all ? { all: true as const } : {}) };
  return { ...baseline, cases: { ...cases, ...told } };
}

/** At most this many cases are named. */
const MAX_NAMED = 10;

/** The parts of the cases of a run and of its baseline, which may be of the same run. */
export function comparedParts(
  plan: Pick<Plan, "resolved"> | undefined,
  baseline: Baseline | undefined,
): { readonly own: PartsOfVariant; readonly baseline: PartsOfVariant } | undefined {
  const there = baseline === undefined ? plan : baseline.plan;
  if (plan === undefined || there === undefined) return undefined;
  return { own: partsOf(plan.resolved), baseline: partsOf(there.resolved) };
}

/** The parts of the cases of a plan, under each variant of its settings. */
function partsOf(
  { parts, variants = {} }: Pick<Partial<ResolvedSuite>, "parts" | "variants">,
): PartsOfVariant {
  return (variant) => {
    const own = variant === undefined || !Object.hasOwn(variants, variant)
      ? undefined
      : variants[variant]!.parts;
    if (parts === undefined || own === undefined) return parts;
    return Object.fromEntries(
      Object.entries(parts).map(([name, part]) =>
        [name, Object.hasOwn(own, name) ? { case: part.case, ...own[name]! } : part] as const
      ),
    );
  };
}
