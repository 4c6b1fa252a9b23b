/**
 * Stories: what one trial did and what was wrong with it, in words.
 * @module
 */

import { variantLabel } from "../gate/variant.ts";
import type { Failure, WrongArgument } from "../calls/failure.ts";
import { isJsonObject, parseJson, printable } from "../base/json.ts";
import { canCall } from "./metrics/metrics.ts";
import { isCase, isQuestion } from "../trials/executors/task_kind.ts";
import { type AssertionEvent, type CallEvent, callsOf, type TraceEvent } from "../calls/trace.ts";
import { describeQuestion } from "./question_story.ts";
import type { Trial } from "../trials/trial.ts";

/** Why a trial is invalid, in words. */
export function describeInvalid({ task, reason = "unknown" }: Trial): string {
  // What a case runs on is the user's own, and may be at fault as well.
  return (isCase(task) ? "" : "infrastructure: ") + printable(reason, 500);
}

/** The assertion of the user's own that a trial has failed; `undefined` if there is none. */
export function failedAssertion({ events }: Trial): AssertionEvent | undefined {
  return events.find((event) => event.kind === "assertion");
}

/** One line on how a trial ended; without reasons, not why it is invalid or what an assertion says. */
export function summarize(trial: Trial, { reasons = true } = {}): string {
  const { outcome, calls, minimumCalls, failures, changed, events } = trial;
  const fewest = minimumCalls === null ? "" : ` (fewest ${minimumCalls})`;
  const answer = events.findLast((event) => event.kind === "answer");
  const failed = failedAssertion(trial);
  const counts = [...Map.groupBy(failures, ({ type }) => type)]
    .map(([type, own]) => `${own.length} ${type}`);
  return [
    outcome + (canCall(trial) ? ` after ${calls} ${calls === 1 ? "call" : "calls"}${fewest}` : ""),
    ...(outcome === "invalid" && reasons ? [describeInvalid(trial)] : []),
    ...(changed === false ? ["the perturbation found nothing to change"] : []),
    ...(failed !== undefined
      ? [`an assertion failed${reasons ? `: ${printable(failed.message.split("\n")[0]!)}` : ""}`]
      : outcome === "wrong_answer" && answer?.value !== null
      ? [`answered ${answer?.value}`]
      : []),
    ...(counts.length === 0 ? [] : [`wrong calls: ${counts.join(", ")}`]),
  ].join("; ");
}

/** Options of {@linkcode describeTrial}. */
export interface StoryOptions {
  /** The most calls that are shown, around the first root failure; default 12. */
  readonly calls?: number;
  /** Whether it tells why a trial is invalid, or what an assertion says; default true. */
  readonly reasons?: boolean;
}

/**
 * The story of a trial in a few lines: how it ended, the first root failure, and the calls.
 *
 * @example Usage
 * ```ts
 * import { describeTrial } from "./story.ts";
 * import { runTrial } from "../trials/trial.ts";
 * import { scripted } from "../models/scripted.ts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const model = scripted("hasty", [{ calls: [{ name: "func", arguments: {} }] }, { text: "7" }]);
 * const story = describeTrial(await runTrial(task, model));
 * assertStringIncludes(story, "call 1 (step 1) func: function_not_found");
 * ```
 */
export function describeTrial(
  trial: Trial,
  { calls: limit = 12, reasons = true }: StoryOptions = {},
): string {
  const { failures, events, model } = trial;
  const root = failures.find((failure) => failure.root) ?? failures[0];
  const who = variantLabel({ ...trial, model: model.requested }, model.simulated);
  const lines = [`${printable(who)}: ${summarize(trial, { reasons })}`];
  if (root !== undefined) {
    lines.push(`first root failure: ${describeFailure(root)}`);
    const others = failures.length - 1;
    const cascades = failures.filter((failure) => !failure.root).length;
    if (others > 0) lines.push(`further wrong calls: ${others}, cascades among them: ${cascades}`);
  }
  lines.push(...events.flatMap((event) => describeStage(event) ?? []).slice(0, MOST_STAGES));
  if (limit > 0) lines.push(...tellCalls(callsOf(events), root?.call ?? 0, limit));
  const scored = events.find((event) => event.kind === "scored");
  if (scored !== undefined && isQuestion(trial.task)) {
    lines.push(...describeQuestion(scored, trial.task));
  }
  const last = events.findLast((event) => event.kind === "answer" || event.kind === "stop");
  if (last?.kind === "answer") {
    const said = (last.rendered ?? last.text).slice(0, 160);
    lines.push(`  said ${printable(JSON.stringify(said), 200)}`);
  }
  if (last?.kind === "stop" && last.message !== trial.reason) {
    lines.push(`  stopped: ${printable(last.message, 300)}`);
  }
  return lines.join("\n");
}

