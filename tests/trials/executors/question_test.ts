// Questions of call sets through the loop: every mode and form, what a model sees, how it is scored.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stringify as writeYaml } from "@std/yaml";
import type { Model, ModelRequest } from "../../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { Spending } from "../../../lib/models/prices.ts";
import { Run } from "../../../lib/runs/run.ts";
import type { QuestionSet, Suite } from "../../../lib/runs/suite.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { planSuite } from "../../../lib/runs/plan.ts";
import { questionSource } from "../../../lib/runs/question_tasks.ts";
import { QUESTION_SETS } from "../../../lib/reports/metrics/_question_sets.ts";
import { Report } from "../../../lib/reports/report.ts";
import {
  askedIn,
  calling,
  CITY,
  cityPlan,
  citySuite,
  UNKNOWN,
  writing,
} from "../../support/call_sets.ts";
import { ROOT } from "../../support/child.ts";
import { truthModel } from "../../support/truth_scores.ts";
import { Folder } from "../../support/folders.ts";
import { Connections } from "../../../lib/models/connect.ts";
import { QuestionExecutor } from "../../../lib/trials/executors/question.ts";
import { loadCallSet } from "../../../lib/tasks/questions/load.ts";
import { forever } from "../../support/strategy_runs.ts";

async function runAll(
  model: Model,
  entry: Partial<QuestionSet> = {},
  others: Partial<Suite> = {},
): Promise<Trial[]> {
  const plan = cityPlan(entry, others);
  using run = new Run(plan, { connect: ({ model: name }) => name === "m" ? model : JUDGE });
  return await run.all();
}

const JUDGE = scripted("judge", [{
  text: "[[0.750]]",
  usage: { inputTokens: 7, outputTokens: 3 },
}]);

const scoredIn = (trial: Trial) => summarize(trial).scored!;

Deno.test("a model that writes the truth solves every question, in JSON and in YAML (CallNavi E.4)", async () => {
  const asked: ModelRequest[] = [];
  const model = writing((truth, request) => {
    asked.push(request);
    const prompt = request.messages[0]!.content;
    return /YAML style/i.test(prompt) ? writeYaml(JSON.parse(truth)) : truth;
  });
  const trials = await runAll(model, { input: ["json", "yaml"], output: ["json", "yaml"] });
  assertEquals(trials.length, 4 * CITY.questions.length);
  for (const trial of trials) {
    assertEquals([trial.id, trial.outcome], [trial.id, "solved"]);
    const right = { syntaxValid: true, structural: true, exact: true, routingExact: true };
    assertEquals(scoredIn(trial).scores, right);
    assertEquals([trial.grounded, trial.calls], [true, 0]);
  }
  // Nothing can be called, and the prompt has all functions of the domain.
  assert(asked.every(({ tools }) => tools.length === 0));
  for (const request of asked) {
    const prompt = request.messages[0]!.content;
    for (const { name } of CITY.domains.get(askedIn(request).domain)!) {
      assertStringIncludes(prompt, name);
    }
    assertStringIncludes(prompt, '"$$$"');
  }
});

Deno.test("names alone are scored in mode routing (CallNavi 6.3)", async () => {
  const model = writing((truth) => `['${JSON.parse(truth).API.join("', '")}']`);
  for (const trial of await runAll(model, { mode: "routing" })) {
    assertEquals(trial.outcome, "solved");
    const { scores } = scoredIn(trial);
    assertEquals([scores.routingExact, scores.exact, scores.syntaxValid], [true, null, null]);
  }
  const [first] = await runAll(writing(() => "['noSuchThing']"), { mode: "routing" });
  assertEquals(first!.outcome, "wrong_answer");
  assertEquals(scoredIn(first!).errors, ["hallucination"]);
});

Deno.test("calls that are made are scored in mode tools, and held against the true ones", async () => {
  const trials = await runAll(calling(), { mode: "tools" });
  for (const trial of trials) {
    assertEquals([trial.id, trial.outcome], [trial.id, "solved"]);
    assertEquals(trial.calls, trial.minimumCalls);
    assertEquals(trial.failures, []);
    assertEquals(trial.oracle, "truth");
    assertEquals(trial.behaviours, ["silent"]);
    // What a function returns is not known, and says so.
    for (const { result } of callsOf(trial.events)) {
      assert(Object.values(JSON.parse(result)).every((value) => value === UNKNOWN), result);
    }
  }
});

