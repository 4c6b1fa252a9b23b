import { assert, assertEquals } from "@std/assert";
import fc from "../../support/fast_check.ts";
import { says } from "../../../lib/calls/values/says.ts";

Deno.test("says() finds words and numbers by value, and not within longer ones", () => {
  const rows: [wanted: string | string[], said: string[], unsaid: string[]][] = [
    ["1234.5", ["**$1,234.50**.", "1.234,50 €", "1'234.50", "1\u202f234.5"], []],
    ["1234.5", [], ["11,234.50", "-1234.5", "1 234.5"]],
    ["-0.5", ["-$.50"], ["0.5"]],
    ["12", ["共12个", "１２%", "12-day"], ["123", "12.5", "A12", "ORD-12", "12,5", "12kg", "-12"]],
    ["12", [], ["2026-12-30", "10:12", "5–12 days", "1.12.2026"]],
    ["12345678901234567890", ["12345678901234567890"], ["12345678901234567891"]],
    [["x", "art"], ["ART!"], ["party", "", "an ar t"]],
    ["don't straße 'yes'", ["Don’t  STRASSE “Yes”"], ["don't yes"]],
    ["京都", ["东京都"], ["京 成"]],
    ["a a b", ["a a a b"], ["a ab"]],
    [["", "**"], [], ["", "**", "any"]],
  ];
  for (const [wanted, said, unsaid] of rows) {
    assertEquals([...said, ...unsaid].filter((text) => says(text, wanted)), said);
  }
});

Deno.test("says() finds every number as it may be written, and no other one", () => {
  const number = fc.nat(10 ** 11).map((cents) => cents / 100);
  fc.assert(fc.property(number, number, (one, other) => {
    const text = `$${one.toLocaleString("en", { minimumFractionDigits: 2 })}`;
    assert(says(`You get ${text} back.`, `${one}`) && says(`You get ${one}.`, text));
    assertEquals(says(text, `${other}`), other === one);
  }));
});

Deno.test("says() takes any text, however long", () => {
  const any = fc.string({ unit: "binary" });
  fc.assert(fc.property(any, any, any, (before, wanted, after) => {
    assertEquals(says(`${before} . ${wanted} ; ${after}`, wanted), says(wanted, wanted));
  }));
  // It would take hours if it were quadratic in any of these.
  for (const part of ["_", "a_", "1,", "'", "-", "$", "\u0301\u0323", "東", "a "]) {
    says(part.repeat(300_000), `${part.repeat(150_000)}b`);
  }
});
