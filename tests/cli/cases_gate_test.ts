// Plans of gates over the cases of own tests.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { toolgates } from "../support/command_line.ts";

Deno.test("plan --cases sizes gates over cases in trials of each", async () => {
  const [text, json, alone] = await toolgates([
    ["plan", "--cases", "12", "--every", "0.9"],
    ["plan", "--cases", "12", "--json"],
    ["plan", "--every", "0.9"],
  ]);
  assertEquals([text!.code, json!.code, alone!.code], [0, 0, 2], text!.all);
  assertStringIncludes(
    text!.stdout,
    "Of own tests, with 12 cases, trials of each:\n" +
      "  absolute gate, fixed size            63\n" +
      "  upgrade gate, fixed size             73\n" +
      "  to prove a complete change of one    6\n" +
      "  every case at 90.0%                  29 if all are solved; 89 for cases at 99.0% to pass with 95.0%",
  );
  const { sizes, cases } = JSON.parse(json!.stdout);
  assertEquals(cases, { cases: 12, absolute: 63, paired: 73, changed: 6 });
  assertEquals(Math.ceil(sizes.absolute / 12), 63);
  assertStringIncludes(alone!.stderr, "--every needs --cases");
});
