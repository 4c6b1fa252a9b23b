/**
 * Generated tasks: a graph with names, types, values, a prompt and tool schemas
 * (FuncBenchGen, sections 3.1 and 3.4, appendices B.2 and B.3).
 * @module
 */

import { randomIntegerBetween, sample, shuffle } from "@std/random";
import {
  type CompleteGraphSpec,
  completeSpec,
  generateGraph,
  type Graph,
  type GraphSpec,
  type Names,
  type Role,
} from "./graph.ts";
import type { JsonObject } from "../../base/json.ts";
import { fork, type Stream } from "../../base/random.ts";
import { type OpenAITool, type ToolSchema, toOpenAITool } from "../../tools/tool.ts";
import { EverydayNames } from "./everyday_names.ts";
import { Numbers, Vocabulary } from "./vocabulary.ts";
import {
  type Parameter,
  pseudoWord,
  reservedWords,
  type TaskFunction,
  toTool,
  type Variable,
  writePrompt,
} from "./wording.ts";
import type { WordNames } from "./word_names.ts";
import { WorkflowNames } from "./workflow_names.ts";

/** The version of the generator: a spec and this number determine a task. */
export const GENERATOR_VERSION = 1;

/** Names a version of the generator that is not this one's, as `of generator 2`, and says where it is newer. */
export function generatorText(version: number): string {
  return `of generator ${version}` +
    (version > GENERATOR_VERSION ? ", which a newer version of toolgate has: update toolgate" : "");
}

/** A generated task. */
export interface Task {
  /** The {@linkcode GENERATOR_VERSION} that generated it. */
  readonly version: number;
  /** The spec that it was generated from. */
  readonly spec: CompleteGraphSpec;
  /** The user message. */
  readonly prompt: string;
  /** The values that the prompt gives, by variable. */
  readonly inputs: ReadonlyMap<string, number>;
  /** The variable asked for, and the right answer. */
  readonly target: { readonly variable: string; readonly value: number };
  /** The fewest calls that solve the task. */
  readonly minimumCalls: number;
  /** The true value of every output and every given input, by variable. */
  readonly values: ReadonlyMap<string, number>;
  /** The functions, in the order of `tools`. */
  readonly functions: readonly TaskFunction[];
  /** The tools that the model sees. */
  readonly tools: readonly ToolSchema[];
}

/**
 * Generates the task of `spec`: a pure function of the spec and {@linkcode GENERATOR_VERSION}.
 *
 * @throws {RangeError} If a value of `spec` is out of its range.
 *
 * @example Usage
 * ```ts
 * import { generateTask } from "@toolgate/toolgate";
 * import { assertEquals, assertStringIncludes } from "@std/assert";
 *
 * const spec = { core: 5, depth: 2, connected: 1, disconnected: 1, seed: 7 };
 * const task = generateTask(spec);
 * assertEquals(task.tools.length, 7);
 * assertEquals(task.values.get(task.target.variable), task.target.value);
 * assertStringIncludes(task.prompt, `value of variable ${task.target.variable}.`);
 * ```
 */
export function generateTask(spec: GraphSpec): Task {
  return generateApart(spec, []);
}

/** Draws names that are not in `taken`; `undefined` if names are random. */
export function wordNamesFor(
  names: Names | undefined,
  taken: Iterable<string>,
): WordNames | undefined {
  if (names === undefined) return undefined;
  return names === "workflow" ? new WorkflowNames(taken) : new EverydayNames(taken);
}

/** Generates the task of `spec`, of which no name made of words is one of `taken`. */
export function generateApart(spec: GraphSpec, taken: Iterable<string>): Task {
  const complete = completeSpec(spec);
  const graph = generateGraph(complete);
  const maker = new TaskMaker(complete, graph, taken);
  for (const role of ["core", "connected", "disconnected"] as const) maker.addRole(role);
  return maker.finish();
}

/** The share of further outputs that a function takes from one it depends on. */
const FURTHER_SHARE = 0.25;

