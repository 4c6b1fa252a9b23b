/**
 * Defines tools, real or fake, whose arguments are checked before they run.
 * @module
 */

import { z } from "zod";
import { cannot, reasonOf } from "../base/errors.ts";
import {
  defined,
  isJsonObject,
  isObject,
  type JsonObject,
  type JsonValue,
  printable,
} from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { targetOf, typesOf } from "./schema/position.ts";
import { trustOwnSchema } from "./schema/_patterns.ts";
import { subschemas } from "./schema/subschemas.ts";
import { argumentCheck } from "./schema/validate.ts";
import { redact } from "../base/redact.ts";
import {
  checkingTool,
  FRESH,
  type Refusal,
  signalIn,
  type StoppableTool,
  type Tool,
} from "./tool.ts";

/** A schema of any copy of zod 4: its output is inferred from its type. */
export interface ZodSchema<Output = unknown> {
  /** zod's internal data of the schema. */
  readonly _zod: { readonly output: Output };
}

/** The input of a tool: the output of its zod schema, or any JSON object. */
export type ToolInput<Parameters> = Parameters extends ZodSchema<infer Output> ? Output
  : JsonObject;

/** Options of {@linkcode tool}: exactly one of `execute`, `returns` and `sequence` must be given. */
export interface OwnToolOptions<Parameters extends ZodSchema | JsonObject> {
  /** The name: at most 64 letters, digits, `_` and `-`, as providers require. */
  readonly name: string;
  /** A description of what it does. */
  readonly description: string;
  /** Its parameters: a zod schema of an object, or a JSON Schema. */
  readonly parameters: Parameters;
  /**
   * Runs the tool. A returned string goes back to the model unchanged, other values as JSON, `undefined` as
   * `null`, and a thrown error as an error. The signal, if there is one, aborts when the result is no
   * longer needed: a tool executor passes one for each attempt.
   */
  readonly execute?: (
    input: ToolInput<Parameters>,
    options: { readonly signal?: AbortSignal },
  ) => unknown;
  /** The result of every call of a fake tool; an `Error` is thrown. */
  readonly returns?: unknown;
  /**
   * The results of a fake tool, call by call; the last one repeats. Each run starts from the first, except
   * for copies of the tool, such as `{ ...tool, name }`, which go on from run to run. Calls of one reply are
   * served in their order; with nested references, calls that others refer to come first.
   */
  readonly sequence?: readonly unknown[];
  /** Arguments of example calls. */
  readonly examples?: readonly JsonObject[];
  /** The schema of its result, which is shown to the model. */
  readonly output?: ZodSchema | JsonObject;
  /**
   * Whether the provider should hold the model to the schema. OpenAI's strict mode refuses schemas in which a
   * parameter is optional, or further ones are allowed.
   */
  readonly strict?: boolean;
  /**
   * Whether patterns of a JSON Schema that no linear engine can express, such as ones with a backreference, are
   * run nevertheless. A text can then block the process for minutes. Default: such a tool is refused.
   */
  readonly unsafePatterns?: boolean;
}

/** The names that OpenAI accepts. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Defines a tool. Its arguments are checked by the JSON Schema, and by everything else that a zod schema
 * requires, before it runs; `execute` gets the output of the zod schema, with defaults filled in.
 *
 * @throws {InputError} If the name is not one that providers accept, the parameters are not a schema of an
 * object, an option is unknown, or not exactly one of `execute`, `returns` and `sequence` is given.
 *
 * @example A real tool, a fake one, and one whose results change
 * ```ts
 * import { tool } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 * import { z } from "zod";
 *
 * const add = tool({
 *   name: "add",
 *   description: "Adds two numbers",
 *   parameters: z.object({ x: z.number(), y: z.number().default(1) }),
 *   execute: ({ x, y }) => x + y,
 * });
 * assertEquals(await add.execute({ x: 2 }), "3");
 *
 * const parameters = { type: "object", properties: { city: { type: "string" } } };
 * const weather = tool({
 *   name: "weather",
 *   description: "Returns the weather",
 *   parameters,
 *   returns: { degrees: 21 },
 * });
 * assertEquals(await weather.execute({ city: "Rome" }), '{"degrees":21}');
 *
 * const status = tool({
 *   name: "status",
 *   description: "Returns the progress",
 *   parameters: z.object({}),
 *   sequence: ["pending", "done"],
 * });
 * assertEquals([await status.execute({}), await status.execute({})], ["pending", "done"]);
 * ```
 */
