/**
 * Derivation: plays a recorded trial again from its own events, through the code that judged it, and compares.
 *
 * What the model wrote is taken from the events: its replies, its calls, its answer. All that follows from
 * these, where the truth of the task is data, is made anew and must be what the line says.
 * @module
 */

import { defined } from "../base/json.ts";
import { scorePrediction } from "../tasks/questions/scoring.ts";
import { isGenerated, isProbe, isQuestion } from "./executors/task_kind.ts";
import {
  type CallEvent,
  callsOf,
  failuresOf,
  MAX_KEPT_LENGTH,
  type StopEvent,
  type TraceEvent,
} from "../calls/trace.ts";
import type { Fixture } from "./executors/fixture.ts";
import type { ModelRequest } from "../models/model.ts";
import { MAX_NAME_LENGTH } from "./agent/_model_use.ts";
import type { Limits } from "./agent/session.ts";
import { type Difference, differs } from "./_difference.ts";
import { playCalls, Script } from "./_script.ts";
import { MARK } from "../base/secrets.ts";
import { sumUsage, type Usage } from "../tools/message.ts";
import { parsedArguments, usesIn } from "../tools/references/call_order.ts";
import { playTrial, type StrategyChoice } from "./run_trial.ts";
import type { Trial } from "./trial.ts";
import type { TaskOpener } from "./executors/tasks.ts";

/** What a trial ran with, apart from its model. */
export interface DerivationOptions {
  /** The limits of the trial. */
  readonly limits: Limits;
  /** Whether arguments could refer to results of other calls of the same reply. */
  readonly references: boolean;
  /** The strategy and its options. */
  readonly strategy: StrategyChoice;
  /** Opens the task; faults in it need not take the time that they took. */
  readonly open: TaskOpener;
  /** Receives each request, as the model got it. */
  readonly asked?: (request: ModelRequest) => void;
}

/** What deriving a trial again came to. */
export type Derivation =
  | { readonly kind: "agrees" }
  | {
    /** It stands as recorded. */
    readonly kind: "recorded";
    /** What keeps it from being derived; omitted where its truth is no data, as in tests of the user's own tools. */
    readonly why?: string;
  }
  | Difference;

/**
 * Derives outcome, failures, calls and answer of a trial again, and compares them with its line. Trials on
 * tools of the user's own stand as recorded: only their code can judge them. Of these, what the line says must
 * agree with its own events.
 *
 * Texts that a journal cuts or redacts may have been judged whole, so that such a trial stands as recorded where
 * it would differ.
 *
 * @throws {InputError} If the task cannot be opened.
 */
export async function deriveAgain(
  trial: Trial,
  options: DerivationOptions,
): Promise<Derivation> {
  const { task, events } = trial;
  if (events.length === 0) return { kind: "recorded", why: "without events" };
  const used = usageDifference(trial);
  if (used !== undefined) return used;
  if (!isGenerated(task) && !isProbe(task) && !isQuestion(task)) {
    return contradiction(trial) ?? { kind: "recorded" };
  }
  const cut = events.some((event) => judgedTexts(event).some(isCut));
  if (cut) return { kind: "recorded", why: "with a text that was cut" };
  if (options.references && callsOf(events).some(refersById)) {
    return { kind: "recorded", why: "with references to calls by ids, which journals do not keep" };
  }
  const found = await difference(trial, options);
  if (found === undefined) return { kind: "agrees" };
  return events.flatMap(comparedTexts).some((text) => text.includes(MARK))
    ? { kind: "recorded", why: "with a text from which a secret was removed" }
    : found;
}

/** The texts of an event by which a trial is judged. */
function judgedTexts(event: TraceEvent): string[] {
  switch (event.kind) {
    case "reply":
      // What is written beside calls decides nothing.
      return event.calls === 0 || event.stage !== undefined ? [event.text] : [];
    case "call":
      return [event.function, event.arguments, event.resolved ?? ""];
    case "repair":
      return [event.arguments, event.repaired ?? ""];
    case "answer":
      return [event.text];
    default:
      return [];
  }
}

