// Models, tools and servers that write commands to the runners of CI jobs, wherever they have a word: none of
// these may stand in what a command or `deno test` prints or reports.

import { assert, assertEquals } from "@std/assert";
import { completion } from "../support/wire_servers.ts";
import { deno, type Finished, type Folder, folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { parseXml } from "../support/xml.ts";
import type { JsonObject } from "../../lib/base/json.ts";

const LINES = [
  "::warning file=a.ts,line=1::owned",
  " \t ::set-output name=a::owned",
  "\u00a0::stop-commands::owned",
  "::add-mask::o",
  "##[error]owned",
  "text ##[group]owned",
  "##vso[task.setvariable variable=a]owned",
  "###vso[task.complete result=Succeeded]owned",
  "##teamcity[buildStatus status='SUCCESS']",
  "section_start:0:owned\r\u001b[0K",
  // No character of XML.
  "owned\ufffe\uffff",
];
/** Each of them stands at the start of a text, and of a line. */
const TEXTS = LINES.map((_, place) =>
  [...LINES.slice(place), ...LINES.slice(0, place)].join(["\n", "\r\n", "\r"][place % 3])
);

/** What runners would take for a command, in one line. */
const COMMAND = /##\w*\[|^\s*::(?!\d)|section_(?:start|end):.*\r/;

function assertNoCommand(text: string, what: string): void {
  for (const line of text.split(/\r?\n|\r(?!$)/)) {
    assert(!COMMAND.test(line), `${what}: ${JSON.stringify(line)}`);
  }
}

/** A model that has a command for every word, in replies of every kind. */
function hostileServer() {
  let requests = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { tools = [], messages } = await request.json();
    const turn = requests++;
    const text = TEXTS[turn % TEXTS.length]!;
    const named = tools[turn % Math.max(1, tools.length)]?.function?.name ?? "none";
    const call = (name: string, given: string): JsonObject => ({
      content: text,
      tool_calls: [{ id: text, type: "function", function: { name, arguments: given } }],
    });
    const replies: (() => Response)[] = [
      () => said(call(named, JSON.stringify({ value: text, [text]: text }))),
      () => said(call(text, JSON.stringify({ [text]: text }))),
      () => said(call(named, `{${text}`)),
      () => said({ content: text }),
    ];
    const failures: (() => Response)[] = [
      () => Response.json({ error: { message: text, type: text, code: text } }, { status: 400 }),
      () => new Response(text, { status: 500, statusText: "no" }),
      () => Response.json({ choices: text }),
    ];
    const said = (message: JsonObject) => Response.json({ ...completion(message), model: text });
    // Every fifth trial fails; the others end with a text.
    const all = turn % 23 === 22 ? failures : replies;
    return messages.length > 6 ? replies[3]!() : all[Math.floor(turn / 3) % all.length]!();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function testFile(place: Folder, url: string): string {
  return place.write(
    "hostile.ts",
    `import { assertAnswer, assertCalled, assertCallCount, benchmark, tool, toolTest } from ${
      JSON.stringify(`file://${ROOT}/mod.ts`)
    };
const baseURL = ${JSON.stringify(url)};
const texts = ${JSON.stringify(TEXTS)};
const shared = { model: "mine", seed: 1, baseURL, retries: 0 };
const value = tool({
  name: "value",
  description: "Gives a value",
  parameters: { type: "object", properties: { value: { type: "string" } } },
  execute: ({ value }) => {
    if (Math.random() < 0.5) throw new Error(String(value));
    return value;
  },
});
const cases = { tools: [value], prompt: "Get the value", trials: 6, ...shared };
benchmark("open", { ...shared, tasks: { core: 3, depth: 2 }, graphs: 8 });
benchmark("gated", { ...shared, tasks: { core: 3, depth: 2 }, graphs: 8, gate: { successRate: 0.5 } });
toolTest("answer", { ...cases, assert: (run) => assertAnswer(run, "42") });
toolTest("called", { ...cases, assert: (run) => assertCalled(run, { tool: "value", arguments: { value: "x" } }) });
toolTest("expected", {
  ...cases,
  expected: [{ tool: "value", arguments: { value: "x" } }],
  assert: (run) => assertCallCount(run, 42),
});
toolTest("thrown", { ...cases, assert: (run) => { throw new Error(run.answer + texts[0]); } });
`,
  );
}

Deno.test("no command to a runner gets into logs, JUnit reports and job summaries", async () => {
  await using place = await folder();
  await using server = hostileServer();
  const file = (name: string) => place.file(name);
  const env = { GITHUB_STEP_SUMMARY: file("summary.md") };
  const tested = await deno([
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", "--allow-env", "--allow-read", `--allow-write=${place.path}`],
    ...[`--junit-path=${file("junit.xml")}`, testFile(place, server.url)],
  ], { cwd: place.path, env });
  assertEquals(tested.code, 1);
  // The texts did come so far, but for their commands.
  assert(tested.stdout.includes("owned"), tested.all);
  const junit = Deno.readTextFileSync(file("junit.xml"));
  const plain = junit.replaceAll("&#10;", "\n").replaceAll("&#13;", "\r").replaceAll("&apos;", "'");
  assert(junit.includes("owned"));
  parseXml(junit);
  assertNoCommand(tested.stdout, "deno test");
  assertNoCommand(tested.stderr, "deno test, stderr");
  assertNoCommand(plain, "JUnit");

  const suite = place.write(
    "suite.jsonc",
    JSON.stringify({
      ...{
        name: TEXTS[4]!.slice(0, 200),
        seed: 1,
        graphs: 8,
        models: ["mine"],
        gate: { successRate: 0.5 },
      },
      tasks: [{ core: 3, depth: 2 }],
    }),
  );
  const journal = file("out.jsonl");
  const commands = [
    ["run", suite, "--base-url", server.url, "--retries", "0", "--out", journal],
    ["gate", journal],
    ["gate", journal, "--json"],
    ["report", journal],
    ["report", journal, "--markdown", file("report.md")],
    ["export", journal, "--format", "hermes"],
    ["export", journal, "--format", "openai-chat"],
    ["selfcheck", journal, "--json"],
  ];
  const finished: Finished[] = [];
  for (const line of commands) finished.push(await toolgate(line, { env }));
  const lines = Deno.readTextFileSync(journal).trimEnd().split("\n").map((line) =>
    JSON.parse(line)
  );
  for (const { id } of lines.slice(1, 12)) {
    const line = ["run", journal, "--only", id, "--retries", "0"];
    finished.push(await toolgate(line, { env }));
  }
  // A journal may be anyone's: what is wrong with it is quoted.
  const [plan, trial] = lines;
  for (const text of TEXTS) {
    const models = [{ model: "mine", [text]: text }];
    const changed = { ...plan, resolved: { ...plan.resolved, models } };
    const broken = place.write("broken.jsonl", linesOf([changed]));
    const refused = await toolgate(["run", broken, "--only", trial.id]);
    assertEquals(refused.code, 2, refused.all);
    finished.push(refused);
  }
  const address = `${server.url}/##vso[task.complete]`;
  const elsewhere = place.write("else.jsonl", linesOf([{ ...plan, baseURL: address }]));
  const asked = await toolgate(["run", elsewhere, "--only", trial.id, "--retries", "0"]);
  assert(asked.stderr.includes("No key is sent to"), asked.all);
  finished.push(asked);
  for (const { stdout, stderr, all } of finished) {
    const what = all.split("\n")[0]!;
    assertNoCommand(stdout, what);
    assertNoCommand(stderr, `${what}, stderr`);
  }
  assert(finished.some(({ all }) => all.includes("owned")));
  assertNoCommand(Deno.readTextFileSync(env.GITHUB_STEP_SUMMARY), "job summary");
  assertNoCommand(Deno.readTextFileSync(file("report.md")), "Markdown");
});
