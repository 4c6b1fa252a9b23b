// Probes from the command line, in child processes, with models on a server that have one habit each.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { PROBES } from "../../lib/tasks/task_kind.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { parseTrialId } from "../../lib/trials/trial_id.ts";
import { type Folder, folder, readLines } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { habitServer } from "../support/probing.ts";

const SUITE: Suite = {
  name: "probing",
  seed: 1,
  graphs: 2,
  tasks: [{ case: PROBES }],
  models: ["follows", "trusts-itself", "never-calls"],
};

function trialsOf(path: string): Trial[] {
  return readLines(path).filter(({ kind }) => kind === "trial");
}

/** A journal of SUITE with something else in it. */
async function journalOf(
  place: Folder,
  url: string,
  change: Partial<Suite> = {},
): Promise<string> {
  const suite = place.write("suite.jsonc", JSON.stringify({ ...SUITE, ...change }));
  const out = place.file("out.jsonl");
  const run = await toolgate(["run", suite, "--out", out, "--base-url", url]);
  assertEquals(run.code, 0, run.all);
  return out;
}

/** Outcomes and behaviours of a model, by probe. */
function toldOf(trials: readonly Trial[], model: string): Record<string, string> {
  const own = trials.filter((trial) => trial.model.requested === model);
  return Object.fromEntries(PROBES.map((probe) => {
    const told = own.filter(({ task }) => "case" in task && task.case === probe)
      .map(({ outcome, behaviours }) => [outcome, ...behaviours].join(" "));
    return [probe, [...new Set(told)].join(", ")];
  }));
}

Deno.test("toolgate run carries out probes as it does tasks, and keeps what models did", async () => {
  await using place = await folder();
  await using server = habitServer();
  const out = await journalOf(place, server.url);
  assertEquals(readLines(out).filter(({ kind }) => kind === "trial").length, 36);
  const trials = trialsOf(out);
  assertEquals(toldOf(trials, "follows"), {
    lying_calculator: "solved",
    mental_arithmetic: "solved",
    oracle: "solved",
    forced_choice: "call_limit forced_loop",
    oracle_conflict: "solved",
    forced_function: "call_limit forced_loop",
  });
  assertEquals(toldOf(trials, "trusts-itself"), {
    lying_calculator: "wrong_answer ignored_result",
    mental_arithmetic: "solved",
    oracle: "wrong_answer ignored_result",
    forced_choice: "solved",
    oracle_conflict: "wrong_answer ignored_result",
    forced_function: "solved",
  });
  assertEquals(toldOf(trials, "never-calls"), {
    lying_calculator: "wrong_answer aversion",
    mental_arithmetic: "solved aversion",
    oracle: "wrong_answer aversion",
    forced_choice: "solved",
    oracle_conflict: "wrong_answer aversion",
    forced_function: "solved",
  });
  for (const { id, task, strategy, repetition } of trials) {
    const key = parseTrialId(id)!;
    assertEquals([key.task, key.strategy, key.repetition], [task, strategy, repetition]);
  }
});

Deno.test("toolgate run forces calls on the wire where a probe does, and nowhere else (Indirection, Inflexible)", async () => {
  await using place = await folder();
  await using server = habitServer();
  await journalOf(place, server.url, { models: ["never-calls"] });
  const choices = server.requests.map((request) => {
    const asked = request as typeof request & { tool_choice?: unknown };
    return [String(request.messages[0]!.content).startsWith("How many"), asked.tool_choice];
  });
  assertEquals(choices.length, 12);
  const forced = { type: "function", function: { name: "eval" } };
  assertEquals(
    choices.filter(([isForced]) => isForced).map(([, choice]) => JSON.stringify(choice)).toSorted(),
    ["required", "required", forced, forced].map((choice) => JSON.stringify(choice)),
  );
  for (const [isForced, choice] of choices) assertEquals(choice !== undefined, isForced);
});

Deno.test("toolgate run --only runs a probe of a journal again, and tells its story", async () => {
  await using place = await folder();
  await using server = habitServer();
  const out = await journalOf(place, server.url, { graphs: 1 });
  const stories: Record<string, RegExp> = {
    "follows lying_calculator": /^follows: solved after 1 call .*the answer follows the tool/s,
    "trusts-itself lying_calculator":
      /^trusts-itself: wrong_answer after 1 call .*the answer follows the model's own result/s,
    "never-calls oracle": /^never-calls: wrong_answer after 0 calls .*option = 1/s,
    "follows forced_choice": /^follows: call_limit after 6 calls/,
    "trusts-itself oracle_conflict":
      /^trusts-itself: wrong_answer after 1 call .*the answer follows the usual advice/s,
  };
  const told: string[] = [];
  for (const { id, task, model, outcome } of trialsOf(out)) {
    const name = `${model.requested} ${"case" in task ? task.case : ""}`;
    if (!Object.hasOwn(stories, name)) continue;
    const rerun = await toolgate(["run", out, "--only", id]);
    assertEquals(rerun.code, 0, rerun.all);
    assertMatch(rerun.stdout, stories[name]!);
    assertStringIncludes(rerun.stdout, outcome);
    told.push(name);
  }
  assertEquals(told.toSorted(), Object.keys(stories).toSorted());
});

Deno.test("toolgate generate --trial prints a journal's probe as its model was asked it", async () => {
  await using place = await folder();
  await using server = habitServer();
  const out = await journalOf(place, server.url, { graphs: 1, models: ["never-calls"] });
  for (const { id, task } of trialsOf(out)) {
    const json = await toolgate(["generate", "--trial", id]);
    assertEquals(json.code, 0, json.all);
    const printed = JSON.parse(json.stdout);
    assertEquals(Object.keys(printed), ["version", "case", "seed", "prompt", "tools"]);
    assertEquals({ case: printed.case, seed: printed.seed }, task as unknown);
    const asked = server.requests.find(({ messages: [first] }) =>
      first!.content === printed.prompt
    );
    assertEquals(asked?.tools as unknown, printed.tools);
    const list = await toolgate([
      ...["generate", "--trial", id, "--format", "tools"],
    ]);
    assertEquals([list.code, JSON.parse(list.stdout)], [0, printed.tools]);
  }
});

Deno.test("toolgate run --strategy keeps what the suite sets of a strategy by its name", async () => {
  await using place = await folder();
  await using server = habitServer();
  const entry = { strategy: "repair", attempts: 1, name: "mend once" };
  const suite = place.write(
    "suite.jsonc",
    JSON.stringify({ ...SUITE, graphs: 1, models: ["follows"], strategies: ["plain", entry] }),
  );
  const out = place.file("out.jsonl");
  const run = await toolgate([
    ...["run", suite, "--out", out, "--base-url", server.url],
    ...["--strategy", "mend once", "--strategy", "restate"],
  ]);
  assertEquals(run.code, 0, run.all);
  const [plan, ...trials] = readLines(out);
  assertEquals(plan.resolved.strategies, [entry, "restate"]);
  assertEquals([...new Set(trials.map(({ strategy }) => strategy))].toSorted(), [
    "mend once",
    "restate",
  ]);
  const { id } = trials.find(({ strategy, task }) =>
    strategy === "mend once" && task.case === "oracle"
  );
  const rerun = await toolgate(["run", out, "--only", id]);
  assertEquals(rerun.code, 0, rerun.all);
  assertMatch(rerun.stdout, /^follows \+ mend once: solved|^follows: solved/);
  const report = await toolgate(["report", out]);
  assertStringIncludes(report.stdout, "mend once");
});
