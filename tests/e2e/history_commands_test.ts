// `history add`, `accept --to`, `gate --history` and `canary`, as users run them after `run`.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { addRelease, readHistory } from "../../lib/runs/history/history.ts";
import { percent } from "../../lib/base/numbers.ts";
import type { ReportedVerdict } from "../../lib/gate/gate_report.ts";
import { casePlan, caseTrials } from "../support/case_suites.ts";
import { folder, readLines } from "../support/child.ts";
import { type Ended, toolgate, toolgates } from "../support/command_line.ts";
import { dateAfter, recordFile, writeRecords } from "../support/history.ts";
import { linesOf, rechained } from "../support/journals.ts";

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());

const suite = (name: string, more: object = {}) =>
  place.write(
    `${name}.json`,
    JSON.stringify({
      ...{ name, seed: 1, graphs: 60, tasks: [{ core: [2, 3], depth: 1 }] },
      models: ["sim:planner"],
      ...more,
    }),
  );
suite("nightly");

const at = (line: string, env: Record<string, string> = {}) =>
  toolgate(line.split(" "), { cwd: place.path, env });

const nights = new Set<string>();

/** Runs the nightly suite with a seed, once. */
async function night(seed: number, more = ""): Promise<string> {
  const file = `night-${seed}.jsonl`;
  if (nights.has(file)) return file;
  const ended = await at(`run nightly.json --seed ${seed} --out ${file}${more}`);
  assertEquals(ended.code, 0, ended.all);
  nights.add(file);
  return file;
}

/** The record that a command says it wrote. */
function recordIn({ code, stderr, all }: Ended) {
  assertEquals(code, 0, all);
  const [, path] = /in (\S+\.json)/.exec(stderr) ?? [];
  assert(path !== undefined, all);
  return { path, ...JSON.parse(Deno.readTextFileSync(place.file(path))) };
}

Deno.test("a run is recorded once, with all but its transcripts", async () => {
  const file = await night(21);
  place.write("prices.json", JSON.stringify({ "sim:planner": { input: 1, output: 2 } }));
  const record = recordIn(await at(`history add ${file} --to history --prices prices.json`));
  const lines = readLines(place.file(file));
  const trials = lines.slice(1).sort((one, other) => one.index - other.index);
  const [{ trials: kept, usd, model }] = record.subjects;
  assertEquals([record.resolved.seed, model.served], [21, "sim:planner"]);
  assertEquals(
    // deno-lint-ignore no-explicit-any
    kept.map(({ key: _, ...one }: any) => one),
    trials.map(({ outcome, calls, usage, durationMs }) => ({
      ...{ outcome, calls },
      tokens: [usage.inputTokens, usage.outputTokens],
      ms: durationMs,
    })),
  );
  const [input, output] = [0, 1].map((place) =>
    // deno-lint-ignore no-explicit-any
    kept.reduce((all: number, { tokens }: any) => all + tokens[place], 0)
  );
  assertEquals(usd, (input + 2 * output) / 1e6);
  assertEquals(record.startedAt, trials.map((one) => one.startedAt).sort()[0]);
  assertEquals(JSON.stringify(record).includes('"content"'), false);
  const again = await at(`history add ${file} --to history`);
  assertEquals(again.code, 0, again.all);
  assertStringIncludes(again.stderr, `Recorded before: 120 trials in ${record.path}`);
  // Once it is accepted, its record says so.
  await at(`accept ${file} --to history --name v1`);
  const { path, ...accepted } = recordIn(await at(`history add ${file} --to history`));
  assertEquals([path, accepted.release.name], [record.path, "v1"]);
});

Deno.test("a run that lacks a shard, or was cut short, says so in its record", async () => {
  await night(12, " --shard 1/2");
  const ended = await at("history add night-12.jsonl --to short");
  const { subjects: [{ trials }] } = recordIn(ended);
  assertStringIncludes(ended.stderr, "60 of 120 planned ones are missing");
  assertEquals(trials.filter((one: unknown) => one === null).length, 60 - (120 - trials.length));
});

// deno-lint-ignore no-explicit-any
const methodOf = ({ kind, baseline, evidence }: any) => `${kind} ${baseline} ${evidence.method}`;

