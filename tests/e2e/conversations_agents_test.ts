// The same conversations by the loop, by agents of the AI SDK and by programs in Python; killed and resumed, and
// replayed without a key.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Folder, folder, readLines, ROOT, start, until } from "../support/child.ts";
import { PYTHON3 } from "../support/python.ts";
import { type Asked, type Saying, sayingServer } from "../support/saying_server.ts";

/** The agent of `fixtures/`, which keeps the conversation where it has the address to say a text to the user. */
const AGENT = Deno.readTextFileSync(`${ROOT}/fixtures/agents/agent.py`);
const [HEAD, LOOP] = AGENT.split(/^(?=while )/m);
const ASKING = `${HEAD}
while True:
${LOOP!.replaceAll(/^(?=.)/gm, "    ").replace(/ {4}print.*\n/, "")}
    text = {"text": messages[-1].get("content")}
    said = json.loads(post(task["toolsURL"] + "/ask_user", text, task["apiKey"]))
    if "over" in said:
        break
    messages.append({"role": "user", "content": said["reply"]})
print(messages[-1].get("content"))
`;

const FILE = `
import { assertCalled, tool, toolSuite } from ${JSON.stringify(`${ROOT}/mod.ts`)};
import { aiSdkAgent } from ${JSON.stringify(`${ROOT}/tests/support/agents/ai_sdk.ts`)};

const { agent, program, url, system } = JSON.parse(Deno.env.get("HOW")!);
const agents = {
  loop: undefined,
  sdk: aiSdkAgent({ streamed: true, api: "chat" }),
  program: { command: program },
};
const test = toolSuite("refunds", {
  model: "clerk",
  baseURL: url,
  system,
  agent: agents[agent],
  seed: 5,
  trials: 2,
  concurrency: 1,
  state: () => ({ refunded: [] as string[] }),
  tools: (state) => [tool({
    name: "refund",
    description: "Refunds an order",
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
    execute: ({ order }) => state.refunded.push(order),
  })],
});
const scenario = "He wants his order refunded.";
const assert = (run) => assertCalled(run, { tool: "refund", arguments: { order: "A1" } });

test("a function plays the user", {
  assert,
  prompt: "I want a refund.",
  user: {
    scenario,
    facts: ["A1"],
    model: ({ messages }) =>
      messages.at(-1)!.text.endsWith("?") ? "It is A1." : { text: "Thank you.", end: "done" },
  },
});
test("a language model plays the user, and opens", {
  assert,
  user: { scenario, model: { model: "customer", baseURL: url }, facts: ["A1"] },
});
test("a user who has the wrong order is greeted", {
  assert,
  user: {
    scenario,
    opens: { greeting: "Hello, which order is it?" },
    model: ({ messages }) => messages.length < 2 ? "It is A2." : { end: "transferred" },
  },
});
`;

/** A clerk, who asks for the order and refunds it, and a customer. */
function said({ body }: Asked): Saying {
  const messages = body["messages"] as unknown as { role: string; content: string | null }[];
  const { role, content } = messages.at(-1)!;
  const text = JSON.stringify(content);
  if (body["model"] === "customer") {
    return text.includes("refunded")
      ? { calls: [{ name: "end_conversation", arguments: '{"reason":"done"}' }] }
      : { text: text.includes("Which") ? "The order is A1." : "I want a refund." };
  }
  const [order] = /A\d/.exec(text) ?? [];
  if (role === "tool") return { text: "The order is refunded." };
  if (text.includes("Thank")) return { text: "You are welcome." };
  return order === undefined
    ? { text: "Which order?" }
    : { calls: [{ name: "refund", arguments: JSON.stringify({ order }) }] };
}

interface How {
  readonly agent: "loop" | "sdk" | "program";
  readonly url: string;
  readonly program?: readonly string[];
  readonly system?: string;
}

/** The tests of the file in a child process. */
function run(place: Folder, how: How, ...own: string[]) {
  const file = place.write("refunds_test.ts", FILE);
  const arguments_ = ["test", "-A", "--no-check", "--no-lock", `--config=${ROOT}/deno.json`, file];
  const env = { HOW: JSON.stringify(how), TMPDIR: place.path };
  return start(Deno.execPath(), [...arguments_, "--", ...own], { env });
}

