/**
 * Defines tools, real or fake, whose arguments are checked before they run.
 * @module
 */

import { z } from "zod";
import { FUNCTION, must, parseWith } from "../base/input.ts";
import { cannot, reasonOf } from "../base/errors.ts";
import {
  defined,
  isJsonObject,
  isObject,
  type JsonObject,
  jsonText,
  listText,
  printable,
} from "../base/json.ts";
import {
  argumentReader,
  type ParametersSchema,
  resultSchemaOf,
  type StandardSchema,
  type ZodSchema,
} from "./own_schema.ts";
import { foreignSchema } from "./schema/_foreign.ts";
import { subschemas } from "./schema/subschemas.ts";
import { returnCheck } from "./schema/returns.ts";
import { argumentCheck } from "./schema/validate.ts";
import { providerNames } from "./provider_names.ts";
import {
  FRESH,
  signalIn,
  type StoppableTool,
  TAKE_MEDIA,
  type Tool,
  type ToolAnnotations,
} from "./tool.ts";

/** The input of a tool: the output of its schema of zod or a Standard Schema, or any JSON object. */
export type ToolInput<Parameters> = Parameters extends ZodSchema<infer Output> ? Output
  : Parameters extends StandardSchema<infer Output> ? Output
  : JsonObject;

/** Options of {@linkcode tool}: exactly one of `execute`, `returns` and `sequence` must be given. */
export interface OwnToolOptions<Parameters extends ParametersSchema> {
  /** The name: at most 64 letters, digits, `_` and `-`, as providers require. */
  readonly name: string;
  /** A description of what it does. */
  readonly description: string;
  /**
   * Its parameters: the schema of an object, of zod 4, of any library with Standard JSON Schema (such as ArkType, or
   * Valibot by its `toStandardJsonSchema()`), or a JSON Schema.
   */
  readonly parameters: Parameters;
  /** Only of tools in MCP's form: see {@linkcode McpToolOptions}. */
  readonly inputSchema?: never;
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
  /**
   * The schema of its result, which is shown to the model. A result that does not conform is an error of the tool, and
   * no mistake of the model.
   */
  readonly output?: ParametersSchema;
  /** What it says of itself, as MCP servers do. */
  readonly annotations?: ToolAnnotations;
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
  /**
   * Whether recordings keep its results, so that it does not run in a replay, as for one that asks a server. Default:
   * it runs as ever. Not in a test with `state`, which it would leave as it is.
   */
  readonly replay?: boolean;
}

/** A tool in MCP's form, as servers list it (revision 2025-06-18, "Tools"), and what it does; further fields are ignored. */
export interface McpToolOptions extends
  Omit<
    OwnToolOptions<JsonObject>,
    "name" | "description" | "parameters" | "output" | "inputSchema"
  > {
  /** The name; `_` stands for characters that providers refuse, as in `db_query` for `db.query`. */
  readonly name: string;
  /** A name for people, which stands for the description if there is none. */
  readonly title?: string | undefined;
  /** A description of what it does. */
  readonly description?: string | undefined;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of its structured content: see `output`. */
  readonly outputSchema?: JsonObject | undefined;
}

/** The names that OpenAI accepts. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Defines a tool. Its arguments are checked by the JSON Schema, and by everything else that a schema of zod or
 * another library requires, before it runs; `execute` gets the output of that schema, with defaults filled in. A tool
 * in MCP's form is one with what it does beside it: `tool({ ...listed, returns: "a fake result" })`.
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
export function tool<Parameters extends ParametersSchema>(
  given: OwnToolOptions<Parameters> | McpToolOptions,
): StoppableTool {
  if (!isObject(given)) {
    throw cannot("make a tool", "it must have options", `they are ${given}`);
  }
  const options = given.inputSchema === undefined
    ? given as OwnToolOptions<Parameters>
    : ownForm(given) as unknown as OwnToolOptions<Parameters>;
  const { name, description, strict, examples, output, unsafePatterns, annotations } = options;
  const subject = typeof name === "string" ? `tool ${printable(name, 80)}` : "a tool";
  parseWith(OPTIONS, options, subject);
  assertOneBehaviour(subject, options);
  const { parameters, check, read } = argumentReader(subject, options.parameters);
  // Users print and compare tools.
  const described = defined({
    name,
    description,
    parameters,
    strict,
    examples,
    ...(output === undefined ? {} : resultSchemaOf(subject, output, unsafePatterns)),
    unsafePatterns,
    annotations,
    replay: options.replay,
    check,
  });
  const refuse = argumentCheck(described);
  // What cannot be checked is an error here, not of a call.
  returnCheck(described);
  const make = (): StoppableTool => {
    const run = runner(options);
    const execute: StoppableTool["execute"] = async (input, callOptions) => {
      // Callers without an executor get the same checks, as read() makes those of a schema that parses.
      const refusal = refuse(input);
      if (refusal !== undefined) throw new Error(refusal.error);
      const given = read(input);
      // Not awaited where there is nothing to wait for: calls of one reply run in their order.
      const parsed = (given instanceof Promise ? await given : given) as ToolInput<Parameters>;
      const take = callOptions?.[TAKE_MEDIA];
      const known = { ...signalIn(callOptions), ...(take && { [TAKE_MEDIA]: take }) };
      return asText(subject, await run(parsed, known));
    };
    const result: StoppableTool = { ...described, execute };
    if (options.execute !== undefined) return result;
    // Not enumerable: a copy, such as one that wraps execute, must not be replaced by a fresh unwrapped tool.
    return Object.defineProperty(result, FRESH, { value: make, enumerable: false });
  };
  return make();
}

/** Returns the options of a tool in MCP's form; of the fields that servers add none is an option. */
function ownForm(
  { name, title = "", description = title, inputSchema, outputSchema, ...others }: McpToolOptions,
): OwnToolOptions<JsonObject> {
  const behaviour = Object.entries(others).filter(([option]) =>
    Object.hasOwn(OPTIONS.shape, option)
  );
  return {
    output: outputSchema,
    ...Object.fromEntries(behaviour),
    name: typeof name === "string" ? providerNames([name])[0]! : name,
    ...{ description, parameters: inputSchema },
  };
}

