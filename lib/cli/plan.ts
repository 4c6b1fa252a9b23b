/**
 * `plan`: shows how many trials a gate needs, and their cost.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { cannot, reasonOf } from "../base/errors.ts";
import { printable, printableJson } from "../base/json.ts";
import { percent, points } from "../base/numbers.ts";
import { readPolicy, USUAL_MARGIN } from "../gate/policy.ts";
import { sequentialRule } from "../gate/sequential.ts";
import { GRAPHS, unitNames } from "../gate/unit_names.ts";
import { countGraphs } from "../gate/variant.ts";
import { forecast, planWarnings, sequentialChances } from "../runs/forecast.ts";
import { estimateUsage, forecastCost, modelCosts } from "../runs/cost_forecast.ts";
import { readResults } from "../runs/journal/results.ts";
import { type FlagValues, number, wholeFrom } from "../runs/flags.ts";
import { flagsAt, type FlagsOf } from "../runs/options.ts";
import { MAX_PLANNED } from "../runs/plan.ts";
import { planWithSets } from "../runs/session.ts";
import { pairedSampleSize, rateSampleSize, unpairedSampleSize } from "../statistics/sample_size.ts";
import { meanUsage } from "../tools/message.ts";
import { command } from "./command.ts";
import { journalsOf, PRICES_OPTION } from "./journals.ts";
import { fileRequest, readSuite, withOthers, withUserPaths } from "./running.ts";

/** The options that say what a gate without a suite file is. */
const DESIGN = {
  rate: { value: "R", read: number, help: "required rate, or that of both models; default 0.8" },
  margin: {
    value: "M",
    read: number,
    help: `how far below it is still good enough; default ${USUAL_MARGIN}`,
  },
  power: { value: "P", read: number, help: "how often a good model should pass; default 0.95" },
  confidence: { value: "C", read: number, help: "confidence of each bound; default 0.95" },
  discordance: { value: "D", read: number, help: "share that one model alone solves; default 0.2" },
  block: {
    value: "N",
    read: wholeFrom(1, MAX_PLANNED),
    help: "graphs between looks of a sequential gate; default 1",
  },
} as const;

/** The options that go with a suite file. */
const OF_SUITE = {
  prices: PRICES_OPTION,
  results: { value: "F.jsonl", help: "past trials of the suite, whose tokens are used" },
} as const;

/** Those of them that change the suite. */
const CHANGES = flagsAt("plan");
const FOR_SUITES = [...CHANGES.map(({ name }) => name), ...Object.keys(OF_SUITE)];

/** Prints the plan to stdout. */
export const plan = command({
  usage: "[SUITE.jsonc] [OPTIONS]",
  takes: ["one suite file", 0, 1],
  about:
    `For a suite file it shows what its gate can decide, and what it costs. Without a file it shows the graphs
that gates need.`,
  options: {
    ...DESIGN,
    ...OF_SUITE,
    json: { help: "prints numbers as JSON" },
  },
  flags: CHANGES,
  needs: ["read"],
  rules: [
    [Object.keys(DESIGN), "goes without", ["a file"], "the suite file says what its gate is"],
    [FOR_SUITES, "goes with", ["a file"], "a suite"],
  ],
  run(given, { operands: [file], error }) {
    try {
      const { numbers, lines } = file === undefined
        ? outputOfNumbers(given)
        : outputOfSuite(userPath(file), given);
      console.log(given.json ? printableJson(numbers, 2) : lines.join("\n"));
      return 0;
    } catch (fault) {
      // A gate that cannot be planned, such as one that needs millions of trials, is bad input.
      throw fault instanceof RangeError ? error(reasonOf(fault)) : fault;
    }
  },
});

interface PlanOutput {
  readonly numbers: object;
  readonly lines: readonly string[];
}

