/**
 * Links on the page of a report: what addresses call variants and cells, and where they lead.
 * @module
 */

import type { Variant } from "../gate/variant.ts";
import type { Report } from "./report.ts";

/** Returns what addresses call these: their names without half characters, of equal ones all but the first numbered. */
export function addressNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  for (const name of names) {
    const text = name.toWellFormed();
    let key = text;
    for (let count = 2; taken.has(key); count++) key = `${text} #${count}`;
    taken.add(key);
  }
  return [...taken];
}

/** Returns what addresses call the variants of a report. */
export function linkNames(
  { subjects, nameOf }: Pick<Report, "subjects" | "nameOf">,
): ReadonlyMap<Variant, string> {
  const names = addressNames(subjects.map(nameOf));
  return new Map(subjects.map(({ subject }, place) => [subject, names[place]!]));
}

/** Returns the address of the list of trials on a page, with those of a cell, a subject or an outcome alone. */
export function trialsLink(
  chosen: { readonly cell?: string; readonly subject?: string; readonly outcome?: string },
): string {
  return `#?${new URLSearchParams(chosen)}`.replaceAll("+", "%20");
}
