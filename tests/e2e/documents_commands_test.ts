// The commands of README and docs are run in a copy of the project, and the tables of fixtures/README.md are
// held against the journals that some of them leave.

import { assert, assertEquals, assertLess } from "@std/assert";
import { FAULTS } from "../../lib/tools/fault.ts";
import { measureFormats } from "../../lib/reports/metrics/formats.ts";
import type { GraphSpec } from "../../lib/tasks/generated/graph.ts";
import { canonicalJson } from "../../lib/base/json.ts";
import { APIS } from "../../lib/models/formats/registry.ts";
import { drawBreak } from "../../lib/simulated/_breaking.ts";
import { PERTURBATION_METHODS } from "../../lib/perturbations/methods.ts";
import type { Report } from "../../lib/reports/report.ts";
import { generateTask } from "../../lib/tasks/generated/task.ts";
import type { Parse } from "../../lib/calls/trace.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { folder, readLines } from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { shell, shellLines, tableOf, unchecked, Workplace } from "../support/documents.ts";

const LINES = [...shellLines("deno task toolgate"), ...shellLines("deno test -A fixtures/")];

const place = await Workplace.make();
Deno.test.afterAll(() => place[Symbol.asyncDispose]());

interface Ended {
  readonly line: string;
  readonly code: number;
  readonly output: string;
}

let ended: Promise<readonly Ended[]> | undefined;

/** The words of a command, as a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
}

/** Runs all lines once: plain commands in one process, what needs a shell after them. */
function runLines(): Promise<readonly Ended[]> {
  return ended ??= (async () => {
    const isPlain = (line: string) => line.startsWith("deno task") && !line.includes("*");
    const plain = LINES.filter(isPlain);
    const words = plain.map((line) => wordsOf(line).slice(3));
    const results = await toolgates(words, { cwd: place.clone });
    const all: Ended[] = results.map(({ code, all }, at) => ({
      line: plain[at]!,
      code,
      output: all,
    }));
    for (const line of LINES.filter((line) => !isPlain(line)).toSorted().toReversed()) {
      all.push({ line, ...await shell(unchecked(line), place.clone) });
    }
    return all;
  })();
}

/** The journal that a suite of the fixtures leaves when it is run as the README says. */
async function journalOf(suite: string): Promise<string> {
  const out = `results/${suite}.jsonl`;
  const line = `deno task toolgate run fixtures/suites/${suite}.jsonc --out ${out}`;
  assert(LINES.includes(line), `no page has the line "${line}"`);
  const run = (await runLines()).find((one) => one.line === line)!;
  assertEquals(run.code, 0, run.output);
  return `${place.clone}/${out}`;
}

/** The report on such a journal. */
async function reportOn(suite: string): Promise<Report> {
  await using temporary = await folder();
  const json = temporary.file("report.json");
  const reported = await toolgate(["report", await journalOf(suite), "--json", json]);
  assertEquals(reported.code, 0, reported.all);
  return JSON.parse(Deno.readTextFileSync(json));
}

Deno.test("the commands of all pages run in a clone", async () => {
  assert(LINES.length >= 4);
  for (const { line, code, output } of await runLines()) {
    assertEquals(code, 0, `${line}\n${output}`);
  }
});

Deno.test("perturbations: each breaks what it should, as the table of the fixtures says", async () => {
  const { brittleness, comparisons } = await reportOn("perturbations");
  const percent = (rate: number | null) => rate === null ? "-" : `${Math.round(100 * rate)}%`;
  const [planner, describing, typing, noisy] = brittleness;
  const rows = planner!.columns.map((column, place) => {
    const solvedBy = (one: typeof planner) => percent(one!.columns[place]!.solved.rate);
    const rateOf = (one: typeof planner, type: string) =>
      percent(one!.columns[place]!.failures.find((own) => own.type === type)!.rate);
    return [
      column.perturbation,
      ...[solvedBy(planner), percent(column.abstained.rate)],
      ...[solvedBy(describing), rateOf(describing, "task_deviation")],
      ...[solvedBy(typing), rateOf(typing, "specification_mismatch")],
      solvedBy(noisy),
    ];
  });
  assertEquals(tableOf("What perturbations do").slice(2), rows);
  assertEquals(rows.map(([id]) => id), ["none", ...PERTURBATION_METHODS]);

  const found = (perturbation: string, model = "sim:planner") =>
    comparisons.find(({ of, subject }) =>
      of === "perturbation" &&
      subject.model === model && subject.perturbation === perturbation
    )!.success!;
  for (const id of ["RD", "WD", "SD"]) {
    assertLess(found(id, "sim:planner?reads=descriptions").interval!.upper, -0.5, id);
  }
  assertLess(found("WT", "sim:planner?reads=types").interval!.upper, -0.5);
  for (const id of ["RD", "WD", "SD", "WT", "CO"]) {
    assertEquals([found(id).gained, found(id).lost], [0, 0]);
  }
  const columnOf = (id: string) =>
    planner!.columns.find(({ perturbation }) => perturbation === id)!;
  for (const id of ["RP_F", "RP_L"]) assertEquals(columnOf(id).abstained.rate, 1, id);
  assertEquals(columnOf("none").abstained.rate, 0);
});

