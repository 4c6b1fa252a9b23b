// `toolgate graph` and `init` over a user's own tools, as users run them.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { LINKED, write } from "../support/project_files.ts";

const SHOP = `${ROOT}/fixtures/openapi/shop.yaml`;

/** An MCP server in few lines, whose orders have customers. */
const SHOP_SERVER = `
const text = { type: "string" };
const one = (name, key, more) => ({
  name,
  inputSchema: { type: "object", properties: { [key]: text }, required: [key] },
  outputSchema: { type: "object", properties: { id: text, ...more }, required: ["id", ...Object.keys(more)] },
  annotations: { readOnlyHint: true },
});
const tools = [
  one("get_order", "order_id", { customer_id: text }),
  one("get_customer", "customer_id", { city: text, seller_id: text }),
  one("get_seller", "seller_id", { phone: text }),
];
const results = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools },
};
for await (const part of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  for (const line of part.split("\\n").filter(Boolean)) {
    const { id, method } = JSON.parse(line);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
  }
}
`;

Deno.test("init writes a suite over an MCP server or a document, which runs without either", async () => {
  await using place = await folder();
  const server = ["deno", "run", "--no-config", "--no-lock", place.write("server.js", SHOP_SERVER)];
  const shown = await toolgate(["graph", "--mcp", "--", ...server]);
  assertMatch(
    shown.stdout,
    /^3 tools, of which 3 only read\. Chains: of 2, 3 calls\.$/m,
    shown.all,
  );
  for (
    const [name, source] of [
      ["served", ["--mcp", "--", ...server]],
      ["described", ["--openapi", SHOP]],
    ] as const
  ) {
    write(place, { [`${name}/deno.json`]: LINKED });
    const made = await toolgate(["init", place.file(name), ...source]);
    assertEquals(made.code, 0, made.all);
    assertStringIncludes(made.stdout, "wrote  tool_tests/chains_test.ts\n");
    const run = await deno(
      [
        "test",
        "--no-check",
        "--no-prompt",
        "--allow-read=.",
        "--allow-env",
        "tool_tests/chains_test.ts",
      ],
      { cwd: place.file(name) },
    );
    assertEquals(run.code, 0, run.all);
    assertMatch(run.stdout, /71 passed/);
  }
  const again = await toolgate(["init", place.file("described"), "--openapi", SHOP]);
  assertMatch(again.stdout, /^left {3}tool_tests\/chains_test\.ts: it is there$/m);
});