Deno.test("a candidate passes against the anchor and the last release, on shared graphs or fresh ones", async () => {
  const [first, second, third] = [await night(21), await night(22), await night(23)];
  const wrong = "sim:noisy?quit=0.2";
  await at(`run nightly.json --seed 21 --model ${wrong} --out same.jsonl`);
  await at(`run nightly.json --seed 24 --model ${wrong} --out fresh.jsonl`);
  const none = await at(`gate ${first} --history releases --margin 0.1`);
  assertEquals(none.code, 2, none.all);
  const [one, two] = await toolgates([
    `accept ${first} --to releases --name v1`.split(" "),
    `accept ${second} --to releases --name v2`.split(" "),
  ], { cwd: place.path });
  assertMatch(
    one!.stderr,
    /^Accepted 120 trials of 1 model as release v1 of releases, the anchor: /m,
  );
  assertMatch(two!.stderr, /^Accepted 120 trials of 1 model as release v2 of releases: /m);
  const gate = async (file: string, code: number) => {
    const ended = await at(`gate ${file} --history releases --margin 0.1 --json`);
    assertEquals(ended.code, code, ended.all);
    const { verdict, verdicts } = JSON.parse(ended.stdout);
    return [verdict, ...verdicts.map(methodOf)];
  };
  const anchor = "sim:planner (simulated) (the anchor v1)";
  const last = "sim:planner (simulated) (the release v2)";
  assertEquals(await gate(third, 0), [
    "pass",
    `pass ${anchor} miettinen-nurminen`,
    `pass ${last} miettinen-nurminen`,
  ]);
  assertEquals(await gate("same.jsonl", 1), [
    "fail",
    `fail ${anchor} tango`,
    `fail ${last} miettinen-nurminen`,
  ]);
  assertEquals((await gate("fresh.jsonl", 1))[0], "fail");
  const itself = await at(`gate ${second} --history releases --margin 0.1`);
  assertEquals(itself.code, 2, itself.all);
  assertStringIncludes(itself.stderr, "these are the trials of the baseline itself");
  const moved = await at("accept --to releases --name v2 --anchor");
  assertEquals(moved.stderr, "v2 is the anchor of releases now\n");
  assertEquals(await gate(third, 0), [
    "pass",
    "pass sim:planner (simulated) (the anchor v2) miettinen-nurminen",
  ]);
  // As good as a bad release that was accepted, and still worse than the anchor.
  await at("accept same.jsonl --to releases --name v3");
  await at(`run nightly.json --seed 21 --model ${wrong} --out again.jsonl`);
  assertEquals(await gate("again.jsonl", 1), [
    "fail",
    "fail sim:planner (simulated) (the anchor v2) miettinen-nurminen",
    `pass ${wrong} (simulated) (the release v3) tango`,
  ]);
});

Deno.test("a gate against a history says which run it is, whatever became of the others", async () => {
  const wrong = "--model sim:noisy?quit=0.2";
  await at(`accept ${await night(21)} --to tried --name v1`);
  /** Judges a run, and gives the numbers of its verdicts. */
  const tried = async (file: string, more = "") => {
    const ended = await at(`gate ${file} --history tried --margin 0.1 --json${more}`);
    assert(ended.stdout !== "", ended.all);
    const { verdicts } = JSON.parse(ended.stdout);
    const [{ run, of, passesWrongly }] = verdicts.map((one: ReportedVerdict) => one.attempts);
    return `${run} of ${of}: ${percent(passesWrongly)}`;
  };
  const smaller = JSON.parse(Deno.readTextFileSync(place.file("nightly.json")));
  place.write("smaller.json", JSON.stringify({ ...smaller, graphs: 50 }));
  const runs = [["one", "nightly", 25], ["two", "smaller", 26], ["cut", "nightly", 27]];
  for (const [file, given, seed] of runs) {
    const ran = await at(`run ${given}.json ${wrong} --seed ${seed} --out ${file}.jsonl`);
    assertEquals(ran.code, 0, ran.all);
  }
  assertEquals(await tried("one.jsonl"), "1 of 1: 5.0%");
  assertEquals(await tried("one.jsonl"), "1 of 1: 5.0%");
  const lines = Deno.readTextFileSync(place.file("cut.jsonl")).split("\n");
  place.write("cut.jsonl", `${lines.slice(0, 60).join("\n")}\n`);
  const cut = await at("gate cut.jsonl --history tried --margin 0.1");
  assertEquals(cut.code, 3, cut.all);
  assertEquals(await tried(await night(22)), "1 of 1: 5.0%");
  // Candidates are no days of the model that is watched.
  const watched = await at("canary tried");
  assertEquals(watched.code, 0, watched.all);
  await at("history add two.jsonl --to tried");
  assertEquals(await tried("two.jsonl"), "2 of 3: 15.0%");
  const said = await at("gate two.jsonl --history tried --margin 0.1");
  assertStringIncludes(
    said.stdout.replaceAll(/\s+/g, " "),
    "This is run 2 of 3 of this gate and candidate in the history: where the candidate is not good enough, the " +
      "chance that one or more of 3 such runs pass is at most 15.0%.",
  );
  // A run that goes on is the same one, and one of which a shard was run again is another one.
  await at(`run nightly.json ${wrong} --seed 27 --out cut.jsonl --resume`);
  assertEquals(await tried("cut.jsonl"), "3 of 3: 15.0%");
  const shard = async (index: number) => {
    const file = `parts/${index}.jsonl`;
    const ran = await at(`run nightly.json ${wrong} --seed 29 --shard ${index}/2 --out ${file}`);
    assertEquals(ran.code, 0, ran.all);
  };
  await Promise.all([shard(1), shard(2)]);
  assertEquals(await tried("parts"), "4 of 4: 20.0%");
  Deno.removeSync(place.file("parts/2.jsonl"));
  await shard(2);
  assertEquals(await tried("parts"), "5 of 5: 25.0%");
  // Another model is another candidate.
  const other = await at(`run nightly.json --seed 28 ${wrong}&seed=2 --out other.jsonl`);
  assertEquals(other.code, 0, other.all);
  assertEquals(await tried("other.jsonl"), "1 of 1: 5.0%");
  const stated = await at("gate one.jsonl --success-rate 0.2 --attempts 10 --json");
  const { verdicts: [{ attempts: given }] } = JSON.parse(stated.stdout);
  assertEquals(given, { run: 10, of: 10, passesWrongly: 1 - 0.95 ** 10 });
});

