// Journals that a disk, an editor or another program has spoiled: a reader says so, or returns the
// same as before. No gate passes because something of its journal was lost.

import { parse } from "csv-parse/sync";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { acceptResults, recordText } from "../../lib/runs/record.ts";
import { gate as gateCommand } from "../../lib/cli/gate.ts";
import { report as reportCommand } from "../../lib/cli/report.ts";
import { Connections } from "../../lib/models/connect.ts";
import type { GateReport, ReportedVerdict } from "../../lib/gate/gate_report.ts";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import { canonicalJson, parseJson } from "../../lib/base/json.ts";
import { journalTrials, readJournalFile } from "../../lib/runs/journal/journal.ts";
import type { ModelEntry } from "../../lib/models/entry.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { Run } from "../../lib/runs/run.ts";
import { SUITE, type Suite } from "../../lib/runs/suite.ts";
import fc from "../support/fast_check.ts";
import { Folder } from "../support/folders.ts";
import { rechained } from "../support/journals.ts";
import {
  anyJson,
  anyText,
  assertReadable,
  type ByteChange,
  byteChanges,
  changed,
  changedBytes,
  changedText,
  fuzz,
  nested,
  quietly,
  type TextChange,
  textChanges,
  type ValueChange,
  valueChanges,
} from "../support/fuzzing.ts";

const gate = (line: readonly string[]) => gateCommand.read("gate", line).run();
const report = (line: readonly string[]) => reportCommand.read("report", line).run();

/** Suites whose journals have all that journals can have. */
const SUITES: Readonly<Record<string, Omit<Suite, "name" | "seed">>> = {
  passing: {
    graphs: 24,
    tasks: [{ core: 3, depth: 2 }],
    models: ["sim:planner"],
    gate: { successRate: 0.9, margin: 0.15 },
  },
  failing: {
    graphs: 20,
    tasks: [{ core: 4, depth: 2, connected: 1 }],
    models: ["sim:noisy?early=0.6&hallucinate=0.2&arity=0.2&seed=3"],
    gate: { successRate: 0.9, margin: 0.1, atMost: { failures: { incorrect_value: 0.01 } } },
  },
  upgrade: {
    graphs: 12,
    tasks: [{ core: 3, depth: 1 }],
    models: ["sim:planner", "sim:noisy?quit=0.1&seed=4"],
    repetitions: 2,
    gate: { baseline: "sim:planner", margin: 0.19 },
  },
  rich: {
    graphs: 2,
    tasks: [{ core: 3, depth: 2, connected: 1, disconnected: 1, surface: "rich" }],
    models: [{ model: "sim:noisy?early=0.3&breakFormat=0.4&seed=5", api: "react" }],
    strategies: ["plain", "restate", "repair", "indirection", "plan_then_call"],
    perturbations: ["none", "CF", "timeout"],
    prices: { "sim:noisy?early=0.3&breakFormat=0.4&seed=5 (react)": { input: 1, output: 2 } },
  },
  probes: {
    graphs: 1,
    tasks: [{ case: "all" }],
    models: ["sim:planner"],
    gate: { successRate: 0.5, margin: 0.4, coverage: 0.5 },
  },
};

/** The journals of the suites, by name, as runs write them, but for their ends. */
const JOURNALS = await written();

async function written(): Promise<ReadonlyMap<string, string>> {
  using folder = new Folder();
  const connections = new Connections();
  const texts = new Map<string, string>();
  for (const [name, suite] of Object.entries(SUITES)) {
    const plan = planSuite(parseWith(SUITE, { name, seed: 7, ...suite }, name));
    const journal = folder.file(`${name}.jsonl`);
    {
      using run = new Run(plan, { connect: (entry) => connections.model(entry), journal });
      await run.all();
    }
    texts.set(name, rechained(folder.read(`${name}.jsonl`)));
  }
  return texts;
}

