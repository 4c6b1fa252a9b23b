import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { z } from "zod";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { assertTools, type OwnToolOptions, tool } from "../../lib/tools/define_tool.ts";
import { providerNames } from "../../lib/tools/provider_names.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import fc from "../support/fast_check.ts";

const NAMED = { name: "own", description: "Does something" };

/** A tool that gives back what it got. */
function echo(parameters: z.ZodType | JsonObject): Tool {
  return tool({ ...NAMED, parameters, execute: (input) => input });
}

/** What a call comes to: what the tool got, or why it was refused. */
async function resultOf(own: Tool, given: JsonValue | string): Promise<string> {
  using toolbox = new Toolbox([own]);
  const written = typeof given === "string" ? given : JSON.stringify(given);
  const [result] = await toolbox.execute([{ id: "1", name: own.name, arguments: written }]);
  return result!.content;
}

/** What a tool that gives `result` sends back, and the error that is recorded. */
async function sentBack(execute: () => unknown): Promise<[content: string, error?: string]> {
  const own = tool({ ...NAMED, parameters: z.object({}), execute });
  using toolbox = new Toolbox([own]);
  const [result] = await toolbox.execute([{ id: "1", name: "own", arguments: "{}" }]);
  const [call] = callsOf(toolbox.events);
  return call!.error === undefined ? [result!.content] : [result!.content, call!.error];
}

Deno.test("tool() gives what a zod schema makes of the arguments: defaults and transformations", async () => {
  const own = echo(z.object({
    text: z.string().trim().toLowerCase(),
    limit: z.int().default(10),
    filters: z.object({ sort: z.enum(["date", "name"]).default("date") }).optional(),
    when: z.string().transform((day) => `${day}T00:00`).optional(),
  }));
  const table: [given: JsonValue, got: JsonValue][] = [
    [{ text: " Pen" }, { text: "pen", limit: 10 }],
    [{ text: "Pen", limit: 3 }, { text: "pen", limit: 3 }],
    [{ text: "", filters: {} }, { text: "", limit: 10, filters: { sort: "date" } }],
    [{ text: "", when: "2026-05-03" }, { text: "", limit: 10, when: "2026-05-03T00:00" }],
  ];
  for (const [given, got] of table) assertEquals(JSON.parse(await resultOf(own, given)), got);
  // What has a default may be left out, and what a transformation takes is what is asked for.
  const { required, properties } = own.parameters as Record<string, JsonValue>;
  assertEquals(required, ["text"]);
  assertEquals((properties as Record<string, JsonObject>)["limit"]!["default"], 10);
  assertEquals((properties as Record<string, JsonObject>)["when"], { type: "string" });
});

Deno.test("tool() takes no argument from what every object has", async () => {
  const own = echo(z.object({
    constructor: z.string().optional(),
    within: z.object({ toString: z.int().optional(), valueOf: z.int().default(1) }).optional(),
    list: z.array(z.looseObject({ toString: z.int().optional() })).optional(),
  }));
  const table: [given: string, got: string][] = [
    ["{}", "{}"],
    ['{"constructor":"BMW"}', '{"constructor":"BMW"}'],
    ['{"within":{}}', '{"within":{"valueOf":1}}'],
    ['{"list":[{},{"more":[{}]}]}', '{"list":[{},{"more":[{}]}]}'],
  ];
  for (const [given, got] of table) assertEquals(await resultOf(own, given), got);
});

Deno.test("tool() takes a JSON Schema as it is", async () => {
  const parameters = { type: "object", properties: { x: { type: "number", default: 1 } } };
  const own = echo(parameters);
  assert(own.parameters === parameters);
  assertEquals(await resultOf(own, { y: 2 }), '{"y":2}');
  assertMatch(await resultOf(own, { x: "1" }), /\/x must be number/);
});

