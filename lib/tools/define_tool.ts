/**
 * Tools of one's own, real or faked, with their arguments checked before they run.
 * @module
 */

import { z } from "zod";
import { InputError, reasonOf } from "../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../base/json.ts";
import { argumentCheck } from "./schema/validate.ts";
import { redact } from "../base/redact.ts";
import { FRESH, type Refusal, signalIn, type StoppableTool, type Tool } from "./tool.ts";

/** A schema of zod 4, of whichever copy of it: what it gives is read off its type. */
export interface ZodSchema<Output = unknown> {
  /** Where zod keeps what it knows of the schema. */
  readonly _zod: { readonly output: Output };
}

/** What a tool is called with: what its zod schema gives, or any JSON object. */
export type ToolInput<Parameters> = Parameters extends ZodSchema<infer Output> ? Output
  : JsonObject;

/** What a tool is made from: exactly one of `execute`, `returns` and `sequence` says what it does. */
export interface OwnToolOptions<Parameters extends ZodSchema | JsonObject> {
  /** The name: letters, digits, `_` and `-`, at most 64 of them, as providers ask for. */
  readonly name: string;
  /** What it does, in words. */
  readonly description: string;
  /** What it takes: a zod schema of an object, or a JSON Schema. */
  readonly parameters: Parameters;
  /**
   * What it does. What it gives goes back as it is where it is a text, else as JSON, and as `null` where
   * it is nothing; what it throws goes back as an error. The signal, where there is one, aborts when nobody
   * waits for it any more: a tool executor has one for each attempt.
   */
  readonly execute?: (
    input: ToolInput<Parameters>,
    options: { readonly signal?: AbortSignal },
  ) => unknown;
  /** What a faked tool returns for every call; an `Error` is thrown. */
  readonly returns?: unknown;
  /**
   * What a faked tool returns call by call; the last again and again. Each run begins anew, but for copies
   * of the tool, such as `{ ...tool, name }`, which go on from run to run. Calls of one reply get theirs in
   * the order of the calls; with nested references those that others refer to come first.
   */
  readonly sequence?: readonly unknown[];
  /** Arguments of calls that show how it is used. */
  readonly examples?: readonly JsonObject[];
  /** The schema of what it returns, which the model is then told. */
  readonly output?: ZodSchema | JsonObject;
  /** Whether the provider should hold the model to the schema (OpenAI's strict mode). */
  readonly strict?: boolean;
}

/** What OpenAI takes for a name. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * A tool of one's own. Its arguments are checked, by the JSON Schema and by everything else that a zod
 * schema asks for, before it runs; it gets what the zod schema makes of them, defaults filled in.
 *
 * @throws {InputError} If the name is none that providers take, the parameters are no schema of an
 * object, there is no such option, or not exactly one of `execute`, `returns` and `sequence` is given.
 *
 * @example A tool that is real, one that is faked, and one that fails at first
 * ```ts
 * import { tool } from "./define_tool.ts";
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
 *   description: "Tells the weather",
 *   parameters,
 *   returns: { degrees: 21 },
 * });
 * assertEquals(await weather.execute({ city: "Rome" }), '{"degrees":21}');
 *
 * const status = tool({
 *   name: "status",
 *   description: "Tells how far it is",
 *   parameters: z.object({}),
 *   sequence: ["pending", "done"],
 * });
 * assertEquals([await status.execute({}), await status.execute({})], ["pending", "done"]);
 * ```
 */
export function tool<Parameters extends ZodSchema | JsonObject>(
  options: OwnToolOptions<Parameters>,
): StoppableTool {
  const { name, description, strict, examples, output } = options;
  const subject = `tool ${printable(String(name), 80)}`;
  assertWritten(subject, options);
  assertOneWay(subject, options);
  const { parameters, check, read } = readerOf(subject, options.parameters);
  const schema = {
    ...{ name, description, parameters },
    ...(strict === undefined ? {} : { strict }),
    ...(examples === undefined ? {} : { examples }),
    ...(output === undefined ? {} : { returns: jsonSchemaOf(subject, output) }),
  };
  const refuse = argumentCheck(schema);
  const make = (): StoppableTool => {
    const run = runner(options);
    const own: StoppableTool = {
      ...schema,
      ...(check === undefined ? {} : { check }),
      execute: async (input, given) => {
        // Whoever calls it without a recorder gets the same care.
        const refusal = refuse(input) ?? check?.(input);
        if (refusal !== undefined) throw new Error(refusal.error);
        return asText(subject, await run(read(input) as ToolInput<Parameters>, signalIn(given)));
      },
    };
    if (options.execute !== undefined) return own;
    // A copy, such as one with an execute around this one, must not be begun anew without what is around.
    return Object.defineProperty(own, FRESH, { value: make, enumerable: false });
  };
  return make();
}

