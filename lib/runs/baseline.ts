/**
 * Baselines: accepted results that later ones are compared with, read from a small committed file or from a
 * journal.
 * @module
 */

import { z } from "zod";
import { FAILURE_TYPES, type FailureType } from "../calls/failure_types.ts";
import { assertNotNewer, assertShallow, parseWith, readText } from "../base/input.ts";
import { commandLine } from "../base/command_line.ts";
import { cannot, InputError } from "../base/errors.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { canonicalJson, defined, isJsonObject, parseJson, printable } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import { byVariant, type ScoredTrial, variantOf } from "../gate/variant.ts";
import { type BaselineTrials, decideTrials, servedModelChange } from "../gate/decide_trials.ts";
import {
  comparisonHash,
  countTrials,
  listTrials,
  MAX_TRIALS,
  type Plan,
  type ResolvedSuite,
} from "./plan.ts";
import { type GatePolicy, isUpgrade } from "../gate/policy.ts";
import { differences, readResults, type Results } from "./journal/results.ts";
import { type Outcome, OUTCOMES } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { changesTask } from "../trials/executors/tasks.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { unitNames } from "../gate/unit_names.ts";

/** The ending of one trial: its outcome and the types of its failures; `null` if it was not run. */
type TrialEnding = Outcome | readonly [Outcome, ...FailureType[]] | null;

/** The file that `toolgate accept` writes. */
export interface BaselineFile {
  /** Version 1 has `run` in place of `keys`. */
  readonly v: 1 | 2;
  readonly kind: "baseline";
  /** The suite's name. */
  readonly suite: string;
  /** See {@linkcode planHash}. */
  readonly planHash: string;
  /** See {@linkcode comparisonHash}. */
  readonly comparisonHash: string;
  /** A hash of the rest of the file, which reveals accidental edits. */
  readonly checksum: string;
  /** The version of the generator. */
  readonly generator: number;
  /** The seed of all tasks. */
  readonly seed: number;
  /** All that determines the trials, except models and strategies. */
  readonly resolved: Omit<ResolvedSuite, "models" | "strategies">;
  /** The accepted results, one entry per model, strategy and perturbation. */
  readonly subjects: readonly {
    readonly model: ScoredTrial["model"];
    readonly strategy: string;
    readonly perturbation: string;
    /** Identifies the run, in version 1: see {@linkcode runKey}. */
    readonly run?: string;
    /** The {@linkcode trialKey} of each trial, with commas between; empty for one that was not run. */
    readonly keys?: string;
    /** The {@linkcode drawKey} of each, in the same way; omitted if none was recorded or replayed. */
    readonly draws?: string;
    /** In plan order, up to the last trial that was run. */
    readonly trials: readonly TrialEnding[];
    /** What of the trials was not valid at the first go, by their places; omitted if all were. */
    readonly later?: Readonly<Record<string, LaterGo>>;
  }[];
}

/** Why a trial was not valid at the first go: see {@linkcode TrialSummary}. */
interface LaterGo {
  readonly replaced?: true;
  readonly unclear?: TrialSummary["unclear"];
}

const LATER_GO = z.strictObject({
  replaced: z.literal(true).exactOptional(),
  unclear: z.array(z.strictObject({ status: z.int().exactOptional(), message: z.string() }))
    .exactOptional(),
});

const outcome = z.enum(OUTCOMES);

