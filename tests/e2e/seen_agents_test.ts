// What was seen of an agent: gates over journals of real trials, reports of them, and what a run says at once. The
// agents ask the same simulated server, where toolgate watches or past it.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import type { Ceilings } from "../../lib/gate/ceilings.ts";
import type { GatePolicy } from "../../lib/gate/policy.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { Connections } from "../../lib/models/connect.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { toOpenAITool } from "../../lib/tools/tool.ts";
import type { Agent } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { plainLoop } from "../support/agents/plain_loop.ts";
import { countingServer, deno, folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";
import { accept, writeJournal } from "../support/journals.ts";
import { reportedTrials } from "../support/report_data.ts";
import { type Saying, sayingServer } from "../support/saying_server.ts";

const MODEL = "sim:noisy?hallucinate=0.1&arity=0.1&stale=0.05";
const PRICES = { [MODEL]: { input: 1, output: 1 } };
const HOW =
  "let it ask through the fetch or baseURL that it is given, with the functions under their names, and call none by " +
  "itself (docs/agents.md)";
const UNSEEN_WORDS = "the agent was not seen to ask a model, or called what no reply had called";

const server = countingServer(MODEL);
const connections = new Connections();
Deno.test.afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const FORM = { api: "chat", streamed: false } as const;
const SEEN = plainLoop(FORM);
/** Asks past toolgate. */
const UNSEEN: Agent = (task, options) => SEEN(task, { ...options, fetch, baseURL: server.url });

function planOf(gate: GatePolicy, more: Partial<Suite> = {}) {
  return planSuite({
    ...{ name: "agents", seed: 3, models: [MODEL], gate, prices: PRICES },
    ...(gate.sequential ? {} : { graphs: 12 }),
    tasks: [{ core: 3, depth: 2, connected: 2 }],
    ...more,
  });
}

type Plan = ReturnType<typeof planOf>;

/** Real trials of a plan, of agents by their places. */
async function trialsOf(plan: Plan, agentAt: (place: number) => Agent): Promise<Trial[]> {
  const model = await connections.model({ model: MODEL });
  const trials: Trial[] = [];
  for (const [place, planned] of plan.trials.entries()) {
    trials.push(await runTrial(planned, model, { agent: agentAt(place), suite: plan.suite }));
  }
  return trials;
}

const LOOSE = { successRate: 0.2, margin: 0.15 };
const plan = planOf(LOOSE);
const seen = await trialsOf(plan, () => SEEN);
const unseen = await trialsOf(plan, () => UNSEEN);

/** What `toolgate gate` says of trials under ceilings. */
async function gated(
  trials: readonly Trial[],
  atMost: Ceilings,
  more: Partial<GatePolicy> = LOOSE,
) {
  using place = new Folder();
  const own = planOf({ ...more, atMost } as GatePolicy);
  return await toolgate(["gate", writeJournal(place, own, trials)]);
}

Deno.test("the two agents make the same trials, but for what is seen of them", () => {
  assertEquals(new Set(seen.map(({ agent }) => agent)), new Set(["watched" as const]));
  assertEquals(new Set(unseen.map(({ agent }) => agent)), new Set(["unwatched" as const]));
  const invented = (trials: readonly Trial[]) =>
    trials.flatMap(({ failures }) => failures).filter(({ type }) => type === "function_not_found");
  assert(invented(seen).length > 0);
  assertEquals(invented(unseen), []);
  assert(seen.every(({ usage }) => usage.inputTokens > 0));
});

Deno.test("a gate whose ceilings an unseen agent could keep by hiding is invalid, and says what to do", async () => {
  const hidden: Record<string, Ceilings> = {
    "failures.function_not_found": { failures: { function_not_found: 0.9 } },
    "failures.wrong_number_of_inputs": { failures: { wrong_number_of_inputs: 0.9 } },
    "parameterFailures.hallucination_name": { parameterFailures: { hallucination_name: 0.9 } },
    "parameterFailures.missing_information": { parameterFailures: { missing_information: 0.9 } },
    "parameterFailures.specification_mismatch": {
      parameterFailures: { specification_mismatch: 0.9 },
    },
    "behaviours.silent": { behaviours: { silent: 0.9 } },
    "behaviours.forced_loop": { behaviours: { forced_loop: 0.9 } },
    tokens: { tokens: 1e8 },
    usd: { usd: 1e8 },
    usdPerSolved: { usdPerSolved: 1e8 },
  };
  for (const [ceiling, atMost] of Object.entries(hidden)) {
    const ended = await gated(unseen, atMost);
    assertEquals(ended.code, 3, ended.all);
    assertStringIncludes(
      ended.stdout,
      `INVALID: in 12 of 12 trials ${UNSEEN_WORDS}, so that atMost.${ceiling} cannot be ` +
        `checked: ${HOW}`,
    );
    const same = await gated(seen, atMost);
    assertNotMatch(same.stdout, /not seen/, same.all);
    if (!ceiling.startsWith("parameterFailures")) assertEquals(same.code, 0, same.all);
  }
});

Deno.test("a ceiling on injected instructions that are followed is invalid over an unseen agent", async () => {
  using place = new Folder();
  const gate = { ...LOOSE, atMost: { behaviours: { followed_injection: 0.9 } } };
  const own = planOf(gate, { perturbations: ["II"] });
  const ended = await toolgate([
    "gate",
    writeJournal(place, own, await trialsOf(own, () => UNSEEN)),
  ]);
  assertEquals(ended.code, 3, ended.all);
  assertMatch(ended.stdout, /had called, so that atMost.behaviours.followed_injection cannot/);
});

Deno.test("a gate whose ceilings a hidden call can only raise decides over an unseen agent", async () => {
  const ended = await gated(unseen, {
    failures: { incorrect_value: 0.9, value_not_yet_known: 0.9 },
    behaviours: { aversion: 0.9, ignored_result: 0.9, ungrounded: 0.9 },
    p95Seconds: 1e6,
  });
  assertEquals(ended.code, 0, ended.all);
  assertStringIncludes(ended.stdout, "PASS");
  assertEquals((await gated(unseen, {})).code, 0);
});

Deno.test("an agent that offers functions under names of its own hides what is called, and tokens for all that is known", async () => {
  const disguised: Agent = async (task, options) => {
    await SEEN({ ...task, tools: [] }, options);
    await task.tools[0]!.execute({});
    return "I give up";
  };
  const trials = await trialsOf(plan, () => disguised);
  assertEquals(trials.map(({ agent }) => agent), trials.map(() => "unwatched" as const));
  const never = { successRate: 0.2, margin: 0.15 };
  const called = await gated(trials, { tokens: 1e8, failures: { function_not_found: 0.9 } }, never);
  assertEquals(called.code, 3, called.all);
  // Nobody can tell whether a client that nobody saw used some more.
  assertMatch(
    called.stdout,
    /had called, so that atMost.failures.function_not_found, atMost.tokens cannot be checked/,
  );
  const { metrics } = await reported(trials);
  assert(metrics.overview[0].tokens > 0);
});

Deno.test("one unseen trial among seen ones is enough, and one that does not count is none", async () => {
  const atMost = { failures: { function_not_found: 0.9 }, tokens: 1e8 };
  const mixed = [...seen.slice(0, 11), unseen[11]!];
  const ended = await gated(mixed, atMost);
  assertEquals(ended.code, 3, ended.all);
  assertStringIncludes(
    ended.stdout,
    `in 1 of 12 trials ${UNSEEN_WORDS}, ` + "so that atMost.failures.function_not_found, " +
      "atMost.tokens cannot be checked",
  );
  const model = await connections.model({ model: MODEL });
  const gone = await runTrial(plan.trials[11]!, model, {
    suite: plan.suite,
    agent: () => Promise.reject(new InfrastructureError("The VPN is down")),
  });
  assertEquals([gone.outcome, gone.agent], ["invalid", "unwatched"]);
  // Without such a ceiling it passes, and the verdict says what it does not know.
  const unlimited = await gated(mixed, {});
  assertEquals(unlimited.code, 0, unlimited.all);
  assertStringIncludes(
    unlimited.stdout,
    `1 trial not watched: ${UNSEEN_WORDS}, so that neither unknown names nor unreadable arguments are known`,
  );
  const invalid = await gated([...seen.slice(0, 11), gone], atMost, { ...LOOSE, coverage: 0.5 });
  assertEquals(invalid.code, 0, invalid.all);
});

Deno.test("a gate over agents that failed before they asked says why, and blames no way of asking", async () => {
  const dead = await trialsOf(plan, () => () => Promise.reject(new Error("No such file")));
  const atMost = { failures: { function_not_found: 0.9 } };
  const all = await gated(dead, atMost);
  assertEquals(all.code, 3, all.all);
  assertStringIncludes(
    all.stdout,
    "INVALID: in 12 of 12 trials the agent failed before it was seen to ask a model, so that " +
      "atMost.failures.function_not_found cannot be checked; most often (12 of 12) the agent threw Error at ",
  );
  assertMatch(all.stdout, /INVALID: .*: No such file\.$/m);
  assertNotMatch(all.stdout, /fetch or baseURL/);
  const some = await gated([...dead.slice(0, 5), ...unseen.slice(5)], atMost);
  assertStringIncludes(
    some.stdout,
    "INVALID: in 5 of 12 trials the agent failed before it was seen to ask a model, and in 7 of 12 " +
      "trials the agent was not seen to ask a model, or called what no reply had called, so that atMost.failures.function_not_found " +
      `cannot be checked: ${HOW}; most often (5 of 5) the agent threw Error at `,
  );
});

Deno.test("a gate over an agent that asks another model in place of the one under test is invalid", async () => {
  const other = "sim:planner";
  const instead: Agent = (task, options) => SEEN(task, { ...options, model: other });
  const trials = await trialsOf(plan, () => instead);
  const mixed = [...seen.slice(0, 11), trials[11]!];
  const ended = await gated(mixed, {});
  assertEquals(ended.code, 3, ended.all);
  assertStringIncludes(
    ended.stdout,
    `INVALID: in 1 of 12 trials the agent got no reply of ${MODEL}, and asked ${other} in its place: let it ask for ` +
      "options.model, the name that it is given (docs/agents.md)",
  );
  const { md } = await reported(mixed);
  assertStringIncludes(
    md.replaceAll("<!-- -->", ""),
    `also asked ${other}, in 1 of 12 trials these alone`,
  );
  // It is no baseline of its name either.
  using place = new Folder();
  assertThrows(() => accept(place, writeJournal(place, plan, mixed)), Error, "got no reply of");
  // A sub-agent with another model beside the one under test is fine, and named.
  const both: Agent = async (task, options) => {
    await instead({ ...task, tools: [] }, options);
    return await SEEN(task, options);
  };
  const beside = await trialsOf(plan, () => both);
  const fine = await gated(beside, {});
  assertEquals(fine.code, 0, fine.all);
  assertStringIncludes(fine.stdout, `the agent also asked ${other}`);
  assertStringIncludes(
    (await reported(beside)).md.replaceAll("<!-- -->", ""),
    `also asked ${other}: its figures`,
  );
});

Deno.test("a baseline of unseen trials cannot bound a shift of failures, in a file or in the run", async () => {
  const shift = { failureShifts: { function_not_found: 0.9 } };
  using place = new Folder();
  const file = accept(place, writeJournal(place, plan, unseen));
  assertStringIncludes(Deno.readTextFileSync(file), '"agent":"unwatched"');
  const against = { baseline: { file }, margin: 0.5, discordance: 0.6 };
  const ended = await gated(seen, shift, against);
  assertEquals(ended.code, 3, ended.all);
  assertStringIncludes(
    ended.stdout,
    `in 12 of 12 trials of the baseline ${UNSEEN_WORDS}, so that ` +
      "atMost.failureShifts.function_not_found cannot be checked",
  );
  // What is bounded of the candidate alone says nothing of its baseline.
  const own = await gated(seen, { failures: { function_not_found: 0.9 } }, against);
  assertNotMatch(own.stdout, /not seen/, own.all);
  const watched = accept(place, writeJournal(place, plan, seen), "watched.json");
  assertNotMatch(Deno.readTextFileSync(watched), /"agent"/);
  const other = await gated(unseen, shift, { ...against, baseline: { file: watched } });
  assertEquals(other.code, 3, other.all);
  assertMatch(other.stdout, /in 12 of 12 trials the agent was not seen/);
});

Deno.test("a sequential gate that could end early with a pass is invalid over an unseen agent", async () => {
  const policy = { successRate: 0.2, margin: 0.15, sequential: true };
  for (const [agent, code] of [[SEEN, 0], [UNSEEN, 3]] as const) {
    using place = new Folder();
    const own = planOf({ ...policy, atMost: { failures: { function_not_found: 0.9 } } });
    const trials = await trialsOf({ ...own, trials: own.trials.slice(0, 30) }, () => agent);
    const ended = await toolgate(["gate", writeJournal(place, own, trials)]);
    assertEquals(ended.code, code, ended.all);
    if (code === 3) {
      assertMatch(ended.stdout, /INVALID: in \d+ of \d+ trials the agent was not seen/);
    }
  }
});

Deno.test("an agent that waits for its first reply until a limit was watched", async () => {
  await using mute = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    // It answers those who ask whether it is up.
    ({ method }) => method === "POST" ? new Response(new ReadableStream()) : Response.json({}),
  );
  const baseURL = `http://127.0.0.1:${mute.addr.port}/v1`;
  const model = await connections.model({ model: "mute", baseURL, api: "chat" });
  const trial = await runTrial(plan.trials[0]!, model, { agent: SEEN, limits: { seconds: 0.2 } });
  assertEquals([trial.outcome, trial.agent], ["time_limit", "watched"], trial.reason);
});

