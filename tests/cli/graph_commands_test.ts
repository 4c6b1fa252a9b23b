// `toolgate graph` and `init` over a user's own tools, as users run them.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { PACKAGE, tarball } from "../support/project_files.ts";

const SHOP = `${ROOT}/fixtures/openapi/shop.yaml`;

Deno.test("graph shows types of ids, as text, as JSON and drawn, and what keeps tools from chains", async () => {
  const told = await toolgate(["graph", SHOP]);
  assertEquals(told.code, 0, told.all);
  assertMatch(told.stdout, /^8 tools, of which 8 only read\. Chains: of 2, 3(, 4)? calls\.$/m);
  assertMatch(told.stdout, /^carrier\.id +get_carrier carrier_id +get_shipment carrier_id$/m);
  const drawn = async (format: string) =>
    (await toolgate(["graph", SHOP, `--format=${format}`])).stdout;
  const { types, tools } = JSON.parse(await drawn("json"));
  assertEquals(types.length, 6);
  assertEquals(tools.find(({ name }: { name: string }) => name === "get_carrier").takes, [{
    ...{ parameter: "carrier_id", required: true, role: "id", type: "carrier.id" },
    ...{ rule: "own key", schema: { type: "integer" } },
  }]);
  assertMatch(
    await drawn("dot"),
    /label="get_carrier", shape=box(?:.*\n)*.*label="carrier\.id", shape=ellipse/,
  );
  assertStringIncludes(await drawn("svg"), "<svg");
  await using place = await folder();
  // A module may export whatever its author calls a tool.
  const text = { type: "string" };
  const schemas = ["parameters", "returns"].map((key) =>
    `${key}: ${JSON.stringify({ type: "object", properties: { id: text }, required: ["id"] })}`
  );
  const module = place.write(
    "hostile.js",
    `const run = () => "";\nexport const tools = [{ name: 'get_car"]; x -> y', description: "", execute: run, ${schemas} }];\n`,
  );
  const named = await toolgate(["graph", module, "--format=dot"]);
  assertEquals([named.code, named.stdout.includes('car"]')], [0, false], named.all);
  const lone = place.write(
    "lone.json",
    '[{ "name": "get_pet", "inputSchema": { "type": "object" } }]',
  );
  assertStringIncludes(
    (await toolgate(["graph", lone])).stdout,
    "No chains: Cannot make chains as tools that only read must say what they return: of 1 tool none does",
  );
});

Deno.test("a sample has a hash that a suite takes until its questions change", async () => {
  const sample = async (...more: string[]) =>
    (await toolgate(["graph", SHOP, "--sample=6", ...more])).stdout;
  const one = await sample("--seed=1");
  assertEquals(one.match(/^\d+\. /gm)?.length, 6, one);
  assertEquals(await sample("--seed=1"), one);
  const hashOf = (text: string) => /confirmed: "(\w+)"$/m.exec(text)?.[1];
  assertEquals(hashOf(await sample("--seed=2")), hashOf(one));
  await using place = await folder();
  const words = place.write(
    "g.json",
    '{ "words": { "entities": { "order": "purchase" } } }',
  );
  const other = await sample("--seed=1", `--options=${words}`);
  assertStringIncludes(other, "Take the purchase whose id is");
  assert(hashOf(other) !== hashOf(one));
});

Deno.test("--record shows a call, makes it with --yes alone, and keeps the schema of its result", async () => {
  const asked: string[] = [];
  await using service = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return Response.json({ id: 7, "shoe size": 43.5, tags: ["a"] });
  });
  await using place = await folder();
  const options = place.write("g.json", '{\n  // mine\n  "scope": []\n}\n');
  const tools = place.write(
    "tools.ts",
    `import { openApiTools } from "${ROOT}/lib/integrations/openapi.ts";
const service = { baseURL: "http://127.0.0.1:${service.addr.port}" };
export const tools = () => openApiTools(new URL("file://${SHOP}"), service);\n`,
  );
  const line = [
    ...["graph", tools, `--options=${options}`, "--arguments", '{ "customer_id": 7 }'],
    "--record=get_customer",
  ];
  const shown = await toolgate(line);
  assertEquals([shown.code, asked.length], [0, 0], shown.all);
  assertMatch(
    shown.stdout,
    /^Calls get_customer \(GET \/customers\/\{customer_id\}\) with \{"customer_id":7\}$/m,
  );
  const made = await toolgate([...line, "--yes"]);
  assertEquals([made.code, asked], [0, ["/customers/7"]], made.all);
  const kept = Deno.readTextFileSync(options);
  assertMatch(
    kept,
    /\/\/ mine[^]*"get_customer": \{\s*"schema"[^]*"shoe size": \{\s*"type": "number"/,
  );
  const again = await toolgate(["graph", SHOP, `--options=${options}`]);
  assertEquals(again.code, 0, again.all);
});

Deno.test("graph and init say in one line what cannot be used", async () => {
  await using place = await folder();
  const bad = place.write("bad.json", '{ "links": { "get_order.nothing": "pet.id" } }');
  const module = place.write("tools.ts", "export const tool = 1;\n");
  const writing = place.write(
    "writing.json",
    '{ "tools": [{ "name": "drop", "inputSchema": { "type": "object" } }] }',
  );
  for (
    const [line, says] of [
      [[], /takes one source of tools/],
      [["--mcp"], /with --mcp a program after --/],
      [[SHOP, "--", "npx"], /takes one source of tools/],
      [[place.file("no.yaml")], /no\.yaml/],
      [[`${ROOT}/README.md`], /README\.md as it must be JSON or YAML/],
      [[module], /tools\.ts as it must export tools, a list or a function/],
      [[SHOP, `--options=${bad}`], /get_order\.nothing/],
      [[SHOP, "--calls=2,x"], /--calls must be whole numbers/],
      [[SHOP, "--calls=8", "--sample=3"], /chains of 8 calls/],
      [[SHOP, "--record=get_order"], /--record needs --options/],
      [[SHOP, `--options=${bad}`, "--record=get_order"], /a document has none/],
      [[writing, `--options=${bad}`, "--record=nothing"], /there is no such tool/],
      [[writing, `--options=${bad}`, "--record=drop"], /marked read-only by its server/],
    ] as const
  ) {
    const told = await toolgate(["graph", ...line]);
    assertEquals(
      [told.code, told.stdout, told.stderr.trimEnd().split("\n").length],
      [2, "", 1],
      told.all,
    );
    assertMatch(told.stderr, says);
  }
  Deno.writeFileSync(place.file("package.tgz"), tarball(PACKAGE));
  const line = ["init", place.file("mine"), "--from", place.file("package.tgz")];
  const told = await toolgate([...line, "--openapi", writing]);
  assertEquals(told.code, 2, told.all);
  assertMatch(told.stderr, /tools that only read must say what they return/);
  assertEquals([...Deno.readDirSync(place.path)].some(({ name }) => name === "mine"), false);
});
