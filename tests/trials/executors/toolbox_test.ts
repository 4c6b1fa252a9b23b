import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { tool as define } from "../../../lib/tools/define_tool.ts";
import type { SchemaFault, Tool, ToolCall } from "../../../lib/tools/tool.ts";
import { Toolbox, type ToolboxOptions } from "../../../lib/trials/executors/toolbox.ts";
import { type CallEvent, callsOf, EVENT } from "../../../lib/calls/trace.ts";
import type { Fault } from "../../../lib/tools/fault.ts";
import { z } from "zod";
import { call } from "../../support/handmade.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** A tool that gives back what it was called with, by default. */
function tool(
  name: string,
  parameters: JsonObject = {},
  execute: Tool["execute"] = (input) => Promise.resolve(JSON.stringify(input)),
): Tool {
  return {
    name,
    description: `Does ${name}`,
    parameters: { type: "object", ...parameters },
    execute,
  };
}

/** What came of one call. */
async function one(own: Tool, written: string | JsonObject): Promise<CallEvent> {
  using toolbox = new Toolbox([own]);
  const [result] = await toolbox.execute([call(own.name, written)]);
  const [event] = callsOf(toolbox.events);
  assertEquals(event!.result, result!.content.slice(0, 10_000), "the trace has what went back");
  return event!;
}

const STRICT = {
  properties: {
    city: { type: "string", minLength: 2 },
    days: { type: "integer", minimum: 1 },
    units: { enum: ["metric", "imperial"] },
  },
  required: ["city", "days"],
  additionalProperties: false,
};

const NOTHING: SchemaFault = { missing: [], unexpected: [], wrongType: [], malformed: false };

// Calls

Deno.test("Toolbox.execute() calls the tools in order, and gives back what they say", async () => {
  const seen: JsonObject[] = [];
  const own = tool("weather", STRICT, (input) => {
    seen.push(input);
    return Promise.resolve("Rain in " + input["city"]);
  });
  using clock = new VirtualClock();
  using toolbox = new Toolbox([tool("echo"), own], { clock });
  assertEquals(
    await toolbox.execute([
      call("weather", { city: "Oslo", days: 1 }),
      call("echo", "{}"),
      call("weather", { days: 2, city: "Rome" }),
    ]),
    [
      { callId: "id of weather", name: "weather", content: "Rain in Oslo" },
      { callId: "id of echo", name: "echo", content: "{}" },
      { callId: "id of weather", name: "weather", content: "Rain in Rome" },
    ],
  );
  assertEquals(seen, [{ city: "Oslo", days: 1 }, { days: 2, city: "Rome" }]);
  assertEquals(callsOf(toolbox.events)[2], {
    kind: "call",
    call: 3,
    step: 1,
    function: "weather",
    arguments: '{"days":2,"city":"Rome"}',
    result: "Rain in Rome",
    durationMs: 0,
  });
});

Deno.test("Toolbox.execute() tells for how long each tool ran, and of none that did not run", async () => {
  using clock = new VirtualClock();
  const slow = (name: string, milliseconds: number, result: () => Promise<string>) =>
    tool(name, { required: ["a"] }, async () => {
      await clock.pause(milliseconds);
      return await result();
    });
  const tools = [
    slow("fine", 120.4, () => Promise.resolve("1")),
    slow("failing", 80, () => Promise.reject(new Error("no"))),
    slow("refusing", 7, () => Promise.resolve('{"error":"no"}')),
  ];
  const faults: Fault[] = [{ kind: "slow", delay: 1 }];
  using toolbox = new Toolbox(tools, { clock, injectFault: () => faults.shift() });
  await toolbox.execute([
    call("fine", { a: 1 }),
    call("fine", {}),
    call("failing", { a: 1 }),
    call("none", { a: 1 }),
    call("refusing", { a: 1 }),
  ]);
  // A delay that a fault adds is none of the tool's.
  assertEquals(
    callsOf(toolbox.events).map((event) => event.durationMs),
    [120, undefined, 80, undefined, 7],
  );
  assertEquals(EVENT.parse(toolbox.events[0]), toolbox.events[0]);
});

