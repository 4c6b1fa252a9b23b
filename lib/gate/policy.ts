/**
 * Policies: what a gate asks for, as users write it.
 * @module
 */

import { z } from "zod";
import {
  type Behaviour,
  BEHAVIOURS,
  FAILURE_TYPES,
  type FailureType,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
} from "../calls/failure_types.ts";

/** What both kinds of gates take. */
export interface GateOptions {
  /**
   * How far below what is wanted is still good enough, from 0; default 0.05. In an absolute gate it
   * is below `successRate`.
   */
  readonly margin?: number;
  /** The confidence of each one-sided bound, above 0.5, below 1; default 0.95. */
  readonly confidence?: number;
  /**
   * How often a model that is just good enough, at `successRate` or as good as the baseline, is to
   * pass: sizes are planned for it, and a sequential gate fails such a model at most `1 - power` of
   * the times. Above 0.5, below 1; default `confidence`.
   */
  readonly power?: number;
  /** The share of the needed trials that must be valid; default 0.95. */
  readonly coverage?: number;
  /** What an undecided gate does to `deno test`; default `fail`. */
  readonly undecided?: "fail" | "pass";
  /**
   * Whether trials are run only until the gate is decided; default false. The plan then sets the
   * number of graphs itself: 1.5 times the number that a gate of fixed size needs.
   */
  readonly sequential?: boolean;
  /** What may be seen at most, whatever the success rate. */
  readonly atMost?: Ceilings;
}

/** What an absolute gate asks for: a success rate. */
export interface RatePolicy extends GateOptions {
  /** The success rate that is wanted, above 0, at most 1. */
  readonly successRate: number;
}

/** What an upgrade gate asks for: to be no worse than a baseline on the very same graphs. */
export interface UpgradePolicy extends GateOptions {
  /**
   * What is compared against: a model of the same suite by its name, a strategy of it such as
   * `"strategy": "baseline"`, or results in a file.
   */
  readonly baseline: string | BaselineChoice;
  /**
   * The share of graphs that only one of the two is thought to solve, above `margin`, at most 1;
   * default 0.2. It decides how many graphs are planned, never whether the verdict is right.
   */
  readonly discordance?: number;
}

/** Which results are the baseline. What is left out is as in the candidate. */
export interface BaselineChoice {
  /** A journal, or what `toolgate accept` wrote; without it, the results of the same run. */
  readonly file?: string;
  /** The model, by its name; of a file with one model it may be left out. */
  readonly model?: string;
  /** The strategy's id. */
  readonly strategy?: string;
  /** The perturbation's id; `none` for none. */
  readonly perturbation?: string;
}

/** What a gate asks for. */
export type GatePolicy = RatePolicy | UpgradePolicy;

/** What a trial may show besides its failures. */
export type Sign = Behaviour | "ungrounded";

/** All of them: `ungrounded` is solved although the target function never returned the answer. */
export const SIGNS: readonly Sign[] = [...BEHAVIOURS, "ungrounded"];

/**
 * Ceilings: a gate fails when one is proved, at its confidence, to be exceeded. Shares are of valid
 * trials, 0..1.
 */
export interface Ceilings {
  /** By failure type: the share of trials with such a wrong call. */
  readonly failures?: Partial<Readonly<Record<FailureType, number>>>;
  /** By failure type: how much larger that share may be than the baseline's (upgrade gates). */
  readonly failureShifts?: Partial<Readonly<Record<FailureType, number>>>;
  /** By type of parameter failure: the share of trials with such a call. */
  readonly parameterFailures?: Partial<Readonly<Record<ParameterFailureType, number>>>;
  /**
   * Of trials under a check, such as `rename`: the share that ends otherwise, solved or not, than the
   * same without it.
   */
  readonly flips?: number;
  /** By behaviour: the share of trials that show it. */
  readonly behaviours?: Partial<Readonly<Record<Sign, number>>>;
  /** Mean tokens of a trial, read and written. */
  readonly tokens?: number;
  /** Mean US dollars of a trial, by the price table. */
  readonly usd?: number;
}

/** A policy with its defaults. */
export type CompletePolicy = CompleteRatePolicy | CompleteUpgradePolicy;

/** An absolute policy with its defaults. */
export type CompleteRatePolicy = Required<RatePolicy>;

/** An upgrade policy with its defaults. */
export type CompleteUpgradePolicy = Required<Omit<UpgradePolicy, "baseline">> & {
  readonly baseline: BaselineChoice;
};

const share = z.number().min(0).max(1);
const sharesOf = <K extends string>(names: readonly K[]) =>
  z.strictObject(
    Object.fromEntries(names.map((name) => [name, share.exactOptional()])),
  ) as unknown as z.ZodType<Partial<Record<K, number>>>;

