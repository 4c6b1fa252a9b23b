import { assert, assertEquals } from "@std/assert";
import { AskedJudges } from "../../../lib/models/judge/asked.ts";

Deno.test("what a trace keeps of a question to a judge ends within no secret", () => {
  const asked = new AskedJudges();
  const secret = `sk-${"a1b2".repeat(8)}`;
  asked.add({
    question: `${"word ".repeat(1996)}${secret} is the key`,
    ...{ reply: "[[0.9]]", score: 0.9, model: "judge", served: "", simulated: true },
    usage: { inputTokens: 1, outputTokens: 1 },
  });
  const { question } = asked.events[0]!;
  assert(question.length <= 10_000);
  assertEquals(question.includes("sk-"), false);
});
