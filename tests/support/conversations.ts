/**
 * Conversations with simulated users, on the orders of a shop.
 */

import { caseOpener } from "../../lib/trials/executors/case.ts";
import type { ToolCase } from "../../lib/trials/executors/tool_case.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import type { ToolUser, UserSays } from "../../lib/trials/users/user.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import type { JsonObject } from "../../lib/base/json.ts";

const schema = (properties: JsonObject) => ({
  parameters: { type: "object", properties, required: Object.keys(properties) },
});
const text = { type: "string" };
const choices = { reason: { enum: ["unneeded", "mistake"] }, sure: { type: "boolean" } };

/** Cancels an order, of which it takes more than a user says at once. */
export const CANCEL = tool({
  ...{ name: "cancel_order", description: "Cancels an order, such as EX-55" },
  ...schema({ order: text, day: text, count: { type: "number" }, ...choices }),
  execute: () => "cancelled",
});

/** Finds the orders of a person. */
export const FIND = tool({
  ...{ name: "find_orders", description: "Finds orders", ...schema({ person: text }) },
  execute: () => ({ orders: ["ORD-1234"] }),
});

/** A call of a tool by a script. */
export const calls = (name: string, given: JsonObject): ScriptedReply => ({
  calls: [{ name, arguments: given }],
});

/** A user who says these one after another. */
export function saying(...messages: readonly UserSays[]): ToolUser["model"] {
  return ({ messages: all }) => {
    const said = all.filter(({ role }) => role === "user").length;
    return messages[said] ?? { end: "done" };
  };
}

/** Plays a trial of a conversation by a script. */
export async function talk(
  script: readonly ScriptedReply[],
  user: Partial<ToolUser> & Pick<ToolUser, "model">,
  { options, ...more }: Partial<ToolCase> & { readonly options?: Partial<TrialOptions> } = {},
) {
  const model = scripted("script", script);
  const toolCase: ToolCase = {
    ...{ name: "talk", tools: [CANCEL, FIND], assert: () => {}, ...more },
    user: { scenario: "He wants to cancel an order.", ...user },
  };
  return await runTrial({ case: "talk", seed: 1 }, model, {
    open: caseOpener(() => toolCase),
    ...options,
  });
}
