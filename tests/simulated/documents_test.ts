// Simulated models and what they read: documents, questions and returns that are not what they should be
// show in what they do (Butterfly, section 4).

import { assert, assertEquals, assertGreater, assertNotMatch } from "@std/assert";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import type { ChatTool } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { readInputs, readRestated, readValue } from "../../lib/simulated/_reading.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { argumentCheck } from "../../lib/tools/schema/validate.ts";
import { generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import type { ResultWriter, ToolSchema } from "../../lib/tools/tool.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { perturbTask } from "../../lib/perturbations/perturbed_task.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { rightArguments, specs } from "../support/generated.ts";
import { inProcess } from "../support/in_process.ts";
import { makePrompt, makeTool } from "../support/simulated_world.ts";
import {
  answerOf,
  assertPerfect,
  attempt,
  type Work,
  type WorkOptions,
} from "../support/strategy_runs.ts";

const planner = parseSimulatedModel("sim:planner");
const NAME_PATTERN = { type: "string", pattern: "^@\\w+$" };

// Requests made by hand.

/** A function of one parameter. */
function toolOf(schema: JsonValue, more: JsonObject = {}, name = "a"): ChatTool {
  const parameters = {
    type: "object",
    properties: Object.fromEntries([[name, schema]]),
    required: [name],
    ...more,
  };
  const description = `Processes variable ${name} to produce variable b`;
  return { type: "function", function: { name: "func_a", description, parameters } };
}

/** What a model says first, and the arguments of its calls. */
function begin(content: string, tools: readonly ChatTool[], model = planner) {
  const messages = [{ role: "user", content }] as const;
  const { message } = model.reply({ model: model.name, messages, tools }).choices[0];
  const calls = (message.tool_calls ?? []).map(({ function: called }) => called);
  return { text: message.content, calls, arguments: calls.map((one) => one.arguments) };
}

/** The argument that the planner writes for a value, as JSON. */
function written(value: number | string, tool: ChatTool, name = "a"): string | undefined {
  const given = begin(`The value of variable b, please.\nVariable ${name} = ${value}`, [tool]);
  return given.arguments[0]?.slice(`{"${name}":`.length, -1);
}

Deno.test("sim:planner follows the declared type of a parameter", () => {
  const items = { type: "integer" };
  const object = (properties: JsonObject, required?: string[]) => ({
    type: "object",
    properties,
    ...(required === undefined ? {} : { required }),
  });
  const table: [schema: JsonValue, number: string, name: string][] = [
    [{}, "731", '"@x"'],
    [true, "731", '"@x"'],
    [{ type: "integer" }, "731", '"@x"'],
    [{ type: ["string", "integer"] }, "731", '"@x"'],
    [{ enum: [731, 5] }, "731", '"@x"'],
    [{ type: "null" }, "731", '"@x"'],
    [{ type: 5 }, "731", '"@x"'],
    [{ anyOf: [{ type: "array", items }, {}] }, "731", '"@x"'],
    [{ type: "string" }, '"731"', '"@x"'],
    [{ enum: ["731", "5"] }, '"731"', '"@x"'],
    [{ type: "boolean" }, "true", '"@x"'],
    [{ anyOf: [{ type: "null" }, { type: "boolean" }] }, "true", '"@x"'],
    [{ type: "array", items }, "[731]", '["@x"]'],
    [{ type: "array", items: { type: "string" } }, '["731"]', '["@x"]'],
    [{ type: "array", items: { type: "array", items } }, "[[731]]", '[["@x"]]'],
    [{ type: "array", prefixItems: [{ type: "string" }, items] }, '["731"]', '["@x"]'],
    [{ type: "array", items: [{ type: "string" }, items] }, '["731"]', '["@x"]'],
    [object({ value: items }, ["value"]), '{"value":731}', '{"value":"@x"}'],
    [object({ value: { type: "string" } }), '{"value":"731"}', '{"value":"@x"}'],
    [object({ other: items, value: items }, ["value"]), '{"value":731}', '{"value":"@x"}'],
    [object({ one: items, other: items }), '{"one":731}', '{"one":"@x"}'],
    [
      object({ value: object({ inner: items }) }),
      '{"value":{"inner":731}}',
      '{"value":{"inner":"@x"}}',
    ],
    [{ type: "object", required: ["key"] }, '{"key":731}', '{"key":"@x"}'],
    [{ $ref: "#/$defs/list" }, "[731]", '["@x"]'],
    [{ allOf: [{ type: "array", items }] }, "[731]", '["@x"]'],
    [{ oneOf: [{ type: "array", items }, { type: "boolean" }] }, "[731]", '["@x"]'],
    // As names are offered: a name is a plain text, whatever else is taken.
    [{ anyOf: [{ type: "integer" }, NAME_PATTERN] }, "731", '"@x"'],
    [{ anyOf: [{ type: "array", items }, NAME_PATTERN] }, "[731]", '"@x"'],
    [{ anyOf: [object({ value: items }), NAME_PATTERN] }, '{"value":731}', '"@x"'],
  ];
  const $defs = { list: { type: "array", items } };
  for (const [schema, number, name] of table) {
    const tool = toolOf(schema, { $defs });
    const state = JSON.stringify(schema);
    assertEquals([written(731, tool), written("@x", tool)], [number, name], state);
  }
  for (const [value, truth] of [[0, "false"], [1, "true"], [-4, "true"]] as const) {
    assertEquals(written(value, toolOf({ type: "boolean" })), truth);
  }
  assertEquals(written(-4, toolOf({ type: "string" })), '"-4"');
});

Deno.test("sim:planner copes with hostile schemas", () => {
  const inside = (name: string) => ({
    type: "object",
    properties: Object.fromEntries([[name, {}]]),
  });
  for (const name of ["__proto__", "constructor", "toString", "7", "", "\ud800"]) {
    const given = written(731, toolOf(inside(name)))!;
    assertEquals(Object.entries(JSON.parse(given)), [[name, 731]], name);
  }
  assertEquals(written(731, toolOf({ type: "string" }, {}, "__proto__"), "__proto__"), '"731"');
  let deep: JsonObject = { type: "integer" };
  for (let level = 0; level < 5_000; level++) deep = { type: "array", items: deep };
  assertEquals(JSON.parse(written(731, toolOf(deep))!).flat(Infinity), [731]);
  const endless = { type: "array", items: { $ref: "#/properties/a" } };
  assertEquals(JSON.parse(written(731, toolOf(endless))!).flat(Infinity), [731]);
  const circle = { $ref: "#/properties/a" };
  assertEquals(written(731, toolOf(circle)), "731");
  for (
    const schema of [{ type: "object", properties: null }, {
      type: "array",
      items: null,
    }] as JsonObject[]
  ) {
    assert([`{"a":731}`, "[731]"].includes(written(731, toolOf(schema))!));
  }
});

Deno.test("sim:planner asks a question in the declared type too", () => {
  const question = "What is 17 * 3?\nState it as: x = number.";
  const ask = (schema: JsonValue) => begin(question, [toolOf(schema)]).arguments;
  assertEquals(ask({ type: "string" }), ['{"a":"17 * 3"}']);
  assertEquals(ask({ type: "array", items: { type: "string" } }), ['{"a":["17 * 3"]}']);
  assertEquals(ask({ anyOf: [{ type: "array" }, { type: "string" }] }), ['{"a":"17 * 3"}']);
});

Deno.test("sim:planner lists values in the declared types", () => {
  const { function: { name, description, parameters } } = toolOf({
    type: "array",
    items: { type: "integer" },
  });
  const content = fillPrompt(PROMPTS.backward.final, {
    question: makePrompt("b", new Map([["a", 731]])),
    tools: JSON.stringify([{ name, description, parameters }]),
  });
  assertEquals(begin(content, []).text, '{"API":["func_a"],"parameters":[{"a":[731]}]}');
});

const CLAUSE = "variable goril (type_beo with subtype_dej)";
const OTHER = "variable tipor (type_uxe with subtype_muw)";

Deno.test("sim:planner follows the types of a sentence, not the places of its clauses", () => {
  const sources = [
    makeTool(
      "func_one",
      "Processes variable e to produce variable one (type_beo with subtype_dej)",
      ["e"],
    ),
    makeTool(
      "func_two",
      "Processes variable e to produce variable two (type_uxe with subtype_muw)",
      ["e"],
    ),
  ];
  const last = (inputs: string) =>
    makeTool("func_end", `Processes ${inputs} to produce variable end (type_a with subtype_b)`, [
      "goril",
      "tipor",
    ]);
  const messages = (tools: readonly ChatTool[]) => {
    const call = (id: string, name: string) => ({
      id,
      type: "function" as const,
      function: { name, arguments: '{"e":3}' },
    });
    const { message } = planner.reply({
      model: planner.name,
      messages: [
        { role: "user", content: makePrompt("end", new Map([["e", 3]])) },
        { role: "assistant", tool_calls: [call("1", "func_one"), call("2", "func_two")] },
        { role: "tool", tool_call_id: "1", content: '{"one":111}' },
        { role: "tool", tool_call_id: "2", content: '{"two":222}' },
      ],
      tools,
    }).choices[0];
    return message.tool_calls?.map((made) => made.function.arguments) ?? message.content;
  };
  const ask = (inputs: string) => messages([...sources, last(inputs)]);
  const right = ['{"goril":111,"tipor":222}'];
  assertEquals(ask(`${CLAUSE}, ${OTHER}`), right);
  assertEquals(ask(`${OTHER}, ${CLAUSE}`), right);
  const swapped = [CLAUSE.replace("goril", "tipor"), OTHER.replace("tipor", "goril")];
  assertEquals(ask(swapped.join(", ")), ['{"goril":222,"tipor":111}']);
  assertEquals(
    ask(`variable goril, ${OTHER}`),
    "I cannot determine the value of variable end: variable goril is not given.",
  );
});

Deno.test("sim:planner is not confused by what stands behind a sentence", () => {
  const one = "Processes variable e to produce variable one";
  const tail = 'Example: {"e":111,"variable e (type_x with subtype_y)":" to produce variable two"}';
  const prompt = makePrompt("one", new Map([["e", 3]]));
  for (
    const description of [
      `${one}\n${tail}`,
      `${one}\n${tail}\n${tail}\nReturns: {"description":" to produce variable two"}`,
      `${one}\nReturns: {"type":"object"}\n${tail}`,
    ]
  ) {
    const tool = makeTool("func_one", description, ["e"]);
    assertEquals(begin(prompt, [tool]).arguments, ['{"e":3}'], description);
    assertEquals(begin(makePrompt("two", new Map([["e", 3]])), [tool]).calls, [], description);
  }
  // Without a sentence's end, what an example says is none.
  for (const label of ["Example", "Returns"]) {
    const behind = tail.replace("Example", label);
    const open = makeTool("func_one", `Processes variable e\n${behind}`, ["e"]);
    assertEquals(begin(makePrompt("two", new Map([["e", 3]])), [open]).calls, [], label);
  }
});

Deno.test("sim:planner names what is not given, without a number", () => {
  const names = Array.from(
    { length: 30 },
    (_, place) => `in_${"abcdefghijklmnopqrstuvwxyzABCD"[place]}`,
  );
  const clauses = (own: readonly string[]) => own.map((name) => `variable ${name}`).join(", ");
  const ask = (own: readonly string[], given: readonly string[] = []) => {
    const tool = makeTool("func_a", `Processes ${clauses(own)} to produce variable b`, own);
    const { text, calls } = begin(makePrompt("b", new Map(given.map((name) => [name, 7]))), [tool]);
    assertEquals(calls, []);
    assertNotMatch(text, /\d/);
    return text.replace("I cannot determine the value of variable b: ", "");
  };
  assertEquals(ask(["mfmjsy"]), "variable mfmjsy is not given.");
  assertEquals(
    ask(["bujxe_id", "x", "aargKavo"], ["x"]),
    "variable bujxe_id is not given, variable aargKavo is not given.",
  );
  assertEquals(ask(["x", "x7", "_8_"]), "variable x is not given.");
  assertEquals(ask(["512"]), "something that it depends on cannot be had.");
  assertEquals(ask(names).match(/not given/g)!.length, 20);
});

Deno.test("readInputs() understands sums, and no words", () => {
  const table: [text: string, value: unknown][] = [
    ["700 + 31", 731],
    ["(1000 - 269)", 731],
    ["1462 / 2", 731],
    ["-1 * (2 + 3)", -5],
    ["731", 731],
    ["@x", "@x"],
    ["7 / 2", undefined],
    ["1 / 0", undefined],
    ["5.5", undefined],
    ["5.5 + .5", 6],
    ["2 ^ 10", undefined],
    ["700 + ", undefined],
    ["700 31", undefined],
    ["@x + 1", undefined],
    ["seven hundred thirty-one", undefined],
    ["99999999999999999 * 10", undefined],
    ["(".repeat(2_000), undefined],
    ["1 + ".repeat(300_000) + "1", undefined],
    ["-".repeat(1_000_000), undefined],
  ];
  for (const [text, value] of table) {
    const read = readInputs(`Variable mfmjsy = ${text}\nVariable y = 1`);
    const expected = value === undefined ? [] : [["mfmjsy", value]];
    assertEquals(read, [...expected, ["y", 1]] as typeof read, text.slice(0, 40));
  }
});

Deno.test("readValue() takes names that differ in letter case and underscores, and guesses nothing else", () => {
  const table: [variable: string, text: string, value: unknown][] = [
    ["bujxe_id", '{"bujxe_id":512}', 512],
    ["bujxe_id", '{"bujxeId":512}', 512],
    ["aargKavo", '{"aarg_kavo":512}', 512],
    ["aargKavo", '{"AARG_KAVO":512}', 512],
    ["bujxe_id", '{"bujxeId":1,"bujxe_id":512}', 512],
    ["bujxe_id", '{"bujxe_id":"no","bujxeId":1}', undefined],
    ["bujxe_id", '{"bujxeId":512,"known_variables":{"bujxe_id":1}}', 512],
    // Cut short.
    ["bujxe_id", '{"bujxe_id":512...', 512],
    ["bujxe_id", "bujxeId = 1, bujxe_id = 512", 512],
    // Nothing to be understood.
    ["bujxe_id", '{"Object_1":512}', undefined],
    ["bujxe_id", '{"bujxe_id":"ID_512"}', undefined],
    ["bujxe_id", '{"bujxe_id":"ID_512"...', undefined],
    ["bujxe_id", '{"bujxe_ids":512}', undefined],
    ["bujxe_id", '{"error":"bujxeId = 5"}', undefined],
    // What is known besides helps.
    ["bujxe_id", '{"bujxe_id":"ID_512","known_variables":{"bujxe_id":512}}', 512],
    ["bujxe_id", '{"Object_1":512...\n{"known_variables":{"bujxe_id":512}}', 512],
    ["__proto__", '{"__PROTO__":512}', 512],
    ["_", '{"a":512}', undefined],
  ];
  for (const [variable, text, value] of table) assertEquals(readValue(text, variable), value, text);
  const known = '"known_variables":{"bujxe_id":512,"x":1}}';
  for (const text of [`{"bujxe_id":512,${known}`, `{"bujxeId":512,${known}`]) {
    assertEquals([...readRestated(text, ["bujxe_id"])], [["bujxe_id", 512], ["x", 1]], text);
  }
});

// Generated tasks that are perturbed, or edited by hand.

/** Tasks of both surfaces. */
const TASKS: fc.Arbitrary<Task> = fc.tuple(specs(20), fc.constantFrom("plain", "rich"))
  .map(([spec, surface]) => generateTask({ ...spec, surface }));

/** Some tasks of a kind. */
function tasks(count: number, more: Partial<GraphSpec> = {}): Task[] {
  const spec = {
    core: 6,
    depth: 3,
    connected: 3,
    disconnected: 1,
    surface: "rich",
    ...more,
  } as const;
  return Array.from({ length: count }, (_, seed) => generateTask({ ...spec, seed }));
}

const SENTENCE = "I cannot determine the value of variable";

/** What the planner does on a task that is perturbed. */
function trialOf(task: Task, perturbation: string, strategy = "plain"): Promise<Trial> {
  return runTrial(task.spec, inProcess("sim:planner"), {
    perturbation,
    strategy: { strategy },
    limits: { calls: 2_000 },
  });
}

function assertSolved({ outcome, grounded, calls, minimumCalls, failures }: Trial): void {
  assertEquals([outcome, grounded, calls, failures], ["solved", true, minimumCalls!, []]);
}

function textOf({ events }: Trial): string {
  return events.flatMap((event) => event.kind === "answer" ? [event.text] : []).join();
}

/** It made no call, and says just what is missing. */
function assertMissing(task: Task, trial: Trial, missing: Iterable<string>): void {
  assertEquals([trial.calls, trial.solved], [0, false]);
  const text = textOf(trial);
  const told = Array.from(text.matchAll(/variable (\w+) is not given/g), ([, name]) => name);
  assertEquals(new Set(told), new Set(missing));
  assert(text.startsWith(`${SENTENCE} ${task.target.variable}: `));
  assertNotMatch(text, /\d/);
}

Deno.test("CO, AN, CK, UK and CF: what is meant is understood all the same", async () => {
  const ids = fc.constantFrom("CO", "AN", "CK", "UK", "CF", "CO+AN+UK+CF");
  await fc.assert(
    fc.asyncProperty(TASKS, ids, fc.constantFrom("plain", "restate"), async (task, ...how) => {
      assertSolved(await trialOf(task, ...how));
    }),
    { numRuns: 20 },
  );
});

Deno.test("RD and WD: a parameter without its types has no producer, and nothing is made up", async () => {
  await fc.assert(
    fc.asyncProperty(TASKS, fc.constantFrom("RD", "WD"), async (task, id) => {
      const trial = await trialOf(task, id);
      // Given variables are known by name, and so are all where names are what links them.
      if (task.spec.core === 1 || task.spec.linking === "names") return assertSolved(trial);
      const { parameters } = task.functions.find(({ output }) =>
        output.name === task.target.variable
      )!;
      assertMissing(task, trial, parameters.map(({ name }) => name));
    }),
    { numRuns: 20 },
  );
});

Deno.test("RP_F and RP_L: what was removed is named, and nothing is made up", async () => {
  await fc.assert(
    fc.asyncProperty(TASKS, fc.constantFrom("RP_F", "RP_L"), async (task, id) => {
      const removed = [...task.inputs.keys()].at(id === "RP_F" ? 0 : -1)!;
      const trial = await trialOf(task, id);
      assertEquals(trial.outcome, "abstained");
      assertMissing(task, trial, [removed]);
    }),
    { numRuns: 15 },
  );
});

Deno.test("CP: sums are understood, and number words are not", async () => {
  const seen = { sums: 0, words: 0 };
  await fc.assertAll(
    fc.asyncProperty(TASKS, async (task) => {
      const lines = perturbTask(task, "CP").prompt.matchAll(/^Variable (\w+) = (.*)$/gm);
      const words = [...lines].filter(([, , value]) => !/\d/.test(value!)).map(([, name]) => name!);
      // At most twenty are named.
      fc.pre(words.length <= 20);
      seen[words.length > 0 ? "words" : "sums"]++;
      const trial = await trialOf(task, "CP");
      if (words.length > 0) assertMissing(task, trial, words);
      else assertSolved(trial);
    }),
    { numRuns: 60 },
  );
  assertGreater(Math.min(...Object.values(seen)), 5, JSON.stringify(seen));
});

Deno.test("FK: a value under another name says nothing, and its call is given up", async () => {
  await fc.assert(
    fc.asyncProperty(TASKS, async (task) => {
      const trial = await trialOf(task, "FK");
      const { variable } = task.target;
      assertEquals(
        textOf(trial),
        `${SENTENCE} ${variable}: something that it depends on cannot be had.`,
      );
      assertEquals(trial.outcome, "no_answer");
      const ready = task.functions.filter(({ role, dependsOn }) =>
        role === "core" && dependsOn.length === 0
      );
      const counts = Map.groupBy(callsOf(trial.events), (call) => call.function);
      assertEquals(new Set(counts.keys()), new Set(ready.map(({ name }) => name)));
      for (const calls of counts.values()) assertEquals(calls.length, 3);
    }),
    { numRuns: 15 },
  );
});

Deno.test("AP: an id with letters before it is no number", async () => {
  let ids = 0;
  for (const task of tasks(10)) {
    const trial = await trialOf(task, "AP");
    if (trial.changed === false) assertSolved(trial);
    else assertEquals(trial.outcome, "no_answer");
    // What a call is given up for is an id, and what is none is understood.
    for (const [name, { length }] of Map.groupBy(callsOf(trial.events), (call) => call.function)) {
      const { output } = task.functions.find((made) => made.name === name)!;
      if (!/_id$|Id$/.test(output.name)) assertEquals(length, 1);
      else if (length === 3) ids++;
    }
  }
  assertGreater(ids, 7);
});

/** Other types for integers: each holds the value, but for booleans. */
const WRONG: readonly JsonObject[] = [
  { type: "array", items: { type: "integer" } },
  {
    type: "object",
    properties: { value: { type: "integer" } },
    required: ["value"],
    additionalProperties: false,
  },
  { type: "string" },
  { type: "boolean" },
];

/** The task with other types for its parameters, by their place. */
function withTypes(task: Task, types: readonly JsonObject[]): Task {
  const edit = ({ parameters }: ToolSchema, shift: number): JsonObject => {
    const names = Object.keys(parameters["properties"]!);
    const changed = names.map((name, place) => [name, types[(shift + place) % types.length]!]);
    return { ...parameters, properties: Object.fromEntries(changed) };
  };
  const tools = task.tools.map((tool, shift) => ({ ...tool, parameters: edit(tool, shift) }));
  return { ...task, tools };
}

/** Every call gets what its function would return, even if its arguments are refused. */
function lenient({ functions, values }: Task): Pick<WorkOptions, "around"> {
  const outputs = new Map(functions.map(({ name, output }) => [name, output.name]));
  const write: ResultWriter = (answered) =>
    answered.map(({ call, content }) => {
      const output = outputs.get(call.name);
      return output === undefined ? content : JSON.stringify({ [output]: values.get(output) });
    });
  return { around: { write } };
}

/** What stands in an argument, in whatever is around it. */
function inner(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return inner(value[0]!);
  if (typeof value === "string") return Number(value);
  return typeof value === "object" && value !== null ? inner(value["value"]!) : value;
}

/** The calls with what stands in their arguments, by parameter. */
function callsIn({ calls }: Work): [name: string, given: JsonObject][] {
  return calls.map((call) => {
    const given = Object.entries(JSON.parse(call.arguments) as JsonObject);
    return [call.function, Object.fromEntries(given.map(([name, value]) => [name, inner(value)]))];
  });
}

/** All arguments are of the types that the model was given; `some` may be left out. */
function assertConforming({ tools }: Task, { calls }: Work, some = false): void {
  for (const call of calls) {
    const given: JsonObject = JSON.parse(call.arguments);
    const takes = ({ parameters }: ToolSchema) =>
      Object.keys(given).every((name) => Object.hasOwn(Object(parameters["properties"]), name));
    // A name that was invented stands for the function whose parameters there are.
    const tool = tools.find(({ name }) => name === call.function) ?? tools.find(takes)!;
    const parameters = some ? { ...tool.parameters, required: [] } : tool.parameters;
    assertEquals(argumentCheck({ ...tool, parameters })(given), undefined, call.function);
  }
}

Deno.test("WT: sim:planner gives the right values in the types that it is told", async () => {
  await fc.assert(
    fc.asyncProperty(TASKS, fc.subarray([...WRONG], { minLength: 1 }), async (task, types) => {
      const perturbed = withTypes(task, types);
      const done = await attempt(perturbed, lenient(task));
      assertEquals(answerOf(done), `${task.target.variable} = ${task.target.value}`);
      assertEquals(done.calls.length, task.minimumCalls);
      assertConforming(perturbed, done);
      const functions = new Map(task.functions.map((made) => [made.name, made]));
      for (const [name, given] of callsIn(done)) {
        const right = rightArguments(task, functions.get(name)!);
        for (const [own, value] of Object.entries(given)) {
          assert(value === true || value === right[own], `${name}.${own} is ${value}`);
        }
      }
    }),
    { numRuns: 12 },
  );
});

Deno.test("WT: it hurts where arguments are refused, and not where names stand for values", async () => {
  for (const task of tasks(5)) {
    const perturbed = withTypes(task, [WRONG[0]!, WRONG[1]!, WRONG[3]!]);
    // A refusal says which types are right: who reads it calls each function twice.
    const told = await attempt(perturbed);
    assertEquals(told.judgement?.outcome, "solved");
    assertEquals(told.calls.map(({ failure }) => failure?.type ?? "right").toSorted(), [
      ...new Array(task.minimumCalls).fill("right"),
      ...new Array(task.minimumCalls).fill("wrong_number_of_inputs"),
    ]);
    const refused = await attempt(perturbed, { model: "sim:planner?reads=types" });
    assertEquals(refused.judgement?.outcome, "no_answer");
    assert(refused.calls.every(({ failure }) => failure?.type === "wrong_number_of_inputs"));
    for (const strategy of ["indirection", "indirection+restate"]) {
      const named = await attempt(perturbed, { strategy });
      assertPerfect(task, named);
      for (const { arguments: given } of named.calls) {
        for (const value of Object.values(JSON.parse(given))) {
          assert(typeof value === "string" && /^@\w+$/.test(value), given);
        }
      }
    }
  }
});

/** The share of tasks solved, and the tasks, under a perturbation. */
async function solvedUnder(perturbation: string, model: string, cues: "none" | "names") {
  const trials: Trial[] = [];
  for (let seed = 0; seed < 3; seed++) {
    const spec = {
      core: 5,
      depth: 2,
      connected: 3,
      disconnected: 2,
      seed,
      surface: "rich",
      cues,
    } as const;
    trials.push(await runTrial(spec, inProcess(model), { perturbation }));
  }
  const counted = trials.filter(({ changed, unsolvable }) => changed !== false && !unsolvable);
  return counted.length === 0
    ? trials.map(({ outcome, unsolvable }) => `${unsolvable}: ${outcome}`)
    : counted.filter(({ solved }) => solved).length / counted.length;
}

Deno.test("with cues a careful model solves tasks whatever descriptions and types say, and one that leans on either alone does not (Butterfly 4.1)", async () => {
  const [DESCRIPTIONS, TYPES] = ["sim:planner?reads=descriptions", "sim:planner?reads=types"];
  for (const id of ["none", "RD", "WD", "SD", "WT", "RD+WT", "SD+WT", "rename+WD"]) {
    const isDescribed = !/RD|WD|SD/.test(id);
    assertEquals(
      [
        await solvedUnder(id, "sim:planner", "names"),
        await solvedUnder(id, DESCRIPTIONS, "names"),
        await solvedUnder(id, TYPES, "names"),
      ],
      [1, isDescribed ? 1 : 0, id.includes("WT") ? 0 : 1],
      id,
    );
  }
});
