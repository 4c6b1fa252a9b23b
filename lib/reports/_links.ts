/**
 * Links on the page of a report: what addresses call variants and cells, and where they lead.
 * @module
 */

import type { Variant } from "../gate/variant.ts";
import type { Report } from "./report.ts";
import { numbered } from "./_short_names.ts";

/** Returns what addresses call these: their names without half characters, of equal ones all but the first numbered. */
export function addressNames(names: readonly string[]): string[] {
  return numbered(names.map((name) => name.toWellFormed()));
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
