/**
 * The strategy that tells the model how to use its tools (Indirection, "Thinking silently", "Computational
 * overconfidence" and "Ignoring function results", where prompting is the remedy).
 * @module
 */

import type { Message } from "../../tools/message.ts";
import type { Strategy, Texts } from "./_stages.ts";

/** Adds its text to the system message, behind the one that a task has. */
export const instruct: Strategy<Texts<"instruct">> = (options, next, { prompts }) =>
  next({ ...options, messages: withSystem(options.messages, prompts.use) });

/** Adds a text to the system message, or begins with one. */
export function withSystem(messages: readonly Message[], text: string): readonly Message[] {
  const [first, ...others] = messages;
  return first?.role === "system"
    ? [{ ...first, content: `${first.content}\n\n${text}` }, ...others]
    : [{ role: "system", content: text }, ...messages];
}
