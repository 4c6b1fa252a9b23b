// What is under test with cases, as users have it: settings side by side in one command, the first baseline of a gate,
// and what its verdict says of system texts and tools that changed since. The project is outside of the clone.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, type Finished, folder, readLines, ROOT, unwrapped } from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { refusalsOf } from "../support/refusals.ts";

/** A model that calls as its system text says: a lazy one leaves out one call in three. */
const SHARED = `
  import { assertCalled, scripted, tool } from "@toolgate/toolgate";

  const parameters = { type: "object", properties: { order: { type: "string" } } };
  export const refund = (description = "Refunds an order") =>
    tool({ name: "refund", description, parameters, returns: { done: true } });
  export const model = scripted("mine", ({ messages, context }) => {
    const write = Deno.env.get("WRITE");
    if (write !== undefined) Deno.writeTextFileSync(write, "of somebody else");
    const usage = { inputTokens: 100, outputTokens: 10 };
    if (context.request > 1) return { text: "Done.", usage };
    const isLazy = messages[0].role === "system" && messages[0].content.includes("lazy") &&
      context.repetition % 3 === 0;
    return { usage, ...isLazy ? { text: "No." } : { calls: [{ name: "refund", arguments: { order: "A1" } }] } };
  });
  export const shared = {
    model, prompt: "Refund order A1", trials: 60,
    assert: (run) => assertCalled(run, "refund"),
  };
`;

