// The page of a run that goes on, without a server; tests/e2e/live_test.ts serves it.

import { assertMatch } from "@std/assert";
import { LivePage } from "../../lib/reports/live.ts";
import { planOf, record } from "../support/records.ts";

Deno.test("a live page says when its last trial ended, if that is some time ago", async () => {
  const old = record({ startedAt: "2026-01-01T00:00:00.000Z" });
  const now = record({ startedAt: new Date().toISOString() });
  const textOf = async (trial: typeof old) => {
    const page = new LivePage({ suite: "s", planned: planOf([trial]), rerun: () => "again" });
    page.see(trial);
    return JSON.parse(String((await page.find("state"))!.body)).text;
  };
  assertMatch(await textOf(old), / tokens; the last trial ended \d+ h \d+ min ago$/);
  assertMatch(await textOf(now), / tokens$/);
});
