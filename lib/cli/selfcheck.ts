/**
 * `selfcheck`: how often the gate errs.
 * @module
 */

import { Connections } from "../models/connect.ts";
import {
  byGraph,
  byVariant,
  isCounted,
  type Variant,
  variantName,
  variantOf,
} from "../gate/variant.ts";
import { isRemoving } from "../perturbations/ids.ts";
import { parseWith, readJsonc } from "../base/input.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { exitCodeOf } from "../gate/decide_trials.ts";
import { GATE_POLICY, type GatePolicy, isUpgrade } from "../gate/policy.ts";
import { cellName } from "../reports/metrics/metrics.ts";
import { renderChecks } from "../reports/terminal.ts";
import { readResults } from "../runs/journal/results.ts";
import { Run } from "../runs/run.ts";
import { type Check, selfCheck } from "../gate/self_check.ts";
import { SUITE, type Suite } from "../runs/suite.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { unitNames } from "../gate/unit_names.ts";
import { percent } from "../base/numbers.ts";
import { Arguments, userPath } from "./arguments.ts";
import { Progress } from "./progress.ts";
import {
  connectOptions,
  finish,
  Interrupt,
  overridden,
  planSuiteFile,
  RUN_LISTS,
  RUN_VALUES,
  tellForecast,
} from "./running.ts";

export const SELFCHECK_HELP = `toolgate selfcheck SUITE.jsonc | F.jsonl...: how often the gate errs

Of a suite, each model is run twice as often on every graph as the suite says (A/A): two arms that are
equally good. Of journals, the trials are there. Either way thousands of gates are re-drawn from the
graphs, and the share that errs is held against the errors that the gate states. An upgrade gate needs
every graph to be run twice or more ("repetitions": 2).

  --gate rate|upgrade  which gate (default the suite's or the plan's, else upgrade)
  --margin M           its margin (default its own, else 0.05)
  --confidence C       its confidence (default its own, else 0.95)
  --sequential         it stops early
  --gates N            gates that are re-drawn for each truth (default 2000)
  --draw-seed N        seed of the draws (default 1)
  --json               prints the checks as JSON

Of a suite, also the options of run: --model, --api, --base-url, --strategy, --perturbation,
--reasoning-effort, --seed, --out, --concurrency, --max-tokens, --max-usd, --prices, --request-timeout,
--retries, --requests-per-minute, --tokens-per-minute.

Exit code 0 when no error is proved to be larger than stated, 1 when one is, 3 when trials are missing.`;

/** Prints the checks to stdout. */
export async function selfcheck(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("selfcheck", arguments_, {
    values: [...RUN_VALUES, "gate", "margin", "confidence", "gates", "draw-seed"],
    lists: RUN_LISTS,
    switches: ["sequential", "json"],
  });
  const [first] = options.operands;
  if (first === undefined) {
    throw options.error("it takes a suite file, or one journal or more: none is given");
  }
  const journals = options.operands.every((path) => path.endsWith(".jsonl"));
  if (!journals && options.operands.length > 1) {
    throw options.error(`it takes one suite file: ${options.operands.length} are given`);
  }
  // What is wrong with the options is told before a trial is paid for.
  policyOf(options, undefined);
  options.integer("gates", 1);
  options.integer("draw-seed");
  const { trials, gate } = journals
    ? trialsOfJournals(options)
    : await trialsOfSuite(first, options);
  if (trials === undefined) return exitCodeOf("invalid");
  const policy = policyOf(options, gate);
  const checked = byVariant(trials, variantOf).filter(isGated).map(({ subject, items }) => ({
    subject,
    simulated: items.some(({ model }) => model.simulated),
    checks: check(items, policy, options),
  }));
  if (options.has("json")) console.log(JSON.stringify(checked, null, 2));
  else {
    for (const { subject, simulated, checks } of checked) {
      const name = printable(variantName(subject)) + (simulated ? " (simulated)" : "");
      console.log(`${name}\n\n${renderChecks(checks)}\n`);
    }
  }
  const wrong = checked.some(({ checks }) => checks.some(isTooOften));
  if (!options.has("json")) {
    console.log(
      wrong
        ? "The gate errs more often than it states on trials like these: do not trust it."
        : "No error is proved to be larger than the gate states." + undecidedShare(checked),
    );
  }
  return exitCodeOf(wrong ? "fail" : "pass");
}

/** No gate is asked of what cannot be solved, nor of what a perturbation has not changed. */
function isGated(
  { subject, items }: { readonly subject: Variant; readonly items: readonly TrialSummary[] },
): boolean {
  const why = isRemoving(subject.perturbation)
    ? "under its perturbation nothing can be solved"
    : items.every(({ changed }) => changed === false)
    ? "its perturbation found nothing to change"
    : undefined;
  if (why !== undefined) console.error(`${printable(variantName(subject))} is left out: ${why}`);
  return why === undefined;
}

/** A gate that hardly ever decides errs seldom, and is of little use. */
function undecidedShare(checked: readonly { readonly checks: readonly Check[] }[]): string {
  const counts = checked.flatMap(({ checks }) => checks.map(({ gates }) => gates));
  const all = counts.reduce(
    (sum, { pass, fail, undecided, invalid }) => sum + pass + fail + undecided + invalid,
    0,
  );
  const share = counts.reduce((sum, { undecided }) => sum + undecided, 0) / all;
  return share < 0.2 ? "" : ` But ${percent(share)} were undecided: it has too few tasks.`;
}