Deno.test("Toolbox.tools can be called by an agent of one's own, checked and counted alike", async () => {
  using toolbox = new Toolbox([tool("echo", { required: ["a"] })], { callLimit: 2 });
  const [echo] = toolbox.tools;
  assertEquals(await echo!.execute({ a: 1 }), '{"a":1}');
  assertStringIncludes(await echo!.execute({}), "must have required property 'a'");
  assertStringIncludes(await echo!.execute({ a: 1 }), "No more than 2 calls are allowed");
  assertEquals([toolbox.calls, toolbox.exhausted], [2, true]);
});

Deno.test("Toolbox.execute() answers calls up to the limit; others reach no tool", async () => {
  let reached = 0;
  const own = tool("own", {}, () => Promise.resolve(String(++reached)));
  using toolbox = new Toolbox([own], { callLimit: 3 });
  const results = await toolbox.execute(new Array(5).fill(call("own", {})));
  assertEquals(results.map(({ content }) => content), [
    ...["1", "2", "3"],
    ...new Array(2).fill('{"error":"No more than 3 calls are allowed"}'),
  ]);
  assertEquals([reached, toolbox.calls, toolbox.exhausted], [3, 3, true]);
  await toolbox.execute([call("own", {})]);
  assertEquals(toolbox.events.length, 4, "it is told once");
  assertEquals(toolbox.events.at(-1), { kind: "over_limit", function: "own", limit: 3 });
});

// Schemas

Deno.test("Toolbox.execute() names the kinds of faults of arguments, and calls no tool with them (Butterfly 6.1, 6.3)", async () => {
  const faults: [string | JsonObject, Partial<SchemaFault>, words: string][] = [
    [{}, { missing: ["city", "days"] }, "must have required property 'city'"],
    [{ city: "Oslo" }, { missing: ["days"] }, "must have required property 'days'"],
    [
      { city: "Oslo", days: 1, year: 3 },
      { unexpected: ["year"] },
      "must NOT have additional properties (year)",
    ],
    [{ city: 7, days: 1 }, { wrongType: ["city"] }, "/city must be string"],
    [{ city: "Oslo", days: "1" }, { wrongType: ["days"] }, "/days must be integer"],
    [{ city: "Oslo", days: 1.5 }, { wrongType: ["days"] }, "/days must be integer"],
    [{ city: "Oslo", days: 0 }, { wrongType: ["days"] }, "/days must be >= 1"],
    [{ city: "", days: 1 }, { wrongType: ["city"] }, "/city must NOT have fewer than 2"],
    [{ city: "Oslo", days: 1, units: "x" }, { wrongType: ["units"] }, "/units must be equal to"],
    [{ city: null, days: null, x: 1, y: 1 }, {
      unexpected: ["x", "y"],
      wrongType: ["city", "days"],
    }, "/days must be integer"],
    ...["", "city", "[]", "7", "null", '"{}"', '{"city":"Oslo"', "{'city':'Oslo'}"].map((text) =>
      [text, { malformed: true }, "The arguments must be a JSON object"] as const satisfies [
        string,
        Partial<SchemaFault>,
        string,
      ]
    ),
  ];
  for (const [written, fault, words] of faults) {
    let reached = false;
    const { result, failure, returned } = await one(
      tool("weather", STRICT, () => {
        reached = true;
        return Promise.resolve("1");
      }),
      written,
    );
    const where = JSON.stringify(written);
    assertEquals<unknown>(failure, {
      type: "wrong_number_of_inputs",
      detail: { ...NOTHING, ...fault },
      root: true,
    }, where);
    assertStringIncludes(JSON.parse(result).error, words, where);
    assertEquals([reached, returned], [false, undefined], where);
  }
});

