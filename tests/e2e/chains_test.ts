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
