// The simulated model that knows the truth, over its server and in trials.
// Runs without counters of lines.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { Connections } from "../../lib/models/connect.ts";
import { Judge, JUDGE_PROMPT } from "../../lib/models/judge/judge.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import type { QuestionSet } from "../../lib/runs/suite.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { truthsOf } from "../../lib/simulated/_truth.ts";
import {
  type AnswerMistake,
  drawMistakes,
  possibleMistakes,
} from "../../lib/simulated/_truth_mistakes.ts";
import type { ChatMessage, ChatRequest } from "../../lib/simulated/_wire.ts";
import { writeCallPrompt } from "../../lib/tasks/questions/prompt.ts";
import {
  type CallSet,
  type CallTruth,
  resolvedTruth,
} from "../../lib/tasks/questions/question_set.ts";
import {
  CALL_FORMATS,
  type QuestionScores,
  scorePrediction,
  SCORING_RULES,
} from "../../lib/tasks/questions/scoring.ts";
import { isQuestion } from "../../lib/tasks/task_kind.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { argumentCheck } from "../../lib/tools/schema/validate.ts";
import { CITY, CITY_PATH, cityPlan, TRIPS } from "../support/call_sets.ts";
import fc from "../support/fast_check.ts";
import {
  EVERY_MISTAKE,
  knownIn,
  predictionOf,
  sayingOf,
  scoresOf,
  scoresWith,
  truthModel,
  WAYS,
} from "../support/truth_scores.ts";

const EVERY_WAY: Partial<QuestionSet> = {
  mode: ["parameters", "routing", "tools"],
  input: ["json", "yaml"],
  output: ["json", "yaml"],
};

/** All trials of a plan, over the server. */
async function runOver(plan: Plan): Promise<Trial[]> {
  const connections = new Connections({ sets: plan.callSets ?? [] });
  using run = new Run(plan, { connect: (entry) => connections.model(entry) });
  return await run.all();
}

const STRATEGIES = ["plain", "plan_then_call+route_then_fill", "backward+repair"];

for (const rule of SCORING_RULES) {
  Deno.test(`sim:truth solves every question in every way by the rule ${rule}`, async () => {
    const plan = cityPlan({ ...EVERY_WAY, rule }, {
      models: ["sim:truth"],
      strategies: STRATEGIES,
    });
    const trials = await runOver(plan);
    assertEquals(trials.length, STRATEGIES.length * CITY.questions.length * (4 + 2 + 1));
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
    const strategies = ["plain", ...others];
    const plan = cityPlan({ ...EVERY_WAY, rule }, {
      models: [`sim:truth?${options}&seed=5`],
      strategies,
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
      assertEquals(of(strategy), of("plain"), "strategies share their mistakes");
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
    strategies: ["plain", "repair"],
  });
  // The schema of this function has room for none but its own arguments.
  const renewals = (await runOver(plan)).filter(({ task }) =>
    isQuestion(task) && task.question === "lib04"
  );
  assertEquals(renewals.map(({ strategy, solved }) => [strategy, solved]), [
    ["plain", false],
    ["repair", true],
  ]);
  assertEquals(renewals.map(({ failures }) => failures.length), [1, 0]);
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
  const parameters: JsonObject[] = [{ title: "x" }, { bookId: "$$$" }];
  const truth = { API, parameters };
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
        "the options of sim:truth are syntax, fence, route, key, value, extra, optional, judge, seed",
      ],
      ["sim:truth?__proto__=1", "the options of sim:truth are"],
      ["sim:truth?memory=1", "the options of sim:truth are"],
      ["sim:truth?value=1.5", "value must be a number from 0 to 1"],
      ["sim:truth?judge=", "judge must be a number from 0 to 1"],
      ["sim:truth?seed=0.5", "seed must be a whole number"],
      ["sim:truth?key=0&key=0", "each option may occur only once"],
      [
        "sim:truths",
        "or sim:truth?syntax=&fence=&route=&key=&value=&extra=&optional=&judge=&seed=",
      ],
    ] as const
  ) {
    assertThrows(() => parseSimulatedModel(name), InputError, rule);
  }
  for (const name of ["sim:truth", "sim:truth?", "sim:truth?judge=1&seed=-2&fence=.5"]) {
    assertEquals(parseSimulatedModel(name).name, name);
  }
});

// The simulated model that knows the truth as a judge.

const TRUTH = {
  API: ["findBook", "reserveBook"],
  parameters: [{ title: "Tides" }, { bookId: "$$$", branch: "north" }] as JsonObject[],
};

