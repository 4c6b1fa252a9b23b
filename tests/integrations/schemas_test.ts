// Schemas of other libraries, with the real packages: those that tool() takes, and those that nothing takes for a
// JSON Schema.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { Type } from "@sinclair/typebox";
import { toJsonSchema, toStandardJsonSchema } from "@valibot/to-json-schema";
import { jsonSchema } from "ai";
import { type } from "arktype";
import { Schema } from "effect";
import Joi from "joi";
import * as v from "valibot";
import * as yup from "yup";
import { z } from "zod";
import { zodToJsonSchema } from "zod-to-json-schema";
import { z as z3 } from "zod3";
import type { JsonObject } from "../../lib/base/json.ts";
import { withJsonSchema } from "../../lib/integrations/standard_schema.ts";
import { fromZod3 } from "../../lib/integrations/zod3.ts";
import { tool, type ToolInput } from "../../lib/tools/define_tool.ts";
import type { StandardSchema } from "../../lib/tools/own_schema.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import { logCalls } from "../../lib/trials/executors/call_log.ts";

/** What `execute` gets of each: the inferred type must be this one. */
interface Trip {
  city: string;
  days: number;
}

const onlyRome = (city: string) => city !== "Atlantis";

const valibot = v.object({
  city: v.pipe(v.string(), v.check(onlyRome, "no such city")),
  days: v.optional(v.number(), 1),
});
const CITY = z3.string().refine(onlyRome, "no such city");
const zod3 = z3.object({ city: CITY, days: z3.number().default(1) });
const zod3Old = Object.create(zod3, { "~standard": { value: undefined } }) as typeof zod3;

/** The same parameters in every library. */
const SCHEMAS = {
  Valibot: withJsonSchema(
    valibot,
    (schema: typeof valibot) => toJsonSchema(schema, { errorMode: "ignore" }),
  ),
  ArkType: type({ city: "string", days: "number = 1" }).narrow(({ city }, context) =>
    onlyRome(city) || context.reject({ path: ["city"], expected: "no such city" })
  ),
  "zod 3": fromZod3(zod3, zodToJsonSchema),
  "zod 3 before 3.24": fromZod3(zod3Old, zodToJsonSchema),
} satisfies Record<string, StandardSchema<Trip>>;

for (const [name, parameters] of Object.entries(SCHEMAS)) {
  const own = (got: unknown[]) =>
    tool<StandardSchema<Trip>>({
      ...{ name: "book", description: "Books a trip", parameters },
      execute: (trip) => void got.push(trip),
    });

  Deno.test(`${name}: models see its JSON Schema, and execute gets its output`, async () => {
    const got: unknown[] = [];
    const { parameters, execute } = own(got);
    const { properties, required } = parameters as { properties: JsonObject; required: string[] };
    assertEquals(Object.keys(properties).sort(), ["city", "days"]);
    assertEquals(required, ["city"]);
    await execute({ city: "Rome" });
    await execute({ city: "Rome", days: 2 });
    assertEquals(got.map((trip) => ({ ...(trip as Trip) })), [
      { city: "Rome", days: 1 },
      { city: "Rome", days: 2 },
    ]);
  });

  Deno.test(`${name}: what it refuses does not run, and says what is wrong`, async () => {
    const got: unknown[] = [];
    using toolbox = new Toolbox([own(got)]);
    const answers = await toolbox.execute(
      [{ city: 5 }, { days: 1 }, { city: "Atlantis" }].map((input, place) => ({
        ...{ id: `${place}`, name: "book", arguments: JSON.stringify(input) },
      })),
    );
    assertEquals(got, []);
    assertMatch(answers[2]!.content, /city.*no such city/);
    const failures = toolbox.events.map((event) => event.kind === "call" ? event.failure : null);
    assertEquals(failures.map((failure) => failure?.detail), [
      { missing: [], unexpected: [], wrongType: ["city"], malformed: false },
      { missing: ["city"], unexpected: [], wrongType: [], malformed: false },
      { missing: [], unexpected: [], wrongType: ["city"], malformed: false },
    ]);
  });
}

Deno.test("tool() infers what execute gets from a Standard Schema", () => {
  const trip: ToolInput<typeof SCHEMAS["zod 3"]> = { city: "Rome", days: 1 };
  const same: ToolInput<typeof SCHEMAS.ArkType> = trip;
  const again: ToolInput<typeof SCHEMAS.Valibot> = same;
  // @ts-expect-error The days are a number.
  const wrong: typeof again = { city: "Rome", days: "1" };
  assert(wrong !== undefined);
});

for (
  const [name, parameters] of Object.entries({
    Joi: Joi.object({ city: Joi.string().required() }),
    "Valibot, by its own conversion": toStandardJsonSchema(v.object({ city: v.string() })),
  })
) {
  Deno.test(`${name}: tool() takes a schema with Standard JSON Schema as it is`, async () => {
    const own = tool({
      ...{ name: "book", description: "", parameters: parameters as StandardSchema },
      execute: (trip) => trip,
    });
    assertEquals(own.parameters["required"], ["city"]);
    assertEquals(await own.execute({ city: "Rome" }), '{"city":"Rome"}');
    await assertRejects(() => own.execute({ city: 5 }), Error, "/city must be string");
  });
}

