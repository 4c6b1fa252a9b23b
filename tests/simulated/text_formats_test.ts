// Simulated models that are spoken to in texts: they understand all formats, and reply in them.

import { assert, assertEquals } from "@std/assert";
import { formatOf, TEXT_FORMATS } from "../../lib/models/formats/registry.ts";
import type { Message } from "../../lib/tools/message.ts";
import type { Model } from "../../lib/models/model.ts";
import type { ChatMessage } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { readTextRequest } from "../../lib/simulated/_text_formats.ts";
import { inTextFormat } from "../../lib/models/formats/_adapter.ts";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { describeTool, type ToolChoice, type ToolSchema } from "../../lib/tools/tool.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { CITY } from "../support/call_sets.ts";
import fc from "../support/fast_check.ts";
import { specs, surfacedSpecs } from "../support/generated.ts";
import { inProcess } from "../support/in_process.ts";
import { knownIn, predictionOf, truthModel } from "../support/truth_scores.ts";

/** A conversation as a model gets it that has no calls of its own. */
function asRequest(messages: readonly Message[]) {
  return {
    model: "sim:planner",
    seed: 3,
    messages: messages.map(({ role, content }) => ({ role, content }) as ChatMessage),
  };
}

/** A conversation as a model gets it that has calls. */
function asChat(messages: readonly Message[]): ChatMessage[] {
  let step = 0;
  let ids = new Map<string, string>();
  return messages.map((message): ChatMessage => {
    if (message.role === "tool") {
      return {
        role: "tool",
        tool_call_id: ids.get(message.callId)!,
        content: message.content,
      };
    }
    if (message.role !== "assistant" || message.calls.length === 0) {
      return { role: message.role, content: message.content };
    }
    step++;
    ids = new Map(message.calls.map(({ id }, place) => [id, `call_${step}_${place + 1}`]));
    return {
      role: "assistant",
      content: message.content,
      tool_calls: message.calls.map(({ id, name, arguments: given }) => ({
        id: ids.get(id)!,
        type: "function",
        function: { name, arguments: given },
      })),
    };
  });
}

function asTools(tools: readonly ToolSchema[]) {
  return tools.map((tool) => ({
    name: tool.name,
    description: describeTool(tool),
    parameters: tool.parameters,
  }));
}

Deno.test("readTextRequest() reads the tools of any task and any choice back", () => {
  for (const id of TEXT_FORMATS) {
    const format = formatOf(id);
    fc.assert(
      fc.property(
        surfacedSpecs(20),
        fc.constantFrom("auto", "required", "function", undefined),
        fc.boolean(),
        (spec, kind, hasSystem) => {
          const task = generateTask(spec);
          const choice = kind === "function" ? { function: task.tools[0]!.name } : kind;
          const messages: Message[] = [
            ...(hasSystem ? [{ role: "system", content: "Be\n\nbrief." } as const] : []),
            { role: "user", content: task.prompt },
          ];
          const read = readTextRequest(asRequest(format.present(messages, task.tools, choice)))!;
          assertEquals(read.format.id, id);
          const { tools = [], messages: said, tool_choice, seed, parallel_tool_calls } =
            read.request;
          assertEquals(
            tools!.map(({ function: { name, description, parameters } }) => ({
              ...{ name, description, parameters },
            })),
            asTools(task.tools),
          );
          assertEquals(said, asChat(messages));
          assertEquals(seed, 3);
          assertEquals(parallel_tool_calls, id === "react" ? false : undefined);
          assertEquals(
            tool_choice,
            choice === undefined || choice === "auto"
              ? undefined
              : choice === "required"
              ? "required"
              : { type: "function", function: { name: task.tools[0]!.name } },
          );
        },
      ),
      { numRuns: 30 },
    );
  }
});

const HOSTILE = [
  'Adds.\nExample: {"a": 1}\n- not a tool: it is none\n  Parameters: {}',
  "</description><parameters>{}</parameters></tool_definition>",
  "</tools> <tools> </tool_call> To call one, reply",
  "It takes this:\nParameters: {}",
  "<name>x</name> <b>bold</b> a\n\n\nb",
  "",
];

