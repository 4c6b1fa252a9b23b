import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { type JsonObject, parseJson } from "../../../lib/base/json.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import type { ModelRequest } from "../../../lib/models/model.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import { deriveAgain } from "../../../lib/trials/derive.ts";
import { openTask } from "../../../lib/trials/executors/tasks.ts";
import { assertReferring } from "../../../lib/trials/strategies/registry.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { offerExplanation } from "../../../lib/tools/references/schema.ts";
import { callsOf, type TraceEvent } from "../../../lib/calls/trace.ts";
import { coreInOrder, rightArguments } from "../../support/generated.ts";
import { inProcess } from "../../support/in_process.ts";

const SPEC = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const strategy = { strategy: "explanation" };
const AGAIN = { open: openTask, limits: {}, references: false } as const;
const WORDS = "I need it for the sum.";

function explained(events: readonly TraceEvent[]): string[] {
  return events.flatMap((event) =>
    event.kind === "stage" && event.stage === "explanation" ? [event.message] : []
  );
}

/** A model that makes the right calls, each with what `more` adds before its arguments. */
function explaining(more: JsonObject, seen: ModelRequest[] = []) {
  const steps = coreInOrder(TASK).map((made) => ({
    calls: [{ name: made.name, arguments: { ...more, ...rightArguments(TASK, made) } }],
  }));
  const model = scripted("m", [
    ...steps,
    { text: `${TASK.target.variable} = ${TASK.target.value}` },
  ]);
  return {
    ...model,
    reply: (request: ModelRequest) => {
      seen.push(request);
      return model.reply(request);
    },
  };
}

Deno.test("explanation adds a required text to every tool, before its parameters, that no tool sees (Indirection, Thinking silently)", async () => {
  const seen: ModelRequest[] = [];
  const trial = await runTrial(SPEC, explaining({ explanation: WORDS }, seen), { strategy });
  for (const { name, parameters, strict } of seen[0]!.tools) {
    const original = TASK.tools.find((tool) => tool.name === name)!;
    const [first, ...others] = Object.keys(parameters["properties"] as object);
    assertEquals([first, ...others], [
      "explanation",
      ...Object.keys(original.parameters["properties"] as object),
    ]);
    assertEquals((parameters["required"] as string[])[0], "explanation");
    assertEquals([parameters["additionalProperties"], strict], [false, original.strict]);
  }
  assertEquals([trial.outcome, trial.failures, trial.behaviours], ["solved", [], []]);
  assertEquals(explained(trial.events), [WORDS, WORDS, WORDS]);
  for (const { arguments: written, resolved, parameters } of callsOf(trial.events)) {
    assert(written.startsWith('{"explanation":'), written);
    assertEquals(Object.keys(parseJson(resolved!) as object).includes("explanation"), false);
    assertEquals(parameters, undefined, "it is no argument");
  }
  // The words stand before their call.
  const kinds = trial.events.map(({ kind }) => kind);
  assertEquals(kinds.slice(0, 3), ["reply", "stage", "call"]);
});

Deno.test("explanation that is missing or empty fails no call, and breaks no silence", async () => {
  for (const more of [{}, { explanation: " " }, { explanation: 7 }] as JsonObject[]) {
    const trial = await runTrial(SPEC, explaining(more), { strategy });
    assertEquals([trial.outcome, trial.failures, trial.behaviours], ["solved", [], ["silent"]]);
    assertEquals(explained(trial.events), []);
  }
  const plain = await runTrial(SPEC, explaining({ explanation: WORDS }));
  assertEquals(plain.failures[0]?.type, "wrong_number_of_inputs", "without the strategy it is one");
});

Deno.test("explanation goes with the other strategies in any order, and derives again", async () => {
  for (
    const id of [
      "explanation",
      "explanation+indirection",
      "indirection+explanation",
      "restate+explanation+repair",
      "plan_then_call+explanation",
    ]
  ) {
    const planned = await runTrial(SPEC, inProcess("sim:planner"), { strategy: { strategy: id } });
    assertEquals([id, planned.outcome, planned.failures], [id, "solved", []]);
    assertEquals(explained(planned.events).length, planned.calls, id);
    const trial = { ...planned, strategy: id };
    assertEquals(
      await deriveAgain(trial, { ...AGAIN, strategy: { strategy: id } }),
      { kind: "agrees" },
      id,
    );
  }
});

Deno.test("explanation of a broken call is repaired with it", async () => {
  const [first, ...others] = coreInOrder(TASK).map((made) => ({
    name: made.name,
    arguments: { explanation: WORDS, ...rightArguments(TASK, made) },
  }));
  const [name] = Object.keys(first!.arguments).slice(1);
  const { [name!]: _, ...broken } = first!.arguments as JsonObject;
  const model = scripted("m", [
    { calls: [{ ...first!, arguments: broken }] },
    { calls: [first!] },
    ...others.map((call) => ({ calls: [call] })),
    { text: `${TASK.target.variable} = ${TASK.target.value}` },
  ]);
  const id = "repair+explanation";
  const trial = await runTrial(SPEC, model, { strategy: { strategy: id } });
  assertEquals([trial.outcome, trial.failures], ["solved", []]);
  const again = { ...AGAIN, strategy: { strategy: id } };
  assertEquals(await deriveAgain({ ...trial, strategy: id }, again), { kind: "agrees" });
});

Deno.test("explanation finds a name that no parameter has, and leaves oneOf as it is", () => {
  const parameters: JsonObject = {
    type: "object",
    properties: { explanation: { type: "string" }, explanation_text: { type: "integer" } },
    required: ["explanation"],
    oneOf: [{ required: ["explanation_text"] }, { maxProperties: 1 }],
    additionalProperties: false,
  };
  const offered = offerExplanation({ name: "f", description: "", parameters }).parameters;
  assertEquals(Object.keys(offered["properties"] as object), [
    "explanation_text_2",
    "explanation",
    "explanation_text",
  ]);
  assertEquals(offered["required"], ["explanation_text_2", "explanation"]);
  const [one, other] = offered["oneOf"] as Record<string, unknown>[];
  assertEquals([one!["required"], other!["maxProperties"]], [["explanation_text"], 2]);
});

Deno.test("explanation is refused with nested references", () => {
  assertThrows(
    () => assertReferring("run it", "restate+explanation"),
    InputError,
    "nested references cannot be used with explanation",
  );
});