Deno.test("tool() refuses what the schema does not take, before it runs (Pipeline, Structured Output for Tool Invocation)", async () => {
  let runs = 0;
  const own = tool({
    ...NAMED,
    parameters: z.object({
      from: z.string(),
      to: z.string(),
      nights: z.int().min(1).optional(),
      at: z.object({ x: z.number() }).optional(),
    }).refine(({ from, to }) => from !== to, "from and to must differ"),
    execute: () => runs++,
  });
  const table: [given: JsonValue | string, error: RegExp][] = [
    [{}, /must have required property 'from'/],
    [{ from: "a" }, /must have required property 'to'/],
    [{ from: "a", to: 1 }, /\/to must be string/],
    [{ from: "a", to: "b", nights: 1.5 }, /\/nights must be integer/],
    [{ from: "a", to: "b", nights: 0 }, /\/nights must be >= 1/],
    [{ from: "a", to: "b", via: "c" }, /must NOT have additional properties \(via\)/],
    [{ from: "a", to: "b", at: { x: 1, y: 2 } }, /\/at must NOT have additional properties \(y\)/],
    ['{"from":"a","to":"b","__proto__":{}}', /must NOT have additional properties \(__proto__\)/],
    ['{"from":"a","to":"b","constructor":1}', /must NOT have additional .* \(constructor\)/],
    [{ from: "a", to: "a" }, /do not conform: from and to must differ/],
    [["a"], /must be a JSON object/],
    ["{", /must be a JSON object/],
  ];
  for (const [given, error] of table) {
    assertMatch(JSON.parse(await resultOf(own, given)).error, error);
  }
  assertEquals(runs, 0);
  assertEquals(await resultOf(own, { from: "a", to: "b" }), "0");
});

Deno.test("tool() checks arguments whoever calls it, and not only recorders", async () => {
  const own = echo(z.object({ x: z.int().refine((x) => x !== 7, "must not be 7") }));
  assertEquals(await own.execute({ x: 1 }), '{"x":1}');
  await assertRejects(() => own.execute({ x: 1.5 }), Error, "/x must be integer");
  await assertRejects(() => own.execute({ x: 1, y: 2 }), Error, "additional properties (y)");
  await assertRejects(() => own.execute({ x: 7 }), Error, "x: must not be 7");
});

Deno.test("tool() hands its function the signal that it is called with, and nothing else", async () => {
  const given: unknown[] = [];
  const own = tool({
    ...NAMED,
    parameters: z.object({}),
    execute: (_, options) => given.push(options),
  });
  const { signal } = new AbortController();
  await own.execute({}, { signal });
  await own.execute({});
  await own.execute({}, { signal: "SIGTERM", toolCallId: "1" } as never);
  assertEquals(given, [{ signal }, {}, {}]);
});

Deno.test("tool() names the arguments that a zod schema refuses beyond its JSON Schema", async () => {
  const own = echo(z.object({
    day: z.string().refine((day) => day.startsWith("2026"), "must be in 2026"),
    guests: z.array(z.string().refine((name) => name !== "", "must have a name")),
  }));
  using toolbox = new Toolbox([own]);
  const written = JSON.stringify({ day: "2025-01-01", guests: ["ann", ""] });
  await toolbox.execute([{ id: "1", name: "own", arguments: written }]);
  const [{ failure, result }] = callsOf(toolbox.events) as [ReturnType<typeof callsOf>[0]];
  assertEquals(
    JSON.parse(result).error,
    "The arguments do not conform: day: must be in 2026; guests[1]: must have a name",
  );
  assertEquals(failure, {
    type: "wrong_number_of_inputs",
    detail: { missing: [], unexpected: [], wrongType: ["day", "guests"], malformed: false },
    root: true,
  });
});

Deno.test("tool() tells so much of what it refuses, whatever a model writes", async () => {
  const own = echo(z.object({ all: z.record(z.string(), z.string().refine(() => false, "no")) }));
  const all = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`${"k".repeat(500)}\u001b${index}`, ""]),
  );
  const { error } = JSON.parse(await resultOf(own, { all }));
  assert(error.length < 10_000, `${error.length}`);
  assertEquals(error.includes("\u001b"), false);
});