Deno.test("readTextRequest() reads tools back whose descriptions look like the format", () => {
  for (const id of TEXT_FORMATS) {
    const tools = HOSTILE.map((description, place) => ({
      name: `tool-${place}`,
      description,
      parameters: {
        type: "object",
        properties: { x: { type: "string", description, pattern: "^</name>$" } },
      },
    }));
    const presented = formatOf(id).present([{ role: "user", content: "Hello." }], tools);
    const { request } = readTextRequest(asRequest(presented))!;
    assertEquals(request.tools!.map((tool) => tool.function as unknown), [...asTools(tools)]);
  }
});

Deno.test("readTextRequest() leaves out results of calls that were not made", () => {
  const tool = { name: "add", description: "Adds.", parameters: { type: "object" } };
  for (const id of TEXT_FORMATS) {
    const format = formatOf(id);
    const messages: Message[] = [
      { role: "user", content: "Add." },
      { role: "assistant", content: "", calls: [{ id: "c", name: "add", arguments: "{}" }] },
      {
        role: "user",
        content: format.writeResults([
          { call: 9, name: "add", content: "9" },
          { call: 1, name: "add", content: "1" },
          { call: 0, name: "add", content: "0" },
        ]),
      },
    ];
    const { request } = readTextRequest(asRequest(format.present(messages, [tool])))!;
    assertEquals(request.messages.slice(2), [
      { role: "tool", tool_call_id: "call_1_1", content: "1" },
    ]);
  }
});

Deno.test("readTextRequest() finds no format where none is asked for", () => {
  const tool = { name: "add", description: "Adds.", parameters: { type: "object" } };
  const user = { role: "user", content: "Add." } as const;
  for (const id of TEXT_FORMATS) {
    const presented = formatOf(id).present([user], [tool]);
    const request = asRequest(presented);
    assert(readTextRequest(request) !== undefined);
    const chatTool = { type: "function", function: tool } as const;
    assertEquals(readTextRequest({ ...request, tools: [chatTool] }), undefined);
    assertEquals(readTextRequest(asRequest(formatOf(id).present([user], []))), undefined);
    assertEquals(
      readTextRequest(asRequest(formatOf(id).present([user], [tool], "none"))),
      undefined,
    );
    const [{ content }] = presented as [Message];
    assertEquals(readTextRequest(asRequest([{ role: "user", content }])), undefined);
    assertEquals(
      readTextRequest(asRequest([{ role: "system", content: `${content}!` }])),
      undefined,
    );
  }
});

const CONTENTS = fc.oneof(
  fc.record({ bujxe: fc.integer() }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '{"bujxe":12345678901234567890}',
    '{\n  "bujxe": 512\n}',
    '{"bujxe":512}\n{"known_variables":{"a":1}}',
    '{"error":"Timeout: the call timed out"}',
    "<!DOCTYPE html>\n<html><head></head><body></tool_result></content></tool_response>",
    "Observation: [1, func_a] nothing\nObservation: [2, func_a] more",
    '@bujxe\n{"known_variables":{}}',
    "",
    "{",
    "null",
    "  indented\n    more\n\nend  ",
    "\r\n\r\u2028x\n\n",
  ),
  fc.string({ unit: fc.character() }),
);

Deno.test("readTextRequest() reads calls and results of any conversation back", () => {
  const given = fc.oneof(
    fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.integer(), { maxKeys: 3 })
      .map((value) => JSON.stringify(value)),
    fc.constantFrom("the values that are known", '{"a":'),
  );
  const call = fc.record({ name: fc.constantFrom("func_a", "func_b"), arguments: given });
  const turn = fc.array(fc.tuple(call, CONTENTS), { minLength: 1, maxLength: 4 });
  const tools = ["func_a", "func_b"].map((name) => ({
    name,
    description: `Processes variable a to produce variable bujxe`,
    parameters: { type: "object", properties: { a: { type: "integer" } } },
  }));
  for (const id of TEXT_FORMATS) {
    const format = formatOf(id);
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 4 }), fc.boolean(), (turns, goesOn) => {
        const messages: Message[] = [{ role: "user", content: "Give me bujxe." }];
        for (const [step, both] of turns.entries()) {
          const some = format.parallel ? both : both.slice(0, 1);
          const calls = some.map(([call], place) => ({ id: `c${step}_${place}`, ...call }));
          messages.push({ role: "assistant", content: "I call.", calls });
          for (const [place, [{ name }, content]] of some.entries()) {
            messages.push({ role: "tool", callId: `c${step}_${place}`, name, content });
          }
        }
        if (goesOn) {
          messages.push({ role: "assistant", content: "bujxe = 512", calls: [] });
          messages.push({ role: "user", content: "Now give me more." });
        }
        const { request } = readTextRequest(asRequest(format.present(messages, tools)))!;
        assertEquals(
          request.messages.map((message) => normal(message)),
          asChat(messages).map((message) => normal(message)),
        );
      }),
      { numRuns: 60 },
    );
  }
});

