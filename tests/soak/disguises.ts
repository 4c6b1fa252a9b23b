// 1,500 trials of which most requests meet a fault, a third of them the model's in disguise.

import { assertGreater } from "@std/assert";
import { freshSeed } from "../../lib/base/random.ts";
import { countDisguised } from "../support/disguises.ts";

const SEED = Number(Deno.env.get("CHAOS_SEED") ?? freshSeed());
const TRIALS = 1_500;

Deno.test("every fault is counted on the right side, whatever it looks like", async () => {
  const counts = await countDisguised(TRIALS, SEED);
  console.log(`CHAOS_SEED=${SEED}`, counts);
  assertGreater(counts.model, TRIALS);
});