Deno.test("tool() waits for a schema that checks later, and does not run what it refuses", async () => {
  const later = v.objectAsync({
    city: v.pipeAsync(
      v.string(),
      v.checkAsync(async (city) => await Promise.resolve(onlyRome(city)), "no such city"),
    ),
  });
  const got: unknown[] = [];
  const own = tool({
    ...{ name: "book", description: "" },
    parameters: withJsonSchema(later, () => ({ type: "object", properties: { city: {} } })),
    execute: ({ city }) => void got.push(city),
  });
  await own.execute({ city: "Rome" });
  await assertRejects(() => own.execute({ city: "Atlantis" }), Error, "city: no such city");
  using toolbox = new Toolbox([own]);
  const call = { id: "1", name: "book", arguments: '{"city":"Atlantis"}' };
  assertMatch((await toolbox.execute([call]))[0]!.content, /no such city/);
  assertEquals(got, ["Rome"]);
});

Deno.test("a validation that throws or nests too deep refuses", async () => {
  const own = tool({
    ...{ name: "book", description: "" },
    parameters: withJsonSchema(
      v.object({
        city: v.pipe(
          v.string(),
          v.check(() => {
            throw new Error("no map");
          }),
        ),
      }),
      () => ({ type: "object" }),
    ),
    returns: "booked",
  });
  await assertRejects(() => own.execute({ city: "Rome" }), Error, "do not conform: no map");
});

/** What is no JSON Schema, and what its error must say. */
const FOREIGN: Readonly<Record<string, readonly [schema: unknown, told: RegExp, own?: RegExp]>> = {
  "zod 4": [z.object({ a: z.string() }), /of zod 4: define the tool with tool\(\)/, /^$/],
  "zod 3": [z3.object({ a: z3.string() }), /of zod 3: convert it by fromZod3\(\) of .*\/zod3/],
  "zod 3 before 3.24": [zod3Old, /of zod 3: convert it by fromZod3\(\)/],
  Valibot: [
    v.object({ a: v.string() }),
    /of valibot: convert it by withJsonSchema\(\) of .*_schema/,
  ],
  "Valibot with a JSON Schema": [
    ...[
      toStandardJsonSchema(v.object({ a: v.string() })),
      /of valibot: define the tool with tool/,
    ] as const,
    /^$/,
  ],
  ArkType: [type({ a: "string" }), /of arktype: define the tool with tool\(\)/, /^$/],
  Joi: [Joi.object({ a: Joi.string() }), /of joi: define the tool with tool\(\)/, /^$/],
  Yup: [yup.object({ a: yup.string() }), /of yup: convert it by withJsonSchema/],
  Effect: [Schema.Struct({ a: Schema.String }), /a function: convert it to a JSON Schema/],
  "the AI SDK": [jsonSchema({ type: "object" }), /of the AI SDK: .*fromAiSdkTools\(\)/],
  "a class": [class Weather {}, /a function: convert it to a JSON Schema/],
  "an instance": [new (class Weather {})(), /an instance of Weather: convert it to a JSON Schema/],
  "a Map": [new Map([["type", "object"]]), /an instance of Map/],
  "one inside of a JSON Schema": [
    { type: "object", properties: { city: v.string() } },
    /city is of valibot: convert it by withJsonSchema/,
  ],
  "a shape of zod": [{ city: z.string() }, /put z\.object\(\{ \.\.\. \}\) around them/],
};

for (const [name, [parameters, told, own = told]] of Object.entries(FOREIGN)) {
  Deno.test(`a schema of ${name} is not taken for a JSON Schema`, () => {
    const bare = {
      ...{ name: "weather", description: "", parameters: parameters as JsonObject },
      execute: () => Promise.resolve("sunny"),
    };
    const offered = assertThrows(() => logCalls([bare]), Error);
    assertMatch(
      offered.message,
      /^Cannot offer tools as each must have parameters, .* 1, weather, /,
    );
    for (const make of [() => new Toolbox([bare]), () => logCalls([bare])]) {
      assertMatch(assertThrows(make, Error).message, told);
    }
    if (own.source === "^$") return void tool(bare);
    assertMatch(assertThrows(() => tool(bare), Error).message, own);
  });
}

Deno.test("JSON Schemas of any make are taken as they are", () => {
  const bare = { name: "weather", description: "", execute: () => Promise.resolve("sunny") };
  const schemas: readonly unknown[] = [
    Type.Object({ city: Type.String() }),
    Object.assign(Object.create(null), { type: "object" }),
    {
      type: "object",
      properties: JSON.parse('{"_def":{},"_zod":{},"~standard":{},"__proto__":{}}'),
    },
    { type: "object", properties: { since: { type: "string", default: new Date(0) } } },
  ];
  for (const schema of schemas) {
    const parameters = schema as JsonObject;
    using _toolbox = new Toolbox([{ ...bare, parameters }]);
    assertEquals(tool({ ...bare, parameters }).parameters, parameters);
  }
  const cyclic: Record<string, unknown> = { type: "object" };
  cyclic["properties"] = { self: cyclic };
  assertThrows(() => tool({ ...bare, parameters: cyclic as JsonObject }), Error);
});
