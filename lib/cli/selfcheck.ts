/**
 * `selfcheck`: checks how often the gate errs.
 * @module
 */

import { commandWidth } from "../base/terminal_width.ts";
import {
  byGraph,
  byVariant,
  isCounted,
  type Variant,
  variantName,
  variantOf,
} from "../gate/variant.ts";
import { isRemoving } from "../perturbations/ids.ts";
import { parseWith } from "../base/input.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { defined, printable, printableJson } from "../base/json.ts";
import { exitCodeOf } from "../gate/decide_trials.ts";
import { GATE_POLICY, type GatePolicy, isUpgrade } from "../gate/policy.ts";
import { cellName } from "../reports/metrics/metrics.ts";
import { renderChecks } from "../reports/terminal.ts";
import { readResults } from "../runs/journal/results.ts";
import { type Check, selfCheck } from "../gate/self_check.ts";
import type { Suite } from "../runs/suite.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { GRAPHS, unitNames } from "../gate/unit_names.ts";
import { percent, sum } from "../base/numbers.ts";
import { type Arguments, userPath } from "./arguments.ts";
import { isFolder, journalsGiven } from "./journals.ts";
import { Progress } from "./progress.ts";
import { finish, Interrupt, PRINTER, runArguments, runFlags, suiteRequest } from "./running.ts";
import { flagList } from "../runs/flags.ts";
import {
  planRun,
  planWithSets,
  printForecast,
  type RunRequest,
  RunSession,
} from "../runs/session.ts";

export const SELFCHECK_HELP =
  `For a suite, each model is run twice as often on every graph as the suite says (A/A): two arms that are
equally good. For journals, their trials are used. In both cases thousands of gates are drawn from the
graphs, and the share that errs is compared with the error rates that the gate allows. An upgrade gate
needs two or more trials of every graph ("repetitions": 2).

  --gate rate|upgrade  which gate (default that of the suite or the plan, else upgrade)
  --margin M           its margin (default that of the gate, else 0.05)
  --confidence C       its confidence (default that of the gate, else 0.95)
  --sequential         a gate that stops early
  --gates N            gates that are drawn for each truth (default 2000)
  --draw-seed N        seed of the draws (default 1)
  --json               prints the checks as JSON

For a suite, also these options of run:

${flagList("selfcheck")}

Exit code 0 when no error rate is proved to be above the allowed one, 1 when one is, 3 when trials are missing.`;

/** Prints the checks to stdout. */
export async function selfcheck(arguments_: readonly string[]): Promise<number> {
  const options = runArguments("selfcheck", arguments_, {
    values: ["gate", "margin", "confidence", "gates", "draw-seed"],
    switches: ["sequential", "json"],
  });
  const [first] = options.operands;
  if (first === undefined) {
    throw options.error("it takes a suite file, or one journal or more: none is given");
  }
  const journals = options.operands.every((path) => path.endsWith(".jsonl") || isFolder(path));
  if (!journals && options.operands.length > 1) {
    throw options.error(`it takes one suite file: ${options.operands.length} are given`);
  }
  // Errors in the options are reported before a trial is paid for.
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
  if (options.has("json")) console.log(printableJson(checked, 2));
  else {
    for (const { subject, simulated, checks } of checked) {
      const name = printable(variantName(subject)) + (simulated ? " (simulated)" : "");
      console.log(`${name}\n\n${renderChecks(checks, commandWidth())}\n`);
    }
  }
  const errsTooOften = checked.some(({ checks }) => checks.some(isTooOften));
  if (!options.has("json")) {
    console.log(
      errsTooOften
        ? "The gate errs more often than it allows on trials like these: do not trust it."
        : "No error rate is proved to be above the allowed one." + undecidedShare(checked),
    );
  }
  return exitCodeOf(errsTooOften ? "fail" : "pass");
}

/** Leaves out subjects whose perturbation makes tasks unsolvable, or changed none of them. */
function isGated(
  { subject, items }: { readonly subject: Variant; readonly items: readonly TrialSummary[] },
): boolean {
  const reason = isRemoving(subject.perturbation)
    ? "under its perturbation no task can be solved"
    : items.some(({ unsolvable }) => unsolvable !== undefined)
    ? "under its perturbation not every task can be solved"
    : items.every(({ changed }) => changed === false)
    ? "its perturbation found nothing to change"
    : undefined;
  if (reason !== undefined) {
    console.error(`${printable(variantName(subject))} is left out: ${reason}`);
  }
  return reason === undefined;
}

/** Warns of a gate that hardly ever decides: it rarely errs, but is of little use. */
function undecidedShare(checked: readonly { readonly checks: readonly Check[] }[]): string {
  const counts = checked.flatMap(({ checks }) => checks.map(({ gates }) => gates));
  const all = sum(
    counts,
    ({ pass, fail, undecided, invalid }) => pass + fail + undecided + invalid,
  );
  const share = sum(counts, ({ undecided }) => undecided) / all;
  return share < 0.2 ? "" : ` But ${percent(share)} were undecided: it has too few tasks.`;
}

