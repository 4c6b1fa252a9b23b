import { assert, assertEquals } from "@std/assert";
import { AskedJudges } from "../../../lib/models/judge/asked.ts";
import { judge } from "../../../lib/models/judge/judge.ts";
import { scripted } from "../../../lib/models/scripted.ts";

const secret = `sk-${"a1b2".repeat(8)}`;

Deno.test("what is kept of a judge's long reply ends within no secret", async () => {
  const reply = `${"word ".repeat(1996)}${secret} is the key: [[0.9]]`;
  await using own = judge({ model: scripted("judge", [{ text: reply }]) });
  const { score, text } = await own.score("x", "y");
  assertEquals(score, 0.9);
  assert(text.length <= 10_000);
  assertEquals(text.includes("sk-"), false);
});

Deno.test("what a trace keeps of a question to a judge ends within no secret", () => {
  const asked = new AskedJudges();
  asked.add({
    question: `${"word ".repeat(1996)}${secret} is the key`,
    ...{ reply: "[[0.9]]", score: 0.9, model: "judge", served: "", simulated: true },
    usage: { inputTokens: 1, outputTokens: 1 },
  });
  const { question } = asked.events[0]!;
  assert(question.length <= 10_000);
  assertEquals(question.includes("sk-"), false);
});
