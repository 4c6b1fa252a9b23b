// The examples of fixtures/ci: what they ask for, and their very commands, carried out as the services would.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseJson } from "../../lib/base/json.ts";
import { type Artifacts, type EndedJob, readExample, Workspace } from "../support/ci.ts";

const GITHUB = readExample("github.yml");
const GITLAB = readExample("gitlab.yml");

/** No key that is written or printed anywhere passes unseen. */
const KEY = "sk-canary-5f1c0b7e9d3a4286";

/** What the expressions of GitHub stand for; there are no others. */
function expressionsOf(shard = 0): Readonly<Record<string, string>> {
  return {
    "matrix.shard": String(shard),
    "strategy.job-total": String(GITHUB.jobs.shard.strategy.matrix.shard.length),
    "github.run_id": "16234567890",
    "github.run_attempt": "1",
    "runner.os": "Linux",
    "github.workspace": "/nowhere",
    "secrets.OPENAI_API_KEY": KEY,
  };
}

function fill(text: string, shard?: number): string {
  return text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression) => {
    const value = expressionsOf(shard)[expression];
    assert(value !== undefined, `nobody knows what ${expression} is`);
    return value;
  });
}

function filled(variables: Record<string, string> = {}, shard?: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, fill(String(value), shard)]),
  );
}

/** Carries out a job of GitHub's, and adds to `artifacts` what it uploads. */
async function runGithubJob(
  workspace: Workspace,
  name: "shard" | "gate",
  artifacts: Map<string, Artifacts>,
  shard?: number,
): Promise<EndedJob> {
  workspace.begin();
  let [code, output] = [0, ""];
  for (const step of GITHUB.jobs[name].steps) {
    if (code !== 0 && !["${{ !cancelled() }}", "${{ always() }}"].includes(step.if)) continue;
    const action = step.uses?.replace(/@.*/, "");
    if (action === "actions/upload-artifact") {
      artifacts.set(fill(step.with.name, shard), workspace.files(step.with.path));
    } else if (action === "actions/download-artifact") {
      assertEquals(step.with, { pattern: "shard-*", path: "results", "merge-multiple": true });
      const kept = [...artifacts].filter(([name]) => name.startsWith("shard-"));
      workspace.begin(new Map(kept.flatMap(([, files]) => [...files])));
    } else if (step.run !== undefined) {
      const variables = { ...filled(GITHUB.env, shard), ...filled(step.env, shard) };
      const ended = await workspace.run(step.run, variables);
      code ||= ended.code;
      output += ended.output;
    }
  }
  return { code, output };
}

/** Carries out a job of GitLab's, and adds to `artifacts` what it keeps. */
async function runGitlabJob(
  workspace: Workspace,
  name: "shard" | "gate",
  artifacts: Map<string, string>,
  own: Readonly<Record<string, string>> = {},
): Promise<EndedJob> {
  const { script, after_script = [], artifacts: kept } = GITLAB[name];
  workspace.begin(name === "gate" ? artifacts : undefined);
  const variables = { ...GITLAB.variables, ...GITLAB[name].variables, ...own };
  const ended = await workspace.run(script.join("\n"), variables);
  const after = await workspace.run(after_script.join("\n"), variables);
  assertEquals(after.code, 0, after.output);
  for (const path of kept.paths) {
    for (const [file, text] of workspace.files(path)) artifacts.set(file, text);
  }
  return { code: ended.code, output: ended.output + after.output };
}

/** The ids of the trials of journals, and the seeds of their plans. */
function readJournals(texts: Iterable<string>): { ids: string[]; seeds: unknown[] } {
  const lines = [...texts].map((text) =>
    // deno-lint-ignore no-explicit-any
    text.trimEnd().split("\n").map((line) => parseJson(line) as any)
  );
  return {
    ids: lines.flatMap(([, ...trials]) => trials.map(({ id }) => id)),
    seeds: lines.map(([plan]) => plan.seed),
  };
}

