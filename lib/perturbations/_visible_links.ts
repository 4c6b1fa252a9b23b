/**
 * Visible links: which variable belongs to each parameter, as far as perturbed documents and names show it.
 * @module
 */

import type { Obstacle } from "./methods.ts";
import type { Task } from "../tasks/generated/task.ts";
import { type Clause, clauseOf, cueIn, outputsOf } from "../tasks/generated/wording.ts";

/** What a careful reader finds of a task. */
export interface VisibleLinks {
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
export function visibleLinks(
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
