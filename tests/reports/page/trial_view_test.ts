import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { defined } from "../../../lib/base/json.ts";
import {
  createExecutor,
  type GeneratedTaskExecutor,
} from "../../../lib/trials/executors/generated.ts";
import type { FailureCause, WrongArgument } from "../../../lib/calls/failure_types.ts";
import { type KnownTask, rightAnswer, taskOf } from "../../../lib/reports/page/_task_view.ts";
import { viewTrial } from "../../../lib/reports/page/_trial_view.ts";
import type { Api } from "../../../lib/models/formats/registry.ts";
import { GENERATOR_VERSION } from "../../../lib/tasks/graphs/task.ts";
import {
  type CallEvent,
  callsOf,
  EVENT,
  failuresOf,
  type TraceEvent,
} from "../../../lib/calls/trace.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import fc from "../../support/fast_check.ts";
import { call, OTH, SRC, TASK } from "../../support/handmade.ts";
import { callEvent, HOSTILE, record, STEERING, type TrialTraits } from "../../support/records.ts";
import { readCall, readEvent } from "../../support/trees.ts";

/** The handmade task, as views have it. */
const KNOWN: KnownTask = { kind: "generated", task: TASK };

function traced(events: readonly TraceEvent[], traits: TrialTraits = {}): Trial {
  return record({ events, failures: failuresOf(events), ...traits });
}

/** The views of the calls of a trace. */
function callViews(events: readonly TraceEvent[]) {
  return viewTrial(traced(events), "", undefined).events
    .flatMap((event) => "call" in event ? [readCall(event)] : []);
}

/** The one call that fails in this way, with these arguments. */
function failed(cause: FailureCause, written = '{"para":5}', traits: Partial<CallEvent> = {}) {
  const { returned: _, ...event } = callEvent(2, { arguments: written, ...traits });
  const [view] = callViews([{ ...event, failure: { ...cause, root: true } }]);
  return view!;
}

/** What executing these calls on the handmade task leaves. */
async function eventsOf(
  work: (executor: GeneratedTaskExecutor) => Promise<unknown> | unknown,
): Promise<TraceEvent[]> {
  using executor = createExecutor(TASK, { callLimit: 20 });
  await work(executor);
  return [...executor.events];
}

