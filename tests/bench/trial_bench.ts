import OpenAI from "openai";
import { Connections } from "../../lib/models/connect.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { runBare } from "./bare_loop.ts";
import { answersOf } from "./mock_server.ts";
import { suiteOf, workOf } from "./workload.ts";

const HEADERS = { "content-type": "application/json" };
const work = workOf(40);
const answer = answersOf(work);
// Within this process, so that what the server takes is in all figures alike.
const server = Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen() {} },
  async (request) => new Response(answer(await request.text()), { headers: HEADERS }),
);
server.unref();

const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
const planned = planSuite(suiteOf(40, baseURL)).trials;
const client = new OpenAI({ baseURL, apiKey: "none" });
const connections = new Connections();
const model = connections.model({ model: work.model, baseURL });

Deno.bench(
  "bare loop around OpenAI's client, 8 trials",
  { group: "8 trials of 6 requests", baseline: true },
  async () => {
    if (await runBare(work, { client, trials: 8, concurrency: 8 }) !== 8) throw new Error("lost");
  },
);

Deno.bench("runTrial(), 8 trials", { group: "8 trials of 6 requests" }, async () => {
  const trials = await Promise.all(planned.slice(0, 8).map((one) => runTrial(one, model)));
  const unsolved = trials.find(({ solved }) => !solved);
  if (unsolved !== undefined) throw new Error(unsolved.outcome);
});