Deno.test("right calls that an agent did not carry out answer no question in mode tools", async () => {
  const question = CITY.questions.find(({ truth }) => truth.API.length > 0)!;
  const endingOf = async (traits: { agentDid?: "not_run" }) => {
    using asked = new QuestionExecutor(CITY, {
      ...{ set: CITY.name, question: question.id, difficulty: "easy", mode: "tools" },
    });
    const { API, parameters } = question.truth;
    await asked.execute(API.map((name, place) => ({
      ...{ id: `${place}`, name, arguments: JSON.stringify(parameters[place] ?? {}), ...traits },
    })));
    const usage = { inputTokens: 0, outputTokens: 0 };
    const { outcome } = await asked.answer("", undefined, { messages: [], usage, durationMs: 0 });
    return outcome;
  };
  assertEquals(await endingOf({}), "solved");
  assertEquals(await endingOf({ agentDid: "not_run" }), "no_answer");
});

Deno.test("a model that calls nothing in mode tools has not answered; one that never stops is stopped", async () => {
  const [mute] = await runAll(scripted("m", [{ text: "No idea." }]), { mode: "tools" });
  assertEquals([mute!.outcome, mute!.behaviours], ["no_answer", ["aversion"]]);
  const name = CITY.domains.get(CITY.questions[0]!.domain)![0]!.name;
  const loop = scripted("m", forever({ calls: [{ name, arguments: {} }] }));
  const [endless] = await runAll(loop, { mode: "tools" });
  assertEquals([endless!.outcome, endless!.calls], ["call_limit", 2 * endless!.minimumCalls!]);
});

Deno.test("answers that cannot be read are told with their error classes", async () => {
  const fenced = "```json\n";
  const model = writing((truth) => `${fenced}${truth}\n\`\`\``);
  for (const rule of ["published", "strict"] as const) {
    for (const trial of await runAll(model, { rule })) {
      const isForgiven = rule === "published";
      assertEquals(trial.solved, isForgiven);
      assertEquals(scoredIn(trial).errors, isForgiven ? [] : ["unexpected_formatting"]);
    }
  }
  const [silent] = await runAll(scripted("m", [{ text: " " }]));
  assertEquals(silent!.outcome, "no_answer");
});

Deno.test("strategy repair sends back what cannot be read, and keeps what it was (CallNavi 5.1)", async () => {
  let asked = 0;
  const model = writing((truth, { messages }) => {
    const last = messages.at(-1)!.content;
    if (!last.startsWith("The following answer cannot be read")) return truth.slice(0, -1);
    asked++;
    assertStringIncludes(last, truth.slice(0, -1));
    assertStringIncludes(messages[0]!.content, "API list start");
    return truth;
  });
  const trials = await runAll(model, {}, { strategies: ["plain", "repair"] });
  for (const trial of trials) {
    const { scores, unrepaired } = scoredIn(trial);
    const isRepaired = trial.strategy === "repair";
    assertEquals([trial.solved, scores.exact], [isRepaired, isRepaired]);
    assertEquals(unrepaired?.syntaxValid, isRepaired ? false : undefined);
    assertEquals(summarize(trial).work?.mended, isRepaired ? 1 : undefined);
  }
  assertEquals(asked, CITY.questions.length);
});

Deno.test("what cannot be repaired stays what it was, after as many attempts as are set", async () => {
  const model = writing(() => "{ no JSON");
  const [trial] = await runAll(model, {}, { strategies: [{ strategy: "repair", attempts: 3 }] });
  const { scores, unrepaired } = scoredIn(trial!);
  assertEquals([scores.syntaxValid, unrepaired], [false, undefined]);
  const repair = trial!.events.find((event) => event.kind === "repair");
  assertEquals([repair?.attempts, repair?.repaired], [3, undefined]);
});

/** Infers the right list, and says something else when it is asked anything more. */
function inferring(write: (list: string) => string = (list) => `${list} <!stop>`): Model {
  return writing((truth, { messages }) => {
    const last = messages.at(-1)!.content;
    const isListing = last.includes("correct last one task API name") ||
      last.includes("fill in the missing information");
    return isListing ? write(truth) : "I was asked once more.";
  });
}