/** What happened in the trials of a journal, without what time and the way of asking decide. */
// deno-lint-ignore no-explicit-any
function facts(path: string): any[] {
  return readLines(path).slice(1).map(({ task, outcome, user, calls, events }) => ({
    ...{ case: task.case, outcome, user: { ...user, usage: undefined }, calls },
    // deno-lint-ignore no-explicit-any
    events: events.flatMap(({ kind, text, end, function: name, arguments: given, result }: any) =>
      kind === "reply" ? [] : [{ kind, text, end, name, given, result }]
    ),
  })).sort((one, other) => one.case < other.case ? -1 : 1);
}

/** Runs the tests to their end; the last one fails, whoever the agent is. */
async function finished(place: Folder, name: string, how: How, ...own: string[]) {
  const journal = place.file(name);
  const { code, all } = await run(place, how, `--out=${journal}`, ...own).finished;
  assertEquals(code, 1, all);
  assertStringIncludes(all, "4 passed", all);
  return facts(journal);
}

const asking = (place: Folder) => [PYTHON3, place.write("asking.py", ASKING)];

Deno.test("the loop, the AI SDK and programs hold the same conversations", async () => {
  await using place = await folder();
  await using server = sayingServer(said);
  const { url } = server;
  const loop = await finished(place, "loop", { agent: "loop", url });
  assertEquals(loop.map(({ outcome, user }) => [outcome, user.end, user.messages]), [
    ...Array(2).fill(["solved", "done", 3]),
    ...Array(2).fill(["solved", "done", 2]),
    ...Array(2).fill(["wrong_answer", "transferred", 1]),
  ]);
  const ways: Readonly<Record<string, Omit<How, "url">>> = {
    sdk: { agent: "sdk" },
    turns: { agent: "program", program: [PYTHON3, `${ROOT}/fixtures/agents/agent.py`] },
    asking: { agent: "program", program: asking(place) },
  };
  for (const [way, how] of Object.entries(ways)) {
    assertEquals(await finished(place, way, { ...how, url }), loop, way);
  }
});

Deno.test("a run that is killed while a user is asked has the same facts once it is resumed", async () => {
  await using place = await folder();
  const stuck = Promise.withResolvers<Response>();
  await using server = sayingServer((asked) => asked.number === 11 ? stuck.promise : said(asked));
  const how: How = { agent: "program", url: server.url, program: asking(place) };
  const { process, finished: killed } = run(place, how, `--out=${place.file("broken")}`);
  await until(() => server.asked.length === 11);
  assertEquals(server.asked.at(-1)!.body["model"], "customer");
  process.kill("SIGKILL");
  await killed;
  stuck.resolve(new Response(null, { status: 500 }));
  assertEquals(readLines(place.file("broken")).length, 3);
  const resumed = await finished(place, "broken", how, "--resume");
  assertEquals(resumed, await finished(place, "whole", { ...how, agent: "loop" }));
});

/** The trials of a journal but for when they began, how long tools and functions took, and whether they are replayed. */
function essence(path: string): unknown[] {
  return readLines(path).slice(1).map(({ startedAt: _, replayed: __, events, ...trial }) => ({
    ...trial,
    events: events.map((event: Record<string, unknown>) => ({ ...event, durationMs: undefined })),
  }));
}

Deno.test("a recorded conversation is replayed without a key, without its user, and only as it was asked", async () => {
  await using place = await folder();
  const kept = place.file("kept");
  let how: How;
  {
    await using server = sayingServer(said);
    how = { agent: "loop", url: server.url };
    await finished(place, "recorded", how, `--record=${kept}`);
    const before = server.asked.length;
    await finished(place, "edited", { ...how, system: "Be brief." }, `--auto=${kept}`);
    assertEquals(server.asked.length, 2 * before);
    // Whatever opens it, the conversation with the system text before is another one, and kept.
    await finished(place, "again", how, `--auto=${kept}`);
    assertEquals(server.asked.length, 2 * before);
  }
  await finished(place, "replayed", how, `--replay=${kept}`);
  assertEquals(essence(place.file("replayed")), essence(place.file("recorded")));
  const { all } = await run(place, { ...how, system: "Be kind." }, `--replay=${kept}`).finished;
  assertStringIncludes(all, "it has another request 1 of stage user");
  assertStringIncludes(all, "what the model under test is asked with is another");
});