Deno.test("describeTrial() tells of a trial that was not watched", () => {
  const trial = unseen[0]!;
  assertEquals(trial.failures, []);
  assertStringIncludes(
    describeTrial(trial),
    `not watched: ${UNSEEN_WORDS}`,
  );
  assertStringIncludes(
    describeTrial({ ...trial, outcome: "agent_error", calls: 0 }),
    "not watched: the agent failed before it was seen to ask a model",
  );
});

/** The words of a report. */
async function reported(trials: readonly Trial[]) {
  using place = new Folder();
  const journal = writeJournal(place, planOf(LOOSE), trials);
  const terminal = await toolgate(["report", journal]);
  const ended = await toolgate([
    ...["report", journal, "--markdown", place.file("out.md"), "--html", place.file("out.html")],
    ...["--json", place.file("out.json"), "--csv", place.file("csv")],
  ]);
  assertEquals([terminal.code, ended.code], [0, 0], ended.all);
  return {
    md: place.read("out.md"),
    html: place.read("out.html"),
    page: JSON.stringify(reportedTrials(place.file("out.html"))),
    csv: place.read("csv/trials.csv"),
    calls: place.read("csv/calls.csv"),
    metrics: JSON.parse(place.read("out.json")).metrics,
    terminal: terminal.stdout,
  };
}

