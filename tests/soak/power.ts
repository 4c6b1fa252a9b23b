// All the tables of sequential gates that the README of the benchmarks shows. Takes half a minute:
// deno task soak

import { assert, assertLessOrEqual } from "@std/assert";
import { isUpgrade } from "../../lib/gate/policy.ts";
import { GATES, powerTables, simulatePower } from "../bench/power.ts";

/** Three standard errors of a share of 5% among the simulated gates. */
const NOISE = 3 * Math.sqrt(0.05 * 0.95 / GATES);

Deno.test("powerTables() are what the README of the benchmarks shows, and keep what it promises", async () => {
  const powers = simulatePower();
  const readme = await Deno.readTextFile(new URL("../bench/README.md", import.meta.url));
  assert(readme.includes(`${powerTables(powers)}\n`), "run deno task power");
  for (const { policy, fixedSize, good, worse } of powers) {
    for (const { fail } of good) assertLessOrEqual(fail, 0.05 + NOISE);
    for (const { pass } of worse) assertLessOrEqual(pass, 0.05 + NOISE);
    // Where margin and discordance are closest, a model that is as good is undecided more often.
    const most = isUpgrade(policy) && policy.discordance < 0.2 ? 0.05 : 0.03;
    for (const { units, undecided } of [good[0]!, worse[0]!]) {
      assertLessOrEqual(units, 0.55 * fixedSize);
      assertLessOrEqual(undecided, most);
    }
  }
});
