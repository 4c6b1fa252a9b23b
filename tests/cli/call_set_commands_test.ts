// The commands on suites of call sets, as a user calls them.

import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { sayingServer } from "../support/saying_server.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { truthsOf } from "../../lib/simulated/_truth.ts";
import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { loadCallSet } from "../../lib/tasks/questions/load.ts";

const CITY = `${ROOT}/fixtures/call_sets/city`;

function suiteOf(others: object): string {
  return JSON.stringify({
    name: "city",
    seed: 1,
    tasks: [{ set: "city" }],
    models: ["sim:truth"],
    ...others,
  });
}

Deno.test("toolgate run finds a call set beside its suite, wherever the user stands", async () => {
  await using place = await folder();
  await Deno.mkdir(`${place.path}/suites`);
  await Deno.symlink(CITY, `${place.path}/suites/city`);
  await Deno.writeTextFile(`${place.path}/suites/city.jsonc`, suiteOf({ repetitions: 2 }));
  const run = await toolgate(["run", "suites/city.jsonc", "--out", "city.jsonl"], {
    cwd: place.path,
  });
  assertEquals(run.code, 0, run.stderr);
  assertStringIncludes(run.stdout, "Right calls: city parameters");
  const [plan, ...trials] = readLines(`${place.path}/city.jsonl`);
  assertEquals(Object.keys(plan.resolved.sets), ["city"]);
  assertMatch(plan.places.city, /suites\/city$/);
  assertEquals(trials.length, 16);
  assert(trials.every(({ solved, task }) => solved && task.set === "city"));

  // A trial is described again, and its task made again.
  const { id } = trials[3];
  const again = await toolgate(["run", "city.jsonl", "--only", id], { cwd: place.path });
  assertEquals(again.code, 0, again.stderr);
  assertStringIncludes(again.stdout, "solved");
  const made = await toolgate(
    ["generate", "--trial", id, "--set", CITY],
    { cwd: place.path },
  );
  assertEquals(made.code, 0, made.stderr);
  assertStringIncludes(JSON.parse(made.stdout).prompt, "API list start");

  const gate = await toolgate(
    ["gate", "city.jsonl", "--success-rate", "0.6", "--margin", "0.5"],
    { cwd: place.path },
  );
  assertEquals(gate.code, 0, gate.stdout + gate.stderr);
  const report = await toolgate(["report", "city.jsonl", "--json", "r.json"], { cwd: place.path });
  assertEquals(report.code, 0, report.stderr);
  const { metrics } = JSON.parse(await Deno.readTextFile(`${place.path}/r.json`));
  assertEquals(metrics["call-set-calls"][0].exact_all, 1);
});

Deno.test("toolgate gate decides over questions that were asked in one way", async () => {
  await using place = await folder();
  await Deno.symlink(CITY, `${place.path}/city`);
  const ways = { tasks: [{ set: "city", mode: ["parameters", "routing"] }] };
  const gated = suiteOf({ ...ways, gate: { successRate: 0.5 } });
  await Deno.writeTextFile(`${place.path}/gated.jsonc`, gated);
  const refused = await toolgate(["run", "gated.jsonc"], { cwd: place.path });
  assertEquals(refused.code, 2);
  assertMatch(
    refused.stderr,
    /gated\.jsonc as a gate decides over questions that are asked in one way/,
  );

  await Deno.writeTextFile(`${place.path}/plain.jsonc`, suiteOf(ways));
  await toolgate(["run", "plain.jsonc", "--out", "p.jsonl"], { cwd: place.path });
  const gate = await toolgate(["gate", "p.jsonl", "--success-rate", "0.5"], { cwd: place.path });
  assertEquals(gate.code, 3);
  assertStringIncludes(
    gate.stdout,
    "INVALID: questions are asked in 2 ways",
  );
});

Deno.test("toolgate tells what is wrong with a call set that a suite names", async () => {
  await using place = await folder();
  for (
    const [tasks, message] of [
      [[{ set: "nowhere" }], /nowhere/],
      [[{ set: CITY, domain: "moon" }], /there is no domain moon: there are library, transit/],
      [[{ set: CITY, mode: "route" }], /tasks\[0\]\.mode/],
    ] as const
  ) {
    await Deno.writeTextFile(`${place.path}/s.jsonc`, suiteOf({ tasks }));
    const { code, stderr, stdout } = await toolgate(["run", "s.jsonc"], { cwd: place.path });
    assertEquals([code, stdout], [2, ""], stderr);
    assertMatch(stderr, message);
    assert(!stderr.includes("    at "), stderr);
  }
});

