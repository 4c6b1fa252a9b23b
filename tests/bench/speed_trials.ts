// The test of a tool that `deno task ratios` runs under `deno test`: one test of many trials.
import { assertAnswer, toolTest } from "@toolgate/toolgate";
import { asked, model, SPEED_TRIALS } from "./speed_tool_work.ts";

const { prompt, tools } = asked[0]!;
toolTest("speed", {
  ...{ model, prompt, tools, trials: Number(SPEED_TRIALS) },
  assert: (run) => assertAnswer(run, " = "),
});
