// The examples of fixtures/ci that run a gate in waves: their very commands, carried out as the services would.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseJson } from "../../lib/base/json.ts";
import { ROOT } from "../support/child.ts";
import { type Artifacts, type EndedJob, readExample, Workspace } from "../support/ci.ts";

const GITHUB = readExample("github_waves.yml");
const GITLAB = readExample("gitlab_waves.yml");
const KUBERNETES = readExample("kubernetes_wave.yml");

const GATE = "npx --yes deno@2.9.6 run --no-prompt --allow-read=. lib/cli/main.ts gate results";

/** Fills in what an expression of GitHub stands for. */
function filled(
  variables: Record<string, string>,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      String(value).replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression) => {
        assert(expression in values, `nobody knows what ${expression} is`);
        return values[expression]!;
      }),
    ]),
  );
}

/** The journals of a run, which must have each trial once; returns their waves and shards. */
function partsIn(journals: Artifacts): string[] {
  const ids = new Set<string>();
  return [...journals].map(([path, text]) => {
    // deno-lint-ignore no-explicit-any
    const [plan, ...trials] = text.trimEnd().split("\n").map((line) => parseJson(line) as any);
    for (const { id } of trials) {
      assert(!ids.has(id), `${id} was run twice`);
      ids.add(id);
    }
    const { wave, shard } = plan;
    assertStringIncludes(path, `wave-${wave.index}-shard-${shard.index}`);
    return `${wave.index}/${wave.of} ${shard.index}/${shard.of}`;
  }).sort();
}

/** The waves that were run, whose last one decides; and those after it, which run nothing. */
function assertWaves(journals: Artifacts, waves: number, shards: number): void {
  const parts = partsIn(journals);
  const run = new Set(parts.map((part) => part.split("/")[0])).size;
  assert(run >= 1 && run < waves, parts.join(", "));
  const expected = Array.from({ length: run * shards }, (_, place) => {
    const [wave, shard] = [Math.floor(place / shards) + 1, place % shards + 1];
    return `${wave}/${waves} ${shard}/${shards}`;
  });
  assertEquals(parts, expected);
}

Deno.test("the examples of waves ask for just the permissions that they need", () => {
  const scripts: string[] = [
    ...Object.values<typeof GITHUB>(GITHUB.jobs)
      .flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run)),
    ...[...GITLAB[".wave"].script, ...GITLAB.gate.script],
    ...KUBERNETES.spec.template.spec.containers[0].args,
    ...["slurm_wave.sh", "slurm_waves.sh"].map((name) =>
      Deno.readTextFileSync(`${ROOT}/fixtures/ci/${name}`)
    ),
  ];
  for (const script of scripts) {
    assertStringIncludes(script, "npx --yes deno@2.9.6 run --no-prompt");
    // What is filled into a script could end it.
    assertEquals(script.includes("${{"), false, script);
    const granted = script.replaceAll(/^#.*/gm, "").match(/--allow-\S+|-A\b/g) ?? [];
    for (const one of granted) assertMatch(one, /^--allow-(net|env|read|write)=\S+$/, script);
  }
  assertEquals(GITHUB.permissions, { contents: "read" });
  for (const { steps, "timeout-minutes": limit } of Object.values<typeof GITHUB>(GITHUB.jobs)) {
    assert(limit > 0);
    for (const { uses } of steps) {
      if (uses !== undefined) assertMatch(uses, /^actions\/[a-z/-]+@[0-9a-f]{40}$/);
    }
  }
});

Deno.test("the commands of the examples run wave after wave until all has decided", async (context) => {
  await using workspace = await Workspace.open();
  await context.step("on GitHub", () => runGithub(workspace));
  await context.step("on GitLab", () => runGitlab(workspace));
  await context.step("as Indexed Jobs of Kubernetes", () => runKubernetes(workspace));
  await context.step("as arrays of Slurm", () => runSlurm(workspace));
});

/** Runs the waves of the example, also again with what the journals of a first attempt are. */
async function runGithubWaves(workspace: Workspace, artifacts: Map<string, string>): Promise<void> {
  for (const name of ["wave-1", "wave-2", "wave-3"]) {
    const { env, strategy, steps } = GITHUB.jobs[name];
    const { shard: shards } = strategy.matrix;
    const own = new Map<string, string>();
    for (const shard of shards) {
      const values = {
        "matrix.shard": String(shard),
        "strategy.job-total": String(shards.length),
        "github.workspace": "/nowhere",
        "secrets.OPENAI_API_KEY": "",
        "env.WAVE": env.WAVE,
      };
      workspace.begin(artifacts);
      for (const step of steps) {
        const variables = filled({ ...GITHUB.env, ...env, ...step.env }, values);
        if (step.run !== undefined) assertEnded(await workspace.run(step.run, variables), 0);
        if (step.uses?.startsWith("actions/upload-artifact")) {
          const { path } = filled(step.with, values);
          for (const [file, text] of workspace.files(path!)) own.set(file, text);
        }
      }
    }
    for (const [file, text] of own) artifacts.set(file, text);
  }
}

