// Programs that are clients of MCP, in suites and tests: real clients over HTTP and stdio, the configuration that they
// get, and what becomes of it.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { type CommandAgent, commandAgent } from "../../lib/trials/tap/command.ts";
import type { McpOutcome, McpScript } from "../support/agents/mcp_client.ts";
import { deno, folder, isAlive, ROOT, start, until } from "../support/child.ts";
import { Workplace } from "../support/documents.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import { PYTHON3 } from "../support/python.ts";
import { sayingServer } from "../support/saying_server.ts";

const SPEC = { core: 3, depth: 2, connected: 1, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const CORE = coreInOrder(TASK).map((made) => ({
  name: made.name,
  arguments: rightArguments(TASK, made) as JsonObject,
}));
const ANSWER = `${TASK.target.variable} = ${TASK.target.value}`;
const MUTE = scripted("mute", () => ({ text: "Nobody asks." }));
const PYTHON = [PYTHON3, `${ROOT}/fixtures/agents/mcp_agent.py`, "{mcp}"];

/** A real client, which makes the calls of a script. */
const clientAgent = (sdk: string, script: McpScript, mcp: CommandAgent["mcp"]): CommandAgent => ({
  command: [
    ...[Deno.execPath(), "run", "-A", "--no-check", `--config=${ROOT}/deno.json`],
    ...[`--lock=${ROOT}/tests/deno.lock`, `${ROOT}/tests/support/agents/mcp_client.ts`, sdk],
  ],
  env: { SCRIPT: JSON.stringify(script) },
  ...(mcp === undefined ? {} : { mcp }),
});

for (const mcp of ["http", "stdio"] as const) {
  for (const sdk of ["2", "1"]) {
    Deno.test(`version ${sdk} of the official client works over ${mcp}`, async () => {
      await using place = await folder();
      const out = place.file("out.json");
      const script: McpScript = {
        calls: [
          ...CORE.slice(0, 1),
          { name: "func_invented" },
          { name: CORE[0]!.name, arguments: { more: "é\n" } },
          ...CORE.slice(1),
        ],
        answers: [4, ANSWER, "another"],
        out,
      };
      const agent = commandAgent(clientAgent(sdk, script, mcp));
      const trial = await runTrial(SPEC, MUTE, { agent });
      assertEquals([trial.outcome, trial.agent], ["solved", "unwatched"], trial.reason);
      assertEquals(
        trial.failures.map(({ type, function: name }) => [type, name]),
        [["function_not_found", "func_invented"], ["wrong_number_of_inputs", CORE[0]!.name]],
      );
      const { tools, results }: McpOutcome = JSON.parse(Deno.readTextFileSync(out));
      assertEquals(
        tools.map(({ name, inputSchema }) => [name, inputSchema]).slice(0, -1),
        JSON.parse(JSON.stringify(TASK.tools.map((tool) => [tool.name, tool.parameters]))),
      );
      assertEquals(tools.at(-1)!.name, "submit_answer");
      assertEquals(
        results.slice(0, -3).map(({ text }) => text),
        callsOf(trial.events).map(({ result }) => result),
      );
      assertEquals(
        results.map(({ isError }) => isError === true),
        [false, true, true, false, false, true, false, true],
      );
    });
  }
}

Deno.test("a Python client whose model is watched makes the mistakes that its model makes over the wire", async () => {
  const saying = (prefix: string) =>
    [
      [`${CORE[0]!.name}x`, CORE[0]!.arguments],
      [CORE[0]!.name, {}],
      [CORE[0]!.name, { ...CORE[0]!.arguments, more: 1 }],
      [CORE[0]!.name, [1]],
      [
        CORE.at(-1)!.name,
        Object.fromEntries(Object.keys(CORE.at(-1)!.arguments).map((key) => [key, 5])),
      ],
      ...CORE.map((call) => [call.name, call.arguments]),
    ].map(([name, given]) => ({
      calls: [{ name: `${prefix}${name}`, arguments: JSON.stringify(given) }],
    }));
  const limits = { calls: 20 };
  await using wire = sayingServer([...saying(""), { text: ANSWER }]);
  await using seen = sayingServer([...saying("mcp__toolgate__"), { text: ANSWER }]);
  const overWire = await runTrial(SPEC, wire.model(), { limits });
  const agent = commandAgent({ command: PYTHON, mcp: true });
  const overMcp = await runTrial(SPEC, seen.model(), { agent, limits });
  assertEquals(overMcp.agent, "watched", overMcp.reason);
  assertEquals(overMcp.failures, overWire.failures);
  assert(overMcp.failures.length > 4);
  assertEquals([overMcp.outcome, overMcp.calls], [overWire.outcome, overWire.calls]);
});

/** A program that writes where its configuration is, who may read it, and what is in it; then `end`. */
const shellAgent = (out: string, end: string, mcp: CommandAgent["mcp"]): CommandAgent => ({
  command: [
    ...["sh", "-c"],
    `read -r task; printf '%s' "$task" > "$0/task"; echo "$TOOLGATE_MCP_URL" > "$0/url"
     echo "$1" > "$0/path"; stat -c %a "$1" > "$0/mode"; cat "$1" > "$0/config"; echo $$ > "$0/pid"; ${end}`,
    ...[out, "{mcp}"],
  ],
  seconds: 1,
  ...(mcp === undefined ? {} : { mcp }),
});

const isThere = (path: string) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
};

