// The story of a failed trial of any kind: at most a dozen lines with the rerun line, and everything on demand.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { defined } from "../../../lib/base/json.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { isQuestion } from "../../../lib/tasks/task_kind.ts";
import { CaseExecutor } from "../../../lib/trials/executors/case.ts";
import type { Model } from "../../../lib/models/model.ts";
import { planSuite } from "../../../lib/runs/plan.ts";
import { questionSource } from "../../../lib/runs/question_tasks.ts";
import type { ToolTestRun } from "../../../lib/trials/executors/tool_case.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import type { Suite } from "../../../lib/runs/suite.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { assertCallCount, assertCalled } from "../../../lib/testing/assertions/calls.ts";
import { assertTrajectory } from "../../../lib/testing/assertions/trajectories.ts";
import { unsolvedError } from "../../../lib/testing/assertions/_trials.ts";
import { citySuite, writing } from "../../support/call_sets.ts";
import fc from "../../support/fast_check.ts";
import { fuzz } from "../../support/fuzzing.ts";
import { inProcess } from "../../support/in_process.ts";
import {
  callEvents,
  HOSTILE,
  NOT_FOUND,
  STEERING,
  traced,
  wrongValue,
} from "../../support/records.ts";

/** The rerun line is the twelfth. */
const MOST = 11;

/** Runs the first trials of a suite in process. */
async function trialsOf(suite: Suite, connect: (model: string) => Model = inProcess) {
  const source = questionSource(suite.tasks, (path) => path);
  const plan = planSuite(suite, defined({ tasks: source }));
  return await Array.fromAsync(
    plan.trials.slice(0, 60),
    (planned) => runTrial(planned, connect(planned.model), defined({ open: source?.open })),
  );
}

const NOISY = "sim:noisy?early=0.3&stale=0.3&distract=0.4&averse=0.2";
const WORSE = ["CF", "RP_F", "timeout:2", "not_found", "malformed_return"];

/** Trials with a tool of the user that takes and returns long texts, and with every kind of assertion. */
async function ownTrials(): Promise<Trial[]> {
  const note = tool({
    name: "note",
    description: "Keeps a text",
    parameters: z.object({ text: z.string(), kind: z.string() }),
    execute: ({ text }) => ({ kept: text }),
  });
  const long = "begin " + "x".repeat(5_000) + " end";
  const calls = Array.from({ length: 30 }, (_, place) => ({
    calls: [{
      name: place % 7 === 6 ? "nota" : "note",
      arguments: { text: long, kind: `k${place}` },
    }],
  }));
  const expected = calls.map((_, place) => ({ tool: "note", arguments: { kind: `q${place}` } }));
  const asserts: ((run: ToolTestRun) => void)[] = [
    (run) => assertCalled(run, { tool: "note", arguments: { text: "short", kind: "k9" } }),
    (run) => assertCallCount(run, "note", 2),
    (run) => assertTrajectory(run, expected),
    (run) => assertEquals(run.calls.map(({ tool }) => tool), ["note", "nota"]),
  ];
  return await Promise.all(
    asserts.map((assert) =>
      runTrial({ case: "own", seed: 1 }, scripted("writer", [...calls, { text: long }]), {
        open: (_, settings) =>
          new CaseExecutor(
            { name: "own", tools: [note], prompt: "Keep it.", assert } as never,
            { case: "own", seed: 1 },
            settings,
          ),
      })
    ),
  );
}

/** Failed trials of every kind. */
async function failedTrials(): Promise<Trial[]> {
  const generated = { name: "s", seed: 3, graphs: 4, models: [NOISY] };
  const all = [
    await trialsOf({
      ...generated,
      tasks: [{ core: [4, 14], depth: 3, connected: [0, 3] }],
      strategies: ["plain", "restate"],
      perturbations: ["none", ...WORSE],
    }),
    await trialsOf({
      ...{ name: "p", seed: 1, graphs: 3, tasks: [{ case: "all" }, { case: "forced_function" }] },
      models: ["sim:noisy?averse=0.5&ignore=0.5&resist=0.5&dots=0.5&brute=0.5"],
    }),
    await trialsOf(
      citySuite({ mode: ["parameters", "routing", "tools"] }),
      () => writing((truth) => truth.replaceAll(/[aeo]/g, "ä")),
    ),
    await ownTrials(),
  ];
  return all.flat().filter(({ solved }) => !solved);
}

