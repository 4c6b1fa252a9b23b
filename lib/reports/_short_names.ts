/**
 * Short names: names of models that would not leave room for numbers are shortened to what tells them apart, the same
 * everywhere.
 * @module
 */

import { printable } from "../base/json.ts";
import { columnsOf } from "../base/wrap.ts";

/** Names of at most this many columns are never shortened. */
const LEAST = 30;

/** Names in their short forms. */
export interface ShortNames {
  /** The short form of each long name; empty if no name is long. */
  readonly forms: ReadonlyMap<string, string>;
  /** Returns the short form of a name, and any other name as it is. */
  readonly shorten: (name: string) => string;
}

/** Shortens those of several names that take more than a fifth of the width. */
export function shortNames(models: readonly string[], width: number): ShortNames {
  const most = Math.max(LEAST, Math.floor(width / 5));
  const names = [...new Set(models)];
  const long = names.filter((name) => columnsOf(printable(name, Infinity)) > most);
  const parts = new Map(long.map((name) => [name, partsOf(printable(name, Infinity))]));
  const taken = new Set(names);
  const kept = new Map(
    long.map((name) => [name, shortForm(parts.get(name)!, [...parts.values()])]),
  );
  const forms = new Map(long.map((name) => {
    const own = kept.get(name)!;
    const others = long.filter((other) => other !== name).map((other) => kept.get(other)!);
    let unique = withoutEnd(own, others, most) ?? withoutMiddle(joined(own), most);
    for (let number = 2; taken.has(unique); number++) {
      const end = ` (${number})`;
      unique = withoutMiddle(joined(own), most - end.length) + end;
    }
    taken.add(unique);
    return [name, unique];
  }));
  return { forms, shorten: (name) => forms.get(name) ?? name };
}

/** Returns names of which no two are equal: those that another one has are numbered. */
export function numbered(names: readonly string[]): string[] {
  const taken = new Set<string>();
  for (const name of names) {
    let own = name;
    for (let count = 2; taken.has(own); count++) own = `${name} #${count}`;
    taken.add(own);
  }
  return [...taken];
}

/** Splits a name behind its separators. */
function partsOf(name: string): string[] {
  return name.split(/(?<=[/?&,;:@ ])/);
}

/** Returns the parts of a name without those that all long names have. */
function shortForm(own: readonly string[], all: readonly (readonly string[])[]): readonly string[] {
  const isShared = (part: string) => {
    const bare = part.replace(/[&,;]$/, "");
    return all.every((parts) => parts.some((other) => other.replace(/[&,;]$/, "") === bare));
  };
  // What begins a name says whose it is, unless it is a folder.
  const kept = own.filter((part, place) =>
    all.length > 1 ? place === 0 && !part.endsWith("/") || !isShared(part) : !part.endsWith("/")
  );
  return kept.length === 0 ? own : kept;
}

/** Joins parts to a name that ends with no separator. */
function joined(parts: readonly string[]): string {
  return parts.join("").replace(/[&,;]$/, "");
}

/** Returns as many of the first parts as fit, if these tell a name from all others; of one name alone any part may matter. */
function withoutEnd(
  own: readonly string[],
  others: readonly (readonly string[])[],
  most: number,
): string | undefined {
  if (others.length === 0) return undefined;
  for (let count = own.length; count > 0; count--) {
    const first = joined(own.slice(0, count));
    const text = count < own.length ? `${first}…` : first;
    if (columnsOf(text) > most) continue;
    const isUnique = others.every((other) => joined(other.slice(0, count)) !== first);
    return isUnique ? text : undefined;
  }
  return undefined;
}

/** Returns a name with its middle left out where it is too long. */
function withoutMiddle(form: string, most: number): string {
  if (columnsOf(form) <= most) return form;
  const half = (most - 1) >> 1;
  return `${endOf([...form], half)}…${endOf([...form].reverse(), half, true)}`;
}

/** Returns as many characters as fit. */
function endOf(characters: readonly string[], columns: number, isReversed = false): string {
  let end = "";
  for (const character of characters) {
    const next = isReversed ? character + end : end + character;
    if (columnsOf(next) > columns) break;
    end = next;
  }
  return end;
}
