// Recordings as users make them: commands and files of tests in child processes, which replay without a key
// and without any permission for a network.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openai } from "../../lib/models/openai/openai.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import {
  beginToolgate,
  countingServer,
  deno,
  type Finished,
  type Folder,
  folder,
  readLines,
  ROOT,
} from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";

const SUITE = {
  name: "small",
  seed: 3,
  graphs: 3,
  tasks: [{ core: 3, depth: 2 }],
  models: ["mine"],
  strategies: ["plain", "plan_then_call"],
  gate: { successRate: 0.5, margin: 0.3 },
};

/** A command that gives up the network before it does anything, and has no key. */
async function offline(arguments_: readonly string[]): Promise<Finished> {
  const finished = await toolgate(arguments_);
  assert(finished.revoked.includes("net"), finished.all);
  return finished;
}

/** Runs a file of tests with leave to read alone, or more. */
function test(file: string, own: readonly string[], permissions: readonly string[] = []) {
  return deno([
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, "--allow-read"],
    ...[...permissions, file, "--", ...own],
  ]);
}

/** The lines of a journal but for when trials began, how long tools ran, and whether they were replayed. */
function essence(path: string): unknown[] {
  return readLines(path).map(({ startedAt: _, replayed: __, events = [], ...line }) => ({
    ...line,
    // Tools run in a replay as well, and take their own time.
    events: events.map((event: Record<string, unknown>) =>
      event["kind"] === "call" ? { ...event, durationMs: undefined } : event
    ),
  }))
    .sort((one, other) => (one.index ?? -1) - (other.index ?? -1));
}

function recordingsIn(path: string): string[] {
  const models = [...Deno.readDirSync(path)].filter(({ isDirectory }) => isDirectory);
  return models.flatMap(({ name }) =>
    [...Deno.readDirSync(`${path}/${name}`)].map((file) => `${path}/${name}/${file.name}`)
  ).sort();
}

async function recorded(place: Folder, url: string, suite: unknown = SUITE) {
  const path = place.write("suite.jsonc", JSON.stringify(suite));
  const [out, kept] = [place.file("recorded.jsonl"), place.file("kept")];
  const run = await toolgate(["run", path, "--base-url", url, "--out", out, "--record", kept]);
  assertEquals(run.code, 0, run.all);
  return { suite: path, out, kept, run };
}

Deno.test("toolgate run --replay gives the same journal without key, network or server", async () => {
  await using place = await folder();
  let model: { suite: string; out: string; kept: string; run: Finished };
  {
    await using server = countingServer();
    model = await recorded(place, server.url);
    assertEquals(server.trials, 6);
  }
  const { suite, out, kept, run } = model;
  assertStringIncludes(run.stderr, `Records model replies in ${kept}`);
  assertStringIncludes(run.stderr, `6 trials: 0 from recordings, 6 asked and recorded in ${kept}/`);
  assertEquals(recordingsIn(kept).length, 6);

  // The usual server is OpenAI's, which nobody has a key for here.
  const again = place.file("again.jsonl");
  const replay = await offline(["run", suite, "--out", again, "--replay", kept]);
  assertEquals(replay.code, 0, replay.all);
  assertStringIncludes(replay.stderr, `Replays from ${kept}: no model is asked`);
  assertStringIncludes(replay.stderr, "6 trials: 6 from recordings");
  assertEquals(
    essence(again).slice(1),
    essence(out).slice(1),
  );
  assertEquals(readLines(again).slice(1).map(({ replayed }) => replayed), Array(6).fill(true));
  assert(readLines(out).every((line) => !("replayed" in line)));

  // Anyone who decides hears of it, in whatever form.
  const gate = await toolgate(["gate", again]);
  assertStringIncludes(
    gate.stdout,
    "3 trials were replayed from recordings: no model was asked for these",
  );
  const { verdicts } = JSON.parse((await toolgate(["gate", again, "--json"])).stdout);
  assertEquals(verdicts.map((one: { replayed: number }) => one.replayed), [3, 3]);
  const note = "6 of 6 trials were replayed from recordings";
  const [data, markdown] = [place.file("a.json"), place.file("a.md")];
  assertStringIncludes((await toolgate(["report", again])).stdout, note);
  await toolgate(["report", again, "--json", data, "--markdown", markdown]);
  assertStringIncludes(Deno.readTextFileSync(markdown), note);
  const json = JSON.parse(Deno.readTextFileSync(data));
  assertEquals([json.replayed, json.notes.some((one: string) => one.startsWith(note))], [6, true]);
  const accepted = await toolgate(["accept", again, "--out", place.file("b.json")]);
  assertMatch(accepted.stderr, / 6 were replayed from recordings: no model was asked/);
  // What was not replayed says nothing of the kind.
  assert(!(await toolgate(["gate", out])).stdout.includes("replayed"));

  // One trial of it, from the journal as well.
  const { id } = readLines(out).find(({ strategy }) => strategy === "plain")!;
  for (const from of [suite, out]) {
    const one = await offline(["run", from, "--only", id, "--replay", kept]);
    assertEquals(one.code, 0, one.all);
    assertStringIncludes(one.stdout, "mine: solved");
  }
});

