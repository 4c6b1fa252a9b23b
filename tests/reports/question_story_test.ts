import { assertEquals } from "@std/assert";
import { questionLines } from "../../lib/reports/_question_story.ts";
import { showerOf } from "../../lib/reports/story_lines.ts";
import type { QuestionSpec } from "../../lib/tasks/task_kind.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { Run } from "../../lib/runs/run.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import type { ScoredEvent } from "../../lib/calls/trace.ts";
import { cityPlan } from "../support/call_sets.ts";

const TASK: QuestionSpec = { set: "s", question: "q", difficulty: "easy", mode: "parameters" };
const EVENT: ScoredEvent = {
  kind: "scored",
  question: "A tour and a taxi, please.",
  output: "",
  truth: { API: ["tour", "taxi"], parameters: [{ day: "Monday" }, { at: "$$$" }] },
  scores: { syntaxValid: true, structural: false, exact: false, routingExact: false },
  errors: ["logical_error"],
};
const TOLD = [
  '  question "A tour and a taxi, please."',
  '  true is tour({"day":"Monday"}), then taxi({"at":"$$$"})',
];

/** What is shown of an answer beside the question and the truth. */
function faults(output: string, task: Partial<QuestionSpec> = {}): string[] {
  const told = questionLines({ ...EVENT, output }, { ...TASK, ...task }, showerOf("brief"))
    .map(({ text }) => text);
  assertEquals(told.slice(0, 2), TOLD);
  return told.slice(2).map((line) => line.trim());
}

Deno.test("questionLines() tells where an answer differs from the truth", () => {
  const calls = (API: unknown, parameters: unknown) => JSON.stringify({ API, parameters });
  assertEquals(faults(calls(["tour", "taxi"], [{ day: "Tuesday" }, { at: "9" }])), [
    'call 1 tour: arguments.day is different: expected "Monday", but it is "Tuesday"',
  ]);
  assertEquals(faults(calls(["tour", "taxi"], [{}, { at: 1, more: 2 }])), [
    'call 1 tour: arguments.day is missing: expected "Monday"',
  ]);
  // By the letter of the paper nothing else may be there.
  assertEquals(
    faults(calls(["tour", "taxi"], [{ day: "Monday" }, { at: 1, more: 2 }]), { rule: "strict" }),
    [
      "call 2 taxi: arguments.more is unexpected: it is 2",
    ],
  );
  assertEquals(faults(calls(["taxi", "tour"], [{}, {}])), [
    'call 1: expected tour, but it is "taxi"',
    'call 2: expected taxi, but it is "tour"',
  ]);
  assertEquals(faults(calls(["tour"], [{}])), ['calls: expected 2, but there are 1: ["tour"]']);
  assertEquals(faults("I cannot help."), ["the answer cannot be read as JSON"]);
  assertEquals(faults("I cannot help.", { output: "yaml" }), [
    "the answer cannot be read as YAML",
  ]);
  assertEquals(faults('"tour"'), ['the answer must have two lists, "API" and "parameters"']);
  assertEquals(faults(calls(["tour", 7], [{ day: "Monday" }, null])), [
    "call 2: expected taxi, but it is 7",
  ]);
});

Deno.test("questionLines() is printable, whatever models and sets say", () => {
  const hostile = `\u001b[31m\n::error::${"x".repeat(10_000)}`;
  const parameters = [
    Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}${hostile}`, hostile])),
  ];
  const event = {
    ...EVENT,
    question: hostile,
    truth: { API: [hostile], parameters },
    output: JSON.stringify({ API: [hostile], parameters: [{}] }),
  };
  const told = questionLines(event, TASK, showerOf("brief"));
  assertEquals(told.length, 2 + 30);
  for (const { text: line } of told) {
    assertEquals(/^ {2}\S[\x20-\x7e…]{0,900}$/.test(line), true, line);
  }
});

Deno.test("describeTrial() says of a question what is true", async () => {
  const plan = cityPlan({ difficulty: "easy" });
  using run = new Run(plan, { connect: () => scripted("m", [{ text: "{}" }]) });
  const trial = await run.trial(0);
  if (trial.kind !== "trial") throw new Error("it was needed");
  const [, question, truth, fault] = describeTrial(trial).split("\n");
  assertEquals(question, '  question "Is there a book called Tides of Ink?"');
  assertEquals(truth, '  true is findBook({"title":"Tides of Ink"})');
  assertEquals(fault, '  the answer must have two lists, "API" and "parameters"');
});
