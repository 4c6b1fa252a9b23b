/**
 * What simulated models write where a stage asks for a plan or a list of functions.
 * @module
 */

import { writeValue } from "./arguments.ts";
import type { FunctionReading } from "./functions.ts";
import { inOrder, link, type Links, producersFor } from "./linking.ts";
import type { Listed, StageReading } from "./stages.ts";

/** How a list goes wrong. */
export interface StageMistakes {
  /** The name that is written for a function. */
  readonly write: (name: string) => string;
  /** The function that a name on a list stands for. */
  readonly mean: (name: string) => string;
  /** A function that is picked without need, given those that are needed. */
  readonly pick: (needed: ReadonlySet<FunctionReading>) => FunctionReading | undefined;
}

const NONE: StageMistakes = {
  write: (name) => name,
  mean: (name) => name,
  pick: () => undefined,
};

/** Stands on a list for what is not known yet. */
const UNKNOWN = "$$$";
/** Stands behind a list that is complete. */
const STOP = "<!stop>";

/** What to say where it is not known which functions are needed. */
export const DO_NOT_KNOW = "I do not know which functions are needed.";

/** The answer to a stage, which `mistakes` may spoil. */
export function writeStage(stage: StageReading, mistakes: StageMistakes = NONE): string {
  const { kind, target, inputs } = stage;
  const links = link(stage);
  const needed = inOrder(target, links, inputs);
  const given = target !== undefined && inputs.has(target);
  if (needed.length === 0 && !given) return DO_NOT_KNOW;
  switch (kind) {
    case "plan":
      return writePlan(stage, links, needed);
    case "route": {
      const picked = mistakes.pick(new Set(needed));
      const functions = picked === undefined ? needed : [...needed, picked];
      return `[${functions.map(({ name }) => `'${mistakes.write(name)}'`).join(", ")}]`;
    }
    case "final":
      return writeList(needed.slice(-1).map((one) => enter(one, stage, links, mistakes)));
    case "missing":
      return complete(stage, links, needed, mistakes);
  }
}

/** One numbered step a call, with the values that are given and the steps that return the others. */
function writePlan(
  { target, inputs }: StageReading,
  { producers, variableOf }: Links,
  needed: readonly FunctionReading[],
): string {
  const steps = new Map(needed.map((one, place) => [one, place + 1]));
  const sourceOf = (variable: string | undefined) => {
    if (variable === undefined) return "a value that is not known";
    if (inputs.has(variable)) return inputs.get(variable);
    const producer = producers.get(variable);
    const step = producer === undefined ? undefined : steps.get(producer);
    return step === undefined ? "a value that is not known" : `the result of step ${step}`;
  };
  const lines = needed.map(({ name, parameters }, place) => {
    const given = parameters.map((parameter) =>
      `${parameter.name} = ${sourceOf(variableOf(parameter))}`
    );
    return `${place + 1}. ${name}(${given.join(", ")})`;
  });
  return [...lines, `The answer, variable ${target}, is ${sourceOf(target)}.`].join("\n");
}

/** A function's place on a list: what is given stands there, what others return does not. */
function enter(
  listed: FunctionReading,
  { inputs }: StageReading,
  { variableOf }: Links,
  { write }: StageMistakes,
): Listed {
  const { name, parameters } = listed;
  const values = parameters.map((parameter) => {
    const variable = variableOf(parameter);
    const value = variable === undefined ? undefined : inputs.get(variable);
    const own = parameter.name;
    return [own, value === undefined ? UNKNOWN : writeValue(listed, own, value)] as const;
  });
  return { name: write(name), parameters: Object.fromEntries(values) };
}

/**
 * The list of the last answer and, in an order in which all can be called, what its functions wait for
 * directly. One that lacks nothing is complete.
 */
function complete(
  stage: StageReading,
  links: Links,
  needed: readonly FunctionReading[],
  mistakes: StageMistakes,
): string {
  const { functions, inputs, list } = stage;
  // Where there is no list yet, it begins with the final call.
  const entries = new Map(
    list.length > 0
      ? list.map((entry) => [mistakes.mean(entry.name), entry])
      : needed.slice(-1).map((one) => [one.name, enter(one, stage, links, mistakes)]),
  );
  const listed = Array.from(entries.keys(), (name) => functions.get(name))
    .filter((one) => one !== undefined);
  const missing = new Set(
    listed.flatMap((one) => [...producersFor(one, links, inputs)])
      .filter(({ name }) => !entries.has(name)),
  );
  const isComplete = missing.size === 0 &&
    listed.every(({ parameters }) =>
      parameters.every((parameter) => {
        const variable = links.variableOf(parameter);
        return variable !== undefined && (inputs.has(variable) || links.producers.has(variable));
      })
    );
  const ranks = new Map(needed.map(({ name }, rank) => [name, rank]));
  const rank = (name: string) => ranks.get(name) ?? -1;
  const ordered = [
    ...Array.from(missing, (one) => [one.name, enter(one, stage, links, mistakes)] as const),
    ...entries,
  ].sort(([one], [other]) => rank(one) - rank(other));
  return writeList(ordered.map(([, entry]) => entry)) + (isComplete ? ` ${STOP}` : "");
}

function writeList(list: readonly Listed[]): string {
  return JSON.stringify({
    API: list.map(({ name }) => name),
    parameters: list.map(({ parameters }) => parameters),
  });
}
