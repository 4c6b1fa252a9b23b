/**
 * Options of tool tests and of their suites: their types, and the schemas by which they are checked.
 * @module
 */

import { z } from "zod";
import { cannot, InputError } from "../base/errors.ts";
import type { Chain } from "../chains/chains.ts";
import { FUNCTION, must, whole } from "../base/input.ts";
import { isJsonObject, isObject, printable } from "../base/json.ts";
import { leniencyOf } from "../calls/expected/alignment.ts";
import { says } from "../calls/values/says.ts";
import { isPlain } from "../tools/references/symbol_table.ts";
import { valueText } from "../calls/values/text.ts";
import { checkExpectedCalls } from "../calls/expected/match_calls.ts";
import { misplaced, MODEL, type ModelEntry, SAMPLING, type Sampling } from "../models/entry.ts";
import type { ToolTestSettings } from "../runs/option_types.ts";
import { optionSchemas, PERTURBATION_ID } from "../runs/options.ts";
import { isRemoving } from "../perturbations/ids.ts";
import { listOf, MAX_NAME_LENGTH, oneOrMore } from "../runs/suite.ts";
import { isProbe } from "../tasks/task_kind.ts";
import { assertCaseTools, assertUserTools, type ToolCase } from "../trials/executors/tool_case.ts";
import { Toolbox } from "../trials/executors/toolbox.ts";
import {
  AGENT,
  type BenchmarkStrategy,
  isText,
  MODEL_CHOICE,
  type ModelChoice,
  MODELS,
  NO_MODEL,
  OF_MODELS,
  STRATEGY_CHOICE,
} from "./options.ts";

import type { Agent } from "../trials/own_agent.ts";
import { namesEnd, type ToolUser } from "../trials/users/user.ts";
import type { CommandAgent } from "../trials/tap/command.ts";

/** Options of `toolTest()`. */
export interface ToolTestOptions<State = undefined>
  extends Omit<ToolCase<State>, "name" | "tools" | "user">, ToolTestSettings {
  /** Whether the test is left out, as by `toolTest.skip()`; default false. */
  readonly ignore?: boolean;
  /** Words that stand as `#word` behind its name, so that `--filter "#word"` selects it. */
  readonly tags?: readonly string[];
  /**
   * One or several models: a name such as `sim:planner` or `gpt-5`, an entry with options, or a model. Omitted where
   * every variant has its own.
   */
  readonly model?: ModelChoice | readonly ModelChoice[];
  /**
   * A simulated user who answers what the model says, in place of `turns`. What his suite or every variant has of him is
   * left out. With him `prompt` is his first message; where it is left out, he writes that himself.
   */
  readonly user?: Partial<ToolUser<State>>;
  /** The tools, or a function that makes them for each trial. Omitted where every variant has its own. */
  readonly tools?: ToolCase<State>["tools"];
  /**
   * Settings that run side by side on the same cases, by name, such as
   * `{ old: { system: OLD }, new: { system: NEW } }`. With `gate: { baseline: { variant: "old" } }` the others are
   * compared with `old`. The tests of a suite have them in common.
   */
  readonly variants?: Readonly<Record<string, ToolTestVariant<State>>>;
  /**
   * Works on the question in place of the agent loop, with the strategy `plain` only: a function, or a program. It
   * is called once for each message of the user, and asks `model` by what it is given; one that asks another server may
   * name its model as it likes.
   */
  readonly agent?: Agent | CommandAgent;
  /** The number of trials; default 1. A sequential gate sets it itself. */
  readonly trials?: number;
  /** The seed of perturbations; default 1. `fresh` draws one at the start. */
  readonly seed?: number | "fresh";
  /** One or several strategies of the model, by id or with options. */
  readonly strategy?: string | BenchmarkStrategy | readonly (string | BenchmarkStrategy)[];
  /**
   * One or several perturbations of what the model sees, such as `RD` or `WT+CF`, or faults such as
   * `timeout`. With `["none", "timeout"]` the same `assert` judges both: assertions ignore calls lost to a
   * fault, unless nothing must be called.
   */
  readonly perturbation?: string | readonly string[];
}

