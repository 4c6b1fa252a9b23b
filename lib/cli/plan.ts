/**
 * `plan`: shows how many trials a gate needs, and their cost.
 * @module
 */

import { estimateUsage, forecastCost, modelCosts } from "../runs/cost_forecast.ts";
import { forecast, planWarnings, sequentialChances } from "../runs/forecast.ts";
import { readJsonc } from "../base/input.ts";
import { cannot, reasonOf } from "../base/errors.ts";
import { defined, printable, printableJson } from "../base/json.ts";
import { meanUsage, type Usage } from "../tools/message.ts";
import { MAX_PLANNED, pricesFor } from "../runs/plan.ts";
import { readPolicy } from "../gate/policy.ts";
import { costOf, PRICES } from "../models/prices.ts";
import { readResults, type Results } from "../runs/journal/results.ts";
import { sequentialRule } from "../gate/sequential.ts";
import { pairedDetectableEffect, pairedSampleSize } from "../statistics/paired_sample_size.ts";
import {
  rateDetectableEffect,
  rateSampleSize,
  unpairedDetectableEffect,
  unpairedSampleSize,
} from "../statistics/sample_size.ts";
import { GRAPHS, unitNames } from "../gate/unit_names.ts";
import { countGraphs } from "../gate/variant.ts";
import { type CaseNeeds, caseNeeds } from "../runs/case_forecast.ts";
import { countText, dollars, percent, points } from "../base/numbers.ts";
import { Arguments, userPath } from "./arguments.ts";
import { journalsAt } from "./journals.ts";
import { fileRequest, readSuite } from "./running.ts";
import { planWithSets } from "../runs/session.ts";

export const PLAN_HELP =
  `For a suite file it shows what its gate can decide; --model M takes the place of its models, and may be
given several times. Without a file it shows the graphs that gates need:

  --rate R           the success rate required, or that of both models (default 0.8)
  --margin M         how far below it is still good enough (default 0.05)
  --power P          how often a model that is just good enough should pass (default 0.95)
  --confidence C     confidence of each bound (default 0.95)
  --discordance D    share of graphs that only one of two models solves (default 0.2)
  --graphs N         shows the minimum detectable effect of this number of graphs instead
  --block N          graphs between two looks of a sequential gate: its cells (default 1)
  --cases N          shows the trials of each of this number of cases of own tests as well
  --every E          the success rate that each of these cases must reach

Cost, for one model and one trial a graph:

  --prices F.jsonc   prices of models: { "MODEL": { "input": 1.25, "output": 10 } } in dollars a
                     million tokens
  --results F.jsonl  past trials, to use their tokens; without them, a suite's tokens are estimated
  --json             prints numbers as JSON

Exit code 0.`;

/** The options that say what a gate without a suite file is. */
const DESIGN = [
  "rate",
  "margin",
  "power",
  "confidence",
  "discordance",
  "graphs",
  "block",
  "cases",
  "every",
];

/** Prints the plan to stdout. */
export function plan(arguments_: readonly string[]): number {
  const options = new Arguments("plan", arguments_, {
    values: [...DESIGN, "prices", "results"],
    lists: ["model"],
    switches: ["json"],
  });
  const [file, ...rest] = options.operands;
  if (rest.length > 0) {
    throw options.error(`it takes one suite file at most: ${options.operands.length} are given`);
  }
  const { numbers, lines } = planOutput(file, options);
  console.log(options.has("json") ? printableJson(numbers, 2) : lines.join("\n"));
  return 0;
}

interface PlanOutput {
  readonly numbers: object;
  readonly lines: readonly string[];
}

function planOutput(file: string | undefined, options: Arguments): PlanOutput {
  try {
    return file === undefined ? outputOfNumbers(options) : outputOfSuite(file, options);
  } catch (error) {
    // A gate that cannot be planned, such as one that needs millions of trials, is bad input.
    if (error instanceof RangeError) throw options.error(reasonOf(error));
    throw error;
  }
}

