// What a verdict says of its run beside its numbers: tests that were skipped, times that do not fit, judges.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Remark } from "../../lib/gate/gate_report.ts";
import { casePlan, caseTrials } from "../support/case_suites.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";
import { endLine, writeJournal } from "../support/journals.ts";
import type { TrialTraits } from "../support/records.ts";

const PLAN = casePlan({ successRate: 0.5, margin: 0.2 }, 1, 30, { models: ["m"] });
const judged = (model: string, served: string): TrialTraits => ({
  judging: {
    model: { requested: model, served: [served], simulated: false },
    usage: { inputTokens: 1, outputTokens: 1 },
  },
});
const at = (time: number): TrialTraits => ({ startedAt: new Date(time).toISOString() });
const DAY = 86_400_000;

const RUNS: [
  what: string,
  traits: (trial: number) => TrialTraits,
  about: Remark["about"] | undefined,
  text: RegExp,
][] = [
  ["a run of one day", (trial) => at(Date.now() - DAY + trial), undefined, /^$/],
  [
    "trials of different days",
    (trial) => at(Date.now() - (trial === 3 ? 3 : 1) * DAY),
    "times",
    /^The trials are more than a day apart: the first began at 20\S+, the last at 20\S+$/,
  ],
  [
    "a trial of tomorrow",
    (trial) => at(Date.now() + (trial === 3 ? DAY : 0)),
    "times",
    /^A trial began at 20\S+, and it is 20\S+: one of two clocks is wrong$/,
  ],
  [
    "a judge of the same name",
    (trial) => trial === 3 ? judged("m", "other") : {},
    "judge",
    /^Models judged their own answers: m$/,
  ],
  [
    "a judge that is the same model under another name",
    (trial) => ({ served: "m-2026", ...judged("alias", trial === 3 ? "m-2026" : "other") }),
    "judge",
    /^Models judged their own answers: m$/,
  ],
  ["another judge", () => judged("j", "j-1"), undefined, /^$/],
];

for (const [what, traits, about, text] of RUNS) {
  Deno.test(`a verdict says what must be known of its run: ${what}`, async () => {
    using folder = new Folder();
    const trials = caseTrials(PLAN, (_, trial) => ({ ...at(Date.now()), ...traits(trial) }));
    const journal = writeJournal(folder, PLAN, [...trials, endLine(trials.length)]);
    const { code, stdout, all } = await toolgate(["gate", journal, "--json"]);
    const { remarks = [], verdicts: [verdict] } = JSON.parse(stdout);
    assertEquals([code, remarks[0]?.about], [0, about], all);
    if (about === undefined) return;
    assertMatch(remarks[0].text, text);
    assertStringIncludes(verdict.text, ` ${remarks[0].text}.`);
  });
}

Deno.test("a verdict says which tests were skipped, in its text and in its JSON", async () => {
  using folder = new Folder();
  const plan = { ...PLAN, leftOut: { skipped: ["hard"], refused: [] } };
  const journal = writeJournal(folder, plan, [...caseTrials(plan), endLine(plan.trials.length)]);
  const { stdout, all } = await toolgate(["gate", journal, "--json"]);
  const { remarks, verdicts: [{ text }] } = JSON.parse(stdout);
  const [remark] = remarks.filter(({ about }: Remark) => about === "skipped");
  assertEquals(remark.text, "1 test is skipped and not decided on: hard", all);
  assertStringIncludes(text, ` ${remark.text}.`);
});
