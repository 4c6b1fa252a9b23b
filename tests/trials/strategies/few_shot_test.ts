import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import { InputError } from "../../../lib/base/errors.ts";
import { parseWith } from "../../../lib/base/input.ts";
import { STRATEGY } from "../../../lib/trials/strategies/entry.ts";
import { Connections } from "../../../lib/models/connect.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import type { ModelRequest } from "../../../lib/models/model.ts";
import { startSimulatedServer } from "../../../lib/simulated/server.ts";
import type { ChatRequest } from "../../../lib/simulated/_wire.ts";
import { createExecutor } from "../../../lib/trials/executors/generated.ts";
import type { SolvedExample } from "../../../lib/tasks/examples.ts";
import { QuestionExecutor } from "../../../lib/trials/executors/question.ts";
import type { QuestionSpec } from "../../../lib/tasks/task_kind.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { generateTask, type Task } from "../../../lib/tasks/graphs/task.ts";
import { planSuite } from "../../../lib/runs/plan.ts";
import { Run } from "../../../lib/runs/run.ts";
import { APIS } from "../../../lib/models/formats/registry.ts";
import { CITY, cityPlan, writing } from "../../support/call_sets.ts";
import { Folder } from "../../support/folders.ts";
import { eventsOf, said, work } from "../../support/strategy_runs.ts";

const SPEC = { core: 6, depth: 3, connected: 3, disconnected: 3, seed: 11 };

function examplesOf(task: Task, count: number): readonly SolvedExample[] {
  using executor = createExecutor(task);
  return executor.examples(count);
}

function questionExamplesOf(spec: Partial<QuestionSpec>, count: number): readonly SolvedExample[] {
  using executor = new QuestionExecutor(CITY, {
    set: "city",
    question: "lib01",
    difficulty: "easy",
    mode: "parameters",
    ...spec,
  });
  return executor.examples(count);
}

/** The words and numbers of a text. */
function wordsIn(value: unknown): Set<string> {
  return new Set(JSON.stringify(value).match(/\b\w+\b/g));
}

Deno.test("few_shot puts solved examples before the task, and nothing else is changed (Butterfly 6.1, CallNavi 6.1)", async () => {
  const task = generateTask(SPEC);
  const done = await work("few_shot", [{ text: "I cannot tell." }], {
    task,
    messages: [{ role: "system", content: "Be brief." }, { role: "user", content: task.prompt }],
    set: { shots: 2 },
  });
  const [request] = done.requests;
  const [system, ...others] = said(request!.messages);
  assertEquals(others, [["user", task.prompt]]);
  assertStringIncludes(system![1], "Be brief.\n\n" + PROMPTS.few_shot.show.split("{examples}")[0]);
  assertEquals(system![1].match(/=Example \d start=/g), ["=Example 1 start=", "=Example 2 start="]);
  assertEquals<unknown>(request!.tools, task.tools);
  assertEquals(eventsOf(done, "stage").map(({ message }) => message), ["2 solved examples"]);
});

Deno.test("examples of a generated task are solved, and share no name and no value with it (CallNavi 6.1)", () => {
  for (const linking of ["types", "names"] as const) {
    for (const surface of ["plain", "rich"] as const) {
      for (let seed = 0; seed < 20; seed++) {
        const task = generateTask({ ...SPEC, core: 8, disconnected: 20, seed, linking, surface });
        const examples = examplesOf(task, 4);
        assertEquals(examples.length, 4);
        assertEquals(examples, examplesOf(generateTask(task.spec), 4), "the seed decides them");
        const names = task.functions.flatMap(({ name, output, parameters }) => [
          name,
          ...[output, ...parameters].flatMap((one) => [one.name, one.type, one.subtype]),
        ]);
        const used = new Set([...names, ...[...task.values.values()].map(String)]);
        for (const example of examples) {
          const shared = wordsIn(example).intersection(used);
          assertEquals([...shared], []);
          for (const word of wordsIn([example.functions, example.calls])) {
            // What one example shows is no value of another.
            if (/^\d+$/.test(word)) used.add(word);
          }
          assertSolved(example);
        }
      }
    }
  }
});

