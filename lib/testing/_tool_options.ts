/**
 * Options of tool tests and their suites: which there are, and what is checked of them while a file is loaded.
 * @module
 */

import { assertOptions, type BenchmarkOptions, functionOf, listOf } from "./options.ts";
import { cannot } from "../base/errors.ts";
import { defined, printable } from "../base/json.ts";
import { valueText } from "../calls/values/text.ts";
import type { GatePolicy } from "../gate/policy.ts";
import { optionSchemas } from "../runs/options.ts";
import type { ToolCase } from "../trials/executors/tool_case.ts";
import { CASE_SETTINGS, everyVariantHas, readVariants } from "./_variants.ts";
import type { ToolTestOptions } from "./tool_test_options.ts";

/** The options of the case. */
const CASE_OPTIONS: Readonly<Record<keyof Omit<ToolCase, "name">, true>> = {
  state: true,
  tools: true,
  system: true,
  prompt: true,
  turns: true,
  expected: true,
  parameters: true,
  never: true,
  toolChoice: true,
  assert: true,
};

/** The options of single tests that suites have as well, and that the table of options does not have. */
const TRIAL_OPTIONS = ["model", "trials", "strategy", "perturbation"] as const;
/** Options of whole runs that the table of options does not have. */
const WHOLE_OPTIONS: readonly string[] = ["variants", "agent"];
/** What variants set for all tests of a suite, so that none may have its own. */
const VARIED_OPTIONS: readonly string[] = ["model", "strategy"];
/** The options of a test among others. */
const PLACE_OPTIONS = ["ignore", "tags"] as const;
/** Of the options of a run those that each test may have for itself. */
const OWN_OPTIONS: readonly string[] = ["seed", "limits", "references"];
/** With a gate all tests have these in common: it decides over all of them. */
const GATED_OPTIONS = [...TRIAL_OPTIONS, "seed"] as const;
/** A test outside of a suite that has one of these is a suite of its own. */
const ALONE_OPTIONS = [
  "gate",
  "requireGate",
  "journal",
  "report",
  "recordings",
  "budget",
  "variants",
] as const;

/** Options that have other names in suites. */
export const SUITE_NAMES = new Map<string, keyof ToolTestOptions>([
  ["models", "model"],
  ["strategies", "strategy"],
  ["perturbations", "perturbation"],
]);

/** Options that tests have under other names than elsewhere. */
const ELSEWHERE = new Map([
  ...[...SUITE_NAMES].map(([word, option]) =>
    [word, `${option}, which takes one or a list`] as const
  ),
  ["oracle", "expected, whose calls have ignore in place of allowed"] as const,
]);

/** Options of a test with a state of any type. */
export type AnyOptions = Partial<ToolTestOptions<unknown>>;

/** The names of the options of tests and suites. */
const TEST_WORDS = {
  place: "toolTest" as const,
  names: [...Object.keys(CASE_OPTIONS), ...TRIAL_OPTIONS, ...WHOLE_OPTIONS, ...PLACE_OPTIONS],
  elsewhere: ELSEWHERE,
};
/** Options that only one test can have. */
const ONE_TEST = ["prompt", "turns", "expected", "parameters", "assert", ...PLACE_OPTIONS];

/** How errors refer to a test. */
export function testSubject(name: unknown): string {
  return `tool test ${printable(String(name), 100)}`;
}

/**
 * Checks the options of a test.
 *
 * @throws {InputError} If one of them cannot be used.
 */
export function assertTestOptions(subject: string, options: AnyOptions): void {
  assertOptions(subject, options, TEST_WORDS);
  const { ignore, tags = [] } = options;
  if (ignore !== undefined && typeof ignore !== "boolean") {
    throw cannot(`use ${subject}`, "ignore must be true or false", `it is ${valueText(ignore)}`);
  }
  if (Array.isArray(tags) && tags.every(isTag)) return;
  throw cannot(
    `use ${subject}`,
    "tags must be a list of words of letters, digits, - and _",
    `it is ${valueText(tags)}`,
  );
}

function isTag(tag: unknown): boolean {
  return typeof tag === "string" && /^[\p{L}\p{N}_-]+$/u.test(tag);
}

/**
 * Refuses options that a test of a suite must have in common with the others.
 *
 * @throws {InputError} If there is one.
 */
