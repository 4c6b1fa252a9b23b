// Which questions a suite asks, and what suites of questions cannot have.

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { comparisonHash, planHash } from "../../lib/runs/resolved_suite.ts";
import { isQuestion } from "../../lib/tasks/task_kind.ts";
import { questionSource, withCallSets } from "../../lib/runs/question_tasks.ts";
import { planOfJournal } from "../../lib/runs/rerun.ts";
import { Run } from "../../lib/runs/run.ts";
import { SUITE } from "../../lib/runs/suite.ts";
import { parseTrialId, trialId } from "../../lib/trials/trial_id.ts";
import { CITY, CITY_PATH, cityPlan, citySuite, writing } from "../support/call_sets.ts";
import { Folder } from "../support/folders.ts";

const questionsOf = (plan: ReturnType<typeof cityPlan>) =>
  plan.trials.map(({ task }) => isQuestion(task) ? task.question : "");

Deno.test("questionSource() asks every question once in each way", () => {
  assertEquals(questionsOf(cityPlan()), CITY.questions.map(({ id }) => id));
  const ways = cityPlan({ mode: ["parameters", "routing", "tools"], output: ["json", "yaml"] });
  // Names have no other form, and calls that are made have none at all.
  assertEquals(ways.trials.length, (2 + 1 + 1) * CITY.questions.length);
  assertEquals(new Set(ways.trials.map(({ id }) => id)).size, ways.trials.length);
  for (const { id, model, strategy, perturbation, task, repetition } of ways.trials) {
    const key = { model, strategy, perturbation, task, repetition };
    assertEquals(parseTrialId(id), key);
    assertEquals(trialId(key), id);
  }
});

Deno.test("questionSource() chooses by difficulty and domain, and draws samples by the seed (CallNavi 4.1)", () => {
  const [domain] = CITY.domains.keys();
  const chosen = questionsOf(cityPlan({ difficulty: "easy", domain: domain! }));
  assertEquals(
    chosen,
    CITY.questions.filter((question) =>
      question.domain === domain && question.difficulty === "easy"
    )
      .map(({ id }) => id),
  );
  const sample = (seed: number) => questionsOf(cityPlan({ sample: 1 }, { seed }));
  assertEquals(sample(1).length, 3);
  assertEquals(sample(1), sample(1));
  assert([2, 3, 4, 5, 6].some((seed) => `${sample(seed)}` !== `${sample(1)}`));
});

Deno.test("a fresh seed is drawn only where something is drawn", () => {
  assertEquals(cityPlan({}, { seed: "fresh" }).resolved.seed, 0);
  assertNotEquals(cityPlan({ sample: 1 }, { seed: "fresh" }).resolved.seed, 0);
});

Deno.test("plans know what the sets hold: the hash covers it, and not where they lie", () => {
  using folder = new Folder();
  const copy = folder.file("city.jsonc");
  Deno.writeTextFileSync(copy, Deno.readTextFileSync(`${CITY_PATH}.jsonc`));
  const own = cityPlan({ set: copy });
  assertEquals(Object.keys(own.resolved.sets!), ["city"]);
  assertEquals(own.places, { city: copy });
  Deno.writeTextFileSync(copy, Deno.readTextFileSync(copy).replaceAll("Tides of Ink", "Tides"));
  const changed = cityPlan({ set: copy });
  assertNotEquals(planHash(changed), planHash(own));
  assertNotEquals(comparisonHash(changed), comparisonHash(own));
  const plan = cityPlan({}, { judge: "judge" });
  assertNotEquals(planHash(plan), planHash(cityPlan()));
  assertEquals(comparisonHash(plan), comparisonHash(cityPlan()));
});

