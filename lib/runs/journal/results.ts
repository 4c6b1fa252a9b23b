/**
 * Results: the trials of one or more journals, merged and checked.
 * @module
 */

import { BrokenJournalError, tornNotice } from "./lines.ts";
import { type BegunJournal, type JournalFile, PLAN_RULE, readJournalFile } from "./journal.ts";
import { type PlanLine, trialsOfLine } from "./plan_line.ts";
import type { Release } from "../../base/clone.ts";
import { listText } from "../../base/json.ts";
import { sum } from "../../base/numbers.ts";
import type { CompletePolicy } from "../../gate/policy.ts";
import type { Prices } from "../../models/prices.ts";
import type { SequentialRule } from "../../gate/sequential.ts";
import { blocksOfWave, type WavesSoFar } from "../../gate/waves.ts";
import { Spending } from "../../models/prices.ts";
import { assignShards } from "../_assign_shards.ts";
import {
  brokenProblem,
  missingInWaves,
  missingShards,
  mixedProblem,
  type Part,
  partKey,
} from "./_one_run.ts";
import { joinedPlan } from "./_test_files.ts";
import { partText } from "../shard_text.ts";
import { planHash } from "../resolved_suite.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";

/** The trials of one or more journals that belong together. */
export interface Results {
  /** The files they were read from. */
  readonly paths: readonly string[];
  /** The names of the suites. */
  readonly suite: string;
  /** The planned trials. */
  readonly planned: readonly PlannedTrial[];
  /** Summaries of the finished trials, in plan order; {@linkcode journalTrials} has the whole ones. */
  readonly trials: readonly TrialSummary[];
  /** The plan's gate, the rule of a sequential one, and prices. */
  readonly gate?: CompletePolicy | undefined;
  readonly rule?: SequentialRule | undefined;
  readonly prices?: Prices | undefined;
  /** Why the run ended early, such as a budget; `undefined` if it did not. */
  readonly stopped?: string | undefined;
  readonly plan: PlanLine;
  /** Messages for the user, such as dropped torn lines. */
  readonly notices: readonly string[];
  /** Why no verdict is possible; `undefined` if one is. */
  readonly problem?: string | undefined;
  /** Which shards are missing; of a run in waves, whose gate may have decided before, this is no `problem`. */
  readonly missing?: string | undefined;
  /** Which journal lacks its end. */
  readonly cut?: string | undefined;
  /** How often its journals were resumed, together. */
  readonly resumed: number;
  /** What ran them, once each, also where that changed with a resumption. */
  readonly releases: readonly Release[];
  /** Which journals have no checksums; omitted if all have. */
  readonly unchecked?: string | undefined;
  /** How far the waves of the run have come; omitted where it is not run in waves, or there is a problem. */
  readonly waves?: WavesSoFar;
}

/**
 * Reads journals and merges them. Missing or duplicate shards, shards of another plan and unplanned trials
 * are returned as `problem`, which makes a gate over them invalid.
 *
 * @param journals The journals, where they were read already.
 * @throws {InputError} If a file cannot be read, a line is malformed, or all files are empty.
 */
export function readResults(
  paths: readonly string[],
  journals: readonly JournalFile[] = paths.map((path) => readJournalFile(path)),
): Results {
  const notices = journals.flatMap(({ path, end }) =>
    end.tornBytes === 0 ? [] : [tornNotice(path, end.tornBytes)]
  );
  const files = journals.filter((file): file is BegunJournal => file.plan !== undefined);
  const [first] = files;
  if (first === undefined) {
    const rule = `Cannot use ${paths.join(", ")} as ${PLAN_RULE}`;
    throw new BrokenJournalError(`${rule}: there is none, as its run died before it`);
  }
  const empty = journals.flatMap(({ path, plan }) =>
    plan === undefined ? [`${path} is empty: its run died before its first line`] : []
  );
  const unchecked = uncheckedText(journals);
  notices.push(...empty, ...unchecked === undefined ? [] : [unchecked]);
  const suite = [...new Set(files.map(({ plan }) => plan.suite))].join(", ");
  const resumed = sum(files, (file) => file.resumed);
  const made = files.flatMap((file) => file.releases);
  const releases = [...new Map(made.map((one) => [`${one.version} ${one.commit}`, one])).values()];
  const mixed = mixedProblem(files);
  const parts = mixed === undefined ? partsOf(files) : [];
  const plan = parts.length > 1 ? joinedPlan(parts.map((part) => part.plan)) : first.plan;
  const planned = parts.length === 1 ? parts[0]!.planned : trialsOfLine(plan);
  const inWaves = first.plan.wave !== undefined;
  const broken = mixed ?? brokenProblem(files, parts, planned);
  const { gate, rule } = plan;
  // Where decisions end early in waves, no shard runs what they no longer need.
  const short = broken === undefined && !inWaves ? parts.flatMap(shortShards) : [];
  // A trial that failed may have been cut off. A sequential gate passes by no fewer trials.
  const mayBeCut = rule === undefined && files.some(({ trials }) => trials.length > 0);
  const cutShard = mayBeCut ? short.find(({ file }) => file.last?.kind !== "end") : undefined;
  const cut = cutShard && shortNotice(cutShard);
  const missing = missingShards(parts);
  const problem = broken ?? (inWaves ? undefined : missing ?? cut ?? empty[0]);
  const waves = inWaves && problem === undefined ? wavesSoFar(parts[0]!) : undefined;
  if (files.length > 1 || first.plan.shard.of > 1) notices.push(...short.map(shortNotice));
  const trials = files.flatMap((file) => file.trials);
  const reasons = short.map(({ file }) => file.last?.reason);
  return {
    paths,
    suite,
    planned: planned ?? [],
    trials: (parts.length > 1 ? reindexed(trials, planned ?? []) : trials)
      .toSorted((one, other) => one.index - other.index),
    gate,
    rule,
    prices: plan.prices,
    // Trials may be missing only if the journal says why.
    stopped: problem === undefined && !reasons.includes(undefined) ? reasons[0] : undefined,
    plan,
    notices,
    problem,
    missing,
    cut,
    waves,
    ...{ resumed, releases, unchecked },
  };
}

