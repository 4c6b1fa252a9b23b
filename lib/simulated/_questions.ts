/**
 * Answers questions other than generated tasks, such as those of probes.
 * @module
 */

import { evaluate } from "../base/arithmetic.ts";
import { writeCall } from "./_arguments.ts";
import { nameResults } from "./_planning.ts";
import type { Conversation } from "./_reading.ts";
import { type ChatRequest, contentText, type OutgoingCall, type Value } from "./wire.ts";

/** How a model treats the tool that it should ask. */
export interface Habits {
  /** Whether it answers without asking the tool. */
  readonly averse: boolean;
  /** Whether it ignores the tool's result and answers by itself. */
  readonly ignore: boolean;
}

/** A tool that has failed so often is not called again. */
const MAX_FAILURES = 3;

/**
 * Replies to a question that requires an answer as in `State it as: NAME = number`: it calls the first function
 * with one parameter, whose result is the answer; one that fails is called at most twice more. Returns
 * `undefined` if there is no such question or function.
 */
export function answerQuestion(
  { messages }: ChatRequest,
  conversation: Conversation,
  { averse, ignore }: Habits = { averse: false, ignore: false },
): { readonly text: string; readonly calls: readonly OutgoingCall[] } | undefined {
  const { prompt, target, functions, calls, mayCall, mustCall, repair } = conversation;
  const [, variable] = /State it as: (\w+) = number/.exec(prompt) ?? [];
  const tool = functions.values().find(({ parameters }) => parameters.length === 1);
  if (target !== undefined || variable === undefined || tool === undefined) return undefined;

  const expression = findExpression(prompt);
  const solution = expression === undefined ? undefined : evaluate(expression);
  const reply = (value: Value | undefined) => ({
    text: value === undefined ? "I cannot tell." : `${variable} = ${value}`,
    calls: [],
  });
  const last = calls.at(-1);
  const failed = calls.filter(({ refusal }) => refusal === "failed").length;
  const again = last?.refusal === "failed" && failed < MAX_FAILURES;
  const isAsked = calls.length > 0 && repair === undefined && !again;
  if (mustCall || mayCall && !isAsked && !averse) {
    const result: [string, Value][] = tool.result === undefined
      ? []
      : [[tool.result, nameResults(conversation)(tool)]];
    const given = new Map<string, Value>([
      [tool.parameters[0]!.name, expression ?? prompt.split("\n", 1)[0]!],
      ...result,
    ]);
    return { text: `I ask ${tool.name}.`, calls: [writeCall(tool, given)] };
  }
  if (!isAsked || ignore) return reply(solution);
  const result = messages.findLast(({ role }) => role === "tool");
  const [value] = last?.values.values() ?? [];
  return reply(value ?? readNumber(contentText(result?.content)));
}

/** The expression that a question asks to calculate, if any. */
function findExpression(question: string): string | undefined {
  const [, highest, lowest] =
    /sum of all whole numbers from (\d{1,9}) down to (\d{1,9})\?/.exec(question) ?? [];
  if (highest !== undefined) return `(${highest} + ${lowest}) * (${highest} - ${lowest} + 1) / 2`;
  return /What is ([\d+* -]{1,100})\?/.exec(question)?.[1];
}

/** Reads a result: a number, or a name for one. */
function readNumber(text: string): Value | undefined {
  const [first = ""] = text.split("\n", 1);
  const [, name, number] = /^"?(?:(@\w+)|(-?\d{1,15}))"?$/.exec(first.trim()) ?? [];
  return name ?? (number === undefined ? undefined : Number(number));
}
