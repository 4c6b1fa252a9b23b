import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import type { JsonObject } from "../../../lib/base/json.ts";
import { resolvedTruth } from "../../../lib/tasks/questions/question_set.ts";
import { loadCallSet } from "../../../lib/tasks/questions/load.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { argumentCheck } from "../../../lib/tools/schema/validate.ts";
import fc from "../../support/fast_check.ts";
import { Folder } from "../../support/folders.ts";

const CITY = new URL("../../../fixtures/call_sets/city", import.meta.url).pathname;

const FIND = { name: "find", description: "Finds.", parameters: { what: "string" } };
const ASKED = { id: "q1", question: "Where?", calls: [{ function: "find" }] };
const SMALL = { name: "small", functions: { town: [FIND] }, questions: [ASKED] };

/** Loads a set that is written to a file. */
function load(set: unknown) {
  using place = new Folder();
  return loadCallSet(place.write("set.jsonc", typeof set === "string" ? set : JSON.stringify(set)));
}

Deno.test("the forms of a file and of a folder tell the same questions", () => {
  const [file, folder] = [loadCallSet(`${CITY}.jsonc`), loadCallSet(CITY)];
  assertEquals(file.name, folder.name);
  assertEquals([...file.domains.keys()], [...folder.domains.keys()]);
  for (const [place, question] of file.questions.entries()) {
    const other = folder.questions[place]!;
    const { id, domain, difficulty, truth } = question;
    assertEquals([id, domain, difficulty], [other.id, other.domain, other.difficulty]);
    assertEquals(truth.API, other.truth.API);
    assertEquals(question.messages.at(-1), other.messages.at(-1));
  }
  assertEquals(file.questions[5]!.messages[0], { role: "system", content: "You sell tickets." });
});

Deno.test("calls become truths, and the difficulty follows from them unless it is told", () => {
  const calls = [{ function: "find", arguments: { what: "$$$" } }, { function: "find" }];
  const { questions } = load({
    ...SMALL,
    questions: [
      ASKED,
      { ...ASKED, id: "q2", calls },
      { ...ASKED, id: "q3", calls, difficulty: "easy" },
      { ...ASKED, id: "q4", calls: [] },
    ],
  });
  assertEquals(questions.map(({ difficulty }) => difficulty), ["easy", "hard", "easy", "easy"]);
  assertEquals(questions[1]!.truth, { API: ["find", "find"], parameters: [{ what: "$$$" }, {}] });
  assertEquals(questions[0]!.domain, "town");
  assertEquals(questions[0]!.messages, [{ role: "user", content: "Where?" }]);
});

Deno.test("parameters may be a JSON Schema, type words or names", () => {
  const schema = {
    type: "object",
    properties: { type: { type: "string", enum: ["a"] } },
    required: ["type"],
  };
  const functions: JsonObject[] = [
    { ...FIND, name: "a", parameters: schema, returns: { type: "object", properties: {} } },
    { ...FIND, name: "b", parameters: { type: "string", n: "int" }, returns: { id: "string" } },
    { ...FIND, name: "c", parameters: ["x", "y"] },
  ];
  const questions = [{ ...ASKED, calls: [{ function: "b" }] }];
  const set = load({ ...SMALL, functions: { town: functions }, questions });
  const [a, b, c] = set.domains.get("town")!;
  assertEquals(a!.tool, {
    name: "a",
    description: "Finds.",
    parameters: schema,
    returns: { type: "object", properties: {} },
  });
  assert(argumentCheck(a!.tool)({}) !== undefined, "a schema is held to");
  assertEquals(b!.tool.parameters["properties"], {
    type: { type: "string" },
    n: { type: ["integer", "string"] },
  });
  assertEquals(b!.tool.returns, { type: "object", properties: { id: { type: "string" } } });
  assertEquals(c!.tool.parameters["properties"], { x: { type: "string" }, y: { type: "string" } });
  assertEquals([a, b, c].map((one) => one!.document), functions);
  assertEquals(set.warnings.length, 1);
});

Deno.test("names of domains, functions and parameters may be any text", () => {
  const text = `{
    // Keys that mean something to programs.
    "name": "odd",
    "functions": {
      "__proto__": [{ "name": "constructor", "description": "", "parameters": { "__proto__": "int" } }],
      "7": [{ "name": "toString", "description": "", "parameters": ["hasOwnProperty", "1"] }],
    },
    "questions": [
      {
        "id": "__proto__",
        "domain": "__proto__",
        "question": "\\ud800",
        "calls": [{ "function": "constructor", "arguments": { "__proto__": 1 } }],
      },
      { "id": "constructor", "domain": "7", "question": "", "calls": [{ "function": "toString" }] },
    ],
  }`;
  const { domains, questions, warnings } = load(text);
  assertEquals([...domains.keys()].sort(), ["7", "__proto__"]);
  assertEquals(questions.map(({ id }) => id), ["__proto__", "constructor"]);
  assertEquals(JSON.stringify(questions[0]!.truth.parameters), '[{"__proto__":1}]');
  assertEquals(warnings.length, 1);
});