Deno.test("backward scores the last list of calls, and asks nothing after it (CallNavi 7.2, B.3)", async () => {
  const strategies = ["backward"];
  for (const mode of ["parameters", "routing"] as const) {
    for (const output of mode === "routing" ? ["json"] as const : ["json", "yaml"] as const) {
      for (const rule of ["published", "strict"] as const) {
        const trials = await runAll(inferring(), { mode, output, rule }, { strategies });
        for (const trial of trials) {
          assertEquals([trial.id, trial.outcome], [trial.id, "solved"]);
          assertEquals(trial.events.filter(({ kind }) => kind === "reply").length, 1);
        }
      }
    }
  }
  // A list in a form that nobody asked for is no better than an answer in it.
  const noted = inferring((list) => `${list}\n(I assume so.) <!stop>`);
  for (const trial of await runAll(noted, {}, { strategies })) {
    assertEquals(trial.outcome, "wrong_answer");
    assertEquals(scoredIn(trial).scores.syntaxValid, false);
    assertEquals(scoredIn(trial).errors, ["unexpected_formatting"]);
  }
});

Deno.test("backward without a list asks the question, and hands its list on to a strategy within", async () => {
  const mute = writing((truth, { messages }) =>
    messages.at(-1)!.content.includes("correct last one task API name") ? "<!stop>" : truth
  );
  for (const trial of await runAll(mute, {}, { strategies: ["backward"] })) {
    assert(trial.solved, trial.id);
  }
  for (const trial of await runAll(inferring(), {}, { strategies: ["backward+plan_then_call"] })) {
    assertEquals(trial.outcome, "wrong_answer");
    assertEquals(scoredIn(trial).output, "I was asked once more.");
  }
});

Deno.test("repair within backward mends a list that cannot be read", async () => {
  const broken = writing((truth, { messages }) => {
    const last = messages.at(-1)!.content;
    return last.startsWith("The following answer cannot be read") ? truth : `${truth}] <!stop>`;
  });
  for (const strategy of ["backward+repair", "repair+backward"]) {
    for (const trial of await runAll(broken, {}, { strategies: [strategy] })) {
      assertEquals([trial.strategy, trial.outcome], [strategy, "solved"]);
      assertEquals(scoredIn(trial).unrepaired?.syntaxValid, false);
    }
  }
});

Deno.test("route_then_fill tells of the functions only that were picked (CallNavi 7.1)", async () => {
  const prompts: string[] = [];
  const model = writing((truth, { messages }) => {
    const last = messages.at(-1)!.content;
    if (last.includes("the correct API names to call")) return `['${JSON.parse(truth).API[0]}']`;
    prompts.push(last);
    return truth;
  });
  const plan = cityPlan({ difficulty: "easy" }, { strategies: ["route_then_fill"] });
  using run = new Run(plan, { connect: () => model, concurrency: 1 });
  const trials = await run.all();
  for (const [place, trial] of trials.entries()) {
    const question = CITY.questions.find(({ id }) =>
      "question" in trial.task && id === trial.task.question
    )!;
    const told = CITY.domains.get(question.domain)!
      .filter(({ name }) => prompts[place]!.includes(`"${name}"`)).map(({ name }) => name);
    assertEquals(told, question.truth.API.slice(0, 1));
  }
});

Deno.test("a judge says how alike answer and truth are, at its own expense (CallNavi 5.2)", async () => {
  const model = writing((truth) => ({
    text: truth,
    usage: { inputTokens: 100, outputTokens: 10 },
  }));
  const trials = await runAll(model, {}, { judge: "judge" });
  for (const trial of trials) {
    assertEquals(scoredIn(trial).judged, { score: 0.75, simulated: true });
    // The tokens of the judge are kept, and are none of the model's.
    assertEquals(trial.judging?.model, { requested: "judge", served: ["judge"], simulated: true });
    assertEquals(trial.judging?.usage, { inputTokens: 7, outputTokens: 3 });
    assertEquals(trial.usage, { inputTokens: 100, outputTokens: 10 });
    assertEquals(trial.stages, undefined);
    const spending = new Spending({ tokens: 120 });
    spending.add(summarize(trial));
    assertMatch(spending.reached!, /120 tokens/);
  }
});

