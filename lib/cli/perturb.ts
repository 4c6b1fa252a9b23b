/**
 * `perturb`: shows how a method changes a tool document, a user's query or a tool's return.
 * @module
 */

import { Connections } from "../models/connect.ts";
import { isFault } from "../tools/fault.ts";
import { readText } from "../base/input.ts";
import { cannot, InputError, reasonOf } from "../base/errors.ts";
import { defined, isJsonObject, parseJson, printable, printableJson } from "../base/json.ts";
import { InfrastructureError, type Model } from "../models/model.ts";
import {
  type Change,
  type DocumentMethod,
  EFFECTS,
  IDLE_REASONS,
  isMethod,
  PERTURBATION_METHODS,
  type PerturbationMethod,
  PERTURBED,
  type Perturbed,
  type QueryMethod,
  type ReturnMethod,
} from "../perturbations/methods.ts";
import { isCheck, isInjecting, perturbationsIn } from "../perturbations/ids.ts";
import { perturbTools } from "../perturbations/documents/perturb.ts";
import type { Query } from "../perturbations/queries/parameters.ts";
import { perturbQuery } from "../perturbations/queries/perturb.ts";
import { perturbReturn } from "../perturbations/returns.ts";
import { parseQuery } from "../perturbations/queries/file.ts";
import { modelWriter } from "../perturbations/queries/model_writer.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { parseToolDocuments } from "../tools/documents.ts";
import { countText } from "../base/numbers.ts";
import { type Arguments, userPath } from "./arguments.ts";
import { differenceOf } from "./difference.ts";
import { flagHelp } from "../runs/flags.ts";
import { runArguments, runFlags } from "./running.ts";

type Source = typeof PERTURBED[PerturbationMethod];

const SOURCES: Readonly<Record<Source, string>> = {
  document: "a tool document",
  query: "a user's query",
  return: "a tool's return",
};

/** The forms of files. */
const FORMS = {
  document: '{"name", "description", "parameters"}, a form of OpenAI or MCP, or a list of them',
  query: '{"query", "parameters": [{"name", "value"}]}, or with "calls": [{"arguments"}]',
} as const;

/** Methods that use a writer. */
const WRITER_METHODS: readonly PerturbationMethod[] = ["CP", "AN"];

/** The methods in the order in which they are applied. */
const IN_ORDER = perturbationsIn(PERTURBATION_METHODS.join("+")).filter(isMethod);

export const PERTURB_HELP =
  `  --method ID      the method; several of one source, joined by +, are applied in the order of the list
                   below, however they are joined
  --seed N         seed of all random choices (default 1)
  --writer MODEL   a model that writes for CP and AN, such as gpt-5 (default: the built-in writer)
  --json           prints one JSON line with method, seed, changed, changes, before and after; with several
                   methods, each changes the result of the one before

${
    Object.entries(SOURCES).map(([source, name]) =>
      `Of ${name}:\n${
        IN_ORDER.filter((method) => PERTURBED[method] === source)
          .map((method) => `  ${method.padEnd(16)} ${EFFECTS[method]}`).join("\n")
      }`
    ).join("\n\n")
  }

A tool document is a JSON file of a tool or a list of tools, in toolgate's form, OpenAI's or MCP's, also as
tools/list answers; a return is any text. A query is a JSON file:
  {"query": "Weather in Paris?", "parameters": [{"name": "city", "value": "Paris"}]}
where "start" and "end" mark a value that the query has in other words. With "calls": [{"arguments": {...}}]
the query is searched for the arguments. Long lines are wrapped, with a note; --json has them unchanged.

Options of the model:

${flagHelp("perturb")}

Exit code 0; 3 when the model gave no reply.`;

