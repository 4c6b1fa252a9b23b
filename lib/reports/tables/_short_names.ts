/**
 * Short names: names of models that would not leave room for numbers are shortened, the same everywhere.
 * @module
 */

import { printable } from "../../base/json.ts";
import { columnsOf } from "../../base/wrap.ts";

/** Names of at most this many columns are never shortened. */
const LEAST = 30;

/** Names in their short forms. */
export interface ShortNames {
  /** The short form of each long name; empty if no name is long. */
  readonly forms: ReadonlyMap<string, string>;
  /** Returns a copy of data in which names, alone or with what follows them in a label, are short. */
  readonly shorten: <Data>(data: Data) => Data;
}

/** Shortens those of several names that take more than a fifth of the width. */
export function shortNames(models: readonly string[], width: number): ShortNames {
  const most = Math.max(LEAST, Math.floor(width / 5));
  const names = [...new Set(models)];
  const long = names.filter((name) => columnsOf(printable(name, Infinity)) > most);
  if (long.length === 0) return { forms: new Map(), shorten: (data) => data };
  const forms = long.map((name) => shortForm(printable(name, Infinity), most));
  const taken = new Set(names);
  const short = new Map(long.map((name, place) => {
    const form = forms[place]!;
    const isUnique = forms.filter((other) => other === form).length === 1 && !taken.has(form);
    let unique = form;
    for (let number = 1; !isUnique && (unique === form || taken.has(unique)); number++) {
      unique = `${form} (${number})`;
    }
    taken.add(unique);
    return [name, unique];
  }));
  return { forms: short, shorten: renaming(short) };
}

/** Shortens a name: without the settings of a simulated model, without the folders of others, or in the middle. */
function shortForm(name: string, most: number): string {
  const plain = name.startsWith("sim:")
    ? name.replace(/\?.*$/s, "?…")
    : name.replace(/^.*\/(?=.)/s, "…/");
  if (plain !== name && columnsOf(plain) <= most) return plain;
  const half = (most - 1) >> 1;
  return `${endOf([...plain], half)}…${endOf([...plain].reverse(), half, true)}`;
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

function renaming(short: ReadonlyMap<string, string>): ShortNames["shorten"] {
  const forms = new Map([...short].map(([name, form]) => [printable(name), form]));
  for (const [name, form] of short) forms.set(name, form);
  // The longest first: a name may begin with another.
  const any = [...forms.keys()].sort((one, other) => other.length - one.length)
    .map((name) => RegExp.escape(name)).join("|");
  // Names begin labels; in the text of a verdict stands the baseline of an upgrade.
  const named = new RegExp(
    `^(?:${any})(?= \\+ | \\(|$)|(?<=that of )(?:${any})(?=[.;,](?: |$)| [+(])`,
  );
  const rename = (text: string) => text.replace(named, (name) => forms.get(name)!);
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return rename(value);
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== "object") return value;
    if (value instanceof Map) {
      return new Map([...value].map(([key, own]) => [walk(key), walk(own)]));
    }
    return Object.fromEntries(Object.entries(value).map(([key, own]) => [rename(key), walk(own)]));
  };
  return <Data>(data: Data) => walk(data) as Data;
}
