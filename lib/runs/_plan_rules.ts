/**
 * Plan rules: checks that the parts of a suite fit together.
 * @module
 */

import { firstClash } from "../base/clash.ts";
import { isFault } from "../tools/fault.ts";
import { cannot } from "../base/errors.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { fewestClean } from "../gate/decide.ts";
import { didYouMean } from "../base/nearest_name.ts";
import { countText, percent } from "../base/numbers.ts";
import { type ModelEntry, modelName } from "../models/entry.ts";
import { isInjecting, isRemoving } from "../perturbations/ids.ts";
import { ceilingsOf, type LimitedCeiling } from "../gate/ceilings.ts";
import { type BaselineChoice, type CompletePolicy, isUpgrade } from "../gate/policy.ts";
import { assertPriced } from "../models/prices.ts";
import { scoringKey } from "../trials/executors/question.ts";
import { hasExamples } from "../tasks/examples.ts";
import { coreOf, isCase, isQuestion, type QuestionSpec } from "../tasks/task_kind.ts";
import { assertReferring, strategiesIn, type StrategyId } from "../trials/strategies/registry.ts";
import {
  stageEntries,
  strategyChoice,
  type StrategyEntry,
  strategyId,
  strategyName,
} from "../trials/strategies/entry.ts";
import type { GraphSpec } from "../tasks/graphs/graph.ts";
import type { CallSet } from "../tasks/questions/question_set.ts";
import { type Cell, judgeEntry, type Suite } from "./suite.ts";

/** What is wrong with a plan: the rule that it breaks, and how. */
export type PlanFault = readonly [rule: string, state?: string];

/** Strategies that have no effect where no calls are made. */
const OF_CALLS: readonly StrategyId[] = [
  "restate",
  "indirection",
  "explanation",
  "retry",
  "alternative",
];

/** Checks the parts of a suite that questions restrict, as their number is fixed. */
export function questionsFault(suite: Suite, cells: readonly Cell[]): PlanFault | undefined {
  const { graphs, gate, judge, perturbations = [], strategies = [] } = suite;
  const questions = cells.filter(isQuestion);
  const first = questions[0];
  const written = questions.find(({ mode }) => mode !== "tools");
  const ids = strategies.map((entry) => strategyChoice(entry).strategy);
  const unfit = ids.find((id) => strategiesIn(id).some((one) => OF_CALLS.includes(one)));
  const removing = perturbations.find(isRemoving);
  const faulty = perturbations.find((id) => id.split("+").some(isFault));
  const injecting = perturbations.find(isInjecting);
  const fault = first === undefined
    ? judge === undefined ? undefined : "judge needs a call set: there is none"
    : questions.length < cells.length
    ? "questions of call sets and other tasks must be in suites of their own: both are there"
    : graphs !== undefined
    ? `a call set has a fixed number of questions: graphs is ${graphs}; leave it out, or set repetitions`
    : gate?.sequential
    ? "a sequential gate sets the number of tasks itself, and a call set has a fixed number of questions: " +
      "leave out sequential"
    : gate !== undefined && new Set(questions.map(scoringKey)).size > 1
    ? "a gate decides over questions that are asked in one way, and here they are asked in " +
      `${
        new Set(questions.map(scoringKey)).size
      }: give each mode, input and output a suite of its own`
    : faulty !== undefined && written !== undefined
    ? `faults are of calls, and in mode ${written.mode} none are made: the perturbation is ${faulty}; ` +
      "take mode tools"
    : injecting !== undefined && written !== undefined
    ? `instructions are injected into results of calls, and in mode ${written.mode} none are made: the ` +
      `perturbation is ${injecting}; take mode tools`
    : removing?.includes("permission_denied")
    ? `the true calls are never all made where permission is denied: the perturbation is ${removing}`
    : removing !== undefined
    ? `a question without all of its values cannot be scored: the perturbation is ${removing}`
    : written !== undefined && unfit !== undefined
    ? `the strategy ${unfit} changes calls, and in mode ${written.mode} none are made: take mode tools`
    : undefined;
  return fault === undefined ? undefined : [fault];
}

/**
 * Checks a suite whose cells share core graphs: some must, and for a gate each core must be in equally many cells.
 * Otherwise the mean over cores, which a gate bounds, would not be that over trials.
 */
