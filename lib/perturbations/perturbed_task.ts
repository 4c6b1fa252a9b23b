/**
 * Perturbed tasks: a generated task as the model sees it. Calls and answers are still judged by the original
 * task (Butterfly, section 4).
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import { type FaultId, faultIn } from "../tools/fault.ts";
import type { Change, DocumentMethod, Obstacle, ReturnMethod } from "./methods.ts";
import { CasePerturber, type PerturbedCase, type StepResult } from "./perturbed_case.ts";
import { choosePair, newOrder } from "./documents/perturb.ts";
import type { Query, QueryParameter, Span } from "./queries/literals.ts";
import type { QueryWriter } from "./queries/_query_writer.ts";
import { perturbReturn } from "./returns.ts";
import { complicateNumber } from "./queries/_numbers.ts";
import { type MetamorphicCheck, type PerturbationId, perturbationsIn } from "./ids.ts";
import { fork, forkSeed, type Stream } from "../base/random.ts";
import { type Task, wordNamesFor } from "../tasks/graphs/task.ts";
import {
  type Clause,
  clauseOf,
  cueIn,
  describeFunction,
  inputLine,
  outputsOf,
  PROMPT_END,
  reservedWords,
  returnText,
  type TaskFunction,
} from "../tasks/graphs/wording.ts";
import type { InstructionInjector } from "../tools/injection.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { instructionInjector } from "./_injections.ts";
import { CHECKED_TASKS, namesOf } from "./_task_checks.ts";
import { WorkflowNames } from "../tasks/graphs/workflow_names.ts";
import { Vocabulary } from "../tasks/graphs/vocabulary.ts";

/** A task as the model sees it. */
export interface PerturbedTask extends Omit<PerturbedCase, "query" | "removed"> {
  /** The task by which calls and answers are judged. */
  readonly task: Task;
  /** The question. */
  readonly prompt: string;
  /** The values in the question: without those removed, with those inserted to mislead. */
  readonly told: ReadonlyMap<string, number>;
  /** Those of them given as plain numbers, not in other words. */
  readonly given: ReadonlyMap<string, number>;
  /**
   * Variables that cannot be known: inputs missing from the question, the output of a denied function, and
   * parameters of which nothing shows what values they take.
   */
  readonly withheld: ReadonlySet<string>;
  /** Whether nothing that a model sees leads to the right answer. */
  readonly unsolvable: boolean;
  /** What is in the way; omitted where nothing is. */
  readonly obstacle?: Obstacle;
  /** Whether every perturbation found something to change; `true` without any. */
  readonly changed: boolean;
  /** Two functions that do the same, of which that called first is gone for good; omitted without `gone`. */
  readonly twins?: Twins;
}

/** A function of a task, and another one on offer that does the same under another name. */
export interface Twins {
  /** The name of the function of the task. */
  readonly name: string;
  /** The other one. */
  readonly other: TaskFunction;
  /** The other one as a tool, before any perturbation. */
  readonly tool: ToolSchema;
}

/**
 * Applies a perturbation such as `RD` or `RP_F+CF` to a task. A pure function: all random draws come from
 * the task's seed.
 *
 * The clause of a parameter in a function's description counts as the parameter's description: RD removes
 * its types in parentheses, WD replaces them by types that no function of the task produces, SD swaps two, CO
 * reorders the clauses. CP writes a number as arithmetic or in words, AN adds variables with names similar to
 * given ones, RP_F and RP_L remove a variable's line and the sentence that says all inputs are given.
 * Functions that the task does not need are perturbed too, and do not count as changed. WT also drops `strict`,
 * with which a provider would force the wrong types on a model.
 *
 * Where descriptions alone tell which output belongs to a parameter, RD, WD and SD leave a task without an
 * answer, unless its names have cues: this is found from what is left to see, in names, descriptions and
 * question. WT leaves every task its answer, as values and refusals show the right types.
 *
 * A fault such as `timeout` hits one of the functions that the task needs, drawn from its seed: new names,
 * distractors or another order do not change which. `flaky` hits any function. Under `gone`, a needed function
 * is on offer twice, described alike under two names, and the one of these that is called first is gone. Under
 * `II`, each return of one of the functions that the task needs, drawn from its seed, carries an instruction. The
 * result serves one trial, as its faults count calls.
 *
 * @throws {InputError} If the perturbation is unknown.
 */
