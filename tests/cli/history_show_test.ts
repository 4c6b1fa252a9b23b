// `history show` in a folder that has nothing else.

import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { type Folder, folder } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { dateAfter, writeRecords } from "../support/history.ts";

/** Runs `history` in a folder. */
function history(place: Folder, ...line: string[]) {
  return toolgate(["history", ...line], { cwd: place.path });
}

/** A folder with records of a suite, and one of another. */
async function placeWith(days: number): Promise<Folder> {
  const place = await folder();
  const runs = Array.from({ length: days }, (_, day) => ({ date: dateAfter(day) }));
  writeRecords(place.file("runs"), runs);
  writeRecords(place.file("others"), [{ date: "2026-05-01", suite: "weekly" }]);
  return place;
}

Deno.test("history show prints a row for each run, and names what it left out", async () => {
  await using place = await placeWith(3);
  place.write("runs/notes.json", "{}");
  const { code, stdout, stderr, all } = await history(place, "show", "runs", "others/");
  assertEquals([code, stderr], [0, ""], all);
  assertMatch(stdout, /^nightly\n\nsim:made-up \(simulated\)\nrun \(UTC\) /);
  assertEquals(stdout.match(/^2026-\d\d-\d\d/gm), ["2026-06-01", "2026-06-02", "2026-06-03"]);
  assertStringIncludes(stdout, "Left out: Cannot use runs/notes.json");
  assertMatch(stdout, /Left out: 1 record of the suite weekly .*, such as others\/2026-05-01-/);
});

Deno.test("history show takes a suite", async () => {
  await using place = await placeWith(3);
  const weekly = await history(place, "show", "runs", "others", "--suite", "weekly");
  assertMatch(weekly.stdout, /^weekly\n/, weekly.all);
  assertEquals(weekly.stdout.match(/^2026-\d\d-\d\d/gm), ["2026-05-01"]);
});

Deno.test("history show --json prints all of it as data", async () => {
  await using place = await placeWith(2);
  const { code, stdout, all } = await history(place, "show", "runs", "--json");
  assertEquals(code, 0, all);
  const report = JSON.parse(stdout);
  assertEquals([report.v, report.kind, report.suite], [1, "history", "nightly"]);
  assertEquals(report.streams.length, 1);
  assertEquals(report.streams[0].points.map((one: { valid: number }) => one.valid), [20, 20]);
});

Deno.test("history show --html writes a page in place of tables", async () => {
  await using place = await placeWith(2);
  const { code, stdout, stderr, all } = await history(
    ...[place, "show", "runs", "--html", "pages/history.html"] as const,
  );
  assertEquals([code, stdout, stderr], [0, "", "Wrote pages/history.html\n"], all);
  const page = Deno.readTextFileSync(place.file("pages/history.html"));
  assertStringIncludes(page, "<title>nightly: toolgate history</title>");
  assertMatch(page, /<\/html>\n$/);
  assertNotMatch(page, /id="graphviz"/);
});

Deno.test("history tells what is wrong with its line, and ends with 2", async (t) => {
  await using place = await placeWith(1);
  Deno.mkdirSync(place.file("empty"));
  const wrong: readonly (readonly [line: string, error: RegExp])[] = [
    ["", /^Cannot run toolgate: the command must be history add or history show: it is history /],
    [
      "shwo nights",
      /^Cannot run toolgate: there is no command history shwo; did you mean history show\? /,
    ],
    [
      "show",
      /^Cannot run toolgate history show: it takes the folder of a history, or several: none is given /,
    ],
    ["show nowhere", /^Cannot .*nowhere.*: there is no such file or folder\n$/],
    ["show empty", /^Cannot use the history empty as it must have a record: there is none\n$/],
    [
      "show runs --suite nightli",
      /^Cannot use the history runs .*: there is none of nightli; did you mean nightly\?\n$/,
    ],
    ["show runs --htlm a.html", /there is no option --htlm; did you mean --html\?/],
  ];
  for (const [line, error] of wrong) {
    await t.step(`history ${line}`, async () => {
      const ended = await history(place, ...line.split(" ").filter((word) => word !== ""));
      assertEquals([ended.code, ended.stdout], [2, ""], ended.all);
      assertMatch(ended.stderr, error);
      assertEquals(ended.stderr.split("\n").length, 2, ended.all);
    });
  }
  assertEquals(place.names(), ["empty", "others", "runs"]);
});
