import { assertEquals, assertThrows } from "@std/assert";
import type { Definition } from "../../../lib/toolkit/definitions/definition.ts";
import { runDefinition } from "../../../lib/toolkit/definitions/run.ts";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import {
  defineFrom,
  type DefineOptions,
  type SymbolicStep,
} from "../../../lib/toolkit/definitions/from_trace.ts";
import type { CallEvent, TraceEvent } from "../../../lib/calls/trace.ts";
import { EVAL } from "../../support/arithmetic_tools.ts";
import { MEAN, OPTIONS } from "../../support/definitions.ts";

/** The event of a call that names its result. */
function event(call: number, tool: string, written: JsonObject, traits: object = {}): CallEvent {
  return {
    kind: "call",
    call,
    step: call,
    function: tool,
    arguments: JSON.stringify(written),
    result: String(written["result"] ?? "null"),
    ...traits,
  };
}

Deno.test("defineFrom() lifts the article's example (Indirection, Adding a Level of Indirection)", async () => {
  const mean = defineFrom(MEAN, OPTIONS);
  assertEquals<unknown>(mean.calls, MEAN);
  assertEquals(await runDefinition(mean, [EVAL], { X: 3, Y: 8 }), 5.5);
  assertEquals(await runDefinition(mean, [EVAL], { Y: -3, X: 3 }), 0);
});

Deno.test("defineFrom() keeps what the output depends on, in order", () => {
  const call = (result: string, ...names: string[]): SymbolicStep => ({
    tool: "t",
    arguments: { list: names.map((name) => `@${name}`) },
    result,
  });
  const trace = [
    call("A", "X"),
    call("B", "A"),
    call("C", "X"),
    call("D", "A", "C"),
    call("E", "D"),
  ];
  const options: DefineOptions = { inputs: { X: "number" }, output: { name: "D", type: "number" } };
  const results = (options: DefineOptions) =>
    defineFrom(trace, options).calls.map(({ result }) => result);
  assertEquals(results(options), ["A", "C", "D"]);
  assertEquals(results({ ...options, output: { name: "A", type: "number" } }), ["A"]);
});

Deno.test("defineFrom() reads the events of a trial, without those that failed", () => {
  const failure = {
    type: "wrong_number_of_inputs",
    detail: { missing: [], unexpected: [], wrongType: [], malformed: false },
    root: true,
  } as const;
  const events: TraceEvent[] = [
    {
      kind: "reply",
      request: 1,
      text: "",
      calls: 1,
      inputTokens: 0,
      outputTokens: 0,
      durationMs: 0,
    },
    event(1, "eval", { expression: "@X+@Y", result: "@SumXY" }, { failure }),
    event(2, "eval", { expression: "@X+@Y", result: "@SumXY" }, { result: '{"error":"no"}' }),
    event(3, "eval", { expression: "@X+@Y", result: "@SumXY" }, { result: '{"error":"busy"}' }),
    event(4, "eval", { expression: "@X+@Y", result: "@SumXY" }, {
      result: '{"error":"busy","known_variables":{}}',
    }),
    event(5, "nope", {}, { failure }),
    event(6, "eval", { expression: "@X+@Y", result: "@SumXY" }),
    event(7, "dereference", { name: "@SumXY" }, { result: "12" }),
    event(8, "dereference", { name: "@Nobody" }, { result: '{"error":"no"}' }),
    event(9, "eval", { expression: "@SumXY/2", result: "@Mean" }),
    { kind: "answer", text: "@Mean", value: null },
  ];
  assertEquals(defineFrom(events, OPTIONS), defineFrom(MEAN, OPTIONS));
});

Deno.test("defineFrom() refuses calls that name no result, and ones that were cut", () => {
  const events = [event(1, "eval", { expression: "@X", result: "text" })];
  const options = { ...OPTIONS, inputs: { X: "number" } } as const;
  assertThrows(
    () => defineFrom(events, options),
    InputError,
    "must name its result: call 1, eval,",
  );
  const cut = [{ ...events[0]!, arguments: '{"expression":"@X", "resu' }];
  assertThrows(() => defineFrom(cut, options), InputError, "recorded with all its arguments");
  // A tool of that name which names its result is a tool like others.
  const own = [event(1, "dereference", { name: "@X", result: "@Mean" }, { result: "@Mean" })];
  assertEquals(defineFrom(own, options).calls.length, 1);
});

Deno.test("defineFrom() follows paths by the names that they begin with", () => {
  const events: TraceEvent[] = [
    event(1, "t", { of: "@X.id", result: "@A" }),
    event(2, "t", { of: "@X", result: "@B" }),
    event(3, "dereference", { name: "@A.total" }, { result: "30" }),
    event(4, "t", { of: ["@A.total", "for @A.customer.name."], result: "@C" }),
  ];
  const inputs = { X: "object" } as const;
  const { calls } = defineFrom(events, { inputs, output: { name: "C", type: "null" } });
  assertEquals(calls.map(({ result }) => result), ["A", "C"]);
  assertThrows(
    () => defineFrom(events, { inputs: {}, output: { name: "A", type: "null" } }),
    InputError,
    "call 1, t, uses @X",
  );
  const copied = [...events, event(5, "t", { of: "@C", n: "30", result: "@D" })];
  assertThrows(
    () => defineFrom(copied, { inputs, output: { name: "D", type: "null" } }),
    InputError,
    "hold the value of @A.total",
  );
});