/** Every text in a value. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsOf(inner)]);
}

Deno.test("viewTrial() tells what is known of a trial but for what is usual, and that its model is simulated", () => {
  const trial = traced([], {
    model: "sim:a",
    served: "served",
    simulated: true,
    outcome: "wrong_answer",
    usage: { inputTokens: 5, outputTokens: 6 },
  });
  const { facts, summary, rerun, events } = viewTrial(trial, "deno test", undefined);
  const [model, task, served, ...more] = facts;
  assertEquals([model, task, served], [
    ["model", "sim:a (simulated)"],
    ["task", "core 3, depth 2, connected 0, disconnected 0"],
    ["served as", "served"],
  ]);
  assertEquals(more, [
    ["seed", "1"],
    ["tokens", "5 read, 6 written"],
    ["time", "100 ms"],
    ["began", "2026-01-01T00:00:00.000Z"],
  ]);
  assert(summary.startsWith("wrong_answer after 3 calls (fewest 3)"), summary);
  assertEquals([rerun, events], ["deno test", []]);
  const usual = {
    ...trial,
    ...{ startedAt: "", durationMs: 0, usage: { inputTokens: 0, outputTokens: 0 } },
    model: { ...trial.model, served: "sim:a", api: "chat" as const },
  };
  assertEquals(viewTrial(usual, "", undefined).facts, [model!, task!, ["seed", "1"]]);
  const other = { ...usual, strategy: "restate", repetition: 2 };
  assertEquals(viewTrial(other, "", undefined).facts.slice(2), [
    ...[["strategy", "restate"], ["seed", "1"], ["repetition", "2"]] as [string, string][],
  ]);
});

Deno.test("viewTrial() shows what happened in order, and says a final reply once (FuncBenchGen C.4)", () => {
  const reply = { inputTokens: 1, outputTokens: 1, durationMs: 1 };
  const { events } = viewTrial(
    traced([
      { kind: "reply", request: 1, text: "Let me see.\nA", calls: 1, ...reply },
      callEvent(1),
      { kind: "reply", request: 2, text: "", calls: 1, ...reply },
      {
        kind: "reply",
        request: 3,
        text: "so",
        calls: 0,
        failed: [{ cause: "unclear", status: 500, message: "500 panic" }],
        repairs: ["an id"],
        ...reply,
      },
      { kind: "reply", request: 4, text: "x = 5", calls: 0, ...reply },
      { kind: "over_limit", function: "func_a", limit: 6 },
      { kind: "answer", text: "x = 5", value: 5 },
      { kind: "answer", text: "", value: null },
      { kind: "stop", reason: "call_limit", message: "enough" },
    ]),
    "",
    undefined,
  );
  assertEquals(events.map(readEvent), [
    ["said", "reply 1", "Let me see.\nA"],
    ["call", "call 1, step 1", false],
    [
      "said",
      "reply 3",
      "so\n(an attempt failed before, of unclear cause: 500 panic)\n(repaired: an id)",
    ],
    ["stop", "over the limit", "func_a was called after all 6 calls were made"],
    ["answer", "answer: 5", "x = 5"],
    ["answer", "answer: none found", ""],
    ["stop", "stopped: call_limit", "enough"],
  ]);
});

Deno.test("viewTrial() shows what runs a trial again as it is, or not at all", () => {
  const rerunOf = (rerun: string | undefined) => viewTrial(traced([]), rerun, undefined).rerun;
  for (const line of ["deno test", "it's \\ $(x)", "long ".repeat(600)]) {
    assertEquals(rerunOf(line), line);
  }
  for (const line of [undefined, "a\nb", HOSTILE, "a\u200bb"]) {
    assertEquals(rerunOf(line), undefined);
  }
});

Deno.test("viewTrial() tells what becomes of a call", async () => {
  const views = callViews(
    await eventsOf(async (executor) => {
      await executor.execute([SRC]);
      await executor.execute([call("func_con", { con: 111 })]);
      await executor.execute([call("func_oth", { also: 1 })]);
      await executor.execute([call("func_none", {})]);
      await executor.execute([call("func_tgt", { one: 111, two: 222 })]);
    }),
  );
  assertEquals(views.map(({ function: name, kinds, notes }) => [name, kinds, notes]), [
    ["func_src", "core right", "core"],
    ["func_con", "connected irrelevant", "connected, not needed"],
    ["func_oth", "core wrong", "core"],
    ["func_none", "wrong", ""],
    ["func_tgt", views[4]!.kinds, "core"],
  ]);
  assertMatch(views[4]!.kinds, /^core /);
  assertEquals(views[0]!.returned, '{"alpha":111}');
  assertEquals(views[0]!.inputs, [["given = 731"]]);
});

Deno.test("viewTrial() tells a wrong value at its parameter, and at no other", async () => {
  const [, , wrong] = callViews(
    await eventsOf(async (executor) => {
      await executor.execute([SRC]);
      await executor.execute([OTH]);
      await executor.execute([call("func_tgt", { one: 111, two: 205 })]);
    }),
  );
  assertEquals(wrong!.inputs, [
    ["one = 111"],
    ["two = 205", "two expects the value of beta but got 205, which is the value of also"],
  ]);
  assertEquals(
    wrong!.why,
    "incorrect value (root): the right value is known, but another was given",
  );
});

Deno.test("viewTrial() tells a value that came from an earlier wrong call, which is no root", async () => {
  let returned = 0;
  const views = callViews(
    await eventsOf(async (executor) => {
      await executor.execute([call("func_src", { given: 1 })]);
      await executor.execute([OTH]);
      returned = callsOf(executor.events)[0]!.returned!.value;
      await executor.execute([call("func_tgt", { one: returned, two: 222 })]);
    }),
  );
  const [, , wrong] = views;
  assertStringIncludes(wrong!.why!, "(cascade): passes on the wrong result of call 1");
  assertEquals(
    wrong!.inputs[0]![1],
    `one expects the value of alpha but got ${returned}, which call 1 had returned wrongly`,
  );
});

Deno.test("viewTrial() tells every fault of arguments that do not fit the schema", () => {
  const fault = { missing: [], unexpected: [], wrongType: [], malformed: false };
  const type = "wrong_number_of_inputs";
  const both = failed(
    { type, detail: { ...fault, missing: ["absent"], unexpected: ["para"], wrongType: ["odd"] } },
    '{"para":5,"odd":1.5,"fine":3}',
  );
  assertEquals(both.inputs, [
    ["para = 5", "there is no such parameter"],
    ["odd = 1.5", "it must be a whole number"],
    ["fine = 3"],
  ]);
  assertStringIncludes(both.why!, "absent");
  const nested = failed({ type, detail: { ...fault, wrongType: ["deep"] } }, '{"deep":{"a":[1]}}');
  assertEquals([nested.inputs, nested.written], [[], '{"deep":{"a":[1]}}']);
  assertStringIncludes(nested.why!, "deep");
  const long = "x".repeat(150);
  const cut = failed(
    { type, detail: { ...fault, unexpected: [long.slice(0, 100)] } },
    JSON.stringify({ [long]: 1 }),
  );
  assert(cut.why!.includes("unexpected") || cut.inputs[0]![1] !== undefined);
  const malformed = failed({ type, detail: { ...fault, malformed: true } }, "{not json");
  assertEquals([malformed.inputs, malformed.written], [[], "{not json"]);
  assertEquals(
    malformed.why,
    "wrong number of inputs (root): the arguments are not a JSON object",
  );
});

Deno.test("viewTrial() tells a wrong argument that is not among the inputs all the same", () => {
  const wrong: WrongArgument = {
    parameter: "gone",
    variable: "vari",
    given: 5,
    origin: "fabricated",
  };
  const view = failed({ type: "incorrect_value", detail: { arguments: [wrong] } });
  assertEquals(view.inputs, [["para = 5"]]);
  assertStringIncludes(view.why!, "gone expects the value of vari but got 5");
});

Deno.test("viewTrial() shows what an argument stood for, and the name of what came back", () => {
  const [call] = callViews([callEvent(1, {
    arguments: '{"abc":"@abc","text":"2 x @abc","plain":7,"result":"@xyz"}',
    resolved: '{"abc":111,"text":"2 x 111","plain":7}',
    result: "@xyz",
  })]);
  assertEquals(call!.inputs, [
    ['abc = "@abc" = 111'],
    ['text = "2 x @abc" = "2 x 111"'],
    ["plain = 7"],
    ['result = "@xyz"'],
  ]);
  assertEquals(call!.returned, "@xyz\nstands for xyz = 222");
});

Deno.test("viewTrial() shows what nested arguments stood for as a whole", () => {
  const written = '{"list":["@abc"]}';
  const [call] = callViews([callEvent(1, { arguments: written, resolved: '{"list":[111]}' })]);
  assertEquals([call!.inputs, call!.written], [[], `${written}\nstands for {"list":[111]}`]);
});

Deno.test("viewTrial() shows arguments whose meaning cannot be read as they were written", () => {
  const deep = `{"abc":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
  for (const resolved of ["", "{", "[1]", "null", '{"other":1}', '{"__proto__":{"abc":1}}', deep]) {
    const [call] = callViews([callEvent(1, { arguments: '{"abc":"@abc"}', resolved })]);
    const [input, ...others] = call!.inputs;
    assertEquals(others, []);
    assert(input![0].startsWith('abc = "@abc"'), input![0].slice(0, 100));
    if (resolved !== deep) assertEquals(input![0], 'abc = "@abc"', resolved);
  }
});

Deno.test("viewTrial() says whether prompt and tools are what the model got", () => {
  const offerOf = (traits: TrialTraits) => viewTrial(traced([], traits), "", KNOWN).offer;
  assertEquals(offerOf({}), "prompt and tools, as the model got them");
  const over = (api: Api) => {
    const trial = traced([]);
    return viewTrial({ ...trial, model: { ...trial.model, api } }, "", KNOWN).offer;
  };
  assertEquals(
    over("react"),
    "prompt and tools of the task; the format react changes what the model sees",
  );
  assertEquals(over("responses"), offerOf({}));
  assertEquals(
    offerOf({ strategy: "indirection" }),
    "prompt and tools of the task; the strategy indirection changes what the model sees",
  );
  assertEquals(
    offerOf({ perturbation: "WT" }),
    "prompt and tools of the task; the perturbation WT changes what the model sees",
  );
  assertEquals(
    offerOf({ strategy: HOSTILE, perturbation: "WT" })!.endsWith(
      "x and the perturbation WT change what the model sees",
    ),
    true,
  );
});

Deno.test("viewTrial() lists behaviours, and that an answer is ungrounded", () => {
  const behavioursOf = (traits: TrialTraits) =>
    new Map(viewTrial(traced([], traits), "", undefined).facts).get("behaviours");
  assertEquals(behavioursOf({}), undefined);
  assertEquals(behavioursOf({ behaviours: ["aversion", "silent"] }), "aversion, silent");
  assertEquals(behavioursOf({ behaviours: ["aversion"], grounded: false }), "aversion, ungrounded");
  assertEquals(behavioursOf({ outcome: "wrong_answer", grounded: false }), undefined);
});

Deno.test("viewTrial() of a probe has its right answer, no role for its tool, and no graph", () => {
  const spec = { case: "lying_calculator", seed: 3 } as const;
  const known = taskOf({ task: spec }, GENERATOR_VERSION)!;
  const { role: _, ...call } = callEvent(1, { function: "eval", result: "971" });
  const view = viewTrial(traced([call], { task: spec }), "", known);
  assertEquals(view.facts[0], ["right answer", rightAnswer(known)]);
  assertEquals(view.events.map((event) => "call" in event && readCall(event).notes), [""]);
  assertEquals(JSON.stringify(view).includes("unknown"), false);
});

Deno.test("viewTrial() makes hostile texts visible, wherever they stand", () => {
  const reply = { inputTokens: 1, outputTokens: 1, durationMs: 1 };
  const wrong = { parameter: HOSTILE, variable: HOSTILE, given: 5 };
  const hostileCall = (failure: FailureCause, written = JSON.stringify({ [HOSTILE]: HOSTILE })) =>
    callEvent(1, {
      function: HOSTILE,
      arguments: written,
      resolved: JSON.stringify({ [HOSTILE]: `${HOSTILE}!` }),
      result: HOSTILE,
      returned: { variable: HOSTILE, value: 1 },
      failure: { ...failure, root: true },
      unperturbed: HOSTILE,
      parameters: {
        oracle: 1,
        failures: [{
          type: "task_deviation",
          parameter: HOSTILE,
          given: HOSTILE,
          expected: { [HOSTILE]: HOSTILE },
        }],
        undecided: [{ types: ["task_deviation"], parameter: HOSTILE }],
      },
    });
  const type = "incorrect_value";
  const origins: WrongArgument[] = [
    { ...wrong, origin: "other_variable", originVariable: HOSTILE },
    { ...wrong, origin: "wrong_return", originCall: 3 },
    { ...wrong, origin: "fabricated" },
  ];
  const fault = { missing: [HOSTILE], unexpected: [HOSTILE], wrongType: [HOSTILE] };
  const trial = traced([
    { kind: "reply", request: 1, text: HOSTILE, calls: 1, repairs: [HOSTILE], ...reply },
    hostileCall({ type: "function_not_found", detail: { nearest: HOSTILE } }, HOSTILE),
    hostileCall({ type: "wrong_number_of_inputs", detail: { ...fault, malformed: false } }),
    ...origins.flatMap((one) => [
      hostileCall({ type, detail: { arguments: [one] } }),
      hostileCall({ type, detail: { arguments: [one] } }, "{}"),
    ]),
    { kind: "over_limit", function: HOSTILE, limit: 1 },
    { kind: "answer", text: HOSTILE, value: 1 },
    { kind: "stop", reason: HOSTILE as "invalid", message: HOSTILE },
  ], {
    id: HOSTILE,
    model: HOSTILE,
    served: HOSTILE,
    strategy: HOSTILE,
    perturbation: HOSTILE,
    startedAt: HOSTILE,
    outcome: "invalid",
    reason: HOSTILE,
    task: { case: HOSTILE, [HOSTILE]: HOSTILE } as unknown as Trial["task"],
  });
  const texts = textsOf(viewTrial(trial, HOSTILE, undefined));
  assert(texts.filter((text) => text.includes("\\u001b[2J")).length > 20);
  for (const text of texts) assertNotMatch(text, STEERING);
});

Deno.test("viewTrial() shows the events of other tools, whatever they look like", () => {
  const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, -1, 1.5, "", "core"));
  const kinds = {
    reply: ["request", "text", "calls", "inputTokens", "outputTokens", "durationMs", "repairs"],
    call: [
      ...["call", "step", "function", "arguments", "result", "role", "returned", "failure"],
      ...["guessed", "coerced", "resolved", "unperturbed", "parameters"],
    ],
    over_limit: ["function", "limit"],
    answer: ["text", "value"],
    stop: ["reason", "message"],
  };
  const usual: Record<string, Record<string, unknown>> = {
    reply: {
      kind: "reply",
      ...{ request: 1, text: "a", calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 },
    },
    call: {
      ...callEvent(1, { arguments: '{"para":5}' }),
      failure: {
        type: "incorrect_value",
        root: true,
        detail: {
          arguments: [{ parameter: "para", variable: "v", given: 5, origin: "fabricated" }],
        },
      },
    },
    over_limit: { kind: "over_limit", function: "f", limit: 1 },
    answer: { kind: "answer", text: "a", value: 1 },
    stop: { kind: "stop", reason: "invalid", message: "m" },
  };
  const event = fc.constantFrom(...Object.keys(kinds) as (keyof typeof kinds)[]).chain((kind) =>
    fc.tuple(fc.constantFrom(...kinds[kind]), odd)
      .map(([field, value]) => ({ ...usual[kind], [field]: value }))
  );
  let read = 0;
  fc.assertAll(
    fc.property(event, (value) => {
      const { success, data } = EVENT.safeParse(value);
      if (!success) return;
      read++;
      const view = viewTrial(traced([data]), "", KNOWN);
      const events = view.events.map((one) => defined(one));
      assertEquals(JSON.parse(JSON.stringify(view)), { ...defined(view), events });
    }),
    { numRuns: 1000 },
  );
  assert(read > 50, `${read} events were read`);
});

Deno.test("EVENT refuses failures that do not tell what their type must", () => {
  const of = (failure: unknown) => EVENT.safeParse({ ...callEvent(1), failure }).success;
  const detail = { missing: [], unexpected: [], wrongType: [], malformed: true };
  assertEquals(of({ type: "wrong_number_of_inputs", root: true, detail }), true);
  assertEquals(of({ type: "wrong_number_of_inputs", detail }), false);
  assertEquals(of({ type: "incorrect_value", root: true, detail: { arguments: [] } }), true);
  for (
    const failure of [
      null,
      {},
      "function_not_found",
      { type: "function_not_found", root: true },
      { type: "function_not_found", root: true, detail: {} },
      { type: "another", root: true, detail },
      { type: "wrong_number_of_inputs", root: true, detail: { ...detail, missing: "a" } },
      { type: "incorrect_value", root: true, detail },
      { type: "incorrect_value", root: true, detail: { arguments: [{}] } },
      { type: "incorrect_value", root: true, detail: { arguments: {} } },
    ]
  ) assertEquals(of(failure), false, JSON.stringify(failure));
});

Deno.test("EVENT refuses what views could not show", () => {
  const reply = { request: 1, text: "", calls: 0, inputTokens: 0, outputTokens: 0, durationMs: 0 };
  const of = (value: unknown) => EVENT.safeParse(value).success;
  assertEquals(of({ kind: "reply", ...reply, repairs: ["a"] }), true);
  for (const repairs of ["a", {}, [1], 5]) {
    assertEquals(of({ kind: "reply", ...reply, repairs }), false, JSON.stringify(repairs));
  }
  for (const coerced of ["a", [1]]) assertEquals(of({ ...callEvent(1), coerced }), false);
  assertEquals(of({ ...callEvent(1), returned: { variable: "a", value: "1" } }), false);
  assertEquals(of({ ...callEvent(1), role: "villain" }), false);
});

Deno.test("viewTrial() says of each function that failed what became of it", () => {
  const lost = (call: number, traits: Partial<CallEvent>) => {
    const { returned: _, ...event } = callEvent(call, { fault: "timeout", ...traits });
    return { ...event, error: "it failed" };
  };
  const factsOf = (...events: readonly TraceEvent[]) =>
    viewTrial(traced(events), undefined, undefined).facts
      .flatMap(([name, value]) => name === "fault" ? [value] : []);
  assertEquals(factsOf(callEvent(1)), []);
  assertEquals(
    factsOf(
      lost(1, { function: "func_x" }),
      callEvent(2, { function: "func_x" }),
      callEvent(3, { function: "func_y", fault: "slow" }),
      lost(4, { function: `func_z${HOSTILE}`, fault: "permission_denied" }),
      lost(5, { function: "func_w", fault: "flaky", arguments: '{"one":1}' }),
      lost(6, { function: "func_w", fault: "timeout", arguments: '{"one":2}' }),
      lost(7, { function: "func_w", fault: "timeout", arguments: '{"one":3}' }),
    ).map((fact) => fact.replace(/func_z.*,/, "func_z,")),
    [
      "timeout of func_x, recovered after 1 further call",
      "slow of func_y, recovered",
      "permission_denied of func_z, gave up",
      "flaky of func_w, gave up after 2 further calls",
    ],
  );
  const [hostile] = factsOf(lost(1, { function: HOSTILE }));
  assert(!STEERING.test(hostile!));
});

Deno.test("viewTrial() says of each perturbation whether it found anything to change", () => {
  const spec = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 5 };
  const factsOf = (perturbation: string, traits: TrialTraits = {}) => {
    const known = taskOf({ task: spec, perturbation }, GENERATOR_VERSION);
    const view = viewTrial(traced([], { task: spec, perturbation, ...traits }), "", known);
    return { offer: view.offer, fact: Object.fromEntries(view.facts)["perturbation"] };
  };
  assertEquals(factsOf("RD+AP"), {
    offer: "prompt and tools, as the model got them",
    fact: "RD (changed), AP (found nothing to change)",
  });
  assertEquals(
    factsOf("RD", { strategy: "indirection" }).offer,
    "prompt and tools of the perturbed task; the strategy indirection changes what the model sees",
  );
  // Other tools may have perturbations of their own.
  assertEquals(factsOf("XY", { changed: false }), {
    offer: "prompt and tools of the task; the perturbation XY changes what the model sees",
    fact: "XY (found nothing to change)",
  });
  assertEquals(factsOf("XY").fact, "XY");
  assertEquals(factsOf("none").fact, undefined);
});

Deno.test("viewTrial() shows what went back as it was perturbed, and what the function returned", () => {
  const [plain, changed] = callViews([
    callEvent(1),
    callEvent(2, { result: '{"Object_1":222}', unperturbed: '{"xyz":222}' }),
  ]);
  assertEquals([plain!.returned, plain!.unperturbed], ['{"xyz":222}', undefined]);
  assertEquals([changed!.returned, changed!.unperturbed], ['{"Object_1":222}', '{"xyz":222}']);
});

Deno.test("viewTrial() tells what parameters are beside the right call", () => {
  const linesOf = (parameters: CallEvent["parameters"]) =>
    callViews([callEvent(1, parameters === undefined ? {} : { parameters })])[0]!.parameters;
  assertEquals(linesOf(undefined), []);
  const routing = "routing error: it is not one of the right calls, or repeats one of them";
  assertEquals(linesOf({ oracle: null, failures: [] }), [routing]);
  // What breaks the schema does so whatever the call was for.
  assertEquals(
    linesOf({
      oracle: null,
      failures: [{ type: "specification_mismatch", parameter: "/abc", given: `1${HOSTILE}` }],
      undecided: [{ types: ["hallucination_name", "redundant_information"], parameter: "/town" }],
    }).map((line) => line.replace(/evil.*(?=")/, "EVIL")),
    [
      routing,
      '/abc: specification mismatch, given "1EVIL"',
      "/town: hallucination name or redundant information, undecided without a schema",
    ],
  );
  assertEquals(
    linesOf({
      oracle: 2,
      failures: [
        { type: "hallucination_name", parameter: "/town", given: { a: [1] } },
        { type: "missing_information", parameter: "/city", expected: "Rome" },
        ...[
          {
            ...{ type: "task_deviation" as const, parameter: "", given: "Roma" },
            ...{ expected: "Rome", similarity: 0.456 },
          },
        ],
      ],
      undecided: [{ types: ["specification_mismatch", "task_deviation"], parameter: "/day" }],
    }),
    [
      '/town: hallucination name, given {"a":[1]}',
      '/city: missing information, expected "Rome"',
      'arguments: task deviation, given "Roma", expected "Rome" (Rouge-L 0.46)',
      "/day: specification mismatch or task deviation, undecided without a schema",
    ],
  );
});

Deno.test("viewTrial() tells how the model was spoken to, and how its replies could be read", () => {
  const numbers = { calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 };
  const reply = { kind: "reply", text: "", ...numbers } as const;
  const trial = traced([
    { ...reply, request: 1, parsed: "strict" },
    { ...reply, request: 2, parsed: "strict" },
    { ...reply, request: 3, parsed: "repaired", repairs: ["call 1 had single quotes"] },
    { ...reply, request: 4, parsed: "unreadable", written: "Action: <b>" },
  ]);
  const { facts, events } = viewTrial(
    { ...trial, model: { ...trial.model, api: "react" } },
    undefined,
    undefined,
  );
  const known = new Map(facts);
  assertEquals(known.get("format"), "react");
  assertEquals(known.get("replies with calls"), "2 strict, 1 repaired, 1 unreadable");
  assertEquals(events.map(readEvent), [
    ["said", "reply 3", "(repaired: call 1 had single quotes)"],
    ["said", "reply 4", "(a call in it could not be parsed)\noriginal text:\nAction: <b>"],
  ]);
  const others = new Map(viewTrial(traced([]), undefined, undefined).facts);
  assertEquals([others.has("format"), others.has("replies with calls")], [false, false]);
});

Deno.test("viewTrial() tells the errors of tools from the model's wrong calls", () => {
  const { returned: _, ...event } = callEvent(1, { result: '{"error":"Timeout"}' });
  const failure = { type: "function_not_found", root: true, detail: { nearest: null } } as const;
  const { returned: __, ...silent } = callEvent(4, { role: "core", error: "no such book" });
  const views = callViews([
    { ...event, fault: "timeout" },
    callEvent(2, { fault: "slow", role: "core" }),
    callEvent(3, { role: "core" }),
    silent,
    event,
    { ...event, failure },
  ]);
  assertEquals(views.map(({ kinds, notes }) => [kinds, notes]), [
    ["core error", "core, fault: timeout"],
    ["core right", "core, fault: slow"],
    ["core right", "core"],
    ["core error", "core, the tool failed"],
    ["core error", "core, the tool failed"],
    ["core wrong", "core"],
  ]);
});
