/**
 * Test files of one suite: `deno test` runs each by itself, so that each has a plan of its tests and a journal. Joined,
 * these are the run of one plan that has the tests of all of them.
 * @module
 */

import { firstClash } from "../../base/clash.ts";
import defer * as paths from "node:path/posix";
import type { BegunJournal } from "./journal.ts";
import type { PlanLine } from "./plan_line.ts";
import { defined, printable } from "../../base/json.ts";
import { isCase } from "../../tasks/task_kind.ts";
import type { LeftOut } from "../plan.ts";
import { planHash, type ResolvedSuite } from "../resolved_suite.ts";

/** The fields of a plan that have entries for its own tests. */
const OF_TESTS: readonly string[] = ["cells", "cases", "tests", "parts"];

/** What the plans of all test files of a suite have in common, under the names of their fields. */
export function commonOf({ suite, resolved }: PlanLine): Readonly<Record<string, unknown>> {
  const fields = Object.entries(resolved).filter(([field]) => !OF_TESTS.includes(field));
  const { variants } = resolved;
  const settings = Object.entries(variants ?? {}).map((
    [name, { parts: _, ...own }],
  ) => [name, own]);
  return {
    suite,
    ...Object.fromEntries(fields),
    ...(variants === undefined ? {} : { variants: Object.fromEntries(settings) }),
  };
}

/** The names of the tests of a plan; `undefined` if it has other tasks as well. */
export function testsOf({ resolved: { cells, cases = {} } }: PlanLine): string[] | undefined {
  const names = cells.flatMap((cell) =>
    isCase(cell) && typeof cell.case === "string" ? [cell.case] : []
  );
  const areOwn = names.length === cells.length && names.every((name) => Object.hasOwn(cases, name));
  return areOwn && names.length > 0 ? names : undefined;
}

/** Says which test is in the journals of two test files; `undefined` if none is. */
export function sharedTest(files: readonly BegunJournal[]): string | undefined {
  const tests = files.flatMap(({ path, plan }) => {
    const hash = planHash(plan);
    return (testsOf(plan) ?? []).map((name) => ({ name, path, hash }));
  });
  const [one, other] = firstClash(tests, ({ name }) => name, ({ hash }) => hash) ?? [];
  return one && `the test ${printable(one.name, 100)} is in ${one.path} and in ${other!.path}, ` +
      "which are of different plans";
}

/**
 * Returns the plan line of a whole suite, the same for any order of its test files, which must agree in all else.
 *
 * @param plans Of each test file one.
 */
export function joinedPlan(plans: readonly PlanLine[]): PlanLine {
  // The order must not depend on where the journals are.
  const [first, ...others] = plans.toSorted((one, other) =>
    testsOf(one)![0]! < testsOf(other)![0]! ? -1 : 1
  );
  const all = [first!, ...others];
  const { file: _, sources: __, ...line } = first!;
  const resolved: ResolvedSuite = defined({
    ...line.resolved,
    cells: all.flatMap(({ resolved }) => resolved.cells),
    cases: joinedRecord(all.map(({ resolved }) => resolved.cases)),
    tests: joinedRecord(all.map(({ resolved }) => resolved.tests)),
    parts: joinedRecord(all.map(({ resolved }) => resolved.parts)),
    variants: joinedVariants(all.map(({ resolved }) => resolved.variants)),
  });
  return {
    ...line,
    shard: { index: 1, of: 1 },
    resolved,
    ...joinedLeftOut(all),
  };
}

/** The tests that any file has left out. */
function joinedLeftOut(plans: readonly PlanLine[]): Pick<PlanLine, "leftOut"> {
  const all = plans.flatMap(({ leftOut }) => leftOut ?? []);
  if (all.length === 0) return {};
  const namesOf = (kind: keyof LeftOut) => all.flatMap((one) => one[kind] ?? []);
  return { leftOut: { skipped: namesOf("skipped"), refused: namesOf("refused") } };
}

/** One record with the entries of several, whose keys differ; `undefined` if there are none. */
function joinedRecord<Value>(
  records: readonly (Readonly<Record<string, Value>> | undefined)[],
): Record<string, Value> | undefined {
  const known = records.filter((one) => one !== undefined);
  return known.length === 0
    ? undefined
    : Object.fromEntries(known.flatMap((one) => Object.entries(one)));
}

/** The variants of all files, which have the same ones, each with what it offers in the tests of all. */
function joinedVariants(all: readonly ResolvedSuite["variants"][]): ResolvedSuite["variants"] {
  const [first] = all;
  if (first === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(first).map(([name, { parts: _, ...own }]) => {
      const parts = joinedRecord(all.map((variants) => variants?.[name]?.parts));
      return [name, { ...own, parts }];
    }),
  );
}

/** The hashes of the files of a test, by their paths from the folder of the run; none where that is not known. */
export function sourcesFromHere(
  { sources = {}, file }: PlanLine,
): Readonly<Record<string, string>> {
  if (file === undefined) return {};
  const folder = paths.dirname(file);
  return Object.fromEntries(
    Object.entries(sources).map(([path, hash]) => [paths.join(folder, path), hash]),
  );
}