/** Every argument is in the question or was returned before, and the answer is what the last call returned. */
function assertSolved({ question, calls = [], answer, functions = [] }: SolvedExample): void {
  const known = new Set(question.match(/\d+/g));
  for (const { function: name, arguments: given = {}, result } of calls) {
    assert(functions.some((one) => one.name === name), name);
    for (const value of Object.values(given)) assert(known.has(String(value)), `${name} ${value}`);
    for (const value of Object.values(result as object)) known.add(String(value));
  }
  const [, target] = /value of variable (\w+)\./.exec(question)!;
  assertEquals(
    calls.flatMap(({ result }) => Object.entries(result as object))
      .filter(([name]) => name === target).map(([name, value]) => `${name} = ${value}`),
    [answer],
  );
}

Deno.test("examples of a question are other questions, of its own domain first, never its own text or calls (CallNavi 6.1)", () => {
  for (const { id, domain, difficulty, messages, truth } of CITY.questions) {
    const spec = { question: id, difficulty };
    const near = CITY.questions.filter((one) => one.domain === domain).length - 1;
    const examples = questionExamplesOf(spec, CITY.questions.length);
    assertEquals(examples, questionExamplesOf(spec, CITY.questions.length));
    assertEquals(examples.length, CITY.questions.length - 1);
    for (const [place, example] of examples.entries()) {
      assert(example.question !== messages.at(-1)!.content);
      const other = CITY.questions.find((one) =>
        one.messages.at(-1)!.content === example.question
      )!;
      assertEquals(other.domain === domain, place < near);
      // Only those of another domain show functions: the question offers its own.
      assertEquals(example.functions === undefined, place < near);
      assertEquals(JSON.parse(example.answer), other.truth);
      assert(example.answer !== JSON.stringify(truth));
    }
  }
  const twin = { ...CITY.questions[0]!, id: "twin" };
  using executor = new QuestionExecutor(
    { ...CITY, questions: [...CITY.questions, twin] },
    { set: "city", question: "twin", difficulty: "easy", mode: "parameters" },
  );
  assert(executor.examples(99).every(({ question }) => question !== twin.messages[0]!.content));
});

Deno.test("answers of examples have the form that the question asks for", () => {
  const spec = { question: "tra02", difficulty: "medium" as const };
  const [names] = questionExamplesOf({ ...spec, mode: "routing" }, 1);
  assert(/^\[('\w+'(, )?)+\]$/.test(names!.answer), names!.answer);
  const [yaml] = questionExamplesOf({ ...spec, output: "yaml" }, 1);
  const [json] = questionExamplesOf(spec, 1);
  assertEquals(parseYaml(yaml!.answer), JSON.parse(json!.answer));
  const [made] = questionExamplesOf({ ...spec, mode: "tools" }, 1);
  const { API, parameters } = JSON.parse(json!.answer);
  assertEquals(made!.calls!.map((call) => call.function), API);
  assertEquals(made!.calls!.map((call) => call.arguments), parameters);
});

Deno.test("the functions of examples are text in every API and format: no request offers or calls them", async () => {
  for (const api of APIS) {
    const bodies: ChatRequest[] = [];
    await using server = await startSimulatedServer({ onRequest: (body) => bodies.push(body) });
    const connections = new Connections({ baseURL: server.url });
    const model = await connections.model({ model: "sim:planner", api });
    const strategy = { strategy: "few_shot", shots: 2 };
    const trial = await runTrial(SPEC, model, { strategy });
    assertEquals([api, trial.outcome], [api, "solved"]);
    const names = examplesOf(generateTask(SPEC), 2).flatMap(({ functions = [] }) =>
      functions.map(({ name }) => name)
    );
    for (const { messages, tools } of bodies) {
      assertEquals(messages[0]!.role, "system");
      for (const name of names) {
        assertStringIncludes(JSON.stringify(messages[0]!.content), name);
        assert(!JSON.stringify([tools, messages.slice(1)]).includes(name), `${api} ${name}`);
      }
    }
  }
});

