// The commands of README and docs are run in a copy of the project. What their suites come to is held against the
// tables of fixtures/README.md by tests/reports/experiments_test.ts and tests/soak/experiments.ts.

import { assert, assertEquals } from "@std/assert";
import { toolgates } from "../support/command_line.ts";
import { blocksOf, PAGES, shell, shellLines, unchecked, Workplace } from "../support/documents.ts";

/** Once each, in the order of the pages. */
const LINES = [
  ...new Set([...shellLines("deno task toolgate"), ...shellLines("deno test -A fixtures/")]),
];

/** The words of a command, as a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
}

/** The graphs of suites, as many as their gates need; of all others one graph a cell shows as much. */
const GRAPHS: Readonly<Record<string, number>> = { quick: 3, nightly: 5, release: 10 };

/** A gate that needs all graphs of its suite: tests/reports/experiments_test.ts has its verdict. */
const UNDECIDED = "deno task toolgate gate results/errors.jsonl";

/** A suite of this many graphs. */
const withGraphs = (text: string, graphs: number) =>
  text.replace(/"graphs": \d+,/, `"graphs": ${graphs},`);

Deno.test("the suites of all pages run", async () => {
  const suites = PAGES.flatMap((page) => blocksOf(page, "jsonc"));
  assert(suites.length > 3, `there are ${suites.length}`);
  await using place = await Workplace.make();
  // Paths in a suite are relative to its file.
  const paths = suites.map((_, index) => `${place.clone}/page_${index + 1}.jsonc`);
  paths.forEach((path, index) => Deno.writeTextFileSync(path, withGraphs(suites[index]!, 1)));
  for (const { code, all } of await toolgates(paths.map((path) => ["run", path]))) {
    assertEquals(code, 0, all);
  }
});

Deno.test("the commands of all pages run in a clone", async () => {
  assert(LINES.length > 40, `there are ${LINES.length}`);
  await using place = await Workplace.make();
  for (const folder of ["suites", "ci"].map((name) => `${place.clone}/fixtures/${name}`)) {
    for (const { name } of Deno.readDirSync(folder)) {
      if (!name.endsWith(".jsonc")) continue;
      const text = Deno.readTextFileSync(`${folder}/${name}`);
      const graphs = GRAPHS[name.slice(0, -".jsonc".length)] ?? 1;
      Deno.writeTextFileSync(`${folder}/${name}`, withGraphs(text, graphs));
    }
  }
  // Plain commands in this process, what needs a shell or starts tests after them; and of pages one, as all are alike.
  const isPlain = (line: string) => /^deno task (?!.*\*|toolgate score traces)/.test(line);
  const isPage = (line: string) => / report \S+ --html \S+$/.test(line);
  // tests/e2e/dimensions_commands_test.ts runs what has to do with dimensions.
  const isLeftOut = (line: string) =>
    isPage(line) && line !== LINES.find(isPage) || line.includes("dimensions");
  const plain = LINES.filter((line) => isPlain(line) && !isLeftOut(line));
  const ended = await toolgates(plain.map((line) => wordsOf(line).slice(3)), { cwd: place.clone });
  assert(plain.includes(UNDECIDED));
  for (const [at, { code, all }] of ended.entries()) {
    assertEquals(code, plain[at] === UNDECIDED ? 3 : 0, `${plain[at]}\n${all}`);
  }
  for (
    const line of LINES.filter((line) => !isPlain(line) && !isLeftOut(line)).toSorted().toReversed()
  ) {
    const { code, output } = await shell(unchecked(line), place.clone);
    assertEquals(code, 0, `${line}\n${output}`);
  }
});
