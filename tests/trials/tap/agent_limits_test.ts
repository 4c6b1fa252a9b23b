// Limits of trials whose agents do not heed them: nothing is waited for but the end of programs.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Connections } from "../../../lib/models/connect.ts";
import { TimeLimitError } from "../../../lib/models/model.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import type { Agent } from "../../../lib/trials/own_agent.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { plainLoop } from "../../support/agents/plain_loop.ts";

const SPEC = { core: 2, depth: 1, connected: 0, disconnected: 0, seed: 7 };
const MUTE = scripted("mute", () => ({ text: "Nobody asks." }));

Deno.test("limits.seconds ends the trial of an agent that never ends, and ignores its signal", async () => {
  let signal: AbortSignal | undefined;
  const never: Agent = (_, options) => {
    signal = options.signal;
    return new Promise(() => {});
  };
  const trial = await runTrial(SPEC, MUTE, { agent: never, limits: { seconds: 0.05 } });
  assertEquals([trial.outcome, trial.events.at(-1)], ["time_limit", {
    ...{ kind: "stop", reason: "time_limit", message: "0.05 seconds are over" },
  }]);
  assertStringIncludes(String(signal!.reason), "The trial is over");
});

Deno.test("a limit ends the trial of an agent that asks on and on, and its later calls are none", async () => {
  const connections = new Connections();
  const over = Promise.withResolvers<string>();
  let later: unknown;
  const stubborn: Agent = async (task, options) => {
    const one = plainLoop({ api: "chat", streamed: false });
    await one(task, options).catch(() => {});
    later = await task.tools[0]!.execute({}).catch((error) => error.message);
    return await over.promise;
  };
  const model = connections.model({ model: "sim:planner" });
  const trial = await runTrial(SPEC, model, { agent: stubborn, limits: { steps: 1 } });
  while (later === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
  over.resolve("");
  assertEquals(trial.outcome, "step_limit");
  assertEquals(callsOf(trial.events).map(({ step }) => step), [1]);
  assertStringIncludes(String(later), "The trial is over: 1 replies, and no answer among them");
});

Deno.test("an agent that throws a TimeLimitError has reached its time limit", async () => {
  const agent: Agent = () => Promise.reject(new TimeLimitError("no more than 3 s\nfor it"));
  const trial = await runTrial(SPEC, MUTE, { agent });
  assertEquals(trial.outcome, "time_limit");
  const [stop] = trial.events.slice(-1);
  assertEquals(stop?.kind === "stop" && stop.message, "no more than 3 s\\nfor it");
});
