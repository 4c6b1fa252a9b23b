// Gates over the cases of own tests, in `gate` and `report` over a journal.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { folder, unwrapped } from "../support/child.ts";
import { casePlan, caseTrials, FORBIDDEN, WRONG } from "../support/case_suites.ts";
import { toolgates } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";

Deno.test("gate and report tell of changed cases, and of calls that must not happen", async () => {
  await using place = await folder();
  const plan = casePlan({ baseline: "old", margin: 0.1, every: 0.5 }, 12, 20);
  const trials = caseTrials(plan, (name, trial, model) => {
    if (model === "old") return {};
    if (name === "case 7") return trial === 3 ? FORBIDDEN : WRONG;
    return trial === 1 ? WRONG : {};
  });
  place.write("a.jsonl", linesOf([planLine(plan), ...trials]));
  const [text, json, report] = await toolgates([
    ["gate", place.file("a.jsonl")],
    ["gate", place.file("a.jsonl"), "--json"],
    ["report", place.file("a.jsonl"), "--html", place.file("a.html")],
  ]);
  assertEquals([text!.code, json!.code, report!.code], [1, 1, 0], text!.all + report!.all);
  const LINES = [
    'FAIL: a call that must not happen in any trial was made in trial 3 of the case "case 7". Without that ' +
    "it would fail as well.",
    "each case at least 50.0%: 11 of 12 proved, 1 proved to be below, 0 open",
    "cases that changed against the baseline: 12 of 12; proved: 1, all together with 95.0% confidence",
    '"case 7": from 100.0% to 0.0%, -100 points (-100 to -77.2), proved',
    "and 2 more cases",
  ];
  for (const line of LINES) assertStringIncludes(unwrapped(text!.stdout), line);
  const [verdict] = JSON.parse(json!.stdout).verdicts;
  assertEquals([verdict.kind, verdict.otherwise, verdict.never.length], ["fail", "fail", 1]);
  assertEquals([verdict.cases.length, verdict.changed.changed.length], [12, 12]);
  const page = Deno.readTextFileSync(place.file("a.html")).replaceAll("&#34;", '"')
    .replaceAll(/\s+/g, " ");
  for (const line of LINES.slice(1)) assert(page.includes(line), line);
});

Deno.test("plan --cases sizes gates over cases in trials of each", async () => {
  const [text, json, alone] = await toolgates([
    ["plan", "--cases", "12", "--every", "0.9"],
    ["plan", "--cases", "12", "--json"],
    ["plan", "--every", "0.9"],
  ]);
  assertEquals([text!.code, json!.code, alone!.code], [0, 0, 2], text!.all);
  assertStringIncludes(
    text!.stdout,
    "Of own tests, with 12 cases, trials of each:\n" +
      "  absolute gate, fixed size            63\n" +
      "  upgrade gate, fixed size             73\n" +
      "  to prove a complete change of one    6\n" +
      "  every case at 90.0%                  29 if all are solved; 89 for cases at 99.0% to pass with 95.0%",
  );
  const { sizes, cases } = JSON.parse(json!.stdout);
  assertEquals(cases, { cases: 12, absolute: 63, paired: 73, changed: 6 });
  assertEquals(Math.ceil(sizes.absolute / 12), 63);
  assertStringIncludes(alone!.stderr, "--every goes with --cases");
});
