/**
 * What the agents of this folder share: each is written as users of its framework write theirs, and uses
 * toolgate's address and `fetch` alone.
 */

import type { AgentTask } from "../../../lib/trials/own_agent.ts";

/** How an agent asks: by streamed replies or whole ones, through which of OpenAI's APIs. */
export interface AgentForm {
  readonly streamed: boolean;
  readonly api: "chat" | "responses";
  /** Whether it sends what a server has stored by its id alone, as the AI SDK does by default. */
  readonly stored?: true;
}

/** At most this many replies are asked for. */
export const MAX_REPLIES = 100;

/** Returns what the user and the assistant said so far, this turn's prompt last. */
export function saidIn(
  { history, prompt }: AgentTask,
): { role: "user" | "assistant"; content: string }[] {
  const before = history.flatMap(({ role, content }) =>
    (role === "user" || role === "assistant") && content !== "" ? [{ role, content }] : []
  );
  return [...before, { role: "user", content: prompt }];
}