Deno.test("Toolbox.execute() names the parameter in which something deep is wrong, whatever its name", async () => {
  const item = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  for (const name of ["list", "a/b", "a~b", "~1", "", "ключ"]) {
    const own = tool("own", { properties: { [name]: { type: "array", items: item } } });
    for (const wrong of [[{ n: "1" }], [{ n: 1 }, {}], [7]] as JsonValue[]) {
      const { failure } = await one(own, { [name]: wrong });
      assertEquals<unknown>(failure?.detail, { ...NOTHING, wrongType: [name] });
    }
    assertEquals((await one(own, { [name]: [{ n: 1 }] })).failure, undefined);
  }
});

Deno.test("Toolbox.execute() refuses unknown tools, and tells the nearest name (Pipeline, Structured Output for Tool Invocation)", async () => {
  using toolbox = new Toolbox([tool("get_weather"), tool("get_time")], { references: true });
  // Whatever their arguments refer to.
  for (const given of [{}, { city: "$2.x" }] as JsonObject[]) {
    const [result] = await toolbox.execute([call("get_wether", given)]);
    assertEquals(result!.content, '{"error":"There is no function get_wether"}');
  }
  for (const { failure } of callsOf(toolbox.events)) {
    assertEquals(failure, {
      type: "function_not_found",
      detail: { nearest: "get_weather" },
      root: true,
    });
  }
  assertEquals(toolbox.calls, 2, "they are counted");
});

Deno.test("Toolbox.refuse() says before a call what execute() would say, and calls nothing", async () => {
  const own = tool("own", STRICT, () => Promise.reject(new Error("it was called")));
  using toolbox = new Toolbox([own]);
  for (const written of ["{}", '{"city":"Oslo","days":0}', "[]"]) {
    const refused = toolbox.refuse(call("own", written))!;
    const [result] = await toolbox.execute([call("own", written)]);
    assertEquals(result!.content, JSON.stringify({ error: refused.error }));
    assertEquals<unknown>(callsOf(toolbox.events).at(-1)!.failure!.detail, refused.fault);
  }
  assertEquals(toolbox.refuse(call("own", { city: "Oslo", days: 1 })), undefined);
  assertEquals(toolbox.refuse(call("none", "no JSON")), undefined, "it is no matter of a schema");
});

Deno.test("Toolbox.execute() checks and passes on the resolved arguments, and keeps those written", async () => {
  using toolbox = new Toolbox([tool("weather", STRICT)]);
  const written = { city: "@City", days: "@Days" };
  const resolved = '{"city":"Oslo","days":3}';
  await toolbox.execute([
    { ...call("weather", written), resolved },
    { ...call("weather", resolved), resolved },
  ]);
  const [one, other] = callsOf(toolbox.events);
  assertEquals([one!.arguments, one!.resolved], [JSON.stringify(written), resolved]);
  assertEquals([one!.result, one!.failure], [resolved, undefined]);
  assert(!("resolved" in other!), "they stand for themselves");
});

Deno.test("Toolbox.execute() counts calls that are answered or refused around it, and calls no tool", async () => {
  const own = tool("own", {}, () => Promise.reject(new Error("it was called")));
  using toolbox = new Toolbox([own], { callLimit: 2 });
  const fault = { ...NOTHING, missing: ["result"] };
  const results = await toolbox.execute([
    { ...call("look", {}), answer: "42" },
    { ...call("own", {}), refusal: { error: "no name", fault } },
    { ...call("look", {}), answer: "43" },
  ]);
  assertEquals(results.map(({ content }) => content), [
    "42",
    '{"error":"no name"}',
    '{"error":"No more than 2 calls are allowed"}',
  ]);
  assertEquals(callsOf(toolbox.events).map(({ failure }) => failure?.detail), [undefined, fault]);
});

