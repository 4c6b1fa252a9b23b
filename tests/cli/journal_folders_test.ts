// Folders of journals on the command line: those of the test files of one suite, and of several suites.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { type Folder, folder } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { reportedTrials } from "../support/report_data.ts";
import { finish } from "../support/records.ts";

interface FileOptions extends Partial<Suite> {
  /** Trials of each model that are solved, of those of each test; default all. */
  readonly solved?: number;
  /** When its trials began; default at once. */
  readonly minute?: number;
}

/** Writes the journal of a test file, `results/SUITE.FILE.jsonl`. */
function write(
  { path }: Folder,
  suite: string,
  file: string,
  names: readonly string[],
  { solved = Infinity, minute = 0, ...more }: FileOptions = {},
): string {
  const plan: Plan = planSuite({
    ...{ name: suite, seed: 1, graphs: 20, tasks: [], models: ["m"], gate: { successRate: 0.8 } },
    ...more,
  }, {
    tasks: {
      cells: () => names.map((name) => ({ case: name })),
      open: openTask,
      cases: Object.fromEntries(names.map((name) => [name, `digest of ${name}`])),
    },
  });
  const trials = plan.trials.map((planned) =>
    finish(planned, {
      suite,
      outcome: planned.block < solved ? "solved" : "wrong_answer",
      startedAt: `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`,
    })
  );
  const line = planLine({ ...plan, ownCode: true, file: `tests/${file}.ts` });
  const journal = `results/${suite}.${file}.jsonl`;
  Deno.mkdirSync(`${path}/results`, { recursive: true });
  Deno.writeTextFileSync(`${path}/${journal}`, linesOf([line, ...trials]));
  return journal;
}

Deno.test("toolgate gate, accept and report take a folder for the journals of a suite's test files", async () => {
  await using place = await folder();
  const cwd = place.path;
  write(place, "support", "refunds_test", ["refunds", "asks first"]);
  write(place, "support", "orders_test", ["finds the order"], { solved: 19 });
  // What is no journal is left alone.
  place.write("results/notes.txt", "none");
  place.write("results/.hidden.jsonl", "none");
  Deno.mkdirSync(place.file("results/old.jsonl"));
  Deno.symlinkSync("old.jsonl", place.file("results/older.jsonl"));

  const gate = await toolgate(["gate", "results/"], { cwd });
  assertEquals(gate.code, 0, gate.all);
  assertMatch(gate.stdout, /^m: PASS: /m);
  assertStringIncludes(gate.stdout, "solved: 59 of 60 valid trials (98.3%), 60 trials of 3 cases");

  const accepted = await toolgate(["accept", "results/"], { cwd });
  assertEquals(accepted.code, 0, accepted.all);
  assertStringIncludes(accepted.stderr, "Accepted 60 trials of 1 model in results.baseline.json");
  assertEquals((await toolgate(["accept", "."], { cwd: place.file("results") })).code, 2);
  const same = await toolgate(["gate", "results", "--baseline", "results.baseline.json"], { cwd });
  assertEquals(same.code, 2, same.all);
  assertStringIncludes(same.stderr, "these are the trials of the baseline itself");
  write(place, "support", "refunds_test", ["refunds", "asks first"], { minute: 1 });
  write(place, "support", "orders_test", ["finds the order"], { minute: 1, solved: 10 });
  const later = await toolgate(["gate", "results", "--baseline", "results.baseline.json"], { cwd });
  assertEquals(later.code, 1, later.all);

  const report = await toolgate(["report", "results/", "--html", "report.html"], { cwd });
  assertEquals(report.code, 0, report.all);
  // Round by round over the tests of all files, and each trial names its own.
  const rows = reportedTrials(place.file("report.html")).map(({ rerun }) =>
    /tests\/(\w+)_test\.ts -- --only='case=(\S+)/.exec(rerun!)!.slice(1).join(" ")
  );
  const round = ["orders finds%20the%20order", "refunds refunds", "refunds asks%20first"];
  assertEquals(rows, Array.from({ length: 20 }, () => round).flat());
  const shown = await toolgate(["report", "results/"], { cwd });
  assertMatch(shown.stdout, /^asks first +20 of 20 /m);
  assertMatch(shown.stdout, /^finds the order +10 of 20 .* 10 of 20 trials: wrong answer$/m);
});

