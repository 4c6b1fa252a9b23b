/**
 * Questions of chains, by template.
 * @module
 */

import { jsonText, type JsonValue } from "../base/json.ts";
import type { ToolGraph } from "./graph.ts";
import { isId, wordsOf } from "./_words.ts";

/** The version of the templates: a part of what somebody confirms. */
export const TEMPLATES = 1;

/** What a question says, part by part. */
export type Phrase =
  /** The record whose id is given. */
  | { readonly given: string; readonly id: JsonValue }
  /** An item of a list: of what the record so far names by a parameter, or of all. */
  | {
    readonly item: string;
    readonly label: readonly string[];
    readonly value: JsonValue;
    readonly parameter?: string | undefined;
    readonly of?: string | undefined;
  }
  /** The record that the one so far refers to. */
  | { readonly relation: string; readonly from: string; readonly to: string }
  /** What is asked for. */
  | { readonly field: readonly string[]; readonly from: string };

/** Returns the question. */
export function questionOf(
  graph: ToolGraph,
  scopes: Readonly<Record<string, JsonValue>>,
  phrases: readonly Phrase[],
): string {
  const { entities = {}, relations = {}, fields = {} } = graph.words;
  const own = (words: Readonly<Record<string, string>>, key: string) =>
    Object.hasOwn(words, key) ? words[key] : undefined;
  const entityOf = (type: string) => graph.types.get(type)!.entity;
  const nounOf = (type: string) => own(entities, entityOf(type)) ?? entityOf(type);
  /** The record so far, in words. */
  let record = "";
  const sentences: string[] = [];
  for (const phrase of phrases) {
    if ("given" in phrase) {
      const noun = nounOf(phrase.given);
      const key = textOf(graph.types.get(phrase.given)!.key);
      sentences.push(`Take the ${noun} whose ${key} is ${jsonText(phrase.id)}.`);
      record = `that ${noun}`;
    } else if ("item" in phrase) {
      const noun = nounOf(phrase.item);
      const of = phrase.of === undefined
        ? `all ${plural(noun)}`
        : isNamed(phrase.parameter!, entityOf(phrase.of))
        ? `the ${plural(noun)} of ${record}`
        : `the ${plural(noun)} whose ${relationWords(phrase.parameter!)} is ${record}`;
      const label = fieldWords(phrase.label);
      sentences.push(`Among ${of}, take the one whose ${label} is ${jsonText(phrase.value)}.`);
      record = `that ${noun}`;
    } else if ("relation" in phrase) {
      const named = own(relations, `${entityOf(phrase.from)}.${phrase.relation}`);
      record = `the ${named ?? relationNoun(phrase.relation, nounOf(phrase.to))} of ${record}`;
    } else {
      const named = own(fields, `${entityOf(phrase.from)}.${phrase.field.join(".")}`);
      sentences.push(`What is the ${named ?? fieldWords(phrase.field)} of ${record}?`);
    }
  }
  const where = Object.entries(scopes).map(([name, value]) =>
    `the ${textOf(name)} ${jsonText(value)}`
  );
  const [first, ...rest] = sentences;
  const begin = where.length === 0
    ? first!
    : `For ${listed(where)}: ${first![0]!.toLowerCase()}${first!.slice(1)}`;
  return [begin, ...rest, "Answer with the value alone, as the tool returns it."].join(" ");
}

/** Returns a way within a record as words: `address.city` as `city of the address`. */
function fieldWords(path: readonly string[]): string {
  return path.map(textOf).reverse().join(" of the ");
}

/** Whether a parameter is named by an entity, with or without its key. */
function isNamed(parameter: string, entity: string): boolean {
  const words = relationWords(parameter);
  return words === "" || words === entity || words.endsWith(` ${entity}`);
}

/** Returns the words of a parameter or a relation without those of a key. */
function relationWords(name: string): string {
  const words = wordsOf(name);
  return (isId(words.at(-1) ?? "") ? words.slice(0, -1) : words).join(" ");
}

/** Returns a name as words. */
function textOf(name: string): string {
  return wordsOf(name).join(" ");
}

/** Returns a relation as a noun: `created by` says nothing without what it leads to. */
function relationNoun(relation: string, noun: string): string {
  const words = relationWords(relation);
  return / (by|to|from|for|in|of|at|on)$/.test(words) ? `"${words}" ${noun}` : words || noun;
}

/** Returns the plural of a noun. */
function plural(noun: string): string {
  if (/(?:s|x|z|ch|sh)$/.test(noun)) return `${noun}es`;
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** Returns `a, b and c`. */
function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
