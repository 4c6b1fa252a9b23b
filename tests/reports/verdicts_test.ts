// Verdicts as text, as JSON and as Markdown, and the table of the self-check.

import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { type DecidedVariant, decideTrials } from "../../lib/gate/decide_trials.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { verdictsToMarkdown as markdownOf } from "../../lib/reports/markdown.ts";
import { renderChecks, renderVerdicts as textOf } from "../../lib/reports/terminal.ts";
import {
  describeVerdict,
  reportProblem,
  reportVerdicts,
  verdictNumbers,
} from "../../lib/gate/gate_report.ts";
import { selfCheck } from "../../lib/gate/self_check.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { asJson, HOSTILE, manyRecords, planOf, records, STEERING } from "../support/records.ts";

const POLICY = completePolicy({ successRate: 0.8 });

/** The verdicts over trials of which all were planned. */
function judgedOf(trials: readonly Trial[], policy: GatePolicy = POLICY): DecidedVariant[] {
  return decideTrials(trials, planOf(trials), completePolicy(policy));
}

/** Verdicts as a view shows them. */
function renderVerdicts(judged: readonly DecidedVariant[], policy: GatePolicy): string {
  return textOf(reportVerdicts("s", judged, completePolicy(policy)));
}

/** Verdicts as they are read back from JSON. */
function verdictsToJson(
  suite: string,
  judged: readonly DecidedVariant[],
  policy: GatePolicy,
): JsonObject {
  return JSON.parse(JSON.stringify(reportVerdicts(suite, judged, completePolicy(policy))));
}

function verdictsToMarkdown(
  suite: string,
  judged: readonly DecidedVariant[],
  policy: GatePolicy,
): string {
  return markdownOf(reportVerdicts(suite, judged, completePolicy(policy)));
}

Deno.test("renderVerdicts() has one paragraph a subject, and its numbers under it", () => {
  const judged = judgedOf([...manyRecords(95, 100), ...manyRecords(9, 100, { model: "bad" })]);
  const [good, bad, ...others] = renderVerdicts(judged, POLICY).split("\n\n");
  assertMatch(good!, /^m: PASS: .*\n {2}solved: 95 of 100 .*\n {2}true rate: .*$/);
  assertMatch(bad!, /^bad: FAIL: .*\n {2}solved: 9 of 100 .*\n {2}true rate: .*$/);
  assertEquals(others, []);
});

Deno.test("renderVerdicts() names the baseline, and marks what is simulated", () => {
  const trials = ["sim:new", "sim:old"].flatMap((model) =>
    manyRecords(400, 400, { model, simulated: true })
  );
  const policy = { baseline: "sim:old" };
  const text = renderVerdicts(judgedOf(trials, policy), policy);
  assertMatch(
    text,
    /^sim:new \(simulated\): PASS: on the same graphs, .* at most 5 points below that of sim:old \(simulated\)\. /,
  );
});

Deno.test("renderVerdicts() of an invalid verdict is its reason alone, unless there is evidence", () => {
  const invalid = judgedOf(records(["invalid"], { reason: "502" }));
  assertEquals(
    renderVerdicts(invalid, POLICY),
    "m: INVALID: none of 1 planned trials is valid; most often (1 of 1) as " +
      "502.",
  );
  assertEquals(renderVerdicts([], POLICY), "");
});

Deno.test("renderVerdicts() lets no escape sequence of a baseline's name through, or of its file's", () => {
  const trials = ["m", HOSTILE].flatMap((model) => manyRecords(90, 100, { model }));
  const policy = completePolicy({ baseline: HOSTILE });
  const text = renderVerdicts(judgedOf(trials, policy), policy);
  assertStringIncludes(text, "below that of evil\\u001b[2J");
  assertNotMatch(text, STEERING);
  const gate = completePolicy({ baseline: { file: HOSTILE } });
  const baseline = { file: HOSTILE, trials: manyRecords(90, 100) };
  const judged = decideTrials(manyRecords(90, 100), planOf(manyRecords(90, 100)), gate, {
    baseline,
  });
  assertNotMatch(renderVerdicts(judged, gate), STEERING);
});

Deno.test("verdictsToJson() has the worst kind, its exit code, the whole policy and every verdict", () => {
  const judged = judgedOf([...manyRecords(95, 100), ...manyRecords(9, 100, { model: "bad" })]);
  const json = verdictsToJson("tool calling", judged, POLICY);
  const { verdicts, ...head } = json;
  assertEquals(head, {
    v: 1,
    suite: "tool calling",
    verdict: "fail",
    exitCode: 1,
    gate: { ...completePolicy(POLICY) },
  } as unknown);
  const [good] = verdicts as JsonObject[];
  const [{ verdict }] = judged as [DecidedVariant];
  const text = describeVerdict(verdict, POLICY);
  assertEquals(good as unknown, {
    model: "m",
    strategy: "plain",
    perturbation: "none",
    simulated: false,
    ...asJson(verdict),
    claim: text.match(/^PASS: (.*?\.)(?= )/)![1],
    text,
    numbers: verdictNumbers(verdict, POLICY),
  });
  assertEquals((verdicts as JsonObject[]).map(({ model, kind }) => [model, kind]), [
    ["m", "pass"],
    ["bad", "fail"],
  ]);
});

Deno.test("verdictsToJson() of no verdicts is invalid", () => {
  const { verdict, exitCode, verdicts } = verdictsToJson("s", [], POLICY);
  assertEquals([verdict, exitCode, verdicts], ["invalid", 3, []]);
});

Deno.test("verdictsToMarkdown() is a heading, and for each subject a heading, a paragraph and a list", () => {
  const judged = judgedOf([
    ...manyRecords(95, 100),
    ...records(["invalid"], { model: "none", reason: "[502](x)" }),
  ]);
  assertEquals(
    verdictsToMarkdown("tool calling", judged, POLICY).trimEnd(),
    `### tool calling: invalid

#### m

**PASS**: the true success rate is at least 75.0%, which is 80.0% less a margin of 5 points. If that were not so, the gate would pass in at most 5.0% of runs.

- solved: 95 of 100 valid trials (95.0%), 100 graphs
- true rate: at least 89.7%, at most 98.1%, each with 95.0% confidence (exact, Clopper-Pearson)

#### none

**INVALID**: none of 1 planned trials is valid; most often (1 of 1) as \\[502](x).`,
  );
});

Deno.test("reportProblem() and its Markdown are an invalid verdict over all, with the reason", () => {
  assertEquals(reportProblem("s", "shards are missing: 1/2"), {
    v: 1,
    suite: "s",
    verdict: "invalid",
    exitCode: 3,
    gate: null,
    verdicts: [],
    text: "INVALID: shards are missing: 1/2.",
  });
  assertEquals(
    markdownOf(reportProblem("<b>", "shards are missing: 1/2")),
    "### \\<b>: invalid\n\nINVALID: shards are missing: 1/2.\n",
  );
});

Deno.test("renderChecks() is a table of what was true, what may happen and what did", () => {
  const checks = selfCheck([new Array(90).fill([[true, true]])], { baseline: "itself" }, {
    gates: 50,
  });
  const [header, alike, worse, ...others] = renderChecks(checks).split("\n");
  assertMatch(
    header!,
    /^truth +error +allowed +seen +95% interval +pass +fail +undecided +invalid$/,
  );
  assertMatch(alike!, /^the two are alike +fail +5\.0% +0\.0% +0\.0% to 7\.1% +50 +0 +0 +0$/);
  assertMatch(worse!, /^the candidate is worse by the margin +pass +5\.0% /);
  assertEquals(others, []);
});