Deno.test("a program finds its server in a file that only its user can read, and that is gone afterwards", async () => {
  for (
    const [mcp, end, outcome] of [
      [true, "echo done", "no_answer"],
      ["stdio", "exit 3", "agent_error"],
      ["http", "rm $1", "no_answer"],
      [true, "kill -KILL $$", "agent_error"],
      [true, "trap '' TERM; while true; do sleep 0.05; done", "time_limit"],
    ] as const
  ) {
    await using place = await folder();
    const read = (name: string) => Deno.readTextFileSync(place.file(name)).trim();
    const agent = commandAgent(shellAgent(place.path, end, mcp));
    const trial = await runTrial(SPEC, MUTE, { agent });
    assertEquals(trial.outcome, outcome, trial.reason);
    assertEquals(read("mode"), "600");
    const [path, url] = [read("path"), read("url")];
    assert(!isThere(path), end);
    const { mcpConfig, mcpURL, toolsURL, v } = JSON.parse(read("task"));
    assertEquals([mcpConfig, mcpURL, v], [path, url, 1]);
    assertEquals(url, toolsURL.replace(/tools$/, "mcp"));
    const { mcpServers: { toolgate: server, ...others } } = JSON.parse(read("config"));
    assertEquals(others, {});
    if (mcp !== "stdio") {
      assertEquals(server, { type: "http", url });
      continue;
    }
    const { command: program, args, env: { TOOLGATE_MCP_URL: address } } = server;
    const { host } = new URL(url);
    assertEquals([program, address], [Deno.execPath(), url]);
    assertEquals(args.filter((one: string) => one.startsWith("--allow")), [
      `--allow-net=${host}`,
      "--allow-env=TOOLGATE_MCP_URL",
    ]);
    // Other users see arguments, and the address is a key.
    assert(!args.join(" ").includes(new URL(url).pathname.slice(1, 20)));
  }
});

Deno.test("a program without mcp gets nothing of it", async () => {
  const agent = commandAgent({ command: ["sh", "-c", 'cat; env | grep MCP || echo "none"'] });
  const trial = await runTrial(SPEC, MUTE, { agent });
  const answer = trial.events.find((event) => event.kind === "answer")!;
  assert(!/mcp/i.test(answer.text.replace(/"tools":.*?"model"/s, "")), answer.text);
});

for (const signal of ["SIGINT", "SIGKILL"] as const) {
  Deno.test(`${signal} leaves no configuration behind, wherever temporary files are`, async () => {
    await using place = await folder();
    const agent = { ...shellAgent(place.path, "sleep 1000", true), seconds: 1000 };
    const suite = place.write(
      "suite.jsonc",
      JSON.stringify({
        ...{ name: "killed", seed: 7, graphs: 1, models: ["sim:planner"], agent },
        tasks: [{ core: 2, depth: 1 }],
      }),
    );
    const child = start(Deno.execPath(), [
      ...["run", "-A", "--no-check", `${ROOT}/lib/cli/main.ts`, "run", suite],
    ], { env: { TMPDIR: "." } });
    const read = (name: string) => Deno.readTextFileSync(place.file(name)).trim();
    await until(() => isThere(place.file("pid")) && read("pid") !== "");
    const [pid, path] = [Number(read("pid")), read("path")];
    assert(isThere(path));
    child.process.kill(signal);
    await child.finished;
    assert(path.startsWith("/"), path);
    await until(() => !isAlive(pid) && !isThere(path));
  });
}

/** A client that a limit ends while a call is under way, and that calls on when it is asked to end. */
const LATE = `
import json, os, signal, sys, threading, urllib.request

def post(url, body):
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    return urllib.request.urlopen(request).read().decode()

def call(name, given):
    params = {"name": name, "arguments": given}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.loads(post(os.environ["TOOLGATE_MCP_URL"], body).split("data:")[1])["result"]

def late(*_):
    results = [call("one", {}), call("submit_answer", {"answer": "late"})]
    with open(sys.argv[1], "w") as file:
        json.dump(results, file)
    os._exit(0)

signal.signal(signal.SIGTERM, late)
tools = [{"type": "function", "function": {"name": name}} for name in ("slow", "one")]
body = {"model": "parrot", "messages": [{"role": "user", "content": "Go."}], "tools": tools}
post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
threading.Thread(target=call, args=["slow", {}]).start()
call("one", {})
call("one", {})
signal.pause()
`;

