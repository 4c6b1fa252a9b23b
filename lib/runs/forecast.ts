/**
 * Forecasts: what a plan's gate can detect, and what speaks against the plan, before anything is spent.
 * @module
 */

import { DIFFERENCES, type Pair, RATES, type Unit } from "../gate/evidence.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { countText, percent, points } from "../base/numbers.ts";
import { conclude, mostFailed, trialsToProve } from "../gate/decide.ts";
import { countGraphs } from "../gate/variant.ts";
import { isRemoving } from "../perturbations/ids.ts";
import type { Obstacle } from "../perturbations/methods.ts";
import type { Plan } from "./plan.ts";
import { subjectsOf, unitsPerBlock } from "./resolved_suite.ts";
import type { Cell } from "./suite.ts";
import {
  type CompletePolicy,
  type CompleteRatePolicy,
  type CompleteUpgradePolicy,
  decidesByCases,
  hypothesesOf,
  isUpgrade,
} from "../gate/policy.ts";
import { fork } from "../base/random.ts";
import {
  drawDifference,
  drawOutcome,
  type SequentialChances,
  type SequentialRule,
  simulateGates,
} from "../gate/sequential.ts";
import {
  pairedDetectableEffect,
  pairedGatePower,
  pairedSampleSize,
  rateDetectableEffect,
  rateGateChances,
  rateSampleSize,
} from "../statistics/sample_size.ts";
import { type ModelEntry, modelName } from "../models/entry.ts";
import { SIMULATED_MODELS } from "../models/simulated_name.ts";
import { changesTask, obstacleOf } from "../trials/executors/tasks.ts";
import { FORCED_PROBES, isCase, isGenerated, isQuestion } from "../tasks/task_kind.ts";
import { type UnitNames, unitNames } from "../gate/unit_names.ts";
import { binomialLowerTail } from "../statistics/distributions.ts";

/** The forecast of a gate. */
export interface Forecast {
  /** Graphs of each model. */
  readonly graphs: number;
  /**
   * The minimum detectable effect: the smallest margin that this number of graphs decides within both error
   * rates of the policy, as a share; `null` if there is none.
   */
  readonly detectable: number | null;
  /** The expected share of graphs that are run; below 1 if a gate stops early. */
  readonly expectedShare?: number;
  /** The lines to print. */
  readonly lines: readonly string[];
  /** Warnings; empty if the gate can decide. */
  readonly warnings: readonly string[];
}

/** Tolerance of power, which varies slightly from one size to the next as counts are whole numbers. */
const POWER_TOLERANCE = 0.01;

/** Simulated gates per expectation, for an accuracy of about two percent; and of gates that take many units. */
const SIMULATED_GATES = 1_000;
const FEW_SIMULATED_GATES = 50;
/** Units to simulate per expectation, about: half a second. More would keep a command or a test file silent. */
const SIMULATED_UNITS = 2_000_000;

/** Returns the forecast of a plan's gate; `undefined` if it has none. */
export function forecast(plan: Plan): Forecast | undefined {
  const { gate, rule, resolved } = plan;
  if (gate === undefined) return undefined;
  const unit = unitNames(plan.trials.map(({ task }) => task));
  const graphs = countGraphs(plan.trials);
  const cases = resolved.cells.filter(isCase);
  if (rule !== undefined) return sequentialForecast(gate, rule, unit, cases.length > 0);
  const subjects = subjectsOf(resolved).length;
  const size: Size = {
    graphs,
    unit,
    cells: unitsPerBlock(resolved),
    groups: cases.length > 0 ? "cases" : "cells",
    // A question may be asked in several ways, and a core graph be in several cells: each adds a trial to the
    // same unit.
    repetitions: Math.max(1, Math.round(plan.trials.length / (subjects * graphs))),
    parts: resolved.pair === undefined ? "repetitions" : "cells",
  };
  const whole = isUpgrade(gate) ? upgradeForecast(gate, size) : rateForecast(gate, size);
  if (cases.length === 0) return whole;
  const own = { cases: cases.length, trials: resolved.graphs };
  // Where the cases decide alone, their mean has nothing to detect.
  const { lines, warnings } = decidesByCases(gate) ? NOTHING : whole;
  const every = gate.every === undefined ? NOTHING : everyForecast(gate, gate.every, own);
  // A single case is what the gate decides on.
  const changed = isUpgrade(gate) && cases.length > 1 ? [changedLine(gate, own)] : [];
  return {
    ...whole,
    lines: [...lines, ...every.lines, ...changed],
    warnings: [...warnings, ...every.warnings],
  };
}

