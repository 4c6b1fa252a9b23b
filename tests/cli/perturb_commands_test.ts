// The command that perturbs files: in process, as a child would be slow, and once as users run it.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { perturb } from "../../lib/cli/perturb.ts";
import { PERTURBATION_METHODS, PERTURBED } from "../../lib/perturbations/methods.ts";
import { perturbTools } from "../../lib/perturbations/documents/perturb.ts";
import { perturbQuery } from "../../lib/perturbations/queries/perturb.ts";
import { parseQuery } from "../../lib/perturbations/queries/file.ts";
import { perturbationsIn } from "../../lib/perturbations/ids.ts";
import { perturbReturn } from "../../lib/perturbations/returns.ts";
import { parseToolDocuments } from "../../lib/tools/documents.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";
import { sayingServer } from "../support/saying_server.ts";

const TOOLS = [{
  name: "weather",
  description: 'Tells the weather. Example: {"city": "Lima"}',
  parameters: {
    type: "object",
    properties: {
      city: { type: "string", description: "The name of the city." },
      days: { type: "integer", description: "For how many days it is." },
    },
    required: ["city"],
  },
  examples: [{ city: "Lima", days: 2 }],
}];
const QUERY = {
  query: "What is the weather in Paris for 3 days?",
  calls: [{ name: "weather", arguments: { city: "Paris", days: 3 } }],
};
const RETURN = '{"user_id": 7, "dayName": "Monday", "max_temp": 21}';

async function run(...line: string[]): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout, stderr } = await toolgate(line);
  return { code, out: stdout.trimEnd(), err: stderr.trimEnd() };
}

/** Files of all three kinds. */
function files(place: Folder) {
  return {
    document: place.write("tools.json", JSON.stringify(TOOLS)),
    query: place.write("query.json", JSON.stringify(QUERY)),
    return: place.write("return.json", RETURN),
  };
}

Deno.test("toolgate perturb tells method, effect, seed and changes, and shows a diff", async () => {
  using place = new Folder();
  const paths = files(place);
  for (const method of PERTURBATION_METHODS) {
    const path = paths[PERTURBED[method]];
    const { code, out, err } = await run("perturb", "--method", method, path, "--seed", "4");
    assertEquals([code, err], [0, ""], method);
    const [head, before, after, hunk, ...lines] = out.split("\n");
    assertMatch(
      head!,
      new RegExp(`^${method}: [A-Za-z_].*; seed 4; changed: true, \\d+ changes?$`),
    );
    assertEquals([before, after], [`--- before ${path}`, `+++ after ${path}`]);
    assertMatch(hunk!, /^@@ -\d+,\d+ \+\d+,\d+ @@$/);
    assert(lines.some((line) => /^[-+]/.test(line)), out);
    assert(lines.every((line) => /^[-+ @]/.test(line) && line.length <= 100), out);
  }
});

Deno.test("toolgate perturb shows tool documents and returns as indented JSON", async () => {
  using place = new Folder();
  const paths = files(place);
  const document = await run("perturb", "--method", "RD", paths.document);
  assertStringIncludes(document.out, '\n-          "description": "The name of the city."\n');
  const returned = await run("perturb", "--method", "AP", paths.return);
  assertStringIncludes(returned.out, '\n-  "user_id": 7,\n+  "user_id": "ID_7",\n');
  const cut = await run("perturb", "--method", "CF", paths.return);
  assertStringIncludes(cut.out, `\n-${RETURN}\n+${RETURN.slice(0, -1)}...`);
  const query = await run("perturb", "--method", "RP_F", paths.query);
  assertStringIncludes(query.out, `\n-${QUERY.query}\n+What is the weather in for 3 days?`);
});

Deno.test("toolgate perturb --json prints one line with what the functions give", async () => {
  using place = new Folder();
  const paths = files(place);
  const tools = parseToolDocuments(TOOLS, "");
  const query = parseQuery(QUERY, "");
  const given: [string, unknown, { value: unknown; changes: unknown }][] = [
    ["WT", tools, perturbTools("WT", tools, 9)],
    ["CP", query, perturbQuery("CP", query, { seed: 9 })],
    ["UK", RETURN, perturbReturn("UK", RETURN)],
  ];
  for (const [method, before, { value, changes }] of given) {
    const path = paths[PERTURBED[method as "WT"]];
    const { code, out } = await run("perturb", "--method", method, path, "--seed", "9", "--json");
    assertEquals([code, out.includes("\n")], [0, false]);
    assertEquals(Object.keys(JSON.parse(out)), [
      ...["method", "seed", "changed", "changes", "before", "after"],
    ]);
    assertEquals(
      JSON.parse(out),
      JSON.parse(JSON.stringify({ method, seed: 9, changed: true, changes, before, after: value })),
    );
  }
});

