// `plan --series`, as users meet it: sizes of releases, and what is simulated of series of them.

import { assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { type Ended, toolgates } from "../support/command_line.ts";

Deno.test("plan --series sizes releases, and tells what it has simulated", async () => {
  const line = ["plan", "--series", "2", "--graphs", "300", "--rate", "0.9", "--json"];
  const [{ stdout }] = await toolgates([line]) as [Ended];
  const { shared, fresh, discordance, series } = JSON.parse(stdout);
  assertEquals([series, shared.graphs, fresh.graphs, discordance], [10_000, 300, 300, 0.18]);
  for (const { worse, equal } of [shared, fresh]) {
    assertLess(worse.decisions, 0.055);
    assertLess(equal.all, equal.decisions);
  }
});

Deno.test("plan --series refuses what it cannot plan", async () => {
  const wrong: [string[], string][] = [
    [["--series", "0"], "--series must be a whole number from 1 on: it is 0"],
    [["--series", "101"], "it has at most 100 releases: it has 101"],
    [["--series", "5", "--cases", "3"], "--series goes without --cases"],
    [["--series", "5", "--rate", "1"], "rate must be between 0 and 1: it is 1"],
    [["--series", "5", "--discordance", "0.4"], "discordance must be above 0 and at most 0.32"],
    [["suite.jsonc", "--series", "5"], "--series goes without a file"],
  ];
  const results = await toolgates(wrong.map(([line]) => ["plan", ...line]));
  for (const [place, { code, stderr }] of results.entries()) {
    assertEquals(code, 2);
    assertStringIncludes(stderr, wrong[place]![1]);
  }
});
