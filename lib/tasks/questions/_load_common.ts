/**
 * Call set assembly, shared by all loaders: turns function documents into tools, and drafts into a call set.
 * @module
 */

import { firstClash } from "../../base/clash.ts";
import { z } from "zod";
import {
  defined,
  fieldOf,
  isJsonObject,
  isWithin,
  type JsonObject,
  jsonText,
  type JsonValue,
  listText,
  printable,
  withNumberBounds,
} from "../../base/json.ts";
import { WITH_INPUT } from "../../base/input.ts";
import { unseenValues } from "./_check_results.ts";
import {
  type ApiFunction,
  type CallQuestion,
  type CallSet,
  type CallTruth,
  type Comparison,
  holdsPlaceholder,
  resolvedTruth,
  variantsOf,
} from "./question_set.ts";
import { cannot, orCannot } from "../../base/errors.ts";
import { sha256 } from "../../base/hash.ts";
import { providerNames } from "../../tools/provider_names.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import {
  acceptText,
  acceptTypeOf,
  isTypeWord,
  schemaOfWords,
} from "../../tools/schema/plain_types.ts";
import { argumentCheck } from "../../tools/schema/validate.ts";

/** Levels of nesting in documents and calls, at most: far more than people write. */
const MAX_LEVELS = 100;

/** Schema of an object with any keys. */
export const OBJECT = z.custom<JsonObject>(isJsonObject, "must be an object").refine(
  (value) => isWithin(value, { levels: MAX_LEVELS }),
  `must nest at most ${MAX_LEVELS} levels deep: it nests deeper`,
);

/** Returns the schema of an object that is kept as it is, and whose fields are checked by another schema. */
export function documentSchema<Fields>(
  fields: z.ZodType<Fields>,
  draftOf: (fields: Fields, document: JsonObject) => Omit<FunctionDraft, "document">,
) {
  return OBJECT.transform((given, context): FunctionDraft => {
    const document = withNumberBounds(given);
    const { data, error } = fields.safeParse(document, WITH_INPUT);
    context.issues.push(...(error?.issues ?? []) as z.core.$ZodRawIssue[]);
    return data === undefined ? z.NEVER : { document, ...draftOf(data, document) };
  });
}

/** Schema of what a call returns, which may be any value. */
export const RESULT = z.custom<JsonValue>((value) => value !== undefined).refine(
  (value) => isWithin(value, { levels: MAX_LEVELS }),
  `must nest at most ${MAX_LEVELS} levels deep: it nests deeper`,
);

/** Schema of a question's messages. */
export const MESSAGES = z.array(
  z.strictObject({ role: z.enum(["system", "user"]), content: z.string() }),
).min(1).refine(
  (messages) => messages.some(({ role }) => role === "user"),
  "must have a message of the user: nothing would be asked",
);

/** Schema of a name or an id. */
export const NAME = z.string().min(1);

/** A function as a file documents it. */
export interface FunctionDraft {
  /** Its name. */
  readonly name: string;
  /** Its description. */
  readonly description: string;
  /** Its document as in the file. */
  readonly document: JsonObject;
  /** Its parameters: type words by name, names alone, or a JSON Schema. */
  readonly parameters:
    | { readonly words: JsonObject }
    | { readonly names: readonly string[] }
    | { readonly schema: JsonObject };
  /** The type words, or the schema, of its return value. */
  readonly returns?: { readonly words: JsonValue } | { readonly schema: JsonObject };
}

/** The functions of a domain, as a file documents them. */
export interface DomainDraft {
  /** Name of the file, for messages. */
  readonly source: string;
  /** Its functions. */
  readonly functions: readonly FunctionDraft[];
}

/** A question, and its place in a file. */
export interface QuestionDraft {
  /** The question itself. */
  readonly question: CallQuestion;
  /** Name of the file, for messages. */
  readonly source: string;
  /** The path of its record in the file. */
  readonly path: string;
}

/** A call set as in its files. */
export interface SetDraft {
  /** Its name. */
  readonly name: string;
  /** The functions, by domain. */
  readonly domains: ReadonlyMap<string, DomainDraft>;
  /** The questions, each of one of these domains. */
  readonly questions: readonly QuestionDraft[];
  /** How its calls are compared; omitted where it is as the rule says. */
  readonly comparison?: Comparison | undefined;
}

