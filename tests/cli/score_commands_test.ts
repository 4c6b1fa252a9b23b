// The command that scores answers: in process, as a child would be slow, and a few times as users run it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { loadCallSet } from "../../lib/tasks/questions/load.ts";
import { ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";
import { BFCL, CALLNAVI, GOLDEN, outsideTest } from "../support/outside_data.ts";

const SETS = `${ROOT}/fixtures/call_sets`;
const [CITY, FILE, PREDICTIONS] = [
  `${SETS}/city`,
  `${SETS}/city.jsonc`,
  `${SETS}/predictions.jsonl`,
];

/** What `toolgate score` writes, by line. */
async function run(
  ...line: ["bfcl" | "callnavi" | "stability", ...string[]]
): Promise<{ code: number; out: string[]; err: string[] }> {
  const { code, stdout, stderr } = await toolgate(["score", ...line]);
  const [out, err] = [stdout, stderr].map((text) => text.split("\n").slice(0, -1));
  return { code, out: out!, err: err! };
}

/** A file of JSON lines. */
function lines(place: Folder, ...values: unknown[]): string {
  return place.write("lines.jsonl", values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

Deno.test("toolgate score callnavi shows a table, error classes, and warnings apart", async () => {
  const { code, stdout, stderr, all } = await toolgate(["score", "callnavi", CITY, PREDICTIONS]);
  assertEquals(code, 0, all);
  assertEquals(
    stdout,
    `city: 8 predictions for 8 of 8 questions; rule published, mode parameters, format json

difficulty  predictions  syntax valid  structural  exact  routing exact
easy                  4         75.0%       75.0%  50.0%          75.0%
medium                2        100.0%       50.0%  50.0%          50.0%
hard                  2         50.0%        0.0%   0.0%           0.0%
all                   8         75.0%       50.0%  37.5%          50.0%
macro                           75.0%       41.7%  33.3%          41.7%

error class            predictions  of those wrong
hallucination                    1           20.0%
unexpected formatting            2           40.0%
logical error                    2           40.0%
`,
  );
  assertEquals(stderr.trimEnd().split("\n"), [...loadCallSet(CITY).warnings]);
});

Deno.test("toolgate score callnavi --json prints a line a prediction, in order, and a summary", async () => {
  const arguments_ = ["score", "callnavi", FILE, PREDICTIONS, "--rule", "strict", "--json"];
  const { code, stdout, all } = await toolgate(arguments_);
  assertEquals(code, 0, all);
  const printed = stdout.trimEnd().split("\n");
  assertEquals(printed.slice(0, 3), [
    '{"id":"lib01","difficulty":"easy","syntaxValid":true,"structural":true,"exact":true,"routingExact":true}',
    '{"id":"lib02","difficulty":"easy","syntaxValid":false,"structural":false,"exact":false,"routingExact":false}',
    '{"id":"lib03","difficulty":"easy","syntaxValid":false,"structural":false,"exact":false,"routingExact":false}',
  ]);
  assertEquals(printed.length, 9);
  const { summary, ...rest } = JSON.parse(printed[8]!);
  assertEquals(rest, {});
  const { set, rule, mode, format, questions, answered, predictions, errors, wrong } = summary;
  assertEquals([set, rule, mode, format], ["city", "strict", "parameters", "json"]);
  assertEquals([questions, answered, predictions, wrong], [8, 8, 8, 5]);
  assertEquals(summary.hash, loadCallSet(FILE).hash);
  assertEquals(errors, { hallucination: 1, unexpected_formatting: 3, logical_error: 2 });
  assertEquals(summary.scores.exact, {
    ...{ easy: 0.25, medium: 0.5, hard: 0.5, all: 0.375, macro: 1.25 / 3 },
    counts: { easy: 4, medium: 2, hard: 2, all: 8 },
  });
});

Deno.test("toolgate score callnavi scores routing, and leaves out what it does not give", async () => {
  const { code, out } = await run("callnavi", FILE, `${SETS}/routing.jsonl`, "--mode", "routing");
  assertEquals(code, 0);
  assertMatch(out.join("\n"), /^difficulty {2}predictions {2}routing exact\neasy +4 +100\.0%\n/m);
  const json = await run("callnavi", FILE, `${SETS}/routing.jsonl`, "--mode", "routing", "--json");
  assertEquals(
    json.out[0],
    '{"id":"lib01","difficulty":"easy","syntaxValid":null,"structural":null,"exact":null,"routingExact":true}',
  );
  const { summary } = JSON.parse(json.out.at(-1)!);
  const counts = { easy: 0, medium: 0, hard: 0, all: 0 };
  assertEquals(summary.scores.exact, {
    ...{ easy: null, medium: null, hard: null, all: null, macro: null },
    counts,
  });
  assertEquals(summary.scores.routingExact.all, 5 / 8);
});

Deno.test("toolgate score callnavi scores YAML, of some questions", async () => {
  const { out } = await run(
    "callnavi",
    ...[FILE, `${SETS}/yaml.jsonl`, "--format", "yaml", "--partial", "--json"],
  );
  const exact = out.slice(0, -1).map((line) => JSON.parse(line)).map((one) => [one.id, one.exact]);
  assertEquals(exact, [["lib01", true], ["tra01", true], ["tra03", false]]);
  const { summary } = JSON.parse(out.at(-1)!);
  assertEquals([summary.answered, summary.questions, summary.format], [3, 8, "yaml"]);
  const { out: table } = await run(
    "callnavi",
    ...[FILE, `${SETS}/yaml.jsonl`, "--format", "yaml", "--partial"],
  );
  assertMatch(table.join("\n"), /^city: 3 predictions for 3 of 8 questions;/);
  assertMatch(table.join("\n"), /^medium +0 +- +- +- +-$/m);
});

Deno.test("toolgate score callnavi takes several predictions of a question, and values as JSON", async () => {
  using place = new Folder();
  const right = { API: ["findBook"], parameters: [{ title: "Tides of Ink" }] };
  const file = lines(
    place,
    { id: "lib01", prediction: "no", model: "parrot" },
    { id: "lib03", prediction: null },
    { id: "lib01", prediction: right },
    { id: "lib01", prediction: JSON.stringify(right) },
  );
  const { out } = await run("callnavi", FILE, file, "--partial", "--json");
  const printed = out.slice(0, -1).map((line) => JSON.parse(line));
  assertEquals(printed.map(({ id, exact }) => [id, exact]), [
    ["lib01", false],
    ["lib03", false],
    ["lib01", true],
    ["lib01", true],
  ]);
  assertEquals(printed.map(({ syntaxValid }) => syntaxValid), [false, true, true, true]);
  const { summary } = JSON.parse(out.at(-1)!);
  assertEquals([summary.predictions, summary.answered], [4, 2]);
  assertMatch(
    (await run("callnavi", FILE, file, "--partial")).out.join("\n"),
    /^city: 4 predictions for 2 of 8 questions/,
  );
});

Deno.test("toolgate score callnavi scores hostile predictions, and shows nothing that steers a terminal", async () => {
  using place = new Folder();
  const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
  const nested = `{"id":"lib01","prediction":{"API":${deep},"parameters":[]}}\n`;
  const texts = [
    deep,
    "\ud800",
    "\u001b[2J",
    '{"__proto__":{"API":["findBook"]}}',
    "x".repeat(5_000_000),
  ];
  const rest = texts.map((prediction) => `${JSON.stringify({ id: "lib01", prediction })}\n`);
  const file = place.write("lines.jsonl", [nested, ...rest].join("\n"));
  const { code, out } = await run("callnavi", FILE, file, "--partial", "--json");
  assertEquals(code, 0);
  assertEquals(out.length, 7);
  assertEquals(JSON.parse(out.at(-1)!).summary.scores.exact.easy, 0);
  const evil = place.write(
    "evil.json",
    JSON.stringify({
      name: "evil\u001b[2J\n",
      functions: { d: [{ name: "f\u001b", description: "", parameters: ["a"] }] },
      questions: [{ id: "q\u202e", question: "", calls: [{ function: "f\u001b" }] }],
    }),
  );
  const shown = await run("callnavi", evil, lines(place, { id: "q\u202e", prediction: "" }));
  assertEquals(shown.code, 0);
  // deno-lint-ignore no-control-regex
  assert(!/[\u0000-\u0009\u000b-\u001f\u202e]/.test([...shown.out, ...shown.err].join("\n")));
  assertEquals(shown.err.length, 2);
  const missing = await run("callnavi", evil, lines(place));
  // deno-lint-ignore no-control-regex
  assert(!/[\u0000-\u0009\u000b-\u001f\u202e]/.test(missing.err.join("\n")));
});

Deno.test("toolgate score stability prints a line a line", async () => {
  using place = new Folder();
  const file = lines(
    place,
    { id: "a", outputs: ["['x']", '["x"]', "['y']"], more: 1 },
    { id: "b", outputs: [] },
    { id: "a", outputs: ["only"] },
  );
  const { code, stdout, all } = await toolgate(["score", "stability", file]);
  assertEquals(code, 0, all);
  const plain = [
    '{"id":"a","election":0,"levenshtein":0.7}',
    '{"id":"b","election":null,"levenshtein":null}',
    '{"id":"a","election":1,"levenshtein":null}',
  ];
  assertEquals(stdout.trimEnd().split("\n"), plain);
  assertEquals(
    (await run("stability", file, "--normalize")).out[0],
    '{"id":"a","election":0.5,"levenshtein":0.5}',
  );
});

Deno.test("toolgate score tells bad input, with the file, the line and the rule", async () => {
  using place = new Folder();
  const write = (name: string, text: string) => place.write(name, text);
  const good = '{"id":"lib01","prediction":"x"}\n';
  const cases: [Parameters<typeof run>, RegExp][] = [
    [["callnavi", `${CITY}/APIs`, PREDICTIONS], /Cannot read \S+APIs\/APIs: there is no such file/],
    [
      ["callnavi", PREDICTIONS, CITY],
      /Cannot load a call set from \S+predictions\.jsonl as it must be/,
    ],
    [["callnavi", CITY, place.file("none")], /Cannot read \S+none: there is no such file/],
    [
      ["callnavi", CITY, write("text.jsonl", `${good}\n{"id":\n`)],
      /^Cannot use \S+text\.jsonl, line 3: it is not JSON$/m,
    ],
    [
      ["callnavi", CITY, write("list.jsonl", `${good}[]\n`)],
      /^Cannot use \S+list\.jsonl, line 2:\n {2}at the top: .*expected object, received array/m,
    ],
    [
      ["callnavi", CITY, write("lacking.jsonl", '{"id":"lib01"}\n')],
      /lacking\.jsonl, line 1:\n {2}at prediction: is needed/,
    ],
    [
      ["callnavi", CITY, write("number.jsonl", '{"id":1,"prediction":""}\n')],
      /number\.jsonl, line 1:\n {2}at id: .*expected string/,
    ],
    [
      ["callnavi", CITY, write("unknown.jsonl", `${good}{"id":"__proto__","prediction":""}`)],
      /unknown\.jsonl, line 2:\n {2}at id: must be that of a question of city: it is "__proto__"/,
    ],
    [
      ["callnavi", CITY, write("some.jsonl", good)],
      /^Cannot score \S+some\.jsonl as every question must have a prediction, unless --partial is given: 7 of 8 have none: lib02, lib03, lib04, lib05, tra01 and 2 more$/m,
    ],
    [
      ["stability", write("mixed.jsonl", '{"id":"a","outputs":["x",1]}')],
      /mixed\.jsonl, line 1:\n {2}at outputs\[1\]: .*expected string/,
    ],
  ];
  for (const [arguments_, message] of cases) {
    const { code, out, err } = await run(...arguments_);
    assertEquals([code, out], [2, []], arguments_.join(" "));
    assertMatch(err.join("\n"), message);
  }
});

Deno.test("the commands of the fixtures' README run", async () => {
  const text = Deno.readTextFileSync(`${SETS}/README.md`);
  const commands = [...text.matchAll(/^deno task toolgate (score .+)$/gm)].map(([, line]) => line!);
  assertEquals(commands.length, 5);
  for (const line of commands) {
    const { code, all } = await toolgate(line.split(" "));
    assertEquals(code, 0, all);
  }
});

const [ASKED, ANSWERS] = [`${SETS}/bfcl`, `${SETS}/bfcl/answers.jsonl`];

Deno.test("toolgate score bfcl shows accuracy by category, and errors", async () => {
  const { code, stdout, all } = await toolgate(["score", "bfcl", ASKED, "--answers", ANSWERS]);
  assertEquals(code, 0, all);
  assertEquals(
    stdout,
    `BFCL: 5 answers to 5 of 5 questions

category        answers   right
simple python         1  100.0%
multiple              1  100.0%
parallel              1    0.0%
irrelevance           1  100.0%
live relevance        1  100.0%

error       answers
wrong type        1
`,
  );
  // Files may stand in either list, and several times.
  const truth = `${ASKED}/possible_answer/BFCL_v4_parallel.json`;
  const file = `${ASKED}/BFCL_v4_parallel.json`;
  const other = [ANSWERS, truth, ...filesOf(ASKED), "--answers", file, "--answers", truth];
  assertEquals((await run("bfcl", ...other)).out.join("\n") + "\n", stdout);
});

/** The files of questions in a folder. */
function filesOf(folder: string): string[] {
  return ["simple_python", "multiple", "irrelevance", "live_relevance"]
    .map((name) => `${folder}/BFCL_v4_${name}.json`);
}

Deno.test("toolgate score bfcl reads answers in all of their forms, and says why one is wrong", async () => {
  using place = new Folder();
  const tide = { harbor: "Port Ellen", days: 3 };
  const text = JSON.stringify(tide);
  const python = (given: string) => ({ result: `[harbor.tide(${given})]` });
  const table: [answer: object, why: string | undefined, id?: string][] = [
    [{ calls: [{ name: "harbor.tide", arguments: tide }] }, undefined],
    [{ calls: [{ name: "harbor.tide", arguments: text }] }, undefined],
    [{ calls: [{ name: "harbor_tide", arguments: text }] }, "wrong_function: harbor.tide"],
    [{ calls: [{ name: "harbor.tide", arguments: "{" }] }, "unreadable"],
    [{ calls: [] }, "wrong_count"],
    [{ result: [{ harbor_tide: text }] }, undefined],
    [{ result: [{ "harbor.tide": { ...tide, unit: "ft" } }] }, "wrong_value: unit"],
    [{ result: [{ a: text, b: text }] }, "unreadable"],
    [{ result: [{ "harbor.tide": {} }] }, "missing_argument: harbor"],
    [python(`harbor="Port Ellen", days=3, unit='m',`), undefined],
    [python("harbor='Port Ellen', days=3.0"), "wrong_type: days"],
    [python("harbor='Port Ellen', days=3, note=None"), "unexpected_argument: note"],
    [python("harbor=('Port Ellen', True), days={'a': [x]}"), "wrong_type: harbor"],
    // Nothing is evaluated, and what is cut off is no call.
    [python("harbor='Port Ellen', days=2+1"), "unreadable"],
    [python("harbor='Port' 'Ellen', days=3"), "unreadable"],
    [python("'Port Ellen', 3"), "missing_argument: harbor"],
    [python("'Oban', harbor='Port Ellen', days=3"), undefined],
    [python("harbor=Port.Ellen, days=3"), "unreadable"],
    [{ result: "[harbor.tide(harbor='Port Ellen', days=3" }, "unreadable"],
    [{ result: "[harbor.tide(harbor='Port Ellen', days=3)" }, undefined],
    [{ result: "[harbor_tide(harbor='Port Ellen', days=3)]" }, "wrong_function: harbor.tide"],
    [{ result: "harbor.tide(harbor='Port Ellen', days=3)" }, undefined],
    [{ result: "I do not know (yet)." }, undefined, "irrelevance_0"],
    [{ result: [] }, undefined, "irrelevance_0"],
    [python(""), "wrong_count", "irrelevance_0"],
    [python("'Oban'"), "wrong_count", "irrelevance_0"],
    [{ result: "I do not know." }, "unreadable", "live_relevance_0-0-0"],
  ];
  const file = lines(
    place,
    ...table.map(([answer, , id = "simple_python_0"]) => ({ id, ...answer })),
  );
  const { out } = await run("bfcl", ASKED, "--answers", file, "--partial", "--json");
  assertEquals(out.slice(0, -1).map((line) => JSON.parse(line).why), table.map(([, why]) => why));
  const { summary } = JSON.parse(out.at(-1)!);
  assertEquals(summary.categories[1], { name: "irrelevance", answers: 4, right: 1 / 2 });
});

Deno.test("toolgate score bfcl tells what it cannot use", async () => {
  using place = new Folder();
  const answer = (name: string, value: object) => place.write(name, JSON.stringify(value));
  const table: [line: string[], message: RegExp][] = [
    [[ASKED], /--answers FILE is needed/],
    [
      [ASKED, "--answers", `${ASKED}/BFCL_v4_parallel.json`],
      /there must be answers: no file has any$/,
    ],
    [[ANSWERS, "--answers", ANSWERS], /there must be questions: no file has any$/],
    [
      [ASKED, "--answers", answer("a.jsonl", { id: "other_0", calls: [] })],
      /at id: must be that of a question of bfcl: it is "other_0"$/,
    ],
    [
      [ASKED, "--answers", answer("b.jsonl", { id: "multiple_0" })],
      /must have calls or a result$/,
    ],
  ];
  for (const [line, message] of table) {
    const { code, err } = await run("bfcl", ...line);
    assertEquals(code, 2);
    assertMatch(err.join("\n"), message);
  }
});

outsideTest("toolgate score bfcl agrees with BFCL's checker", BFCL, async (data) => {
  const verdicts = `${data}/verdicts.jsonl`;
  const { out } = await run("bfcl", data, "--answers", verdicts, "--partial", "--json");
  const judged = (line: string) => {
    const { id, right } = JSON.parse(line);
    return `${id} ${right}`;
  };
  const expected = Deno.readTextFileSync(verdicts).trim().split("\n").map(judged);
  assertEquals(out.slice(0, -1).map(judged), expected);
});

outsideTest(
  "truths of CallNavi score 100% as predictions of its own (CallNavi 5.1, 6.3)",
  CALLNAVI,
  async (data) => {
    using place = new Folder();
    const { questions } = loadCallSet(data);
    for (
      const [rule, mode] of [["published", "parameters"], ["strict", "parameters"], [
        "strict",
        "routing",
      ]]
    ) {
      const file = lines(
        place,
        ...questions.map(({ id, truth }) => ({
          id,
          prediction: JSON.stringify(mode === "routing" ? truth.API : truth),
        })),
      );
      const { out } = await run("callnavi", data, file, "--rule", rule!, "--mode", mode!, "--json");
      const { summary } = JSON.parse(out.at(-1)!);
      assertEquals(out.length, 730);
      assertEquals([summary.wrong, summary.answered], [0, 729]);
      const { routingExact, exact } = summary.scores;
      assertEquals(routingExact, {
        ...{ easy: 1, medium: 1, hard: 1, all: 1, macro: 1 },
        counts: { easy: 456, medium: 187, hard: 86, all: 729 },
      });
      assertEquals(exact.macro, mode === "routing" ? null : 1);
    }
  },
);

outsideTest("stability lines are those of another program", GOLDEN, async (folder) => {
  using place = new Folder();
  const { records } = JSON.parse(Deno.readTextFileSync(`${folder}/stability.json`));
  const file = lines(
    place,
    ...records.map((one: { n: number; outputs: string[] }) => ({
      id: `${one.n}`,
      outputs: one.outputs,
    })),
  );
  const { out } = await run("stability", file, "--normalize");
  assertEquals(
    out.map((line) => JSON.parse(line).election),
    records.map(
      (one: { normalized: { election: number } }) => one.normalized.election,
    ),
  );
});
