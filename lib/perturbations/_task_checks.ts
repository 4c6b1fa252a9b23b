/**
 * Checks: changes of a generated task that leave it what it is, so that a sound model solves what it solved before.
 * @module
 */

import { randomIntegerBetween } from "@std/random";
import { fork, forkSeed, type Stream } from "../base/random.ts";
import { otherWords } from "../tasks/graphs/everyday_names.ts";
import { generateApart, generateTask, type Task } from "../tasks/graphs/task.ts";
import { Vocabulary } from "../tasks/graphs/vocabulary.ts";
import {
  outputsOf,
  reservedWords,
  type TaskFunction,
  toTool,
  type Variable,
  writePrompt,
} from "../tasks/graphs/wording.ts";
import { WorkflowNames } from "../tasks/graphs/workflow_names.ts";
import { newOrder } from "./documents/perturb.ts";
import type { MetamorphicCheck } from "./ids.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** How many functions the check `unrelated` adds. */
const UNRELATED = 5;

/** The checks; each returns the same task object if there is nothing to change. */
export const CHECKED_TASKS: Readonly<Record<MetamorphicCheck, (task: Task, seed: number) => Task>> =
  {
    unrelated: addUnrelated,
    rename: (task, seed) => renameTask(task, seed),
    reorder: (task, seed) => {
      const { functions, tools } = task;
      const order = newOrder(functions.length, fork(seed, "reorder"));
      return order === undefined ? task : {
        ...task,
        functions: order.map((place) => functions[place]!),
        tools: order.map((place) => tools[place]!),
      };
    },
  };

/** Mixes functions of another task into a task, whose own functions keep their order. */
function addUnrelated(task: Task, seed: number): Task {
  const { types, inputs, linking, surface, outputs, names, cues } = task.spec;
  const spec = {
    ...{
      core: 1,
      depth: 0,
      connected: 0,
      disconnected: UNRELATED,
      seed: forkSeed(seed, "unrelated"),
    },
    ...{ types, inputs, linking, surface, outputs, names, cues },
  };
  const taken = namesOf(task);
  const { functions, tools, values } = names === undefined
    ? renameTask(generateTask(spec), seed, taken)
    : generateApart(spec, taken);
  const added = functions.flatMap((fn, place) =>
    fn.role === "disconnected" ? [{ fn, tool: tools[place]! }] : []
  );
  const all = task.functions.map((fn, place) => ({ fn, tool: task.tools[place]! }));
  const stream = fork(seed, "unrelated");
  for (const one of added) all.splice(randomIntegerBetween(0, all.length, stream), 0, one);
  const newValues = added.flatMap(({ fn }) =>
    outputsOf(fn).map(({ name }) => [name, values.get(name)!] as const)
  );
  return {
    ...task,
    values: new Map([...task.values, ...newValues]),
    functions: all.map(({ fn }) => fn),
    tools: all.map(({ tool }) => tool),
  };
}

/** All names of a task. */
export function namesOf({ functions, values }: Task): string[] {
  const variables = functions.flatMap((fn) => [...fn.parameters, ...outputsOf(fn)]);
  return [
    ...functions.map(({ name }) => name),
    ...variables.flatMap(({ name, type, subtype }) => [name, type, subtype]),
    ...values.keys(),
  ];
}

/** Words in names that are not pseudo-words. */
const FIXED_WORDS: ReadonlySet<string> = new Set(["func", "type", "subtype", "id"]);

/**
 * Other names for all names of a task: pseudo-words of the same length, none of them in `taken`. Everyday words become
 * others of the same kind, so that names still help or mislead, and a workflow another one.
 */
function otherNames(task: Task, stream: Stream, taken: readonly string[]): Map<string, string> {
  const { spec } = task;
  if (spec.names === "workflow") return otherWorkflow(task, stream);
  const oldNames = namesOf(task);
  const vocabulary = new Vocabulary([
    ...reservedWords(spec),
    ...[...oldNames, ...taken].flatMap((name) => name.toLowerCase().match(/[a-z]+/g)!),
  ]);
  const everyday = spec.names === undefined ? undefined : otherWords(stream);
  // A word occurs in several names only where these have cues, or are made of everyday words.
  const words = new Map<string, string>();
  return new Map([...new Set(oldNames)].map((name) => [
    name,
    name.replaceAll(/[a-z]+|[A-Z][a-z]+/g, (word) => {
      const key = word.toLowerCase();
      if (FIXED_WORDS.has(key)) return word;
      const other = everyday?.get(key) ?? words.get(key) ?? vocabulary.word(stream, word.length);
      if (everyday === undefined) words.set(key, other);
      return word < "a" ? other.charAt(0).toUpperCase() + other.slice(1) : other;
    }),
  ]));
}

/** The names of another workflow, drawn as those of the task were. */
function otherWorkflow({ functions }: Task, stream: Stream): Map<string, string> {
  const drawing = new WorkflowNames();
  const names = new Map<string, string>();
  const variables = functions.flatMap((fn) => [...outputsOf(fn), ...fn.parameters]);
  for (const { type } of variables) getOrInsertComputed(names, type, () => drawing.type(stream));
  for (const { name, type, subtype } of variables) {
    getOrInsertComputed(names, subtype, () => drawing.subtype(stream, names.get(type)!));
    const style = { id: name.toLowerCase().endsWith("id"), camelCase: /[A-Z]/.test(name) };
    getOrInsertComputed(names, name, () => drawing.variable(stream, names.get(type)!, true, style));
  }
  for (const { name, output } of functions) {
    names.set(name, drawing.function(stream, names.get(output.name)!));
  }
  return names;
}

/** The task with other names, none of them in `taken`. */
function renameTask(task: Task, seed: number, taken: readonly string[] = []): Task {
  const { functions, inputs, target, values, tools, spec } = task;
  const names = otherNames(task, fork(seed, "rename"), taken);
  const newName = (name: string) => names.get(name)!;
  const newVariable = ({ name, type, subtype }: Variable): Variable => ({
    name: newName(name),
    type: newName(type),
    subtype: newName(subtype),
  });
  const renamed = functions.map((fn): TaskFunction => {
    const { name, role, parameters, output, outputs, dependsOn } = fn;
    return {
      name: newName(name),
      role,
      parameters: parameters.map((parameter) => ({
        ...newVariable(parameter),
        variable: newName(parameter.variable),
      })),
      output: newVariable(output),
      outputs: outputs?.map(newVariable),
      dependsOn: dependsOn.map(newName),
    };
  });
  const renameKeys = <T>(entries: Iterable<readonly [string, T]>) =>
    Array.from(entries, ([name, value]) => [newName(name), value] as const);
  const newInputs = renameKeys(inputs);
  const variable = newName(target.variable);
  return {
    ...task,
    prompt: writePrompt(variable, newInputs, spec),
    inputs: new Map(newInputs),
    target: { ...target, variable },
    values: new Map(renameKeys(values)),
    functions: renamed,
    tools: renamed.map((fn, place) => {
      const [example] = tools[place]!.examples ?? [];
      return toTool(
        fn,
        spec,
        example && Object.fromEntries(renameKeys(Object.entries(example))),
      );
    }),
  };
}
