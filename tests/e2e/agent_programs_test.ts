// Command agents: real programs, which answer, fail, hang, flood, and leave others behind.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { InfrastructureError, TimeLimitError } from "../../lib/models/model.ts";
import type { AgentOptions, AgentTask } from "../../lib/trials/own_agent.ts";
import { type CommandAgent, commandAgent } from "../../lib/trials/tap/command.ts";
import { agentOptions, agentTask } from "../support/agent_options.ts";
import { command, deno, folder, isAlive, ROOT, until } from "../support/child.ts";
import { PYTHON3 } from "../support/python.ts";
import { assertSaidIsRecorded, MISTAKES } from "../support/said_and_recorded.ts";
import { sayingServer } from "../support/saying_server.ts";
import { echo, serve } from "../support/served_tools.ts";

interface Given {
  readonly task?: Partial<AgentTask>;
  readonly given?: Partial<AgentOptions>;
  readonly options?: Omit<CommandAgent, "command">;
}

/** Runs a script of the shell as the agent; `$0` in it is the word `agent`. */
function shell(script: string, { task, given, options }: Given = {}): Promise<string> {
  const agent = commandAgent({ command: ["sh", "-c", script, "agent"], ...options });
  return agent(agentTask(task), agentOptions(given));
}

/** Runs a script that writes ids of processes into a file, one a line; returns what it rejected with, and them. */
async function left(script: string, given?: Given): Promise<[error: unknown, pids: number[]]> {
  const file = await Deno.makeTempFile();
  try {
    const error = await shell(script, {
      ...given,
      options: { ...given?.options, env: { PIDS: file } },
    }).then(() => undefined, (error) => error);
    const pids = (await Deno.readTextFile(file)).trim().split("\n").map(Number);
    return [error, pids];
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("commandAgent() answers with all of standard output but one line break", async () => {
  assertEquals(await shell("printf 'x = 4\\n\\n'"), "x = 4\n");
  assertEquals(await shell("printf 'é\\r\\n'"), "é");
  assertEquals(await shell("true"), "");
});

Deno.test("commandAgent() gives arguments as they are: no shell reads them", async () => {
  const agent = commandAgent({ command: ["printf", "%s|", "$HOME", "*", "a b", "`id`", "'"] });
  assertEquals(await agent(agentTask(), agentOptions()), "$HOME|*|a b|`id`|'|");
});

Deno.test("commandAgent() tells prompt, model and addresses by the environment", async () => {
  const script =
    'echo "$TOOLGATE_PROMPT|$TOOLGATE_MODEL|$OPENAI_BASE_URL|$OPENAI_API_KEY|$TOOLGATE_TOOLS_URL"';
  assertEquals(
    await shell(script, { task: { prompt: "What is é?" } }),
    "What is é?|a-model|http://127.0.0.1:9/none/v1|no-key|http://127.0.0.1:9/none/tools",
  );
});

Deno.test("commandAgent() gives a program none of this process's keys, and the variables of env", async () => {
  Deno.env.set("OPENAI_API_KEY", "the-real-key-of-the-user");
  Deno.env.set("SOME_SERVICE", "of-the-user");
  try {
    const lines = (await shell("env", {
      options: { env: { OWN: "1", LANG: "xx", OPENAI_API_KEY: "the-real-key-again" } },
    })).split("\n");
    assert(lines.includes("OPENAI_API_KEY=no-key"));
    assert(lines.includes("OWN=1") && lines.includes("LANG=xx"));
    assertEquals(lines.filter((line) => /real-key|of-the-user/.test(line)), []);
    assert(lines.includes(`PATH=${Deno.env.get("PATH")}`));
  } finally {
    Deno.env.delete("OPENAI_API_KEY");
    Deno.env.delete("SOME_SERVICE");
  }
});

Deno.test("commandAgent() tells the whole task by standard input, in OpenAI's form", async () => {
  const call = { id: "c1", name: "add", arguments: '{"a":1}' };
  const text = await shell("cat", {
    task: {
      prompt: "And now?",
      system: "Be brief.",
      history: [
        { role: "user", content: "Add." },
        { role: "assistant", content: "", calls: [call] },
        { role: "tool", callId: "c1", name: "add", content: "2" },
        { role: "assistant", content: "It is 2.", calls: [] },
      ],
      toolChoice: { function: "add" },
      tools: [{
        ...{ name: "add", description: "Adds.", parameters: { type: "object" } },
        examples: [{ a: 2 }],
        execute: () => Promise.resolve("2"),
      }],
    },
  });
  assertEquals(JSON.parse(text), {
    ...{ v: 1, prompt: "And now?", system: "Be brief.", model: "a-model", apiKey: "no-key" },
    history: [
      { role: "user", content: "Add." },
      {
        role: "assistant",
        tool_calls: [{
          id: "c1",
          type: "function",
          function: { name: "add", arguments: '{"a":1}' },
        }],
      },
      { role: "tool", tool_call_id: "c1", content: "2" },
      { role: "assistant", content: "It is 2." },
    ],
    tools: [{
      ...{ name: "add", description: 'Adds.\nExample: {"a":2}', parameters: { type: "object" } },
    }],
    toolChoice: { type: "function", function: { name: "add" } },
    baseURL: "http://127.0.0.1:9/none/v1",
    toolsURL: "http://127.0.0.1:9/none/tools",
  });
});

Deno.test("commandAgent() leaves a prompt that no environment can hold to standard input", async () => {
  for (const prompt of ["a\0b", "é".repeat(300_000)]) {
    const text = await shell('echo "${TOOLGATE_PROMPT-none}"; cat', { task: { prompt } });
    const [variable, ...rest] = text.split("\n");
    assertEquals(variable, "none");
    assertEquals(JSON.parse(rest.join("\n")).prompt, prompt);
  }
});

Deno.test("commandAgent() takes the answer of a program that reads no input", async () => {
  const prompt = "x".repeat(2_000_000);
  assertEquals(await shell("echo done", { task: { prompt } }), "done");
  assertEquals(await shell("exec <&-; echo done", { task: { prompt } }), "done");
});

Deno.test("commandAgent() rejects with how a program ended and the end of standard error, without secrets", async (test) => {
  const table: Readonly<Record<string, readonly [script: string, message: RegExp]>> = {
    "an exit code": [
      "yes noise | head -c 200000 >&2; printf 'Traceback:\\033[31m\\nkey sk-abcdefghijklmnop123456 bad\\n' >&2; exit 3",
      /ended with exit code 3; standard error: key \[redacted\] bad, after: ….*Traceback:\\u001b\[31m/,
    ],
    "an error that it got over": [
      "printf 'Error: no cache\ndisk full\n' >&2; exit 1",
      /standard error: Error: no cache, then: disk full$/,
    ],
    "an error above its stack": [
      "printf 'Error: no key\n    at f (a.js:1)\n\nNode.js v22.1.0\n' >&2; exit 1",
      /standard error: Error: no key$/,
    ],
    "a secret of its env": [
      'echo "cannot use $SEARCH_TOKEN" >&2; exit 1',
      /standard error: cannot use \[redacted\]$/,
    ],
    "a signal": ["kill -SEGV $$", /was ended by SIGSEGV/],
    "an output without end": ["exec yes", /wrote more than 1048576 bytes to standard output/],
  };
  const options = { env: { SEARCH_TOKEN: "correct horse battery staple" } };
  for (const [name, [script, message]] of Object.entries(table)) {
    await test.step(name, async () => {
      const error = await assertRejects(() => shell(script, { options })) as Error;
      assertMatch(error.message, message);
      assert(error.message.length < 1_000, error.message);
      assert(!(error instanceof InfrastructureError));
    });
  }
});

Deno.test("commandAgent() takes an answer of exactly 1 MiB, and keeps no standard error without end", async () => {
  assertEquals((await shell("head -c 1048576 /dev/zero | tr '\\0' x")).length, 1_048_576);
  assertEquals(await shell("yes | head -c 50000000 >&2; echo fine"), "fine");
});

Deno.test("commandAgent() ends a group that ignores SIGTERM when its time is up", async () => {
  const [error, pids] = await left(
    "trap '' TERM; sleep 1000 & echo $! >>$PIDS; echo $$ >>$PIDS; echo waiting >&2; sleep 1000",
    { options: { seconds: 0.5 } },
  );
  assert(error instanceof TimeLimitError);
  assertStringIncludes(error.message, "took longer than 0.5 s; standard error: waiting");
  assertEquals(pids.length, 2);
  await until(() => !pids.some(isAlive));
});

Deno.test("commandAgent() ends the group when the trial ends it, and gives its reason", async () => {
  const controller = new AbortController();
  const reason = new Error("the trial is over");
  setTimeout(() => controller.abort(reason), 500);
  const [error, pids] = await left(
    "sleep 1000 & echo $! >>$PIDS; echo $$ >>$PIDS; sleep 1000",
    { given: { signal: controller.signal } },
  );
  assertEquals(error, reason);
  assertEquals(pids.length, 2);
  await until(() => !pids.some(isAlive));
});

Deno.test("commandAgent() ends what a program leaves behind, also where it holds the output open", async () => {
  const [error, pids] = await left("sleep 1000 & echo $! >>$PIDS; echo answer");
  assertEquals(error, undefined);
  assertEquals(pids.length, 1);
  await until(() => !pids.some(isAlive));
});

Deno.test("commandAgent() does not wait for a program that left the group with its output", async () => {
  const script = "setsid sh -c 'echo $$ >>$PIDS; exec sleep 1000' & sleep 0.3; echo answer";
  const [error, pids] = await left(script, { task: { prompt: "x".repeat(1_000_000) } });
  assertEquals([error, pids.length], [undefined, 1]);
  // It is its own master: this test ends it.
  Deno.kill(pids[0]!, "SIGKILL");
});

for (
  const [what, name, cwd, message] of [
    ["is not there", "no-such-agent", undefined, "as there is no program no-such-agent: install"],
    ["is not executable", "./README.md", ROOT, "as ./README.md is not executable"],
    ["is a folder", "./lib", ROOT, "as ./lib is not executable"],
    ["has no folder", "sh", "/no/such/folder", "as there is no folder /no/such/folder"],
    ["has a file for a folder", "sh", `${ROOT}/README.md`, `as there is no folder ${ROOT}`],
  ] as const
) {
  Deno.test(`commandAgent() is no failure of an agent whose program ${what}`, async () => {
    const agent = commandAgent({ command: [name, "--x"], ...(cwd === undefined ? {} : { cwd }) });
    const error = await assertRejects(
      async () => await agent(agentTask(), agentOptions()),
      InfrastructureError,
      message,
    );
    assertStringIncludes(error.message, `Cannot run the agent ${name} --x`);
    assertEquals(error.permanent, "command");
  });
}

/** The text of a program that runs a command agent, and handles it as `then` says. */
const programOf = (script: string, then: string) => `
  import { commandAgent } from ${
  JSON.stringify(new URL("../../lib/trials/tap/command.ts", import.meta.url).href)
};
  const task = { prompt: "", history: [], tools: [] };
  const given = { model: "m", baseURL: "b", apiKey: "k", toolsURL: "t" };
  const agent = commandAgent({ command: ["sh", "-c", ${JSON.stringify(script)}] });
  agent(task as never, given as never)${then};
`;

/** Runs a program of Deno with some permissions; returns its standard output. */
async function runProgram(text: string, flags: readonly string[]): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, text);
    const { stdout } = await command(Deno.execPath(), [
      ...["run", "--no-check", "-c", `${ROOT}/deno.json`, ...flags, file],
    ]).output();
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("commandAgent() names the permission that is missing, without a prompt", async () => {
  const program = programOf(
    "echo ran",
    ".then(console.log, (error) => console.log(error.permanent, error.message))",
  );
  for (const flags of [[], ["--allow-run=sh"]]) {
    const refused = await runProgram(program, flags);
    assertStringIncludes(
      refused,
      "permission Cannot run the agent sh -c 'echo ran' as Deno was not",
    );
    assertStringIncludes(refused, "add --allow-run ");
  }
  assertEquals(await runProgram(program, ["--allow-run"]), "ran\n");
  const unheard = program.replace('baseURL: "b"', 'baseURL: "http://toolgate.invalid/1/v1"');
  assertStringIncludes(
    await runProgram(unheard, ["--allow-run"]),
    "as Deno was not given the permission to listen for it: add --allow-net=127.0.0.1",
  );
});

Deno.test("commandAgent() leaves no program behind when its own process exits", async () => {
  const file = await Deno.makeTempFile();
  const script = `sleep 1000 & echo $! >${file}; echo $$ >>${file}; echo up >&2; sleep 1000`;
  const wait = `; while (Deno.readTextFileSync("${file}").split("\\n").length < 3) {` +
    "await new Promise((resolve) => setTimeout(resolve, 20)); } Deno.exit()";
  await runProgram(programOf(script, wait), ["--allow-run", "--allow-read"]);
  const pids = (await Deno.readTextFile(file)).trim().split("\n").map(Number);
  await Deno.remove(file);
  await until(() => !pids.some(isAlive));
  assertEquals(pids.length, 2);
});

Deno.test("a tap works by fetch without the permission to listen", async () => {
  await using server = sayingServer([{ calls: [{ name: "no_such", arguments: "{}" }] }, {
    text: "Done.",
  }]);
  await using dir = await folder();
  const { host } = new URL(server.url);
  dir.write(
    "trial.ts",
    `
    import { openai } from "${ROOT}/mod.ts";
    import { runTrial } from "${ROOT}/lib/trials/run_trial.ts";
    const spec = { core: 2, depth: 1, connected: 0, disconnected: 0, seed: 7 };
    const trial = await runTrial(spec, openai({ model: "parrot", baseURL: "${server.url}", apiKey: "any" }), {
      agent: async ({ prompt, tools }, { fetch, baseURL, model }) => {
        const body = JSON.stringify({ model, messages: [{ role: "user", content: prompt }], tools: tools.map((f) => ({ type: "function", function: { name: f.name } })) });
        await (await fetch(baseURL + "/chat/completions", { method: "POST", body })).json();
        const other = await globalThis.fetch(baseURL + "/models").then(() => "reached", (error) => error.name);
        return other + " " + new URL(baseURL).hostname;
      },
    });
    const { text } = trial.events.at(-1);
    console.log(JSON.stringify({ text, failures: trial.failures.map(({ type }) => type), agent: trial.agent }));
  `,
  );
  const { stdout, stderr, code } = await deno([
    "run",
    ...["--no-check", "--no-prompt"],
    `--allow-net=${host}`,
    `--config=${ROOT}/deno.json`,
    dir.file("trial.ts"),
  ]);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(JSON.parse(stdout), {
    text: "NotCapable toolgate.invalid",
    failures: ["function_not_found"],
    agent: "watched",
  });
});

// The Python agent

const PYTHON = [PYTHON3, `${ROOT}/fixtures/agents/agent.py`];

for (const flags of [[], ["--stream"]]) {
  const title = ["agent.py", ...flags].join(" ");
  Deno.test(`${title} tells the model what was wrong with its calls, and goes on`, async () => {
    const call = (id: string, name: string, written: string) => ({ id, name, arguments: written });
    await using model = sayingServer([
      { calls: [call("1", "invented/name", "{}"), call("2", "add", "{")] },
      { calls: [call("3", "add", "[1]"), call("4", "add", '{"a":1}')] },
      { text: "It is é." },
    ]);
    await using server = serve([echo("add")]);
    const agent = commandAgent({ command: [...PYTHON, ...flags] });
    const text = await agent(
      agentTask({ system: "Be brief.", tools: [echo("add")], toolChoice: "required" }),
      agentOptions({ baseURL: model.url, toolsURL: server.url }),
    );
    assertEquals(text, "It is é.");
    assertEquals(model.asked.map(({ body }) => body["tool_choice"]), [
      "required",
      undefined,
      undefined,
    ]);
    const messages = model.asked.at(-1)!.body["messages"] as { role: string; content: string }[];
    assertEquals(messages[0], { role: "system", content: "Be brief." });
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    assertEquals(results.length, 4);
    assertStringIncludes(results[0]!, "there is no function invented/name");
    assertStringIncludes(results[1]!, "The arguments are not JSON");
    assertStringIncludes(results[2]!, "must be a JSON object");
    assertEquals(results[3], '{"a":1}');
  });
}

Deno.test("agent.py fails with what its server said", async () => {
  await using model = sayingServer([() => Response.json({ error: "no" }, { status: 400 })]);
  const error = await commandAgent({ command: PYTHON })(
    agentTask(),
    agentOptions({ baseURL: model.url }),
  ).catch((error) => error);
  assertStringIncludes(error.message, "exit code 1");
  assertStringIncludes(error.message, "HTTP Error 400");
});

for (const streamed of [false, true]) {
  const agent = commandAgent({
    command: [...PYTHON, ...(streamed ? ["--stream"] : [])],
    cwd: ROOT,
  });
  for (const mistake of Object.keys(MISTAKES)) {
    const cell = `Python | chat, ${streamed ? "streamed" : "whole"} | ${mistake}`;
    Deno.test(
      `what is said is recorded: ${cell}`,
      () => assertSaidIsRecorded({ api: "chat", streamed, agent }, mistake),
    );
  }
}