/** Settings that run beside others on the same cases; what is left out is as without variants. */
export interface ToolTestVariant<State = undefined>
  extends Partial<Pick<ToolCase<State>, "system" | "tools" | "toolChoice">> {
  /** One or several models, as beside the variants. */
  readonly model?: ModelChoice | readonly ModelChoice[];
  /** One or several strategies, by id or with options. */
  readonly strategy?: string | BenchmarkStrategy | readonly (string | BenchmarkStrategy)[];
  /** How much its models may reason: in results they are called such as `gpt-5 high`. */
  readonly reasoningEffort?: NonNullable<ModelEntry["reasoningEffort"]>;
  /** What its simulated users have in place of what those of the tests have, such as other guidelines. */
  readonly user?: Partial<ToolUser<State>>;
  /** How its models sample: in results they are called such as `gpt-5 temperature=0`. */
  readonly sampling?: Sampling;
  /** Works on its trials in place of the agent loop, as beside the variants. */
  readonly agent?: Agent | CommandAgent;
}

/**
 * Registers tests.
 *
 * @typeParam Shared The names of options that need not be given.
 * @typeParam Usual The type of the state, unless a test has its own.
 */
export interface ToolTest<Shared extends keyof ToolTestOptions = never, Usual = undefined> {
  /** Registers a test. */
  <State = Usual>(name: string, options: TestOptions<State, Shared>): void;
  /** Registers a test, and lets the runner run no others of the file. */
  only<State = Usual>(name: string, options: TestOptions<State, Shared>): void;
  /** Registers a test that is not run. */
  skip<State = Usual>(name: string, options: TestOptions<State, Shared>): void;
  /**
   * Registers a test for each row of a table. In its name `$key` is a property of the row, and
   * `%s`, `%d` or `%j` one of its values; `options` gets the row, the items of a list one by one.
   */
  each<Row>(
    table: readonly Row[],
  ): <State = Usual>(
    name: string,
    options: (
      ...values: Row extends readonly unknown[] ? [...Row] : [Row]
    ) => TestOptions<State, Shared>,
  ) => void;
}

/** The options of a test, of which some may be left out. */
export type TestOptions<State, Shared extends keyof ToolTestOptions> =
  | (
    & Omit<ToolTestOptions<State>, Shared | "chain">
    & Partial<Pick<ToolTestOptions<State>, Shared>>
    & { readonly chain?: undefined }
  )
  | ChainTestOptions;

/** Options of a test of a chain, which gives it all else. */
export interface ChainTestOptions extends
  Partial<
    Omit<
      ToolTestOptions,
      | ("chain" | "state" | "tools" | "prompt" | "turns" | "expected" | "parameters" | "assert")
      | ("user" | "reference" | "communicate")
    >
  > {
  /** The chain, one of {@linkcode chains}. */
  readonly chain: Chain;
}

/** Options of `toolSuite()`: those of a run, and what its tests have in common. */
export type ToolSuiteOptions<State = undefined> = Partial<
  Omit<
    ToolTestOptions<State>,
    | ("chain" | "prompt" | "turns" | "expected" | "parameters" | "assert" | "ignore" | "tags")
    | ("reference" | "communicate")
  >
>;

/** Options of a test with a state of any type, of which some may stand in its suite. */
export type AnyOptions = Partial<ToolTestOptions<unknown>>;

/** The schema of the name of a tool test, which is a key in journals. */
export const TEST_NAME: z.ZodType<string> = must(
  `be a text of 1 to ${MAX_NAME_LENGTH} characters, and neither __proto__ nor the name of a probe`,
  (name) =>
    isText(name) && name.length <= MAX_NAME_LENGTH && name !== "__proto__" &&
    !isProbe({ case: name }),
);

const TEXT = must<string>("be a text that is not empty", isText);

const listOfAll = (rule: string, isOne: (item: unknown) => boolean) =>
  must(`be a list of ${rule}`, (value) => Array.isArray(value) && value.every(isOne)).optional();

