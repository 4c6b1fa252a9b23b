// The progress of `run` as it looks on a terminal, and where there is none.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { shortNames } from "../../lib/reports/_short_names.ts";
import { countingServer, folder, LAUNCH, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { hasScript, onTerminal } from "../support/terminal.ts";

const HIDE = "\x1b[?25l";
const SHOW = "\x1b[?25h";

const script = await hasScript();

/** The lines that were drawn, one over the other. */
function drawnIn(text: string): string[] {
  return text.split(/\p{Cc}\[/u).flatMap((part) => /\[[=-]+\] [^\r\n]*/.exec(part) ?? []);
}

function suiteOf(graphs: number, models = ["m"]): string {
  const tasks = [{ core: [3, 4], depth: 2, connected: 1 }];
  return JSON.stringify({ name: "small", seed: 1, graphs, tasks, models });
}

Deno.test("toolgate run draws a bar on a terminal, and tables after it", {
  ignore: !script,
}, async () => {
  await using temporary = await folder();
  await using server = countingServer("sim:planner", 20);
  const suite = temporary.write("suite.jsonc", suiteOf(20));
  const { code, stdout, all } = await onTerminal(
    [Deno.execPath(), ...LAUNCH, "run", suite, "--base-url", server.url],
    { columns: 80 },
  ).finished;
  assertEquals(code, 0, all);
  const drawn = drawnIn(stdout);
  assertMatch(drawn[0]!, /^\[-{10}\] 0% 0\/40 /);
  assertMatch(drawn.at(-1)!, /^\[={10}\] 100% 40\/40 {2}40 solved \(100\.0%\) {2}0 invalid/);
  assert(drawn.some((line) => / \d+ s left /.test(line)), all);
  assert(drawn.every((line) => line.length < 80), "a line would wrap");
  assertStringIncludes(stdout, HIDE);
  assert(stdout.lastIndexOf(SHOW) > stdout.lastIndexOf(drawn.at(-1)!), "the cursor stays hidden");
  assert(stdout.indexOf("fewest") > stdout.lastIndexOf(SHOW), "the tables come after it");
  const shown = drawn.map((line) => Number(/ (\d+)\/40 /.exec(line)![1]));
  assertEquals(shown, shown.toSorted((one, other) => one - other));
  assert(new Set(shown).size > 4, `it hardly moved: ${shown}`);
});

Deno.test("toolgate run gives the cursor back when it is interrupted", {
  ignore: !script,
}, async () => {
  await using temporary = await folder();
  await using server = countingServer("sim:planner", 30);
  const suite = temporary.write("suite.jsonc", suiteOf(20));
  const out = temporary.file("out.jsonl");
  const pidFile = temporary.file("pid");
  const run = [...LAUNCH, "run", suite, "--base-url", server.url, "--out", out];
  const child = onTerminal([Deno.execPath(), ...run], { columns: 80, pidFile });
  await server.reached(40);
  Deno.kill(Number(Deno.readTextFileSync(pidFile)), "SIGINT");
  const { code, stdout, all } = await child.finished;
  assertEquals(code, 3, all);
  assertStringIncludes(stdout, HIDE);
  const last = drawnIn(stdout).at(-1)!;
  assert(stdout.lastIndexOf(SHOW) > stdout.lastIndexOf(last), "the cursor stays hidden");
  const done = Number(/ (\d+)\/40 /.exec(last)![1]);
  assert(done > 0 && done < 40, all);
  assertStringIncludes(stdout, `${40 - done} trials were not run`);
});

Deno.test("tables and verdicts fit the terminal, for commands and under deno test", {
  ignore: !script,
}, async () => {
  await using temporary = await folder();
  const model = "sim:noisy?early=0.01&stale=0.015&distract=0.05";
  const { shorten } = shortNames([model], 80);
  const short = shorten(model);
  const suite = temporary.write("suite.jsonc", suiteOf(4, [model, "sim:planner"]));
  const test = temporary.write(
    "bench_test.ts",
    `import { benchmark, grid } from "file://${ROOT}/mod.ts";
benchmark("own", {
  model: "${model}",
  tasks: grid({ core: [3, 4], depth: 2, connected: [0, 5] }),
  seed: 1,
  graphs: 20,
  gate: { successRate: 0.5, margin: 0.1 },
});
`,
  );
  const tested = ["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, "-A", test];
  const shown = async (columns: number, arguments_: readonly string[]) => {
    const { stdout } = await onTerminal([Deno.execPath(), ...arguments_], { columns }).finished;
    // What was drawn over is gone.
    // deno-lint-ignore no-control-regex
    return stdout.replaceAll("\r\n", "\n").replace(/\x1b\[[\d;?]*[a-zA-Z]/g, "\r").split("\n")
      .map((line) => line.replace(/^.*\r/, ""));
  };
  const [narrow, run, piped] = await Promise.all([
    shown(80, tested),
    shown(80, [...LAUNCH, "run", suite]),
    toolgate(["run", suite]),
  ]);
  for (const lines of [narrow, run]) {
    const start = lines.findIndex((line) => line.startsWith(`${short} stands for`));
    assert(start >= 0, lines.join("\n"));
    const end = lines.findIndex((line) => /^-+ output end -+$/.test(line));
    const told = lines.slice(start, end < start ? undefined : end);
    assert(told.every((line) => line.length <= 80), told.join("\n"));
    assert(told.length > 12 && told.length < 90, told.join("\n"));
    assertEquals(told.filter((line) => /^cell +/.test(line)).length, 1, "no table goes on below");
  }
  const verdict = narrow.findIndex((line) => line.startsWith(`${short} (simulated): PASS: `));
  assert(verdict > 0, narrow.join("\n"));
  // A pipe may be read by a program, which breaks no lines.
  assertEquals(piped.code, 0, piped.all);
  assertStringIncludes(piped.stdout, `${model} (simulated)`);
  assertEquals(piped.stdout.includes("stands for"), false);
});