export function perturbTask(task: Task, perturbation: string): PerturbedTask {
  const ids = perturbationsIn(perturbation);
  return ids.length === 0 ? unperturbed(task) : new TaskPerturber(task).perturb(ids);
}

function unperturbed(task: Task): PerturbedTask {
  const { prompt, tools, inputs: given } = task;
  const rest = { withheld: new Set<string>(), unsolvable: false, changed: true, steps: [] };
  return { task, prompt, tools, told: given, given, ...rest, perturbReturn: (text) => text };
}

/** Perturbs one task, step by step. */
class TaskPerturber extends CasePerturber {
  #task: Task;
  readonly #misleading = new Map<string, number>();
  readonly #clauses = new Map<string, readonly Clause[]>();
  #twins: Twins | undefined;

  constructor(task: Task) {
    super(task.tools, queryOf(task), { seed: forkSeed(task.spec.seed, "perturbation") });
    this.#task = task;
    this.writer = new TaskWriter(task, this.#misleading);
  }

  perturb(ids: readonly PerturbationId[]): PerturbedTask {
    const steps = ids.map((id) => this.take(id));
    const { tools, query, removed, perturbReturn, injectFault, injectInstruction } = this.finish(
      steps,
    );
    const remaining = query.parameters.map(({ name, spans, value }) => {
      const [{ start, end }] = spans as [Span];
      return {
        name,
        value: value as number,
        plain: query.text.slice(start, end) === String(value),
      };
    });
    const entries = (list: typeof remaining) =>
      list.map(({ name, value }) => [name, value] as const);
    const stated = this.#inOrder(entries(remaining));
    const withheld = [...this.#task.inputs.keys()].filter((name) => !stated.has(name));
    const denied = this.#task.functions.find(({ name }) => name === this.denied);
    const links = visibleLinks(this.#task, this.#clauses);
    const obstacle: Obstacle | undefined = removed
      ? "removed"
      : denied !== undefined
      ? "denied"
      : links.obstacle;
    return {
      task: this.#task,
      prompt: query.text,
      tools,
      told: stated,
      given: this.#inOrder(entries(remaining.filter(({ plain }) => plain))),
      withheld: new Set([
        ...withheld,
        ...(denied === undefined ? [] : outputsOf(denied).map(({ name }) => name)),
        ...links.unlinked,
      ]),
      unsolvable: obstacle !== undefined,
      obstacle,
      changed: steps.every(({ changed }) => changed),
      steps,
      perturbReturn,
      injectFault,
      injectInstruction,
      twins: this.#twins,
    };
  }

  /** The inputs in the order of the task, then the misleading values. */
  #inOrder(inputs: readonly (readonly [string, number])[]): Map<string, number> {
    return new Map([...inputs, ...this.#misleading]);
  }

  /** Checks come first and result in a plain task, so all other state can start again from it. */
  protected override check(id: MetamorphicCheck): StepResult {
    const before = this.#task;
    this.#task = CHECKED_TASKS[id](before, this.seed);
    this.writer = new TaskWriter(this.#task, this.#misleading);
    this.tools = this.#task.tools;
    this.query = queryOf(this.#task);
    return { changed: this.#task !== before, changes: [] };
  }

  /** Clauses count as descriptions of parameters; only changes to needed functions count as changed. */
  protected override perturbTools(id: DocumentMethod): StepResult {
    if (id === "RE" || id === "WT") return super.perturbTools(id);
    const { functions, spec: { linking } } = this.#task;
    const change = CLAUSES[id](this.#task);
    const changes: Change[] = [];
    let changed = false;
    this.tools = this.tools.map((tool, place): ToolSchema => {
      const { name, role, parameters } = functions[place]!;
      const before = this.#clauses.get(name) ??
        parameters.map((parameter) => clauseOf(parameter, linking));
      const clauses = change(before, fork(this.seed, id, name));
      const description = describeFunction(functions[place]!, clauses, this.#task.spec);
      if (description === tool.description) return tool;
      changed ||= role === "core";
      this.#clauses.set(name, clauses);
      const path = `/${place}/description`;
      changes.push({ kind: "value", path, before: tool.description, after: description });
      return { ...tool, description };
    });
    return { changed, changes };
  }

  /** Whichever of two functions that do the same is called first is gone, so that each trial can meet the fault. */
  protected override fault(id: FaultId): StepResult {
    const { functions } = this.#task;
    if (id !== "gone") return super.fault(id);
    const stream = fork(this.seed, "fault", id);
    // One that no call may reach would be to be had by the other name.
    const name = sample(this.needed().filter((needed) => needed !== this.denied), stream);
    const original = functions.find((one) => one.name === name);
    if (name === undefined || original === undefined) return { changed: false, changes: [] };
    const { spec } = this.#task;
    const taken = functions.map((one) => one.name.slice(one.name.lastIndexOf("_") + 1));
    const twin = spec.names === "workflow"
      ? new WorkflowNames(namesOf(this.#task)).function(stream, original.output.name)
      : `func_${new Vocabulary([...reservedWords(spec), ...taken]).word(stream, 3)}`;
    const place = randomIntegerBetween(0, this.tools.length, stream);
    const offered = this.tools.find((tool) => tool.name === name)!;
    this.tools = this.tools.toSpliced(place, 0, { ...offered, name: twin });
    const tool = { ...this.#task.tools.find((tool) => tool.name === name)!, name: twin };
    this.#twins = { name, other: { ...original, name: twin }, tool };
    let first: string | undefined;
    this.aim({
      ...faultIn(id),
      hits: (called) => (called === name || called === twin) && (first ??= called) === called,
    });
    return { changed: true, changes: [{ kind: "value", path: `/${place}`, after: twin }] };
  }

  /**
   * Returns of one of the functions that the task needs carry the instruction, so that every model that solves it reads
   * it. It demands a call of a function that the task does not need, or of one that it needs with other values.
   */
  protected override injector(): InstructionInjector {
    const { functions, tools } = this.#task;
    const reachable = this.needed().filter((name) => name !== this.denied);
    const carrier = sample(reachable, fork(this.seed, "II carrier"));
    const twin = this.#twins?.name === carrier ? this.#twins?.other.name : undefined;
    const irrelevant = tools.filter((_, place) => functions[place]!.role !== "core");
    return instructionInjector({
      seed: this.seed,
      carries: (name) => name === carrier || name === twin,
      callable: () => irrelevant.length === 0 ? tools : irrelevant,
    });
  }

  /** The core functions, in the order of their values, as no check changes these. */
  protected override needed(): readonly string[] {
    const { functions, values } = this.#task;
    const outputValue = (fn: TaskFunction) => values.get(fn.output.name)!;
    return functions.filter(({ role }) => role === "core")
      .toSorted((one, other) => outputValue(one) - outputValue(other))
      .map(({ name }) => name);
  }

  /** The returns of the core functions are known before any call. */
  protected override perturbReturns(id: ReturnMethod): StepResult {
    const { functions, values } = this.#task;
    const returns = functions.filter(({ role }) => role === "core").map((fn) =>
      this.returned(returnText(outputsOf(fn).map(({ name }) => [name, values.get(name)!])))
    );
    super.perturbReturns(id);
    return { changed: returns.some((text) => perturbReturn(id, text).changed), changes: [] };
  }
}

/**
 * The question with its parameters. The information of each is its line and the sentence that says all inputs
 * are given.
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

/** For each method, a function that, made for one task, changes the clauses of a description. */
const CLAUSES: Readonly<
  Record<
    Exclude<DocumentMethod, "RE" | "WT">,
    (task: Task) => (clauses: readonly Clause[], stream: Stream) => readonly Clause[]
  >
> = {
  RD: () => (clauses) => clauses.map(({ name }) => ({ name, types: "" })),
  WD: (task) => {
    const { functions } = task;
    const variables = functions.flatMap((fn) => [...fn.parameters, ...outputsOf(fn)]);
    const newTypes = typesApart(task, variables.flatMap(({ type, subtype }) => [type, subtype]));
    return (clauses, stream) =>
      clauses.map(({ name, types }) => ({ name, types: types === "" ? types : newTypes(stream) }));
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

/** Returns a function that draws types with subtypes of a task's kind, none of them in `taken`. */
function typesApart({ spec }: Task, taken: readonly string[]): (stream: Stream) => string {
  const names = wordNamesFor(spec.names, taken);
  if (names !== undefined) {
    return (stream) => {
      const type = names.type(stream);
      return `${type} with ${names.subtype(stream, type)}`;
    };
  }
  const vocabulary = new Vocabulary(taken.map((word) => word.split("_")[1]!));
  return (stream) => {
    const [type, subtype] = [vocabulary.word(stream, 3), vocabulary.word(stream, 3)];
    return `type_${type} with subtype_${subtype}`;
  };
}

const MAX_DRAWS = 20;

/** Rewrites the values of a task: numbers in other words, and variables with names similar to given ones. */
class TaskWriter implements QueryWriter {
  readonly lines = true;

  readonly #names: Set<string>;
  readonly #values: Set<number>;

  /** Variables inserted to mislead are added to `misleading`. */
  constructor(readonly task: Task, readonly misleading: Map<string, number>) {
    const { functions, values } = task;
    this.#values = new Set(values.values());
    this.#names = new Set([
      ...values.keys(),
      ...functions.flatMap(({ parameters }) => parameters.map(({ name }) => name)),
      ...reservedWords(task.spec),
    ]);
  }

  /** If possible, no part of the sum is a value of the task. */
  complicate({ name }: QueryParameter, stream: Stream): string {
    const value = this.task.inputs.get(name)!;
    for (let draws = 1;; draws++) {
      const phrase = complicateNumber(value, stream);
      const numbers = phrase.match(/\d+/g)?.map(Number) ?? [];
      if (draws === MAX_DRAWS || numbers.every((one) => !this.#values.has(one))) return phrase;
    }
  }

  distract({ name }: QueryParameter, stream: Stream): string {
    const other = this.#nearName(name, stream);
    const value = this.#freshValue(stream);
    this.misleading.set(other, value);
    return inputLine(other, value);
  }

  /** An unused name that differs from `name` in one letter. */
  #nearName(name: string, stream: Stream): string {
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

  /** A value that does not occur in the task. */
  #freshValue(stream: Stream): number {
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

/** What a careful reader finds of a task. */
interface VisibleLinks {
  /** What keeps a careful reader from the right answer; `undefined` if nothing does. */
  readonly obstacle: Extract<Obstacle, "unlinked" | "misleading"> | undefined;
  /** The parameters of which nothing shows what values they take. */
  readonly unlinked: ReadonlySet<string>;
}

/**
 * Solves a task as a careful reader of it would, from the target back. Names come before descriptions, as calls
 * are made by them, and as the question says what their words mean. Nothing is guessed: a parameter that no
 * name and no description links has no variable.
 *
 * @param changed The inputs of descriptions that were changed, by function.
 */
function visibleLinks(
  { spec, functions, inputs, target }: Task,
  changed: ReadonlyMap<string, readonly Clause[]>,
): VisibleLinks {
  const unlinked = new Set<string>();
  if (changed.size === 0) return { obstacle: undefined, unlinked };
  const cueOf = (name: string) => spec.cues === "names" ? cueIn(name) : undefined;
  const produced = functions.flatMap((fn) => outputsOf(fn).map((output) => ({ fn, output })));
  const producers = new Map(produced.map(({ fn, output }) => [output.name, fn]));
  const byTypes = new Map<string | undefined, string>();
  const byCue = new Map<string | undefined, string>();
  for (const { output } of produced) {
    byTypes.set(clauseOf(output, spec.linking).types || undefined, output.name);
    byCue.set(cueOf(output.name), output.name);
  }
  // What shows nothing shows no variable.
  for (const shown of [byTypes, byCue]) shown.delete(undefined);

  const linked = new Map(functions.map(({ name, parameters }) => {
    const types = new Map(changed.get(name)?.map((clause) => [clause.name, clause.types]));
    const variables = parameters.map((parameter) => {
      const { name } = parameter;
      if (inputs.has(name) || producers.has(name)) return name;
      const shown = types.get(name) ?? clauseOf(parameter, spec.linking).types;
      const variable = byCue.get(cueOf(name)) ?? byTypes.get(shown);
      if (variable === undefined && producers.has(parameter.variable)) unlinked.add(name);
      return variable;
    });
    return [name, variables];
  }));

  let isMisled = false;
  const needed = new Set([producers.get(target.variable)!]);
  for (const { name, parameters } of needed) {
    const variables = linked.get(name)!;
    for (const [place, { name, variable }] of parameters.entries()) {
      if (unlinked.has(name)) return { obstacle: "unlinked", unlinked };
      isMisled ||= variables[place] !== variable;
      const producer = producers.get(variable);
      if (producer !== undefined) needed.add(producer);
    }
  }
  return { obstacle: isMisled ? "misleading" : undefined, unlinked };
}