/** Prints how the methods change a file. */
export async function perturb(arguments_: readonly string[]): Promise<number> {
  const options = runArguments("perturb", arguments_, {
    values: ["method", "seed", "writer"],
    switches: ["json"],
  });
  const methods = methodsOf(options);
  const [file, ...others] = options.operands;
  if (file === undefined) throw options.error("it takes one file: none is given");
  if (others.length > 0) {
    throw options.error(`it takes one file: ${options.operands.length} are given`);
  }
  const path = userPath(file);
  const seed = options.integer("seed") ?? 1;
  const connections = new Connections(runFlags("perturb", options));
  const model = writerOf(options, methods, connections);
  try {
    const result = await perturbFile(PERTURBED[methods[0]!], path, { methods, seed, model });
    printResult(result, { methods, seed, path, json: options.has("json") });
  } catch (error) {
    if (error instanceof RangeError) {
      throw cannot(`perturb ${path}`, "it is too large or nested too deep", reasonOf(error));
    }
    if (!(error instanceof InfrastructureError)) throw error;
    console.error(printable(`Cannot ask the writer: ${error.message}`, 2_000));
    return 3;
  }
  return 0;
}

function methodsOf(options: Arguments): readonly PerturbationMethod[] {
  const ids = options.text("method");
  if (ids === undefined) throw options.error("--method is needed");
  for (const id of ids.split("+")) {
    if (isMethod(id)) continue;
    throw options.error(
      isCheck(id)
        ? `--method must be one that changes a file: ${id} changes a task, or a list of tools, as a whole`
        : isInjecting(id)
        ? `--method must be one that changes a file: ${id} changes results while they run, and demands calls of tools on offer`
        : isFault(id)
        ? `--method must be one that changes a file: ${id} is a fault, which changes calls while they run`
        : `--method must be one of ${PERTURBATION_METHODS.join(", ")}: it is ${id}`,
    );
  }
  const methods = perturbationsIn(ids).filter(isMethod);
  const [first] = methods;
  const other = methods.find((method) => PERTURBED[method] !== PERTURBED[first!]);
  if (other === undefined) return methods;
  throw options.error(
    `--method must name methods of one source: ${first} is of ${SOURCES[PERTURBED[first!]]}, ` +
      `${other} of ${SOURCES[PERTURBED[other]]}`,
  );
}

function writerOf(
  options: Arguments,
  methods: readonly PerturbationMethod[],
  connections: Connections,
): Model | undefined {
  const name = options.text("writer");
  if (name === undefined) return undefined;
  if (methods.some((method) => WRITER_METHODS.includes(method))) {
    return connections.model({ model: name });
  }
  throw options.error(
    `--writer goes with ${WRITER_METHODS.join(" and ")}: --method is ${methods.join("+")}`,
  );
}

/** The methods to apply, and their seed and writer. */
interface Work {
  readonly methods: readonly PerturbationMethod[];
  readonly seed: number;
  readonly model: Model | undefined;
}

/** The values before and after, and the changes. */
interface Result {
  readonly before: unknown;
  readonly after: unknown;
  readonly changes: readonly Change[];
  /** Methods that changed nothing, and why. */
  readonly idle: readonly (readonly [PerturbationMethod, string])[];
  /** Before and after as text. */
  readonly shown: readonly [string, string];
}

function perturbFile(source: Source, path: string, work: Work): Promise<Result> {
  if (source === "document") return perturbDocumentFile(path, work);
  return source === "query" ? perturbQueryFile(path, work) : perturbReturnFile(path, work);
}

async function perturbDocumentFile(path: string, work: Work): Promise<Result> {
  const name = describeFile("document", path, work);
  const value = readJson(path, name);
  refuseOtherForms(value, name);
  const tools = parseToolDocuments(value, name);
  const show = (value: readonly ToolSchema[]) => JSON.stringify(value, null, 2);
  return await applyMethods(tools, work, {
    perturb: (method, value) => perturbTools(method as DocumentMethod, value, work.seed),
    show: (before, after) => [show(before), show(after)],
  });
}

async function perturbQueryFile(path: string, work: Work): Promise<Result> {
  const { seed, model } = work;
  const name = describeFile("query", path, work);
  const query = parseQuery(readJson(path, name), name);
  return await applyMethods(query, work, {
    perturb: async (method, value) => {
      const writer = await writerFor(method, value, model);
      return perturbQuery(method as QueryMethod, value, {
        seed,
        ...defined({ writer }),
      });
    },
    show: (before, after) => [before.text, after.text],
    lacking: () =>
      query.parameters.length === 0
        ? "the file declares no parameters, nor calls whose arguments are in the query"
        : undefined,
  });
}

