// Names that hosts of MCP make of ours, as they stand in requests and replies.

import { assertEquals } from "@std/assert";
import { OfferedNames } from "../../../lib/trials/tap/_offered_names.ts";
import fc from "../../support/fast_check.ts";

const named = (...names: string[]) => names.map((name) => ({ name }));

/** What stands before the names in hosts that are in use. */
const PREFIXES = [
  "mcp__toolgate__",
  "mcp_toolgate_",
  "toolgate_",
  "toolgate.",
  "toolgate-",
  "Toolgate:",
];

Deno.test("OfferedNames reads names without the server's, whatever stands before, and invented ones too", () => {
  for (const prefix of PREFIXES) {
    const own = ["weather", "get_weather", "_weather", "submit_answer"];
    const names = new OfferedNames(own);
    assertEquals(names.plain(`${prefix}weather`), `${prefix}weather`);
    const others = ["bash", "toolgat_weather", "mcp__github__weather", "my_toolgate_2_weather"];
    names.learn(named(...others, ...own.map((name) => prefix + name)));
    for (const name of [...own, "wether", ""]) assertEquals(names.plain(prefix + name), name);
    for (const name of ["weather", ...others]) {
      assertEquals(names.plain(name), name);
    }
  }
});

Deno.test("OfferedNames takes no other function for one of the server's", () => {
  const names = new OfferedNames(["weather", "toolgate_rain"]);
  const others = ["mcp__github__weather", "weather_toolgate", "toolgateweather", "my_weather"];
  names.learn(named(...others, "toolgate_rain"));
  for (const name of [...others, "toolgate_rain", "toolgate_snow"]) {
    assertEquals(names.plain(name), name);
  }
});

Deno.test("OfferedNames names a choice as the request does", () => {
  const names = new OfferedNames(["weather"]);
  const tools = named("bash", "mcp__toolgate__weather");
  names.learn(tools);
  assertEquals(names.choiceIn(tools, { function: "weather" }), {
    function: "mcp__toolgate__weather",
  });
  assertEquals(names.choiceIn(named("bash"), { function: "weather" }), { function: "weather" });
  assertEquals(names.choiceIn(tools, "required"), "required");
  assertEquals(names.choiceIn(tools, undefined), undefined);
});

Deno.test("OfferedNames gives every function its own name back", () => {
  const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
  fc.assert(fc.property(
    fc.uniqueArray(name, { minLength: 1, maxLength: 6 }),
    fc.constantFrom(...PREFIXES),
    (own, prefix) => {
      const names = new OfferedNames(own);
      names.learn(named(...own.map((one) => prefix + one)));
      assertEquals(own.map((one) => names.plain(prefix + one)), own);
      assertEquals(own.map((one) => names.plain(one)), own);
    },
  ));
});