export function tool<Parameters extends ZodSchema | JsonObject>(
  options: OwnToolOptions<Parameters>,
): StoppableTool {
  if (!isObject(options)) {
    throw cannot("make a tool", "it must have options", `they are ${options}`);
  }
  const { name, description, strict, examples, output, unsafePatterns } = options;
  const subject = typeof name === "string" ? `tool ${printable(name, 80)}` : "a tool";
  assertOptions(subject, options);
  assertOneBehaviour(subject, options);
  const { parameters, check, read } = argumentReader(subject, options.parameters);
  const schema = {
    ...{ name, description, parameters },
    ...defined({ strict, examples }),
    ...(output === undefined ? {} : { returns: jsonSchemaOf(subject, output) }),
  };
  const rights = defined({ unsafePatterns });
  const refuse = argumentCheck({ ...schema, ...rights });
  const make = (): StoppableTool => {
    const run = runner(options);
    const unchecked: StoppableTool["execute"] = async (input, callOptions) =>
      asText(subject, await run(read(input) as ToolInput<Parameters>, signalIn(callOptions)));
    const result = checkingTool({
      ...{ ...schema, ...rights },
      ...defined({ check }),
      execute: async (input, callOptions) => {
        // Callers without an executor get the same checks.
        const refusal = refuse(input) ?? check?.(input);
        if (refusal !== undefined) throw new Error(refusal.error);
        return await unchecked(input, callOptions);
      },
    }, unchecked);
    if (options.execute !== undefined) return result;
    // Not enumerable: a copy, such as one that wraps execute, must not be replaced by a fresh unwrapped tool.
    return Object.defineProperty(result, FRESH, { value: make, enumerable: false });
  };
  return make();
}

/** Returns the function that runs a tool, in its initial state. */
function runner<Parameters extends ZodSchema | JsonObject>(
  { execute, returns, sequence = [returns] }: OwnToolOptions<Parameters>,
): NonNullable<OwnToolOptions<Parameters>["execute"]> {
  if (execute !== undefined) return execute;
  let calls = 0;
  return () => {
    const result = sequence[Math.min(calls++, sequence.length - 1)];
    if (result instanceof Error) throw result;
    return result;
  };
}

/** The options of {@linkcode tool}. */
const OPTION_NAMES: Readonly<Record<keyof OwnToolOptions<JsonObject>, true>> = {
  name: true,
  description: true,
  parameters: true,
  execute: true,
  returns: true,
  sequence: true,
  examples: true,
  output: true,
  strict: true,
  unsafePatterns: true,
};

/** Checks at run time what types do not check for plain JavaScript. */
function assertOptions(subject: string, options: object): void {
  const { name, description } = options as { name?: unknown; description?: unknown };
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(OPTION_NAMES, option));
  const fault = typeof name !== "string" || !NAME.test(name)
    ? `its name must be 1 to 64 letters, digits, _ and -: ${
      name === undefined ? "it has none" : `it is ${printable(`${JSON.stringify(name)}`, 80)}`
    }`
    : typeof description !== "string"
    ? `its description must be a text: it is ${typeof description}`
    : unknown !== undefined
    ? `there is no option ${printable(unknown, 100)}` +
      nearestOrAll(unknown, Object.keys(OPTION_NAMES))
    : undefined;
  if (fault !== undefined) throw cannot(`make ${subject}`, fault);
}

function assertOneBehaviour(subject: string, options: object): void {
  const ways = ["execute", "returns", "sequence"].filter((way) => Object.hasOwn(options, way));
  if (ways.length !== 1) {
    throw cannot(
      `make ${subject}`,
      "exactly one of execute, returns and sequence must say what it does",
      ways.length === 0 ? "none of them is given" : `${ways.join(" and ")} are given`,
    );
  }
  const { execute, sequence } = options as { execute?: unknown; sequence?: unknown };
  if (ways[0] === "execute" && typeof execute !== "function") {
    throw cannot(`make ${subject}`, "execute must be a function", `it is ${typeof execute}`);
  }
  if (ways[0] === "sequence" && !(Array.isArray(sequence) && sequence.length > 0)) {
    throw cannot(
      `make ${subject}`,
      "sequence must be a list with one result or more",
      `it is ${Array.isArray(sequence) ? "empty" : typeof sequence}`,
    );
  }
}

/** Whether a schema accepts an object, itself or by what it refers to. */
function takesObject(
  root: JsonObject,
  schema: JsonValue | undefined,
  visited = new Set<JsonValue>(),
): boolean {
  if (!isJsonObject(schema) || visited.has(schema)) return false;
  visited.add(schema);
  const types = typesOf(schema);
  if (types !== undefined) return types.includes("object");
  const { $ref, anyOf, oneOf, allOf, properties } = schema;
  const takes = (branch: JsonValue | undefined) => takesObject(root, branch, visited);
  if (isJsonObject(properties) || takes(targetOf(root, $ref))) return true;
  if (Array.isArray(allOf) && allOf.some(takes)) return true;
  return [anyOf, oneOf].some((branches) => {
    if (!Array.isArray(branches)) return false;
    // A body that may be left out is null in OpenAPI.
    const others = branches.filter((branch) => !isJsonObject(branch) || branch["type"] !== "null");
    return others.length > 0 && others.every(takes);
  });
}