function outputOfSuite(file: string, options: Arguments): PlanOutput {
  const conflicting = DESIGN.find((name) => options.text(name) !== undefined);
  if (conflicting !== undefined) {
    throw options.error(
      `the suite file says what its gate is: --${conflicting} goes without a file`,
    );
  }
  const path = userPath(file);
  const table = options.text("prices");
  const suite = readSuite(path, options.list("model"));
  const prices = table === undefined ? suite.prices : readJsonc(userPath(table), PRICES);
  const plan = planWithSets({ ...suite, ...defined({ prices }) }, fileRequest(path));
  const usages = pastResults(options)?.usages;
  const usage = usages === undefined ? estimateUsage(plan) : meanUsage([...usages.values()]);
  const gateForecast = forecast(plan);
  const { models, cells, repetitions, references } = plan.resolved;
  const cost = forecastCost(plan, usage, gateForecast);
  const warnings = planWarnings(plan, gateForecast);
  const cores = plan.resolved.pair === undefined ? {} : { cores: countGraphs(plan.trials) };
  const unit = plan.resolved.pair === undefined
    ? unitNames(plan.trials.map(({ task }) => task))
    : GRAPHS;
  return {
    numbers: {
      suite: suite.name,
      trials: plan.trials.length,
      graphs: cells.length * plan.resolved.graphs,
      ...cores,
      gate: plan.gate ?? null,
      rule: plan.rule ?? null,
      detectable: gateForecast?.detectable ?? null,
      warnings,
      usagePerTrial: usage,
      cost: plan.prices === undefined ? null : Object.fromEntries(
        modelCosts(plan, usage).map(({ model, usd }) => [model, usd]),
      ),
    },
    lines: [
      `${printable(suite.name)}: at most ${plan.trials.length} trials (cells ${cells.length}, ` +
      `${unit.many} of each ${plan.resolved.graphs}` +
      (cores.cores === undefined ? "" : `, core graphs ${cores.cores}`) +
      `, models ${models.length}, repetitions ${repetitions}` +
      `${references ? ", nested references" : ""})`,
      ...(gateForecast?.lines ?? ["the suite has no gate"]),
      ...warnings.map((warning) => `warning: ${warning}`),
      `a trial takes about ${usage.inputTokens} tokens read and ${usage.outputTokens} written ` +
      (usages === undefined ? "(estimated from the tasks)" : "(as the results show)"),
      ...cost,
    ],
  };
}

function outputOfNumbers(options: Arguments): PlanOutput {
  if (options.list("model").length > 0) {
    throw options.error("--model takes the place of a suite's models: it goes with a suite file");
  }
  const rate = options.number("rate") ?? 0.8;
  const discordance = options.number("discordance") ?? 0.2;
  const design = {
    margin: options.number("margin") ?? 0.05,
    confidence: options.number("confidence") ?? 0.95,
    power: options.number("power") ?? 0.95,
  };
  const source = "the plan with the options given";
  const policy = readPolicy({ ...design, successRate: rate, sequential: true }, source);
  const paired = readPolicy({ ...design, baseline: "it", discordance, sequential: true }, source);
  const graphs = options.integer("graphs", 1);
  const cases = options.integer("cases", 1);
  const every = options.number("every");
  if (every !== undefined) readPolicy({ ...design, successRate: rate, every }, source);
  if (cases === undefined && every !== undefined) {
    throw options.error("--every goes with --cases, the number of cases");
  }
  if (graphs !== undefined) {
    if (cases !== undefined) throw options.error("--graphs goes without --cases");
    return outputOfEffects(graphs, rate, discordance, design);
  }
  const block = options.integer("block", 1) ?? cases ?? 1;
  const largest = Math.max(block, cases ?? 1);
  if (largest > MAX_PLANNED) {
    throw options.error(`--cases and --block must be at most ${MAX_PLANNED}: ${largest} is given`);
  }
  const { margin } = design;
  const sequential = [policy, paired].map((gate) => {
    const rule = sequentialRule(gate, block);
    const { good, bad } = sequentialChances(gate, rule);
    return { fixedSize: rule.fixedSize, largestSize: rule.largestSize, good, bad };
  }) as [Sequential, Sequential];
  const sizes = {
    absolute: rateSampleSize(rate, margin, design),
    // Where all trials are solved there is no variance to plan with.
    unpaired: rate < 1 ? unpairedSampleSize(rate, margin, design) : null,
    paired: pairedSampleSize(margin, discordance, design),
  };
  const [absolute, upgrade] = sequential;
  const costs = costsOf(options, [
    ["absolute gate, fixed size", sizes.absolute],
    ["absolute gate, sequential", absolute.good.units],
    ["upgrade gate, fixed size", sizes.paired],
    ["upgrade gate, sequential", upgrade.good.units],
  ]);
  const ofCases = cases === undefined ? undefined : {
    cases,
    absolute: Math.ceil(sizes.absolute / cases),
    paired: Math.ceil(sizes.paired / cases),
    ...caseNeeds(cases, design, every),
  };
  return {
    numbers: {
      ...{ rate, discordance, ...design, sizes, sequential: { absolute, upgrade } },
      ...defined({ cases: ofCases }),
    },
    lines: [
      `A success rate of ${percent(rate)} or a drop from it by ${points(margin)}, with errors of ` +
      `${percent(1 - design.confidence)} (passing) and ${percent(1 - design.power)} (failing):`,
      `  absolute gate, fixed size            ${sizes.absolute} graphs`,
      `  absolute gate, sequential            ${expectation(absolute)}`,
      `  two models, on different graphs      ` +
      (sizes.unpaired === null ? "not available at this rate" : `${sizes.unpaired} graphs of each`),
      `  upgrade gate, fixed size             ${sizes.paired} graphs, run by both models, if ` +
      `${percent(discordance)} of them are solved by only one`,
      `  upgrade gate, sequential             ${expectation(upgrade)}`,
      ...(ofCases === undefined ? [] : linesOfCases(ofCases, design, every)),
      ...costs,
    ],
  };
}