Deno.test("Toolbox takes schemas as other programs write them", async () => {
  const point = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };
  const schemas: JsonObject[] = [
    { $schema: "http://json-schema.org/draft-07/schema#", definitions: { point } },
    { $schema: "https://json-schema.org/draft/2020-12/schema", $defs: { point } },
    { $schema: "https://example.com/of-our-own", $defs: { point } },
    { $id: "https://example.com/point", $defs: { point } },
    { $id: "https://example.com/point", $defs: { point }, "x-note": 1, nullable: true },
    { $async: true, $defs: { point } },
  ];
  const tools = schemas.map((schema, place) => {
    const $ref = "definitions" in schema ? "#/definitions/point" : "#/$defs/point";
    return tool(`t${place}`, { ...schema, properties: { at: { $ref } }, required: ["at"] });
  });
  using toolbox = new Toolbox(tools);
  for (const { name } of tools) {
    await toolbox.execute([call(name, { at: { x: 1 } }), call(name, { at: { x: "1" } })]);
    const [right, wrong] = callsOf(toolbox.events).slice(-2);
    assertEquals([right!.failure, right!.result], [undefined, '{"at":{"x":1}}'], name);
    assertEquals<unknown>(wrong!.failure?.detail, { ...NOTHING, wrongType: ["at"] }, name);
  }
  const tuple = tool("tuple", {
    $schema: "http://json-schema.org/draft-07/schema#",
    properties: { pair: { type: "array", items: [{ type: "string" }, { type: "number" }] } },
  });
  assertEquals((await one(tuple, { pair: ["a", 1] })).failure, undefined);
  assertEquals((await one(tuple, { pair: ["a", "b"] })).failure?.type, "wrong_number_of_inputs");
});

Deno.test("Toolbox refuses tools of one name, and schemas that are none", () => {
  assertThrows(
    () => new Toolbox([tool("a"), tool("b"), tool("a")]),
    InputError,
    "Cannot offer tools as their names must be distinct: a is there twice",
  );
  const broken: JsonObject[] = [
    { type: "objekt" },
    { properties: { a: 7 } },
    { required: "a" },
    { $ref: "https://example.com/elsewhere" },
    { properties: { a: { pattern: "[" } } },
  ];
  for (const parameters of broken) {
    assertThrows(
      () => new Toolbox([tool("a"), tool("own", parameters)]),
      InputError,
      "Cannot offer tool own as its parameters must be a JSON Schema: ",
    );
  }
  for (const callLimit of [NaN, -1, 1.5]) {
    assertThrows(() => new Toolbox([], { callLimit }), RangeError, "Cannot limit calls");
  }
});

// What tools do

Deno.test("Toolbox.execute() tells mistakes of a tool from errors that it throws on purpose", async () => {
  class OutOfStock extends RangeError {}
  const place = String.raw`tests/trials/executors/toolbox_test\.ts:\d+:\d+`;
  const table: [thrown: () => unknown, mistake: RegExp | undefined][] = [
    [() => JSON.parse("{"), new RegExp(`^SyntaxError at ${place}$`)],
    [() => new Array(-1), new RegExp(`^RangeError at ${place}$`)],
    [() => Object.assign(new TypeError("no"), { stack: "" }), /^TypeError$/],
    [() => new Error("The order is paid"), undefined],
    [() => new OutOfStock("None is left"), undefined],
    [() => "no", undefined],
    [
      () =>
        new Proxy(new TypeError(), {
          get() {
            throw new Error("nothing can be asked of it");
          },
        }),
      undefined,
    ],
  ];
  for (const [thrown, mistake] of table) {
    const event = await one(tool("own", {}, () => Promise.try(() => Promise.reject(thrown()))), {});
    assertEquals(typeof event.error, "string");
    if (mistake === undefined) assertEquals(event.mistake, undefined);
    else assertMatch(event.mistake!, mistake);
    EVENT.parse(event);
  }
});

Deno.test("Toolbox.execute() gives back the error of a tool that throws, and goes on", async () => {
  const errors: [unknown, string][] = [
    [new Error("no such city"), "no such city"],
    [new RangeError("too far"), "too far"],
    ["just a text", "just a text"],
    [undefined, "undefined"],
    [new Error("\u001b[2Jgone\n"), "\\u001b[2Jgone\\n"],
  ];
  for (const [error, message] of errors) {
    const bad = tool("bad", {}, () => {
      throw error;
    });
    using toolbox = new Toolbox([bad, tool("good")]);
    const results = await toolbox.execute([call("bad", {}), call("good", {})]);
    assertEquals(results.map(({ content }) => content), [JSON.stringify({ error: message }), "{}"]);
    // The call was right: it is the tool that failed.
    assertEquals(callsOf(toolbox.events).map(({ failure }) => failure), [undefined, undefined]);
  }
});

