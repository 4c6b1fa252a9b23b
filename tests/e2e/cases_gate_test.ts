// Gates over the cases of own tests as users meet them, in child processes: `deno test` in a folder of its own, and
// `gate` and `report` over a journal.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno, folder, ROOT, unwrapped } from "../support/child.ts";
import { casePlan, caseTrials, FORBIDDEN, WRONG } from "../support/case_suites.ts";
import { toolgates } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";

/**
 * Tests with gates of their own: `every` out of reach, reached and missed, and a ceiling on times that is exceeded; and a
 * suite with a case that never works.
 */
const TESTS = `
import { assertAnswer, scripted, tool, toolSuite, toolTest } from "${ROOT}/mod.ts";
const look = tool({ name: "look", description: "Looks", parameters: { type: "object" }, returns: 1 });
const ok = scripted("ok", () => ({ text: "yes" }));
let asked = 0;
const moody = scripted("moody", () => ({ text: asked++ % 2 === 0 ? "yes" : "no" }));
const slow = scripted("slow", async () => {
  await new Promise((resolve) => setTimeout(resolve, 30));
  return { text: "yes" };
});
const options = { tools: [look], prompt: "Well?", assert: (run) => assertAnswer(run, /yes/) };
toolTest("few", { ...options, model: ok, trials: 10, gate: { every: 0.9 } });
toolTest("good", { ...options, model: ok, trials: 29, gate: { every: 0.9 } });
toolTest("half", { ...options, model: moody, trials: 40, gate: { every: 0.9 } });
toolTest("slow", {
  ...options,
  model: slow,
  trials: 10,
  gate: { successRate: 0.5, atMost: { p95Seconds: 0.01 } },
});
const test = toolSuite("support", { model: ok, tools: [look], trials: 20, gate: { successRate: 0.5, every: 0.8 } });
test("agrees", { prompt: "Yes?", assert: options.assert });
test("refuses", { prompt: "No?", assert: (run) => assertAnswer(run, /no/) });
test("agrees again", { prompt: "Yes?", assert: options.assert });
`;

Deno.test("deno test decides on every case, refuses a floor out of reach, and bounds times", async () => {
  await using place = await folder();
  place.write("own_test.ts", TESTS);
  const { code, all } = await deno(
    ["test", "-A", "--no-check", `--config=${ROOT}/deno.json`, "own_test.ts"],
    { cwd: place.path },
  );
  assertEquals(code, 1, all);
  const text = unwrapped(all);
  for (
    const line of [
      "gate.every 0.9 takes at least 29 trials of each case, all of them solved, to be proved with 95.0% " +
      "confidence: there are 10",
      'ok (simulated): PASS: the case "good" has a true success rate of at least 90.0%.',
      'moody (simulated): FAIL: the case "half" has a true success rate below 90.0%.',
      "slow (simulated): FAIL: the 95th percentile of a trial's seconds is above its ceiling of 0.01: it was 0.0",
      'ok (simulated): FAIL: the case "refuses" has a true success rate below 80.0%.',
      "each case at least 80.0%: 2 of 3 proved, 1 proved to be below, 0 open",
      "support: each of 3 cases is proved to reach 80.0% if none of its 20 trials fails",
    ]
  ) assertStringIncludes(text, line, all);
});

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