Deno.test("a report says what could not be seen of trials", async () => {
  const right = unseen.filter(({ failures }) => failures.length === 0);
  assert(right.length > 0);
  const { md, html, csv, metrics } = await reported(right);
  for (const text of [md, html]) {
    assertStringIncludes(text, `${right.length} of ${right.length} trials were not watched`);
  }
  const [{ trials, unwatched }] = metrics.agent;
  assertEquals([trials, unwatched], [right.length, right.length]);
  assertEquals(metrics.overview[0].cost, null);
  assertMatch(csv.split("\n")[1]!, /,unwatched$/);
  // Where some calls were seen to be wrong, the table says it.
  const some = await reported([...seen.slice(0, 11), unseen[11]!]);
  assertMatch(
    some.md,
    /all others are roots; of 1 trial only the calls that the agent carried out/,
  );
  assertStringIncludes(some.md, "1 of 12 trials were not watched");
  const all = await reported(seen);
  for (const text of [all.md, all.html, all.terminal]) {
    assertNotMatch(text, /not watched:|were not watched|could not be seen/);
  }
});

/** A task's trial by an agent whose model says these replies. */
async function scripted(
  replies: readonly Saying[],
  work: (ask: (body?: JsonObject) => Promise<void>, task: Parameters<Agent>[0]) => Promise<void>,
): Promise<Trial> {
  await using stub = sayingServer(replies);
  return await runTrial(plan.trials[0]!, stub.model({ model: MODEL }), {
    suite: plan.suite,
    agent: async (task, { fetch, baseURL, model }) => {
      const asked = {
        ...{ model, messages: [{ role: "user", content: task.prompt }] },
        tools: task.tools.map(toOpenAITool),
      };
      await work(async (body) => {
        const response = await fetch(`${baseURL}/chat/completions`, {
          method: "POST",
          body: JSON.stringify({ ...asked, ...body }),
        });
        await response.text();
      }, task);
      return "I cannot tell";
    },
  });
}