Deno.test("fixtures/ci/github.yml asks for no more than it needs", () => {
  assertEquals(GITHUB.permissions, { contents: "read" });
  assertEquals(
    GITHUB.concurrency["cancel-in-progress"],
    "${{ github.event_name == 'pull_request' }}",
  );
  for (const [name, job] of Object.entries<typeof GITHUB>(GITHUB.jobs)) {
    assert(job["timeout-minutes"] > 0, name);
    assertEquals(job.permissions, undefined, name);
    for (const { uses, run, env, with: options = {} } of job.steps) {
      if (uses !== undefined) assertMatch(uses, /^actions\/[a-z/-]+@[0-9a-f]{40}$/);
      if (uses?.startsWith("actions/checkout")) assertEquals(options["persist-credentials"], false);
      // What is filled into a script could end it; a secret could be read from the list of processes.
      if (run !== undefined) assertEquals(run.includes("${{"), false, run);
      const secrets = JSON.stringify(env ?? {}).match(/secrets\.\w+/g) ?? [];
      assertEquals(
        secrets,
        name === "shard" && run !== undefined ? [`secrets.OPENAI_API_KEY`] : [],
      );
    }
  }
  assertEquals(JSON.stringify(GITHUB).split("secrets.").length, 2);
});

Deno.test("the workflow of a new project asks for no more than it needs", () => {
  const { permissions, jobs } = readExample("../project/github.yml");
  assertEquals(permissions, { contents: "read" });
  assertEquals(Object.keys(jobs), ["toolgate"]);
  assert(jobs.toolgate["timeout-minutes"] > 0);
  for (const { uses, run, env, with: options = {} } of jobs.toolgate.steps) {
    if (uses !== undefined) assertMatch(uses, /^actions\/checkout@[0-9a-f]{40}$/);
    if (uses !== undefined) assertEquals(options["persist-credentials"], false);
    if (run === undefined) continue;
    assertEquals(run.includes("${{"), false, run);
    // The clone of toolgate gets no key, and no command gets more than its task says.
    assertEquals(env.OPENAI_API_KEY !== undefined, run.startsWith("npx --yes deno@2.9.6 "));
    assertEquals(/ -A\b|--allow-all|--allow-(net|env|read|write)(?!=)/.test(run), false, run);
  }
});

Deno.test("fixtures/ci/github.yml has one gate over all shards, whatever became of them", () => {
  const { shard, gate } = GITHUB.jobs;
  assertEquals(shard.strategy["fail-fast"], false);
  assertEquals(gate.needs, "shard");
  assertEquals(gate.if, "${{ !cancelled() }}");
  assertEquals(gate["continue-on-error"], undefined);
});

Deno.test("fixtures/ci/gitlab.yml has one gate over all shards, whatever became of them", () => {
  const { shard, gate, variables, default: shared } = GITLAB;
  assertEquals(shard.artifacts.when, "always");
  assertEquals([gate.needs, gate.when, gate.artifacts.when], [["shard"], "always", "always"]);
  assertEquals(gate.allow_failure, undefined);
  assertMatch(shared.image, /^node:\d+\.\d+\.\d+-/);
  for (const job of [shard, gate]) assertMatch(job.timeout, /^\d+ minutes$/);
  // A job that is out of time keeps no artifacts: its script must be out of time before.
  const { RUNNER_SCRIPT_TIMEOUT: limit } = shard.variables;
  assertMatch(limit, /^\d+m$/);
  assert(parseInt(limit) < parseInt(shard.timeout), `${limit} is not below ${shard.timeout}`);
  assert(!("OPENAI_API_KEY" in variables));
});

Deno.test("all commands of fixtures/ci get just the permissions that they need", () => {
  const scripts: string[] = [
    ...Object.values<typeof GITHUB>(GITHUB.jobs)
      .flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run)),
    ...[GITLAB.shard, GITLAB.gate].flatMap(({ script, after_script = [] }) => [
      ...script,
      ...after_script,
    ]),
  ];
  assertEquals(scripts.length, 6);
  for (const script of scripts) {
    assertStringIncludes(script, "npx --yes deno@2.9.6 ");
    assertStringIncludes(script, "--no-prompt");
    const granted = script.match(/--allow-\S+|-A\b/g) ?? [];
    for (const one of granted) assertMatch(one, /^--allow-(net|env|read|write)=\S+$/, script);
  }
});

