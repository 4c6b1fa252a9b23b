/**
 * Training data: the conversations of journals, proved by running their calls once more, with where each comes
 * from (Pipeline, "Constructing Tool Call Datasets": execution-verified).
 * @module
 */

import { canonicalJson, type JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { tornNotice } from "../../runs/journal/jsonl.ts";
import { readJournalFile, wholeTrial } from "../../runs/journal/journal.ts";
import { LookAhead } from "../../runs/prefetch.ts";
import { type ModelEntry, modelName } from "../../models/entry.ts";
import { isQuestion } from "../../trials/executors/task_kind.ts";
import type { QuestionSource } from "../../runs/question_tasks.ts";
import { recoveryOf } from "../../calls/recovery.ts";
import {
  RECONSTRUCTION_FAILURES,
  type ReconstructionFailure,
  type ReconstructOptions,
  reconstructTrial,
} from "./reconstruct.ts";
import type { Limits } from "../../trials/agent/session.ts";
import { strategyChoice, type StrategyEntry, strategyName } from "../../trials/strategies/entry.ts";
import { GENERATOR_VERSION } from "../../tasks/generated/task.ts";
import { callsOf } from "../../calls/trace.ts";
import type { Message } from "../../tools/message.ts";
import type { TrainingConversation, TrainingFormat } from "./format.ts";
import type { Trial } from "../../trials/trial.ts";
import type { TrialSummary } from "../../trials/summary.ts";

/** A conversation to learn from, and where it comes from. */
export interface TrainingExample extends TrainingConversation {
  /** Where it comes from, in texts; see {@linkcode metadataOf}. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Why a trial gives no conversation, and that in words. */
export const SKIPPED = {
  ...RECONSTRUCTION_FAILURES,
  unsolved: "it was not solved, or no call had returned its answer",
  changed_set: "its call set is not what it was when its questions were asked",
} as const;

/** Why a trial gives no conversation. */
export type SkipReason = keyof typeof SKIPPED;

/** What is known of a trial beside its line. */
export interface TrialOrigin {
  /** The plan of its journal; left out where that has none. */
  readonly plan?: PlanOrigin | undefined;
  /** The call sets that are at hand; left out without any. */
  readonly sets?: Pick<QuestionSource, "sets" | "open"> | undefined;
}

/**
 * The conversation of a trial, proved by running its calls once more, or why it gives none.
 *
 * @example Usage
 * ```ts
 * import { trainingExample } from "./examples.ts";
 * import { runTrial } from "../../trials/trial.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const task = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 };
 * const trial = await runTrial(task, scripted("shrug", () => ({ text: "I cannot tell." })));
 *
 * const example = await trainingExample(trial);
 * assert("messages" in example);
 * assertEquals(example.messages.at(-1)?.content, "I cannot tell.");
 * assertEquals(example.metadata["outcome"], "no_answer");
 * ```
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
  } else if ((plan?.generator ?? GENERATOR_VERSION) !== GENERATOR_VERSION) {
    return { skipped: "unknown_task" };
  }
  const { strategies = [], models = [], limits, references } = plan?.resolved ?? {};
  const strategy = strategies.find((entry) => strategyName(entry) === name);
  const entry = models.find((entry) => modelName(entry) === model.requested);
  const told = await reconstructTrial(trial, {
    ...(strategy === undefined ? {} : { strategy: strategyChoice(strategy) }),
    ...(limits === undefined ? {} : { limits }),
    ...(references === undefined ? {} : { references }),
    ...(open === undefined ? {} : { open }),
  });
  if ("untold" in told) return { skipped: told.untold satisfies ReconstructionFailure };
  return {
    ...told,
    parallel: entry?.parallelToolCalls ?? true,
    mistaken: mistakenReplies(told.messages, trial),
    metadata: metadataOf(trial, plan),
  };
}

/** The places of replies with a call that failed by the model's own doing, not by a fault. */
function mistakenReplies(messages: readonly Message[], { events }: Trial): ReadonlySet<number> {
  const calls = callsOf(events).values();
  return new Set(messages.flatMap((message, place) => {
    const made = message.role === "assistant" ? message.calls.map(() => calls.next().value) : [];
    return made.some((call) => call?.failure !== undefined) ? [place] : [];
  }));
}

/** What is said of the plan that a trial is of. */
export interface PlanOrigin {
  /** The hash of all that decides its trials. */
  readonly planHash: string;
  /** The version of the generator of its tasks. */
  readonly generator: number;
  /** What decides how its trials go; left out where that is only what is usual. */
  readonly resolved?: PlannedSettings;
}

/** What a plan says of how its trials go. */
export interface PlannedSettings {
  /** Its strategies, with what is set of them. */
  readonly strategies: readonly (string | StrategyEntry)[];
  /** Its models, with their options. */
  readonly models: readonly ModelEntry[];
  /** What each trial may take. */
  readonly limits: Limits;
  /** `true` where arguments may refer to what other calls return; left out where not. */
  readonly references?: true;
  /** The hashes of its call sets, by name; left out without any. */
  readonly sets?: Readonly<Record<string, string>>;
}

/** No text of the metadata is longer: what OpenAI takes as metadata of its own. */
const LONGEST_VALUE = 512;

/**
 * Where a conversation comes from, each as a text of at most 512 UTF-16 code units: `trial` (its id), `suite`,
 * `plan` (the hash of its plan), `generator` (the version), `task` (as JSON), `model` as it was asked for,
 * `served` as it said to be, `api`, `simulated` (`true` for programs that stand in for models), `strategy`,
 * `perturbation`, `outcome` and `grounded`. What is not known is left out.
 *
 * `recovery` marks traces of error recovery: trials that were solved although something went wrong. It lists
 * what that was: the faults that were put in the way of calls and got over, the types of calls that failed,
 * and `error` for what tools themselves had to say.
 */
export function metadataOf(
  trial: Trial,
  plan?: PlanOrigin,
): Record<string, string> {
  const { id, suite, model, strategy, perturbation, task, outcome, grounded } = trial;
  const recovered = trial.solved ? troublesOf(trial) : [];
  const all = {
    trial: id,
    suite,
    plan: plan?.planHash,
    generator: `${plan?.generator ?? GENERATOR_VERSION}`,
    task: JSON.stringify(task),
    model: model.requested,
    served: model.served,
    api: model.api,
    simulated: `${model.simulated}`,
    strategy,
    perturbation,
    outcome,
    grounded: `${grounded}`,
    recovery: recovered.length === 0 ? undefined : recovered.join(","),
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([key, value]) =>
      value === undefined || value === "" ? [] : [[key, cut(value)]]
    ),
  );
}

/** What went wrong on the way, each kind once. */
function troublesOf({ events }: Trial): string[] {
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

function cut(text: string): string {
  return text.slice(0, LONGEST_VALUE).toWellFormed();
}

/** What came of the trials of journals. */
export interface TrainingTally {
  /** How many there were. */
  readonly trials: number;
  /** How many conversations were written. */
  readonly written: number;
  /** How many of these are marked as recovered from something. */
  readonly recovered: number;
  /** How many of these are of simulated models: programs, which no model should be trained on. */
  readonly simulated: number;
  /** How many had a conversation that had been written before. */
  readonly same: number;
  /** How many gave none, by the reason in words, the most frequent first. */
  readonly skipped: ReadonlyMap<string, number>;
  /** What a person should know, such as dropped torn lines. */
  readonly notices: readonly string[];
}

/** What is taken from journals, and how. */
export interface TrainingOptions {
  /** How conversations are written. */
  readonly format: TrainingFormat;
  /** Whether only trials count that were solved, and whose answer a call had returned; default false. */
  readonly onlySolved?: boolean;
  /** The call sets that are at hand; left out without any. */
  readonly sets?: Pick<QuestionSource, "sets" | "open"> | undefined;
}

/** So many trials are run again at a time: most of it is computing, some is waiting. */
const CONCURRENCY = 16;

/**
 * Hands every conversation of journals to `take`, as its line and where it comes from: in the order of the
 * journals and, within each, of its plan. Conversations that are the same in functions and messages come once.
 *
 * @throws {InputError} If a journal cannot be read, or a line of it is malformed.
 */
export async function writeTrainingData(
  journals: readonly string[],
  options: TrainingOptions,
  take: (line: JsonObject, metadata: Readonly<Record<string, string>>) => void,
): Promise<TrainingTally> {
  const { format, onlySolved = false, sets } = options;
  const files = journals.map(readJournalFile);
  const seen = new Set<string>();
  const skipped = new Map<string, number>();
  let [trials, recovered, simulated, same] = [0, 0, 0, 0];
  const skip = (reason: string) => skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  for (const { path, plan, trials: scores, places } of files) {
    const order = scores.toSorted((one, other) => one.index - other.index);
    const wanted = order.filter((score) => !onlySolved || isVerified(score));
    for (let left = order.length - wanted.length; left > 0; left--) skip(SKIPPED.unsolved);
    trials += order.length;
    const examples = new LookAhead(
      wanted.length,
      (place) => trainingExample(wholeTrial(path, places.get(wanted[place]!.id)!), { plan, sets }),
      { concurrency: CONCURRENCY },
    );
    for (const place of wanted.keys()) {
      const example = await examples.get(place);
      examples.forget(place);
      const reason = "skipped" in example ? SKIPPED[example.skipped] : format.refuse(example);
      if ("skipped" in example || reason !== undefined) {
        skip(reason!);
        continue;
      }
      const { messages, tools } = example;
      const hash = sha256(canonicalJson({ messages, tools }));
      if (seen.has(hash)) {
        same++;
        continue;
      }
      seen.add(hash);
      if (Object.hasOwn(example.metadata, "recovery")) recovered++;
      if (example.metadata["simulated"] === "true") simulated++;
      take(format.write(example), example.metadata);
    }
  }
  return {
    ...{ trials, written: seen.size, recovered, simulated, same },
    skipped: new Map([...skipped].sort(([, one], [, other]) => other - one)),
    notices: files.flatMap(({ path, end }) =>
      end.tornBytes === 0 ? [] : [tornNotice(path, end.tornBytes)]
    ),
  };
}

/** An answer that is right and that a call had returned: not one that was guessed. */
function isVerified({ solved, grounded }: TrialSummary): boolean {
  return solved && grounded;
}
