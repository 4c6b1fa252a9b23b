// Calls of models that write anything: each gets one result and one class, in order, and nothing else of the
// program changes.

import { assert, assertEquals } from "@std/assert";
import { createExecutor } from "../../lib/trials/executors/generated.ts";
import { FAILURE_TYPES } from "../../lib/calls/failure_types.ts";
import { withFaults } from "../../lib/perturbations/inject_faults.ts";
import { InputError } from "../../lib/base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../lib/base/json.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { STRATEGIES } from "../../lib/trials/strategies/registry.ts";
import { generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import type { TaskFunction } from "../../lib/tasks/graphs/wording.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import type { Tool, ToolCall, ToolResult } from "../../lib/tools/tool.ts";
import { type CallEvent, callsOf } from "../../lib/calls/trace.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { OUTCOMES, TRIAL_LINE } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import {
  anyJson,
  anyText,
  assertReadable,
  changed,
  changedText,
  fuzz,
  nested,
  objectOf,
  seldom,
  type TextChange,
  textChanges,
  type ValueChange,
  valueChanges,
} from "../support/fuzzing.ts";
import { rightArguments, specs } from "../support/generated.ts";
import { assertLinear } from "../support/growth.ts";

/** A call of a function by its place, right but for what is changed. */
interface Wrong {
  readonly place: number;
  readonly id: string;
  readonly name: string | null;
  readonly values: readonly ValueChange[] | null;
  readonly texts: readonly TextChange[] | null;
  readonly written: string | null;
  /** How much is added to the first number. */
  readonly beside: number | null;
}

function wrongCalls(): fc.Arbitrary<Wrong[]> {
  const call = fc.record({
    place: fc.nat(),
    id: anyText(),
    name: seldom(anyText(), 8),
    values: seldom(valueChanges(2), 2),
    texts: seldom(textChanges(2), 8),
    beside: seldom(fc.constantFrom(1, -1, 0.25, 1e-9, 1e15), 4),
    written: seldom(
      fc.oneof(
        anyJson().map((value) => JSON.stringify(value)),
        anyText(),
        fc.constantFrom(nested(20_000), nested(20_000, "a"), "[".repeat(20_000), '{"a":'),
        fc.constantFrom("$1", '"$1.a"', '{"a":"$2.x"}', '{"__proto__":{"polluted":true}}'),
      ),
      8,
    ),
  });
  return fc.array(call, { maxLength: 8 });
}

function callOf(
  { place, id, name, values, texts, written, beside }: Wrong,
  functions: readonly { readonly name: string; readonly right: JsonObject }[],
): ToolCall {
  const made = functions[place % functions.length]!;
  const given = JSON.stringify(values === null ? made.right : changed(made.right, values));
  const number = (text: string) => String(Number(text) + (beside ?? 0));
  const moved = beside === null ? given : given.replace(/(?<=:)\d+/, number);
  const text = texts === null ? moved : changedText(moved, texts);
  return { id, name: name ?? made.name, arguments: written ?? text };
}

/** One result a call, in order, whatever the calls. */
function assertAnswered(results: readonly ToolResult[], calls: readonly ToolCall[]): void {
  assertEquals(
    results.map(({ callId, name }) => [callId, name]),
    calls.map(({ id, name }) => [id, name]),
  );
  for (const { content } of results) assertEquals(typeof content, "string");
  assertEquals(({} as { polluted?: unknown }).polluted, undefined);
}

/** Each call within the limit is in the trace once, in order, with one class at most. */
function assertTraced(
  events: readonly CallEvent[],
  calls: readonly ToolCall[],
  limit: number,
): void {
  const within = calls.slice(0, limit);
  assertEquals(events.map(({ call }) => call), within.map((_, place) => place + 1));
  for (const [place, { failure, function: name }] of events.entries()) {
    assert(within[place]!.name.startsWith(name), "a name is kept as far as it is kept");
    assert(failure === undefined || FAILURE_TYPES.includes(failure.type));
  }
  assertEquals(JSON.parse(JSON.stringify(events)), events, "a trace can be written");
}

/** Whether a call is right by the task itself. */
function isRight({ name, arguments: written }: ToolCall, { functions, values }: Task): boolean {
  const made = functions.find((one) => one.name === name);
  const given = parseJson(written);
  if (made === undefined || !isJsonObject(given)) return false;
  const { parameters } = made;
  return Object.keys(given).length === parameters.length &&
    parameters.every(({ name, variable }) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      const truth = values.get(variable);
      return truth !== undefined && (value === truth || value === String(truth));
    });
}

const asRight = (task: Task) =>
  task.functions.map((made: TaskFunction) => ({
    name: made.name,
    right: rightArguments(task, made) as JsonObject,
  }));