const NOTHING = { lines: [], warnings: [] };

interface Size {
  readonly graphs: number;
  readonly unit: UnitNames;
  readonly cells: number;
  /** What cells are called. */
  readonly groups: "cells" | "cases";
  /** Trials of each unit, and what they are. */
  readonly repetitions: number;
  readonly parts: "repetitions" | "cells";
}

function rateForecast(policy: CompleteRatePolicy, size: Size): Forecast {
  const { successRate, margin, confidence } = policy;
  const { graphs, repetitions, parts, unit } = size;
  const detectable = rateDetectableEffect(graphs, successRate, policy);
  const line = `${graphs} ${unit.ofModel} tell a success rate of ${percent(successRate)} from ` +
    (detectable === null ? "no lower one" : `one that is ${points(detectable)} lower`) +
    // Repetitions may all be alike, and then count as one.
    (repetitions > 1 ? `, at least if their ${parts} differ` : "");
  const best = new Array<Unit>(graphs).fill(solvedUnit(repetitions));
  const { kind } = conclude(best, RATES, policy, { advise: false });
  const vain = kind === "pass" ? undefined : `all ${graphs} ${unit.many} were solved`;
  return fixedForecast(policy, size, { detectable, line, vain }, () => {
    const rates = { rate: successRate, margin, confidence };
    const { pass, fail, undecided } = rateGateChances(graphs, successRate, rates);
    const model = `a model at exactly ${percent(successRate)} would pass with ${percent(pass)}`;
    const words = `${model}, fail with ${percent(fail)} and be undecided with ${
      percent(undecided)
    }`;
    return { power: pass, words };
  });
}

function upgradeForecast(policy: CompleteUpgradePolicy, size: Size): Forecast {
  const { margin, discordance, confidence } = policy;
  const { graphs, repetitions, unit } = size;
  const detectable = pairedDetectableEffect(graphs, discordance, policy);
  const line = `${graphs} ${unit.whole} ` +
    (detectable === null
      ? "are too few to tell two models that are alike from any drop"
      : `tell two models that are alike from a drop of ${points(detectable)}`) +
    `, where one in ${
      Number((1 / discordance).toFixed(1))
    } ${unit.many} is solved by only one of them`;
  const solved = solvedUnit(repetitions);
  const tied = new Array<Pair>(graphs).fill({ candidate: solved, baseline: solved });
  const { kind } = conclude(tied, DIFFERENCES, policy, { advise: false });
  const vain = kind === "pass" ? undefined : `both solved all ${graphs} ${unit.many}`;
  return fixedForecast(policy, size, { detectable, line, vain }, () => {
    const power = margin === 0 ? 0 : pairedGatePower(graphs, margin, discordance, 0, confidence);
    return { power, words: `a model as good as the baseline would pass with ${percent(power)}` };
  });
}

/** The forecast of a gate of fixed size; `vain` says what would not make it pass, though nothing could be better. */
function fixedForecast(
  policy: CompletePolicy,
  size: Size,
  { detectable, line, vain }: Pick<Forecast, "detectable"> & {
    readonly line: string;
    readonly vain: string | undefined;
  },
  chanceOfGood: () => { readonly power: number; readonly words: string },
): Forecast {
  const known = { graphs: size.graphs, detectable, lines: [line] };
  const warnOf = (why: string) => ({ ...known, warnings: [`${why}. ${advice(policy, size)}`] });
  if (vain !== undefined) return warnOf(`the gate cannot pass: not even if ${vain}`);
  const { power, words } = chanceOfGood();
  return power >= policy.power - POWER_TOLERANCE || size.repetitions > 1
    ? { ...known, warnings: [] }
    : warnOf(`the gate is too small for its margin of ${points(policy.margin)}: ${words}`);
}

function solvedUnit(repetitions: number): Unit {
  return { solved: repetitions, valid: repetitions, trials: repetitions };
}

