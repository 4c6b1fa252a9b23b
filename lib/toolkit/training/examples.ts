/**
 * Training data: conversations from journals, verified by running their calls again, with their origin
 * (Pipeline, "Constructing Tool Call Datasets": execution-verified).
 * @module
 */

import { canonicalJson, type JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { tornNotice } from "../../runs/journal/lines.ts";
import type { PlanLine } from "../../runs/journal/plan_line.ts";
import { planHash, type ResolvedSuite } from "../../runs/resolved_suite.ts";
import { readJournalFile, wholeTrial } from "../../runs/journal/journal.ts";
import { LookAhead } from "../../runs/prefetch.ts";
import { modelName } from "../../models/entry.ts";
import { isQuestion } from "../../tasks/task_kind.ts";
import type { QuestionSource } from "../../runs/question_tasks.ts";
import { recoveryOf } from "../../calls/recovery.ts";
import {
  RECONSTRUCTION_FAILURES,
  type ReconstructionFailure,
  type ReconstructOptions,
  reconstructTrial,
} from "./_reconstruct.ts";
import { strategyChoice, strategyName } from "../../trials/strategies/entry.ts";
import { GENERATOR_VERSION } from "../../tasks/graphs/task.ts";
import { callsOf } from "../../calls/trace.ts";
import type { Message } from "../../tools/message.ts";
import type { TrainingConversation, TrainingFormat } from "./registry.ts";
import type { Trial } from "../../trials/trial.ts";

/** A conversation for training, with its origin. */
export interface TrainingExample extends TrainingConversation {
  /** Its origin; see {@linkcode metadataOf}. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The reasons why a trial gives no conversation, with descriptions. */
export const SKIPPED = {
  ...RECONSTRUCTION_FAILURES,
  unsolved: "it was not solved, or no call had returned its answer",
  changed_set: "its call set has changed since its questions were asked",
} as const;

/** A reason why a trial gives no conversation. */
export type SkipReason = keyof typeof SKIPPED;

/** The origin of a trial. */
export interface TrialOrigin extends Pick<TrainingOptions, "sets"> {
  /** The plan of its journal; omitted if it has none. */
  readonly plan?: PlanOrigin | undefined;
}

/**
 * Returns the conversation of a trial, verified by running its calls again, or the reason why there is none.
 */
export async function trainingExample(
  trial: Trial,
  { plan, sets }: TrialOrigin = {},
): Promise<TrainingExample | { readonly skipped: SkipReason }> {
  const { task, strategy: name, model } = trial;
  let open: ReconstructOptions["open"];
  if (isQuestion(task)) {
    const set = sets?.sets.get(task.set)?.set;
    const { sets: planned = {} } = plan?.resolved ?? {};
    if (set !== undefined) open = sets!.open;
    if (set !== undefined && Object.hasOwn(planned, task.set) && planned[task.set] !== set.hash) {
      return { skipped: "changed_set" };
    }
  } else if ((plan?.resolved.generator ?? GENERATOR_VERSION) !== GENERATOR_VERSION) {
    return { skipped: "unknown_task" };
  }
  const { strategies = [], models = [], limits, references } = plan?.resolved ?? {};
  const strategy = strategies.find((entry) => strategyName(entry) === name);
  const entry = models.find((entry) => modelName(entry) === model.requested);
  const result = await reconstructTrial(trial, {
    strategy: strategy === undefined ? undefined : strategyChoice(strategy),
    limits,
    references,
    open,
  });
  if ("failure" in result) return { skipped: result.failure satisfies ReconstructionFailure };
  return {
    ...result,
    parallel: entry?.parallelToolCalls ?? true,
    mistaken: mistakenReplies(result.messages, trial),
    metadata: metadataOf(trial, plan),
  };
}

/** The indexes of replies with a call that failed because of the model, not of a fault. */
function mistakenReplies(messages: readonly Message[], { events }: Trial): ReadonlySet<number> {
  const calls = callsOf(events).values();
  return new Set(messages.flatMap((message, place) => {
    const own = message.role === "assistant" ? message.calls.map(() => calls.next().value) : [];
    return own.some((call) => call?.failure !== undefined) ? [place] : [];
  }));
}

/** The plan that a trial belongs to. */
export interface PlanOrigin {
  /** The hash of all settings that determine its trials. */
  readonly hash: string;
  /** The settings of its trials, and the version of the generator of its tasks. */
  readonly resolved:
    & Pick<ResolvedSuite, "generator">
    & Partial<Pick<ResolvedSuite, "strategies" | "models" | "limits" | "references" | "sets">>;
}

/** Returns the fields of a journal's plan that go with a conversation. */
export function originOf(line: PlanLine): PlanOrigin {
  return { hash: planHash(line), resolved: line.resolved };
}

/** The longest metadata value, as in OpenAI's API. */
const MAX_VALUE_LENGTH = 512;

/**
 * The origin of a conversation, in texts of at most 512 UTF-16 code units: `trial` (its id), `suite`, `plan`
 * (the hash of its plan), `generator` (the version), `task` (as JSON), `model` as requested, `served` as
 * named in replies, `api`, `simulated` (`true` for programs in place of models), `strategy`, `perturbation`,
 * `variant` (the name of its settings), `outcome` and `grounded`. Unknown values are omitted.
 *
 * `recovery` marks traces of error recovery: trials that were solved although something went wrong. It lists
 * the injected faults that were recovered from, the failure types of calls, and `error` for errors that tools
 * returned themselves.
 */
export function metadataOf(
  trial: Trial,
  plan?: PlanOrigin,
): Record<string, string> {
  const { id, suite, model, strategy, perturbation, variant, task, outcome, grounded } = trial;
  const recovered = trial.solved ? recoveredTroubles(trial) : [];
  const all = {
    trial: id,
    suite,
    plan: plan?.hash,
    generator: `${plan?.resolved.generator ?? GENERATOR_VERSION}`,
    task: JSON.stringify(task),
    model: model.requested,
    served: model.served,
    api: model.api,
    simulated: `${model.simulated}`,
    strategy,
    perturbation,
    variant,
    outcome,
    grounded: `${grounded}`,
    recovery: recovered.length === 0 ? undefined : recovered.join(","),
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([key, value]) =>
      value === undefined || value === ""
        ? []
        : [[key, value.slice(0, MAX_VALUE_LENGTH).toWellFormed()]]
    ),
  );
}

/** The kinds of trouble that a solved trial recovered from, each once. */
function recoveredTroubles({ events }: Trial): string[] {
  const faults = recoveryOf(events).flatMap(({ end, fault }) => end === "recovered" ? [fault] : []);
  const failures = callsOf(events).flatMap(({ failure, error, fault }) =>
    failure !== undefined
      ? [failure.type]
      : error !== undefined && fault === undefined
      ? ["error"]
      : []
  );
  return [...new Set([...faults, ...failures])].sort();
}

/** The counts of an export of training data. */
export interface TrainingTally {
  /** How many trials there were. */
  readonly trials: number;
  /** How many conversations were written. */
  readonly written: number;
  /** How many of these are marked with `recovery`. */
  readonly recovered: number;
  /** How many of these come from simulated models: programs, on which no model should be trained. */
  readonly simulated: number;
  /** How many trials repeat a conversation already written. */
  readonly same: number;
  /** How many trials gave no conversation, by described reason, the most frequent first. */
  readonly skipped: ReadonlyMap<string, number>;
  /** Notices for the user, such as dropped torn lines. */
  readonly notices: readonly string[];
}

/** Options for `writeTrainingData()`. */
export interface TrainingOptions {
  /** The format of the conversations. */
  readonly format: TrainingFormat;
  /** Whether to skip trials that were not solved or whose answer no call had returned. Default: false. */
  readonly onlySolved?: boolean;
  /** The available call sets; omitted if there are none. */
  readonly sets?: Pick<QuestionSource, "sets" | "open"> | undefined;
  /** Whether journals may have no checksums, such as those of other tools. Default: false. */
  readonly unchecked?: boolean;
}

/** How many trials are run again at a time: most of the work is computing, some is waiting. */
const CONCURRENCY = 16;

/**
 * Passes every conversation of journals to `emit`, as a line with its metadata, in the order of the journals
 * and, within each, of its plan. Conversations with the same functions and messages are written once.
 *
 * @throws {InputError} If a journal cannot be read, or a line of it is malformed.
 */
export async function writeTrainingData(
  journals: readonly string[],
  options: TrainingOptions,
  emit: (line: JsonObject, metadata: Readonly<Record<string, string>>) => void,
): Promise<TrainingTally> {
  const { format, onlySolved = false, sets, unchecked } = options;
  const files = journals.map((path) => readJournalFile(path, { unchecked }));
  const hashes = new Set<string>();
  const skipped = new Map<string, number>();
  let [trials, recovered, simulated, same] = [0, 0, 0, 0];
  const skip = (reason: string) => skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  for (const { path, plan: line, trials: scores, places } of files) {
    const plan = line && originOf(line);
    const order = scores.toSorted((one, other) => one.index - other.index);
    const chosen = order.filter((score) => !onlySolved || (score.solved && score.grounded));
    for (let count = order.length - chosen.length; count > 0; count--) skip(SKIPPED.unsolved);
    trials += order.length;
    const examples = new LookAhead(
      chosen.length,
      (place) => trainingExample(wholeTrial(path, places.get(chosen[place]!.id)!), { plan, sets }),
      { concurrency: CONCURRENCY },
    );
    for (const place of chosen.keys()) {
      const example = await examples.get(place);
      examples.forget(place);
      const reason = "skipped" in example ? SKIPPED[example.skipped] : format.refuse(example);
      if ("skipped" in example || reason !== undefined) {
        skip(reason!);
        continue;
      }
      const { messages, tools } = example;
      const hash = sha256(canonicalJson({ messages, tools }));
      if (hashes.has(hash)) {
        same++;
        continue;
      }
      hashes.add(hash);
      if (Object.hasOwn(example.metadata, "recovery")) recovered++;
      if (example.metadata["simulated"] === "true") simulated++;
      emit(format.write(example), example.metadata);
    }
  }
  return {
    trials,
    written: hashes.size,
    recovered,
    simulated,
    same,
    skipped: new Map([...skipped].sort(([, one], [, other]) => other - one)),
    notices: files.flatMap(({ path, end }) =>
      end.tornBytes === 0 ? [] : [tornNotice(path, end.tornBytes)]
    ),
  };
}