fuzz(
  "GeneratedTaskExecutor.execute() gives each call of any text one result and one class",
  fc.tuple(
    specs(5),
    fc.array(wrongCalls(), { maxLength: 4 }),
    fc.nat(20),
    fc.boolean(),
    fc.constantFrom("none", "none", "timeout", "malformed_return:2", "flaky:0.5", "FK", "WT+CF"),
  ),
  async ([spec, replies, callLimit, references, perturbation]) => {
    const task = generateTask(spec);
    const executor = createExecutor(task, { callLimit, references, perturbation });
    const calls: ToolCall[] = [];
    for (const reply of replies) {
      const own = reply.map((wrong) => callOf(wrong, asRight(task)));
      assertAnswered(await executor.execute(own), own);
      calls.push(...own);
    }
    const events = callsOf(executor.events);
    assertTraced(events, calls, callLimit);
    assertEquals(executor.calls, Math.min(callLimit, calls.length));
    assertEquals(executor.exhausted, calls.length > callLimit);
    if (references) return;
    for (const [place, { failure, fault }] of events.entries()) {
      // Nothing that would be refused has a fault in its way.
      if (fault !== undefined) assert(failure?.type !== "wrong_number_of_inputs");
      else assertEquals(failure === undefined, isRight(calls[place]!, task));
    }
  },
  { runs: 60 },
);

/** JSON Schemas, and what looks like some. */
function schemas(): fc.Arbitrary<JsonObject> {
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => {
    const inner = tie("schema");
    const keywords: Record<string, fc.Arbitrary<JsonValue>> = {
      type: fc.constantFrom<JsonValue>(
        ...["object", "string", "integer", "number", "array", "boolean", "null"],
        ["string", "null"],
        "any",
      ),
      properties: fc.array(fc.tuple(fc.oneof(fc.constantFrom("a", "b"), anyText()), inner), {
        maxLength: 3,
      }).map(objectOf),
      required: fc.array(fc.constantFrom("a", "b", "__proto__", "constructor"), { maxLength: 2 }),
      additionalProperties: fc.oneof(fc.boolean(), inner),
      items: inner,
      enum: fc.array(anyJson(), { minLength: 1, maxLength: 3 }),
      const: anyJson(),
      anyOf: fc.array(inner, { minLength: 1, maxLength: 2 }),
      oneOf: fc.array(inner, { minLength: 1, maxLength: 2 }),
      allOf: fc.array(inner, { minLength: 1, maxLength: 2 }),
      not: inner,
      minimum: fc.double({ noNaN: true, noDefaultInfinity: true }),
      multipleOf: fc.constantFrom(1, 0.01, 1e-300, 3),
      maxLength: fc.nat(5),
      pattern: fc.constantFrom("^a+$", "(", "\\p{L}", "[", "^.{2}$"),
      patternProperties: inner.map((one) => objectOf([["^a", one]])),
      propertyNames: inner,
      format: fc.constantFrom("date", "email", "nonsense"),
      $ref: fc.constantFrom("#", "#/properties/a", "#/nowhere", "http://127.0.0.1:1/x"),
      $id: fc.constantFrom("x", "#y"),
      default: anyJson(),
      description: anyText(),
    };
    const known = fc.array(
      fc.constantFrom(...Object.keys(keywords)).chain((keyword) =>
        keywords[keyword]!.map((value) => [keyword, value] as const)
      ),
      { maxLength: 3 },
    ).map(objectOf);
    return {
      schema: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        {
          arbitrary: fc.constantFrom<JsonObject>({}, { type: "string" }, { type: "integer" }),
          weight: 3,
        },
        { arbitrary: known, weight: 4 },
      ),
    };
  });
  return fc.oneof(schema.map((one) => ({ type: "object", ...one })), schema);
}

