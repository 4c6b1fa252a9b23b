import { conclude, type DecideOptions, type Verdict } from "../../lib/gate/decide.ts";
import { DIFFERENCES, type Pair, RATES, type Unit } from "../../lib/gate/evidence.ts";
import { type RatePolicy, readPolicy, type UpgradePolicy } from "../../lib/gate/policy.ts";

/** Decides an absolute gate over graphs. */
export function decide(
  units: readonly Unit[],
  policy: RatePolicy,
  options: DecideOptions = {},
): Verdict {
  return conclude(units, RATES, readPolicy(policy, "the policy"), options) as Verdict;
}

/** Decides an upgrade gate over graphs that both models ran. */
export function decideUpgrade(
  pairs: readonly Pair[],
  policy: UpgradePolicy,
  options: DecideOptions = {},
): Verdict {
  return conclude(pairs, DIFFERENCES, readPolicy(policy, "the policy"), options) as Verdict;
}
