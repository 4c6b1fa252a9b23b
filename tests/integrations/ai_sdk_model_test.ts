// Models of the AI SDK, with the real packages of providers against servers of their native formats.

import { assert, assertEquals } from "@std/assert";
import { Connections } from "../../lib/models/connect.ts";
import type { ModelEntry } from "../../lib/models/entry.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { importPackage, NATIVES, simulatedNative } from "../support/native_servers.ts";

const connections = () => new Connections({ retries: 0, importPackage });

for (const native of NATIVES) {
  const { provider } = native;

  Deno.test(`${provider}: generated tasks are solved in its own format, with its signatures`, async () => {
    await using server = simulatedNative(native);
    const model = connections().model({ model: "sim:planner", provider, baseURL: server.url });
    const specs = Array.from({ length: 20 }, (_, seed) => ({
      ...{ core: 5, depth: 3, connected: 2, disconnected: 2, seed },
    }));
    const trials = await Promise.all(specs.map((spec) => runTrial(spec, model)));
    assertEquals(
      trials.map(({ outcome, reason }) => [outcome, reason]),
      specs.map(() => ["solved", undefined]),
    );
  });
}
