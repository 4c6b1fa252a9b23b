import { assert, assertEquals } from "@std/assert";
import fc from "../support/fast_check.ts";
import { providerNames } from "../../lib/tools/provider_names.ts";

Deno.test("providerNames() keeps accepted names, and writes others so that none are alike", () => {
  assertEquals(
    providerNames(["db.query", "db_query", "db/query", "größe", "", "get-env"]),
    ["db_query_2", "db_query", "db_query_3", "gr__e", "_", "get-env"],
  );
  const long = "x".repeat(70);
  assertEquals(providerNames([long, `${long}y`]), ["x".repeat(64), `${"x".repeat(62)}_2`]);
});

Deno.test("names for providers are accepted, distinct, and as many as were given", () => {
  const names = fc.array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.stringMatching(/^[a-b._]{0,3}$/),
      fc.string({ minLength: 60, maxLength: 70 }),
    ),
  );
  fc.assert(fc.property(names, (given) => {
    const written = providerNames(given);
    assertEquals(written.length, given.length);
    assertEquals(new Set(written).size, written.length);
    assert(written.every((name) => /^[\w-]{1,64}$/.test(name)), JSON.stringify(written));
  }));
});
