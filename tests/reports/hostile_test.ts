// Journals full of what could run, steer, hide or break something, through reports for terminals, Markdown and JSON;
// tests/e2e/pages/hostile.ts opens their page.
// Runs without counters of lines.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { toolgate } from "../support/command_line.ts";
import { assertNothingHidden, EVIL, shownOf, SUITE, theReport } from "../support/hostile_report.ts";
import { assertInert } from "../support/markdown.ts";

Deno.test("hostile names reach a terminal visibly escaped", async () => {
  const { journal, written } = await theReport("markdown", "json");
  const { stdout, stderr, code, all } = await toolgate(["report", journal]);
  assertEquals(code, 0, all);
  assertNothingHidden(stdout + stderr + written.stdout + written.stderr, "the terminal");
  for (const evil of EVIL) assertStringIncludes(stdout, shownOf(evil).slice(0, 60));
});

Deno.test("hostile names in Markdown are text", async () => {
  const { place } = await theReport("markdown", "json");
  const text = Deno.readTextFileSync(place.file("evil.markdown"));
  assertNothingHidden(text, "Markdown");
  // No tag, no link, no emphasis; and no cell more than a table has columns.
  assertInert(text);
  const rows = text.trimEnd().split("\n\n").filter((part) => part.startsWith("| "));
  for (const table of rows) {
    const widths = new Set(table.split("\n").map((row) => row.split(/(?<!\\)\|/).length));
    assertEquals(widths.size, 1, table.slice(0, 300));
  }
});

Deno.test("hostile names in JSON are as they were", async () => {
  const { place } = await theReport("markdown", "json");
  const { suite, metrics } = JSON.parse(Deno.readTextFileSync(place.file("evil.json")));
  assertEquals(suite, SUITE);
  const names = new Set(metrics.overview.map(({ model }: { model: string }) => model));
  for (const [text] of EVIL) assert(names.has(text), text);
  assertEquals(
    metrics.comparisons.filter(({ of }: { of: string }) => of === "strategy")
      .map(({ strategy }: { strategy: string }) => strategy),
    EVIL.map(([text]) => text),
  );
});
