// Reports of more trials than a call takes arguments. Takes seconds: deno task soak

import { assertEquals } from "@std/assert";
import { measure } from "../../lib/reports/metrics/metrics.ts";
import { record } from "../support/records.ts";

Deno.test("measure() takes more graphs than a call takes arguments", () => {
  const trial = record();
  const trials = Array.from({ length: 140_000 }, (_, seed) => ({
    ...trial,
    task: { core: 3, depth: 2, connected: 0, disconnected: 0, seed },
  }));
  const [{ total, repetition }] = measure(trials) as [ReturnType<typeof measure>[number]];
  assertEquals([total.solved, repetition], [140_000, null]);
});
