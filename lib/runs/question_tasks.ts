/**
 * Question tasks: selects which questions of call sets a suite asks, and how.
 * @module
 */

import { firstClash } from "../base/clash.ts";
import { shuffle } from "@std/random";
import type { CallFormat, CallMode } from "../tasks/questions/scoring.ts";
import { type CallQuestion, type CallSet, DIFFICULTIES } from "../tasks/questions/question_set.ts";
import { loadCallSet } from "../tasks/questions/load.ts";
import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import type { Plan, TaskSource } from "./plan.ts";
import { QuestionExecutor } from "../trials/executors/question.ts";
import { briefQuestion, isQuestion, type QuestionSpec } from "../tasks/task_kind.ts";
import { fork, type Stream } from "../base/random.ts";
import { listOf, type QuestionSet, type Suite } from "./suite.ts";
import { openTask } from "../trials/executors/tasks.ts";

/** The source of a suite's questions. */
export interface QuestionSource extends TaskSource {
  /** The call sets and their paths, by name. */
  readonly sets: NonNullable<TaskSource["sets"]>;
  /** Warnings for the user. */
  readonly warnings: readonly string[];
}

/**
 * Loads the call sets named in a suite's tasks; returns `undefined` if there are none.
 *
 * @param locate Returns the path of a set by its name.
 *
 * @throws {InputError} If a set cannot be loaded, two sets share a name, or no question is left.
 */
export function questionSource(
  tasks: Suite["tasks"],
  locate: (path: string) => string = (path) => path,
): QuestionSource | undefined {
  const entries = tasks.flatMap((entry) => "set" in entry ? [entry] : []);
  if (entries.length === 0) return undefined;
  const paths = [...new Set(entries.map((entry) => locate(entry.set)))];
  const byPath = new Map(paths.map((path) => [path, loadCallSet(path)]));
  const [one, other] = firstClash(byPath, ([, { name }]) => name) ?? [];
  if (one !== undefined) {
    throw cannot(
      `use the call sets ${one[0]} and ${other![0]} in one suite`,
      "their names must differ",
      `both are called ${printable(one[1].name, 100)}`,
    );
  }
  const sets = new Map(Array.from(byPath, ([path, set]) => [set.name, { path, set }]));
  return {
    sets,
    warnings: [...byPath.values()].flatMap(({ warnings }) => warnings),
    cells: (seed) =>
      entries.flatMap((entry) => questionSpecs(byPath.get(locate(entry.set))!, entry, seed)),
    open: (spec, options) => {
      const set = isQuestion(spec) ? sets.get(spec.set)?.set : undefined;
      if (!isQuestion(spec) || set === undefined) return openTask(spec, options);
      return new QuestionExecutor(set, spec, options);
    },
  };
}

/**
 * Adds the call sets of its questions to a plan read from elsewhere.
 *
 * @throws {InputError} If a set cannot be loaded or has changed.
 */
export function withCallSets(plan: Plan): Plan {
  const { resolved, places = {} } = plan;
  if (resolved.sets === undefined) return plan;
  const entries = Object.keys(resolved.sets).map((name): QuestionSet => {
    if (Object.hasOwn(places, name)) return { set: places[name]! };
    throw cannot(`open the call set ${printable(name, 100)}`, "its plan must have its path");
  });
  const source = questionSource(entries, (path) => path)!;
  for (const [name, hash] of Object.entries(resolved.sets)) {
    if (source.sets.get(name)?.set.hash === hash) continue;
    throw cannot(
      `open the call set ${printable(name, 100)} at ${places[name]}`,
      "it must not change after its questions were asked",
      "it has changed",
    );
  }
  const callSets = [...source.sets.values()].map(({ set }) => set);
  return { ...plan, callSets, open: source.open };
}

/** The questions selected by an entry, each in every way it is asked. */
function questionSpecs(set: CallSet, entry: QuestionSet, seed: number): QuestionSpec[] {
  const { mode = set.bfcl ? "tools" : "parameters", input = "json", output = "json" } = entry;
  const { rule = set.bfcl ? "strict" : "published" } = entry;
  const questions = selectQuestions(set, entry, seed);
  return listOf(mode).flatMap((one) =>
    formatPairs(one, listOf(input), listOf(output)).flatMap((formats) =>
      questions.map(({ id, difficulty }) =>
        briefQuestion({ set: set.name, question: id, difficulty, mode: one, rule, ...formats })
      )
    )
  );
}

function selectQuestions(
  set: CallSet,
  { set: path, difficulty = DIFFICULTIES, domain, sample: most }: QuestionSet,
  seed: number,
): readonly CallQuestion[] {
  const domains = domain === undefined ? [...set.domains.keys()] : listOf(domain);
  const unknown = domains.find((name) => !set.domains.has(name));
  if (unknown !== undefined) {
    throw cannot(
      `use the call set ${path}`,
      `there is no domain ${printable(unknown, 100)}`,
      `there are ${[...set.domains.keys()].map((name) => printable(name, 60)).join(", ")}`,
    );
  }
  const matching = set.questions.filter((question) =>
    domains.includes(question.domain) && listOf(difficulty).includes(question.difficulty)
  );
  if (matching.length === 0) {
    throw cannot(
      `use the call set ${path}`,
      "it must have a question of the domains and difficulties that are asked for",
      "it has none",
    );
  }
  return most === undefined
    ? matching
    : drawQuestions(matching, most, fork(seed, "sample", set.name));
}

/** Draws at most `most` questions of each difficulty, in their order. */
function drawQuestions(
  questions: readonly CallQuestion[],
  most: number,
  stream: Stream,
): CallQuestion[] {
  const selected = new Set(
    DIFFICULTIES.flatMap((difficulty) =>
      shuffle(questions.filter((question) => question.difficulty === difficulty), stream)
        .slice(0, most)
    ),
  );
  return questions.filter((question) => selected.has(question));
}

/** The formats in which a mode is asked: only written answers have a format. */
function formatPairs(
  mode: CallMode,
  inputs: readonly CallFormat[],
  outputs: readonly CallFormat[],
): Pick<QuestionSpec, "input" | "output">[] {
  if (mode === "tools") return [{}];
  return inputs.flatMap((input) =>
    (mode === "routing" ? ["json" as const] : outputs).map((output) => ({ input, output }))
  );
}