const TOOLS_RULE =
  "be a list of tools, or a function that makes it, as in tools: () => mcpTools(...) (those of another library are " +
  "converted: docs/agents.md)";

/** What variants may have in place of the options beside them. */
const VARIED = {
  model: MODELS.optional(),
  strategy: oneOrMore(STRATEGY_CHOICE).optional(),
  system: z.string().optional(),
  tools: must(TOOLS_RULE, (tools) => Array.isArray(tools) || typeof tools === "function")
    .optional(),
  toolChoice: must(
    "be auto, none, required or { function: name }",
    (choice) =>
      choice === "auto" || choice === "none" || choice === "required" ||
      isJsonObject(choice) && isText(choice["function"]),
  ).optional(),
  agent: AGENT.optional(),
};

const SAYABLE = listOfAll(
  "texts with a word or a number, or lists of them, of which one is enough",
  (one) => {
    const texts = listOf<unknown>(one);
    return texts.length > 0 && texts.every((text) => isText(text) && says(text, text));
  },
);

/** What a simulated user may have. */
const USER = z.strictObject(
  {
    model: z.union([FUNCTION, MODEL_CHOICE]).optional(),
    scenario: TEXT.optional(),
    guidelines: must(
      "name end_conversation or a stop word such as ###STOP###, so that he can end",
      (text) => isText(text) && namesEnd(text),
    ).optional(),
    opens: z.union([z.literal("user"), z.strictObject({ greeting: TEXT })], {
      error: () => 'must be "user", or { greeting: TEXT } where the agent speaks first',
    }).optional(),
    history: must<ToolUser["history"]>(
      "be a list of { role, content } of user and assistant, the last of the assistant",
      (list) =>
        Array.isArray(list) && list.at(-1)?.role === "assistant" &&
        list.every((one) =>
          isJsonObject(one) && Object.keys(one).length === 2 && isText(one["content"]) &&
          (one["role"] === "user" || one["role"] === "assistant")
        ),
    ).optional(),
    facts: SAYABLE,
    tools: must(TOOLS_RULE, (tools) => Array.isArray(tools) || typeof tools === "function")
      .optional(),
    limits: z.strictObject({ turns: whole(1).optional() }).optional(),
  } satisfies Record<keyof ToolUser, z.ZodType>,
);

const VARIANT = z.strictObject({
  ...VARIED,
  user: USER.optional(),
  ...{
    reasoningEffort: MODEL.shape.reasoningEffort.optional(),
    sampling: SAMPLING.optional(),
  } satisfies Record<Exclude<keyof ToolTestVariant, keyof typeof VARIED | "user">, z.ZodType>,
});

const VARIANTS = must<Readonly<Record<string, unknown>>>(
  "be settings by name",
  (variants) => isJsonObject(variants) && Object.keys(variants).length > 0,
).check(({ value, issues }) => {
  const odd = Object.keys(value).find((name) => !/^[A-Za-z0-9][\w.-]{0,59}$/.test(name));
  if (odd === undefined) return;
  const message =
    "must have names of letters, digits, _, . and -, 60 at most, as they stand in ids of trials: " +
    `there is ${valueText(odd)}`;
  issues.push({ code: "custom", message, input: value });
}).pipe(z.record(z.string(), VARIANT));

/** The options that the tests of a suite may have in common. */
const SHARED = {
  ...optionSchemas("toolTest"),
  ...{
    ...VARIED,
    state: FUNCTION.optional(),
    user: USER.optional(),
    never: listOfAll(
      "calls: names of tools, or tool and arguments",
      (one) => isText(one) || isJsonObject(one),
    ),
    trials: whole(1).optional(),
    perturbation: oneOrMore(PERTURBATION_ID).optional(),
    variants: VARIANTS.optional(),
  } satisfies Record<Exclude<keyof ToolSuiteOptions, keyof ToolTestSettings>, z.ZodType>,
};