Deno.test("a judge that gives no score, or cannot be asked, spoils nothing", async () => {
  const broken: Model = {
    name: "judge",
    simulated: true,
    reply: () => Promise.reject(new Error("it is gone")),
  };
  for (
    const [judge, why] of [[scripted("judge", [{ text: "9" }]), /no score/], [
      broken,
      /gone/,
    ]] as const
  ) {
    const plan = cityPlan({}, { judge: "judge" });
    using run = new Run(plan, {
      connect: ({ model }) => model === "judge" ? judge : writing((truth) => truth),
    });
    for (const trial of await run.all()) {
      assertEquals(trial.outcome, "solved");
      const { score, why: told } = scoredIn(trial).judged!;
      assertEquals(score, null);
      assertMatch(told!, why);
    }
  }
});

Deno.test("a perturbation changes the functions that are told of, and the question", async () => {
  const seen = new Map<string, string>();
  const model = writing((truth, { messages, context }) => {
    seen.set(context.trial, messages[0]!.content);
    return truth;
  });
  const perturbations = ["none", "WT", "reorder"];
  const trials = await runAll(model, { difficulty: "easy" }, { perturbations });
  for (const trial of trials.filter(({ perturbation }) => perturbation !== "none")) {
    const plain = trial.id.replace(`perturbation=${trial.perturbation}`, "perturbation=none");
    const isSame = seen.get(trial.id) === seen.get(plain);
    assertEquals(isSame, trial.changed === false, trial.id);
    // The truth is held against what the model says, whatever it was shown.
    assert(trial.solved);
  }
  assert(trials.some(({ perturbation, changed }) => perturbation === "WT" && changed !== false));
});

Deno.test("a judge of names is handed names alone", async () => {
  const asked: string[] = [];
  const judge = scripted("judge", ({ messages }) => {
    asked.push(messages[0]!.content);
    return { text: "[[1]]" };
  });
  const plan = cityPlan({ mode: "routing", difficulty: "easy" }, { judge: "judge" });
  using run = new Run(plan, {
    connect: ({ model }) => model === "judge" ? judge : writing((truth) => truth),
    concurrency: 1,
  });
  for (const trial of await run.all()) {
    const { API } = trial.events.find((event) => event.kind === "scored")!.truth;
    assertStringIncludes(asked.shift()!, `ground truth JSON======\n${JSON.stringify(API)}\n`);
  }
});

Deno.test("functions whose names providers refuse are called by others, and are right all the same", async () => {
  const functions = [
    { name: "user.get", description: "Gets a user", parameters: ["id"] },
    { name: "user.drop", description: "Drops a user", parameters: ["id"] },
  ];
  const questions = [{
    id: "u1",
    question: "Who is user 7?",
    calls: [{ function: "user.get", arguments: { id: "7" } }],
  }];
  using folder = new Folder();
  const path = folder.write(
    "users.jsonc",
    JSON.stringify({ name: "users", functions: { users: functions }, questions }),
  );
  const { tasks } = citySuite({ set: path, mode: "tools" });
  const suite = citySuite({}, { tasks, strategies: ["plain", "restate"] });
  const plan = planSuite(suite, { tasks: questionSource(tasks, (own) => own)! });
  const model = scripted(
    "m",
    ({ messages, tools }) =>
      messages.some(({ role }) => role === "tool")
        ? { text: "Done." }
        : { calls: [{ name: tools[0]!.name, arguments: { id: "7" } }] },
  );
  using run = new Run(plan, { connect: () => model });
  for (const trial of await run.all()) {
    assertEquals([trial.outcome, trial.behaviours], ["solved", ["silent"]]);
    assert(callsOf(trial.events).every(({ parameters }) => parameters === undefined));
  }
});

Deno.test("a document perturbation leaves the functions that it does not change as they are", async () => {
  const prompts = new Map<string, string>();
  const model = writing((truth, { messages, context }) => {
    prompts.set(context.trial, messages[0]!.content);
    return truth;
  });
  const trials = await runAll(model, {}, { perturbations: ["none", "CO"] });
  const listed = (prompt: string) =>
    JSON.parse(/API list start=+\n(.*?)\n=+API list end/s.exec(prompt)![1]!) as { name: string }[];
  for (const trial of trials.filter(({ perturbation }) => perturbation === "CO")) {
    const plain = prompts.get(trial.id.replace("perturbation=CO", "perturbation=none"))!;
    const [before, after] = [listed(plain), listed(prompts.get(trial.id)!)];
    for (const [place, document] of after.entries()) {
      assertEquals(Object.keys(document), Object.keys(before[place]!));
      const { parameters } = document as { parameters?: object };
      if (Object.keys(parameters ?? {}).length > 1) continue;
      assertEquals(JSON.stringify(document), JSON.stringify(before[place]));
    }
  }
});

