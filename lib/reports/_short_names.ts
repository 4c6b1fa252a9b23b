/**
 * Short names: names of models that would not leave room for numbers are shortened, the same everywhere.
 * @module
 */

import { printable } from "../base/json.ts";
import { columnsOf } from "../base/wrap.ts";
import { nameText } from "./text_table.ts";

/** Names of at most this many columns are never shortened. */
const LEAST = 30;

/** Names in their short forms. */
export interface ShortNames {
  /** The short form of each long name; empty if no name is long. */
  readonly forms: ReadonlyMap<string, string>;
  /** Returns the short form of a name, and any other name as it is. */
  readonly shorten: (name: string) => string;
}

/** Shortens those of several names that take more than a fifth of the width; of equal forms all but the first are numbered. */
export function shortNames(models: readonly string[], width: number): ShortNames {
  const most = Math.max(LEAST, Math.floor(width / 5));
  const names = [...new Set(models)];
  const taken = new Set(names);
  const long = names.filter((name) => columnsOf(printable(name, Infinity)) > most);
  const forms = new Map(long.map((name) => {
    let form = nameText(name, most);
    for (let number = 2; taken.has(form); number++) {
      const end = ` (${number})`;
      form = nameText(name, most - end.length) + end;
    }
    taken.add(form);
    return [name, form];
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