/** The options that a chain stands for. */
const OF_CHAIN = ["state", "tools", "prompt", "turns", "expected", "parameters", "assert"]
  .concat("user", "reference", "communicate");

const PROMPT_RULE = "be a text that is not empty, or a function that makes it";

/** The options that only one test has. */
const OWN = {
  chain: must(
    "be one of chains(graph)",
    (chain) => isObject(chain) && "graph" in chain && "draw" in chain,
  ).optional(),
  prompt: must(
    PROMPT_RULE,
    (prompt) => isText(prompt) || typeof prompt === "function",
  ).optional(),
  turns: listOfAll("texts that are not empty", isText),
  expected: listOfAll("calls: tool and arguments", isJsonObject),
  parameters: listOfAll(
    "names, values and spans",
    (one) =>
      isJsonObject(one) && isText(one["name"]) && "value" in one &&
      Array.isArray(one["spans"]) && one["spans"].every(isObject),
  ),
  reference: z.strictObject({
    calls: z.array(z.strictObject({
      tool: must("be the name of a tool", isText),
      arguments: must(
        "be a JSON object",
        (given) => isJsonObject(given) && isPlain(given),
      )
        .optional(),
      by: z.literal("user").optional(),
    })),
    snapshot: FUNCTION.optional(),
  }).optional(),
  communicate: SAYABLE,
  assert: FUNCTION.optional(),
  ignore: z.boolean().optional(),
  tags: listOfAll(
    "words of letters, digits, - and _",
    (tag) => typeof tag === "string" && /^[\p{L}\p{N}_-]+$/u.test(tag),
  ),
} satisfies Record<Exclude<keyof ToolTestOptions, keyof ToolSuiteOptions>, z.ZodType>;

/** What to do with options that tests have under other names than elsewhere. */
const ADVICE: Readonly<Record<string, string>> = {
  ...OF_MODELS,
  models: "here it is called model, which takes one or a list",
  strategies: "here it is called strategy, which takes one or a list",
  perturbations: "here it is called perturbation, which takes one or a list",
  oracle: "here it is called expected, whose calls have ignore in place of allowed",
};

/** The schema of {@linkcode ToolTestOptions}, with those of its suite. */
export const TOOL_TEST = z.strictObject({ ...SHARED, ...OWN }, { error: misplaced(ADVICE) })
  .check((context) => {
    addFaults(context, true);
  }) as unknown as z.ZodType<ToolTestOptions<unknown>>;

/** The same of a test with a chain. */
export const CHAIN_TEST = z.strictObject(
  Object.fromEntries(
    Object.entries({ ...SHARED, ...OWN }).filter(([name]) => !OF_CHAIN.includes(name)),
  ),
  {
    error: misplaced({
      ...ADVICE,
      ...Object.fromEntries(OF_CHAIN.map((name) => [name, "the chain of the test gives it"])),
    }),
  },
).check((context) => {
  addFaults(context, true);
}) as unknown as z.ZodType<ToolTestOptions<unknown>>;

/** The schema of {@linkcode ToolSuiteOptions}. */
export const TOOL_SUITE = z.strictObject(SHARED, {
  error: misplaced({
    ...ADVICE,
    ...Object.fromEntries(
      Object.keys(OWN).map((name) => [name, "it belongs to the tests: each of them has its own"]),
    ),
  }),
}).check((context) => {
  addFaults(context, false);
}) as unknown as z.ZodType<ToolSuiteOptions<unknown>>;