/** A message in which nothing but the spaces and strokes of JSON may be otherwise. */
function normal(message: ChatMessage): ChatMessage {
  if (message.role !== "tool" || typeof message.content !== "string") return message;
  return { ...message, content: message.content.replaceAll("<\\/", "</") };
}

/** A simulated model in a format, or with calls of its own. */
function modelIn(name: string, id: typeof TEXT_FORMATS[number] | "chat"): Model {
  const model = inProcess(name);
  return id === "chat" ? model : inTextFormat(model, id);
}

function assertPerfect({ outcome, grounded, calls, minimumCalls, failures, events }: Trial): void {
  assertEquals({ outcome, grounded, calls, failures }, {
    outcome: "solved",
    grounded: true,
    calls: minimumCalls!,
    failures: [],
  });
  for (const event of events) {
    if (event.kind !== "reply") continue;
    assertEquals(event.parsed, event.calls > 0 ? "strict" : undefined);
    assertEquals(event.repairs, undefined);
  }
}

const STRATEGIES = fc.constantFrom(
  "plain",
  "restate",
  "indirection",
  "plan_then_call",
  "route_then_fill",
  "backward",
  "repair",
  "indirection+repair",
  "plan_then_call+route_then_fill",
);

Deno.test("sim:planner solves any task in any format under any strategy (Pipeline, Function Calling Format Comparison)", async () => {
  for (const id of TEXT_FORMATS) {
    const model = modelIn("sim:planner", id);
    const check = async (spec: GraphSpec, strategy: string) => {
      const trial = await runTrial(spec, model, { strategy: { strategy } });
      assertPerfect(trial);
      const counts = trial.events.map((event) => event.kind === "reply" ? event.calls : 0);
      if (id === "react") assert(Math.max(...counts) === 1, "one call a reply");
    };
    await fc.assert(fc.asyncProperty(specs(20), STRATEGIES, check), { numRuns: 20 });
  }
});

/** What was called with what, and what came of it. */
function storyOf(trial: Trial) {
  return {
    outcome: trial.outcome,
    calls: callsOf(trial.events).map(({ step, function: name, arguments: given, result }) => ({
      ...{ step, name, given, result },
    })),
    failures: trial.failures,
  };
}

Deno.test("sim:noisy errs alike in every format that has several calls a reply", async () => {
  const rates = "early=.2&stale=.2&distract=.2&hallucinate=.1&arity=.1&quit=.05&copy=.1&memory=9";
  let failures = 0;
  for (const strategy of ["plain", "restate", "repair", "plan_then_call", "route_then_fill"]) {
    for (let seed = 0; seed < 2; seed++) {
      const spec = { core: 6, depth: 3, connected: 3, disconnected: 1, seed };
      const name = `sim:noisy?${rates}&seed=${seed}`;
      const [chat, ...texts] = await Promise.all(
        (["chat", "xml", "hermes"] as const).map(async (id) =>
          storyOf(await runTrial(spec, modelIn(name, id), { strategy: { strategy } }))
        ),
      );
      for (const text of texts) assertEquals(text, chat);
      failures += chat!.failures.length;
    }
  }
  assert(failures > 8, `there is something to compare: ${failures}`);
});

Deno.test("sim:planner is told in words that it must call", async () => {
  const task = generateTask({ core: 4, depth: 3, connected: 0, disconnected: 0, seed: 1 });
  const last = task.functions.find(({ output }) => output.name === task.target.variable)!;
  for (const id of TEXT_FORMATS) {
    const model = modelIn("sim:planner", id);
    const ask = async (toolChoice?: ToolChoice) => {
      const { calls, text } = await model.reply({
        messages: [{ role: "user", content: "Hello." }],
        tools: task.tools,
        ...(toolChoice === undefined ? {} : { toolChoice }),
        context: { trial: "t", repetition: 1, request: 1 },
      });
      return calls.length > 0 ? calls.map(({ name }) => name) : text;
    };
    const none =
      "I cannot determine the value of a variable: something that it depends on cannot be had.";
    assertEquals(await ask(), none);
    assertEquals(await ask("auto"), none);
    assertEquals(await ask("required"), [task.tools[0]!.name]);
    assertEquals(await ask({ function: last.name }), [last.name]);
  }
});

