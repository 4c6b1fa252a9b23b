// A project of its own outside of the clone, from the first green run to a new model that may not replace the
// old one: fixtures/own_tools/ as a user has it, in child processes.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import {
  deno,
  type Finished,
  folder,
  readLines,
  ROOT,
  shell,
  unwrapped,
} from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { LINKED } from "../support/project_files.ts";

/** The tests in which the newer clerk slips. */
const SLIPPERY = [
  "reserves a book that is lent out",
  "lends nothing to those who owe too much, and says why",
];
const TESTS = 10;
const TRIALS = 20;

Deno.test("a suite of own tools is run, accepted, gated and reported in a project of its own", async (context) => {
  await using place = await folder();
  place.write("deno.json", LINKED);
  const made = await toolgate(["init", place.path]);
  assertEquals(made.code, 0, made.all);
  for (const name of ["tools.ts", "models.ts", "desk_test.ts"]) {
    Deno.copyFileSync(`${ROOT}/fixtures/own_tools/${name}`, place.file(`tool_tests/${name}`));
  }
  const at = { cwd: place.path };
  const run = (model: string, ...own: string[]) =>
    deno([
      ...["test", "--no-check", "--no-prompt", "--allow-env=MODEL", "--allow-read=."],
      ...["--allow-write=.", "tool_tests/desk_test.ts", "--", ...own],
    ], { ...at, env: { MODEL: model } });
  const command = (...line: string[]) => toolgate(line, at);
  /** What is said of one test in a table. */
  const solvedIn = ({ stdout }: Finished, test: string) =>
    new RegExp(`^${test} +(\\d+) of ${TRIALS} `, "m").exec(unwrapped(stdout))?.[1];

  await context.step("the old model passes", async () => {
    const ran = await run("clerk-1", "--out=old.jsonl", "--report=old.html", "--verdict=old.json");
    assertEquals(ran.code, 0, ran.all);
    assertStringIncludes(ran.stdout, `ok | ${TESTS * TRIALS + 1} passed | 0 failed`);
    assertMatch(ran.stdout, /^clerk-1 \(simulated\): PASS: the true success rate is at least 80/m);
    assertMatch(ran.stdout, /^ {2}solved: 200 of 200 valid trials/m);
    assertEquals(ran.stderr, "", ran.all);
    const [plan, ...trials] = readLines(place.file("old.jsonl"));
    assertEquals([plan.suite, plan.resolved.cells.length, trials.length], ["desk", 10, 200]);
    // Nothing of one trial is left in the database of another.
    assert(trials.every(({ solved }) => solved), ran.all);
    const verdict = JSON.parse(Deno.readTextFileSync(place.file("old.json")));
    assertEquals([verdict.suite, verdict.verdict], ["desk", "pass"]);
  });

  await context.step("the first baseline is accepted", async () => {
    const words = ["accept", "old.jsonl", "--out", "baseline.json"];
    const accepted = await deno(["task", "--quiet", "toolgate", ...words], at);
    assertEquals(accepted.code, 0, accepted.all);
    assertMatch(accepted.stderr, /^Accepted 200 trials of 1 model in baseline\.json\n/);
    const itself = await command("gate", "old.jsonl", "--baseline", "baseline.json");
    assertEquals(itself.code, 2, itself.all);
    assertMatch(
      itself.stderr,
      /^Cannot compare with .*baseline\.json as .* must be another run: .*\n$/,
    );
  });

  let failed: { readonly task: { readonly case: string } }[] = [];
  await context.step("the new model is good enough by itself", async () => {
    const ran = await run("clerk-2", "--out=new.jsonl", "--report=new.html");
    assertEquals(ran.code, 0, ran.all);
    const trials = readLines(place.file("new.jsonl")).slice(1);
    failed = trials.filter(({ solved }) => !solved);
    assertEquals([...new Set(failed.map(({ task }) => task.case))], SLIPPERY);
    assertMatch(ran.stdout, /^clerk-2 \(simulated\): PASS: /m);
    assertStringIncludes(ran.stdout, `solved: ${200 - failed.length} of 200 valid trials`);
    assertEquals(solvedIn(ran, "lends a book"), `${TRIALS}`);
    for (const test of SLIPPERY) {
      const count = failed.filter(({ task }) => task.case === test).length;
      assertEquals(solvedIn(ran, test), `${TRIALS - count}`, ran.all);
    }
    // No table speaks of cells, of solved tasks, or of what says nothing about a test.
    const [, table] = /\n(test +passed[^]*?)\nclerk-2 \(simulated\): /.exec(unwrapped(ran.stdout))!;
    assertMatch(table!, /^test +passed +95% interval +calls if passed +if not\n/);
    assertNotMatch(table!, /\bcell|solved|^case |fewest|silent/m);
    // What the judge said is kept with each trial that it was asked about.
    const judged = trials.filter(({ task }) => task.case === SLIPPERY[1]).map(({ events }) =>
      events.findLast(({ kind }: { kind: string }) => kind === "judged")
    );
    assertEquals(judged.length, TRIALS);
    for (const { model, reply } of judged) {
      assertEquals(model, "reader");
      assertMatch(reply, /"reason":"It (has|lacks) the sum that is owed\."/);
    }
    // Each test that failed is reported, not the first one again and again.
    for (const test of SLIPPERY) assertMatch(ran.stdout, new RegExp(`^ {2}${test}: `, "m"));
    const rerun = /^ +rerun: (MODEL=clerk-2 deno test .*)$/m.exec(ran.stdout)?.[1];
    const again = await shell(rerun!, at);
    assertEquals(again.code, 1, again.all);
    assertStringIncludes(again.stdout, "lend was called once, and must not be.");
    // What is in a database is not seen: that nothing changed in it would be a guess.
    assertMatch(again.stdout, /^ {2}state: no change in what was compared$/m);
    assertMatch(again.stdout, /^ {4}at file:\/\/.*\/tool_tests\/desk_test\.ts:\d+:\d+$/m);
  });

  await context.step("but it may not replace the old one", async () => {
    const gated = await command("gate", "new.jsonl", "--baseline", "baseline.json");
    assertEquals([gated.code, gated.stderr], [1, ""], gated.all);
    assertMatch(gated.stdout, /^clerk-2 \(simulated\): FAIL: .* is below that of clerk-1 /m);
    assertStringIncludes(gated.stdout, `better on 0 trials, worse on ${failed.length}`);
    for (const test of SLIPPERY) {
      const changed = failed.filter(({ task }) => task.case === test).length / TRIALS;
      assertStringIncludes(
        gated.stdout,
        `"${test}": from 100.0% to ${(100 * (1 - changed)).toFixed(1)}%, `,
      );
    }
    assertStringIncludes(gated.stdout, `${SLIPPERY.length} of ${TESTS}; proved: 1, `);
    const alone = await command("gate", "new.jsonl");
    assertEquals(alone.code, 0, alone.all);
  });

  await context.step("both are shown side by side", async () => {
    const shown = await command("report", "old.jsonl", "new.jsonl", "--html", "both.html");
    assertEquals([shown.code, shown.stderr], [0, "Wrote both.html\n"], shown.all);
    const page = Deno.readTextFileSync(place.file("both.html"));
    // The whole page is too long for a message.
    for (const text of ["clerk-1", "clerk-2", ...SLIPPERY]) assert(page.includes(text), text);
    const { stdout } = await command("report", "old.jsonl", "new.jsonl");
    const matrix = stdout.slice(stdout.indexOf("\nTests\n")).split("\n\n")[0]!.split("\n").slice(3);
    const rows = matrix.map((line) => line.split(/ {2,}/));
    assertEquals(rows[0], ["test", "clerk-1 (simulated)", "clerk-2 (simulated)", "why"]);
    assertEquals(rows.length, 1 + TESTS + 1);
    // The tests that failed stand first, each with the reason and its line.
    const counts = SLIPPERY.map((test) => failed.filter(({ task }) => task.case === test).length);
    assertEquals(
      rows.slice(1, 3).map((row) => row.slice(0, 3)),
      SLIPPERY.map((test, place) => [test, "20 of 20", `${TRIALS - counts[place]!} of 20`])
        .toSorted((one, other) => parseInt(one[2]!) - parseInt(other[2]!)),
    );
    const [reserves] = rows.filter(([name]) => name === SLIPPERY[0]);
    assertMatch(
      reserves!.at(-1)!,
      /^\d+ of 40 trials: lend was called once, and must not be \(tool_tests\/desk_test\.ts:\d+\)$/,
    );
    assertEquals(new Set(rows.slice(3).map((row) => row.at(-1))), new Set(["-"]));
    const less = (failed.length / (TESTS * TRIALS) * 100).toFixed(1);
    assertStringIncludes(stdout, ` passed ${less} points less than clerk-1 (simulated) on `);
    assertMatch(
      stdout,
      /^desk\n\nPASS: all 2 verdicts\n\nclerk-2 \S+ passed .*: worse, though it passes its gate\.\n\nResults\n.*\nmodel +verdict +passed /,
    );
  });
});
