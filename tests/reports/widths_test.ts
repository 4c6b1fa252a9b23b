// Tables that fit a terminal: what they must not lose, whatever the models are called.
// Runs without counters of lines.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import stringWidth from "string-width";
import { completePolicy } from "../../lib/gate/policy.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { tableOf } from "../../lib/reports/columns.ts";
import { Report } from "../../lib/reports/report.ts";
import { renderGate, renderReport, renderTables } from "../../lib/reports/terminal.ts";
import { shortNames } from "../../lib/reports/_short_names.ts";
import { alignedTable } from "../../lib/reports/text_table.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import {
  callEvents,
  crossed,
  HOSTILE,
  manyRecords,
  NOT_FOUND,
  planOf,
  traced,
} from "../support/records.ts";

function assertFits(text: string, width: number): void {
  for (const line of text.split("\n")) {
    // Commands stay whole.
    const fits = stringWidth(line) <= width || /^ +deno task /.test(line);
    assert(fits, `${width}: ${line}\n${text}`);
  }
}

/** The numbers of a text, sorted. */
function numbersIn(text: string): string[] {
  return (text.match(/\d[\d.,%]*/g) ?? []).sort();
}

const CAPTION = { id: "t", section: "success", title: "" } as const;

Deno.test("alignedTable() fits any width, and loses no number", () => {
  const table = fc.record({
    names: fc.array(
      fc.constantFrom("model", "日本語の長い名前のモデル", "a + b_c (simulated)", HOSTILE),
      {
        minLength: 1,
        maxLength: 5,
      },
    ),
    columns: fc.array(fc.constantFrom("n", "calls if solved", "wrong_number_of_inputs"), {
      minLength: 1,
      maxLength: 14,
    }),
    width: fc.integer({ min: 40, max: 160 }),
  });
  fc.assert(fc.property(table, ({ names, columns, width }) => {
    let number = 1_000;
    const [table] = tableOf(names, [
      { unit: "name", head: "", value: (name) => name },
      columns.map((head) => ({ unit: "text", head, value: () => `${number++}.5%` })),
    ], CAPTION);
    const text = alignedTable(table!, width);
    assertFits(text, width);
    assertEquals(
      numbersIn(text.replaceAll(/\\u\{?[0-9a-f]+\}?/g, "")).filter((one) => one.endsWith(".5%")),
      table!.rows.flatMap((row) => row.slice(1).map(({ text }) => text)).sort(),
    );
  }));
});

Deno.test("alignedTable() breaks headings, then names, and then goes on below with the names again", () => {
  const rate = { value: 0.5, interval: { lower: 0.25, upper: 0.75 } };
  const [table] = tableOf(["sim:planner + restate", "m"], [
    { unit: "name", head: "model", value: (name) => name },
    { unit: "share", head: "solved by it", value: () => rate },
    { unit: "count", head: "calls of it", value: () => 7 },
  ], CAPTION);
  assertEquals(
    alignedTable(table!, 60).split("\n"),
    [
      "                       solved                  calls",
      "model                   by it    95% interval  of it",
      "sim:planner + restate   50.0%  25.0% to 75.0%      7",
      "m                       50.0%  25.0% to 75.0%      7",
    ],
  );
  assertEquals(alignedTable(table!, 44).split("\n"), [
    "               solved                  calls",
    "model           by it    95% interval  of it",
    "sim:planner +   50.0%  25.0% to 75.0%      7",
    "restate",
    "m               50.0%  25.0% to 75.0%      7",
  ]);
  const below = alignedTable(table!, 40).split("\n");
  assertEquals(below.filter((line) => line.startsWith("m ")).length, 2);
  // An interval stays beside its share.
  assertMatch(below.find((line) => line.startsWith("m "))!, / 50\.0% {2}25\.0% to 75\.0%$/);
});

const LONG = [
  "sim:noisy?early=0.01&stale=0.015&distract=0.05",
  "sim:noisy?early=0.01&stale=0.015&distract=0.06",
  "accounts/someone/models/a-model-with-a-name",
  "accounts/someone-else/models/a-model-with-a-name",
  "ft:some-model-2026-01-01:organisation::abcdefgh",
];

/** Trials of several long-named models with failures, with a strategy beside the baseline. */
function trialsOf(models: readonly string[]): Trial[] {
  return models.flatMap((model, place) => [
    ...crossed({ both: 8 + place, gained: 3, lost: 2, neither: 1 }, {
      model,
      simulated: place === 0,
    }),
    ...manyRecords(3, 5, { model, perturbation: "RP_F" }),
    traced(callEvents(3, { 2: { ...NOT_FOUND, root: true } }), {
      model,
      outcome: "wrong_answer",
      seed: 900,
    }),
  ]);
}

Deno.test("tables and verdicts fit 80 and 120 columns, lose no number, and tables name models alike", () => {
  for (
    const models of [LONG.slice(0, 1), [
      ...LONG,
      "gpt-5",
      "日本語の長い名前のモデルその一二三四五",
      "m",
    ]]
  ) {
    const trials = trialsOf(models);
    const policy = completePolicy({ successRate: 0.6 });
    const decision = reportVerdicts("s", decideTrials(trials, planOf(trials), policy), policy);
    const report = new Report(trials, { suite: "s", gates: [decision] });
    const renders: ((width?: number) => string)[] = [
      (width) => renderGate(report, width),
      (width) => renderReport(report, width),
      (width) => renderTables(new Report(trials, { suite: "s" }), width),
    ];
    for (const render of renders) {
      const wide = render();
      for (const width of [40, 80, 120]) {
        const text = render(width);
        assertFits(text, width);
        const [missing] = numbersIn(wide.replaceAll(/\S*(?:sim:|accounts|ft:)\S*/g, ""))
          .filter((number) => !text.includes(number));
        assertEquals(missing, undefined, text);
        for (const model of models) {
          const { forms, shorten } = shortNames(models, width);
          const short = shorten(model);
          if (short === model) continue;
          assertEquals(forms.get(model), short);
          // Once as what the short form stands for, and in verdicts; broken into lines it may be in parts.
          const verdicts = decision.verdicts.filter((one) => one.model === model).length;
          assert(text.split(model).length <= 2 + verdicts, text);
          assertStringIncludes(text.replaceAll(/\s+/g, " "), short);
        }
      }
    }
    const lines = renderTables(new Report(trials, { suite: "s" }), 80).replaceAll(/\s+/g, " ");
    const { forms } = shortNames(models, 80);
    const legend = [...forms].map(([name, form]) => `${form} stands for ${name}`).join(" ");
    assert(lines.startsWith(legend), lines);
  }
});
