// What Deno and Node export alike. What a process is can be seen with all permissions alone.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { deno, ROOT } from "../support/child.ts";

Deno.test("both runtimes lock files alike", async () => {
  const file = `${ROOT}/tests/support/runtime_checks.ts`;
  const { code, all } = await deno(["test", "-A", "--no-check", "--lock=tests/deno.lock", file], {
    cwd: ROOT,
  });
  assertEquals(code, 0, all);
  assertStringIncludes(all, "4 passed");
});
