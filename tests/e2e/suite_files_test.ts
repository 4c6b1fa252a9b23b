// A suite in several test files, as users run it: `deno test` on a folder of its own, then the commands over it.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, folder, readLines, ROOT } from "../support/child.ts";
import { linesOf } from "../support/journals.ts";
import { toolgate } from "../support/command_line.ts";

const SUITE = `import { scripted, tool, toolSuite } from "@toolgate/toolgate";
import { z } from "zod";

const refund = tool({
  name: "refund",
  description: "Refunds an order",
  parameters: z.object({ order: z.string() }),
  returns: { refunded: true },
});

export const test = toolSuite("Support desk", {
  model: scripted("clerk", [{ calls: [{ name: "refund", arguments: { order: "A7" } }] }, { text: "Done" }]),
  tools: [refund],
  trials: 10,
  gate: Deno.env.get("BASELINE") !== undefined
    ? { baseline: { file: "../" + Deno.env.get("BASELINE") }, margin: 0.4, discordance: 0.5 }
    : Deno.env.get("RECORDED") !== undefined
    ? { successRate: 0.7, baseline: { file: "../" + Deno.env.get("RECORDED"), missing: "record" } }
    : { successRate: 0.7 },
  ...(Deno.env.get("ALONE") === undefined ? { journal: "results/" } : {}),
});
`;

/** A test file, which imports the suite from this many folders above. */
function testFile(up: string, names: readonly string[], more = ""): string {
  return `import { assertCalled } from "@toolgate/toolgate";
import { test } from "${up}suite.ts";

for (const name of ${JSON.stringify(names)}) {
  test(name, {
    prompt: \`Please \${name} order A7.\`,
    assert: (run) => assertCalled(run, { tool: "refund", arguments: { order: "A7" } }),
    ${more}
  });
}
`;
}

