/**
 * Reports for the terminal: tables, and the story of one trial.
 * @module
 */

import stringWidth from "string-width";
import type { Failure, WrongArgument } from "./failure.ts";
import { subjectName } from "./contest.ts";
import { isJsonObject, type JsonObject, parseJson, printable } from "./json.ts";
import { exitCodeOf, type Judged, worstKind } from "./judge.ts";
import {
  type FailureTally,
  measure,
  type Repetition,
  type SubjectMetrics,
  type Tally,
} from "./metrics.ts";
import { completePolicy, type GatePolicy } from "./policy.ts";
import type { Check } from "./selfcheck.ts";
import { type CallEvent, callsOf } from "./trace.ts";
import type { Trial, TrialScore } from "./trial.ts";
import { describeVerdict, percent, verdictNumbers } from "./verdict.ts";

/** The tables of all trials: success by cell, failures by type, behaviours. */
export function renderTables(trials: readonly TrialScore[]): string {
  return measure(trials).map(renderSubject).join("\n\n");
}

function renderSubject(metrics: SubjectMetrics): string {
  const { subject, simulated, cells, total, repetition, failures, behaviours, calls, usage } =
    metrics;
  const rows = cells.map(({ name, tally }) => [name, ...tallyColumns(tally)]);
  const parts = [
    printable(subjectName(subject)) +
    (simulated ? "  (simulated: a program, no language model)" : ""),
    table([
      [
        "cell",
        "trials",
        "solved",
        "95% interval",
        "calls if solved",
        "if not",
        "fewest calls",
        "invalid",
      ],
      ...rows,
      ...(cells.length > 1 ? [["all", ...tallyColumns(total)]] : []),
    ]),
    ...(repetition === null ? [] : [renderRepetition(repetition)]),
    renderFailures(failures, calls),
    `spent: ${usage.inputTokens} tokens read, ${usage.outputTokens} written`,
  ];
  const shown = Object.entries(behaviours).map(([name, count]) => `${name} ${count}`);
  if (shown.length > 0) parts.push(`behaviours (trials): ${printable(shown.join(", "))}`);
  return parts.join("\n\n");
}

function tallyColumns(tally: Tally): string[] {
  const { trials, valid, rate, interval, callsSolved, callsFailed, minimumCalls } = tally;
  return [
    String(trials),
    rate === null ? "-" : percent(rate),
    interval === null ? "-" : `${percent(interval.lower)} to ${percent(interval.upper)}`,
    fixed(callsSolved),
    fixed(callsFailed),
    fixed(minimumCalls),
    String(trials - valid),
  ];
}

function renderRepetition({ k, graphs, unavailable, ...rates }: Repetition): string {
  const show = (rate: number | null) => rate === null ? "not available" : percent(rate);
  const missing = unavailable === 0
    ? ""
    : `, not available for ${unavailable} with fewer than ${k} valid trials`;
  return `of ${k} trials of a graph at least one solved (pass@${k}): ${show(rates.passAtK)}, ` +
    `all solved (pass^${k}): ${show(rates.passHatK)}; ${graphs} graphs${missing}`;
}

function renderFailures(failures: readonly FailureTally[], calls: number): string {
  const count = failures.reduce((sum, { roots, cascades }) => sum + roots + cascades, 0);
  if (count === 0) return calls === 0 ? "no call was made" : "no call was wrong";
  return table([
    ["failure type", "calls", "share", "roots", "cascades"],
    ...failures.map(({ type, roots, cascades }) => [
      type,
      String(roots + cascades),
      percent((roots + cascades) / count),
      String(roots),
      String(cascades),
    ]),
  ]);
}

/** The verdicts as paragraphs, one a subject, each with its numbers under it. */
export function renderVerdicts(judged: readonly Judged[], policy: GatePolicy): string {
  return judged.map((one) => {
    const numbers = verdictNumbers(one.verdict, policy).map((line) => `  ${line}`);
    return [`${judgedName(one)}: ${paragraphOf(one, policy)}`, ...numbers].join("\n");
  }).join("\n\n");
}

