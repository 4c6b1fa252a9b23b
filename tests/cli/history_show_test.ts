// `history show` in a folder that has nothing else.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
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