/** Draws which outputs of a function another one consumes: one at least. */
function consumedOf(outputs: readonly Variable[], stream: Stream | undefined): readonly Variable[] {
  if (stream === undefined || outputs.length === 1) return outputs;
  const certain = sample(outputs, stream);
  return outputs.filter((one) => one === certain || stream.prng() < FURTHER_SHARE);
}

/** A function with the random number that determines its place among the tools. */
interface OrderedFunction {
  readonly place: number;
  readonly definition: TaskFunction;
  /** Example of its arguments. */
  readonly example: JsonObject | undefined;
}

/** Creates functions role by role, the core first, so that its random draws never depend on other roles. */
class TaskMaker {
  readonly #spec: CompleteGraphSpec;
  readonly #graph: Graph;
  readonly #vocabulary: Vocabulary;
  /** Omitted if names are random. */
  readonly #wordNames: WordNames | undefined;
  readonly #numbers = new Numbers();
  readonly #types: string[];
  readonly #functionNames: string[] = [];
  /** The outputs of each node. */
  readonly #outputs: (readonly Variable[])[] = [];
  /** All outputs of the core, once they are made. */
  #coreOutputs: readonly Variable[] | undefined;
  readonly #placed: OrderedFunction[] = [];
  readonly #inputs = new Map<string, number>();
  readonly #values = new Map<string, number>();