const CEILINGS: z.ZodType<Ceilings> = z.strictObject({
  failures: sharesOf(FAILURE_TYPES).exactOptional(),
  failureShifts: sharesOf(FAILURE_TYPES).exactOptional(),
  parameterFailures: sharesOf(PARAMETER_FAILURE_TYPES).exactOptional(),
  flips: share.exactOptional(),
  behaviours: sharesOf(SIGNS).exactOptional(),
  tokens: z.number().gt(0).exactOptional(),
  usd: z.number().gt(0).exactOptional(),
});

const OPTIONS = {
  margin: z.number().min(0).lt(1).exactOptional(),
  confidence: z.number().gt(0.5).lt(1).exactOptional(),
  power: z.number().gt(0.5).lt(1).exactOptional(),
  coverage: z.number().gt(0).max(1).exactOptional(),
  undecided: z.enum(["fail", "pass"]).exactOptional(),
  sequential: z.boolean().exactOptional(),
  atMost: CEILINGS.exactOptional(),
};

const word = z.string().min(1).exactOptional();

/** Both kinds of policies share their rules; which kind it is, `successRate` or `baseline` tells. */
const POLICY = z.strictObject({
  ...OPTIONS,
  successRate: z.number().gt(0).max(1).exactOptional(),
  baseline: z.union([
    z.string().min(1),
    z.strictObject({ file: word, model: word, strategy: word, perturbation: word })
      .refine(
        (choice) => Object.keys(choice).length > 0,
        "must name a file, a model or a strategy",
      ),
  ]).exactOptional(),
  discordance: z.number().gt(0).max(1).exactOptional(),
}).check((context) => {
  const { margin = 0.05, successRate, baseline, discordance, sequential, atMost } = context.value;
  const fault = (path: string, message: string) =>
    context.issues.push({ code: "custom", message, path: path.split("."), input: context.value });
  if ((successRate === undefined) === (baseline === undefined)) {
    fault("successRate", "give either successRate or baseline");
  }
  if (successRate !== undefined && margin >= successRate) {
    fault("margin", "margin (default 0.05) must be below successRate");
  }
  if (baseline !== undefined && margin >= (discordance ?? 0.2)) {
    fault("discordance", "discordance (default 0.2) must be above margin");
  }
  if (baseline === undefined && discordance !== undefined) {
    fault("discordance", "discordance goes with baseline");
  }
  if (baseline === undefined && atMost?.failureShifts !== undefined) {
    fault("atMost.failureShifts", "failureShifts go with baseline");
  }
  if (sequential === true && margin === 0) {
    fault("margin", "a sequential gate needs a margin above 0");
  }
});

/** The policy as suites and plans hold it. */
export const GATE_POLICY: z.ZodType<GatePolicy> = POLICY as unknown as z.ZodType<GatePolicy>;

/** Whether a policy is that of an upgrade gate. */
export function isUpgrade<T extends GatePolicy | CompletePolicy>(
  policy: T,
): policy is Extract<T, { readonly baseline: unknown }> {
  return "baseline" in policy;
}

/** The defaults of a policy filled in; its values are checked where they are read. */
export function completePolicy(policy: RatePolicy): CompleteRatePolicy;
/** The defaults of a policy of either kind filled in. */
export function completePolicy(policy: GatePolicy): CompletePolicy;
export function completePolicy(policy: GatePolicy): CompletePolicy {
  const { confidence = 0.95 } = policy;
  const defaults = {
    margin: 0.05,
    confidence,
    power: confidence,
    coverage: 0.95,
    undecided: "fail",
    sequential: false,
    atMost: {},
  } as const;
  if (!isUpgrade(policy)) return { ...defaults, ...policy };
  const { baseline } = policy;
  const chosen = typeof baseline === "string" ? { model: baseline } : baseline;
  return { ...defaults, discordance: 0.2, ...policy, baseline: chosen };
}

/**
 * The two values that a gate holds apart: it passes when the true one is proved to be at least
 * `pass`, and fails when it is proved to be below `fail`. It is the success rate in an absolute gate,
 * and its difference from the baseline's in an upgrade gate.
 */
export interface Hypotheses {
  readonly pass: number;
  readonly fail: number;
}

/** The two values that a policy holds apart. */
export function hypothesesOf(policy: CompletePolicy): Hypotheses {
  return isUpgrade(policy)
    ? { pass: -policy.margin, fail: 0 }
    : { pass: policy.successRate - policy.margin, fail: policy.successRate };
}
