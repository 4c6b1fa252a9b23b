// Spans of trials, by an API that a program registers by itself: what they say, and that nothing which the API does
// changes a trial.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import fc from "../support/fast_check.ts";
import { MAX_KEPT_LENGTH } from "../../lib/calls/trace.ts";
import { InfrastructureError, type Model, TimeLimitError } from "../../lib/models/model.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { readTrace } from "../../lib/integrations/traces.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { outputText } from "../../lib/trials/_spans.ts";
import { Session } from "../../lib/trials/agent/session.ts";
import { deriveAgain } from "../../lib/trials/derive.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";

const API = Symbol.for("opentelemetry.js.api.1");
const CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/** What an API can do wrong, at each of its methods. */
const METHODS = [
  ...["getTracer", "startActiveSpan", "active", "with", "getValue", "setValue"] as const,
  ...["setAttributes", "setStatus", "updateName", "isRecording", "end"] as const,
];
type Method = typeof METHODS[number];
/** `late` and `twice` are of methods that run something. */
type Fault = "before" | "after" | "never" | "twice" | "late";
const FAULTS: readonly Fault[] = ["before", "after", "never", "twice", "late"];

interface FakeSpan {
  name: string;
  parent: FakeSpan | undefined;
  kind: number;
  root: boolean;
  attributes: Record<string, unknown>;
  status?: { code: number; message?: string };
  ends: number;
}

class FakeContext {
  readonly #values: ReadonlyMap<symbol, unknown>;
  readonly #api: FakeApi;

  constructor(api: FakeApi, values: ReadonlyMap<symbol, unknown> = new Map()) {
    this.#api = api;
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#api.at("getValue", () => this.#values.get(key));
  }

  setValue(key: symbol, value: unknown): FakeContext {
    return this.#api.at(
      "setValue",
      () => new FakeContext(this.#api, new Map([...this.#values, [key, value]])),
    );
  }
}

const SPAN = Symbol("span");

/** An API that keeps its spans, and fails where a test says so. */
class FakeApi implements Disposable {
  readonly spans: FakeSpan[] = [];
  readonly #faults: ReadonlyMap<Method, Fault>;
  readonly #active = new AsyncLocalStorage<FakeContext>();
  readonly #isSampled: boolean;

  constructor(faults: readonly (readonly [Method, Fault])[] = [], isSampled = true) {
    this.#faults = new Map(faults);
    this.#isSampled = isSampled;
    Object.assign(globalThis, { [API]: this.api });
  }

