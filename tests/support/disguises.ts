/**
 * A server of which most replies are faults: of infrastructure, of unclear cause, and of the model, as servers
 * disguise them. It keeps what it did to each trial, so that each can be counted on the right side.
 */

import { assert, assertEquals } from "@std/assert";
import { sample } from "@std/random";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { Connections } from "../../lib/models/connect.ts";
import { fork } from "../../lib/base/random.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";

type Side = "model" | "infrastructure" | "unclear";

const WRITTEN = '{"left": 1, "right": }';

function failing(status: number, message: string, more: Record<string, unknown> = {}) {
  return () =>
    Response.json({ error: { message, ...more } }, {
      ...{ status, headers: { "retry-after-ms": "1" } },
    });
}

function finishing(finish_reason: string) {
  return () =>
    Response.json({ choices: [{ finish_reason, message: { role: "assistant", content: null } }] });
}

const FAULTS: Readonly<Record<Side, readonly (() => Response)[]>> = {
  model: [
    failing(500, `error parsing tool call: raw='${WRITTEN}', err=invalid character`),
    failing(500, `Failed to parse input at pos 3: <tool_call>${WRITTEN}`),
    failing(400, "Failed to call a function", {
      ...{ code: "tool_use_failed", failed_generation: `<function=add>${WRITTEN}</function>` },
    }),
    finishing("tool_calls"),
    finishing("malformed_function_call"),
  ],
  infrastructure: [
    failing(429, "Rate limit reached"),
    failing(502, "Bad gateway"),
    failing(503, "Overloaded"),
    failing(529, "Overloaded"),
    failing(500, "The server had an error while processing your request", { type: "server_error" }),
  ],
  unclear: [
    failing(500, "panic: runtime error"),
    () => Response.json({ model: "m" }),
    () => new Response("<html>oops", { headers: { "content-type": "application/json" } }),
  ],
};

/** What was done to a trial. */
type Counts = Record<Side, number>;

/**
 * Runs `trials` trials, 60% of whose requests meet a fault, a third of these the model's, and asserts that each
 * is counted on the right side. Returns how many faults there were of each side, and invalid trials.
 */
export async function countDisguised(trials: number, seed: number) {
  const done = new Map<string, Counts>();
  const { prng } = fork(seed, "disguises");
  const one = <T>(all: readonly T[]) => sample(all, { prng })!;
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const asked = await request.json();
      const prompt: string = asked.messages[0].content;
      const counts = done.get(prompt) ?? { model: 0, infrastructure: 0, unclear: 0 };
      done.set(prompt, counts);
      const drawn = prng();
      if (drawn >= 0.6) return Response.json(parseSimulatedModel(asked.model).reply(asked));
      const side = drawn < 0.2 ? "model" : drawn < 0.4 ? "infrastructure" : "unclear";
      counts[side]++;
      return one(FAULTS[side])();
    },
  );
  const plan = planSuite({
    ...{ name: "disguised", seed, graphs: trials, tasks: [{ core: 3, depth: 2 }] },
    models: [{ model: "sim:planner", baseURL: `http://127.0.0.1:${server.addr.port}/v1` }],
  });
  const connections = new Connections({ backoff: 1, retries: 8 });
  using run = new Run(plan, { connect: (entry) => connections.model(entry), concurrency: 32 });
  const sums = { model: 0, infrastructure: 0, unclear: 0, invalid: 0 };
  for (const place of plan.trials.keys()) {
    const trial = await run.trial(place);
    assert(trial.kind === "trial");
    run.forget(place);
    using fixture = openTask(trial.task, { perturbation: "none" });
    const sent = done.get(fixture.prompt)!;
    const replies = trial.events.filter((event) => event.kind === "reply");
    const failed = replies.flatMap((reply) => reply.failed ?? []);
    const told = `seed ${seed}: ${trial.id}: ${trial.outcome} ${trial.reason}`;
    assertEquals(replies.filter(({ parsed }) => parsed === "unreadable").length, sent.model, told);
    for (const side of ["infrastructure", "unclear"] as const) {
      const kept = failed.filter(({ cause }) => cause === side).length;
      // Of an invalid trial the last request has no reply that could tell of its attempts.
      if (trial.outcome === "invalid") assert(kept <= sent[side], told);
      else assertEquals(kept, sent[side], told);
      sums[side] += sent[side];
    }
    if (trial.outcome === "invalid") sums.invalid++;
    sums.model += sent.model;
  }
  return sums;
}
