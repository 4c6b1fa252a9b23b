// Every code block of the README is run, in a copy of the project beside a project of a user's own; its
// commands have a file of their own.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Connections } from "../../lib/models/connect.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { runTrial } from "../../lib/trials/trial.ts";
import { parseTrialId } from "../../lib/trials/trial_id.ts";
import { ROOT } from "../support/child.ts";
import { blocksOf, README, shell, unchecked, Workplace } from "../support/readme.ts";

const place = await Workplace.make();
Deno.test.beforeEach(() => place.clear());
Deno.test.afterAll(() => place[Symbol.asyncDispose]());

/** Answers what would go to servers that are not there by the simulated planner. */
const STAND_IN = `
import { parseSimulatedModel } from "./lib/simulated/names.ts";
const real = globalThis.fetch;
const planner = parseSimulatedModel("sim:planner");
globalThis.fetch = async (input, init) => {
  const { hostname } = new URL(String(input instanceof Request ? input.url : input));
  if (hostname === "127.0.0.1") return real(input, init);
  return Response.json(planner.reply(JSON.parse(String(init.body))));
};
`;

/** Examples that register tests, which the runner of documentation cannot nest in its own. */
const examples = ["mod.ts", "lib/testing/benchmark.ts"].map((path) => {
  const [, text] = /```ts ignore\n(.*?)```/s.exec(Deno.readTextFileSync(`${ROOT}/${path}`))!;
  return { name: `${path}: the example`, text: text!.replaceAll(/^ \* ?/gm, "") };
});

const runnable = [
  ...blocksOf("ts").map((text, index) => ({ name: `README: block ${index + 1}`, text })),
  ...examples,
];

for (const { name, text } of runnable) {
  Deno.test(`${name} runs in a clone`, async () => {
    await Deno.writeTextFile(`${place.clone}/my_benchmark.ts`, text);
    await Deno.writeTextFile(`${place.clone}/stand_in.ts`, STAND_IN);
    // The permissions of the shell block that follows, and those of the stand-in.
    const at = README.indexOf(text);
    const next = /^deno test (.*) my_benchmark\.ts$/m.exec(README.slice(at).split("\n## ")[0]!);
    const flags = next?.[1] ?? "--allow-net=127.0.0.1";
    const { code, output } = await shell(
      `deno test --no-check --no-prompt --preload=./stand_in.ts ${flags} my_benchmark.ts`,
      place.clone,
    );
    assertEquals(code, 0, output);
    assertStringIncludes(output, " | 0 failed");
  });
}

Deno.test("README: the deno.json of a user's own project finds the clone", async () => {
  const [config] = blocksOf("json");
  await Deno.writeTextFile(`${place.mine}/deno.json`, config!);
  await Deno.writeTextFile(`${place.mine}/my_benchmark.ts`, blocksOf("ts")[0]!);
  const line = "deno test --no-prompt --allow-net=127.0.0.1 my_benchmark.ts";
  const { code, output } = await shell(line, place.mine);
  assertEquals(code, 0, output);
  assertStringIncludes(output, "tool calling > gate ... ok");
});

Deno.test("README: the two commands are tasks, and the first prints what is shown", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`));
  const [bench, test] = blocksOf("sh")[0]!.trim().split("\n");
  assertEquals(bench, "npx --yes deno@2.9.6 task bench");
  assertEquals(test, "npx --yes deno@2.9.6 task test");
  assert("bench" in tasks && "test" in tasks);
  const config = `${place.clone}/deno.json`;
  await Deno.writeTextFile(config, unchecked(await Deno.readTextFile(config)));
  const { code, output } = await shell(bench!, place.clone);
  assertEquals(code, 0, output);
  // Numbers differ from run to run; everything else of the example stands in the output.
  const shape = (text: string) => text.replace(/[\d.%]+|-(?= )/g, "#").replace(/ +/g, " ");
  const shown = shape(blocksOf("text")[0]!).split("\n").filter((line) => /[a-z]/.test(line));
  for (const line of shown) assertStringIncludes(shape(output), line);
});

Deno.test("README: the suites run", async () => {
  assertEquals(blocksOf("jsonc").length, 5);
  for (const suite of blocksOf("jsonc")) {
    await Deno.writeTextFile(`${place.clone}/mine.jsonc`, suite);
    const { code, output } = await shell("deno task toolgate run mine.jsonc", place.clone);
    assertEquals(code, 0, output);
  }
});

Deno.test("README: the story of a failure is what its replay line gives", async () => {
  const shown = blocksOf("text").at(-1);
  const [, id] = /--only='([^']+)'/.exec(shown!)!;
  const key = parseTrialId(id!)!;
  await using connections = new Connections();
  const model = connections.model({ model: key.model });
  const trial = await runTrial({ ...key, id: id!, index: 0, block: 0 }, model);
  const replay = `replay: deno test -A my_benchmark.ts -- --only='${id}'`;
  assertEquals(shown!.trim(), `The task is not solved.\n${describeTrial(trial)}\n${replay}`);
});

Deno.test("README: the failure of a tool test is what the test prints", async () => {
  const own = blocksOf("ts").find((text) => text.includes("asks for the weather"))!;
  const wrong = own.replace(/(name: "weather", arguments: \{ city: )"Rome"/, '$1"Rome, Georgia"');
  await Deno.writeTextFile(`${place.clone}/my_benchmark.ts`, wrong);
  const { code, output } = await shell(
    "deno test --no-check --no-prompt my_benchmark.ts",
    place.clone,
  );
  assertEquals(code, 1, output);
  const shown = blocksOf("text").find((text) => text.includes("Georgia"))!;
  assertStringIncludes(output, shown.trim());
  const line = wrong.split("\n").findIndex((text) => text.includes("assertCalled(run")) + 1;
  assertStringIncludes(output, `my_benchmark.ts:${line}:`);
});
