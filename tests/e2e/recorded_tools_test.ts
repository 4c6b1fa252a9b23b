// Tools of servers whose results are recorded: a replay starts no program and asks no service.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, folder, readLines, ROOT, unwrapped } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

/** Looks like a key: recordings do not hold it, and calls with it are found all the same. */
const SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz012345";

const TESTS = (url: string) => `
  import { assertCalled, tool, toolSuite } from "@toolgate/toolgate";
  import { mcpTools } from "@toolgate/toolgate/integrations/mcp";
  import { openApiTools } from "@toolgate/toolgate/integrations/openapi";

  const { state, refused } = JSON.parse(Deno.env.get("HOW"));
  const note = (line) => Deno.writeTextFileSync("ran.txt", line + "\\n", { append: true });
  const program = [Deno.execPath(), "run", "--no-lock", "--no-check", "-A", "server.ts"];
  const parameters = { type: "object", properties: {} };
  const own = tool({ name: "own", description: "Own", parameters, execute: () => note("own") });
  const kept = tool({ name: "kept", description: "Kept", parameters, replay: true, execute: () => {
    note("kept");
    throw new Error("try again later");
  } });
  const given = { degrees: { as: "number" }, get_order: { id: "${SECRET}" } };
  const reply = ({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    const names = results.length > 0 ? [] : messages.at(-1).content.split(" ");
    return Promise.resolve({
      text: results.join(),
      calls: names.map((name, place) => ({
        id: "c" + place, name, arguments: JSON.stringify(given[name] ?? {}),
      })),
      finish: names.length > 0 ? "calls" : "stop",
      usage: { inputTokens: 1, outputTokens: 1 }, served: "m", duration: 1, repairs: [],
    });
  };
  const test = toolSuite("suite", {
    model: { name: "m", simulated: false, reply }, trials: 2, gate: { successRate: 0.5, margin: 0.45 },
  });
  const service = await openApiTools(new URL("${url}/api.json"), { baseURL: "${url}" });
  test("for each trial", {
    tools: async () => [own, kept, ...service, ...await mcpTools(program)],
    prompt: "own kept degrees get_order",
    assert: ({ answer }) => {
      for (const part of ["try again", "21 or so", "paid"]) {
        if (!answer.includes(part)) throw new Error(answer);
      }
    },
  });
  const tools = state ? await mcpTools(program) : [];
  if (state) {
    test("on a state", {
      state: () => ({}), tools, prompt: "degrees", assert: (run) => assertCalled(run, "degrees"),
    });
  }
  if (refused) test("refused", { state: () => ({}), tools: [kept], prompt: "kept", assert() {} });
`;

const API = {
  openapi: "3.1.0",
  info: { title: "Orders", version: "1" },
  paths: {
    "/orders/{id}": {
      get: {
        operationId: "get_order",
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        responses: { 200: { description: "An order" } },
      },
    },
  },
};

Deno.test("a replay answers with the results of recorded tools, and asks no server", async (t) => {
  await using place = await folder();
  let requests = 0;
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, ({ url }) => {
    requests++;
    return url.endsWith("/api.json") ? Response.json(API) : new Response("paid");
  });
  place.write("own_test.ts", TESTS(`http://127.0.0.1:${server.addr.port}`));
  const started = 'Deno.writeTextFileSync("ran.txt", "server\\n", { append: true });';
  const program = Deno.readTextFileSync(`${ROOT}/tests/support/mcp_server.ts`);
  place.write("server.ts", `${started}\n${program}`);
  let runs = 0;
  /** Runs the tests; returns what ran beside the model, and what was said. */
  const run = async (how: object, flag: string) => {
    place.write("ran.txt", "");
    const [before, journal] = [requests, `${++runs}.jsonl`];
    const { code, all } = await deno([
      ...["test", "--no-check", "--no-prompt", "-A", `--config=${ROOT}/deno.json`, "own_test.ts"],
      ...["--", flag, `--out=${journal}`],
    ], { cwd: place.path, env: { HOW: JSON.stringify(how) } });
    const ran = Deno.readTextFileSync(place.file("ran.txt")).trim().split("\n").sort().join(" ");
    return {
      code,
      all: unwrapped(all),
      ran,
      requests: requests - before,
      out: place.file(journal),
    };
  };
  const first = await run({}, "--record=rec");
  assertEquals(
    [first.code, first.ran, first.requests],
    [0, "kept kept own own server server", 3],
    first.all,
  );

  await t.step("as it was recorded, and says so", async () => {
    const { code, all, ran, requests, out } = await run({}, "--replay=rec");
    assertEquals([code, ran, requests], [0, "own own", 0], all);
    const said = "6 results of tools came from recordings: nothing was run for them";
    assertStringIncludes(all, said);
    const gate = await toolgate(["gate", out, "--json"]);
    const { verdicts: [verdict] } = JSON.parse(gate.stdout);
    assertEquals([verdict.replayedResults, verdict.numbers.includes(said)], [6, true], gate.all);
    const results = (path: string) =>
      readLines(path).flatMap(({ events = [] }) =>
        events.flatMap(({ result }: { result?: string }) => result ?? [])
      ).sort();
    assertEquals(
      results(out),
      results(first.out).map((one) => one.replaceAll(SECRET, "[redacted]")),
    );
    for (const { name } of Deno.readDirSync(place.file("rec/m"))) {
      assertEquals(Deno.readTextFileSync(place.file(`rec/m/${name}`)).includes(SECRET), false);
    }
  });

  await t.step("but for tests with state, which says so too", async () => {
    const recorded = await run({ state: true }, "--auto=rec");
    assertEquals(recorded.code, 0, recorded.all);
    const { code, all, ran } = await run({ state: true }, "--replay=rec");
    assertEquals([code, ran], [0, "own own server"], all);
    assertStringIncludes(all, "2 trials with state ran tools of servers");
    const { all: refused } = await run({ refused: true }, "--replay=rec");
    assertStringIncludes(
      refused,
      "Cannot offer tools as in a test with state no tool may have replay: true, since a replayed result " +
        "changes no state: kept has",
    );
  });

  await t.step("and tells what was not recorded", async () => {
    const [{ name }] = [...Deno.readDirSync(place.file("rec/m"))] as [Deno.DirEntry];
    const path = place.file(`rec/m/${name}`);
    const { results, ...recording } = JSON.parse(Deno.readTextFileSync(path));
    const others = results.filter(({ tool }: { tool: string }) => tool !== "degrees");
    Deno.writeTextFileSync(path, JSON.stringify({ ...recording, results: others }));
    const { code, all } = await run({}, "--replay=rec");
    assertEquals(code, 1);
    assertMatch(
      all,
      /Cannot replay a trial as its recording must have every call of a recorded tool: it has no such call of degrees: .*\n +recording: .*: it has no further result of this tool/,
    );
    for (const { name } of [...Deno.readDirSync(place.file("rec"))]) {
      if (name.endsWith(".source")) Deno.removeSync(place.file(`rec/${name}`));
    }
    const { all: lost, requests } = await run({}, "--replay=rec");
    assertMatch(
      lost,
      /Cannot replay http:\/\/127.0.0.1:\d+\/api.json as rec must have a recording of it/,
    );
    assertEquals(requests, 0);
  });
});
