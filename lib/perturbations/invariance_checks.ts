/**
 * Metamorphic checks: changes of a generated task that leave it what it is.
 * @module
 */

import { randomIntegerBetween } from "@std/random";
import { newOrder } from "./documents/perturb.ts";
import type { MetamorphicCheck } from "./ids.ts";
import { fork, forkSeed } from "../base/random.ts";
import {
  generateTask,
  RESERVED,
  type Task,
  type TaskFunction,
  toTool,
  type Variable,
  writePrompt,
} from "../tasks/generated/task.ts";
import { Vocabulary } from "../tasks/generated/vocabulary.ts";

/** How many functions the check `unrelated` adds. */
const UNRELATED = 5;

/** The checks: each gives the very same task where there is nothing to change. */
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

/** The task with functions of another one among its own, which stay as they are and in their order. */
function addUnrelated(task: Task, seed: number): Task {
  const { types, inputs, linking, surface } = task.spec;
  const other = generateTask({
    ...{
      core: 1,
      depth: 0,
      connected: 0,
      disconnected: UNRELATED,
      seed: forkSeed(seed, "unrelated"),
    },
    ...{ types, inputs, linking, ...(surface === undefined ? {} : { surface }) },
  });
  const { functions, tools, values } = renameTask(other, seed, namesOf(task));
  const added = functions.flatMap((made, place) =>
    made.role === "disconnected" ? [{ made, tool: tools[place]! }] : []
  );
  const all = task.functions.map((made, place) => ({ made, tool: task.tools[place]! }));
  const stream = fork(seed, "unrelated");
  for (const one of added) all.splice(randomIntegerBetween(0, all.length, stream), 0, one);
  const outputs = added.map(({ made: { output: { name } } }) => [name, values.get(name)!] as const);
  return {
    ...task,
    values: new Map([...task.values, ...outputs]),
    functions: all.map(({ made }) => made),
    tools: all.map(({ tool }) => tool),
  };
}

/** All names of a task. */
function namesOf({ functions, values }: Task): string[] {
  const variables = functions.flatMap(({ parameters, output }) => [...parameters, output]);
  return [
    ...functions.map(({ name }) => name),
    ...variables.flatMap(({ name, type, subtype }) => [name, type, subtype]),
    ...values.keys(),
  ];
}

/** What names hold beside pseudo-words. */
const KEPT: ReadonlySet<string> = new Set(["func", "type", "subtype", "id"]);

/** The task with other pseudo-words of the same length in all names, and none of those that are `taken`. */
function renameTask(task: Task, seed: number, taken: readonly string[] = []): Task {
  const { functions, inputs, target, values, tools, spec } = task;
  const stream = fork(seed, "rename");
  const old = namesOf(task);
  const vocabulary = new Vocabulary([
    ...RESERVED,
    ...[...old, ...taken].flatMap((name) => name.toLowerCase().match(/[a-z]+/g)!),
  ]);
  const names = new Map([...new Set(old)].map((name) => [
    name,
    name.replaceAll(/[a-z]+|[A-Z][a-z]+/g, (word) => {
      if (KEPT.has(word.toLowerCase())) return word;
      const other = vocabulary.word(stream, word.length);
      return word < "a" ? other.charAt(0).toUpperCase() + other.slice(1) : other;
    }),
  ]));
  const other = (name: string) => names.get(name)!;
  const otherVariable = ({ name, type, subtype }: Variable): Variable => ({
    name: other(name),
    type: other(type),
    subtype: other(subtype),
  });
  const renamed = functions.map(({ name, role, parameters, output, dependsOn }): TaskFunction => ({
    name: other(name),
    role,
    parameters: parameters.map((parameter) => ({
      ...otherVariable(parameter),
      variable: other(parameter.variable),
    })),
    output: otherVariable(output),
    dependsOn: dependsOn.map(other),
  }));
  const otherKeys = <T>(entries: Iterable<readonly [string, T]>) =>
    Array.from(entries, ([name, value]) => [other(name), value] as const);
  const given = otherKeys(inputs);
  const variable = other(target.variable);
  return {
    ...task,
    prompt: writePrompt(variable, given),
    inputs: new Map(given),
    target: { ...target, variable },
    values: new Map(otherKeys(values)),
    functions: renamed,
    tools: renamed.map((made, place) => {
      const [example] = tools[place]!.examples ?? [];
      return toTool(
        made,
        spec.linking,
        example && Object.fromEntries(otherKeys(Object.entries(example))),
      );
    }),
  };
}
