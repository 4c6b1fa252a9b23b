/**
 * Compared baselines: whether results of a plan may be compared with a baseline and, of the user's own cases, with
 * which of its cases.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { didYouMean } from "../base/nearest_name.ts";
import {
  caseNames,
  type ComparedCases,
  leftOutLines,
  type PartsOfVariant,
} from "../gate/compared_cases.ts";
import { type GatePolicy, isUpgrade } from "../gate/policy.ts";
import { unitNames } from "../gate/unit_names.ts";
import { byVariant, unitKey, variantOf } from "../gate/variant.ts";
import { isGenerated } from "../tasks/task_kind.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import type { Baseline } from "./baseline.ts";
import { differences, ownName } from "./journal/_plan_differences.ts";
import type { Plan } from "./plan.ts";
import { plannedTrials } from "./record.ts";
import { comparedFields, comparisonHash, type ResolvedSuite } from "./resolved_suite.ts";

/** How {@linkcode comparableBaseline} says what to do about a baseline that cannot be used. */
interface ComparableOptions {
  /** Whether a sequential gate decides, which looks at whole rounds over all cases. */
  readonly sequential?: boolean;
  /** The gate, whose baseline may name a variant. */
  readonly gate?: GatePolicy | undefined;
  /** How to accept a run as the new baseline, if that is known. */
  readonly accept?: string | undefined;
  /** See {@linkcode ComparedCases.all}. */
  readonly all?: boolean;
  /** Whether results on other graphs of the same cells may be compared with as well. Default: false. */
  readonly fresh?: boolean;
}

/**
 * Returns a baseline that results of `plan` may be compared with, and which cases both have in common. Generated
 * graphs and questions must be the same as a whole; with `fresh` graphs may all be others, drawn from the same cells.
 *
 * @throws {InputError} If they may not be compared; the message names the fields that differ.
 */
export function comparableBaseline(
  baseline: Baseline,
  plan: Pick<Plan, "suite" | "resolved">,
  planned: readonly PlannedTrial[],
  options: ComparableOptions = {},
): Baseline {
  const { file } = baseline;
  assertVariant(baseline, options.gate);
  assertSameUsers(baseline, plan);
  const { same } = unitNames(planned.map(({ task }) => task));
  if (comparisonHash(plan) === comparisonHash(baseline.plan)) return baseline;
  const { cases: byCase, here, there, fields: names } = comparedPlans(plan, baseline.plan);
  const show = (value: unknown) => printable(canonicalJson(value) ?? "absent", 60);
  const fields = names.map((name) =>
    `${byCase === undefined ? name : ownName(name)} (${
      show(Reflect.get(there.resolved, name))
    } there, ` +
    `${show(Reflect.get(here.resolved, name))} here)`
  );
  if (byCase !== undefined && fields.length === 0) {
    return withCases(baseline, plan.suite, byCase, options);
  }
  const isOfDraws = names.length > 0 && names.every((name) => OF_DRAWS.includes(name));
  if (options.fresh && isOfDraws && planned.every(({ task }) => isGenerated(task))) {
    return withFreshDraws(baseline, planned);
  }
  throw cannot(
    `compare with ${file}`,
    `both must be of the same ${same}`,
    `they differ in ${fields.join(", ") || "their hash"}`,
  );
}

/**
 * Compares two plans with different hashes: `fields` are those that keep them from being compared, and `cases` says
 * which of the user's own cases are the same in both, if they are of these alone.
 */
export function comparedPlans(
  one: { readonly resolved: Partial<ResolvedSuite> },
  other: { readonly resolved: Partial<ResolvedSuite> },
) {
  const cases = comparedCases(one.resolved, other.resolved);
  const shared = ({ resolved }: { readonly resolved: Partial<ResolvedSuite> }) => {
    const fields = comparedFields(resolved);
    if (cases === undefined) return { resolved: fields };
    const { cells: _, cases: __, tests = {}, ...setting } = fields;
    // Of a suite in several files the baseline has the tests of all of them.
    const alone = [...cases.changed, ...cases.added, ...cases.removed];
    const compared = Object.entries(tests).filter(([name]) => !alone.includes(name));
    return {
      resolved: {
        ...setting,
        ...(compared.length === 0 ? {} : { tests: Object.fromEntries(compared) }),
      },
    };
  };
  const [here, there] = [shared(one), shared(other)];
  return { ...{ here, there, cases }, fields: differences(here, there) };
}

/** The fields of plans that decide which graphs are drawn, and how often each is run. */
const OF_DRAWS: readonly string[] = ["seed", "graphs", "repetitions"];

/** Returns a baseline on other graphs of the same cells, with all trials that its plan has of its variants. */
function withFreshDraws(baseline: Baseline, own: readonly PlannedTrial[]): Baseline {
  const { file, trials, plan } = baseline;
  const planned = byVariant(trials, variantOf).flatMap(({ subject }) =>
    plannedTrials(plan.resolved, subject)
  );
  const must = "both must be of the same graphs, or of none in common";
  // Those that differ only in their irrelevant functions are not independent.
  const [here, there] = [own, planned].map((all) => new Set(all.map(({ task }) => unitKey(task))));
  const shared = here!.intersection(there!).size;
  if (shared === 0) return { ...baseline, fresh: planned };
  throw cannot(
    `compare with ${file}`,
    must,
    `they share ${shared} of ${
      here!.union(there!).size
    }: run with another seed, or with the same ` +
      "seed, graphs and repetitions",
  );
}