Deno.test("a drop of thirty days is an alarm, which is shown in all formats", async () => {
  const here = { path: place.file("dropped"), shown: "dropped" };
  const release = recordFile({ date: dateAfter(-1), graphs: 150 });
  const runs = Array.from({ length: 30 }, (_, day) => ({
    ...{ date: dateAfter(day), graphs: 25, subjects: [{ rate: day < 18 ? 0.9 : 0.7 }] },
  }));
  writeRecords(here.path, [release, ...runs]);
  addRelease(here, release, { name: "v1", anchor: false }, readHistory([here]));
  const watched = await at("canary dropped");
  assertEquals(watched.code, 1, watched.all);
  assertMatch(watched.stdout, /^sim:made-up \(simulated\), .*: ALARM: since 2026-06-/);
  const { watched: [model] } = JSON.parse((await at("canary dropped --json")).stdout);
  const shown = await at("history show dropped");
  assertStringIncludes(shown.stdout, `: ${model.text}`);
  await at("history show dropped --html dropped.html");
  const page = Deno.readTextFileSync(place.file("dropped.html"));
  assertStringIncludes(page, '<article class="verdict alarm">');
  for (const mark of [">lower since</text>", ">alarm</text>", ">v1 (anchor"]) {
    assertStringIncludes(page, mark);
  }
  const { streams: [stream] } = JSON.parse((await at("history show dropped --json")).stdout);
  assertMatch(model.numbers.pop(), /^the last day, 2026-06-30, is \d+ days ago$/);
  assertEquals(stream.canary, model);
  assertEquals(
    stream.points.slice(1).map(({ solved, valid }: Counted) => [solved, valid]),
    model.days.map(({ solved, valid }: Counted) => [solved, valid]),
  );
});

Deno.test("the canary says how old its last day is, and that nothing is known of today where that is too old", async () => {
  const here = { path: place.file("old"), shown: "old" };
  const release = recordFile({ date: dateAfter(-1), graphs: 150 });
  writeRecords(here.path, [release, recordFile({ date: dateAfter(0), graphs: 25 })]);
  addRelease(here, release, { name: "v1", anchor: false }, readHistory([here]));
  const old = await at("canary old");
  assertEquals(old.code, 3, old.all);
  assertMatch(
    old.stdout,
    /: INVALID: the last day, 2026-06-01, is \d+ days ago, and may be 7 \(--max-age\)\./,
  );
  const allowed = await at("canary old --max-age 99999");
  assertEquals(allowed.code, 0, allowed.all);
});

