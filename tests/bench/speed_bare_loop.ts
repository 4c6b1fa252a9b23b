// The bare loop in one test: the least that `deno test` takes for what `deno task ratios` measures.
import OpenAI from "openai";
import { runBare } from "./bare_loop.ts";
import type { Work } from "./workload.ts";

const { SPEED_URL = "", SPEED_WORK = "", SPEED_TRIALS = "1" } = Deno.env.toObject();

Deno.test("all trials", async () => {
  const work: Work = JSON.parse(Deno.readTextFileSync(SPEED_WORK));
  const client = new OpenAI({ baseURL: SPEED_URL, apiKey: "none" });
  await runBare(work, { client, trials: Number(SPEED_TRIALS), concurrency: 8 });
});
