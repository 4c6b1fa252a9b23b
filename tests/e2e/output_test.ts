// What users see: of `deno test` in a project of their own, in a pipe and in terminals of 80 and 120 columns; of the
// bench task; and on GitHub.

import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { countingServer, deno, type Folder, folder, ROOT, start } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { blocksOf } from "../support/documents.ts";
import { hasScript, onTerminal } from "../support/terminal.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);
const script = await hasScript();

/** `deno test` in a folder, as the words of a command line. */
function testing(place: Folder, own: readonly string[] = [], file = "file_test.ts"): string[] {
  return [
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", `--allow-read=${place.path}`, `--allow-write=${place.path}`],
    "--allow-env=GITHUB_ACTIONS,GITHUB_WORKSPACE,GITHUB_STEP_SUMMARY",
    ...[file, "--", ...own],
  ];
}

/** Writes a test file; line 1 has its imports. */
function write(place: Folder, text: string, name = "file_test.ts"): void {
  const imports = "benchmark, scripted, tool, toolTest, assertCalled";
  place.write(
    name,
    `import { ${imports} } from ${MOD}; void [benchmark, scripted, tool, toolTest, assertCalled];\n${text}`,
  );
}

/** The variables of a job on GitHub whose repository holds the folder. */
function onGitHub(place: Folder): Record<string, string> {
  return {
    GITHUB_ACTIONS: "true",
    GITHUB_WORKSPACE: place.path.replace(/\/[^/]*$/, ""),
    GITHUB_STEP_SUMMARY: place.file("summary.md"),
  };
}

interface Annotation {
  readonly command: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly message: string;
}

/** The commands to GitHub's runner in a log, read as the runner reads them. */
function annotationsIn(log: string): Annotation[] {
  const plain = (text: string) =>
    text.replaceAll("%0A", "\n").replaceAll("%0D", "\r").replaceAll("%3A", ":")
      .replaceAll("%2C", ",").replaceAll("%25", "%");
  return log.split("\n").flatMap((line) => {
    const found = /^\s*::([^ :]+)(?: (.*?))?::(.*)$/.exec(line);
    if (found === null) return [];
    const [, command, properties = "", message] = found;
    return [{
      command: command!,
      properties: Object.fromEntries(
        properties.split(",").filter((one) => one !== "").map((one) => {
          const [name, ...value] = one.split("=");
          return [name!, plain(value.join("="))];
        }),
      ),
      message: plain(message!),
    }];
  });
}

/** What a test printed while it ran. */
function blocksIn(log: string): string[] {
  return [...log.matchAll(/^-+ output -+\n([^]*?)^-+ output end -+$/gm)].map(([, text]) => text!);
}

const GATED = `benchmark("gated", {
  model: "sim:noisy?quit=0.3&stale=0.3",
  tasks: { core: [3, 5], depth: 2 },
  seed: 1,
  graphs: 10,
  gate: { successRate: 0.9, margin: 0.3 },
});
`;

