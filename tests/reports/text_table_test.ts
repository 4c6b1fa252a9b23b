import { assert, assertEquals, assertMatch, assertNotEquals, assertNotMatch } from "@std/assert";
import stringWidth from "string-width";
import { alignedTable } from "../../lib/reports/text_table.ts";
import { HOSTILE, STEERING } from "../support/records.ts";

/** Aligns rows of cells below headings, of which these many name a row. */
function aligned(
  [heads, ...rows]: readonly (readonly string[])[],
  { names = 1, texts = names }: { readonly names?: number; readonly texts?: number } = {},
): string {
  return alignedTable({
    heads: heads!.map((text, place) => ({ text, isNext: false, isText: place < texts })),
    rows: rows.map((row) => row.map((text) => ({ text }))),
    names,
  });
}

/** How names are shown in front of a number, without the space behind them. */
function shownNames(names: readonly string[]): string[] {
  return aligned(["", ...names].map((name) => [name, "1"])).split("\n").slice(1)
    .map((line) => line.replace(/ +1$/, ""));
}

Deno.test("alignedTable() puts columns of names and texts to the left, and others to the right", () => {
  const rows = [["a", "b", "c"], ["aa", "bb", "cc"], ["x", "y", "1"]];
  const lines = ["a   b    c", "aa  bb  cc", "x   y    1"];
  assertEquals(aligned(rows, { names: 2 }).split("\n"), lines);
  assertEquals(aligned(rows, { texts: 2 }).split("\n"), lines);
  assertEquals(aligned([["a", "b"], ["日本", "10"]]), "a      b\n日本  10");
});

Deno.test("alignedTable() keeps both ends of a long name", () => {
  const [shown] = shownNames([`start ${"x".repeat(300)} end`]);
  assertMatch(shown!, /^start x+…x+ end$/);
  assert(shown!.length <= 100, shown);
});

Deno.test("alignedTable() shows names of up to 100 characters whole", () => {
  const names = ["x".repeat(99), "x".repeat(100)];
  assertEquals(shownNames(names), names);
});

Deno.test("alignedTable() tells long names apart that differ at either end", () => {
  for (const length of [100, 101, 150, 999, 1000, 1001, 5000]) {
    const long = "sim:noisy?".padEnd(length, "x");
    const names = [`${long}1`, `${long}2`, `1${long}`, `2${long}`];
    assertEquals(new Set(shownNames(names)).size, 4, `${length} characters`);
  }
});

Deno.test("alignedTable() cuts no character in two, and lets none steer", () => {
  for (let before = 40; before < 60; before++) {
    const [shown] = shownNames([`${"x".repeat(before)}${"🜁".repeat(60)}${"y".repeat(before)}`]);
    assert(shown!.isWellFormed(), shown);
  }
  const [shown] = shownNames([HOSTILE.repeat(20)]);
  assertNotMatch(shown!, STEERING);
  const lines = aligned([["", ""], [HOSTILE.repeat(20), "1"], ["日".repeat(300), "22"]])
    .split("\n").slice(1);
  assertEquals(lines.length, 2);
  assertEquals(stringWidth(lines[0]!), stringWidth(lines[1]!));
  assertNotEquals(lines[0], lines[1]);
});
