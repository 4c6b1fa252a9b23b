/**
 * Problems of journals: why they are not the whole, untouched run of one plan, so that no gate decides over them.
 * @module
 */

import { firstClash } from "../../base/clash.ts";
import { commandLine } from "../../base/command_line.ts";
import { canonicalJson, listText, printable } from "../../base/json.ts";
import { graphKey } from "../../gate/variant.ts";
import { planHash } from "../resolved_suite.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";
import { MAX_TRIALS } from "../plan.ts";
import { partText } from "../shard_text.ts";
import type { BegunJournal } from "./journal.ts";
import type { PlanLine } from "./plan_line.ts";
import {
  changedSources,
  differences,
  differencesOf,
  ownName,
  serverText,
} from "./_plan_differences.ts";
import { commonOf, sharedTest, sourcesFromHere, testsOf } from "./_test_files.ts";
import { getOrInsert } from "../../base/get_or_insert.ts";

/** The journals of one plan: those of one test file, if a suite has several. */
export interface Part {
  readonly files: readonly BegunJournal[];
  readonly plan: PlanLine;
  /** Its trials; `undefined` if they cannot be listed. */
  readonly planned: readonly PlannedTrial[] | undefined;
  /** The shard of each trial, in plan order. */
  readonly shards: Uint32Array;
  /** The wave of each trial, in plan order, from 1; all in wave 1 where the run has none. */
  readonly waves: Uint32Array;
}

/** Returns a key of the part of a plan that a journal has: its wave and its shard. */
export function partKey({ wave, shard }: Pick<PlanLine, "wave" | "shard">): string {
  return `${wave?.index ?? 1} ${shard.index}`;
}

/** At most this many missing shards, or files of different code, are listed. */
const MAX_NAMED = 20;

/**
 * The worst problem of journals that belong together, but for missing shards.
 *
 * @param planned The trials of all parts; `undefined` if there are too many.
 */
export function brokenProblem(
  files: readonly BegunJournal[],
  parts: readonly Part[],
  planned: readonly PlannedTrial[] | undefined,
): string | undefined {
  const first = (problemOf: (part: Part) => string | undefined) =>
    parts.map(problemOf).find((problem) => problem !== undefined);
  return first(planProblem) ??
    (planned === undefined ? `together they have more than ${MAX_TRIALS} trials` : undefined) ??
    first(shardProblem) ?? doubledProblem(files) ?? first(foreignProblem) ??
    first(refusedProblem) ?? first(misplacedProblem) ?? first(ruleProblem);
}

function planProblem({ files, planned }: Part): string | undefined {
  if (planned !== undefined) return undefined;
  return `the trials of the plan of ${
    files[0]!.path
  } cannot be listed: it was changed, or made by another version`;
}

/** A verdict over the rest of a suite would claim more than was asked. */
function refusedProblem({ files, plan: { leftOut = {} } }: Part): string | undefined {
  const { refused = [] } = leftOut;
  if (refused.length === 0) return undefined;
  return `tests of the suite of ${files[0]!.path} could not be used, and are not in it: ${
    listText(refused.map((name) => printable(name, 100)), MAX_NAMED)
  }`;
}

/** A run in waves is decided by the looks of its rule. */
function ruleProblem({ plan: { rule, wave } }: Part): string | undefined {
  return wave === undefined || rule !== undefined
    ? undefined
    : "only a sequential gate is run in waves: the plan declares none";
}

/** Why journals are not of one run, as their plans or settings differ. */
export function mixedProblem(files: readonly BegunJournal[]): string | undefined {
  const [first, ...others] = files;
  const suites = new Map<string, string>();
  for (const { path, plan, trials } of files) {
    for (const { suite } of [plan, ...trials]) if (!suites.has(suite)) suites.set(suite, path);
  }
  if (suites.size > 1) {
    const names = [...suites].slice(0, 5).map(([name, path]) =>
      `${printable(name, 60)} in ${path}`
    );
    const areApart = new Set(suites.values()).size > 1;
    return `trials of several suites are mixed: ${names.join(", ")}` +
      (areApart ? "; put those of each into a folder of its own" : "");
  }
  const byHash = new Map([[planHash(first!.plan), first!]]);
  for (const other of others) {
    // Of several test files each is compared with its own shards, and by what a suite has in common.
    const like = getOrInsert(byHash, planHash(other.plan), other);
    const one = like === other ? first! : like;
    const unlike = unlikePlans(one, other) ?? unlikeSettings(one, other);
    if (unlike !== undefined) return unlike;
    const changed = changedSources(like.plan.sources, other.plan.sources);
    if (changed.length > 0) return differentCode(one, other, changed);
  }
  return sharedTest(files) ?? sharedCode(files);
}

