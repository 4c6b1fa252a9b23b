import { assert, assertEquals, assertMatch, assertNotEquals, assertNotMatch } from "@std/assert";
import stringWidth from "string-width";
import { alignedTable, layOut, NOTHING } from "../../../lib/reports/tables/table.ts";
import { HOSTILE, STEERING } from "../../support/records.ts";

/** How names are shown in front of a number, without the space behind them. */
function shownNames(names: readonly string[]): string[] {
  return alignedTable(names.map((name) => [name, "1"])).split("\n")
    .map((line) => line.replace(/ +1$/, ""));
}

Deno.test("alignedTable() puts the columns of names to the left, and others to the right", () => {
  assertEquals(
    alignedTable([["a", "b", "c"], ["aa", "bb", "cc"], ["x", "y", "1"]], 2).split("\n"),
    [
      "a   b    c",
      "aa  bb  cc",
      "x   y    1",
    ],
  );
  assertEquals(alignedTable([["a", "b"], ["日本", "10"]]), "a      b\n日本  10");
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
  const lines = alignedTable([[HOSTILE.repeat(20), "1"], ["日".repeat(300), "22"]]).split("\n");
  assertEquals(lines.length, 2);
  assertEquals(stringWidth(lines[0]!), stringWidth(lines[1]!));
  assertNotEquals(lines[0], lines[1]);
});

Deno.test("layOut() has a cell of each row in each column, and names groups once", () => {
  const rows = [{ name: "a", tried: 3, solved: 0 }, { name: "b", tried: 4, solved: 2 }];
  assertEquals(
    layOut(rows, [
      { head: "model", cell: ({ name }) => name },
      (["tried", "solved"] as const).map((head) => ({
        group: "tasks",
        head,
        cell: (row) => row[head],
      })),
      { head: "empty", cell: () => NOTHING },
    ]),
    [["model", "tasks: tried", "solved", "empty"], ["a", "3", "0", "-"], ["b", "4", "2", "-"]],
  );
});

Deno.test("layOut() leaves out columns that are not shown, or to be filled and empty in all rows", () => {
  const column = (head: string, ...cells: (string | number)[]) => ({
    head,
    cell: (row: number) => cells[row]!,
    shown: "filled" as const,
  });
  const heads = (...columns: Parameters<typeof layOut<number>>[1]) => layOut([0, 1], columns)[0];
  assertEquals(
    heads(
      ...[column("empty", NOTHING, NOTHING), column("none", 0, 0), column("mixed", NOTHING, 0)],
      ...[column("first", "1", NOTHING), column("last", 0, 1), column("text", "0", "0")],
      ...[{ ...column("off", 1, 1), shown: false }, { ...column("on", 0, 0), shown: true }],
    ),
    ["first", "last", "text", "on"],
  );
  // The heading of a group moves to the first column that is left.
  assertEquals(
    heads({ ...column("a", 0, 0), group: "g" }, { ...column("b", 1, 1), group: "g" }),
    ["g: b"],
  );
});