export function assertOwnOptions(
  subject: string,
  options: AnyOptions,
  suite: string,
  { gate, variants }: Pick<AnyOptions, "gate" | "variants">,
): void {
  const given = Object.keys(defined({ ...options }));
  const itsSuite = `toolSuite(${JSON.stringify(printable(suite, 100))}, ...)`;
  const ofRun = optionSchemas("toolTest");
  const whole = given.find((name) =>
    WHOLE_OPTIONS.includes(name) || name in ofRun && !OWN_OPTIONS.includes(name)
  );
  const varied = variants === undefined
    ? undefined
    : given.find((name) =>
      VARIED_OPTIONS.includes(name) ||
      CASE_SETTINGS.some((one) => one === name && everyVariantHas(variants, one))
    );
  if (whole === undefined && varied !== undefined) {
    throw cannot(
      `use ${subject}`,
      `${varied} must be left out, as the variants of its suite decide it`,
      `give it to a variant of ${itsSuite}`,
    );
  }
  const gated = gate === undefined ? undefined : GATED_OPTIONS.find((name) => given.includes(name));
  const option = whole ?? gated;
  if (option === undefined) return;
  const why = whole === undefined ? " with a gate, which decides over all of them" : "";
  throw cannot(
    `use ${subject}`,
    `${option} must be the same in all tests of a suite${why}`,
    `give it to ${itsSuite}`,
  );
}

/**
 * Checks the options of a suite.
 *
 * @throws {InputError} If one of them cannot be used.
 */
export function assertSuiteOptions(subject: string, options: object): void {
  const names = TEST_WORDS.names.filter((name) => !ONE_TEST.includes(name));
  const given = Object.keys({ ...options }).find((name) => ONE_TEST.includes(name));
  if (given !== undefined) {
    throw cannot(`use ${subject}`, `${given} belongs to its tests`, "each of them has its own");
  }
  assertOptions(subject, options, { ...TEST_WORDS, names });
  assertTrials(subject, options);
  readVariants(subject, options);
}

/** Whether a test outside of a suite is a suite by itself, apart from the others of its file. */
export function isOwnSuite(options: AnyOptions): boolean {
  // A fresh seed is drawn for each plan, and printed.
  return options.seed === "fresh" && options.perturbation !== undefined ||
    ALONE_OPTIONS.some((name) => options[name] !== undefined);
}

/** Whether tests can share a run by their options. */
export function isRunAlike(one: AnyOptions, other: AnyOptions): boolean {
  return functionOf(one.agent) === functionOf(other.agent) && runText(one) === runText(other);
}

/** The options of a whole run, for comparison. */
function runText(options: AnyOptions): string {
  const ofRun = Object.keys(optionSchemas("toolTest")).filter((name) =>
    !OWN_OPTIONS.includes(name)
  );
  const given = [...ofRun, "agent"].map((name) => [name, Reflect.get(options, name)] as const);
  return JSON.stringify(given, (_, value) => value === Infinity ? "Infinity" : value);
}

/** The options of a benchmark with the same trials. */
export function benchmarkOf(
  options: AnyOptions & Pick<BenchmarkOptions, "model">,
): BenchmarkOptions {
  const { trials = 1, seed = 1, gate, perturbation, agent } = options;
  const { models, strategies, prices } = readVariants("the tests", options);
  const names = Object.keys(optionSchemas("toolTest"));
  return {
    ...Object.fromEntries(
      Object.entries(options).filter(([option, value]) =>
        names.includes(option) && value !== undefined
      ),
    ),
    ...{ model: models, tasks: [], seed },
    ...(gate?.sequential === true ? {} : { graphs: trials }),
    ...defined({ strategies, perturbations: listed(perturbation), prices, agent }),
  };
}

/** The items of an option; `undefined` if it is left out. */
function listed<Item>(value: Item | readonly Item[] | undefined): readonly Item[] | undefined {
  return value === undefined ? undefined : listOf(value);
}

/**
 * Checks the number of trials.
 *
 * @throws {InputError} If it cannot be used.
 */
export function assertTrials(
  subject: string,
  { trials, gate }: { readonly trials?: unknown; readonly gate?: GatePolicy },
): void {
  if (trials === undefined) return;
  const fault = !Number.isSafeInteger(trials) || Number(trials) < 1
    ? "trials must be a whole number from 1 on"
    : gate?.sequential === true
    ? "a sequential gate sets the number of trials itself, so that it must be left out"
    : undefined;
  if (fault === undefined) return;
  throw cannot(`use ${subject}`, fault, `it is ${valueText(trials)}`);
}
