/**
 * Parses the functions of a request: their names, schemas and descriptions.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { schemasFor } from "../tools/schema/position.ts";
import { type ChatTool, functionOf } from "./_wire.ts";

/** A parameter or an output of a function. */
export interface Slot {
  /** Its name. */
  readonly name: string;
  /** Type and subtype as one text; `undefined` if the description gives none. */
  readonly type: string | undefined;
}

/** A function as its schema and description describe it. */
export interface FunctionReading {
  /** Its name. */
  readonly name: string;
  /** Its parameters, in the order of the schema, except those for its result's name and its explanation. */
  readonly parameters: readonly Slot[];
  /** The variables that it produces, as far as the description names them. */
  readonly outputs: readonly Slot[];
  /** The parameter that names the result of a call, if there is one. */
  readonly result: string | undefined;
  /** The parameter in which a call is explained, if there is one. */
  readonly explanation: string | undefined;
  /** The parameters that accept references to results of calls in the same reply, such as `$1.x`. */
  readonly references: ReadonlySet<string>;
  /** The JSON Schema of its arguments. */
  readonly schema: JsonObject;
  /** Whether it takes numbers as they are, also where its schema declares another type. */
  readonly takesNumbers?: boolean;
}

/** The description of a parameter that names the result (Indirection, "Adding a Level"). */
const NAMES_RESULT = "Descriptive unique variable @name for the result of evaluating the function.";

/** The description of a parameter that explains the call (Indirection, "Thinking silently"). */
const EXPLAINS = "Why this call is made and what its result is for, in your own words.";

/** Parses functions; returns them by name. */
export function readFunctions(
  functions: readonly ChatTool["function"][],
): ReadonlyMap<string, FunctionReading> {
  return new Map(functions.map((one) => [one.name, readFunction(one)]));
}

function readFunction(
  { name, description = "", parameters = {} }: ChatTool["function"],
): FunctionReading {
  // Ignore examples and schemas of returns after it, as their texts may contain anything.
  const [sentence = ""] = description.split(/\n(?:Example|Returns): /, 1);
  const split = sentence.indexOf(" to produce ");
  const [consumed, produced] = split === -1
    ? [sentence, ""]
    : [sentence.slice(0, split), sentence.slice(split)];
  const types = new Map(readClauses(consumed).map((variable) => [variable.name, variable.type]));
  const properties = parameters["properties"];
  const schemas = isJsonObject(properties) ? Object.entries(properties) : [];
  const [result, explanation] = [NAMES_RESULT, EXPLAINS].map((text) =>
    schemas.find(([, schema]) => isJsonObject(schema) && schema["description"] === text)?.[0]
  );
  return {
    name,
    parameters: schemas.flatMap(([key]) =>
      key === result || key === explanation ? [] : [{ name: key, type: types.get(key) }]
    ),
    outputs: readClauses(produced),
    ...{ result, explanation },
    references: new Set(
      schemas.flatMap(([key, schema]) => takesReferences(parameters, schema) ? [key] : []),
    ),
    schema: parameters,
  };
}

/** The start of the `pattern` of a schema for references. */
const REFERENCE = "^\\$";

function takesReferences(root: JsonObject, schema: JsonValue): boolean {
  return schemasFor(root, [schema]).parts.some(({ pattern }) =>
    typeof pattern === "string" && pattern.startsWith(REFERENCE)
  );
}

/** Parses clauses like `variable mfmjsy (type_uxe with subtype_muw)`, with or without the parenthesis. */
function readClauses(text: string): Slot[] {
  return Array.from(
    text.matchAll(/\bvariable (\w+)(?: \(([\w ]+)\))?/g),
    ([, name, types]) => ({
      name: name!,
      type: types?.includes(" with ") ? types.replace(" with ", " ") : undefined,
    }),
  );
}

/** Parses functions of a JSON list in a text; items that are not functions are ignored. */
export function readListedFunctions(list: unknown): ReadonlyMap<string, FunctionReading> {
  const listed = Array.isArray(list) ? list.filter(isJsonObject) : [];
  return readFunctions(
    listed.flatMap((one) => typeof one["name"] === "string" ? [functionOf(one["name"], one)] : []),
  );
}

/**
 * Returns the functions as their names suggest them. A function produces the variable whose name its own ends
 * with, such as `find_room_price`, also where its description says otherwise; only where its name suggests none,
 * it produces what the description says. A parameter takes the variable whose name its own ends with, such as
 * `given_room_price`. Types and subtypes count for nothing.
 */
export function leanOnNames(
  functions: ReadonlyMap<string, FunctionReading>,
): ReadonlyMap<string, FunctionReading> {
  const variables = new Map<string, string>();
  for (const { outputs } of functions.values()) {
    for (const { name } of outputs) variables.set(wordsOf(name).join(" "), name);
  }
  /** The variable with the longest name that `name` ends with. */
  const suggestedBy = (name: string) => {
    const words = wordsOf(name);
    const endings = words.map((_, from) => words.slice(from).join(" "));
    return variables.get(endings.find((ending) => variables.has(ending)) ?? "");
  };
  const named = (variable: string): Slot => ({ name: variable, type: variable });
  return new Map(Array.from(functions, ([key, one]) => {
    const { name, outputs, parameters } = one;
    const suggested = suggestedBy(name);
    const isOwn = suggested === undefined || outputs.some((output) => output.name === suggested);
    return [key, {
      ...one,
      outputs: isOwn ? outputs.map((output) => named(output.name)) : [named(suggested)],
      parameters: parameters.map((parameter) => ({
        name: parameter.name,
        type: suggestedBy(parameter.name),
      })),
    }];
  }));
}

/** Words of a name that are read, from its end: no more of them are compared. */
const MAX_WORDS = 12;

/** The last words of a name, whether it is written as `room_price` or `roomPrice`. */
function wordsOf(name: string): string[] {
  return name.replaceAll(/([a-z\d])(?=[A-Z])/g, "$1_").toLowerCase().split("_").slice(-MAX_WORDS);
}