/** Beyond three standard errors of the simulation itself. */
function isTooOften({ rate, allowed, gates }: Check): boolean {
  const count = Object.values(gates).reduce((sum, one) => sum + one, 0);
  return rate > allowed + 3 * Math.sqrt(allowed * (1 - allowed) / count);
}

function check(trials: readonly TrialSummary[], policy: GatePolicy, options: Arguments): Check[] {
  const valid = trials.filter(isCounted);
  const cells = [...Map.groupBy(valid, cellName).values()]
    .map((own) => byGraph(own).map((graph) => graph.map(({ solved }) => solved)));
  const gates = options.integer("gates", 1);
  const seed = options.integer("draw-seed");
  try {
    return selfCheck(cells, policy, {
      ...(gates === undefined ? {} : { gates }),
      ...(seed === undefined ? {} : { seed }),
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new InputError(reasonOf(error));
  }
}

interface Material {
  /** `undefined` if some are missing. */
  readonly trials: readonly TrialSummary[] | undefined;
  /** The gate of the suite or the plan. */
  readonly gate: GatePolicy | undefined;
}

function trialsOfJournals(options: Arguments): Material {
  const results = readResults(options.operands.map(userPath));
  for (const notice of results.notices) console.error(notice);
  const { problem, trials, gate, planned, rule, stopped } = results;
  const missing = rule === undefined && trials.length < planned.length
    ? stopped ?? `${planned.length - trials.length} of ${planned.length} trials were not run`
    : undefined;
  // Trials that stopped because of what they showed are no fair sample.
  const fault = problem ?? missing ??
    (rule === undefined ? undefined : "its run was stopped by a sequential gate");
  if (fault === undefined) return { trials, gate };
  console.error(`Cannot check the gate on these trials: ${printable(fault, 1000)}`);
  return { trials: undefined, gate };
}

async function trialsOfSuite(file: string, options: Arguments): Promise<Material> {
  const path = userPath(file);
  const suite = overridden(readJsonc(path, SUITE), options, path);
  const plan = planSuiteFile(twice(suite, path), path);
  console.error(
    `Each ${
      unitNames(plan.trials.map(({ task }) => task)).one
    } is run ${plan.resolved.repetitions} times: ${plan.trials.length} trials`,
  );
  if (suite.seed === "fresh") console.error(`Fresh seed ${plan.resolved.seed}`);
  tellForecast(plan);
  const progress = new Progress(plan);
  const limiters = new RateLimiters((line) => progress.note(line));
  await using connections = new Connections({
    ...connectOptions(options),
    sets: plan.callSets ?? [],
    limiters,
  });
  using interrupt = new Interrupt();
  const out = options.text("out");
  const concurrency = options.integer("concurrency", 1);
  using running = new Run(plan, {
    connect: (entry) => connections.model(entry),
    signal: interrupt.signal,
    onTrial: (trial, resumed) => progress.count(trial, resumed),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(out === undefined ? {} : { journal: userPath(out) }),
  });
  running.connect();
  running.open();
  const { finished } = await finish(running, progress, interrupt.signal);
  limiters.tellWaiting();
  if (finished.length === plan.trials.length) return { trials: finished, gate: suite.gate };
  console.error(
    `${plan.trials.length - finished.length} trials were not run` +
      (running.stopped === undefined ? "" : `: ${running.stopped}`),
  );
  return { trials: undefined, gate: suite.gate };
}

/** The suite without its gate, and with twice its trials of each graph. */
function twice(suite: Suite, path: string): Suite {
  const { gate, repetitions = 1, ...others } = suite;
  // A sequential gate plans its own size; here its trials are all run, as many as a fixed one needs.
  const graphs = gate?.sequential
    ? planSuiteFile(suite, path, { sharded: true }).resolved.graphs
    : suite.graphs;
  return {
    ...others,
    // Each of the two arms has as many trials of a graph as a model of the suite has.
    repetitions: 2 * repetitions,
    ...(graphs === undefined ? {} : { graphs }),
  };
}

function policyOf(options: Arguments, declared: GatePolicy | undefined): GatePolicy {
  const kind = options.text("gate") ??
    (declared !== undefined && !isUpgrade(declared) ? "rate" : "upgrade");
  if (kind !== "rate" && kind !== "upgrade") {
    throw options.error(`--gate must be rate or upgrade: it is ${kind}`);
  }
  const given = {
    margin: options.number("margin") ?? declared?.margin,
    confidence: options.number("confidence") ?? declared?.confidence,
    power: declared?.power,
    sequential: options.has("sequential") || (declared?.sequential ?? false),
    coverage: declared?.coverage,
    discordance: kind === "upgrade" && declared !== undefined && isUpgrade(declared)
      ? declared.discordance
      : undefined,
    // The re-drawn truth is moved to where the gate is tried; these only say which gate it is.
    ...(kind === "upgrade" ? { baseline: "itself" } : { successRate: 1 }),
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return parseWith(GATE_POLICY, set, "the gate with the options given");
}
