import { completePolicy } from "../../lib/gate/policy.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportProblem, reportVerdicts, verdictName } from "../../lib/gate/gate_report.ts";
import { Report } from "../../lib/reports/report.ts";
import { FailedTrials } from "../../lib/reports/failures.ts";
import { decides, noteText, sourceText } from "../../lib/reports/_view.ts";
import { cellText, headTexts } from "../../lib/reports/text_table.ts";
import { gateToMarkdown, renderMarkdown } from "../../lib/reports/markdown.ts";
import { tablesOf } from "../../lib/reports/_views.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { assertInert, unescaped } from "../support/markdown.ts";
import {
  crossed,
  failureOf,
  HOSTILE,
  manyRecords,
  planOf,
  record,
  records,
  STEERING,
} from "../support/records.ts";

/** The cells of a row as a Markdown reader parts them: a bar is a border unless it is escaped. */
function cellsOf(line: string): string[] {
  assertMatch(line, /^\| .* \|$/);
  return line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => unescaped(cell.trim()));
}

/** The tables of a document, each as rows of cells without the rule; throws where one is not well-formed. */
function tablesIn(markdown: string): string[][][] {
  const tables: string[][][] = [];
  const lines = markdown.split("\n");
  for (const [place, line] of lines.entries()) {
    if (!line.startsWith("|")) continue;
    if (lines[place - 1]!.startsWith("|")) {
      tables.at(-1)!.push(cellsOf(line));
      continue;
    }
    assertEquals(lines[place - 1], "", "a table needs an empty line before it");
    tables.push([cellsOf(line)]);
  }
  return tables.map(([head, rule, ...body]) => {
    assert(rule!.every((cell) => /^-+:?$/.test(cell)), `${rule}`);
    for (const row of [rule!, ...body]) assertEquals(row.length, head!.length, `${row}`);
    return [head!, ...body];
  });
}

/** Trials of models, strategies and cells with these names. */
function named(names: readonly string[]): Trial[] {
  return names.flatMap((name, place) =>
    ["plain", "restate"].map((strategy) =>
      record({
        model: name,
        served: name,
        strategy,
        id: `${place} ${strategy}`,
        task: { core: 3 + place % 2, depth: 1 + place % 2, connected: 0, disconnected: 0, seed: 1 },
        behaviours: [name] as unknown as Trial["behaviours"],
        outcome: place % 3 === 0 ? "wrong_answer" : "solved",
      })
    )
  );
}

const NAMES = [
  HOSTILE,
  "<script>alert(1)</script>",
  "<!-- comment",
  "[click](https://evil.example)",
  "![image](https://evil.example/x.png)",
  "https://evil.example www.evil.example",
  "`code` *bold* _it_ ~~gone~~ $x$",
  "# heading",
  "cell | cell \\| cell",
  "\\",
  "&lt;b&gt; &#60;b&#62;",
  "@everyone :tada: #1",
  "---",
  "| --- |",
  "a\n\n- b\n\n| c |",
  "",
];

Deno.test("renderMarkdown() has every table of the report, well-formed and cell by cell", () => {
  for (const trials of [manyRecords(8, 10), named(["a", "b", "c"]), named(NAMES)]) {
    const report = new Report(trials, { suite: "s" });
    const wanted = tablesOf(report);
    const found = tablesIn(renderMarkdown(report));
    assertEquals(found.length, wanted.length);
    for (const [place, table] of wanted.entries()) {
      const rows = [headTexts(table), ...table.rows.map((row) => row.map(cellText))];
      const visible = (text: string) => text.replace(STEERING_ALL, "").trim();
      const plain = (cells: readonly (readonly string[])[]) =>
        cells.map((row) => row.map((cell) => visible(cell.replace(/\\u[\da-f]{4}|\\[nrt]/g, ""))));
      assertEquals(plain(found[place]!), plain(rows));
    }
  }
});