/** How gates decided where the truth was known, as a table. */
export function renderChecks(checks: readonly Check[]): string {
  return table([
    ["truth", "error", "allowed", "seen", "95% interval", "pass", "fail", "undecided", "invalid"],
    ...checks.map(({ truth, error, allowed, rate, interval, gates }) => [
      truth,
      error,
      percent(allowed),
      percent(rate),
      `${percent(interval.lower)} to ${percent(interval.upper)}`,
      ...[gates.pass, gates.fail, gates.undecided, gates.invalid].map(String),
    ]),
  ]);
}

/** Names come from suites, servers and journals: they are shown, never trusted. */
function judgedName(judged: Judged): string {
  return `${printable(subjectName(judged))}${judged.simulated ? " (simulated)" : ""}`;
}

function paragraphOf({ verdict, baseline }: Judged, policy: GatePolicy): string {
  return describeVerdict(
    verdict,
    policy,
    baseline === undefined ? {} : { baseline: printable(baseline) },
  );
}

/** The verdicts as one JSON value: the worst kind, and each with its words and its numbers. */
export function verdictsToJson(
  suite: string,
  judged: readonly Judged[],
  policy: GatePolicy,
): JsonObject {
  const kind = worstKind(judged.map(({ verdict }) => verdict));
  const verdicts = judged.map((one) => {
    const { verdict, ...subject } = one;
    return {
      ...subject,
      ...verdict,
      text: paragraphOf(one, policy),
      numbers: verdictNumbers(verdict, policy),
    };
  });
  return JSON.parse(JSON.stringify({
    v: 1,
    suite,
    verdict: kind,
    exitCode: exitCodeOf(kind),
    gate: completePolicy(policy),
    verdicts,
  }));
}

/** The one verdict over results that cannot be judged at all, as JSON. */
export function problemToJson(suite: string, problem: string): JsonObject {
  return { v: 1, suite, verdict: "invalid", exitCode: 3, gate: null, verdicts: [], text: problem };
}

/** The one verdict over results that cannot be judged at all, as Markdown. */
export function problemToMarkdown(suite: string, problem: string): string {
  return `### ${markdownText(printable(suite))}: invalid\n\n${markdownText(problem)}\n`;
}

/** The verdicts as Markdown, for the summary of a job. */
export function verdictsToMarkdown(
  suite: string,
  judged: readonly Judged[],
  policy: GatePolicy,
): string {
  const parts = judged.map((one) => {
    const numbers = verdictNumbers(one.verdict, policy).map((line) => `- ${markdownText(line)}`);
    const paragraph = paragraphOf(one, policy).replace(/^[A-Z]+(?=: )/, "**$&**");
    const [kind, ...words] = paragraph.split(": ");
    return `#### ${markdownText(judgedName(one))}\n\n${kind}: ${
      markdownText(words.join(": "))
    }\n\n` +
      numbers.join("\n");
  });
  const kind = worstKind(judged.map(({ verdict }) => verdict));
  return `### ${markdownText(printable(suite))}: ${kind}\n\n${parts.join("\n\n")}\n`;
}

