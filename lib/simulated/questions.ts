/**
 * Questions that are no generated tasks, such as those of probes: what a simulated model makes of them.
 * @module
 */

import { evaluate } from "../base/arithmetic.ts";
import { writeCall } from "./arguments.ts";
import { nameResults } from "./planning.ts";
import type { Conversation } from "./reading.ts";
import { type ChatRequest, type OutgoingCall, textOf, type Value } from "./wire.ts";

/** How it behaves towards the tool. */
export interface Habits {
  /** Answers by itself, without asking the tool. */
  readonly averse: boolean;
  /** Answers what it thinks itself, whatever the tool says. */
  readonly ignore: boolean;
}

/** A tool that fails so often is not asked again. */
const MOST_FAILURES = 3;

/**
 * The reply to a question that is to be answered as `State it as: NAME = number`: the question goes to
 * the first function that takes one value, what that returns is the answer; one that fails is asked at most
 * twice more. `undefined` where there is no such question or function.
 */
export function answerQuestion(
  { messages }: ChatRequest,
  conversation: Conversation,
  { averse, ignore }: Habits = { averse: false, ignore: false },
): { readonly text: string; readonly calls: readonly OutgoingCall[] } | undefined {
  const { prompt, target, functions, calls, mayCall, mustCall, repair } = conversation;
  const [, variable] = /State it as: (\w+) = number/.exec(prompt) ?? [];
  const asked = functions.values().find(({ parameters }) => parameters.length === 1);
  if (target !== undefined || variable === undefined || asked === undefined) return undefined;

  const expression = expressionIn(prompt);
  const own = expression === undefined ? undefined : evaluate(expression);
  const say = (value: Value | undefined) => ({
    text: value === undefined ? "I cannot tell." : `${variable} = ${value}`,
    calls: [],
  });
  const last = calls.at(-1);
  const failed = calls.filter(({ refusal }) => refusal === "failed").length;
  const again = last?.refusal === "failed" && failed < MOST_FAILURES;
  const begun = calls.length > 0 && repair === undefined && !again;
  if (mustCall || mayCall && !begun && !averse) {
    const result: [string, Value][] = asked.result === undefined
      ? []
      : [[asked.result, nameResults(conversation)(asked)]];
    const given = new Map<string, Value>([
      [asked.parameters[0]!.name, expression ?? prompt.split("\n", 1)[0]!],
      ...result,
    ]);
    return { text: `I ask ${asked.name}.`, calls: [writeCall(asked, given)] };
  }
  if (!begun || ignore) return say(own);
  const result = messages.findLast(({ role }) => role === "tool");
  return say(last?.value ?? readNumber(textOf(result?.content)));
}

/** What is to be calculated, where anything is. */
function expressionIn(question: string): string | undefined {
  const [, most, least] =
    /sum of all whole numbers from (\d{1,9}) down to (\d{1,9})\?/.exec(question) ?? [];
  if (most !== undefined) return `(${most} + ${least}) * (${most} - ${least} + 1) / 2`;
  return /What is ([\d+* -]{1,100})\?/.exec(question)?.[1];
}

/** What a result says: a number, or a name that stands for one. */
function readNumber(text: string): Value | undefined {
  const [first = ""] = text.split("\n", 1);
  const [, name, number] = /^"?(?:(@\w+)|(-?\d{1,15}))"?$/.exec(first.trim()) ?? [];
  return name ?? (number === undefined ? undefined : Number(number));
}