const BASELINE_FILE = z.strictObject({
  v: z.union([z.literal(1), z.literal(2)]),
  kind: z.literal("baseline"),
  suite: z.string(),
  planHash: z.string(),
  comparisonHash: z.string(),
  checksum: z.string(),
  generator: z.int(),
  seed: z.int().min(0),
  resolved: z.looseObject({ graphs: z.int().min(1), cells: z.array(z.looseObject({})) }),
  subjects: z.array(z.strictObject({
    model: z.strictObject({ requested: z.string(), served: z.string(), simulated: z.boolean() }),
    strategy: z.string(),
    perturbation: z.string(),
    run: z.string().exactOptional(),
    keys: z.string().exactOptional(),
    draws: z.string().exactOptional(),
    trials: z.array(z.union([outcome, z.tuple([outcome], z.enum(FAILURE_TYPES)), z.null()])),
    later: z.record(z.string(), LATER_GO).exactOptional(),
  })).min(1, "must not be empty"),
}).check(({ value, issues }) => {
  const name = value.v === 1 ? "run" : "keys";
  for (const [index, subject] of value.subjects.entries()) {
    if (subject[name] !== undefined) continue;
    const path = ["subjects", index, name];
    issues.push({ code: "custom", message: "must be a text", path, input: subject });
  }
}) as unknown as z.ZodType<BaselineFile>;

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
  if (file === undefined) return undefined;
  try {
    Deno.statSync(pathOf(file));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
  }
  return readBaseline(pathOf(file));
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
  const shown = (path: string) => shellQuote(pathOf(path));
  const accepted = (journals ?? ["results.jsonl"]).map(shown).join(" ");
  const how = journals === undefined
    ? "keep the trials with --out=results.jsonl, then"
    : "make it with";
  return `there is no baseline ${file} yet: ${how} ` +
    commandLine(`accept ${accepted} --out ${shown(file)}`);
}

function baselineFile(gate: GatePolicy | undefined): string | undefined {
  if (gate === undefined || !isUpgrade(gate)) return undefined;
  return typeof gate.baseline === "string" ? undefined : gate.baseline.file;
}

/** A key that tells apart the runs of one trial, by when it began; empty where other tools do not say. */
function trialKey({ id, startedAt }: TrialSummary): string {
  return startedAt === "" ? "" : sha256(canonicalJson([id, startedAt])).slice(0, KEY_LENGTH);
}

/** A key that tells the replies of a trial from any others, however often they are replayed; empty if unknown. */
function drawKey({ draw }: TrialSummary): string {
  return draw === undefined ? "" : sha256(canonicalJson(["draw", draw])).slice(0, KEY_LENGTH);
}

/** Characters of a key: two trials of one place in a plan share one by chance in 2 ** 64 cases. */
const KEY_LENGTH = 16;

function trialKeys(trials: readonly TrialSummary[]): Set<string> {
  return new Set(trials.flatMap((one) => [trialKey(one), drawKey(one)]).filter(Boolean));
}

/** The key of the runs of a variant in baselines of version 1, which have none of trials. */
function runKey(trials: readonly TrialSummary[]): string {
  return sha256(
    canonicalJson(trials.map(({ id, startedAt, outcome }) => [id, startedAt, outcome])),
  );
}

function runKeys(trials: readonly TrialSummary[]): Set<string> {
  const ordered = trials.toSorted((one, other) => one.id < other.id ? -1 : 1);
  return new Set(byVariant(ordered, variantOf).map(({ items }) => runKey(items)));
}

/**
 * Refuses to compare trials with themselves or their replays: any gate would pass over these, and be nearer to
 * it for each one. A baseline of version 1 is compared as a whole, as it does not tell its trials apart.
 *
 * @throws {InputError} If one of them or more are the baseline's own.
 */
