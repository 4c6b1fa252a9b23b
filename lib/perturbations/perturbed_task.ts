/**
 * Generated tasks under perturbations: what a model gets to see of one, while the task itself, by which
 * calls and answers are judged, stays what it is (Butterfly, section 4).
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import type { FaultInjector } from "../tools/fault.ts";
import type { Change, DocumentMethod, ReturnMethod } from "./methods.ts";
import { CHECKED_TASKS } from "./invariance_checks.ts";
import { CaseWork, type Done, type Step } from "./perturbed_case.ts";
import { choosePair, newOrder } from "./documents/perturb.ts";
import type { QueryParameter, Span } from "./queries/literals.ts";
import type { Query } from "./queries/parameters.ts";
import type { QueryWriter } from "./queries/write.ts";
import { perturbReturn } from "./returns.ts";
import { complicateNumber } from "./queries/numbers.ts";
import { type MetamorphicCheck, type PerturbationId, perturbationsIn } from "./ids.ts";
import { fork, forkSeed, type Stream } from "../base/random.ts";
import {
  type Clause,
  clauseOf,
  describeFunction,
  inputLine,
  PROMPT_END,
  RESERVED,
  returnText,
  type Task,
  type TaskFunction,
} from "../tasks/generated/task.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { Vocabulary } from "../tasks/generated/vocabulary.ts";

/** A task as a model gets to see it. */
export interface PerturbedTask {
  /** What calls and answers are judged by. */
  readonly task: Task;
  /** The question. */
  readonly prompt: string;
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** What the question tells: not what was removed, but also what was put in to mislead. */
  readonly told: ReadonlyMap<string, number>;
  /** What of this it gives by a number, and not in other words. */
  readonly given: ReadonlyMap<string, number>;
  /** Variables that cannot be known: inputs that the question does not tell, and what is not allowed to be had. */
  readonly withheld: ReadonlySet<string>;
  /** Whether something is withheld that is needed, so that the right answer is none. */
  readonly unsolvable: boolean;
  /** Whether every perturbation found something to change; `true` without any. */
  readonly changed: boolean;
  /** What each of them did. */
  readonly steps: readonly Step[];
  /** What goes back in place of what a function returned. */
  readonly perturbReturn: (text: string) => string;
  /** Puts faults in the way of the calls of one trial; left out without any. */
  readonly injectFault?: FaultInjector;
}

/**
 * The task under a perturbation, such as `RD` or `RP_F+CF`: a pure function of both, all that is random
 * being drawn from the task's seed.
 *
 * Of the functions' sentences, the clause of a parameter counts as its description: RD takes away what
 * stands in the parentheses, WD puts there what no function of the task produces, SD swaps two, CO brings
 * the clauses into another order. CP writes a number as a sum or in words, AN adds variables whose names are
 * nearly those of given ones, RP_F and RP_L take away a variable's line and the sentence that says that all
 * is there. Functions that the task does not need are perturbed too, and do not count as changed.
 *
 * A fault such as `timeout` hits one of the functions that the task needs, drawn from its seed: neither
 * other names nor distractors nor another order move it. `flaky` hits any function. What a task is perturbed
 * to is for one trial, whose calls faults count.
 *
 * @throws {InputError} If there is no such perturbation.
 *
 * @example Usage
 * ```ts
 * import { generateTask } from "../tasks/generated/task.ts";
 * import { perturbTask } from "./perturbed_task.ts";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const task = generateTask({ core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 });
 * const { prompt, unsolvable } = perturbTask(task, "RP_F");
 * assert(unsolvable && prompt.length < task.prompt.length);
 * assertEquals(perturbTask(task, "AP").changed, false);
 * ```
 */
export function perturbTask(task: Task, perturbation: string): PerturbedTask {
  const ids = perturbationsIn(perturbation);
  return ids.length === 0 ? asItIs(task) : new TaskWork(task).perturb(ids);
}

function asItIs(task: Task): PerturbedTask {
  const { prompt, tools, inputs: given } = task;
  const said = { withheld: new Set<string>(), unsolvable: false, changed: true, steps: [] };
  return { task, prompt, tools, told: given, given, ...said, perturbReturn: (text) => text };
}

