// Suites and benchmarks whose agent is a program: what runs it, what journals keep of it, and who may not run it.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { PlanLine } from "../../lib/runs/journal/plan_line.ts";
import type { CommandAgent } from "../../lib/trials/tap/command.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { folder, isAlive, readLines, ROOT, start, until, unwrapped } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { reportedTrials } from "../support/report_data.ts";

const SUITE = {
  ...{ name: "programs", seed: 7, graphs: 2, models: ["sim:planner"] },
  tasks: [{ core: 2, depth: 1 }],
};

/** A program that answers with the first variable of its prompt, which no task asks for. */
const ECHO = `import json, os, sys
task = json.load(sys.stdin)
print(os.path.basename(os.getcwd()), os.environ["GREETING"], task["model"], len(task["tools"]))
`;

const suiteWith = (agent: unknown, more: object = {}) =>
  JSON.stringify({ ...SUITE, agent, ...more });

Deno.test("toolgate run starts a suite's program in the folder of its file, or one named from there", async () => {
  await using place = await folder();
  Deno.mkdirSync(place.file("desk/inner"), { recursive: true });
  place.write("desk/echo.py", ECHO);
  place.write("desk/inner/echo.py", ECHO);
  const env = { GREETING: "hello" };
  const table: [agent: CommandAgent, name: string][] = [
    [{ command: ["python3", "echo.py"], env }, "desk"],
    [{ command: ["python3", "echo.py"], env, cwd: "inner" }, "inner"],
  ];
  for (const [agent, name] of table) {
    place.write("desk/suite.jsonc", suiteWith(agent));
    const journal = place.file(`${name}.jsonl`);
    const ended = await toolgate(["run", "desk/suite.jsonc", "--out", journal], {
      cwd: place.path,
    });
    assertEquals(ended.code, 0, ended.all);
    assert(!ended.revoked.includes("run"), ended.all);
    const [plan, ...trials] = readLines(journal) as [PlanLine, ...unknown[]];
    assertEquals(plan.resolved.agent, { ...agent, env: { GREETING: "[redacted]" } });
    assertEquals(trials.length, 2);
    for (const { events } of trials as { events: { text: string }[] }[]) {
      assertMatch(events.at(-1)!.text, new RegExp(`^${name} hello sim:planner 2`));
    }
  }
});

Deno.test("a program that fails is the agent's failure; of its variables the names are kept, and no value", async () => {
  await using place = await folder();
  const env = { SEARCH_API_KEY: "a1b2c3d4-correct-horse", SMTP_PASS: "abc123", MODE: "fast-one" };
  const script = 'echo "cannot use $SEARCH_API_KEY $SMTP_PASS" >&2; exit 4';
  const path = place.write("suite.jsonc", suiteWith({ command: ["sh", "-c", script], env }));
  const journal = place.file("out.jsonl");
  const ended = await toolgate(["run", path, "--out", journal]);
  assertEquals(ended.code, 0, ended.all);
  const text = Deno.readTextFileSync(journal);
  const [plan, trial] = readLines(journal) as [PlanLine, Trial];
  assertEquals(trial.outcome, "agent_error");
  const mark = "[redacted]";
  assertStringIncludes(
    `${trial.reason}`,
    `exit code 4; standard error: cannot use ${mark} ${mark}`,
  );
  assertEquals(plan.resolved.agent?.env, { SEARCH_API_KEY: mark, SMTP_PASS: mark, MODE: mark });
  for (const value of Object.values(env)) assert(!(text + ended.all).includes(value), value);
});

Deno.test("a suite whose program has a key among its arguments is refused, and told where", async () => {
  await using place = await folder();
  const command = ["sh", "-c", "postgres://app:hunter2hunter2@db/app"];
  const path = place.write("suite.jsonc", suiteWith({ command }));
  const ended = await toolgate(["run", path, "--out", place.file("out.jsonl")]);
  assertEquals(ended.code, 2, ended.all);
  assertStringIncludes(unwrapped(ended.stderr), "there is one in agent.command[2]");
  assert(!ended.all.includes("hunter2"), ended.all);
});