export function assertOtherRun(baseline: Baseline, trials: readonly TrialSummary[]): void {
  const { file, keys } = baseline;
  // Other tools may omit start times, without which runs cannot be told apart.
  const dated = trials.filter(({ startedAt }) => startedAt !== "");
  const shared = dated.filter((trial) => keys.has(trialKey(trial)));
  const drawn = trials.filter((trial) => keys.has(drawKey(trial)));
  if (drawn.length > shared.length) {
    throw cannot(
      `compare with ${file}`,
      "the candidate must be another run",
      `${drawn.length} of its ${trials.length} trials have recorded replies of the baseline, such as ${
        printable(drawn[0]!.id, 300)
      }; ask its model anew with --record`,
    );
  }
  if (dated.length === 0) return;
  const isWhole = shared.length === dated.length || !runKeys(trials).isDisjointFrom(keys);
  if (shared.length === 0 && !isWhole) return;
  throw cannot(
    `compare with ${file}`,
    "the candidate must be another run",
    isWhole
      ? "these are the trials of the baseline itself"
      : `${shared.length} of its ${trials.length} trials are the baseline's own, such as ${
        printable(shared[0]!.id, 300)
      }`,
  );
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
    ...{ models: [{ model: "" }], strategies: [""], perturbations: [""] },
  });
  if (size > MAX_TRIALS) {
    throw cannot(
      `compare with ${path}`,
      `a model has at most ${MAX_TRIALS} trials`,
      `it has ${size}`,
    );
  }
  return file.subjects.flatMap(({ model, strategy, perturbation, trials, later = {} }) => {
    const planned = plannedTrials(resolved, { model: model.requested, strategy, perturbation });
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
        ...{ model, strategy, perturbation, task, repetition, outcome, solved, failures },
        ...defined({ unclear, replaced: replaced && { inputTokens: 0, outputTokens: 0 } }),
      };
      return [changesTask(task, perturbation) ? trial : { ...trial, changed: false }];
    });
  });
}

/** The trials of one variant, in plan order. */
function plannedTrials(
  resolved: BaselineFile["resolved"],
  { model, strategy, perturbation }: { model: string; strategy: string; perturbation: string },
): PlannedTrial[] {
  return listTrials({
    ...resolved,
    models: [{ model }],
    strategies: [strategy],
    perturbations: [perturbation],
  });
}

function checksumOf(content: Omit<BaselineFile, "checksum">): string {
  return sha256(canonicalJson(content));
}

function resolvedHash(resolved: BaselineFile["resolved"]): string {
  return comparisonHash({ resolved: { ...resolved, models: [], strategies: [] } });
}

/**
 * Returns the baseline file for accepted results.
 *
 * @throws {InputError} If they cannot be a baseline; the message names them by `source`.
 */
export function acceptResults(results: Results, source: string): BaselineFile {
  const { plan, trials, problem } = results;
  const fault = problem ?? (plan === undefined ? "their first line must be a plan" : undefined) ??
    rejectionReason(results);
  if (plan === undefined || fault !== undefined) {
    throw new InputError(`Cannot accept ${source}: ${fault}`);
  }
  const { models: _, strategies: __, ...resolved } = plan.resolved;
  const { suite, planHash, comparisonHash, generator, seed } = plan;
  const subjects = byVariant(trials, variantOf).map(({ subject, items }) => {
    const { strategy, perturbation } = subject;
    const fault = servedModelChange(items, "the served model");
    if (fault !== undefined) throw new InputError(`Cannot accept ${source}: ${fault}`);
    const finished = new Map(items.map((trial) => [trial.id, trial]));
    const planned = plannedTrials(resolved, subject);
    const ended = planned.map(({ id }): TrialEnding => {
      const trial = finished.get(id);
      if (trial === undefined) return null;
      const types = FAILURE_TYPES.filter((type) =>
        trial.failures.some((failure) => failure.type === type)
      );
      return types.length === 0 ? trial.outcome : [trial.outcome, ...types];
    });
    const size = ended.findLastIndex((one) => one !== null) + 1;
    const served = items.find(({ outcome }) => outcome !== "invalid")?.model ?? items[0]!.model;
    const { requested, simulated } = served;
    const keysBy = (keyOf: (trial: TrialSummary) => string) =>
      planned.slice(0, size).map(({ id }) => {
        const trial = finished.get(id);
        return trial === undefined ? "" : keyOf(trial);
      }).join(",");
    return {
      model: { requested, served: served.served, simulated },
      strategy,
      perturbation,
      keys: keysBy(trialKey),
      ...(items.some(({ draw }) => draw !== undefined) ? { draws: keysBy(drawKey) } : {}),
      trials: ended.slice(0, size),
      ...laterGoes(planned.map(({ id }) => finished.get(id))),
    };
  });
  const content = {
    ...{ v: 2, kind: "baseline", suite, planHash, comparisonHash, generator, seed } as const,
    resolved,
    subjects,
  };
  return { ...content, checksum: checksumOf(content) };
}

