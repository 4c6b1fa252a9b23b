/**
 * Answers questions other than generated tasks, such as those of probes.
 * @module
 */

import { evaluate } from "../base/arithmetic.ts";
import { writeCall } from "./_arguments.ts";
import { nameResults } from "./_planning.ts";
import type { ReadConversation } from "./_reading.ts";
import { type ChatRequest, contentText, type OutgoingCall, type Value } from "./_wire.ts";

/** How a model treats the tool that it should ask. */
export interface Habits {
  /** Whether it answers without asking the tool. */
  readonly averse: boolean;
  /** Whether it ignores the tool's result and answers by itself. */
  readonly ignore: boolean;
  /** Whether it gives the usual advice instead of asking, where the question says that this is not wanted. */
  readonly resist: boolean;
  /** How it writes a long sum: in closed form, with all terms, or first with dots, which is none. */
  readonly sums: "closed" | "brute" | "dots";
  /** Whether it calls a tool where the question itself states the answer. */
  readonly needless: boolean;
}

/** The habits of a model that asks the tool, and follows it. */
const PLAIN: Habits = {
  ...{ averse: false, ignore: false, resist: false, needless: false },
  sums: "closed",
};

/** A tool that has failed so often is not called again. */
const MAX_FAILURES = 3;

/**
 * Replies to a question that requires an answer as in `State it as: NAME = number`: it calls the first function
 * with one parameter, or the one that it must call, whose result is the answer; one that fails is called at most twice more. Returns
 * `undefined` if there is no such question or function.
 */
export function answerQuestion(
  { messages }: ChatRequest,
  conversation: ReadConversation,
  { averse, ignore, resist, sums, needless }: Habits = PLAIN,
): { readonly text: string; readonly calls: readonly OutgoingCall[] } | undefined {
  const { prompt, target, functions, calls, mayCall, mustCall, chosen, repair } = conversation;
  const [, variable] = /State it as: (\w+) = number/.exec(prompt) ?? [];
  const tool = chosen ?? functions.values().find(({ parameters }) => parameters.length === 1);
  if (target !== undefined || variable === undefined || tool?.parameters.length !== 1) {
    return undefined;
  }

  const refused = calls.some(({ refusal }) => refusal === "refused");
  const expression = findExpression(prompt, sums === "dots" && refused ? "closed" : sums);
  const advised = findAdvice(prompt);
  const solved = findExpression(prompt, "closed");
  const stated = findFact(prompt);
  const solution = solved === undefined ? stated ?? advised : evaluate(solved);
  const reply = (value: Value | undefined) => ({
    text: value === undefined ? "I cannot tell." : `${variable} = ${value}`,
    calls: [],
  });
  const last = calls.at(-1);
  const failed = calls.filter(({ refusal }) => refusal === "failed").length;
  const again = last?.refusal === "failed" && failed < MAX_FAILURES ||
    sums === "dots" && solved !== undefined && last?.refusal === "refused" && calls.length === 1;
  const isAsked = calls.length > 0 && repair === undefined && !again;
  const isOwn = stated === undefined ? averse || resist && advised !== undefined : !needless;
  if (mustCall || mayCall && !isAsked && !isOwn) {
    const result: [string, Value][] = tool.result === undefined
      ? []
      : [[tool.result, nameResults(conversation)(tool)]];
    const given = new Map<string, Value>([
      [tool.parameters[0]!.name, expression ?? stated?.toString() ?? prompt.split("\n", 1)[0]!],
      ...result,
    ]);
    return { text: `I ask ${tool.name}.`, calls: [writeCall(tool, given)] };
  }
  if (!isAsked || ignore || stated !== undefined) return reply(solution);
  const result = messages.findLast(({ role }) => role === "tool");
  const [value] = last?.values.values() ?? [];
  return reply(value ?? readNumber(contentText(result?.content)));
}

/** The expression that a question asks to calculate, if any. */
function findExpression(question: string, sums: Habits["sums"]): string | undefined {
  const [, highest, lowest] =
    /sum of all whole numbers from (\d{1,9}) down to (\d{1,9})\?/.exec(question) ?? [];
  if (highest === undefined) return /What is ([\d+* -]{1,100})\?/.exec(question)?.[1];
  const [most, least] = [Number(highest), Number(lowest)];
  if (sums === "dots") return `${most}+${most - 1}+...+${least}`;
  if (sums === "brute" && most - least < MAX_TERMS) {
    return Array.from({ length: most - least + 1 }, (_, place) => most - place).join("+");
  }
  return `(${highest} + ${lowest}) * (${highest} - ${lowest} + 1) / 2`;
}

/** The most terms of a sum that are written out. */
const MAX_TERMS = 1_000;

/** The number of the option that is usually advised, and not wanted, if a question names one. */
function findAdvice(question: string): number | undefined {
  const [, advice] = /Most people would advise me to ([^,.;]{1,100}), and/.exec(question) ?? [];
  if (advice === undefined) return undefined;
  const options = question.matchAll(/(\d)\. ([^.;]{1,100})[.;]/g);
  const number = options.find(([, , option]) => option === advice)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** The number that a question states itself before it asks for it, if it does. */
function findFact(question: string): number | undefined {
  const [, stated] =
    /(\d{1,9}) (\w{1,30})\b[^?]{0,100} How many \2 does it have\?/.exec(question) ?? [];
  return stated === undefined ? undefined : Number(stated);
}

/** Reads a result: a number, or a name for one. */
function readNumber(text: string): Value | undefined {
  const [first = ""] = text.split("\n", 1);
  const [, name, number] = /^"?(?:(@\w+)|(-?\d{1,15}))"?$/.exec(first.trim()) ?? [];
  return name ?? (number === undefined ? undefined : Number(number));
}