Deno.test("reports and stories tell what an agent did with calls and replies, whatever its tools are called", async () => {
  const evil = ["<img src=x onerror=alert(1)>", "hand\u001b[31mover\u0007", "h".repeat(60_000)];
  const nobody = { calls: [{ name: "no_such_tool", arguments: "{}" }] };
  const [own] = generateTask(plan.trials[0]!.task as GraphSpec).tools;
  const last = {
    calls: [
      ...evil.map((name) => ({ name, arguments: '{"to":"</script>"}' })),
      { name: own!.name, arguments: '{"no_such":1}' },
    ],
  };
  const trial = await scripted(
    [nobody, nobody, last, { text: "done" }],
    async (ask, task) => {
      // The first reply is thrown away; the next request shows no trace of the second.
      await ask();
      await ask();
      const tools = evil.map((name) => ({
        type: "function",
        function: { name, description: "", parameters: { type: "object" } },
      }));
      await ask({ messages: [{ role: "user", content: "Another" }], tools });
      await task.tools.find(({ name }) => name === own!.name)!.execute({});
    },
  );
  assertEquals(trial.agent, "watched");
  const { md, html, page, csv, calls, metrics, terminal } = await reported([trial]);
  const [agent] = metrics.agent;
  assertEquals([agent.resampled, agent.own_calls, agent.made, agent.unwatched], [1, 3, 1, 0]);
  assertEquals(agent.hid, 2);
  assertMatch(csv.split("\n")[1]!, /,watched$/);
  assertMatch(calls, /,hid\n/);
  for (const text of [md, terminal]) {
    assertStringIncludes(text, "What the agent did");
    assertStringIncludes(text, "replies asked for again");
    assertNotMatch(text, /not watched/);
  }
  assertStringIncludes(page, "hidden from the model by the agent");
  assertStringIncludes(page, "made by the agent");
  assertStringIncludes(page, "the agent threw away reply 1 and asked again");
  assertStringIncludes(page, "not judged: ");
  const story = describeTrial(trial, { story: "full" });
  for (
    const words of [
      "the agent threw away reply 1 and asked again",
      "the agent's own tools, not judged: <img src=x onerror=alert(1)>",
      "(hidden from the model by the agent)",
      "(made by the agent)",
    ]
  ) assertStringIncludes(story, words);
  for (const text of [md, html, terminal, story]) {
    // deno-lint-ignore no-control-regex
    assertNotMatch(text, /[\u0007\u001b]/);
    assert(text.length < 3_000_000, `${text.length}`);
  }
  for (const text of [md, html]) assertNotMatch(text, /<img src=x/);
});

