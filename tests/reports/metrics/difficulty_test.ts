import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { DIFFICULTIES } from "../../../lib/tasks/questions/question_set.ts";
import { averageScores, type DifficultyScore } from "../../../lib/reports/metrics/difficulty.ts";
import fc from "../../support/fast_check.ts";

/** Scores of one difficulty. */
function of(difficulty: DifficultyScore["difficulty"], ...values: DifficultyScore["value"][]) {
  return values.map((value) => ({ difficulty, value }));
}

Deno.test("averageScores() averages by difficulty, over all, and over difficulties (CallNavi 6.4)", () => {
  const scores = [
    ...of("hard", false, 0.5),
    ...of("easy", true, true, false, 1),
    ...of("medium", true, null),
  ];
  assertEquals(averageScores(scores), {
    easy: 0.75,
    medium: 1,
    hard: 0.25,
    all: 4.5 / 7,
    macro: 2 / 3,
    counts: { easy: 4, medium: 1, hard: 2, all: 7 },
  });
});

Deno.test("averageScores() of what is not there is null", () => {
  const counts = { easy: 0, medium: 0, hard: 0, all: 0 };
  const none = { easy: null, medium: null, hard: null, all: null, macro: null, counts };
  assertEquals(averageScores([]), none);
  assertEquals(averageScores(of("easy", null, null)), none);
  const two = averageScores([...of("easy", true), ...of("hard", false), ...of("medium", null)]);
  assertEquals([two.easy, two.medium, two.hard, two.all, two.macro], [1, null, 0, 0.5, null]);
});

Deno.test("averageScores() of the paper's first row gives its averages (CallNavi 6.4)", () => {
  // GPT4o of Table 4: "All Avg." counts questions, "Macro Avg." difficulties.
  const rates = { easy: [456, 0.802], medium: [188, 0.638], hard: [85, 0.388] } as const;
  const scores = DIFFICULTIES.flatMap((difficulty) =>
    of(difficulty, ...new Array<number>(rates[difficulty][0]).fill(rates[difficulty][1]))
  );
  const { all, macro } = averageScores(scores);
  assertEquals([all!.toFixed(3), macro!.toFixed(3)], ["0.711", "0.609"]);
});

Deno.test("averageScores() lies among its scores, and counts every one", () => {
  const score = fc.record({
    difficulty: fc.constantFrom(...DIFFICULTIES),
    value: fc.oneof(fc.boolean(), fc.constant(null), fc.double({ min: 0, max: 1, noNaN: true })),
  });
  fc.assert(fc.property(fc.array(score), (scores) => {
    const { counts, all, macro, ...own } = averageScores(scores);
    const { easy, medium, hard } = counts;
    assertEquals(easy + medium + hard, counts.all);
    assertEquals(counts.all, scores.filter(({ value }) => value !== null).length);
    const means = Object.values(own).filter((mean) => mean !== null);
    assertEquals(macro === null, means.length < 3);
    if (all === null) return;
    assert(Math.min(...means) <= all + 1e-12 && all <= Math.max(...means) + 1e-12);
    const weighed = DIFFICULTIES.reduce((sum, one) => sum + (own[one] ?? 0) * counts[one], 0);
    assertAlmostEquals(all, weighed / counts.all, 1e-12);
  }));
});