/** What a tool does, begun anew. */
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
};

/** What types do not say to users of plain JavaScript. */
function assertWritten(subject: string, options: object): void {
  const { name, description } = options as { name?: unknown; description?: unknown };
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(OPTION_NAMES, option));
  const fault = typeof name !== "string" || !NAME.test(name)
    ? "its name must be 1 to 64 letters, digits, _ and -"
    : typeof description !== "string"
    ? `its description must be a text: it is ${typeof description}`
    : unknown !== undefined
    ? `there is no option ${printable(unknown, 100)}: there are ${
      Object.keys(OPTION_NAMES).join(", ")
    }`
    : undefined;
  if (fault !== undefined) throw new InputError(`Cannot make ${subject} as ${fault}`);
}

function assertOneWay(subject: string, options: object): void {
  const ways = ["execute", "returns", "sequence"].filter((way) => Object.hasOwn(options, way));
  if (ways.length !== 1) {
    throw new InputError(
      `Cannot make ${subject} as exactly one of execute, returns and sequence must say what it does: ` +
        (ways.length === 0 ? "none of them is given" : `${ways.join(" and ")} are given`),
    );
  }
  const { execute, sequence } = options as { execute?: unknown; sequence?: unknown };
  if (ways[0] === "execute" && typeof execute !== "function") {
    throw new InputError(
      `Cannot make ${subject} as execute must be a function: it is ${typeof execute}`,
    );
  }
  if (ways[0] === "sequence" && !(Array.isArray(sequence) && sequence.length > 0)) {
    throw new InputError(
      `Cannot make ${subject} as sequence must be a list with one result or more: it is ` +
        (Array.isArray(sequence) ? "empty" : typeof sequence),
    );
  }
}

/** How the arguments of a tool are checked and read. */
interface Reader {
  readonly parameters: JsonObject;
  readonly check?: (input: JsonObject) => Refusal | undefined;
  readonly read: (input: JsonObject) => unknown;
}

function readerOf(subject: string, schema: ZodSchema | JsonObject): Reader {
  const parameters = jsonSchemaOf(subject, schema);
  if (parameters["type"] !== "object") {
    throw new InputError(
      `Cannot make ${subject} as its parameters must be the schema of an object: the type is ` +
        printable(JSON.stringify(parameters["type"] ?? null)),
    );
  }
  if (!isZod(schema)) return { parameters, read: (input) => input };
  return {
    parameters,
    check: (input) => refusalIn(subject, schema, bare(input).whole),
    read: (input) => {
      const { whole, parts } = bare(input);
      const read = schema.parse(whole);
      // What zod hands on as it is must be like any other object.
      for (const part of parts) {
        if (!Array.isArray(part)) Object.setPrototypeOf(part, Object.prototype);
      }
      return read;
    },
  };
}

function refusalIn(
  subject: string,
  schema: z.ZodType,
  input: JsonObject,
): Refusal | undefined {
  try {
    const { error } = schema.safeParse(input);
    return error === undefined ? undefined : refusalOf(error);
  } catch (error) {
    // Schemas that hold themselves are followed as deep as the arguments go.
    if (isTooDeep(error)) return tooDeep(input);
    if (error instanceof z.core.$ZodAsyncError) {
      throw new InputError(
        `Cannot check the arguments of ${subject} as its zod schema must check them at once: ` +
          reasonOf(error),
      );
    }
    // A refinement or transform of the user's own trips over what it does not expect.
    const names = Object.keys(input).slice(0, MOST_ISSUES);
    return refusal(
      `The arguments do not conform: ${printable(redact(reasonOf(error)), LONGEST_ISSUE)}`,
      names,
    );
  }
}

