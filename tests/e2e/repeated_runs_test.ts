// Runs that are repeated until they pass: what was cut off and drawn again, and how often a gate was tried.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, type Folder, folder, ROOT, unwrapped } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

/** Serves a model that calls `pay` in about two of three draws, and else says no. */
function unreliableServer() {
  const state = { draws: 0 };
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  const server = Deno.serve(options, async (request) => {
    const { messages } = await request.json();
    const called = messages.at(-1).role === "tool";
    const isRight = called || ++state.draws ** 3 % 97 < 65;
    const call = { id: "c", type: "function", function: { name: "pay", arguments: "{}" } };
    return Response.json({
      ...{ id: "x", object: "chat.completion", created: 1, model: "m-1" },
      choices: [{
        index: 0,
        finish_reason: isRight && !called ? "tool_calls" : "stop",
        message: isRight && !called
          ? { role: "assistant", content: null, tool_calls: [call] }
          : { role: "assistant", content: called ? "done" : "no" },
      }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Writes a file of one test with a gate, and returns what runs it. */
function paying(place: Folder, url: string, gate = "{ successRate: 0.9, margin: 0.3 }") {
  place.write(
    "deno.json",
    JSON.stringify({ imports: { "@toolgate/toolgate": `file://${ROOT}/mod.ts` } }),
  );
  place.write(
    "pay_test.ts",
    `import { assertCalled, tool, toolTest } from "@toolgate/toolgate";
    const parameters = { type: "object", properties: {} };
    const pay = tool({ name: "pay", description: "Pays", parameters, returns: "ok" });
    toolTest("pays", {
      model: "m", baseURL: "${url}", tools: [pay], prompt: "Pay", trials: 12, gate: ${gate},
      assert: (run) => assertCalled(run, "pay"),
    });`,
  );
  return (...flags: string[]) =>
    deno(["test", "--no-check", "-A", "pay_test.ts", "--", ...flags], {
      cwd: place.path,
      env: { OPENAI_API_KEY: "none" },
    });
}

Deno.test("a run whose failures were cut off and drawn again says how often it was resumed", async () => {
  await using place = await folder();
  await using server = unreliableServer();
  const run = paying(place, server.url);
  const journal = place.file("j.jsonl");
  let ended = await run("--out=j.jsonl");
  assertEquals(ended.code, 1, ended.all);
  for (let rounds = 0;; rounds++) {
    const lines = Deno.readTextFileSync(journal).split(/(?<=\n)/);
    const wrong = lines.findIndex((line) => line.includes('"outcome":"wrong_answer"'));
    if (wrong < 0) break;
    assertEquals(rounds < 20, true);
    if (rounds === 0) {
      // Taken out of the middle, a line is missed.
      const without = place.write("cut.jsonl", lines.toSpliced(wrong, 1).join(""));
      const gated = await toolgate(["gate", without]);
      assertEquals(gated.code, 3, gated.all);
      assertMatch(
        gated.stdout,
        /^INVALID: Cannot use \S+, line \d+ as the checksum of a line must/,
      );
    }
    Deno.writeTextFileSync(journal, lines.slice(0, wrong).join(""));
    ended = await run("--out=j.jsonl", "--resume");
  }
  const told = /The run was resumed \d+ times; a cut end cannot be told from an interrupted run\./;
  assertEquals(ended.code, 0, ended.all);
  assertMatch(unwrapped(ended.stdout), told);
  const gated = await toolgate(["gate", journal, "--json"]);
  const { verdict, remarks, verdicts: [{ text }] } = JSON.parse(gated.stdout);
  assertEquals([gated.code, verdict, remarks[0].about], [0, "pass", "resumed"], gated.all);
  assertMatch(text, told);
  const shown = await toolgate(["report", journal]);
  assertMatch(shown.stdout, /^\* The run was resumed \d+ times; a cut end/m);
  const whole = await toolgate(["gate", journal, "--require-whole"]);
  assertEquals(whole.code, 3, whole.all);
  assertStringIncludes(
    unwrapped(whole.stdout),
    "INVALID: requireWhole asks for a run that was not interrupted: run it anew, into a new journal. The run was resumed",
  );
});
