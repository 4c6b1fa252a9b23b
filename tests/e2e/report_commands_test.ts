// `toolgate report` as users run it, in child processes, on journals made by hand.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse } from "csv-parse/sync";
import { report as reportInProcess } from "../../lib/cli/report.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import type { Shard } from "../../lib/runs/shard_text.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { type Finished, type Folder, folder, readLines } from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { finish } from "../support/records.ts";
import { reportedTrials } from "../support/report_data.ts";
import { SMALL } from "../support/suites.ts";

/** All trials of a plan, every third of them failed. */
function trialsOf(plan: Plan, planned = plan.trials): Trial[] {
  return planned.map((one, place) =>
    finish(one, {
      suite: plan.suite,
      simulated: one.model.startsWith("sim:"),
      outcome: place % 3 === 2 ? "wrong_answer" : "solved",
    })
  );
}

/** Writes the journal of a suite like `SMALL`, or of a shard of it. */
function write(
  place: Folder,
  name: string,
  changed: Partial<Suite> = {},
  { shard, trials }: { shard?: Shard; trials?: (all: Trial[]) => object[] } = {},
): string {
  const plan = planSuite({ ...SMALL, ...changed });
  const all = trialsOf(plan, shard === undefined ? plan.trials : shardOf(plan, shard));
  return place.write(name, linesOf([planLine(plan, shard), ...(trials?.(all) ?? all)]));
}

function report(place: Folder, ...arguments_: string[]): Promise<Finished> {
  return toolgate(["report", ...arguments_], { cwd: place.path });
}

/** Several reports, in one process. */
function reports(place: Folder, lines: readonly (readonly string[])[]): Promise<Finished[]> {
  return toolgates(lines.map((arguments_) => ["report", ...arguments_]), { cwd: place.path });
}

/** The metrics of a JSON report, each with its records. */
function metricsOf(place: Folder, name = "r.json") {
  return JSON.parse(Deno.readTextFileSync(place.file(name))).metrics;
}

/** What the variants of a JSON report cost. */
function costsOf(place: Folder): (number | null)[] {
  return metricsOf(place).overview.map(({ cost }: { cost: number | null }) => cost);
}

/** What is in a folder, and what its files hold. */
function contents(place: Folder): [string, string][] {
  return place.names().map((name) => {
    const path = place.file(name);
    return [name, Deno.statSync(path).isFile ? Deno.readTextFileSync(path) : "no file"];
  });
}