const TRIAL = "model=m strategy=baseline perturbation=none repetition=1";

Deno.test("toolgate generate makes questions again, and says what it needs for that", async () => {
  const task = "set=city question=lib01 difficulty=easy mode=tools";
  const asked = async (own: string, ...others: string[]) =>
    await toolgate(["generate", "--trial", `${own} ${TRIAL}`, ...others]);
  const { stdout } = await asked(task, "--set", CITY, "--format", "tools");
  assert(JSON.parse(stdout).length > 1);
  for (
    const [own, others, message] of [
      [task, [], /--set is needed/],
      [task.replace("city", "town"), ["--set", CITY], /it is city, and the question is of town/],
      [
        task.replace("lib01", "x9"),
        ["--set", CITY],
        /question x9 as the set city has none of that id/,
      ],
      [task, ["--set", CITY, "--format", "svg"], /json or tools for a task without a graph/],
    ] as const
  ) {
    const { code, stderr } = await asked(own, ...others);
    assertEquals(code, 2, stderr);
    assertMatch(stderr, message);
  }
});

Deno.test("toolgate run takes the call set of --set or of an environment variable, and with --seed fresh draws other questions each time", async () => {
  await using place = await folder();
  const { path: cwd } = place;
  const suite = suiteOf({ tasks: [{ set: "$TOOLGATE_CITY", sample: 2 }] });
  // Paths of a flag are the user's, not those of the suite's file.
  place.write("suites/city.jsonc", suite);
  const env = { TOOLGATE_CITY: CITY };
  const run = (...more: string[]) => toolgate(["run", "suites/city.jsonc", ...more], { cwd });
  const unset = await run();
  assertEquals(unset.code, 2);
  assertEquals(
    unset.stderr.trim(),
    "Cannot use the call set $TOOLGATE_CITY as the environment variable TOOLGATE_CITY must hold its " +
      "path: it is not set; --set=PATH names a call set as well",
  );
  const set = await toolgate(["run", "suites/city.jsonc"], { cwd, env });
  assertEquals(set.code, 0, set.stderr);
  // No other variable is read, as it may hold a key.
  place.write("suites/key.jsonc", suite.replace("TOOLGATE_CITY", "CITY"));
  const other = await toolgate(["run", "suites/key.jsonc"], { cwd, env: { CITY } });
  assertMatch(other.stderr, /^Cannot read .*suites\/\$CITY: /m);
  await Deno.symlink(CITY, `${cwd}/other`);
  const drawn: string[] = [];
  // Two of four easy questions: ten draws alike are next to impossible.
  for (let round = 0; round < 10; round++) {
    const { code, stderr } = await run(
      "--set",
      "other",
      "--seed",
      "fresh",
      "--out",
      `${round}.jsonl`,
    );
    assertEquals(code, 0, stderr);
    const [, seed] = /^Fresh seed (\d+); add {2}--seed=\1 /m.exec(stderr) ?? [];
    const [plan, ...trials] = readLines(`${cwd}/${round}.jsonl`);
    assertEquals(plan.resolved.seed, Number(seed));
    drawn.push(trials.map(({ task }) => task.question).sort().join());
  }
  assert(new Set(drawn).size > 1, drawn[0]);
  const wrong = await run("--set", CITY, "--seed", "frsh");
  assertStringIncludes(
    wrong.stderr,
    "--seed must be a whole number from 0 on, or fresh: it is frsh",
  );
});

Deno.test("toolgate run refuses --set for a suite without a call set", async () => {
  const suite = `${ROOT}/fixtures/suites/quick.jsonc`;
  const { code, stderr } = await toolgate(["run", suite, "--set", CITY]);
  assertEquals(code, 2);
  assertEquals(
    stderr.trim(),
    `Cannot use ${suite} as --set needs one call set to replace: the suite has none`,
  );
});

Deno.test("a judge that its server does not have ends the run before it costs as much as all of it", async () => {
  await using place = await folder();
  await Deno.symlink(CITY, `${place.path}/city`);
  await using server = sayingServer(() =>
    Response.json({ error: { message: "no such model", code: "model_not_found" } }, { status: 404 })
  );
  const judge = { model: "nope", baseURL: server.url };
  const suite = place.write("suite.jsonc", suiteOf({ judge, repetitions: 20 }));
  const { code, all } = await toolgate(["run", suite]);
  assertEquals(code, 3);
  assertMatch(all, /the judge could not be asked: .* there is no such model/);
  assertLess(server.asked.length, 40);
});

