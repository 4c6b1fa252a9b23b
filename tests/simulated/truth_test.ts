// The simulated model that knows the truth, over its server and in trials.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { writeCallPrompt } from "../../lib/tasks/questions/prompt.ts";
import { type QuestionScores, SCORING_RULES } from "../../lib/tasks/questions/scoring.ts";
import type { CallSet } from "../../lib/tasks/questions/question_set.ts";
import { Connections } from "../../lib/models/connect.ts";
import { InputError } from "../../lib/base/errors.ts";
import { type AnswerMistake, drawMistakes } from "../../lib/simulated/truth_mistakes.ts";
import type { ChatMessage, ChatRequest } from "../../lib/simulated/wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { truthsOf } from "../../lib/simulated/truth.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { isQuestion } from "../../lib/trials/executors/task_kind.ts";
import { questionSource } from "../../lib/runs/question_tasks.ts";
import { Run } from "../../lib/runs/run.ts";
import type { QuestionSet, Suite } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { summarize } from "../../lib/trials/summary.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { CITY, CITY_PATH, cityPlan } from "../support/call_sets.ts";
import fc from "../support/fast_check.ts";
import { CALLNAVI, outsideTest } from "../support/outside_data.ts";
import { knownIn, sayingOf, scoresWith, truthModel } from "../support/truth_scores.ts";

const EVERY_WAY: Partial<QuestionSet> = {
  mode: ["parameters", "routing", "tools"],
  input: ["json", "yaml"],
  output: ["json", "yaml"],
};

/** All trials of a plan, over the server. */
async function runOver(plan: Plan): Promise<Trial[]> {
  await using connections = new Connections({ sets: plan.callSets ?? [] });
  using run = new Run(plan, { connect: (entry) => connections.model(entry) });
  return await run.all();
}

const STRATEGIES = [
  "baseline",
  "route_then_fill",
  "backward",
  "plan_then_call",
  "repair",
  "plan_then_call+route_then_fill",
  "backward+repair",
];

for (const rule of SCORING_RULES) {
  Deno.test(`sim:truth solves every question in every way by the rule ${rule}`, async () => {
    const strategies = rule === "published" ? STRATEGIES : ["baseline", "backward+repair"];
    const plan = cityPlan({ ...EVERY_WAY, rule }, { models: ["sim:truth"], strategies });
    const trials = await runOver(plan);
    assertEquals(trials.length, strategies.length * CITY.questions.length * (4 + 2 + 1));
    for (const { id, outcome, calls, minimumCalls, failures, task } of trials) {
      assertEquals([id, outcome], [id, "solved"]);
      assertEquals(failures, []);
      const mode = isQuestion(task) ? task.mode : undefined;
      assertEquals(calls, mode === "tools" ? minimumCalls : 0);
    }
  });

  Deno.test(`sim:truth solves every question where strategies change calls by the rule ${rule}`, async () => {
    const strategies = ["restate", "indirection", "indirection+repair+restate"];
    const plan = cityPlan({ mode: "tools", rule }, { models: ["sim:truth"], strategies });
    for (const { id, outcome, failures } of await runOver(plan)) {
      assertEquals([id, outcome, failures], [id, "solved", []]);
    }
  });
}

/** The scores of a trial, with what was scored before a repair. */
function scoresIn(trial: Trial): { scores: QuestionScores; unrepaired?: QuestionScores } {
  const { scores, unrepaired } = summarize(trial).scored!;
  return { scores, ...(unrepaired === undefined ? {} : { unrepaired }) };
}

/** Holds each trial against the mistakes that are drawn for it. */
function assertDrawn(
  trials: readonly Trial[],
  set: CallSet,
  draws: { rates: Partial<Record<AnswerMistake, number>>; seed: number },
  rule: "published" | "strict",
): Map<AnswerMistake, number> {
  const known = new Map(knownIn(set).map((one) => [one.question.id, one]));
  const made = new Map<AnswerMistake, number>();
  for (const trial of trials) {
    const { task, repetition } = trial;
    if (!isQuestion(task)) throw new TypeError("no question");
    const own = drawMistakes(known.get(task.question)!, task.mode, { ...draws, repetition });
    for (const one of own) made.set(one, (made.get(one) ?? 0) + 1);
    assertEquals(scoresIn(trial).scores, scoresWith(own, task.mode)[rule], trial.id);
  }
  return made;
}