/** A folder with a test file of its own. */
async function project(options: string) {
  const place = await folder();
  const imports = { "@toolgate/toolgate": `file://${ROOT}/mod.ts` };
  place.write("deno.json", JSON.stringify({ imports }));
  place.write("shared.ts", SHARED);
  place.write(
    "own_test.ts",
    `import { toolTest } from "@toolgate/toolgate";
     import { model, refund, shared } from "./shared.ts";
     void model;
     toolTest("refunds", { ...shared, ${options} });`,
  );
  const run = (own: readonly string[] = [], env = {}): Promise<Finished> =>
    deno(
      ["test", "--no-check", "--no-prompt", "--allow-all", "own_test.ts", "--", ...own],
      { cwd: place.path, env },
    );
  return { place, run, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

/** The verdict of a run on one line. */
function verdictIn({ stdout }: Finished): string {
  return /^.*\(simulated\): [A-Z]+: .*$/m.exec(unwrapped(stdout))?.[0] ?? "";
}

const SYSTEM = 'system: Deno.env.get("SYSTEM") ?? "Be careful.", ' +
  'tools: [refund(Deno.env.get("TOOL"))]';

Deno.test("the first run that meets its success rate is the baseline of later ones, which never change it", async () => {
  await using own = await project(
    `${SYSTEM}, gate: { successRate: 0.9, margin: 0.15, discordance: 0.5, ` +
      'baseline: { file: "kept/baseline.json", missing: "record" } }',
  );
  const { place, run } = own;
  const kept = () => Deno.readTextFileSync(place.file("kept/baseline.json"));
  const isThere = () => place.names().includes("kept");
  // Neither a run that fails, nor a part of one, nor one that a budget ended is a baseline.
  const failed = await run([], { SYSTEM: "Be lazy." });
  assertEquals(failed.code, 1, failed.all);
  assertMatch(verdictIn(failed), /FAIL/);
  const id = "case=refunds seed=1 model=mine strategy=baseline perturbation=none repetition=1";
  const parts = [
    await run([`--only=${id}`]),
    await run(["--out=shard.jsonl", "--shard=1/2"]),
    await run(["--max-tokens=9000"]),
  ];
  for (const part of parts) assert(!isThere(), part.all);
  assertStringIncludes(parts[0]!.stdout, "ok | 1 passed", parts[0]!.all);
  assertEquals(parts[2]!.code, 0, parts[2]!.all);
  assertMatch(verdictIn(parts[2]!), /PASS/);
  assertMatch(
    parts[2]!.stdout,
    /the baseline kept\/baseline.json is not written: \d+ of 60 trials were not run/,
  );
  // What somebody else wrote meanwhile is not touched.
  Deno.mkdirSync(place.file("kept"));
  const late = await run([], { WRITE: place.file("kept/baseline.json") });
  assertEquals([late.code, kept()], [0, "of somebody else"], late.all);
  assertStringIncludes(late.stdout, "is not written: there is one already");
  Deno.removeSync(place.file("kept"), { recursive: true });

  const first = await run(["--out=first.jsonl"]);
  assertEquals(first.code, 0, first.all);
  assertStringIncludes(
    first.stdout,
    "there is no baseline kept/baseline.json yet: successRate decides, and a run that passes is written there",
  );
  assertMatch(verdictIn(first), /^mine \(simulated\): PASS: the true success rate is at least 75/);
  assertStringIncludes(first.stdout, "these 60 trials are the baseline now: kept/baseline.json");
  const text = kept();
  const [line] = readLines(place.file("first.jsonl"));
  assertEquals([line.gate.successRate, line.records], [0.9, "kept/baseline.json"]);
  // Its journal gives the same verdict, and writes nothing over it.
  const again = await toolgate(["gate", "first.jsonl"], { cwd: place.path });
  assertEquals(again.code, 0, again.all);
  assertStringIncludes(again.stderr, "is not written: there is one already");

  const resumed = await run(["--out=first.jsonl", "--resume"]);
  assertEquals(resumed.code, 1, resumed.all);
  assertStringIncludes(
    unwrapped(resumed.stdout),
    "it began while there was no baseline kept/baseline.json; begin another journal",
  );

  const second = await run();
  assertEquals(second.code, 0, second.all);
  assertMatch(verdictIn(second), /PASS: on the same case, .* mine \(kept\/baseline.json\)/);
  assert(!second.stdout.includes("differs from the baseline"), second.all);
  const worse = await run(["--verdict=verdict.json"], {
    SYSTEM: "Be lazy.",
    TOOL: "Pays an order back",
    GITHUB_STEP_SUMMARY: place.file("summary.md"),
  });
  assertEquals(worse.code, 1, worse.all);
  assertMatch(verdictIn(worse), /FAIL/);
  assertStringIncludes(worse.stdout, "  differs from the baseline in: system, tools\n");
  const [verdict] = JSON.parse(Deno.readTextFileSync(place.file("verdict.json"))).verdicts;
  assertEquals(verdict.differs, ["system", "tools"]);
  assertStringIncludes(
    Deno.readTextFileSync(place.file("summary.md")),
    "- differs from the baseline in: system, tools",
  );
  assertEquals(kept(), text);

  // Another case is not compared, and the message says how to accept it.
  const file = Deno.readTextFileSync(place.file("own_test.ts"));
  place.write("own_test.ts", file.replace("...shared,", '...shared, prompt: "Cancel A1",'));
  const changed = await run(["--out=changed.jsonl"]);
  assertEquals(changed.code, 1, changed.all);
  assertMatch(
    verdictIn(changed),
    /INVALID: 0 of 1 case can be compared with the baseline, .*changed since then: refunds/,
  );
  const [, command] = /to accept anew: .*?(accept .*?)\.?$/m
    .exec(unwrapped(changed.stdout)) ?? [];
  const accepted = await toolgate(command!.split(" "), { cwd: place.path });
  assertEquals(accepted.code, 0, accepted.all);
  assertEquals((await run()).code, 0);
});

Deno.test("accept takes what a red run wrote, with a gate or without one", async () => {
  await using own = await project(
    `${SYSTEM}, ...(Deno.env.has("GATE") ? { gate: { baseline: { file: "b.json" }, margin: 0.15 } } : {})`,
  );
  const { place, run } = own;
  const gated = { GATE: "1" };
  for (const env of [{ SYSTEM: "Be lazy." }, { ...gated, SYSTEM: "Be lazy." }]) {
    const red = await run(["--out=red.jsonl"], env);
    assertEquals(red.code, 1, red.all);
    const [accept] = await toolgates([["accept", "red.jsonl", "--out", "b.json"]], {
      cwd: place.path,
    });
    assertEquals(accept!.code, 0, accept!.all);
    const better = await run([], gated);
    assertEquals(better.code, 0, better.all);
    assertMatch(verdictIn(better), /PASS: on the same case/);
    for (const name of ["red.jsonl", "b.json"]) Deno.removeSync(place.file(name));
  }
});

Deno.test("variants run side by side on the same cases, and a gate compares them in one command", async () => {
  await using own = await project(
    `tools: [refund()], variants: {
      old: { system: "Be careful." },
      new: { system: "Be lazy." },
      same: { strategy: "restate", system: "Be very careful.", tools: () => [refund("Pays back")] },
    }, gate: { baseline: { variant: "old" }, margin: 0.15, discordance: 0.5 }`,
  );
  const { place, run } = own;
  const ran = await run(["--out=both.jsonl", "--report=both.html"]);
  assertEquals(ran.code, 1, ran.all);
  const [plan, ...trials] = readLines(place.file("both.jsonl"));
  assertEquals(Object.keys(plan.resolved.variants), ["old", "new", "same"]);
  // The cases and their draws are the same for all.
  const drawn = (variant: string) =>
    trials.filter((trial) => trial.variant === variant)
      .map(({ task, repetition }) => JSON.stringify([task, repetition])).toSorted();
  assertEquals(drawn("old").length, 60);
  for (const other of ["new", "same"]) assertEquals(drawn(other), drawn("old"));
  assertStringIncludes(ran.stdout, "refunds > trial 3 > new: mine");
  const shown = unwrapped(ran.stdout);
  assertMatch(
    shown,
    /new: mine \(simulated\): FAIL: on the same case, .* is below that of old: mine\./,
  );
  assertStringIncludes(shown, "differs from the baseline in: system\n");
  assertMatch(shown, /same: mine \+ restate \(simulated\): PASS: /);
  assertStringIncludes(shown, "differs from the baseline in: strategy, system, tools\n");
  assert(!shown.includes("old: mine (simulated): "), ran.all);
  assertStringIncludes(Deno.readTextFileSync(place.file("both.html")), "same: mine + restate");
  // One trial of a variant runs again with its settings.
  const [, id] = /--only='([^']*)'/.exec(ran.stdout) ?? [];
  assertStringIncludes(id!, " variant=new repetition=");
  const only = await run([`--only=${id}`]);
  assertEquals(only.code, 1, only.all);
  assertStringIncludes(only.stdout, "new: mine (simulated): wrong_answer");
  // The journal alone decides the same, and can be accepted; a baseline then names one of its variants.
  const [gate, accept] = await toolgates([
    ["gate", "both.jsonl", "--json"],
    ["accept", "both.jsonl", "--out", "b.json"],
  ], { cwd: place.path });
  assertEquals(
    JSON.parse(gate!.stdout).verdicts.map((
      { variant, kind }: Record<string, string>,
    ) => [variant, kind]),
    [["new", "fail"], ["same", "pass"]],
  );
  assertStringIncludes(accept!.stderr, "same: mine + restate (simulated): 60 of 60");
  const file = Deno.readTextFileSync(place.file("own_test.ts"));
  const single = (variant: string) =>
    place.write(
      "own_test.ts",
      file.replace(
        /variants: [^]* gate: \{ baseline: \{/,
        `system: "Be careful.", gate: { baseline: { file: "b.json",`,
      )
        .replace('"old"', JSON.stringify(variant)),
    );
  single("new");
  const later = await run();
  assertEquals(later.code, 0, later.all);
  assertMatch(verdictIn(later), /PASS: .* new: mine \(b.json\)/);
  assertStringIncludes(later.stdout, "differs from the baseline in: system\n");
  single("neww");
  const wrong = await run();
  assertEquals(wrong.code, 1, wrong.all);
  assertStringIncludes(wrong.all, "it is neww, and there are old, new, same; did you mean new?");
});

Deno.test("a first baseline that could not be written is refused before anything is asked", async () => {
  await using own = await project(
    `system: "Be careful.", tools: [refund()], gate: { successRate: 0.9, margin: 0.1,
      baseline: { file: "b.json", missing: "record" } }`,
  );
  const { place, run } = own;
  const link = place.file("b.json");
  Deno.symlinkSync("gone.json", link);
  const nowhere = await run(["--out=paid.jsonl"]);
  assertEquals(nowhere.code, 1, nowhere.all);
  assertStringIncludes(
    nowhere.all,
    "Cannot write the baseline b.json as it must be a file: it is a link to nowhere",
  );
  Deno.removeSync(link);
  const unwritable = await deno(
    ["test", "--no-check", "--no-prompt", "--allow-read", "--allow-env", "own_test.ts"],
    { cwd: place.path },
  );
  assertEquals(unwritable.code, 1, unwritable.all);
  assertStringIncludes(unwritable.all, "Cannot write the baseline b.json: ");
  for (const { all } of [nowhere, unwritable]) assert(!all.includes("trial 1"), all);
  assertEquals(place.names().filter((name) => /^(b|paid|gone)\./.test(name)), []);
});

Deno.test("of a suite only the cases that changed are left out, and the rest is compared", async () => {
  await using own = await project("");
  const { place, run } = own;
  place.write(
    "own_test.ts",
    `import { toolSuite } from "@toolgate/toolgate";
     import { refund, shared } from "./shared.ts";
     const { prompt: _, trials: __, ...usual } = shared;
     const { assert, model } = usual;
     const [changed, added, removed] = (Deno.env.get("CASES") ?? "").split(",");
     const test = toolSuite("shop", {
       model, trials: 20, system: "Be careful.",
       gate: { successRate: 0.9, margin: 0.2, discordance: 0.6, coverage: 0.6,
         baseline: { file: "b.json", missing: "record" } },
     });
     for (const name of ["one", "two", "three", "four", added, "five"]) {
       if (!name || name === removed) continue;
       const tools = [refund(["one", "two"].includes(name) ? Deno.env.get("TOOL") : undefined)];
       test(name, { tools, assert, prompt: name === changed ? "Refund all" : "Refund " + name });
     }`,
  );
  const first = await run();
  assertEquals(first.code, 0, first.all);
  assertStringIncludes(first.stdout, "these 100 trials are the baseline now: b.json");
  const later = await run([], { CASES: "three,six,five", TOOL: "Pays back" });
  assertEquals(later.code, 0, later.all);
  assertMatch(verdictIn(later), /^mine \(simulated\): PASS: on the same cases/);
  for (
    const line of [
      "60 trials of 3 cases",
      "differs from the baseline in: tools of 2 tests",
      "left out, as they changed since the baseline: three",
      "left out, as the baseline does not have them: six",
      "only in the baseline: five",
    ]
  ) {
    assertStringIncludes(later.stdout, line, later.all);
  }
  // The same is said before anything is asked.
  assertStringIncludes(
    later.stdout.split("running")[0]!,
    "shop: left out, as they changed since the baseline: three",
  );
  // Nothing is compared with the baseline of other tests.
  const file = Deno.readTextFileSync(place.file("own_test.ts"));
  place.write(
    "own_test.ts",
    file.replace('"shop"', '"bank"').replace(/\["one".*?\]\)/, '["x", added])'),
  );
  const other = await run();
  assertEquals(other.code, 1, other.all);
  assertStringIncludes(
    other.all,
    "Cannot compare with b.json as it must be of bank, or have some of its cases: it is of shop, and has one,",
  );
});

Deno.test("toolgate gate writes the first baseline of a suite, and none where a journal alone wants it", async () => {
  await using place = await folder();
  const suite = {
    ...{ name: "first", seed: 1, graphs: 40, models: ["sim:planner"] },
    tasks: [{ core: 2, depth: 1, connected: 0, disconnected: 0 }],
    gate: { successRate: 0.8, margin: 0.1, baseline: { file: "b.json", missing: "record" } },
  };
  place.write("suite.json", JSON.stringify(suite));
  const options = { cwd: place.path };
  const [run, gate] = await toolgates([
    ["run", "suite.json", "--out", "first.jsonl"],
    ["gate", "first.jsonl"],
  ], options);
  assertEquals([run!.code, gate!.code], [0, 0], run!.all + gate!.all);
  assertStringIncludes(gate!.stderr, "These 40 trials are the baseline now: b.json");
  const [next, later] = await toolgates([
    ["run", "suite.json", "--out", "next.jsonl", "--model", "sim:noisy?quit=0.5"],
    ["gate", "next.jsonl"],
  ], options);
  assertEquals([next!.code, later!.code], [0, 1], later!.all);
  assertMatch(unwrapped(later!.stdout), /FAIL: on the same graphs, .* sim:planner \(\S*b.json\)/);
  // Anyone may have written the journal.
  Deno.removeSync(place.file("b.json"));
  const [first, ...lines] = Deno.readTextFileSync(place.file("first.jsonl")).split("\n");
  for (
    const file of ["../b.json", "/tmp/b.json", "deno.jsonc", "a/../../b.json", "::error::.json"]
  ) {
    const { declared: _, ...plan } = JSON.parse(first!);
    place.write("hostile.jsonl", [JSON.stringify({ ...plan, records: file }), ...lines].join("\n"));
    const before = place.names();
    const hostile = await toolgate(["gate", "hostile.jsonl"], options);
    assertStringIncludes(hostile.stderr, "a journal may only name one in this folder", hostile.all);
    assertEquals(place.names(), before);
  }
});

Deno.test("variants and first baselines that cannot be used are told in one error", async () => {
  const options = (more: string) => `toolTest("t", { prompt: "Hi", assert() {}, ${more} })`;
  const usual = 'model: "sim:planner", tools: []';
  const wrong: [string, RegExp][] = [
    [`${usual}, variants: {}`, /variants must be settings by name: it is \{\}/],
    [`${usual}, variants: [{ system: "x" }]`, /variants must be settings by name: it is \[/],
    [
      `${usual}, variants: { old: { sampling: 5 } }`,
      /variants\.old\.sampling must be options, such as \{ temperature: 0 \}: it is 5$/,
    ],
    [
      `${usual}, variants: { old: {} }`,
      /variants\.old must have a setting: it has none of model, /,
    ],
    [
      `${usual}, variants: { "a b": { system: "x" } }`,
      /a variant must have a name of letters.*"a b"/,
    ],
    [
      `${usual}, variants: JSON.parse('{"__proto__":{"system":"x"}}')`,
      /a variant must have a name/,
    ],
    [`${usual}, variants: { old: { sistem: "x" } }`, /no setting sistem; did you mean system\?/],
    [
      `${usual}, system: "x", variants: { old: { system: "y" }, new: { system: "z" } }`,
      /system is set in every variant, so that the one beside variants would never be used/,
    ],
    [
      'tools: [], variants: { old: { model: "sim:planner" }, new: { system: "z" } }',
      /every variant must have a model, or all of them one beside variants/,
    ],
    [
      'model: "sim:planner", variants: { old: { tools: [] }, new: { system: "z" } }',
      /tools must be/,
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
    [`${usual}, gate: { baseline: { variant: "old" } }`, /it is old, and there are no variants/],
    [
      `${usual}, gate: { baseline: { file: "b.json", missing: "record" } }`,
      /missing: "record" needs a file, and successRate, which the first run must meet/,
    ],
    [
      `${usual}, gate: { successRate: 0.9, baseline: { variant: "b", missing: "record" } }`,
      /missing: "record" needs a file, and successRate/,
    ],
    [
      `${usual}, gate: { successRate: 0.9, baseline: { file: "b.json" } }`,
      /give either successRate or baseline; both only with a baseline of missing: "record"/,
    ],
    [
      `${usual}, gate: { sequential: true, successRate: 0.9, baseline: { file: "b", missing: "record" } }`,
      /missing: "record" needs a whole run, which a sequential gate ends early/,
    ],
  ];
  const told = await refusalsOf(
    wrong.map(([more]) => options(more)),
    ["--allow-read"],
    `import { toolTest } from ${JSON.stringify(`file://${ROOT}/mod.ts`)};`,
  );
  for (const [at, [more, message]] of wrong.entries()) {
    assertMatch(told[at]!, message, more);
    assert(told[at]!.split("\n").length <= 3, told[at]);
  }
});