fuzz(
  "Toolbox.execute() runs a tool of any schema where its check lets the call through, and only there",
  fc.tuple(
    fc.array(fc.tuple(schemas(), anyJson()), { minLength: 1, maxLength: 3 }),
    wrongCalls(),
    fc.boolean(),
    fc.boolean(),
  ),
  async ([drawn, wrongs, references, faulty]) => {
    const run: string[] = [];
    const tools = drawn.map(([parameters, result], place): Tool => ({
      name: `tool_${place}`,
      description: "Does what it does",
      parameters,
      execute: () => {
        run.push(`tool_${place}`);
        // Types are not everywhere.
        return result as Promise<string> | string as Promise<string>;
      },
    }));
    let toolbox: Toolbox;
    try {
      const failing = faulty
        ? withFaults(tools, [{ kind: "flaky", rate: 0.5 }], { seed: 1 })
        : tools;
      toolbox = new Toolbox(failing, { references });
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      assertReadable(error.message);
      return;
    }
    const rights = tools.map(({ name }) => ({ name, right: { a: "x", b: 1 } }));
    const calls = wrongs.map((wrong) => callOf(wrong, rights));
    const results = await toolbox.execute(calls);
    assertAnswered(results, calls);
    const events = callsOf(toolbox.events);
    assertTraced(events, calls, Infinity);
    assertEquals(toolbox.calls, calls.length);
    const passed = events.filter(({ failure, refused }: CallEvent & { refused?: unknown }) =>
      failure === undefined && refused === undefined
    );
    if (!faulty && !references) assertEquals(run.length, passed.length, "one run a call");
    assert(run.length <= passed.length);
    for (const [place, { failure }] of events.entries()) {
      const known = tools.some(({ name }) => name === calls[place]!.name);
      if (!known) assertEquals(failure?.type, "function_not_found");
      if (known && !references) {
        assertEquals(
          failure?.type,
          toolbox.refuse(calls[place]!) === undefined ? undefined : "wrong_number_of_inputs",
        );
      }
    }
  },
  { runs: 70 },
);

/** What models say. */
function hostileReplies() {
  const reply = fc.record({
    text: fc.oneof(anyText(), fc.constantFrom("@a is 5", "$1", "x = 999", "```json\n{}\n```")),
    calls: wrongCalls(),
    finish: fc.constantFrom("stop", "calls", "length", "filter", "other"),
    tokens: fc.nat(1_000),
  });
  return fc.array(reply, { minLength: 1, maxLength: 6 });
}

fuzz(
  "runTrial() ends in one line that can be read, whatever a model says",
  fc.tuple(
    specs(4),
    hostileReplies(),
    fc.constantFrom(...STRATEGIES, "repair+indirection", "restate+plan_then_call"),
    fc.constantFrom(
      "none",
      "none",
      "RD",
      "RP_F",
      "CP+AN",
      "FK+AP",
      "CF",
      "timeout",
      "rate_limit:2",
    ),
    fc.boolean(),
  ),
  async ([spec, replies, strategy, perturbation, references]) => {
    const rights = asRight(generateTask(spec));
    const model = scripted("hostile", ({ context }) => {
      const { text, calls, finish, tokens } = replies[(context.request - 1) % replies.length]!;
      return {
        text,
        finish: finish as "stop",
        calls: calls.map((wrong) => callOf(wrong, rights)),
        usage: { inputTokens: tokens, outputTokens: tokens },
        served: text,
      };
    });
    const limits = { calls: 10, steps: 12, tokens: 100_000 };
    const options = { limits, perturbation, strategy: { strategy }, references };
    let trial;
    try {
      trial = await runTrial(spec, model, options);
    } catch (error) {
      // What does not go together is no matter of what a model says.
      if (!(error instanceof InputError) || !references) throw error;
      return;
    }
    assert(OUTCOMES.includes(trial.outcome), trial.outcome);
    assert(trial.outcome !== "invalid", `a model made its trial invalid: ${trial.reason}`);
    assert(trial.calls <= limits.calls);
    const read = TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial)));
    assertEquals(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(trial)));
  },
  { runs: 60 },
);

const SHAPES: readonly (readonly [before: string, repeated: string])[] = [
  ["", "["],
  ["", '{"a":'],
  ['{"a":"', "x"],
  ['{"a":"', "$1."],
  ['{"a":"', "@a"],
  ['{"a":"', "\\u0000"],
  ['{"a":1', ',"a":1'],
  ["", "{}"],
  ["", "9"],
];

for (const [before, repeated] of SHAPES) {
  const shown = JSON.stringify(before + repeated);
  const ends = before.includes('"a":"') ? '"}' : before === "" ? "" : "}";
  Deno.test(`Executor.execute() takes time that is linear in arguments of ${shown}`, async () => {
    const task = generateTask({ core: 2, depth: 1, connected: 0, disconnected: 0, seed: 1 });
    const [{ name }] = task.functions as [TaskFunction];
    const tool: Tool = {
      name,
      description: "Takes a text",
      parameters: { type: "object", properties: { a: { type: "string", maxLength: 5 } } },
      execute: () => Promise.resolve("1"),
    };
    for (const references of [false, true]) {
      const executor = createExecutor(task, { references, callLimit: 1e6 });
      // What runs at once is measured; a toolbox answers when its tools have.
      assertLinear(
        (text) =>
          void executor.execute([
            { id: "1", name, arguments: text + ends },
            { id: "2", name: text, arguments: "{}" },
          ]),
        before,
        repeated,
      );
      const toolbox = new Toolbox([tool], { references });
      assertLinear(
        (text) => toolbox.refuse({ id: "1", name, arguments: text + ends }),
        before,
        repeated,
      );
    }
    await Promise.resolve();
  });
}