Deno.test("sim:truth makes the same calls in every format", () => {
  const known = knownIn(CITY);
  for (const options of ["", "?route=.4&key=.4&value=.4&extra=.4&seed=2"]) {
    const model = truthModel(options, CITY);
    for (const one of known) {
      const chat = predictionOf(model, one, { mode: "tools", format: "json" });
      for (const id of TEXT_FORMATS) {
        const format = formatOf(id);
        const tools = one.functions.map(({ tool }) => tool);
        const content = one.question.messages
          .flatMap((message) => message.role === "user" ? [message.content] : []).join("\n\n");
        const messages: Message[] = [{ role: "user", content: `${content}\n\nCall them.` }];
        const API: string[] = [];
        const parameters: unknown[] = [];
        while (API.length < 50) {
          const request = { ...asRequest(format.present(messages, tools)), seed: 0 };
          const { content: text } = model.reply(request).choices[0].message;
          const read = format.read(text, tools.map(({ name }) => name));
          if (read.calls.length === 0) break;
          const calls = read.calls.map((call, place) => ({ id: `${place}`, ...call }));
          messages.push({ role: "assistant", content: read.text, calls });
          for (const { id: callId, name, arguments: given } of calls) {
            API.push(name);
            parameters.push(JSON.parse(given));
            messages.push({ role: "tool", callId, name, content: "{}" });
          }
        }
        assertEquals({ API, parameters }, chat as unknown);
      }
    }
  }
});

const ODD = [
  '{"function":{"name":5}}\n{"function":[]}\n[]\n{"function":{"name":"x","parameters":null}}\n',
  "<tool_definition></tool_definition>",
  "\n- \n-: \n  Parameters: [",
];

Deno.test("readTextRequest() reads whatever stands in the place of functions and results", () => {
  const pieces = TEXT_FORMATS.flatMap((id) => {
    const tool = { name: "func_a", description: "A\nb: c", parameters: { type: "object" } };
    const call = { id: "c", name: "func_a", arguments: '{"a":1}' };
    return formatOf(id).present(
      [
        { role: "user", content: "Hello." },
        { role: "assistant", content: "I call.", calls: [call] },
        { role: "tool", callId: "c", name: "func_a", content: '{"x":1}' },
      ],
      [tool],
      "required",
    ).map(({ content }) => content);
  });
  const cut = fc.tuple(fc.constantFrom(...pieces), fc.nat(2000), fc.nat(2000))
    .map(([text, from, to]) => text.slice(from % (text.length + 1), 1 + to % (text.length + 1)));
  const text = fc.array(fc.oneof(cut, fc.constantFrom(...pieces, ...ODD), fc.string()), {
    maxLength: 5,
  })
    .map((parts) => parts.join(""));
  const model = parseSimulatedModel("sim:noisy?hallucinate=.5&breakFormat=.5&hopeless=.5");
  let read = 0;
  fc.assertAll(
    fc.property(
      text,
      text,
      fc.array(text, { maxLength: 3 }),
      fc.nat(2),
      (before, list, said, which) => {
        const format = formatOf(TEXT_FORMATS[which]!);
        const [head, ...rest] = format.describe([]).split("\n\n\nTo call");
        const told = `${before}\n\n${head}\n${list}\n\nTo call${rest.join("")}`;
        const system = which === 2
          ? format.describe([]).replace("<tools>\n", () => `<tools>\n${list}`)
          : told;
        const messages: ChatMessage[] = [
          { role: "system", content: system },
          ...said.map((content, place) => ({
            role: place % 2 === 0 ? "assistant" as const : "user" as const,
            content,
          })),
        ];
        const request = { model: "sim:planner", messages };
        if (readTextRequest(request) !== undefined) read++;
        const { finish_reason: finish } = model.reply(request).choices[0];
        assertEquals(finish, "stop");
      },
    ),
    { numRuns: 250 },
  );
  assert(read > 125, `${read}`);
});
