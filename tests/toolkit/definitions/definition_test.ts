import { assert, assertEquals, assertNotMatch, assertRejects, assertThrows } from "@std/assert";
import {
  Definition,
  type DefinitionParts,
  parseDefinition,
} from "../../../lib/toolkit/definitions/definition.ts";
import { definitionTool, runDefinition } from "../../../lib/toolkit/definitions/run.ts";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { defineFrom } from "../../../lib/toolkit/definitions/from_trace.ts";
import { echoTool, MEAN, OPTIONS } from "../../support/definitions.ts";
import { HOSTILE, STEERING } from "../../support/records.ts";

Deno.test("a definition shows its description, and nothing hostile", () => {
  const { description, calls } = defineFrom(
    [{ tool: HOSTILE, arguments: { [HOSTILE]: HOSTILE }, result: "R" }],
    { description: HOSTILE, inputs: {}, output: { name: "R", type: "null" } },
  );
  assertEquals([description, calls[0]?.tool], [HOSTILE, HOSTILE]);
  const shown = String(defineFrom(MEAN, { ...OPTIONS, description: `The mean ${HOSTILE}` }));
  assertNotMatch(shown.replaceAll("\n", ""), STEERING);
  assertEquals(shown.split("\n").length, 4);
  assertEquals(shown.startsWith("/** The mean "), true);
});

Deno.test("a definition shares nothing with what it was made from", () => {
  const parts = structuredClone({ ...defineFrom(MEAN, OPTIONS) }) as DefinitionParts;
  const definition = new Definition(parts);
  const before = JSON.stringify(definition);
  parts.calls[0]!.arguments["expression"] = "1";
  definition.toJSON().calls[0]!.arguments["expression"] = "1";
  assertEquals(JSON.stringify(definition), before);
});

Deno.test("parseDefinition() reads what was written, and its text", () => {
  const mean = defineFrom(MEAN, { ...OPTIONS, description: "The mean" });
  const json = {
    v: 1,
    kind: "definition",
    name: "mean",
    description: "The mean",
    inputs: [{ name: "X", type: "number" }, { name: "Y", type: "number" }],
    output: { name: "Mean", type: "number" },
    calls: MEAN,
  };
  assertEquals(JSON.parse(JSON.stringify(mean)), json);
  assertEquals(parseDefinition(json), mean);
  assertEquals(parseDefinition(JSON.stringify(mean)), mean);
  assertEquals(String(parseDefinition(json)), String(mean));
});

Deno.test("parseDefinition() refuses whatever is not right, in words", () => {
  const json = JSON.parse(JSON.stringify(defineFrom(MEAN, OPTIONS)));
  let deep: JsonValue = {};
  for (let depth = 0; depth < 10_000; depth++) deep = { deep };
  const [sum, half] = json.calls;
  const proto = (text: string) => JSON.parse(`{"__proto__":1,${text.slice(1)}`);
  for (
    const wrong of [
      null,
      undefined,
      [],
      "no JSON",
      "{}",
      { ...json, v: 2 },
      { ...json, kind: "trial" },
      { ...json, more: 1 },
      proto(JSON.stringify(json)),
      { ...json, name: 7 },
      { ...json, name: "a b" },
      { ...json, name: HOSTILE },
      { ...json, description: null },
      { ...json, inputs: { X: "number", Y: "number" } },
      { ...json, inputs: [...json.inputs, { name: "Z", type: "date" }] },
      { ...json, inputs: [...json.inputs, { name: "X", type: "number" }] },
      { ...json, inputs: [json.inputs[0], { name: "Y", type: "number", more: 1 }] },
      { ...json, output: { name: "Mean" } },
      { ...json, output: { name: HOSTILE, type: "number" } },
      { ...json, calls: [] },
      { ...json, calls: [half] },
      { ...json, calls: [half, sum] },
      { ...json, calls: [sum, half, { ...half }] },
      { ...json, calls: [sum, { ...half, result: "@Mean" }] },
      { ...json, calls: [sum, { ...half, more: 1 }] },
      { ...json, calls: [sum, { ...half, arguments: [] }] },
      { ...json, calls: [sum, { ...half, arguments: "{}" }] },
      { ...json, calls: [sum, { ...half, arguments: deep }] },
      { ...json, calls: [{ ...sum, arguments: { n: NaN } }, half] },
      { ...json, calls: [{ ...sum, arguments: { e: `@${HOSTILE} @Mean` } }, half] },
    ]
  ) {
    const { message } = assertThrows(() => parseDefinition(wrong), InputError);
    assertNotMatch(message.replaceAll("\n", ""), STEERING);
    assert(message.startsWith("Cannot "), message);
  }
});

Deno.test("a definition keeps names of Object.prototype", async () => {
  const echo = echoTool();
  const hostile = '{"__proto__":"@__proto__","constructor":{"toString":"@constructor"}}';
  const definition = parseDefinition(
    `{"v":1,"kind":"definition","name":"__proto__","inputs":[{"name":"__proto__","type":"number"},` +
      `{"name":"constructor","type":"string"}],"output":{"name":"toString","type":"object"},` +
      `"calls":[{"tool":"echo","arguments":${hostile},"result":"toString"}]}`,
  );
  assertEquals(JSON.stringify(definition.calls[0]?.arguments), hostile);
  assertEquals(parseDefinition(JSON.stringify(definition)), definition);
  const inputs = JSON.parse('{"__proto__":1,"constructor":"c"}');
  const text = JSON.stringify(await runDefinition(definition, [echo], inputs));
  assertEquals(text, '{"__proto__":1,"constructor":{"toString":"c"}}');
  const tool = definitionTool(definition, [echo]);
  assertEquals(Object.keys(tool.parameters["properties"] as JsonObject), [
    "__proto__",
    "constructor",
  ]);
  await assertRejects(
    () => runDefinition(definition, [echo], {}),
    InputError,
    "__proto__ is missing",
  );
  const lifted = defineFrom([...definition.calls], {
    inputs: JSON.parse('{"__proto__":"number","constructor":"string"}'),
    output: { name: "toString", type: "object" },
  });
  assertEquals(lifted.inputs, definition.inputs);
});
