// The edit loop as users have it: a file of tests outside the project is run with --record=auto, edited, and run
// again, at a server that counts what it is asked and never says the same twice.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  command,
  deno,
  type Finished,
  folder,
  readLines,
  ROOT,
  unwrapped,
} from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { drawingServer } from "../support/drawing_server.ts";

/** What is edited. */
interface Edited {
  readonly city?: string;
  readonly name?: string;
  readonly trials?: number;
  readonly sky?: string;
  readonly inFront?: string;
  readonly tool?: string;
}

const TESTS = (
  url: string,
  { city = "Rome", name = "often", trials = 3, sky = "clear", inFront = "", tool = "weather" }:
    Edited,
) => `
  import { assertCalled, tool, toolTest } from "@toolgate/toolgate";

  const weather = tool({
    name: "weather", description: "Tells the weather", returns: { sky: "${sky}" },
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  });
  const shared = { model: "mine", baseURL: "${url}", tools: [weather] };
  const assert = (run) => {
    console.log("FIRST", run.calls[0].arguments.city);
    assertCalled(run, "${tool}");
  };
  ${inFront}
  toolTest("once", { ...shared, prompt: "How is ${city}?", assert, seed: "fresh" });
  toolTest("${name}", {
    ...shared, prompt: "How is Oslo?", trials: ${trials}, gate: { successRate: 0.5, margin: 0.45 }, assert,
  });
`;

Deno.test("--record=auto asks a model only for what no recording of the same content has", async (t) => {
  await using place = await folder();
  const state = { model: "mine-1" };
  await using server = drawingServer(state);
  place.write(
    "deno.json",
    JSON.stringify({ imports: { "@toolgate/toolgate": `file://${ROOT}/mod.ts` } }),
  );
  Deno.mkdirSync(place.file("tests"));
  let runs = 0;
  /** Runs the edited file, and gives what it asked, its line on that, the first draws and the verdict. */
  const edit = async (edited: Edited, own = ["--record=auto"]) => {
    const file = place.write("tests/own_test.ts", TESTS(server.url, edited));
    const [before, out] = [server.asked.length, `out/${++runs}/`];
    const run = await deno([
      ...["test", "--no-check", "--no-prompt", "--allow-all", file.slice(place.path.length + 1)],
      ...["--", ...own, `--out=${out}`],
    ], { cwd: place.path, env: { OPENAI_API_KEY: "none" } });
    return {
      run,
      out: place.file(out),
      asked: server.asked.length - before,
      told: lineOf(run),
      firsts: [...run.stdout.matchAll(/^FIRST (.*)$/gm)].map(([, city]) => city!),
      verdict: /^mine: [A-Z]+: .*$/m.exec(unwrapped(run.stdout))?.[0] ?? "",
    };
  };

  await t.step("everything at first, whatever is wrong with the tests", async () => {
    Deno.mkdirSync(place.file("out/1"), { recursive: true });
    place.write("out/1/refused.jsonl", "");
    const refused =
      'toolTest("refused", { ...shared, prompt: "Hm?", assert, budget: { tokens: 1e6 } });';
    const first = await edit({ tool: "nothing", inFront: refused });
    // What was asked is said also where another test of the file is refused.
    assertStringIncludes(
      first.run.stdout,
      "Cannot begin the journal out/1/refused.jsonl",
      first.run.all,
    );
    assertEquals([first.asked, first.run.code], [8, 1], first.run.all);
    assertEquals(
      first.told,
      "4 trials: 0 from recordings, 4 asked and recorded in tests/recordings/",
    );
  });

  await t.step(
    "a test whose question changed or that is in front, and further trials, but none of another name",
    async () => {
      // An assertion that was used wrongly does not spoil what was paid for.
      const edited = {
        city: "Bonn",
        name: "renamed",
        trials: 5,
        inFront: 'toolTest("front", { ...shared, prompt: "How is Bern?", assert });',
      };
      const { asked, told, firsts, verdict, out } = await edit(edited);
      assertEquals(asked, 8);
      assertEquals(
        told,
        "7 trials: 3 from recordings, 4 asked and recorded in tests/recordings/; " +
          "3 recordings there are of no trial of this file",
      );
      assertEquals(new Set(firsts).size, 7);
      const sentence =
        "Replies of 2 runs are mixed: of 5 trials 3 from recordings, 2 asked for anew.";
      assertStringIncludes(verdict, sentence);
      const journal = `${out}renamed.jsonl`;
      const gate = await toolgate(["gate", journal, "--json"]);
      const { verdicts: [one] } = JSON.parse(gate.stdout);
      assertEquals([one.replayed, one.asked, one.partlyReplayed], [3, 2, undefined], gate.all);
      assertStringIncludes(one.text, sentence);
      // Beside the line of the plan; trials end in any order.
      assertEquals(readLines(journal).map(({ replayed }) => replayed).toSorted(), [
        ...[true, true, true],
        ...[undefined, undefined, undefined],
      ]);
      // What has another name is kept under it, so that it can be replayed.
      const replayed = await edit(edited, ["--replay=tests/recordings"]);
      assertEquals([replayed.asked, replayed.run.code], [0, 0], replayed.run.all);
      assertEquals(replayed.firsts.toSorted(), firsts.toSorted());
    },
  );

  await t.step(
    "a conversation that goes on otherwise shares its beginning with no other trial, and a gate is of one served model",
    async () => {
      const again = { city: "Bonn", name: "again", sky: "cloudy" };
      const parts = await edit({ ...again, trials: 5 });
      assertEquals(parts.asked, 6);
      assertMatch(parts.told, /^6 trials: 0 from recordings, 6 in part and recorded in /);
      assertStringIncludes(parts.verdict, "of 5 trials 5 from recordings in part.");
      const report = await toolgate(["report", `${parts.out}again.jsonl`]);
      assertStringIncludes(report.stdout, "5 of 5 trials were replayed from recordings in part");
      // Those of the older names began with the same replies.
      state.model = "mine-2";
      const more = await edit({ ...again, trials: 7 });
      assertEquals([more.asked, new Set(more.firsts).size], [4, 8], more.run.all);
      assertEquals(more.run.code, 1, more.run.all);
      assertMatch(more.verdict, /INVALID: the served model changed/);
    },
  );
});

