import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "../../../lib/tasks/questions/stability.ts";
import fc from "../../support/fast_check.ts";
import { GOLDEN, outsideTest } from "../../support/outside_data.ts";

Deno.test("electionStability() of the paper's examples (CallNavi 5.3, D)", () => {
  const table: [string, number | null][] = [
    ["AAAAA", 1],
    ["AABBC", 0],
    ["AABCD", 0.25],
    ["AAABB", 1 / 3],
    ["AAABC", 0.5],
    ["AAAAB", 0.75],
    ["ABCDE", 0],
    ["A", 1],
    ["", null],
  ];
  for (const [outputs, stability] of table) {
    assertEquals(electionStability([...outputs]), stability, outputs);
  }
  assertEquals(electionStability(["__proto__", "constructor", "__proto__"]), 0.5);
});

/** Levenshtein's distance as it is defined, in code points. */
function distance(one: readonly string[], other: readonly string[]): number {
  let row = [...other.keys(), other.length];
  for (const [place, character] of one.entries()) {
    const next = [place + 1];
    for (const [at, own] of other.entries()) {
      next.push(Math.min(next[at]! + 1, row[at + 1]! + 1, row[at]! + (own === character ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1)!;
}

Deno.test("levenshteinStability() is the mean likeness to the first, in code points (CallNavi 5.3)", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "\u{1f600}", "\u{1f601}", "\ud83d", "\u00e9"),
  });
  fc.assert(
    fc.property(text, fc.array(text, { minLength: 1, maxLength: 4 }), (first, later) => {
      const expected = later.map((other) => {
        const [one, two] = [[...first], [...other]];
        const longest = Math.max(one.length, two.length);
        return longest === 0 ? 1 : 1 - distance(one, two) / longest;
      });
      const mean = expected.reduce((sum, alike) => sum + alike, 0) / later.length;
      assertAlmostEquals(levenshteinStability([first, ...later])!, mean, 1e-14);
    }),
  );
});

Deno.test("levenshteinStability() of few outputs, and of those that are alike", () => {
  assertEquals(levenshteinStability([]), null);
  assertEquals(levenshteinStability(["a"]), null);
  assertEquals(levenshteinStability(["", ""]), 1);
  assertEquals(levenshteinStability(["", "a"]), 0);
  assertEquals(levenshteinStability(["wxyz", "abcd", "abcd"]), 0, "the first one counts");
  assertAlmostEquals(levenshteinStability(["\u{1f600}b", "\u{1f601}b"])!, 0.5);
});

Deno.test("levenshteinStability() compares long outputs as far as 20,000 code points", () => {
  const start = "\u{1f600}".repeat(19_999);
  const scores = ["aa", "ab", "ba"].map((end) => levenshteinStability([`${start}aa`, start + end]));
  assertEquals(scores[0], 1);
  assertEquals(scores[1], 1);
  assertAlmostEquals(scores[2]!, 1 - 1 / 20_000, 1e-12);
  const huge = ["a", "b"].map((letter) => letter.repeat(5_000_000));
  assertEquals(levenshteinStability(huge), 0);
});

Deno.test("normalizeOutput() drops quotes, brackets, spaces, line breaks, backticks and backslashes (CallNavi 5.3)", () => {
  assertEquals(normalizeOutput(" [\"A\", 'b'\n`c`\\]"), "a,bc");
  assertEquals(normalizeOutput("{x:\t(1)}\r;"), "{x:\t(1)}\r;");
  fc.assert(fc.property(fc.string({ unit: fc.character() }), (text) => {
    const normal = normalizeOutput(text);
    assert(!/["'[\]\n `\\]/.test(normal));
    assertEquals(normalizeOutput(`['${text}' ]\n`), normal);
  }));
});

Deno.test("stabilities are within 0 and 1, whatever the order of votes", () => {
  const outputs = fc.array(fc.constantFrom("a", "b", "cc", "", "\ud800"), { minLength: 2 });
  fc.assert(fc.property(outputs, (given) => {
    const election = electionStability(given)!;
    for (const score of [election, levenshteinStability(given)!]) assert(score >= 0 && score <= 1);
    assertEquals(electionStability(given.toReversed()), election);
    assertEquals(election === 1, new Set(given).size === 1);
  }));
});

outsideTest("stabilities are those of another program (CallNavi 5.3)", GOLDEN, (folder) => {
  const { records } = JSON.parse(Deno.readTextFileSync(`${folder}/stability.json`));
  assert(records.length > 10);
  for (const { n, outputs, election, levenshtein, normalized } of records) {
    const texts = outputs.map(normalizeOutput);
    assertEquals(texts, normalized.outputs, `${n}`);
    for (const [given, expected] of [[outputs, { election, levenshtein }], [texts, normalized]]) {
      assertAlmostEquals(electionStability(given) ?? -1, expected.election ?? -1, 1e-15, `${n}`);
      const own = levenshteinStability(given);
      assertAlmostEquals(own ?? -1, expected.levenshtein ?? -1, 1e-15, `${n}`);
    }
  }
});
