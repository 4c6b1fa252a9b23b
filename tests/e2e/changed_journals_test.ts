// Journals that were changed by hand, and are resumed by `deno test`.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, endedIn, folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { changeTrial, linesOf } from "../support/journals.ts";

Deno.test("deno test without a gate fails before it runs anything beside a changed trial, and with one decides nothing", async () => {
  await using place = await folder();
  const file = place.write(
    "a_test.ts",
    `import { benchmark } from ${JSON.stringify(`${ROOT}/mod.ts`)};
const shared = { tasks: { core: 3, depth: 2 }, seed: 1 };
benchmark("gated", {
  ...{ ...shared, model: "sim:noisy?stale=0.5&seed=1", graphs: 6 },
  gate: { successRate: 0.3, margin: 0.29, confidence: 0.6 },
});
benchmark("plain", { ...shared, model: "sim:planner", graphs: 4 });
`,
  );
  const [gated, plain] = ["gated", "plain"].map((name) => place.file(`out/${name}.jsonl`));
  const test = ["test", "-A", "--no-check", file, "--", `--out=${place.file("out/")}`];
  const whole = await deno(test);
  assertStringIncludes(whole.stdout, "PASS", whole.all);

  changeTrial(gated!, ({ solved }) => !solved, () => ({ outcome: "solved", solved: true }));
  const kept = readLines(plain!).slice(0, -1);
  Deno.writeTextFileSync(plain!, linesOf(kept));
  changeTrial(plain!, () => true, ({ calls }) => ({ calls: calls + 1 }));
  const changed = await deno([...test, "--resume"]);
  assertEquals(changed.code, 1, changed.all);
  assertMatch(changed.stdout, /INVALID: Cannot judge .* disagrees with its own events: outcome is/);
  assertMatch(
    changed.stdout,
    /The trial was not run: Cannot judge .* disagrees with its own events/,
  );
  const ends = endedIn(changed).flatMap(([name, end]) => name.startsWith("plain > ") ? [end] : []);
  assertEquals(ends.sort(), ["FAILED", "FAILED", "FAILED", "FAILED"], changed.all);
  assertEquals(readLines(plain!).length, kept.length);
  const { code, stdout, all } = await toolgate(["report", plain!]);
  assertEquals(code, 0, all);
  assertMatch(stdout, /Cannot judge .* disagrees with its own\s+events/);
});