export function pairFault(
  cells: readonly Cell[],
  gate: CompletePolicy | undefined,
): PlanFault | undefined {
  const cores = [...Map.groupBy(cells, (cell) => canonicalJson(coreOf(cell))).values()];
  if (cores.length === cells.length) {
    return [
      'pair "distractors" is for cells that differ only in their irrelevant functions',
      "no two of them do; leave it out, or give several counts or connections",
    ];
  }
  if (gate === undefined) return undefined;
  const [first, ...others] = cores.toSorted((one, other) => one.length - other.length);
  const last = others.at(-1) ?? first!;
  if (first!.length === last.length) return undefined;
  const [few, many] = [first!, last].map(([cell]) => {
    const { connected: _, disconnected: __, ...core } = { ...cell } as Partial<GraphSpec>;
    return canonicalJson(core);
  });
  return [
    'with pair "distractors" a gate needs each core in equally many cells',
    `${few} is in ${first!.length}, ${many} in ${last.length}`,
  ];
}

/** Checks that `few_shot` has something to show before every question: another one, or given examples. */
export function shotsFault(
  strategies: readonly (string | StrategyEntry)[],
  questions: readonly QuestionSpec[],
  sets: ReadonlyMap<string, { readonly set: CallSet; readonly path: string }> | undefined,
): PlanFault | undefined {
  const lacksGiven = strategies.map(strategyChoice).some(({ strategy, examples }) =>
    examples === undefined && strategiesIn(strategy).includes("few_shot")
  );
  if (!lacksGiven || sets === undefined) return undefined;
  for (const { set: name, question } of questions) {
    const { set, path } = sets.get(name)!;
    if (hasExamples(set, question)) continue;
    return [
      `few_shot needs another question in the set, with other words and other calls than ${
        printable(question, 100)
      }`,
      `${path} has ${countText(set.questions.length, "question")}; give examples in its entry`,
    ];
  }
}

/** Checks a suite with nested references: it needs calls, and no strategy may name values itself. */
export function assertReferences(
  action: string,
  strategies: readonly (string | StrategyEntry)[],
  cells: readonly Cell[],
): void {
  const ids = strategies.map((entry) => strategyChoice(entry).strategy);
  const written = cells.filter(isQuestion).find(({ mode }) => mode !== "tools");
  for (const id of ids) assertReferring(action, id);
  if (written === undefined) return;
  throw cannot(
    action,
    `nested references are for calls, and in mode ${written.mode} none are made`,
    "take mode tools",
  );
}

/** Checks the gate against the rest of the suite. */
export function gateFault(
  gate: CompletePolicy | undefined,
  models: readonly string[],
  {
    graphs,
    budget,
    judge,
    prices = {},
    strategies = ["plain"],
    perturbations = ["none"],
    variants,
    users = [],
  }: Suite & {
    readonly variants: readonly string[];
    readonly users?: readonly string[] | undefined;
  },
): PlanFault | undefined {
  if (gate?.sequential && graphs !== undefined) {
    return [
      "a sequential gate sets the number of graphs itself",
      `graphs is ${graphs}; leave it out`,
    ];
  }
  const ceilings = gate === undefined ? [] : ceilingsOf(gate.atMost);
  const planned = {
    model: models,
    strategy: strategies.map(strategyName),
    perturbation: perturbations,
    variant: variants,
  };
  const fault = gate && (solvableFault(perturbations) ??
    ceilings.map((ceiling) => needsFault(ceiling, perturbations, strategies))
      .find((one) => one !== undefined) ??
    (isUpgrade(gate) ? baselineFault(gate.baseline, planned) : undefined));
  if (fault !== undefined) return fault;
  if (budget?.usd === undefined && !ceilings.some(({ needs }) => needs?.prices)) return undefined;
  const others = strategies.flatMap((entry) => [...stageEntries(entry).values()].map(modelName));
  const judges = judge === undefined ? [] : [modelName(judgeEntry(judge))];
  assertPriced([...models, ...others, ...judges, ...users], prices);
}

/** Checks that there are the tasks that ceilings are about, which would always be kept without them. */
export function ceilingTasksFault(
  gate: CompletePolicy | undefined,
  { cells }: { readonly cells: readonly Cell[] },
): PlanFault | undefined {
  const ceiling = gate && ceilingsOf(gate.atMost)
    .find(({ needs }) => needs?.task !== undefined && !cells.some(needs.task));
  return ceiling &&
    [`gate.atMost.${ceiling.path} ${ceiling.needs!.words}`, "there is no such task"];
}

