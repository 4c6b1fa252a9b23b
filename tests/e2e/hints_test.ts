// What toolgate advises users to do next, in projects of their own outside of the clone: hints name a command that
// works there, and slips are answered by what is probably meant.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno, type Folder, folder, ROOT, shell } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

const VERSION = JSON.parse(Deno.readTextFileSync(`${ROOT}/deno.json`)).version;
/** What a project says of toolgate, as the README has it. */
const IMPORTS = {
  links: [ROOT],
  imports: { "@toolgate/toolgate": `jsr:@toolgate/toolgate@^${VERSION}` },
};
const TASKS = { toolgate: "deno run -A @toolgate/toolgate/cli" };

const BENCHMARK = (mod: string) => `
import { benchmark } from ${JSON.stringify(mod)};
benchmark("mine", {
  model: "sim:planner",
  tasks: { core: 3, depth: 2 },
  seed: 1,
  graphs: 2,
  gate: { baseline: { file: "base line.json" }, margin: 0.15 },
});
`;
const SUITE = JSON.stringify({
  ...{ name: "s", seed: 1, graphs: 2, tasks: [{ core: 3, depth: 2 }], models: ["sim:planner"] },
  gate: { successRate: 0.5, margin: 0.4 },
});

/** The rest of the line of a text that begins so. */
function afterIn(text: string, start: string): string {
  const at = text.indexOf(start);
  assert(at >= 0, `${start} is not in ${text}`);
  // A command too long for its line stands on the next one.
  return text.slice(at + start.length).replace(/^ *(\n +)?/, "").split("\n")[0]!;
}

interface Project {
  readonly settings: Readonly<Record<string, unknown>> | undefined;
  /** How its files import toolgate. */
  readonly mod: string;
  /** How commands are started there. */
  readonly start: string;
}

const PROJECTS: Readonly<Record<string, Project>> = {
  "a task": {
    settings: { ...IMPORTS, tasks: TASKS },
    mod: "@toolgate/toolgate",
    start: "deno task toolgate",
  },
  "only the import map": {
    settings: IMPORTS,
    mod: "@toolgate/toolgate",
    start: "deno run -A @toolgate/toolgate/cli",
  },
  "neither": {
    settings: undefined,
    mod: `${ROOT}/mod.ts`,
    start: `deno run -A ${ROOT}/lib/cli/main.ts`,
  },
};

/** A project so deep that no path of the clone is short. */
async function projectOf({ settings, mod }: Project): Promise<Folder & { readonly at: string }> {
  const place = await folder();
  const at = place.file("my/own/project");
  Deno.mkdirSync(`${at}/sub`, { recursive: true });
  const files = { "mine_test.ts": BENCHMARK(mod), "sub/suite.jsonc": SUITE };
  for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(`${at}/${name}`, text);
  if (settings !== undefined) {
    Deno.writeTextFileSync(`${at}/deno.json`, JSON.stringify(settings));
  }
  return { ...place, at };
}