/** The texts of an event that decide what is derived, or are compared with it. */
function comparedTexts(event: TraceEvent): string[] {
  const results = event.kind === "call"
    ? [event.result, event.unperturbed ?? "", event.error ?? ""]
    : event.kind === "scored"
    ? [JSON.stringify(event)]
    : [];
  return [...judgedTexts(event), ...results];
}

/**
 * Compares the tokens of a trial, and of each other model in it, with those of its replies. Agents of the
 * user's own ask models by themselves, and the judge of an answer leaves no reply.
 */
function usageDifference({ usage, stages = [], events }: Trial): Difference | undefined {
  const replies = events.filter((event) => event.kind === "reply");
  if (replies.length === 0) return undefined;
  const others = replies.filter(({ model }) => model !== undefined);
  return differs("usage", sumUsage([usage]), sumUsage(replies)) ??
    differs(
      "stages",
      usageByModel(stages, ({ model }) => model.requested, ({ usage }) => usage),
      usageByModel(others, ({ model }) => model!, (reply) => reply),
    );
}

/** The tokens of each model; events do not keep names in full. */
function usageByModel<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  usageOf: (item: Item) => Usage,
): Record<string, Usage> {
  const models = Map.groupBy(items, (item) => nameOf(item).slice(0, MAX_NAME_LENGTH));
  return Object.fromEntries(
    models.entries().map(([name, own]) => [name, sumUsage(own.map(usageOf))]),
  );
}

function isCut(text: string): boolean {
  return text.length >= MAX_KEPT_LENGTH;
}

function refersById({ arguments: given }: CallEvent): boolean {
  return [...usesIn(parsedArguments({ arguments: given })).keys()].some((name) =>
    !/^\d+$/.test(name)
  );
}

/** Returns what is recorded of a case and cannot be together; its assertions are not run again. */
function contradiction(
  { outcome, failures, unsolvable, events }: Trial,
): Difference | undefined {
  const stop = stopOf(events);
  const ended = stop?.reason ??
    (outcome === "solved" && events.some(({ kind }) => kind === "assertion")
      ? "wrong_answer"
      : outcome === "solved" && events.some(({ kind }) => kind === "over_limit")
      ? "call_limit"
      : outcome);
  return differs("outcome", outcome, ended) ??
    differs("failures", failures, failuresOf(events)) ??
    differs("unsolvable", unsolvable ?? null, null);
}

/**
 * Scores the answer of a question again by the true calls that its own event holds, where the call set is not
 * at hand; `undefined` if nothing differs.
 */
export function scoresDifference({ task, outcome, events }: Trial): Difference | undefined {
  const event = events.find((event) => event.kind === "scored");
  if (!isQuestion(task) || event === undefined || isCut(event.output)) return undefined;
  const { rule, mode, output: format } = task;
  const scores = scorePrediction(event.output, event.truth, defined({ rule, mode, format }));
  const right = mode === "routing" ? scores.routingExact : scores.exact === true;
  const found = differs("scores", event.scores, scores) ??
    (right === (outcome === "solved") || outcome === "call_limit"
      ? undefined
      : differs("outcome", outcome, right ? "solved" : "wrong_answer"));
  return found !== undefined && JSON.stringify(event).includes(MARK) ? undefined : found;
}

function stopOf(events: readonly TraceEvent[]): StopEvent | undefined {
  const last = events.at(-1);
  return last?.kind === "stop" ? last : undefined;
}

/** Stops whose cause lies outside of replies and limits, so that the record of them is all there is. */
const OUTER_STOPS: readonly string[] = [
  "time_limit",
  "token_limit",
  "filtered",
  "agent_error",
  "invalid",
] satisfies StopEvent["reason"][];