Deno.test("deno test tells failures of a gate's cases once and few, and reports in each format", async () => {
  await using place = await folder();
  write(place, GATED);
  const reports = ["r.md", "r.txt"];
  const own = reports.map((name) => `--report=${name}`);
  const finished = await start(Deno.execPath(), testing(place, own), {
    cwd: place.path,
    env: onGitHub(place),
  }).finished;
  const { code, stdout, all } = finished;
  assertEquals(code, 1, all);

  // A case says on one line how it ended, and prints nothing else.
  const steps = stdout.match(/^ {2}not solved: .* \.\.\. ignored /gm) ?? [];
  assert(steps.length > 12 && steps.length < 20, all);
  for (const step of steps) {
    assertMatch(
      step,
      /not solved: (no|wrong)_answer after \d calls?, (first mistake: call \d func_\w+ \w+|said ".*") \.\.\./,
    );
    assertLess(step.length, 130);
  }
  // On a busy machine the run shows how it stands.
  const blocks = blocksIn(stdout).filter((text) => !text.startsWith("gated: "));
  assertEquals(blocks.length, 1, all);

  // Only the gate's test reports them: ten, how many more, the table, the verdict.
  const [block] = blocks;
  assertEquals(
    block!.match(/^ {4}rerun: deno test -A --no-check file_test\.ts -- --only='core=/gm)?.length,
    10,
  );
  const order = [
    `${steps.length} trials not solved\n  `,
    `  and ${steps.length - 10} more: add -- --report=F.html to see all\n`,
    "\nall  ",
    ": FAIL: the true success rate is below 90.0%",
  ].map((text) => block!.indexOf(text));
  assertEquals(order, order.toSorted((one, other) => one - other), all);
  assert(order[0]! >= 0, all);

  const text = Deno.readTextFileSync(place.file("r.txt"));
  assertStringIncludes(text, "gated: 20 of 20 planned trials, seed 1, with simulated models\n");
  assertStringIncludes(text, block!.slice(order[0], order[1]));
  assertMatch(text, /: FAIL: [^]*Clopper-Pearson\)\n$/);
  const markdown = Deno.readTextFileSync(place.file("r.md"));
  assertMatch(
    markdown,
    /^# gated\n\n20 of 20 .*\n\n### gated: fail\n\n#### .*\n\n\*\*FAIL\*\*: [^]*\n\n## Notes\n\n[^#]*\n\n## Success\n\n[^#]*\n\n## Success by cell: .*\n\n[^#]*\n\n## \d+ trials not solved\n[^]*\n## Effort\n/,
  );

  const [annotation, ...others] = annotationsIn(stdout);
  assertEquals(others, []);
  const { command, properties, message } = annotation!;
  const inWorkspace = `${place.path.split("/").at(-1)}/file_test.ts`;
  assertEquals([command, properties], [
    "error",
    { file: inWorkspace, line: "2", title: "gated > gate" },
  ]);
  assertMatch(message, /: FAIL: .*\n {2}solved: \d of 20 valid trials /);
  assertMatch(Deno.readTextFileSync(place.file("summary.md")), /^### gated: fail\n/);
});

/** A model that writes what no runner of CI may carry out. */
const HOSTILE = `
const weather = tool({ name: "weather", description: "Weather", parameters: { type: "object" }, returns: 1 });
const test = (name, text, city) => toolTest(name, {
  model: scripted("script", [{ calls: [{ name: "weather", arguments: { city: "Rome" } }] }, { text }]),
  tools: [weather],
  prompt: "Umbrella?",
  // With it the test is registered where it stands, before others.
  budget: { tokens: 1_000_000 },
  assert(run) {
    if (city !== undefined) assertCalled(run, { tool: "weather", arguments: { city } });
  },
});
test("one", "yes");
test("100%, a::b", "\\n::error::broken\\n##[error]broken\\n::add-mask::e", "Oslo\\n::stop-commands::x");
`;

Deno.test("deno test annotates ten failed tests of a file of any name, counts the others, and sums up without a gate", async () => {
  await using place = await folder();
  const name = "a %41 (1)_test.ts";
  write(
    place,
    `${HOSTILE}
const bench = (name, graphs) =>
  benchmark(name, { model: "sim:noisy?quit=1", tasks: { core: [3], depth: 2 }, seed: 1, graphs });
bench("plain", 14);
bench("wrong", -1);
`,
    name,
  );
  const { code, stdout, all } = await start(Deno.execPath(), testing(place, [], name), {
    cwd: place.path,
    env: onGitHub(place),
  }).finished;
  assertEquals(code, 1, all);
  const annotations = annotationsIn(stdout);
  assertEquals(
    annotations.map(({ command }) => command),
    [...Array(10).fill("error"), "notice"],
    all,
  );
  assertEquals(annotations.at(-1)!.message, "and 6 more failures");
  // The file has any name.
  const file = `${place.path.split("/").at(-1)}/${name}`;
  const [hostile, plain] = annotations;
  // The place of the assertion, and of the benchmark.
  assertEquals(hostile!.properties, { file, line: "11", title: "100%, a::b" });
  assertEquals([plain!.properties["file"], plain!.properties["line"]], [file, "18"]);
  assertMatch(
    plain!.properties["title"]!,
    /^plain > core 3, depth 2, .*, graph 1, sim:noisy\?quit=1$/,
  );
  assertStringIncludes(hostile!.message, "No call was as expected: weather(");
  assertStringIncludes(
    hostile!.message,
    "rerun: deno test -A --no-check 'a %41 (1)_test.ts' -- --only='case=",
  );
  assertEquals(/^\s*(##\[|::)/m.test(hostile!.message), false, hostile!.message);

  // Each story is printed once, by Deno; then there is the table.
  const stories = stdout.replace(/^::.*$/gm, "");
  assertEquals(stories.match(/^rerun: /gm)?.length, 15, all);
  assertMatch(stories, /\n-+ post-test output -+\n[^]*\nplain\n[^]*\ncore 3, .* +14 +0\.0% /);

  const summary = Deno.readTextFileSync(place.file("summary.md"));
  assertMatch(summary, /^### a %41 \(1\)\\_test\.ts: 1 of 2 valid trials passed$/m);
  assertMatch(summary, /^#### 1 trial failed$/m);
  assertMatch(summary, /^\| one \| 1 of 1 \|/m);
  assertMatch(summary, /^### plain: 0 of 14 valid trials solved$/m);
  assertMatch(summary, /^#### 14 trials not solved$/m);
  assertEquals(summary.match(/<code>rerun: /g)?.length, 11, summary);
  assertStringIncludes(summary, "- and 4 more\n");
});

/** Lines of Deno itself, with colors taken off. */
function rowsOf(text: string, width: number): number {
  // deno-lint-ignore no-control-regex
  const plain = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replaceAll("\r", "").trimEnd();
  return plain.split("\n").map((line) => Math.max(1, Math.ceil(line.length / width)))
    .reduce((sum, rows) => sum + rows, 0);
}

const FIVE = `
const weather = tool({ name: "weather", description: "Weather", parameters: { type: "object" }, returns: 1 });
for (const name of ["1", "2", "3", "4", "5"]) toolTest(name, {
  model: scripted("script", [{ calls: [{ name: "weather", arguments: {} }] }, { text: "No." }]),
  tools: [weather],
  prompt: "Umbrella?",
  assert(run) { assertCalled(run, { tool: "weather" }); },
});
`;

Deno.test("deno test of five tests that pass says nothing beside what Deno says", {
  ignore: !script,
}, async () => {
  await using place = await folder();
  write(place, FIVE);
  const { code, stdout, all } = await onTerminal([Deno.execPath(), ...testing(place)], {
    columns: 80,
    cwd: place.path,
  }).finished;
  assertEquals(code, 0, all);
  // The file, its five tests, and the last line between empty ones.
  assertEquals(rowsOf(stdout, 80), 8, all);
});

/** Seconds pass a hundred times as fast for anyone who waits more than one of them. */
const HASTE = `const wait = globalThis.setTimeout;
globalThis.setTimeout = (f, ms, ...more) => wait(f, ms > 1000 ? ms / 100 : ms, ...more);
`;

Deno.test(
  "deno test tells after 2 seconds, and then every 10, how a run stands, in a pipe and as wide as a terminal",
  {
    ignore: !script,
  },
  async () => {
    await using place = await folder();
    await using server = countingServer("sim:planner", 60);
    write(
      place,
      `${HASTE}benchmark("slow", {
  model: { model: "mine", baseURL: ${JSON.stringify(server.url)} },
  tasks: { core: 3, depth: 2 },
  seed: 1,
  graphs: 10,
  concurrency: 2,
  gate: { successRate: 0.3 },
});
`,
    );
    const line =
      /^slow: (\d+)\/10 trials, \1 solved(?: \(100\.0%, 95% interval .*?\), (\d+ s left))?, 0 invalid, /gm;
    const piped = await start(Deno.execPath(), testing(place), { cwd: place.path }).finished;
    const told = [...piped.stdout.matchAll(line)].map(([, done]) => Number(done));
    assert(told.length > 2, piped.all);
    assertEquals(told, told.toSorted((one, other) => one - other));
    const { stdout, all } = await onTerminal([Deno.execPath(), ...testing(place)], {
      columns: 80,
      cwd: place.path,
    }).finished;
    const bars = stdout.match(/^\[[=-]+\] \d+% \d+\/10 .*$/gm) ?? [];
    assert(bars.length > 2, all);
    for (const bar of bars) assertLess(bar.length, 80);
    assertMatch(bars.at(-1)!, / \d+ solved \(100\.0%\) {2}\d+ s left/);
  },
);

/** A project with the bench task of this one. */
async function benchProject() {
  const place = await folder();
  const { tasks, imports } = JSON.parse(Deno.readTextFileSync(`${ROOT}/deno.json`));
  const [bench, test] = blocksOf("README.md", "sh")
    .find((text) => text.startsWith("npx"))!.trim().split("\n");
  assertEquals(bench, "npx --yes deno@2.9.6 task bench");
  assertEquals(test, "npx --yes deno@2.9.6 task test");
  assert("test" in tasks);
  // It ends as its test does, whatever comes behind it.
  assertMatch(tasks.bench.command, /^set -o pipefail; deno test /);
  const here = (path: string) => path.startsWith("./") ? `file://${ROOT}/${path.slice(2)}` : path;
  const mapped = Object.entries<string>(imports).map(([name, path]) => [name, here(path)] as const);
  place.write(
    "deno.json",
    JSON.stringify({
      tasks: {
        bench: tasks.bench.command.replace("deno test", "deno test --no-lock")
          .replace("lib/cli", `${ROOT}/lib/cli`),
      },
      imports: { ...Object.fromEntries(mapped), "@toolgate/toolgate": `file://${ROOT}/mod.ts` },
    }),
  );
  Deno.mkdirSync(place.file("fixtures/benchmarks"), { recursive: true });
  const source = Deno.readTextFileSync(`${ROOT}/fixtures/benchmarks/quick.ts`);
  // Other seeds may have other kinds of failures, and a line more.
  place.write("fixtures/benchmarks/quick.ts", source.replace('seed: "fresh"', "seed: 7"));
  return place;
}

Deno.test("the bench task shows what README shows, in at most 60 rows of 80 columns", async () => {
  await using place = await benchProject();
  // A simulated model is asked over no network: no proxy is in its way.
  const env = { HTTP_PROXY: "http://127.0.0.1:9" };
  const { code, stdout, stderr, all } = await deno(["task", "bench"], { cwd: place.path, env });
  assertEquals(code, 0, all);
  assertMatch(stdout, /^ok \| 253 passed \| 0 failed/m);
  assertMatch(stdout, /^quick: report: results\/quick\.html$/m);
  assertEquals(stdout.match(/^ {4}rerun: deno test -A --no-check fixtures/gm)?.length, 1, all);
  assertMatch(stdout, /^ {2}and \d+ more: see results\/quick\.html/m);
  assertMatch(stdout, /: PASS: the true success rate is at least 60\.0%/);
  // Numbers differ from run to run; everything else of README's example stands in the output.
  const shape = (text: string) => text.replace(/[\d.%]+|-(?= )/g, "#").replace(/ +/g, " ");
  const shown = blocksOf("README.md", "text").find((text) => text.includes("trials not solved"))!;
  for (const line of shape(shown).split("\n").filter((line) => /[a-z]/.test(line))) {
    assertStringIncludes(shape(stdout), line);
  }
  const rows = rowsOf(stderr.replaceAll(/^Download .*\n/gm, "") + stdout, 80);
  assert(rows > 20 && rows <= 60, `${rows} rows\n${all}`);
});

Deno.test("toolgate run tells failures before its tables and sums up, and a failed gate is annotated", async () => {
  await using place = await folder();
  const suite = place.write(
    "suite.jsonc",
    JSON.stringify({
      ...{ name: "100% safe", seed: 1, graphs: 7, tasks: [{ core: [3, 4], depth: 2 }] },
      ...{ models: ["sim:noisy?quit=1"], gate: { successRate: 0.9 } },
    }),
  );
  const out = place.file("out.jsonl");
  const env = onGitHub(place);
  const ran = await toolgate(["run", suite, "--out", out], { env });
  assertEquals(ran.code, 0, ran.all);
  assertMatch(
    ran.stdout,
    /^14 trials not solved\n {2}no_answer [^]*\n {2}and 4 more: in .*out\.jsonl\n\n\(simulated: .*\)\nSuccess by cell: sim:noisy/,
  );
  assertEquals(
    ran.stdout.match(/^ {4}rerun: .* run .*out\.jsonl --only '?core=/gm)?.length,
    10,
    ran.all,
  );
  const summary = Deno.readTextFileSync(env["GITHUB_STEP_SUMMARY"]!);
  assertMatch(
    summary,
    /^### 100% safe: 0 of 14 valid trials solved\n[^]*\n#### 14 trials not solved\n/,
  );
  for (const json of [[], ["--json"]]) {
    const decided = await toolgate(["gate", out, ...json], { env });
    assertEquals(decided.code, 1, decided.all);
    assertEquals(annotationsIn(decided.stdout), []);
    const [{ properties, message }] = annotationsIn(decided.stderr) as [Annotation];
    const file = `${place.path.split("/").at(-1)}/out.jsonl`;
    assertEquals(properties, { file, title: "100% safe: FAIL" });
    assertMatch(message, /: FAIL: the true success rate is below 90\.0%/);
  }
  const elsewhere = await toolgate(["gate", out]);
  assertEquals(annotationsIn(elsewhere.stderr), []);
});