/** Adds what is wrong between options. */
function addFaults(
  { value, issues }: z.core.ParsePayload,
  isTest: boolean,
): void {
  const options = value as AnyOptions;
  const { chain, model, tools, trials, gate, variants, reference, communicate } = options;
  const judge = chain ?? reference ?? communicate?.[0];
  const { versions } = chain ?? {};
  const lacking = versions?.keys().find((name) => !Object.hasOwn(variants ?? {}, name));
  const [bare] =
    Object.entries(variants ?? {}).find(([, one]) =>
      Object.values(one).every((setting) => setting === undefined)
    ) ?? [];
  const { variant: base } = Object(gate && "baseline" in gate ? gate.baseline : {});
  const removing = listOf(options.perturbation).find(isRemoving);
  const ofVariant = Object.values(variants ?? {}).some((one) => one.tools !== undefined);
  const faults: [isBroken: boolean, option: string, rule: string][] = [
    [
      trials !== undefined && gate?.sequential === true,
      "trials",
      `must be left out, as a sequential gate sets the number of trials itself: it is ${trials}`,
    ],
    ...VARIED_NAMES.map((name): [boolean, string, string] => [
      options[name] !== undefined && everyVariantHas(variants, name),
      name,
      "is set in every variant, so that this one would never be used: leave it out here, or in a variant",
    ]),
    [
      variants !== undefined && model === undefined && !everyVariantHas(variants, "model"),
      "model",
      "it is missing: every variant must have one, or all of them one beside variants",
    ],
    [isTest && variants === undefined && model === undefined, "model", NO_MODEL],
    [
      isTest && chain === undefined && tools === undefined && !everyVariantHas(variants, "tools"),
      "tools",
      `it is missing: it must ${TOOLS_RULE}`,
    ],
    [
      isTest && chain === undefined && options.prompt === undefined && options.user === undefined,
      "prompt",
      `it is missing: it must ${PROMPT_RULE}`,
    ],
    ...isTest ? userFaults(options) : [],
    [
      isTest && judge === undefined && options.assert === undefined,
      "assert",
      "it is missing: a test must have assert, reference or communicate",
    ],
    [
      isTest && reference !== undefined && options.state === undefined,
      "reference",
      "must have state beside it, on which its calls are carried out: there is none",
    ],
    [chain !== undefined && ofVariant, "variants", "must have no tools: the chain gives them"],
    [
      isTest && bare !== undefined && versions === undefined,
      `variants.${bare}`,
      "must have a setting: it has none",
    ],
    [lacking !== undefined, "variants", `must have ${lacking}, a version of the chain`],
    [
      versions?.has(base) ?? false,
      "gate.baseline",
      `must be a variant with the tools that questions are drawn for: ${base} is another version`,
    ],
    [
      judge !== undefined && removing !== undefined,
      "perturbation",
      `must leave what a chain, reference or communicate needs: it is ${removing}`,
    ],
  ];
  for (const [isBroken, option, message] of faults) {
    if (isBroken) issues.push({ code: "custom", path: option.split("."), message, input: value });
  }
}

/** What is wrong with the simulated users of a test, under any of its variants. */
function userFaults(
  { user, turns, variants = {}, prompt }: AnyOptions,
): [isBroken: boolean, option: string, rule: string][] {
  const users = Object.values(variants).map((variant) => ({ ...user, ...variant.user }));
  const has = (name: keyof ToolUser) =>
    (users.length === 0 ? [user ?? {}] : users).every((one) => one[name] !== undefined);
  if (user === undefined) {
    const given = users.some((one) => Object.keys(one).length > 0);
    return [[given, "variants", "may have a user only where the test has one"]];
  }
  return [
    [
      turns !== undefined,
      "turns",
      "must be left out beside user, who answers: fixed messages are turns alone",
    ],
    [
      !has("model"),
      "user.model",
      "it is missing: a language model, or a function (conversation) => text",
    ],
    [
      [user, ...users].some(({ model }) =>
        isObject(model) && Reflect.get(model, "toolChoice") !== undefined
      ),
      "user.model",
      "must have no toolChoice: he writes messages, and calls end_conversation in the end",
    ],
    [!has("scenario"), "user.scenario", "it is missing: who he is, what he wants, what he knows"],
    [
      prompt !== undefined && [user, ...users].some(({ opens }) => typeof opens === "object"),
      "prompt",
      "must be left out where the agent opens with a greeting, which the user answers",
    ],
  ];
}

const VARIED_NAMES = Object.keys(VARIED) as (keyof typeof VARIED)[];

