/**
 * What the loaders of call sets share: how documents become tools, and parts a set.
 * @module
 */

import { z } from "zod";
import type { ApiFunction, CallQuestion, CallSet, CallTruth } from "./question_set.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { isWithin } from "../../base/json_depth.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { type TruthCheck, truthCheck } from "./check_truth.ts";
import {
  acceptText,
  acceptTypeOf,
  isTypeWord,
  schemaOfWords,
} from "../../tools/schema/plain_types.ts";

/** Documents and calls of people are far from it. */
const MOST_LEVELS = 100;

/** An object of a file, as it is: its keys may be any. */
export const OBJECT = z.custom<JsonObject>(isJsonObject, "must be an object").refine(
  (value) => isWithin(value, { levels: MOST_LEVELS }),
  `must nest at most ${MOST_LEVELS} levels deep: it nests deeper`,
);

/** What is asked, and what stands before it. */
export const MESSAGES = z.array(
  z.strictObject({ role: z.enum(["system", "user"]), content: z.string() }),
).min(1).refine(
  (messages) => messages.some(({ role }) => role === "user"),
  "must have a message of the user: nothing would be asked",
);

/** A name or an id. */
export const NAME = z.string().min(1);

/** A function as a file documents it. */
export interface FunctionDraft {
  /** Its name. */
  readonly name: string;
  /** What it does. */
  readonly description: string;
  /** Its document as the file has it. */
  readonly document: JsonObject;
  /** Its parameters: type words by name, names alone, or a JSON Schema. */
  readonly parameters:
    | { readonly words: JsonObject }
    | { readonly names: readonly string[] }
    | { readonly schema: JsonObject };
  /** The type words, or the schema, of what it returns. */
  readonly returns?: { readonly words: JsonValue } | { readonly schema: JsonObject };
}

/** The functions of a domain, as a file documents them. */
export interface DomainDraft {
  /** The file, as it is named in messages. */
  readonly source: string;
  /** Its functions. */
  readonly functions: readonly FunctionDraft[];
}

/** A question, and where it stands. */
export interface QuestionDraft {
  /** The question itself. */
  readonly question: CallQuestion;
  /** The file, as it is named in messages. */
  readonly source: string;
  /** The path of its record in the file. */
  readonly path: string;
  /** What is odd about the record itself; left out where nothing is. */
  readonly oddity?: string | undefined;
}

/** A call set as its files have it. */
export interface SetDraft {
  /** What it is called. */
  readonly name: string;
  /** The functions, by domain. */
  readonly domains: ReadonlyMap<string, DomainDraft>;
  /** The questions, of domains that there are. */
  readonly questions: readonly QuestionDraft[];
}

/**
 * The call set that files make, with warnings of what is odd about them.
 *
 * @throws {InputError} If two questions have one id.
 */
export function assemble({ name, domains: drafts, questions: drawn }: SetDraft): CallSet {
  assertIds(drawn);
  const questions = drawn.map(({ question }) => question);
  const calls = Map.groupBy(questions.flatMap(callsOf), ({ domain }) => domain);
  const warnings: string[] = [];
  const domains = new Map(
    [...drafts].map(([domain, draft]) => [
      domain,
      functionsOf(draft, calls.get(domain) ?? [], (text) => warnings.push(text)),
    ]),
  );
  const checks = new Map(
    [...drafts].map(([domain, draft]) => [domain, checksOf(draft, domains.get(domain)!)]),
  );
  for (const { question, source, oddity } of drawn) {
    const warn = (text: string) => warnings.push(`${source}: ${question.id}: ${text}`);
    if (oddity !== undefined) warn(oddity);
    warnOfTruth(question.truth, domains.get(question.domain)!, warn);
    warnOfArguments(question.truth, checks.get(question.domain)!, warn);
  }
  return { name, hash: hashOf(domains, questions), domains, questions, warnings };
}

/** @throws {InputError} Naming where both stand. */
function assertIds(questions: readonly QuestionDraft[]): void {
  const places = new Map<string, QuestionDraft>();
  for (const draft of questions) {
    const { question: { id }, source, path } = draft;
    const before = places.get(id);
    if (before !== undefined) {
      throw new InputError(
        `Cannot use ${source}:\n  at ${path}.id: must be another than those before: it is ` +
          `${printable(JSON.stringify(id))}, as at ${before.path} of ${before.source}`,
      );
    }
    places.set(id, draft);
  }
}

/** A right call. */
interface Call {
  readonly domain: string;
  readonly name: string;
  readonly given: JsonValue;
}

function callsOf({ domain, truth: { API, parameters } }: CallQuestion): Call[] {
  return parameters.map((given, place) => ({ domain, name: API[place]!, given }));
}

type Warn = (text: string) => void;

/** The functions of a domain. Of those with one name the first counts. */
function functionsOf(
  { source, functions }: DomainDraft,
  calls: readonly Call[],
  warn: Warn,
): ApiFunction[] {
  const byName = Map.groupBy(functions, ({ name }) => name);
  for (const [name, { length }] of byName) {
    if (length > 1) warn(`${source}: ${name}: there are ${length} of this name; the first counts`);
  }
  const own = [...byName.values()].map(([first]) => first!);
  warnOfWords(source, own, warn);
  const given = Map.groupBy(calls, ({ name }) => name);
  const names = new Set(own.map(({ name }) => name).filter(isToolName));
  return own.map((draft) => {
    const name = toolName(draft.name, names);
    if (name !== draft.name) {
      warn(`${source}: ${draft.name}: no provider takes this name; its tool is called ${name}`);
    }
    const { document } = draft;
    return { name: draft.name, document, tool: toolOf(draft, name, given.get(draft.name) ?? []) };
  });
}