Deno.test("planSuite() refuses what questions cannot have", () => {
  const gate = { successRate: 0.5 };
  for (
    const [entry, others, message] of [
      [{}, { graphs: 3 }, "a call set has a fixed number of questions: graphs is 3"],
      [{}, { gate: { ...gate, sequential: true } }, "leave out sequential"],
      [{ mode: ["parameters", "routing"] }, { gate }, "asked in one way"],
      [{ output: ["json", "yaml"] }, { gate }, "asked in one way"],
      [{}, { perturbations: ["none", "RP_F"] }, "the perturbation is RP_F"],
      [
        {},
        { strategies: ["restate"] },
        "the strategy restate changes calls, and in mode parameters",
      ],
      [
        { mode: "routing" },
        { strategies: ["indirection+repair"] },
        "none are made: take mode tools",
      ],
      [{}, { strategies: ["explanation"] }, "the strategy explanation changes calls, and in mode"],
      [{ domain: "moon" }, {}, "there is no domain moon: there are"],
      [{ domain: [], difficulty: "hard" }, {}, "it has none"],
      [{ set: "/nowhere" }, {}, "/nowhere"],
    ] as const
  ) {
    assertThrows(() => cityPlan(entry, others), InputError, message);
  }
  cityPlan({ mode: "tools" }, { strategies: ["restate", "indirection", "explanation"] });
  const grid = { core: 3, depth: 2 };
  const mixed = citySuite({}, { tasks: [{ set: CITY_PATH }, grid] });
  assertThrows(() => cityPlan({}, { tasks: mixed.tasks }), InputError, "suites of their own");
  assertThrows(
    () => questionSource([{ set: CITY_PATH }, { set: `${CITY_PATH}.jsonc` }], (path) => path),
    InputError,
    "their names must differ: both are called city",
  );
});

Deno.test("SUITE tells what is wrong with the entry of a set or a judge", () => {
  for (
    const [entry, message] of [
      [{ tasks: [{ set: CITY_PATH, mode: "paramters" }] }, /mode/],
      [{ tasks: [{ set: CITY_PATH, sample: 0 }] }, /sample/],
      [{ tasks: [{ set: CITY_PATH, graphs: 2 }] }, /graphs/],
      [{ judge: { model: "x", prompt: "no words" } }, /\{predicted\} and \{truth\}/],
    ] as const
  ) {
    const { error } = SUITE.safeParse({ ...citySuite(), ...entry });
    assert(message.test(JSON.stringify(error?.issues)), JSON.stringify(error?.issues));
  }
});

Deno.test("a journal of questions is continued, run again, and refused once its set has changed", async () => {
  using folder = new Folder();
  const copy = folder.file("city.jsonc");
  const whole = Deno.readTextFileSync(`${CITY_PATH}.jsonc`);
  Deno.writeTextFileSync(copy, whole);
  const journal = folder.file("city.jsonl");
  const plan = cityPlan({ set: copy }, { judge: "judge" });
  let asked = 0;
  const connect = () =>
    writing((truth) => {
      asked++;
      return truth;
    });
  {
    using run = new Run(plan, { connect, journal, concurrency: 1 });
    await run.trial(0);
    await run.trial(1);
  }
  const before = asked;
  {
    using run = new Run(plan, { connect, journal, resume: true });
    assertEquals(run.resumed >= 2, true);
    const trials = await run.all();
    assertEquals(trials.filter(({ outcome }) => outcome === "invalid"), []);
    assertEquals(trials.length, CITY.questions.length);
  }
  assert(asked > before);
  const kept = planOfJournal(journal);
  assertEquals(kept.resolved, plan.resolved);
  assertEquals(kept.callSets?.map(({ name }) => name), ["city"]);
  using again = new Run(kept, { connect, only: [kept.trials[3]!] });
  assertEquals((await again.trial(0)).kind, "trial");

  Deno.writeTextFileSync(copy, whole.replaceAll("Tides of Ink", "Tides"));
  assertThrows(() => planOfJournal(journal), InputError, "it has changed");
  const moved = { ...kept, places: {} };
  assertThrows(() => withCallSets(moved), InputError, "must have its path");
  assertEquals(planLine(plan).places, { city: copy });
});
