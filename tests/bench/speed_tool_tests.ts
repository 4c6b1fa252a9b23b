// The tests of tools that `deno task ratios` runs under `deno test`: each has one trial, of one conversation.
import { assertAnswer, tool, toolSuite } from "@toolgate/toolgate";
import type { Work } from "./workload.ts";

const { SPEED_URL = "", SPEED_WORK = "", SPEED_TRIALS = "1" } = Deno.env.toObject();
const { model, conversations }: Work = JSON.parse(Deno.readTextFileSync(SPEED_WORK));
const asked = conversations.map(({ prompt, tools, results }) => ({
  prompt,
  tools: tools.map(({ function: { name, description, parameters, strict } }) =>
    // What is not called in the conversation returns nothing.
    tool({ name, description, parameters, strict: strict === true, returns: results[name] ?? null })
  ),
}));

const test = toolSuite("speed", { model: { model, baseURL: SPEED_URL } });
for (let number = 1; number <= Number(SPEED_TRIALS); number++) {
  const { prompt, tools } = asked[number % asked.length]!;
  test(`conversation ${number}`, { prompt, tools, assert: (run) => assertAnswer(run, " = ") });
}
