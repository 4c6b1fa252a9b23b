/**
 * `selfcheck`: checks how often the gate errs.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { parseWith } from "../base/input.ts";
import { printable, printableJson } from "../base/json.ts";
import { percent, sum } from "../base/numbers.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { exitCodeOf } from "../gate/decide_trials.ts";
import { GATE_POLICY, type GatePolicy, isUpgrade, USUAL_MARGIN } from "../gate/policy.ts";
import { type Check, selfCheck, type SelfCheckOptions } from "../gate/self_check.ts";
import { GRAPHS, unitNames } from "../gate/unit_names.ts";
import {
  byGraph,
  byVariant,
  isCounted,
  simulatedIn,
  type Variant,
  variantLabel,
  variantName,
  variantOf,
} from "../gate/variant.ts";
import { isRemoving } from "../perturbations/ids.ts";
import { cellName } from "../reports/cells.ts";
import { renderChecks } from "../reports/terminal.ts";
import { readResults } from "../runs/journal/results.ts";
import { type FlagValues, number, wholeFrom } from "../runs/flags.ts";
import { flagsAt, type FlagsOf } from "../runs/options.ts";
import { planRun, planWithSets, type RunRequest } from "../runs/session.ts";
import type { Suite } from "../runs/suite.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { command } from "./command.ts";
import { isFolder, journalsOf } from "./journals.ts";
import { runPlanned, suiteRequest, withUserPaths } from "./running.ts";

const GATES = ["rate", "upgrade"] as const;

const OPTIONS = {
  gate: { value: "G", choices: GATES, help: "rate or upgrade; default the plan's, else upgrade" },
  margin: {
    value: "M",
    read: number,
    help: `its margin; default the gate's, else ${USUAL_MARGIN}`,
  },
  confidence: { value: "C", read: number, help: "its confidence; default the gate's, else 0.95" },
  sequential: { help: "a gate that stops early" },
  gates: { value: "N", read: wholeFrom(1), help: "gates drawn for each truth; default 2000" },
  drawSeed: { value: "N", read: wholeFrom(0), help: "seed of the draws; default 1" },
  json: { help: "prints the checks as JSON; the options below are for suites" },
} as const;

/** The options that change the gate. */
type Design = Pick<FlagValues<typeof OPTIONS>, "gate" | "margin" | "confidence" | "sequential">;

const areJournals = (operands: readonly string[]): boolean =>
  operands.every((path) => path.endsWith(".jsonl") || isFolder(path));

/** Prints the checks to stdout. */
export const selfcheck = command({
  usage: "SUITE.jsonc | F.jsonl|FOLDER... [OPTIONS]",
  takes: ["a suite file, or one journal or more", 1, Infinity],
  about:
    `For a suite, each model is run twice as often on every graph as the suite says (A/A): two arms that are
equally good. For journals, their trials are used. In both cases thousands of gates are drawn from the
graphs, and the share that errs is compared with the error rates that the gate allows. An upgrade gate
needs two or more trials of every graph ("repetitions": 2).`,
  options: OPTIONS,
  flags: flagsAt("selfcheck"),
  notes:
    `Exit code 0 when no error rate is proved to be above the allowed one, 1 when one is, 3 when trials are missing.`,
  // Journals are only read; a suite is run.
  needs: ({ journal }, { operands }) =>
    areJournals(operands)
      ? ["read"]
      : ["net", "read", "agent", ...journal === undefined ? [] : ["write" as const]],
  rules: [[
    (_, { operands }) => operands.length > 1 && !areJournals(operands),
    "it takes one suite file, or journals alone",
  ]],
  async run(
    { gate, margin, confidence, sequential, gates, drawSeed: seed, json, ...flags },
    { operands },
  ) {
    const design = { gate, margin, confidence, sequential };
    // Errors in the options are reported before a trial is paid for.
    policyOf(design, undefined);
    const { trials, declared } = areJournals(operands)
      ? trialsOfJournals(operands)
      : await trialsOfSuite(userPath(operands[0]!), design, withUserPaths(flags));
    if (trials === undefined) return exitCodeOf("invalid");
    const policy = policyOf(design, declared);
    const checked = byVariant(trials, variantOf).filter(isGated).map(({ subject, items }) => ({
      subject,
      simulated: simulatedIn(items),
      checks: check(items, policy, { gates, seed }),
    }));
    const errsTooOften = checked.some(({ checks }) => checks.some(isTooOften));
    if (json) console.log(printableJson(checked, 2));
    else {
      for (const { subject, simulated, checks } of checked) {
        const name = printable(variantLabel(subject, simulated));
        console.log(`${name}\n\n${renderChecks(checks, commandWidth())}\n`);
      }
      console.log(
        errsTooOften
          ? "The gate errs more often than it allows on trials like these: do not trust it."
          : "No error rate is proved to be above the allowed one." + undecidedShare(checked),
      );
    }
    return exitCodeOf(errsTooOften ? "fail" : "pass");
  },
});

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