Deno.test("tool() reads schemas that hold themselves, as deep as it can", async () => {
  const Tree = z.object({
    name: z.string().refine((name) => name !== "bad", "must not be bad"),
    get children(): z.ZodType {
      return z.array(Tree).default([]);
    },
  });
  const own = echo(Tree);
  assertEquals(
    await resultOf(own, { name: "a", children: [{ name: "b" }] }),
    '{"name":"a","children":[{"name":"b","children":[]}]}',
  );
  assertMatch(
    await resultOf(own, { name: "a", children: [{ name: "b", children: [{ name: "bad" }] }] }),
    /children\[0\]\.children\[0\]\.name: must not be bad/,
  );
  assertMatch(
    await resultOf(own, { name: "a", children: [{ name: "b", more: 1 }] }),
    /additional properties \(more\)/,
  );
  for (const depth of [10, 300, 1_000, 1_500, 2_000, 3_000, 5_000, 20_000, 100_000]) {
    const written = '{"name":"a","children":['.repeat(depth) + "]}".repeat(depth);
    const content = await resultOf(own, written);
    assertMatch(
      content.slice(0, 200),
      /^\{"name":"a","children":\[\{|nest too deep|JSON object/,
    );
    assertEquals(content.includes("zod"), false, "a deep value is no fault of the schema");
  }
});

Deno.test("tool() tells that a schema must be one that can be checked at once", async () => {
  const slow = echo(z.object({ x: z.string().refine(() => Promise.resolve(true)) }));
  using toolbox = new Toolbox([slow]);
  const call = { id: "1", name: "own", arguments: '{"x":"a"}' };
  const { message } = await assertRejects(() => toolbox.execute([call]), InputError);
  assertMatch(
    message,
    /^Cannot check the arguments of tool own as its zod schema must check them at once: /,
  );
  await assertRejects(() => slow.execute({ x: "a" }), InputError, "at once");
});

Deno.test("tool() refuses what a refinement trips over: that is no fault of the schema", async () => {
  const own = echo(z.object({
    list: z.array(z.string()).optional(),
    day: z.string().refine((day) => new Intl.DateTimeFormat(day) !== undefined).optional(),
  }));
  assertEquals(await resultOf(own, { day: "de" }), '{"day":"de"}');
  const error = JSON.parse(await resultOf(own, { day: "not a locale" })).error;
  assertMatch(error, /^The arguments do not conform: .*Invalid language tag/);
});

Deno.test("tool() takes what the flags of a pattern allow", async () => {
  const own = echo(z.object({
    code: z.string().regex(/^[a-z]{2}$/i).default("de"),
    zip: z.string().regex(/^d/i).regex(/\d$/).optional(),
  }));
  assertEquals(await resultOf(own, { code: "DE", zip: "D1" }), '{"code":"DE","zip":"D1"}');
  assertMatch(await resultOf(own, { code: "D1" }), /code: /);
  assertMatch(await resultOf(own, { zip: "D" }), /zip: /);
});

Deno.test("tool() hands on objects like any others", async () => {
  const own = tool({
    ...NAMED,
    parameters: z.object({ any: z.unknown() }),
    execute: ({ any }) => (any as { within: object[] }).within.map(String),
  });
  assertEquals(await resultOf(own, { any: { within: [{ x: 1 }] } }), '["[object Object]"]');
});

Deno.test("tool() leaves what is put around a faked tool where it is", async () => {
  const faked = tool({ ...NAMED, parameters: z.object({}), returns: 1 });
  const around: Tool = { ...faked, execute: async (input) => `<${await faked.execute(input)}>` };
  assertEquals(await resultOf(around, {}), "<1>");
});

Deno.test("tool() sends back texts as they are, all else as JSON, and what is thrown as an error", async () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const noJson = "Cannot give back what tool own returned as it must be a text or JSON: ";
  const table: [execute: () => unknown, content: string | RegExp, error?: string | RegExp][] = [
    [() => "plain", "plain"],
    [() => "", ""],
    [() => "\ud800", "\ud800"],
    [() => 7, "7"],
    [() => null, "null"],
    [() => undefined, "null"],
    [() => {}, "null"],
    [() => ({ a: undefined, b: [undefined] }), '{"b":[null]}'],
    [() => Promise.resolve({ a: 1 }), '{"a":1}'],
    [() => new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [() => JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
    [() => ({ error: "no seat" }), '{"error":"no seat"}', "no seat"],
    [() => ({ id: 2n ** 63n }), '{"id":9223372036854775808}'],
    [() => cycle, /./, `${noJson}Converting circular structure to JSON`],
    [
      () => ({
        toJSON() {
          throw new Error("boo");
        },
      }),
      /./,
      `${noJson}boo`,
    ],
    [
      () => {
        throw new Error("boo");
      },
      '{"error":"boo"}',
      "boo",
    ],

    [() => Promise.reject(new TypeError("later")), '{"error":"later"}', "later"],
  ];
  for (const [execute, content, error] of table) {
    const [text, told] = await sentBack(execute);
    if (typeof content === "string") assertEquals(text, content);
    else assertEquals(JSON.parse(text).error, told);
    assertEquals(told, error);
  }
  const [huge] = await sentBack(() => "x".repeat(3_000_000));
  assertEquals(huge.length, 3_000_000);
});

Deno.test("tool() fakes: one result for all calls, or one a call, begun anew in each run", async () => {
  const fixed = tool({ ...NAMED, parameters: z.object({}), returns: { degrees: 21 } });
  const failing = tool({ ...NAMED, parameters: z.object({}), returns: new Error("out of order") });
  const nothing = tool({ ...NAMED, parameters: z.object({}), returns: null });
  assertEquals(await resultOf(fixed, {}), '{"degrees":21}');
  assertEquals(await resultOf(failing, {}), '{"error":"out of order"}');
  assertEquals(await resultOf(nothing, {}), "null");
  await assertRejects(() => failing.execute({}), Error, "out of order");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(undefined)), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.array(fc.nat({ max: 8 }), { minLength: 1, maxLength: 4 }),
      async (sequence, runs) => {
        const own = tool({ ...NAMED, parameters: z.object({}), sequence });
        for (const calls of runs) {
          using toolbox = new Toolbox([own]);
          for (let call = 0; call < calls; call++) {
            const [result] = await toolbox.execute([{ id: "1", name: "own", arguments: "{}" }]);
            const expected = sequence[Math.min(call, sequence.length - 1)];
            assertEquals(
              result!.content,
              typeof expected === "string" ? expected : JSON.stringify(expected) ?? "null",
            );
          }
        }
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("tool() counts refused calls for nothing: a sequence goes on where it was", async () => {
  const own = tool({
    ...NAMED,
    parameters: z.object({ x: z.int() }),
    sequence: [new Error("busy"), 1, 2],
  });
  using toolbox = new Toolbox([own]);
  const results: string[] = [];
  for (const x of [1, "no", 2, 3, 4]) {
    const [result] = await toolbox.execute([
      { id: "1", name: "own", arguments: JSON.stringify({ x }) },
    ]);
    results.push(result!.content);
  }
  assertEquals(results.filter((_, place) => place !== 1), ['{"error":"busy"}', "1", "2", "2"]);
});

Deno.test("tool() tells the model what it returns, and how it is used (Pipeline, Structured Output for Tool Invocation)", () => {
  const own = tool({
    ...NAMED,
    parameters: z.object({ x: z.int() }),
    returns: { y: 1 },
    output: z.object({ y: z.int() }),
    examples: [{ x: 1 }],
    strict: true,
  });
  assertEquals([own.strict, own.examples], [true, [{ x: 1 }]]);
  assertEquals(own.returns?.["required"], ["y"]);
  assertEquals("strict" in echo(z.object({})), false);
});

Deno.test("tool() refuses what is no tool, in one message", () => {
  const parameters = z.object({});
  const table: [options: Record<string, unknown>, message: RegExp][] = [
    [
      { name: "has space" },
      /^Cannot use tool has space:\n {2}at name: must be 1 to 64 letters, digits, _ and -: it is "has space"$/,
    ],
    [{ name: "" }, /at name: must be/],
    [{ name: "x".repeat(65) }, /at name: must be/],
    [{ name: undefined }, /^Cannot use a tool:\n {2}at name: it is missing: it must be/],
    [{ name: 7 }, /at name: must be/],
    [{ name: "\u001b[31m" }, /^Cannot use tool \\u001b\[31m:\n {2}at name/],
    [{ description: undefined }, /at description: it is missing: expected string/],
    [{ execut: 1 }, /at the top: Unrecognized key: "execut"; did you mean execute\?$/],
    [{ __proto__x: 1 }, /Unrecognized key: "__proto__x"/],
    [{ constructor: 1 }, /Unrecognized key: "constructor"/],
    [
      { returns: 1, sequence: [1] },
      /as exactly one of execute, .*: execute and returns and sequence are given/,
    ],
    [{ execute: undefined }, /: none of them is given/],
    [{ execute: "run" }, /at execute: expected function, received string/],
    [
      { parameters: undefined },
      /as its schemas must be of zod 4, Standard JSON Schemas or JSON Schemas: parameters are missing/,
    ],
    [{ parameters: { _def: {} } }, /as its parameters must be the schema of an object/],
    [
      { parameters: z.string() },
      /as its parameters must be the schema of an object: the type is "string"/,
    ],
    [
      { parameters: z.union([parameters, z.string()]) },
      /schema of an object: they have no type and no properties/,
    ],
    [{ parameters: { type: "array" } }, /schema of an object: the type is "array"/],
    [
      { parameters: z.object({ when: z.date() }) },
      /as its zod schema must be one that JSON Schema can express: /,
    ],
    [
      { parameters: { type: "object", properties: 7 } },
      /^Cannot offer tool own as its parameters must be a JSON Schema: /,
    ],
    [
      { output: z.map(z.string(), z.string()) },
      /as its zod schema must be one that JSON Schema can express/,
    ],
  ];
  const good = { ...NAMED, parameters, execute: () => 1 };
  for (const [options, message] of table) {
    const given = { ...good, ...options } as unknown as OwnToolOptions<JsonObject>;
    const error = assertThrows(() => tool(given), InputError);
    assertMatch(error.message, message);
  }
  for (
    const [sequence, rule] of [[[], "must not be empty"], [
      "pending",
      "expected array, rec",
    ]] as const
  ) {
    const given = { ...NAMED, parameters, sequence } as unknown as OwnToolOptions<JsonObject>;
    assertThrows(() => tool(given), InputError, `at sequence: ${rule}`);
  }
  assertThrows(() => tool({ ...NAMED, parameters }), InputError, "none of them is given");
});

Deno.test("assertTools() takes tools that anything made, and tells which is none", () => {
  const plain = { ...NAMED, parameters: { type: "object" }, execute: () => Promise.resolve("") };
  assertTools([]);
  assertTools([plain, echo(z.object({}))]);
  const table: [one: unknown, message: string][] = [
    [undefined, "a name: number 2 has none"],
    [{ ...plain, name: "" }, "a name: number 2, , has none"],
    [{ ...plain, description: 1 }, "a description: number 2, own, has none"],
    [
      { ...plain, parameters: [] },
      "parameters, the JSON Schema of an object: number 2, own, has none",
    ],
    [{ ...plain, execute: {} }, "a function execute: number 2, own, has none"],
  ];
  for (const [one, message] of table) {
    const error = assertThrows(() => assertTools([plain, one as Tool]), InputError);
    assertEquals(error.message, `Cannot offer tools as each must have ${message}`);
  }
});

Deno.test("providerNames() keeps accepted names, and writes others so that none are alike", () => {
  assertEquals(
    providerNames(["db.query", "db_query", "db/query", "größe", "", "get-env"]),
    ["db_query_2", "db_query", "db_query_3", "gr__e", "_", "get-env"],
  );
  const long = "x".repeat(70);
  assertEquals(providerNames([long, `${long}y`]), ["x".repeat(64), `${"x".repeat(62)}_2`]);
});

Deno.test("names for providers are accepted, distinct, and as many as were given", () => {
  const names = fc.array(
    fc.oneof(
      fc.string({ unit: fc.character() }),
      fc.stringMatching(/^[a-b._]{0,3}$/),
      fc.string({ minLength: 60, maxLength: 70 }),
    ),
  );
  fc.assert(fc.property(names, (given) => {
    const written = providerNames(given);
    assertEquals(written.length, given.length);
    assertEquals(new Set(written).size, written.length);
    assert(written.every((name) => /^[\w-]{1,64}$/.test(name)), JSON.stringify(written));
  }));
});
