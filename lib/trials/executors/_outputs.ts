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

/** The outputs of all calls in one trial. */
export class Outputs {
  readonly #task: Task;
  readonly #told: ReadonlyMap<string, number>;
  readonly #returns: Return[] = [];
  #coreValues: ReadonlySet<number> | undefined;

  /** Begins a trial whose question gives values, by variable. */
  constructor(task: Task, told: ReadonlyMap<string, number>) {
    this.#task = task;
    this.#told = told;
  }

  /** Returns the outputs of a function, and keeps them: true ones, or wrong ones derived from its arguments. */
  give(
    taskFunction: TaskFunction,
    place: CallPlace,
    wrongArguments?: readonly number[],
  ): readonly ReturnedValue[] {
    const outputs = wrongArguments === undefined
      ? this.#right(taskFunction)
      : this.#wrong(taskFunction, wrongArguments);
    const wrong = wrongArguments !== undefined;
    for (const one of outputs) this.#returns.push({ ...place, ...one, wrong });
    return outputs;
  }

  /** Whether a call returned a variable; with a value, whether it returned this one. */
  has(variable: string, value?: number): boolean {
    return this.#returns.some((one) =>
      one.variable === variable && (value === undefined || one.value === value)
    );
  }

  /**
   * What was known when a call could begin: calls of one reply cannot see each other's returns, unless one
   * had to wait for others.
   */
  knownAt(current: CallPlace): Knowledge {
    const earlier = this.#returns.filter(({ step, level }) =>
      step < current.step || (step === current.step && level < current.level)
    );
    const told = this.#told;
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
  }

  /** The true outputs of a function. */
  #right(taskFunction: TaskFunction): readonly ReturnedValue[] {
    return outputsOf(taskFunction).map(({ name }) => ({
      variable: name,
      value: this.#task.values.get(name)!,
    }));
  }

  /** Wrong values for all outputs of a function, none of them twice. */
  #wrong(taskFunction: TaskFunction, values: readonly number[]): readonly ReturnedValue[] {
    const taken = new Set<number>();
    return this.#right(taskFunction).map(({ variable, value: truth }, place) => {
      const words = ["wrong", this.#task.spec.seed, taskFunction.name, ...values];
      const value = this.#wrongValue(place === 0 ? words : [...words, variable], truth, taken);
      taken.add(value);
      return { variable, value };
    });
  }

  /**
   * A wrong value with as many digits as the true one, derived from `words`: task, function, arguments and
   * output. It is never the true value, and none of the core's or those `taken` while others are free: so its
   * origin stays clear, and distractors do not change it.
   */
  #wrongValue(
    words: readonly (string | number)[],
    truth: number,
    taken: ReadonlySet<number>,
  ): number {
    const least = 10 ** (String(truth).length - 1);
    const range = 9 * least;
    const start = Number(hash64(words.join("\u0000")) % BigInt(range));
    this.#coreValues ??= coreValuesOf(this.#task);
    let fallback = truth;
    for (let shift = 0; shift < range; shift++) {
      const value = least + (start + shift) % range;
      if (value === truth) continue;
      if (!this.#coreValues.has(value) && !taken.has(value)) return value;
      if (fallback === truth) fallback = value;
    }
    return fallback;
  }
}

function coreValuesOf({ functions, inputs, values }: Task): ReadonlySet<number> {
  const core = functions.filter(({ role }) => role === "core");
  const outputs = core.flatMap(outputsOf);
  return new Set([...inputs.values(), ...outputs.map(({ name }) => values.get(name)!)]);
}