/** Checks and parses the arguments of a tool. */
interface Reader {
  readonly parameters: JsonObject;
  readonly check?: (input: JsonObject) => Refusal | undefined;
  readonly read: (input: JsonObject) => unknown;
}

function argumentReader(subject: string, schema: ZodSchema | JsonObject): Reader {
  const given = jsonSchemaOf(subject, schema);
  if (!takesObject(given, given)) {
    const isShape = Object.values(given).some((one) => isZod(one as unknown as ZodSchema));
    throw cannot(
      `make ${subject}`,
      "its parameters must be the schema of an object",
      isShape
        ? "they are single schemas; put z.object({ ... }) around them"
        : given["type"] === undefined
        ? "they have no type and no properties"
        : `the type is ${printable(JSON.stringify(given["type"]))}`,
    );
  }
  // Providers want the type, also beside a reference or alternatives.
  const parameters = given["type"] === undefined ? { type: "object", ...given } : given;
  if (!isZod(schema)) return { parameters, read: (input) => input };
  trustOwnSchema(parameters);
  // Arguments that were checked, and have not been read: zod does both at once.
  const checked = new WeakMap<JsonObject, { readonly output: unknown }>();
  const check = (input: JsonObject) => {
    const parsed = zodOutput(subject, schema, input);
    if ("error" in parsed) return parsed;
    checked.set(input, parsed);
  };
  return {
    parameters,
    check,
    read: (input) => {
      const refusal = checked.has(input) ? undefined : check(input);
      if (refusal !== undefined) throw new Error(refusal.error);
      const { output } = checked.get(input)!;
      // The tool may change what it gets.
      checked.delete(input);
      return output;
    },
  };
}

function zodOutput(
  subject: string,
  schema: z.ZodType,
  input: JsonObject,
): { readonly output: unknown } | Refusal {
  const { whole, parts } = withoutPrototypes(input);
  try {
    const { error, data } = schema.safeParse(whole);
    if (error !== undefined) return issuesRefusal(error);
    // Objects that zod passes through must have the usual prototype.
    for (const part of parts) {
      if (!Array.isArray(part)) Object.setPrototypeOf(part, Object.prototype);
    }
    return { output: data };
  } catch (error) {
    // Recursive schemas recurse as deep as the arguments.
    if (isTooDeep(error)) return tooDeep(input);
    if (error instanceof z.core.$ZodAsyncError) {
      throw cannot(
        `check the arguments of ${subject}`,
        "its zod schema must check them at once",
        reasonOf(error),
      );
    }
    // A custom refinement or transform threw on unexpected input.
    const names = Object.keys(input).slice(0, MAX_ISSUES);
    return refusal(
      `The arguments do not conform: ${printable(redact(reasonOf(error)), MAX_ISSUE_LENGTH)}`,
      names,
    );
  }
}

/** Copies without prototypes: zod reads a missing key such as `constructor` from the prototype. */
function withoutPrototypes(
  input: JsonObject,
): { readonly whole: JsonObject; readonly parts: readonly object[] } {
  const whole: Record<string, JsonValue> = copyFields(input);
  const parts: (Record<string, JsonValue> | JsonValue[])[] = [whole];
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      if (typeof value !== "object" || value === null) continue;
      const copy = Array.isArray(value) ? [...value] : copyFields(value as JsonObject);
      Object.assign(part, { [key]: copy });
      parts.push(copy);
    }
  }
  return { whole, parts };
}

function copyFields(value: JsonObject): Record<string, JsonValue> {
  return Object.assign(Object.create(null), value);
}

/** Limits on the number and length of the faults in a message. */
const MAX_ISSUES = 20;
const MAX_ISSUE_LENGTH = 300;
/** Longer names from the model are cut. */
const MAX_NAME_LENGTH = 100;

function issuesRefusal(error: z.ZodError): Refusal {
  const issues = error.issues.slice(0, MAX_ISSUES);
  const messages = issues.map(({ path, message }) => {
    const where = path.length === 0 ? "" : `${z.core.toDotPath(path)}: `;
    return printable(`${where}${message}`, MAX_ISSUE_LENGTH);
  });
  return refusal(
    `The arguments do not conform: ${messages.join("; ")}`,
    issues.flatMap(({ path }) => path.length === 0 ? [] : [String(path[0])]),
  );
}

function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

function tooDeep(input: JsonObject): Refusal {
  return refusal("The arguments nest too deep", Object.keys(input).slice(0, MAX_ISSUES));
}

function refusal(error: string, names: readonly string[]): Refusal {
  const wrongType = [...new Set(names.map((name) => name.slice(0, MAX_NAME_LENGTH)))];
  return { error, fault: { missing: [], unexpected: [], wrongType, malformed: false } };
}