Deno.test("few_shot works on questions in every mode, before the stages of strategies within", async () => {
  for (const mode of ["parameters", "routing"] as const) {
    const requests: ModelRequest[] = [];
    const model = writing((truth, request) => {
      requests.push(request);
      const last = request.messages.at(-1)!.content;
      const { API } = JSON.parse(truth);
      const names = `['${API.join("', '")}']`;
      return mode === "routing" || last.includes("the correct API names to call") ? names : truth;
    });
    const strategies = ["few_shot", { strategy: "few_shot+route_then_fill", shots: 1 }];
    const plan = cityPlan({ mode }, { strategies });
    using run = new Run(plan, { connect: () => model });
    const trials = await run.all();
    for (const { id, outcome } of trials) assertEquals([id, outcome], [id, "solved"]);
    assert(requests.every(({ messages: [first] }) => first!.content.includes("=Example 1 start=")));
  }
});

Deno.test("tasks without examples of their own refuse few_shot, unless some are given", async () => {
  const probe = { case: "oracle", seed: 1 } as const;
  const rule = "the strategy few_shot needs solved examples";
  const strategy = "few_shot+restate";
  const suite = { name: "s", seed: 1, tasks: [{ case: "oracle" as const }], models: ["m"] };
  assertThrows(() => planSuite({ ...suite, strategies: [strategy] }), InputError, rule);

  const examples = [{
    question: "Tea?",
    calls: [{ function: "oracle", result: 1 }],
    answer: "Tea.",
  }];
  const requests: ModelRequest[] = [];
  const listening = scripted("m", (request) => {
    requests.push(request);
    return { text: "I cannot tell." };
  });
  planSuite({ ...suite, strategies: [{ strategy, examples }] });
  await runTrial(probe, listening, { strategy: { strategy, examples } });
  assertStringIncludes(
    requests[0]!.messages[0]!.content,
    "Question: Tea?\nCall: oracle with {}\nResult: 1\nAnswer: Tea.",
  );
});

Deno.test("few_shot is refused for a set with nothing to show before a question, unless examples are given", () => {
  using folder = new Folder();
  const functions = { town: [{ name: "find", description: "Finds.", parameters: ["what"] }] };
  const asked = (id: string, what: string) => ({
    ...{ id, question: `Find ${what}.` },
    calls: [{ function: "find", arguments: { what } }],
  });
  const plan = (questions: readonly object[], examples?: readonly SolvedExample[]) => {
    const set = folder.write("s.jsonc", JSON.stringify({ name: "s", functions, questions }));
    const strategies = [{ strategy: "restate+few_shot", ...(examples && { examples }) }];
    return cityPlan({ set, mode: "tools" }, { strategies });
  };
  const needed =
    /^Cannot plan suite city as few_shot needs another question in the set, .* than q1: /;
  const one = assertThrows(() => plan([asked("q1", "it")]), InputError).message;
  assertMatch(one, needed);
  assertMatch(one, /s\.jsonc has 1 question; give examples in its entry$/);
  // The same question again is no example of it.
  const twice = () => plan([asked("q1", "it"), asked("q2", "it")]);
  assertMatch(assertThrows(twice, InputError).message, needed);
  plan([asked("q1", "it"), asked("q2", "them")]);
  plan([asked("q1", "it")], [{ question: "Tea?", answer: "Tea." }]);
});

Deno.test("few_shot refuses how many examples there shall be where they are given", () => {
  const examples = [{ question: "Tea?", answer: "Tea." }];
  const suite = { name: "s", seed: 1, tasks: [{ core: 2, depth: 1 }], models: ["m"] };
  assertEquals(
    planSuite({ ...suite, strategies: [{ strategy: "few_shot", shots: 2 }] }).skipped,
    0,
  );
  const broken: [entry: object, path: string][] = [
    [{ strategy: "few_shot", examples, shots: 1 }, "shots"],
    [{ strategy: "restate", shots: 1 }, "shots"],
    [{ strategy: "restate", examples }, "examples"],
    [{ strategy: "few_shot", shots: 0 }, "shots"],
    [{ strategy: "few_shot", examples: [] }, "examples"],
    [{ strategy: "few_shot", examples: [{ answer: "Tea." }] }, "examples[0].question"],
  ];
  for (const [entry, path] of broken) {
    const error = assertThrows(() => parseWith(STRATEGY, entry, "the entry"), InputError);
    assertStringIncludes(error.message, path);
  }
});
