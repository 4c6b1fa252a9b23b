/**
 * Suites of tool tests: collected while a file is loaded, and then registered as one plan.
 * @module
 */

import {
  assertModel,
  type BenchmarkOptions,
  listOf,
  type ModelChoice,
  modelChoices,
  readSuite,
  withOptionNames,
} from "./options.ts";
import { cannot } from "../base/errors.ts";
import { defined } from "../base/json.ts";
import { placeText, shownFile } from "../base/user_code.ts";
import { variantName } from "../gate/variant.ts";
import { planSuite, type TaskSource } from "../runs/plan.ts";
import type { ResolvedSuite, TestSettings } from "../runs/resolved_suite.ts";
import { type Settings, settingsOf } from "../runs/session.ts";
import { isIsolated } from "../tools/tool.ts";
import { caseDigest, caseParts } from "../trials/executors/case_parts.ts";
import type { ToolCase } from "../trials/executors/tool_case.ts";
import { caseOpener } from "../trials/executors/case_opener.ts";
import { isCase, type TaskSpec } from "../trials/executors/task_kind.ts";
import { openTask } from "../trials/executors/tasks.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { parseFlags } from "./_flags.ts";
import type { CallSite } from "./_register.ts";
import { registerBenchmark, type RegisteredPlan } from "./_register_plan.ts";
import { assertCase } from "./_tool_case.ts";
import {
  type AnyOptions,
  assertOwnOptions,
  assertTestOptions,
  assertTrials,
  benchmarkOf,
  SUITE_NAMES,
  testSubject,
} from "./_tool_options.ts";
import { tracedTests } from "./_traced_tests.ts";
import { everyVariantHas, readVariants } from "./_variants.ts";
import type { ToolSuiteOptions } from "./tool_test_options.ts";

/** How a test is run among others. */
export type Mode = "only" | "skip" | undefined;

/** A test of a suite. */
interface SuiteTest {
  readonly name: string;
  readonly subject: string;
  readonly site: CallSite;
  readonly toolCase: ToolCase<unknown>;
  /** Its options, with those of its suite. */
  readonly options: AnyOptions & Pick<BenchmarkOptions, "model">;
  /** Whether the runner runs no others of the file. */
  readonly only: boolean;
  readonly ignore: boolean;
}

/** The tests of a suite, as far as its file is loaded. */
export class SuiteTests {
  /** Its name. */
  readonly name: string;
  /** How errors refer to it. */
  readonly subject: string;
  readonly #site: CallSite;
  readonly #options: Partial<ToolSuiteOptions<unknown>>;
  /** What stands before the names of its tests. */
  readonly #title: readonly string[];
  /** What its files in a folder are named after. */
  readonly #owner: Pick<RegisteredPlan, "file" | "isFile">;
  readonly #tests = new Map<string, SuiteTest>();
  /** What was planned for tests by themselves; most of them share it. */
  readonly #planned: { readonly benchmark: BenchmarkOptions; readonly resolved: ResolvedSuite }[] =
    [];
  /** The names of its tests that were refused. */
  readonly #refused: string[] = [];
  /** Whether its tests are registered, so that another one would never be run. */
  #isRegistered = false;