Deno.test("toolgate run --replay ends with what is nearest when something was not recorded", async () => {
  await using place = await folder();
  await using server = countingServer();
  const { kept, suite } = await recorded(place, server.url);
  const before = server.requests;
  const missed = async (...more: string[]) => {
    const run = await offline(["run", suite, "--replay", kept, ...more]);
    assertEquals(run.code, 2, run.all);
    assertStringIncludes(run.stderr, "Cannot replay a trial");
    assert(!run.stderr.includes("    at "), run.all);
    return run.stderr;
  };
  assertStringIncludes(await missed("--seed", "4"), "of seed");
  assertStringIncludes(await missed("--model", "other"), "of model mine in place of other");
  const changed = { ...SUITE, models: [{ model: "mine", temperature: 0.2 }] };
  place.write("suite.jsonc", JSON.stringify(changed));
  assertStringIncludes(
    await missed(),
    "first difference at model.temperature: recorded nothing, asked 0.2\n",
  );
  place.write("suite.jsonc", JSON.stringify(SUITE));
  const file = recordingsIn(kept)[0]!;
  Deno.writeTextFileSync(file, Deno.readTextFileSync(file).slice(0, 500));
  const torn = await offline(["run", suite, "--replay", kept]);
  assertEquals(torn.code, 2, torn.all);
  assertStringIncludes(torn.stderr, `Cannot use the recording ${file} as it must be JSON`);
  assertEquals(server.requests, before);

  // What is missing is asked, and nothing else.
  Deno.removeSync(file);
  const auto = await toolgate(["run", suite, "--base-url", server.url, "--auto", kept]);
  assertEquals(auto.code, 0, auto.all);
  assertStringIncludes(
    auto.stderr,
    `6 trials: 5 from recordings, 1 asked and recorded in ${kept}/\n`,
  );
  assert(Deno.statSync(file).isFile);

  // The same in the folder where the user stands, unless one of that name is meant.
  for (
    const [asked, own, folder] of [[6, "auto", "recordings"], [0, "auto", "recordings"], [
      6,
      "./auto",
      "./auto",
    ]] as const
  ) {
    const begun = server.trials;
    const line = ["run", suite, "--base-url", server.url, "--record", own];
    const loop = await toolgate(line, { cwd: place.path });
    assertEquals([loop.code, server.trials - begun], [0, asked], loop.all);
    assertEquals(recordingsIn(place.file(folder)).length, 6);
  }
});

const TESTS = `
  import {
    assertAnswer, assertCalled, benchmark, judge, judged, tool, toolTest,
  } from "@toolgate/toolgate";

  benchmark("calls", {
    model: "sim:planner", tasks: { core: 2, depth: 1 }, seed: 1, graphs: 4,
    strategies: ["plain", { strategy: "plan_then_call", models: { plan: "sim:noisy?seed=1" } }],
    gate: { successRate: 0.3, margin: 0.2 },
  });
  benchmark("questions", {
    model: "sim:truth", tasks: { set: "${ROOT}/fixtures/call_sets/city", sample: 1 }, seed: 1,
    judge: "sim:truth",
  });
  // A model of the user's own, that would say something else each time.
  const own = {
    name: "own",
    simulated: true,
    reply: ({ messages }) => Promise.resolve({
      text: messages.length > 1 ? "Sorry, no: " + Math.random() : "",
      calls: messages.length > 1 ? [] : [{ id: "1", name: "weather", arguments: '{"city":"Rome"}' }],
      finish: "stop", usage: { inputTokens: 1, outputTokens: 1 }, served: "own", duration: 5, repairs: [],
    }),
  };
  const polite = judge({ model: "sim:truth" });
  toolTest("weather", {
    model: own,
    trials: 3,
    tools: [tool({
      name: "weather",
      description: "Tells the weather.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      returns: { sky: "clear" },
    })],
    prompt: "Do I need an umbrella in Rome?",
    async assert(run) {
      assertCalled(run, "weather");
      const { score } = await polite.score(run.answer, run.answer);
      if (score === null) throw new Error("the judge was not asked");
    },
  });
`;

