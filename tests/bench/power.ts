/** What sequential gates take and how they end, simulated: the tables of the README beside this. */

import {
  type CompletePolicy,
  completePolicy,
  type GatePolicy,
  hypothesesOf,
  isUpgrade,
} from "../../lib/gate/policy.ts";
import { fork } from "../../lib/base/random.ts";
import {
  drawDifference,
  drawOutcome,
  type Sample,
  type SequentialChances,
  type SequentialRule,
  sequentialRule,
} from "../../lib/gate/sequential.ts";

/** Gates that are simulated for each figure, and the seed of all draws. */
export const GATES = 10_000;
export const SEED = 1;
/** Graphs between two looks, one of every cell. */
export const BLOCK_SIZES = [1, 6, 12, 24] as const;

const POLICIES: readonly GatePolicy[] = [
  { successRate: 0.5, margin: 0.05 },
  { successRate: 0.6, margin: 0.05 },
  { successRate: 0.7, margin: 0.05 },
  { successRate: 0.8, margin: 0.05 },
  { successRate: 0.9, margin: 0.05 },
  { successRate: 0.7, margin: 0.1 },
  { baseline: "old", margin: 0.05, discordance: 0.1 },
  { baseline: "old", margin: 0.05, discordance: 0.2 },
  { baseline: "old", margin: 0.05, discordance: 0.3 },
  { baseline: "old", margin: 0.05, discordance: 0.4 },
];

/** One policy: the size of its fixed gate, and how its sequential gates end by block size. */
export interface Power {
  readonly policy: CompletePolicy;
  readonly fixedSize: number;
  /** For a model that is just good enough. */
  readonly good: readonly SequentialChances[];
  /** For a model that is worse by the margin. */
  readonly worse: readonly SequentialChances[];
}

/** Simulates the sequential gates of a policy. */
export function powerOf(
  given: GatePolicy,
  gates = GATES,
  blockSizes: readonly number[] = BLOCK_SIZES,
): Power {
  const policy = completePolicy(given);
  const { pass, fail } = hypothesesOf(policy);
  const rules = blockSizes.map((blockSize) => sequentialRule(policy, blockSize));
  const chancesAt = (mean: number) => chancesOf(policy, rules, drawing(policy, mean), gates);
  const { fixedSize } = rules[0]!;
  return { policy, fixedSize, good: chancesAt(fail), worse: chancesAt(pass) };
}

/** Draws graphs of a model whose success rate, or whose difference from the baseline's, is `mean`. */
export function drawing(policy: CompletePolicy, mean: number): () => Sample {
  const { prng } = fork(SEED, nameOf(policy), mean);
  if (!isUpgrade(policy)) return () => drawOutcome(prng, mean);
  const { discordance } = policy;
  return () => drawDifference(prng, discordance, mean);
}

/**
 * What `simulateGates()` shows, for graphs without invalid trials, of all block sizes at once: they share
 * the walks of both capitals and differ only in when they look, which saves most of the time.
 */
function chancesOf(
  policy: CompletePolicy,
  rules: readonly SequentialRule[],
  draw: () => Sample,
  gates: number,
): SequentialChances[] {
  const { lambda, alpha, beta } = rules[0]!;
  const hypotheses = hypothesesOf(policy);
  // What a graph adds to the logarithm of a capital, by its value from -1 on.
  const gainsOf = (side: "pass" | "fail") =>
    [-1, 0, 1].map((value) => Math.log1p(lambda[side] * (value - hypotheses[side])));
  const gains = { pass: gainsOf("pass"), fail: gainsOf("fail") };
  const counts = rules.map(() => ({ pass: 0, fail: 0, undecided: 0, units: 0 }));
  for (let gate = 0; gate < gates; gate++) {
    const open = new Set(rules.keys());
    let [pass, fail] = [0, 0];
    for (let units = 1; open.size > 0; units++) {
      const { worst } = draw();
      pass += gains.pass[worst + 1]!;
      fail += gains.fail[worst + 1]!;
      const decision = pass >= -Math.log(alpha)
        ? "pass"
        : fail >= -Math.log(beta)
        ? "fail"
        : undefined;
      for (const index of open) {
        const { blockSize, largestSize } = rules[index]!;
        if (units % blockSize > 0 || (decision === undefined && units < largestSize)) continue;
        counts[index]![decision ?? "undecided"]++;
        counts[index]!.units += units;
        open.delete(index);
      }
    }
  }
  return counts.map((ends) => ({
    pass: ends.pass / gates,
    fail: ends.fail / gates,
    undecided: ends.undecided / gates,
    units: ends.units / gates,
  }));
}

function nameOf(policy: CompletePolicy): string {
  return isUpgrade(policy)
    ? `upgrade, margin ${policy.margin}, discordance ${policy.discordance}`
    : `rate ${policy.successRate}, margin ${policy.margin}`;
}

/** All policies of the tables. */
export function simulatePower(gates = GATES): Power[] {
  return POLICIES.map((policy) => powerOf(policy, gates));
}

/** The tables, in Markdown: what gates take, and how they end. */
export function powerTables(powers: readonly Power[]): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
  const table = (
    cellOf: (chances: SequentialChances, of: Power, error: "pass" | "fail") => string,
  ) =>
    markdown([
      ["gate", "fixed size", "model", ...BLOCK_SIZES.map((size) => `blocks of ${size}`)],
      ...powers.flatMap((of) => [
        [
          nameOf(of.policy),
          String(of.fixedSize),
          "good enough",
          ...of.good.map((chances) => cellOf(chances, of, "fail")),
        ],
        ["", "", "worse by the margin", ...of.worse.map((chances) => cellOf(chances, of, "pass"))],
      ]),
    ]);
  const sizes = table(({ units }, { fixedSize }) => percent(units / fixedSize));
  const ends = table((chances, _, error) =>
    `${percent(chances[error])}, ${percent(chances.undecided)}`
  );
  return `Graphs that a gate takes on average, as a share of the fixed size:

${sizes}

Gates that err (fail the good enough, pass the worse), and gates that end undecided:

${ends}`;
}

/** A table as `deno fmt` leaves it. */
function markdown([head, ...body]: readonly (readonly string[])[]): string {
  const widths = head!.map((_, column) =>
    Math.max(...[head!, ...body].map((row) => row[column]!.length))
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(head!), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join(
    "\n",
  );
}

if (import.meta.main) console.log(powerTables(simulatePower()));