/** As STEERING, with line breaks, wherever they occur. */
const STEERING_ALL = new RegExp(`${STEERING.source}|\\n`, "g");

Deno.test("renderMarkdown() lets no hostile name become markup, wherever it stands", () => {
  for (const name of NAMES) {
    const gate = completePolicy({ successRate: 0.8 });
    const trials = named([name, name + name]);
    const markdown = renderMarkdown(
      new Report(trials, {
        suite: name,
        notes: [name],
        gates: [
          reportVerdicts(name, decideTrials(trials, planOf(trials), gate), gate),
          reportProblem(name, "shards are missing"),
        ],
      }),
    );
    assertNotMatch(markdown, STEERING);
    assertInert(markdown);
  }
});

Deno.test("renderMarkdown() keeps to its own lines whatever names hold", () => {
  const usual = renderMarkdown(new Report(named(["a", "b"]), { suite: "s", notes: ["n"] }));
  const kinds = (markdown: string) =>
    markdown.split("\n").map((line) => /^(#+ |- |\||)/.exec(line)![0]);
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ unit: fc.character(), minLength: 1, maxLength: 20 }), {
        minLength: 2,
        maxLength: 2,
      }),
      (names) => {
        const suite = names.join("");
        const report = new Report(named(names), { suite, notes: [`n${suite}`] });
        assertEquals(kinds(renderMarkdown(report)), kinds(usual));
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("renderMarkdown() begins with the suite, where it comes from, and what to know", () => {
  const trials = records(["solved", "invalid"], { model: "sim:a", simulated: true });
  const [title, , origin, , notes, , first, second] = renderMarkdown(
    new Report(trials, { suite: "quick", seed: 7, planned: 3 }),
  ).split("\n");
  assertEquals([title, notes], ["# quick", "## Notes"]);
  assertEquals(
    unescaped(origin!),
    "2 of 3 planned trials, seed 7, started at 2026-01-01 00:00:00 UTC, with simulated models",
  );
  assertMatch(first!, /^- Simulated models are programs/);
  assertMatch(second!, /^- 1 of 2 trials are invalid/);
});

Deno.test("renderMarkdown() begins with the verdicts, in a line where there are several, then has the notes, the headline and the other tables", () => {
  const trials = manyRecords(95, 100);
  const gate = completePolicy({ successRate: 0.8 });
  const gates = [reportVerdicts("s", decideTrials(trials, planOf(trials), gate), gate)];
  const markdown = renderMarkdown(new Report(trials, { suite: "s", gates, notes: ["n"] }));
  const [, , suite, subject, verdict] = markdown.split("\n\n");
  assertEquals([suite, subject], ["### s: pass", "#### m"]);
  assertMatch(
    unescaped(verdict!),
    /^\*\*PASS\*\*: the true success rate is at least 75\.0%, which is 80\.0% less a margin of 5 points\./,
  );
  const headings = [...markdown.matchAll(/^#+ .*$/gm)].map(([heading]) => heading);
  assertEquals(headings.slice(1, 6), [
    ...["### s: pass", "#### m", "## Notes", "## Success", "## Success by cell: m"],
  ]);
  assertStringIncludes(markdown, "\n## Success\n");
  assertStringIncludes(markdown, "| model | verdict | solved |");
  // Of several verdicts a line says how many there are of each kind.
  const more = [...trials, ...manyRecords(5, 100, { model: "n" })];
  const both = [reportVerdicts("s", decideTrials(more, planOf(more), gate), gate)];
  const [, , line, answer, next] = renderMarkdown(new Report(more, { suite: "s", gates: both }))
    .split("\n\n");
  assertEquals(
    [unescaped(line!), next],
    ["**FAIL: of 2 verdicts 1 fail, 1 pass**", "### s: fail"],
  );
  assertMatch(
    unescaped(answer!),
    /^\*\*n solved 90\.0 points less than m on 100 tasks .*: worse\.\*\*$/,
  );
});

Deno.test("renderMarkdown() of nothing says so", () => {
  assertEquals(
    renderMarkdown(new Report([], { suite: "s" })),
    "# s\n\n0 trials\n\n## Notes\n\n- No trial has ended yet: there is nothing to report.\n",
  );
});

Deno.test("renderMarkdown() has the note of every table, before it", () => {
  const work = { asked: 1, unusable: 0, sentBack: 0, mended: 0 };
  const trials = crossed({ both: 3, gained: 1 }).map((trial) => ({
    ...trial,
    behaviours: ["silent" as const],
    failures: [failureOf("incorrect_value")],
    ...(trial.strategy === "restate" ? { work } : {}),
  }));
  const probes = [1, 2].map((repetition) =>
    record({ task: { case: "oracle", seed: 1 }, repetition })
  );
  const report = new Report([...trials, ...probes], { suite: "s" });
  const parts = unescaped(renderMarkdown(report)).split("\n\n");
  const noted = tablesOf(report).filter(({ note }) => note !== undefined);
  assertEquals(noted.map(({ id }) => id), [
    ...["overview", "comparisons", "changed-tasks", "matrix", "strategy-work", "probes"],
    ...["failures", "behaviours", "strategy-3"],
  ]);
  for (const table of noted) {
    const { title, heads } = table;
    const source = sourceText(table);
    const at = parts.indexOf(`## ${title}`);
    const before = [
      ...(source === "" ? [] : [source.replace(/^./, (first) => first.toUpperCase()) + "."]),
      noteText(table).replace(/^./, (first) => first.toUpperCase()) + ".",
    ];
    assertEquals(parts.slice(at + 1, at + 1 + before.length), before, title);
    assert(parts[at + 1 + before.length]!.startsWith(`| ${heads[0]!.text} |`), title);
  }
});

Deno.test("gateToMarkdown() has the verdicts, as text", () => {
  const trials = NAMES.flatMap((model) => crossed({ both: 9, gained: 1 }, { model }));
  const policy = completePolicy({ successRate: 0.8 });
  const judged = decideTrials(trials, planOf(trials), policy);
  const markdown = gateToMarkdown(reportVerdicts("s", judged, policy));
  assertNotMatch(markdown, STEERING);
  assertEquals(markdown.match(/^#### /gm)!.length, 2 * NAMES.length);
});

Deno.test("renderMarkdown() fits any room, leaves out whole tables, and keeps every verdict", () => {
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  const models = Array.from({ length: 12 }, (_, place) => `${"模型".repeat(12)}-${place}`);
  const trials = models.flatMap((model, place) => [
    ...crossed({ both: 12, gained: 4, lost: place % 3, neither: 2 }, { model }),
    ...manyRecords(place % 2 === 0 ? 2 : 20, 20, { model, perturbation: "RD" }),
  ]);
  const policy = completePolicy({ successRate: 0.6 });
  const decision = reportVerdicts("s", decideTrials(trials, planOf(trials), policy), policy);
  const report = new Report(trials, { suite: "s", gates: [decision], notes: ["A note."] });
  const whole = renderMarkdown(report, { limit: Infinity });
  assertEquals(renderMarkdown(report, { limit: bytes(whole) }), whole);
  assertEquals(renderMarkdown(report), renderMarkdown(report, { limit: 60_000 }));
  const titles = tablesOf(report).map(({ title }) => `## ${unescaped(title)}`);
  const failed = decision.verdicts.filter(({ kind }) => kind === "fail");
  assert(failed.length > 5 && bytes(whole) > 65_000, `${failed.length} ${bytes(whole)}`);
  let fewest = titles.length;
  for (const limit of [bytes(whole) - 1, 30_000, 8_000, 3_000, 2_000]) {
    const text = renderMarkdown(report, { limit });
    assert(bytes(text) <= limit, `${limit}: ${bytes(text)}`);
    assertMatch(
      text,
      /^> There is room for \d+ bytes, so that this leaves out .*report F\.jsonl .*--limit$/m,
    );
    assertStringIncludes(text, "### s: fail");
    // Tables are whole, and those that are left out have no room.
    const tables = tablesIn(text);
    const headings = text.split("\n").filter((line) => titles.includes(unescaped(line)));
    assertEquals(tables.length, headings.length);
    fewest = Math.min(fewest, tables.length);
    for (const part of whole.split(/^(?=## )/m).slice(2)) {
      if (text.includes(part.trimEnd())) continue;
      assert(bytes(text) + bytes(part) > limit - 100, `${limit}: ${part.slice(0, 50)}`);
    }
    // Every verdict, or where there is no room for its line, how many there are.
    const told = new Set(
      unescaped(text).split("\n").map((line) => line.replace(/^(?:####|- \*.*\*:) /, "")),
    );
    const untold = decision.verdicts.filter((one) => !told.has(verdictName(one)));
    if (limit >= 8_000) assertEquals(untold, []);
    else assertStringIncludes(text, ` ${failed.length} fail`);
    // The worst come first.
    if (untold.length > 0) {
      assert(untold.every(({ kind }) => kind !== "fail") || !/\*\*PASS/.test(text), text);
    }
  }
  assert(fewest < titles.length / 10, `${fewest} of ${titles.length}`);
});

Deno.test("renderMarkdown() has failed trials behind what decides, with their texts where there is room", () => {
  const trials = [1, 2, 3].map((repetition) =>
    record({
      ...{ task: { case: "refunds", seed: repetition }, id: `${repetition}`, repetition },
      outcome: "wrong_answer",
      transcript: {
        prompt: { id: `p${repetition}`, value: `What of order ${repetition}? ${"x".repeat(300)}` },
        tools: { id: "t", value: [] },
      },
      events: [{ kind: "assertion", message: "no refund", at: "shop_test.ts:3:1" }],
    })
  );
  const failures = new FailedTrials();
  for (const trial of trials) failures.add(trial, "deno test shop_test.ts");
  const report = new Report(trials, { suite: "s" });
  const whole = renderMarkdown(report, { failures });
  const [before, behind] = whole.split("\n## 3 trials failed\n");
  const tables = tablesOf(report);
  const within = (text: string) =>
    tables.filter(({ title }) => text.includes(`\n## ${title}\n`)).map(({ id }) => id);
  assertEquals(within(before!), tables.filter(decides).map(({ id }) => id));
  assertEquals([...within(before!), ...within(behind!)], tables.map(({ id }) => id));
  assertStringIncludes(whole, 'asked: "What of order 2? xxx');
  const less = renderMarkdown(report, { failures, limit: 1_600 });
  assertStringIncludes(less, "\n## 3 trials failed\n\n- refunds: wrong_answer");
  assertNotMatch(less, /asked: /);
  assertMatch(
    less,
    /^> There is room for 1600 bytes, so that this leaves out the texts of failed /m,
  );
});

Deno.test("renderMarkdown() leaves out a table without room, and keeps smaller ones behind it", () => {
  const trials = Array.from({ length: 60 }, (_, place) =>
    record({
      id: `${place}`,
      task: { core: 3 + place, depth: 1, connected: 0, disconnected: 0, seed: 1 },
      outcome: place % 2 === 0 ? "solved" : "wrong_answer",
    }));
  const report = new Report(trials, { suite: "s" });
  const text = renderMarkdown(report, { limit: 3_000 });
  const titles = tablesOf(report).map(({ title }) => title);
  const kept = titles.filter((title) => text.includes(`\n## ${title}\n`));
  const left = titles.filter((title) => !kept.includes(title));
  assert(left.length > 0 && titles.indexOf(left[0]!) < titles.indexOf(kept.at(-1)!), text);
  const note = /^> There is room .*$/m.exec(text)![0];
  for (const title of left) assertStringIncludes(unescaped(note), title.split(": ")[0]!);
});
