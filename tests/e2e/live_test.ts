// Pages of runs that go on, served by child processes as users have them; tests/e2e/pages/live.ts looks at one in a
// browser.

import { assertEquals, assertInstanceOf, assertMatch, assertStringIncludes } from "@std/assert";
import { command, deno, type Folder, folder, LAUNCH, ROOT, until } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { limitingServer } from "../support/limiting_server.ts";

const TRIALS = 12;

/** A suite of a few trials of the model `m`, at a server of its own. */
const suiteAt = (baseURL: string) => ({
  ...{ name: "watched", seed: 1, graphs: TRIALS, tasks: [{ core: 4, depth: 2 }] },
  models: [{ model: "m", baseURL }],
});

/** Starts a program that serves a page: its address, how it stands, and all that it has written at its end. */
async function serving(arguments_: readonly string[]) {
  const process = command(Deno.execPath(), arguments_).spawn();
  let [told, url]: (string | undefined)[] = [""];
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      told += text;
      url ??= /[Rr]eport: (http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/)\n/.exec(told!)?.[1];
    }
  };
  const reading = Promise.all([process.stdout, process.stderr].map(read));
  await until(() => url !== undefined);
  const get = async (name: string) => await (await fetch(url! + name)).text();
  return {
    process,
    page: () => get(""),
    state: async () => JSON.parse(await get("state")),
    /** What it has written, and its exit code. */
    async finished() {
      await reading;
      return { told: told!, code: (await process.status).code };
    },
  };
}

/** Watches a run of {@linkcode TRIALS} trials, of which the model answers some once others were seen. */
async function watch(arguments_: readonly string[], server: ReturnType<typeof limitingServer>) {
  const run = await serving(arguments_);
  assertMatch((await run.state()).text, /^\d of 12 trials have ended: /);
  const page = await run.page();
  assertStringIncludes(page, "connect-src &#39;self&#39;");
  assertEquals(/id="(verdict|headline|matrix)"|<figure/.exec(page), null);
  server.limits.latency = 0;
  let state = await run.state();
  while (!state.ended) state = await run.state();
  assertMatch(state.text, /^12 of 12 trials have ended: 12 solved, 0 not solved, 0 invalid; /);
  const whole = await run.page();
  assertEquals(/connect-src|id="live"/.exec(whole), null);
  for (const id of ["headline", "index", "block-0", "graphviz"]) {
    assertStringIncludes(whole, `id="${id}"`);
  }
  return { ...await run.finished(), whole };
}

Deno.test("run --serve shows the trials that have ended, and at its end the report", async () => {
  await using place = await folder();
  await using server = limitingServer({ latency: 300 });
  const gate = { successRate: 0.8, margin: 0.5 };
  const suite = place.write("s.json", JSON.stringify({ ...suiteAt(server.url), gate }));
  const kept = ["--out", place.file("s.jsonl")];
  const { told, code, whole } = await watch([...LAUNCH, "run", suite, "--serve", ...kept], server);
  assertEquals(code, 0, told);
  assertStringIncludes(told, "The live report ends here; open pages keep what they show");
  assertStringIncludes(whole, 'id="verdict"');
});

Deno.test("run --serve shows no rates of a run that was cut short by who watched it", async () => {
  await using place = await folder();
  await using server = limitingServer({ latency: 300 });
  const suite = place.write("s.json", JSON.stringify(suiteAt(server.url)));
  const run = await serving([...LAUNCH, "run", suite, "--serve"]);
  while ((await run.state()).text.startsWith("0 of ")) { /* none has ended */ }
  run.process.kill("SIGINT");
  let ended = false;
  try {
    while (!ended) ({ ended } = await run.state());
  } catch (error) {
    assertInstanceOf(error, TypeError);
  }
  const { told } = await run.finished();
  assertStringIncludes(told, "Interrupted: figures are of");
  assertEquals(ended, false);
});

/** A test file with the benchmark of a suite. */
function testFile(place: Folder, baseURL: string): string {
  const { models: _, name: __, ...suite } = suiteAt(baseURL);
  const options = JSON.stringify({ ...suite, model: "m", baseURL });
  return place.write(
    "watched_test.ts",
    `import { benchmark } from "file://${ROOT}/mod.ts";\nbenchmark("watched", ${options});\n`,
  );
}

const TEST = ["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, "--allow-env"];

Deno.test("deno test -- --serve does so too, and the file of the report remains", async () => {
  await using place = await folder();
  await using server = limitingServer({ latency: 300 });
  const page = place.file("page.html");
  const { told, code } = await watch([
    ...[...TEST, "--allow-read", "--allow-net=127.0.0.1", `--allow-write=${place.path}`],
    ...[testFile(place, server.url), "--", "--serve", `--report=${page}`],
  ], server);
  assertEquals(code, 0, told);
  assertStringIncludes(Deno.readTextFileSync(page), 'id="headline"');
});

Deno.test("--serve without the permission to listen, or for one trial, is refused", async () => {
  await using place = await folder();
  const file = testFile(place, "http://127.0.0.1:1/v1");
  const needed = /add --allow-net=127\.0\.0\.1/;
  const tested = await deno([...TEST, "--allow-read", file, "--", "--serve"]);
  assertMatch(tested.all, needed);
  assertEquals(tested.code, 1);
  const closed = LAUNCH.filter((one) => !one.startsWith("--allow-net"));
  for (const line of [["run", "--serve"], ["view", `${place.path}/none.jsonl`]]) {
    const told = await deno([...closed, ...line]);
    assertMatch(told.stderr, needed);
    assertEquals([told.code, told.stderr.trim().split("\n").length], [2, 1], told.all);
  }
  const one = await toolgate(["run", "--serve", "--only", "x"]);
  assertMatch(one.stderr, /--only cannot be used with --serve/);
});

Deno.test("view serves a folder whose journal grows, and once that is whole the report", async () => {
  await using place = await folder();
  const suite = place.write("s.json", JSON.stringify({ ...suiteAt(""), models: ["sim:planner"] }));
  place.write("none/notes.txt", "");
  const whole = place.file("whole.jsonl");
  assertEquals((await toolgate(["run", suite, "--out", whole])).code, 0);
  const lines = Deno.readTextFileSync(whole).trim().split("\n");
  // The beginning of the last line is being written.
  const journal = place.write("run/a.jsonl", `${lines.slice(0, 6).join("\n")}\n{"v"`);
  const viewed = await serving([...LAUNCH, "view", place.file("run")]);
  const { text, ended } = await viewed.state();
  assertMatch(text, /^5 of 12 trials have ended: 5 solved, /);
  assertEquals(ended, false);
  assertStringIncludes(await viewed.page(), 'id="live"');
  Deno.copyFileSync(whole, journal);
  assertMatch((await viewed.state()).text, /^12 of 12 trials have ended: 12 solved, /);
  const page = await viewed.page();
  assertEquals(page.includes('id="live"'), false);
  assertStringIncludes(page, 'id="headline"');
  viewed.process.kill("SIGTERM");
  assertEquals((await viewed.finished()).told.split("\n").length, 2);
  const empty = await toolgate(["view", place.file("none")]);
  assertMatch(empty.stderr, /has no journals/);
  assertEquals(empty.code, 2);
});
