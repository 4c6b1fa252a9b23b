/**
 * Suites of tool tests: collected while a file is loaded, and then registered as one plan.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { checkOptions, parseWith } from "../base/input.ts";
import { commandLine } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import { defined, isObject } from "../base/json.ts";
import { placeText, shownFile } from "../base/user_code.ts";
import { variantName } from "../gate/variant.ts";
import { optionSchemas } from "../runs/options.ts";
import { planSuite, type TaskSource } from "../runs/plan.ts";
import type { ResolvedSuite, TestSettings } from "../runs/resolved_suite.ts";
import { type Settings, settingsOf, suiteSettings } from "../runs/session.ts";
import { listOf } from "../runs/suite.ts";
import { isIsolated } from "../tools/tool.ts";
import { caseDigest, caseParts, type ToolCase } from "../trials/executors/tool_case.ts";
import { caseOpener } from "../trials/executors/case.ts";
import { isCase, type TaskSpec } from "../tasks/task_kind.ts";
import { openTask } from "../trials/executors/tasks.ts";
import type { ToolUser } from "../trials/users/user.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { parseFlags } from "./_flags.ts";
import type { CallSite } from "./_register.ts";
import { registerBenchmark } from "./_register_plan.ts";
import type { Registration } from "./_tested_run.ts";
import { runner, type TestDefinition } from "./_runners.ts";
import {
  type AnyOptions,
  assertCase,
  assertOwnOptions,
  CHAIN_TEST,
  givenIn,
  isDrawn,
  TEST_NAME,
  testSubject,
  TOOL_TEST,
  type ToolSuiteOptions,
} from "./tool_test_options.ts";
import { type TracedTest, tracedTests } from "./_traced_tests.ts";
import { nameOf, readVariants, type Variants } from "./_variants.ts";
import { type BenchmarkOptions, declare, type Declared } from "./options.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** How a test is run among others. */
export type Mode = "only" | "skip" | undefined;

