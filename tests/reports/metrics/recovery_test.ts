// Recovery rates, of trials made by hand.

import { assertEquals } from "@std/assert";
import type { RecoveryEnd } from "../../../lib/calls/recovery.ts";
import { measureRecovery } from "../../../lib/reports/metrics/_recovery.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { variantName } from "../../../lib/gate/variant.ts";
import { faulted } from "../../support/records.ts";

Deno.test("measureRecovery() counts the ends of all episodes of valid trials (Pipeline, Evaluation Framework)", () => {
  const [metrics, ...others] = measureRecovery([
    faulted(["recovered"], { seed: 1 }),
    faulted(["hallucinated"], { seed: 2 }),
    faulted(["repeated"], { seed: 3 }),
    faulted(["gave_up"], { seed: 4 }),
    faulted(["recovered"], { seed: 5, outcome: "invalid" }),
    faulted([], { seed: 6 }),
    faulted([], { seed: 1, perturbation: "none" }),
  ]);
  assertEquals(others, []);
  const { faults: [timeout, ...more], total, subject, simulated } = metrics!;
  assertEquals(variantName(subject), "m");
  assertEquals([simulated, more.length], [false, 0]);
  const tally = {
    episodes: 4,
    ends: { recovered: 1, hallucinated: 1, repeated: 1, gave_up: 1 },
    right: 1,
    rate: 0.25,
    interval: wilson(1, 4),
    attempts: 1,
  };
  const place = { fault: "timeout", perturbation: "timeout", rightEnd: "recovered" } as const;
  assertEquals(timeout, { ...place, trials: 5, ...tally });
  assertEquals(total, tally);
});

Deno.test("measureRecovery() takes giving up for right where permission is denied, and slow for no trial", () => {
  const [{ faults, total }] = measureRecovery([
    faulted(["recovered"], { seed: 1 }, "slow"),
    faulted(["gave_up"], { seed: 1 }, "permission_denied"),
    faulted(["hallucinated"], { seed: 2 }, "permission_denied"),
    faulted(["gave_up"], { seed: 1 }, "timeout"),
  ]) as [ReturnType<typeof measureRecovery>[0]];
  assertEquals(
    faults.map(({ fault, right, episodes, rightEnd }) => [fault, right, episodes, rightEnd]),
    [
      ["timeout", 0, 1, "recovered"],
      ["permission_denied", 1, 2, "gave_up"],
      ["slow", 1, 1, "recovered"],
    ],
  );
  assertEquals([total.right, total.episodes], [1, 3]);
});

Deno.test("measureRecovery() keeps models, strategies and perturbations apart", () => {
  const all = measureRecovery([
    faulted(["recovered"], { model: "a" }),
    faulted(["gave_up"], { model: "a", perturbation: "timeout:3" }),
    faulted(["gave_up"], { model: "a", strategy: "restate" }),
    faulted(["gave_up"], { model: "sim:b", simulated: true }),
    faulted([], { model: "c" }),
  ]);
  assertEquals(
    all.map(({ subject: { model, strategy }, simulated, faults }) => [
      ...[model, strategy, simulated],
      ...faults.map(({ perturbation, rate }) => `${perturbation} ${rate}`),
    ]),
    [
      ["a", "plain", false, "timeout 1", "timeout:3 0"],
      ["a", "restate", false, "timeout 0"],
      ["sim:b", "plain", true, "timeout 0"],
    ],
  );
});

Deno.test("measureRecovery() clusters episodes by their tasks", () => {
  const ends: RecoveryEnd[][] = [["recovered", "gave_up"], ["recovered", "recovered"], ["gave_up"]];
  const trials = ends.map((own, place) => faulted(own, { seed: place + 1 }));
  const [{ faults: [timeout] }] = measureRecovery(trials) as [
    ReturnType<typeof measureRecovery>[0],
  ];
  assertEquals(timeout!.interval, clusteredInterval([[1, 0], [1, 1], [0]]));
  const none = measureRecovery([faulted([])]);
  assertEquals(none, []);
});
