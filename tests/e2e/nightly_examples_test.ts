// The examples of fixtures/ci that watch a served model night by night: their very commands, carried out as the
// services would, for several nights, with a model that gets worse.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { readExample, Workspace } from "../support/ci.ts";

const GITHUB = readExample("github_nightly.yml");
const GITLAB = readExample("gitlab_nightly.yml");

/** No key that is written or printed anywhere passes unseen. */
const KEY = "sk-canary-0c5e8b1f7d2a4936";

type Step = {
  readonly run?: string;
  readonly uses?: string;
  readonly if?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, string>>;
};
const STEPS: readonly Step[] = GITHUB.jobs.night.steps;

/** Fills in what an expression of GitHub stands for. */
function fill(text: string, run: number): string {
  const values: Readonly<Record<string, string>> = {
    "github.run_id": `${run}`,
    "github.workspace": "/nowhere",
    "secrets.OPENAI_API_KEY": KEY,
  };
  return text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression) => {
    assert(expression in values, `nobody knows what ${expression} is`);
    return values[expression]!;
  });
}

const filled = (variables: Readonly<Record<string, string>> = {}, run: number) =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, fill(value, run)]));

/** Carries out a night of GitHub's; `nights` stay where they are, as in its cache. */
async function runGithubNight(workspace: Workspace, run: number) {
  workspace.begin();
  let [code, output] = [0, ""];
  for (const step of STEPS) {
    if (step.run === undefined || code !== 0 && step.if !== "${{ !cancelled() }}") continue;
    const env = { ...filled(GITHUB.env, run), ...filled(step.env, run) };
    const ended = await workspace.run(step.run, {
      ...env,
      GITHUB_SHA: "c0ffee".repeat(6) + "abcd",
    });
    code ||= ended.code;
    output += ended.output;
  }
  return { code, output, page: pageIn(workspace) };
}

/** Carries out a night of GitLab's; its cache stays. */
async function runGitlabNight(workspace: Workspace, run: number) {
  workspace.begin();
  const variables = { ...GITLAB.variables, SEED: `${run}`, OPENAI_API_KEY: KEY };
  const ended = await workspace.run(GITLAB.night.script.join("\n"), variables);
  return { ...ended, page: pageIn(workspace) };
}

function pageIn(workspace: Workspace): string {
  return workspace.files("results/*").get("results/nights.html") ?? "";
}

Deno.test("the nightly examples ask for no more than they need, and none of them runs beside another", () => {
  assertEquals(GITHUB.permissions, { contents: "read" });
  assertEquals(GITHUB.concurrency, { group: "toolgate-nightly", "cancel-in-progress": false });
  assert(GITHUB.on.schedule.length > 0 && GITHUB.jobs.night["timeout-minutes"] > 0);
  assertEquals(GITLAB.night.resource_group, "nights");
  for (const { uses, run, env = {}, with: options = {} } of STEPS) {
    if (uses !== undefined) assertMatch(uses, /^actions\/[a-z/-]+@[0-9a-f]{40}$/);
    if (uses?.startsWith("actions/checkout")) {
      assertEquals(`${options["persist-credentials"]}`, "false");
    }
    if (run !== undefined) assertEquals(run.includes("${{"), false, run);
    assertEquals("OPENAI_API_KEY" in env, run?.includes(' run "$SUITE"') === true);
  }
  const [restored, saved] = ["cache/restore", "cache/save"].map((name) =>
    STEPS.find(({ uses }) => uses?.startsWith(`actions/${name}@`))!
  );
  assertEquals(restored!.with!["restore-keys"], "nights-");
  assertEquals([saved!.if, saved!.with!["path"]], ["${{ !cancelled() }}", "nights"]);
  assertEquals(GITLAB.night.cache[1], { key: "nights", paths: ["nights"], when: "always" });
  const scripts: string[] = [...STEPS.flatMap(({ run = [] }) => run), ...GITLAB.night.script];
  const commands = scripts.filter((script) => script.includes("deno@"));
  assertEquals(commands.length, 8);
  for (const script of commands) {
    assertStringIncludes(script, "npx --yes deno@2.9.6 run --no-prompt");
    const granted = script.match(/--allow-\S+|-A\b/g) ?? [];
    for (const one of granted) assertMatch(one, /^--allow-(net|env|read|write)=\S+$/, script);
  }
});

for (
  const [service, runNight] of [["GitHub", runGithubNight], ["GitLab", runGitlabNight]] as const
) {
  Deno.test(`the nightly commands on ${service} add up, show and watch nights`, async () => {
    await using workspace = await Workspace.open();
    const early = await runNight(workspace, 101);
    assertEquals(early.code, 2, early.output);
    assertStringIncludes(early.output, "Cannot read the folder releases: there is no such file");
    // What a person does once, as the head of the example says.
    const head = Deno.readTextFileSync(`${workspace.path}/fixtures/ci/github_nightly.yml`);
    const accepted = head.match(/^# +deno task (toolgate .*)$/gm)!.map((line) =>
      line.replace(/^# +deno task toolgate/, "npx --yes deno@2.9.6 run -A lib/cli/main.ts")
    );
    assertEquals(accepted.length, 2);
    const release = await workspace.run(accepted.join("\n"), {});
    assertEquals(release.code, 0, release.output);

    const suite = `${workspace.path}/fixtures/ci/nightly.jsonc`;
    const nights = [102, 103];
    for (const run of nights) {
      const night = await runNight(workspace, run);
      assertEquals(night.code, 0, night.output);
      assertMatch(night.output, /sim:planner \(simulated\), served as sim:planner: QUIET/);
      assertStringIncludes(night.page, "<svg");
      for (const text of [night.output, night.page]) assertEquals(text.includes(KEY), false);
    }
    // The same night again: its tasks were used before, and count once.
    const again = await runNight(workspace, 103);
    assertEquals(again.code, 0, again.output);
    assertMatch(again.output, /Not watched: nights\/\S+: 50 of its tasks were used before/);
    Deno.writeTextFileSync(
      suite,
      Deno.readTextFileSync(suite).replace('["sim:planner"]', '["sim:noisy?quit=0.1"]'),
    );
    const other = await runNight(workspace, 104);
    // Of the model that was accepted there is nothing to see tonight.
    assertEquals(other.code, 3, other.output);
    assertMatch(other.output, /Not watched: nights\/\S+: it has no trials of sim:planner/);
    assertStringIncludes(other.page, "sim:noisy");
  });
}