Deno.test("reports tell of calls that an agent repaired, or holds", async () => {
  const [one, other] = generateTask(plan.trials[0]!.task as GraphSpec).functions;
  const right = JSON.stringify(
    Object.fromEntries(other!.parameters.map(({ name }) => [name, 1])),
  );
  const trial = await scripted([
    {
      calls: [{ name: one!.name, arguments: '{"no_such":1}' }, {
        name: other!.name,
        arguments: right,
      }],
    },
    { text: "done" },
  ], async (ask, task) => {
    await ask();
    await task.tools.find(({ name }) => name === one!.name)!.execute({ other: 2 });
    await ask({ messages: [{ role: "user", content: "Next" }] });
  });
  const { metrics, page, calls } = await reported([trial]);
  const [{ repaired, made, held }] = metrics.agent;
  assertEquals([repaired, made, held], [1, 1, 1], JSON.stringify(trial.events));
  assertStringIncludes(page, "the agent carried out another call in its place");
  assertStringIncludes(page, "held by the agent");
  for (const deed of ["repaired", "held"]) assertStringIncludes(calls, `,${deed}\n`);
});

const NOTE =
  `not watched: ${UNSEEN_WORDS}, so that neither unknown names nor unreadable arguments are known, nor tokens`;
const ADVICE = ": let it ask through the fetch or baseURL that it is given (docs/agents.md)";