Deno.test("toolgate perturb reads what an MCP server's tools/list answers", async () => {
  using place = new Folder();
  const [{ parameters, examples: _, ...tool }] = TOOLS as [(typeof TOOLS)[0]];
  const path = place.write(
    "tools.json",
    JSON.stringify({ tools: [{ ...tool, inputSchema: parameters }] }),
  );
  const { code, out, err } = await run("perturb", path, "--method", "WT", "--json");
  assertEquals([code, err], [0, ""]);
  const { before, changes } = JSON.parse(out);
  assertEquals(before, [{ ...tool, parameters }]);
  assert(changes.length > 0);
});

Deno.test("toolgate perturb says why a method changed nothing", async () => {
  using place = new Folder();
  const bare = { name: "t", description: "", parameters: { type: "object", properties: {} } };
  const paths = {
    document: place.write("bare.json", JSON.stringify(bare)),
    query: place.write("bare_query.json", '{"query": "Hello?"}'),
    return: place.write("empty.json", ""),
  };
  for (const method of PERTURBATION_METHODS) {
    const { code, out } = await run("perturb", "--method", method, paths[PERTURBED[method]]);
    const [head, why, ...more] = out.split("\n");
    assertEquals([code, more], [0, []], out);
    assertMatch(head!, new RegExp(`^${method}: .*; seed 1; changed: false$`));
    assertMatch(why!, new RegExp(`^${method} changed nothing: .+\\.$`));
  }
  const list = place.write("list.json", "[1, 2]");
  for (const method of ["FK", "AP", "CK", "UK"]) {
    const { out } = await run("perturb", "--method", method, list);
    assertMatch(out, /changed nothing: (the return has no key|all keys)/);
  }
});

Deno.test("toolgate perturb applies several methods of one source in order", async () => {
  using place = new Folder();
  const { query } = files(place);
  const first = perturbQuery("RP_L", parseQuery(QUERY, ""), { seed: 1 });
  const second = perturbQuery("AN", first.value, { seed: 1 });
  const { out } = await run("perturb", "--method", "RP_L+AN", query, "--json");
  const { method, changes, after } = JSON.parse(out);
  assertEquals([method, after.text], ["RP_L+AN", second.value.text]);
  assertEquals(changes, [...first.changes, ...second.changes]);
  const shown = await run("perturb", "--method", "RP_L+AN", query);
  assertMatch(
    shown.out,
    /^RP_L\+AN: .* removed, then .* appended; seed 1; changed: true, 2 changes\n/,
  );
  const idle = await run("perturb", "--method", "CK+CF", place.write("list", "[1]"));
  assertMatch(idle.out, /changed: true, 1 change\nCK changed nothing: all keys of the return/);
});

Deno.test("toolgate perturb applies joined methods in the one order that there is", async () => {
  using place = new Folder();
  const { query, return: returned } = files(place);
  const cases: [string, string, string][] = [
    ["CF+AP", "AP+CF", returned],
    ["FK+AP", "AP+FK", returned],
    ["CF+FK+UK+AP", "AP+UK+FK+CF", returned],
    ["AN+RP_L", "RP_L+AN", query],
    ["AN+CP", "CP+AN", query],
  ];
  for (const [given, ordered, path] of cases) {
    const { out } = await run("perturb", "--method", given, path, "--json");
    assertEquals(JSON.parse(out).method, ordered);
    assertEquals(out, (await run("perturb", "--method", ordered, path, "--json")).out);
  }
  // A return that is cut off could not be given any prefix any more.
  const { out } = await run("perturb", "--method", "CF+AP", returned, "--json");
  assertEquals(
    JSON.parse(out).after,
    '{"user_id": "ID_7", "dayName": "Monday", "max_temp": 21...',
  );
  const { help } = perturb;
  assertMatch(help, /joined by \+, are applied in the order of the\s+list below/);
  const listed = help.split("\n").flatMap((line) => /^ {2}([A-Z_]+) {3}/.exec(line)?.[1] ?? []);
  assertEquals(listed, perturbationsIn(PERTURBATION_METHODS.join("+")));
});