/** The calls up to just after the first root failure tell how it came about. */
function tellCalls(calls: readonly CallEvent[], root: number, limit: number): string[] {
  const end = Math.min(Math.max(limit, root + 2), calls.length);
  const start = Math.max(0, end - limit);
  return [
    ...(start > 0 ? [`  ... ${start} calls before`] : []),
    ...calls.slice(start, end).map((call) => `  ${describeCall(call)}`),
    ...(calls.length > end ? [`  ... ${calls.length - end} calls after`] : []),
  ];
}

/** So many stages and repairs are told. */
const MOST_STAGES = 10;

/** What a strategy did beside the loop; `undefined` for all other events. */
function describeStage(event: TraceEvent): string | undefined {
  if (event.kind === "stage") {
    return `stage ${printable(event.stage, 60)}: ${printable(event.message, 300)}`;
  }
  if (event.kind !== "repair") return undefined;
  const { function: name, error, attempts, repaired } = event;
  return `repair of ${printable(name, 60)}: ${printable(error, 200)}: ` +
    `${repaired === undefined ? "not mended" : "mended"} after ${attempts} ` +
    (attempts === 1 ? "attempt" : "attempts");
}

function describeCall(
  { call, step, function: name, arguments: written, result, ...event }: CallEvent,
) {
  const parsed = parseJson(written);
  // Only plain values are shown one by one: a model may have nested thousands of brackets.
  const plain = isJsonObject(parsed) &&
    Object.values(parsed).every((value) => typeof value !== "object");
  const given = plain
    ? Object.entries(parsed).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")
    : written;
  const own = event.returned === undefined
    ? result
    : `${event.returned.variable} = ${event.returned.value}`;
  const back = event.unperturbed === undefined ? own : `${own}, perturbed to ${result}`;
  const mark = event.failure !== undefined
    ? `  <- ${event.failure.type}${event.failure.root ? "" : " (cascade)"}`
    : event.fault !== undefined
    ? `  (fault: ${event.fault})`
    : event.role === "connected" || event.role === "disconnected"
    ? `  (irrelevant, ${event.role})`
    : event.guessed
    ? "  (guessed)"
    : "";
  return `${call}. step ${step} ${printable(name, 60)}(${printable(given, 120)}) -> ` +
    `${printable(back, 80)}${mark}`;
}

/** One failure in words. */
export function describeFailure(failure: Failure): string {
  const where = `call ${failure.call} (step ${failure.step}) ${printable(failure.function, 60)}`;
  return `${where}: ${failure.type}: ${describeCause(failure)}`;
}

/** Why a call failed, in words. */
export function describeCause(failure: Failure): string {
  switch (failure.type) {
    case "function_not_found":
      return failure.detail.nearest === null
        ? "there is no such function"
        : `there is no such function, the nearest is ${failure.detail.nearest}`;
    case "wrong_number_of_inputs": {
      const { missing, unexpected, wrongType, malformed } = failure.detail;
      if (malformed) return "the arguments are not a JSON object";
      const list = (what: string, names: readonly string[]) =>
        names.length === 0
          ? []
          : [`${what} ${names.map((name) => printable(name, 40)).join(", ")}`];
      return [
        ...list("missing", missing),
        ...list("unexpected", unexpected),
        ...list("not what the schema takes:", wrongType),
      ].join("; ");
    }
    case "value_not_yet_known":
      return `before step ${failure.step} nothing had returned what it takes: ` +
        failure.detail.arguments.map(describeArgument).join("; ");
    case "incorrect_value":
      return failure.detail.arguments.map(describeArgument).join("; ");
  }
}

/** What is wrong with one argument, in words. */
export function describeArgument(wrong: WrongArgument): string {
  const source = wrong.origin === "wrong_return"
    ? `which call ${wrong.originCall} had returned wrongly`
    : wrong.origin === "other_variable"
    ? `which is the value of ${wrong.originVariable}`
    : "which nothing had returned";
  // Input variables are linked by name.
  const expected = wrong.parameter === wrong.variable
    ? "its own value"
    : `the value of ${wrong.variable}`;
  return `${wrong.parameter} expects ${expected} but got ${wrong.given}, ${source}`;
}