/** The values and texts that strategies see of calls. */
async function seenOf(
  tools: readonly Tool[],
  calls: readonly ToolCall[],
  options: ToolboxOptions = {},
) {
  using toolbox = new Toolbox(tools, options);
  let seen: JsonObject = {};
  const values: [there: boolean, value: JsonValue | undefined][] = [];
  await toolbox.execute(calls, (answered, known) => {
    seen = Object.fromEntries(known);
    return answered.map((one) => {
      values.push(["value" in one, one.value]);
      return one.content;
    });
  });
  return { known: seen, values };
}

Deno.test("Toolbox.execute() tells writers no value of calls that failed, or that reached no tool", async () => {
  const tools = [
    tool("throws", {}, () => Promise.reject(new Error("no"))),
    tool("tells", {}, () => Promise.resolve('{"error":"no"}')),
    tool("weather", STRICT),
  ];
  const calls = ["throws", "tells", "weather", "nowhere"].map((name) => call(name, {}));
  const around = { ...call("look", {}), answer: "42" };
  const { known, values } = await seenOf(tools, [...calls, around]);
  assertEquals(values, new Array(5).fill([false, undefined]));
  assertEquals(known, {});
});

Deno.test("Toolbox names what is known by tool and key, else by tool and call", async () => {
  const tools = [tool("echo"), tool("plain", {}, () => Promise.resolve("[7]"))];
  const { known } = await seenOf(tools, [
    call("echo", { a: 1, b: { c: 2 } }),
    call("plain", {}),
    call("echo", { a: 3 }),
    call("plain", {}),
    call("echo", {}),
  ]);
  assertEquals(known, {
    "echo.a": 3,
    "echo.b": { c: 2 },
    "plain#2": [7],
    "plain#4": [7],
  });
});

Deno.test("Toolbox knows what was given from the start, and what was returned beside it", async () => {
  const given = { "city": "Oslo", "echo.a": 0 };
  const none = await seenOf([tool("echo")], [call("echo", "no JSON")], { given });
  assertEquals(none.known, { city: "Oslo", "echo.a": 0 });
  const some = await seenOf([tool("echo")], [call("echo", { a: 1 })], { given });
  assertEquals(some.known, { city: "Oslo", "echo.a": 1 }, "the last return wins");
});

// Hostile arguments

Deno.test("Toolbox.execute() minds own keys only, called as what every object has", async () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype"];
  const text = (name: string, value: unknown) =>
    `{${JSON.stringify(name)}:${JSON.stringify(value)}}`;
  for (const name of names) {
    const closed = tool("closed", { additionalProperties: false });
    assertEquals<unknown>((await one(closed, text(name, { a: 1 }))).failure?.detail, {
      ...NOTHING,
      unexpected: [name],
    });
    const schema = `{"properties":{${JSON.stringify(name)}:{"type":"number"}}}`;
    const optional = tool("optional", JSON.parse(schema));
    assertEquals((await one(optional, {})).failure, undefined, name);
    const needed = tool("needed", { ...JSON.parse(schema), required: [name] });
    assertEquals<unknown>((await one(needed, {})).failure?.detail, { ...NOTHING, missing: [name] });
    const { result, failure } = await one(needed, text(name, 7));
    assertEquals([result, failure], [text(name, 7), undefined]);
  }
  assert(!("a" in {}), "no prototype was changed");
});

