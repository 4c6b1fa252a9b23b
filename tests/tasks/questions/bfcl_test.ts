import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type JsonObject, writtenJson } from "../../../lib/base/json.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { readJsonLines } from "../../../lib/base/input.ts";
import { bfclSet } from "../../../lib/tasks/questions/bfcl.ts";
import { loadCallSet } from "../../../lib/tasks/questions/load.ts";
import { plainTruth } from "../../../lib/tasks/questions/question_set.ts";
import { scorePrediction } from "../../../lib/tasks/questions/scoring.ts";
import { ROOT } from "../../support/child.ts";
import { Folder } from "../../support/folders.ts";

const PATH = `${ROOT}/fixtures/call_sets/bfcl`;

/** A function with a parameter `p` of a type, in BFCL's words. */
function functionOf(name: string, p: JsonObject, required: string[] = []) {
  return {
    ...{ name, description: "" },
    parameters: { type: "dict", properties: { p, q: { type: "string" } }, required },
  };
}

/** Whether calls, as JSON, are right by the rules of BFCL. */
function isRight(functions: object[], truth: object[], calls: string, category = "parallel") {
  const line = (value: object) => ({ value: writtenJson(JSON.stringify(value))!, source: "f" });
  const question = { id: `${category}_0`, question: [[{ role: "user", content: "?" }]] };
  const { questions: [asked], comparison } = bfclSet("own", [
    line({ ...question, function: functions }),
  ], [line({ id: question.id, ground_truth: truth })]);
  const made = writtenJson(calls) as [string, JsonObject][];
  return scorePrediction(
    { API: made.map(([name]) => name), parameters: made.map(([, given]) => given) },
    asked!.truth,
    { rule: "strict", mode: "tools", comparison, functions: asked!.functions! },
  ).exact;
}

Deno.test("arguments are judged as BFCL's checker judges them", () => {
  const list = (type: string) => ({ type: "array", items: { type } });
  const crew = { type: "dict", properties: { a: { type: "string" }, n: { type: "integer" } } };
  const entries = { a: ["Ann", ""], n: [1] };
  const table: [type: string | object, values: unknown[], right: string[], wrong: string[]][] = [
    ["integer", [5], ["5"], ["5.0", "5e0", '"5"', "6", "true"]],
    ["float", [5], ["5", "5.0", "50e-1"], ['"5"', "5.5"]],
    ["boolean", [true], ["true"], ["1", '"true"', "false"]],
    ["string", ["St. John's, 1-2"], ['"st johns 12"', '"ST_JOHN\\"S*^/12"'].slice(1), [
      '"st johns 13"',
      "12",
    ]],
    ["any", [5], ["5"], ["5.0", '"5"']],
    // Where no value is right, none is, and it may not be left out.
    ["string", [], [], ['""', '{"anyOf": []}']],
    // A truth of another type is a variable: it is compared as it is.
    ["integer", ["user_id"], ['"user_id"'], ['"USER_ID"', "1"]],
    [list("string"), [["a b", "c"]], ['["A-B", "c"]'], ['["c", "a b"]', '["a b"]', '"a b"']],
    [list("integer"), [[1, 2]], ["[1, 2]"], ["[1.0, 2]", '["1", 2]']],
    // Within lists a whole number is no float, but where the truth has one.
    [list("float"), [[1.5, 2.5]], ["[1.5, 2.5]"], ["[1, 2.5]"]],
    [list("float"), [[1, 2]], ["[1, 2]", "[1.0, 2.0]"], ["[1, 3]"]],
    [list("string"), [["a"], ""], ['["a"]', "[]"], ["[1]"]],
    [{ type: "tuple", items: { type: "integer" } }, [[1]], ["[1]"], ["1"]],
    [crew, [entries], ['{"a": "ANN", "n": 1}', '{"n": 1}', '{"n": 1.0}'], [
      ...['{"a": "Bob", "n": 1}', '{"a": "Ann"}', '{"n": 1, "z": 2}', '"Ann"'],
    ]],
    [{ type: "array", items: crew }, [[entries]], ['[{"a": "ann", "n": 1}]'], ["[]", '[{"n": 2}]']],
  ];
  for (const [type, p, right, wrong] of table) {
    const own = functionOf("f", typeof type === "string" ? { type } : type as JsonObject);
    for (const [values, expected] of [[right, true], [wrong, false]] as const) {
      for (const value of values) {
        const shown = `${value} for ${JSON.stringify(p)} of ${JSON.stringify(type)}`;
        assertEquals(isRight([own], [{ f: { p } }], `[["f", {"p": ${value}}]]`), expected, shown);
      }
    }
  }
});