/** Returns the function that runs a tool, in its initial state. */
function runner<Parameters extends ParametersSchema>(
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

const ANY = z.unknown().optional();

/** The options of {@linkcode tool}, of which schemas are looked at where they are read. */
const OPTIONS = z.strictObject(
  {
    name: must(
      "be 1 to 64 letters, digits, _ and -",
      (name) => typeof name === "string" && NAME.test(name),
    ),
    description: z.string(),
    parameters: ANY,
    execute: FUNCTION.optional(),
    returns: ANY,
    sequence: z.array(z.unknown()).min(1).optional(),
    examples: ANY,
    output: ANY,
    annotations: ANY,
    strict: ANY,
    unsafePatterns: ANY,
    replay: z.boolean().optional(),
  } satisfies Record<Exclude<keyof OwnToolOptions<JsonObject>, "inputSchema">, z.ZodType>,
);

function assertOneBehaviour(subject: string, options: object): void {
  const ways = ["execute", "returns", "sequence"].filter((way) =>
    Reflect.get(options, way) !== undefined
  );
  if (ways.length === 1) return;
  throw cannot(
    `make ${subject}`,
    "exactly one of execute, returns and sequence must say what it does",
    ways.length === 0 ? "none of them is given" : `${ways.join(" and ")} are given`,
  );
}

/** Returns the text for the model. */
function asText(subject: string, result: unknown): string {
  if (typeof result === "string") return result;
  try {
    return jsonText(result) ?? "null";
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
    const { name, description, parameters, execute }: Partial<Record<keyof Tool, unknown>> = Object(
      one,
    );
    const foreign = foreignSchema(parameters);
    const areWrong = foreign !== undefined || !isJsonObject(parameters);
    const table: [when: boolean, part: string, state?: string][] = [
      [typeof name !== "string" || name === "", "a name"],
      [typeof description !== "string", "a description"],
      [
        areWrong,
        "parameters, the JSON Schema of an object",
        foreign && `has others: ${foreign}`,
      ],
      [typeof execute !== "function", "a function execute"],
    ];
    const [, part, state] = table.find(([when]) => when) ?? [];
    if (part === undefined) {
      tellStrictness(one);
      continue;
    }
    const isForeign = ["invoke", "inputSchema"].some((field) => field in Object(one));
    const which = typeof name === "string" ? `, ${printable(name, 80)},` : "";
    const why = state ??
      (isForeign
        ? "is one of a framework: convert it by an entry of @toolgate/toolgate/integrations"
        : "has none");
    throw cannot("offer tools", `each must have ${part}`, `number ${place + 1}${which} ${why}`);
  }
}

/** Tools whose strictness a warning has named: each is named once. */
const told = new Set<string>();
/** At most this many parameters are named. */
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
    ...(optional.length === 0
      ? []
      : [`every parameter must be required: ${listText(optional, MAX_TOLD)}`]),
    ...(open.length === 0
      ? []
      : [`additionalProperties must be false: ${listText(open, MAX_TOLD)}`]),
  ];
  const why = printable(faults.join("; "), 1_000);
  const text = `Tool ${printable(name, 80)} is strict, and OpenAI refuses it: ${why}`;
  if (faults.length === 0 || told.has(text)) return;
  told.add(text);
  console.error(text);
}
