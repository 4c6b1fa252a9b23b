// Shards as users run them, which come to what one run comes to.

import { assertEquals } from "@std/assert";
import { type Finished, type Folder, folder } from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";
import { grid } from "../../lib/runs/suite.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";

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
  const register = () => {
    for (const [name, model] of [["weak", "sim:noisy?quit=0.5"], ["strong", "sim:planner"]]) {
      benchmark(name!, {
        ...{ model: model!, tasks: grid({ core: [1, 4], depth: [0, 2] }), seed: "fresh" },
        ...{ graphs: 10, gate: { successRate: 0.7, margin: 0.3 } },
      });
    }
  };
  const run = (...own: string[]) => CollectedTests.of(register, ["--seed=9", ...own]).run();
  const whole = await run(`--verdict=${place.path}/verdicts/`);
  assertEquals(whole.code, 1, whole.all);
  for (const index of SHARDS) {
    const shard = await run(`--shard=${index}/3`, `--out=${place.path}/results/`);
    assertEquals(shard.code, 0, shard.all);
  }
  const merged = await toolgate(["gate", "--json", place.file("results")]);
  assertEquals(merged.code, 1, merged.all);
  const reports = merged.stdout.split(/^(?=\{)/m).map((one) => JSON.parse(one));
  for (const { suite, verdicts } of reports) {
    const alone = JSON.parse(Deno.readTextFileSync(place.file(`verdicts/${suite}.json`)));
    assertEquals(verdicts, alone.verdicts);
  }
  assertEquals(reports.length, 2);
});
