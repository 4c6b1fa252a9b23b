// The reports of benchmarks as users get them: `deno test` on files elsewhere, in child processes.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  type Child,
  type CountingServer,
  countingServer,
  type Finished,
  type Folder,
  folder,
  readLines,
  ROOT,
  start,
} from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);
const NOTICE = "The run has not come to its end";
/** What stands in a folder before anything is run in it. */
const OLD = "<p>an earlier report</p>\n";

interface Benchmark {
  readonly server: CountingServer;
  /** Options beside model, tasks, seed and graphs, as source text. */
  readonly options?: string;
  /** How many benchmarks the file has. */
  readonly count?: number;
}

/** Writes a file of benchmarks of six trials each. */
function write(place: Folder, { server, options = "", count = 1 }: Benchmark): void {
  const names = Array.from({ length: count }, (_, at) => `bench ${at + 1}`);
  place.write(
    "file.ts",
    `import { benchmark } from ${MOD};
for (const name of ${JSON.stringify(names)}) {
  benchmark(name, {
    model: { model: "mine", baseURL: ${JSON.stringify(server.url)} },
    tasks: { core: [2, 3], depth: 1 },
    seed: 1,
    graphs: 3,
    ${options}
  });
}
`,
  );
}

/** Begins `deno test` on that file, with leave to write to its folder unless told otherwise. */
function begin(
  place: Folder,
  { flags = [], own = [], writing = [`--allow-write=${place.path}`] }: {
    readonly flags?: readonly string[];
    readonly own?: readonly string[];
    readonly writing?: readonly string[];
  } = {},
): Child {
  return start(Deno.execPath(), [
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", `--allow-read=${place.path}`, ...writing, ...flags],
    ...["file.ts", ...(own.length === 0 ? [] : ["--", ...own])],
  ], { cwd: place.path });
}

function run(place: Folder, options?: Parameters<typeof begin>[1]): Promise<Finished> {
  return begin(place, options).finished;
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
  write(place, { server, options: 'gate: { successRate: 0.3 }, report: "out/deep/r.html",' });
  const finished = await run(place);
  assertEquals(finished.code, 0, finished.all);
  const end = finished.stdout.slice(finished.stdout.lastIndexOf("bench 1 > gate"));
  assertStringIncludes(end, "bench 1: report: out/deep/r.html");
  const page = pageOf(place, "out/deep/r.html");
  assertStringIncludes(page, "6 of 6 planned trials, seed 1");
  assertStringIncludes(page, "PASS");
});

Deno.test("benchmark() without a gate writes its report, in the order of the plan", async () => {
  await using place = await folder();
  await using server = countingServer("sim:noisy?quit=0.5");
  write(place, { server });
  const first = await run(place, { own: ["--report=a.html"] });
  assertEquals(first.code, 1, first.all);
  const second = await run(place, { own: ["--report=b.html"], flags: ["--shuffle=3"] });
  assertEquals(second.code, 1, second.all);
  const [a, b] = ["a.html", "b.html"].map((name) =>
    pageOf(place, name).replace(/started (at|from) .*? UTC( to \S+ \S+ UTC)?/, "")
  );
  assertStringIncludes(a!, "6 of 6 planned trials");
  assertEquals(b, a);
});

Deno.test("benchmark() tells that it may not write its report before anything is run", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, { server });
  place.write("old.html", OLD);
  Deno.mkdirSync(place.file("folder"));
  const cases: [string, readonly string[] | undefined, RegExp][] = [
    ["r.html", [], /Cannot write the report to r\.html: Deno was not given the permission/],
    [
      "new/r.html",
      [],
      /Cannot write the report to new\/r\.html: .*Deno was not given the permission/,
    ],
    ["folder", undefined, /Cannot write the report to folder: it is a folder/],
    ["old.html/r.html", undefined, /Cannot write the report to old\.html\/r\.html: /],
    ["r.jsonl", undefined, /Cannot write the report of benchmark bench 1 to r\.jsonl/],
  ];
  for (const [file, writing, message] of cases) {
    const finished = await run(place, {
      own: [`--report=${file}`],
      ...(writing === undefined ? {} : { writing }),
    });
    assertEquals(finished.code, 1, finished.all);
    assertMatch(finished.all, message);
  }
  assertEquals(server.requests, 0);
  assertEquals(place.names(), ["file.ts", "folder", "old.html"]);
});

Deno.test("benchmark() leaves an earlier report alone until it runs a trial", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, { server, options: 'report: "old.html",' });
  place.write("old.html", OLD);
  place.write("a.jsonl", "{}\n");
  const none = await run(place, { flags: ["--filter=nothing is called so"] });
  assertEquals(none.code, 0, none.all);
  const refused = await run(place, { own: ["--out=a.jsonl"] });
  assertEquals(refused.code, 1, refused.all);
  assertEquals([server.requests, Deno.readTextFileSync(place.file("old.html"))], [0, OLD]);
});