/** How many graphs are needed, or what else would help. */
function advice(
  policy: CompletePolicy,
  { cells, groups, unit: { many, option } }: Size,
): string {
  if (policy.margin === 0) return `With margin 0 no number of ${many} is certain to be enough`;
  let needed: number;
  try {
    needed = isUpgrade(policy)
      ? pairedSampleSize(policy.margin, policy.discordance, policy)
      : rateSampleSize(policy.successRate, policy.margin, policy);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return `No number of ${many} that can be planned is certain to be enough: choose another margin`;
  }
  // A call set has a fixed number of questions, too few for a gate that plans its own size.
  if (option === null) return `It takes ${needed} ${many}, or a larger margin`;
  const each = Math.ceil(needed / cells);
  return `It takes ${option}: ${each}` +
    (cells === 1 ? "" : ` (${needed} over ${cells} ${groups})`) +
    ", or a larger margin" +
    (policy.every === undefined ? ", or sequential: true, which plans the size itself" : "");
}

function sequentialForecast(
  policy: CompletePolicy,
  rule: SequentialRule,
  { ofModel }: UnitNames,
  ofCases: boolean,
): Forecast {
  const { good, bad } = sequentialChances(policy, rule);
  const { fixedSize, largestSize, blockSize } = rule;
  const each = ofCases && blockSize > 1 ? `, ${largestSize / blockSize} of each` : "";
  const [better, worse] = isUpgrade(policy)
    ? ["as good as the baseline", `${points(policy.margin)} below it`]
    : [policy.successRate, hypothesesOf(policy).pass].map((rate) => `at ${percent(rate)}`);
  return {
    graphs: largestSize,
    detectable: policy.margin,
    expectedShare: Math.max(good.units, bad.units) / largestSize,
    lines: [
      `a sequential gate, of at most ${largestSize} ${ofModel}${each}: about ` +
      `${Math.round(good.units)} if it is ${better}, ${Math.round(bad.units)} if it is ${worse}; ` +
      `a gate of fixed size takes ${fixedSize}`,
    ],
    warnings: [],
  };
}

/** Simulates how a sequential gate ends if either hypothesis just holds. */
export function sequentialChances(
  policy: CompletePolicy,
  rule: SequentialRule,
  gates = simulatedGates(rule),
): { good: SequentialChances; bad: SequentialChances } {
  const { pass, fail } = hypothesesOf(policy);
  const chances = (truth: number) => {
    const { prng } = fork("forecast", truth);
    return simulateGates(
      rule,
      policy,
      gates,
      () =>
        isUpgrade(policy)
          ? drawDifference(prng, policy.discordance, truth)
          : drawOutcome(prng, truth),
    );
  };
  return { good: chances(fail), bad: chances(pass) };
}

function simulatedGates({ fixedSize }: SequentialRule): number {
  const affordable = Math.round(SIMULATED_UNITS / fixedSize);
  return Math.min(SIMULATED_GATES, Math.max(FEW_SIMULATED_GATES, affordable));
}

/** Warnings about the gate's forecast, models' options and perturbations. */
export function planWarnings(plan: Plan, gateForecast = forecast(plan)): string[] {
  const { gate, resolved: { models, cells } } = plan;
  return [
    ...gateForecast?.warnings ?? [],
    ...models.flatMap((entry) => {
      const { toolChoice = "auto" } = entry;
      if (toolChoice === "auto" || cells.every((cell) => "case" in cell)) return [];
      const why = toolChoice === "none" ? "may call nothing" : "must call in every reply";
      return [
        `no task can be solved by ${printable(modelName(entry), 200)}, which ${why}: toolChoice`,
      ];
    }),
    ...gate === undefined ? [] : forcedWarnings(cells),
    ...simulatedWarnings(models, cells),
    ...perturbationWarnings(plan),
  ];
}

/** Warns of probes that no model solves where its calls are forced, so that a gate fails. */
function forcedWarnings(cells: readonly Cell[]): string[] {
  const forced = FORCED_PROBES.filter((probe) =>
    cells.some((cell) => "case" in cell && cell.case === probe)
  );
  return forced.map((probe) =>
    `a gate asks for tasks to be solved, and ${probe} cannot be where calls are really forced`
  );
}

/** Warns of simulated models that can only fail, as they do not know such tasks. */
function simulatedWarnings(models: readonly ModelEntry[], cells: readonly Cell[]): string[] {
  const ofSets = cells.some(isQuestion);
  // Of own tests some are chains, whose answers sim:truth knows.
  if (cells.every(isCase)) return [];
  return models.flatMap(({ model }) => {
    const [base] = model.split("?", 1);
    if (!SIMULATED_MODELS.includes(base!) || ofSets === (base === "sim:truth")) return [];
    return [
      `${printable(model, 200)} knows ` +
      (ofSets ? "no question sets: take sim:truth" : "question sets alone: take sim:planner"),
    ];
  });
}

