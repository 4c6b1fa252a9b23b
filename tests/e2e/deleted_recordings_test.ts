// Recordings of which someone deletes what failed, so that a later run draws it again; and what people do with
// recordings that is no such thing.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, folder, ROOT, unwrapped } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

/** What decides a run of the tests below. */
interface How {
  /** Of five trials that are asked, so many are right; default 5. */
  readonly right?: number;
  readonly name?: string;
  readonly prompt?: string;
  readonly trials?: number;
  /** Of another process that records in the same folder before the first reply is there. */
  readonly meanwhile?: How;
}

const TESTS = `
  import { assertCalled, tool, toolSuite } from "@toolgate/toolgate";

  const how = JSON.parse(Deno.env.get("HOW"));
  const { right = 5, name = "pays", prompt = "Pay.", trials = 20, meanwhile } = how;
  let asked = 0;
  let other;
  const reply = async ({ messages }) => {
    if (meanwhile !== undefined) {
      await (other ??= new Deno.Command(Deno.execPath(), {
        args: ["test", "--no-check", "--allow-all", "own_test.ts", "--", "--auto=rec", "--out=other.jsonl"],
        env: { HOW: JSON.stringify(meanwhile) },
      }).output());
    }
    const isLast = messages.at(-1).role === "tool";
    const isRight = isLast || asked++ % 5 < right;
    const calls = isLast || !isRight ? [] : [{ id: "1", name: "pay", arguments: "{}" }];
    const [text, finish] = calls.length > 0 ? ["", "calls"] : [isRight ? "done" : "no", "stop"];
    const usage = { inputTokens: 1, outputTokens: 1 };
    return { text, calls, finish, usage, served: "m", duration: 1, repairs: [] };
  };
  const test = toolSuite("suite", {
    model: { name: "m", simulated: false, reply },
    tools: [tool({ name: "pay", description: "Pays", parameters: { type: "object" }, returns: "ok" })],
    trials, gate: { successRate: 0.9, margin: 0.25 },
  });
  test(name, { prompt, assert: (run) => assertCalled(run, "pay") });
`;