/** Checks both stories of a trial. */
function checkStories(trial: Trial): void {
  const brief = unsolvedError(trial, "brief").message;
  const full = unsolvedError(trial, "full").message;
  const lines = brief.split("\n");
  assert(lines.length <= MOST, brief);
  assert(lines.every((line) => line.length <= 520), brief);
  const root = trial.failures.find((failure) => failure.root) ?? trial.failures[0];
  if (root !== undefined) {
    assertStringIncludes(brief, `first root failure: call ${root.call} (step ${root.step})`);
    // The message of a failed assertion says around which calls.
    const isShown = new RegExp(`^ +${root.call}\\. step ${root.step} `, "m").test(brief);
    assert(isShown || trial.events.some(({ kind }) => kind === "assertion"), brief);
  }
  assertStringIncludes(brief, `: ${trial.outcome}`);
  // All of it: every call with its arguments, every failure, what was said last.
  const calls = callsOf(trial.events);
  for (const { call, step } of calls) {
    assert(new RegExp(`^ {2}${call}\\. step ${step} `, "m").test(full), full);
  }
  const shown = new Set([...brief.matchAll(/^ +(\d+)\. step /gm)].map(([, call]) => call)).size;
  if (shown < calls.length) assert(/\d+ more calls?\b.*: --story=full$/m.test(brief), brief);
  for (const line of lines) {
    if (/\[\.\.\. \d+ characters \.\.\.\]|^ {2}\.\.\. |^ +\d+\. step /.test(line)) continue;
    assertStringIncludes(full, line);
  }
  const last = trial.events.findLast(({ kind }) => kind === "answer" || kind === "stop");
  if (last?.kind === "answer") assertStringIncludes(brief, "\n  said ");
  if (last?.kind === "stop" && last.message !== trial.reason) {
    assertStringIncludes(brief, "\n  stopped: ");
  }
  if (isQuestion(trial.task)) assertStringIncludes(brief, "\n  true is ");
  const failed = trial.events.find((event) => event.kind === "assertion");
  if (failed !== undefined) assert(full.startsWith(failed.message), full);
}

Deno.test("the story of a failed trial of any kind fits a dozen lines, and is whole on demand", async () => {
  const trials = await failedTrials();
  const kinds = new Map<string, number>();
  for (const trial of trials) {
    checkStories(trial);
    const { task, outcome } = trial;
    const kind = "core" in task ? "generated" : "set" in task ? "question" : outcome;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  // The generator made some of each kind, and stories that had to be cut.
  assert(kinds.get("generated")! > 20 && kinds.get("question")! > 5, JSON.stringify([...kinds]));
  assert(trials.some(({ perturbation }) => perturbation === "timeout:2"));
  assert(trials.some(({ task }) => "case" in task && task.case === "own"));
  assert(trials.some(({ calls }) => calls > 12));
});

Deno.test("a long argument is cut in the middle, with how much is left out", async () => {
  const [trial] = await ownTrials();
  const brief = unsolvedError(trial!, "brief").message;
  const call = brief.split("\n").find((line) => /^ +\d+\. step /.test(line))!;
  assertStringIncludes(call, 'text="begin xxx');
  const [, left] = /\[\.\.\. (\d+) characters \.\.\.\]/.exec(call)!;
  assert(Number(left) > 4_800, call);
  assertStringIncludes(brief, "the rest of long texts: --story=full");
  assertStringIncludes(unsolvedError(trial!, "full").message, "x".repeat(5_000));
});

/** Lines of messages: some look like those of our own assertions. */
const lines = fc.constantFrom(
  "It is wrong.",
  "  calls made: 40",
  "    3. step 3 f() -> ok",
  "-   1",
  "",
);

const texts = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constant(HOSTILE),
  fc.constant("y".repeat(9_000)),
);

fuzz(
  "the story of any trace fits a dozen lines and names the first root failure",
  fc.record({
    count: fc.integer({ min: 1, max: 60 }),
    roots: fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.boolean()), { maxLength: 4 }),
    name: texts,
    given: texts,
    answer: texts,
    stages: fc.array(texts, { maxLength: 15 }),
    unreadable: fc.array(texts, { maxLength: 5 }),
    message: fc.option(fc.array(fc.oneof(texts, lines), { minLength: 1, maxLength: 30 }), {
      freq: 3,
    }),
  }),
  ({ count, roots, name, given, answer, stages, unreadable, message }) => {
    const failures = Object.fromEntries(
      roots.filter(([call]) => call <= count)
        .map(([call, root]) => [call, { ...(root ? NOT_FOUND : wrongValue(3, 1)), root }]),
    );
    const calls = callEvents(count, failures)
      .map((event) => ({ ...event, function: name, arguments: JSON.stringify({ given }) }));
    const trial = traced([
      ...stages.map((text) => ({ kind: "stage" as const, stage: "plan", message: text })),
      ...unreadable.map((written, request) => ({
        ...{ kind: "reply" as const, request, text: "", calls: 1, durationMs: 1 },
        ...{ inputTokens: 1, outputTokens: 1, parsed: "unreadable" as const, written },
      })),
      ...calls,
      { kind: "answer", text: answer, value: null },
      ...(message === null ? [] : [{ kind: "assertion" as const, message: message.join("\n") }]),
    ], { outcome: "wrong_answer" });
    const { message: brief } = unsolvedError(trial, "brief");
    assert(brief.split("\n").length <= MOST, brief);
    assert(!STEERING.test(brief), brief);
    const root = trial.failures.find((failure) => failure.root) ?? trial.failures[0];
    if (root !== undefined) {
      assertStringIncludes(brief, `\nfirst root failure: call ${root.call} (step ${root.step}) `);
      const isShown = brief.includes(`\n  ${root.call}. step ${root.step} `);
      assert(isShown || message?.join("\n").includes("  calls made: "), brief);
    }
    assertStringIncludes(brief, "\n  said ");
  },
  { runs: 300 },
);
