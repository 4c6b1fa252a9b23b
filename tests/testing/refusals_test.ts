// What benchmarks, tool tests and suites refuse in their options and flags, before anything is run.

import { refusalsOf } from "../support/refusals.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { scripted } from "../../lib/models/scripted.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { folder } from "../support/child.ts";
import { Folder as TemporaryFolder } from "../support/folders.ts";
import { accept, writeJournal } from "../support/journals.ts";

const OLD = "<p>an earlier report</p>\n";

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());

const TASK = `model: "sim:planner", tasks: { core: 3, depth: 2 }, seed: 1`;
const MODEL = `${TASK}, graphs: 60`;
const RATE = "gate: { successRate: 0.7, margin: 0.2 }";
const AGENT = 'agent: () => Promise.resolve("")';

/** Options and flags that contradict themselves or each other, and a few that do not. */
const WRONG: readonly (readonly [options: string, message: RegExp, ...flags: string[]])[] = [
  [
    `model: "m", baseURL: "nope", tasks: { core: 3, depth: 2 }, seed: 1`,
    /Cannot ask m as a base URL must start with http:\/\/ or https:\/\/: it is "nope"/,
  ],
  [
    `${TASK}, strategies: ["restate"], ${AGENT}`,
    /Cannot run benchmark bad as an agent of your own has no loop .*: the strategy is restate/,
  ],
  [
    `${TASK}, strategies: [{ strategy: "restate", name: "plain" }], ${AGENT}`,
    /at strategies\[0\]\.name: must not be the id of another strategy/,
  ],
  // Its requests are seen.
  [`${TASK}, budget: { tokens: 100 }, ${AGENT}`, /^$/],
  [`${TASK}, gate: { successRate: 0.5, atMost: { tokens: 100 } }, ${AGENT}`, /^$/],
  [`model: "sim:planner", tasks: { case: "oracle" }, seed: 1, ${AGENT}`, /^$/],
  [`${TASK}, ${AGENT}`, /^$/, "--max-tokens=100"],
  [
    `${TASK}, ${AGENT}`,
    /Cannot replay benchmark bad as replies to an agent are not recorded: leave out its recordings or/,
    `--replay=${place.path}`,
  ],
  [TASK, /Cannot run --only=nonsense as that is no trial id/, "--only=nonsense"],
  [TASK.replace("seed: 1", 'seed: "fresh"'), /add --seed=/, "--shard=1/2"],
  [TASK, /--resume needs --out=FILE/, "--resume"],
  [TASK, /--require-gate needs all trials/, "--require-gate", "--shard=1/2"],
  [TASK, /--retry-invalid needs --resume/, "--retry-invalid"],
  [`${TASK}, gate: { successRate: 0.5 }`, /--shard needs --out=FILE/, "--shard=1/2"],
  [
    `${MODEL}, ${RATE}`,
    /--verdict needs a gate that decides/,
    ...["--shard=1/2", `--out=${place.file("a.jsonl")}`, `--verdict=${place.file("v.json")}`],
  ],
  [
    `${MODEL}, ${RATE}`,
    /Cannot write the verdicts to .*verdict\.json\/v\.json/,
    `--verdict=${place.write("verdict.json", "{}")}/v.json`,
  ],
  // The first one may have the file, of which nothing may say more than the last run.
  [`${MODEL}, ${RATE}`, /^$/, `--verdict=${place.file("two.json")}`],
  [
    `${TASK}, graphs: 61, ${RATE}`,
    /Cannot keep the verdicts of benchmark bad .* as a file belongs to one suite or benchmark/,
    `--verdict=${place.file("two.json")}`,
  ],
];

Deno.test("benchmark() tells wrong options and flags before anything is run", async (context) => {
  place.write("two.json", '{"verdict":"pass"}');
  const told = await refusalsOf(
    WRONG.map(([options, , ...flags]) => ({ call: `benchmark("bad", { ${options} })`, flags })),
  );
  for (const [index, [options, message, ...flags]] of WRONG.entries()) {
    await context.step(`${options} ${flags}`, () => {
      assertMatch(told[index]!, message);
      if (told[index] !== "") assertMatch(told[index]!, /^InputError: /);
    });
  }
  assertEquals(JSON.parse(Deno.readTextFileSync(place.file("two.json"))).verdict, "invalid");
});