/** Warns of perturbations that change nothing, or leave no answer, judged by one task of each cell. */
function perturbationWarnings({ trials, resolved, open }: Plan): string[] {
  const { cells, perturbations } = resolved;
  const incomparable = perturbations.includes("none") ? [] : [
    "nothing to compare with: add none to the perturbations, so that reports show what each changes",
  ];
  const ineffective = perturbations.flatMap((perturbation) => {
    if (perturbation === "none") return [];
    const first = trials.filter((trial) =>
      trial.block === 0 && trial.perturbation === perturbation
    );
    const tasks = new Map(first.map(({ task }) => [canonicalJson(task), task]));
    const unchanged = [...tasks.values()]
      .filter((task) => !changesTask(task, perturbation, open)).length;
    const obstacles = [...tasks.values()].map((task) => obstacleOf(task, perturbation, open));
    const count = (which: Obstacle) => obstacles.filter((one) => one === which).length;
    const [unlinked, misleading] = [count("unlinked"), count("misleading")];
    const plain = cells.some((cell) => isGenerated(cell) && !("surface" in cell));
    const rates = "such trials are left out of";
    const looked = (some: number) =>
      `in ${tasks.size === 1 ? "" : `${some} of `}the ${
        countText(tasks.size, "task")
      } looked at (one of each cell): ${rates}`;
    const cues = 'rates of success; with "cues": "names" they can be solved';
    return [
      unchanged === 0
        ? []
        : `${perturbation} finds nothing to change ${looked(unchanged)} all rates` +
          (plain ? '; with "surface": "rich" there is more to change' : ""),
      unlinked === 0
        ? []
        : `under ${perturbation} nothing leads to the answer ${looked(unlinked)} ${cues}`,
      misleading === 0
        ? []
        : `under ${perturbation} documents mislead ${looked(misleading)} ${cues}`,
      isRemoving(perturbation)
        ? `under ${perturbation} no task can be solved, and abstaining is right: ${rates} rates of success`
        : [],
    ].flat();
  });
  return [...incomparable, ...ineffective];
}

/** The size of a suite of cases. */
interface CaseSize {
  readonly cases: number;
  /** Trials of each case. */
  readonly trials: number;
}

/** Of the failures that `every` allows, those that a good case has: sizes are planned for such cases. */
const GOOD = 0.1;

/** Trials of a case that are looked at, at most. */
const MAX_TRIALS = 2_000;

/** How often cases that fail a tenth as often as `every` allows all pass. */
function passingChance(floor: number, confidence: number, { cases, trials }: CaseSize): number {
  const allowed = mostFailed(trials, floor, confidence);
  return binomialLowerTail(allowed, trials, GOOD * (1 - floor)) ** cases;
}

function everyForecast(policy: CompletePolicy, floor: number, { cases, trials }: CaseSize) {
  const { confidence, power } = policy;
  const chanceOf = (size: number) => passingChance(floor, confidence, { cases, trials: size });
  const chance = chanceOf(trials);
  const good = percent(1 - GOOD * (1 - floor));
  const [each, all] = cases === 1
    ? ["the case", `a case at ${good}`]
    : [`each of ${cases} cases`, `${cases} cases at ${good}`];
  const would = `${all} would pass with ${percent(chance)}`;
  const allowed = mostFailed(trials, floor, confidence);
  const failed = allowed === 0
    ? `none of its ${countText(trials, "trial")} fails`
    : `at most ${allowed} of its ${countText(trials, "trial")} ${allowed === 1 ? "fails" : "fail"}`;
  const line = `${each} is proved to reach ${percent(floor)} if ${failed}: ${would}`;
  if (chance >= power) return { lines: [line], warnings: [] };
  let needed = trials + 1;
  while (needed <= MAX_TRIALS && chanceOf(needed) < power) needed++;
  const advice = needed > MAX_TRIALS ? "Take a lower one" : `It takes trials: ${needed}`;
  return {
    lines: [line],
    warnings: [`the gate is too small for every: ${would}, else be undecided. ${advice}`],
  };
}

function changedLine({ confidence }: CompletePolicy, { cases, trials }: CaseSize): string {
  const needed = trialsToProve(cases, confidence);
  return `a complete change of one of ${cases} cases can be proved with ${needed} trials of each` +
    (trials < needed ? `: there are ${trials}, so that none can be` : " or more");
}