Deno.test("no simulated judge or router serves a model that is not, unless it is named, and reports say so", async () => {
  await using place = await folder();
  await Deno.symlink(CITY, `${place.path}/city`);
  const truth = parseSimulatedModel("sim:truth", truthsOf([loadCallSet(CITY)]));
  await using server = sayingServer(({ body }) => {
    const asked = body as unknown as ChatRequest;
    return Response.json({ ...truth.reply(asked), model: asked.model });
  });
  const prompt =
    "How alike are ======Begin of predict JSON======\n{predicted}\n======End of predict JSON======" +
    " and ======Begin of truth JSON======\n{truth}\n======End of truth JSON======? [[ ]]";
  const routed = (route: unknown) => ({
    ...{ strategy: "route_then_fill", name: "routed" },
    models: { route },
  });
  const suite = place.write(
    "suite.jsonc",
    suiteOf({ judge: { model: "sim:truth", prompt }, strategies: [routed("sim:truth")] }),
  );
  const run = async (path: string, ...flags: string[]) => {
    const before = server.asked.length;
    const ended = await toolgate(["run", path, "--base-url", server.url, ...flags]);
    const asked = server.asked.slice(before).map(({ body }) => body);
    return { ...ended, asked, models: new Set(asked.map(({ model }) => model)) };
  };
  const alone = await run(suite, "--model", "real", "--model", "other");
  assertEquals(alone.code, 0, alone.all);
  assertMatch(
    alone.stderr,
    /^Stage route: real, as the suite's is simulated; --router names another\nJudge: real, as the suite's is simulated; --judge names another$/m,
  );
  assert(!alone.stdout.includes("simulated"), alone.stdout);
  // Each trial asks for functions, an answer and a score, and the last by the prompt of the suite.
  assertEquals(alone.asked.length, 2 * 8 * 3);
  assert(alone.asked.some(({ messages }) => JSON.stringify(messages).includes("How alike are")));
  const named = await run(suite, ...["--model", "real", "--judge", "rater", "--router", "guide"]);
  assertEquals([named.models, named.stderr.includes("as the suite's")], [
    new Set(["guide", "real", "rater"]),
    false,
  ]);

  const kept = await run(suite, "--model", "sim:truth");
  assertEquals([kept.code, kept.asked.length], [0, 0]);
  const files = ["o.jsonl", "o.json", "o.md", "o.html"].map((name) => place.file(name));
  const [journal, json, markdown, page] = files as [string, string, string, string];
  const simulated = ["--judge", "sim:truth", "--router", "sim:truth", "--out", journal];
  const marked = await run(suite, "--model", "real", ...simulated);
  assertEquals(marked.models, new Set(["real"]));
  await toolgate([
    ...["report", journal, "--json", json, "--markdown", markdown, "--html", page],
    ...["--csv", place.file("csv")],
  ]);
  const [text, written, shown] = [marked.stdout, ...[markdown, page].map(Deno.readTextFileSync)];
  for (const one of [text, written!, shown!]) {
    assertStringIncludes(one, "judge (simulated)");
    assertStringIncludes(one, "real + routed (simulated)");
    assertStringIncludes(one, "sim:truth (simulated)");
  }
  const { metrics } = JSON.parse(Deno.readTextFileSync(json));
  assertEquals(metrics["call-set-judge"][0].judges, ["sim:truth (simulated)"]);
  assertEquals(metrics["call-set-calls"][0].picked_by, "sim:truth (simulated)");
  const table = Deno.readTextFileSync(place.file("csv/call-set-calls.csv"));
  assertStringIncludes(table, ",sim:truth (simulated),");

  // Entries of a judge and of a stage have all options of a model, and the judge those of its own.
  const options = { baseURL: server.url, temperature: 0.5, reasoningEffort: "low" };
  const entries = place.write(
    "entries.jsonc",
    suiteOf({
      models: ["real"],
      judge: { model: "real", ...options, prompt },
      strategies: [routed({ model: "guide", ...options })],
    }),
  );
  const { asked } = await run(entries);
  assertEquals(
    new Set(
      asked.map((body) => `${body["model"]} ${body["temperature"]} ${body["reasoning_effort"]}`),
    ),
    new Set(["guide 0.5 low", "real undefined undefined", "real 0.5 low"]),
  );

  const none = place.write("none.jsonc", suiteOf({}));
  const refused = await Promise.all(["--judge", "--router"].map((flag) => run(none, flag, "real")));
  assertEquals(refused.map(({ code, stderr }) => [code, stderr.trim()]), [
    [2, `Cannot use ${none} as --judge needs a judge to replace: the suite has none`],
    [
      2,
      `Cannot use ${none} as --router needs a strategy that names a model for the stage route: the suite has none`,
    ],
  ]);
});
