// A test file of a user, who has the package alone: every runner makes the same of it.

import {
  assertAnswer,
  assertCalled,
  benchmark,
  scripted,
  tool,
  toolTest,
  type ToolTestRun,
} from "@toolgate/toolgate";
import process from "node:process";
import { z } from "zod";
import { inSuite } from "./contract_suite.ts";

// Lines of types that are left out, so that places in what is run are others than in this file.
interface Case {
  readonly city: string;
}

const weather = tool({
  name: "weather",
  description: "Returns the weather of a city",
  parameters: z.object({ city: z.string(), days: z.number().default(1) }),
  returns: { degrees: 21, sky: "clear" },
});
const asksFor = (city: string) =>
  scripted("script", [
    { calls: [{ name: "weather", arguments: { city } }] },
    { text: "No, the sky over Rome is clear." },
  ]);
const umbrella = {
  model: asksFor("Rome"),
  tools: [weather],
  prompt: "Do I need an umbrella in Rome today?",
};
const assert = (run: ToolTestRun) => {
  assertCalled(run, { tool: "weather", arguments: { city: "Rome" } });
  assertAnswer(run, /\bno\b/i);
};

benchmark("tasks", {
  model: "sim:planner",
  tasks: { core: 3, depth: 2 },
  seed: 1,
  graphs: 20,
  gate: { successRate: 0.5, margin: 0.2 },
});

if (process.env["CONTRACT_WAITS"]) await new Promise((resolve) => setTimeout(resolve, 50));

toolTest("passes", { ...umbrella, assert });
toolTest("fails", { ...umbrella, model: asksFor("Oslo"), assert });
toolTest.skip("skipped", { ...umbrella, assert });
(process.env["CONTRACT_ONLY"] ? toolTest.only : toolTest)("only", { ...umbrella, assert });
toolTest.each<Case>([{ city: "Rome" }, { city: "Bern" }])("each $city", ({ city }) => ({
  ...umbrella,
  model: asksFor(city),
  assert: (run) => assertCalled(run, { tool: "weather", arguments: { city } }),
}));
if (process.env["CONTRACT_REFUSED"]) toolTest("refused", { ...umbrella, trials: 0, assert });
if (process.env["CONTRACT_THROWS"]) throw new Error("the file is broken");

inSuite("in a suite", { prompt: umbrella.prompt, assert });