/** A copy without prototypes: for a key that is left out zod takes what every object has, such as `constructor`. */
function bare(
  input: JsonObject,
): { readonly whole: JsonObject; readonly parts: readonly object[] } {
  const whole: Record<string, JsonValue> = copied(input);
  const parts: (Record<string, JsonValue> | JsonValue[])[] = [whole];
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      if (typeof value !== "object" || value === null) continue;
      const own = Array.isArray(value) ? [...value] : copied(value as JsonObject);
      Object.assign(part, { [key]: own });
      parts.push(own);
    }
  }
  return { whole, parts };
}

function copied(value: JsonObject): Record<string, JsonValue> {
  return Object.assign(Object.create(null), value);
}

/** So many faults of one call are told, and so much of each. */
const MOST_ISSUES = 20;
const LONGEST_ISSUE = 300;
/** So much of a name of the model's own is kept. */
const LONGEST_NAME = 100;

function refusalOf(error: z.ZodError): Refusal {
  const issues = error.issues.slice(0, MOST_ISSUES);
  const told = issues.map(({ path, message }) => {
    const where = path.length === 0 ? "" : `${z.core.toDotPath(path)}: `;
    return printable(`${where}${message}`, LONGEST_ISSUE);
  });
  return refusal(
    `The arguments do not conform: ${told.join("; ")}`,
    issues.flatMap(({ path }) => path.length === 0 ? [] : [String(path[0])]),
  );
}

function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

function tooDeep(input: JsonObject): Refusal {
  return refusal("The arguments nest too deep", Object.keys(input).slice(0, MOST_ISSUES));
}

function refusal(error: string, names: readonly string[]): Refusal {
  const wrongType = [...new Set(names.map((name) => name.slice(0, LONGEST_NAME)))];
  return { error, fault: { missing: [], unexpected: [], wrongType, malformed: false } };
}

/** Schemas of every version of zod, and of every copy of it. */
function isZod(schema: ZodSchema | JsonObject): schema is z.ZodType {
  return typeof schema === "object" && schema !== null && "_zod" in schema;
}

/**
 * What a model may write, which is the input of a zod schema: what has a default may be left out. Keys
 * that an object does not name are refused, which zod would drop without a word.
 */
function jsonSchemaOf(subject: string, schema: ZodSchema | JsonObject): JsonObject {
  if (!isZod(schema)) {
    if (isJsonObject(schema) && !("_def" in schema)) return schema;
    throw new InputError(
      `Cannot make ${subject} as a schema must be of zod 4, or a JSON Schema: it is neither`,
    );
  }
  try {
    const { $schema: _, ...written } = z.toJSONSchema(schema, {
      io: "input",
      override: ({ zodSchema, jsonSchema }) => {
        const { def } = zodSchema._zod;
        if (def.type === "object" && (def as z.core.$ZodObjectDef).catchall === undefined) {
          jsonSchema.additionalProperties = false;
        }
        // JSON Schema has no flags: what they allow is for zod alone to check.
        const patterns = [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)]
          .flatMap((one) => "pattern" in one && one.pattern instanceof RegExp ? [one.pattern] : []);
        if (patterns.some(({ flags }) => flags.replace("u", "") !== "")) {
          delete jsonSchema.pattern;
          delete jsonSchema.allOf;
        }
      },
    });
    return written as unknown as JsonObject;
  } catch (error) {
    throw new InputError(
      `Cannot make ${subject} as its zod schema must be one that JSON Schema can say: ` +
        reasonOf(error),
    );
  }
}

/** What goes back to the model. */
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
 * Checks that tools are ones, whoever made them.
 *
 * @throws {InputError} If one has no name, description, parameters or `execute`.
 */
export function assertTools(tools: readonly Tool[]): void {
  for (const [place, one] of tools.entries()) {
    const given: Partial<Record<keyof Tool, unknown>> = Object(one);
    const fault = typeof given.name !== "string" || given.name === ""
      ? "a name"
      : typeof given.description !== "string"
      ? "a description"
      : !isJsonObject(given.parameters)
      ? "parameters, the JSON Schema of an object"
      : typeof given.execute !== "function"
      ? "a function execute"
      : undefined;
    if (fault === undefined) continue;
    const which = typeof given.name === "string" ? `, ${printable(given.name, 80)},` : "";
    throw new InputError(
      `Cannot offer tools as each must have ${fault}: number ${place + 1}${which} has none`,
    );
  }
}
