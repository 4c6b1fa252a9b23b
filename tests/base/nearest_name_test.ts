// What a mistyped name probably means.

import { assertEquals } from "@std/assert";
import { didYouMean, nearestName, nearestOrAll } from "../../lib/base/nearest_name.ts";

const KNOWN = ["run", "gate", "seed", "model", "temperature", "max-tokens", "max-usd", "perturb"];

Deno.test("nearestName() finds what a slip of the keyboard means, and guesses no further", () => {
  const meant: Record<string, string | undefined> = {
    "gatee": "gate",
    "rnu": "run",
    "Seed": "seed",
    "modle": "model",
    "models": "model",
    "temp": "temperature",
    "maxTokens": "max-tokens",
    "max-toknes": "max-tokens",
    "pertrub": "perturb",
    // Two of them begin so.
    "max": undefined,
    "ru": "run",
    "lemberature": "temperature",
    "lemberadure": undefined,
    "date": undefined,
    "frobnicate": undefined,
    "": undefined,
  };
  for (const [unknown, name] of Object.entries(meant)) {
    assertEquals(nearestName(unknown, KNOWN), name, unknown);
  }
  // Of two, the nearer one.
  assertEquals(nearestName("report", ["repost", "reports", "resort"]), "repost");
  assertEquals(nearestName("repeats", ["repeat-it", "repeat"]), "repeat");
});

Deno.test("nearestName() takes a name that may be right for a slip only where it is sure", () => {
  const surely = { surely: true };
  assertEquals(nearestName("temprature", KNOWN, surely), "temperature");
  for (const own of ["send", "models", "temp"]) {
    assertEquals(nearestName(own, KNOWN, surely), undefined, own);
  }
});

Deno.test("nearestOrAll() lists all names where none is near, and only few", () => {
  assertEquals(nearestOrAll("gatee", ["run", "gate"]), "; did you mean gate?");
  assertEquals(nearestOrAll("frobnicate", ["run", "gate"]), "; there are run, gate");
  assertEquals(nearestOrAll("x", []), "");
  assertEquals(nearestOrAll("x", Array.from({ length: 30 }, (_, at) => `n${at}`)), "");
  assertEquals(nearestOrAll("x", ["y".repeat(500)]), "");
  assertEquals(didYouMean("frobnicate", ["run", "gate"]), "");
});