Deno.test("a journal is not resumed with another program, and compares with it", async () => {
  await using place = await folder();
  const journal = place.file("old.jsonl");
  const other = place.file("new.jsonl");
  const old = place.write("old.jsonc", suiteWith({ command: ["echo", "x = 1"] }));
  const changed = place.write("new.jsonc", suiteWith({ command: ["echo", "x = 2"] }));
  assertEquals((await toolgate(["run", old, "--out", journal])).code, 0);
  const resumed = await toolgate(["run", changed, "--out", journal, "--resume"]);
  assertEquals(resumed.code, 2, resumed.all);
  assertStringIncludes(resumed.stderr, "it must be of the same plan: it differs in agent");
  assertEquals((await toolgate(["run", changed, "--out", other])).code, 0);
  const report = await toolgate(["report", journal, other]);
  assertEquals(report.code, 0, report.all);
});

Deno.test("toolgate run FILE.jsonl starts no program that a journal names", async () => {
  await using place = await folder();
  const trace = place.file("started");
  const path = place.write("suite.jsonc", suiteWith({ command: ["touch", trace] }));
  const journal = place.file("out.jsonl");
  assertEquals((await toolgate(["run", path, "--out", journal])).code, 0);
  Deno.removeSync(trace);
  const { id } = (readLines(journal) as { id: string }[])[1]!;
  const again = await toolgate(["run", journal, "--only", id]);
  assertEquals(again.code, 2, again.all);
  assertStringIncludes(again.stderr, "no program that only a journal names is run");
  assertEquals(place.names().includes("started"), false);
  const fromSuite = await toolgate(["run", path, "--only", id]);
  assertEquals(fromSuite.code, 0, fromSuite.all);
  assertEquals(place.names().includes("started"), true);
});

Deno.test("the rerun line of a trial whose agent is a program is of the suite, and no journal's", async () => {
  await using place = await folder();
  place.write("a suite.jsonc", suiteWith({ command: ["sh", "-c", "exit 4"] }, { seed: "fresh" }));
  const flags = ["--model=sim:noisy?stale=0.1", "--out", "out.jsonl"];
  const ended = await toolgate(["run", "a suite.jsonc", ...flags], { cwd: place.path });
  const [, id] = ended.stdout.match(/rerun: the same command, without --out, with --only '(.*)'/)!;
  const again = await toolgate(["run", "a suite.jsonc", flags[0]!, "--only", id!], {
    cwd: place.path,
  });
  assertEquals(again.code, 0, again.all);
  assertStringIncludes(
    again.stdout,
    "agent_error: the agent threw Error: sh -c 'exit 4' ended with exit code 4",
  );
  const page = place.file("out.html");
  const report = await toolgate(["report", place.file("out.jsonl"), "--html", page]);
  assertEquals(report.code, 0, report.all);
  const [trial] = reportedTrials(page);
  assertMatch(`${trial!.rerun}`, / run SUITE\.jsonc --only /);
});

for (const [signal, way] of [["SIGINT", "run"], ["SIGHUP", "test"], ["SIGKILL", "test"]] as const) {
  Deno.test(`${signal} leaves no program behind, under deno ${way}`, async () => {
    await using place = await folder();
    // What it reads is written once its watcher has been started.
    const script =
      `read -r task; echo $$ >>pids; trap '' HUP INT TERM; sleep 1000 & echo $! >>pids; wait`;
    const agent = { command: ["sh", "-c", script], cwd: place.path };
    const test = place.write(
      "agent_test.ts",
      `import { benchmark, grid } from ${JSON.stringify(`${ROOT}/mod.ts`)};
const agent = ${JSON.stringify(agent)};
benchmark("a program", { model: "sim:planner", agent, tasks: grid({ core: 2, depth: 1 }), seed: 1, graphs: 1 });
`,
    );
    const suite = place.write("suite.jsonc", suiteWith(agent, { graphs: 1 }));
    const ways = {
      test: ["-A", "--no-check", `--config=${ROOT}/deno.json`, test],
      run: ["-A", "--no-check", `${ROOT}/lib/cli/main.ts`, "run", suite],
    };
    const child = start(Deno.execPath(), [way, ...ways[way]]);
    const pids = () =>
      place.names().includes("pids")
        ? Deno.readTextFileSync(place.file("pids")).trim().split("\n").map(Number)
        : [];
    await until(() => pids().length === 2);
    const started = pids();
    child.process.kill(signal);
    await child.finished;
    await until(() => !started.some(isAlive));
  });
}
