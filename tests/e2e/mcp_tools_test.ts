// Tools of MCP servers as ours: of one that misbehaves as its arguments say.

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import { type CallEvent, callsOf } from "../../lib/calls/trace.ts";
import { type McpClient, mcpTools } from "../../lib/integrations/mcp.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { scripted } from "../../lib/models/scripted.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import type { Limits } from "../../lib/trials/agent/session.ts";
import type { Agent } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { deno, folder, isAlive, ROOT, until } from "../support/child.ts";
import { assertLinearWait, FACTOR } from "../support/growth.ts";
import { call } from "../support/handmade.ts";
import { answer } from "../support/mcp_server.ts";

const ODD = [
  ...[Deno.execPath(), "run", "--no-lock", "--no-check"],
  new URL("../support/mcp_server.ts", import.meta.url).pathname,
];

const LAX = [
  ...[Deno.execPath(), "run", "--no-lock", "--no-check"],
  new URL("../support/lax_mcp_server.ts", import.meta.url).pathname,
];

/** The event of one call of a tool. */
async function one(
  tools: readonly Tool[],
  name: string,
  written: JsonObject = {},
): Promise<CallEvent> {
  using toolbox = new Toolbox(tools);
  await toolbox.execute([call(name, written)]);
  return callsOf(toolbox.events)[0]!;
}

/** A trial on tools that are made for it. */
async function trialOn(
  tools: () => Promise<readonly Tool[]>,
  calls: readonly string[],
  agent?: Agent,
  limits: Limits = {},
): Promise<Trial> {
  const model = scripted("script", [
    ...calls.map((name) => ({ calls: [{ name, arguments: {} }] })),
    { text: "done" },
  ]);
  const toolCase = { name: "case", tools, prompt: "Do it.", assert: () => {} };
  const own = agent === undefined ? {} : { agent };
  const options = { open: caseOpener(() => toolCase), limits, ...own };
  return await runTrial({ case: "case", seed: 1 }, model, options);
}

Deno.test(
  "mcpTools() takes all pages of tools, under names that providers accept, and calls them by their own",
  async () => {
    await using tools = await mcpTools(ODD);
    assertEquals(tools.map(({ name }) => name).slice(0, 3), ["db_query_2", "db_query", "degrees"]);
    assertEquals(tools.length, 10);
    assertEquals(tools.instructions, "Ask for degrees");
    const [query] = tools;
    assertEquals([query!.description, query!.annotations], ["Query", { readOnlyHint: true }]);
    assertEquals((await one(tools, "db_query_2")).result, "db.query");
    assertEquals((await one(tools, "db_query")).result, "db_query");
    assertMatch((await one(tools, "degrees")).result, /do not conform.*as/);
    assertEquals(
      (await one(tools, "parts")).result,
      [
        "see\n[image, image/png, 1 byte: left out; only text is passed on]\nwhole",
        "[resource, file:///b, 5 bytes: left out; it is no png, jpeg, gif, webp, wav or mp3]",
        '{"type":"chart","points":[1,2]}',
      ].join("\n"),
    );
    await using few = await mcpTools(ODD, { tools: ["db.query"] });
    assertEquals(few.map(({ name }) => name), ["db_query_2"]);
  },
);

Deno.test("mcpTools() refuses one tool alone that it cannot take, and takes lists as servers write them", async () => {
  for (const [name, reason] of [["no_schema", "inputSchema"], ["list", "outputSchema"]] as const) {
    const error = await assertRejects(
      () => mcpTools(LAX, { tools: ["no_type", name] }),
      InputError,
    );
    assertMatch(
      error.message,
      new RegExp(`^Cannot take tool ${name} of .*: ${reason} must be an object$`),
    );
  }
  await using tools = await mcpTools(LAX, { tools: ["no_type"] });
  assertEquals(tools[0]!.parameters, { type: "object", properties: { city: { type: "string" } } });
  assertEquals((await one(tools, "no_type")).result, "no_type");
});

Deno.test("what an MCP server asks is answered as the options say, else declined in words", async () => {
  const names = ["elicit", "sample", "roots"];
  const said = async (tools: readonly Tool[]) =>
    await Promise.all(names.map(async (name) => JSON.parse((await one(tools, name)).result!)));
  await using tools = await mcpTools(LAX, {
    tools: names,
    elicitation: ({ message }) => message === "Who are you?" ? { name: "Ada" } : undefined,
    sampling: ({ maxTokens }) => `${maxTokens} tokens`,
    roots: ["/srv/data", new URL("file:///srv/more")],
  });
  assertEquals((await said(tools)).map(({ result }) => result), [
    { action: "accept", content: { name: "Ada" } },
    { role: "assistant", model: "toolgate", content: { type: "text", text: "9 tokens" } },
    { roots: [{ uri: "file:///srv/data" }, { uri: "file:///srv/more" }] },
  ]);
  await using others = await mcpTools(LAX, { tools: names });
  for (const { error } of await said(others)) {
    assertMatch(error.message, /Declined: no option given to mcpTools\(\) answers \w+\/\w+$/);
  }
});

