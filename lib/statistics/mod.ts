/**
 * Intervals, tests and sample sizes of proportions, paired or clustered. Numbers in, numbers out.
 * @module
 */

export { cohenKappa, type Kappa } from "./agreement.ts";
export type { JointMean, MeanEstimate } from "./clustered_mean.ts";
export { type Correlation, pearson } from "./correlation.ts";
export { driftDelay, type DriftStake, driftStakes, DriftSum, driftThreshold } from "./drift.ts";
export { pairedDetectableEffect, pairedSampleSize } from "./paired_sample_size.ts";
export { clusteredInterval, clusteredStandardError, passAtK, passHatK } from "./pass_at_k.ts";
export {
  type Alternative,
  binomialTest,
  type Bounds,
  clopperPearson,
  mcNemar,
  newcombe,
  tango,
  wilson,
} from "./proportions.ts";
export {
  rateDetectableEffect,
  rateSampleSize,
  type SizingOptions,
  unpairedDetectableEffect,
  unpairedSampleSize,
} from "./sample_size.ts";
export { type SignFlip, signFlip, type SignFlipOptions, type Tally } from "./sign_flip.ts";
export { stratifiedDifference, type Stratum } from "./two_samples.ts";
