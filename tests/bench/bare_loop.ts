/**
 * The yardstick of a run: the plainest agent loop around OpenAI's client, which keeps nothing.
 *
 * deno run --allow-all tests/bench/bare_loop.ts WORK BASE_URL TRIALS CONCURRENCY
 */

import OpenAI from "openai";
import type { Work } from "./workload.ts";

/** Carries out trials of `work`, this many at the same time; gives the number of those with an answer. */
export async function runBare(
  { model, conversations }: Work,
  { client, trials, concurrency }: { client: OpenAI; trials: number; concurrency: number },
): Promise<number> {
  let begun = 0;
  let answered = 0;
  const work = async () => {
    while (begun < trials) {
      const { prompt, tools, results } = conversations[begun++ % conversations.length]!;
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: prompt }];
      while (true) {
        const completion = await client.chat.completions.create({
          model,
          messages,
          tools: [...tools],
        });
        const { message } = completion.choices[0]!;
        if (message.tool_calls === undefined) {
          if (message.content?.includes(" = ")) answered++;
          break;
        }
        messages.push(message);
        for (const call of message.tool_calls) {
          if (call.type !== "function") continue;
          JSON.parse(call.function.arguments);
          messages.push({
            role: "tool",
            tool_call_id: call.id,
            content: results[call.function.name]!,
          });
        }
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return answered;
}

if (import.meta.main) {
  const [path, baseURL, trials, concurrency] = Deno.args as [string, string, string, string];
  const work: Work = JSON.parse(Deno.readTextFileSync(path));
  const client = new OpenAI({ baseURL, apiKey: "none" });
  const options = { client, trials: Number(trials), concurrency: Number(concurrency) };
  console.log(await runBare(work, options));
}