/** Returns what keeps results from being shown: any problem but that a part of the run is missing. */
export function faultOf(
  { problem, missing, cut }: Pick<Results, "problem" | "missing" | "cut">,
): string | undefined {
  return problem === missing || problem === cut ? undefined : problem;
}

/** Says that journals without checksums may have been changed. */
function uncheckedText(journals: readonly JournalFile[]): string | undefined {
  const paths = journals.filter(({ end }) => end.sum === undefined).map(({ path }) => path);
  return paths.length === 0
    ? undefined
    : `without checksums, so that lines may have been changed or left out: ${
      listText(paths, MAX_NAMED)
    }`;
}

function partsOf(files: readonly BegunJournal[]): Part[] {
  return [...Map.groupBy(files, ({ plan }) => planHash(plan)).values()].map((own) => {
    const { plan } = own[0]!;
    const planned = trialsOfLine(plan);
    const shards = assignShards({ ...plan, trials: planned ?? [] }, plan.shard.of);
    return { files: own, plan, planned, shards, waves: assignWaves(plan, planned ?? []) };
  });
}

/** The wave of each trial, from 1, in plan order. */
function assignWaves(
  { wave, resolved }: PlanLine,
  planned: readonly PlannedTrial[],
): Uint32Array {
  const waves = new Uint32Array(planned.length).fill(1);
  if (wave === undefined) return waves;
  let index = 1;
  for (const [place, { block }] of planned.entries()) {
    while (index < wave.of && block >= blocksOfWave({ ...wave, index }, resolved.graphs).end) {
      index++;
    }
    waves[place] = index;
  }
  return waves;
}

/** The trials with their places in the plan of all parts. */
function reindexed(
  trials: readonly TrialSummary[],
  planned: readonly PlannedTrial[],
): TrialSummary[] {
  const places = new Map(planned.map(({ id, index }) => [id, index]));
  return trials.map((trial) => ({ ...trial, index: places.get(trial.id) ?? trial.index }));
}

/** A journal with missing trials. */
type ShortShard = ReturnType<typeof shortShards>[number];

function shortShards({ files, shards, waves }: Part) {
  const planned = new Map<string, number>();
  for (const [place, index] of shards.entries()) {
    const key = partKey({ shard: { index, of: 0 }, wave: { index: waves[place]!, of: 0 } });
    planned.set(key, (planned.get(key) ?? 0) + 1);
  }
  return files.flatMap((file) => {
    const count = planned.get(partKey(file.plan)) ?? 0;
    const lacking = count - file.trials.length;
    return lacking > 0 ? [{ file, lacking, planned: count }] : [];
  });
}

function shortNotice({ file: { path, plan, last }, lacking, planned }: ShortShard): string {
  const { shard, wave } = plan;
  const which = shard.of === 1 && wave === undefined ? path : `${partText(shard, wave)} (${path})`;
  return `${which} lacks ${lacking} of its ${planned} trials: ` +
    (last?.reason ?? "its run was cut short, or goes on; it can be continued with --resume");
}

/** At most this many other missing shards are named beside one. */
const MAX_NAMED = 5;

/** How far the waves of a plan have come, whose journals have no problem but that some may be missing or short. */
function wavesSoFar(part: Part): WavesSoFar {
  const { files, plan, shards, waves } = part;
  const { of } = plan.wave!;
  const last = { index: Math.max(...files.map(({ plan }) => plan.wave!.index)), of };
  const byPart = new Map(files.map((file) => [partKey(file.plan), file]));
  const short = new Map(shortShards(part).map((one) => [one.file, one]));
  const { budget = {}, prices } = files.find(({ plan }) => plan.wave!.index === last.index)!.plan;
  const spentBefore = (wave: number) => {
    const spending = new Spending(budget, prices);
    for (const { plan, trials } of files) {
      if (plan.wave!.index < wave) { for (const trial of trials) spending.add(trial); }
    }
    spending.share(plan.shard.of);
    return spending.reached;
  };
  // A journal that goes on after its share was spent had a greater budget than its header has.
  const areEnded = files.every((file) =>
    file.plan.wave!.index < last.index || file.last?.reason !== undefined
  );
  const spent = last.index < of && areEnded ? spentBefore(last.index + 1) : undefined;
  return {
    last,
    blocks: blocksOfWave(last, plan.resolved.graphs).end,
    spent,
    whyMissing({ index }) {
      const shard = { index: shards[index]!, of: plan.shard.of };
      const wave = { index: waves[index]!, of };
      const file = byPart.get(partKey({ shard, wave }));
      if (file === undefined) {
        const text = partText(shard, wave);
        const flags = shard.of === 1 ? "" : `--shard ${shard.index}/${shard.of} `;
        const others = missingInWaves(part, of).filter((other) => other !== text);
        return {
          reason:
            `${text} is missing: put its journal into the folder or, if it was not run or is lost, run it ` +
            `with ${flags}--wave ${wave.index}/${of} and an --out of its own in the same folder` +
            (others.length === 0 ? "" : `; so is ${listText(others, MAX_NAMED)}`),
          ended: false,
        };
      }
      const ended = file.last?.reason;
      if (ended !== undefined) return { reason: ended, ended: true };
      return { reason: shortNotice(short.get(file)!), ended: false };
    },
  };
}