Deno.test("toolSuite() in several test files keeps a journal for each, over which commands decide as over one run", async (context) => {
  await using place = await folder();
  const cwd = place.path;
  for (const path of ["tests", "tests/more", "own"]) Deno.mkdirSync(place.file(path));
  place.write("tests/suite.ts", SUITE);
  place.write("tests/a_test.ts", testFile("./", ["refund", "pay back"], "limits: { calls: 5 },"));
  place.write("tests/more/a_test.ts", testFile("../", ["undo"]));
  const run = (
    own: readonly string[],
    env: Readonly<Record<string, string>> = {},
    flags: readonly string[] = [],
  ) =>
    deno([
      ...["test", "-A", "--no-check", "--no-prompt", ...flags, `--config=${ROOT}/deno.json`],
      ...["tests", "--", ...own],
    ], { cwd, env });
  const journals = ["tests.a_test", "tests.more.a_test"]
    .map((name) => `results/support_desk.${name}.jsonl`);

  await context.step("each file decides over its own tests, and says so", async () => {
    const ran = await run(["--verdict=results/", "--report=results/"], {}, ["--parallel"]);
    assertEquals(ran.code, 0, ran.all);
    const names = [...Deno.readDirSync(place.file("results"))].map(({ name }) => name).sort();
    assertEquals(
      names,
      journals.flatMap((path) =>
        ["html", "json", "jsonl"].map((ending) =>
          path.replace(/^results\//, "").replace(/jsonl$/, ending)
        )
      ),
    );
    for (const [place1, tests] of [["a_test", "2 tests"], ["more/a_test", "1 test"]] as const) {
      const scope =
        `speaks for ${tests} of tests/${place1}.ts alone; over all files of the suite decides: `;
      assertStringIncludes(ran.stdout.replaceAll(/\n +/g, " "), scope);
      const file = `support_desk.tests.${place1.replace("/", ".")}.json`;
      const [verdict] = JSON.parse(Deno.readTextFileSync(place.file(`results/${file}`))).verdicts;
      assertMatch(verdict.numbers.at(-1), new RegExp(`^${scope}.* gate results/?$`));
    }
  });
  await context.step("accept is of all tests", async () => {
    const accepted = await toolgate(["accept", "results/", "--out", "base.json"], { cwd });
    assertMatch(accepted.stderr, /^Accepted 30 trials of 1 model in base\.json$/m);
  });
  await context.step("--resume runs what one of the files lacks", async () => {
    const before = journals.map((path) => readLines(place.file(path)));
    const [, whole] = before;
    Deno.writeTextFileSync(
      place.file(journals[1]!),
      linesOf(whole!.slice(0, 5)),
    );
    const short = await toolgate(["gate", "results/"], { cwd });
    assertEquals(short.code, 3, short.all);
    assertMatch(short.stderr, /more\.a_test\.jsonl lacks 6 of its 10 trials/);
    const resumed = await run(["--resume"]);
    assertEquals(resumed.code, 0, resumed.all);
    assertEquals(journals.map((path) => readLines(place.file(path)).length), [21, 11]);
    assertEquals(readLines(place.file(journals[0]!)), before[0]);
    assertEquals((await toolgate(["gate", "results/"], { cwd })).code, 0);
  });
  await context.step(
    "a baseline of all tests is one for each file, and for all of them",
    async () => {
      Deno.renameSync(place.file("results"), place.file("before"));
      const compared = await run([], { BASELINE: "base.json" });
      assertEquals(compared.code, 0, compared.all);
      assertEquals(/only in the baseline/.test(compared.all), false, compared.all);
      const gate = await toolgate(["gate", "results/"], { cwd });
      assertEquals(gate.code, 0, gate.all);
      assertEquals(/only in the baseline/.test(gate.all), false, gate.all);
      // A file that was not run at all.
      Deno.removeSync(place.file(journals[1]!));
      const fewer = await toolgate(["gate", "results/"], { cwd });
      assertStringIncludes(fewer.stdout.replaceAll(/\n +/g, " "), "only in the baseline: undo");
      // What it would have shown nobody knows.
      assertEquals(fewer.code, 3, fewer.all);
      assertMatch(
        fewer.stdout.replaceAll(/\n +/g, " "),
        /INVALID: 2 of the 3 cases of the baseline can be compared, .* requires \(only in it: undo\); run those/,
      );
    },
  );
  await context.step("the first baseline is written by all files together", async () => {
    Deno.removeSync(place.file("results"), { recursive: true });
    const first = await run([], { RECORDED: "first.json" });
    assertEquals(first.code, 0, first.all);
    assertEquals(place.names().includes("first.json"), false);
    const gate = await toolgate(["gate", "results/"], { cwd });
    assertEquals(gate.code, 0, gate.all);
    assertEquals(
      JSON.parse(Deno.readTextFileSync(place.file("first.json"))).resolved.cells.length,
      3,
    );
  });
  await context.step("without a folder no file takes its tests for all of them", async () => {
    const alone = await run([], { RECORDED: "alone.json", ALONE: "1" });
    assertEquals(alone.code, 0, alone.all);
    assertMatch(
      alone.stdout,
      /a run that passes is written there by .* gate results\/, if you add {2}-- --out=results\/ {2}as other files may have tests of this suite$/m,
    );
    assertEquals(place.names().includes("alone.json"), false);
    // A suite that a function of a module makes in the test file itself has all of its tests there.
    place.write("own/suite.ts", SUITE.replace("const test = ", "const make = () => "));
    place.write(
      "own/b_test.ts",
      testFile("./", ["undo"]).replace("{ test }", "{ make }").replace(
        "for ",
        "const test = make();\nfor ",
      ),
    );
    const own = await deno([
      ...["test", "-A", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, "own"],
    ], { cwd, env: { RECORDED: "own.json", ALONE: "1" } });
    assertEquals(own.code, 0, own.all);
    assertEquals(place.names().includes("own.json"), true, own.all);
  });
});