Deno.test("toolgate perturb prints nothing that could steer a terminal, and no endless lines", async () => {
  using place = new Folder();
  const evil = "\u001b[2J\u202e\u0007";
  const long = `${"word ".repeat(400)}${"x".repeat(3_000)}`;
  const query = `Weather in Paris? ${evil} ${long}. Thanks. ${"a\tb ".repeat(50)}`;
  const calls = [{ arguments: { city: "Paris" } }];
  const paths = [
    ["CP", place.write("query.json", JSON.stringify({ query, calls }))],
    ["AP", place.write("evil.json", JSON.stringify({ id: evil + long }))],
    ["CF", place.write("raw.txt", evil + long)],
    ["RD", place.write("tool.json", JSON.stringify([{ ...TOOLS[0], description: evil + long }]))],
  ];
  for (const [method, path] of paths) {
    const { code, out } = await run("perturb", "--method", method!, path!);
    assertEquals(code, 0);
    // deno-lint-ignore no-control-regex
    assert(!/[\u0000-\u0009\u000b-\u001f\u202e]/.test(out), JSON.stringify(out));
    assert(out.split("\n").slice(1).every((line) => line.length <= 100), out);
  }
  const cut = await run("perturb", "--method", "CF", place.write("c.txt", `a\n${evil}`));
  assertStringIncludes(cut.out, "\n-\\u001b[2J\\u202e\\u0007\n");
});

Deno.test("toolgate perturb tells bad input, with the file, the path and the rule", async () => {
  using place = new Folder();
  const { return: returned } = files(place);
  const plain = place.write("plain.txt", "not\nJSON");
  const wrong = place.write(
    "wrong.json",
    JSON.stringify({ query: "Hi", parameters: [{ name: "a", value: "x", start: 0, end: 9 }] }),
  );
  const anthropic = { name: "t", description: "", input_schema: { type: "object" } };
  const cases: [string[], RegExp][] = [
    [["--method", "RD", plain], /plain\.txt: it is not JSON/],
    [
      ["--method", "WT+SD", returned],
      /return\.json by WT\+SD, which change a tool document:\n {2}at the top: Unrecognized keys: .*\n {2}at name: /,
    ],
    [
      ["--method", "CP", wrong],
      /wrong\.json by CP, .*:\n {2}at parameters\[0\]\.end: must be at most 2, .* is 9/,
    ],
    [
      ["--method", "RD", place.write("a.json", JSON.stringify([TOOLS[0], anthropic]))],
      /a\.json by RD, .*:\n {2}at \[1\]: .*"input_schema"/,
    ],
    [
      [
        "--method",
        "RD",
        place.write("c.json", JSON.stringify({ tools: [{ name: "a", inputSchema: 5 }] })),
      ],
      /c\.json by RD, .*:\n {2}at \[0\]\.inputSchema: must be an object/,
    ],
  ];
  for (const [arguments_, message] of cases) {
    const { code, out, err } = await run("perturb", ...arguments_);
    assertEquals([code, out], [2, ""], arguments_.join(" "));
    assert(message.test(err), `${arguments_.join(" ")}: ${err}`);
  }
});

Deno.test("toolgate perturb takes documents, queries and returns that nest deeply, or says so", async () => {
  using place = new Folder();
  const deep = (inner: string) => `${"[".repeat(20_000)}${inner}${"]".repeat(20_000)}`;
  const tool = `{"name":"t","description":"","parameters":{"x":${deep("1")}}}`;
  const query = `{"query":"In Paris","calls":[{"arguments":{"a":${deep('"Paris"')}}}]}`;
  for (const [method, text] of [["RE", tool], ["CP", query], ["FK", deep('{"a":1}')]]) {
    const path = place.write("deep.json", text!);
    const { code, err } = await run("perturb", "--method", method!, path, "--json");
    assert(code === 0 || (code === 2 && err.includes("deep.json")), `${method}: ${code} ${err}`);
  }
});

Deno.test("toolgate perturb --writer lets a model write, and says where it could not", async () => {
  using place = new Folder();
  const { query } = files(place);
  await using city = sayingServer([{ text: "the city of light" }]);
  const writer = ["--writer", "double", "--base-url", city.url];
  const made = await toolgate(["perturb", "--method", "CP", query, ...writer, "--json"]);
  assertEquals(made.code, 0, made.all);
  assertMatch(
    JSON.parse(made.stdout).after.text,
    /^What is the weather in the city of light for .+ days/,
  );
  assertEquals(
    made.stderr.trim(),
    "CP: the built-in writer writes for days, as the text of double cannot be used: " +
      "the model wrote the same for another parameter",
  );
  const nobody = ["--writer", "double", "--base-url", "http://127.0.0.1:1/v1", "--retries", "0"];
  const failed = await toolgate(["perturb", "--method", "AN", query, ...nobody]);
  assertEquals([failed.code, failed.stdout], [3, ""], failed.all);
  assertMatch(failed.stderr, /^Cannot ask the writer: .+\n$/);
});
