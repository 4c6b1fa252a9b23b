/**
 * The simulated model that errs at given rates.
 * @module
 */

import { sample } from "@std/random";
import { fork, forkSeed } from "../base/random.ts";
import {
  byName,
  callDistractor,
  callEarly,
  hits,
  inventNames,
  type MistakeRates,
  spoil,
} from "./_mistakes.ts";
import { cannotDetermine, nameResults, planReply } from "./_planning.ts";
import { answerQuestion } from "./_questions.ts";
import { react, type ReactionRates } from "./_reactions.ts";
import { readConversation } from "./_reading.ts";
import { DO_NOT_KNOW, readStage, type StageReading, writeStage } from "./_stages.ts";
import { composeAnswer, type SimulatedModel } from "./_wire.ts";

/** How a noisy model errs. */
export interface NoisyOptions {
  /** The rates of its mistakes. */
  readonly rates: MistakeRates;
  /** The rates of its reactions to tools that fail. Default: it tries again. */
  readonly reactions?: Partial<ReactionRates>;
  /**
   * How many messages back it reads values correctly. A value is older if more messages came after the one that
   * gave it, each reply and each result counting as one. In place of an older value, calls always get that of
   * another variable, the same within a reply, unless the last result restates it. Default: no limit.
   */
  readonly memory?: number;
  /** The seed of its noise. */
  readonly seed: number;
}

/**
 * A simulated model that plans like the planner but errs as `options` say. Mistakes depend on the seed, the
 * `seed` field of the request, the first user message, the step, the kind of mistake and the function, not on
 * the whole conversation: runs with different strategies share their noise, unless a strategy changes the
 * prompt. Attempts to repair a call, and answers without calls, are drawn separately.
 */
export function createNoisy(name: string, options: NoisyOptions): SimulatedModel {
  const { rates, reactions = {}, memory = Infinity, seed } = options;
  return {
    name,
    reply(request) {
      const stage = readStage(request);
      if (stage !== undefined) {
        const key = forkSeed(seed, request.seed ?? 0, stage.question, stage.kind, stage.round);
        return composeAnswer(name, request, spoilStage(stage, rates, key), []);
      }
      const repetition = request.seed ?? 0;
      const { conversation, givesUp } = react(readConversation(request), {
        rates: reactions,
        seed,
        repetition,
      });
      if (givesUp) {
        const text = cannotDetermine(conversation, "a tool that it needs does not work");
        return composeAnswer(name, request, text, []);
      }
      const question = forkSeed(seed, repetition, conversation.prompt);
      const answer = answerQuestion(request, conversation, {
        averse: hits(rates.averse, fork(question, "averse")),
        ignore: hits(rates.ignore, fork(question, "ignore")),
        resist: hits(rates.resist, fork(question, "resist")),
        sums: hits(rates.dots, fork(question, "dots"))
          ? "dots"
          : hits(rates.brute, fork(question, "brute"))
          ? "brute"
          : "closed",
      });
      if (answer !== undefined) return composeAnswer(name, request, answer.text, answer.calls);
      const { inventedNames, meant } = inventNames(conversation.functions);
      const plan = planReply(conversation, (called) => meant.get(called));
      if (plan.intentions.length === 0) return composeAnswer(name, request, plan.text, []);

      const { step, repair, replaced, mustCall } = conversation;
      const attempt = repair !== undefined
        ? ["repair", repair.attempt]
        : replaced === undefined
        ? []
        : ["alternative", replaced];
      const stream = (mistake: string, functionName = "", ...more: readonly string[]) =>
        fork(question, step, mistake, functionName, ...more, ...attempt);
      const values = [...plan.values.values()];
      const nameResult = nameResults(conversation);
      const situation = {
        rates,
        memory,
        conversation,
        plan,
        values,
        inventedNames,
        nameResult,
        stream,
      };
      if (!mustCall && hits(rates.quit, stream("quit"))) {
        return composeAnswer(name, request, "I stop here, without the value.", []);
      }
      const calls = plan.intentions.map((intention) => spoil(intention, situation));
      if (!plan.alone) calls.push(...callEarly(situation), ...callDistractor(situation));
      return composeAnswer(name, request, plan.text, calls);
    },
  };
}

/** The answer to a stage, with mistakes. */
function spoilStage(stage: StageReading, rates: MistakeRates, key: number): string {
  if (hits(rates.quit, fork(key, "quit"))) return DO_NOT_KNOW;
  const { inventedNames, meant } = inventNames(stage.functions);
  return writeStage(stage, {
    write: (name) =>
      hits(rates.hallucinate, fork(key, "hallucinate", name))
        ? inventedNames.get(name) ?? name
        : name,
    mean: (name) => meant.get(name) ?? name,
    pick(needed) {
      const distract = fork(key, "distract");
      if (!hits(rates.distract, distract)) return undefined;
      const others = [...stage.functions.values()].filter((one) => !needed.has(one));
      return sample(others.sort(byName), distract);
    },
  });
}
