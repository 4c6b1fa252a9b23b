/**
 * Outputs: what the functions of a generated task return in one trial, right or wrong, and what is known from it.
 * @module
 */

import { hash64 } from "../../base/random.ts";
import type { Knowledge } from "../../calls/failure_types.ts";
import type { ReturnedValue } from "../../calls/trace.ts";
import type { Task } from "../../tasks/graphs/task.ts";
import { outputsOf, type TaskFunction } from "../../tasks/graphs/wording.ts";
import type { CallPlace } from "./made_call.ts";

interface Return extends CallPlace, ReturnedValue {
  readonly wrong: boolean;
}

/** Keeps the outputs of all calls in one trial, whose question gives values, by variable. */
export function outputsIn(task: Task, told: ReadonlyMap<string, number>) {
  const returns: Return[] = [];
  let coreValues: ReadonlySet<number> | undefined;

  /** The true outputs of a function. */
  const right = (taskFunction: TaskFunction): readonly ReturnedValue[] =>
    outputsOf(taskFunction).map(({ name }) => ({ variable: name, value: task.values.get(name)! }));

  /**
   * A wrong value with as many digits as the true one, derived from `words`: task, function, arguments and
   * output. It is never the true value, and none of the core's or those `taken` while others are free: so its
   * origin stays clear, and distractors do not change it.
   */
  const wrongValue = (
    words: readonly (string | number)[],
    truth: number,
    taken: ReadonlySet<number>,
  ): number => {
    const least = 10 ** (String(truth).length - 1);
    const range = 9 * least;
    const start = Number(hash64(words.join("\u0000")) % BigInt(range));
    coreValues ??= coreValuesOf(task);
    let fallback = truth;
    for (let shift = 0; shift < range; shift++) {
      const value = least + (start + shift) % range;
      if (value === truth) continue;
      if (!coreValues.has(value) && !taken.has(value)) return value;
      if (fallback === truth) fallback = value;
    }
    return fallback;
  };

  /** Wrong values for all outputs of a function, none of them twice. */
  const wrong = (taskFunction: TaskFunction, values: readonly number[]) => {
    const taken = new Set<number>();
    return right(taskFunction).map(({ variable, value: truth }, place): ReturnedValue => {
      const words = ["wrong", task.spec.seed, taskFunction.name, ...values];
      const value = wrongValue(place === 0 ? words : [...words, variable], truth, taken);
      taken.add(value);
      return { variable, value };
    });
  };

  return {
    /** Returns the outputs of a function, and keeps them: true ones, or wrong ones derived from its arguments. */
    give(taskFunction: TaskFunction, place: CallPlace, wrongArguments?: readonly number[]) {
      const outputs = wrongArguments === undefined
        ? right(taskFunction)
        : wrong(taskFunction, wrongArguments);
      const isWrong = wrongArguments !== undefined;
      for (const one of outputs) returns.push({ ...place, ...one, wrong: isWrong });
      return outputs;
    },
    /** Whether a call returned a variable; with a value, whether it returned this one. */
    has: (variable: string, value?: number): boolean =>
      returns.some((one) =>
        one.variable === variable && (value === undefined || one.value === value)
      ),
    /**
     * What was known when a call could begin: calls of one reply cannot see each other's returns, unless one
     * had to wait for others.
     */
    knownAt(current: CallPlace): Knowledge {
      const earlier = returns.filter(({ step, level }) =>
        step < current.step || (step === current.step && level < current.level)
      );
      return {
        isEstablished: (variable) =>
          told.has(variable) || earlier.some((result) => result.variable === variable),
        ownerOf: (value) =>
          told.entries().find((one) => one[1] === value)?.[0] ??
            earlier.find((result) => result.value === value)?.variable,
        wrongReturn: (value, variable) => {
          const wrong = earlier.filter((result) => result.wrong && result.value === value);
          return (wrong.find((result) => result.variable === variable) ?? wrong[0])?.call;
        },
      };
    },
  };
}

function coreValuesOf({ functions, inputs, values }: Task): ReadonlySet<number> {
  const core = functions.filter(({ role }) => role === "core");
  const outputs = core.flatMap(outputsOf);
  return new Set([...inputs.values(), ...outputs.map(({ name }) => values.get(name)!)]);
}