Deno.test("calls are judged as BFCL's checker judges them", () => {
  const functions = [
    functionOf("a.f", { type: "integer" }, ["p"]),
    functionOf("g", { type: "any" }),
  ];
  const one = { "a.f": { p: [1] } };
  const two = { "a.f": { p: [1, 2], q: ["", "x"] } };
  const call = (p: number, more = "", name = "a.f") => `["${name}", {"p": ${p}${more}}]`;
  const table: [truth: object[], calls: string[], right: boolean, category?: string][] = [
    [[two, one], [call(2), call(1)], true],
    [[one, two], [call(2), call(1)], true],
    // Each truth takes the first call that fits, though another truth has need of it.
    [[two, one], [call(1), call(2)], false],
    [[one], [call(1), call(1)], false],
    [[one], [], false],
    [[one], [call(1, "", "a_f")], false],
    [[one], [call(1, "", "g")], false],
    [[two], [call(1, ', "q": "X"')], true],
    [[two], [call(1, ', "q": ""')], true],
    [[one], [call(1, ', "q": "x"')], false],
    // What the schema does not have is wrong, and what it requires is needed, whatever the truth says.
    [[{ "a.f": { p: [1], z: [1] } }], [call(1, ', "z": 1')], false],
    [[{ "a.f": { p: [1, ""] } }], ['["a.f", {}]'], false],
    [[{ other: { p: [1] } }], [call(1)], true, "simple_python"],
    [[{}], [call(1)], false],
    [[], [], true, "live_irrelevance"],
    [[], [call(1)], false, "irrelevance"],
    [[], [call(1, "", "x"), call(1)], true, "live_relevance"],
    [[], [], false, "live_relevance"],
  ];
  for (const [truth, calls, right, category] of table) {
    const shown = `${calls} for ${JSON.stringify(truth)}, ${category}`;
    assertEquals(isRight(functions, truth, `[${calls}]`, category), right, shown);
  }
});

Deno.test("files of BFCL load as one set, with schemas and names that providers take", () => {
  const set = loadCallSet(PATH);
  const [simple, multiple, , , relevance] = set.questions;
  const categories = ["simple_python", "multiple", "parallel", "irrelevance", "live_relevance"];
  assertEquals([...set.domains.keys()], categories);
  assertEquals(set.warnings, []);
  assertEquals(simple!.truth, {
    API: ["harbor.tide"],
    parameters: [{
      harbor: { anyOf: ["Port Ellen", "Port Ellen, Islay"] },
      ...{ days: 3, unit: { anyOf: ["", "m"], optional: true } },
    }],
  });
  assertEquals(
    plainTruth(multiple!.truth).parameters,
    [
      JSON.parse('{"harbor": "Oban", "length": 9.0, "position": [56.4, -5.5]}'),
    ].map((given) => ({
      ...given,
      length: writtenJson("9.0"),
      crew: { skipper: "Ann", guests: 0 },
    })),
  );
  assertEquals(relevance!.truth.API, ["$$$"]);
  const { name, parameters } = multiple!.functions![1]!.tool;
  assertEquals([name, parameters["type"]], ["harbor_berth", "object"]);
  const { position, length, crew } = parameters["properties"] as Record<string, JsonObject>;
  const float = { type: "number", format: "float" };
  assertEquals([position!["type"], position!["items"]], ["array", float]);
  assertEquals([length!["type"], crew!["type"]], ["number", "object"]);
  // One file alone, and the same set, has the same questions.
  const file = `${PATH}/BFCL_v4_multiple.json`;
  assertEquals(loadCallSet(file).questions, [multiple!]);
  assertEquals(readJsonLines(file)[0]!.source, `${file}, line 1`);
});

Deno.test("files of BFCL that are not read are one error, with file, line and rule", () => {
  const asked = (id: string, more = {}) => ({
    id,
    question: [[{ role: "user", content: "?" }]],
    function: [functionOf("f", { type: "string" })],
    ...more,
  });
  const turns = { question: [[], []] };
  const table: [file: string, line: object, ...words: string[]][] = [
    [
      "BFCL_v4_simple_java.json",
      asked("simple_java_0"),
      "line 1",
      "Java and JavaScript are not read",
    ],
    ["BFCL_v4_simple_javascript.json", asked("simple_javascript_1"), "Java and JavaScript"],
    ["BFCL_v3_multiple.json", asked("multiple_0"), "line 1", "BFCL v4", "it is of v3, multiple_0"],
    ["BFCL_v4_multi_turn_base.json", asked("multi_turn_base_0"), "BFCL v4", "multi_turn_base_0"],
    ["BFCL_v4_simple.json", asked("simple_0"), "BFCL v4", "it is simple_0"],
    ["BFCL_v4_multiple.json", asked("multiple_0", turns), "question: must have one turn"],
    ["BFCL_v4_multiple.json", asked("multiple_0", { function: {} }), "at function", "array"],
    ["BFCL_v4_multiple.json", asked("multiple_0"), "line 1", "its right answer must be given"],
  ];
  for (const [file, line, ...words] of table) {
    using place = new Folder();
    const path = place.write(file, JSON.stringify(line));
    const { message } = assertThrows(() => loadCallSet(path), InputError);
    for (const word of [file, ...words]) assertStringIncludes(message, word);
    // So they are in a folder that has nothing else.
    assertEquals(assertThrows(() => loadCallSet(place.path), InputError).message, message);
  }
});

Deno.test("a truth that BFCL's own rules refuse is a warning", () => {
  using place = new Folder();
  const question = [[{ role: "user", content: "?" }]];
  const own = functionOf("f", { type: "string" }, ["p"]);
  const path = place.write(
    "BFCL_v4_multiple.json",
    JSON.stringify({ id: "multiple_0", question, function: [own] }),
  );
  Deno.mkdirSync(`${place.path}/possible_answer`);
  place.write(
    "possible_answer/BFCL_v4_multiple.json",
    JSON.stringify({ id: "multiple_0", ground_truth: [{ f: { q: ["x"] } }] }),
  );
  const { warnings } = loadCallSet(path);
  assertEquals(warnings, [`${path}, line 1: multiple_0: BFCL's rules refuse its own truth`]);
  assert(warnings.length === 1);
});