/** What keeps journals of different plans from being those of the test files of one suite. */
function unlikePlans(one: BegunJournal, other: BegunJournal): string | undefined {
  const [plan, next] = [one.plan, other.plan];
  if (planHash(plan) === planHash(next)) return undefined;
  const all = differences(plan, next);
  const areFiles = all.includes("cells") && [plan, next].every((one) => testsOf(one) !== undefined);
  if (areFiles && [plan, next].some(({ rule }) => rule !== undefined)) {
    return `${one.path} and ${other.path} are of two test files, each with a sequential gate of its own: ` +
      "decide over each file by itself, or run both without sequential";
  }
  const fields = areFiles ? differencesOf(commonOf(plan), commonOf(next)).map(ownName) : all;
  if (areFiles && fields.length === 0) return undefined;
  return `${one.path} and ${other.path} are of different plans: they differ in ` +
    (fields.join(", ") || "their hashes") +
    (fields.includes("seed") ? "; all shards of a run take the same --seed" : "") +
    (fields.join() === "models"
      ? "; to decide whether a new model is worse than an old one: " +
        commandLine("gate NEW.jsonl --baseline OLD.jsonl --margin 0.05")
      : "");
}

/** What else two journals of a run must declare alike. */
function unlikeSettings(one: BegunJournal, other: BegunJournal): string | undefined {
  for (
    const [field, what] of [
      ["gate", "gates"],
      ["rule", "gates"],
      ["prices", "prices"],
      ["records", "baselines to write"],
    ] as const
  ) {
    if (canonicalJson(one.plan[field]) === canonicalJson(other.plan[field])) continue;
    return `${one.path} and ${other.path} declare different ${what}`;
  }
  const [server, next] = [one, other].map(({ plan }) => serverText(plan));
  if (server === next) return undefined;
  return `${one.path} and ${other.path} asked different servers: ${server} and ${next}`;
}

/** Says that test files were run with different versions of what both import. */
function sharedCode(files: readonly BegunJournal[]): string | undefined {
  const sources = files.flatMap((file) =>
    Object.entries(sourcesFromHere(file.plan)).map(([path, hash]) => ({ file, path, hash }))
  );
  const [one, other] = firstClash(sources, ({ path }) => path, ({ hash }) => hash) ?? [];
  return one && differentCode(one.file, other!.file, [printable(one.path, 200)]);
}

function differentCode(one: BegunJournal, other: BegunJournal, paths: readonly string[]): string {
  return `${one.path} and ${other.path} are of different code: ${listText(paths, MAX_NAMED)}`;
}

function shardProblem({ files }: Part): string | undefined {
  const first = files[0]!;
  const seen = new Map<string, string>();
  for (const { path, plan } of files) {
    const { shard, wave } = plan;
    const { shard: others, wave: otherWaves } = first.plan;
    if (shard.of !== others.of || wave?.of !== otherWaves?.of) {
      const what = shard.of === others.of ? "waves" : "shards";
      return `the journals are not ${what} of one run: ${first.path} is ${
        partText(others, otherWaves)
      }, ${path} is ${partText(shard, wave)}`;
    }
    if (wave !== undefined && wave.of > plan.resolved.graphs) {
      return `${path} is of one of ${wave.of} waves, and its plan has ${plan.resolved.graphs} blocks`;
    }
    const key = partKey(plan);
    const before = seen.get(key);
    if (before !== undefined) {
      const where = before === path
        ? `${path} is given twice`
        : `in ${before} and in ${path}, and a folder has one run`;
      return `${partText(shard, wave)} is there twice: ${where}`;
    }
    seen.set(key, path);
  }
}

