// What the tests of tools that `deno task ratios` runs ask, and whom.
import { tool } from "@toolgate/toolgate";
import type { Work } from "./workload.ts";

const { SPEED_URL: baseURL = "", SPEED_WORK = "", ...env } = Deno.env.toObject();
export const { SPEED_TRIALS = "1" } = env;
const work: Work = JSON.parse(Deno.readTextFileSync(SPEED_WORK));

export const model = { model: work.model, baseURL };
export const asked = work.conversations.map(({ prompt, tools, results }) => ({
  prompt,
  tools: tools.map(({ function: { name, description, parameters, strict } }) =>
    // What is not called in the conversation returns nothing.
    tool({ name, description, parameters, strict: strict === true, returns: results[name] ?? null })
  ),
}));
