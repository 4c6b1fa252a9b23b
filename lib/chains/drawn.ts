/**
 * Tasks that were drawn in this process, which simulated models can answer.
 * @module
 */

import type { ChainTask } from "./chains.ts";

/** At most this many tasks are known: the last ones. */
const MOST = 10_000;

const drawn = new Map<string, ChainTask>();

/** Makes a task known by the question that a model gets. */
export function rememberTask(task: ChainTask, question: string): void {
  const text = question.trim();
  drawn.delete(text);
  drawn.set(text, task);
  if (drawn.size > MOST) drawn.delete(drawn.keys().next().value!);
}

/** Returns the task whose question a text is, or begins with before a space or line break, as strategies append to it. */
export function drawnTask(text: string): ChainTask | undefined {
  const asked = text.trim();
  const isQuestion = (question: string) =>
    asked.startsWith(question) && /^(\s|$)/.test(asked.slice(question.length, question.length + 1));
  return drawn.get(asked) ??
    drawn.entries().find(([question]) => isQuestion(question))?.[1];
}