/** What a gate says of a journal or a folder of them, or the fault of a file. */
async function judged(path: string, given: readonly string[] = []) {
  const folder = path.replace(/\/[^/]*\.jsonl$/, "");
  try {
    const { value, stdout, stderr } = await quietly(() => gate([path, "--json", ...given]));
    // Lines that run trials again name the file, and each has a folder of its own.
    const told = JSON.parse(stdout.replaceAll(folder, "")) as GateReport;
    assertEquals(told.exitCode, value);
    assert([0, 1, 3].includes(value));
    if (stderr !== "") assertReadable(stderr, 100_000);
    return told;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    assertReadable(error.message);
    assert(/^Cannot (use|judge|read|run|report|tell|compare) /.test(error.message), error.message);
    if (!error.message.startsWith("Cannot run toolgate gate") && !/price/.test(error.message)) {
      assertStringIncludes(error.message, folder);
    }
    return error;
  }
}

/** How many trials a verdict is over, those that are not there too. */
function sizeOf({ evidence }: ReportedVerdict): readonly unknown[] {
  if (evidence === undefined) return [];
  return evidence.of === "rate"
    ? [evidence.graphs, evidence.valid + evidence.unknown]
    : [evidence.graphs];
}

/** Nothing was lost in silence, and what has passed would have passed before. */
function assertNothingLost(told: GateReport | InputError, before: GateReport): void {
  if (told instanceof InputError || told.verdict === "invalid") return;
  assertEquals(told.verdicts.length, before.verdicts.length);
  for (const [place, verdict] of told.verdicts.entries()) {
    const old = before.verdicts[place]!;
    if (verdict.kind === "invalid" || old.kind === "invalid") {
      assert(verdict.kind === "invalid", "what could not be judged is");
      continue;
    }
    assertEquals(sizeOf(verdict), sizeOf(old), "trials were lost and not told");
    const worse = verdict.evidence!.unknown > old.evidence!.unknown;
    if (!worse) assertEquals(verdict, old, "the same trials are judged otherwise");
    if (verdict.kind === "pass") assertEquals(old.kind, "pass", "what is lost lets the gate pass");
  }
}

/** One change of the lines of a file, which makes up no trial. */
interface LineChange {
  readonly kind: "cut" | "double" | "swap" | "merge" | "insert" | "tear" | "blank";
  readonly place: number;
  readonly other: number;
  readonly text: string;
}

function lineChanges(): fc.Arbitrary<LineChange[]> {
  const change = fc.record({
    kind: fc.constantFrom<LineChange["kind"]>(
      ...["cut", "cut", "double", "swap", "merge", "insert", "tear", "blank"] as const,
    ),
    place: fc.nat(),
    other: fc.nat(),
    text: fc.oneof(
      fc.constantFrom(
        "\u0000",
        "{}",
        "null",
        "[]",
        '{"kind":"plan"}',
        '{"kind":"trial"}',
        "{",
        "x",
      ),
      fc.constantFrom("\ufeff", "\r", " ", nested(20_000), nested(20_000, "kind")),
      anyJson().map((value) => JSON.stringify(value)),
      anyText(),
    ),
  });
  return fc.array(change, { minLength: 1, maxLength: 3 });
}

function withLines(text: string, changes: readonly LineChange[]): string {
  return changes.reduce((before, { kind, place, other, text }) => {
    if (kind === "tear") return before.slice(0, before.length - other % (before.length >> 2 || 1));
    const lines = before.split(/(?<=\n)/);
    if (lines.length === 0) return before;
    const [at, to] = [place % lines.length, other % lines.length];
    switch (kind) {
      case "cut":
        lines.splice(at, 1 + (other % 5 === 0 ? other % lines.length : 0));
        break;
      case "double":
        lines.splice(to, 0, lines[at]!);
        break;
      case "swap":
        [lines[at], lines[to]] = [lines[to]!, lines[at]!];
        break;
      case "merge":
        lines[at] = lines[at]!.replace("\n", "");
        break;
      case "insert":
        lines.splice(at, 0, `${text}\n`);
        break;
      case "blank":
        lines.splice(at, 0, other % 2 === 0 ? "\n" : " \r\n");
    }
    return lines.join("");
  }, text);
}

/** The verdicts of the journals as they are. */
const BEFORE = new Map<string, GateReport>();