/** OpenAI's rule for names of functions. */
function isToolName(name: string): boolean {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(name);
}

/** A name that providers take and no other tool has; it is added to `taken`. */
function toolName(name: string, taken: Set<string>): string {
  if (isToolName(name)) return name;
  const base = name.replaceAll(/[^a-zA-Z0-9_-]/gu, "_").slice(0, 58);
  let unique = base;
  for (let number = 2; taken.has(unique); number++) unique = `${base}_${number}`;
  taken.add(unique);
  return unique;
}

/** The tool for native calling. */
function toolOf(
  { description, parameters, returns }: FunctionDraft,
  name: string,
  calls: readonly Call[],
): ToolSchema {
  return {
    name,
    description,
    parameters: "schema" in parameters ? parameters.schema : schemaOf(parameters, calls),
    ...(returns === undefined
      ? {}
      : { returns: "schema" in returns ? returns.schema : schemaOfWords(returns.words) }),
  };
}

/**
 * The schema of parameters that are told in words. The right calls of published sets must conform, and many
 * would not if the words were taken at their word: they lack parameters or have others, so none is required
 * and any may be added; whatever is unknown is given as "$$$", so every parameter takes a text, whether
 * or not a truth has one there; and where a truth has a value of yet another type, that type is taken too.
 */
function schemaOf(
  parameters: { readonly words: JsonObject } | { readonly names: readonly string[] },
  calls: readonly Call[],
): JsonObject {
  const words = "words" in parameters
    ? parameters.words
    : Object.fromEntries(parameters.names.map((name) => [name, "string"]));
  const { properties } = schemaOfWords(words);
  const lenient = Object.entries(properties as JsonObject).map(([key, schema]) => {
    const given = calls.flatMap((call) =>
      isJsonObject(call.given) && Object.hasOwn(call.given, key) ? [call.given[key]!] : []
    );
    return [key, given.reduce<JsonObject>(acceptTypeOf, acceptText(schema as JsonObject))];
  });
  return { type: "object", properties: Object.fromEntries(lenient) };
}

/** So many records are named in one warning. */
const MOST_NAMED = 10;

/** Warns of types that are not told, or in words that name none. */
function warnOfWords(source: string, functions: readonly FunctionDraft[], warn: Warn): void {
  const nameless = functions.flatMap(({ name, parameters }) =>
    "names" in parameters && parameters.names.length > 0 ? [name] : []
  );
  if (nameless.length > 0) {
    warn(`${source}: ${listed(nameless)}: parameters are names without types, taken for texts`);
  }
  const loose = functions.flatMap(({ name, parameters }) =>
    "words" in parameters
      ? looseWords(parameters.words).map(([path, word]) => `${name}.${path} (${word})`)
      : []
  );
  if (loose.length > 0) {
    warn(`${source}: ${listed(loose)}: words that name no type, taken for descriptions`);
  }
}

/** The words that name no type, and examples in their place, by the path of the parameter. */
function looseWords(words: JsonObject, above = ""): [path: string, word: string][] {
  return Object.entries(words).flatMap(([key, word]): [string, string][] => {
    if (isJsonObject(word)) return looseWords(word, `${above}${key}.`);
    const isLoose = typeof word !== "string" || !isTypeWord(word);
    return isLoose ? [[above + key, printable(JSON.stringify(word), 60)]] : [];
  });
}

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return names.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Warns of right calls that cannot be read off the documents. */
function warnOfTruth(
  { API, parameters }: CallTruth,
  functions: readonly ApiFunction[],
  warn: Warn,
): void {
  const known = new Set(functions.map(({ name }) => name));
  const strange = API.filter((name) => !known.has(name));
  if (strange.length > 0) warn(`the truth calls ${strange.join(", ")}, which is not on offer`);
  if (parameters.length < API.length) {
    warn("the truth's parameters are [], though it has a call: read as a call without arguments");
  }
}

/** What checks the right calls of functions whose parameters are a JSON Schema, by the function. */
function checksOf(
  { functions: drafts }: DomainDraft,
  functions: readonly ApiFunction[],
): ReadonlyMap<string, TruthCheck> {
  const strict = new Set(
    drafts.flatMap(({ parameters }) => "schema" in parameters ? [parameters.schema] : []),
  );
  const held = functions.filter(({ tool }) => strict.has(tool.parameters));
  return new Map(held.map(({ name, tool }) => [name, truthCheck(tool)]));
}

/** Warns of right calls that native calling would refuse. */
function warnOfArguments(
  { API, parameters }: CallTruth,
  checks: ReadonlyMap<string, TruthCheck>,
  warn: Warn,
): void {
  for (const [place, name] of API.entries()) {
    const fault = checks.get(name)?.(parameters[place] ?? {});
    if (fault === undefined) continue;
    const call = `the truth's call ${place + 1}, ${printable(name, 100)},`;
    warn(`${call} does not conform to the schema of its parameters${fault}`);
  }
}

/** Names and files do not count, nor how files are laid out; the order of keys does: prompts show it. */
function hashOf(
  domains: ReadonlyMap<string, readonly ApiFunction[]>,
  questions: readonly CallQuestion[],
): string {
  const documents = [...domains].map(([domain, functions]) => [
    domain,
    functions.map(({ document, tool }) => [document, tool]),
  ]);
  return sha256(JSON.stringify({ documents, questions }));
}

/** What is wrong with the lists of a truth; `undefined` when nothing is. */
export function faultOfTruth({ API, parameters }: CallTruth): string | undefined {
  const [names, given] = [API.length, parameters.length];
  if (given === names || given === 0) return undefined;
  return `must be as many as the names of API, ${names}, or none: there are ${given}`;
}
