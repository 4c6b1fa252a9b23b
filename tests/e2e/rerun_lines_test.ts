// What a file of tests outside the project says about running it again: its seeds, and the lines that run one
// trial, pasted into a shell that knows nothing of the run before.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno, type Finished, folder, ROOT, shell } from "../support/child.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import { CollectedTests } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";
import { drawingServer } from "../support/drawing_server.ts";
import { reportedTrials } from "../support/report_data.ts";

const PROJECT = JSON.stringify({ imports: { "@toolgate/toolgate": `file://${ROOT}/mod.ts` } });

/** The rerun lines of failed tests, each once. */
function rerunsIn({ stdout }: Finished): string[] {
  return [...new Set([...stdout.matchAll(/^rerun: (.*)$/gm)].map(([, line]) => line!))];
}

Deno.test("a rerun line keeps what chose the model, and no secret", async () => {
  await using place = await folder();
  await using server = drawingServer();
  place.write("deno.json", PROJECT);
  Deno.mkdirSync(place.file("my tests"));
  // Without its variables the file would ask another model at another server, and be green.
  place.write(
    "my tests/a'b_test.js",
    `
    import { assertCalled, openai, tool, toolTest } from "@toolgate/toolgate";
    const name = Deno.env.get("MODEL") ?? "sim:planner";
    const server = Deno.env.get("OWN_SERVER");
    const weather = tool({ name: "weather", description: "Tells it", returns: 1, parameters: {
      type: "object", properties: { city: { type: "string" } }, required: ["city"],
    } });
    const model = server === undefined ? name : openai({ model: name, baseURL: server, apiKey: "none" });
    const prompt = Deno.args.includes("--kind") ? "how is it?" : "unasked";
    toolTest("never calls", {
      model, tools: [weather], prompt,
      assert: (run) => assertCalled(run, "weather", { times: 7 }),
    });
  `,
  );
  const own = ["--kind", "--record=auto", "--seed=4", "--out=a.jsonl"];
  const secret = `sk-${"0123456789abcdef".repeat(2)}`;
  const run = await deno([
    ...["test", "--no-check", "--no-prompt", "-A", "my tests/a'b_test.js", "--", ...own],
  ], {
    cwd: place.path,
    env: {
      MODEL: "sim:noisy?stale=0.1",
      OWN_SERVER: server.url,
      OTHER: `${server.url}/`,
      OPENAI_API_KEY: secret,
    },
  });
  assertEquals(run.code, 1, run.all);
  const [line, ...others] = rerunsIn(run);
  assertEquals(others, [], run.all);
  const variables = `MODEL='sim:noisy?stale=0.1' OWN_SERVER=${server.url} deno test -A --no-check `;
  assert(line!.startsWith(`${variables}'my tests/a'\\''b_test.js' -- --only=`), line);
  assert(line!.endsWith("' --kind --record=auto"), line);
  assert(!line!.includes(secret) && !line!.includes("--seed"), line);
  const asked = server.asked.length;
  assert(asked > 0);

  // Types take seconds to check, and are not what is repeated.
  const again = await shell(line!, { cwd: place.path });
  assertEquals(again.code, 1, again.all);
  assertEquals(rerunsIn(again), [line]);
  const storyOf = ({ stdout }: Finished) =>
    stdout.split("AssertionError: ")[1]?.split("\nrerun: ")[0];
  assertEquals(storyOf(again), storyOf(run), again.all);
  assertStringIncludes(
    again.stdout,
    "1 trial: 1 from recordings in my tests/recordings/, none asked",
  );
  assertEquals(server.asked.length, asked);

  // Of the variables that may not all be read, those of usual names are looked at; and the journal has the file.
  const few = await deno([
    ...[
      "test",
      "--no-check",
      "--no-prompt",
      "--allow-read",
      "--allow-net=127.0.0.1",
      "--allow-write",
    ],
    ...["--allow-env=MODEL,OWN_SERVER", "my tests/a'b_test.js", "--", "--out=b.jsonl"],
  ], { cwd: place.path, env: { MODEL: "sim:noisy", OWN_SERVER: server.url } });
  const [short] = rerunsIn(few);
  assert(short?.startsWith("MODEL=sim:noisy deno test -A --no-check 'my tests/"), few.all);
  const report = await toolgate(["report", "b.jsonl", "--html", "b.html"], { cwd: place.path });
  assertEquals(report.code, 0, report.all);
  const reported = reportedTrials(place.file("b.html"));
  assertEquals(reported[0]?.rerun, short!.replace("MODEL=sim:noisy ", ""));
});

Deno.test("the seed in use is told where it decides anything, and how to set another", async () => {
  await using place = await folder();
  place.write("deno.json", PROJECT);
  place.write(
    "seeds_test.js",
    `
    import { benchmark, scripted, toolTest } from "@toolgate/toolgate";
    const task = { model: "sim:planner", tasks: { core: 1, depth: 0 }, graphs: 1 };
    benchmark("fixed", { ...task, seed: 11 });
    benchmark("drawn", { ...task, seed: "fresh" });
    const given = { model: scripted("s", [{ text: "42" }]), tools: [], prompt: "6 * 7?", assert() {} };
    for (const name of ["a", "b"]) toolTest(name, given);
    toolTest("c", { ...given, seed: "fresh" });
    try {
      toolTest("perturbed", { ...given, perturbation: "timeout" });
    } catch { /* It has nothing to perturb. */ }
  `,
  );
  const seedsIn = ({ stdout }: Finished) =>
    stdout.split("\n").filter((line) => /\bseed\b/.test(line) && !line.startsWith("rerun"))
      .map((line) => line.replace(/(fresh seed|--seed=)(?: |)\d{6,}/g, (_, word) => `${word} X`));
  const run = await deno([
    ...["test", "--no-check", "--no-prompt", "-A", "--filter=/none of these/", "seeds_test.js"],
  ], { cwd: place.path });
  const hint = "for another add  -- --seed=N  (without -- Deno takes it)";
  assertEquals(seedsIn(run), [
    `fixed: seed 11 of the file; ${hint}`,
    "drawn: fresh seed X; add  -- --seed= X  to repeat this run",
    `seeds: seed 1 of the file; ${hint}`,
  ]);
  const given = await CollectedTests.of(() =>
    benchmark("drawn", {
      ...{ model: "sim:planner", tasks: { core: 1, depth: 0 }, graphs: 1, seed: "fresh" },
    }), ["--seed=5"]).run();
  assertEquals(seedsIn(given)[0], `drawn: seed 5 of --seed; ${hint}`);
});
