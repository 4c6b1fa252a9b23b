/**
 * Policies: the requirements of a gate, as users write them.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../base/input.ts";
import { defined } from "../base/json.ts";
import { type Ceilings, CEILINGS_SCHEMA, withoutShifts } from "./ceilings.ts";

/** Options of both kinds of gates. */
export interface GateOptions {
  /**
   * How far below the requirement is still good enough, from 0; default 0.05. In an absolute gate it must
   * be less than `successRate`.
   */
  readonly margin?: number;
  /** The confidence of each one-sided bound, above 0.5, below 1; default 0.95. */
  readonly confidence?: number;
  /**
   * How often a model that is just good enough, at `successRate` or equal to the baseline, should pass: sizes
   * are planned for it, and a sequential gate fails such a model at most `1 - power` of the time. Above
   * 0.5, below 1; default `confidence`.
   */
  readonly power?: number;
  /**
   * The share of the required trials that must be valid at the first go; default 0.95. A trial that was run
   * again in place of an invalid one is not, nor is one with a reply that was asked for again after a failure of
   * unclear cause: by asking again until a reply is right, any model passes any gate.
   */
  readonly coverage?: number;
  /**
   * Whether a run that was interrupted and resumed is invalid; default false. Whoever cuts off the end of its journal
   * and resumes it draws those trials anew, which looks like an interruption.
   */
  readonly requireWhole?: boolean;
  /**
   * Failures of unclear cause that infrastructure is known to be behind: trials with no others are valid at the
   * first go. The verdict names those that were used.
   */
  readonly infrastructure?: readonly InfrastructureFailure[];
  /** The result of an undecided gate in `deno test`; default `fail`. */
  readonly undecided?: "fail" | "pass";
  /**
   * Whether trials run only until the gate is decided; default false. The plan then sets the number of graphs
   * itself: 1.5 times the number that a gate of fixed size needs.
   */
  readonly sequential?: boolean;
  /**
   * The success rate that each case of your own tests must reach, above 0, below 1: see {@linkcode CasesPolicy}.
   * Not with `sequential`.
   */
  readonly every?: number;
  /** Limits that hold for any success rate. */
  readonly atMost?: Ceilings;
}

/** Failed attempts of requests that are declared to be infrastructure's; both fields must fit, at least one is set. */
export interface InfrastructureFailure {
  /** The HTTP status of the server's answer. */
  readonly status?: number;
  /** A text within the message, in any case. */
  readonly message?: string;
}

/** The policy of an absolute gate: a success rate. */
export interface RatePolicy extends GateOptions {
  /** The required success rate, above 0, at most 1. */
  readonly successRate: number;
}

/**
 * The policy of a gate on each case alone. `successRate` is then `every`, and `margin`, which must be left out, 0: cases
 * that all reach a rate have a mean that does.
 */
export interface CasesPolicy extends GateOptions {
  /** The success rate that each case must reach, above 0, below 1. */
  readonly every: number;
}

/** The policy of an upgrade gate: no worse than a baseline on the same graphs. */
export interface UpgradePolicy extends GateOptions {
  /**
   * The baseline: the name of a model in the same suite, a strategy of it such as `"strategy": "plain"`,
   * or results in a file.
   */
  readonly baseline: string | BaselineChoice;
  /**
   * The expected share of graphs that only one of the two solves, above `margin`, at most 1; default 0.2. It
   * sets the number of planned graphs, but does not affect the validity of the verdict.
   */
  readonly discordance?: number;
}

/** Which results are the baseline. Omitted fields are as in the candidate. */
export interface BaselineChoice {
  /** A journal, or a file written by `toolgate accept`; without it, results of the same run. */
  readonly file?: string;
  /** The name of the model; may be omitted for a file with a single model. */
  readonly model?: string;
  /** The strategy's id. */
  readonly strategy?: string;
  /** The perturbation's id; `none` for none. */
  readonly perturbation?: string;
  /** The name of the settings, one of `variants`. */
  readonly variant?: string;
  /**
   * With `record` and `successRate`, a run is judged by `successRate` as long as there is no `file`, and its trials
   * are written there once it passes; from then on runs are compared with it. Default: without the file the gate
   * is invalid.
   */
  readonly missing?: "record";
}