Deno.test("a trial that is recorded automatically after an invalid go is none at the first go", async () => {
  await using place = await folder();
  place.write(
    "deno.json",
    JSON.stringify({ imports: { "@toolgate/toolgate": `file://${ROOT}/mod.ts` } }),
  );
  const file = place.write(
    "own_test.ts",
    `
    import { assertCalled, InfrastructureError, tool, toolSuite } from "@toolgate/toolgate";

    const weather = tool({ name: "weather", description: "Tells it", parameters: { type: "object" }, returns: 1 });
    const pay = tool({ name: "pay", description: "Pays", parameters: { type: "object" }, returns: 1 });
    for (const line of JSON.parse(Deno.env.get("HOW"))) {
      const [folder, mode, fails, name, city] = line.split(" ");
      const isForbidden = folder === "forbidden";
      const reply = async ({ messages, context }) => {
        const isWrong = isForbidden && context.repetition > Number(fails);
        if (context.repetition > Number(fails) && messages.length < 3 && !isWrong) {
          throw new InfrastructureError("502 it crashed");
        }
        const isLast = messages.some(({ role }) => role === "tool");
        if (isLast && isWrong) throw new InfrastructureError("no more credit", { permanent: "credit" });
        const calls = isLast ? [] : [{ id: "1", name: isWrong ? "pay" : "weather", arguments: "{}" }];
        const finish = isLast ? "stop" : "calls";
        const usage = { inputTokens: 1, outputTokens: 1 };
        return { text: "t" + context.repetition, calls, finish, usage, served: "m", duration: 1, repairs: [] };
      };
      toolSuite(folder + city, {
        model: { name: folder + city, simulated: false, reply }, tools: [weather, pay],
        trials: 6, gate: { successRate: 0.5, margin: 0.45 }, recordings: { folder, mode },
      })(name, {
        never: [{ tool: "pay" }], prompt: "How is " + city + "?", assert: (run) => assertCalled(run, "weather"),
      });
    }
  `,
  );
  const rounds: Record<string, [verdict: string, again?: string]>[] = [
    {
      "a auto 2 old Rome": ["INVALID"],
      // All trials of a plan that is recorded anew are asked in this run.
      "b record 2 new Oslo": ["INVALID"],
      // A call that must not happen is not washed away by an account that ran dry after it.
      "forbidden record 2 new Oslo": ["FAIL"],
    },
    // Neither another name nor a replay hides it; another question is another trial.
    {
      "a auto 6 new Rome": ["INVALID", "4"],
      "b auto 6 new Oslo": ["INVALID", "4"],
      "forbidden auto 6 new Oslo": ["INVALID", "4"],
    },
    {
      "a replay 6 new Rome": ["INVALID", "4"],
      "a auto 6 new Bonn": ["PASS"],
      "b record 6 new Oslo": ["PASS"],
      "forbidden replay 6 new Oslo": ["INVALID", "4"],
    },
  ];
  for (const round of rounds) {
    // Nothing but recordings and manifests keeps it.
    for (
      const name of round === rounds[0] ? [] : ["a/arome", "b/boslo", "forbidden/forbiddenoslo"]
    ) {
      for (const { name: file } of [...Deno.readDirSync(place.file(name))]) {
        if (!file.endsWith(".json")) Deno.removeSync(place.file(`${name}/${file}`));
      }
    }
    const run = await deno(
      ["test", "--no-check", "--no-prompt", "--allow-all", file],
      { cwd: place.path, env: { HOW: JSON.stringify(Object.keys(round)) } },
    );
    for (const [line, expected] of Object.entries(round)) {
      const [folder, , , , city] = line.split(" ");
      const told = new RegExp(`^${folder}${city}: ([A-Z]+): .*$`, "m").exec(unwrapped(run.stdout));
      const again = /(\d) trials run again/.exec(told?.[0] ?? "")?.[1];
      assertEquals([told?.[1], again], [expected[0], expected[1]], `${line}\n${run.all}`);
    }
  }
});

