/**
 * Questions of chains, by template.
 * @module
 */

import { jsonText, type JsonValue } from "../base/json.ts";
import type { ToolGraph } from "./graph.ts";
import { IDS, singular, wordsOf } from "./_words.ts";

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
  const entityOf = (type: string) => graph.types.get(type)!.entity;
  const nounOf = (type: string) => ownWords(entities, entityOf(type)) ?? entityOf(type);
  /** The record so far, in words; `it` is the one that was given and is not named again. */
  let record = "it";
  /** The name of the record so far where no pronoun will do. */
  let named = "";
  const partOf = (part: string, whole: string) =>
    whole === "it" ? `its ${part}` : `the ${part} of ${whole}`;
  const sentences: string[] = [];
  for (const phrase of phrases) {
    if ("given" in phrase) {
      const noun = nounOf(phrase.given);
      const { entity, key: name } = graph.types.get(phrase.given)!;
      const words = textOf(name);
      const key = words.startsWith(`${entity} `) ? words.slice(entity.length + 1) : words;
      sentences.push(`Take the ${noun} whose ${key} is ${jsonText(phrase.id)}.`);
      named = `that ${noun}`;
    } else if ("item" in phrase) {
      const noun = nounOf(phrase.item);
      const items = plural(noun);
      const from = phrase.of === undefined
        ? `all ${items}`
        : isNamed(phrase.parameter!, entityOf(phrase.of))
        ? partOf(items, record)
        : `the ${items} whose ${relationWords(phrase.parameter!)} is ${named}`;
      const label = phrase.label.map(textOf).reverse().join(" of the ");
      sentences.push(`Among ${from}, take the one whose ${label} is ${jsonText(phrase.value)}.`);
      // After a list, "it" might be what the list is of.
      record = named = `that ${noun}`;
    } else if ("relation" in phrase) {
      const own = ownWords(relations, `${entityOf(phrase.from)}.${phrase.relation}`);
      const noun = nounOf(phrase.to);
      const names = own === undefined ? phrase.relation.split(".") : [own];
      for (const [at, name] of names.entries()) {
        const words = relationWords(name) || noun;
        const isLast = at === names.length - 1;
        record = partOf(own ?? nounPhrase(words, isLast ? noun : undefined), record);
      }
      named = record;
    } else {
      const own = ownWords(fields, `${entityOf(phrase.from)}.${phrase.field.join(".")}`);
      const field = own === undefined
        ? phrase.field.reduce((whole, name) => partOf(nounPhrase(textOf(name)), whole), record)
        : partOf(own, record);
      const [, last = ""] = / ?(\w+)$/.exec(textOf(phrase.field.at(-1)!)) ?? [];
      const isMany = own === undefined && !NO_NOUN.test(last) && singular(last) !== last &&
        !field.includes("number of ");
      sentences.push(`What ${isMany ? "are" : "is"} ${field}?`);
    }
  }
  const where = Object.entries(scopes).map(([name, value]) =>
    `the ${relationWords(name) || textOf(name)} ${jsonText(value)}`
  );
  const [first, ...rest] = sentences;
  const begin = where.length === 0
    ? first!
    : `For ${listed(where)}: ${first![0]!.toLowerCase()}${first!.slice(1)}`;
  return [begin, ...rest, "Answer with the value alone, as the tool returns it."].join(" ");
}

function ownWords(words: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(words, key) ? words[key] : undefined;
}

/** Whether a parameter is named by an entity, with or without its key. */
function isNamed(parameter: string, entity: string): boolean {
  const words = relationWords(parameter);
  return words === "" || words === entity || words.endsWith(` ${entity}`);
}

/** Returns the words of a parameter or a relation without those of a key. */
function relationWords(name: string): string {
  const words = wordsOf(name);
  return (IDS.has(words.at(-1) ?? "") ? words.slice(0, -1) : words).join(" ");
}

/** Returns a name as words. */
function textOf(name: string): string {
  return wordsOf(name).join(" ");
}

/** Words that end no noun, and what those before them are of. */
const ENDS: Readonly<Record<string, string>> = { at: "time", on: "date" };
const NO_NOUN =
  /(?:(?:^| )(?:at|on|by|to|from|for|in|of|with|after|before|until|since)$|^\w+ed (?:from|by|to|in|for) |(?:^| )\w+[^e]ed$)/;

/** Returns words as a noun: `created at` is none, and `"created at" time` is one. */
function nounPhrase(words: string, noun?: string): string {
  if (!NO_NOUN.test(words)) return words.replace(/^(?:num|nr) (?:of )?/, "number of ");
  return `"${words}" ${noun ?? ENDS[words.split(" ").at(-1)!] ?? "value"}`;
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
