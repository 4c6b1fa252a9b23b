/**
 * Differences of plans: what keeps a run from being continued, joined with another one, or compared with it.
 * @module
 */

import { canonicalJson, printable } from "../../base/json.ts";
import type { PlanLine } from "./plan_line.ts";

/** The parts of plans that are compared. */
interface ComparablePlan {
  readonly suite?: string;
  readonly resolved: object;
}

/** The names of the fields in which two plans differ. */
export function differences(one: ComparablePlan, other: ComparablePlan): string[] {
  const fields = ({ suite, resolved }: ComparablePlan): Record<string, unknown> => ({
    suite,
    ...resolved,
    // They follow from the cases.
    parts: undefined,
  });
  return differencesOf(fields(one), fields(other));
}

/** Returns the name of a field of plans that tests of the user's tools know: their graphs are trials. */
export function ownName(field: string): string {
  return field === "graphs" ? "trials" : field;
}

/** The names of the entries in which two records differ. */
export function differencesOf(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => canonicalJson(one[name]) !== canonicalJson(other[name]))
    .map((name) => printable(name, 50));
}

/** The files of a test that differ between two runs of it, as far as both know them. */
export function changedSources(
  one: PlanLine["sources"],
  other: PlanLine["sources"],
): string[] {
  if (one === undefined || other === undefined) return [];
  const paths = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...paths].filter((path) => one[path] !== other[path])
    .map((path) => printable(path, 200));
}

/** The server that a plan names for models that name none: another one may have another model by its name. */
export function serverText({ baseURL, ownCode }: PlanLine): string {
  if (baseURL !== undefined) return printable(baseURL.replace(/\/+$/, ""), 200);
  return ownCode ? "a server that only its own file knows" : "OpenAI's server";
}
