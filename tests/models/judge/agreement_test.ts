import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { judge } from "../../../lib/models/judge/judge.ts";
import type { JudgeLabel } from "../../../lib/models/judge/agreement.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";

/** A judge that gives a value the score that stands in it, and says nothing of others. */
const reading = () =>
  judge({
    model: scripted("reader", ({ messages }) => {
      const [, score] = /value======\n(\S+)/.exec(messages[0]!.content)!;
      return { text: score === "none" ? "I cannot say." : `[[${score}]]` };
    }),
  });

/** So many labels of each kind: the judge's score, then what a person says. */
function labelled(
  own: ReturnType<typeof reading>,
  counts: [string, boolean, number][],
): JudgeLabel[] {
  const expected = own.like("x");
  return counts.flatMap(([score, label, count]) =>
    Array.from({ length: count }, (_, place) => ({ value: `${score} ${place}`, expected, label }))
  );
}

Deno.test("agreement() gives accuracy and kappa with intervals, as published for this table", async () => {
  await using own = reading();
  // The table of ci.kappa in the R package statpsych: kappa 0.6756757, upper limit 0.8196303.
  const found = await own.agreement(labelled(own, [
    ["0.1", false, 31],
    ["0.1", true, 4],
    ["0.9", false, 12],
    ["0.9", true, 58],
  ]));
  assertEquals(found.counts, { both: 58, judgeOnly: 12, labelOnly: 4, neither: 31 });
  assertEquals([found.judged, found.unjudged, found.why], [105, [], undefined]);
  assertEquals(found.accuracy, { value: 89 / 105, ...wilson(89, 105) });
  assertAlmostEquals(found.kappa.value!, 0.6756757, 1e-7);
  assertAlmostEquals(found.kappa.upper!, 0.8196303, 1e-7);
  assert(found.kappa.lower! < found.kappa.value!);
  assertEquals(found.disagreements.length, 16);
  assertEquals(found.disagreements[0]!.score.score, 0.1);
});

Deno.test("agreement() leaves out what the judge did not judge, and says which and why", async () => {
  await using own = reading();
  const found = await own.agreement(
    labelled(own, [["0.9", true, 3], ["none", false, 2], ["0.1", false, 1]]),
  );
  assertEquals([found.judged, found.accuracy.value], [4, 1]);
  assertEquals(found.unjudged.map(({ value, why }) => [value, why]), [
    ["none 0", 'no score in [[ ]]; it replied "I cannot say."'],
    ["none 1", 'no score in [[ ]]; it replied "I cannot say."'],
  ]);
  // Four labels say little, and the interval says so.
  assert(found.kappa.value === 1 && found.kappa.lower! < 0.2);
  const { stack } = await assertRejects(
    () => own.agreement(labelled(own, [["none", true, 2]])),
    InfrastructureError,
    'Cannot compare judge reader with labels: no score in [[ ]]; it replied "I cannot say."',
  );
  assert(!stack!.includes("/lib/"), stack);
});

Deno.test("agreement() has no kappa where all labels are alike, and says why", async () => {
  await using own = reading();
  for (const label of [true, false]) {
    const { kappa, why, accuracy } = await own.agreement(
      labelled(own, [["0.9", label, 5], ["0.1", label, 1]]),
    );
    assertEquals(kappa, { value: null, lower: null, upper: null });
    assertEquals(why, `all labels are ${label}: kappa needs values that pass and ones that do not`);
    assertEquals(accuracy.value, label ? 5 / 6 : 1 / 6);
  }
  // Of a judge that passes everything it says that it is of no use.
  const useless = await own.agreement(labelled(own, [["0.9", true, 5], ["0.9", false, 5]]));
  assertEquals(useless.kappa.value, 0);
});

Deno.test("agreement() compares rubrics by whether they pass", async () => {
  const model = scripted("rater", ({ messages }) => {
    const score = Number(/value======\n(\d)/.exec(messages[0]!.content)![1]);
    return { calls: [{ name: "rate", arguments: { kind: { reason: "So.", score } } }] };
  });
  await using own = judge({ model });
  const expected = own.rubric({ kind: { description: "is kind", atLeast: 3 } });
  const { counts } = await own.agreement([
    { value: "3", expected, label: true },
    { value: "2", expected, label: true },
    { value: "5", expected, label: false },
    { value: "1", expected, label: false },
  ]);
  assertEquals(counts, { both: 1, judgeOnly: 1, labelOnly: 1, neither: 1 });
  // By its thresholds, and not by how high its scores are.
  const strict = own.rubric({ kind: { description: "is kind", atLeast: 5 } });
  const lax = own.rubric({ kind: { description: "is kind", atLeast: 2 } });
  const { counts: both, disagreements } = await own.agreement([
    { value: "4", expected: strict, label: false },
    { value: "2", expected: lax, label: true },
  ]);
  assertEquals([both, disagreements], [{ both: 1, judgeOnly: 0, labelOnly: 0, neither: 1 }, []]);
});

Deno.test("agreement() refuses labels that it cannot compare", async () => {
  await using own = reading();
  await using other = reading();
  const circle: unknown[] = [];
  circle.push(circle);
  const good = { value: "0.9", expected: own.like("x"), label: true };
  const table: [unknown, unknown, string][] = [
    [[], {}, "they must be a list of at least one: it is empty"],
    [undefined, {}, "it is undefined"],
    [[good, { ...good, label: "yes" }], {}, "true or false: that of label 2 is string"],
    [[{ ...good, value: undefined }], {}, "label 1 has none"],
    [[{ ...good, value: circle }], {}, "at most 100 levels of lists and objects: that of label 1"],
    [[{ ...good, expected: other.like("x") }], {}, "what like() or rubric() of this judge gave"],
    [[{ ...good, expected: "x" }], {}, "label 1 has something else"],
    [[good], { confidence: 1 }, "must be below 1"],
  ];
  for (const [labels, options, message] of table) {
    await assertRejects(
      () => own.agreement(labels as never, options as never),
      InputError,
      message,
    );
  }
  assertEquals(own.usage, { inputTokens: 0, outputTokens: 0 });
});