async function verdictsBefore(name: string): Promise<GateReport> {
  const known = BEFORE.get(name);
  if (known !== undefined) return known;
  using folder = new Folder();
  const told = await judged(folder.write("a.jsonl", JOURNALS.get(name)!));
  if (told instanceof InputError) throw told;
  BEFORE.set(name, told);
  return told;
}

const GATED = Object.keys(SUITES).filter((name) => SUITES[name]!.gate !== undefined);

Deno.test("the journals that are spoiled here are sound, and their gates differ", async () => {
  const kinds = new Set<string>();
  for (const name of GATED) kinds.add((await verdictsBefore(name)).verdict);
  assert(kinds.has("pass") && kinds.has("fail"), [...kinds].join());
});

fuzz(
  "gate() passes no journal of which lines were lost, doubled, merged or torn",
  fc.tuple(
    fc.constantFrom(...GATED),
    lineChanges(),
    fc.constantFrom("", "", "\ufeff", "\r"),
    fc.boolean(),
  ),
  async ([name, changes, mark, isChained]) => {
    const before = await verdictsBefore(name);
    using folder = new Folder();
    const lines = withLines(JOURNALS.get(name)!, changes);
    const text = isChained ? rechained(lines) : lines;
    const spoiled = mark === "\r" ? text.replaceAll("\n", "\r\n") : mark + text;
    assertNothingLost(await judged(folder.write("a.jsonl", spoiled)), before);
  },
  { runs: 30 },
);

/** A change of whatever kind, of a journal. */
type Change =
  | { readonly of: "bytes"; readonly changes: readonly ByteChange[] }
  | { readonly of: "line"; readonly line: number; readonly changes: readonly ValueChange[] }
  | { readonly of: "text"; readonly line: number; readonly changes: readonly TextChange[] }
  | { readonly of: "encoding"; readonly encoding: "utf-16" | "latin-1" };

function anyChange(): fc.Arbitrary<Change> {
  const line = fc.oneof(fc.constant(0), fc.nat());
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ of: fc.constant("bytes"), changes: byteChanges() }) },
    { weight: 9, arbitrary: fc.record({ of: fc.constant("line"), line, changes: valueChanges() }) },
    { weight: 4, arbitrary: fc.record({ of: fc.constant("text"), line, changes: textChanges() }) },
    {
      weight: 1,
      arbitrary: fc.record({
        of: fc.constant("encoding"),
        encoding: fc.constantFrom("utf-16", "latin-1"),
      }),
    },
  ) as fc.Arbitrary<Change>;
}

function spoil(text: string, change: Change, chain = (text: string) => text): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (change.of === "bytes") return changedBytes(bytes, change.changes);
  if (change.of === "encoding") {
    return change.encoding === "latin-1"
      ? Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff)
      : new Uint8Array(Uint16Array.from(text, (character) => character.charCodeAt(0)).buffer);
  }
  const lines = text.trimEnd().split("\n");
  const at = change.line % lines.length;
  lines[at] = change.of === "line"
    ? JSON.stringify(changed(parseJson(lines[at]!)!, change.changes))
    : changedText(lines[at]!, change.changes);
  return new TextEncoder().encode(chain(lines.join("\n") + "\n"));
}

fuzz(
  "gate() judges a journal with other fields or bytes, or says what is wrong with it",
  fc.tuple(fc.constantFrom(...Object.keys(SUITES)), anyChange()),
  async ([name, change]) => {
    using folder = new Folder();
    const path = folder.write("a.jsonl", spoil(JOURNALS.get(name)!, change, rechained));
    const told = await judged(path, GATED.includes(name) ? [] : ["--success-rate", "0.5"]);
    if (told instanceof InputError || told.verdict === "invalid") return;
    if (!GATED.includes(name)) return;
    // Of what was planned nothing is left out, whatever is said of it.
    const { plan, planned } = readResults([path]);
    const before = await verdictsBefore(name);
    if (plan === undefined) return;
    assertEquals(planned.length, JOURNALS.get(name)!.trimEnd().split("\n").length - 1);
    const sizes = (told: GateReport) => told.verdicts.map((verdict) => sizeOf(verdict));
    if (told.verdicts.some(({ kind }) => kind === "invalid")) return;
    if (JSON.stringify(told.gate) === JSON.stringify(before.gate)) {
      assertEquals(sizes(told), sizes(before));
    }
  },
  { runs: 30 },
);