async function runGithub(workspace: Workspace): Promise<void> {
  const artifacts = new Map<string, string>();
  await runGithubWaves(workspace, artifacts);
  assertWaves(artifacts, Number(GITHUB.env.WAVES), 2);
  // A shard whose machine was lost: jobs that are run again find the journals of their first attempt.
  const first = "results/wave-1-shard-1.jsonl";
  const whole = artifacts.get(first)!;
  artifacts.set(first, whole.split("\n").slice(0, -2).join("\n") + "\n");
  await runGithubWaves(workspace, artifacts);
  assertEquals(artifacts.get(first)!.split("\n").length, whole.split("\n").length);
  workspace.begin(artifacts);
  const [decide] = GITHUB.jobs.gate.steps.filter(({ run }: { run?: string }) => run);
  assertStringIncludes(assertEnded(await workspace.run(decide.run, {}), 0), "PASS: ");
  assertMatch(workspace.summary, /waves.*pass/);
}

async function runGitlab(workspace: Workspace): Promise<void> {
  const artifacts = new Map<string, string>();
  const { script, parallel, artifacts: kept } = GITLAB[".wave"];
  for (const stage of GITLAB.stages.slice(0, -1)) {
    const job = GITLAB[stage];
    assertEquals([job.extends, job.stage], [".wave", stage]);
    const own = new Map<string, string>();
    for (let index = 1; index <= parallel; index++) {
      workspace.begin(artifacts);
      const variables = {
        ...{ ...GITLAB.variables, ...job.variables },
        ...{ CI_NODE_INDEX: String(index), CI_NODE_TOTAL: String(parallel), OPENAI_API_KEY: "" },
      };
      assertEnded(await workspace.run(script.join("\n"), variables), 0);
      const path = kept.paths[0].replaceAll(
        /\$(\w+)/g,
        (_: string, name: keyof typeof variables) => variables[name],
      );
      const files = workspace.files(path);
      // With a copy of another one, it would undo what that is run again for.
      assert(files.size <= 1, `a job keeps ${[...files.keys()].join(", ")}`);
      for (const [file, text] of files) own.set(file, text);
    }
    for (const [file, text] of own) artifacts.set(file, text);
  }
  assertWaves(artifacts, Number(GITLAB.variables.WAVES), parallel);
  workspace.begin(artifacts);
  const ended = await workspace.run(GITLAB.gate.script.join("\n"), {});
  assertStringIncludes(assertEnded(ended, 0), "PASS: ");
}

async function runKubernetes(workspace: Workspace): Promise<void> {
  workspace.begin();
  const { completions, parallelism, completionMode, template } = KUBERNETES.spec;
  assertEquals([completionMode, parallelism], ["Indexed", completions]);
  const [{ command, args, env }] = template.spec.containers;
  assertEquals(command, ["bash", "-ec"]);
  const value = (own: string): string =>
    env.find(({ name }: { name: string }) => name === own).value ?? "";
  const fixed = {
    ...{ WAVE: value("WAVE"), WAVES: value("WAVES"), SHARDS: value("SHARDS") },
    OPENAI_API_KEY: "",
  };
  assertEquals(Number(fixed.SHARDS), completions);
  for (let wave = 1;; wave++) {
    const pods = Array.from({ length: completions }, (_, index) =>
      workspace.run(args[0], {
        ...fixed,
        WAVE: fixed.WAVE.replace("WAVE_NUMBER", String(wave)),
        JOB_COMPLETION_INDEX: String(index),
      }));
    for (const pod of await Promise.all(pods)) assertEnded(pod, 0);
    const ended = await workspace.run(GATE, {});
    if (ended.code === 4) {
      const next =
        `Run wave ${wave + 1} of ${fixed.WAVES} next, by the same command on each of the ` +
        `${completions} shards with --wave=${wave + 1}/${fixed.WAVES} --after=results ` +
        "and a new --out.";
      assertStringIncludes(ended.output, next);
      continue;
    }
    assertStringIncludes(assertEnded(ended, 0), "PASS: ");
    break;
  }
  assertWaves(workspace.files("results/*.jsonl"), Number(fixed.WAVES), completions);
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

/** Runs the tasks of an array side by side, as Slurm does on its machines. */
const SBATCH = `#!/bin/bash
[ "$1 $2" = "--wait --export=ALL" ] || exit 99
count=$(sed -n 's/^#SBATCH --array=1-//p' "$3")
for task in $(seq "$count"); do
  SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=$count bash "$3" &
done
wait
`;

async function runSlurm(workspace: Workspace): Promise<void> {
  workspace.begin();
  Deno.mkdirSync(`${workspace.path}/slurm`);
  Deno.writeTextFileSync(`${workspace.path}/slurm/sbatch`, SBATCH, { mode: 0o755 });
  const script = 'PATH="$PWD/slurm:$PATH" bash fixtures/ci/slurm_waves.sh';
  const output = assertEnded(await workspace.run(script, { OPENAI_API_KEY: "" }), 0);
  assertStringIncludes(output, "CONTINUE: ");
  assertStringIncludes(output, "PASS: ");
  const [, waves] = /WAVES=(\d+)/.exec(
    Deno.readTextFileSync(`${ROOT}/fixtures/ci/slurm_waves.sh`),
  )!;
  assertWaves(workspace.files("results/*.jsonl"), Number(waves), 3);
}

function assertEnded({ code, output }: EndedJob, expected: number): string {
  assertEquals(code, expected, output);
  return output;
}