/** Refuses a gate that names a variant which its baseline does not have. */
function assertVariant({ file, trials }: Baseline, gate: GatePolicy | undefined): void {
  const baseline = gate !== undefined && isUpgrade(gate) ? gate.baseline : undefined;
  if (typeof baseline !== "object" || baseline.variant === undefined) return;
  const { variant } = baseline;
  const known = [...new Set(trials.flatMap((trial) => trial.variant ?? []))];
  if (known.includes(variant)) return;
  throw cannot(
    `compare with ${file}`,
    "gate.baseline.variant must be one of its variants",
    `it is ${printable(variant, 100)}` +
      (known.length === 0
        ? ", and there are none"
        : `, and there are ${printable(known.join(", "), 200)}${didYouMean(variant, known)}`),
  );
}

/** Refuses simulated users that differ from those of a baseline: what they say would be compared, and not the model. */
function assertSameUsers(
  { file, plan: there }: Baseline,
  { resolved }: Pick<Plan, "resolved">,
): void {
  const [own, other] = [partsOf(resolved), partsOf(there.resolved)];
  const shared = Object.keys(resolved.variants ?? {})
    .filter((variant) => Object.hasOwn(there.resolved.variants ?? {}, variant));
  const names = [undefined, ...shared].flatMap((variant) => {
    const [here = {}, before = {}] = [own(variant), other(variant)];
    return Object.keys(here).filter((name) =>
      Object.hasOwn(before, name) && here[name]!.user !== before[name]!.user
    );
  });
  if (names.length === 0) return;
  throw cannot(
    `compare with ${file}`,
    "its simulated users must be the same (model, scenario, guidelines and what else they have), or variants of one run",
    `they differ in ${caseNames([...new Set(names)])}`,
  );
}

/** The parts of a plan that describe its cases. */
type CasesOfPlan = Pick<Partial<ResolvedSuite>, "cells" | "cases" | "parts">;

/** Compares the cases of two plans; `undefined` unless both are of the user's own cases alone. */
function comparedCases(here: CasesOfPlan, there: CasesOfPlan): ComparedCases | undefined {
  const isOwn = ({ cells = [], cases }: CasesOfPlan) =>
    cases !== undefined && cells.every((cell) => "case" in cell && Object.hasOwn(cases, cell.case));
  if (!isOwn(here) || !isOwn(there)) return undefined;
  const [own, other] = [here.cases!, there.cases!];
  const partOf = ({ parts = {} }: CasesOfPlan, name: string) =>
    Object.hasOwn(parts, name) ? parts[name]!.case : undefined;
  const isChanged = (name: string) => {
    const now = partOf(here, name);
    return own[name] !== other[name] && (now === undefined || now !== partOf(there, name));
  };
  const both = Object.keys(own).filter((name) => Object.hasOwn(other, name));
  const changed = both.filter(isChanged);
  return {
    planned: Object.keys(own).length,
    changed,
    added: Object.keys(own).filter((name) => !Object.hasOwn(other, name)),
    removed: Object.keys(other).filter((name) => !Object.hasOwn(own, name)),
  };
}

function withCases(
  baseline: Baseline,
  suite: string,
  cases: ComparedCases,
  { sequential, accept, all }: ComparableOptions,
): Baseline {
  const { file, plan } = baseline;
  const { planned, changed, added, removed } = cases;
  if (added.length === planned && plan.suite !== suite) {
    throw cannot(
      `compare with ${file}`,
      `it must be of ${printable(suite, 100)}, or have some of its cases`,
      `it is of ${printable(plan.suite, 100)}, and has ${caseNames(removed)}`,
    );
  }
  if (sequential && changed.length + added.length + removed.length > 0) {
    throw cannot(
      `compare with ${file}`,
      "a sequential gate looks at whole rounds over the same cases",
      `${
        leftOutLines(cases).join("; ")
      }. Leave out sequential, or move ${file} away, run, and accept that`,
    );
  }
  return {
    ...baseline,
    cases: { ...cases, accept, ...(all ? { all: true as const } : {}) },
  };
}

/** The parts of the cases of a run and of its baseline, which may be of the same run. */
export function comparedParts(
  plan: Pick<Plan, "resolved">,
  baseline: Baseline | undefined,
): { readonly own: PartsOfVariant; readonly baseline: PartsOfVariant } {
  const there = baseline?.plan ?? plan;
  return { own: partsOf(plan.resolved), baseline: partsOf(there.resolved) };
}

/** The parts of the cases of a plan, under each variant of its settings. */
function partsOf(
  { parts, variants = {} }: Pick<Partial<ResolvedSuite>, "parts" | "variants">,
): PartsOfVariant {
  return (variant) => {
    const own = variant === undefined || !Object.hasOwn(variants, variant)
      ? undefined
      : variants[variant]!.parts;
    if (parts === undefined || own === undefined) return parts;
    return Object.fromEntries(
      Object.entries(parts).map(([name, part]) =>
        [name, Object.hasOwn(own, name) ? { case: part.case, ...own[name]! } : part] as const
      ),
    );
  };
}
