/**
 * What runners make of `contract.ts`, which environment variables change: the numbers of tests that passed, failed and
 * were skipped, in the order Deno, node, vitest, bun; those that a name filter or `only` leaves out count as skipped in
 * node and vitest.
 */

/** What a runner printed at its end: passed, failed, skipped. */
export type Counts = readonly [passed: number, failed: number, skipped: number];

/** A case, with the variables that it sets. */
export interface Case {
  readonly env: Readonly<Record<string, string>>;
  /** The counts of each runner; `undefined` where it prints none, or what ran before by chance. */
  readonly counts: Readonly<Record<"deno" | "node" | "vitest" | "bun", Counts | undefined>>;
  /** Runners that fail. */
  readonly fails: readonly string[];
  /** What all that fail print. */
  readonly prints: RegExp;
}

const ALL = ["deno", "node", "vitest", "bun"];

/** What all print without a variable: the command for the failed trial, and the place of the assertion. */
export const FAILURE = /rerun: [^]*contract\.test\.ts[^]*contract\.test\.ts:38:3/;

/** The cases. */
export const CASES: readonly Case[] = [
  {
    // With what a test of Deno or node must not leave behind, and the others refuse in CI.
    env: { CONTRACT_ONLY: "1", CI: "" },
    counts: { deno: [1, 0, 0], node: [1, 1, 47], vitest: [1, 0, 47], bun: [1, 0, 0] },
    fails: ["deno", "node"],
    prints: /"only"/,
  },
  {
    // Bun has it as an error of the file.
    env: { CONTRACT_REFUSED: "1" },
    counts: { deno: [46, 2, 1], node: [46, 2, 1], vitest: [46, 2, 1], bun: [46, 1, 1] },
    fails: ALL,
    prints: /Cannot use tool test refused:\n.*trials[^]*contract\.test\.ts:61:/,
  },
  {
    env: { CONTRACT_THROWS: "1" },
    counts: { deno: undefined, node: [0, 1, 0], vitest: undefined, bun: undefined },
    fails: ALL,
    prints: /the file is broken/,
  },
  {
    env: { CONTRACT_EXITS: "1" },
    counts: { deno: undefined, node: undefined, vitest: [46, 2, 1], bun: undefined },
    fails: ALL,
    prints: /\.exit\b|ended before its tests did/,
  },
];
