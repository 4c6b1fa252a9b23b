// The simulated model that knows the truth as a judge.

import { assert, assertEquals } from "@std/assert";
import { CALL_FORMATS, scorePrediction } from "../../lib/tasks/questions/scoring.ts";
import { Connections } from "../../lib/models/connect.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { Judge, JUDGE_PROMPT } from "../../lib/models/judge/judge.ts";
import type { ChatMessage } from "../../lib/simulated/wire.ts";
import { fillPrompt } from "../../lib/models/prompts.ts";
import { Run } from "../../lib/runs/run.ts";
import { summarize } from "../../lib/trials/summary.ts";
import { CITY, cityPlan } from "../support/call_sets.ts";
import fc from "../support/fast_check.ts";
import { knownIn, predictionOf, sayingOf, truthModel, WAYS } from "../support/truth_scores.ts";

const TRUTH = {
  API: ["findBook", "reserveBook"],
  parameters: [{ title: "Tides" }, { bookId: "$$$", branch: "north" }],
};

/** What a judge makes of a prediction; `null` without a score. */
function rating(prediction: string, truth: JsonValue = TRUTH, options = "", seed = 0) {
  const words = { predicted: prediction, truth: JSON.stringify(truth) };
  const said = sayingOf(truthModel(options), [fillPrompt(JUDGE_PROMPT, words)], { seed });
  const [, score] = /^\[\[(\d\.\d{3})\]\]$/.exec(said) ?? [];
  return score === undefined ? null : Number(score);
}

Deno.test("sim:truth rates answers by the share of what is right", () => {
  const whole = (first: JsonObject, second: JsonObject, API = TRUTH.API) =>
    JSON.stringify({ API, parameters: [first, second] });
  const right = whole({ title: "Tides" }, { bookId: "B1", branch: "north" });
  for (
    const [prediction, expected] of [
      [right, 1],
      [right.replaceAll('"', "'"), 1],
      [`\`\`\`json\n${right}\n\`\`\``, 1],
      [whole({ title: "Tides", more: 1 }, { bookId: "B1", branch: "north" }), 1],
      [whole({ title: "Waves" }, { bookId: "B1", branch: "north" }), 0.8],
      [whole({ name: "Tides" }, { bookId: "B1", branch: "south" }), 0.6],
      [whole({}, {}), 0.4],
      [whole({ title: "Tides" }, { bookId: "B1", branch: "north" }, ["findBook", "x"]), 0.4],
      ["['findBook', 'reserveBook']", 0.4],
      ["API:\n  - findBook\nparameters:\n  - title: Tides", 0.4],
      [JSON.stringify({ API: ["x", ...TRUTH.API], parameters: [] }), 0],
      [right.slice(0, -1), 0],
      ["I do not know.", 0],
      ["", 0],
      ["{}", 0],
      ["[]", 0],
      ["null", 0],
      [JSON.stringify({ API: "findBook", parameters: "x" }), 0],
      [JSON.stringify({ API: [1, null], parameters: [1, "x", null] }), 0],
    ] as const
  ) {
    assertEquals(rating(prediction), expected, prediction);
  }
});

Deno.test("sim:truth rates with truths of any form", () => {
  const names = '{"API": ["a"], "parameters": []}';
  assertEquals(rating(names, { API: ["a"], parameters: [] }), 1);
  assertEquals(rating(names, { API: ["a"], parameters: [{}] }), 0.999, "all, but not the same");
  assertEquals(rating("{}", { API: [], parameters: [{}] }), 0);
  assertEquals(rating(names, ["a"]), 1);
  assertEquals(rating(names, "nothing"), 0);
  const odd = { API: ["a"], parameters: [{ ["__proto__"]: "b", constructor: 1 }] };
  assertEquals(rating(JSON.stringify(odd), odd), 1);
  assertEquals(rating('{"API": ["a"], "parameters": [{}]}', odd), 0.333);
  assertEquals(
    rating('{"API": ["a"], "parameters": [{}]}', {
      API: ["a"],
      parameters: [{ constructor: "$$$" }],
    }),
    0.5,
  );
  const loose = { API: ["a", "b"], parameters: ["xy", {}] };
  assertEquals(rating('{"API": ["a", "c"], "parameters": [{}, {}]}', loose), 0.5);
  const quoted = { API: ["a"], parameters: [{ place: "O'Hara", code: "x" }] };
  const [escaped] = [JSON.stringify(quoted).replace("'", "\\u0027")];
  assertEquals(rating(escaped, quoted), 1);
  assertEquals(rating(escaped.replace('"x"', '"y"'), quoted), 0.667);
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

Deno.test("sim:truth rates lower the more is wrong", () => {
  const count = 6;
  const given = (wrong: ReadonlySet<number>) => ({
    API: Array.from({ length: count }, (_, place) => wrong.has(place) ? "wrong" : `f${place}`),
    parameters: Array.from({ length: count }, () => ({ a: 1 })),
  });
  const places = fc.uniqueArray(fc.nat({ max: count - 1 }), { minLength: 1 });
  fc.assert(fc.property(places, (wrong) => {
    const all = rating(JSON.stringify(given(new Set(wrong))), given(new Set()))!;
    const fewer = rating(JSON.stringify(given(new Set(wrong.slice(1)))), given(new Set()))!;
    assert(all < fewer, `${all} ${fewer}`);
  }));
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
  await using judge = new Judge({ model: "sim:truth?judge=0.3&seed=1" });
  let without = 0;
  for (let account = 0; account < 200; account++) {
    const truth = { API: ["getBalance"], parameters: [{ account }] };
    const { score, why } = await judge.score(JSON.stringify(truth), truth);
    if (score === null) without++;
    assertEquals([score, why], score === null ? [null, "no score in [[ ]]"] : [1, undefined]);
  }
  assert(Math.abs(without / 200 - 0.3) < 4 * Math.sqrt(0.21 / 200), `${without} of 200`);
});

Deno.test("sim:truth draws by the couple, the seed and the repetition whether there is a score", () => {
  const drawn = (options: string, seed: number) =>
    Array.from({ length: 40 }, (_, place) => rating(`${place}`, TRUTH, options, seed) === null)
      .join();
  const [first, ...others] = [
    drawn("?judge=0.5", 1),
    drawn("?judge=0.5&seed=1", 1),
    drawn("?judge=0.5", 2),
  ];
  assertEquals(drawn("?judge=0.5", 1), first);
  assertEquals(new Set([first, ...others]).size, 3);
  assert(first!.includes("true") && first!.includes("false"));
  assertEquals(drawn("?judge=1", 1).includes("false"), false);
});

Deno.test("sim:truth judges in a suite what it has answered itself", async () => {
  const plan = cityPlan({ mode: ["parameters", "tools"] }, {
    models: ["sim:truth?value=1"],
    judge: "sim:truth",
  });
  await using connections = new Connections({ sets: plan.callSets ?? [] });
  using run = new Run(plan, { connect: (entry) => connections.model(entry) });
  for (const trial of await run.all()) {
    const { scores, judged } = summarize(trial).scored!;
    assertEquals(judged!.score === 1, scores.exact, trial.id);
    assert(judged!.score! > 0, trial.id);
  }
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