function outputOfSuite(
  path: string,
  { prices: table, results: past, pair: given, ...others }:
    & FlagValues<typeof OF_SUITE>
    & FlagsOf<"plan">,
): PlanOutput {
  const flags = withUserPaths(others);
  const request = fileRequest(path, undefined, flags.sets);
  const suite = withOthers(readSuite(path, flags.models), flags, request);
  const prices = table ?? suite.prices;
  const plan = planWithSets({ ...suite, prices, pair: given ?? suite.pair }, request);
  const usage = past === undefined ? estimateUsage(plan) : usageOf(past);
  const gateForecast = forecast(plan);
  const { models, cells, graphs, repetitions, references, pair } = plan.resolved;
  const warnings = planWarnings(plan, gateForecast);
  const cores = pair === undefined ? undefined : countGraphs(plan.trials);
  const unit = pair === undefined ? unitNames(plan.trials.map(({ task }) => task)) : GRAPHS;
  return {
    numbers: {
      suite: suite.name,
      trials: plan.trials.length,
      graphs: cells.length * graphs,
      cores,
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
      `${unit.many} of each ${graphs}${cores === undefined ? "" : `, core graphs ${cores}`}, ` +
      `models ${models.length}, repetitions ${repetitions}${
        references ? ", nested references" : ""
      })`,
      ...(gateForecast?.lines ?? ["the suite has no gate"]),
      ...warnings.map((warning) => `warning: ${warning}`),
      `a trial takes about ${usage.inputTokens} tokens read and ${usage.outputTokens} written ` +
      (past === undefined ? "(estimated from the tasks)" : "(as the results show)"),
      ...forecastCost(plan, usage, gateForecast),
    ],
  };
}

/** Returns the mean tokens of past trials, each model weighing the same. */
function usageOf(file: string) {
  const { trials } = readResults(journalsOf([file]).map(userPath));
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  if (valid.length === 0) {
    throw cannot(`take tokens from ${file}`, "it must have valid trials", "it has none");
  }
  const byModel = Map.groupBy(valid, ({ model }) => model.requested);
  return meanUsage([...byModel.values()].map((own) => meanUsage(own.map(({ usage }) => usage))));
}

type Design = FlagValues<typeof DESIGN>;

function outputOfNumbers(
  {
    rate = 0.8,
    margin = USUAL_MARGIN,
    power = 0.95,
    confidence = 0.95,
    discordance = 0.2,
    block = 1,
  }: Design,
): PlanOutput {
  const design = { margin, confidence, power };
  const source = "the plan with the options given";
  const [absolute, upgrade] = [{ successRate: rate }, { baseline: "it", discordance }].map(
    (kind) => {
      const gate = readPolicy({ ...design, ...kind, sequential: true }, source);
      const rule = sequentialRule(gate, block);
      const { good, bad } = sequentialChances(gate, rule);
      return { fixedSize: rule.fixedSize, largestSize: rule.largestSize, good, bad };
    },
  ) as [Sequential, Sequential];
  const sizes = {
    absolute: rateSampleSize(rate, margin, design),
    // Where all trials are solved there is no variance to plan with.
    unpaired: rate < 1 ? unpairedSampleSize(rate, margin, design) : null,
    paired: pairedSampleSize(margin, discordance, design),
  };
  return {
    numbers: {
      ...{ rate, discordance, ...design, sizes },
      sequential: { absolute, upgrade },
    },
    lines: [
      `A success rate of ${percent(rate)} or a drop from it by ${points(margin)}, with errors of ` +
      `${percent(1 - confidence)} (passing) and ${percent(1 - power)} (failing):`,
      `  absolute gate, fixed size            ${sizes.absolute} graphs`,
      `  absolute gate, sequential            ${expectation(absolute)}`,
      `  two models, on different graphs      ` +
      (sizes.unpaired === null ? "not available at this rate" : `${sizes.unpaired} graphs of each`),
      `  upgrade gate, fixed size             ${sizes.paired} graphs, run by both models, if ` +
      `${percent(discordance)} of them are solved by only one`,
      `  upgrade gate, sequential             ${expectation(upgrade)}`,
    ],
  };
}

type Sequential =
  & { readonly fixedSize: number; readonly largestSize: number }
  & ReturnType<typeof sequentialChances>;

function expectation({ largestSize, good, bad }: Sequential): string {
  return `about ${Math.round(good.units)} graphs if it is as good as required, ` +
    `${Math.round(bad.units)} if it is worse by the margin; ${largestSize} at most, ` +
    `${percent((good.undecided + bad.undecided) / 2)} undecided there (simulated)`;
}
