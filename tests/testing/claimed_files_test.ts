import { assertEquals } from "@std/assert";
import { claimFile } from "../../lib/testing/_claimed_files.ts";

Deno.test("claimFile() leaves room for processes that tests start", async () => {
  const before = Object.keys(Deno.env.toObject());
  for (let test = 0; test < 2_000; test++) {
    const file = `/results/of/a/project/with/long/names/of/tests/${test}_${"x".repeat(60)}.jsonl`;
    claimFile({ name: `${test}`, subject: `tool test ${test}` }, file, "trials");
  }
  const added = Object.keys(Deno.env.toObject()).filter((name) => !before.includes(name));
  try {
    const { success } = await new Deno.Command(Deno.execPath(), { args: ["--version"] }).output();
    assertEquals(success, true);
  } finally {
    for (const name of added) Deno.env.delete(name);
  }
});