/**
 * Assembles a call set from drafts, with warnings about oddities in the files.
 *
 * @throws {InputError} If two questions have the same id, or the schema of a function refuses a right call.
 */
export function assemble(
  { name, domains: drafts, questions: questionDrafts, comparison }: SetDraft,
): CallSet {
  assertIds(questionDrafts);
  const questions = questionDrafts.map(({ question }) => question);
  const warnings: string[] = [];
  const domains = new Map<string, ApiFunction[]>();
  for (const [domain, draft] of drafts) {
    const own = questionDrafts.filter(({ question }) => question.domain === domain);
    const functions = apiFunctions(
      draft,
      own.map(({ question }) => question),
      (text) => warnings.push(text),
    );
    domains.set(domain, functions);
    assertTruths(draft, functions, own);
  }
  for (const { question, source } of questionDrafts) {
    const warn = (text: string) => warnings.push(`${source}: ${question.id}: ${text}`);
    warnAboutTruth(question.truth, domains.get(question.domain)!, warn);
    if (question.results !== undefined) warnAboutResults(question, warn);
  }
  const hash = setHash(domains, questions, comparison);
  return defined({ name, hash, domains, questions, comparison, warnings });
}

/** @throws {InputError} If two questions have the same id; the message names the places of both. */
export function assertIds(questions: readonly QuestionDraft[]): void {
  const [before, again] = firstClash(questions, ({ question }) => question.id) ?? [];
  if (before === undefined) return;
  throw cannot(
    `use ${again!.source}`,
    `${again!.path}.id must be another than those before`,
    `${JSON.stringify(before.question.id)} is at ${before.path} of ${before.source}, too`,
  );
}

type Warn = (text: string) => void;

/** Returns the functions of a domain. Of several with the same name, the first counts. */
function apiFunctions(
  { source, functions }: DomainDraft,
  questions: readonly CallQuestion[],
  warn: Warn,
): ApiFunction[] {
  const byName = Map.groupBy(functions, ({ name }) => name);
  for (const [name, { length }] of byName) {
    if (length > 1) warn(`${source}: ${name}: there are ${length} of this name; the first counts`);
  }
  const own = [...byName.values()].map(([first]) => first!);
  warnAboutTypes(source, own, warn);
  // Both the placeholders and the values that are declared for them.
  const truths = questions.flatMap((one) => [...new Set([one.truth, resolvedTruth(one)])]);
  const given = (name: string) =>
    truths.flatMap(({ API, parameters }) => parameters.filter((_, place) => API[place] === name));
  const names = providerNames(own.map(({ name }) => name));
  return own.map(({ name, description, document, parameters, returns }, place) => {
    const tool = names[place]!;
    if (tool !== name) {
      warn(`${source}: ${name}: no provider takes this name; its tool is called ${tool}`);
    }
    return {
      ...{ name, document },
      tool: {
        ...{ name: tool, description },
        parameters: "schema" in parameters
          ? parameters.schema
          : lenientSchema(parameters, given(name)),
        returns: returns && ("schema" in returns ? returns.schema : schemaOfWords(returns.words)),
      },
    };
  });
}

/**
 * Returns the schema of parameters documented by type words. The right calls of published sets must conform,
 * and many would violate a literal schema: they lack parameters or have others, so none is required and any
 * may be added; unknown values are given as "$$$", so every parameter accepts a string, whether or not a
 * truth has one there; and if a truth has a value of yet another type, that type is accepted, too.
 */
function lenientSchema(
  parameters: { readonly words: JsonObject } | { readonly names: readonly string[] },
  truths: readonly JsonValue[],
): JsonObject {
  const words = "words" in parameters
    ? parameters.words
    : Object.fromEntries(parameters.names.map((name) => [name, "string"]));
  const { properties } = schemaOfWords(words);
  const lenient = Object.entries(properties as JsonObject).map(([key, schema]) => {
    const given = truths.flatMap(variantsOf).flatMap((truth) =>
      isJsonObject(truth) && Object.hasOwn(truth, key) ? [truth[key]!] : []
    );
    return [key, given.reduce<JsonObject>(acceptTypeOf, acceptText(schema as JsonObject))];
  });
  return { type: "object", properties: Object.fromEntries(lenient) };
}

/** Records named in one warning, at most. */
const MAX_NAMED = 10;

