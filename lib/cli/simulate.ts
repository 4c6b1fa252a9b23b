/**
 * `simulate`: serves simulated models.
 * @module
 */

import { loadCallSet } from "../tasks/questions/load.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { SIMULATED_MODELS } from "../models/simulated_name.ts";
import { startSimulatedServer } from "../simulated/server.ts";
import { Arguments, userPath } from "./arguments.ts";

export const SIMULATE_HELP = `It takes requests in OpenAI's formats: chat completions and responses.

  --port N       the port (default 8099; 0 for any free one)
  --latency MS   milliseconds that every reply takes (default 0)
  --set PATH     a call set whose right calls sim:truth knows; may be given several times

It listens on 127.0.0.1 only and runs until it is interrupted. Simulated models are programs: they
show that a tool works and say nothing about any language model.`;

/** Serves until the process is interrupted. */
export async function simulate(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("simulate", arguments_, {
    values: ["port", "latency"],
    lists: ["set"],
  });
  if (options.operands.length > 0) {
    throw options.error(`it takes no file: ${options.operands[0]} is given`);
  }
  const port = options.integer("port") ?? 8099;
  if (port > 65535) throw options.error(`--port must be at most 65535: it is ${port}`);
  const latency = options.integer("latency") ?? 0;
  if (latency > 600_000) throw options.error(`--latency must be at most 600000: it is ${latency}`);
  const sets = options.list("set").map((path) => loadCallSet(userPath(path)));
  let server;
  try {
    server = startSimulatedServer({ port, latency, sets });
  } catch (error) {
    throw new InputError(`Cannot serve on port ${port}: ${reasonOf(error)}`);
  }
  console.log(`Simulated models at ${server.url}: ${SIMULATED_MODELS.join(", ")}`);
  await server.finished;
  return 0;
}
