// `report --svg` where there is nothing to draw, or no place for it; tests/e2e/pages/svg.ts opens what it writes.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { planSuite } from "../../lib/runs/plan.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";
import { writeJournal } from "../support/journals.ts";
import { SMALL } from "../support/suites.ts";

Deno.test("report --svg says that there are no figures, and what cannot be a folder", async () => {
  using folder = new Folder();
  const empty = writeJournal(folder, planSuite(SMALL), [], "empty.jsonl");
  const none = await toolgate(["report", empty, "--svg", folder.file("out")]);
  assertEquals(none.code, 0, none.all);
  assertStringIncludes(none.stderr, "Wrote no figures to");
  const journal = writeJournal(folder, planSuite(SMALL));
  for (const target of [journal, folder.write("file", "x")]) {
    const { code, stderr } = await toolgate(["report", journal, "--svg", target]);
    assertEquals(code, 2, stderr);
    assertEquals(stderr.split("\n").filter((line) => /^\s+at /.test(line)), []);
  }
});