Deno.test("benchmark() with --only writes no report, and refuses to be told to", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, { server, options: 'report: "old.html",' });
  place.write("old.html", OLD);
  const id = "core=2 depth=1 connected=0 disconnected=0 seed=5 " +
    "model=mine strategy=baseline perturbation=none repetition=1";
  const replay = await run(place, { own: [`--only=${id}`] });
  assertEquals(replay.code, 0, replay.all);
  assertEquals(server.trials, 1);
  const refused = await run(place, { own: [`--only=${id}`, "--report=r.html"] });
  assertEquals(refused.code, 1, refused.all);
  assertStringIncludes(refused.all, "--report needs more than the one trial of --only");
  assertEquals(server.trials, 1);
  assertEquals(place.names(), ["file.ts", "old.html"]);
  assertEquals(Deno.readTextFileSync(place.file("old.html")), OLD);
});

Deno.test("benchmark() refuses one report for two, and a report in the place of trials", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, { server, count: 2 });
  const two = await run(place, { own: ["--report=r.html"] });
  assertEquals(two.code, 1, two.all);
  assertStringIncludes(two.all, "Cannot keep the report of benchmark bench 2 in r.html");
  write(place, { server });
  place.write("trials.txt", OLD);
  const same = await run(place, {
    own: ["--report=trials.txt", "--out=trials.txt", "--resume"],
  });
  assertEquals(same.code, 1, same.all);
  assertEquals(Deno.readTextFileSync(place.file("trials.txt")), OLD);
  assertEquals(server.requests, 0);
});

Deno.test("benchmark() reports on a shard, and on what --filter selects, as on a part", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, { server, options: "gate: { successRate: 0.3 }," });
  const shard = await run(place, {
    own: ["--report=s.html", "--shard=1/2", "--out=s.jsonl"],
  });
  assertEquals(shard.code, 0, shard.all);
  assertStringIncludes(
    pageOf(place, "s.html"),
    "3 of 6 planned trials have no result: this is shard 1/2. All figures are of the other trials.",
  );
  const filtered = await run(place, {
    flags: ["--filter=core 2, depth 1, connected 0, disconnected 0, graph 1"],
    own: ["--report=f.html"],
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
  write(place, { server, options: 'report: "old.html",' });
  place.write("old.html", OLD);
  const child = begin(place);
  await server.reached(3);
  child.process.kill("SIGKILL");
  await child.finished;
  assertStringIncludes(Deno.readTextFileSync(place.file("old.html")), NOTICE);
});

Deno.test("benchmark() writes nothing over the baseline that its gate compares with", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, { server });
  const first = await run(place, { own: ["--out=base.jsonl"] });
  assertEquals(first.code, 0, first.all);
  const accepted = await toolgate(["accept", place.file("base.jsonl"), "--out", "base.json"], {
    cwd: place.path,
  });
  assertEquals(accepted.code, 0, accepted.all);
  Deno.symlinkSync("base.json", place.file("link.json"));
  const [before, text] = [server.requests, Deno.readTextFileSync(place.file("base.json"))];
  write(place, { server, options: 'gate: { baseline: { file: "./base.json" } },' });
  const all = ["--report=base.json", "--verdict=base.json", "--report=link.json"].map((flag) =>
    run(place, { own: [flag] })
  );
  for (const refused of await Promise.all(all)) {
    assertEquals(refused.code, 1, refused.all);
    assertMatch(refused.all, /Cannot keep the (report|verdicts) of benchmark bench 1 in \w+\.json/);
    assertStringIncludes(refused.all, "the baseline of a gate has it");
  }
  assertEquals([server.requests, Deno.readTextFileSync(place.file("base.json"))], [before, text]);
  assertEquals(place.names(), ["base.json", "base.jsonl", "file.ts", "link.json"]);
  // It is but read: several benchmarks may compare with it.
  write(place, { server, count: 2, options: 'gate: { baseline: { file: "./base.json" } },' });
  const both = await run(place, { flags: ["--filter=nothing is called so"] });
  assertEquals(both.code, 0, both.all);
  assertEquals(server.requests, before);
});

Deno.test("benchmark() sees that two names are of one file, before anything is run", async () => {
  await using place = await folder();
  await using server = countingServer();
  const gate = "gate: { successRate: 0.3 },";
  Deno.mkdirSync(place.file("real"));
  Deno.symlinkSync("real", place.file("door"));
  for (
    const [report, own] of [
      ["a/../a/r.html", ["--verdict=./a/r.html"]],
      ["door/new/r.html", ["--verdict=real/new/r.html"]],
      ["r.html", ["--report=v.json", "--verdict=real/../v.json"]],
    ] as const
  ) {
    write(place, { server, options: `${gate} report: ${JSON.stringify(report)},` });
    const refused = await run(place, { own });
    assertEquals(refused.code, 1, refused.all);
    assertStringIncludes(refused.all, "as a file belongs to one benchmark: bench 1 has it");
  }
  assertEquals(server.requests, 0);
});

Deno.test("trials of an agent of one's own are run again by their own file alone", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, { server, options: 'agent: () => Promise.resolve("I give up"),' });
  const ran = await run(place, { own: ["--out=own.jsonl"] });
  assertEquals(ran.code, 1, ran.all);
  const journal = place.file("own.jsonl");
  const id = readLines(journal)[1].id;
  const again = await toolgate(["run", journal, "--only", id]);
  assertEquals(again.code, 2, again.all);
  assertStringIncludes(again.stderr, "as only the file of its benchmark has its model or agent");
  assertEquals(server.requests, 0);
  const replayed = await run(place, { own: [`--only=${id}`] });
  assertStringIncludes(replayed.stdout, "no_answer after 0 calls");
});
