/**
 * Call sets as tasks: which of their questions a suite asks, and how.
 * @module
 */

import { shuffle } from "@std/random";
import type { CallFormat, CallMode } from "../tasks/questions/scoring.ts";
import { type CallQuestion, type CallSet, DIFFICULTIES } from "../tasks/questions/question_set.ts";
import { loadCallSet } from "../tasks/questions/load.ts";
import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import type { Plan, TaskSource } from "./plan.ts";
import { QuestionExecutor } from "../trials/executors/question.ts";
import { isQuestion, type QuestionSpec } from "../trials/executors/task_kind.ts";
import { fork, type Stream } from "../base/random.ts";
import { listOf, type QuestionSet, type Suite } from "./suite.ts";
import { openTask } from "../trials/executors/tasks.ts";

/** Where the questions of a suite come from. */
export interface QuestionSource extends TaskSource {
  /** The call sets, by name, and where each lies. */
  readonly sets: NonNullable<TaskSource["sets"]>;
  /** What a person should know of them. */
  readonly warnings: readonly string[];
}

/**
 * Loads the call sets that the tasks of a suite name; `undefined` if there are none.
 *
 * @param locate Where a set lies that is named so.
 *
 * @throws {InputError} If a set cannot be loaded, two sets share a name, or no question is left.
 */
export function questionSource(
  tasks: Suite["tasks"],
  locate: (path: string) => string,
): QuestionSource | undefined {
  const entries = tasks.flatMap((entry) => "set" in entry ? [entry] : []);
  if (entries.length === 0) return undefined;
  const paths = [...new Set(entries.map((entry) => locate(entry.set)))];
  const byPath = new Map(paths.map((path) => [path, loadCallSet(path)]));
  const sets = new Map<string, { path: string; set: CallSet }>();
  for (const [path, set] of byPath) {
    const other = sets.get(set.name);
    if (other !== undefined) {
      throw new InputError(
        `Cannot use the call sets ${other.path} and ${path} in one suite as their names must ` +
          `differ: both are called ${printable(set.name, 100)}`,
      );
    }
    sets.set(set.name, { path, set });
  }
  return {
    sets,
    warnings: [...byPath.values()].flatMap(({ warnings }) => warnings),
    cells: (seed) =>
      entries.flatMap((entry) => questionsOf(byPath.get(locate(entry.set))!, entry, seed)),
    open: (spec, options) => {
      const set = isQuestion(spec) ? sets.get(spec.set)?.set : undefined;
      if (!isQuestion(spec) || set === undefined) return openTask(spec, options);
      return new QuestionExecutor(set, spec, options);
    },
  };
}

/**
 * A plan that was made elsewhere, with the call sets that its questions are of.
 *
 * @throws {InputError} If a set cannot be loaded, or is not what it was.
 */
export function withCallSets(plan: Plan): Plan {
  const { resolved, places = {} } = plan;
  if (resolved.sets === undefined) return plan;
  const entries = Object.keys(resolved.sets).map((name): QuestionSet => {
    if (Object.hasOwn(places, name)) return { set: places[name]! };
    throw new InputError(
      `Cannot open the call set ${printable(name, 100)} as its plan must tell where it lies`,
    );
  });
  const source = questionSource(entries, (path) => path)!;
  for (const [name, hash] of Object.entries(resolved.sets)) {
    if (source.sets.get(name)?.set.hash === hash) continue;
    throw new InputError(
      `Cannot open the call set ${printable(name, 100)} at ${places[name]} as it must be what it ` +
        "was when its questions were asked: it has changed",
    );
  }
  const callSets = [...source.sets.values()].map(({ set }) => set);
  return { ...plan, callSets, open: source.open };
}

/** The questions that an entry asks for, each in each way. */
function questionsOf(set: CallSet, entry: QuestionSet, seed: number): QuestionSpec[] {
  const { mode = "parameters", rule = "published", input = "json", output = "json" } = entry;
  const chosen = chosenOf(set, entry, seed);
  return listOf(mode).flatMap((one) =>
    waysOf(one, listOf(input), listOf(output)).flatMap((way) =>
      chosen.map(({ id, difficulty }): QuestionSpec => ({
        ...{ set: set.name, question: id, difficulty, mode: one },
        ...(rule === "published" ? {} : { rule }),
        ...way,
      }))
    )
  );
}

function chosenOf(
  set: CallSet,
  { set: path, difficulty = DIFFICULTIES, domain, sample: most }: QuestionSet,
  seed: number,
): readonly CallQuestion[] {
  const domains = domain === undefined ? [...set.domains.keys()] : listOf(domain);
  const unknown = domains.find((name) => !set.domains.has(name));
  if (unknown !== undefined) {
    throw new InputError(
      `Cannot use the call set ${path} as there is no domain ${printable(unknown, 100)}: ` +
        `there are ${[...set.domains.keys()].map((name) => printable(name, 60)).join(", ")}`,
    );
  }
  const fitting = set.questions.filter((question) =>
    domains.includes(question.domain) && listOf(difficulty).includes(question.difficulty)
  );
  if (fitting.length === 0) {
    throw new InputError(
      `Cannot use the call set ${path} as it must have a question of the domains and difficulties ` +
        "that are asked for: it has none",
    );
  }
  return most === undefined ? fitting : drawn(fitting, most, fork(seed, "sample", set.name));
}

/** So many questions of each difficulty, in their order. */
function drawn(questions: readonly CallQuestion[], most: number, stream: Stream): CallQuestion[] {
  const kept = new Set(
    DIFFICULTIES.flatMap((difficulty) =>
      shuffle(questions.filter((question) => question.difficulty === difficulty), stream)
        .slice(0, most)
    ),
  );
  return questions.filter((question) => kept.has(question));
}

/** The ways in which a mode can be asked: only what is written has a form. */
function waysOf(
  mode: CallMode,
  inputs: readonly CallFormat[],
  outputs: readonly CallFormat[],
): Pick<QuestionSpec, "input" | "output">[] {
  if (mode === "tools") return [{}];
  return inputs.flatMap((input) =>
    (mode === "routing" ? ["json" as const] : outputs).map((output) => ({
      ...(input === "json" ? {} : { input }),
      ...(output === "json" ? {} : { output }),
    }))
  );
}