  get api() {
    const active = () => this.at("active", () => this.#active.getStore() ?? new FakeContext(this));
    return {
      version: "1.9.0",
      context: {
        active,
        with: (context: FakeContext, work: () => unknown) =>
          this.running("with", () => this.#active.run(context, work)),
      },
      trace: {
        getTracer: (name: string) =>
          this.at("getTracer", () => {
            assertEquals(name, "toolgate");
            return {
              startActiveSpan: (
                name: string,
                { kind, root, attributes }: Pick<FakeSpan, "kind" | "root" | "attributes">,
                work: (span: object) => unknown,
              ) => {
                const context = this.#active.getStore() ?? new FakeContext(this);
                const parent = root ? undefined : context.getValue(SPAN) as FakeSpan | undefined;
                const span = { name, parent, kind, root, attributes: { ...attributes }, ends: 0 };
                this.spans.push(span);
                return this.running("startActiveSpan", () =>
                  this.#active.run(
                    context.setValue(SPAN, span),
                    () => work(this.#apiOf(span)),
                  ));
              },
            };
          }),
      },
    };
  }

  #apiOf(span: FakeSpan) {
    return {
      setAttributes: (attributes: object) =>
        this.at("setAttributes", () => void Object.assign(span.attributes, attributes)),
      setStatus: (status: { code: number }) =>
        this.at("setStatus", () => void Object.assign(span, { status })),
      updateName: (name: string) => this.at("updateName", () => void (span.name = name)),
      isRecording: () => this.at("isRecording", () => this.#isSampled),
      end: () => this.at("end", () => void span.ends++),
    };
  }

  at<T>(method: Method, work: () => T): T {
    const fault = this.#faults.get(method);
    if (fault === "before" || fault === "never") throw new TypeError(`${method} is broken`);
    const result = work();
    if (fault === "after") throw new TypeError(`${method} is broken`);
    return result;
  }

  running(method: Method, work: () => unknown): unknown {
    const fault = this.#faults.get(method);
    if (fault === "never") return undefined;
    if (fault === "late") return void Promise.resolve().then(work);
    if (fault === "twice") work();
    return this.at(method, work);
  }

  [Symbol.dispose]() {
    delete (globalThis as Record<symbol, unknown>)[API];
  }
}

/** Sends content for a while. */
function withContent(value = "true"): Disposable {
  Deno.env.set(CONTENT, value);
  return { [Symbol.dispose]: () => Deno.env.delete(CONTENT) };
}

const TASK = { core: 3, depth: 2, connected: 1, disconnected: 0, seed: 7 };

/** A model that calls what there is and what there is not, and answers. */
function clumsy(): Model {
  using fixture = openTask(TASK);
  const [name = ""] = fixture.tools.map((tool) => tool.name);
  const call = { name, arguments: "{}" };
  return scripted("clumsy", [
    {
      calls: [call, { name: "unknown", arguments: "{" }],
      usage: { inputTokens: 3, outputTokens: 2 },
    },
    { calls: [call] },
    { text: "The answer is 5." },
  ]);
}

/** A trial without what differs from run to run. */
function timeless({ startedAt: _, durationMs: __, events, ...trial }: Trial) {
  return {
    ...trial,
    events: events.map((event) => "durationMs" in event ? { ...event, durationMs: 0 } : event),
  };
}

Deno.test("runTrial() gives the same trial whatever the API of spans does wrong", async () => {
  using _content = withContent();
  const plain = timeless(await runTrial(TASK, clumsy()));
  await fc.assert(fc.asyncProperty(
    fc.array(fc.tuple(fc.constantFrom(...METHODS), fc.constantFrom(...FAULTS)), { maxLength: 3 }),
    async (faults) => {
      using _api = new FakeApi(faults);
      assertEquals(timeless(await runTrial(TASK, clumsy())), plain);
    },
  ));
});

Deno.test("runTrial() gives the same trial where nothing of the API can be read", async () => {
  const plain = timeless(await runTrial(TASK, clumsy()));
  using _api = new FakeApi();
  const get = () => {
    throw new TypeError("broken");
  };
  Object.assign(globalThis, { [API]: new Proxy({}, { get }) });
  assertEquals(timeless(await runTrial(TASK, clumsy())), plain);
});

Deno.test("runTrial() rejects as it does without spans", async () => {
  using api = new FakeApi();
  const signal = AbortSignal.abort(new Error("enough"));
  await assertRejects(() => runTrial(TASK, clumsy(), { signal }), Error, "enough");
  const [root, ...rest] = api.spans;
  assertEquals([root!.ends, rest], [1, []]);
  assertEquals(root!.attributes["error.type"], "Error");
});

Deno.test("runTrial() makes one span each for the trial, its replies and its calls, and ends them once", async () => {
  using api = new FakeApi();
  const { id, events } = await runTrial(TASK, clumsy(), { suite: "small" });
  const [root, ...others] = api.spans;
  assertEquals([root!.name, root!.root, root!.parent], ["invoke_agent small", true, undefined]);
  assertEquals(
    others.map(({ name }) => name.split(" ")[0]),
    ["chat", "execute_tool", "execute_tool", "chat", "execute_tool", "chat"],
  );
  assertEquals(events.filter(({ kind }) => kind === "call").length, 3);
  for (const span of api.spans) assertEquals(span.ends, 1);
  for (const span of others) assertEquals([span.parent, span.root], [root, false]);
  assertEquals(root!.attributes["toolgate.trial"], id);
  // The same trial is another conversation when it is run again, as with a seed it often is.
  await runTrial(TASK, clumsy(), { suite: "small" });
  const again = api.spans.findLast(({ name }) => name === root!.name)!;
  assertEquals(again.attributes["toolgate.trial"], id);
  assert(again.attributes["gen_ai.conversation.id"] !== root!.attributes["gen_ai.conversation.id"]);
  // Only Deno knows bigints.
  assertEquals(others[0]!.attributes["gen_ai.usage.input_tokens"], 3);
  assertEquals(
    others.slice(1, 3).map(({ attributes }) => attributes["toolgate.failure"]),
    ["wrong_number_of_inputs", "function_not_found"],
  );
});

Deno.test("no spans are made of what is derived again, nor outside of trials", async () => {
  const trial = await runTrial(TASK, clumsy());
  using api = new FakeApi();
  const { kind } = await deriveAgain(trial, {
    ...{ limits: {}, references: false, strategy: { strategy: "plain" }, open: openTask },
  });
  assertEquals(kind, "agrees");
  const session = new Session({
    model: clumsy(),
    context: { trial: "1", repetition: 1 },
    record: () => {},
  });
  await session.ask({ messages: [] });
  using toolbox = new Toolbox([]);
  await toolbox.execute([{ id: "1", name: "none", arguments: "{}" }]);
  assertEquals(api.spans, []);
});

Deno.test("a call that its trial leaves behind has a span that ends with it", async () => {
  using api = new FakeApi();
  const hanging = tool({
    ...{ name: "hang", description: "Hangs", parameters: { type: "object", properties: {} } },
    execute: () => new Promise<string>(() => {}),
  });
  const open = caseOpener(() => ({
    ...{ name: "hangs", prompt: "Hang.", tools: [hanging], assert: () => {} },
  }));
  const model = scripted("hangs", [{ calls: [{ name: "hang", arguments: "{}" }] }]);
  const { outcome } = await runTrial({ case: "hangs", seed: 1 }, model, {
    open,
    limits: { seconds: 0.05 },
  });
  assertEquals(outcome, "time_limit");
  assertEquals(
    api.spans.map(({ name, ends, attributes }) => [name, ends, attributes["error.type"]]),
    [
      ["invoke_agent", 1, undefined],
      ["chat hangs", 1, undefined],
      ["execute_tool hang", 1, "AbortError"],
    ],
  );
});

Deno.test("trials at the same time keep their spans apart, also within the span of a program", async () => {
  using api = new FakeApi();
  const outer = api.api.trace.getTracer("toolgate");
  await outer.startActiveSpan(
    "outer",
    { kind: 0, root: true, attributes: {} },
    () => Promise.all([7, 8, 9].map((seed) => runTrial({ ...TASK, seed }, clumsy()))),
  );
  const roots = api.spans.filter(({ name }) => name.startsWith("invoke_agent"));
  assertEquals(roots.map(({ parent }) => parent), [undefined, undefined, undefined]);
  for (const root of roots) {
    const own = api.spans.filter(({ parent, name }) => parent === root && name.startsWith("chat"));
    assertEquals(
      own.map(({ attributes }) => attributes["gen_ai.conversation.id"]),
      own.map(() => root.attributes["gen_ai.conversation.id"]),
    );
    assertEquals(own.length, 3);
  }
});

Deno.test("content is sent for the values of the conventions alone, and never of spans that nobody samples", async () => {
  const table: [value: string, isSent: boolean][] = [
    ["true", true],
    ["TRUE", true],
    ["SPAN_ONLY", true],
    ["span_and_event", true],
    ["EVENT_ONLY", false],
    ["NO_CONTENT", false],
    ["false", false],
    ["1", false],
  ];
  const hasContent = (api: FakeApi) =>
    api.spans.flatMap(({ attributes }) => Object.keys(attributes)).some((name) =>
      /messages|definitions|arguments|result/.test(name)
    );
  for (const [value, isSent] of table) {
    using _content = withContent(value);
    using api = new FakeApi();
    await runTrial(TASK, clumsy());
    assertEquals(hasContent(api), isSent, value);
  }
  using _content = withContent();
  using api = new FakeApi([], false);
  await runTrial(TASK, clumsy());
  assert(!hasContent(api));
});

Deno.test("names and texts of spans are without secrets and bounded, whatever a model writes", async () => {
  using _content = withContent();
  const key = "sk-live-4f9a8b7c6d5e4f3a2b1c";
  const long = "x".repeat(MAX_KEPT_LENGTH);
  const said = long.repeat(3);
  using api = new FakeApi();
  await runTrial(
    TASK,
    scripted("wild", [
      {
        text: `${long.slice(0, -10)}${key}${said}`,
        calls: [
          { name: `a\n${key}${said}`, arguments: `{"__proto__":{"x":"${key}"}}` },
          { name: "deep", arguments: `${"[".repeat(9_000)}` },
          { name: "deeper", arguments: `{"a":${"[".repeat(4_000)}${"]".repeat(4_000)}}` },
          { name: "long", arguments: `{"a":"${said}"}` },
        ],
        served: `b\n${key}${said}`,
        usage: { inputTokens: NaN, outputTokens: -1 },
      },
      { text: "\ud800" },
    ]),
    { suite: `c\n${key}${said}`, limits: { calls: 99 } },
  );
  assertEquals(api.spans.length, 7);
  for (const { name, attributes, status } of api.spans) {
    const text = JSON.stringify([name, attributes, status]);
    assert(!text.includes(key), name);
    assert(name.length < 300 && !name.includes("\n"), name);
    for (const [attribute, value] of Object.entries(attributes)) {
      const most = /messages|definitions/.test(attribute) ? 5 * MAX_KEPT_LENGTH : MAX_KEPT_LENGTH;
      assert(String(value).length <= most, attribute);
    }
  }
  const [root, first] = api.spans;
  const [{ parts }] = JSON.parse(first!.attributes["gen_ai.output.messages"] as string);
  assertEquals(parts[0].content.length, MAX_KEPT_LENGTH);
  assertEquals(Object.entries(parts[1].arguments), [["__proto__", { x: "[redacted]" }]]);
  assertEquals(parts[2].arguments, "[".repeat(9_000));
  assertEquals(parts[4].arguments.length, MAX_KEPT_LENGTH);
  assertEquals(root!.attributes["gen_ai.usage.input_tokens"], 0);
});

Deno.test("calls are read back as they were written, and an agent's own as its own", async () => {
  const written = ['{"a":1}', '{ "a": 1 }', '{"a":1,"a":2}', '{"2":1,"1":1.0}', "{"];
  const output = outputText({
    text: "",
    calls: written.map((one, place) => ({ id: `${place}`, name: "tool", arguments: one })),
    ownCalls: written.map((one) => ({ function: "search", arguments: one })),
  }, new Set());
  const input = JSON.stringify([{ role: "user", parts: [{ type: "text", content: "x" }] }]);
  const run = await readTrace([{
    ...{ name: "chat m", traceId: "1", spanId: "1", startTimeUnixNano: "1" },
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.input.messages": input,
      "gen_ai.output.messages": output,
    },
  }]);
  assertEquals(run.events.filter(({ kind }) => kind === "call").length, written.length);
  const [reply] = run.events.filter((event) => event.kind === "reply");
  assertEquals(reply!.ownCalls, written.map((one) => ({ function: "search", arguments: one })));
  const calls = run.messages.flatMap((one) => one.role === "assistant" ? one.calls : []);
  assertEquals(
    calls.map((call) => [call.name, call.arguments]),
    written.map((one) => ["tool", one]),
  );
});

Deno.test("of a very long conversation each span has the end, and spans before have the rest", async () => {
  using _content = withContent();
  using api = new FakeApi();
  const text = "y".repeat(MAX_KEPT_LENGTH - 100);
  const calls = [{ name: "none", arguments: JSON.stringify({ text }) }];
  const script = Array.from({ length: 120 }, () => ({ calls }));
  await runTrial(TASK, scripted("talker", [...script, { text: "5" }]), { limits: { calls: 200 } });
  const chats = api.spans.filter(({ name }) => name.startsWith("chat"));
  const inputs = chats.map(({ attributes }) => attributes["gen_ai.input.messages"] as string);
  assertEquals(chats.length, 121);
  for (const input of inputs) assert(input.length <= 1_000_000 + 1_000);
  const last = JSON.parse(inputs.at(-1)!);
  assertEquals([last.length > 100, last.at(-1).role], [true, "tool"]);
  assertEquals(JSON.parse(inputs[0]!).map(({ role }: { role: string }) => role), ["user"]);
});

Deno.test("spans name the provider by its host, and others by the API that all of them have", async () => {
  const table: [baseURL: string, provider: string, address: string, port: number][] = [
    ["https://api.openai.com/v1", "openai", "api.openai.com", 443],
    ["https://mine.openai.azure.com/openai/v1", "azure.ai.openai", "mine.openai.azure.com", 443],
    ["https://api.groq.com/openai/v1", "groq", "api.groq.com", 443],
    ["https://api.x.ai/v1", "x_ai", "api.x.ai", 443],
    ["https://matrix.ai/v1", "openai", "matrix.ai", 443],
    ["http://user:secret@[::1]:8080/v1?key=secret", "openai", "[::1]", 8080],
  ];
  for (const [baseURL, provider, address, port] of table) {
    using api = new FakeApi();
    const { server } = openai({ model: "m", baseURL, apiKey: "any" });
    const model: Model = {
      ...scripted("named m", [{ text: "5" }]),
      simulated: false,
      server: server!,
    };
    await runTrial(TASK, model);
    const { attributes } = api.spans[1]!;
    assertEquals(
      ["gen_ai.provider.name", "server.address", "server.port", "gen_ai.request.model"]
        .map((name) => attributes[name]),
      [provider, address, port, "m"],
    );
  }
  // Nobody knows who is behind a model of the user's own.
  using api = new FakeApi();
  await runTrial(TASK, { ...scripted("own", [{ text: "5" }]), simulated: false });
  assertEquals(api.spans[1]!.attributes["gen_ai.provider.name"], undefined);
});

Deno.test("requests that fail say why in one word", async () => {
  const table: [error: unknown, type: string, outcome: string][] = [
    [new InfrastructureError("busy", { status: 429 }), "429", "invalid"],
    [new InfrastructureError("no key", { permanent: "key" }), "key", "invalid"],
    [new InfrastructureError("gone"), "infrastructure", "invalid"],
    [new TimeLimitError("late"), "timeout", "time_limit"],
    [new RangeError("no"), "RangeError", "invalid"],
    [Object.assign(new Error("no"), { name: "a name\nof more words" }), "_OTHER", "invalid"],
    ["a text", "_OTHER", "invalid"],
  ];
  for (const [error, type, outcome] of table) {
    using api = new FakeApi();
    const model = scripted("failing", () => {
      throw error;
    });
    const trial = await runTrial(TASK, model, { limits: { seconds: 60 } });
    const [root, chat] = api.spans;
    assertEquals([trial.outcome, root!.attributes["toolgate.outcome"]], [outcome, outcome]);
    assertEquals([chat!.attributes["error.type"], chat!.status], [type, { code: 2 }]);
  }
});
