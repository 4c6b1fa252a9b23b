// The reports of benchmarks as users get them: `deno test` on files elsewhere, in child processes.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { planSuite } from "../../lib/runs/plan.ts";
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
import { Folder as TemporaryFolder } from "../support/folders.ts";
import { accept, writeJournal } from "../support/journals.ts";
import { refusalsOf } from "../support/refusals.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);
const NOTICE = "The run has not come to its end";
/** What stands in a folder before anything is run in it. */
const OLD = "<p>an earlier report</p>\n";

/** Options of a benchmark of six trials, as source text. */
function optionsOf(server: CountingServer, more = ""): string {
  return `{
    model: { model: "mine", baseURL: ${JSON.stringify(server.url)} },
    tasks: { core: [2, 3], depth: 1 },
    seed: 1,
    graphs: 3,
    ${more}
  }`;
}

/** Writes a file of such a benchmark. */
function write(place: Folder, server: CountingServer, more = ""): void {
  const call = `benchmark("bench 1", ${optionsOf(server, more)});`;
  place.write("file.ts", `import { benchmark } from ${MOD};\n${call}\n`);
}

/** Begins `deno test` on that file, with leave to write to its folder. */
function begin(
  place: Folder,
  { flags = [], own = [] }: {
    readonly flags?: readonly string[];
    readonly own?: readonly string[];
  } = {},
): Child {
  return start(Deno.execPath(), [
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", `--allow-read=${place.path}`, `--allow-write=${place.path}`],
    ...[...flags, "file.ts", ...(own.length === 0 ? [] : ["--", ...own])],
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
  write(place, server, 'gate: { successRate: 0.3 }, report: "out/deep/r.html",');
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
  write(place, server);
  const first = await run(place, { own: ["--report=a.html"] });
  assertEquals(first.code, 1, first.all);
  const second = await run(place, { own: ["--report=b.html"], flags: ["--shuffle=3"] });
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
  write(place, server, "gate: { successRate: 0.3 },");
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
  write(place, server, 'report: "old.html",');
  place.write("old.html", OLD);
  const child = begin(place);
  await server.reached(3);
  child.process.kill("SIGKILL");
  await child.finished;
  assertStringIncludes(Deno.readTextFileSync(place.file("old.html")), NOTICE);
});

Deno.test("trials of an agent of one's own are run again by their own file alone, without a report", async () => {
  await using place = await folder();
  await using server = countingServer();
  write(place, server, 'agent: () => Promise.resolve("I give up"), report: "old.html",');
  const ran = await run(place, { own: ["--out=own.jsonl"] });
  assertEquals(ran.code, 1, ran.all);
  const journal = place.file("own.jsonl");
  const id = readLines(journal)[1].id;
  const again = await toolgate(["run", journal, "--only", id]);
  assertEquals(again.code, 2, again.all);
  assertStringIncludes(again.stderr, "as only the file of its benchmark has its model or agent");
  assertEquals(server.requests, 0);
  place.write("old.html", OLD);
  const rerun = await run(place, { own: [`--only=${id}`] });
  assertEquals(rerun.code, 1, rerun.all);
  assertStringIncludes(rerun.stdout, "no_answer after 0 calls");
  assertEquals(Deno.readTextFileSync(place.file("old.html")), OLD);
  assertEquals(place.names(), ["file.ts", "old.html", "own.jsonl"]);
});

Deno.test("benchmark() writes over nothing that it must not, and says so before anything is run", async (context) => {
  await using place = await folder();
  await using denied = await folder();
  await using server = countingServer();
  for (const name of ["old.html", "older.html", "old.txt"]) place.write(name, OLD);
  place.write("a.jsonl", "{}\n");
  for (const name of ["a", "folder", "folder.md", "real"]) Deno.mkdirSync(place.file(name));
  Deno.symlinkSync("real", place.file("door"));
  // A baseline to compare with, and another name for it.
  const plan = planSuite({
    ...{ name: "s", seed: 1, graphs: 3, tasks: [{ core: [2, 3], depth: 1 }], models: ["mine"] },
  }, { source: "s" });
  using kept = new TemporaryFolder();
  const base = place.write(
    "base.json",
    Deno.readTextFileSync(accept(kept, writeJournal(kept, plan))),
  );
  Deno.symlinkSync("base.json", place.file("link.json"));
  const [before, names] = [Deno.readTextFileSync(base), place.names()];

  const { path } = place;
  const gate = "gate: { successRate: 0.3 },";
  const compared = `gate: { baseline: { file: "${base}" } },`;
  const only = "--only=core=2 depth=1 connected=0 disconnected=0 seed=5 " +
    "model=mine strategy=baseline perturbation=none repetition=1";
  const taken = /as each file can be written only once: it is named twice/;
  const cases: [more: string, flags: readonly string[], message: RegExp][] = [
    [
      "",
      [`--report=${denied.path}/r.html`],
      /Cannot write the report to .*: Deno was not given the p/,
    ],
    [
      "",
      [`--report=${denied.path}/new/r.html`],
      /Cannot write the report to .*new\/r\.html: .*Deno was not given the permission/,
    ],
    ["", [`--report=${path}/folder`], /folder as its name must end in \.html .*, \.md .* or \.txt/],
    ["", [`--report=${path}/r.txt`, `--report=${path}/r.pdf`], /r\.pdf as its name must end in /],
    ["", [`--report=${path}/folder.md`], /Cannot write the report to .*folder\.md: it is a folder/],
    ["", [`--report=${path}/old.txt/r.html`], /Cannot write the report to .*old\.txt\/r\.html: /],
    [
      "",
      [`--report=${path}/r.jsonl`],
      /Cannot write the report of benchmark bench 1 to .*r\.jsonl/,
    ],
    // None of its cases is selected.
    [`report: "${path}/old.html",`, [], /^$/],
    [
      "",
      [`--report=${path}/old.html`],
      /Cannot keep the report of benchmark .*old\.html .*(bench 1 has|another one, bench 1, has)/,
    ],
    ["", [`--out=${path}/a.jsonl`, `--report=${path}/older.html`], /Cannot begin the journal/],
    ["", [only, `--report=${path}/2.html`], /--only goes without --report: it runs one trial/],
    ["", [only, `--out=${path}/b.jsonl`], /--only goes without --out: it runs one trial/],
    ["", [`--report=${path}/x.txt`, `--out=${path}/x.txt`], taken],
    ["", [`--report=${path}/old.txt`, `--out=${path}/old.txt`, "--resume"], /is not JSON/],
    // What a gate compares with is read, and may be shared.
    [compared, [], /^$/],
    [compared, [], /^$/],
    ...["report=base.json", "verdict=base.json", "report=link.json"].map((
      flag,
    ): [string, string[], RegExp] => [
      compared,
      [`--${flag.replace("=", `=${path}/`)}`],
      /Cannot keep the (report|verdicts) of benchmark bench 1 in .*: the baseline of a gate has it/,
    ]),
    // Two names of one file.
    [`${gate} report: "${path}/a/../a/r.html",`, [`--verdict=${path}/./a/r.html`], taken],
    [`${gate} report: "${path}/door/new/r.html",`, [`--verdict=${path}/real/new/r.html`], taken],
    [
      `${gate} report: "r.html",`,
      [`--report=${path}/v.json`, `--verdict=${path}/real/../v.json`],
      taken,
    ],
  ];
  const told = await refusalsOf(
    cases.map(([more, flags]) => ({
      call: `benchmark("bench 1", ${optionsOf(server, more)})`,
      flags,
    })),
    [`--allow-read`, `--allow-write=${path}`],
  );
  for (const [at, [more, flags, message]] of cases.entries()) {
    await context.step(`${more} ${flags}`, () => assertMatch(told[at]!, message));
  }
  assertEquals(server.requests, 0);
  // A verdict is claimed before the report that wants its file.
  assertEquals(place.names(), [...names, "v.json"]);
  for (const name of ["old.html", "older.html", "old.txt"]) {
    assertEquals(Deno.readTextFileSync(place.file(name)), OLD);
  }
  assertEquals(Deno.readTextFileSync(base), before);
});