/** What a judge makes of a prediction; `null` without a score. */
function rating(prediction: string, truth: JsonValue = TRUTH, options = "", seed = 0) {
  const words = { predicted: prediction, truth: JSON.stringify(truth) };
  const said = sayingOf(truthModel(options), [fillPrompt(JUDGE_PROMPT, words)], { seed });
  const [, score] = /^\[\[(\d\.\d{3})\]\]$/.exec(said) ?? [];
  return score === undefined ? null : Number(score);
}

Deno.test("sim:truth rates right answers 1, those that it cannot read 0, and all others one half", () => {
  const whole = (title: string) =>
    JSON.stringify({ API: TRUTH.API, parameters: [{ title }, { bookId: "B1", branch: "north" }] });
  const right = whole("Tides");
  for (
    const [prediction, expected] of [
      [right, 1],
      [`\`\`\`json\n${right}\n\`\`\``, 1],
      [whole("Waves"), 0.5],
      ["['findBook', 'reserveBook']", 0.5],
      ["API:\n  - findBook\nparameters:\n  - title: Tides", 0.5],
      [JSON.stringify({ API: [1, null], parameters: [1, "x", null] }), 0.5],
      [right.slice(0, -1), 0],
      ["I do not know.", 0],
      ["", 0],
    ] as const
  ) {
    assertEquals(rating(prediction), expected, prediction);
  }
  const odd = { API: ["a"], parameters: [{ ["__proto__"]: "b", constructor: 1 }] };
  assertEquals(rating(JSON.stringify(odd), odd), 1);
  assertEquals(rating("{}", "nothing"), 0);
});

Deno.test("sim:truth rates 1 exactly what the published rule finds right", () => {
  for (
    const options of ["", "?route=1", "?key=1", "?value=1", "?extra=1", "?syntax=1", "?fence=1"]
  ) {
    for (const known of knownIn(CITY)) {
      const { truth } = known.question;
      const others = CALL_FORMATS.map((format) => {
        const way = WAYS.find(({ mode, format: own }) => mode === "parameters" && own === format)!;
        const prediction = predictionOf(truthModel(options, CITY), known, way) as string;
        const { exact } = scorePrediction(prediction, truth, { format });
        const score = rating(prediction, { ...truth } as unknown as JsonObject)!;
        assertEquals(score === 1, exact, prediction);
        return score;
      });
      assertEquals(others[0], others[1], "whatever it is written in");
    }
  }
});

Deno.test("sim:truth answers anything that is to be judged", () => {
  const anything = fc.oneof(
    fc.json(),
    fc.string({ unit: fc.character() }),
    fc.constantFrom("[".repeat(100_000), '{"API":'.repeat(50_000), "- ".repeat(20_000)),
  );
  fc.assert(
    fc.property(anything, anything, (predicted, truth) => {
      const prompt = fillPrompt(JUDGE_PROMPT, { predicted, truth });
      const said = sayingOf(truthModel(""), [prompt]);
      assert(/^\[\[[01]\.\d{3}\]\]$/.test(said), said);
    }),
    { numRuns: 60 },
  );
});

Deno.test("sim:truth leaves out scores at the rate of judge, over the judge's own prompt", async () => {
  const judge = new Judge({ model: "sim:truth?judge=0.3&seed=1" });
  let without = 0;
  for (let account = 0; account < 200; account++) {
    const truth = { API: ["getBalance"], parameters: [{ account }] };
    const { score, why } = await judge.score(JSON.stringify(truth), truth);
    if (score === null) without++;
    assertEquals([score, why], score === null ? [null, "no score in [[ ]]"] : [1, undefined]);
  }
  assert(Math.abs(without / 200 - 0.3) < 4 * Math.sqrt(0.21 / 200), `${without} of 200`);
});

Deno.test("sim:truth takes for a judge's prompt only what is one", () => {
  const prompt = fillPrompt(JUDGE_PROMPT, { predicted: "{}", truth: "{}" });
  const unknown = "I do not know.";
  assertEquals(sayingOf(truthModel(""), [prompt]), "[[1.000]]");
  for (
    const text of [
      ` ${prompt}`,
      prompt.replace("======Begin predict JSON======", ""),
      prompt.replace("======End of predict JSON======", ""),
      prompt.slice(0, prompt.indexOf("======End of ground truth JSON======")),
    ]
  ) {
    assertEquals(sayingOf(truthModel(""), [text]), unknown);
  }
  const parts: ChatMessage[] = [{ role: "user", content: [{ text: prompt }] }];
  const { choices: [{ message }] } = truthModel("").reply({ model: "m", messages: parts });
  assertEquals(message.content, "[[1.000]]");
});

// The mistakes of the simulated model that knows the truth: each changes what its name says, no more.

