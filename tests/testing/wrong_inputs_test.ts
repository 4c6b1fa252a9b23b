// Wrong inputs as users make them: what is said, in how many lines, with which exit code.

import {
  assert,
  assertEquals,
  assertGreaterOrEqual,
  assertLessOrEqual,
  assertMatch,
} from "@std/assert";
import {
  contentOf,
  toldOf,
  WRONG_INPUTS,
  wrongProject,
  wrongServers,
} from "../support/wrong_inputs.ts";

Deno.test({
  name: "every wrong input gets one message of at most three lines, and changes no file",
  // What is refused stays registered with the process.
  ...{ sanitizeOps: false, sanitizeResources: false },
}, async (context) => {
  await using project = await wrongProject();
  await using servers = await wrongServers();
  const before = contentOf(project);
  const inputs = Object.entries(WRONG_INPUTS).flatMap(([kind, all]) =>
    all.map((input) => ({ ...input, kind }))
  );
  assertGreaterOrEqual(inputs.length, 80);
  for (const input of inputs) {
    const { kind, what, says, line, notes = 0, code = line === undefined ? 1 : 2 } = input;
    await context.step(`${kind}: ${line === undefined ? "" : "toolgate: "}${what}`, async () => {
      const { message, frames, times, code: ended, all } = await toldOf(input, {
        project,
        ...servers,
      });
      assertMatch(message, says, all);
      assertEquals([ended, times], [code, 1], all);
      assertLessOrEqual(message.split("\n").length, 3 + notes, all);
      assertEquals(frames.filter((frame) => frame.includes("/lib/")), [], all);
      assert(!/\[object |TypeError: Cannot read/.test(message), all);
    });
  }
  // The first of two benchmarks with one journal has it.
  const { "both.jsonl": _, ...after } = contentOf(project);
  assertEquals(after, before);
});