Deno.test("files of tests replay without any permission for a network", async () => {
  await using place = await folder();
  const [kept, out] = [place.file("kept"), place.file("out/")];
  const file = place.write("own_test.ts", TESTS);
  const writes = [`--allow-write=${place.path}`];
  const live = await test(file, [`--record=${kept}`, `--out=${out}`], [
    ...writes,
    "--allow-net=127.0.0.1",
  ]);
  assertEquals(live.code, 0, live.all);
  assertStringIncludes(live.stdout, `Records model replies in ${kept}`);
  const journals = place.names().includes("out")
    ? [...Deno.readDirSync(out)].map(({ name }) => name).sort()
    : [];
  assertEquals(journals.length, 3);

  // The judge of the plan stands in the trial's recording once, and that of an assertion does, too.
  const stages = (path: string): unknown[] =>
    JSON.parse(Deno.readTextFileSync(path)).requests.map(({ stage }: { stage?: string }) => stage);
  const files = recordingsIn(kept);
  const [question] = files.filter((path) => path.includes("/sim-truth/"));
  assertEquals(stages(question!), [undefined, "judge"]);
  const weather = files.filter((path) => path.includes("/own/"));
  assertEquals(weather.map(stages), Array(3).fill([undefined, undefined, "assertion"]));

  const again = place.file("again/");
  const replay = await test(file, [`--replay=${kept}`, `--out=${again}`], writes);
  assertEquals(replay.code, 0, replay.all);
  assertEquals(replay.stdout.match(/no model is asked/g)?.length, 1, replay.all);
  assertStringIncludes(replay.stdout, "4 trials were replayed from recordings: no model was asked");
  for (const journal of journals) {
    assertEquals(essence(again + journal), essence(out + journal));
    assert(readLines(again + journal).slice(1).every(({ replayed }) => replayed === true));
  }
});

Deno.test("a recording that is killed goes on, and lacks nothing that the journal has", async () => {
  await using place = await folder();
  await using server = countingServer("sim:planner", 5);
  const suite = place.write("suite.jsonc", JSON.stringify({ ...SUITE, graphs: 20 }));
  const [out, kept] = [place.file("a.jsonl"), place.file("kept")];
  const line = ["run", suite, "--base-url", server.url, "--out", out, "--record", kept];
  const begun = beginToolgate(line);
  await server.reached(60);
  begun.process.kill("SIGKILL");
  await begun.finished;
  const torn = Deno.readTextFileSync(out).split("\n").slice(1, -1).length;
  const whole = recordingsIn(kept).filter((path) => path.endsWith(".json"));
  for (const path of whole) JSON.parse(Deno.readTextFileSync(path));
  assert(torn > 0 && torn < 40, `${torn} trials`);
  assert(whole.length >= torn);
  const resumed = await toolgate([...line, "--resume"]);
  assertEquals(resumed.code, 0, resumed.all);
  const again = place.file("again.jsonl");
  const replay = await offline(["run", suite, "--out", again, "--replay", kept]);
  assertEquals(replay.code, 0, replay.all);
  assertEquals(essence(again).slice(1), essence(out).slice(1));
});

Deno.test("two processes record into one folder", async () => {
  await using place = await folder();
  await using server = countingServer("sim:planner", 1);
  const suite = place.write("suite.jsonc", JSON.stringify(SUITE));
  const kept = place.file("kept");
  const line = ["run", suite, "--base-url", server.url];
  const runs = await Promise.all([
    beginToolgate([...line, "--record", kept]).finished,
    toolgate([...line, "--auto", kept]),
    toolgate([...line, "--seed", "9", "--auto", kept]),
  ]);
  for (const run of runs) assertEquals(run.code, 0, run.all);
  assertEquals(recordingsIn(kept).length, 12);
  for (const seed of ["3", "9"]) {
    const replay = await offline(["run", suite, "--seed", seed, "--replay", kept]);
    assertEquals(replay.code, 0, replay.all);
  }
});

Deno.test("no secret of the environment, of a header or of a prompt is recorded", async () => {
  await using place = await folder();
  await using server = countingServer(null);
  const [key, canary] = ["key-canary-0123456789abcdef", `sk-${"canary0123456789".repeat(2)}`];
  const kept = place.file("kept");
  const test = (flags: readonly string[], system = `${key}-header`) =>
    CollectedTests.of(() =>
      toolTest("keeps secrets", {
        model: openai({
          ...{ model: "sim:planner", baseURL: server.url, apiKey: key },
          headers: { "x-gate": `${key}-header` },
        }),
        // With it the test is registered at once.
        budget: { tokens: 1_000_000 },
        ...{ tools: [], system, prompt: `My key is ${canary}, and the server's is ${key}.` },
        assert() {},
      }), flags).run();
  const run = await test([`--record=${kept}`]);
  assertEquals(run.code, 0, run.all);
  const [recording] = recordingsIn(kept);
  const text = Deno.readTextFileSync(recording!);
  assertStringIncludes(text, "My key is [redacted]");
  for (const secret of [key, canary, new URL(server.url).host]) {
    assert(!text.includes(secret) && !recording!.includes(secret), text);
  }
  const asked = server.requests;
  const replay = await test([`--replay=${kept}`]);
  assertEquals(replay.code, 0, replay.all);
  // What is asked otherwise now was not recorded.
  const missed = await test([`--replay=${kept}`], "Be brief.");
  assertEquals(missed.code, 1, missed.all);
  assertMatch(missed.all, /first difference at messages\[0\].*asked "Be brief\."/);
  assertEquals(server.requests, asked);
});
