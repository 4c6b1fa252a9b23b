/**
 * What can be read from the functions on offer: their names, schemas and descriptions.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { schemasFor } from "../tools/schema/position.ts";
import type { ChatTool } from "./wire.ts";

/** A parameter or an output of a function. */
export interface Variable {
  /** Its name. */
  readonly name: string;
  /** Type and subtype as one text; `undefined` where the description gives none. */
  readonly type: string | undefined;
}

/** A function as its schema and description present it. */
export interface FunctionReading {
  /** Its name. */
  readonly name: string;
  /** Its parameters, in the order of the schema, but for the one that names the result. */
  readonly parameters: readonly Variable[];
  /** What it produces, if the description says so. */
  readonly output: Variable | undefined;
  /** The parameter that names the result of a call, where there is one. */
  readonly result: string | undefined;
  /** The parameters that take references to results of other calls of the same reply, such as `$1.x`. */
  readonly references: ReadonlySet<string>;
  /** The JSON Schema of its arguments. */
  readonly schema: JsonObject;
}

/** By this a parameter that names the result is known (Indirection, "Adding a Level"). */
const NAMES_RESULT = "Descriptive unique variable @name for the result of evaluating the function.";

/** Reads functions, by name. */
export function readFunctions(
  functions: readonly ChatTool["function"][],
): ReadonlyMap<string, FunctionReading> {
  return new Map(functions.map((one) => [one.name, readFunction(one)]));
}

function readFunction(
  { name, description = "", parameters = {} }: ChatTool["function"],
): FunctionReading {
  // Examples and schemas of returns stand behind it, and may say anything.
  const [said = ""] = description.split(/\n(?:Example|Returns): /, 1);
  const split = said.indexOf(" to produce ");
  const [consumed, produced] = split === -1
    ? [said, ""]
    : [said.slice(0, split), said.slice(split)];
  const types = new Map(readClauses(consumed).map((variable) => [variable.name, variable.type]));
  const properties = parameters["properties"];
  const schemas = isJsonObject(properties) ? Object.entries(properties) : [];
  const result = schemas.find(([, schema]) =>
    isJsonObject(schema) && schema["description"] === NAMES_RESULT
  )?.[0];
  return {
    name,
    parameters: schemas.flatMap(([own]) =>
      own === result ? [] : [{ name: own, type: types.get(own) }]
    ),
    output: readClauses(produced)[0],
    result,
    references: new Set(
      schemas.flatMap(([own, schema]) => takesReferences(parameters, schema) ? [own] : []),
    ),
    schema: parameters,
  };
}

/** By how its pattern begins, a text is known to be a reference. */
const REFERENCE = "^\\$";

function takesReferences(root: JsonObject, schema: JsonValue): boolean {
  return schemasFor(root, [schema]).parts.some(({ pattern }) =>
    typeof pattern === "string" && pattern.startsWith(REFERENCE)
  );
}

/** Clauses like `variable mfmjsy (type_uxe with subtype_muw)`, with or without the parenthesis. */
function readClauses(text: string): Variable[] {
  return Array.from(
    text.matchAll(/\bvariable (\w+)(?: \((\w+) with (\w+)\))?/g),
    ([, name, type, subtype]) => ({
      name: name!,
      type: type === undefined ? undefined : `${type} ${subtype}`,
    }),
  );
}

/** The functions of a list that was written as JSON into a text; what is no function is left out. */
export function readListedFunctions(list: unknown): ReadonlyMap<string, FunctionReading> {
  const listed = Array.isArray(list) ? list.filter(isJsonObject) : [];
  return readFunctions(listed.flatMap(({ name, description, parameters }: JsonObject) => {
    if (typeof name !== "string") return [];
    return [{
      name,
      ...(typeof description === "string" ? { description } : {}),
      ...(isJsonObject(parameters) ? { parameters } : {}),
    }];
  }));
}
