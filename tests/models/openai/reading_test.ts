// What is read of replies: the same in every wire format.

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { InfrastructureError, type ModelReply } from "../../../lib/models/model.ts";
import { openai, type WireApi } from "../../../lib/models/openai/openai.ts";
import { takenOver } from "../../../lib/trials/summary.ts";
import { outsideTest, WIRE_REPLIES } from "../../support/outside_data.ts";
import {
  answering,
  asked,
  CONVERSATION,
  KEY,
  serversOf,
  whole,
  WIRES,
} from "../../support/wire_servers.ts";

for (const { api, hello, calling } of WIRES) {
  const { serving, breaking } = serversOf(api);
  const test = (name: string, fn: () => Promise<void>) =>
    Deno.test(name.replace("openai()", `openai() by ${api}`), fn);

  test("openai() reads a reply", async () => {
    await using server = serving(answering(hello()));
    const { duration, carried: _, ...reply } = await server.model().reply(asked());
    assert(duration >= 0);
    assertEquals(reply, {
      text: "hello",
      calls: [],
      finish: "stop",
      usage: { inputTokens: 11, outputTokens: 7 },
      served: "parrot-2",
      repairs: [],
    });
  });

  test("openai() reads calls as the model wrote them, in order", async () => {
    await using server = serving(
      answering(calling({ id: "b", arguments: "{ not JSON" }, { id: "a", name: "__proto__" })),
    );
    const { text, calls, repairs } = await server.model().reply(asked());
    assertEquals([text, repairs], ["", []]);
    assertEquals(calls, [
      { id: "b", name: "add", arguments: "{ not JSON" },
      { id: "a", name: "__proto__", arguments: "{}" },
    ]);
  });

  test("openai() writes arguments that are an object as text, and notes it", async () => {
    // As text, since an object literal would make `__proto__` a prototype.
    const reply = JSON.stringify(calling({ arguments: 0 }))
      .replace('"arguments":0', '"arguments":{"b":[9007199254740993],"__proto__":2}');
    await using server = breaking(whole(reply));
    const { calls, repairs } = await server.model().reply(asked());
    assertEquals(calls[0]?.arguments, '{"b":[9007199254740993],"__proto__":2}');
    assertEquals(repairs, ["call 1 had an object for arguments, which was written as text"]);
  });

  test("openai() gives {} to calls without arguments, and notes it", async () => {
    const reply = calling({ id: "a", arguments: null }, { id: "b", arguments: "gone" });
    const absent = JSON.parse(JSON.stringify(reply).replace(',"arguments":"gone"', ""));
    assert(!JSON.stringify(absent).includes("gone"));
    await using server = serving(answering(absent));
    const { calls, repairs } = await server.model().reply(asked());
    assertEquals(calls.map((one) => one.arguments), ["{}", "{}"]);
    assertEquals(repairs, [
      "call 1 had no arguments and was given {}",
      "call 2 had no arguments and was given {}",
    ]);
  });

  test("openai() gives ids by position to calls without one, unlike all others", async () => {
    await using server = serving(
      answering(calling({ id: "call_2" }, { id: null }, { id: "" }, { id: null })),
    );
    const { calls, repairs } = await server.model().reply(asked());
    assertEquals(calls.map(({ id }) => id), ["call_2", "call_2_2", "call_3", "call_4"]);
    assertEquals(repairs, [
      "call 2 had no id and was given call_2_2",
      "call 3 had no id and was given call_3",
      "call 4 had no id and was given call_4",
    ]);
  });

  test("openai() gives other ids to calls that have those of earlier ones", async () => {
    await using server = serving(answering(calling({ id: "a" }, { id: "new" }, { id: "c" })));
    const { calls, repairs, carried } = await server.model().reply(
      asked({ messages: CONVERSATION }),
    );
    assertEquals(calls.map(({ id }) => id), ["call_1", "new", "call_3"]);
    assertEquals(repairs, [
      "call 1 had the id of an earlier call and was given call_1",
      "call 3 had the id of an earlier call and was given call_3",
    ]);
    const sent = carried?.items.map((item) => item["call_id"]);
    assertEquals(sent, api === "chat" ? undefined : ["call_1", "new", "call_3"]);
  });

  test("openai() hides its own secrets in what is said, and nothing else", async () => {
    const echo = JSON.parse(
      JSON.stringify(hello())
        .replace("hello", `the key is ${KEY}, not sk-other`)
        .replace("parrot-2", `parrot-${KEY}`),
    );
    await using server = serving(answering(echo));
    const { text, served } = await server.model().reply(asked());
    assertEquals(text, "the key is [redacted], not sk-other");
    assertEquals(served, "parrot-[redacted]");
  });

  test("openai() says how calls could be read", async () => {
    const table: [calls: Parameters<typeof calling>, parsed: string | undefined][] = [
      [[], undefined],
      [[{}], "strict"],
      [[{ arguments: ' {"left": 1}\n' }], "strict"],
      [[{ id: null }], "repaired"],
      [[{ id: "a" }, { id: "b", arguments: { left: 1 } }], "repaired"],
      [[{ arguments: null }], "repaired"],
      [[{ arguments: "" }], "unreadable"],
      [[{ arguments: "{'left': 1}" }], "unreadable"],
      [[{ arguments: "null" }], "unreadable"],
      [[{ id: "a", arguments: "7" }, { id: null }], "unreadable"],
    ];
    for (const [calls, parsed] of table) {
      await using server = serving(answering(calls.length === 0 ? hello() : calling(...calls)));
      const reply = await server.model().reply(asked());
      assertEquals(reply.parsed, parsed, JSON.stringify(calls));
      assertEquals("parsed" in reply, parsed !== undefined);
    }
  });

  test("openai() takes a usage that cannot be one for unknown", async () => {
    const nonsense: JsonValue[] = [
      ...[null, "11 and 7", 3, []],
      // Sums of too large counts are no numbers.
      ...["3", -1, null, {}, 1e308].map((count) => ({
        ...{ prompt_tokens: count, input_tokens: count },
        ...{ completion_tokens: 7, output_tokens: 7 },
      })),
    ];
    for (const usage of nonsense) {
      await using server = serving(answering({ ...hello(), usage }));
      const reply = await server.model({ retries: 0 }).reply(asked());
      assertEquals([reply.text, reply.usage.estimated], ["hello", true]);
    }
  });

  test("openai() counts the tokens that a total has beside its parts", async () => {
    const cached = (read: number, created = 0) => ({
      cache_read_input_tokens: read,
      cache_creation_input_tokens: created,
    });
    const thought = (tokens: JsonValue) => {
      const details = { reasoning_tokens: tokens };
      return { completion_tokens_details: details, output_tokens_details: details };
    };
    const table: [input: number, output: number | null, more: JsonObject, counted: number[]][] = [
      [40, 110, { total_tokens: 150, ...thought(90) }, [40, 110]],
      [40, 20, { total_tokens: 150, ...thought(90) }, [40, 110]],
      [40, 20, { total_tokens: 150 }, [40, 110]],
      [40, 20, { total_tokens: 60, ...thought(90) }, [40, 110]],
      [40, 20, thought(90), [40, 110]],
      [40, 20, { ...thought(20), ...cached(0) }, [40, 20]],
      [40, 20, thought("90"), [40, 20]],
      [40, null, { total_tokens: 150 }, [40, 110]],
      [40, 0, { total_tokens: 40 }, [40, 0]],
      // Within the total: DeepSeek, OpenAI.
      [90, 5, { total_tokens: 95, prompt_cache_hit_tokens: 64 }, [90, 5]],
      [90, 5, { total_tokens: 95, prompt_tokens_details: { cached_tokens: 64 } }, [90, 5]],
      [90, 5, { total_tokens: 95, ...cached(64) }, [90, 5]],
      [
        ...[90, 5] as const,
        {
          ...cached(64),
          prompt_tokens_details: { cached_tokens: 64 },
          input_tokens_details: { cached_tokens: 64 },
        },
        [90, 5],
      ],
      // Beside it: Anthropic.
      [10, 5, cached(900, 50), [960, 5]],
      [10, 5, { total_tokens: 965, ...cached(900, 50) }, [960, 5]],
      [10, 5, { total_tokens: 1000, ...cached(900, 50) }, [960, 40]],
      // Not believed.
      [40, 20, { total_tokens: 30 }, [40, 20]],
      [40, 20, { total_tokens: 4_294_967_295 }, [40, 20]],
      [40, 20, { total_tokens: "150" }, [40, 20]],
      [40, 20, { total_tokens: -1, ...cached(-5) }, [40, 20]],
    ];
    for (const [input, output, more, [inputTokens, outputTokens]] of table) {
      const parts = { prompt_tokens: input, input_tokens: input };
      const usage = { ...parts, completion_tokens: output, output_tokens: output, ...more };
      await using server = serving(answering({ ...hello(), usage }));
      const reply = await server.model({ retries: 0 }).reply(asked());
      assertEquals<unknown>(reply.usage, { inputTokens, outputTokens }, JSON.stringify(usage));
    }
  });

  test("openai() writes ids that are numbers as text, and notes it", async () => {
    await using server = serving(answering(calling({ id: 7 }, { id: 0 })));
    const { calls, repairs } = await server.model({ retries: 0 }).reply(asked());
    assertEquals(calls.map(({ id }) => id), ["7", "0"]);
    assertEquals(repairs, [
      "call 1 had a number for an id, which was written as text",
      "call 2 had a number for an id, which was written as text",
    ]);
  });

  test("openai() gives other ids to calls that have those of others in the reply", async () => {
    await using server = serving(
      // What is the same in all is one call, which the server sent twice.
      answering(
        calling(
          ...[{ id: "a" }, { id: "a", arguments: "{ }" }, { id: "call_2" }, { id: "a" }],
          { id: "a", name: "b" },
        ),
      ),
    );
    const { calls, repairs, parsed } = await server.model({ retries: 0 }).reply(asked());
    assertEquals(calls.map(({ id }) => id), ["a", "call_2_2", "call_2", "call_4"]);
    assertEquals(repairs, [
      "call 2 had the id of another call and was given call_2_2",
      "call 4 had the id of another call and was given call_4",
    ]);
    assertEquals(parsed, "repaired");
  });

  test("openai() keeps arguments that are another value: the model wrote them", async () => {
    for (const given of [[1], 7, true, [{ left: 1 }]] as JsonValue[]) {
      await using server = serving(answering(calling({ arguments: given })));
      const { calls, parsed } = await server.model({ retries: 0 }).reply(asked());
      assertEquals([calls[0]?.arguments, parsed], [JSON.stringify(given), "unreadable"]);
    }
  });

  test("openai() keeps a call that the model wrote without a name", async () => {
    await using server = serving(answering(calling({ name: null })));
    const { calls } = await server.model({ retries: 0 }).reply(asked());
    assertEquals(calls, [{ id: "x", name: "", arguments: "{}" }]);
  });

  test("openai() takes empty arguments for {} where a function needs none", async () => {
    const tool = (parameters: JsonObject) => ({ name: "add", description: "Adds", parameters });
    const properties = { left: { type: "integer" } };
    const table: [parameters: JsonObject, needsNone: boolean][] = [
      [{ type: "object", properties: {} }, true],
      [{}, true],
      [{ type: "object", properties, required: [] }, true],
      [{ type: "object", properties, required: ["left"] }, false],
      [{ type: "object", anyOf: [{ required: ["left"] }], properties }, false],
      [{ $ref: "#/$defs/one", $defs: { one: { required: ["left"] } } }, false],
    ];
    for (const [parameters, needsNone] of table) {
      await using server = serving(answering(calling({ arguments: "" })));
      const reply = await server.model().reply(asked({ tools: [tool(parameters)] }));
      assertEquals(
        [reply.calls[0]?.arguments, reply.parsed, reply.repairs],
        needsNone
          ? ["{}", "repaired", ["call 1 had an empty text for arguments and was given {}"]]
          : ["", "unreadable", []],
      );
    }
  });

  test("openai() sends back a call that cannot be read so that servers which parse it take it", async () => {
    const table: [name: string, written: string, sent: [name: string, arguments: string]][] = [
      ["add", ' {"left": 1}', ["add", ' {"left": 1}']],
      ["add", "", ["add", "{}"]],
      ["add", '{"left": ', ["add", '{"unreadable":"{\\"left\\": "}']],
      ["add", "[1]", ["add", '{"unreadable":"[1]"}']],
      ["add", '"one"', ["add", '{"unreadable":"\\"one\\""}']],
      ["multi_tool_use.parallel", "{}", ["multi_tool_use_parallel", "{}"]],
      ["", "add one", ["unreadable_call", '{"unreadable":"add one"}']],
    ];
    for (const [name, written, [sentName, sentArguments]] of table) {
      await using server = serving(
        answering(calling({ name, arguments: written })),
        answering(hello()),
      );
      const model = server.model();
      const { text: content, calls, carried } = await model.reply(asked());
      await model.reply(asked({
        messages: [
          { role: "user", content: "Add" },
          { role: "assistant", content, calls, ...(carried === undefined ? {} : { carried }) },
          { role: "tool", callId: "x", name, content: "error" },
        ],
      }));
      const { body } = server.received[1]!;
      const sent = api === "chat"
        // deno-lint-ignore no-explicit-any
        ? (body["messages"] as any)[1].tool_calls[0].function
        // deno-lint-ignore no-explicit-any
        : (body["input"] as any)[1];
      assertEquals([sent.name, sent.arguments], [sentName, sentArguments]);
    }
  });
}

