import { assert, assertEquals } from "@std/assert";
import fc from "../../support/fast_check.ts";
import { says } from "../../../lib/calls/values/says.ts";

Deno.test("says finds words and numbers by value, and not within longer ones", () => {
  const rows: [text: string, wanted: string | string[], is: boolean][] = [
    ["The total is **$1,234.50**.", "1234.5", true],
    ["It is 1234.5 dollars", "$1,234.50", true],
    ["1.234,50 € or 1'234.50", "1234.5", true],
    ["1\u202f234", "1,234", true],
    ["it costs -$.50", "-0.5", true],
    ["共12个 １２", "12", true],
    ...[
      "123",
      "12.5",
      "A12",
      "ORD-12",
      "1.12",
      "12,5",
      "2026-12-30",
      "10:12",
      "5–12 days",
      "12kg",
      "-12",
    ]
      .map((text): [string, string, boolean] => [text, "12", false]),
    ["12345678901234567890", "12345678901234567891", false],
    ["a party", "art", false],
    ["Art! Don’t  STRASSE “Yes”", ["x", "don't straße 'yes'"], true],
    ["东京都", "京都", true],
    ["서울에서", "서울", true],
    ["a a a b", "a a b", true],
    ["anything", ["", "**"], false],
  ];
  for (const [text, wanted, is] of rows) {
    assertEquals(says(text, wanted), is, `${text} says ${wanted}`);
  }
});

Deno.test("says finds every number as it may be written, and no other one", () => {
  fc.assert(fc.property(
    fc.nat(10 ** 9),
    fc.integer({ min: 0, max: 99 }),
    fc.nat(10 ** 9),
    (whole, cents, other) => {
      const number = (100 * whole + cents) / 100;
      const text = `You get $${number.toLocaleString("en", { minimumFractionDigits: 2 })} back.`;
      assert(says(text, String(number)) && says(`You get ${number}.`, text.slice(8, -6)));
      assertEquals(says(text, String(other)), other === number);
    },
  ));
});

Deno.test("says takes any text: what a text contains as words is said, whatever stands around", () => {
  fc.assert(fc.property(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "binary" }),
    fc.string({ unit: "binary" }),
    (before, wanted, after) => {
      const isAny = says(wanted, wanted);
      assertEquals(says(`${before} . ${wanted} ; ${after}`, wanted), isAny);
    },
  ));
  // It would take hours if it were quadratic in any of these.
  for (const part of ["_", "a_", "1,", "'", "-", "$", "\u0301\u0323", "東", "a "]) {
    says(part.repeat(300_000), `${part.repeat(150_000)}b`);
  }
});