/** Warns about parameters without types, or with words that are not type names. */
function warnAboutTypes(source: string, functions: readonly FunctionDraft[], warn: Warn): void {
  const nameless = functions.flatMap(({ name, parameters }) =>
    "names" in parameters && parameters.names.length > 0 ? [name] : []
  );
  const loose = functions.flatMap(({ name, parameters }) =>
    "words" in parameters
      ? looseWords(parameters.words).map(([path, word]) => `${name}.${path} (${word})`)
      : []
  );
  const oddities: [string[], string][] = [
    [nameless, "parameters are names without types, read as strings"],
    [loose, "words that name no type, read as descriptions"],
  ];
  for (const [names, what] of oddities) {
    if (names.length > 0) warn(`${source}: ${listText(names, MAX_NAMED)}: ${what}`);
  }
}

/** Returns words that name no type, and examples in their place, with the path of the parameter. */
function looseWords(words: JsonObject, above = ""): [path: string, word: string][] {
  return Object.entries(words).flatMap(([key, word]): [string, string][] => {
    if (isJsonObject(word)) return looseWords(word, `${above}${key}.`);
    const isLoose = typeof word !== "string" || !isTypeWord(word);
    return isLoose ? [[above + key, printable(JSON.stringify(word), 60)]] : [];
  });
}

/** Warns about right calls that do not match the documents. */
function warnAboutTruth(
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

/**
 * Checks right calls of functions whose parameters are a JSON Schema.
 *
 * @throws {InputError} If native calling would refuse one, with its real values or without, or the schema is none.
 */
function assertTruths(
  { source: file, functions: drafts }: DomainDraft,
  functions: readonly ApiFunction[],
  questions: readonly QuestionDraft[],
): void {
  const schemas = new Set(drafts.map(({ parameters }) => fieldOf(parameters, "schema")));
  const checkable = functions.filter(({ tool }) => schemas.has(tool.parameters));
  const checks = orCannot(
    `use ${file}`,
    () => new Map(checkable.map(({ name, tool }) => [name, truthCheck(tool)])),
  );
  for (const { question, source, path } of questions) {
    for (const { API, parameters } of new Set([question.truth, resolvedTruth(question)])) {
      for (const [place, name] of API.entries()) {
        const [fault] = variantsOf(parameters[place] ?? {})
          .flatMap((one) => checks.get(name)?.(one) ?? []);
        if (fault === undefined) continue;
        const call = `${path}.calls[${place}]`;
        const rule = `${call} must be a call that the schema of ${printable(name)} takes`;
        throw cannot(`use ${source}`, rule, printable(fault, 300));
      }
    }
  }
}

/** Warns about declared values that no model can have seen. */
function warnAboutResults(question: CallQuestion, warn: Warn): void {
  const unseen = unseenValues(question);
  if (unseen.length === 0) return;
  warn(
    `no earlier result and no message holds the values of ${listText(unseen, MAX_NAMED)}: ` +
      "a model must work them out",
  );
}

/** Hashes functions and questions. Names and layout of files do not count, but the order of keys does. */
export function setHash(
  domains: ReadonlyMap<string, readonly ApiFunction[]>,
  questions: readonly CallQuestion[],
  comparison?: Comparison,
): string {
  const documents = [...domains].map(([domain, functions]) => [
    domain,
    functions.map(({ document, tool }) => [document, tool]),
  ]);
  return sha256(jsonText({ documents, questions, comparison }));
}

/** Returns why arguments do not conform to a schema; `undefined` if they do. */
type TruthCheck = (given: JsonValue) => string | undefined;

/**
 * Creates a check for the arguments of right calls. An argument that holds a placeholder is not checked; where
 * there is one, nor is what concerns several arguments together. The schema is compiled once, and must not be
 * changed afterwards.
 *
 * @throws {InputError} If its schema is invalid.
 */
export function truthCheck(tool: ToolSchema): TruthCheck {
  const check = argumentCheck(tool);
  return (given) => {
    const { error, fault } = check(given) ?? {};
    const { missing = [], unexpected = [], wrongType = [] } = fault ?? {};
    const open = Object.entries(Object(given)).filter(([, value]) =>
      holdsPlaceholder(value as JsonValue)
    );
    const isOpen = open.length > 0 && missing.length + unexpected.length === 0 &&
      wrongType.every((name) => open.some(([own]) => own === name));
    return isOpen ? undefined : error;
  };
}