/** Perturbs one task, step by step. */
class TaskWork extends CaseWork {
  #task: Task;
  readonly #misleading = new Map<string, number>();
  readonly #clauses = new Map<string, readonly Clause[]>();

  constructor(task: Task) {
    super(task.tools, queryOf(task), { seed: forkSeed(task.spec.seed, "perturbation") });
    this.#task = task;
    this.writer = new TaskWriter(task, this.#misleading);
  }

  perturb(ids: readonly PerturbationId[]): PerturbedTask {
    const steps = ids.map((id) => this.take(id));
    const { tools, query, removed, perturbReturn, injectFault } = this.finish(steps);
    const left = query.parameters.map(({ name, spans, value }) => {
      const [{ start, end }] = spans as [Span];
      return {
        name,
        value: value as number,
        plain: query.text.slice(start, end) === String(value),
      };
    });
    const entries = (own: typeof left) => own.map(({ name, value }) => [name, value] as const);
    const told = this.#inOrder(entries(left));
    const withheld = [...this.#task.inputs.keys()].filter((name) => !told.has(name));
    const denied = this.#task.functions.find(({ name }) => name === this.denied);
    return {
      task: this.#task,
      prompt: query.text,
      tools,
      told,
      given: this.#inOrder(entries(left.filter(({ plain }) => plain))),
      withheld: new Set([...withheld, ...(denied === undefined ? [] : [denied.output.name])]),
      unsolvable: removed || denied !== undefined,
      changed: steps.every(({ changed }) => changed),
      steps,
      perturbReturn,
      ...(injectFault === undefined ? {} : { injectFault }),
    };
  }

  /** As the task has its inputs, and then what misleads. */
  #inOrder(own: readonly (readonly [string, number])[]): Map<string, number> {
    return new Map([...own, ...this.#misleading]);
  }

  /** Checks come first: what they make is a task like any other. */
  protected override check(id: MetamorphicCheck): Done {
    const before = this.#task;
    this.#task = CHECKED_TASKS[id](before, this.seed);
    this.writer = new TaskWriter(this.#task, this.#misleading);
    this.tools = this.#task.tools;
    this.query = queryOf(this.#task);
    return { changed: this.#task !== before, changes: [] };
  }

  /** Clauses of the sentence count as descriptions of parameters; what is not needed changes nothing. */
  protected override perturbTools(id: DocumentMethod): Done {
    if (id === "RE" || id === "WT") return super.perturbTools(id);
    const { functions, spec: { linking } } = this.#task;
    const change = CLAUSES[id](this.#task);
    const changes: Change[] = [];
    let changed = false;
    this.tools = this.tools.map((tool, place): ToolSchema => {
      const { name, role, parameters, output } = functions[place]!;
      const before = this.#clauses.get(name) ??
        parameters.map((parameter) => clauseOf(parameter, linking));
      const clauses = change(before, fork(this.seed, id, name));
      const description = describeFunction(clauses, clauseOf(output, linking));
      if (description === tool.description) return tool;
      changed ||= role === "core";
      this.#clauses.set(name, clauses);
      const path = `/${place}/description`;
      changes.push({ kind: "value", path, before: tool.description, after: description });
      return { ...tool, description };
    });
    return { changed, changes };
  }

  /** The core, in the order of its values: no check changes these. */
  protected override needed(): readonly string[] {
    const { functions, values } = this.#task;
    const valueOf = (made: TaskFunction) => values.get(made.output.name)!;
    return functions.filter(({ role }) => role === "core")
      .toSorted((one, other) => valueOf(one) - valueOf(other))
      .map(({ name }) => name);
  }

  /** What the core's functions return is known before any call. */
  protected override perturbReturns(id: ReturnMethod): Done {
    const { functions, values } = this.#task;
    const returns = functions.flatMap(({ role, output: { name } }) =>
      role === "core" ? [this.returned(returnText(name, values.get(name)!))] : []
    );
    super.perturbReturns(id);
    return { changed: returns.some((text) => perturbReturn(id, text).changed), changes: [] };
  }
}

/**
 * The question with its parameters: of each, its value and the line that goes with it, and with it the
 * sentence that says that all is there.
 */
function queryOf({ prompt, inputs }: Task): Query {
  const sentence = { start: prompt.indexOf(PROMPT_END), end: prompt.length };
  let from = prompt.indexOf("\n\n") + 2;
  const parameters = Array.from(inputs, ([name, value]): QueryParameter => {
    const line = inputLine(name, value);
    const start = from;
    const end = start + line.length;
    from = end + 1;
    return {
      name,
      value,
      spans: [{ start: end - String(value).length, end }],
      information: [{ start, end }, sentence],
    };
  });
  return { text: prompt, parameters };
}

/** What another clause comes to, by method; each is made for one task. */
const CLAUSES: Readonly<
  Record<
    Exclude<DocumentMethod, "RE" | "WT">,
    (task: Task) => (clauses: readonly Clause[], stream: Stream) => readonly Clause[]
  >
> = {
  RD: () => (clauses) => clauses.map(({ name }) => ({ name, types: "" })),
  WD: (task) => {
    const { functions } = task;
    const variables = functions.flatMap(({ parameters, output }) => [...parameters, output]);
    const vocabulary = new Vocabulary(
      variables.flatMap(({ type, subtype }) => [type, subtype].map((word) => word.split("_")[1]!)),
    );
    return (clauses, stream) =>
      clauses.map(({ name, types }) => {
        if (types === "") return { name, types };
        const [type, subtype] = [vocabulary.word(stream, 3), vocabulary.word(stream, 3)];
        return { name, types: `type_${type} with subtype_${subtype}` };
      });
  },
  SD: () => (clauses, stream) => {
    const pair = choosePair(clauses.map(({ types }) => types || undefined), stream);
    if (pair === undefined) return clauses;
    const [one, other] = pair;
    const types = clauses.map((clause) => clause.types);
    [types[one], types[other]] = [types[other]!, types[one]!];
    return clauses.map(({ name }, place) => ({ name, types: types[place]! }));
  },
  CO: () => (clauses, stream) =>
    newOrder(clauses.length, stream)?.map((place) => clauses[place]!) ?? clauses,
};

const MOST_DRAWS = 20;

/** Writes about the values of a task: numbers in other words, and variables that are nearly those given. */
class TaskWriter implements QueryWriter {
  readonly lines = true;

  readonly #task: Task;
  readonly #misleading: Map<string, number>;
  readonly #names: Set<string>;
  readonly #values: Set<number>;

  /** The variables that are put in to mislead go into `misleading`. */
  constructor(task: Task, misleading: Map<string, number>) {
    this.#task = task;
    this.#misleading = misleading;
    const { functions, values } = task;
    this.#values = new Set(values.values());
    this.#names = new Set([
      ...values.keys(),
      ...functions.flatMap(({ parameters }) => parameters.map(({ name }) => name)),
      ...RESERVED,
    ]);
  }

  /** No part of a sum is a value of the task, if that can be had. */
  complicate({ name }: QueryParameter, stream: Stream): string {
    const value = this.#task.inputs.get(name)!;
    for (let draws = 1;; draws++) {
      const phrase = complicateNumber(value, stream);
      const numbers = phrase.match(/\d+/g)?.map(Number) ?? [];
      if (draws === MOST_DRAWS || numbers.every((one) => !this.#values.has(one))) return phrase;
    }
  }

  distract({ name }: QueryParameter, stream: Stream): string {
    const other = this.#near(name, stream);
    const value = this.#other(stream);
    this.#misleading.set(other, value);
    return inputLine(other, value);
  }

  /** A name that is no variable's, and differs in one letter. */
  #near(name: string, stream: Stream): string {
    const letters = /^[a-z]+/.exec(name)![0];
    for (;;) {
      const place = randomIntegerBetween(0, letters.length - 1, stream);
      const letter = sample([..."abcdefghijklmnopqrstuvwxyz"], stream)!;
      const near = name.slice(0, place) + letter + name.slice(place + 1);
      if (this.#names.has(near)) continue;
      this.#names.add(near);
      return near;
    }
  }

  /** A value that is none of the task's. */
  #other(stream: Stream): number {
    let range = 1000;
    for (let draws = 0;; draws++) {
      const value = randomIntegerBetween(range / 10, range - 1, stream);
      if (draws % 20 === 19) range *= 10;
      if (this.#values.has(value)) continue;
      this.#values.add(value);
      return value;
    }
  }
}