Deno.test("defineFrom() refuses what is no definition", () => {
  const call = (expression: string, result: string): SymbolicStep => ({
    tool: "eval",
    arguments: { expression },
    result,
  });
  const [sum, half] = MEAN as [SymbolicStep, SymbolicStep];
  for (
    const [trace, words, options] of [
      [[], "it must make a call: there is none", {}],
      [[{ dereferenced: "X", value: 1 }], "it must make a call", {}],
      [[sum], "a call must bind its output: none binds @Mean", {}],
      [[half], "an earlier call: call 1, eval, uses @SumXY", {}],
      [[half, sum], "an earlier call: call 1, eval, uses @SumXY", {}],
      [[call("@Mean", "Mean")], "call 1, eval, uses @Mean", {}],
      [[sum, half, sum], "stands for one value: two calls name @SumXY", {}],
      [[sum, half], "call 1, eval, uses @Y", { inputs: { X: "number" } }],
      [[sum, half], "names @Mean again", { inputs: { X: "number", Y: "number", Mean: "number" } }],
      [[call("1", "X"), half], "uses @SumXY", { inputs: {} }],
      [[sum, half], "an input names @a b", { inputs: { "a b": "number" } }],
      [[sum, half], "its name must be 1 to 64", { name: "the mean" }],
      [[sum, half], "its name must be 1 to 64", { name: "" }],
      [[sum, half], "none binds @X", { output: { name: "X", type: "number" } }],
    ] as [SymbolicStep[], string, Partial<DefineOptions>][]
  ) {
    assertThrows(
      () => defineFrom(trace, { ...OPTIONS, ...options }),
      InputError,
      words,
      `${words} in ${JSON.stringify(trace)}`,
    );
  }
});

/** Defines from two calls, between which a value is shown, and the second of which has a literal. */
function afterShown(value: JsonValue, literal: JsonValue): Definition {
  return defineFrom([
    { tool: "t", arguments: { seed: "@X" }, result: "A" },
    { dereferenced: "A", value },
    { tool: "t", arguments: { of: "@A", literal }, result: "B" },
  ], {
    inputs: { X: "number", A731: "number", x731: "number", Paris: "string" },
    output: { name: "B", type: "number" },
  });
}

Deno.test("defineFrom() refuses a literal that was taken from a value that was shown", () => {
  for (
    const [value, literal] of [
      [731, 731],
      [731, "731"],
      [731, "@A+731"],
      [731, "It is 731."],
      [731, "@X.total-@X. 731"],
      [731, { deep: ["x", { it: 731 }] }],
      [2.5, "x*2.5e0"],
      [-3, -3],
      [-3, "@X-3"],
      [1e-7, "1e-7"],
      ["Paris", "Paris"],
      ["Paris", ["the (Paris)"]],
      ["a-b", "xa-b a-b"],
      ["c++", "c++20"],
      ["731", 731],
      ["Zürich", "nach Zürich"],
      [true, true],
      [null, null],
      ["", ""],
      [{ city: "Paris", size: [731] }, "in Paris"],
      [{ city: "Paris", size: [731] }, { city: "Rome", size: [731] }],
    ] as [JsonValue, JsonValue][]
  ) {
    assertThrows(
      () => afterShown(value, literal),
      InputError,
      "as a definition follows names only: the arguments of t for @B hold the value of @A",
      JSON.stringify([value, literal]),
    );
  }
});

Deno.test("defineFrom() lets literals be that are no copies", () => {
  for (
    const [value, literal] of [
      [731, 732],
      [731, "7310 1731 731px 73.1 0.731"],
      [731, "@A731 and @x731"],
      [3, "13+31+3.5+1.3"],
      [3, -4],
      [-3, 3],
      [-3, "2+3"],
      ["Paris", "Parisian"],
      ["Paris", "@Paris"],
      ["total", "@X.total.x"],
      [0, "@X.0 @X.lines.0"],
      ["Zürich", "ÉZürich"],
      ["", "words"],
      [true, "true story"],
      [true, 1],
      [{ ok: true, none: null, text: "" }, [true, null, ""]],
      [{ Paris: 1 }, "Paris"],
    ] as [JsonValue, JsonValue][]
  ) assertEquals(afterShown(value, literal).calls.length, 2, JSON.stringify([value, literal]));
});

Deno.test("defineFrom() minds only literals of calls that it keeps, made after the look", () => {
  const trace: SymbolicStep[] = [
    { tool: "t", arguments: { n: 731, x: "@X" }, result: "A" },
    { dereferenced: "A", value: 731 },
    { tool: "t", arguments: { n: 731 }, result: "Idle" },
    { tool: "t", arguments: { n: "@A" }, result: "B" },
  ];
  const options: DefineOptions = { inputs: { X: "number" }, output: { name: "B", type: "number" } };
  assertEquals(defineFrom(trace, options).calls.length, 2);
});

Deno.test("defineFrom() sees values that were shown with others restated, and none that were cut", () => {
  const trace = (shown: string): TraceEvent[] =>
    [
      ["a", '{"x":"@X","result":"@A"}', "@A"],
      ["dereference", '{"name":"@A"}', shown],
      ["a", '{"x":4242,"result":"@B"}', "@B"],
    ].map(([name, written, result], place) => ({
      kind: "call",
      call: place + 1,
      step: place + 1,
      function: name!,
      arguments: written!,
      result: result!,
    }));
  const define = (shown: string) =>
    defineFrom(trace(shown), { inputs: { X: "number" }, output: { name: "B", type: "number" } });
  for (const shown of ["4242", '4242\n{"known_variables":{"X":"@X"}}']) {
    assertThrows(() => define(shown), InputError, "which was dereferenced before");
  }
  assertThrows(
    () => define(`[${"1,".repeat(5000)}`.slice(0, 10_000)),
    InputError,
    "each call must have been recorded with all that it returned: call 2",
  );
});
