// Types in a user's own project, which has compiler options of its own and none of the library's.

import { assertEquals } from "@std/assert";
import { deno, folder } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

Deno.test("the task check of toolgate init finds nothing wrong in what init writes", async () => {
  await using place = await folder();
  const made = await toolgate(["init", place.path]);
  assertEquals(made.code, 0, made.all);
  const { code, all } = await deno(["task", "check"], { cwd: place.path });
  assertEquals(code, 0, all);
});
