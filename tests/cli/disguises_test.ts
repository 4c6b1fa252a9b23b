// Faults of models that look like those of servers: see tests/soak/ for many.

import { assertGreater } from "@std/assert";
import { countDisguised } from "../support/disguises.ts";

Deno.test("every fault is counted on the right side, whatever it looks like", async () => {
  const { model, infrastructure, unclear } = await countDisguised(60, 1);
  for (const count of [model, infrastructure, unclear]) assertGreater(count, 60);
});
