// Recovery rates: of trials made by hand, and of simulated models whose reactions are known.

import { assert, assertEquals } from "@std/assert";
import { FAULTS } from "../../../lib/tools/fault.ts";
import type { Model } from "../../../lib/models/model.ts";
import type { RecoveryEnd } from "../../../lib/calls/recovery.ts";
import { measureRecovery } from "../../../lib/reports/metrics/_recovery.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { inProcess } from "../../support/in_process.ts";
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

/** Faults that go away when a call is made again. */
const TRANSIENT = FAULTS.filter((kind) => kind !== "permission_denied" && kind !== "slow");
const SEEDS = Array.from({ length: 12 }, (_, place) => place + 1);
const specOf = (seed: number) => ({ core: 4, depth: 2, connected: 1, disconnected: 1, seed });

async function trialsOf(model: Model, ids: readonly string[] = TRANSIENT): Promise<Trial[]> {
  const trials = [];
  for (const perturbation of ids) {
    for (const seed of SEEDS) trials.push(await runTrial(specOf(seed), model, { perturbation }));
  }
  return trials;
}

Deno.test("a simulated model that tries again recovers always, one that does not never", async () => {
  const single = TRANSIENT.filter((kind) => kind !== "flaky");
  const [planner] = measureRecovery(await trialsOf(inProcess("sim:planner"), single));
  const { total } = planner!;
  assertEquals([total.episodes, total.ends.recovered, total.attempts], [
    ...[single.length * SEEDS.length, single.length * SEEDS.length, 1],
  ]);
  assertEquals(
    planner!.faults.map(({ fault, rate }) => [fault, rate]),
    single.map((id) => [id, 1]),
  );

  const [meek] = measureRecovery(await trialsOf(inProcess("sim:noisy?giveup=1")));
  assert(meek!.total.episodes >= single.length * SEEDS.length);
  assertEquals(meek!.total.ends.gave_up, meek!.total.episodes);
  const [bold] = measureRecovery(await trialsOf(inProcess("sim:noisy?invent=1")));
  assertEquals(bold!.total.ends.hallucinated, bold!.total.episodes);
  for (const { faults } of [meek!, bold!]) {
    assertEquals(faults.map(({ rate }) => rate), faults.map(() => 0));
  }
});

Deno.test("where permission is denied for good, only who says so is right", async () => {
  for (
    const [model, outcome, end] of [
      ["sim:planner", "abstained", "gave_up"],
      ["sim:noisy?giveup=1", "abstained", "gave_up"],
      ["sim:noisy?invent=1", "wrong_answer", "hallucinated"],
    ] as const
  ) {
    const trials = await trialsOf(inProcess(model), ["permission_denied"]);
    assertEquals(new Set(trials.map((one) => one.outcome)), new Set([outcome]));
    const [metrics] = measureRecovery(trials);
    assertEquals(metrics!.total.ends[end], SEEDS.length);
    assertEquals(metrics!.total.rate, outcome === "abstained" ? 1 : 0);
  }
});