// Replies of real servers, as the tests of other projects recorded them: each is read as its expectation says.

/** One line of the file. */
interface Recorded {
  readonly source: string;
  readonly api: WireApi;
  readonly status: number;
  readonly body: JsonObject;
  readonly expected: { readonly error: true } | {
    readonly text: string;
    readonly calls: readonly [name: string, arguments: string][];
    readonly finish: string;
  };
}

/** What their reasons to stop are called here; all others are `other`. */
const FINISH: Readonly<Record<string, ModelReply["finish"]>> = {
  stop: "stop",
  length: "length",
  tool_calls: "calls",
};

/** Errors that are a model's own: its server could not read the call. */
const OWN_FAULT = /tool_use_failed/;

outsideTest(
  "openai() reads recorded replies of real servers as they were meant",
  WIRE_REPLIES,
  async (path) => {
    const lines = Deno.readTextFileSync(`${path}/replies.jsonl`).trimEnd().split("\n");
    assert(lines.length > 100);
    let answer = () => new Response();
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        await request.body?.cancel();
        return answer();
      },
    );
    const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
    for (const [place, line] of lines.entries()) {
      const { source, api, status, body, expected }: Recorded = JSON.parse(line);
      const where = `line ${place + 1}, ${source}`;
      answer = () => Response.json(body, { status });
      const model = openai({ model: "m", api, baseURL, apiKey: "none", retries: 0 });
      const reply: ModelReply | InfrastructureError = await model.reply(asked())
        .catch((error) => error);
      if ("error" in expected) {
        const isOwn = OWN_FAULT.test(JSON.stringify(body));
        if (reply instanceof Error || !isOwn) {
          assertEquals(
            `${reply}`.split(":")[0],
            "InfrastructureError",
            where,
          );
        } else assertEquals([reply.parsed, reply.calls.length], ["unreadable", 1], where);
        continue;
      }
      if (expected.finish === "queued") {
        // It has only been begun: a reply of nothing would blame the model.
        assertMatch(`${reply}`, /its status is queued/, where);
        continue;
      }
      assert(!(reply instanceof Error), `${where}: ${reply}`);
      const { text, calls, finish } = reply;
      assertEquals(
        [text, calls.map(({ name, arguments: written }) => [name, written])],
        [expected.text, expected.calls],
        where,
      );
      if (api === "chat") assertEquals(finish, FINISH[expected.finish] ?? "other", where);
      // Responses say no more than whether they are complete.
      else if (expected.finish === "completed") {
        assertEquals(finish, calls.length > 0 ? "calls" : "stop", where);
      }
    }
  },
);

