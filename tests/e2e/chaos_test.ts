// A short run against a server that does all that servers and networks do: see tests/soak/ for a long one.

import { assert, assertEquals, assertGreater, assertMatch } from "@std/assert";
import { Connections } from "../../lib/models/connect.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import { CHAOS_KINDS } from "../support/chaos_faults.ts";
import { startChaosServer } from "../support/chaos_server.ts";
import { Folder } from "../support/folders.ts";

/** The long run of tests/soak/ draws a fresh one each time. */
const SEED = Number(Deno.env.get("CHAOS_SEED") ?? 1);

Deno.test("Run gets right through whatever a server does, and blames no model for it", async () => {
  const told = `repeat with CHAOS_SEED=${SEED}`;
  using folder = new Folder();
  await using server = startChaosServer({ seed: SEED, rate: 0.3, retryAfter: "0.1" });
  const entry = { model: "sim:planner", baseURL: server.url };
  const plan = planSuite({
    name: "chaos",
    seed: 1,
    graphs: 75,
    // What a server claims to have read and written spoils no trial.
    limits: { tokens: 1_000_000 },
    tasks: [{ core: 4, depth: 2, connected: 1 }],
    models: [entry, { ...entry, api: "responses" }],
  });
  const journal = folder.file("a.jsonl");
  const rejections: unknown[] = [];
  const reject = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    rejections.push(event.reason);
  };
  addEventListener("unhandledrejection", reject);
  try {
    await using connections = new Connections({ requestTimeout: 1_000, backoff: 20 });
    using run = new Run(plan, {
      connect: (entry) => connections.model(entry),
      concurrency: 32,
      journal,
    });
    await run.all();
  } finally {
    removeEventListener("unhandledrejection", reject);
  }
  const { counts } = server;
  assertEquals([rejections, counts.errors, counts.elsewhere], [[], [], 0], told);
  for (const { name } of CHAOS_KINDS) assertGreater(counts.kinds[name]!, 0, `${name}: ${told}`);

  const { trials } = readResults([journal]);
  const lines = folder.read("a.jsonl").trimEnd().split("\n");
  assertEquals(lines.length, 1 + plan.trials.length, told);
  assertEquals(trials.map(({ id }) => id), plan.trials.map(({ id }) => id), told);
  // A request that is never answered, by a server that answers others, may be that of a slow model.
  const silent = trials.filter(({ outcome }) => outcome === "time_limit");
  const hung = CHAOS_KINDS.filter(({ silent }) => silent)
    .reduce((sum, { name }) => sum + counts.kinds[name]!, 0);
  assert(silent.length <= hung, `${silent.length} of ${hung} hung: ${told}`);
  const spoiled = trials.filter(({ outcome }) => outcome !== "solved" && outcome !== "time_limit");
  for (const { id, outcome, reason, failures } of spoiled) {
    // A call that the server garbled before, its name or its arguments, is one that its model may have written.
    const { events } = JSON.parse(
      lines.find((line) => line.includes(`"id":${JSON.stringify(id)}`))!,
    );
    const garbled = events.some(({ parsed }: { parsed?: string }) => parsed === "unreadable");
    assertEquals(
      [outcome, garbled ? [] : failures.filter(({ type }) => type !== "function_not_found")],
      ["invalid", []],
      `${id}: ${reason}; ${told}`,
    );
    assertMatch(reason!, /^Cannot .* \(([4-9]|\d\d) attempts\)$/, `${id}; ${told}`);
  }
  // About one request in two hundred fails four times, and a trial makes five.
  assert(spoiled.length < trials.length / 3, `${spoiled.length} are invalid: ${told}`);
});
