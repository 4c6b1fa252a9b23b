// Tests of chains over the user's own tools as users run them: a file in a folder, in child processes.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { chains, type ToolGraph } from "../../lib/chains/mod.ts";
import { toolSuite } from "../../lib/testing/tool_test.ts";
import { deno, folder, readLines, ROOT, shell } from "../support/child.ts";

/** What must pass the type check; nobody calls it. */
export function _types(graph: ToolGraph): void {
  const test = toolSuite("s", { model: "sim:truth", system: "Be brief." });
  test.each(chains(graph, {}))("$name", (chain) => ({ chain, tags: ["fresh"] }));
}

const FILE = `// @ts-nocheck: a user may write no types.
import { tool, toolSuite } from "file://${ROOT}/mod.ts";
import { chains, toolGraph } from "file://${ROOT}/lib/chains/mod.ts";
import { z } from "zod";

const unused = () => { throw new Error("a chain never runs the tools themselves"); };
const one = (name, parameters, output) =>
  tool({ name, description: name, parameters: z.object(parameters), output, execute: unused });
const task = z.object({ id: z.int(), title: z.string(), assignee_id: z.int(), project_id: z.int() });
const user = z.object({ id: z.int(), full_title: z.string(), team_id: z.int() });
const team = z.object({ id: z.int(), motto: z.string(), lead_id: z.int().optional() });
const tools = [
  one("get_task", { task_id: z.int() }, task),
  one("list_tasks", { project_id: z.int() }, z.array(task)),
  one("get_user", { user_id: z.int() }, user),
  one("get_team", { team_id: z.int() }, team),
  one("get_project", { project_id: z.int() }, z.object({ id: z.int(), goal: z.string() })),
];
const test = toolSuite("fresh", {
  model: "sim:truth?value=0.3",
  seed: 5,
  gate: { successRate: 0.4, margin: 0.1 },
});
const graph = toolGraph(tools, { links: { "get_task:assignee_id": "user.id" } });
test.each(chains(graph, { calls: [2, 3], tasks: 40 }))("$name", (chain) => ({ chain }));
`;

Deno.test("chains over own tools make a suite with a gate, a report and lines that run a trial again", async () => {
  await using place = await folder();
  place.write("fresh_test.ts", FILE);
  const run = await deno([
    ...["test", "-A", "--no-check", "--no-lock", `--config=${ROOT}/deno.json`, "fresh_test.ts"],
    ...["--", "--out=f.jsonl", "--report=f.txt"],
  ], { cwd: place.path });
  assertEquals(run.code, 0, run.all);
  assertEquals(
    run.all.match(/nobody has confirmed .* confirmed: "\w{12}"/g)?.length,
    1,
    run.all,
  );
  const [, ...trials] = readLines(place.file("f.jsonl"));
  assertEquals(trials.length, 40);
  const wrong = trials.filter(({ solved }) => !solved);
  // 40 draws of a rate of 0.3.
  assert(wrong.length >= 4 && wrong.length <= 22, `${wrong.length} are wrong`);
  const roots = wrong.map(({ failures }) =>
    failures.filter(({ root }: { root: boolean }) => root).map(({ type }: { type: string }) => type)
  );
  assertEquals(new Set(roots.map(({ length }) => length)), new Set([1]));
  assert(roots.flat().every((type) => ["unseen_id", "wrong_id", "detour"].includes(type)));
  assertMatch(Deno.readTextFileSync(place.file("f.txt")), / wrong_id +detour$/m);
  const [, line] = /^ *rerun: (.*)$/m.exec(run.stdout) ?? [];
  const configured = line!.replace("test", `test --no-lock --config=${ROOT}/deno.json`);
  const again = await shell(configured, { cwd: place.path });
  assertMatch(again.all, /stage chain: \w+\.id -> \w+ -> .+ -> (motto|goal|title)$/m);
});