Deno.test("sim:truth errs as its draws say, in every way and under every strategy", async () => {
  const rates = { syntax: 0.1, fence: 0.2, route: 0.2, key: 0.2, value: 0.3, extra: 0.4 };
  const options = Object.entries(rates).map(([kind, rate]) => `${kind}=${rate}`).join("&");
  for (const rule of SCORING_RULES) {
    const others = rule === "published" ? ["route_then_fill", "backward", "plan_then_call"] : [];
    const strategies = ["baseline", ...others];
    const plan = cityPlan({ ...EVERY_WAY, rule }, {
      models: [`sim:truth?${options}&seed=5`],
      strategies,
      repetitions: 2,
    });
    const trials = await runOver(plan);
    assertEquals(assertDrawn(trials, CITY, { rates, seed: 5 }, rule).size, 6);
    for (const strategy of strategies) {
      const of = (one: string) =>
        trials.filter((trial) => trial.strategy === one)
          .map((trial) => {
            const { output, scores } = summarize(trial).scored!;
            // The list that answers backward has a form of its own.
            return [trial.task, trial.repetition, strategy === "backward" ? scores : output];
          });
      assertEquals(of(strategy), of("baseline"), "strategies share their mistakes");
    }
  }
});

Deno.test("sim:truth repairs what cannot be read, and nothing else", async () => {
  const rates = { syntax: 0.5, fence: 0.5, value: 0.3, extra: 0.3 };
  for (const rule of SCORING_RULES) {
    const plan = cityPlan({ rule, output: ["json", "yaml"] }, {
      models: ["sim:truth?syntax=0.5&fence=0.5&value=0.3&extra=0.3"],
      strategies: ["repair"],
      repetitions: 3,
    });
    const known = new Map(knownIn(CITY).map((one) => [one.question.id, one]));
    let repaired = 0;
    for (const trial of await runOver(plan)) {
      const { task, repetition } = trial;
      const one = known.get(isQuestion(task) ? task.question : "")!;
      const drawn = drawMistakes(one, "parameters", { rates, seed: 0, repetition });
      const rest = drawn.filter((mistake) => mistake === "value" || mistake === "extra");
      const first = scoresWith(drawn, "parameters")[rule];
      const { scores, unrepaired } = scoresIn(trial);
      if (first.syntaxValid) {
        assertEquals([scores, unrepaired], [first, undefined]);
      } else {
        repaired++;
        assertEquals(scores, scoresWith(rest, "parameters")[rule]);
        assertEquals(unrepaired, first);
      }
    }
    assert(repaired > 10);
  }
});

Deno.test("sim:truth repairs the arguments of a call that does not fit its schema", async () => {
  const plan = cityPlan({ mode: "tools", rule: "strict", set: `${CITY_PATH}.jsonc` }, {
    models: ["sim:truth?key=1"],
    strategies: ["baseline", "repair"],
  });
  // The schema of this function has room for none but its own arguments.
  const renewals = (await runOver(plan)).filter(({ task }) =>
    isQuestion(task) && task.question === "lib04"
  );
  assertEquals(renewals.map(({ strategy, solved }) => [strategy, solved]), [
    ["baseline", false],
    ["repair", true],
  ]);
  assertEquals(renewals.map(({ failures }) => failures.length), [1, 0]);
});

outsideTest("sim:truth solves all published questions in every mode", CALLNAVI, async (path) => {
  for (const rule of SCORING_RULES) {
    const suite: Suite = {
      name: "published",
      seed: 1,
      tasks: [{ set: path, rule, mode: ["parameters", "routing", "tools"] }],
      models: ["sim:truth"],
    };
    const plan = planSuite(suite, { tasks: questionSource(suite.tasks, (own) => own)! });
    const unsolved = (await runOver(plan)).filter(({ solved }) => !solved).map(({ id }) => id);
    assertEquals(unsolved, []);
  }
});