/** The policy of a gate. */
export type GatePolicy = RatePolicy | UpgradePolicy | CasesPolicy;

/** A policy with its defaults. */
export type CompletePolicy = CompleteRatePolicy | CompleteUpgradePolicy;

/** The settings that have no default. */
type KeptAsGiven = "infrastructure" | "every" | "requireWhole";

/** An absolute policy with its defaults. */
export type CompleteRatePolicy =
  & Required<Omit<RatePolicy, KeptAsGiven>>
  & Pick<RatePolicy, KeptAsGiven>;

/** An upgrade policy with its defaults. */
export type CompleteUpgradePolicy =
  & Required<Omit<UpgradePolicy, "baseline" | KeptAsGiven>>
  & Pick<UpgradePolicy, KeptAsGiven>
  & { readonly baseline: BaselineChoice };

const word = z.string().min(1).optional();

/** The margin of a gate that names none. */
export const USUAL_MARGIN = 0.05;

/** The schema of all kinds of policies: `successRate`, `baseline` or `every` decides which it is. */
const POLICY = z.strictObject({
  margin: z.number().min(0).lt(1).optional(),
  confidence: z.number().gt(0.5).lt(1).optional(),
  power: z.number().gt(0.5).lt(1).optional(),
  coverage: z.number().gt(0).max(1).optional(),
  requireWhole: z.boolean().optional(),
  infrastructure: z.array(
    z.strictObject({
      status: z.int().min(100).max(599).optional(),
      message: z.string().min(1).optional(),
    }).refine(
      ({ status, message }) => status !== undefined || message !== undefined,
      "must have a status or a message",
    ),
  ).optional(),
  undecided: z.enum(["fail", "pass"]).optional(),
  sequential: z.boolean().optional(),
  every: z.number().gt(0).lt(1).optional(),
  atMost: CEILINGS_SCHEMA.optional(),
  successRate: z.number().gt(0).max(1).optional(),
  baseline: z.union([
    z.string().min(1),
    z.strictObject({
      file: word,
      model: word,
      strategy: word,
      perturbation: word,
      variant: word,
      missing: z.literal("record").optional(),
    }).refine(
      (choice) => Object.values(choice).some((name) => name !== undefined),
      "must name a file, a model or a strategy",
    ),
  ]).optional(),
  discordance: z.number().gt(0).max(1).optional(),
}).check((context) => {
  const { successRate, baseline, discordance, sequential, every, atMost } = context.value;
  const isOfCases = every !== undefined && successRate === undefined && baseline === undefined;
  const { margin = isOfCases ? 0 : USUAL_MARGIN } = context.value;
  const fault = (path: string, message: string) =>
    context.issues.push({ code: "custom", message, path: path.split("."), input: context.value });
  const records = typeof baseline === "object" && baseline.missing !== undefined;
  if (records && (successRate === undefined || baseline.file === undefined)) {
    fault(
      "baseline.missing",
      'missing: "record" needs a file, and successRate, which the first run must meet',
    );
  } else if (!records && !isOfCases && (successRate === undefined) === (baseline === undefined)) {
    fault(
      "successRate",
      "give either successRate or baseline" +
        (baseline === undefined ? "" : '; both only with a baseline of missing: "record"'),
    );
  }
  if (isOfCases && context.value.margin !== undefined) {
    fault("margin", "margin is of a success rate or a baseline: every has none");
  }
  if (sequential === true && every !== undefined) {
    fault("sequential", "a sequential gate decides on the mean of cases, not on every one of them");
  }
  if (records && sequential === true) {
    fault("sequential", 'missing: "record" needs a whole run, which a sequential gate ends early');
  }
  if (successRate !== undefined && margin >= successRate) {
    fault("margin", `margin (default ${USUAL_MARGIN}) must be below successRate`);
  }
  if (baseline !== undefined && margin >= (discordance ?? 0.2)) {
    fault("discordance", "discordance (default 0.2) must be above margin");
  }
  if (baseline === undefined && discordance !== undefined) {
    fault("discordance", "discordance requires baseline");
  }
  if (baseline === undefined && atMost?.failureShifts !== undefined) {
    fault("atMost.failureShifts", "failureShifts require baseline");
  }
  if (sequential === true && margin === 0 && every === undefined) {
    fault("margin", "a sequential gate needs a margin above 0");
  }
});