/** A folder with these tests, each run of which keeps a journal. */
async function suite() {
  const place = await folder();
  const file = (name: string) => place.file(name);
  place.write(
    "deno.json",
    JSON.stringify({ imports: { "@toolgate/toolgate": `file://${ROOT}/mod.ts` } }),
  );
  place.write("own_test.ts", TESTS);
  let runs = 0;
  return {
    file,
    /** Runs the tests; returns the verdict of the run, and that of the gate over its journal. */
    async run(how: How = {}, flag = "--auto=rec") {
      const journal = `${++runs}.jsonl`;
      const run = await deno([
        ...["test", "--no-check", "--no-prompt", "--allow-all", "own_test.ts"],
        ...["--", ...flag.split(" "), `--out=${journal}`],
      ], { cwd: place.path, env: { HOW: JSON.stringify(how) } });
      const gate = await toolgate(["gate", file(journal), "--json"]);
      const { verdicts: [verdict] } = JSON.parse(gate.stdout);
      const text = /^m: .*$/m.exec(unwrapped(run.stdout))?.[0];
      assertEquals(text, `m: ${verdict.text}`, run.all);
      return { ...verdict, exit: gate.code, all: run.all, journal: file(journal) };
    },
    /** Deletes the recordings of the trials that failed. */
    deleteFailed() {
      for (const { name } of [...Deno.readDirSync(file("rec/m"))]) {
        const path = file(`rec/m/${name}`);
        if (Deno.readTextFileSync(path).includes('"text": "no"')) Deno.removeSync(path);
      }
    },
    /** The manifests, oldest first. */
    manifests() {
      return [...Deno.readDirSync(file("rec"))].filter(({ isFile }) => isFile)
        .map(({ name }) => file(`rec/${name}`)).sort();
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

const CHOSEN = /^INVALID: replies may have been chosen: /;

Deno.test("a gate is invalid where recordings of failures were deleted and drawn again", async (t) => {
  await using own = await suite();
  const first = await own.run({ right: 3 });
  assertEquals([first.kind, first.runs], ["fail", undefined], first.all);
  own.deleteFailed();
  const second = await own.run({ right: 4 });
  assertStringIncludes(
    second.text,
    "INVALID: replies may have been chosen: 8 of 20 trials do not have those that a manifest lists; " +
      "record all anew with --record=FOLDER. " +
      "Replies of 2 runs are mixed: of 20 trials 12 from recordings, 8 asked for anew.",
  );
  own.deleteFailed();
  await own.run();

  await t.step("also once all trials pass, and in what replays these", async () => {
    for (const flag of ["--auto=rec", "--replay=rec"]) {
      const { text, exit, runs, replayed, all, journal } = await own.run({}, flag);
      assertMatch(text, CHOSEN);
      assertStringIncludes(text, "Replies of 3 runs are mixed: of 20 trials 20 from recordings.");
      assertEquals([exit, runs, replayed], [3, 3, 20]);
      assertStringIncludes(all, "these replies are of 3 runs");
      const accepted = await toolgate(["accept", journal]);
      assertEquals(accepted.code, 2, accepted.all);
      assertStringIncludes(accepted.stderr, "may have been chosen");
    }
  });

  await t.step("under another name of the test", async () => {
    assertMatch((await own.run({ name: "renamed" })).text, CHOSEN);
  });

  await t.step("until all are drawn anew", async () => {
    for (const flag of ["--record=rec", "--replay=rec"]) {
      const { kind, runs, all } = await own.run({}, flag);
      assertEquals([kind, runs], ["pass", undefined], all);
    }
  });
});

Deno.test("a gate is invalid where recordings of failures were deleted, and no trial is drawn in their place", async () => {
  await using own = await suite();
  await own.run({ right: 3 });
  own.deleteFailed();
  for (const [how, flag] of [[{ name: "renamed" }], [{}, "--auto=rec --seed=77"]] as const) {
    const { text, replayed, all } = await own.run({ ...how, trials: 12 }, flag);
    assertMatch(text, CHOSEN, all);
    assertEquals(replayed, 12);
  }
});

Deno.test("a gate is invalid where a manifest lacks recordings of failures that were deleted", async (t) => {
  await using own = await suite();
  await own.run({ right: 3 });
  const [path] = own.manifests();
  const lines = Deno.readTextFileSync(path!).split("\n");
  const failed = lines.findIndex((line) => {
    const { trial } = JSON.parse(line);
    return [...Deno.readDirSync(own.file("rec/m"))].some(({ name }) => {
      const text = Deno.readTextFileSync(own.file(`rec/m/${name}`));
      return text.includes('"text": "no"') && text.includes(JSON.stringify(trial));
    });
  });
  own.deleteFailed();
  await t.step("a line of it was taken out", async () => {
    Deno.writeTextFileSync(path!, lines.toSpliced(failed, 1).join("\n"));
    assertMatch((await own.run()).text, CHOSEN);
  });
  await t.step("all are deleted, and the test is renamed", async () => {
    for (const manifest of own.manifests()) Deno.removeSync(manifest);
    for (const name of ["renamed", "pays"]) assertMatch((await own.run({ name })).text, CHOSEN);
  });
});

Deno.test("replies of several runs are told, and no more is made of it where none was deleted", async () => {
  await using own = await suite();
  const few = await own.run({ trials: 12 });
  // As a run that was killed leaves it.
  const [manifest] = own.manifests();
  Deno.writeTextFileSync(manifest!, '{"v":1,"ki', { append: true });
  const more = await own.run({ trials: 20 });
  const whole = await toolgate(["gate", more.journal, "--require-whole"]);
  assertEquals(whole.code, 3, whole.all);
  assertStringIncludes(unwrapped(whole.stdout), "not interrupted: its replies are of 2 runs");
  // Another question, and the first one again.
  const other = await own.run({ prompt: "Pay now." });
  const again = await own.run();
  Deno.removeSync(own.file("rec"), { recursive: true });
  const anew = await own.run();
  assertEquals(
    [few, more, other, again, anew].map(({ kind, runs, asked }) => [kind, runs, asked]),
    [
      ["pass", undefined, undefined],
      ["pass", 2, 8],
      ["pass", undefined, undefined],
      ["pass", 2, undefined],
      ["pass", undefined, undefined],
    ],
    [few, more, other, again, anew].map(({ all }) => all).join("\n"),
  );
});

Deno.test("recordings that another process writes at the same time are as good as any", async () => {
  for (const [meanwhile, mixed] of [[{}, 2], [{ name: "another" }, undefined]] as const) {
    await using own = await suite();
    for (const flag of ["--auto=rec", "--replay=rec"]) {
      const { kind, runs, all } = await own.run(flag === "--auto=rec" ? { meanwhile } : {}, flag);
      assertEquals([kind, runs], ["pass", mixed], all);
    }
  }
});