Deno.test("the right functions and arguments with a wrong value are structural, and not exact (CallNavi 5.1)", async () => {
  const model = writing((truth) => {
    const { API, parameters: [first, ...rest] } = JSON.parse(truth);
    const [name] = Object.keys(first);
    return JSON.stringify({ API, parameters: [{ ...first, [name!]: "another" }, ...rest] });
  });
  const question = "lib01";
  const trials = (await runAll(model, {})).filter(({ task }) =>
    "question" in task && task.question === question
  );
  const [trial] = trials;
  assertEquals([trials.length, trial!.outcome, trial!.solved, trial!.grounded], [
    ...[1, "wrong_answer", false, false],
  ]);
  const right = { syntaxValid: true, structural: true, routingExact: true };
  assertEquals(scoredIn(trial!).scores, { ...right, exact: false });
  assertEquals(scoredIn(trial!).errors, ["logical_error"]);
  const report = new Report(trials.map(summarize), { suite: "city" });
  const [{ syntax_all, structure_all }, { exact_easy }] = QUESTION_SETS.slice(0, 2)
    .map(({ records }) => records(report)[0]!) as [Record<string, number>, Record<string, number>];
  assertEquals([syntax_all, structure_all, exact_easy], [1, 1, 0]);
});

const PARCELS = `${ROOT}/fixtures/call_sets/parcels.jsonc`;

/** Lets a model work on the questions of the set whose calls have declared results. */
async function runParcels(model: Model, entry: Partial<QuestionSet> = {}): Promise<Trial[]> {
  const tasks = [{ set: PARCELS, mode: "tools" as const, ...entry }];
  const suite = { name: "parcels", seed: 1, tasks, models: ["m"] };
  const plan = planSuite(suite, { tasks: questionSource(tasks, (own) => own)! });
  using run = new Run(plan, { connect: () => model });
  return await run.all();
}

/** A clerk who knows what to call, and takes what it does not know from the last result. */
function clerk(change: (value: string) => string = (value) => value): Model {
  return scripted("m", ({ messages }) => {
    const made = messages.flatMap((message) => message.role === "tool" ? [message.content] : []);
    const told = /"(?:customerId|parcelId)":"([^"]+)"/.exec(made.at(-1) ?? "")?.[1] ?? "?";
    const isAsking = messages[0]!.content.includes("on its way to me");
    const calls: ScriptedReply["calls"] = [
      { name: "findCustomer", arguments: { phone: "0660 4412" } },
      { name: "listParcels", arguments: { customerId: change(told) } },
      { name: "getParcel", arguments: { parcelId: told } },
    ];
    return isAsking && made.length < 3 ? { calls: [calls[made.length]!] } : { text: "Done." };
  });
}

Deno.test("calls that are made return declared results, and values taken from them are judged in later calls (CallNavi, Limitations)", async () => {
  const solved = (await runParcels(clerk())).find(({ task }) =>
    "question" in task && task.question === "par3"
  )!;
  assertEquals([solved.outcome, solved.failures], ["solved", []]);
  assertEquals(callsOf(solved.events).map(({ arguments: given, result }) => [given, result]), [
    ['{"phone":"0660 4412"}', '{"customerId":"C-208"}'],
    ['{"customerId":"C-208"}', '{"parcels":[{"parcelId":"P-9054","from":"Tailor Novak"}]}'],
    ['{"parcelId":"P-9054"}', '{"place":"Steyr","weightGrams":1250}'],
  ]);
  const { truth } = solved.events.find((event) => event.kind === "scored")!;
  assertEquals(truth.parameters[2], { parcelId: "P-9054" });

  // What a model makes up, or gives a placeholder for, finds nothing and is wrong.
  for (const made of ["C-209", UNKNOWN]) {
    const wrong = (await runParcels(clerk(() => made))).find(({ task }) =>
      "question" in task && task.question === "par3"
    )!;
    assertEquals(wrong.outcome, "wrong_answer");
    assertEquals(scoredIn(wrong).scores.structural, true);
    assertEquals(
      callsOf(wrong.events)[1]!.result,
      '{"error":"There is nothing for these arguments"}',
    );
    assertEquals(callsOf(wrong.events)[1]!.parameters?.failures.length, 1);
  }
});