/** Every mistake alone, and none, with the rates that bring it about. */
const ALONE: readonly (readonly [string, readonly AnswerMistake[]])[] = [
  ["", []],
  ...EVERY_MISTAKE.map((one) => [`?${one}=1`, [one]] as const),
];

/** Holds every mistake against its row of the table, on every question, in every way, by either rule. */
function assertTable(set: CallSet, ways = WAYS): void {
  const truths = truthsOf([set]);
  for (const [options, wanted] of ALONE) {
    const model = parseSimulatedModel(`sim:truth${options}`, truths);
    for (const known of knownIn(set)) {
      for (const way of ways) {
        const made = wanted.filter((one) => possibleMistakes(known, way.mode).includes(one));
        assertEquals(
          scoresOf(model, known, way),
          scoresWith(made, way.mode),
          `${known.question.id} ${options} ${JSON.stringify(way)}`,
        );
      }
    }
  }
}

Deno.test("sim:truth makes false just what the table of mistakes says", () => {
  assertTable(CITY);
  assertTable(TRIPS);
});

Deno.test("sim:truth?optional=1 adds a declared argument that fits the schema and is asked for by nobody", () => {
  const model = truthModel("?optional=1", TRIPS);
  for (const known of knownIn(TRIPS)) {
    const { API, parameters } = predictionOf(model, known, WAYS.at(-1)!) as unknown as CallTruth;
    const added = API.flatMap((name, place) => {
      const { tool } = known.functions.find((one) => one.name === name)!;
      const given = parameters[place] as JsonObject;
      assertEquals(argumentCheck(tool)(given), undefined);
      const right = resolvedTruth(known.question).parameters[place] as JsonObject;
      return Object.keys(given).filter((key) => !Object.hasOwn(right, key));
    });
    assertEquals(added.length, 1, known.question.id);
  }
});

Deno.test("drawMistakes() tells which mistakes sim:truth makes, each at its rate", () => {
  const rates = { syntax: 0.2, fence: 0.3, route: 0.25, key: 0.5, value: 0.4, extra: 0.1 };
  const options = Object.entries(rates).map(([kind, rate]) => `${kind}=${rate}`).join("&");
  const model = truthModel(`?${options}&seed=4`, CITY);
  const made = new Map<string, number>();
  const possible = new Map<string, number>();
  const count = (counts: Map<string, number>, kinds: readonly string[]) =>
    kinds.forEach((kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1));
  let both = 0;
  for (const known of knownIn(CITY)) {
    for (let repetition = 0; repetition < 150; repetition++) {
      const drawn = drawMistakes(known, "parameters", { rates, seed: 4, repetition });
      count(made, drawn);
      count(possible, possibleMistakes(known, "parameters"));
      if (drawn.includes("syntax") && drawn.includes("fence")) both++;
      for (const way of repetition < 20 ? WAYS : []) {
        const own = drawn.filter((one) => possibleMistakes(known, way.mode).includes(one));
        assertEquals(scoresOf(model, known, way, repetition), scoresWith(own, way.mode));
      }
    }
  }
  for (const [kind, rate] of Object.entries(rates)) {
    const [hits, all] = [made.get(kind)!, possible.get(kind)!];
    const error = Math.sqrt(rate * (1 - rate) / all);
    assert(Math.abs(hits / all - rate) < 4 * error, `${kind}: ${hits} of ${all}`);
  }
  assert(Math.abs(both / 1200 - 0.06) < 4 * Math.sqrt(0.06 * 0.94 / 1200), `both: ${both}`);
  const bare = drawMistakes(knownIn(CITY)[0]!, "parameters", { rates: {}, seed: 4, repetition: 1 });
  assertEquals(bare, [], "rates that are left out are 0");
});

Deno.test("sim:truth leaves out a call, or calls another function of the domain", () => {
  const known = knownIn(CITY).find(({ question }) => question.id === "lib05")!;
  const names = known.functions.map(({ name }) => name);
  const lengths = new Set<number>();
  for (let seed = 0; seed < 40; seed++) {
    const text = predictionOf(truthModel(`?route=1&seed=${seed}`, CITY), known, WAYS[0]!) as string;
    const { API, parameters } = JSON.parse(text) as { API: string[]; parameters: unknown[] };
    assertEquals(API.length, parameters.length);
    assert(API.every((name) => names.includes(name)), text);
    const right = API.filter((name) => known.question.truth.API.includes(name));
    assert(API.length === 1 || right.length === 1 || API[0] === API[1], text);
    lengths.add(API.length);
  }
  assertEquals([...lengths].sort(), [1, 2], "either happens");
});
