// The reports of benchmarks as users get them.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { shuffle } from "@std/random";
import { fork } from "../../lib/base/random.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import type { BenchmarkOptions } from "../../lib/testing/options.ts";
import {
  type CountingServer,
  countingServer,
  type Folder,
  folder,
  readLines,
  ROOT,
  start,
} from "../support/child.ts";
import { type CollectedRun, CollectedTests, type Selection } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);
const NOTICE = "The run has not come to its end";
/** What stands in a folder before anything is run in it. */
const OLD = "<p>an earlier report</p>\n";

/** Runs a benchmark of six trials; files are identified by their names in a folder. */
async function run(
  { path }: Folder,
  server: CountingServer,
  more: Partial<BenchmarkOptions> = {},
  own: readonly string[] = [],
  selection: Selection = {},
): Promise<CollectedRun> {
  const flags = own.map((flag) => flag.replace(/(\w+\.(html|jsonl))$/, `${path}/$1`));
  const ran = await CollectedTests.of(() =>
    benchmark("bench 1", {
      model: { model: "mine", baseURL: server.url },
      ...{ tasks: { core: [2, 3], depth: 1 }, seed: 1, graphs: 3 },
      ...more,
    }), flags).run(selection);
  return { ...ran, stdout: ran.stdout.replaceAll(`${path}/`, "") };
}

/** What is left of a page without its markup; throws unless it is a whole one. */
function pageOf(place: Folder, name: string): string {
  const text = Deno.readTextFileSync(place.file(name));
  assert(text.trimStart().startsWith("<!DOCTYPE html>") && text.endsWith("</html>\n"), "no report");
  return text.replace(/<(script|style)[^]*?<\/\1>/g, "").replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");
}

Deno.test("benchmark() writes its report into a new folder, and names it at the end", async () => {
  await using place = await folder();
  await using server = countingServer();
  const finished = await run(place, server, {
    ...{ gate: { successRate: 0.3 }, report: place.file("out/deep/r.html") },
  });
  assertEquals(finished.code, 0, finished.all);
  const end = finished.stdout.slice(finished.stdout.lastIndexOf("bench 1 > gate ..."));
  assertStringIncludes(end, "bench 1: report: out/deep/r.html");
  const page = pageOf(place, "out/deep/r.html");
  assertStringIncludes(page, "6 of 6 planned trials, seed 1");
  assertStringIncludes(page, "PASS");
});

Deno.test("benchmark() without a gate writes its report, in the order of the plan", async () => {
  await using place = await folder();
  await using server = countingServer("sim:noisy?quit=0.5");
  const first = await run(place, server, {}, ["--report=a.html"]);
  assertEquals(first.code, 1, first.all);
  const second = await run(place, server, {}, ["--report=b.html"], {
    order: (tests) => shuffle(tests, fork(3, "order")),
  });
  assertEquals(second.code, 1, second.all);
  const [a, b] = ["a.html", "b.html"].map((name) =>
    pageOf(place, name).replace(/started (at|from) .*? UTC( to \S+ \S+ UTC)?/, "")
      // The mean time of a trial stands before its tokens.
      .replace(/ (?:below 1|\d+) ms (?=[\d,]+ )/, " ")
  );
  assertStringIncludes(a!, "6 of 6 planned trials");
  assertEquals(b, a);
});

Deno.test("benchmark() reports on a shard, and on what --filter selects, as on a part", async () => {
  await using place = await folder();
  await using server = countingServer();
  const gated = { gate: { successRate: 0.3 } };
  const own = ["--report=s.html", "--shard=1/2", "--out=s.jsonl"];
  const shard = await run(place, server, gated, own);
  assertEquals(shard.code, 0, shard.all);
  assertStringIncludes(
    pageOf(place, "s.html"),
    "3 of 6 planned trials have no result: this is shard 1/2. All figures are of the other trials.",
  );
  const one = "core 2, depth 1, connected 0, disconnected 0, graph 1";
  const filtered = await run(place, server, gated, ["--report=f.html"], {
    filter: (name) => name.includes(one),
  });
  assertEquals(filtered.code, 0, filtered.all);
  const page = pageOf(place, "f.html");
  assertStringIncludes(
    page,
    "5 of 6 planned trials have no result. All figures are of the other trials.",
  );
});

Deno.test("benchmark() leaves a notice in the place of the report of a run that breaks off", async () => {
  await using place = await folder();
  await using server = countingServer("sim:planner", 100);
  place.write("old.html", OLD);
  place.write(
    "file.ts",
    `import { benchmark } from ${MOD};
benchmark("bench 1", {
  model: { model: "mine", baseURL: "${server.url}" },
  ...{ tasks: { core: [2, 3], depth: 1 }, seed: 1, graphs: 3, report: "old.html" },
});
`,
  );
  const child = start(Deno.execPath(), [
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", "--allow-read=.", "--allow-write=.", "file.ts"],
  ], { cwd: place.path });
  await server.reached(3);
  child.process.kill("SIGKILL");
  await child.finished;
  assertStringIncludes(Deno.readTextFileSync(place.file("old.html")), NOTICE);
});

Deno.test("trials of an agent of one's own are run again by their own file alone, without a report", async () => {
  await using place = await folder();
  await using server = countingServer();
  const report = place.file("old.html");
  const more = { agent: () => Promise.resolve("I give up"), report };
  const ran = await run(place, server, more, ["--out=own.jsonl"]);
  assertEquals(ran.code, 1, ran.all);
  const journal = place.file("own.jsonl");
  const id = readLines(journal)[1].id;
  const again = await toolgate(["run", journal, "--only", id]);
  assertEquals(again.code, 2, again.all);
  assertStringIncludes(again.stderr, "as only the file of its benchmark has its model or agent");
  assertEquals(server.requests, 0);
  place.write("old.html", OLD);
  const rerun = await run(place, server, more, [`--only=${id}`]);
  assertEquals(rerun.code, 1, rerun.all);
  assertStringIncludes(rerun.stdout, "no_answer after 0 calls");
  assertEquals(Deno.readTextFileSync(place.file("old.html")), OLD);
  assertEquals(place.names(), ["old.html", "own.jsonl"]);
});