/** Text in which nothing is Markdown or HTML, nor what GitHub makes a link of. */
function markdownText(text: string): string {
  return text.replace(
    /[\\`*_{}[\]()<>#+!|&~$@:]|(?<=www)\./gi,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}

/** Rows as aligned columns: the first to the left, the others to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map((text) => printable(text, 80)));
  const widths = shown[0]!.map((_, column) =>
    Math.max(...shown.map((row) => stringWidth(row[column]!)))
  );
  return shown.map((row) =>
    row.map((text, column) => {
      const space = " ".repeat(widths[column]! - stringWidth(text));
      return column === 0 ? text + space : space + text;
    }).join("  ").trimEnd()
  ).join("\n");
}

function fixed(value: number | null): string {
  return value === null ? "-" : value.toFixed(1);
}

/** One line on how a trial ended. */
export function summarize(trial: Trial): string {
  const { outcome, calls, minimumCalls, failures, reason, events } = trial;
  const answer = events.findLast((event) => event.kind === "answer");
  const counts = [...Map.groupBy(failures, ({ type }) => type)]
    .map(([type, own]) => `${own.length} ${type}`);
  return [
    `${outcome} after ${calls} ${calls === 1 ? "call" : "calls"}${
      minimumCalls === null ? "" : ` (fewest ${minimumCalls})`
    }`,
    ...(outcome === "invalid" ? [`infrastructure: ${printable(reason ?? "unknown", 500)}`] : []),
    ...(outcome === "wrong_answer" ? [`answered ${answer?.value}`] : []),
    ...(counts.length === 0 ? [] : [`wrong calls: ${counts.join(", ")}`]),
  ].join("; ");
}

/** The most calls that a story shows. */
const STORY_CALLS = 12;

/**
 * The story of a trial in a few lines: how it ended, the first root failure, and the calls.
 *
 * @example Usage
 * ```ts
 * import { tellStory } from "./report.ts";
 * import { runTrial } from "./trial.ts";
 * import { scripted } from "./models/scripted.ts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const model = scripted("hasty", [{ calls: [{ name: "func", arguments: {} }] }, { text: "7" }]);
 * const story = tellStory(await runTrial(task, model));
 * assertStringIncludes(story, "call 1 (step 1) func: function_not_found");
 * ```
 */
export function tellStory(trial: Trial): string {
  const { failures, events, model } = trial;
  const calls = callsOf(events);
  const root = failures.find((failure) => failure.root) ?? failures[0];
  const simulated = model.simulated ? " (simulated)" : "";
  const lines = [`${printable(model.requested)}${simulated}: ${summarize(trial)}`];
  if (root !== undefined) {
    lines.push(`first root failure: ${describeFailure(root)}`);
    const others = failures.length - 1;
    const cascades = failures.filter((failure) => !failure.root).length;
    if (others > 0) lines.push(`further wrong calls: ${others}, cascades among them: ${cascades}`);
  }
  // The calls up to just after the first root failure tell how it came about.
  const end = Math.max(STORY_CALLS, (root?.call ?? 0) + 2);
  const start = end - STORY_CALLS;
  if (start > 0) lines.push(`  ... ${start} calls before`);
  lines.push(...calls.slice(start, end).map((call) => `  ${describeCall(call)}`));
  if (calls.length > end) lines.push(`  ... ${calls.length - end} calls after`);
  const last = events.findLast((event) => event.kind === "answer" || event.kind === "stop");
  if (last?.kind === "answer") {
    lines.push(`  said ${printable(JSON.stringify(last.text.slice(0, 160)), 200)}`);
  }
  if (last?.kind === "stop") lines.push(`  stopped: ${printable(last.message, 300)}`);
  return lines.join("\n");
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
  const back = event.returned === undefined
    ? result
    : `${event.returned.variable} = ${event.returned.value}`;
  const mark = event.failure !== undefined
    ? `  <- ${event.failure.type}${event.failure.root ? "" : " (cascade)"}`
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

function describeCause(failure: Failure): string {
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
        ...list("not an integer:", wrongType),
      ].join("; ");
    }
    case "value_not_yet_known":
      return `before step ${failure.step} nothing had returned what it takes: ` +
        failure.detail.arguments.map(describeArgument).join("; ");
    case "incorrect_value":
      return failure.detail.arguments.map(describeArgument).join("; ");
  }
}

function describeArgument(wrong: WrongArgument): string {
  const source = wrong.origin === "wrong_return"
    ? `which call ${wrong.originCall} had returned wrongly`
    : wrong.origin === "other_variable"
    ? `which is the value of ${wrong.originVariable}`
    : "which nothing had returned";
  return `${wrong.parameter} expects the value of ${wrong.variable} but got ${wrong.given}, ${source}`;
}
