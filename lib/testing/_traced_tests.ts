/**
 * Traced tests: tests whose trials are recorded conversations of a file, in place of what models say now.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { cannot, InputError } from "../base/errors.ts";
import { canonicalJson, listText, printable } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import { redact } from "../base/redact.ts";
import { countText } from "../base/numbers.ts";
import type { FileTrace } from "../integrations/traces/read.ts";
import defer * as reading from "../integrations/traces/read.ts";
import { InfrastructureError, isModel, type Model } from "../models/model.ts";
import type { TrialTrace } from "../runs/run.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { ToolCase } from "../trials/executors/tool_case.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import type { Flags } from "./_flags.ts";
import type { CallSite } from "./_register.ts";
import { perFile } from "./_runners.ts";
import { listOf } from "../runs/suite.ts";
import { nameOf } from "./_variants.ts";
import type { AnyOptions, ToolSuiteOptions } from "./tool_test_options.ts";

/** A test as far as its traces matter. */
export interface TracedTest {
  readonly name: string;
  readonly subject: string;
  readonly toolCase: ToolCase<unknown>;
  /** Its options, with those of its suite. */
  readonly options: AnyOptions;
}

/** The suite of the tests. */
interface TracedSuite {
  readonly suite: string;
  readonly site: CallSite;
  readonly options: Partial<ToolSuiteOptions<unknown>>;
}

/** Models of traces that name none are called so. */
const UNNAMED = "unnamed";

/** A file of traces, and the tests of the test file that each is of. */
interface TraceFile {
  readonly path: string;
  readonly traces: readonly FileTrace[];
  readonly owners: Map<FileTrace, string[]>;
  /** What was compared with the traces, for the message that some are of none. */
  readonly tests: TracedTest[];
}

/** Files that were read: the suites of a test file share theirs. */
const filesOf = perFile(() => new Map<string, TraceFile>());

/**
 * Returns the tests with the models and as many trials as the file has traces of them, and what was said in each trial.
 *
 * @throws {InputError} If the file cannot be read, or a test cannot be judged by what was said before.
 */
export function tracedTests<Test extends TracedTest>(
  { traces: path = "", record, replay, auto, resume }: Flags,
  tests: readonly Test[],
  { suite, site, options }: TracedSuite,
): {
  readonly tests: readonly Test[];
  readonly recorded: (planned: PlannedTrial) => TrialTrace | undefined;
  readonly leaves: (planned: PlannedTrial) => boolean;
} {
  const { gate } = options;
  const table: [when: boolean | undefined, rule: string][] = [
    [
      (record ?? replay ?? auto) !== undefined,
      "--traces goes without recordings: both stand for what models say",
    ],
    [
      resume,
      "--traces goes without --resume: they are judged at once; name a new file for the journal",
    ],
    [
      gate?.sequential,
      "a sequential gate asks for one trial after the other, and traces are a fixed number: leave out " +
      `sequential of ${printable(suite, 100)}`,
    ],
  ];
  const rule = table.find(([when]) => when)?.[1];
  if (rule !== undefined) throw new InputError(`Cannot score ${path}: ${rule}`);
  for (const { subject, options } of tests) assertUnchanged(path, subject, options);
  const files = filesOf();
  const isFirst = !files.has(path);
  const file = files.getOrInsertComputed(path, () => {
    const traces = reading.readTraceFile(path);
    return { path, traces, owners: new Map(), tests: [] };
  });
  if (isFirst) {
    site.add({
      name: `traces of ${printable(path, 200)}`,
      fn: () => assertOwned(file),
    });
  }
  const own = new Map(tests.map(({ name }) => [name, new Map<string, FileTrace[]>()]));
  file.tests.push(...tests);
  for (const trace of file.traces) {
    const fitting = tests.filter((test) => isOf(trace, test, suite));
    if (fitting.length === 0) continue;
    const owners = file.owners.getOrInsertComputed(trace, () => []);
    owners.push(...fitting.map(({ subject }) => `${subject} of ${printable(suite, 100)}`));
    const [only, other] = fitting;
    if (other !== undefined) continue;
    assertTurns(trace, only!);
    own.get(only!.name)!.getOrInsertComputed(trace.model || UNNAMED, () => []).push(trace);
  }
  for (const { name, subject } of tests) tellNotes(subject, [...own.get(name)!.values()].flat());
  const all = [...own.values()];
  const names = [...new Set(all.flatMap((byModel) => [...byModel.keys()]))];
  const most = (byModels: readonly ReadonlyMap<string, readonly FileTrace[]>[]) =>
    Math.max(1, ...byModels.flatMap((one) => [...one.values()].map(({ length }) => length)));
  const draws = new Map<string, number>();
  const drawOf = (trace: FileTrace) => {
    const text = canonicalJson([trace.id ?? null, trace.model, trace.run]);
    const times = (draws.get(text) ?? 0) + 1;
    draws.set(text, times);
    return sha256(canonicalJson([text, times]));
  };
  // Plans have as many trials of each model; without a gate those that no trace is of are not needed.
  const isUneven = gate === undefined &&
    all.some((byModel) => new Set([...byModel.values()].map(({ length }) => length)).size > 1);
  const recorded = new Map(
    file.traces.map((trace): [FileTrace, TrialTrace] => [
      trace,
      { run: trace.run, draw: drawOf(trace) },
    ]),
  );
  const traceOf = ({ task, model, repetition }: PlannedTrial) =>
    isCase(task) ? own.get(task.case)?.get(model)?.[repetition - 1] : undefined;
  return {
    tests: tests.map((test): Test => {
      const byModel = own.get(test.name)!;
      // A gate decides over trials that all tests have alike.
      const found = gate !== undefined || byModel.size === 0 ? names : [...byModel.keys()];
      // Also where there is no trace at all, the model of the test must not be asked.
      const models = found.length > 0 ? found : listOf(test.options.model).map(nameOf);
      const { agent: _, strategy: __, recordings: ___, ...others } = test.options;
      const { user } = test.toolCase;
      return {
        ...test,
        // What he said stands in the traces: nobody plays him.
        toolCase: { ...test.toolCase, user: user && { ...user, model: () => ({ end: "done" }) } },
        options: {
          ...others,
          model: models.map((name) => modelOf(name, path, file.traces, test.options)),
          trials: gate === undefined ? most([byModel]) : most(all),
        },
      };
    }),
    recorded: (planned) => {
      const trace = traceOf(planned);
      return trace && recorded.get(trace);
    },
    leaves: (planned) =>
      isUneven && isCase(planned.task) && own.get(planned.task.case)!.size > 0 &&
      traceOf(planned) === undefined,
  };
}