async function writerFor(method: PerturbationMethod, query: Query, model: Model | undefined) {
  if (model === undefined || (method !== "CP" && method !== "AN")) return undefined;
  const writer = await modelWriter(model, query, method);
  for (const { name, reason } of writer.fallbacks) {
    console.error(
      `${method}: the built-in writer writes for ${printable(name)}, as the text of ` +
        `${printable(model.name)} cannot be used: ${reason}`,
    );
  }
  return writer;
}

async function perturbReturnFile(path: string, work: Work): Promise<Result> {
  return await applyMethods(readText(path), work, {
    perturb: (method, text) => perturbReturn(method as ReturnMethod, text),
    show: (before, after) => {
      const values = [parseJson(before), parseJson(after)];
      if (values.includes(undefined)) return [before, after];
      return values.map((value) => JSON.stringify(value, null, 2)) as [string, string];
    },
    lacking: (method, text) =>
      method !== "CF" && parseJson(text) === undefined
        ? "the return is no JSON, which only CF can change"
        : undefined,
  });
}

/** The operations on one kind of file. */
interface SourceMethods<T> {
  readonly perturb: (method: PerturbationMethod, value: T) => Perturbed<T> | Promise<Perturbed<T>>;
  readonly show: (before: T, after: T) => readonly [string, string];
  /** Returns why a method changed nothing; `undefined` for the reason in {@linkcode IDLE_REASONS}. */
  readonly lacking?: (method: PerturbationMethod, value: T) => string | undefined;
}

async function applyMethods<T>(
  before: T,
  { methods }: Work,
  source: SourceMethods<T>,
): Promise<Result> {
  const changes: Change[] = [];
  const idle: [PerturbationMethod, string][] = [];
  let after = before;
  for (const method of methods) {
    const result = await source.perturb(method, after);
    if (!result.changed) {
      idle.push([method, source.lacking?.(method, after) ?? IDLE_REASONS[method]]);
    }
    changes.push(...result.changes);
    after = result.value;
  }
  return { before, after, changes, idle, shown: source.show(before, after) };
}

/** Names a file in messages, with the form that the methods expect, as another kind of file may be meant. */
function describeFile(source: keyof typeof FORMS, path: string, { methods }: Work): string {
  const change = methods.length === 1 ? "changes" : "change";
  return `${path} by ${methods.join("+")}, which ${change} ${SOURCES[source]} (${FORMS[source]})`;
}

function readJson(path: string, name: string): unknown {
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw cannot(`use ${name},`, "it must be JSON", printable(reasonOf(error)));
  }
}

/** @throws {InputError} If the value is in a similar form that is not supported. */
function refuseOtherForms(value: unknown, name: string): void {
  const has = (item: unknown, key: string) => isJsonObject(item) && Object.hasOwn(item, key);
  const tools: readonly unknown[] = Array.isArray(value) ? value : [value];
  const index = tools.findIndex((tool) => has(tool, "input_schema") && !has(tool, "parameters"));
  if (index === -1) return;
  throw new InputError(
    `Cannot use ${name}:\n  at ${
      Array.isArray(value) ? `[${index}].` : ""
    }input_schema: the form of ` +
      "Anthropic is not read: the schema must be called parameters",
  );
}

interface PrintOptions {
  readonly methods: readonly PerturbationMethod[];
  readonly seed: number;
  readonly path: string;
  readonly json: boolean;
}

function printResult(result: Result, { methods, seed, path, json }: PrintOptions): void {
  const { before, after, changes, idle, shown } = result;
  const method = methods.join("+");
  const changed = changes.length > 0;
  if (json) {
    console.log(printableJson({ method, seed, changed, changes, before, after }));
    return;
  }
  const effects = methods.map((method) => EFFECTS[method]).join(", then ");
  const count = changed ? `, ${countText(changes.length, "change")}` : "";
  console.log(`${method}: ${effects}; seed ${seed}; changed: ${changed}${count}`);
  for (const [method, lacking] of idle) console.log(`${method} changed nothing: ${lacking}.`);
  if (!changed) return;
  const { text, isBroken } = differenceOf(printable(path), shown);
  if (isBroken) console.log("(long lines are broken to be read)");
  console.log(text);
}
