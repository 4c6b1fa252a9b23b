/**
 * A run of many trials, whose model answers within the process, as `toolgate run` carries them out: with a journal,
 * and without keeping those that have ended.
 *
 * deno run --allow-all tests/bench/many_trials_run.ts TRIALS JOURNAL
 */

import type { Model, ModelReply } from "../../lib/models/model.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import { suiteOf, TASKS, workOf } from "./workload.ts";

/** A reply as the server of the other benchmarks writes it. */
function replyOf(answer: string): ModelReply {
  const { message } = JSON.parse(answer).choices[0];
  const calls: { id: string; function: { name: string; arguments: string } }[] =
    message.tool_calls ?? [];
  return {
    text: message.content ?? "",
    calls: calls.map(({ id, function: { name, arguments: written } }) => ({
      ...{ id, name, arguments: written },
    })),
    finish: calls.length > 0 ? "calls" : "stop",
    usage: { inputTokens: 500, outputTokens: 30 },
    served: "mock-1",
    repairs: [],
    duration: 1,
  };
}

const replies = new Map(
  workOf(TASKS).conversations.map(({ prompt, answers }) => [prompt, answers.map(replyOf)]),
);
const model: Model = {
  name: "mock-1",
  simulated: false,
  reply: ({ messages }) => {
    const prompt = messages.find(({ role }) => role === "user")!.content;
    const replied = messages.filter(({ role }) => role === "assistant").length;
    return Promise.resolve(replies.get(prompt)![replied]!);
  },
};

const [trials, journal] = Deno.args as [string, string];
const plan = planSuite(suiteOf(Number(trials), "http://none"));
await using run = new Run(plan, { journal, connect: () => model });
for (const place of plan.trials.keys()) {
  await run.trial(place);
  run.forget(place);
}