/** Checks that `every` can be decided: each case has enough trials, independent ones, to reach the floor. */
export function everyFault(
  gate: CompletePolicy | undefined,
  { cells, graphs, repetitions }: {
    readonly cells: readonly Cell[];
    readonly graphs: number;
    readonly repetitions: number;
  },
): PlanFault | undefined {
  if (gate?.every === undefined) return undefined;
  const { every, confidence } = gate;
  const other = cells.find((cell) => !isCase(cell));
  if (other !== undefined) {
    return [
      "gate.every needs cases of your own tests",
      `there is ${canonicalJson(other)}; leave out every, or bound the rate of all by successRate`,
    ];
  }
  if (repetitions > 1) {
    return [
      "gate.every needs independent trials: graphs sets their number",
      `repetitions is ${repetitions}`,
    ];
  }
  const needed = fewestClean(every, confidence);
  if (graphs >= needed) return undefined;
  return [
    `gate.every ${every} takes at least ${needed} trials of each case, all of them solved, to be proved ` +
    `with ${percent(confidence)} confidence`,
    `there are ${graphs}`,
  ];
}

/** Removing perturbations make abstaining right, so that no success gate can apply. */
function solvableFault(perturbations: readonly string[]): PlanFault | undefined {
  const removing = perturbations.find(isRemoving);
  if (removing === undefined) return undefined;
  return [
    `a gate asks for tasks to be solved, and under ${removing} none can be`,
    "leave out the gate or the perturbation",
  ];
}

/** Checks that there is what a ceiling is about: without it, it would always be kept, or could not be checked. */
function needsFault(
  { path, needs = {} }: LimitedCeiling,
  perturbations: readonly string[],
  strategies: readonly (string | StrategyEntry)[],
): PlanFault | undefined {
  const { words, perturbation: isOf, beside, strategy } = needs;
  const lacksPerturbation = isOf !== undefined && !perturbations.some(isOf) ||
    beside !== undefined && !perturbations.includes(beside);
  const lacksStrategy = strategy !== undefined &&
    !strategies.some((entry) => strategiesIn(strategyId(entry)).includes(strategy));
  if (!lacksPerturbation && !lacksStrategy) return undefined;
  return [
    `gate.atMost.${path} ${words}`,
    lacksStrategy
      ? `the strategies are ${strategies.map(strategyName).join(", ")}`
      : `perturbations are ${perturbations.join(", ")}`,
  ];
}

/** Entries with different options under one name would look like one model. */
export function stageModelsFault(
  models: readonly ModelEntry[],
  strategies: readonly (string | StrategyEntry)[],
): PlanFault | undefined {
  const stages = strategies.flatMap((entry) => [...stageEntries(entry).values()]);
  const [one] = firstClash([...models, ...stages], modelName, canonicalJson) ?? [];
  return one && [
    "a name must stand for one model",
    `the options of ${modelName(one)} differ between models and the stages of strategies`,
  ];
}

/**
 * The baseline must be one of the run's variants, and not the only one: a gate that compares nothing would
 * pass.
 */
function baselineFault(
  { file, missing: _, ...choice }: BaselineChoice,
  planned: Readonly<Record<keyof typeof choice, readonly string[]>>,
): PlanFault | undefined {
  if (file !== undefined) return undefined;
  const chosen = Object.entries(choice) as [keyof typeof choice, string][];
  if (choice.variant !== undefined && planned.variant.length === 0) {
    return [
      "gate.baseline.variant must be one of its variants",
      `it is ${printable(choice.variant, 100)}, and there are no variants`,
    ];
  }
  const absent = chosen.find(([field, name]) => !planned[field].includes(name));
  if (absent !== undefined) {
    const [field, name] = absent;
    const names = field === "strategy" ? "strategies" : `${field}s`;
    return [
      `gate.baseline must be one of its ${names}, or a file, as { file: "baseline.json" }`,
      `it is ${name}, and the ${names} are ${planned[field].join(", ")}` +
      (planned.variant.includes(name)
        ? `; the variant is { variant: ${JSON.stringify(name)} }`
        : didYouMean(name, planned[field])),
    ];
  }
  if (chosen.some(([field]) => planned[field].length > 1)) return undefined;
  return [
    "gate.baseline must leave something to compare with it",
    "all trials are the baseline's",
  ];
}

export function distinctFault(field: string, names: readonly string[]): PlanFault | undefined {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate === undefined) return undefined;
  return [
    `${field} must have distinct names`,
    `${duplicate} is there twice${
      field === "perturbations" ? "" : "; an entry may have a name of its own"
    }`,
  ];
}