Deno.test("calls and answers after the end of a trial are refused, and one under way comes to nothing", async () => {
  await using place = await folder();
  const out = place.file("out.json");
  const [begun, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const named = (name: string, execute: Tool["execute"]): Tool => ({
    ...{ name, description: "", parameters: { type: "object" }, execute },
  });
  const tools = [
    named("slow", () => (begun.resolve(), slow.promise)),
    named("one", async () => (await begun.promise, "1")),
  ];
  const call = { name: "one", arguments: "{}" };
  await using model = sayingServer([{ calls: [{ ...call, name: "slow" }, call, call] }]);
  const trial = await runTrial({ case: "own", seed: 7 }, model.model(), {
    agent: commandAgent({ command: [PYTHON3, place.write("late.py", LATE), out], mcp: true }),
    limits: { calls: 2 },
    open: caseOpener(() => ({ name: "own", prompt: "Go.", tools, assert: () => {} })),
  });
  // A result that comes too late goes nowhere.
  slow.resolve("done");
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setTimeout(resolve));
  assertEquals(trial.outcome, "call_limit", trial.reason);
  assertEquals(callsOf(trial.events).map((made) => [made.function, made.result]), [["one", "1"]]);
  const refusals = [
    "Cannot call one as no more than 2 calls are allowed",
    "The trial is over: a call past the limit was made",
  ];
  assertEquals(
    JSON.parse(Deno.readTextFileSync(out)),
    refusals.map((error) => ({
      ...{ content: [{ type: "text", text: JSON.stringify({ error }) }], isError: true },
    })),
  );
});

Deno.test("a server that cannot start makes trials invalid, with the reason", async () => {
  await using place = await folder();
  const run = async (root: string, ...flags: string[]) => {
    const script = place.write(
      "run.ts",
      `import { runTrial } from ${JSON.stringify(`${root}/lib/trials/run_trial.ts`)};
       import { commandAgent } from ${JSON.stringify(`${root}/lib/trials/tap/command.ts`)};
       import { scripted } from ${JSON.stringify(`${root}/lib/models/scripted.ts`)};
       const agent = commandAgent({ command: ["echo", "ran"], mcp: true });
       const model = scripted("mute", () => ({ text: "" }));
       const { outcome, permanent, reason } = await runTrial(
         ${JSON.stringify(SPEC)}, model, { agent });
       console.log(outcome, permanent, reason);`,
    );
    const { stdout, all } = await deno([
      ...["run", "--no-prompt", "--no-check", "--no-lock", `--config=${root}/deno.json`],
      ...[...flags, script],
    ], { env: { TMPDIR: place.path } });
    assert(stdout.startsWith("invalid"), all);
    return stdout;
  };
  const program = "--allow-run";
  const net = "--allow-net=127.0.0.1";
  assertStringIncludes(
    await run(ROOT, program),
    "permission Cannot run the agent echo ran as Deno was not",
  );
  const unwritten = await run(ROOT, program, net, "--allow-env=TMPDIR");
  assertStringIncludes(unwritten, "permission Cannot write the MCP configuration ");
  assertStringIncludes(unwritten, `add --allow-write=${place.path}`);

  // The package is not there.
  await using copy = await Workplace.make();
  const path = `${copy.clone}/deno.json`;
  const config = Deno.readTextFileSync(path);
  Deno.writeTextFileSync(
    path,
    config.replace(/"npm:@modelcontextprotocol.server@[^"]*"/, '"./x.ts"'),
  );
  const unloaded = await run(copy.clone, "-A");
  assertStringIncludes(
    unloaded,
    "command Cannot start the MCP server of the trial as @modelcontextprotocol/server must be",
  );
  assertEquals(place.names(), ["run.ts"]);
});

Deno.test("requests beside the address of a trial, or too long for it, change nothing", async () => {
  const statuses: number[] = [];
  const trial = await runTrial(SPEC, MUTE, {
    agent: async (_, { mcpURL }) => {
      const url = await mcpURL();
      const post = async (to: string, body: string) => {
        const headers = {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        };
        const response = await fetch(to, { method: "POST", headers, body });
        statuses.push(response.status);
        await response.body?.cancel();
      };
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x" } };
      const token = url.split("/").at(-2)!;
      const other = token.startsWith("0") ? `1${token.slice(1)}` : `0${token.slice(1)}`;
      await post(url.replace(token, other), JSON.stringify(call));
      await post(`${url}/more`, JSON.stringify(call));
      await post(url, "x".repeat(17 * 2 ** 20)).catch(() => statuses.push(413));
      return ANSWER;
    },
  });
  assertEquals(statuses, [404, 404, 413]);
  assertEquals([trial.outcome, trial.calls, trial.failures], ["solved", 0, []], trial.reason);
});