/** How often a text has another in it. */
const countOf = (text: string, part: string) => text.split(part).length - 1;

Deno.test("toolgate run says once, and at once, that an agent is not seen, and which limits cannot hold", async () => {
  using place = new Folder();
  const suite = {
    ...{ name: "blind", seed: 1, graphs: 4, tasks: [{ core: 2, depth: 1 }], models: [MODEL] },
    agent: { command: ["echo", "x = 1"] },
  };
  const path = place.write("suite.jsonc", JSON.stringify(suite));
  const ended = await toolgate(["run", path]);
  assertEquals(countOf(ended.stderr, NOTE + ADVICE), 1, ended.all);
  assertStringIncludes(
    ended.stdout.replace(/\s+/g, " "),
    "of trials not watched only the calls that it carried out are known",
  );
  const limited = place.write(
    "limited.jsonc",
    JSON.stringify({ ...suite, budget: { tokens: 1000 }, limits: { tokens: 100 } }),
  );
  const journal = place.file("limited.jsonl");
  const other = await toolgate(["run", limited, "--out", journal]);
  assertStringIncludes(
    other.stderr,
    `${NOTE}, and the budget and limits of tokens and steps cannot hold${ADVICE}`,
  );
  // What an earlier run said is not said again.
  const again = await toolgate(["run", limited, "--out", journal, "--resume"]);
  assertEquals(countOf(again.stderr, NOTE), 0, again.all);
});

Deno.test("deno test says once that an agent is not seen, and nothing of one that is", async () => {
  await using place = await folder();
  const file = (name: string, fetcher: string) =>
    place.write(
      `${name}_test.ts`,
      `import { benchmark, grid } from "file://${ROOT}/mod.ts";
benchmark("${name}", {
  ...{ model: "${MODEL}", baseURL: "${server.url}", seed: 1, graphs: 3 },
  tasks: grid({ core: 2, depth: 1 }),
  gate: { successRate: 0.2, margin: 0.19, undecided: "pass" },
  agent: async ({ prompt, tools }, given) => {
    const { fetch: watched, model } = given;
    const offered = tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    }));
    const response = await ${fetcher}("${server.url}/chat/completions", {
      method: "POST",
      body: JSON.stringify({ model, messages: [{ role: "user", content: prompt }], tools: offered }),
    });
    await response.text();
    return "x = 1";
  },
});
`,
    );
  const flags = ["--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, "--allow-all"];
  const [blind, watched] = await Promise.all(
    [file("blind", "fetch"), file("watched", "watched")].map((path) =>
      deno(["test", ...flags, path])
    ),
  );
  assertEquals(countOf(blind!.all, `blind: ${NOTE}`), 1, blind!.all);
  assertEquals(countOf(watched!.all, NOTE), 0, watched!.all);
});