const model = truthModel("", CITY);
const [LISTED] = CITY.domains.values();
const DOCUMENTS = LISTED!.map(({ document }) => document);

/** A prompt of appendix B.1. */
function promptOf(question: string, mode: "parameters" | "routing" = "parameters"): string {
  return writeCallPrompt(DOCUMENTS, question, { mode, input: "json", output: "json" });
}

Deno.test("sim:truth says that it does not know a question that is in none of its sets", () => {
  const tools = LISTED!.map(({ tool }) => ({ type: "function" as const, function: tool }));
  const text = "Is there a book called Tides of Ink?";
  for (const question of ["What time is it?", "", text.slice(0, -1), `${text}?`, `So: ${text}`]) {
    assertEquals(sayingOf(model, [promptOf(question)]), "I do not know.");
    assertEquals(sayingOf(model, [question], { tools }), "I do not know.");
  }
  assertEquals(sayingOf(truthModel(""), [promptOf(text)]), "I do not know.");
  assertEquals(sayingOf(parseSimulatedModel("sim:truth"), [promptOf(text)]), "I do not know.");
});

Deno.test("sim:truth finds a question with something behind it, and the longest of several", () => {
  const [first, second] = CITY.questions as [
    typeof CITY.questions[number],
    typeof CITY.questions[number],
  ];
  const asking = (content: string) => [{ role: "user" as const, content }];
  const set: CallSet = {
    ...CITY,
    questions: [
      { ...first, messages: asking("  When?") },
      { ...second, messages: asking("When?\n\nAnd where? ") },
      { ...first, id: "late", messages: asking("When?"), truth: { API: [], parameters: [] } },
    ],
  };
  const { find } = truthsOf([set, CITY]);
  const idOf = (text: string) => find(text)?.question.id;
  assertEquals(idOf("When?"), first.id, "the first of several with one text");
  assertEquals(idOf("\nWhen? Now, or in May?"), first.id);
  assertEquals(idOf("When?\n\nAnd where?"), second.id);
  assertEquals(idOf("When?\n\nAnd where? There?"), second.id);
  assertEquals(idOf("When?\n\nAnd where?!"), first.id);
  assertEquals(idOf("When?!"), undefined);
  assertEquals(idOf("Wh"), undefined);
  const joined = { ...first, messages: [...asking("One."), ...asking("Two.")] };
  const two = truthsOf([{ ...CITY, questions: [joined] }]);
  assertEquals(two.find("One.\n\nTwo.")?.question.id, first.id);
  assertEquals(two.find("Two."), undefined);
});

Deno.test("sim:truth finds questions among many, whatever stands behind them", () => {
  const [{ truth, ...rest }] = CITY.questions as [typeof CITY.questions[number]];
  const questions = Array.from({ length: 20_000 }, (_, place) => ({
    ...rest,
    truth,
    id: `q${place}`,
    messages: [{ role: "user" as const, content: `Dear bot, what about ${place}?` }],
  }));
  const { find } = truthsOf([{ ...CITY, questions }]);
  const behind = " behind".repeat(300_000);
  for (let place = 0; place < 20_000; place += 100) {
    assertEquals(find(`Dear bot, what about ${place}?${behind}`)?.question.id, `q${place}`);
  }
});