Deno.test("Toolbox.execute() survives arguments and results that nest ten thousand deep", async () => {
  const deep = "[".repeat(10_000) + "]".repeat(10_000);
  const parameters: Record<string, JsonObject> = {
    anything: {},
    numbers: { properties: { a: { type: "number" } } },
    lists: {
      $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } },
      properties: { a: { $ref: "#/$defs/list" } },
    },
    distinct: { properties: { a: { type: "array", uniqueItems: true } } },
  };
  for (const [name, schema] of Object.entries(parameters)) {
    const own = tool(name, schema, () => Promise.resolve(deep));
    using toolbox = new Toolbox([own]);
    for (const written of [`{"a":${deep}}`, `{"a":[${deep},${deep}]}`, deep, "[".repeat(10_000)]) {
      const refused = toolbox.refuse(call(name, written));
      await toolbox.execute(
        [call(name, written)],
        (answered) =>
          answered.map(({ content, value }) => {
            assertEquals(value, refused === undefined ? deep : undefined, "it stays a text");
            return content;
          }),
      );
      const { failure } = callsOf(toolbox.events).at(-1)!;
      assertEquals<unknown>(failure?.detail, refused?.fault);
    }
    assert(toolbox.refuse(call(name, deep))!.fault.malformed);
  }
});

Deno.test("Toolbox.execute() survives huge names and arguments, and does not keep them", async () => {
  const huge = "x".repeat(1_000_000);
  const own = tool("own", {
    properties: { a: { type: "number" } },
    additionalProperties: { type: "number" },
  });
  const closed = tool("closed", { additionalProperties: false });
  using toolbox = new Toolbox([own, closed]);
  const results = await toolbox.execute([
    call(huge, {}),
    call("own", huge),
    call("own", { a: huge }),
    call("own", { [huge]: "1" }),
    call("closed", { [huge]: 1 }),
    call("closed", Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`k${n}`, n]))),
  ]);
  for (const { content } of results) assert(content.length < 10_000, `${content.length} go back`);
  for (const event of callsOf(toolbox.events)) {
    assert(event.failure !== undefined);
    const kept = JSON.stringify(event).length;
    assert(kept < 40_000, `${kept} characters of a call are kept`);
  }
});

Deno.test("Toolbox.execute() shows no control characters of arguments", async () => {
  const own = tool("own", { additionalProperties: { type: "number" } });
  const { result } = await one(own, { "\u001b[2J\u202e": "1" });
  // deno-lint-ignore no-control-regex
  assert(!/[\u0000-\u001f\u202e]/.test(JSON.parse(result).error), result);
});

Deno.test("Toolbox() offers tools whose schema refers to itself, and takes what is no text for JSON", async () => {
  const tree = tool("tree", {
    type: "object",
    properties: { kids: { type: "array", items: { $ref: "#" } } },
    additionalProperties: false,
  }, () => Promise.resolve({ grown: true } as unknown as string));
  // Twice, as agents wrap the same tools again.
  for (let time = 0; time < 2; time++) {
    using toolbox = new Toolbox([{ ...tree, parameters: structuredClone(tree.parameters) }]);
    const results = await toolbox.execute([
      call("tree", { kids: [{ kids: [] }] } as never),
      call("tree", { kids: [{ twigs: 1 }] } as never),
    ]);
    assertEquals(results[0]!.content, '{"grown":true}');
    assertStringIncludes(results[1]!.content, "must NOT have additional properties");
  }
});