for (const [title, project] of Object.entries(PROJECTS)) {
  Deno.test(`hints name a command that works in a project with ${title}`, async () => {
    await using place = await projectOf(project);
    const { start } = project;
    const sub = `${place.at}/sub`;
    // A suite from a folder of the project, and the lines that its run prints.
    const run = await shell(`${start} run suite.jsonc --out 'my run.jsonl'`, { cwd: sub });
    assertEquals(run.code, 0, run.all);
    const decide = afterIn(run.stderr, "To decide: ");
    assertEquals(decide, `${start} gate 'my run.jsonl'`);
    assertEquals(afterIn(run.stderr, "To view a report: ").slice(0, start.length), start);
    const gate = await shell(decide, { cwd: sub });
    assertEquals(gate.code, 0, gate.all);
    assertStringIncludes(gate.stdout, "PASS");
    if (title !== "a task") return;
    // Tests in the project's folder: how its first baseline is made.
    const test = await deno(
      ["test", "-A", "--no-check", "mine_test.ts", "--", "--out=results.jsonl"],
      { cwd: place.at },
    );
    assertEquals(test.code, 1, test.all);
    // It is not this run that is to be accepted.
    const line = `${start} accept old.jsonl --out 'base line.json'`;
    assertStringIncludes(
      test.all,
      `there is no baseline ${place.at}/base line.json: keep a run of what is in use now with --out=old.jsonl, and ` +
        `make it the baseline with ${line}\n`,
    );
    Deno.copyFileSync(`${place.at}/results.jsonl`, `${place.at}/old.jsonl`);
    const undecided = await shell(`${start} gate results.jsonl`, { cwd: place.at });
    assertEquals(undecided.code, 2, undecided.all);
    assertStringIncludes(undecided.stderr, "Cannot decide over results.jsonl as there is no");
    assertStringIncludes(undecided.stderr, `make it the baseline with ${line}`);
    const [accepted, wrong] = await Promise.all([
      shell(line, { cwd: place.at }),
      shell(`${start} gatee`, { cwd: sub }),
    ]);
    assertEquals(accepted.code, 0, accepted.all);
    assertEquals(Deno.statSync(`${place.at}/base line.json`).isFile, true);
    assertEquals(wrong.code, 2, wrong.all);
    const see = `there is no command gatee; did you mean gate? (see ${start} --help)`;
    assertStringIncludes(wrong.stderr, see);
  });
}

Deno.test("hints have the paths of where the user stands, also where a task leaves that folder", async () => {
  await using place = await projectOf(PROJECTS["a task"]!);
  const bench = "deno test -A --no-check mine_test.ts -- --out=results.jsonl";
  const settings = { ...IMPORTS, tasks: { ...TASKS, bench } };
  Deno.writeTextFileSync(`${place.at}/deno.json`, JSON.stringify(settings));
  const test = await deno(["task", "bench"], { cwd: `${place.at}/sub` });
  const accept = /make it the baseline with (.*[^.])\.?$/m.exec(test.all)?.[1];
  assertEquals(accept, "deno task toolgate accept old.jsonl --out '../base line.json'");
});

Deno.test("a test that may read nothing names the package, and asks nobody", async () => {
  await using place = await projectOf(PROJECTS["a task"]!);
  const file = BENCHMARK("@toolgate/toolgate")
    .replace(/baseline: [^}]*}/, "successRate: 0.5").replace("mine", "shared");
  Deno.writeTextFileSync(`${place.at}/shard_test.ts`, file);
  const test = await deno(
    [
      ...["test", "--no-check", "--allow-net=127.0.0.1", "--allow-write=.", "--allow-read=a.jsonl"],
      ...["shard_test.ts", "--", "--shard=1/2", "--out=a.jsonl"],
    ],
    { cwd: place.at },
  );
  assertEquals(test.code, 0, test.all);
  assertStringIncludes(test.all, "decides: deno run -A @toolgate/toolgate/cli gate\n");
});

Deno.test("toolgate tells its version, and helps in every way that users try", async () => {
  for (const word of ["--version", "-V"]) {
    const { code, stdout, all } = await toolgate([word]);
    assertEquals([code, stdout], [0, `toolgate ${VERSION}\n`], all);
  }
  const usual = await toolgate(["gate", "--help"]);
  assertStringIncludes(
    usual.stdout,
    "Usage: deno task toolgate gate F.jsonl|FOLDER [OPTIONS]\n",
  );
  assertStringIncludes(usual.stdout, "--coverage");
  assertEquals((await toolgate([])).code, 2);
  for (const line of [["help", "gate"], ["gate", "-h"], ["--help", "gate"]]) {
    const { code, stdout, all } = await toolgate(line);
    assertEquals([code, stdout], [0, usual.stdout], all);
  }
  const all = await toolgate(["--help"]);
  assertStringIncludes(all.stdout, "Usage: deno task toolgate COMMAND [OPTIONS]\n");
  for (const line of [["-h"], ["help"], ["help", "help"]]) {
    assertEquals((await toolgate(line)).stdout, all.stdout);
  }
});