  /**
   * A suite without tests yet.
   *
   * @throws {InputError} If a flag cannot be used.
   */
  constructor(
    { name, subject, site, options, kind }: {
      readonly name: string;
      readonly subject: string;
      readonly site: CallSite;
      readonly options: Partial<ToolSuiteOptions<unknown>>;
      /** Of `toolSuite()`, of all tests of a file, or of one test. */
      readonly kind: "suite" | "file" | "test";
    },
  ) {
    this.name = name;
    this.subject = subject;
    this.#site = site;
    this.#options = options;
    this.#title = kind === "suite" ? [name] : [];
    this.#owner = {
      ...(kind === "test" ? {} : { file: shownFile(Deno.mainModule) }),
      ...(kind === "file" ? { isFile: true as const } : {}),
    };
    // What is wrong with the command line is said once for all tests.
    parseFlags(Deno.args, subject);
  }

  /** Adds a test or, if it cannot be used, registers one that fails in its place. */
  add(site: CallSite, name: string, options: () => AnyOptions, mode?: Mode): void {
    if (!site.attempt(() => this.#add(site, name, options(), mode))) this.#refused.push(`${name}`);
  }

  #add(site: CallSite, name: string, given: AnyOptions, mode: Mode): void {
    const subject = testSubject(name);
    assertTestOptions(subject, given);
    if (this.#title.length > 0) assertOwnOptions(subject, given, this.name, this.#options);
    const { ignore = false, ...options } = { ...this.#options, ...defined(given) };
    assertModel(subject, options);
    const variants = readVariants(subject, this.#options);
    const toolCase = {
      ...options,
      name,
      // Where every variant has tools of its own, the case itself has none.
      ...(everyVariantHas(this.#options.variants, "tools") ? { tools: [] } : {}),
    } as ToolCase<unknown>;
    for (const one of variants.casesOf(toolCase)) assertCase(subject, one);
    assertTrials(subject, options);
    const before = this.#tests.get(name);
    if (before !== undefined) {
      const [place, own] = [before, { site }].map(({ site: { callers: [place] } }) =>
        place && placeText(place)
      );
      throw cannot(
        `use ${subject}`,
        "the tests of a suite must have different names",
        // Rows of a table stand at one place.
        place === undefined || place === own
          ? "there are two of this name"
          : `the other is at ${place}`,
      );
    }
    const test = {
      ...{ name, subject, site, toolCase },
      options: options as SuiteTest["options"],
      only: mode === "only",
      ignore: mode === "skip" || ignore,
    };
    // What is wrong with a test is said where it stands.
    this.#settingsOf(test, {});
    if (this.#isRegistered) throw site.tooLate("its suite is registered already");
    this.#tests.set(name, test);
  }

  /** Registers the tests, and one for the gate; what is wrong with all of them is one test that fails. */
  register(): void {
    this.#site.attempt(() => this.#register(), this.name);
  }

  /** @throws {InputError} If that cannot be done; nothing was registered then. */
  #register(): void {
    this.#isRegistered = true;
    const { gate } = this.#options;
    const all = [...this.#tests.values()];
    // A gate over the rest would claim more than was asked.
    if (this.#refused.length > 0 && gate !== undefined) return;
    for (const { site, ignore, options, name } of all) {
      if (ignore) site.add({ name: this.#titleOf(name, options), ignore, fn() {} });
    }
    const tests = all.filter(({ ignore }) => !ignore);
    if (tests.length === 0) {
      if (gate === undefined) return;
      throw cannot(
        `run ${this.subject}`,
        "a gate needs tests",
        all.length === 0 ? "there are none" : "all of them are skipped",
      );
    }
    const registered: [CallSite, Deno.TestDefinition][] = [];
    const flags = parseFlags(Deno.args, this.subject);
    const traced = flags.traces === undefined
      ? undefined
      : tracedTests(flags, tests, { suite: this.name, site: this.#site, options: this.#options });
    const run = traced?.tests ?? tests;
    const byName = new Map(run.map((test) => [test.name, test]));
    const testOf = (task: TaskSpec) => isCase(task) ? byName.get(task.case) : undefined;
    const base = this.#base(run);
    const benchmark = benchmarkOf(base.options);
    withOptionNames(base.options, SUITE_NAMES, () =>
      registerBenchmark(benchmark, {
        ...{ name: this.name, subject: this.subject },
        ...this.#owner,
        shared: this.#isShared(),
        callers: [this.#site, ...tests.map(({ site }) => site)].flatMap(({ callers }) => callers),
        source: { ...this.#source(run, base, settingsOf(benchmark, flags)), ...this.#leftOut() },
        ...defined({ recorded: traced?.recorded, leaves: traced?.leaves }),
        ...defined({ variantAgents: readVariants(this.subject, this.#options).agents }),
        choicesOf: (task) => choicesOf(testOf(task) ?? base),
        titleOf: (planned) => this.#trialTitle(planned, testOf(planned.task) ?? base),
        register: (test, planned) => {
          const own = planned && testOf(planned.task);
          registered.push([own?.site ?? this.#site, { ...test, ...defined({ only: own?.only }) }]);
        },
      }));
    for (const [site, test] of registered) site.add(test);
  }

  /** The tests that are skipped, and those that were refused. */
  #leftOut(): Pick<TaskSource, "leftOut"> {
    const skipped = [...this.#tests.values()].flatMap(({ name, ignore }) => ignore ? name : []);
    const refused = this.#refused;
    return skipped.length + refused.length === 0 ? {} : { leftOut: { skipped, refused } };
  }

  /** Whether a module makes it that other test files may load, too. */
  #isShared(): boolean {
    const { callers } = this.#site;
    return this.#title.length > 0 && callers.length > 0 &&
      callers.every(({ url }) => url !== Deno.mainModule);
  }

  /**
   * A test whose settings stand for those of the suite, where tests differ: with the options of the suite alone, which
   * its other test files have too, if any test takes its model. A fresh seed is drawn only for a test to which it matters.
   */
  #base(tests: readonly SuiteTest[]): SuiteTest {
    const isDrawn = ({ perturbation }: AnyOptions) =>
      listOf(perturbation).some((id) => id !== undefined && id !== "none");
    const drawn = tests.find(({ options }) => isDrawn(options));
    const base = drawn ?? tests[0]!;
    const { model, ...others } = this.#options;
    const isTaken = tests.some(({ options }) => options.model === model);
    const isLeft = others.seed === "fresh" && drawn !== undefined && !isDrawn(others);
    return model === undefined || !isTaken || isLeft
      ? base
      : { ...base, options: { ...others, model } };
  }

  #source(tests: readonly SuiteTest[], base: SuiteTest, settings: Settings): TaskSource {
    const cases = new Map(tests.map((test) => [test.name, test.toolCase]));
    const variants = readVariants(this.subject, this.#options);
    const open = caseOpener((name, variant) => {
      const found = cases.get(name);
      return found && variants.caseOf(found, variant);
    });
    const flags = defined({ seed: settings.seedFlag && settings.seed });
    const common = this.#settingsOf(base, flags);
    const own = tests.flatMap((test) => {
      const differing = differenceOf(this.#settingsOf(test, flags), common);
      return differing === undefined ? [] : [[test.name, differing] as const];
    });
    const alone = new Set(
      settings.concurrency !== undefined
        ? []
        : tests.filter(({ toolCase }) => !variants.casesOf(toolCase).every(isIndependent))
          .map(({ name }) => name),
    );
    return {
      cells: () => tests.map(({ name }) => ({ case: name })),
      open,
      cases: Object.fromEntries(tests.map(({ name, toolCase }) => [name, caseDigest(toolCase)])),
      parts: Object.fromEntries(tests.map(({ name, toolCase }) => [name, caseParts(toolCase)])),
      ...defined({ variants: variants.planned([...cases.values()]) }),
      ...(own.length === 0 ? {} : { tests: Object.fromEntries(own) }),
      ...(alone.size === 0
        ? {}
        : { isAlone: (task: TaskSpec) => isCase(task) && alone.has(task.case) }),
    };
  }

  /**
   * The settings of the trials of a test by itself.
   *
   * @throws {InputError} If it cannot be planned.
   */
  #settingsOf(
    { name, subject, options }: SuiteTest,
    flags: { readonly seed?: BenchmarkOptions["seed"] | undefined },
  ): ResolvedSuite {
    const source: TaskSource = { cells: () => [{ case: name }], open: openTask };
    const { gate: _, ...ungated } = options;
    const benchmark = { ...benchmarkOf(ungated), ...defined(flags) };
    const known = this.#planned.find((one) => isAlike(one.benchmark, benchmark));
    if (known !== undefined) return known.resolved;
    const resolved = withOptionNames(options, SUITE_NAMES, () => {
      const suite = readSuite(benchmark, benchmark, { name, subject, source });
      return planSuite(suite, { source: subject, tasks: source }).resolved;
    });
    this.#planned.push({ benchmark, resolved });
    return resolved;
  }

  #titleOf(name: string, { tags = [] }: AnyOptions): string {
    return [...this.#title, [name, ...tags.map((tag) => `#${tag}`)].join(" ")].join(" > ");
  }

  #trialTitle(planned: PlannedTrial, { name, options }: SuiteTest): string {
    const { trials = 1, gate, model, strategy, perturbation } = options;
    const isSeveral = options.variants !== undefined ||
      [model, strategy, perturbation].some((one) => listOf<unknown>(one).length > 1);
    return [
      this.#titleOf(name, options),
      ...(gate?.sequential === true || trials > 1 ? [`trial ${planned.repetition}`] : []),
      ...(isSeveral ? [variantName(planned)] : []),
    ].join(" > ");
  }
}

/** Whether options are the same by their values, lists by their items; other objects only if they are one. */
function isAlike(one: object, other: object): boolean {
  const entries = Object.entries(one);
  return entries.length === Object.keys(other).length && entries.every(([name, value]) => {
    const given: unknown = Reflect.get(other, name);
    return Object.is(value, given) ||
      Array.isArray(value) && Array.isArray(given) && isAlike(value, given);
  });
}

/** The models of a test, those of stages included. */
function choicesOf({ options }: SuiteTest): readonly ModelChoice[] {
  return modelChoices(benchmarkOf(options));
}

/** The settings of a test that differ from those of its suite; `undefined` if none does. */
function differenceOf(own: ResolvedSuite, common: ResolvedSuite): TestSettings | undefined {
  const names = ["seed", "graphs", "models", "strategies", "perturbations", "limits"] as const;
  const text = JSON.stringify;
  const differing = names.filter((name) => text(own[name]) !== text(common[name]))
    .map((name) => [name, own[name]] as const);
  const references = own.references === common.references
    ? []
    : [["references", own.references ?? false] as const];
  const all = [...differing, ...references];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

/** Whether trials that run at the same time cannot interfere with each other. */
function isIndependent({ tools }: ToolCase<unknown>): boolean {
  return typeof tools === "function" || tools.every(isIsolated);
}