Deno.test("toolgate report writes every file that is named, the same way each time", async () => {
  await using place = await folder();
  write(place, "a.jsonl", { gate: { successRate: 0.2 } });
  const outputs = ["--html", "out/r.html", "--markdown", "r.md", "--json", "r.json"];
  const first = await report(place, "a.jsonl", ...outputs);
  assertEquals([first.code, first.stdout], [0, ""], first.all);
  assertEquals(first.stderr, "Wrote out/r.html\nWrote r.md\nWrote r.json\n");
  const texts = ["out/r.html", "r.md", "r.json"].map((name) =>
    Deno.readTextFileSync(place.file(name))
  );
  const [html, markdown, json] = texts as [string, string, string];
  assert(html.trimStart().startsWith("<!DOCTYPE html>") && html.endsWith("</html>\n"));
  assertMatch(markdown, /^# small\n/);
  const { v, kind, suite, seed, planned, trials, gates, metrics } = JSON.parse(json);
  assertEquals({ v, kind, suite, seed, planned, trials }, {
    ...{ v: 1, kind: "report", suite: "small", seed: 1, planned: 12, trials: 12 },
  });
  assertEquals([gates.length, metrics.overview.length], [1, 2]);
  const second = await report(place, "a.jsonl", ...outputs);
  assertEquals(second.code, 0, second.all);
  for (const [at, name] of ["out/r.html", "r.md", "r.json"].entries()) {
    assert(Deno.readTextFileSync(place.file(name)) === texts[at], `${name} differs`);
  }
});

Deno.test("toolgate report ends with 0 and says what is not there", async (context) => {
  const cases: Record<string, [(place: Folder) => string[], RegExp]> = {
    "a missing shard, and a gate": [
      (place) => [
        write(place, "1.jsonl", { gate: { successRate: 0.5 } }, { shard: { index: 1, of: 2 } }),
      ],
      /INVALID: shards are missing: 2\/2\./,
    ],
    "a torn last line": [
      (place) => {
        const path = write(place, "a.jsonl");
        Deno.writeTextFileSync(path, Deno.readTextFileSync(path).slice(0, -20));
        return [path];
      },
      /\* Dropped a torn last line of .*a\.jsonl \(\d+ bytes\)\n\* 1 of 12 planned trials/,
    ],
    "a sequential gate that had decided": [
      (place) => [
        write(place, "a.jsonl", {
          models: ["a"],
          gate: { successRate: 0.9, margin: 0.3, sequential: true },
          graphs: undefined,
        } as unknown as Partial<Suite>, {
          trials: (all) =>
            all.slice(0, 20).map((one) => ({ ...one, outcome: "solved", solved: true })),
        }),
      ],
      /\* \d+ of \d+ planned trials of a\.jsonl were not needed: the gate had decided\.[^]*PASS/,
    ],
    "a baseline that cannot be used": [
      (place) => {
        place.write("base.json", "{");
        return [write(place, "a.jsonl", { gate: { baseline: { file: "base.json" } } })];
      },
      /INVALID: .*base\.json/,
    ],
  };
  for (const [name, [make, message]] of Object.entries(cases)) {
    await context.step(name, async () => {
      await using place = await folder();
      const finished = await report(place, ...make(place));
      assertEquals([finished.code, finished.stderr], [0, ""], finished.all);
      assertMatch(finished.stdout, message);
    });
  }
});

Deno.test("toolgate report --prices tells costs, in place of those of the plan", async () => {
  await using place = await folder();
  write(place, "a.jsonl", { prices: { a: { input: 1, output: 1 } } });
  place.write("p.jsonc", '{ "b": { "input": 1000, "output": 0 } } // a dollar a thousand');
  const costs = async (...more: string[]) => {
    const finished = await report(place, "a.jsonl", "--json", "r.json", ...more);
    assertEquals(finished.code, 0, finished.all);
    return costsOf(place);
  };
  // Six trials of 10 tokens read and 2 written.
  assertEquals(await costs(), [72 / 1e6, null]);
  assertEquals(await costs("--prices", "p.jsonc"), [null, 0.06]);
});

Deno.test("toolgate report refuses plans that disagree on a price, unless prices are given", async () => {
  await using place = await folder();
  const price = { input: 1, output: 1 };
  write(place, "a.jsonl", { models: ["a"], prices: { a: price, x: price } });
  write(place, "b.jsonl", { models: ["b"], prices: { b: price, x: { input: 1, output: 2 } } });
  write(place, "c.jsonl", { models: ["c"], prices: { c: price, x: { output: 1, input: 1 } } });
  place.write("p.json", JSON.stringify({ a: price, b: price }));
  const refused = await report(place, "a.jsonl", "b.jsonl", "--json", "r.json");
  assertEquals([refused.code, refused.stdout], [2, ""], refused.all);
  assertStringIncludes(
    refused.stderr,
    "the plans must have the same price for x, or --prices must be given: they differ",
  );
  assertEquals(place.names().includes("r.json"), false);
  for (
    const [arguments_, costs] of [
      [["a.jsonl", "b.jsonl", "--prices", "p.json"], [72 / 1e6, 72 / 1e6]],
      // The same price in another order is the same.
      [["a.jsonl", "c.jsonl"], [72 / 1e6, 72 / 1e6]],
    ] as const
  ) {
    const finished = await report(place, ...arguments_, "--json", "r.json");
    assertEquals(finished.code, 0, finished.all);
    assertEquals(costsOf(place), [...costs]);
  }
});

Deno.test("toolgate report lists just the trials that its tables count, while a run goes on", async () => {
  await using place = await folder();
  const plan = planSuite(SMALL);
  const trials = trialsOf(plan);
  const journal = place.write("a.jsonl", linesOf([planLine(plan), ...trials.slice(0, 5)]));
  const { error } = console;
  const { querySync } = Deno.permissions;
  console.error = () => {};
  const html = place.file("r.html");
  let begun = 0;
  Deno.permissions.querySync = (descriptor) => {
    // The tables are made, and the page is to list the trials: the run has gone on.
    if ("path" in descriptor && `${descriptor.path}`.startsWith(`${html}.`) && ++begun === 1) {
      Deno.writeTextFileSync(journal, linesOf([planLine(plan), ...trials]));
    }
    return querySync.call(Deno.permissions, descriptor);
  };
  try {
    const args = [journal, "--html", html, "--json", place.file("r.json")];
    assertEquals(await reportInProcess.read("report", args).run(), 0);
    assertEquals(begun, 1);
    const listed = reportedTrials(html);
    assertEquals(
      listed.map(({ outcome }) => outcome),
      trials.slice(0, 5).map((one) => one.outcome),
    );
    const { trials: counted, notes } = JSON.parse(Deno.readTextFileSync(place.file("r.json")));
    assertEquals(counted, 5);
    assertMatch(notes[0], /^7 of 12 planned trials of a\.jsonl have no result/);
  } finally {
    console.error = error;
    Deno.permissions.querySync = querySync;
  }
});

Deno.test("toolgate report of tasks of another generator has no graph, and nothing runs them", async () => {
  await using place = await folder();
  const own = write(place, "own.jsonl");
  const plan = planSuite(SMALL);
  const resolved = { ...plan.resolved, generator: 2 };
  const path = place.write(
    "other.jsonl",
    linesOf([{ ...planLine(plan), resolved }, ...trialsOf(plan)]),
  );
  for (const [journal, graphs] of [[own, true], [path, false]] as const) {
    const finished = await report(place, journal, "--html", "r.html", "--json", "r.json");
    assertEquals(finished.code, 0, finished.all);
    const listed = reportedTrials(place.file("r.html"));
    assertEquals(listed.length, 12);
    assertEquals(listed.every(({ task }) => (task !== undefined) === graphs), true);
    assertEquals(costsOf(place).length, 2);
    if (graphs) continue;
    const { id } = readLines(journal)[1];
    const again = await toolgate(
      ["run", journal, "--only", id, "--base-url", "http://127.0.0.1:9"],
      {
        cwd: place.path,
      },
    );
    assertEquals([again.code, again.stdout], [2, ""], again.all);
    assertMatch(
      again.stderr,
      /^Cannot run a trial of .* as its tasks must be of generator 1: they are of generator 2, which a newer version/m,
    );
  }
  const together = await report(place, own, path);
  assertEquals(together.code, 2, together.all);
  assertStringIncludes(together.stderr, "they differ in generator");
});

Deno.test("toolgate report --csv writes a file for each metric that another program reads, beside other reports", async () => {
  await using place = await folder();
  Deno.mkdirSync(place.file("runs"));
  write(place, "runs/a.jsonl", { gate: { successRate: 0.2 } });
  place.write("runs/kept.csv", "a,b\n");
  const outputs = ["--csv", "runs/", "--html", "r.html", "--markdown", "r.md", "--json", "r.json"];
  const first = await report(place, "runs", ...outputs);
  assertEquals([first.code, first.stdout], [0, ""], first.all);
  assertEquals(first.stderr.trimEnd().split("\n").toSorted(), [
    ...["Wrote 11 files to runs/", "Wrote r.html", "Wrote r.json", "Wrote r.md"],
  ]);
  assertEquals(place.names(), ["r.html", "r.json", "r.md", "runs"]);
  const metrics = metricsOf(place);
  const names = ["a.jsonl", "kept.csv", "calls.csv", "trials.csv"]
    .concat(Object.keys(metrics).map((id) => `${id}.csv`));
  assertEquals(
    new Set([...Deno.readDirSync(place.file("runs"))].map(({ name }) => name)),
    new Set(names),
  );
  const read = (name: string) => Deno.readTextFileSync(place.file(`runs/${name}.csv`));
  const rows: Record<string, string>[] = parse(read("trials"), { columns: true });
  assertEquals(rows.length, 12);
  for (const { model, solved, solved_of: trials } of metrics.overview) {
    const own = rows.filter((row) => row["model"] === model);
    assertEquals(own.length, trials);
    assertEquals(own.filter((row) => row["solved"] === "true").length / trials, solved);
  }
  assertEquals(read("kept"), "a,b\n");
  // Another time it takes the place of its own files, and alone it is enough.
  const before = names.slice(1).map((name) => Deno.readTextFileSync(place.file(`runs/${name}`)));
  const again = await report(place, "runs/a.jsonl", "--csv", "runs");
  assertEquals([again.code, again.stdout], [0, ""], again.all);
  assertEquals(
    names.slice(1).map((name) => Deno.readTextFileSync(place.file(`runs/${name}`))),
    before,
  );
});

Deno.test("toolgate report overwrites no file that is not its own, and says so before it writes anything", async () => {
  await using place = await folder();
  write(place, "a.jsonl");
  place.write("b.jsonl", Deno.readTextFileSync(place.file("a.jsonl")));
  Deno.mkdirSync(place.file("out"));
  place.write("out/overview.csv", "mine\n");
  place.write("file", "mine");
  place.write("trials.csv", Deno.readTextFileSync(place.file("a.jsonl")));
  Deno.symlinkSync("file", place.file("link"));
  const before = contents(place);
  const linked = (file: string): [string[], string] => [
    [`--${file}`, "link"],
    "Cannot write the report to link as it must be a file of its own: it is a link",
  ];
  const cases: [string[], string][] = [
    [
      ["--html", "r.html", "--csv", "out"],
      "Cannot write the report to out/overview.csv as only another ",
    ],
    [["--html", "r.html", "--csv", "file"], "Cannot write the report to file/trials.csv: "],
    [["--csv", "b.jsonl"], "--csv must not be named like a journal"],
    ...["html", "markdown", "json"].map(linked),
  ];
  const told = await reports(place, cases.map(([outputs]) => ["a.jsonl", ...outputs]));
  for (const [at, [outputs, message]] of cases.entries()) {
    const { code, stdout, stderr, all } = told[at]!;
    assertEquals([code, stdout], [2, ""], `${outputs}: ${all}`);
    assertStringIncludes(stderr, message);
    assertEquals(stderr.trimEnd().split("\n").length <= 3, true, stderr);
  }
  const read = await report(place, "trials.csv", "--csv", ".");
  assertEquals(read.code, 2, read.all);
  assertStringIncludes(read.stderr, "as only another such report may be replaced");
  assertEquals(contents(place), before);
  assertEquals([...Deno.readDirSync(place.file("out"))].map(({ name }) => name), ["overview.csv"]);
});

/** The trials of a run on a day of February, of which those of some places failed. */
function ranOn(day: number, failed: readonly number[] = []) {
  return (all: Trial[]) =>
    all.map((trial): Trial => ({
      ...trial,
      startedAt: `2026-02-0${day}T00:00:00.000Z`,
      outcome: failed.includes(trial.index) ? "no_answer" : "solved",
      solved: !failed.includes(trial.index),
    }));
}

Deno.test("toolgate report compares a run with the one before, and lists what was lost", async () => {
  await using place = await folder();
  const suite = { models: ["m"], gate: { successRate: 0.5 } };
  const old = write(place, "old.jsonl", suite, { trials: ranOn(1, [5]) });
  write(place, "new.jsonl", suite, { trials: ranOn(2, [1, 2]) });
  const shown = await report(
    place,
    "old.jsonl",
    "new.jsonl",
    "--html",
    "r.html",
    "--json",
    "r.json",
  );
  assertEquals(shown.code, 0, shown.all);
  const { metrics, gates } = JSON.parse(Deno.readTextFileSync(place.file("r.json")));
  const [{ variant, against_variant, gained, lost, test, p, p_adjusted }, ...more] =
    metrics.comparisons;
  assertEquals(more, []);
  assertEquals([variant, against_variant, gained, lost], ["new", "old", 1, 2]);
  assertEquals([test, p, p_adjusted], ["mcnemar", 1, 1]);
  assertEquals(
    gates.map(({ verdicts: [one] }: { verdicts: { variant: string }[] }) => one!.variant),
    [
      ...["old", "new"],
    ],
  );
  // Each trial of both runs is in the page, and can be run again.
  const trials = await reportedTrials(place.file("r.html"));
  assertEquals(trials.length, 12);
  for (const { rerun } of trials) {
    assertMatch(rerun!, /^deno .* (old|new)\.jsonl --only 'core=/);
    assert(!rerun!.includes("variant="), rerun!);
  }
  // A baseline of the same run is that of the run, not of the other one.
  const both = { models: ["m", "n"], gate: { baseline: { model: "n" } } };
  write(place, "old 2.jsonl", both, { trials: ranOn(1) });
  write(place, "new 2.jsonl", both, { trials: ranOn(2) });
  const named = await report(place, "old 2.jsonl", "new 2.jsonl", "--json", "r.json");
  assertEquals(named.code, 0, named.all);
  assertEquals(
    JSON.parse(Deno.readTextFileSync(place.file("r.json"))).gates
      .map(({ verdicts: [one] }: { verdicts: { baseline: string }[] }) => one!.baseline),
    ["old 2: n", "new 2: n"],
  );
  // The same run twice is refused as before.
  place.write("copy.jsonl", Deno.readTextFileSync(old));
  const twice = await report(place, "old.jsonl", "copy.jsonl");
  assertEquals([twice.code, twice.stdout], [2, ""]);
  assertStringIncludes(twice.stderr, "a trial must be in one of them only");
});

Deno.test("toolgate report compares with accepted results, that of the gate or one that is given", async () => {
  await using place = await folder();
  const suite = { models: ["m"] };
  write(place, "old.jsonl", suite, { trials: ranOn(1) });
  const accepted = await toolgate(["accept", "old.jsonl", "--out", "b.json"], { cwd: place.path });
  assertEquals(accepted.code, 0, accepted.all);
  write(place, "new.jsonl", suite, { trials: ranOn(2, [3]) });
  const gate = { baseline: { file: "b.json" }, margin: 0.4, discordance: 0.9 };
  write(place, "gated.jsonl", { ...suite, models: ["n"], gate, graphs: SMALL.graphs! }, {
    trials: ranOn(3, [3, 4]),
  });
  const lines = [["b.json", "new.jsonl"], ["gated.jsonl"], ["gated.jsonl", "b.json"]];
  for (const [index, line] of lines.entries()) {
    const shown = await report(place, ...line, "--json", `${index}.json`);
    assertEquals(shown.code, 0, shown.all);
    const { comparisons, "changed-tasks": tasks } = metricsOf(place, `${index}.json`);
    assertEquals(comparisons.length, 1, line.join(" "));
    const [{ model, against_model, against_variant, lost, extra_tokens }] = comparisons;
    assertEquals([against_model, against_variant], ["m", "b.json"]);
    assertEquals([model, lost], index === 0 ? ["m", 1] : ["n", 2]);
    assertEquals([tasks[0].trials.length, tasks[0].against_trials.length], [1, 0]);
    assertEquals([comparisons[0].against_tokens_per_solved, extra_tokens], [null, null]);
  }
  // Two files of one name are distinguished, also where the gate names one of them.
  for (const [at, folder] of ["x", "y"].entries()) {
    Deno.mkdirSync(place.file(folder));
    Deno.copyFileSync(place.file("b.json"), place.file(`${folder}/b.json`));
    const line = at === 0 ? ["x/b.json", "gated.jsonl"] : ["x/b.json", "y/b.json", "new.jsonl"];
    assertEquals((await report(place, ...line, "--json", "two.json")).code, 0);
    assertEquals(
      metricsOf(place, "two.json").comparisons
        .map((pair: { against_variant: string }) => pair.against_variant),
      at === 0 ? ["b.json", "b.json of the gate"] : ["x/b.json", "y/b.json"],
    );
  }
  // Beside the run that was accepted the same results are compared once, with its trials, in any order of the journals;
  // and of this run no verdict says that it is its own baseline.
  write(place, "accepted.jsonl", { ...suite, gate, graphs: SMALL.graphs! }, { trials: ranOn(1) });
  for (const line of [["accepted.jsonl", "gated.jsonl"], ["gated.jsonl", "accepted.jsonl"]]) {
    const shown = await report(place, ...line, "--json", "both.json");
    assertEquals(shown.code, 0, shown.all);
    const { metrics: { comparisons, "changed-tasks": tasks }, gates } = JSON.parse(
      Deno.readTextFileSync(place.file("both.json")),
    );
    assertEquals(gates.map(({ problem }: { problem?: string }) => problem), [undefined], line[0]);
    assertEquals(gates[0].verdicts[0].model, "n");
    assertEquals(comparisons.length, 1, line.join(" "));
    const [{ model, against_model, against_variant, p, p_adjusted }] = comparisons;
    assertEquals([model, against_model, against_variant], ["n", "m", null]);
    assertEquals(
      tasks.map((one: Record<string, string[]>) =>
        [one["trials"], one["against_trials"]].map((ids) => ids!.length)
      ),
      [[1, 1], [1, 1]],
    );
    assertEquals(p_adjusted, p);
  }
  // Neither itself nor alone; and it is not written over.
  for (
    const [line, message] of [
      [["b.json", "old.jsonl"], "the candidate must be another run"],
      [["b.json"], "it takes a journal to compare with b.json: none is given"],
      [["b.json", "new.jsonl", "--json", "b.json"], "must not be a file that is read"],
    ] as const
  ) {
    const refused = await report(place, ...line);
    assertEquals([refused.code, refused.stdout], [2, ""], refused.all);
    assertStringIncludes(refused.stderr, message);
  }
});
