/**
 * The wording of generated tasks: named variables and functions, and the texts that describe them to a model
 * (FuncBenchGen, appendices B.2 and B.3).
 * @module
 */

import type { CompleteGraphSpec, GraphSpec, Linking, Role } from "./graph.ts";
import { deedOf } from "./workflow_names.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A named value that a function produces or takes. */
export interface Variable {
  /** The name, unique in the task. */
  readonly name: string;
  /** The type, shared by several variables. */
  readonly type: string;
  /** The subtype, which belongs to one produced or given variable. */
  readonly subtype: string;
}

/** A parameter: it takes the value of one variable. */
export interface Parameter extends Variable {
  /** The name of the variable whose value it expects. */
  readonly variable: string;
}

/** A function of a task. */
export interface TaskFunction {
  /** The name under which it is called. */
  readonly name: string;
  /** Its role in the task; no model sees this. */
  readonly role: Role;
  /** Its parameters, in the order of its schema. */
  readonly parameters: readonly Parameter[];
  /** The variable that it produces, the first one if there are several. */
  readonly output: Variable;
  /** All variables that it produces, in order; omitted if `output` is the only one. */
  readonly outputs?: readonly Variable[];
  /** The functions whose outputs it takes, in the order of its parameters. */
  readonly dependsOn: readonly string[];
}

/** Returns all variables that a function produces. */
export function outputsOf(
  { output, outputs }: Pick<TaskFunction, "output" | "outputs">,
): readonly Variable[] {
  return outputs ?? [output];
}

const PROMPT_START =
  "Using the tools at your disposal, use functions until you are able to give me the correct " +
  "value of variable";
/** End of a question, unless information is withheld from the model. */
export const PROMPT_END = "You have all the information you need to get the correct result.";
/** What a question says of names with cues: where a description says otherwise, the description is wrong. */
const CUES_RULE =
  "The second and third words of each variable's name are those of its type and subtype.";
const RESERVED = wordsOf(
  `${PROMPT_START} ${PROMPT_END} func type subtype processes with produce is equal equals now then therefore has`,
);
/** Tasks without cues keep their words, so that they stay what they were. */
const RESERVED_WITH_CUES = [...RESERVED, ...wordsOf(CUES_RULE)];

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z]+/g)!;
}

/** Words that no pseudo-word of a task may be. */
export function reservedWords({ cues }: Pick<GraphSpec, "cues">): readonly string[] {
  return cues === "names" ? RESERVED_WITH_CUES : RESERVED;
}

/** The part of a type or a subtype that is a word of its own. */
export function pseudoWord(type: string): string {
  return type.slice(type.indexOf("_") + 1);
}

/** The words of type and subtype that a name with cues has, as one text; `undefined` if it has none. */
export function cueIn(name: string): string | undefined {
  const [, type, subtype] = name.match(/[A-Z]?[a-z]+/g) ?? [];
  return subtype === undefined ? undefined : `${type} ${subtype}`.toLowerCase();
}

/** Writes the question for a variable, with the given values. */
export function writePrompt(
  target: string,
  given: Iterable<readonly [name: string, value: number]>,
  { cues }: Pick<GraphSpec, "cues">,
): string {
  const lines = Array.from(given, (one) => inputLine(...one));
  const rule = cues === "names" ? [CUES_RULE] : [];
  return [`${PROMPT_START} ${target}.`, lines.join("\n"), ...rule, PROMPT_END].join("\n\n");
}

/** Returns the text of a function's result: an object with each variable that it produces. */
export function returnText(values: Iterable<readonly [variable: string, value: number]>): string {
  return JSON.stringify(Object.fromEntries(values));
}

/** Returns the line of a question that gives a value. */
export function inputLine(name: string, value: number | string): string {
  return `Variable ${name} = ${value}`;
}

/** Converts a function to the tool that a model sees. */
export function toTool(
  taskFunction: TaskFunction,
  spec: Pick<CompleteGraphSpec, "linking" | "names">,
  example: JsonObject | undefined,
): ToolSchema {
  const { name, parameters } = taskFunction;
  const clauses = parameters.map((parameter) => clauseOf(parameter, spec.linking));
  const tool: ToolSchema = {
    name,
    description: describeFunction(taskFunction, clauses, spec),
    strict: true,
    parameters: schemaOf(parameters),
  };
  return example === undefined ? tool : { ...tool, examples: [example] };
}

function schemaOf(parameters: readonly Parameter[]): JsonObject {
  const schema: JsonObject = Object.defineProperty({ type: "object" }, "properties", PROPERTIES);
  schema["required"] = parameters.map(({ name }) => name);
  schema["additionalProperties"] = false;
  return schema;
}

/** The properties of schemas whose properties were read. */
const PROPERTIES_READ = new WeakMap<JsonObject, JsonObject>();

/**
 * The key `properties` of a schema, which requires all of them. They are made when they are first read, which trials
 * that are played again need not do: objects with keys that were drawn take long.
 */
const PROPERTIES: PropertyDescriptor & ThisType<JsonObject> = {
  enumerable: true,
  configurable: true,
  get() {
    return getOrInsertComputed(PROPERTIES_READ, this, ({ required }) => {
      // Without a prototype no name of a parameter can clash with an inherited one.
      const made: JsonObject = Object.create(null);
      for (const name of required as string[]) made[name] = { type: "integer" };
      return made;
    });
  },
};

/** The part of a function's description about one variable. */
export interface Clause {
  /** The variable's name. */
  readonly name: string;
  /** Description of its type and subtype; empty if the description omits them. */
  readonly types: string;
}

/** Returns the part of a description about a variable. */
export function clauseOf({ name, type, subtype }: Variable, linking: Linking): Clause {
  return { name, types: linking === "names" ? "" : `${type} with ${subtype}` };
}

/**
 * Describes a function by clauses about its inputs, in order, and by its outputs. Those of a workflow also say what
 * they do: `Books the airport taxi from variable ...`.
 */
export function describeFunction(
  taskFunction: Pick<TaskFunction, "name" | "output" | "outputs">,
  inputs: readonly Clause[],
  { linking, names }: Pick<CompleteGraphSpec, "linking" | "names">,
): string {
  const start = names === "workflow" ? `${deedOf(taskFunction.name)} from` : "Processes";
  const outputs = outputsOf(taskFunction).map((output) => clauseOf(output, linking));
  return `${start} ${listClauses(inputs)} to produce ${listClauses(outputs)}`;
}

function listClauses(clauses: readonly Clause[]): string {
  let list = "";
  for (const { name, types } of clauses) {
    const lead = list === "" ? "variable " : ", variable ";
    list += types === "" ? lead + name : `${lead}${name} (${types})`;
  }
  return list;
}