Deno.test("sim:truth is not led astray by what a question says", () => {
  const snippets = [
    "\n=======Question end=======\n",
    "\n=======API list end=======\n=======Question start=======\n",
    "\n\nThese functions are on offer, as a JSON list:\n",
    "write a plan",
    "only API names in brackets",
    "in YAML style",
    "a correct last one task API name",
    "the correct API names to call",
    "fill in the missing information",
    "The following answer cannot be read",
    "You will be given a predicted API calling JSON and ground truth couple.",
    "\n======Begin predict JSON======\n",
    "\n======End of predict JSON======\n======Begin of ground truth JSON======\n",
    "\n======End of ground truth JSON======",
    "{question}",
    "__proto__",
    " ",
    "\ud800",
  ];
  const hostile = fc.array(fc.constantFrom(...snippets), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join("")).filter((text) => text.trim() !== "");
  const [first] = CITY.questions;
  const API = ["findBook", "reserveBook"];
  const truth = { API, parameters: [{ title: "x" }, { bookId: "$$$" }] };
  const json =
    '{"API": ["findBook", "reserveBook"], "parameters": [{"title":"x"}, {"bookId":"$$$"}]}';
  const last = '{"API": ["reserveBook"], "parameters": [{"bookId":"$$$"}]}';
  fc.assert(
    fc.property(hostile, (text) => {
      const set = {
        ...CITY,
        questions: [{ ...first!, messages: [{ role: "user" as const, content: text }], truth }],
      };
      const knowing = truthModel("", set);
      const words = {
        question: text,
        tools: JSON.stringify(LISTED!.map(({ tool }) => tool), null, 1),
      };
      const route = fillPrompt(PROMPTS.route_then_fill.route, words);
      const final = fillPrompt(PROMPTS.backward.final, words);
      const plan = fillPrompt(PROMPTS.plan_then_call.plan, words);
      const reform = fillPrompt(PROMPTS.repair.reform, { answer: text, errors: "none" });
      const says = (...texts: string[]) => sayingOf(knowing, texts);
      assertEquals(says(promptOf(text)), json);
      assertEquals(says(promptOf(text, "routing")), "['findBook', 'reserveBook']");
      assertEquals(says(route), "['findBook', 'reserveBook']");
      assertEquals(says(final), last);
      assertEquals(says(final, last, PROMPTS.backward.missing), `${json} <!stop>`);
      assertEquals(says(promptOf(text), json, PROMPTS.backward.answer), json);
      assertEquals(says(promptOf(text), "1. findBook", PROMPTS.plan_then_call.answer), json);
      assertEquals(says(promptOf(text), "{", reform), json);
      assert(says(plan).startsWith('1. findBook({"title":"x"})\n2. reserveBook('), says(plan));
      const tools = LISTED!.map(({ tool }) => ({ type: "function" as const, function: tool }));
      assertEquals(sayingOf(knowing, [`${text}\n\nCall them.`], { tools }), "I call findBook.");
    }),
    { numRuns: 100 },
  );
});

/** The calls of one reply, after some were made. */
function callsAfter(made: number, others: Partial<ChatRequest>, options = "") {
  const knowing = truthModel(options, CITY);
  const known = knownIn(CITY).find(({ question }) => question.id === "lib05")!;
  const messages: ChatMessage[] = [known.question.messages[0]!];
  for (let place = 0; place < made; place++) {
    const call = { name: "findBook", arguments: "{}" };
    const id = `${place}`;
    messages.push({ role: "assistant", tool_calls: [{ id, type: "function", function: call }] });
    messages.push({ role: "tool", tool_call_id: id, content: "{}" });
  }
  const tools = known.functions.map(({ tool }) => ({ type: "function" as const, function: tool }));
  const { choices: [{ message }] } = knowing.reply({ model: "m", messages, tools, ...others });
  const calls = message.tool_calls ?? [];
  return calls.map(({ function: own }) => [own.name, JSON.parse(own.arguments)]);
}

Deno.test("sim:truth makes its calls one after another, as far as it may and must", () => {
  const [find, reserve] = [
    ["findBook", { title: "Tides of Ink" }],
    ["reserveBook", { memberId: "M17", bookId: "$$$", branch: "north" }],
  ];
  assertEquals(callsAfter(0, {}), [find]);
  assertEquals(callsAfter(1, { parallel_tool_calls: false }), [reserve]);
  assertEquals(callsAfter(2, {}), []);
  assertEquals(callsAfter(9, {}), []);
  assertEquals(callsAfter(0, { tool_choice: "none" }), []);
  assertEquals(callsAfter(2, { tool_choice: "required" }), [reserve]);
  const choose = (name: string) => ({ type: "function", function: { name } });
  assertEquals(callsAfter(0, { tool_choice: choose("findBook") }), [find]);
  assertEquals(callsAfter(0, { tool_choice: choose("renewLoan") }), [["renewLoan", {}]]);
  const empty: CallSet = {
    ...CITY,
    questions: [{ ...CITY.questions[0]!, truth: { API: [], parameters: [] } }],
  };
  const tools = LISTED!.map(({ tool }) => ({ type: "function" as const, function: tool }));
  const messages = [empty.questions[0]!.messages[0]!];
  const ask = (tool_choice: unknown) =>
    truthModel("", empty).reply({ model: "m", messages, tools, tool_choice }).choices[0].message
      .tool_calls?.[0]?.function.name;
  assertEquals([ask("auto"), ask("required")], [undefined, "findBook"]);
});

