/**
 * Training data: conversations from journals, verified by running their calls again, with their origin
 * (Pipeline, "Constructing Tool Call Datasets": execution-verified).
 * @module
 */

import {
  canonicalJson,
  defined,
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { tornNotice } from "../../runs/journal/lines.ts";
import type { PlanLine } from "../../runs/journal/plan_line.ts";
import { planHash, type ResolvedSuite } from "../../runs/resolved_suite.ts";
import { readJournalFile, wholeTrial } from "../../runs/journal/journal.ts";
import { LookAhead } from "../../runs/prefetch.ts";
import { modelName } from "../../models/entry.ts";
import { isGenerated, isProbe, isQuestion } from "../../tasks/task_kind.ts";
import type { QuestionSource } from "../../runs/question_tasks.ts";
import { recoveryOf } from "../../calls/recovery.ts";
import { strategyChoice, strategyName } from "../../trials/strategies/entry.ts";
import { GENERATOR_VERSION } from "../../tasks/graphs/task.ts";
import { callsOf, MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";
import type { Message } from "../../tools/message.ts";
import type { TrainingConversation, TrainingFormat } from "./registry.ts";
import type { Trial } from "../../trials/trial.ts";
import { runLoop } from "../../trials/agent/loop.ts";
import { attempt } from "../../base/errors.ts";
import type { ModelRequest } from "../../models/model.ts";
import { scripted } from "../../models/scripted.ts";
import { withStrategy } from "../../trials/strategies/registry.ts";
import { openTask } from "../../trials/executors/tasks.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { differenceBetween } from "../../trials/derive.ts";
import { playTrial, type TrialOptions } from "../../trials/run_trial.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A conversation for training, with its origin. */
export interface TrainingExample extends TrainingConversation {
  /** Its origin; see {@linkcode metadataOf}. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The reasons why a trial cannot be reconstructed, with descriptions. */
export const RECONSTRUCTION_FAILURES = {
  invalid: "it got no usable reply",
  limit: "a limit ended it, so that no answer ends the conversation",
  no_answer: "its answer is empty",
  own_task: "its task is a custom case, which is not available",
  no_set: "its call set is not available: name it with --set",
  unknown_task: "its task cannot be generated again",
  unknown_strategy: "its strategy is unknown",
  no_replies: "the journal keeps no replies of it, as with custom agents",
  cut: "it has a text longer than a journal keeps",
  unkept: "the journal does not keep the whole conversation",
  malformed: "it has a call whose arguments are not a JSON object",
  no_tools: "its model was offered no functions",
  differs: "run again, it does not end as its journal line says",
} as const;

/** A reason why a trial cannot be reconstructed. */
export type ReconstructionFailure = keyof typeof RECONSTRUCTION_FAILURES;

/** The reasons why a trial gives no conversation, with descriptions. */
export const SKIPPED = {
  ...RECONSTRUCTION_FAILURES,
  unsolved: "it was not solved, or no call had returned its answer",
  changed_set: "its call set has changed since its questions were asked",
} as const;

/** A reason why a trial gives no conversation. */
export type SkipReason = keyof typeof SKIPPED;

/**
 * Returns the conversation of a trial, verified by running its calls again, or the reason why there is none.
 */
export async function trainingExample(
  trial: Trial,
  { plan, sets }: Pick<TrainingOptions, "sets"> & { readonly plan: PlanOrigin },
): Promise<TrainingExample | { readonly skipped: SkipReason }> {
  const { task, strategy: name, model } = trial;
  let open: ReconstructOptions["open"];
  if (isQuestion(task)) {
    const set = sets?.sets.get(task.set)?.set;
    const { sets: planned = {} } = plan.resolved;
    if (set !== undefined) open = sets!.open;
    if (set !== undefined && Object.hasOwn(planned, task.set) && planned[task.set] !== set.hash) {
      return { skipped: "changed_set" };
    }
  } else if (plan.resolved.generator !== GENERATOR_VERSION) {
    return { skipped: "unknown_task" };
  }
  const { strategies, models, limits, references } = plan.resolved;
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
  readonly resolved: ResolvedSuite;
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
export function metadataOf(trial: Trial, plan: PlanOrigin): Record<string, string> {
  const { id, suite, model, strategy, perturbation, variant, task, outcome, grounded } = trial;
  const recovered = trial.solved ? recoveredTroubles(trial) : [];
  const all = {
    trial: id,
    suite,
    plan: plan.hash,
    generator: `${plan.resolved.generator}`,
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
    if (line === undefined) continue;
    const plan = originOf(line);
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

/** The conversation of a trial. */
export interface Reconstruction {
  /** All messages of the model's last request, and its answer. */
  readonly messages: readonly Message[];
  /** The functions as the model saw them. */
  readonly tools: readonly ToolSchema[];
}

/** Settings that determine how a trial went, but are not in its line. */
export type ReconstructOptions = Pick<TrialOptions, "strategy" | "limits" | "references" | "open">;

/**
 * Returns the conversation of a trial exactly as it was, except for the ids of calls, which journals do not
 * keep. If a strategy makes requests outside the loop, it is the conversation of the loop.
 *
 * Every call is run again, and the reconstruction succeeds only if all results, the answer and the outcome
 * match the trial's line; otherwise the reason is returned. Reasoning that a provider does not reveal is in no
 * journal, so not in a reconstruction either.
 */
export async function reconstructTrial(
  trial: Trial,
  options: ReconstructOptions = {},
): Promise<Reconstruction | { readonly failure: ReconstructionFailure }> {
  const failure = obstacle(trial, options);
  if (failure !== undefined) return { failure };
  const found = repliesIn(trial.events);
  if ("failure" in found) return found;
  const { replies } = found;
  const { open = openTask, limits: { observation, parallel, depth } = {}, ...others } = options;
  let [requestCount, last, isOpen] = [0, undefined as ModelRequest | undefined, false];
  const replayer = scripted(trial.model.requested, (request) => {
    const reply = replies[requestCount++];
    if (reply === undefined) throw new Error("There is no further reply");
    last = request;
    return { ...reply, usage: { inputTokens: 0, outputTokens: 0 } };
  });
  let rerun: Trial;
  try {
    rerun = await playTrial({ ...trial, model: trial.model.requested }, replayer, {
      ...others,
      // The trial has passed its limits already: only those that shape the conversation matter.
      limits: {
        calls: Infinity,
        ...defined({ observation, parallel, depth }),
      },
      open: (spec, given) => {
        const fixture = open(spec, given);
        isOpen = true;
        return fixture;
      },
    });
  } catch (error) {
    // Before the task is open, the error means that the line describes no valid task.
    if (isOpen) throw error;
    return { failure: "unknown_task" };
  }
  const isSame = trial.outcome === rerun.outcome && requestCount === replies.length &&
    differenceBetween(trial, rerun) === undefined;
  if (last === undefined || !isSame) return { failure: "differs" };
  if (last.tools.length === 0) return { failure: "no_tools" };
  const { text } = replies.at(-1)!;
  return {
    messages: [...renumbered(last.messages), { role: "assistant", content: text, calls: [] }],
    tools: last.tools,
  };
}

/** The messages with calls numbered consecutively, not counting requests outside the loop. */
function renumbered(messages: readonly Message[]): Message[] {
  const ids = new Map<string, string>();
  const newId = (id: string) => getOrInsertComputed(ids, id, () => `call_${ids.size + 1}`);
  return messages.map((message): Message =>
    message.role === "tool"
      ? { ...message, callId: newId(message.callId) }
      : message.role === "assistant"
      ? { ...message, calls: message.calls.map((call) => ({ ...call, id: newId(call.id) })) }
      : message
  );
}

/** Why a trial cannot be reconstructed, as far as this shows without running it. */
function obstacle(
  { outcome, task, strategy: name }: Trial,
  { open, strategy = { strategy: name } }: ReconstructOptions,
): ReconstructionFailure | undefined {
  if (outcome === "invalid") return "invalid";
  if (outcome.endsWith("_limit")) return "limit";
  if (isQuestion(task) && open === undefined) return "no_set";
  if (!isGenerated(task) && !isProbe(task) && !isQuestion(task)) return "own_task";
  const { strategy: id, ...settings } = strategy;
  const isKnown = attempt(() => withStrategy(id, runLoop, settings)) !== undefined;
  return isKnown ? undefined : "unknown_strategy";
}

/** A reply as recorded in a journal. */
interface RecordedReply {
  readonly text: string;
  readonly stage?: string;
  readonly calls: { readonly name: string; readonly arguments: string }[];
}

/** The replies of a trial with their calls, in order; or why they are incomplete. */
function repliesIn(
  events: readonly TraceEvent[],
): { readonly replies: readonly RecordedReply[] } | { readonly failure: ReconstructionFailure } {
  const replies: (RecordedReply & { readonly count: number })[] = [];
  let current: RecordedReply | undefined;
  for (const event of events) {
    if (event.kind === "reply") {
      const { text, stage, calls: count } = event;
      if (text.length >= MAX_KEPT_LENGTH) return { failure: "cut" };
      const reply = { text, count, calls: [], ...defined({ stage }) };
      replies.push(reply);
      // Calls in replies outside the loop are not carried out.
      if (stage === undefined) current = reply;
    } else if (event.kind === "call" && event.held === undefined) {
      const { function: name, arguments: argumentText } = event;
      if (current === undefined) return { failure: "no_replies" };
      if (Math.max(name.length, argumentText.length) >= MAX_KEPT_LENGTH) return { failure: "cut" };
      if (!isJsonObject(parseJson(argumentText))) return { failure: "malformed" };
      current.calls.push({ name, arguments: argumentText });
    }
  }
  const last = replies.at(-1);
  if (last === undefined) return { failure: "no_replies" };
  if (last.stage !== undefined || replies.some(({ count, calls }) => count !== calls.length)) {
    return { failure: "unkept" };
  }
  return last.text.trim() === "" ? { failure: "no_answer" } : { replies };
}