/** The line that says how many trials came from recordings. */
function lineOf({ all }: Finished): string {
  return /^\d+ trials?: .*$/m.exec(all)?.[0] ?? all;
}

Deno.test("a file that is watched is tested again after a change, and writes its report again", async () => {
  await using place = await folder();
  place.write(
    "deno.json",
    JSON.stringify({ imports: { "@toolgate/toolgate": `file://${ROOT}/mod.ts` } }),
  );
  const text = (city: string) => `
    import { assertCalled, scripted, tool, toolTest } from "@toolgate/toolgate";
    toolTest("asks", {
      model: scripted("script", [{ calls: [{ name: "weather", arguments: { city: "${city}" } }] }, { text: "Fine." }]),
      tools: [tool({
        name: "weather", description: "Tells the weather", returns: "fine",
        parameters: { type: "object", properties: { city: { type: "string" } } },
      })],
      prompt: "How is Rome?",
      assert: (run) => assertCalled(run, { tool: "weather", arguments: { city: "Rome" } }),
    });
  `;
  const file = place.write("own_test.ts", text("Rome"));
  await using watched = command(Deno.execPath(), [
    ...["test", "--watch", "--no-check", "--allow-all", file, "--", "--report=page.md"],
  ], { cwd: place.path }).spawn();
  const printed = new Response(watched.stdout).text();
  const told = watched.stderr.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  /** What the report has once the watcher waits for a change. */
  const report = async () => {
    let lines = "";
    while (!lines.includes("Restarting on file change")) lines += (await told.next()).value;
    return Deno.readTextFileSync(place.file("page.md"));
  };
  assertStringIncludes(await report(), "| asks | 1 of 1 |");
  place.write("own_test.ts", text("Paris"));
  assertStringIncludes(await report(), "| asks | 0 of 1 |");
  watched.kill("SIGTERM");
  const ends = [...(await printed).matchAll(/^(ok|FAILED) \| (\d+) passed.* \| (\d+) failed/gm)];
  assertEquals(ends.map(([, end, passed, failed]) => [end, passed, failed]), [
    ["ok", "1", "0"],
    ["FAILED", "0", "1"],
  ]);
});