const QUOTES = `Unexpected token in the arguments of set_oven: {"temperature": 20,, "room": "x"}`;
const REPLY = {
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "ok" } }],
};

Deno.test("openai() does not take what a model wrote for an option that its server refuses", async () => {
  let count = 0;
  const ask = () => {
    const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
    return openai({ model: "m", apiKey: "any", temperature: 0, retries: 0, baseURL });
  };
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      count++ === 0
        ? Response.json(REPLY)
        : Response.json({ error: { message: QUOTES } }, { status: 400 }),
  );
  const model = ask();
  const request = {
    messages: [{ role: "user", content: "hi" } as const],
    tools: [],
    context: { trial: "1", repetition: 1, request: 1 },
  };
  await model.reply(request);
  const { permanent } = await assertRejects(() => model.reply(request), InfrastructureError);
  assertEquals(permanent, undefined);
  // Nor where the first reply of all is one that its server could not read.
  const first = await assertRejects(() => ask().reply(request), InfrastructureError);
  assertEquals(first.permanent, undefined);
});

Deno.test("takenOver() excuses no trial for a refusal that may quote its model", () => {
  const usage = { inputTokens: 0, outputTokens: 0 };
  assertEquals(takenOver({ usage, permanent: "option" }).replacedIdle, undefined);
});
