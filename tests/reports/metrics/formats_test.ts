import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { estimateMean } from "../../../lib/statistics/clustered_mean.ts";
import { measureFormats } from "../../../lib/reports/metrics/_formats.ts";
import type { Api } from "../../../lib/models/formats/registry.ts";
import { type Parse, PARSES, type ReplyEvent } from "../../../lib/calls/trace.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import fc from "../../support/fast_check.ts";
import { record, type TrialTraits } from "../../support/records.ts";

/** A trial whose replies could be read so: s, r and u. */
function trial(parses: string, traits: TrialTraits = {}, api?: Api): Trial {
  const numbers = { calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 };
  const events = [...parses].map((letter, place): ReplyEvent => {
    const parsed = PARSES.find((parse) => parse.startsWith(letter))!;
    const repairs = parsed === "repaired" ? { repairs: [`call ${place} had no end`] } : {};
    return { kind: "reply", request: place + 1, text: "", ...numbers, parsed, ...repairs };
  });
  const own = record({ ...traits, events });
  return { ...own, model: { ...own.model, ...(api === undefined ? {} : { api }) } };
}

Deno.test("measureFormats() gives shares of replies, with intervals over graphs (Pipeline, Function Calling Format Comparison)", () => {
  const [formats, ...others] = measureFormats([
    trial("ssr", { seed: 1 }),
    trial("s", { seed: 1, repetition: 2 }),
    trial("ru", { seed: 2 }),
    trial("ssss", { seed: 3 }),
  ]);
  assertEquals(others, []);
  const { strictRate, usableRate, repairs, ...counts } = formats!;
  assertEquals(counts, {
    subject: { model: "m", strategy: "plain", perturbation: "none", variant: undefined },
    simulated: false,
    api: "chat",
    trials: 4,
    attempts: 10,
    strict: 7,
    repaired: 2,
    unreadable: 1,
  });
  const unit = (sum: number, count: number) => ({ sum, count });
  assertEquals(strictRate, estimateMean([unit(3, 4), unit(0, 2), unit(4, 4)]));
  assertEquals(usableRate, estimateMean([unit(4, 4), unit(1, 2), unit(4, 4)]));
  assertEquals([strictRate.mean, usableRate.mean, strictRate.units], [0.7, 0.9, 3]);
  assertEquals(repairs, [{ repair: "call N had no end", replies: 2 }]);
});

Deno.test("measureFormats() keeps models, strategies, perturbations and formats apart", () => {
  const all = measureFormats([
    trial("s", { model: "a" }, "react"),
    trial("r", { model: "a" }, "xml"),
    trial("r", { model: "a", strategy: "restate" }, "react"),
    trial("u", { model: "a", perturbation: "RD" }, "react"),
    trial("s", { model: "b", simulated: true }),
  ]);
  assertEquals(
    all.map(({ subject, api, simulated, strict }) => [
      ...[subject.model, subject.strategy, subject.perturbation, api, simulated, strict],
    ]),
    [
      ["a", "plain", "none", "react", false, 1],
      ["a", "plain", "none", "xml", false, 0],
      ["a", "restate", "none", "react", false, 0],
      ["a", "plain", "RD", "react", false, 0],
      ["b", "plain", "none", "chat", true, 1],
    ],
  );
});

Deno.test("measureFormats() leaves out trials that do not count, or of which it is not known", () => {
  assertEquals(
    measureFormats([
      trial("sss", { outcome: "invalid" }),
      trial("sss", { perturbation: "RD", changed: false }),
      trial(""),
      record(),
    ]),
    [],
  );
  assertEquals(measureFormats([]), []);
});

Deno.test("measureFormats() says the same of scores, and of trials in any order", () => {
  const traits = fc.array(
    fc.record({
      parses: fc.array(fc.constantFrom<Parse>(...PARSES), { maxLength: 6 })
        .map((all) => all.map((parse) => parse[0]).join("")),
      seed: fc.nat({ max: 3 }),
      repetition: fc.integer({ min: 1, max: 3 }),
    }),
    { maxLength: 8 },
  );
  fc.assert(fc.property(traits, (all) => {
    const trials = all.map(({ parses, ...own }) => trial(parses, own));
    const [formats] = measureFormats(trials);
    assertEquals(measureFormats(trials.map(summarize)), measureFormats(trials));
    if (formats === undefined) return assert(all.every(({ parses }) => parses === ""));
    const [turned] = measureFormats(trials.toReversed());
    const { strict, repaired, unreadable, attempts, strictRate, usableRate } = formats;
    assertEquals(strict + repaired + unreadable, attempts);
    assertEquals(strictRate.mean, strict / attempts);
    assertEquals(usableRate.mean, (strict + repaired) / attempts);
    for (const rate of [strictRate, usableRate]) {
      if (rate.interval === null) continue;
      assert(0 <= rate.interval.lower && rate.interval.lower <= rate.mean! + 1e-12);
      assert(rate.mean! - 1e-12 <= rate.interval.upper && rate.interval.upper <= 1);
    }
    assertEquals(turned!.strictRate.interval === null, strictRate.interval === null);
    assertAlmostEquals(
      turned!.strictRate.interval?.lower ?? 0,
      strictRate.interval?.lower ?? 0,
      1e-9,
    );
  }));
});
