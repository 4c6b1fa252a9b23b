// A short run against a server that does all that servers and networks do: see tests/soak/ for a long one.

import { assert, assertEquals, assertGreater, assertMatch } from "@std/assert";
import { Connections } from "../../lib/models/connect.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import { readLines } from "../support/child.ts";
import { CHAOS_KINDS } from "../support/chaos_faults.ts";
import { startChaosServer } from "../support/chaos_server.ts";
import { Folder } from "../support/folders.ts";

/** The long run of tests/soak/ draws a fresh one each time. */
const SEED = Number(Deno.env.get("CHAOS_SEED") ?? 1);

/** Trials that run at the same time. */
const CONCURRENCY = 32;

/** The trials of both APIs at a server. */
function planAt(baseURL: string, graphs: number): Plan {
  const entry = { model: "sim:planner", baseURL };
  return planSuite({
    name: "chaos",
    seed: 1,
    graphs,
    // What a server claims to have read and written spoils no trial.
    limits: { tokens: 1_000_000 },
    tasks: [{ core: 4, depth: 2, connected: 1 }],
    models: [entry, { ...entry, api: "responses" }],
  });
}

/** Milliseconds that a reply of a sound server takes at most here and now, as others may use the machine. */
async function slowestReply(): Promise<number> {
  let slowest = 0;
  await using server = startChaosServer({ seed: SEED, rate: 0 });
  const connections = new Connections();
  using run = new Run(planAt(server.url, CONCURRENCY / 2), {
    connect(entry) {
      const model = connections.model(entry);
      return {
        ...{ name: model.name, simulated: model.simulated },
        async reply(request) {
          const started = performance.now();
          const reply = await model.reply(request);
          slowest = Math.max(slowest, performance.now() - started);
          return reply;
        },
      };
    },
    concurrency: CONCURRENCY,
  });
  await run.all();
  return slowest;
}

Deno.test("Run gets right through whatever a server does, and blames no model for it", async () => {
  const told = `repeat with CHAOS_SEED=${SEED}`;
  using folder = new Folder();
  await using server = startChaosServer({ seed: SEED, rate: 0.3, retryAfter: "0.1" });
  const plan = planAt(server.url, 50);
  // What takes longer counts as silent.
  const requestTimeout = Math.max(1_000, Math.ceil(10 * await slowestReply()));
  const journal = folder.file("a.jsonl");
  const rejections: unknown[] = [];
  const reject = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    rejections.push(event.reason);
  };
  addEventListener("unhandledrejection", reject);
  try {
    const connections = new Connections({ requestTimeout, backoff: 20 });
    using run = new Run(plan, {
      connect: (entry) => connections.model(entry),
      concurrency: CONCURRENCY,
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
  const lines = readLines(journal);
  assertEquals(lines.length, 1 + plan.trials.length, told);
  assertEquals(trials.map(({ id }) => id), plan.trials.map(({ id }) => id), told);
  // A request that is never answered, by a server that answers others, may be that of a slow model.
  const silent = trials.filter(({ outcome }) => outcome === "time_limit");
  const hung = CHAOS_KINDS.filter(({ silent }) => silent)
    .reduce((sum, { name }) => sum + counts.kinds[name]!, 0);
  assert(silent.length <= hung, `${silent.length} of ${hung} hung: ${told}`);
  const spoiled = trials.filter(({ outcome }) => outcome !== "solved" && outcome !== "time_limit");
  for (const { id, outcome, reason, failures } of spoiled) {
    assertEquals([outcome, failures], ["invalid", []], `${id}: ${reason}; ${told}`);
    assertMatch(reason!, /^Cannot .* \(([4-9]|\d\d) attempts\)$/, `${id}; ${told}`);
  }
  // About one request in two hundred fails four times, and a trial makes five.
  assert(spoiled.length < trials.length / 3, `${spoiled.length} are invalid: ${told}`);
});