Deno.test("progress of an MCP server begins its time anew, up to ten times", async () => {
  await using tools = await mcpTools(LAX, { tools: ["slow"], seconds: 2 });
  assertEquals((await one(tools, "slow")).result, "done");
  // Where progress does not help any more, the error of the client has the options of the request.
  const client: McpClient = {
    listTools: () => Promise.resolve({ tools: [{ name: "slow", inputSchema: {} }] }),
    callTool: (_, data) => Promise.reject({ code: "REQUEST_TIMEOUT", data }),
    getInstructions: () => undefined,
  };
  const [forever] = await mcpTools(client, { seconds: 2 });
  await assertRejects(() => forever!.execute({}), Error, "it did not answer within 20 s");
});

Deno.test("a line of an MCP server takes time as its length, and is not read where it nests without end", async () => {
  await using tools = await mcpTools(LAX, { tools: ["long"] });
  const read = (size: number) => async () => {
    assertEquals((await tools[0]!.execute({ size })).length, size);
  };
  await assertLinearWait(read(2 ** 20), read(FACTOR * 2 ** 20), "a line");
  await using deep = await mcpTools(LAX, { tools: ["deep"], seconds: 2 });
  await assertRejects(
    () => deep[0]!.execute({ size: 1_000_000 }),
    Error,
    "within 2 s, but for what could not be read: a message that nests too deep",
  );
});

Deno.test(
  "what an MCP server answers is told apart: errors of tools, and results that are none",
  async () => {
    await using tools = await mcpTools(ODD);
    const right = await one(tools, "degrees", { as: "number" });
    assertEquals([right.result, right.error, right.mistake], ["21 or so", undefined, undefined]);
    const outcomes = [
      ["degrees", { as: "text" }, /^The tool returned what .*: \/degrees must be number$/, true],
      ["degrees", { as: "none" }, /^The tool returned no structured content/, true],
      ["garbage", {}, /^The server gave no result of a tool: /, true],
      ["fail", {}, /^there is no such row$/, false],
      ["refuse", {}, /there is nothing to refuse/, false],
    ] as const;
    for (const [name, given, error, isMistake] of outcomes) {
      const event = await one(tools, name, given);
      assertMatch(event.error!, error, name);
      assertEquals(event.mistake, isMistake ? "malformed return" : undefined, name);
      assertEquals(event.failure, undefined, "the model did nothing wrong");
    }
    await using other = await mcpTools(ODD, { tools: ["pid"] });
    const pid = Number((await one(other, "pid")).result);
    const joined = [...other.filter(({ name }) => name === "pid")] as (Tool & AsyncDisposable)[];
    await joined[0]![Symbol.asyncDispose]();
    await until(() => !isAlive(pid));
    const trial = await trialOn(() => mcpTools(ODD), ["garbage"]);
    assertMatch(
      describeTrial({ ...trial, outcome: "wrong_answer", solved: false }),
      /^ {2}the tool garbage itself gave a malformed return in call 1: The server gave no result/m,
    );
  },
);

Deno.test(
  "an MCP server that dies or hangs makes the trial invalid, whatever an agent makes of it",
  async () => {
    const dead = await trialOn(() => mcpTools(ODD), ["db_query", "die"]);
    assertEquals([dead.outcome, dead.calls], ["invalid", 2]);
    assertMatch(
      dead.reason!,
      /^the MCP server \S*deno .* failed: it ended \(exit code 1\); standard error: Error: out of memory$/,
    );
    const hung = await trialOn(() => mcpTools(ODD, { seconds: 2 }), ["hang"]);
    assertEquals(hung.outcome, "invalid");
    assertMatch(hung.reason!, /failed: it did not answer within 2 s$/);
    const quiet = await trialOn(() => mcpTools(ODD), [], async ({ tools }) => {
      await tools.find(({ name }) => name === "die")!.execute({}).catch(() => {});
      return "all is well";
    });
    assertEquals(quiet.outcome, "invalid");
    assertMatch(quiet.reason!, /failed: it ended/);
    // What an agent does with tools that are dead, up to a limit, is no failure of its model either.
    const stubborn = await trialOn(() => mcpTools(ODD), [], async ({ tools }) => {
      for (const name of ["die", "db_query", "db_query"]) {
        await tools.find((tool) => tool.name === name)!.execute({}).catch(() => {});
      }
      return "all is well";
    }, { calls: 2 });
    assertEquals([stubborn.outcome, stubborn.calls], ["invalid", 2]);
  },
);

Deno.test(
  "with tools made for each trial each has a server of its own, which ends with it",
  async () => {
    const trials = await Promise.all(
      Array.from({ length: 3 }, () => trialOn(() => mcpTools(ODD), ["pid", "pid"])),
    );
    const pids = trials.map(({ events }) => callsOf(events).map(({ result }) => Number(result)));
    for (const [first, second] of pids) assertEquals(first, second);
    assertEquals(new Set(pids.flat()).size, 3);
    await until(() => !pids.flat().some(isAlive));
  },
);