Deno.test("on the page of a history a run leads to its report, if that is named like its record", async () => {
  const { path } = recordIn(await at(`history add ${await night(21)} --to pages/runs`));
  const [shown, odd] = [async () => {
    const ended = await at("history show pages/runs --html pages/out/history.html");
    assertEquals(ended.code, 0, ended.all);
    const page = Deno.readTextFileSync(place.file("pages/out/history.html"));
    return [...page.matchAll(/<a href="([^"#]+)"/g)].map(([, address]) => address);
  }, `javascript:a"><b> & #1?%2e`];
  assertEquals(await shown(), []);
  // Whoever names files may not name what a link does.
  Deno.renameSync(place.file(path), place.file(`pages/runs/${odd}.json`));
  const encoded = `${encodeURIComponent(odd)}.html`;
  Deno.mkdirSync(place.file(`pages/runs/${odd}.html`));
  assertEquals(await shown(), [], "a folder is no page");
  place.write(`pages/out/${odd}.html`, "");
  assertEquals(await shown(), [encoded]);
  Deno.removeSync(place.file(`pages/runs/${odd}.html`));
  place.write(`pages/runs/${odd}.html`, "");
  assertEquals(await shown(), [`../runs/${encoded}`]);
});

interface Counted {
  readonly solved: number;
  readonly valid: number;
}

Deno.test("a candidate whose cases changed is told how to be accepted in the history", async () => {
  const journal = (name: string, asked: string, startedAt: string) => {
    const plan = casePlan({ successRate: 0.5 }, ["asks", "thanks"], 20);
    const resolved = { ...plan.resolved, cases: { asks: asked, thanks: "1" } };
    const own = { ...plan, resolved };
    const trials = caseTrials(plan).map((trial) => ({ ...trial, startedAt }));
    place.write(name, linesOf([planLine(own), ...trials]));
  };
  journal("cases-1.jsonl", "1", "2026-06-01T00:00:00.000Z");
  journal("cases-2.jsonl", "2", "2026-06-02T00:00:00.000Z");
  const accepted = await at("accept cases-1.jsonl --to cases --name v1");
  assertEquals(accepted.code, 0, accepted.all);
  const ended = await at("gate cases-2.jsonl --history cases --margin 0.1");
  assertEquals(ended.code, 3, ended.all);
  assertMatch(
    ended.stdout,
    /to accept anew: .* accept \S*cases-2\.jsonl --to cases --name NAME\./,
  );
});

Deno.test("wrong inputs are named in one line", async () => {
  const file = await night(21);
  await at(`accept ${file} --to known --name v1`);
  suite("support", { graphs: 2 });
  const other = "support.jsonl";
  await at(`run support.json --seed 42 --out ${other}`);
  const text = Deno.readTextFileSync(place.file(other));
  place.write(
    "later.jsonl",
    rechained(text.replaceAll(/"startedAt":"\d{4}/g, '"startedAt":"2990')),
  );
  const lines = [
    [`accept --to known --name v2 --anchor`, "there is no v2; there are v1"],
    [
      `gate ${other} --history known`,
      "compare the suite support with the history known as a run must have been accepted: none was",
    ],
    [`history add later.jsonl --to history`, "its run must have ended"],
  ] as const;
  for (const [line, message] of lines) {
    const ended = await at(line);
    assertEquals([ended.code, ended.stdout], [2, ""], ended.all);
    assertStringIncludes(ended.stderr, message, ended.all);
    assert(ended.stderr.trim().split("\n").length <= 2, ended.all);
  }
});

Deno.test("a gate over results takes a margin above the discordance that sizes runs", async () => {
  const [old, own] = [await night(21), await night(22)];
  await at(`accept ${old} --to wide --name v1`);
  await at(`run nightly.json --seed 21 --model sim:noisy?quit=0.02 --out shared.jsonl`);
  for (const line of [`${own} --history wide`, `shared.jsonl --baseline ${old}`]) {
    const ended = await at(`gate ${line} --margin 0.25`);
    assertEquals(ended.code, 0, ended.all);
    assertStringIncludes(ended.stdout, "at most 25 points below");
  }
});

Deno.test("a gate on other graphs does not propose a sequential one, which cannot compare them", async () => {
  const model = "sim:noisy?quit=0.1";
  const old = await night(61, ` --model ${model}`);
  await at(`accept ${old} --to few --name v1`);
  await at(`run nightly.json --seed 62 --model ${model} --out few.jsonl`);
  const ended = await at("gate few.jsonl --history few --margin 0.02");
  assertStringIncludes(ended.stdout, "further trials of the candidate would decide.");
  assert(!ended.stdout.includes("sequential"), ended.all);
});
