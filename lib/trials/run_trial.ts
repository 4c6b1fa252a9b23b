/**
 * Runs a trial: a model, or an agent of the user's own, works on one task until it ends.
 * @module
 */

import { converse, type Loop, runLoop } from "./agent/loop.ts";
import type { Fixture, Presented, Work } from "./executors/fixture.ts";
import { cannot, InputError, isErrorOf, reasonOf } from "../base/errors.ts";
import { defined, jsonText, printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import type { Judge } from "../models/judge/judge.ts";
import { currentRecording, withinRecording } from "../models/recordings/scope.ts";
import type { Message } from "../tools/message.ts";
import { InfrastructureError, type Model } from "../models/model.ts";
import { redact, redactRecordValue } from "../base/redact.ts";
import { type Limits, Session } from "./agent/session.ts";
import { type StrategyOptions, withStrategy } from "./strategies/registry.ts";
import type { Agent } from "./own_agent.ts";
import { agentLoop } from "./tap/_agent_loop.ts";
import { Tap } from "./tap/_tap.ts";
import { traceTrial } from "./_spans.ts";
import { NoAnswer, recordedLoop, type RecordedRun } from "./recorded_run.ts";
import { openTask, type TaskOpener } from "./executors/tasks.ts";
import { isCase, type TaskSpec } from "../tasks/task_kind.ts";
import { failuresOf, type StopEvent, withOwnCalls } from "../calls/trace.ts";
import { SERVED_SEPARATOR, type Trial } from "./trial.ts";
import { shownOf, transcriptOf, type Transcripts, withoutTexts } from "./transcript.ts";
import { type PlannedTrial, trialId } from "./trial_id.ts";
import { schemaOf } from "../tools/tool.ts";
import { placeOf, thrownText } from "../base/user_code.ts";
import { MisusedAssertion } from "../calls/assertion_text.ts";

/** A strategy by its id, such as `restate+plan_then_call`, with its options. */
export interface StrategyChoice extends StrategyOptions {
  /** The id of a strategy, or several joined by `+`, the outermost first. */
  readonly strategy: string;
}

/** Options of {@linkcode runTrial}. */
export interface TrialOptions {
  /** The name of the suite; default empty. */
  readonly suite?: string;
  /** The limits of the trial. */
  readonly limits?: Limits;
  /**
   * Whether arguments may refer to results of other calls of the same reply, such as `$1.field`; default
   * `false`.
   */
  readonly references?: boolean;
  /** Perturbation of what the model sees of a bare task, such as `RD`; default `none`. */
  readonly perturbation?: string;
  /** The strategy and its options; default: the id in the plan. */
  readonly strategy?: StrategyChoice;
  /** Models asked in place of the trial's, by stage of the strategy. */
  readonly stageModels?: ReadonlyMap<string, Model>;
  /** Works on the task instead of the agent loop; the strategy must be `plain`. */
  readonly agent?: Agent;
  /**
   * What was said and returned before, in place of the model and the tools, which are neither asked nor run: only for
   * cases, with the strategy `plain` and without a perturbation. Limits hold as for a model.
   */
  readonly recorded?: RecordedRun;
  /** Opens the task; default {@linkcode openTask}. */
  readonly open?: TaskOpener;
  /** Plays the user of a case, unless a function does. */
  readonly userModel?: Model | undefined;
  /** Judges how similar an answer and the truth are, for tasks whose answers can be compared. */
  readonly judge?: Pick<Judge, "name" | "simulated" | "score">;
  /** Whether the trial of a case keeps its transcript; default `all`. */
  readonly transcripts?: Transcripts;
  /** Aborts the trial, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** What is known of a trial by how it ended. */
type FoundFact = "reason" | "permanent" | "byWords" | "misjudged" | "judging";

/**
 * Runs one trial to its end. Any error on the way to the model makes it `invalid`. What an agent throws is
 * its own failure, with the outcome `agent_error`, unless it is an {@linkcode InfrastructureError} itself:
 * one that is only its cause is not looked for. So is anything but a text that it returns.
 *
 * @throws {InputError} If the strategy or perturbation is unknown, or does not apply to the task or a custom
 * agent.
 * @throws The reason of `options.signal`, if it aborts the trial.
 */
export async function runTrial(
  spec: TaskSpec | PlannedTrial,
  model: Model,
  options: TrialOptions = {},
): Promise<Trial> {
  const planned = "task" in spec ? spec : onlyTrial(spec, model.name, options.perturbation);
  const play = () => playTrial(planned, model, options);
  // What was recorded has had its spans where it was said.
  if (options.recorded !== undefined) return await play();
  const traced = () => traceTrial(planned, { model, suite: options.suite ?? "" }, play);
  return await withinRecording(currentRecording(), traced);
}

/**
 * Runs a trial without spans: one that is rebuilt from its line in a journal is no other.
 *
 * @param loop What the strategy wraps; default: the loop that asks the model.
 */
export async function playTrial(
  planned: PlannedTrial,
  model: Model,
  options: TrialOptions,
  loop: Loop = runLoop,
): Promise<Trial> {
  const { limits = {}, signal, stageModels, references = false } = options;
  const open: TaskOpener = options.open ?? openTask;
  const { strategy, ...settings } = options.strategy ?? { strategy: planned.strategy };
  const { agent, recorded } = options;
  if (recorded !== undefined) assertRecorded({ ...planned, strategy });
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const opening = {
    perturbation: planned.perturbation,
    variant: planned.variant,
    callLimit: limits.calls,
    longestResult: limits.observation,
    parallel: limits.parallel,
    depth: limits.depth,
    references,
    recorded,
  };
  using fixture = open.begin === undefined
    ? open(planned.task, opening)
    : await open.begin(planned.task, opening, { seconds: limits.seconds, signal });
  // However the trial ends, what was made for it goes.
  await using _made = { [Symbol.asyncDispose]: async () => void await fixture.release?.() };
  const context = { trial: planned.id, repetition: planned.repetition };
  const session = new Session({
    model,
    limits,
    context,
    toolChoice: fixture.toolChoice,
    names: fixture.tools.map(({ name }) => name),
    record: (event) => fixture.record(event),
    models: stageModels,
    signal,
  });

  const { system, tools, toolChoice: choice } = fixture;
  const of = options.userModel && jsonText([model.recorded, system, tools.map(schemaOf), choice]);
  const user = fixture.converse?.({
    model: options.userModel,
    context: { ...context, of },
    record: (event) => fixture.record(event),
    signal,
  });

  await using tap = agent && new Tap({ session, environment: fixture, model, references });
  const work = recorded !== undefined
    ? recordedLoop(recorded)
    : agent === undefined
    ? withStrategy(strategy, loop, settings)
    : agentLoop(agent, fixture, tap!, model.server?.model ?? model.name);

  const stop = (kind: StopEvent["reason"], message: string, at?: string) => {
    if (!fixture.ended) fixture.record({ kind: "stop", reason: kind, message, at });
    return { outcome: kind, grounded: false };
  };
  const found: { -readonly [Fact in FoundFact]?: Trial[Fact] } = {};
  const overLimit = () => stop("call_limit", "a call past the limit was made");
  const stopAgent = (why: string, at?: string) => {
    // An agent that fails on the error of a call past the limit has reached the limit.
    if (fixture.exhausted) return overLimit();
    found.reason = why;
    return stop("agent_error", why, at);
  };
  /** Whether the agent has answered, so that what is thrown now is not its own. */
  let hasAnswered = false;
  const { judge: asked } = options;
  const askJudge: Work["judge"] = asked && (async (predicted, truth) => {
    const judged = await asked.score(predicted, truth, {
      context: { ...context, request: 1, stage: "judge" },
      signal,
    });
    const { score, why, unfit, unavailable, permanent, usage, served } = judged;
    // A wrong key or name: what other trials cost would be lost.
    if (permanent !== undefined) throw new InfrastructureError(`${why}`, { permanent });
    const { name: requested, simulated } = asked;
    const names = served === "" ? [] : [served];
    found.judging = { model: { requested, served: names, simulated }, usage };
    return defined({
      score,
      why: why === undefined ? undefined : printable(redact(why), 500),
      unfit,
      unavailable,
      simulated: simulated || undefined,
    });
  });
  let userMs = 0;
  /** Awaits the user: what he takes, with his tools and retries, is no time of an agent. */
  const awaited = async <T>(work: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    return await work().finally(() => userMs += performance.now() - began);
  };
  const run = async () => {
    signal?.throwIfAborted();
    if (fixture.unready !== undefined) throw new InfrastructureError(fixture.unready);
    const turns = fixture.turns?.values();
    const prompt = await awaited(async () => await user?.open(fixture.prompt)) ?? fixture.prompt;
    const next = user !== undefined
      ? (text: string) => awaited(() => user.answer(text))
      : turns && (() => Promise.resolve(turns.next().value));
    const { ending, messages, turnsMs } = await converse(work, {
      session,
      environment: fixture,
      task: fixture,
      messages: firstMessages(fixture, prompt),
      shared: recorded !== undefined,
      next,
    });
    // Whatever came of it, nobody can say what the model would have done with tools that work.
    if (fixture.broken !== undefined) throw fixture.broken;
    if (ending.kind !== "answer") return stop(ending.kind, ending.message);
    const { text, rendered, unrepaired } = ending;
    const { usage, elapsed: durationMs } = session;
    hasAnswered = true;
    const check = await fixture.answer(text, rendered, {
      ...{ messages, usage, durationMs },
      turnsMs,
      unrepaired,
      signal,
      judge: askJudge,
      conversation: user,
    });
    if (check.outcome !== "turn_limit") return check;
    const said = countText(user!.told.messages, "message");
    return stop("turn_limit", `the user had more to say after ${said} (limits.turns)`);
  };
  const { outcome, grounded } = await run().catch((thrown) => {
    signal?.throwIfAborted();
    // An agent may throw another error in its place, or none.
    const error = fixture.broken ?? thrown;
    if (isErrorOf(error, NoAnswer)) return stopAgent(error.message);
    if (agent !== undefined && !hasAnswered && !isErrorOf(error, InfrastructureError)) {
      // Run again until it throws no more, a bad agent would look good.
      const why = printable(`the agent ${thrownText(error)}`, 500);
      return stopAgent(why, placeOf(error));
    }
    if (fixture.exhausted && fixture.broken === undefined) return overLimit();
    const message = isErrorOf(error, InfrastructureError) || isErrorOf(error, InputError)
      ? error.message
      : `the model threw: ${reasonOf(error)}`;
    found.reason = printable(redact(message), 500);
    if (isErrorOf(error, InfrastructureError)) {
      found.permanent = error.permanent;
      if (error.permanent !== undefined && error.fault === "unclear") found.byWords = true;
    }
    if (isErrorOf(error, MisusedAssertion)) found.misjudged = true;
    return stop("invalid", found.reason);
  });

  const [judge, ...others] = fixture.judging ?? [];
  if (judge !== undefined) found.judging = { ...judge, ...(others.length === 0 ? {} : { others }) };
  const viewed = await fixture.viewed();
  const impossible = viewed === undefined || fixture.unready !== undefined
    ? []
    : fixture.impossible ?? [];
  const { stages } = session;
  // Texts of models, servers and tools are stored without secrets. Judging used the originals.
  const { transcripts = "all" } = options;
  // The texts of other tasks follow from their specifications, and a model that was not asked was shown none.
  const isTold = isCase(planned.task) && fixture.unready === undefined &&
    (transcripts === "all" || transcripts === "unsolved" && outcome !== "solved");
  const keys = new Set<string>();
  const all = viewed ?? fixture.events;
  const events = tap?.hasSeen ? withOwnCalls(all) : all;
  const { served, state, shown, ...texts } = redactRecordValue({
    ...found,
    served: session.served.join(SERVED_SEPARATOR),
    failures: failuresOf(fixture.events),
    stages: stages.length === 0 ? undefined : stages,
    user: user?.record,
    state: isTold ? fixture.stateDifference?.(keys) : undefined,
    shown: isTold
      ? shownOf(openingOf(session, fixture), {
        history: fixture.history,
        scenario: user?.scenario,
      })
      : undefined,
    events: isCase(planned.task) && !isTold ? withoutTexts(events) : events,
  }, keys);
  // The trial was judged before: a clean-up that fails must neither excuse the model nor be blamed on it.
  const unclean = await fixture.release?.();
  const cleanUp = unclean === undefined ? undefined : printable(redact(unclean), 500);
  const toolChoice = boundChoice(model);
  const trial: Trial = {
    v: 1,
    kind: "trial",
    ...planned,
    suite: options.suite ?? "",
    model: {
      requested: model.name,
      served,
      simulated: model.simulated || stages.some((stage) => stage.model.simulated),
      ...defined({ api: model.api, toolChoice }),
    },
    changed: fixture.changed ? undefined : false,
    unsolvable: fixture.unsolvable,
    outcome,
    solved: outcome === "solved",
    grounded,
    calls: fixture.calls,
    minimumCalls: fixture.minimumCalls,
    needed: fixture.needed,
    domain: fixture.domain,
    oracle: viewed && "truth" as const,
    impossible: impossible.length === 0 ? undefined : impossible,
    behaviours: fixture.behaviours(undefined, fixture.toolChoice ?? toolChoice),
    usage: session.usage,
    agent: tap && (tap.isWatched ? "watched" : "unwatched"),
    startedAt,
    durationMs: Math.round(
      agent === undefined ? session.duration : Math.max(0, performance.now() - started - userMs),
    ),
    cleanUp,
    transcript: shown && transcriptOf(shown, state),
    ...texts,
  };
  return defined(trial);
}

/** What the model was asked with first, in the agent loop; what it would have been, if it never was. */
function openingOf({ opening }: Session, fixture: Fixture): Presented {
  const { messages, tools = [] } = opening ??
    { messages: firstMessages(fixture), tools: fixture.tools };
  return { messages, tools };
}

/** What a model's choice leaves it no freedom in, which is all that behaviours depend on. */
function boundChoice({ toolChoice = "auto" }: Model): Trial["model"]["toolChoice"] {
  return toolChoice === "auto" ? undefined : toolChoice === "none" ? "none" : "required";
}

/** The system message, if there is one, what was said before, and the question or what the user says in its place. */
function firstMessages(
  { system, history = [], prompt: question }: Fixture,
  prompt = question,
): Message[] {
  return [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    ...history,
    { role: "user", content: prompt },
  ];
}

/**
 * Refuses what changes what a model sees, for a run that is over.
 *
 * @throws {InputError} If there is a perturbation or a strategy other than `plain`, or the task is no case.
 */
function assertRecorded({ task, strategy, perturbation }: PlannedTrial): void {
  const other = [strategy, perturbation].find((id) => id !== "plain" && id !== "none");
  if (other !== undefined) {
    throw cannot(
      "judge a recorded run",
      "neither strategies nor perturbations change what was said before",
      `there is ${printable(other, 100)}`,
    );
  }
  if (isCase(task)) return;
  throw cannot(
    "judge a recorded run",
    "it must be of a case",
    `its task is ${JSON.stringify(task)}`,
  );
}

function onlyTrial(task: TaskSpec, model: string, perturbation = "none"): PlannedTrial {
  const key = { model, strategy: "plain", perturbation, task, repetition: 1 };
  return { ...key, id: trialId(key), index: 0, block: 0 };
}
