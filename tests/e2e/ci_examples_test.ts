// The examples of fixtures/ci: what they ask for, and their very commands. Those of GitHub are carried out as it would;
// other services give the same commands, whose words are compared.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ROOT, valuesIn } from "../support/child.ts";
import { type Artifacts, type EndedJob, readExample, Workspace } from "../support/ci.ts";

const GITHUB = readExample("github.yml");
const GITHUB_WAVES = readExample("github_waves.yml");
const GITHUB_NIGHTLY = readExample("github_nightly.yml");
const GITLAB = readExample("gitlab.yml");
const GITLAB_WAVES = readExample("gitlab_waves.yml");
const GITLAB_NIGHTLY = readExample("gitlab_nightly.yml");
const KUBERNETES = readExample("kubernetes.yml");
const AWS_BATCH = readExample("aws_batch.yml");

/** No key that is written or printed anywhere passes unseen. */
const KEY = "sk-canary-5f1c0b7e9d3a4286";

const WITHOUT_EXCUSE = ["${{ !cancelled() }}", "${{ always() }}"];

type Values = Readonly<Record<string, string>>;

/** What expressions of GitHub stand for in all jobs. */
const VALUES: Values = {
  "github.run_id": "101",
  "github.run_attempt": "1",
  "runner.os": "Linux",
  "github.workspace": "/nowhere",
  "secrets.OPENAI_API_KEY": KEY,
};

function fill(text: string, values: Values): string {
  return text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression) => {
    assert(expression in values, `nobody knows what ${expression} is`);
    return values[expression]!;
  });
}

/** Carries out a job of GitHub's, and adds to `artifacts` what it uploads. */
async function runJob(
  workspace: Workspace,
  workflow: typeof GITHUB,
  name: string,
  { artifacts = new Map(), own = {}, isLive = false }: {
    readonly artifacts?: Map<string, Artifacts>;
    readonly own?: Values;
    /** Whether its commands are processes, with the permissions that they are given. */
    readonly isLive?: boolean;
  } = {},
): Promise<EndedJob> {
  const job = workflow.jobs[name];
  const values = { ...VALUES, ...own, "env.WAVE": job.env?.WAVE };
  const filled = (variables: object) =>
    Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, fill(String(value), values)]),
    );
  workspace.begin();
  let [code, output] = [0, ""];
  for (const step of job.steps) {
    if (code !== 0 && !WITHOUT_EXCUSE.includes(step.if)) continue;
    const action = step.uses?.replace(/@.*/, "");
    if (action === "actions/upload-artifact") {
      const { name, path } = filled(step.with);
      const files = workspace.files(path!);
      if (files.size > 0) artifacts.set(name!, files);
    } else if (action === "actions/download-artifact") {
      const { pattern, ...options } = step.with;
      assertEquals(options, { path: "results", "merge-multiple": true });
      const kept = [...artifacts].filter(([name]) => name.startsWith(pattern.replace("*", "")));
      workspace.begin(new Map(kept.flatMap(([, files]) => [...files])));
    } else if (step.run !== undefined) {
      const variables = filled({ ...workflow.env, ...job.env, ...step.env });
      const ended = isLive
        ? await workspace.run(step.run, variables)
        : await workspace.carryOut(step.run, variables);
      code ||= ended.code;
      output += ended.output;
    }
  }
  return { code, output };
}

function assertEnded({ code, output }: EndedJob, expected: number): string {
  assertEquals(code, expected, output);
  return output;
}

function assertNoKey(...texts: readonly string[]): void {
  for (const text of texts) assertEquals(text.includes(KEY), false, "the key was told");
}

/** The ids of the trials of journals, and the seeds of their plans. */
function readJournals(texts: Iterable<string>): { ids: string[]; seeds: unknown[] } {
  const lines = [...texts].map(valuesIn);
  return {
    ids: lines.flatMap(([, ...trials]) => trials.map(({ id }) => id)),
    seeds: lines.map(([plan]) => plan.resolved.seed),
  };
}

