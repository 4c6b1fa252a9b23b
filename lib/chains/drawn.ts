/**
 * Tasks that were drawn in this process, which simulated models can answer.
 * @module
 */

import { canonicalJson, fieldOf, isObject, type JsonValue } from "../base/json.ts";
import type { ChainTask } from "./chains.ts";

/** At most this many questions are known: the last ones. */
const MOST = 10_000;

/** By question, the last one last: versions of tools are asked the same. */
const drawn = new Map<string, readonly ChainTask[]>();

/** Makes a task known by the question that a model gets. */
export function rememberTask(task: ChainTask, question: string): void {
  const text = question.trim();
  const calls = canonicalJson(task.calls);
  const others = (drawn.get(text) ?? []).filter((one) => canonicalJson(one.calls) !== calls);
  drawn.delete(text);
  drawn.set(text, [...others, task]);
  if (drawn.size > MOST) drawn.delete(drawn.keys().next().value!);
}

/**
 * Returns the task whose question a text is, or begins with before a space or line break, as strategies append to it; of
 * several versions the one whose right calls can be made, by the parameters of each tool.
 */
export function drawnTask(
  text: string,
  tools: ReadonlyMap<string, JsonValue | undefined>,
): ChainTask | undefined {
  const asked = text.trim();
  const isQuestion = (question: string) =>
    asked.startsWith(question) && /^(\s|$)/.test(asked.slice(question.length, question.length + 1));
  const tasks = drawn.get(asked) ??
    drawn.entries().find(([question]) => isQuestion(question))?.[1] ?? [];
  return tasks.findLast(({ calls }) =>
    calls.every(({ tool, arguments: input }) => {
      const properties = fieldOf(tools.get(tool), "properties");
      return isObject(properties) &&
        Object.keys(input).every((key) => Object.hasOwn(properties, key));
    })
  ) ?? tasks.at(-1);
}
