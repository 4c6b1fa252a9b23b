// Probes from the command line, in child processes, with models on a server that have one habit each.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { PROBES } from "../../lib/tasks/task_kind.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
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

Deno.test("toolgate run forces calls on the wire where a probe does, and nowhere else (Indirection, Inflexible)", async () => {
  await using place = await folder();
  await using server = habitServer();
  await journalOf(place, server.url, { models: ["never-calls"] });
  const choices = server.asked.map(({ body }) => {
    const [{ content }] = body["messages"] as [{ content: string }];
    return [content.startsWith("How many"), body["tool_choice"]];
  });
  assertEquals(choices.length, 14);
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