function check(
  trials: readonly TrialSummary[],
  policy: GatePolicy,
  options: SelfCheckOptions,
): Check[] {
  const graphs = byGraph(trials.filter(({ changed }) => changed !== false));
  const cellsOf = (graph: readonly TrialSummary[]) => [...new Set(graph.map(cellName))].join("; ");
  const cells = [...Map.groupBy(graphs, cellsOf).values()].map((own) => own.map(outcomesOf));
  try {
    return selfCheck(cells, policy, options);
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
  /** Omitted if some are missing. */
  readonly trials?: readonly TrialSummary[] | undefined;
  /** The gate of the suite or the plan. */
  readonly declared?: GatePolicy | undefined;
}

function trialsOfJournals(operands: readonly string[]): CheckInput {
  const results = readResults(journalsOf(operands).map(userPath));
  for (const notice of results.notices) console.error(notice);
  const { problem, trials, gate, planned, rule, stopped } = results;
  const missing = rule === undefined && trials.length < planned.length
    ? stopped ?? `${planned.length - trials.length} of ${planned.length} trials were not run`
    : undefined;
  // Trials whose results stopped the run are no fair sample.
  const reason = problem ?? missing ??
    (rule === undefined ? undefined : "its run was stopped by a sequential gate");
  if (reason === undefined) return { trials, declared: gate };
  console.error(`Cannot check the gate on these trials: ${printable(reason, 1000)}`);
  return {};
}

async function trialsOfSuite(
  path: string,
  design: Design,
  flags: FlagsOf<"selfcheck">,
): Promise<CheckInput> {
  const request = suiteRequest(path, flags);
  const { suite } = request;
  policyOf(design, suite.gate);
  const planned = planRun({ ...request, suite: withTwoArms(suite, request) });
  const { trials, resolved: { pair, repetitions } } = planned.plan;
  const names = pair === undefined ? unitNames(trials.map(({ task }) => task)) : GRAPHS;
  console.error(`Each ${names.one} is run ${repetitions} times: ${trials.length} trials`);
  const { finished, fault, stopped } = await runPlanned(planned);
  if (finished.length === trials.length) return { trials: finished, declared: suite.gate };
  const why = fault?.reason ?? stopped;
  const missing = trials.length - finished.length;
  console.error(`${missing} trials were not run${why === undefined ? "" : `: ${why}`}`);
  return {};
}

/** Returns the suite without its gate and with twice its trials of each graph, for two arms. */
function withTwoArms({ gate, ...suite }: Suite, request: RunRequest): Suite {
  // A sequential gate plans its own size; here all trials of a gate of fixed size are run.
  const graphs = gate?.sequential
    ? planWithSets({ ...suite, gate }, request, true).resolved.graphs
    : suite.graphs;
  // Each arm has as many trials of a graph as a model of the suite.
  return { ...suite, repetitions: 2 * (suite.repetitions ?? 1), graphs };
}

function policyOf(design: Design, declared: GatePolicy | undefined): GatePolicy {
  const isUpgraded = declared === undefined || isUpgrade(declared);
  const kind = design.gate ?? (isUpgraded ? "upgrade" : "rate");
  const policy = {
    margin: design.margin ?? declared?.margin,
    confidence: design.confidence ?? declared?.confidence,
    power: declared?.power,
    sequential: design.sequential ?? declared?.sequential ?? false,
    coverage: declared?.coverage,
    discordance: kind === "upgrade" && isUpgraded ? declared?.discordance : undefined,
    // These only choose the kind of gate: the check moves the truth to where it tests the gate.
    ...kind === "upgrade" ? { baseline: "itself" } : { successRate: 1 },
  };
  // JSON leaves out what is undefined.
  const source = "the gate with the options given";
  return parseWith(GATE_POLICY, JSON.parse(JSON.stringify(policy)), source);
}