Deno.test("mcpTools() says in one error what is wrong with a server", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const errors = [
    [["no-such-program"], /must start and answer: there is no such program/],
    [
      [Deno.execPath(), "eval", "throw new Error('no key')"],
      /it ended \(exit code 1\); standard error: error: .*no key/,
    ],
    [
      [Deno.execPath(), "eval", "console.error('Set KEY\\nusage: x'); Deno.exit(3)"],
      /it ended \(exit code 3\); standard error: usage: x, after: Set KEY$/,
    ],
    [
      { command: "npx -y server" },
      /the MCP server .*npx -y server.* is not there, and arguments go into args/,
    ],
    ["npx server", /at url: must be an address that begins with http; a program is a list/],
    [{ comand: "x" }, /Unrecognized key: "comand"; did you mean command\?/],
    [{ command: [] }, /at command: /],
    [
      `http://127.0.0.1:${port}/mcp`,
      /the MCP server http:\S+\/mcp must start and answer: .*[Cc]onnection refused/,
    ],
  ] as const;
  for (const [server, message] of errors) {
    await assertRejects(async () => await mcpTools(server as never), InputError).then((error) =>
      assertMatch((error as Error).message, message)
    );
  }
  await assertRejects(
    () => mcpTools(ODD, { tools: ["degres"] }),
    InputError,
    "it has no degres; did you mean degrees?",
  );
  for (const options of [{ tools: "x" }, { seconds: 0 }, { roots: "x" }, { sampling: "x" }]) {
    const [name] = Object.keys(options);
    const error = await assertRejects(() => mcpTools(ODD, options as never), InputError);
    assertMatch(error.message, new RegExp(`^Cannot use the options of mcpTools:\n  at ${name}: `));
  }
  const slow = [Deno.execPath(), "eval", "setInterval(() => {}, 1000)"];
  await assertRejects(
    () => mcpTools(slow, { seconds: 1 }),
    InputError,
    "it did not answer within 1 s",
  );
});

Deno.test("mcpTools() names the permission by which a program gets PATH", async () => {
  await using place = await folder();
  const script = place.write(
    "script.ts",
    `import { mcpTools } from "${ROOT}/lib/integrations/mcp.ts";
     await mcpTools(["npx"]).catch(({ message }) => console.log(message));`,
  );
  const flags = ["--no-prompt", "--no-check", `--config=${ROOT}/deno.json`, "--allow-run"];
  const { stdout, all } = await deno(["run", ...flags, script]);
  assertMatch(stdout, /the MCP server npx must get PATH, which needs --allow-env=PATH,HOME/, all);
});

Deno.test("what a wrapper such as npx started ends with the server, however it takes that", async () => {
  const file = await Deno.makeTempFile();
  const left = `sh -c 'trap "" TERM HUP; echo $$ > ${file}; exec sleep 1000' >&2 &`;
  const tools = await mcpTools(["sh", "-c", `${left} "$0" "$@"`, ...ODD]);
  // The server may be up before its shell has written that.
  await until(() => Deno.readTextFileSync(file) !== "");
  const wrapped = Number(await Deno.readTextFile(file));
  assert(isAlive(wrapped));
  await tools[Symbol.asyncDispose]();
  await until(() => !isAlive(wrapped));
  await Deno.remove(file);
});

// The client of the package leaves a timer.
const LEAVES = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "mcpTools() takes an address with headers, and a client that stays connected",
  LEAVES,
  async () => {
    const keys = new Set<string | null>();
    const methods: string[] = [];
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      async (request) => {
        keys.add(request.headers.get("x-key"));
        methods.push(request.method);
        if (request.method !== "POST") return new Response(null, { status: 405 });
        const asked = await request.json();
        const said = answer(asked);
        if (said === undefined) return new Response(null, { status: 202 });
        // Some servers write an error of the protocol with a status.
        const status = "error" in said && asked.method === "tools/call" ? 400 : 200;
        return Response.json(said, { status, headers: { "mcp-session-id": "1" } });
      },
    );
    const { port } = server.addr;
    const headers = { "x-key": "a-secret-of-the-user" };
    const url = `http://127.0.0.1:${port}/s/key-in-the-path-1/mcp`;
    const tools = await mcpTools({ url, headers });
    assertEquals((await one(tools, "db_query_2")).result, "db.query");
    assertMatch((await one(tools, "refuse")).error!, /^there is nothing to refuse$/);
    await tools[Symbol.asyncDispose]();
    assertEquals(methods.at(-1), "DELETE");
    await assertRejects(
      () => mcpTools({ url, headers }, { tools: ["x"] }),
      InputError,
      `the MCP server http://127.0.0.1:${port}/.../mcp must have them`,
    );
    assertEquals([...keys], ["a-secret-of-the-user"]);

    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command: ODD[0]!, args: ODD.slice(1) }));
    const own = await mcpTools(client);
    await own[Symbol.asyncDispose]();
    assertMatch((await one(own, "degrees", { as: "text" })).error!, /degrees must be number/);
    await client.close();
    const old = { listTools() {}, callTool() {}, setRequestHandler() {} };
    await assertRejects(
      () => mcpTools(old as never),
      InputError,
      "from version 2 on: this one is older",
    );
  },
);