/** Whether the rate is more than three standard errors of the simulation above the allowed one. */
function isTooOften({ rate, allowed, gates }: Check): boolean {
  const count = sum(Object.values(gates), Number);
  return rate > allowed + 3 * Math.sqrt(allowed * (1 - allowed) / count);
}

function check(trials: readonly TrialSummary[], policy: GatePolicy, options: Arguments): Check[] {
  const graphs = byGraph(trials.filter(({ changed }) => changed !== false));
  const cellsOf = (graph: readonly TrialSummary[]) => [...new Set(graph.map(cellName))].join("; ");
  const cells = [...Map.groupBy(graphs, cellsOf).values()].map((own) => own.map(outcomesOf));
  const gates = options.integer("gates", 1);
  const seed = options.integer("draw-seed");
  try {
    return selfCheck(cells, policy, defined({ gates, seed }));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new InputError(reasonOf(error));
  }
}

/** The outcomes of a graph's valid trials, apart for each cell that it is in. */
function outcomesOf(graph: readonly TrialSummary[]): boolean[][] {
  return [...Map.groupBy(graph, cellName).values()].map((own) =>
    own.filter(isCounted).map(({ solved }) => solved)
  );
}

/** The trials to check a gate on. */
interface CheckInput {
  /** `undefined` if some are missing. */
  readonly trials: readonly TrialSummary[] | undefined;
  /** The gate of the suite or the plan. */
  readonly gate: GatePolicy | undefined;
}

function trialsOfJournals(options: Arguments): CheckInput {
  const results = readResults(journalsGiven(options).map(userPath));
  for (const notice of results.notices) console.error(notice);
  const { problem, trials, gate, planned, rule, stopped } = results;
  const missing = rule === undefined && trials.length < planned.length
    ? stopped ?? `${planned.length - trials.length} of ${planned.length} trials were not run`
    : undefined;
  // Trials whose results stopped the run are no fair sample.
  const reason = problem ?? missing ??
    (rule === undefined ? undefined : "its run was stopped by a sequential gate");
  if (reason === undefined) return { trials, gate };
  console.error(`Cannot check the gate on these trials: ${printable(reason, 1000)}`);
  return { trials: undefined, gate };
}

async function trialsOfSuite(file: string, options: Arguments): Promise<CheckInput> {
  const request = suiteRequest(userPath(file), runFlags("selfcheck", options));
  const { suite } = request;
  policyOf(options, suite.gate);
  const planned = planRun({ ...request, suite: withTwoArms(suite, request) });
  const { plan } = planned;
  const names = plan.resolved.pair === undefined
    ? unitNames(plan.trials.map(({ task }) => task))
    : GRAPHS;
  console.error(
    `Each ${names.one} is run ${plan.resolved.repetitions} times: ${plan.trials.length} trials`,
  );
  printForecast(plan, PRINTER);
  const progress = new Progress(plan);
  const limiters = new RateLimiters((line) => progress.note(line));
  const session = new RunSession(planned, limiters);
  using interrupt = new Interrupt();
  using running = session.begin({
    signal: interrupt.signal,
    onTrial: (trial, resumed) => progress.count(trial, resumed),
  });
  running.open();
  const { finished } = await finish(running, progress, interrupt.signal);
  limiters.tellWaiting();
  if (finished.length === plan.trials.length) return { trials: finished, gate: suite.gate };
  const why = running.fault?.reason ?? running.stopped;
  console.error(
    `${plan.trials.length - finished.length} trials were not run${
      why === undefined ? "" : `: ${why}`
    }`,
  );
  return { trials: undefined, gate: suite.gate };
}

/** Returns the suite without its gate and with twice its trials of each graph, for two arms. */
function withTwoArms(suite: Suite, request: RunRequest): Suite {
  const { gate, repetitions = 1, ...others } = suite;
  // A sequential gate plans its own size; here all trials of a gate of fixed size are run.
  const graphs = gate?.sequential
    ? planWithSets(suite, request, true).resolved.graphs
    : suite.graphs;
  return {
    ...others,
    // Each arm has as many trials of a graph as a model of the suite.
    repetitions: 2 * repetitions,
    ...defined({ graphs }),
  };
}

function policyOf(options: Arguments, declared: GatePolicy | undefined): GatePolicy {
  const kind = options.text("gate") ??
    (declared !== undefined && !isUpgrade(declared) ? "rate" : "upgrade");
  if (kind !== "rate" && kind !== "upgrade") {
    throw options.error(`--gate must be rate or upgrade: it is ${kind}`);
  }
  const settings = {
    margin: options.number("margin") ?? declared?.margin,
    confidence: options.number("confidence") ?? declared?.confidence,
    power: declared?.power,
    sequential: options.has("sequential") || (declared?.sequential ?? false),
    coverage: declared?.coverage,
    discordance: kind === "upgrade" && declared !== undefined && isUpgrade(declared)
      ? declared.discordance
      : undefined,
    // These only choose the kind of gate: the check moves the truth to where it tests the gate.
    ...(kind === "upgrade" ? { baseline: "itself" } : { successRate: 1 }),
  };
  const set = Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  );
  return parseWith(GATE_POLICY, set, "the gate with the options given");
}