Deno.test("faults: models recover as often as the table of the fixtures says", async () => {
  const { recovery } = await reportOn("faults");
  const percent = (share: number) => `${Math.round(100 * share)}%`;
  const [planner, meek, wavering, bold] = recovery;
  const rows = planner!.faults.map(({ fault, rate }, place) => {
    const { ends, episodes } = bold!.faults[place]!;
    return [
      fault,
      ...[rate!, meek!.faults[place]!.rate!, wavering!.faults[place]!.rate!].map(percent),
      percent(ends.hallucinated / episodes),
    ];
  });
  assertEquals(tableOf("What faults do").slice(2), rows);
  // What helps where a function is gone is another table.
  assertEquals(rows.map(([id]) => id), FAULTS.filter((id) => id !== "gone"));
});

/** The trials of the suite whose models begin so, by format. */
function byApi(trials: readonly Trial[], name: string): Map<string, Trial[]> {
  const own = trials.filter(({ model }) => model.requested.startsWith(name));
  const groups = Map.groupBy(own, ({ model }) => model.api ?? "chat");
  assertEquals([...groups.keys()].sort(), [...APIS].sort());
  return groups;
}

/** The replies of a trial that attempt calls, each as it could be read. */
function parsesIn({ events }: Trial): (Parse | undefined)[] {
  return events.flatMap((event) => event.kind === "reply" && event.calls > 0 ? [event.parsed] : []);
}

/** What comes of calls that are broken in a way, or not at all. */
const READ_AS = { mendable: "repaired", hopeless: "unreadable", undefined: "strict" } as const;

Deno.test("suites/formats.jsonc is solved in every format, and read as it was written (Pipeline, Function Calling Format Comparison)", async () => {
  const trials: readonly Trial[] = readLines(await journalOf("formats")).slice(1);
  const tasks = new Set(trials.map(({ task }) => canonicalJson(task)));
  assertEquals(tasks.size, 100);

  for (const [api, own] of byApi(trials, "sim:planner")) {
    assertEquals(own.length, 100, api);
    assertEquals(own.filter(({ solved, grounded }) => solved && grounded).length, 100, api);
    assertEquals(new Set(own.map(({ task }) => canonicalJson(task))), tasks, api);
    assertEquals(own.flatMap(({ failures }) => failures), [], api);
    const parses = own.flatMap(parsesIn);
    assert(parses.length >= 100, api);
    assertEquals(parses.filter((parsed) => parsed !== "strict"), [], api);
    const replies = own.flatMap(({ events }) => events.filter((event) => event.kind === "reply"));
    assertEquals(replies.filter(({ repairs }) => repairs !== undefined), [], api);
  }

  const metrics = measureFormats(trials);
  for (const [api, own] of byApi(trials, "sim:noisy")) {
    assertEquals(own.filter(({ outcome }) => outcome === "invalid"), [], api);
    const drawn = own.flatMap((trial) => {
      const { prompt } = generateTask(trial.task as GraphSpec);
      return parsesIn(trial).map((_, step): Parse =>
        READ_AS[
          `${
            drawBreak(prompt, step, {
              rates: { breakFormat: 0.3, hopeless: 0.3 },
              seed: 1,
              repetition: trial.repetition,
            })
          }`
        ]
      );
    });
    assertEquals(own.flatMap(parsesIn), drawn, api);
    const count = (parse: Parse) => drawn.filter((one) => one === parse).length;
    const { attempts, strictRate, usableRate } = metrics.find((one) =>
      one.api === api && one.subject.model.startsWith("sim:noisy")
    )!;
    assertEquals(attempts, drawn.length, api);
    assertEquals(strictRate.mean, count("strict") / drawn.length, api);
    assertEquals(usableRate.mean, (drawn.length - count("unreadable")) / drawn.length, api);
    assert(count("repaired") > 20 && count("unreadable") > 10, api);
  }
});
