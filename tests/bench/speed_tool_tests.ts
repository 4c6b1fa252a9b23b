// The tests of tools that `deno task ratios` runs under `deno test`: each has one trial, of one conversation.
import { assertAnswer, toolSuite } from "@toolgate/toolgate";
import { asked, model, SPEED_TRIALS } from "./speed_tool_work.ts";

const test = toolSuite("speed", { model });
for (let number = 1; number <= Number(SPEED_TRIALS); number++) {
  const { prompt, tools } = asked[number % asked.length]!;
  test(`conversation ${number}`, { prompt, tools, assert: (run) => assertAnswer(run, " = ") });
}
