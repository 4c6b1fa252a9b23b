// Models of providers in a project outside of toolgate: packages are those of the project's own imports.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { deno, folder, ROOT } from "../support/child.ts";
import { NATIVES, simulatedNative } from "../support/native_servers.ts";

Deno.test("a suite's providers are asked by the packages of its project, which are named if they are missing", async () => {
  await using place = await folder();
  const [anthropic] = NATIVES;
  await using server = simulatedNative(anthropic!);
  place.write(
    "suite.json",
    JSON.stringify({
      ...{ name: "native", seed: 1, graphs: 2, tasks: [{ core: 3, depth: 2 }] },
      models: [{ provider: "anthropic", model: "sim:planner", baseURL: server.url }],
    }),
  );
  const run = (packages: object, permission = "--allow-env") => {
    const imports = { "@toolgate/toolgate": "jsr:@toolgate/toolgate@^0.2.0", ...packages };
    place.write("deno.json", JSON.stringify({ links: [ROOT], imports }));
    const permissions = ["--allow-net", "--allow-read", "--allow-write", permission];
    return deno([
      ...["run", "--no-check", "--no-lock", "--no-prompt", ...permissions],
      ...["@toolgate/toolgate/cli", "run", "suite.json"],
    ], { cwd: place.path });
  };
  const missing = await run({});
  assertEquals(missing.code, 2, missing.all);
  assertStringIncludes(missing.stderr, "must be installed: run: deno add npm:@ai-sdk/anthropic");
  const packages = { "@ai-sdk/anthropic": "npm:@ai-sdk/anthropic@^4" };
  const asked = await run(packages);
  assertEquals(asked.code, 0, asked.all);
  assertStringIncludes(asked.all, "2 solved (100.0%)");
  const denied = await run(packages, "--allow-env=OPENAI_API_KEY");
  assertStringIncludes(denied.all, "add --allow-env=ANTHROPIC_BASE_URL");
});
