/**
 * Leaves: the texts and numbers of a record that a question may ask for, by the schema of a result.
 * @module
 */

import type { Place } from "./_places.ts";
import { wordsOf } from "./_words.ts";

/** A text or a number of a record. */
export interface Leaf {
  /** The way to it within the record. */
  readonly path: readonly string[];
  /** Whether questions may ask for it: whether it is not one of few values, an id, an address or about pages. */
  readonly isAsked: boolean;
  /** Whether it is a name or a title, by which a question may choose an item of a list. */
  readonly isLabel: boolean;
}

/** Names on the way to a leaf within its record, at most: longer questions are not clear. */
const MAX_NAMES = 2;

/** Words at the end of names of what nobody asks for: ids, addresses, what programs need, one of few values. */
const NEVER = new Set(
  ("id ids gid uuid guid uid key keys sha sha1 sha256 md5 hash digest etag fingerprint signature token secret password cursor next " +
    "previous page pages offset limit url urls uri href link links image icon avatar thumbnail picture logo photo " +
    "html markdown type kind status state object resource self version revision format encoding mode class locale " +
    "lang").split(" "),
);
const DATE = /^(?:at|on|date|time|day|timestamp|born|since|until)$/;
/** Names by which people tell records of one kind from each other. */
const LABEL =
  /^(?:(?:display|full|short|common|preferred|email) )?(?:name|title|subject|label|summary)$/;

/**
 * Returns the texts and numbers of the record of an entity at a way in a result, without those of the records within
 * it.
 */
export function leavesOf(
  places: readonly Place[],
  way: readonly string[],
  inner: readonly (readonly string[])[],
  entity: string,
): Leaf[] {
  const nested = inner.filter((path) => path.length > way.length && isWithin(path, way));
  const aroundOf = (path: readonly string[]) => path.slice(0, -1).join("\0");
  const lists = new Set(
    places.flatMap(({ path, type }) => type === "array" ? [aroundOf(path)] : []),
  );
  return places.flatMap(({ path, type, plain }): Leaf[] => {
    const own = path.slice(way.length);
    const isLeaf = type === "string" || type === "number" || type === "integer";
    if (!isLeaf || own.length < 1 || own.length > MAX_NAMES || own.includes("*")) return [];
    if (!isWithin(path, way) || nested.some((one) => isWithin(path, one))) return [];
    const lasts = own.map((name) => wordsOf(name).at(-1) ?? "id");
    const isListed = Object.hasOwn(plain, "enum") || Object.hasOwn(plain, "const") ||
      /^(ur[il]|iri|binary|byte|password)/.test(String(plain["format"]));
    // What stands beside a list within a record is about its pages.
    const isPage = own.length > 1 && lists.has(aroundOf(path));
    // Words that are drawn for it would be no date.
    const isDate = type === "string" && plain["format"] === undefined && DATE.test(lasts.at(-1)!);
    const isAsked = !isListed && !isDate && !isPage && !lasts.some((word) => NEVER.has(word));
    const isLabel = isAsked && type === "string" && own.length === 1 && isName(own[0]!, entity);
    return [{ path: own, isAsked, isLabel }];
  });
}

/** Whether a property is the name of an entity: `name`, `display_name`, or `pet_name` of a pet. */
function isName(property: string, entity: string): boolean {
  const words = wordsOf(property).join(" ");
  return LABEL.test(words.startsWith(`${entity} `) ? words.slice(entity.length + 1) : words);
}

/** Whether a way begins with another one. */
export function isWithin(path: readonly string[], way: readonly string[]): boolean {
  return way.every((key, at) => key === path[at]);
}
