import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { planOfJournal, testFileOf, trialToRerun } from "../../lib/runs/rerun.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { trialId } from "../../lib/trials/trial_id.ts";
import { Folder } from "../support/folders.ts";
import { linesOf, writeJournal } from "../support/journals.ts";
import { SMALL } from "../support/suites.ts";

const { graphs: _, ...UNSIZED } = SMALL;
const PLAN = planSuite({
  ...UNSIZED,
  models: ["a", { model: "b", name: "b warm", temperature: 1, baseURL: "http://127.0.0.1:9/v1" }],
  limits: { steps: 3 },
  gate: { baseline: { model: "a" }, sequential: true },
  budget: { tokens: 1000 },
  prices: { a: { input: 1, output: 2 } },
});

Deno.test("trialToRerun() gives the planned trial, in its place", () => {
  for (const planned of PLAN.trials.slice(0, 9)) {
    assertEquals(trialToRerun(PLAN, planned.id), planned);
    assertEquals(trialToRerun(PLAN, `  ${planned.id.replaceAll(" ", "   ")}\n`), planned);
  }
});

Deno.test("trialToRerun() takes a task that the plan does not have from the id alone", () => {
  const { id: _, index: __, block: ___, ...key } = PLAN.trials[3]!;
  const other = { ...key, task: { ...key.task, seed: 4711 }, repetition: 9 };
  const id = trialId(other);
  assertEquals(trialToRerun(PLAN, id), { ...other, id, index: 0, block: 0 });
});

Deno.test("trialToRerun() refuses what is no id of this plan, and says what there is", () => {
  const { id } = PLAN.trials[0]!;
  for (
    const [text, message] of [
      ["", "Cannot run a trial again as its id must be one that journals have"],
      ["core=3", "have, from core=, set= or case= to repetition=: it is core=3"],
      [id.replace(/depth=\d+/, "depth=9"), "its id must be one that journals have"],
      [id.replace("model=a", "model=c"), "model must be one of small: it is c, and there are a, b"],
      [id.replace("strategy=plain", "strategy=x"), "strategy must be one of small: it is x"],
      [id.replace("perturbation=none", "perturbation=RD"), "perturbation must be one of small"],
    ] as const
  ) {
    assertThrows(() => trialToRerun(PLAN, text), InputError, message);
  }
});

Deno.test("planOfJournal() gives the plan that was run, with all its options", () => {
  using folder = new Folder();
  const { skipped: _, ...plan } = PLAN;
  assertEquals(planOfJournal(writeJournal(folder, PLAN, [])), plan);
});

Deno.test("planOfJournal() reads nothing but the plan", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", linesOf([planLine(PLAN), { kind: "trial" }]) + "torn");
  assertEquals(planOfJournal(path).trials, PLAN.trials);
});

Deno.test("planOfJournal() refuses a journal without a plan, and one that was changed", () => {
  using folder = new Folder();
  const line = planLine(PLAN);
  const changed = { ...line, resolved: { ...line.resolved, graphs: 1e9 } };
  for (
    const [lines, message] of [
      [[], " as the first line of a journal must be its plan: it is empty"],
      [
        [{ kind: "trial" }, line],
        ", line 1 as the first line of a journal must be its plan: it is none",
      ],
      [[changed], " as its plan must list its trials"],
    ] as const
  ) {
    const path = folder.write("a.jsonl", linesOf(lines));
    assertThrows(() => planOfJournal(path), InputError, path + message);
  }
});

Deno.test("planOfJournal() refuses tasks of another generator, whatever the line says beside its hash", () => {
  using folder = new Folder();
  const resolved = { ...PLAN.resolved, generator: 2 };
  const { skipped: _, ...plan } = PLAN;
  const line = planLine({ ...plan, resolved });
  for (const generator of [1, 2]) {
    const path = folder.write("a.jsonl", linesOf([{ ...line, generator }]));
    assertThrows(
      () => planOfJournal(path),
      InputError,
      `Cannot run a trial of ${path} as its tasks must be of generator 1: ` +
        "they are of generator 2, which a newer version of toolgate has: update toolgate",
    );
  }
});

Deno.test("planOfJournal() keeps the server of models that name none", () => {
  using folder = new Folder();
  const baseURL = "http://127.0.0.1:9/v1";
  assertEquals(planOfJournal(writeJournal(folder, { ...PLAN, baseURL }, [])).baseURL, baseURL);
});

Deno.test("planOfJournal() refuses a journal whose models or agent are code of a benchmark's file", () => {
  using folder = new Folder();
  const journal = folder.write("own.jsonl", linesOf([planLine({ ...PLAN, ownCode: true })]));
  assertThrows(
    () => planOfJournal(journal),
    InputError,
    `Cannot run a trial of ${journal} as only the file of its benchmark has its model or agent`,
  );
});

Deno.test("trialToRerun() of a journal takes no trial that its plan does not have", () => {
  const { id } = PLAN.trials[0]!;
  assertEquals(trialToRerun(PLAN, id, { strict: true }).id, id);
  const other = id.replace(/seed=\d+/, "seed=4711");
  assertEquals(trialToRerun(PLAN, other).id, other);
  assertThrows(
    () => trialToRerun(PLAN, other, { strict: true }),
    InputError,
    "it must be one of the journal's plan",
  );
});

Deno.test("testFileOf() names a test of the user's own folder, whatever a journal says", () => {
  const own = ["a_test.ts", "my tests/a'b.bench.js", "src/..test/x.tsx"];
  for (const file of own) assertEquals(testFileOf({ file }), file);
  for (
    const file of [
      ...["https://host/x_test.ts", "/tmp/x_test.ts", "../x_test.ts", "a/../../x_test.ts"],
      ...[
        "C:\\x_test.ts",
        "\\\\host\\x_test.ts",
        "--import-map=x.ts",
        "a\nb_test.ts",
        "notes.md",
        "",
      ],
      ...["jsr:@x/y_test.ts", "x_test.ts\u202e.ts"],
    ]
  ) assertEquals(testFileOf({ file }), undefined, file);
  assertEquals(testFileOf({}), undefined);
});