async function difference(
  trial: Trial,
  { limits, references, strategy, open, asked }: DerivationOptions,
): Promise<Difference | undefined> {
  const { events } = trial;
  const stop = stopOf(events);
  const requests = events.filter(({ kind }) => kind === "reply").length;
  const outer = stop?.reason === "step_limit" && requests === limits.steps
    ? stop.reason
    : OUTER_STOPS.find((reason) => reason === stop?.reason);
  // Time is not played again, and tokens were counted by the server.
  const { seconds: _, tokens: __, ...kept } = limits;
  const script = new Script(events, outer);
  const byAgent = trial.agent !== undefined || isGenerated(trial.task) && isByAgent(events);
  let opened: Fixture | undefined;
  const opening: TaskOpener = (spec, at) => opened = open(spec, at);
  const model = script.model(trial.model.requested, asked);
  const played = await playTrial(
    { ...trial, model: model.name },
    model,
    {
      ...{ limits: kept, references, strategy, open: opening },
      ...(byAgent ? { agent: () => playCalls(opened!, events, outer) } : {}),
    },
  );
  if (script.fault !== undefined && !byAgent) return script.fault;
  const left = script.left;
  if (left > 0 && !byAgent) {
    return differs("events", `${left} replies after the end`, "no reply after the end")!;
  }
  const isCutOff = script.isCutOff || byAgent && played.outcome === "invalid";
  const outcome = isCutOff ? outer ?? "no end" : played.outcome;
  return differs("outcome", trial.outcome, outcome) ??
    differs("changed", trial.changed ?? true, played.changed ?? true) ??
    differs("unsolvable", trial.unsolvable ?? null, played.unsolvable ?? null) ??
    callsDifference(trial, played, script.dangling) ??
    differs("failures", trial.failures, failuresOf(events)) ??
    endDifference(trial, played) ??
    differs("grounded", trial.grounded, played.grounded) ??
    differs("minimumCalls", trial.minimumCalls, played.minimumCalls) ??
    differs("domain", trial.domain ?? null, played.domain ?? null) ??
    differs("needed", trial.needed ?? null, played.needed ?? null) ??
    // The replay has neither the texts beside calls nor the causes of limits.
    differs("impossible", trial.impossible ?? [], played.impossible ?? []) ??
    differs("behaviours", trial.behaviours, opened!.behaviours(events)) ??
    differs("oracle", trial.oracle ?? null, played.oracle ?? null);
}

/** Whether no model was asked for what happened: a model calls, answers and fails by replies. */
function isByAgent(events: readonly TraceEvent[]): boolean {
  if (events.some(({ kind }) => kind === "reply")) return false;
  return stopOf(events)?.reason === "agent_error" ||
    events.some(({ kind }) => kind === "call" || kind === "answer");
}

const CALL_FIELDS = [
  "step",
  "function",
  "role",
  "arguments",
  "resolved",
  "result",
  "unperturbed",
  "injected",
  "returned",
  "fault",
  "withheld",
  "alsoWithheld",
  "error",
  "failure",
  "parameters",
  "guessed",
  "coerced",
  "by",
  "agentDid",
] as const satisfies (keyof CallEvent)[];

/** Compares the calls; of the last reply, `dangling` ones may have been in flight when the trial was stopped. */
function callsDifference(
  recorded: Trial,
  played: Trial,
  dangling: number,
): Difference | undefined {
  const [own, others] = [callsOf(recorded.events), callsOf(played.events)];
  for (const [place, call] of own.entries()) {
    const other = others[place];
    if (other === undefined) break;
    for (const field of CALL_FIELDS) {
      const place = `${field} of call ${call.call}`;
      const found = differs(place, call[field] ?? null, other[field] ?? null);
      if (found !== undefined) return found;
    }
  }
  const isIn = (count: number, least: number) => count >= least && count <= least + dangling;
  if (!isIn(own.length, others.length)) {
    return differs("events", `${own.length} calls`, `${others.length} calls`);
  }
  return isIn(recorded.calls, played.calls)
    ? undefined
    : differs("calls", recorded.calls, played.calls);
}

/** Compares how trials ended: answers, their scores, and calls past the limit. */
function endDifference(recorded: Trial, played: Trial): Difference | undefined {
  for (const kind of ["answer", "scored", "over_limit"] as const) {
    const [own, other] = [recorded, played].map(({ events }) =>
      events.find((event) => event.kind === kind)
    );
    if (own === undefined || other === undefined) {
      const found = differs(kind, own ?? null, other ?? null);
      if (found !== undefined) return found;
      continue;
    }
    // The score of a judge model stands as recorded, and so does what this version does not know.
    for (const [field, value] of Object.entries(other)) {
      const found = differs(`${field} of ${kind}`, Reflect.get(own, field) ?? null, value ?? null);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
