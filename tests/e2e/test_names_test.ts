// The names of all tests, which are made when files are loaded: what documents say of them, and what is written
// from them.

import { assert, assertEquals } from "@std/assert";
import { textOf } from "../support/documents.ts";
import { filesNamingSources } from "../support/fidelity.ts";
import { testNames } from "../support/test_names.ts";
import { writtenFiles } from "../support/written_files.ts";

Deno.test("each row of the page of attacks names a test that --filter selects", async () => {
  const rows = textOf("docs/attacks.md").split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (attack|-)/.test(line))
    .flatMap((row): { row: string; path?: string; part: string }[] => {
      const tests = [...row.matchAll(/`(tests\/[\w/]+\.ts)`: ([^;|]+)(?=;| \|$)/g)];
      if (tests.length === 0) return [{ row, part: "" }];
      return tests.map(([, path, part]) => ({ row, path: path!, part: part!.trim() }));
    });
  assert(rows.length > 10);
  // With those that are written below, as all are loaded by one process.
  const paths = rows.flatMap(({ path }) => path ?? []);
  const names = await testNames([...new Set([...paths, ...filesNamingSources()])]);
  // Names of tests may hold values, and only parts of such names are on the page.
  const wrong = rows.filter(({ path, part }) =>
    path === undefined || !names.get(path)!.some((name) => name.includes(part))
  );
  assertEquals(wrong.map(({ row, part }) => part || row), []);
});

Deno.test("types, schema.json and what is written into docs/ are what options and names of tests come to", async () => {
  for (const [path, text] of await writtenFiles()) {
    assert(
      Deno.readTextFileSync(path) === text,
      `${path} is not what lib/ and the names of tests say: run deno task tables, and read its diff`,
    );
  }
});