Deno.test("toolgate gate decides over each suite of a folder, and ends with the worst", async (context) => {
  await using place = await folder();
  const cwd = place.path;
  const summary = place.file("summary.md");
  write(place, "support", "a_test", ["one"]);
  write(place, "billing", "a_test", ["pays"], { solved: 2 });
  write(place, "billing", "b_test", ["two"], { solved: 3 });
  const both = await toolgate(["gate", "results"], { cwd, env: { GITHUB_STEP_SUMMARY: summary } });
  assertEquals(both.code, 1, both.all);
  assertMatch(both.stdout, /^suite billing\n\n[^]*m: FAIL: [^]*\n\nsuite support\n\n[^]*m: PASS: /);
  assertEquals(
    [...Deno.readTextFileSync(summary).matchAll(/^### (.*)$/gm)].map(([, title]) => title),
    ["billing: fail", "support: pass"],
  );
  const json = await toolgate(["gate", "results", "--json"], { cwd });
  const reports = json.stdout.trim().split(/^(?<=\}\n)(?=\{)/m).map((text) => JSON.parse(text));
  assertEquals(reports.map(({ suite }) => suite), ["billing", "support"]);

  await context.step("also where another one cannot be decided", async () => {
    write(place, "sales", "a_test", ["one"], { gate: undefined! });
    place.write("results/dead.jsonl", "");
    const some = await toolgate(["gate", "results"], { cwd });
    assertEquals(some.code, 1, some.all);
    assertMatch(
      some.stderr,
      /^suite sales: .*the plan declares no gate, so --success-rate, --baseline or --history is needed/m,
    );
    assertMatch(
      some.stdout,
      /^suite \S*results\/dead\.jsonl\n\nINVALID: Cannot use \S*dead\.jsonl as the first line of a journal must be its plan: /m,
    );
    for (const name of ["a_test", "b_test"]) {
      Deno.removeSync(place.file(`results/billing.${name}.jsonl`));
    }
    assertEquals((await toolgate(["gate", "results"], { cwd })).code, 2);
    Deno.removeSync(place.file("results/sales.a_test.jsonl"));
    write(place, "billing", "a_test", ["pays"], { graphs: 5 });
    assertEquals((await toolgate(["gate", "results"], { cwd })).code, 3);
  });
  await context.step("of which accept and report say which journals are of which", async () => {
    const accepted = await toolgate(["accept", "results", "--out", "b.json"], { cwd });
    assertEquals(accepted.code, 2, accepted.all);
    assertMatch(
      accepted.stderr,
      /suites are mixed: billing in \S+billing\.a_test\.jsonl, support in \S+; put those of each into a folder of its own/,
    );
    Deno.removeSync(place.file("results/dead.jsonl"));
    const shown = await toolgate(["report", "results"], { cwd });
    assertMatch(shown.stderr, /results\/\S+ and \S+ together .*--different-tasks/);
    const all = await toolgate(["report", "results", "--different-tasks"], { cwd });
    assertEquals(all.code, 0, all.all);
    assertStringIncludes(all.stdout, "billing, support");
  });
});

Deno.test("commands say what is wrong with a folder of journals", async () => {
  await using place = await folder();
  const cwd = place.path;
  // In a folder of journals from elsewhere, a name may be a command of GitHub's.
  place.write("a\n::error::b.jsonl", "");
  const odd = await toolgate(["report", "."], { cwd });
  assertEquals(odd.code, 2, odd.all);
  assertMatch(odd.stderr, /names of files must be plain text/);
  assert(!/^::error/m.test(odd.stdout + odd.stderr), odd.all);
  const named = await toolgate(["report", "\u001b[2J.jsonl"], { cwd });
  assertMatch(named.stderr, /as names of journals must be plain text\n$/);
});
