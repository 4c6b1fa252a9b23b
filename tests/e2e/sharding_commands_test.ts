// Shards as users run them: processes side by side, and what is told of those that are not as they should be.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, type Finished, type Folder, folder, readLines, ROOT } from "../support/child.ts";
import { linesOf } from "../support/journals.ts";
import { toolgate, toolgates } from "../support/command_line.ts";

const SHARDS = [1, 2, 3];

/** A model that is now right and now wrong, on tasks that cost more and less. */
const SUITE = JSON.stringify({
  name: "sharded",
  seed: 1,
  graphs: 7,
  tasks: [{ core: [1, 4], depth: [0, 2] }],
  models: ["sim:noisy?quit=0.2", "sim:planner"],
  strategies: ["plain", "restate"],
  gate: { successRate: 0.6, margin: 0.3 },
});

/** Runs a suite in shards, side by side; each may have options of its own. */
async function runShards(
  place: Folder,
  suite: string,
  own: Readonly<Record<number, readonly string[]>> = {},
): Promise<{ journals: string[]; ended: Finished[] }> {
  const journals = SHARDS.map((index) => place.file(`shards/${index}.jsonl`));
  const ended = await Promise.all(
    journals.map((out, place) => {
      const shard = `${place + 1}/${SHARDS.length}`;
      return toolgate(["run", suite, "--shard", shard, "--out", out, ...own[place + 1] ?? []]);
    }),
  );
  return { journals, ended };
}

Deno.test("toolgate run --shard in processes side by side comes to what one run comes to", async () => {
  await using place = await folder();
  const suite = place.write("suite.jsonc", SUITE);
  const whole = place.file("whole.jsonl");
  const [{ journals, ended }, unsharded] = await Promise.all([
    runShards(place, suite),
    toolgate(["run", suite, "--out", whole]),
  ]);
  for (const one of [...ended, unsharded]) assertEquals(one.code, 0, one.all);
  assertEquals(journals.length, SHARDS.length);
  const [merged, alone] = await Promise.all(
    [place.file("shards"), whole].map((given) => toolgate(["gate", "--json", given])),
  );
  const verdict = JSON.parse(merged!.stdout);
  assertEquals(verdict, JSON.parse(alone!.stdout));
  assertEquals(verdict.verdicts.length, 4);
  assertEquals([merged!.code, alone!.code], [verdict.exitCode, verdict.exitCode]);
});

Deno.test("deno test -- --shard of a file with several benchmarks comes to what one run comes to", async () => {
  await using place = await folder();
  const file = place.write(
    "several.ts",
    `import { benchmark, grid } from ${JSON.stringify(`file://${ROOT}/mod.ts`)};
    for (const [name, model] of [["weak", "sim:noisy?quit=0.5"], ["strong", "sim:planner"]]) {
      benchmark(name, {
        model,
        tasks: grid({ core: [1, 4], depth: [0, 2] }),
        seed: "fresh",
        graphs: 10,
        gate: { successRate: 0.7, margin: 0.3 },
      });
    }`,
  );
  const run = (...own: string[]) =>
    deno([
      ...["test", "--no-check", "--no-prompt", "--config=deno.json", "--allow-net=127.0.0.1"],
      ...[`--allow-read=${place.path}`, `--allow-write=${place.path}`, file],
      ...["--", "--seed=9", ...own],
    ]);
  const [whole, ...shards] = await Promise.all([
    run(`--verdict=${place.path}/verdicts/`),
    ...SHARDS.map((index) => run(`--shard=${index}/3`, `--out=${place.path}/results/`)),
  ]);
  assertEquals(whole.code, 1, whole.all);
  for (const shard of shards) assertEquals(shard.code, 0, shard.all);
  const merged = await toolgate(["gate", "--json", place.file("results")]);
  assertEquals(merged.code, 1, merged.all);
  const reports = merged.stdout.split(/^(?=\{)/m).map((one) => JSON.parse(one));
  for (const { suite, verdicts } of reports) {
    const alone = JSON.parse(Deno.readTextFileSync(place.file(`verdicts/${suite}.json`)));
    assertEquals(verdicts, alone.verdicts);
  }
  assertEquals(reports.length, 2);
  // What belongs to two benchmarks is no run of either.
  for (const name of ["weak.shard1", "strong.shard2"]) {
    const text = Deno.readTextFileSync(place.file(`results/${name}.jsonl`));
    place.write(`mixed/${name}.jsonl`, text);
  }
  const mixed = await toolgate(["gate", place.file("mixed")]);
  assertEquals(mixed.code, 3, mixed.all);
  assertEquals(
    mixed.stdout,
    "suite strong\n\nINVALID: shards are missing: 1/3, 3/3.\n\nsuite weak\n\nINVALID: shards are missing: 2/3, 3/3.\n",
  );
});

Deno.test("toolgate gate and report name the shards that are not as they should be", async (context) => {
  await using place = await folder();
  const suite = place.write("suite.jsonc", SUITE);
  const { journals, ended } = await runShards(place, suite, { 2: ["--max-tokens", "7500"] });
  assertEquals(ended.map(({ code }) => code), [0, 3, 0], ended[1]!.all);
  const [one, two, three] = journals as [string, string, string];
  const lines = journals.map((path) => readLines(path));
  const write = (name: string, rows: readonly unknown[], torn = "") =>
    place.write(name, linesOf(rows) + torn);
  const killed = write(
    "other/killed.jsonl",
    lines[2]!.slice(0, -2),
    '{"v":1,"kind":"trial","id":"co',
  );
  const moved = write("other/moved.jsonl", [...lines[0]!, lines[2]!.at(-1)!]);

  const lacking = lines[0]!.length - lines[1]!.length;
  assert(lacking > 0, "the budget ended nothing");
  const early = new RegExp(
    `shard 2/3 \\(.+/2\\.jsonl\\) lacks \\d+ of its \\d+ trials: a shard's share of the budget of 7500 tokens`,
  );
  const cut = /shard 3\/3 \(.+killed\.jsonl\) lacks 2 of its \d+ trials: its run was cut short/;
  const short = [one, two, three];
  const cases: [string, string[], RegExp, RegExp?][] = [
    ["one that ended early", short, early, early],
    [
      "one that was killed",
      [one, two, killed],
      new RegExp(`^(?![^]*Give the folder)[^]*${cut.source}`),
      cut,
    ],
    [
      "a missing one",
      [one, two],
      /are missing: 3\/3\.[^]*Give the folder with the journals of all/,
      /are missing: 3\/3\./,
    ],
    ["a trial in two", [moved, two, three], /is both in .+3\.jsonl and in .+moved\.jsonl/],
  ];
  const [gates, reports] = await Promise.all(
    ["gate", "report"].map((command) =>
      toolgates(cases.map(([name, files]) => {
        for (const file of files) {
          const own = file.slice(file.lastIndexOf("/") + 1);
          place.write(`${name}/${own}`, Deno.readTextFileSync(file));
        }
        return [command, place.file(name)];
      }))
    ),
  );
  for (const [at, [name, files, told, reported]] of cases.entries()) {
    await context.step(name, () => {
      const [gate, report] = [gates![at], reports![at]];
      assertMatch(gate!.all, told);
      assertEquals(gate!.code, 3, gate!.all);
      // A budget leaves a verdict over the part that was run; nothing else does.
      if (files !== short) assertStringIncludes(gate!.stdout, "INVALID: ");
      assertEquals(report!.code, reported === undefined ? 2 : 0, report!.all);
      assertMatch(report!.all, reported ?? told);
    });
  }
});
