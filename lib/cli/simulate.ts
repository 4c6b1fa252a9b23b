/**
 * `simulate`: serves simulated models.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { cannotFile } from "../base/errors.ts";
import { SIMULATED_MODELS } from "../models/simulated_name.ts";
import { wholeFrom } from "../runs/flags.ts";
import { startSimulatedServer } from "../simulated/server.ts";
import { loadCallSet } from "../tasks/questions/load.ts";
import { command } from "./command.ts";

/** Serves until the process is interrupted. */
export const simulate = command({
  usage: "[OPTIONS]",
  about: "It takes requests in OpenAI's formats: chat completions and responses.",
  options: {
    port: {
      value: "N",
      read: wholeFrom(0, 65_535),
      help: "the port; default 8099, 0 for any free one",
    },
    set: { value: "PATH", several: true, help: "a call set that sim:truth knows; several times" },
  },
  notes:
    `It listens on 127.0.0.1 only and runs until it is interrupted. Simulated models are programs: they
show that a tool works and say nothing about any language model.`,
  needs: ["net", "read"],
  async run({ port = 8099, set = [] }) {
    const sets = set.map((path) => loadCallSet(userPath(path)));
    const server = await startSimulatedServer({ port, sets }).catch((error) => {
      throw cannotFile(`serve on port ${port}`, error);
    });
    console.log(`Simulated models at ${server.url}: ${SIMULATED_MODELS.join(", ")}`);
    await server.finished;
    return 0;
  },
});
