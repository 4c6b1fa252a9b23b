// What `plan --series` simulates of series of releases, and how it is told.

import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { toolgates } from "../support/command_line.ts";

Deno.test("plan --series sizes releases and simulates series of them", async () => {
  const [text, json, given, high] = await toolgates([
    ["plan", "--series", "5"],
    ["plan", "--series", "5", "--json"],
    ["plan", "--series", "2", "--graphs", "300", "--rate", "0.9", "--json"],
    ["plan", "--series", "2", "--rate", "0.98"],
  ]);
  assertEquals([text!.code, json!.code, given!.code, high!.code], [0, 0, 0, 0], text!.all);
  const { shared, fresh, discordance, series, step } = JSON.parse(json!.stdout);
  assertEquals([series, discordance, step], [10_000, 0.2, 0.015]);
  assertEquals([shared.graphs, fresh.graphs], [1048, 1665]);
  for (const { worse, equal, slide } of [shared, fresh]) {
    assertLess(worse.decisions, 0.055);
    assert(worse.any > 0.14 && worse.any < 0.2);
    assert(equal.decisions > 0.95 && equal.all < equal.decisions);
    assert(
      slide.last.end > 0.1 && slide.anchor.end < 0.005 && slide.anchor.all <= slide.anchor.end,
    );
  }
  // Of 10,000 series, so that what is below a tenth of a percent is shown to the hundredth.
  const percent = (share: number) =>
    `${(100 * share).toFixed(share > 0 && share < 0.0005 ? 2 : 1)}%`;
  const row = (name: string, one: number, other: number) =>
    assertMatch(text!.stdout, new RegExp(`${name} +${percent(one)} +${percent(other)}\n`));
  row("accepted, of all decisions", shared.worse.decisions, fresh.worse.decisions);
  row("one or more of 5 accepted, of all series", shared.worse.any, fresh.worse.any);
  row("accepted, of all decisions", shared.equal.decisions, fresh.equal.decisions);
  row("all 5 accepted, of all series", shared.equal.all, fresh.equal.all);
  row(
    "the last accepted, against the one before alone",
    shared.slide.last.end,
    fresh.slide.last.end,
  );
  row(
    "the last accepted, against the first as well",
    shared.slide.anchor.end,
    fresh.slide.anchor.end,
  );
  assertStringIncludes(text!.stdout, "could be accepted in 22.6% of series.\n");
  const of300 = JSON.parse(given!.stdout);
  assertEquals([of300.shared.graphs, of300.fresh.graphs, of300.discordance], [300, 300, 0.18]);
  // At 98% two releases differ on too few graphs to plan with pairs.
  assertMatch(high!.stdout, /graphs of each, [^\n]* none +\d+\n/);
});