/** The schema of policies in suites and plans. */
export const GATE_POLICY: z.ZodType<GatePolicy> = POLICY as unknown as z.ZodType<GatePolicy>;

/**
 * Returns the policy that a run is judged by, of one that has `missing: "record"`: against its baseline if there is
 * one, else against `successRate`; any other one is returned as it is.
 */
export function policyInForce(policy: GatePolicy, exists: boolean): GatePolicy {
  if (recordedFile(policy) === undefined) return policy;
  const { successRate, baseline, discordance, ...shared } = policy as RatePolicy & UpgradePolicy;
  const { missing: _, ...choice } = baseline as BaselineChoice;
  return exists
    ? { ...shared, discordance, baseline: choice }
    : { ...shared, atMost: withoutShifts(shared.atMost), successRate };
}

/** The file that a passing run is written to as long as it does not exist; `undefined` for most policies. */
export function recordedFile(policy: GatePolicy | undefined): string | undefined {
  if (policy === undefined || !isUpgrade(policy) || typeof policy.baseline === "string") return;
  const { file, missing } = policy.baseline;
  return missing === undefined ? undefined : file;
}

/** Whether a policy is for an upgrade gate. */
export function isUpgrade<T extends GatePolicy | CompletePolicy>(
  policy: T,
): policy is Extract<T, { readonly baseline: unknown }> {
  return "baseline" in policy && policy.baseline !== undefined;
}

/**
 * Whether only cases can fail a gate: cases that reach `every` have a mean that does, so that where the success rate
 * is no higher, a test of the mean as well would only be one more chance to err.
 */
export function decidesByCases(policy: CompletePolicy): boolean {
  return policy.every !== undefined && !isUpgrade(policy) && policy.every >= policy.successRate;
}

/** The schema of policies in plans, whose defaults are filled in. */
export const COMPLETE_POLICY = GATE_POLICY.transform((policy) => completePolicy(policy));

/**
 * Fills in the defaults of a policy; its values must be checked already.
 */
export function completePolicy(policy: RatePolicy | CasesPolicy): CompleteRatePolicy;
/** Fills in the defaults of an upgrade policy. */
export function completePolicy(policy: UpgradePolicy): CompleteUpgradePolicy;
/** Fills in the defaults of a policy of either kind. */
export function completePolicy(policy: GatePolicy): CompletePolicy;
export function completePolicy(policy: GatePolicy): CompletePolicy {
  const given: Partial<RatePolicy & UpgradePolicy> = defined(policy);
  const { confidence = 0.95, successRate = given.every, baseline } = given;
  const complete = {
    margin: baseline === undefined && given.successRate === undefined ? 0 : USUAL_MARGIN,
    confidence,
    power: confidence,
    coverage: 0.95,
    undecided: "fail",
    sequential: false,
    atMost: {},
    ...given,
  } as const;
  if (baseline === undefined) return { ...complete, successRate } as CompleteRatePolicy;
  const choice = typeof baseline === "string" ? { model: baseline } : defined(baseline);
  return { ...complete, discordance: given.discordance ?? 0.2, baseline: choice };
}

/**
 * Checks a policy from outside and fills in its defaults; inside there are only complete ones.
 *
 * @throws {InputError} If it is not usable; the message names `source`, path and rule.
 */
export function readPolicy(policy: unknown, source: string): CompletePolicy {
  return completePolicy(parseWith(GATE_POLICY, policy, source));
}

/**
 * The two values that a gate separates: it passes if the true value is proved to be at least `pass`, and
 * fails if it is proved to be below `fail`. The value is the success rate in an absolute gate, and its
 * difference from the baseline's in an upgrade gate.
 */
export interface Hypotheses {
  readonly pass: number;
  readonly fail: number;
  /** How far they are apart: the margin. */
  readonly gap: number;
}

/** Returns the two values that a policy separates. */
export function hypothesesOf(policy: CompletePolicy): Hypotheses {
  const { margin: gap } = policy;
  const fail = isUpgrade(policy) ? 0 : policy.successRate;
  return { pass: fail - gap, fail, gap };
}