/** Refuses what changes what a model sees: it has said what it said. */
function assertUnchanged(path: string, subject: string, options: AnyOptions): void {
  const strategies = listOf(options.strategy).map((one) =>
    typeof one === "string" ? one : one.strategy
  );
  const other = [...strategies, ...listOf(options.perturbation)]
    .find((id) => id !== "plain" && id !== "none");
  const what = other ?? (["chain", "variants", "reference"] as const).find((name) => options[name]);
  if (what === undefined) return;
  throw cannot(
    `score ${path}`,
    "strategies, perturbations, variants and chains cannot change what was said before, and no tool runs again on the " +
      "state of a reference",
    `${subject} has ${printable(what, 100)}`,
  );
}

/** Whether a trace is of a test: by the name in it or, without one, by its question and its system text. */
function isOf(trace: FileTrace, { toolCase }: TracedTest, suite: string): boolean {
  if (trace.case !== undefined) {
    return trace.case === toolCase.name && (trace.suite ?? suite) === suite;
  }
  const { system, turns: [first] } = trace.run;
  return toolCase.prompt === first?.prompt && (toolCase.system ?? "") === (system ?? "");
}

/** Refuses a conversation that the user of a test would not have had: a part of it cannot be judged as the whole. */
function assertTurns({ source, run }: FileTrace, { subject, toolCase }: TracedTest): void {
  // One that broke off is invalid however far it came, and a simulated user says what he likes.
  if (run.broken !== undefined || toolCase.user !== undefined) return;
  const [had, wanted] = [run.turns.length, 1 + (toolCase.turns?.length ?? 0)];
  if (had === wanted) return;
  throw cannot(
    `score ${source}`,
    `the user of ${subject} says ${countText(wanted, "message")}`,
    `it has ${countText(had, "message")} of the user`,
  );
}

/** A model that is not asked: where a trial has no trace, it is invalid. */
function modelOf(
  name: string,
  path: string,
  traces: readonly FileTrace[],
  { model }: AnyOptions,
): Model {
  const isProgram = (one: unknown) => isModel(one) && one.name === name && one.simulated;
  const simulated = traces.some((trace) => trace.simulated && (trace.model || UNNAMED) === name) ||
    listOf(model).some(isProgram);
  const reason = `${path} has no trace of it, or fewer than of other tests or models`;
  return { name, simulated, reply: () => Promise.reject(new InfrastructureError(reason)) };
}

/** Says what is not as it was in the traces of a test, each sentence once. */
function tellNotes(subject: string, traces: readonly FileTrace[]): void {
  const told = Map.groupBy(
    traces.flatMap(({ source, notes }) => notes.map((note) => ({ source, note }))),
    ({ note }) => note,
  );
  for (const [note, all] of told) {
    const sources = new Set(all.map(({ source }) => printable(source, 200)));
    console.error(`${subject}: ${printable(redact(note), 500)} (${listText([...sources], 3)})`);
  }
}

/** A text of a trace, in which anything may stand. */
function quoted(text: string): string {
  return JSON.stringify(printable(redact(text), 80));
}

/** Says why a trace is of no test. */
function whyOfNone(
  { case: name, run: { turns: [first] } }: FileTrace,
  tests: readonly TracedTest[],
): string {
  if (name !== undefined) return `case ${quoted(name)} is of no test`;
  if (!first?.prompt) return "it has neither a question nor a case";
  const alike = tests.find(({ toolCase }) => toolCase.prompt === first.prompt);
  const question = `question ${quoted(first.prompt)}`;
  return alike === undefined
    ? `${question} is of no test`
    : `${question} is that of ${alike.subject}, whose system text is another`;
}

/** At most this many traces or cases are named. */
const MAX_NAMED = 5;

/** Fails unless each trace is of one test. */
function assertOwned({ path, traces, owners, tests }: TraceFile): void {
  const strange = traces.filter((trace) => !owners.has(trace));
  const shared = [...owners].filter(([, own]) => own.length > 1);
  if (strange.length + shared.length === 0) return;
  const told = strange.map((trace) => `${trace.source}: ${whyOfNone(trace, tests)}`);
  const doubled = shared.map(([{ source }, own]) => `${source}: is of ${listText(own, 3)}`);
  throw new AssertionError([
    `Cannot score ${
      printable(path, 200)
    } as each trace must be of one test, by its field case or by question and ` +
    `system text: ${strange.length + shared.length} of ${traces.length} are not`,
    ...[...told, ...doubled].slice(0, MAX_NAMED).map((line) => `  ${line}`),
    ...(told.length + doubled.length > MAX_NAMED
      ? [`  and ${told.length + doubled.length - MAX_NAMED} more`]
      : []),
    `  tests: ${listText(tests.map(({ name }) => printable(name, 80)), 10)}`,
  ].join("\n"));
}
