import { assertEquals } from "@std/assert";
import { difficultyOf, documentOf } from "../../../lib/tasks/questions/question_set.ts";
import { loadCallSet } from "../../../lib/tasks/questions/load.ts";
import type { JsonValue } from "../../../lib/base/json.ts";
import { CALLNAVI, outsideTest } from "../../support/outside_data.ts";

Deno.test("difficultyOf() counts calls, and looks for placeholders at any depth (CallNavi 4.1)", () => {
  const table: [string[], JsonValue[], string][] = [
    [[], [], "easy"],
    [["a"], [{ x: "$$$" }], "easy"],
    [["a", "b"], [{ x: 1 }, {}], "medium"],
    [["a", "b"], [], "medium"],
    [["a", "b"], [{ x: "costs $$$ more" }, {}], "medium"],
    [["a", "b"], [{ "$$$": 1 }, {}], "medium"],
    [["a", "b"], [{}, { x: "$$$" }], "hard"],
    [["a", "b"], [{ x: { y: [null, "$$$"] } }, {}], "hard"],
  ];
  for (const [API, parameters, difficulty] of table) {
    assertEquals(difficultyOf({ API, parameters }), difficulty);
  }
});

Deno.test("documentOf() writes any tool in CallNavi's layout, keys in its order", () => {
  const parameters = {
    type: "object",
    properties: {
      b: { type: "string", description: "north/south" },
      a: { type: "object", properties: { n: { type: "number" } } },
      ["__proto__"]: { type: "boolean" },
    },
    required: ["b"],
  };
  const returns = { type: "string", description: "Status" };
  assertEquals(
    JSON.stringify(documentOf({ name: "f", description: "F.", parameters, returns })),
    '{"name":"f","description":"F.","parameters":{"b":"north/south","a":{"n":"number"},' +
      '"__proto__":"boolean"},"returnParameter":"Status"}',
  );
  assertEquals(documentOf({ name: "g", description: "", parameters: { type: "object" } }), {
    name: "g",
    description: "",
    parameters: {},
  });
});

/** Whether what a set tells of functions in words comes back from their tools. */
function assertInverse(path: string): number {
  let words = 0;
  for (const functions of loadCallSet(path).domains.values()) {
    for (const { document, tool } of functions) {
      const { parameters, returnParameter } = document;
      const back = documentOf(tool);
      assertEquals(back["name"], document["name"]!);
      assertEquals(back["description"], document["description"]!);
      if (Array.isArray(parameters)) {
        assertEquals(Object.keys(back["parameters"]!), parameters);
        continue;
      }
      assertEquals(spelled(back["parameters"]!), spelled(parameters!));
      if (!Array.isArray(returnParameter)) assertEquals(back["returnParameter"], returnParameter);
      words++;
    }
  }
  return words;
}

/** Words as they come back: each type has one name, and examples of numbers come as descriptions. */
function spelled(words: JsonValue): JsonValue {
  if (words === "int") return "integer";
  if (words === "list") return "array";
  if (typeof words === "number") return `number (${words})`;
  if (typeof words !== "object" || words === null || Array.isArray(words)) return words;
  return Object.fromEntries(Object.entries(words).map(([key, word]) => [key, spelled(word)]));
}

Deno.test("documentOf() gives back the documents of a set", () => {
  assertEquals(
    assertInverse(new URL("../../../fixtures/call_sets/city", import.meta.url).pathname),
    5,
  );
});

outsideTest("documentOf() gives back all documents of CallNavi", CALLNAVI, (path) => {
  assertEquals(assertInverse(path), 486);
});
