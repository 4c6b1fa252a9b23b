// 100 runs of conversations whose customers are bad in 3 of 10 trials, each with a seed of its own: deno task soak

import { assert } from "@std/assert";
import { freshSeed } from "../../lib/base/random.ts";
import { verdictsOf } from "../support/shop_conversations.ts";

const SEED = Number(Deno.env.get("CHAOS_SEED") ?? freshSeed());

Deno.test("no gate passes a bad clerk, and none blames a good one, whoever their customers are", async () => {
  const seeds = Array.from({ length: 100 }, (_, run) => SEED + run);
  const { careful, careless } = await verdictsOf(seeds, 2);
  const count = (kinds: string[][]) =>
    kinds.map((own) => [...Map.groupBy(own, String)].map(([kind, { length }]) => [kind, length]));
  console.log(`CHAOS_SEED=${SEED}`, JSON.stringify([careful, careless].map(count)));
  assert(!careful.flat().includes("fail"));
  assert(!careless.flat().includes("pass"));
});