/** The trials of each case that gates take. */
function linesOfCases(
  { cases, absolute, paired, changed, clean, good, rate }: CaseNeeds & {
    readonly cases: number;
    readonly absolute: number;
    readonly paired: number;
  },
  { power }: { readonly power: number },
  every: number | undefined,
): string[] {
  return [
    `Of own tests, with ${countText(cases, "case")}, trials of each:`,
    `  absolute gate, fixed size            ${absolute}`,
    `  upgrade gate, fixed size             ${paired}`,
    `  to prove a complete change of one    ${changed}`,
    ...(every === undefined ? [] : [
      `  every case at ${percent(every)}                  ${clean} if all are solved; ` +
      `${good ?? "more than 2000"} for cases at ${percent(rate!)} to pass with ${percent(power)}`,
    ]),
  ];
}

type Sequential =
  & { readonly fixedSize: number; readonly largestSize: number }
  & ReturnType<typeof sequentialChances>;

function expectation({ largestSize, good, bad }: Sequential): string {
  return `about ${Math.round(good.units)} graphs if it is as good as required, ` +
    `${Math.round(bad.units)} if it is worse by the margin; ${largestSize} at most, ` +
    `${percent((good.undecided + bad.undecided) / 2)} undecided there (simulated)`;
}

function outputOfEffects(
  graphs: number,
  rate: number,
  discordance: number,
  options: { confidence: number; power: number },
): PlanOutput {
  const numbers = {
    graphs,
    absolute: rateDetectableEffect(graphs, rate, options),
    unpaired: rate < 1 ? unpairedDetectableEffect(graphs, rate, options) : null,
    paired: pairedDetectableEffect(graphs, discordance, options),
  };
  const show = (effect: number | null) => effect === null ? "none" : points(effect);
  return {
    numbers,
    lines: [
      `The smallest margin that ${graphs} graphs decide, with errors of ` +
      `${percent(1 - options.confidence)} (passing) and ${percent(1 - options.power)} (failing):`,
      `  absolute gate at ${percent(rate)}             ${show(numbers.absolute)}`,
      `  two models, on different graphs     ${show(numbers.unpaired)}`,
      `  upgrade gate, on the same graphs    ${show(numbers.paired)}`,
    ],
  };
}

/** Returns the cost of gates, by the tokens of past trials. */
function costsOf(options: Arguments, gates: readonly (readonly [string, number])[]): string[] {
  const table = options.text("prices");
  if (table === undefined) return [];
  const declared = readJsonc(userPath(table), PRICES);
  const past = pastResults(options);
  if (past === undefined) {
    throw options.error("--prices needs --results or a suite, to know the tokens of a trial");
  }
  const { usages, plan } = past;
  const prices = plan === undefined ? declared : pricesFor(declared, plan.resolved);
  return [...usages].flatMap(([model, usage]) => {
    const cost = costOf(usage, model, prices);
    return gates.map(([gate, count]) =>
      `  ${printable(model)}, ${gate}: about ${dollars(count * cost)}`
    );
  });
}

/** The tokens of past trials, and their plan. */
interface PastResults extends Pick<Results, "plan"> {
  /** Mean tokens of a valid trial by model. */
  readonly usages: ReadonlyMap<string, Usage>;
}

/** Reads the trials of `--results`; `undefined` without it. */
function pastResults(options: Arguments): PastResults | undefined {
  const file = options.text("results");
  if (file === undefined) return undefined;
  const { trials, plan } = readResults(journalsAt(file, options).map(userPath));
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  if (valid.length === 0) {
    throw cannot(`take tokens from ${file}`, "it must have valid trials", "it has none");
  }
  const byModel = Map.groupBy(valid, ({ model }) => model.requested);
  const usages = new Map(
    [...byModel].map(([model, own]) => [model, meanUsage(own.map(({ usage }) => usage))]),
  );
  return { usages, plan };
}
