// Property tests run with one seed, unless a fresh one is asked for: a failure is never a matter of luck.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import fc, { SEED } from "../support/fast_check.ts";

const TESTS = new URL("../", import.meta.url);

function* modulesIn(folder: URL): Generator<URL> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* modulesIn(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield new URL(name, folder);
  }
}

Deno.test("tests import fast-check from tests/support/fast_check.ts, which sets the seed", () => {
  const importing = [...modulesIn(TESTS)].filter((url) =>
    /^import .* from "fast-check"/m.test(Deno.readTextFileSync(url))
  );
  assertEquals(importing.map(({ href }) => href), [new URL("support/fast_check.ts", TESTS).href]);
});

Deno.test("a property draws the same inputs each time, and prints its seed where it fails", () => {
  const draw = () => fc.sample(fc.maxSafeInteger(), 20);
  assertEquals(draw(), draw());
  assertNotEquals(draw(), fc.sample(fc.maxSafeInteger(), { seed: SEED + 1, numRuns: 20 }));
  const { seed, failed } = fc.check(fc.property(fc.nat(), () => false));
  assertEquals([seed, failed], [SEED, true]);
  const failure = fc.defaultReportMessage(fc.check(fc.property(fc.nat(), () => false)));
  assertMatch(failure!, new RegExp(`seed: ${SEED}, path: `));
});