/** A test of a suite. */
interface SuiteTest extends TracedTest {
  readonly site: CallSite;
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
  readonly #options: ToolSuiteOptions<unknown>;
  readonly #variants: Variants | undefined;
  /** What stands before the names of its tests. */
  readonly #title: readonly string[];
  /** What its files in a folder are named after. */
  readonly #owner: Pick<Registration, "file" | "isFile">;
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
   * @throws {InputError} If a flag or a variant cannot be used.
   */
  constructor(
    { name, subject, site, options, kind }: {
      readonly name: string;
      readonly subject: string;
      readonly site: CallSite;
      readonly options: ToolSuiteOptions<unknown>;
      /** Of `toolSuite()`, of all tests of a file, or of one test. */
      readonly kind: "suite" | "file" | "test";
    },
  ) {
    this.name = name;
    this.subject = subject;
    this.#site = site;
    this.#options = options;
    this.#variants = readVariants(subject, options);
    this.#title = kind === "suite" ? [name] : [];
    this.#owner = {
      file: kind === "test" ? undefined : shownFile(runner().file().url),
      isFile: kind === "file",
    };
    // What is wrong with the command line is said once for all tests.
    parseFlags(runner().flags(), subject);
  }

  /** Adds a test or, if it cannot be used, registers one that fails in its place. */
  add(site: CallSite, name: string, options: () => AnyOptions, mode?: Mode): void {
    if (!site.attempt(() => this.#add(site, name, options(), mode))) this.#refused.push(`${name}`);
  }

  #add(site: CallSite, name: string, given: AnyOptions, mode: Mode): void {
    parseWith(TEST_NAME, name, "the name of a tool test");
    const subject = testSubject(name);
    if (this.#title.length > 0) assertOwnOptions(subject, given, this.name, this.#options);
    const own = givenIn(given);
    const user = isObject(own.user) ? { ...this.#options.user, ...own.user } : own.user;
    const all = { ...this.#options, ...own, ...defined({ user }) };
    const options = checkOptions(all.chain === undefined ? TOOL_TEST : CHAIN_TEST, all, subject);
    // Where every variant has tools of its own, or a chain gives them, the case itself has none.
    const toolCase: ToolCase<unknown> = {
      ...options,
      name,
      tools: options.tools ?? [],
      user: options.user as ToolUser<unknown> | undefined,
    };
    for (const one of this.#casesOf(toolCase)) assertCase(subject, one);
    const before = this.#tests.get(name);
    if (before !== undefined) {
      const [place, own] = [before.site, site].map(({ callers: [place] }) =>
        place && placeText(place)
      );
      // Rows of a table stand at one place.
      const isRow = place === undefined || place === own;
      throw cannot(
        `use ${subject}`,
        "the tests of a suite must have different names",
        isRow ? "there are two of this name" : `the other is at ${place}`,
      );
    }
    const test: SuiteTest = {
      name,
      subject,
      site,
      toolCase,
      options,
      only: mode === "only",
      ignore: mode === "skip" || options.ignore === true,
    };
    // What is wrong with a test is said where it stands.
    this.#resolve(test);
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
    const skipped = all.filter(({ ignore }) => ignore);
    for (const { site, options, name } of skipped) {
      site.add({ name: this.#titleOf(name, options), ignore: true, fn() {} });
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
    for (const [hash, calls] of unconfirmed(tests)) {
      console.error(
        `${this.name}: nobody has confirmed the questions of its chains: read some (${
          commandLine(`graph TOOLS --sample=20 --calls=${[...calls].join()}`)
        }), and give chains() confirmed: "${hash}"`,
      );
    }
    const registered: [CallSite, TestDefinition][] = [];
    const flags = parseFlags(runner().flags(), this.subject);
    const traced = flags.traces === undefined
      ? undefined
      : tracedTests(flags, tests, { suite: this.name, site: this.#site, options: this.#options });
    const run = traced?.tests ?? tests;
    const byName = new Map(run.map((test) => [test.name, test]));
    const testOf = (task: TaskSpec) => isCase(task) ? byName.get(task.case) : undefined;
    const base = this.#base(run);
    const models = new Map(run.map(({ name, options }) => [name, this.#declare(options).own]));
    const refused = this.#refused;
    registerBenchmark(this.#declare(base.options), {
      name: this.name,
      subject: this.subject,
      ...this.#owner,
      shared: this.#isShared(),
      callers: [this.#site, ...tests.map(({ site }) => site)].flatMap(({ callers }) => callers),
      source: {
        ...this.#source(run, base, settingsOf(this.#benchmarkOf(base.options), flags)),
        leftOut: skipped.length + refused.length === 0
          ? undefined
          : { skipped: skipped.map(({ name }) => name), refused },
      },
      recorded: traced?.recorded,
      leaves: traced?.leaves,
      variantAgents: this.#variants?.agents,
      ownOf: (task) => isCase(task) ? models.get(task.case) : undefined,
      titleOf: (planned) => this.#trialTitle(planned, testOf(planned.task) ?? base),
      register: (test, planned) => {
        const own = planned && testOf(planned.task);
        registered.push([own?.site ?? this.#site, { ...test, only: own?.only ?? false }]);
      },
    });
    for (const [site, test] of registered) site.add(test);
  }

  /** Whether a module makes it that other test files may load, too. */
  #isShared(): boolean {
    const { callers } = this.#site;
    return this.#title.length > 0 && callers.length > 0 &&
      callers.every(({ url }) => url !== runner().file().url);
  }

  /**
   * A test whose settings stand for those of the suite, where tests differ: with the options of the suite alone, which
   * its other test files have too, if any test takes its model. A fresh seed is drawn only for a test to which it matters.
   */
  #base(tests: readonly SuiteTest[]): SuiteTest {
    const drawn = tests.find(({ options }) => isDrawn(options));
    const base = drawn ?? tests[0]!;
    const { model, seed } = this.#options;
    const isTaken = tests.some(({ options }) => options.model === model);
    const isLeft = seed === "fresh" && drawn !== undefined && !isDrawn(this.#options);
    return model === undefined || !isTaken || isLeft ? base : { ...base, options: this.#options };
  }

  #source(
    tests: readonly SuiteTest[],
    base: SuiteTest,
    { seedFlag, seed: flag, concurrency }: Settings,
  ): TaskSource {
    const seed = seedFlag && flag;
    const cases = new Map(tests.map((test) => [test.name, test.toolCase]));
    const common = this.#resolve(base, seed);
    const own = tests.flatMap((test) => {
      const differing = differenceOf(this.#resolve(test, seed), common);
      return differing === undefined ? [] : [[test.name, differing] as const];
    });
    const alone = new Set(
      concurrency !== undefined
        ? []
        : tests.filter(({ toolCase }) => !this.#casesOf(toolCase).every(isIndependent))
          .map(({ name }) => name),
    );
    const users = tests.flatMap(({ toolCase }) =>
      this.#casesOf(toolCase).flatMap(({ user }) =>
        user === undefined || typeof user.model === "function" ? [] : nameOf(user.model)
      )
    );
    const caseOf = (name: string, variant: string | undefined) => {
      const found = cases.get(name);
      return found && (this.#variants?.caseOf(found, variant) ?? found);
    };
    return {
      cells: () => tests.map(({ name }) => ({ case: name })),
      // Not before, as the text of an assertion is a part of what is compared.
      open: caseOpener((name, variant) => withSoftFailures(caseOf(name, variant))),
      isDrawn: tests.some(({ options }) => isDrawn(options)),
      users,
      userOf: users.length === 0 ? undefined : (task, variant) => {
        const { model } = isCase(task) && caseOf(task.case, variant)?.user || {};
        return typeof model === "function" ? undefined : model;
      },
      cases: Object.fromEntries(tests.map(({ name, toolCase }) => [name, caseDigest(toolCase)])),
      parts: Object.fromEntries(tests.map(({ name, toolCase }) => [name, caseParts(toolCase)])),
      variants: this.#variants?.planned([...cases.values()]),
      tests: own.length === 0 ? undefined : Object.fromEntries(own),
      isAlone: alone.size === 0 ? undefined : (task) => isCase(task) && alone.has(task.case),
    };
  }

  /** A case as each variant has it. */
  #casesOf(toolCase: ToolCase<unknown>): readonly ToolCase<unknown>[] {
    return this.#variants?.casesOf(toolCase) ?? [toolCase];
  }

  /** The options of a benchmark with the same trials. */
  #benchmarkOf(options: AnyOptions): BenchmarkOptions {
    const { trials = 1, seed = 1, gate, perturbation, agent } = options;
    const { model, strategy, prices } = this.#variants ?? options;
    const ofRun = Object.keys(optionSchemas("toolTest")) as (keyof AnyOptions)[];
    return {
      ...Object.fromEntries(ofRun.map((name) => [name, options[name]])),
      model: listOf(model),
      tasks: [],
      seed,
      agent,
      prices,
      graphs: gate?.sequential === true ? undefined : trials,
      strategies: listOf(strategy ?? "plain"),
      perturbations: listOf(perturbation),
    };
  }

  #declare(options: AnyOptions): Declared {
    return declare(this.subject, this.#benchmarkOf(options));
  }

  /**
   * The settings of the trials of a test by itself.
   *
   * @throws {InputError} If it cannot be planned.
   */
  #resolve({ name, subject, options }: SuiteTest, seed?: BenchmarkOptions["seed"]): ResolvedSuite {
    const tasks: TaskSource = { cells: () => [{ case: name }], open: openTask };
    const own = this.#benchmarkOf({ ...options, gate: undefined });
    const benchmark = { ...own, seed: seed ?? own.seed };
    const known = this.#planned.find((one) => isAlike(one.benchmark, benchmark));
    if (known !== undefined) return known.resolved;
    const { suite } = declare(subject, benchmark);
    const whole = { ...suiteSettings(benchmark), ...suite, name };
    const { resolved } = planSuite(whole, { source: subject, tasks });
    this.#planned.push({ benchmark, resolved });
    return resolved;
  }

  #titleOf(name: string, { tags = [] }: AnyOptions): string {
    return [...this.#title, [name, ...tags.map((tag) => `#${tag}`)].join(" ")].join(" > ");
  }

  #trialTitle(planned: PlannedTrial, { name, options }: SuiteTest): string {
    const { trials = 1, gate, model, strategy, perturbation } = options;
    const isSeveral = this.#variants !== undefined ||
      [model, strategy, perturbation].some((one) => listOf<unknown>(one).length > 1);
    return [
      this.#titleOf(name, options),
      ...(gate?.sequential === true || trials > 1 ? [`trial ${planned.repetition}`] : []),
      ...(isSeveral ? [variantName(planned)] : []),
    ].join(" > ");
  }
}

/** The hashes of samples of chains that nobody has confirmed, with the numbers of their calls. */
function unconfirmed(tests: readonly SuiteTest[]): ReadonlyMap<string, ReadonlySet<number>> {
  const found = new Map<string, Set<number>>();
  for (const { toolCase: { chain } } of tests) {
    if (chain === undefined || chain.confirmed) continue;
    getOrInsertComputed(found, chain.sample, () => new Set()).add(chain.calls);
  }
  return found;
}

/** Returns a case whose assertions throw what `expect.soft()` of vitest only notes. */
function withSoftFailures(toolCase: ToolCase<unknown> | undefined): typeof toolCase {
  const { softFailures } = runner();
  const assert = toolCase?.assert;
  if (softFailures === undefined || assert === undefined) return toolCase;
  return {
    ...toolCase!,
    async assert(run) {
      const before = softFailures().length;
      const returned = await assert(run);
      const [failure] = softFailures().slice(before);
      if (failure !== undefined) throw new AssertionError(failure.message);
      return returned;
    },
  };
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
function isIndependent({ tools, user }: ToolCase<unknown>): boolean {
  return [tools, user?.tools ?? []].every((own) =>
    typeof own === "function" || own.every(isIsolated)
  );
}