/** Whether every variant has a setting of its own, so that nothing is needed beside them. */
function everyVariantHas(
  variants: AnyOptions["variants"],
  setting: keyof ToolTestVariant,
): boolean {
  return variants !== undefined &&
    Object.values(variants).every((one) => one[setting] !== undefined);
}

/** How errors refer to a test. */
export function testSubject(name: unknown): string {
  return `tool test ${printable(String(name), 100)}`;
}

/** Of the options of a run those that each test may have for itself. */
const OWN_OF_RUN: readonly string[] = ["seed", "limits", "references"];
const OF_RUN = Object.keys(optionSchemas("toolTest")).filter((name) => !OWN_OF_RUN.includes(name));

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
  const varied = VARIED_NAMES.filter((name) =>
    name === "model" || name === "strategy" || everyVariantHas(variants, name)
  );
  const table: [when: boolean, options: readonly string[], rule: string][] = [
    [true, [...OF_RUN, "variants", "agent"], "must be the same in all tests of a suite"],
    [
      variants !== undefined,
      varied,
      "must be left out, as the variants of its suite decide it",
    ],
    [
      gate !== undefined,
      ["model", "trials", "strategy", "perturbation", "seed"],
      "must be the same in all tests of a suite with a gate, which decides over all of them",
    ],
  ];
  const given = givenIn(options);
  for (const [when, names, rule] of table) {
    const name = when ? names.find((one) => Object.hasOwn(given, one)) : undefined;
    if (name === undefined) continue;
    const itsSuite = `toolSuite(${JSON.stringify(printable(suite, 100))}, ...)`;
    throw cannot(`use ${subject}`, `${name} ${rule}`, `give it to ${itsSuite}`);
  }
}

/** The options that are given: one that is `undefined` stands for none. */
export function givenIn(options: AnyOptions): AnyOptions {
  return Object.fromEntries(
    Object.entries({ ...options }).filter(([, value]) => value !== undefined),
  );
}

/**
 * Checks what a case says of its tools.
 *
 * @throws {InputError} If a call or a tool cannot be used.
 */
export function assertCase(subject: string, toolCase: ToolCase<unknown>): void {
  const { expected = [], never = [], tools, user } = toolCase;
  try {
    checkExpectedCalls(expected, []);
    checkExpectedCalls(never, []);
    for (const call of expected) leniencyOf(call);
    if (Array.isArray(user?.tools)) assertUserTools(toolCase, user.tools);
    // Tools made by a function are checked when a trial begins.
    if (typeof tools === "function") return;
    assertCaseTools(toolCase, tools);
    new Toolbox(tools)[Symbol.dispose]();
  } catch (error) {
    // A file has many tests, so that the error must name this one.
    throw error instanceof InputError
      ? new InputError(`Cannot use ${subject}: ${error.message}`)
      : error;
  }
}

/** A test outside of a suite that has one of these is a suite of its own. */
const ALONE = [
  ...["gate", "requireGate", "journal", "report", "recordings", "budget", "variants"] as const,
];

/** Whether a test outside of a suite is a suite by itself, apart from the others of its file. */
export function isOwnSuite(options: AnyOptions): boolean {
  // A fresh seed is drawn for each plan, and printed.
  return options.seed === "fresh" && isDrawn(options) ||
    ALONE.some((name) => options[name] !== undefined);
}

/** Whether a test follows from the seed: its perturbations, chain or simulated user. */
export function isDrawn({ perturbation, chain, user }: AnyOptions): boolean {
  return chain !== undefined || user !== undefined ||
    listOf(perturbation).some((id) => id !== "none");
}

/** Whether tests can share a run by their options. */
export function isRunAlike(one: AnyOptions, other: AnyOptions): boolean {
  const textOf = (options: AnyOptions) =>
    JSON.stringify(
      [...OF_RUN, "agent"].map((name) => Reflect.get(options, name)),
      (_, value) => value === Infinity ? "Infinity" : value,
    );
  const functionOf = ({ agent }: AnyOptions) => typeof agent === "function" ? agent : undefined;
  return functionOf(one) === functionOf(other) && textOf(one) === textOf(other);
}
