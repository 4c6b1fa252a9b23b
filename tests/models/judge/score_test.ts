import { assert, assertEquals } from "@std/assert";
import { notAsked, readScore, summarizeJudging } from "../../../lib/models/judge/score.ts";
import fc from "../../support/fast_check.ts";

const NONE = { score: null, why: "no score in [[ ]]" } as const;
const OUT = { score: null, why: "out of range" } as const;

Deno.test("readScore() takes the last number between double brackets, from 0 to 1 (CallNavi 5.2, B.2)", () => {
  const table: [reply: string, number | typeof NONE | typeof OUT][] = [
    ["[[0.93]]", 0.93],
    ["[[1]]", 1],
    ["[[0]]", 0],
    ["[[1.]]", 1],
    ["[[ .5 ]]", 0.5],
    ["[[1.000]]", 1],
    ["[[\n0.25\t]]", 0.25],
    ["[[+0.5]]", 0.5],
    ["[[-0]]", 0],
    ["[[007]]", OUT],
    ["Both call the same API, so: [[0.8]].\nThank you.", 0.8],
    ["[[[0.4]]]", 0.4],
    ["[[0.1]][[0.2]]", 0.2],
    ["[[1.00]] would be the same; here it is [[0.300]]", 0.3],
    // The parameters of calls are lists of lists.
    ["[[0.7]], as [[1, 2], [3]] differs from [[a]]", 0.7],
    ["[[0.7]], and not [[0.9/1]]", 0.7],
    ["[[0.7]], or rather [[70]]", OUT],
    ["[[93]]", OUT],
    ["[[1.001]]", OUT],
    ["[[-0.1]]", OUT],
    ["[[0.9/1]]", NONE],
    ["[[93%]]", NONE],
    ["[[0,93]]", NONE],
    ["[[1e-1]]", NONE],
    ["[[.]]", NONE],
    ["[[]]", NONE],
    ["[[NaN]]", NONE],
    ["[[Infinity]]", NONE],
    ["[[0x1]]", NONE],
    ["[[0.1.2]]", NONE],
    ["[[0 .5]]", NONE],
    ["[[ 0.5 ]", NONE],
    ["[0.5]", NONE],
    ["[ [0.5] ]", NONE],
    ["[[０.５]]", NONE],
    ["0.5", NONE],
    ["", NONE],
  ];
  for (const [reply, expected] of table) {
    const read = typeof expected === "number" ? { score: expected } : expected;
    assertEquals(readScore(reply), read, reply);
  }
  assert(Object.is(readScore("[[-0]]").score, 0));
});

Deno.test("readScore() finds every score that is written, wherever it stands", () => {
  const words = fc.string().filter((text) => !/[\d\[\]]/.test(text));
  const score = fc.integer({ min: 0, max: 1000 }).map((thousandths) => thousandths / 1000);
  fc.assert(fc.property(words, score, words, (before, value, after) => {
    assertEquals(readScore(`${before}[[${value.toFixed(3)}]]${after}`), { score: value });
    assertEquals(readScore(`[[0.5]]${before}[[${value}]]${after}`), { score: value });
  }));
});

/** The last number between double brackets, looked for from the end. */
function lastNumber(reply: string): number | undefined {
  for (let end = reply.length; (end = reply.lastIndexOf("]]", end)) >= 0; end--) {
    const start = reply.lastIndexOf("[[", end - 2);
    const inner = reply.slice(start + 2, end).trim();
    const isDecimal = [...inner].every((one) => "+-.0123456789".includes(one));
    if (start >= 0 && inner !== "" && isDecimal && !Number.isNaN(Number(inner))) {
      return Number(inner);
    }
    if (end === 0) break;
  }
}

Deno.test("readScore() gives the last number where it is from 0 to 1, or says why not", () => {
  const pieces = [
    "[[",
    "]]",
    "[",
    "]",
    " ",
    ".",
    "-",
    "1",
    "0.5",
    "[[1",
    "[[0.25]]",
    ".5]]",
    "\n",
    "\ud800",
  ];
  const replies = fc.oneof(
    fc.string({ unit: fc.character() }),
    fc.array(fc.constantFrom(...pieces), { maxLength: 20 }).map((parts) => parts.join("")),
  );
  const seen = { scores: 0, out: 0, none: 0 };
  fc.assert(
    fc.property(replies, (reply) => {
      const number = lastNumber(reply);
      const read = readScore(reply);
      if (number === undefined) {
        seen.none++;
        return assertEquals(read, NONE);
      }
      const isScore = number >= 0 && number <= 1;
      seen[isScore ? "scores" : "out"]++;
      assertEquals(read, isScore ? { score: Math.abs(number) } : OUT);
    }),
    { numRuns: 5_000 },
  );
  assert(Object.values(seen).every((times) => times > 30), JSON.stringify(seen));
});

Deno.test("readScore() takes a megabyte of brackets, digits or spaces", () => {
  // With time by the square of the length, each of these would take hours.
  const size = 1_000_000;
  for (const unit of ["[", "[[", "]", "[[1", "[[ ", "1", " ", "[[.1", "[[1.", "1."]) {
    const long = unit.repeat(size / unit.length);
    assertEquals(readScore(long), NONE, unit);
    assertEquals(readScore(`[[${long}`), NONE, unit);
    const closed = readScore(`[[1${long}x]]`);
    assertEquals(closed, unit === "]" ? { score: 1 } : NONE, unit);
    assertEquals(readScore(`${long}[[0.5]]`), { score: 0.5 }, unit);
  }
});

Deno.test("summarizeJudging() averages the scores that there are, and counts the others apart", () => {
  const scored = (score: number) => ({ score });
  assertEquals(summarizeJudging([]), {
    judged: 0,
    mean: null,
    unusable: 0,
    unavailable: 0,
    unfit: 0,
  });
  assertEquals(
    summarizeJudging([scored(0), scored(1), scored(0.5)]),
    { judged: 3, mean: 0.5, unusable: 0, unavailable: 0, unfit: 0 },
  );
  assertEquals(
    summarizeJudging([
      NONE,
      scored(0.25),
      OUT,
      notAsked("500"),
      notAsked("out of range"),
      NONE,
    ]),
    { judged: 1, mean: 0.25, unusable: 3, unavailable: 2, unfit: 0 },
  );
  assertEquals(
    summarizeJudging([NONE, notAsked("")]),
    { judged: 0, mean: null, unusable: 1, unavailable: 1, unfit: 0 },
  );
  // No judge is to blame for what nobody could judge.
  assertEquals(
    summarizeJudging([scored(1), NONE, notAsked("500"), notAsked("too long", true), {
      ...NONE,
      unfit: true,
    }]),
    { judged: 1, mean: 1, unusable: 1, unavailable: 1, unfit: 2 },
  );
  assertEquals(summarizeJudging([{ score: 0.5, unfit: true }]).unfit, 0);
});

Deno.test("notAsked() says why, and claims nothing else", () => {
  assertEquals(notAsked("it is off"), {
    score: null,
    why: "the judge could not be asked: it is off",
    text: "",
    usage: { inputTokens: 0, outputTokens: 0 },
    served: "",
    durationMs: 0,
  });
  assertEquals([notAsked("it is off").unfit, notAsked("it is too long", true).unfit], [
    undefined,
    true,
  ]);
});