Deno.test("the workflows of GitHub, also that of a new project, ask for no more than they need", () => {
  for (
    const [workflow, asking, secrets] of [
      [GITHUB, /"\$BENCHMARK" -- /, 1],
      [GITHUB_WAVES, / run "\$SUITE" /, 3],
      [GITHUB_NIGHTLY, / run "\$SUITE" /, 1],
      [readExample("../project/github.yml"), / task test |tool_tests\/benchmark\.ts/, 2],
      [readExample("../project/github_npm.yml"), /npm run (?:test|bench)$/, 2],
    ] as const
  ) {
    assertEquals(workflow.permissions, { contents: "read" });
    for (const [name, job] of Object.entries<typeof GITHUB>(workflow.jobs)) {
      assert(job["timeout-minutes"] > 0, name);
      assertEquals(job.permissions, undefined, name);
      for (const { uses, run, env, with: options = {} } of job.steps) {
        if (uses !== undefined) assertMatch(uses, /^actions\/[a-z/-]+@[0-9a-f]{40}$/);
        if (uses?.startsWith("actions/checkout")) {
          assertEquals(options["persist-credentials"], false);
        }
        if (run === undefined) continue;
        // What is filled into a script could end it; a secret could be read from the list of processes.
        assertEquals(run.includes("${{"), false, run);
        // Who asks no model gets no key, and no command gets more than it says.
        assertEquals(
          JSON.stringify(env ?? {}).match(/secrets\.\w+/g),
          asking.test(run) ? ["secrets.OPENAI_API_KEY"] : null,
        );
        assertEquals(/ -A\b|--allow-all|--allow-(net|env|read|write)(?!=)/.test(run), false, run);
        assertEquals(run.match(/\bdeno .*/g), null, "deno comes from npx");
      }
    }
    assertEquals(JSON.stringify(workflow).split("secrets.").length - 1, secrets);
  }
  assertEquals(
    GITHUB.concurrency["cancel-in-progress"],
    "${{ github.event_name == 'pull_request' }}",
  );
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

Deno.test("no run of the nightly examples is beside another, and each finds those before", () => {
  assertEquals(GITHUB_NIGHTLY.concurrency, {
    ...{ group: "toolgate-nightly", "cancel-in-progress": false },
  });
  assert(GITHUB_NIGHTLY.on.schedule.length > 0);
  assertEquals(GITLAB_NIGHTLY.nightly.resource_group, "toolgate-nightly");
  const [restored, saved] = ["cache/restore", "cache/save"].map((name) =>
    GITHUB_NIGHTLY.jobs.nightly.steps.find(({ uses }: { uses?: string }) =>
      uses?.startsWith(`actions/${name}@`)
    )
  );
  assertEquals(restored.with["restore-keys"], "runs-");
  assertEquals([saved.if, saved.with.path], ["${{ !cancelled() }}", "runs"]);
  assertEquals(GITLAB_NIGHTLY.nightly.cache[1], { key: "runs", paths: ["runs"], when: "always" });
});

/** A command with no more than these permissions, as all services give it to npx. */
function words(permissions: string, line: string): string[] {
  const allowed = permissions.split(" ").map((one) => `--allow-${one}`);
  return [
    ...["--yes", "deno@2.9.6", "run", "--no-prompt", ...allowed, "@toolgate/toolgate/cli"],
    ...line.split(" "),
  ];
}

/** The permissions of a command that asks a model, and may read these variables too. */
const asking = (...variables: string[]) =>
  `net=127.0.0.1 env=${["OPENAI_API_KEY", ...variables].join()} read=. write=results`;

const GITLAB_VARIABLES = ["CI_NODE_INDEX", "CI_NODE_TOTAL"];

Deno.test("the commands of fixtures/ci run shards, and decide over them", async (context) => {
  await using workspace = await Workspace.open();
  // As many trials as decide.
  workspace.change("fixtures/benchmarks/quick.ts", "graphs: 84", "graphs: 28");
  workspace.change("fixtures/ci/release.jsonc", '"graphs": 50', '"graphs": 15');
  await context.step("on GitHub", (context) => runGithub(context, workspace));
  await context.step("on GitLab", () => runGitlab(workspace));
  await context.step("on GitHub, wave after wave until all has decided", () => runWaves(workspace));
  await context.step("with other services, whose waves are the same", () => runOthers(workspace));
  await context.step("for nightly runs, which add up and are shown and watched", () => {
    return runNightly(workspace);
  });
});

/** What GitHub knows of a job of a matrix. */
function shardValues(shard: number, shards: number): Values {
  return {
    "matrix.shard": `${shard}`,
    "strategy.job-index": `${shard - 1}`,
    "strategy.job-total": `${shards}`,
  };
}

async function runGithub(context: Deno.TestContext, workspace: Workspace): Promise<void> {
  const artifacts = new Map<string, Artifacts>();
  const shards: number[] = GITHUB.jobs.shard.strategy.matrix.shard;
  let output = "";
  for (const shard of shards) {
    const own = shardValues(shard, shards.length);
    const ended = await runJob(workspace, GITHUB, "shard", { artifacts, own, isLive: true });
    output += assertEnded(ended, 0);
  }
  const journals = [...artifacts.values()].flatMap((files) => [...files.values()]);
  const { ids, seeds } = readJournals(journals);
  assertEquals(seeds, Array(3).fill(1));
  assertEquals([ids.length, new Set(ids).size], [84, 84]);

  await context.step("all of them are there", async () => {
    const all = new Map(artifacts);
    const told = assertEnded(
      await runJob(workspace, GITHUB, "gate", { artifacts: all, isLive: true }),
      0,
    );
    assertStringIncludes(told, "PASS: ");
    assertMatch(workspace.summary, /quick.*pass/);
    const report = all.get("report")!.get("results/report.html")!;
    assertStringIncludes(report, "84 of 84 planned trials");
    assertNoKey(...journals, output, told, report, workspace.summary);
  });

  await context.step("one is missing", async () => {
    const some = new Map(artifacts);
    some.delete("shard-2");
    const told = assertEnded(await runJob(workspace, GITHUB, "gate", { artifacts: some }), 3);
    assertStringIncludes(told, "shards are missing: 2/3");
    assertStringIncludes(workspace.summary, "shards are missing: 2/3");
    assertStringIncludes(
      some.get("report")!.get("results/report.html")!,
      "have no result: shards are missing: 2/3.",
    );
  });
}

async function runGitlab(workspace: Workspace): Promise<void> {
  const total: number = GITLAB.shard.parallel;
  const artifacts = new Map<string, string>();
  const shared = { ...GITLAB.variables, MODEL: "sim:noisy?quit=0.5", OPENAI_API_KEY: KEY };
  let told = "";
  for (let index = 1; index <= total; index++) {
    workspace.begin();
    const own = { CI_NODE_INDEX: `${index}`, CI_NODE_TOTAL: `${total}` };
    const variables = { ...shared, ...GITLAB.shard.variables, ...own };
    const script = GITLAB.shard.script.join("\n");
    assertEquals((await workspace.commandsOf(script, variables)).commands, [
      words(
        asking(...GITLAB_VARIABLES),
        `run ${shared.SUITE} --model ${shared.MODEL} --seed 1 --shard auto ` +
          `--out results/shard-${index}.jsonl`,
      ),
    ]);
    told += assertEnded(await workspace.carryOut(script, variables), 0);
    for (const path of GITLAB.shard.artifacts.paths) {
      for (const [file, text] of workspace.files(path)) artifacts.set(file, text);
    }
  }
  const { ids, seeds } = readJournals(artifacts.values());
  assertEquals(seeds, Array(total).fill(1));
  assertEquals([ids.length, new Set(ids).size], [100, 100]);

  workspace.begin(artifacts);
  const { script, after_script: after } = GITLAB.gate;
  const { commands } = await workspace.commandsOf([...script, ...after].join("\n"), {});
  assertEquals(commands, [
    words("read=.", `check results`),
    words("read=.", `gate results`),
    words(
      "read=. write=results",
      `report results --html results/report.html --markdown results/report.md`,
    ),
  ]);
  // The model is too weak.
  told += assertEnded(await workspace.carryOut(script.join("\n"), shared), 1);
  assertStringIncludes(told, "FAIL: ");
  told += assertEnded(await workspace.carryOut(after.join("\n"), shared), 0);
  const kept = GITLAB.gate.artifacts.paths.map((path: string) => workspace.files(path).get(path)!);
  assertStringIncludes(kept[0], "100 of 100 planned trials");
  assertStringIncludes(kept[1], "FAIL");
  assertNoKey(...artifacts.values(), ...kept, told);
}

/** What a service gives to npx for a shard of a wave, or of a run without waves. */
function wordsOf(
  variables: readonly string[],
  shard: string,
  name: string,
  wave?: readonly [number, number],
): string[] {
  const [own, prefix] = wave === undefined
    ? ["", ""]
    : [` --wave ${wave.join("/")}`, `wave-${wave[0]}-`];
  return words(
    asking(...variables),
    `run fixtures/ci/waves.jsonc --seed 1 --shard ${shard}${own} ` +
      `--out results/${prefix}shard-${name}.jsonl`,
  );
}

const GATE = [words("read=.", "check results"), words("read=.", "gate results")];
const [SHARDS, WAVES] = [2, 3];

async function runWaves(workspace: Workspace): Promise<void> {
  const artifacts = new Map<string, Artifacts>();
  assertEquals([GITHUB_WAVES.env.WAVES, GITHUB_WAVES.env.SEED], [`${WAVES}`, "1"]);
  const run = async (wave: number, shard: number, isLive = false) => {
    const { strategy } = GITHUB_WAVES.jobs[`wave-${wave}`];
    assertEquals(strategy.matrix.shard, [1, SHARDS]);
    const own = shardValues(shard, SHARDS);
    const job = { artifacts, own, isLive };
    assertEnded(await runJob(workspace, GITHUB_WAVES, `wave-${wave}`, job), 0);
  };
  for (const wave of [1, 2, 3]) {
    for (const shard of [1, 2]) await run(wave, shard, wave === 1 && shard === 1);
  }
  // Waves are run until one has decided; those after it run nothing. No trial is run twice.
  const ran = artifacts.size / SHARDS;
  assert([1, 2].includes(ran), [...artifacts.keys()].join());
  const ids = new Set<string>();
  for (const [name, files] of artifacts) {
    const [, wave, shard] = /^wave-(\d)-shard-(\d)$/.exec(name)!.map(Number);
    assert(wave! <= ran);
    assertEquals([...files.keys()], [`results/${name}.jsonl`]);
    const [plan, ...trials] = valuesIn([...files.values()][0]!);
    assertEquals([plan.wave, plan.shard], [
      ...[{ index: wave, of: WAVES }, { index: shard, of: SHARDS }],
    ]);
    for (const { id } of trials) {
      assert(!ids.has(id), `${id} was run twice`);
      ids.add(id);
    }
  }
  // A shard whose machine was lost: a job that is run again finds the journal of its first attempt.
  const [path, whole] = [...artifacts.get("wave-1-shard-1")!][0]!;
  const short = whole.split("\n").slice(0, -3).join("\n") + "\n";
  artifacts.set("wave-1-shard-1", new Map([[path, short]]));
  await run(1, 1);
  const again = artifacts.get("wave-1-shard-1")!.get(path)!;
  assert(again.startsWith(short), again);
  assertEquals(valuesIn(again).length, valuesIn(whole).length);
  const told = assertEnded(await runJob(workspace, GITHUB_WAVES, "gate", { artifacts }), 0);
  assertStringIncludes(told, "PASS: ");
  assertMatch(workspace.summary, /waves.*pass/);
}

/** Runs the tasks of an array side by side, as Slurm does on its machines. */
const SBATCH = `#!/bin/bash
[ "$1 $2" = "--wait --export=ALL" ] || exit 99
count=$(sed -n 's/^#SBATCH --array=1-//p' "$3")
for task in $(seq "$count"); do
  SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=$count SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=1 bash "$3" &
done
wait
`;

const SLURM_VARIABLES = ["ID", "MIN", "COUNT", "STEP"].map((one) => `SLURM_ARRAY_TASK_${one}`);

async function runOthers(workspace: Workspace): Promise<void> {
  workspace.begin();
  const { parallel, script, artifacts, allow_failure: mayFail } = GITLAB_WAVES[".wave"];
  assertEquals([artifacts.when, mayFail, GITLAB_WAVES.gate.when], ["always", true, "always"]);
  assertEquals(GITLAB_WAVES.stages, ["wave 1", "wave 2", "wave 3", "gate"]);
  for (const [at, stage] of GITLAB_WAVES.stages.slice(0, -1).entries()) {
    const job = GITLAB_WAVES[stage];
    assertEquals([job.extends, job.stage], [".wave", stage]);
    for (let shard = 1; shard <= parallel; shard++) {
      const variables = {
        ...{ ...GITLAB_WAVES.variables, ...job.variables },
        ...{ CI_NODE_INDEX: `${shard}`, CI_NODE_TOTAL: `${parallel}`, OPENAI_API_KEY: KEY },
      };
      const { commands } = await workspace.commandsOf(script.join("\n"), variables);
      assertEquals(commands, [wordsOf(GITLAB_VARIABLES, "auto", `${shard}`, [at + 1, WAVES])]);
      // With a copy of another journal, it would undo what that is run again for.
      const kept = artifacts.paths.map((path: string) =>
        path.replaceAll(/\$(\w+)/g, (_, name: keyof typeof variables) => variables[name])
      );
      assertEquals(kept, [commands[0]!.at(-1)]);
    }
  }
  const { commands: gates } = await workspace.commandsOf(GITLAB_WAVES.gate.script.join("\n"), {});
  assertEquals(gates, GATE);

  const { completions, parallelism, completionMode, template } = KUBERNETES.spec;
  assertEquals([completionMode, parallelism], ["Indexed", completions]);
  const [{ command, args, env }] = template.spec.containers;
  assertEquals(command, ["bash", "-ec"]);
  const fixed: Record<string, string> = Object.fromEntries(
    env.map(({ name, value = KEY }: { name: string; value?: string }) => [name, value]),
  );
  assertEquals([fixed["SHARDS"], fixed["WAVE"]], [`${completions}`, "WAVE_NUMBER"]);
  assertEquals(AWS_BATCH.containerProperties.command.slice(0, 2), ["bash", "-ec"]);
  const batch = AWS_BATCH.containerProperties.command[2];
  const [index, size] = ["AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE"];
  const journals: string[] = [];
  for (const at of [0, 1, 2]) {
    const pod = { ...fixed, JOB_COMPLETION_INDEX: `${at}` };
    const child = { SUITE: fixed["SUITE"]!, WAVES: "4", [index]: `${at}`, [size]: "3" };
    for (
      const [script, variables, own, shard] of [
        [args[0], pod, ["JOB_COMPLETION_INDEX"], `auto/${completions}`],
        [batch, child, [index, size], "auto"],
      ] as const
    ) {
      for (const wave of [undefined, [2, 4]] as const) {
        const all = { ...variables, WAVE: wave === undefined ? "" : "2" };
        assertEquals((await workspace.commandsOf(script, all)).commands, [
          [...wordsOf(own, shard, `${at}`, wave), "--resume"],
        ]);
      }
      // Without waves it is carried out: each has a third of all trials.
      if (script === batch && at > 0) continue;
      const suite = { SUITE: "fixtures/suites/quick.jsonc", WAVE: "", OPENAI_API_KEY: KEY };
      assertEnded(await workspace.carryOut(script, { ...variables, ...suite }), 0);
      journals.push(...workspace.files("results/*").values());
      workspace.begin();
    }
  }
  const plans = journals.map((text) => valuesIn(text)[0].shard);
  assertEquals(plans, [1, 1, 2, 3].map((index) => ({ index, of: 3 })));

  const task = { SUITE: "fixtures/ci/waves.jsonc", SLURM_ARRAY_TASK_ID: "2" };
  assertEquals((await workspace.commandsOf("bash fixtures/ci/slurm.sh", task)).commands, [
    [...wordsOf(SLURM_VARIABLES, "auto", "2"), "--resume"],
  ]);
  Deno.mkdirSync(`${workspace.path}/slurm`);
  Deno.writeTextFileSync(`${workspace.path}/slurm/sbatch`, SBATCH, { mode: 0o755 });
  for (
    // Each gate stands behind the three tasks of its wave, and a check.
    const [codes, expected, waves] of [["0 0 0 0 4 0 0 0 0 1", 1, 2], ["0 0 0 0 3", 3, 1]] as const
  ) {
    const { code, commands } = await workspace.commandsOf(
      'PATH="$PWD/slurm:$PATH" bash fixtures/ci/slurm_waves.sh',
      { OPENAI_API_KEY: KEY },
      codes,
    );
    assertEquals(code, expected);
    const asked = Array.from({ length: waves }, (_, at) => [
      ...["1", "2", "3"].map((
        shard,
      ) => [...wordsOf(SLURM_VARIABLES, "auto", shard, [at + 1, 4]), "--resume"]),
      ...GATE,
    ]);
    const told = Array.from({ length: waves }, (_, at) => {
      const own = commands.slice(5 * at, 5 * at + 5);
      return [...own.slice(0, 3).sort(), ...own.slice(3)];
    });
    assertEquals([told, commands.length], [asked, 5 * waves]);
  }
}

Deno.test("the loop of docs/ci.md ends as its last gate did", async () => {
  const [, loop] = /```bash\n(for wave [^]*?)```/.exec(
    Deno.readTextFileSync(`${ROOT}/docs/ci.md`),
  )!;
  for (
    const [codes, expected, waves] of [["4 4 1", 1, 3], ["3", 3, 1], ["4 0", 0, 2]] as const
  ) {
    const before = `gates=(${codes}); run_wave() { echo "wave $1"; }; ` +
      'deno() { return "${gates[wave - 1]}"; }\n';
    const { code, stdout } = await new Deno.Command("bash", { args: ["-c", before + loop] })
      .output();
    assertEquals(code, expected, codes);
    assertEquals(new TextDecoder().decode(stdout).trim().split("\n").length, waves);
  }
});

async function runNightly(workspace: Workspace): Promise<void> {
  const nightly = async (run: number) => {
    const own = { "github.run_id": `${run}` };
    const ended = await runJob(workspace, GITHUB_NIGHTLY, "nightly", { own });
    const page = workspace.files("results/*").get("results/history.html") ?? "";
    assertNoKey(ended.output, page);
    return { ...ended, page };
  };
  const told = assertEnded(await nightly(101), 2);
  assertStringIncludes(told, "Cannot read the folder releases: there is no such file");
  // What a person does once, as the head of the example says.
  const head = Deno.readTextFileSync(`${workspace.path}/fixtures/ci/github_nightly.yml`);
  const accepted = head.match(/^# +deno task (toolgate .*)$/gm)!.map((line) =>
    line.replace(/^# +deno task toolgate/, "npx --yes deno@2.9.6 run -A @toolgate/toolgate/cli")
  );
  assertEquals(accepted.length, 2);
  assertEnded(await workspace.carryOut(accepted.join("\n"), {}), 0);
  for (const run of [102, 103]) {
    const { page, ...ended } = await nightly(run);
    assertMatch(
      assertEnded(ended, 0),
      /sim:planner \(simulated\), served as sim:planner: QUIET/,
    );
    assertStringIncludes(page, "<svg");
  }
  // The same run again: its tasks were used before, and count once.
  assertMatch(
    assertEnded(await nightly(103), 0),
    /Not watched: runs\/\S+: 50 of its tasks were used before/,
  );
  workspace.change("fixtures/ci/nightly.jsonc", '["sim:planner"]', '["sim:noisy?quit=0.1"]');
  const { page, ...other } = await nightly(104);
  // Of the model that was accepted there is nothing to see today.
  assertMatch(
    assertEnded(other, 3),
    /Not watched: runs\/\S+: it has no trials of sim:planner/,
  );
  assertStringIncludes(page, "sim:noisy");

  // GitLab's script is the same in one, and ends with the last code that is not 0.
  const lines = [
    `run fixtures/ci/nightly.jsonc --seed 7 --out results/nightly.jsonl`,
    "history add results/nightly.jsonl --to runs",
    "canary releases runs",
    "history show releases runs --html results/history.html",
  ];
  const allowed = [
    asking(),
    "read=. write=runs",
    "read=.",
    "read=. write=results",
  ];
  const { code, commands } = await workspace.commandsOf(
    GITLAB_NIGHTLY.nightly.script.join("\n"),
    { ...GITLAB_NIGHTLY.variables, SEED: "7", OPENAI_API_KEY: KEY },
    "2 0 3 0",
  );
  assertEquals([code, commands], [3, lines.map((line, at) => words(allowed[at]!, line))]);
  const steps: string[][][] = [];
  for (const { run } of GITHUB_NIGHTLY.jobs.nightly.steps) {
    if (run === undefined) continue;
    const variables = { SUITE: GITHUB_NIGHTLY.env.SUITE, SEED: "7" };
    steps.push((await workspace.commandsOf(run, variables)).commands);
  }
  assertEquals(
    steps.map(([one]) => one!.slice(one!.indexOf("@toolgate/toolgate/cli") + 1).join(" ")),
    lines,
  );
}