Deno.test("sim:truth does not take a question for the repair of a call", () => {
  const asked = "The following tool call has invalid arguments. What are they?";
  const [question] = CITY.questions;
  const messages = [{ role: "user" as const, content: asked }];
  const set: CallSet = { ...CITY, questions: [{ ...question!, messages }] };
  const tools = LISTED!.map(({ tool }) => ({ type: "function" as const, function: tool }));
  const given = (texts: readonly string[]) => {
    const said = texts.map((content) => ({ role: "user" as const, content }));
    const { choices } = truthModel("?key=1", set).reply({ model: "m", messages: said, tools });
    return choices[0].message.tool_calls?.[0]?.function.arguments;
  };
  assertEquals(given([asked]), '{"title_":"Tides of Ink"}');
  assertEquals(given([asked, asked]), '{"title":"Tides of Ink"}');
});

Deno.test("sim:truth calls functions by the names that they have as tools", () => {
  const named = (name: string, tool: string) => ({
    name,
    document: { name },
    tool: { name: tool, description: "", parameters: { type: "object" } },
  });
  const functions = [named("find book", "find_book"), named("other book", "other_book")];
  const set: CallSet = {
    ...CITY,
    domains: new Map([["library", functions]]),
    questions: [{ ...CITY.questions[0]!, truth: { API: ["find book"], parameters: [{ a: 1 }] } }],
  };
  const tools = functions.map(({ tool }) => ({ type: "function" as const, function: tool }));
  const messages = [set.questions[0]!.messages[0]!];
  const called = (options: string) =>
    truthModel(options, set).reply({ model: "m", messages, tools }).choices[0].message
      .tool_calls?.[0]?.function.name;
  assertEquals(called(""), "find_book");
  assertEquals(called("?route=1"), "other_book");
});

Deno.test("sim:truth writes with placeholders what the truth does not tell", async () => {
  const [trial] = await runOver(cityPlan({ mode: "tools", difficulty: "hard" }, {
    models: ["sim:truth"],
  }));
  const given = callsOf(trial!.events).map((call) => JSON.parse(call.arguments));
  assertEquals(given.at(-1).bookId, "$$$");
});

Deno.test("sim:truth knows questions again to which noise was added, and functions that were changed", async () => {
  const perturbations = ["AN", "CO", "WD", "CO+AN"];
  const trials = await runOver(cityPlan({ mode: ["parameters", "tools"] }, {
    models: ["sim:truth"],
    perturbations,
  }));
  assert(trials.some(({ perturbation, changed }) => perturbation === "AN" && changed !== false));
  for (const { id, outcome } of trials) assertEquals([id, outcome], [id, "solved"]);
});

Deno.test("parseSimulatedModel() takes the options of sim:truth, and no others", () => {
  for (
    const [name, rule] of [
      [
        "sim:truth?early=1",
        "the options of sim:truth are syntax, fence, route, key, value, extra, judge, seed",
      ],
      ["sim:truth?__proto__=1", "the options of sim:truth are"],
      ["sim:truth?memory=1", "the options of sim:truth are"],
      ["sim:truth?value=1.5", "value must be a number from 0 to 1"],
      ["sim:truth?judge=", "judge must be a number from 0 to 1"],
      ["sim:truth?seed=0.5", "seed must be a whole number"],
      ["sim:truth?key=0&key=0", "each option may occur only once"],
      ["sim:truths", "or sim:truth?syntax=&fence=&route=&key=&value=&extra=&judge=&seed="],
    ] as const
  ) {
    assertThrows(() => parseSimulatedModel(name), InputError, rule);
  }
  for (const name of ["sim:truth", "sim:truth?", "sim:truth?judge=1&seed=-2&fence=.5"]) {
    assertEquals(parseSimulatedModel(name).name, name);
  }
});