/** Four changes of the same tools, each a suite with a gate. */
const CHANGES = `// @ts-nocheck: a user may write no types.
import { scripted, tool, toolSuite } from "file://${ROOT}/mod.ts";
import { chains, toolGraph } from "file://${ROOT}/lib/chains/mod.ts";
import { z } from "zod";

const text = z.string();
const one = (name, output, parameter = name + "_id", of = name) => tool({
  ...{ name: "get_" + name, description: name, execute: () => null },
  parameters: z.object({ [parameter]: text.describe("The id of the " + of) }),
  output: z.object({ id: text, ...output }),
});
const order = one("order", { note: text, customer_id: text });
const customer = one("customer", { city: text, depot_id: text });
const depot = one("depot", { street: text });
const inner = z.object({ id: text, street: text });
const changes = {
  renamed: [order, customer, one("depot", { street: text }, "depot")],
  misleading: [order, customer, one("depot", { street: text }, "depot", "customer")],
  dropped: [order, customer],
  embedded: [order, one("customer", { city: text, depot: inner }), depot],
};

// A simulated model: it gives each tool the id that a description names, until it sees what is asked for.
const reader = scripted("reader", ({ messages, tools }) => {
  const { content } = messages.find(({ role }) => role === "user");
  const [, entity, id, asked] = /the (\\w+) whose id is "(.*?)"[^]*What is the (\\w+) of/.exec(content);
  const called = messages.flatMap(({ calls = [] }) => calls.map(({ name }) => name));
  const known = { [entity]: id };
  let answer;
  for (const { role, content } of messages) {
    if (role === "tool") JSON.parse(content, (key, value) => {
      if (key === asked) answer = value;
      if (key.endsWith("_id")) known[key.slice(0, -3)] = value;
      return value;
    });
  }
  const calls = tools.flatMap(({ name, parameters: { properties } }) => {
    const [[parameter, { description }]] = Object.entries(properties);
    const value = known[description.split(" ").at(-1)];
    return value && !called.includes(name) ? [{ name, arguments: { [parameter]: value } }] : [];
  });
  return answer ? { text: answer } : calls[0] ? { calls: [calls[0]] } : { text: "I do not know." };
});

for (const [name, tools] of Object.entries(changes)) {
  const test = toolSuite(name, {
    ...{ model: reader, variants: { v1: {}, v2: {} }, journal: name + ".jsonl", report: name + ".txt" },
    gate: { baseline: { variant: "v1" }, margin: 0.15, discordance: 0.2 },
  });
  const versions = { v2: toolGraph(tools) };
  const tasks = chains(toolGraph([order, customer, depot]), { calls: [2], tasks: 60, versions });
  test.each(tasks)("$name", (chain) => ({ chain }));
}
`;

Deno.test("a gate tells a harmless change of tools from one that misleads, and names the tools that lost", async () => {
  await using place = await folder();
  place.write("changes_test.ts", CHANGES);
  const run = await deno([
    ...["test", "-A", "--no-check", "--no-lock", `--config=${ROOT}/deno.json`, "changes_test.ts"],
  ], { cwd: place.path });
  const textOf = (name: string) => Deno.readTextFileSync(place.file(`${name}.txt`));
  const rowsOf = (name: string) =>
    [...textOf(name).matchAll(/^get_\w+ .*\(simulated\) +v1 .*$/gm)].map(([row]) =>
      row.split(/ {2,}/)
    );
  assertMatch(textOf("renamed"), /^v2: reader \(simulated\) +PASS /m);
  assertEquals(rowsOf("renamed").map((row) => row[6]), ["0.0", "0.0", "0.0"]);
  assertMatch(textOf("misleading"), /^v2: reader \(simulated\) +FAIL /m);
  const [first, second, third] = rowsOf("misleading");
  assertEquals(first!.toSpliced(3, 1).slice(0, 6), [
    ...["get_depot", "v2: reader (simulated)", "v1", "100.0%", "0.0%", "-100.0"],
  ]);
  assertEquals([second![0], third![0], third![6]], ["get_customer", "get_order", "0.0"]);
  assertMatch(textOf("dropped"), /^v2: reader \(simulated\) +INVALID /m);
  assertMatch(
    run.all,
    /with the tools of v2 as they must lead to its answer, too: get_depot is gone/,
  );
  assertMatch(textOf("embedded"), /^v2: reader \(simulated\) +PASS /m);
  assertMatch(
    Deno.readTextFileSync(place.file("embedded.jsonl")),
    /customer\.id -> get_customer -> depot\.street; the shortest way is 1 call with these tools, and was 2"/,
  );
  const [depot] = rowsOf("embedded").filter(([tool]) => tool === "get_depot");
  // All of its tasks have another length.
  assertEquals(depot!.at(-1), depot![3]);
});