Deno.test("the commands of fixtures/ci run shards, and decide over them", async (context) => {
  await using workspace = await Workspace.open();
  await context.step("on GitHub", (context) => runGithub(context, workspace));
  await context.step("on GitLab", (context) => runGitlab(context, workspace));
});

async function runGithub(context: Deno.TestContext, workspace: Workspace): Promise<void> {
  const artifacts = new Map<string, Artifacts>();
  let output = "";
  for (const shard of GITHUB.jobs.shard.strategy.matrix.shard) {
    const ended = await runGithubJob(workspace, "shard", artifacts, shard);
    assertEquals(ended.code, 0, ended.output);
    output += ended.output;
  }
  const journals = [...artifacts.values()].flatMap((files) => [...files.values()]);
  const { ids, seeds } = readJournals(journals);
  assertEquals(seeds, Array(3).fill(1));
  assertEquals([ids.length, new Set(ids).size], [252, 252]);

  await context.step("all of them are there", async () => {
    const all = new Map(artifacts);
    const ended = await runGithubJob(workspace, "gate", all);
    assertEquals(ended.code, 0, ended.output);
    assertStringIncludes(ended.output, "PASS: ");
    assertMatch(workspace.summary, /quick.*pass/);
    const report = all.get("report")!.get("results/report.html")!;
    assertStringIncludes(report, "252 of 252 planned trials");
    for (const text of [...journals, output, ended.output, report, workspace.summary]) {
      assertEquals(text.includes(KEY), false, "the key was told");
    }
  });

  await context.step("one is missing", async () => {
    const some = new Map(artifacts);
    some.delete("shard-2");
    const ended = await runGithubJob(workspace, "gate", some);
    assertEquals(ended.code, 3, ended.output);
    assertStringIncludes(ended.output, "shards are missing: 2/3");
    assertStringIncludes(workspace.summary, "shards are missing: 2/3");
    assertStringIncludes(
      some.get("report")!.get("results/report.html")!,
      "have no result: shards are missing: 2/3.",
    );
  });
}

async function runGitlab(context: Deno.TestContext, workspace: Workspace): Promise<void> {
  const total = GITLAB.shard.parallel;
  const artifacts = new Map<string, string>();
  let output = "";
  for (let index = 1; index <= total; index++) {
    const ended = await runGitlabJob(workspace, "shard", artifacts, {
      CI_NODE_INDEX: String(index),
      CI_NODE_TOTAL: String(total),
      OPENAI_API_KEY: KEY,
      MODEL: "sim:noisy?quit=0.5",
    });
    assertEquals(ended.code, 0, ended.output);
    output += ended.output;
  }
  const { ids, seeds } = readJournals(artifacts.values());
  assertEquals(seeds, Array(total).fill(1));
  assertEquals([ids.length, new Set(ids).size], [100, 100]);

  await context.step("all of them are there, and the model is too weak", async () => {
    const all = new Map(artifacts);
    const ended = await runGitlabJob(workspace, "gate", all);
    assertEquals(ended.code, 1, ended.output);
    assertStringIncludes(ended.output, "FAIL: ");
    assertStringIncludes(all.get("results/report.html")!, "100 of 100 planned trials");
    assertStringIncludes(all.get("results/report.md")!, "FAIL");
    for (const text of [...all.values(), output, ended.output]) {
      assertEquals(text.includes(KEY), false, "the key was told");
    }
  });

  await context.step("one is missing", async () => {
    const some = new Map(artifacts);
    some.delete("results/shard-3.jsonl");
    const ended = await runGitlabJob(workspace, "gate", some);
    assertEquals(ended.code, 3, ended.output);
    assertStringIncludes(ended.output, "shards are missing: 3/3");
    assertStringIncludes(some.get("results/report.md")!, "shards are missing");
    assert(some.has("results/report.html"));
  });
}
