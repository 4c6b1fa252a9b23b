// A module beside a test file, which begins a suite for it.

import { scripted, tool, toolSuite } from "@toolgate/toolgate";
import { z } from "zod";

/** Registers a test of the suite. */
export const inSuite = toolSuite("suite", {
  model: scripted("script", [
    { calls: [{ name: "weather", arguments: { city: "Rome" } }] },
    { text: "No." },
  ]),
  tools: [
    tool({
      name: "weather",
      description: "Returns the weather of a city",
      parameters: z.object({ city: z.string() }),
      returns: { sky: "clear" },
    }),
  ],
  trials: 20,
  gate: { successRate: 0.5, margin: 0.2 },
});
