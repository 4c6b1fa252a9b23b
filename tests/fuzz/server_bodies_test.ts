// Servers that answer with anything: a reply that holds what replies promise, or one fault that says so, is
// short, and has no key in it. The client is the real one; what it fetches is made up, but for a few times.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { TEXT_FORMATS } from "../../lib/models/formats/registry.ts";
import type { JsonValue } from "../../lib/base/json.ts";
import { InfrastructureError, type Model, type ModelReply } from "../../lib/models/model.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { completionsScorer } from "../../lib/toolkit/toolformer/completions_scorer.ts";
import { inTextFormat } from "../../lib/models/formats/_adapter.ts";
import { PARSES } from "../../lib/calls/trace.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { TRIAL_LINE } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import {
  anyJson,
  anyText,
  assertReadable,
  byteChanges,
  changed,
  changedBytes,
  changedText,
  fuzz,
  nested,
  seldom,
  textChanges,
  valueChanges,
} from "../support/fuzzing.ts";
import { ADD, asked, CONVERSATION, KEY, serversOf, whole, WIRES } from "../support/wire_servers.ts";

/** What a server answers. */
interface Answer {
  readonly body: Uint8Array;
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const JSON_HEADERS: Answer["headers"] = [["content-type", "application/json"]];

/** An answer that failures show as a text. */
function answer(body: Uint8Array, status = 200, headers = JSON_HEADERS): Answer {
  const shown = () => JSON.stringify({ status, headers, body: new TextDecoder().decode(body) });
  return { body, status, headers, [fc.toStringMethod]: shown } as Answer;
}

/** Does work while every fetch gets this answer. */
async function answered<T>({ body, status, headers }: Answer, work: () => Promise<T>): Promise<T> {
  const { fetch } = globalThis;
  globalThis.fetch = () => {
    const empty = [101, 204, 205, 304].includes(status);
    return Promise.resolve(
      new Response(empty ? null : body.slice(), {
        status,
        headers: headers.map(([name, value]): [string, string] => [name, value]),
      }),
    );
  };
  try {
    return await work();
  } finally {
    globalThis.fetch = fetch;
  }
}

const FINISHES = ["stop", "calls", "length", "filter", "other"];

/** What every reply promises. */
function assertReply(reply: ModelReply): void {
  const { text, calls, finish, usage, served, duration, repairs, parsed } = reply;
  assertEquals(typeof text, "string");
  assertEquals(typeof served, "string");
  assert(!`${text}${served}`.includes(KEY), "the key is told");
  assert(FINISHES.includes(finish), finish);
  assert(duration >= 0 && Number.isFinite(duration));
  for (const tokens of [usage.inputTokens, usage.outputTokens]) {
    assert(tokens >= 0 && tokens <= 1e12, `${tokens} tokens`);
  }
  assertEquals(new Set(calls.map(({ id }) => id)).size, calls.length, "ids must be unique");
  for (const call of calls) {
    assertEquals(Object.keys(call).sort(), ["arguments", "id", "name"]);
    assert(Object.values(call).every((part) => typeof part === "string"));
    assert(call.id !== "");
  }
  assert(repairs.every((repair) => typeof repair === "string" && repair.length < 1_000));
  assertEquals(parsed === undefined, calls.length === 0);
  assert(parsed === undefined || PARSES.includes(parsed));
  // It goes back, and into journals.
  assertEquals(JSON.parse(JSON.stringify(reply)), reply);
}

/** Asks, and takes a reply or a fault. */
async function assertAnswered(model: Model, answer: Answer): Promise<ModelReply | undefined> {
  return await answered(answer, async () => {
    try {
      const reply = await model.reply(asked({ messages: CONVERSATION, tools: [ADD] }));
      assertReply(reply);
      return reply;
    } catch (error) {
      if (!(error instanceof InfrastructureError)) throw error;
      assertFault(error);
    }
  });
}

function assertFault({ message, retryAfter }: InfrastructureError): void {
  assertReadable(message, 1_000);
  assertStringIncludes(message, "parrot");
  assert(!message.includes(KEY), "the key is told");
  assert(retryAfter === undefined || (Number.isFinite(retryAfter) && retryAfter >= 0));
}

const OPTIONS = {
  model: "parrot",
  baseURL: "http://127.0.0.1:1/v1",
  apiKey: KEY,
  headers: { "x-secret": `Bearer ${KEY}` },
  retries: 0,
};

/** The values that servers could have meant to give where another one was due. */
function bodyValue(): fc.Arbitrary<JsonValue> {
  return fc.oneof(
    anyJson(),
    fc.constantFrom<JsonValue>(KEY, `Incorrect API key provided: ${KEY}`, "error", "failed"),
    fc.constantFrom<JsonValue>({ message: KEY }, { error: { message: `no ${KEY}`, code: 1e308 } }),
    fc.constantFrom<JsonValue>("length", "tool_calls", "incomplete", "in_progress", "call_1", "x"),
  );
}

/** Real replies as JSON, by wire; ids of calls may be missing or the same. */
function soundBodies(): fc.Arbitrary<{ wire: number; body: JsonValue }> {
  const ids = fc.array(fc.constantFrom("a", "b", "call_1", "call_2", "", null), { maxLength: 3 });
  return fc.record({ wire: fc.nat(WIRES.length - 1), ids, object: fc.boolean() })
    .map(({ wire, ids, object }) => {
      const { hello, calling } = WIRES[wire]!;
      const calls = ids.map((id) => ({ id, arguments: object ? {} : "{}" }));
      return { wire, body: calls.length === 0 ? hello() : calling(...calls) };
    });
}

const encode = (text: string) => new TextEncoder().encode(text);

/** Real replies with other fields, texts, bytes, statuses and headers. */
function answers(): fc.Arbitrary<{ wire: number; answer: Answer }> {
  const values = valueChanges().chain((changes) =>
    fc.array(bodyValue(), { minLength: changes.length, maxLength: changes.length })
      .map((others) =>
        changes.map((change, at) => at % 2 === 0 ? { ...change, value: others[at]! } : change)
      )
  );
  const body = fc.tuple(
    soundBodies(),
    fc.option(values),
    seldom(textChanges(), 4),
    seldom(byteChanges(), 8),
  ).map(([{ wire, body }, values, texts, bytes]) => {
    const text = JSON.stringify(values === null ? body : changed(body, values));
    const written = encode(texts === null ? text : changedText(text, texts));
    return { wire, body: bytes === null ? written : changedBytes(written, bytes) };
  });
  const anything = fc.record({
    wire: fc.nat(WIRES.length - 1),
    body: fc.oneof(
      bodyValue().map((value) => encode(JSON.stringify(value))),
      anyText().map(encode),
      fc.uint8Array({ maxLength: 50 }),
    ),
  });
  const header = fc.constantFrom<readonly [string, string]>(
    ["retry-after", "1e400"],
    ["retry-after", "-1"],
    ["retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"],
    ["retry-after-ms", "NaN"],
    ["x-should-retry", "true"],
    ["content-length", "0"],
    ["x-request-id", KEY],
  );
  const type = fc.oneof(
    { weight: 6, arbitrary: fc.constant(JSON_HEADERS[0]!) },
    fc.constantFrom(
      ...["text/plain", "text/html", "application/octet-stream", "text/event-stream", KEY, ""]
        .map((type) => ["content-type", type] as const),
    ),
  );
  return fc.record({
    one: fc.oneof({ weight: 6, arbitrary: body }, anything),
    status: fc.oneof(
      { weight: 6, arbitrary: fc.constant(200) },
      fc.constantFrom(201, 202, 204, 400, 401, 403, 404, 408, 413, 418, 429, 500, 503, 599),
    ),
    type,
    headers: fc.array(header, { maxLength: 2 }),
  }).map(({ one: { wire, body }, status, type, headers }) => ({
    wire,
    answer: answer(body, status, [type, ...headers]),
  }));
}

fuzz(
  "openai() makes a sound reply of any answer, or says that there is none",
  answers(),
  async ({ wire, answer }) => {
    const { api } = WIRES[wire]!;
    await assertAnswered(openai({ ...OPTIONS, api }), answer);
  },
  { runs: 150 },
);

fuzz(
  "inTextFormat() makes a sound reply of any answer, or says that there is none",
  fc.tuple(fc.constantFrom(...TEXT_FORMATS), answers()),
  async ([format, { wire, answer }]) => {
    const { api } = WIRES[wire]!;
    await assertAnswered(inTextFormat(openai({ ...OPTIONS, api }), format), answer);
  },
  { runs: 100 },
);

fuzz(
  "runTrial() writes one line that can be read, whatever a server answers again and again",
  answers(),
  async ({ wire, answer }) => {
    const { api } = WIRES[wire]!;
    const spec = { core: 2, depth: 1, connected: 0, disconnected: 0, seed: 1 };
    const trial = await answered(
      answer,
      () => runTrial(spec, openai({ ...OPTIONS, api }), { limits: { steps: 5 } }),
    );
    const line = JSON.stringify(trial);
    assert(!line.includes(KEY) || trial.outcome !== "invalid", "the key is told");
    assert(line.length < 200_000, `its line has ${line.length} characters`);
    const read = TRIAL_LINE.parse(JSON.parse(line));
    assertEquals(read.usage, trial.usage);
    assertEquals(read.events.length, trial.events.length, "its events cannot be read");
  },
  { runs: 60 },
);

/** What a server that echoes a prompt answers. */
function echoes(): fc.Arbitrary<Answer> {
  const sound = {
    choices: [{
      text: "ab!",
      logprobs: { tokens: ["a", "b", "!"], token_logprobs: [null, -0.5, -1] },
    }],
    usage: { prompt_tokens: 2, completion_tokens: 1 },
  };
  return fc.tuple(fc.option(valueChanges()), seldom(textChanges(), 4))
    .map(([values, texts]) => {
      const text = JSON.stringify(values === null ? sound : changed(sound, values));
      const body = encode(texts === null ? text : changedText(text, texts));
      return answer(body);
    });
}

fuzz(
  "completionsScorer() makes sound scores of any answer, or says that there are none",
  echoes(),
  async (answer) =>
    await answered(answer, async () => {
      try {
        const tokens = await completionsScorer(OPTIONS).score("ab");
        assertEquals(tokens[0]?.start, 0);
        assertEquals(tokens.at(-1)?.end, 2);
        for (const [place, { start, end, logProbability }] of tokens.entries()) {
          assert(start <= end && start === (place === 0 ? 0 : tokens[place - 1]!.end));
          assert(
            logProbability === null || (logProbability <= 0 && Number.isFinite(logProbability)),
          );
        }
      } catch (error) {
        if (!(error instanceof InfrastructureError)) throw error;
        assertFault(error);
      }
    }),
  { runs: 150 },
);

fuzz(
  "openai() makes a sound reply of any bytes that come over a network, or says that there is none",
  fc.tuple(soundBodies(), fc.option(valueChanges()), fc.option(textChanges())),
  async ([{ wire, body }, values, texts]) => {
    const text = JSON.stringify(values === null ? body : changed(body, values));
    const written = texts === null ? text : changedText(text, texts);
    await using server = serversOf(WIRES[wire]!.api).breaking(whole(written));
    try {
      assertReply(await server.model({ retries: 0 }).reply(asked()));
    } catch (error) {
      if (!(error instanceof InfrastructureError)) throw error;
      assertFault(error);
    }
  },
  { runs: 40 },
);

Deno.test("openai() survives answers that nest without end, wherever they do", async () => {
  for (const { api, hello, calling } of WIRES) {
    const nests = [nested(20_000), nested(20_000, "a"), nested(20_000, "0")];
    for (const [kind, deep] of nests.entries()) {
      for (const sound of [hello(), calling({ id: "a" }, { id: null, arguments: {} })]) {
        const text = JSON.stringify(sound);
        const values = [...text.matchAll(/"[^"]*"(?!:)|\d+|null/g)];
        for (const [place, { index, 0: { length } }] of values.entries()) {
          // Each place has one of the three.
          if (!fc.IS_SOAK && place % nests.length !== kind) continue;
          const body = encode(text.slice(0, index) + deep + text.slice(index + length));
          await assertAnswered(openai({ ...OPTIONS, api }), answer(body));
        }
        const body = encode(`{"error":${deep},${text.slice(1)}`);
        for (const status of [200, 400, 500]) {
          await assertAnswered(openai({ ...OPTIONS, api }), {
            body,
            status,
            headers: JSON_HEADERS,
          });
        }
      }
    }
  }
});
