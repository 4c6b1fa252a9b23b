// The same conversations by the loop, by agents of the AI SDK and by programs in Python; killed and resumed, and
// replayed without a key.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Folder, folder, readLines, ROOT, start, until } from "../support/child.ts";
import { PYTHON3 } from "../support/python.ts";
import { type Asked, type Saying, sayingServer } from "../support/saying_server.ts";

/** The agent of `fixtures/`, which is started for each message of the user; and as one that keeps the conversation. */
const TURNS = `${ROOT}/fixtures/agents/agent.py`;
const [HEAD, LOOP] = Deno.readTextFileSync(TURNS).split(/^(?=while )/m);
const ASKING = `${HEAD}
said = {}
while "over" not in said:
${LOOP!.replace(/^print.*\n/m, "").replaceAll(/^(?=.)/gm, "    ")}
    text = {"text": messages[-1]["content"]}
    said = json.loads(post(task["toolsURL"] + "/ask_user", text, task["apiKey"]))
    messages.append({"role": "user", "content": said.get("reply")})
print(text["text"])
`;

const FILE = `
import { assertCalled, tool, toolSuite } from ${JSON.stringify(`${ROOT}/mod.ts`)};
import { aiSdkAgent } from ${JSON.stringify(`${ROOT}/tests/support/agents/ai_sdk.ts`)};

const { program, url, system } = JSON.parse(Deno.env.get("HOW")!);
const refund = (refunded) => tool({
  name: "refund",
  description: "Refunds an order",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  execute: ({ order }) => refunded.push(order),
});
const test = toolSuite("refunds", {
  ...{ model: "clerk", baseURL: url, system, seed: 5, trials: 2, concurrency: 1 },
  agent: program && (program === "sdk"
    ? aiSdkAgent({ streamed: true, api: "chat" })
    : { command: [${JSON.stringify(PYTHON3)}, program] }),
  user: { scenario: "He wants order A1 refunded." },
  state: () => [],
  tools: (refunded) => [refund(refunded)],
});
const assert = (run) => assertCalled(run, { tool: "refund", arguments: { order: "A1" } });
const answer = ({ messages }) =>
  messages.at(-1).text.endsWith("?") ? "It is A1." : { text: "Thank you.", end: "done" };
const leave = ({ messages }) => messages.length < 2 ? "It is A2." : { end: "transferred" };

test("a function", { assert, prompt: "I want a refund.", user: { model: answer, facts: ["A1"] } });
test("a language model", { assert, user: { model: { model: "customer", baseURL: url } } });
test("one who is greeted", { assert, user: { model: leave, opens: { greeting: "Which is it?" } } });
`;

/** A clerk, who asks for the order and refunds it, and a customer. */
function said({ body }: Asked): Saying {
  const messages = body["messages"] as unknown as { role: string; content: string }[];
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
  readonly url: string;
  /** The agent: `sdk` or a program; default: the loop. */
  readonly program?: string;
  readonly system?: string;
}

/** The tests of the file in a child process. */
function run(place: Folder, how: How, ...own: string[]) {
  const file = place.write("refunds_test.ts", FILE);
  const words = ["test", "-A", "--no-check", "--no-lock", `--config=${ROOT}/deno.json`, file, "--"];
  return start(Deno.execPath(), [...words, ...own], { env: { HOW: JSON.stringify(how) } });
}

/** Runs the tests to their end, of which the last fails, whoever the agent is; returns the trials of the journal. */
async function trialsOf(place: Folder, name: string, how: How, ...own: string[]) {
  const { code, all } = await run(place, how, `--out=${place.file(name)}`, ...own).finished;
  assertEquals([code, all.includes("4 passed")], [1, true], all);
  // All but when they began, how long tools and functions took, and whether they are replayed.
  return readLines(place.file(name)).slice(1).map(({ startedAt: _, replayed: __, ...trial }) => ({
    ...trial,
    // deno-lint-ignore no-explicit-any
    events: trial.events.map((event: any) => ({ ...event, durationMs: undefined })),
  }));
}

/** What happened in trials, whatever it took and however it was asked. */
// deno-lint-ignore no-explicit-any
const facts = (trials: any[]) =>
  trials.map(({ id, outcome, user: { end, messages, fault }, calls, events }) => ({
    ...{ id, outcome, end, messages, fault, calls },
    // deno-lint-ignore no-explicit-any
    events: events.flatMap(({ kind, text, end, arguments: given, result }: any) =>
      kind === "reply" ? [] : [[kind, text, end, given, result]]
    ),
  })).sort((one, other) => one.id < other.id ? -1 : 1);

Deno.test("the loop, the AI SDK and programs hold the same conversations", async () => {
  await using place = await folder();
  await using server = sayingServer(said);
  const { url } = server;
  const loop = facts(await trialsOf(place, "loop", { url }));
  const ends = ["solved done 3", "solved done 2", "wrong_answer transferred 1"];
  assertEquals(
    loop.map(({ outcome, end, messages }) => `${outcome} ${end} ${messages}`),
    ends.flatMap((one) => [one, one]),
  );
  for (const program of ["sdk", TURNS, place.write("asking.py", ASKING)]) {
    const trials = await trialsOf(place, program.replace(/.*\//, "of "), { url, program });
    assertEquals(facts(trials), loop, program);
  }
});

Deno.test("a run that is killed while a user is asked has the same facts once it is resumed", async () => {
  await using place = await folder();
  const stuck = Promise.withResolvers<Response>();
  await using server = sayingServer((asked) => asked.number === 11 ? stuck.promise : said(asked));
  const how: How = { url: server.url, program: place.write("asking.py", ASKING) };
  const { process, finished } = run(place, how, `--out=${place.file("broken")}`);
  await until(() => server.asked.length === 11);
  assertEquals(server.asked.at(-1)!.body["model"], "customer");
  process.kill("SIGKILL");
  await finished;
  stuck.resolve(new Response(null, { status: 500 }));
  assertEquals(readLines(place.file("broken")).length, 3);
  const resumed = facts(await trialsOf(place, "broken", how, "--resume"));
  assertEquals(resumed, facts(await trialsOf(place, "whole", { url: server.url })));
});

Deno.test("a recorded conversation is replayed without a key, without its user, and only as it was asked", async () => {
  await using place = await folder();
  const kept = place.file("kept");
  await using server = sayingServer(said);
  const how: How = { url: server.url };
  const recorded = await trialsOf(place, "recorded", how, `--record=${kept}`);
  const before = server.asked.length;
  await trialsOf(place, "edited", { ...how, system: "Be brief." }, `--auto=${kept}`);
  assertEquals(server.asked.length, 2 * before);
  // Whatever opens it, the conversation without the system text is another one, and kept.
  await trialsOf(place, "again", how, `--auto=${kept}`);
  assertEquals(await trialsOf(place, "replayed", how, `--replay=${kept}`), recorded);
  const { all } = await run(place, { ...how, system: "Be kind." }, `--replay=${kept}`).finished;
  assertStringIncludes(all, "it has another request 1 of stage user");
  assertStringIncludes(all, "the model under test is asked something else");
  assertEquals(server.asked.length, 2 * before);
});