Deno.test("benchmark() writes over nothing that it must not, and says so before anything is run", async (context) => {
  await using place = await folder();
  for (const name of ["old.html", "older.html", "old.txt"]) place.write(name, OLD);
  place.write("a.jsonl", "{}\n");
  for (const name of ["a", "folder", "folder.md", "real"]) Deno.mkdirSync(place.file(name));
  Deno.symlinkSync("real", place.file("door"));
  // A baseline to compare with, and another name for it.
  const plan = planSuite({
    ...{ name: "s", seed: 1, graphs: 3, tasks: [{ core: [2, 3], depth: 1 }], models: ["mine"] },
  }, { source: "s" });
  using kept = new TemporaryFolder();
  const base = place.write(
    "base.json",
    Deno.readTextFileSync(accept(kept, writeJournal(kept, plan))),
  );
  Deno.symlinkSync("base.json", place.file("link.json"));
  const [before, names] = [Deno.readTextFileSync(base), place.names()];

  const { path } = place;
  // Whatever were asked of it would fail.
  const mine = `model: { model: "mine", baseURL: "http://127.0.0.1:4/v1" },
    tasks: { core: [2, 3], depth: 1 }, seed: 1, graphs: 3,`;
  const gate = "gate: { successRate: 0.3 },";
  const compared = `gate: { baseline: { file: "${base}" } },`;
  const only = "--only=core=2 depth=1 connected=0 disconnected=0 seed=5 " +
    "model=mine strategy=plain perturbation=none repetition=1";
  const taken = /as each file can be written only once: it is named twice/;
  const cases: [more: string, flags: readonly string[], message: RegExp][] = [
    ["", [`--report=${path}/folder`], /folder as its name must end in \.html .*, \.md .* or \.txt/],
    ["", [`--report=${path}/r.txt`, `--report=${path}/r.pdf`], /r\.pdf as its name must end in /],
    ["", [`--report=${path}/folder.md`], /Cannot write the report to .*folder\.md: it is a folder/],
    ["", [`--report=${path}/old.txt/r.html`], /Cannot write the report to .*old\.txt\/r\.html: /],
    [
      "",
      [`--report=${path}/r.jsonl`],
      /Cannot write the report of benchmark bench 1 to .*r\.jsonl/,
    ],
    // None of its cases is selected.
    [`report: "${path}/old.html",`, [], /^$/],
    [
      "",
      [`--report=${path}/old.html`],
      /Cannot keep the report of benchmark .*old\.html .*(bench 1 has|another one, bench 1, has)/,
    ],
    ["", [`--out=${path}/a.jsonl`, `--report=${path}/older.html`], /Cannot begin the journal/],
    [
      "",
      [only, `--report=${path}/2.html`],
      /--only cannot be used with --report: it runs one trial/,
    ],
    ["", [only, `--out=${path}/b.jsonl`], /--only cannot be used with --out: it runs one trial/],
    ["", [`--report=${path}/x.txt`, `--out=${path}/x.txt`], taken],
    ["", [`--report=${path}/old.txt`, `--out=${path}/old.txt`, "--resume"], /is not JSON/],
    // What a gate compares with is read, and may be shared.
    [compared, [], /^$/],
    [compared, [], /^$/],
    ...["report=base.json", "verdict=base.json", "report=link.json"].map((
      flag,
    ): [string, string[], RegExp] => [
      compared,
      [`--${flag.replace("=", `=${path}/`)}`],
      /Cannot keep the (report|verdicts) of benchmark bench 1 in .*: the baseline of a gate has it/,
    ]),
    // Two names of one file.

    [`${gate} report: "${path}/door/new/r.html",`, [`--verdict=${path}/real/new/r.html`], taken],
    [
      `${gate} report: "r.html",`,
      [`--report=${path}/v.json`, `--verdict=${path}/real/../v.json`],
      taken,
    ],
  ];
  const told = await refusalsOf(
    cases.map(([more, flags]) => ({ call: `benchmark("bench 1", { ${mine} ${more} })`, flags })),
  );
  for (const [at, [more, flags, message]] of cases.entries()) {
    await context.step(`${more} ${flags}`, () => assertMatch(told[at]!, message));
  }
  // A verdict is claimed before the report that wants its file.
  assertEquals(place.names(), [...names, "v.json"]);
  for (const name of ["old.html", "older.html", "old.txt"]) {
    assertEquals(Deno.readTextFileSync(place.file(name)), OLD);
  }
  assertEquals(Deno.readTextFileSync(base), before);
});