/** Names the shards that are missing: of a run in waves those up to the last wave that has begun, if they have trials. */
export function missingShards(parts: readonly Part[]): string | undefined {
  const missing = parts.flatMap((part) => {
    const { files, plan } = part;
    if (plan.wave !== undefined) return missingInWaves(part, plan.wave.of);
    const { of } = plan.shard;
    const present = new Set(files.map(({ plan }) => plan.shard.index));
    const beside = parts.length === 1 ? "" : ` beside ${files[0]!.path}`;
    return Array.from({ length: of }, (_, place) => place + 1)
      .filter((index) => !present.has(index)).map((index) => `${index}/${of}${beside}`);
  });
  return missing.length === 0 ? undefined : `shards are missing: ${listText(missing, MAX_NAMED)}`;
}

/** The missing shards of waves, up to the last one that has begun. */
export function missingInWaves(
  { files, plan: { shard }, shards, waves }: Part,
  of: number,
): string[] {
  const last = Math.max(...files.map(({ plan }) => plan.wave?.index ?? 0));
  const present = new Set(files.map(({ plan }) => partKey(plan)));
  const planned = new Map<string, string>();
  for (const [place, index] of waves.entries()) {
    if (index > last) break;
    const own = { shard: { index: shards[place]!, of: shard.of }, wave: { index, of } };
    planned.set(partKey(own), partText(own.shard, own.wave));
  }
  return [...planned].filter(([key]) => !present.has(key)).map(([, text]) => text);
}

/**
 * Why trials, or the replies that they replay, are there twice: shards that replay in processes of their own may take the
 * same recording for different trials.
 */
export function doubledProblem(files: readonly BegunJournal[]): string | undefined {
  const again = files.find(({ doubled }) => doubled !== undefined);
  if (again !== undefined) return `trial ${printable(again.doubled!)} is in ${again.path} twice`;
  const trials = files.flatMap(({ path, trials }) =>
    trials.map(({ id, draw }) => ({ id, draw, path }))
  );
  const [one, other] = firstClash(trials, ({ id }) => id) ?? [];
  if (one !== undefined) {
    return `trial ${printable(one.id)} is both in ${one.path} and in ${other!.path}`;
  }
  const drawn = firstClash(trials.filter(({ draw }) => draw !== undefined), ({ draw }) => draw);
  if (drawn === undefined) return undefined;
  const [first, second] = drawn.map(({ id }) => printable(id));
  return `trials ${first} and ${second} have the same recorded replies`;
}

function foreignProblem({ files, planned = [] }: Part): string | undefined {
  for (const { path, trials } of files) {
    const foreign = foreignTrial(trials, planned);
    if (foreign !== undefined) {
      return `${path} has a trial that its plan does not have: ${printable(foreign)}`;
    }
  }
}

/** Even if no trial is missing, one may be in the journal of another shard. */
function misplacedProblem({ files, shards, waves }: Part): string | undefined {
  for (const { path, plan, trials } of files) {
    const { shard: { index, of }, wave } = plan;
    const misplaced = trials.find((trial) =>
      shards[trial.index] !== index || waves[trial.index] !== (wave?.index ?? 1)
    );
    if (misplaced === undefined) continue;
    const place = misplaced.index;
    return `${path} is ${partText({ index, of }, wave)} and has a trial of ${
      partText({ index: shards[place]!, of }, wave && { ...wave, index: waves[place]! })
    }: ${printable(misplaced.id)}`;
  }
}

/** The id of a trial that is not planned, or whose fields do not match its id. */
export function foreignTrial(
  trials: readonly TrialSummary[],
  planned: readonly PlannedTrial[],
): string | undefined {
  const known = new Map(planned.map((trial) => [trial.id, placeText(trial, trial.model)]));
  return trials.find((trial) => known.get(trial.id) !== placeText(trial, trial.model.requested))
    ?.id;
}

/** A trial and its place in the plan, as gates look in plan order. */
function placeText(
  { task, strategy, perturbation, variant, repetition, index, block }: Omit<PlannedTrial, "model">,
  model: string,
) {
  const others = [model, strategy, perturbation, variant, repetition, index, block];
  return JSON.stringify(others) + graphKey(task);
}
