// How the names of tests become the list of docs/what_holds.md; that it is there is held by
// tests/e2e/test_names_test.ts.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ROOT } from "../support/child.ts";
import { listShown, shownBy, SOURCES } from "../support/fidelity.ts";
import { outsideTest, SOURCE_TEXTS } from "../support/outside_data.ts";

const PAGE = Deno.readTextFileSync(`${ROOT}/docs/fidelity.md`);

Deno.test("names of tests have sources with sections of theirs in the brackets at their ends", () => {
  const of = (...pairs: [string, string][]) =>
    pairs.map(([source, section]) => ({ source, section }));
  assertEquals(shownBy("it holds (FuncBenchGen 3.2)"), {
    statement: "it holds",
    of: of(["FuncBenchGen", "3.2"]),
  });
  const long = "f() holds (FuncBenchGen 3.2, A.1; Indirection, thinking silently, Inflexible)";
  assertEquals(shownBy(`${long} (ignored: X does not lead to data)`), {
    statement: "f() holds",
    of: of(
      ["FuncBenchGen", "3.2"],
      ["FuncBenchGen", "A.1"],
      ["Indirection", "Thinking silently"],
      ["Indirection", "Inflexible"],
    ),
  });
  assertEquals(shownBy("Butterfly 4.1, Pipeline"), undefined);
  for (
    const name of ["plain", "f() holds", "of a model (simulated)", "(chat) is told", "it (is Ok)"]
  ) {
    assertEquals(shownBy(name), undefined);
  }
  const wrong: [name: string, why: string][] = [
    ["it holds (FuncBenchGen 3.9)", 'FuncBenchGen has no section "3.9"'],
    ["it holds (FuncBenchGen 3.2, Table 2)", 'FuncBenchGen has no section "Table 2"'],
    ["it holds (Indirection, Silence)", 'Indirection has no section "Silence"'],
    ["it holds (Butterfly)", "each source must have a section"],
    ["it holds (CallNavi 5.1; Butterfly)", "each source must have a section"],
    ["it holds (Butterfly 4.1, CallNavi)", "each source must have a section"],
    ["it holds (FuncBenchgen 3.2)", "there is no source FuncBenchgen"],
    ["it holds (Appendix B.2)", "there is no source Appendix"],
    ["it (FuncBenchGen 3.2) holds", "the brackets with FuncBenchGen must end its name"],
  ];
  for (const [name, why] of wrong) assertThrows(() => shownBy(name), Error, why);
});

Deno.test("the list of what holds has each statement under each of its sections, in their order", () => {
  const names = new Map([
    ["tests/b_test.ts", ["two *hold* (CallNavi 5.1, 4.1)", "nothing", "one holds (Butterfly 3)"]],
    ["tests/c_test.ts", ["three hold (CallNavi 4.1)", "three hold (CallNavi 4.1)"]],
  ]);
  assertEquals(listShown(names).split("\n"), [
    "## Butterfly",
    "",
    "**3 Failure taxonomy construction**",
    "",
    "- `tests/b_test.ts`",
    "  - one holds",
    "",
    "## CallNavi",
    "",
    "**4.1 Dataset**",
    "",
    "- `tests/b_test.ts`",
    "  - two \\*hold\\*",
    "- `tests/c_test.ts`",
    "  - three hold",
    "",
    "**5.1 API parameters AST match**",
    "",
    "- `tests/b_test.ts`",
    "  - two \\*hold\\*",
  ]);
});

/** Letters and digits alone, as headings are written in several ways. */
const bare = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9.]+/g, " ").trim();

outsideTest("the sections that names may have are those of the sources", SOURCE_TEXTS, (folder) => {
  const texts = [...Deno.readDirSync(folder)].map(({ name }) => name).sort()
    .map((name) => Deno.readTextFileSync(`${folder}/${name}`).split("\n").map(bare));
  assertEquals(texts.length, Object.keys(SOURCES).length);
  for (const [place, [source, sections]] of Object.entries(SOURCES).entries()) {
    const missing = sections.filter((section) =>
      !texts[place]!.some((line) => line.startsWith(bare(section)))
    );
    assertEquals(missing, [], source);
  }
});

Deno.test("each row of departures names a source and a section that there is", () => {
  const [, table] = /\n## Departures\n(.*?)\n## /s.exec(PAGE)!;
  const rows = table!.split("\n").filter((line) => /^\| (?!source|-)/.test(line));
  assert(rows.length > 20, `${rows.length}`);
  for (const row of rows) {
    const [, source, sections, what, why] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    shownBy(`it departs (${source}, ${sections})`);
    assert(what !== "" && why !== "", row);
  }
});