fuzz(
  "gate() decides nothing over a plan line that declares other trials than before",
  fc.tuple(fc.constantFrom(...GATED), valueChanges(1)),
  async ([name, changes]) => {
    using folder = new Folder();
    const [first, ...lines] = JOURNALS.get(name)!.split("\n") as [string, ...string[]];
    const plan = JSON.parse(first);
    const resolved = changed(plan.resolved, changes);
    if (canonicalJson(resolved) === canonicalJson(plan.resolved)) return;
    // Who also computes checksums is beyond what a journal can show.
    const text = [JSON.stringify({ ...plan, resolved }), ...lines].join("\n");
    const told = await judged(folder.write("a.jsonl", text));
    assert(told instanceof InputError || told.verdict === "invalid", "nobody has noticed");
  },
  { runs: 30 },
);

/** Tags by which a page could do something, apart from those that every report has. */
function activeIn(html: string): string[] {
  return html.match(/<(script|img|iframe|object|embed|base|meta|link|form|svg)\b[^>]*>/gi) ?? [];
}

/** The tags of a sound report, whatever its journal. */
async function reportOf(
  path: string,
  folder: Folder,
): Promise<Record<string, string> | InputError> {
  const names = ["html", "markdown", "json"];
  try {
    const { stdout } = await quietly(() => report([path]));
    await quietly(() =>
      report([
        path,
        ...names.flatMap((name) => [`--${name}`, folder.file(`report.${name}`)]),
        ...["--csv", folder.file("csv")],
      ])
    );
    // Each row must have as many cells as there are columns.
    const tables = [...Deno.readDirSync(folder.file("csv"))].map(({ name }) => name);
    assert(["trials.csv", "calls.csv", "overview.csv"].every((name) => tables.includes(name)));
    for (const name of tables) parse(folder.read(`csv/${name}`));
    const written = names.map((name) => [name, folder.read(`report.${name}`)]);
    return { terminal: stdout, ...Object.fromEntries(written) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    assertReadable(error.message);
    return error;
  }
}

fuzz(
  "report() tells of a journal with other fields or bytes, or says what is wrong with it",
  fc.tuple(fc.constantFrom(...Object.keys(SUITES)), anyChange()),
  async ([name, change]) => {
    using folder = new Folder();
    const path = folder.write("a.jsonl", spoil(JOURNALS.get(name)!, change, rechained));
    const made = await reportOf(path, folder);
    if (made instanceof InputError) return;
    JSON.parse(made["json"]!);
    // What is hostile stands in the file as a text, or compressed.
    assert(!made["html"]!.includes("<script>canary"), "it could run");
    assert(!made["html"]!.includes("<img src=x"), "it could run");
    // deno-lint-ignore no-control-regex
    assert(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(made["terminal"]!), "it could steer");
    assertEquals(activeIn(made["html"]!).filter((tag) => /src=|href=.?(?!#|data:)/.test(tag)), []);
  },
  { runs: 12 },
);

fuzz(
  "journalTrials() gives the trials that count, or says which line is none",
  fc.tuple(fc.constantFrom(...Object.keys(SUITES)), anyChange()),
  ([name, change]) => {
    using folder = new Folder();
    const path = folder.write("a.jsonl", spoil(JOURNALS.get(name)!, change, rechained));
    try {
      const ids = [...journalTrials(readJournalFile(path))].map(({ id }) => id);
      assertEquals(new Set(ids).size, ids.length);
      assertEquals(ids.toSorted(), readResults([path]).trials.map(({ id }) => id).toSorted());
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      assertReadable(error.message);
      assert(/, line \d+|line \d+ is/.test(error.message), error.message);
      assertStringIncludes(error.message, path);
    }
  },
  { runs: 25 },
);

/** The line, with something in a field that nests deeper than any stack. */
function withDeep(line: string, field: string): string {
  const [list, object] = [nested(20_000), nested(20_000, "a")];
  return field === ""
    ? list
    : field === "event"
    ? line.replace('"kind":"call",', `"kind":"call","deep":${object},`)
    : line.replace(new RegExp(`"${field}":\\[`), `"${field}":[${object},`)
      .replace(new RegExp(`"${field}":\\{`), `"${field}":{"deep":${list},`)
      .replace(`${list},}`, `${list}}`).replace(`${object},]`, `${object}]`);
}

Deno.test("gate() and report() survive lines that nest without end", async () => {
  const fields = ["cells", "models", "limits", "gate", "resolved", "task", "model", "usage"];
  for (const field of ["", "events", "event", ...fields]) {
    const lines = JOURNALS.get("passing")!.trimEnd().split("\n");
    const deep = lines.slice(0, 2).map((line) => withDeep(line, field));
    assert(deep.some((line, place) => line !== lines[place]), field);
    for (const [place, line] of deep.entries()) {
      if (line === lines[place]) continue;
      using folder = new Folder();
      const path = folder.write("a.jsonl", rechained(lines.with(place, line).join("\n") + "\n"));
      const told = await judged(path);
      const message = told instanceof InputError ? told.message : `${told.text}`;
      assertMatch(message, new RegExp(`Cannot use .*a.jsonl[,:] line ${place + 1}`));
      await reportOf(path, folder);
    }
  }
});

/** The journals of the passing plan's two shards. */
const SHARDS = await shards();

async function shards(): Promise<readonly string[]> {
  using folder = new Folder();
  const connections = new Connections();
  const plan = planSuite(parseWith(SUITE, { name: "passing", seed: 7, ...SUITES["passing"] }, "s"));
  const connect = (entry: ModelEntry) => connections.model(entry);
  for (const index of [1, 2]) {
    using run = new Run(plan, {
      connect,
      journal: folder.file(`${index}.jsonl`),
      shard: { index, of: 2 },
    });
    await run.all();
  }
  return ["1.jsonl", "2.jsonl"].map((name) => rechained(folder.read(name)));
}

let ofShards: GateReport | undefined;

/** The verdict of the shards as they are. */
async function shardsBefore(): Promise<GateReport> {
  if (ofShards !== undefined) return ofShards;
  using folder = new Folder();
  for (const [place, file] of SHARDS.entries()) folder.write(`${place}.jsonl`, file);
  const told = await judged(folder.path);
  assert(!(told instanceof InputError) && told.verdict === "pass");
  return ofShards = told;
}

fuzz(
  "gate() passes no shards of which lines were lost, doubled, merged or moved to another",
  fc.tuple(
    lineChanges(),
    fc.constantFrom(0, 1),
    fc.constantFrom("own", "both", "first", "none"),
    fc.boolean(),
  ),
  async ([changes, spoiled, kept, isChained]) => {
    using folder = new Folder();
    const text = withLines(SHARDS[spoiled]!, changes);
    const other = SHARDS[1 - spoiled]!;
    const files = {
      own: [text, other],
      both: [text, other, SHARDS[spoiled]!],
      first: [text],
      // Lines of one shard after those of the other.
      none: [text + other.slice(other.indexOf("\n") + 1), other],
    }[kept]!;
    for (const [place, file] of files.entries()) {
      folder.write(`${place}.jsonl`, isChained ? rechained(file) : file);
    }
    const told = await judged(folder.path);
    const before = await shardsBefore();
    assertNothingLost(told, before);
    if (kept !== "own") assert(told instanceof InputError || told.verdict === "invalid");
  },
  { runs: 12 },
);

Deno.test("gate() survives baselines that nest without end, wherever they do", async () => {
  using folder = new Folder();
  const journal = folder.write("a.jsonl", JOURNALS.get("failing")!);
  const other = folder.write("other.jsonl", JOURNALS.get("failing")!);
  const value = parseJson(recordText(acceptResults(readResults([other]), other)))!;
  for (let place = 0; place < 60; place += fc.IS_SOAK ? 1 : 4) {
    const change = { kind: "set", place, other: 0, value: "deep", name: "" } as const;
    const text = JSON.stringify(changed(value, [change]));
    const baseline = folder.write("b.json", text.replace('"deep"', nested(20_000, "a")));
    assert(await judged(journal, ["--baseline", baseline]) instanceof InputError);
  }
});