Deno.test("Toolbox.execute() checks a call anew where it, its tool or its tool's state has changed", async () => {
  const seen: JsonValue[] = [];
  const parameters = {
    type: "object",
    properties: { n: { type: "integer" } },
    additionalProperties: false,
  };
  const keep = define({
    name: "keep",
    description: "Keeps a number",
    parameters,
    execute: (input: JsonObject) => {
      seen.push(structuredClone(input));
      input["n"] = "changed";
      return "kept";
    },
  });
  const results = async (box: Toolbox, calls: readonly ToolCall[]) =>
    (await box.execute(calls)).map(({ content }) => content);
  using box = new Toolbox([keep]);

  // The function changes its arguments: the same call gets those that it was made with.
  const again = call("keep", { n: 1 });
  assertEquals(await results(box, [again, again]), ["kept", "kept"]);
  assertEquals(seen, [{ n: 1 }, { n: 1 }]);

  // A call whose text was changed after it was checked.
  const changed = { ...call("keep", { n: 2 }) };
  assertEquals(box.refuse(changed), undefined);
  changed.arguments = '{"n":"bad"}';
  assertStringIncludes((await results(box, [changed]))[0]!, "n must be integer");
  assertEquals(seen.length, 2);

  // A mock takes the place of the function, or other parameters that of the schema.
  using mocked = new Toolbox([Object.assign(keep, { execute: () => Promise.resolve("mock") })]);
  assertEquals(await results(mocked, [call("keep", { n: 3 })]), ["mock"]);
  assertEquals(seen.length, 2);

  // Whatever a check without types gives, only undefined lets a call pass.
  for (const given of [true, Promise.resolve({ error: "no" }), {}, "no"]) {
    const check = (() => given) as unknown as NonNullable<Tool["check"]>;
    const { failure, error } = await one({ ...tool("guarded"), check }, {});
    assertEquals([failure?.type, error], ["wrong_number_of_inputs", undefined]);
  }

  // What a check asks may change between two calls that are the same object.
  let open = false;
  const door = {
    ...tool("door"),
    check: () => open ? undefined : { error: "closed", fault: NOTHING },
  };
  using doors = new Toolbox([door]);
  const enter = call("door", {});
  assertEquals(await results(doors, [enter]), ['{"error":"closed"}']);
  open = true;
  assertEquals(await results(doors, [enter]), ["{}"]);
});

// Declared results

Deno.test("a result that is not what its tool declares is a mistake of the tool, and none of the model", async () => {
  const output = {
    type: "object",
    properties: { degrees: { type: "number" } },
    required: ["degrees"],
  };
  const weather = (returns: unknown) =>
    define({ name: "weather", description: "", parameters: { type: "object" }, output, returns });
  const warm = await one(weather({ degrees: "warm" }), {});
  assertEquals(
    [warm.result, warm.error, warm.mistake, warm.failure],
    [
      '{"error":"The tool returned what its schema does not allow: /degrees must be number"}',
      "The tool returned what its schema does not allow: /degrees must be number",
      "malformed return",
      undefined,
    ],
  );
  const right = await one(weather({ degrees: 21 }), {});
  assertEquals([right.result, right.error], ['{"degrees":21}', undefined]);
  // An error that a tool reports is none of its declared results.
  assertEquals((await one(weather({ error: "no weather" }), {})).error, "no weather");
  const named = (type: string) => ({ ...weather("21"), returns: { type } });
  for (const type of ["string", "number"]) {
    assertEquals((await one(named(type), {})).mistake, undefined, "a text may be meant as JSON");
  }
  assertEquals((await one(named("boolean"), {})).mistake, "malformed return");
  const wrong = { type: "nothing" };
  const message = "as its declared result must be a JSON Schema";
  assertThrows(() => new Toolbox([{ ...weather(1), returns: wrong }]), InputError, message);
  assertThrows(
    () => define({ name: "t", description: "", parameters: {}, output: wrong, returns: 1 }),
    InputError,
  );
});

Deno.test("a result is what a library takes or gives, beside what a model is shown of it", async () => {
  const output = z.object({
    a: z.number(),
    day: z.iso.duration().optional(),
    length: z.string().transform((text) => text.length).optional(),
    on: z.stringbool().optional(),
  });
  const made = (returns: unknown) =>
    define({ name: "row", description: "", parameters: z.object({}), output, returns });
  const mistakeOf = async (returns: unknown) => (await one(made(returns), {})).mistake;
  const right = [{ a: 1, more: 2 }, { a: 1, day: "P1D" }, { a: 1, length: 5 }, {
    a: 1,
    length: "x",
  }, {
    a: 1,
    on: true,
  }];
  for (const value of right) {
    assertEquals(await mistakeOf(value), undefined, JSON.stringify(value));
  }
  for (const value of [{}, { a: "1" }, { a: 1, day: "tomorrow" }, [], "a"]) {
    assertEquals(await mistakeOf(value), "malformed return", JSON.stringify(value));
  }
});
