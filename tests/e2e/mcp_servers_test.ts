// Three MCP servers from npm under toolTest(), in a child process: a scripted model makes every mistake that a model
// can make with them.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Failure } from "../../lib/calls/failure_types.ts";
import type { CallEvent } from "../../lib/calls/trace.ts";
import { deno, folder, readLines, ROOT } from "../support/child.ts";

const FILE = `
import { assertAnswer, assertCalled, scripted, toolTest } from "@toolgate/toolgate";
import { mcpTools } from "@toolgate/toolgate/integrations/mcp";

const npm = (name, ...args) => ({
  command: Deno.execPath(),
  env: Deno.env.toObject(),
  args: ["run", "-A", "--no-lock", "--no-config", \`npm:@modelcontextprotocol/server-\${name}@2026.8.31\`, ...args],
});
const call = (name, given = {}) => ({ calls: [{ name, arguments: given }] });
const text = (text) => ({ text });

toolTest("everything", {
  model: scripted("script", [
    call("ech", { message: "hi" }),
    call("echo"),
    call("echo", { message: 5 }),
    call("get-structured-content", { location: "Chicago" }),
    call("echo", { message: "hi" }),
    text("It says hi."),
  ]),
  tools: () => mcpTools(npm("everything")),
  prompt: "Let it say hi.",
  perturbation: ["none", "RD", "timeout"],
  expected: [{ tool: "echo", arguments: { message: "hi" } }],
  assert: (run) => {
    assertCalled(run, { tool: "echo", arguments: { message: "hi" } });
    assertAnswer(run, /hi/);
  },
});

const folders = [];
toolTest("filesystem", {
  model: scripted("script", [
    call("write_file", { path: "/etc/outside.txt", content: "x" }),
    call("list_directory", { path: 7 }),
    text("I cannot."),
  ]),
  state: () => {
    const folder = Deno.makeTempDirSync({ dir: Deno.cwd() });
    Deno.writeTextFileSync(folder + "/letter.txt", "Dear Ada");
    return folder;
  },
  tools: (folder) => mcpTools(npm("filesystem", folder)),
  prompt: (folder) => "Read " + folder + "/letter.txt.",
  assert: (run) => assertCalled(run, { tool: "read_text_file", arguments: { path: run.state + "/letter.txt" } }),
});

toolTest("memory", {
  model: scripted("script", [
    call("create_entities", { entities: [{ name: "Ada", entityType: "person", observations: ["b. 1815"] }] }),
    call("delete_entities", { entityNames: ["Ada"] }),
    call("read_graph"),
    text("Remembered."),
  ]),
  state: () => Deno.makeTempDirSync({ dir: Deno.cwd() }),
  tools: (folder) => {
    const server = npm("memory");
    return mcpTools({ ...server, env: { ...server.env, MEMORY_FILE_PATH: folder + "/memory.jsonl" } });
  },
  prompt: "Remember Ada.",
  trials: 2,
  never: ["delete_entities"],
  assert: () => {},
});
`;

Deno.test("MCP servers from npm are tested as they are, each trial with one of its own", async () => {
  await using place = await folder();
  Deno.writeTextFileSync(place.file("servers_test.ts"), FILE);
  const { code, all } = await deno([
    ...["test", "--no-check", "-A", `--config=${ROOT}/deno.json`, place.file("servers_test.ts")],
    ...["--", `--out=${place.file("servers.jsonl")}`],
  ], { cwd: place.path });
  assertEquals(code, 1, all);
  assertStringIncludes(all, "2 passed | 4 failed");
  const [, ...lines] = readLines(place.file("servers.jsonl"));
  const trials = lines.toSorted((one, other) => one.index - other.index);
  const shown = trials.map((trial) => {
    const failures: Failure[] = trial.failures;
    const detail = (failure: Failure) =>
      failure.type === "function_not_found"
        ? failure.detail.nearest
        : failure.type === "wrong_number_of_inputs"
        ? [failure.detail.missing, failure.detail.wrongType]
        : [];
    const { task, perturbation, outcome } = trial;
    return [task.case, perturbation, outcome, failures.map((one) => [one.call, detail(one)])];
  });
  const mistakes = [[1, "echo"], [2, [["message"], []]], [3, [[], ["message"]]]];
  assertEquals(shown, [
    ["everything", "none", "solved", mistakes],
    ["everything", "RD", "solved", mistakes],
    // The only right call met the fault, and was not made again.
    ["everything", "timeout", "wrong_answer", mistakes],
    ["filesystem", "none", "wrong_answer", [[2, [[], ["path"]]]]],
    ["memory", "none", "wrong_answer", []],
    ["memory", "none", "wrong_answer", []],
  ], all);
  const callsOf = (at: number): CallEvent[] =>
    trials[at].events.filter(({ kind }: { kind: string }) => kind === "call");
  assertMatch(callsOf(0)[3]!.result, /"temperature":36/);
  assertMatch(callsOf(3)[0]!.error!, /^Access denied - path outside allowed directories/);
  // What one trial remembers another one does not know.
  for (const at of [4, 5]) {
    assertMatch(callsOf(at)[2]!.result, /^\{\s+"entities": \[\],/);
    assertMatch(all, /memory > trial \d[^]*A call was made that must not happen in any trial/);
  }
});