const add = tool({ name: "add", description: "Adds", parameters: { type: "object" }, returns: 3 });
const adder = scripted("adder", [{ text: "It is 3." }]);
const model = { model: "m", baseURL: "http://127.0.0.1:4/v1" };
const alone = () => Promise.resolve("3");
const right = { prompt: "What is 1 + 2?", assert() {} };
const SCOPE = { add, adder, silent: scripted("silent", [{ text: "No." }]), right, model };

const options = (more: string) => `toolTest("t", { prompt: "Hi", assert() {}, ${more} })`;
const usual = 'model: "sim:planner", tools: []';
const versioned =
  'model: "sim:truth", chain: { graph: { nodes: new Map() }, draw() {}, versions: new Map([["new", {}]]) }';
const ada = 'model: () => "Hi", scenario: "Ada"';
const tableOfVariants: [string, RegExp][] = [
  [`${usual}, variants: {}`, /at variants: must be settings by name: it is \{\}/],
  [`${usual}, variants: [{ system: "x" }]`, /at variants: must be settings by name: it is \[/],
  [
    `${usual}, variants: { old: { sampling: 5 } }`,
    /at variants\.old\.sampling: expected object, received number$/,
  ],
  [`${usual}, variants: { old: {} }`, /at variants\.old: must have a setting: it has none$/],
  [
    `${usual}, variants: { "a b": { system: "x" } }`,
    /at variants: must have names of letters, digits, .*: there is "a b"$/,
  ],
  [
    `${usual}, variants: JSON.parse('{"old":{"system":"y"},"__proto__":{"system":"x"}}')`,
    /at variants: must have names of letters, .*: there is "__proto__"$/,
  ],
  [
    `${usual}, variants: { old: { sistem: "x" } }`,
    /at variants\.old: Unrecognized key: "sistem"; did you mean system\?/,
  ],
  [
    `${usual}, system: "x", variants: { old: { system: "y" }, new: { system: "z" } }`,
    /at system: is set in every variant, so that this one would never be used/,
  ],
  [
    'tools: [], variants: { old: { model: "sim:planner" }, new: { system: "z" } }',
    /at model: it is missing: every variant must have one, or all of them one beside variants/,
  ],
  [
    'model: "sim:planner", variants: { old: { tools: [] }, new: { system: "z" } }',
    /at tools: it is missing/,
  ],
  [
    `${usual}, variants: { old: { system: "x" }, new: { model: { model: "sim:planner", seed: 2 } } }`,
    /a name must stand for one model in all variants: sim:planner has other options/,
  ],
  [
    `${usual}, variants: { old: { system: "y" }, newer: { system: "z" } }, ` +
    'gate: { baseline: { variant: "newr" } }',
    /must be one of its variants, or a file, as .*: it is newr, .* old, newer; did you mean newer\?/,
  ],
  [
    `${versioned}, variants: { old: { system: "x" } }`,
    /at variants: must have new, a version of the chain$/,
  ],
  [
    `${versioned}, variants: { old: {}, new: {} }, gate: { baseline: { variant: "new" } }`,
    /at gate\.baseline: must be a variant with the tools that .* drawn for: new is another version$/,
  ],
  [`${usual}, gate: { baseline: { variant: "old" } }`, /it is old, and there are no variants/],
  [
    `${usual}, variants: { old: { system: "y" } }, gate: { baseline: "old" }`,
    /it is old, and the models are sim:planner; the variant is \{ variant: "old" \}$/,
  ],
  [
    `${usual}, gate: { baseline: { file: "b.json", missing: "record" } }`,
    /missing: "record" needs a file, and successRate, which the first run must meet/,
  ],

  [
    `${usual}, gate: { successRate: 0.9, baseline: { file: "b.json" } }`,
    /give either successRate or baseline; both only with a baseline of missing: "record"/,
  ],
  [
    `${usual}, gate: { sequential: true, successRate: 0.9, baseline: { file: "b", missing: "record" } }`,
    /missing: "record" needs a whole run, which a sequential gate ends early/,
  ],
  // Simulated users.
  [
    `${usual}, user: { scenario: "x", model: { model: "m", toolChoice: "none" } }`,
    /at user\.model: must have no toolChoice/,
  ],
  [
    `${usual}, user: { scenario: "x" }`,
    /at user\.model: it is missing: a language model, or a function/,
  ],
  [`${usual}, user: { model: () => "Hi" }`, /at user\.scenario: it is missing: who he is/],
  [
    `${usual}, user: { ${ada} }, turns: ["b"]`,
    /at turns: must be left out beside user, who answers/,
  ],
  [
    `${usual}, user: { ${ada}, guidelines: "Be kind." }`,
    /at user\.guidelines: must name end_conversation or a stop word such as ###STOP###, so that he can end/,
  ],
  [
    `${usual}, user: { ${ada}, history: [{ role: "user", content: "Hi" }] }`,
    /at user\.history: must be a list of .*, the last of the assistant: it is \[\{"role":"user"/,
  ],
  [
    `${usual}, user: { ${ada}, opens: "agent" }`,
    /at user\.opens: must be "user", or \{ greeting: TEXT \}/,
  ],
  [
    `${usual}, user: { ${ada}, opens: { greeting: "Hello" } }`,
    /at prompt: must be left out where the agent opens with a greeting/,
  ],
  [
    `${usual}, user: { model: "gpt-9", scenario: "x" }, budget: { usd: 1 }, ` +
    'prices: { "sim:planner": { input: 1, output: 1 } }',
    /the price table must have it: .*gpt-9|gpt-9.* the price table must have it/,
  ],
  [
    `${usual}, variants: { old: { user: { guidelines: "###STOP###" } } }`,
    /at variants: may have a user only where the test has one/,
  ],
];
const toldOfVariants = await refusalsOf(tableOfVariants.map(([more]) => options(more)));

Deno.test("variants and first baselines that cannot be used are told in one error", () => {
  for (const [at, [more, message]] of tableOfVariants.entries()) {
    assertMatch(toldOfVariants[at]!, message, more);
    assert(toldOfVariants[at]!.split("\n").length <= 3, toldOfVariants[at]);
  }
});

const gated = 'toolSuite("s", { model: adder, tools: [add], gate: { successRate: 0.5 } })';
const tableOfSuites: [call: string, message: RegExp][] = [
  [
    'toolSuite("", { model: adder })',
    /Cannot use the name of a tool suite:\n {2}at the top: must be a text/,
  ],
  [
    'toolSuite("s", 5)',
    /Cannot use tool suite s:\n {2}at the top: expected object, received number/,
  ],
  ['toolSuite("s", { models: adder })', /here it is called model/],
  ['toolTest("t", { model: adder, chain: 5 })', /at chain: must be one of chains\(graph\)/],
  [
    'toolTest("t", { ...right, model: adder, chain: { graph: {}, draw() {} } })',
    /Unrecognized key: "prompt": the chain of the test gives it/,
  ],
  [
    'toolTest("t", { model: adder, chain: { graph: {}, draw() {} }, variants: { a: { tools: [] } } })',
    /at variants: must have no tools: the chain gives them/,
  ],
  [
    'toolTest("t", { model: adder, chain: { graph: {}, draw() {} }, perturbation: ["RD", "CK+RP_F"] })',
    /at perturbation: must leave what a chain, reference or communicate needs: it is CK\+RP_F/,
  ],
  [
    'toolSuite("s", { prompt: "Hi" })',
    /"prompt": it belongs to the tests: each of them has its own/,
  ],
  [
    `${gated}("t", { ...right, trials: 3 })`,
    /trials must be the same in all tests of a suite with a gate/,
  ],
  [
    `${gated}("t", { ...right, model: silent })`,
    /model must be the same in all tests .* with a gate/,
  ],
  [
    `${gated}("t", { ...right, journal: "x.jsonl" })`,
    /journal must be the same in all tests of a suite: give it to toolSuite\("s", \.\.\.\)/,
  ],
  [`${gated}("t", { ...right, tags: ["a b"] })`, /at tags: must be a list of words/],
  [`${gated}("t", { ...right, ignore: 1 })`, /at ignore: expected boolean, received number/],
  [
    'toolSuite("s", { tools: [add] })("t", right)',
    /Cannot use tool test t:\n {2}at model: it is missing/,
  ],
  [
    'toolTest.each(5)("t", () => ({}))',
    /each\(table\)\(name, options\):\n {2}at table: expected array, received number/,
  ],
  ['toolTest.each([])("t", () => ({}))', /at table: must not be empty/],
  ['toolTest.each([1])("t", {})', /at options: expected function, received object/],
  [
    'toolTest.each([1])("t %s", () => { throw new Error("no row"); })',
    /test t 1 as the function of its row must return its options: it threw Error at \S+: no row$/,
  ],
  [
    'toolTest.each([1])("t %s", async () => ({}))',
    /as the function of its row must return its options: it returned a promise$/,
  ],
  [
    'toolSuite("s", { model: adder, tools: [add] }).each([1, 1])("t %s", () => right)',
    /as the tests of a suite must have different names: there are two of this name$/,
  ],
  [
    'toolSuite("s", { model: adder, tools: [add] })("", right)',
    /the name of a tool test:\n {2}at the top: must be a text of /,
  ],
];
const toldOfSuites = await refusalsOf(tableOfSuites.map(([call]) => call), SCOPE);

Deno.test("toolSuite() refuses options that contradict each other, where they stand", async (context) => {
  for (const [at, [call, message]] of tableOfSuites.entries()) {
    await context.step(call, () => assertMatch(toldOfSuites[at]!, message));
  }
});

const tableOfAgents: [call: string, message: RegExp][] = [
  [
    'toolTest("t", { ...right, model, agent: { comand: [] } })',
    /Cannot use tool test t:\n +at agent/,
  ],
  [
    'toolTest("t", { ...right, agent })',
    /at model: it is missing: results have its name/,
  ],
  [
    'toolTest("t", { ...right, model, agent, strategy: "restate" })',
    /Cannot run tool test t as an agent of your own has no loop .*: the strategy is restate/,
  ],
  [
    'toolTest("t", { ...right, model, agent, recordings: { mode: "auto", folder: "r" } })',
    /Cannot replay tool test t as replies to an agent are not recorded: leave out its recordings or its agent/,
  ],
  [
    'toolSuite("s", { model })("t", { ...right, agent })',
    /agent must be the same in all tests of a suite: give it to toolSuite\("s", \.\.\.\)/,
  ],

  [
    'toolTest("t", { ...right, model, variants: { a: { agent: { command: [] } } } })',
    /variants\.a of tool test t:\n +at command: must name a program/,
  ],
  [
    'toolTest("t", { ...right, model, variants: { a: { agent, strategy: "repair" } } })',
    /Cannot run variants\.a of tool test t as an agent of your own has no loop/,
  ],
  [
    'toolTest("t", { ...right, model, agent, variants: { a: { agent }, b: { agent: alone } } })',
    /at agent: is set in every variant, so that this one would never be used: leave it out here/,
  ],

  [
    'benchmark("b", { model, tasks: { core: 2, depth: 1 }, seed: 1, agent: { command: "echo" } })',
    /Cannot use benchmark b:\n +at agent\.command: /,
  ],
];
const toldOfAgents = await refusalsOf(tableOfAgents.map(([call]) => call), {
  ...SCOPE,
  right: { ...right, tools: [add] },
  agent: alone,
  alone,
});

Deno.test("tool tests and suites refuse what cannot be with an agent, where it stands", async (context) => {
  for (const [at, [call, message]] of tableOfAgents.entries()) {
    await context.step(call, () => assertMatch(toldOfAgents[at]!, message));
  }
});