/** The trials that were not valid at the first go, by their places: a gate counts these for both sides. */
function laterGoes(
  trials: readonly (TrialSummary | undefined)[],
): Pick<BaselineFile["subjects"][number], "later"> {
  const later = trials.flatMap((trial, place): [string, LaterGo][] => {
    const { replaced, replacedIdle, unclear } = trial ?? {};
    const isReplaced = replaced !== undefined && !replacedIdle;
    if (!isReplaced && unclear === undefined) return [];
    return [[`${place}`, {
      ...(isReplaced ? { replaced: true as const } : {}),
      ...defined({ unclear }),
    }]];
  });
  return later.length === 0 ? {} : { later: Object.fromEntries(later) };
}

/** Why results must not replace a baseline; `undefined` if they may. */
function rejectionReason({ trials, planned, gate, rule, stopped }: Results): string | undefined {
  if (trials.length === 0) return "there are no trials";
  const missing = planned.length - trials.length;
  const variants = rule === undefined || missing === 0
    ? []
    : decideTrials(trials, planned, gate!, { rule });
  const decided = variants.length > 0 &&
    variants.every(({ verdict }) => verdict.kind !== "invalid");
  if (missing > 0 && stopped === undefined && !decided) {
    return `${missing} of ${planned.length} trials were not run; continue the run with --resume`;
  }
  const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
  if (invalid > (1 - ACCEPTED_COVERAGE) * trials.length) {
    return `${invalid} of ${trials.length} trials are invalid; run them again with --retry-invalid`;
  }
}

/** The default of gates. */
const ACCEPTED_COVERAGE = 0.95;

/** The text of a baseline file: one trial a line, so that a review shows which changed. */
export function baselineText(file: BaselineFile): string {
  const { subjects, ...head } = file;
  const entries = subjects.map(({ trials, ...subject }) => {
    const lines = trials.map((ended) => `      ${JSON.stringify(ended)}`).join(",\n");
    const fields = JSON.stringify(subject).slice(1, -1);
    return `    {\n      ${fields},\n      "trials": [\n${lines}\n      ]\n    }`;
  });
  const fields = Object.entries(head)
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},\n`).join("");
  return `{\n${fields}  "subjects": [\n${entries.join(",\n")}\n  ]\n}\n`;
}

/**
 * Checks that results of `plan` may be compared with a baseline.
 *
 * @throws {InputError} If not; the message names the fields that differ.
 */
export function assertComparable(
  baseline: Baseline,
  plan: Pick<Plan, "suite" | "resolved"> | undefined,
  planned: readonly PlannedTrial[],
): void {
  const { file } = baseline;
  const { same } = unitNames(planned.map(({ task }) => task));
  if (plan !== undefined && baseline.plan !== undefined) {
    if (comparisonHash(plan) === baseline.plan.comparisonHash) return;
    // Plans of journals also have models and strategies, which may differ.
    const shared = ({ resolved }: { readonly resolved: Partial<ResolvedSuite> }) => {
      const { models: _, strategies: __, ...rest } = resolved;
      return { resolved: rest };
    };
    const [here, there] = [shared(plan), shared(baseline.plan)];
    const show = (value: unknown) => printable(canonicalJson(value) ?? "absent", 60);
    const fields = differences(here, there).map((name) =>
      `${name} (${show(Reflect.get(there.resolved, name))} there, ` +
      `${show(Reflect.get(here.resolved, name))} here)`
    );
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
  if (different === 0) return;
  throw cannot(
    `compare with ${file}`,
    `both must be of the same ${same}`,
    `${different} of ${one.union(other).size} are only in one of them`,
  );
}