Deno.test("broken files are told by file, path and rule", () => {
  const second = { ...ASKED, id: "q2" };
  const two = { town: [FIND], city: [FIND] };
  const cases: [unknown, RegExp][] = [
    ["{", /set\.jsonc: it is not JSON with comments: /],
    [[], /set\.jsonc:\n {2}at the top: /],
    [{ ...SMALL, nmae: "x" }, /\n {2}at the top: .*"nmae"/],
    [{ ...SMALL, name: "" }, /\n {2}at name: /],
    [{ ...SMALL, functions: {} }, /\n {2}at functions: must have a domain: there is none/],
    [{ ...SMALL, functions: [FIND] }, /\n {2}at functions: must be an object/],
    [{ ...SMALL, functions: { town: [] } }, /\n {2}at functions\.town: /],
    [
      { ...SMALL, functions: { town: [FIND, { ...FIND, parameters: 1 }] } },
      /\n {2}at functions\.town\[1\]\.parameters: /,
    ],
    [
      { ...SMALL, functions: { town: [{ ...FIND, params: {} }] } },
      /\n {2}at functions\.town\[0\]: .*"params"/,
    ],
    [
      { ...SMALL, functions: { town: [{ ...FIND, parameters: { type: "object", required: 5 } }] } },
      /set\.jsonc: Cannot offer tool \w+ as its parameters must be a JSON Schema: .*required/,
    ],
    [{ ...SMALL, questions: [] }, /\n {2}at questions: /],
    [
      { ...SMALL, questions: [ASKED, ASKED] },
      / as questions\[1\]\.id must be another than those before: "q1" is at /,
    ],
    [
      { ...SMALL, questions: [{ ...ASKED, domain: "city" }] },
      /\n {2}at questions\[0\]\.domain: must be one of town: it is "city"/,
    ],
    [
      { ...SMALL, functions: two, questions: [{ ...ASKED, domain: "city" }, second] },
      /\n {2}at questions\[1\]\.domain: is needed, as there are 2 domains/,
    ],
    [
      { ...SMALL, questions: [{ ...ASKED, calls: [{ function: "find", arguments: [] }] }] },
      /\n {2}at questions\[0\]\.calls\[0\]\.arguments: must be an object/,
    ],
    [
      { ...SMALL, questions: [{ ...ASKED, calls: [{ name: "find" }] }] },
      /\n {2}at questions\[0\]\.calls\[0\]\.function: /,
    ],
    [{ ...SMALL, questions: [{ ...ASKED, question: 5 }] }, /\n {2}at questions\[0\]\.question: /],
    [
      { ...SMALL, questions: [{ ...ASKED, question: [{ role: "system", content: "Be brief." }] }] },
      /\n {2}at questions\[0\]\.question: must have a message of the user: nothing would be asked$/,
    ],
    [
      { ...SMALL, questions: [{ ...ASKED, calls: [{ function: "find" }, { function: "Find" }] }] },
      /\n {2}at questions\[0\]\.calls\[1\]\.function: must be on offer in town: it is "Find"; did you mean find\?$/,
    ],
  ];
  for (const [set, message] of cases) {
    assertMatch(assertThrows(() => load(set), InputError).message, message);
  }
});

const RENEW = {
  name: "renew",
  description: "Renews a loan.",
  parameters: {
    type: "object",
    properties: { member: { type: "string" }, weeks: { type: "integer" } },
    required: ["member"],
    additionalProperties: false,
  },
};

Deno.test("right calls that the schema of their function refuses are an error, of each choice too", () => {
  const functions = { town: [RENEW, FIND] };
  const table: [JsonObject, string | undefined][] = [
    [{ member: "M1" }, undefined],
    [{ member: "$$$", weeks: "$$$" }, undefined],
    [{ member: { anyOf: ["M1", "M2"] }, weeks: { anyOf: [2], optional: true } }, undefined],
    [{ member: "M1", weeks: "two" }, "weeks"],
    [{}, "member"],
    [{ member: { anyOf: ["M1", 2] } }, "member"],
    [{ member: { anyOf: ["M1"], optional: true } }, "member"],
    [{ member: { anyOf: [] } }, "must have choices"],
    [{ member: { anyOf: ["M1"], optonal: true } }, "must have choices"],
  ];
  for (const [given, fault] of table) {
    const calls = [{ function: "find", arguments: { where: [1] } }, {
      function: "renew",
      arguments: given,
    }];
    const set = { ...SMALL, functions, questions: [{ ...ASKED, calls }] };
    if (fault === undefined) load(set);
    else {
      const { message } = assertThrows(() => load(set), InputError);
      assertStringIncludes(message, "questions[0].calls[1]");
      assertStringIncludes(message, fault);
    }
  }
});

Deno.test("paths that are no call set are told", () => {
  using place = new Folder();
  const message = (path: string) => assertThrows(() => loadCallSet(path), InputError).message;
  assertMatch(
    message(place.file("none.json")),
    /^Cannot read \S+none\.json: there is no such file/,
  );
  assertMatch(
    message(place.write("set.yaml", "")),
    /^Cannot load a call set from \S+ as it must be a folder, or a \.json or \.jsonc file: it is neither$/,
  );
});