  constructor(spec: CompleteGraphSpec, graph: Graph, taken: Iterable<string>) {
    this.#spec = spec;
    this.#graph = graph;
    this.#wordNames = wordNamesFor(spec.names, taken);
    this.#vocabulary = new Vocabulary(reservedWords(spec));
    const stream = fork(spec.seed, "types");
    this.#types = Array.from(
      { length: spec.types },
      () => this.#wordNames?.type(stream) ?? `type_${this.#vocabulary.word(stream, 3)}`,
    );
  }

  addRole(role: Role): void {
    const first = this.#graph.roles.indexOf(role);
    if (first === -1) return;
    const end = this.#graph.roles.lastIndexOf(role) + 1;
    const { seed, linking, inputs: [fewest, most] } = this.#spec;
    const names = fork(seed, role, "names");
    const values = fork(seed, role, "values");
    const order = fork(seed, role, "order");
    const inputs = fork(seed, role, "inputs");
    const surface = this.#spec.surface === undefined ? undefined : fork(seed, role, "surface");
    // Further outputs draw from a stream of their own, so that functions and first outputs keep their names.
    const further = this.#spec.outputs === undefined ? undefined : fork(seed, role, "outputs");

    for (let node = first; node < end; node++) {
      if (this.#wordNames === undefined) {
        this.#functionNames.push(`func_${this.#vocabulary.word(names, 3)}`);
      }
      const output = this.#variable(names, surface, node);
      this.#values.set(output.name, this.#numbers.next(values));
      this.#outputs.push(
        further === undefined
          ? [output]
          : [output, ...this.#furtherOutputs(further, surface, node)],
      );
    }
    if (this.#wordNames !== undefined) {
      for (const name of this.#suggestedFunctions(role, names)) {
        this.#functionNames.push(this.#wordNames.function(names, name));
      }
    }
    for (let node = first; node < end; node++) {
      const own = this.#graph.parents[node]!;
      // Most functions have only one parent.
      const parents = own.length > 1 ? shuffle(own, order) : own;
      const parameters: Parameter[] = [];
      for (const parent of parents) {
        const consumed = consumedOf(this.#outputs[parent]!, further);
        for (let place = 0; place < consumed.length; place++) {
          const { name: variable, type, subtype } = consumed[place]!;
          // Drawn for both kinds of linking, so that all other names are the same.
          const own = this.#parameterName(consumed[place]!, place === 0 ? names : further!);
          parameters.push({ name: linking === "names" ? variable : own, type, subtype, variable });
        }
      }
      if (parents.length === 0) {
        for (let left = randomIntegerBetween(fewest, most, inputs); left > 0; left--) {
          const { name, type, subtype } = this.#variable(names, surface, left);
          parameters.push({ name, type, subtype, variable: name });
          if (role === "core") this.#give(name, this.#numbers.next(values));
        }
      }
      const name = this.#functionNames[node]!;
      const dependsOn = parents.map((parent) => this.#functionNames[parent]!);
      const outputs = this.#outputs[node]!;
      const output = outputs[0]!;
      this.#placed.push({
        place: order.prng(),
        definition: outputs.length === 1
          ? { name, role, parameters, output, dependsOn }
          : { name, role, parameters, output, outputs, dependsOn },
        example: surface && this.#exampleFor(parameters, surface),
      });
    }
  }

  /** Creates the outputs of a function after its first one. */
  #furtherOutputs(
    stream: Stream | undefined,
    surface: Stream | undefined,
    node: number,
  ): readonly Variable[] {
    if (stream === undefined) return [];
    const count = randomIntegerBetween(...this.#spec.outputs!, stream);
    return Array.from({ length: count - 1 }, (_, place) => {
      const output = this.#variable(stream, surface, node + place + 1);
      this.#values.set(output.name, this.#numbers.next(stream));
      return output;
    });
  }

  /** Returns example arguments with numbers that are not values of the task. */
  #exampleFor(parameters: readonly Parameter[], surface: Stream): JsonObject {
    const example: JsonObject = Object.create(null);
    for (const { name } of parameters) example[name] = this.#numbers.next(surface);
    return example;
  }

  /** Creates the next variable; on a rich surface `place` determines the style of its name. */
  #variable(names: Stream, surface: Stream | undefined, place: number): Variable {
    if (this.#wordNames !== undefined) {
      const type = sample(this.#types, names)!;
      const isRich = surface !== undefined;
      return {
        name: this.#wordNames.variable(names, type, this.#spec.names !== "misleading", {
          id: isRich && place % 4 < 2,
          camelCase: isRich && place % 2 !== 0,
        }),
        type,
        subtype: this.#wordNames.subtype(names, type),
      };
    }
    const words = [this.#vocabulary.word(names, 4, 6)];
    // Half of the names on a rich surface are ids and half of them camel case, so that few functions have all kinds.
    if (surface !== undefined) {
      words.push(place % 4 < 2 ? "id" : this.#vocabulary.word(surface, 4));
    }
    const type = sample(this.#types, names)!;
    const subtype = `subtype_${this.#vocabulary.word(names, 3)}`;
    const isCamel = surface !== undefined && place % 2 !== 0;
    return { name: this.#named(words, type, subtype, isCamel), type, subtype };
  }

  /** Joins the words of a name, with those of type and subtype in second and third place if it is to have cues. */
  #named([first, ...rest]: readonly string[], type: string, subtype: string, isCamel = false) {
    if (rest.length === 0 && this.#spec.cues === undefined) return first!;
    const cues = this.#spec.cues === undefined ? [] : [type, subtype].map(pseudoWord);
    return [first!, ...cues, ...rest].reduce((name, word) =>
      isCamel ? name + word.charAt(0).toUpperCase() + word.slice(1) : `${name}_${word}`
    );
  }

  /** Names a parameter that takes a variable by its own name. */
  #parameterName({ name: variable, type, subtype }: Variable, stream: Stream): string {
    if (this.#wordNames === undefined) {
      return this.#named([this.#vocabulary.word(stream, 4, 6)], type, subtype);
    }
    const suggested = this.#spec.names === "misleading"
      ? this.#otherThan(variable, stream)
      : variable;
    return this.#wordNames.parameter(stream, suggested);
  }

  /**
   * Returns the variable that the name of each function of a role suggests. Misleading ones suggest outputs
   * of other core functions: distractors come after the core, which they never change.
   */
  #suggestedFunctions(role: Role, stream: Stream): string[] {
    const nodes = this.#graph.roles.flatMap((one, node) => one === role ? [node] : []);
    if (this.#spec.names !== "misleading") {
      return nodes.map((node) => this.#outputs[node]![0]!.name);
    }
    if (role !== "core") return nodes.map(() => this.#otherThan(undefined, stream));
    if (nodes.length === 1) return [this.#nameOfNothing(stream)];
    // Each is named after the next one in a circle, so that none is named after itself.
    const circle = shuffle(nodes, stream);
    const next = new Map(circle.map((node, place) => [node, circle[(place + 1) % circle.length]!]));
    return nodes.map((node) => {
      const other = next.get(node)!;
      return other === this.#graph.target
        ? this.#target
        : sample(this.#outputs[other]!, stream)!.name;
    });
  }

  /** The name of a core output other than `variable`, or of nothing if there is no other one. */
  #otherThan(variable: string | undefined, stream: Stream): string {
    this.#coreOutputs ??= this.#outputs.slice(0, this.#spec.core).flat();
    const [only, ...others] = this.#coreOutputs;
    if (others.length === 0 && only!.name === variable) return this.#nameOfNothing(stream);
    for (;;) {
      const { name } = sample(this.#coreOutputs, stream)!;
      if (name !== variable) return name;
    }
  }

  /** A name like that of a variable which there is not. */
  #nameOfNothing(stream: Stream): string {
    return this.#variable(stream, undefined, 0).name;
  }

  /** The variable that the task asks for. */
  get #target(): string {
    const outputs = this.#outputs[this.#graph.target]!;
    return outputs.length === 1
      ? outputs[0]!.name
      : sample(outputs, fork(this.#spec.seed, "core", "target"))!.name;
  }

  #give(input: string, value: number): void {
    this.#inputs.set(input, value);
    this.#values.set(input, value);
  }

  finish(): Task {
    const target = this.#target;
    const placed = this.#placed.sort((one, other) => one.place - other.place);
    const given = shuffle([...this.#inputs], fork(this.#spec.seed, "prompt"));
    return {
      version: GENERATOR_VERSION,
      spec: this.#spec,
      prompt: writePrompt(target, given, this.#spec),
      inputs: new Map(given),
      target: { variable: target, value: this.#values.get(target)! },
      minimumCalls: this.#spec.core,
      values: this.#values,
      functions: placed.map(({ definition }) => definition),
      tools: placed.map(({ definition, example }) => toTool(definition, this.#spec, example)),
    };
  }
}

/** A task as plain JSON, for people and other programs, with roles, dependencies and answers. */
export interface TaskJson extends Omit<Task, "inputs" | "values" | "functions" | "tools"> {
  /** The values that the prompt gives. */
  readonly inputs: Readonly<Record<string, number>>;
  /** All outputs and given inputs. */
  readonly values: Readonly<Record<string, number>>;
  /** The functions, in the order of `tools`. */
  readonly functions: readonly (
    & Omit<TaskFunction, "parameters">
    & { readonly parameters: readonly Variable[] }
  )[];
  /** The tools that the model sees. */
  readonly tools: readonly OpenAITool[];
}

/**
 * Converts a task to plain JSON.
 */
export function taskToJson(task: Task): TaskJson {
  return {
    ...task,
    inputs: Object.fromEntries(task.inputs),
    values: Object.fromEntries(task.values),
    functions: task.functions.map((fn) => ({
      ...fn,
      parameters: fn.parameters.map(({ name, type, subtype }) => ({ name, type, subtype })),
    })),
    tools: task.tools.map(toOpenAITool),
  };
}

/** Returns the spec without default values, as journals keep it. */
export function briefSpec(spec: GraphSpec): GraphSpec {
  const { core, depth, connected, disconnected, seed } = spec;
  const sizes = { core, depth, connected, disconnected, seed };
  const usual = completeSpec(sizes);
  const others = Object.entries(completeSpec(spec)).filter(([name, value]) =>
    String(value) !== String(usual[name as keyof CompleteGraphSpec])
  );
  return { ...sizes, ...Object.fromEntries(others) };
}
