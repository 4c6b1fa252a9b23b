/**
 * Policies: the requirements of a gate, as users write them.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../base/input.ts";
import {
  type Behaviour,
  BEHAVIOURS,
  FAILURE_TYPES,
  type FailureType,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
} from "../calls/failure_types.ts";

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
   * unclear cause: whoever may ask again until a reply is right can pass any gate.
   */
  readonly coverage?: number;
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

/** The policy of an upgrade gate: no worse than a baseline on the same graphs. */
export interface UpgradePolicy extends GateOptions {
  /**
   * The baseline: the name of a model in the same suite, a strategy of it such as `"strategy": "baseline"`,
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
}

/** The policy of a gate. */
export type GatePolicy = RatePolicy | UpgradePolicy;

/** Something a trial may show in addition to failures. */
export type Sign = Behaviour | "ungrounded";

/** All signs: `ungrounded` means solved although the target function never returned the answer. */
export const SIGNS: readonly Sign[] = [...BEHAVIOURS, "ungrounded"];

/**
 * Ceilings: a gate fails if one is proved, at its confidence, to be exceeded. Shares are of valid trials,
 * 0..1.
 */
export interface Ceilings {
  /** By failure type: the share of trials with such a call. */
  readonly failures?: Partial<Readonly<Record<FailureType, number>>>;
  /** By failure type: how much larger that share may be than the baseline's (upgrade gates only). */
  readonly failureShifts?: Partial<Readonly<Record<FailureType, number>>>;
  /** By type of parameter failure: the share of trials with such a call. */
  readonly parameterFailures?: Partial<Readonly<Record<ParameterFailureType, number>>>;
  /** Of the trials that need calls, the share in which one was never made. */
  readonly missedCalls?: number;
  /**
   * For trials under a check, such as `rename`: the share that is solved with it but not without it, or the
   * other way round.
   */
  readonly flips?: number;
  /**
   * Of the calls that `repair` sent back as their arguments did not fit, the share that was not mended, so that 0.3
   * asks for an argument-fix rate of 0.7. Each task with such a call weighs the same.
   */
  readonly unmended?: number;
  /** By behaviour: the share of trials that show it. */
  readonly behaviours?: Partial<Readonly<Record<Sign, number>>>;
  /** Mean tokens per trial, read and written. */
  readonly tokens?: number;
  /** Mean US dollars per trial, by the price table. */
  readonly usd?: number;
}

/** A policy with its defaults. */
export type CompletePolicy = CompleteRatePolicy | CompleteUpgradePolicy;

/** An absolute policy with its defaults. */
export type CompleteRatePolicy =
  & Required<Omit<RatePolicy, "infrastructure">>
  & Pick<RatePolicy, "infrastructure">;

/** An upgrade policy with its defaults. */
export type CompleteUpgradePolicy =
  & Required<Omit<UpgradePolicy, "baseline" | "infrastructure">>
  & Pick<UpgradePolicy, "infrastructure">
  & { readonly baseline: BaselineChoice };

const share = z.number().min(0).max(1);
const sharesOf = <K extends string>(names: readonly K[]) =>
  z.strictObject(
    Object.fromEntries(names.map((name) => [name, share.exactOptional()])),
  ) as unknown as z.ZodType<Partial<Record<K, number>>>;

const CEILINGS: z.ZodType<Ceilings> = z.strictObject({
  failures: sharesOf(FAILURE_TYPES).exactOptional(),
  failureShifts: sharesOf(FAILURE_TYPES).exactOptional(),
  parameterFailures: sharesOf(PARAMETER_FAILURE_TYPES).exactOptional(),
  missedCalls: share.exactOptional(),
  flips: share.exactOptional(),
  unmended: share.exactOptional(),
  behaviours: sharesOf(SIGNS).exactOptional(),
  tokens: z.number().gt(0).exactOptional(),
  usd: z.number().gt(0).exactOptional(),
});

const OPTIONS = {
  margin: z.number().min(0).lt(1).exactOptional(),
  confidence: z.number().gt(0.5).lt(1).exactOptional(),
  power: z.number().gt(0.5).lt(1).exactOptional(),
  coverage: z.number().gt(0).max(1).exactOptional(),
  infrastructure: z.array(
    z.strictObject({
      status: z.int().min(100).max(599).exactOptional(),
      message: z.string().min(1).exactOptional(),
    }).refine(
      ({ status, message }) => status !== undefined || message !== undefined,
      "must have a status or a message",
    ),
  ).exactOptional(),
  undecided: z.enum(["fail", "pass"]).exactOptional(),
  sequential: z.boolean().exactOptional(),
  atMost: CEILINGS.exactOptional(),
};

const word = z.string().min(1).exactOptional();

/** The schema of both kinds of policies: `successRate` or `baseline` decides which it is. */
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
    fault("discordance", "discordance requires baseline");
  }
  if (baseline === undefined && atMost?.failureShifts !== undefined) {
    fault("atMost.failureShifts", "failureShifts require baseline");
  }
  if (sequential === true && margin === 0) {
    fault("margin", "a sequential gate needs a margin above 0");
  }
});

/** The schema of policies in suites and plans. */
export const GATE_POLICY: z.ZodType<GatePolicy> = POLICY as unknown as z.ZodType<GatePolicy>;

/** Whether a policy is for an upgrade gate. */
export function isUpgrade<T extends GatePolicy | CompletePolicy>(
  policy: T,
): policy is Extract<T, { readonly baseline: unknown }> {
  return "baseline" in policy;
}

/**
 * Fills in the defaults of a policy; its values must be checked already.
 *
 * @example Usage
 * ```ts
 * import { completePolicy } from "@toolgate/toolgate/gate";
 * import { assertEquals } from "@std/assert";
 *
 * const { margin, confidence } = completePolicy({ successRate: 0.8 });
 * assertEquals([margin, confidence], [0.05, 0.95]);
 * ```
 */
export function completePolicy(policy: RatePolicy): CompleteRatePolicy;
/** Fills in the defaults of an upgrade policy. */
export function completePolicy(policy: UpgradePolicy): CompleteUpgradePolicy;
/** Fills in the defaults of a policy of either kind. */
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
  const choice = typeof baseline === "string" ? { model: baseline } : baseline;
  return { ...defaults, discordance: 0.2, ...policy, baseline: choice };
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
}

/** Returns the two values that a policy separates. */
export function hypothesesOf(policy: CompletePolicy): Hypotheses {
  return isUpgrade(policy)
    ? { pass: -policy.margin, fail: 0 }
    : { pass: policy.successRate - policy.margin, fail: policy.successRate };
}