Deno.test("files of any content load, or are told in one error", () => {
  using place = new Folder();
  const any = fc.jsonValue({ maxDepth: 3 });
  const part = fc.oneof(any, fc.constantFrom(FIND, ASKED, { town: [FIND] }, [ASKED]));
  const loaded: boolean[] = [];
  fc.assertAll(
    fc.property(
      fc.record({ name: part, functions: part, questions: part }, { requiredKeys: [] }),
      fc.constantFrom("name", "functions", "questions", undefined),
      (set, broken) => {
        const whole = { ...SMALL, ...(broken === undefined ? {} : { [broken]: set[broken] }) };
        const path = place.write("any.json", JSON.stringify(whole));
        try {
          loaded.push(loadCallSet(path).questions.length > 0);
        } catch (error) {
          assert(error instanceof InputError, String(error));
          assert(error.message.includes("any.json"));
        }
      },
    ),
    { seed: 1 },
  );
  const share = loaded.length / fc.runsOf(100);
  assert(share > 0.1 && share < 0.9, `${share} loaded`);
});

const LOOKED_UP = {
  ...ASKED,
  calls: [
    { function: "find", arguments: { what: "it" }, result: { at: { x: 4, town: "Ulm" } } },
    {
      function: "find",
      arguments: { what: "$$$", list: ["a", "$$$"], text: "$$$" },
      values: { what: 4, list: ["a", "Ulm"] },
      result: "done",
    },
  ] as JsonObject[],
};

Deno.test("calls may declare their results, and the real values of placeholders", () => {
  const { questions: [question], domains, warnings } = load({ ...SMALL, questions: [LOOKED_UP] });
  assertEquals(question!.results, [
    { result: { at: { x: 4, town: "Ulm" } } },
    { result: "done", values: { what: 4, list: ["a", "Ulm"] } },
  ]);
  // The truth of written answers keeps its placeholders, and the texts that are free stay so.
  assertEquals(question!.truth.parameters[1], LOOKED_UP.calls[1]!["arguments"]);
  const real = { what: 4, list: ["a", "Ulm"], text: "$$$" };
  assertEquals(resolvedTruth(question!).parameters, [{ what: "it" }, real]);
  assertEquals(warnings, []);
  // A real value is accepted, though its type is another than the documented one.
  const check = argumentCheck(domains.get("town")![0]!.tool);
  assertEquals([check({ what: 4 }), check({ what: "it" })], [undefined, undefined]);
  // Nothing of it is in sets without results, whose hashes stay.
  assertEquals(Object.hasOwn(load(SMALL).questions[0]!, "results"), false);
});

Deno.test("results that cannot answer every call, or values that are none, are refused with their places", () => {
  const [first, second] = LOOKED_UP.calls;
  const broken: readonly (readonly [calls: readonly unknown[], path: string, rule: string])[] = [
    [[{ ...first, result: undefined }, second], "[0].result", "all have a result"],
    [
      [{ ...first, result: undefined }, { ...second, result: undefined }],
      "[0].result",
      "is needed",
    ],
    [[first, { ...second, values: { who: "x" } }], "[1].values.who", "must be an argument"],
    [[first, { ...second, values: { list: ["b", "c"] } }], "[1].values.list", "it is another one"],
    [[first, { ...second, values: { list: ["a"] } }], "[1].values.list", "it is another one"],
    [[first, { ...second, values: { what: "$$$" } }], "[1].values.what", "must be a real value"],
    [[{ ...first, values: { what: "x" } }, second], "[0].values.what", 'the argument is "it"'],
    [[first, { ...second, values: "x" }], "[1].values", "must be an object"],
    ...[{ town: "Ulm", floor: 1 }, { city: "Ulm", floor: 2 }, { city: "Ulm" }, "Ulm"].map((where) =>
      [
        [first, { ...second, arguments: { where: { city: "$$$", floor: 1 } }, values: { where } }],
        "[1].values.where",
        "it is another one",
      ] as const
    ),
  ];
  for (const [calls, path, rule] of broken) {
    const questions = [{ ...ASKED, calls }];
    const error = assertThrows(() => load({ ...SMALL, questions }), InputError);
    assertStringIncludes(error.message, `questions[0].calls${path}`);
    assertStringIncludes(error.message, rule);
  }
});

Deno.test("a value that no earlier result and no message holds is told, as it may be misspelt", () => {
  const [first, second] = LOOKED_UP.calls;
  const { warnings } = load({
    ...SMALL,
    questions: [
      { ...ASKED, calls: [first, { ...second, values: { what: "Bonn", list: ["a", "Ulm"] } }] },
      // The question itself gives it.
      {
        ...ASKED,
        id: "q2",
        question: "To Bonn?",
        calls: [first, { ...second, values: { what: "Bonn" } }],
      },
    ],
  });
  assertEquals(warnings.length, 1);
  assertStringIncludes(
    warnings[0]!,
    "q1: no earlier result and no message holds the values of call 2, what",
  );
});