/** Whether it is a schema of zod 4, of any copy of it. */
function isZod(schema: ZodSchema | JsonObject): schema is z.ZodType {
  return typeof schema === "object" && schema !== null && "_zod" in schema;
}

/**
 * Returns the JSON Schema of a model's arguments, which is the input of a zod schema: parameters with a default
 * are optional. Keys that an object does not declare are refused; zod would drop them silently.
 */
function jsonSchemaOf(subject: string, schema: ZodSchema | JsonObject): JsonObject {
  if (!isZod(schema)) {
    if (isJsonObject(schema) && !("_def" in schema)) return schema;
    throw cannot(
      `make ${subject}`,
      "its schemas must be of zod 4, or JSON Schemas",
      schema === undefined ? "parameters are missing" : "one is neither",
    );
  }
  try {
    const { $schema: _, ...json } = z.toJSONSchema(schema, {
      io: "input",
      override: ({ zodSchema, jsonSchema }) => {
        const { def } = zodSchema._zod;
        if (def.type === "object" && (def as z.core.$ZodObjectDef).catchall === undefined) {
          jsonSchema.additionalProperties = false;
        }
        // JSON Schema has no flags, so that only zod can check such patterns.
        const patterns = [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)]
          .flatMap((one) => "pattern" in one && one.pattern instanceof RegExp ? [one.pattern] : []);
        if (patterns.some(({ flags }) => flags.replace("u", "") !== "")) {
          delete jsonSchema.pattern;
          delete jsonSchema.allOf;
        }
      },
    });
    return json as unknown as JsonObject;
  } catch (error) {
    throw cannot(
      `make ${subject}`,
      "its zod schema must be one that JSON Schema can express",
      reasonOf(error),
    );
  }
}

/** Returns the text for the model. */
function asText(subject: string, result: unknown): string {
  if (typeof result === "string") return result;
  try {
    return JSON.stringify(result) ?? "null";
  } catch (error) {
    throw new TypeError(
      `Cannot give back what ${subject} returned as it must be a text or JSON: ${
        reasonOf(error).split("\n")[0]
      }`,
    );
  }
}

/**
 * Checks that values are tools, for callers without TypeScript. Prints once what OpenAI would refuse in a strict one.
 *
 * @throws {InputError} If one lacks a name, description, parameters or `execute`.
 */
export function assertTools(tools: readonly Tool[]): void {
  for (const [place, one] of tools.entries()) {
    const fields: Partial<Record<keyof Tool, unknown>> = Object(one);
    const fault = typeof fields.name !== "string" || fields.name === ""
      ? "a name"
      : typeof fields.description !== "string"
      ? "a description"
      : !isJsonObject(fields.parameters)
      ? "parameters, the JSON Schema of an object"
      : typeof fields.execute !== "function"
      ? "a function execute"
      : undefined;
    if (fault === undefined) {
      tellStrictness(one);
      continue;
    }
    const which = typeof fields.name === "string" ? `, ${printable(fields.name, 80)},` : "";
    throw cannot("offer tools", `each must have ${fault}`, `number ${place + 1}${which} has none`);
  }
}

/** Tools whose strictness was told of. */
const told = new Set<string>();
/** At most so many parameters are named. */
const MAX_TOLD = 5;

/** Prints what OpenAI's strict mode refuses in a tool that asks for it; other servers may take it. */
function tellStrictness({ name, strict, parameters }: Tool): void {
  if (strict !== true) return;
  const optional: string[] = [];
  const open: string[] = [];
  for (const { schema, path } of subschemas(parameters)) {
    const { properties, required, additionalProperties } = schema;
    if (!isJsonObject(properties)) continue;
    const needed = new Set(Array.isArray(required) ? required : []);
    const free = Object.keys(properties).filter((key) => !needed.has(key));
    optional.push(...free.map((key) => path === "" ? key : `${path}/properties/${key}`));
    if (additionalProperties !== false) open.push(path === "" ? "its parameters" : path);
  }
  const faults = [
    ...(optional.length === 0 ? [] : [`every parameter must be required: ${few(optional)}`]),
    ...(open.length === 0 ? [] : [`additionalProperties must be false: ${few(open)}`]),
  ];
  const text = `Tool ${printable(name, 80)} is strict, and OpenAI refuses it: ${faults.join("; ")}`;
  if (faults.length === 0 || told.has(text)) return;
  told.add(text);
  console.error(text);
}

function few(names: readonly string[]): string {
  const shown = names.slice(0, MAX_TOLD).map((name) => printable(name, 100)).join(", ");
  return names.length <= MAX_TOLD ? shown : `${shown} and ${names.length - MAX_TOLD} more`;
}