Deno.test("a model is told that calls return values where they do, and of placeholders where they do not", async () => {
  const prompts: string[] = [];
  const silent = scripted("m", ({ messages }) => {
    prompts.push(messages.at(-1)!.content);
    return { text: "Done." };
  });
  await runParcels(silent);
  assert(prompts.every((prompt) => !prompt.includes(UNKNOWN)), prompts[0]);
  prompts.length = 0;
  await runAll(silent, { mode: "tools" });
  assert(prompts.every((prompt) => prompt.includes(UNKNOWN)), prompts[0]);
});

Deno.test("written answers to questions with declared results are scored with placeholders, as without them", async () => {
  const { questions } = loadCallSet(PARCELS);
  const model = scripted("m", ({ messages }) => {
    const asked = questions.find((one) => messages[0]!.content.includes(one.messages[0]!.content))!;
    return { text: JSON.stringify(asked.truth) };
  });
  for (const trial of await runParcels(model, { mode: "parameters" })) {
    assertEquals([trial.id, trial.outcome], [trial.id, "solved"]);
  }
});

Deno.test("sim:truth takes values from the results of the mock server, and has none where a result is lost", async () => {
  const suite = {
    name: "parcels",
    seed: 1,
    tasks: [{ set: PARCELS, mode: "tools" as const }],
    models: ["sim:truth"],
  };
  const plan = planSuite(suite, { tasks: questionSource(suite.tasks, (own) => own)! });
  const connections = new Connections({ sets: plan.callSets ?? [] });
  using run = new Run(plan, { connect: (entry) => connections.model(entry) });
  const trials = await run.all();
  assertEquals(trials.map(({ outcome }) => outcome), trials.map(() => "solved"));

  const set = loadCallSet(PARCELS);
  const asked = set.questions.find(({ id }) => id === "par3")!;
  const answers: [result: string, given: string][] = [
    ['{"customerId":"C-208"}', "C-208"],
    ['{"error":"timed out"}', UNKNOWN],
    ['{"customerId":"C-999"}', UNKNOWN],
  ];
  for (const [result, given] of answers) {
    const { choices: [{ message }] } = truthModel("", set).reply({
      model: "sim:truth",
      messages: [
        { role: "user", content: asked.messages[0]!.content },
        {
          role: "assistant",
          content: null,
          tool_calls: [{
            id: "1",
            type: "function",
            function: { name: "findCustomer", arguments: "{}" },
          }],
        },
        { role: "tool", tool_call_id: "1", content: result },
      ],
      tools: set.domains.get("parcels")!.map(({ tool }) => ({ type: "function", function: tool })),
    });
    const [call] = message.tool_calls!;
    assertEquals(JSON.parse(call!.function.arguments), { customerId: given });
  }
});

Deno.test("questions of BFCL are asked as they are, and the calls of the first reply count", async () => {
  const set = `${ROOT}/fixtures/call_sets/bfcl`;
  const outcomesOf = async (model: string, connect?: () => Model): Promise<string[]> => {
    const plan = cityPlan({ set }, { models: [model] });
    const connections = new Connections({ sets: plan.callSets ?? [] });
    using run = new Run(plan, { connect: connect ?? ((entry) => connections.model(entry)) });
    return (await run.all()).map(({ outcome, events }) => {
      // What a journal keeps of the truth is what is read from it again.
      const [truth] = events.flatMap((event) => event.kind === "scored" ? [event.truth] : []);
      assertEquals(truth, JSON.parse(JSON.stringify(truth)));
      return outcome;
    });
  };
  assertEquals(await outcomesOf("sim:truth"), Array.from({ length: 5 }, () => "solved"));
  const asked: string[] = [];
  const calls = (first: string) =>
    scripted("m", ({ messages }) => {
      asked.push(messages.at(-1)!.content);
      // What is called after the first reply does not count.
      const days = messages.some(({ role }) => role === "tool") ? "5" : first;
      const given = `{"harbor": "PORT ELLEN", "days": ${days}}`;
      return { calls: [{ name: "harbor_tide", arguments: given }] };
    });
  const outcomes = ["solved", "wrong_answer", "wrong_answer", "wrong_answer", "solved"];
  assertEquals(await outcomesOf("m", () => calls("3")), outcomes);
  assertEquals(asked[0], "What is the tide at Port Ellen for the next three days?");
  assertEquals((await outcomesOf("m", () => calls("3.0")))[0], "wrong_answer");
});
